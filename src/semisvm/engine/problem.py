"""What every SVM of this library is: a problem in one of two forms, its solution, and why a solve
ended.

    minimize  1/2 |f|^2 + sum_i box_i max(0, 1 - sign_i f(x_i))          f(x) = <w, phi(x)> + bias

Methods state it by signs and boxes, ``Problem.hinge(on, sign, box)``, and `on` decides the form.

**On a kernel, the dual form** (`DualProblem`), with one coefficient per variable:

    minimize    1/2 beta' K beta + linear' beta
    subject to  lower <= beta <= upper,   sum(beta) = total

    gradient = K beta + linear      one number per variable
    scores   = K beta               one number per data row, whether a variable uses it or not
    gap      = max gradient over variables that may fall - min gradient over variables that may rise
    bias     the multiplier of the sum constraint: decision values are scores + bias

K is the kernel matrix between n data rows. Variable v belongs to data row row[v]; several variables
may share a row, which then has several pieces of loss.

**On rows, the primal form** (`PrimalProblem`), with one weight per feature:

    minimize    1/2 |w|^2 + sum_i [ p_i h(f_i) + q_i h(-f_i) ]           h(t) = max(0, 1 - t)

    gap      = (objective - bound) / objective, where no w is better than the bound
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np

Loss = Literal["hinge", "squared_hinge"]


class Status(StrEnum):
    """Why a solve ended: "converged", "max_iter" or "stalled"."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"


@dataclass(frozen=True)
class Limits:
    """How far to solve: the same for both forms and for devices.

    A solver adds `Status.STALLED` where it expects nothing more. KeyboardInterrupt is not caught.
    """

    tol: float = 1e-3
    max_iter: float = np.inf

    def __post_init__(self) -> None:
        if not self.tol > 0:
            raise ValueError(f"tol must be positive, got {self.tol!r}.")

    def reached(self, n_iter: float, gap: float) -> Status | None:
        """Why the solve ends here, None where it goes on."""
        if gap < self.tol:
            return Status.CONVERGED
        return Status.MAX_ITER if n_iter >= self.max_iter else None


class Problem:
    """An SVM that can be solved: a `DualProblem` on a kernel, a `PrimalProblem` on rows.

    on      the kernel or the rows; ``on.solve(problems, starts, limits)`` solves problems on it
    """

    on: Any

    @staticmethod
    def hinge(on: Any, sign: np.ndarray, box: np.ndarray, loss: Loss = "hinge") -> Any:
        """The SVM of signs, 0 for a row out of use, and of what a unit of slack costs each row.

        It is a `DualProblem` or a `PrimalProblem`.
        """
        if on.form == "primal":
            return PrimalProblem(on, GivenPenalties.of_signs(sign, box), loss)
        if loss != "hinge":
            raise ValueError(
                f"loss={loss!r} has the primal form only, which needs a linear kernel."
            )
        bound = sign * box
        return DualProblem(on, -sign, np.minimum(bound, 0), np.maximum(bound, 0))


