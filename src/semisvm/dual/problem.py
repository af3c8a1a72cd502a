"""The one optimization problem of this library, and what a solution of it is.

    minimize    1/2 beta' K beta + linear' beta
    subject to  lower <= beta <= upper,   sum(beta) = total

K is the kernel matrix between n data rows. Variable v belongs to data row row[v]; several variables may share a
row (a row with two pieces of loss), so K_vw means k(row[v], row[w]) and is never copied. Symbols:

    gradient = K beta + linear      one number a variable
    scores   = K beta               one number a data row, in use or not
    gap      = max gradient over variables that may fall - min gradient over variables that may rise
    bias     the multiplier of the sum: decision values are scores + bias
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from semisvm.kernels import KernelRows


class Status(StrEnum):
    """Why a solve ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped_by_callback"
    STALLED = "stalled"


@dataclass(frozen=True)
class DualProblem:
    """The problem above; `row` is left out where variable i is data row i."""

    kernel: KernelRows
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    row: np.ndarray | None = None

    def __post_init__(self):
        for name in ("linear", "lower", "upper"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        self._check_shapes()
        self._check_bounds()

    @property
    def n_variables(self) -> int:
        """Number of variables, which may differ from the number of data rows."""
        return len(self.linear)

    def _check_shapes(self):
        if self.linear.ndim != 1:
            raise ValueError(f"linear must hold one number a variable, got an array of shape {self.linear.shape}.")
        n = self.n_variables
        if self.lower.shape != (n,) or self.upper.shape != (n,):
            raise ValueError(
                f"lower {self.lower.shape} and upper {self.upper.shape} must be shaped like linear, ({n},)."
            )
        if self.row is None:
            if n != self.kernel.n_rows:
                raise ValueError(f"{n} variables for {self.kernel.n_rows} kernel rows: say which row each belongs to.")
            return
        row = np.asarray(self.row, dtype=np.intp)
        object.__setattr__(self, "row", row)
        if row.shape != (n,) or (n and not (0 <= row.min() and row.max() < self.kernel.n_rows)):
            raise ValueError(f"row must hold {n} indices of kernel rows, 0 to {self.kernel.n_rows - 1}.")

    def _check_bounds(self):
        if not np.isfinite(self.linear).all():
            raise ValueError("linear must be finite.")
        if not (self.lower <= self.upper).all():
            v = int(np.flatnonzero(~(self.lower <= self.upper))[0])
            raise ValueError(f"Variable {v} has lower bound {self.lower[v]} above its upper bound {self.upper[v]}.")
        least, most = self.lower.sum(), self.upper.sum()
        # A sum whose terms cancel is only as good as the terms are large.
        ends = np.concatenate([self.lower, self.upper])
        slack = 1e-12 * (1 + np.abs(ends[np.isfinite(ends)]).sum())
        if not math.isfinite(self.total) or not least - slack <= self.total <= most + slack:
            raise ValueError(f"No beta within the bounds sums to {self.total}: sums run from {least} to {most}.")


@dataclass(frozen=True)
class DualSolution:
    """All a solver learned. It can start the next solve of a sequence on the same kernel rows."""

    beta: np.ndarray
    scores: np.ndarray
    gradient: np.ndarray
    bias: float
    objective: float
    gap: float
    n_iter: int
    status: Status
    seconds: float
    row: np.ndarray | None = field(default=None, repr=False)

    @property
    def row_beta(self) -> np.ndarray:
        """The coefficient of each data row: the sum over the variables that share it."""
        if self.row is None:
            return self.beta
        return np.bincount(self.row, weights=self.beta, minlength=len(self.scores))

    @property
    def decision_values(self) -> np.ndarray:
        """f = K beta + bias for every data row the kernel knows, in use or not."""
        return self.scores + self.bias


class SolveStore(Protocol):
    """Finished solves: a fit that was interrupted continues where it stopped.

    Every method is a sequence of solves and is deterministic between them. So a record of the finished solves is enough
    to resume a fit: the method runs again from its beginning, the store answers for the solves that were finished, and
    the first solve that was not finished runs as usual. `solve` asks the store before each solve and gives it each
    solution that is worth keeping.
    """

    def recall(self, problem: DualProblem, settings: dict[str, Any], /) -> DualSolution | None:
        """Return the stored solution of the next solve if it belongs to this problem, else None.

        Parameters
        ----------
        problem : DualProblem
            The problem that is about to be solved.
        settings : dict
            "tol", "max_iter", "time_limit" and "device" as given to `solve`.

        Returns
        -------
        DualSolution or None
            The stored solution, or None if the problem must be solved.
        """

    def keep(self, problem: DualProblem, solution: DualSolution, /) -> None:
        """Store the solution of the problem that `recall` was last asked for.

        Parameters
        ----------
        problem : DualProblem
            The problem.
        solution : DualSolution
            Its solution, converged or stalled.
        """


def bias_of(gradient, may_rise, may_fall, is_free) -> float:
    """The multiplier of the sum constraint: mean over the free variables, else the middle of what the rest allow.

    A variable that may rise needs gradient + bias >= 0, one that may fall gradient + bias <= 0. Where only one side
    binds its end is taken; where none does (every box has zero width) the bias is 0.
    """
    if is_free.any():
        return float(-gradient[is_free].mean())
    ends = [-gradient[may_rise].min()] if may_rise.any() else []
    ends += [-gradient[may_fall].max()] if may_fall.any() else []
    return float(np.mean(ends)) if ends else 0.0