@dataclass(frozen=True)
class DualProblem(Problem):
    """Minimize 1/2 beta' K beta + linear' beta with lower <= beta <= upper and sum(beta) = total.

    row   (n_variables,) the data row of each variable; by default variable i is data row i
    """

    on: Any
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    row: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("linear", "lower", "upper"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        n, n_rows = len(self.linear), self.on.n_rows
        if self.lower.shape != (n,) or self.upper.shape != (n,):
            raise ValueError(
                f"lower {self.lower.shape} and upper {self.upper.shape} must have the shape of"
                f" linear, ({n},)."
            )
        if self.row is not None:
            row = np.asarray(self.row, dtype=np.intp)
            object.__setattr__(self, "row", row)
            if row.shape != (n,) or (n and not 0 <= row.min() <= row.max() < n_rows):
                raise ValueError(f"row must have {n} numbers of data rows, 0 to {n_rows - 1}.")
        elif n != n_rows:
            raise ValueError(
                f"{n} variables on {n_rows} data rows: row must say which row is whose."
            )
        if not np.isfinite(self.linear).all():
            raise ValueError("linear must be finite.")
        if not (self.lower <= self.upper).all():
            v = int(np.flatnonzero(~(self.lower <= self.upper))[0])
            raise ValueError(
                f"Variable {v} has lower bound {self.lower[v]} above its upper bound"
                f" {self.upper[v]}."
            )
        least, most = self.lower.sum(), self.upper.sum()
        ends = np.abs(np.append(self.lower, self.upper))
        # A sum whose terms cancel is only as accurate as its largest terms.
        slack = 1e-12 * (1 + ends[np.isfinite(ends)].sum())
        if not (np.isfinite(self.total) and least - slack <= self.total <= most + slack):
            raise ValueError(
                f"No beta within the bounds sums to {self.total}: sums go from {least} to {most}."
            )

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """The sum of one number per variable over the variables of each data row."""
        if self.row is None:
            return values
        return np.bincount(self.row, weights=values, minlength=self.on.n_rows)


@dataclass(frozen=True)
class GivenPenalties:
    """What it costs each row to be short of the positive side, and of the negative side."""

    positive: np.ndarray  # (n_rows,)
    negative: np.ndarray  # (n_rows,)

    @classmethod
    def of_signs(cls, sign: np.ndarray, box: np.ndarray) -> GivenPenalties:
        """The penalties of rows with one sign each, 0 for a row out of use."""
        return cls(np.where(sign > 0, box, 0.0), np.where(sign < 0, box, 0.0))

    def __call__(self, part: Any) -> tuple[np.ndarray, np.ndarray]:
        """The penalties of some consecutive rows, ``part.span`` of all."""
        return self.positive[part.span], self.negative[part.span]


@dataclass(frozen=True)
class PrimalProblem(Problem):
    """Minimize 1/2 |w|^2 and the losses of rows with two penalties each.

    ``penalties(part)`` returns (p, q) of some consecutive rows. It is called where the rows are, so
    it must be picklable for a cluster.
    """

    on: Any
    penalties: Callable[[Any], tuple[np.ndarray, np.ndarray]]
    loss: Loss = "hinge"

    def __post_init__(self) -> None:
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}.")


@dataclass(frozen=True)
class Solution:
    """A feasible point with its true gap; it also starts the next solve of a sequence.

    beta        (n_variables,) the coefficients of the dual form; None where `w` stands for them
    w           (n_features,) the weights of the primal form; also of a dual problem that was handed
                to it, which then has no beta
    scores      (n_rows,) decision values without the bias; None of rows that are not in memory
    objective   of the problem in its own form
    gap         how far from optimal, as its form measures it (see the module); with beta None and
                a dual problem, the relative one
    smoothing   of the hinge, where Newton's method ended; the next one begins there
    """

    problem: Problem = field(repr=False)
    bias: float
    objective: float
    gap: float
    n_iter: int
    status: Status
    scores: Any = field(default=None, repr=False)
    beta: Any = field(default=None, repr=False)
    w: Any = field(default=None, repr=False)
    bound: float = -np.inf  # the primal objective of no f is below this
    smoothing: float = 0.0

    @property
    def row_beta(self) -> np.ndarray:
        """The coefficient of each data row, of a solution in the dual form."""
        assert isinstance(self.problem, DualProblem)
        return self.problem.by_row(self.beta)

    @property
    def decision_values(self) -> np.ndarray:
        """f of every row, in memory."""
        if self.scores is None:
            raise ValueError(
                "Decision values are kept of rows in memory only: compute them part by part."
            )
        return self.scores + self.bias

    @property
    def squared_norm(self) -> float:
        """The squared norm of the weights: beta' K beta, or w' w."""
        return float(self.w @ self.w if self.w is not None else self.row_beta @ self.scores)


def relative_gap(objective: float, bound: float) -> float:
    """How far the objective may be above the optimum, as a share of it; 0 where both are 0."""
    return max(objective - bound, 0.0) / objective if objective > 0 else 0.0
