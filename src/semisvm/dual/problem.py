"""The quadratic problem of this library, and its solutions.

    minimize    1/2 beta' K beta + linear' beta
    subject to  lower <= beta <= upper,   sum(beta) = total

K is the kernel matrix between n data rows. Variable v belongs to data row row[v]; several variables
may share a row (a row with two pieces of loss), so K_vw means k(row[v], row[w]) and is never
copied. Symbols:

    gradient = K beta + linear      one number per variable
    scores   = K beta               one number per data row, used by a variable or not
    gap      = max gradient over variables that may fall - min gradient over variables that may rise
    bias     the multiplier of the sum constraint: decision values are scores + bias
"""

import math
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from semisvm.kernels.rows import KernelRows


class Status(StrEnum):
    """Why a solve ended: "converged", "max_iter", "time_limit", "interrupted",
    "stopped_by_callback" or "stalled".

    Examples
    --------
    >>> from semisvm.dual import Status
    >>> Status.CONVERGED == "converged"
    True
    """

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped_by_callback"
    STALLED = "stalled"


@dataclass(frozen=True)
class DualProblem:
    """Minimize 1/2 beta' K beta + linear' beta with lower <= beta <= upper and sum(beta) = total.

    Parameters
    ----------
    kernel : KernelRows
        The rows of K, between n data rows.
    linear : array-like of shape (n_variables,)
        Linear term of the objective.
    lower, upper : array-like of shape (n_variables,)
        Bounds of the variables; infinite ones are allowed.
    total : float, default=0.0
        The sum of the variables.
    row : array-like of int of shape (n_variables,), default=None
        The data row of each variable; by default variable i is data row i.

    Attributes
    ----------
    n_variables : int
        Number of variables.

    See Also
    --------
    solve : Solve a problem.

    Examples
    --------
    A C-SVC with C = 1 on three rows:

    >>> import numpy as np
    >>> from semisvm.dual import DualProblem
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X, sign = np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    >>> rows = kernel_rows(X, make_formula("linear", X))
    >>> DualProblem(rows, -sign, np.minimum(sign, 0), np.maximum(sign, 0)).n_variables
    3
    """

    kernel: KernelRows
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    row: np.ndarray | None = None
    # Another problem on the same rows, and how many times as wide these bounds are.
    widened_from: "tuple[DualProblem, float] | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("linear", "lower", "upper"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        self._check_shapes()
        self._check_bounds()

    @property
    def n_variables(self) -> int:
        """Number of variables, which may differ from the number of data rows."""
        return len(self.linear)

    def with_bounds_times(self, factor: float) -> "DualProblem":
        """Return the problem with all bounds, and the sum, multiplied by a factor.

        Problems that come from one are sent to a device once.

        Parameters
        ----------
        factor : float
            Positive and finite, as C is for the problem at C = 1.

        Returns
        -------
        DualProblem
            The problem with the other bounds.
        """
        wider = copy(self)
        for name in ("lower", "upper", "total"):
            object.__setattr__(wider, name, getattr(self, name) * factor)
        object.__setattr__(wider, "widened_from", (self, factor))
        return wider

    def _check_shapes(self) -> None:
        if self.linear.ndim != 1:
            raise ValueError(
                "linear must have one number per variable, got an array of shape"
                f" {self.linear.shape}."
            )
        n = self.n_variables
        if self.lower.shape != (n,) or self.upper.shape != (n,):
            raise ValueError(
                f"lower {self.lower.shape} and upper {self.upper.shape} must have the shape of"
                f" linear, ({n},)."
            )
        if self.row is None:
            if n != self.kernel.n_rows:
                raise ValueError(
                    f"{n} variables for {self.kernel.n_rows} kernel rows: row must say which row"
                    " each has."
                )
            return
        row = np.asarray(self.row, dtype=np.intp)
        object.__setattr__(self, "row", row)
        if row.shape != (n,) or (n and not (0 <= row.min() and row.max() < self.kernel.n_rows)):
            raise ValueError(
                f"row must hold {n} indices of kernel rows, 0 to {self.kernel.n_rows - 1}."
            )

    def _check_bounds(self) -> None:
        if not np.isfinite(self.linear).all():
            raise ValueError("linear must be finite.")
        if not (self.lower <= self.upper).all():
            v = int(np.flatnonzero(~(self.lower <= self.upper))[0])
            raise ValueError(
                f"Variable {v} has lower bound {self.lower[v]} above its upper bound"
                f" {self.upper[v]}."
            )
        least = self.lower.sum()
        most = self.upper.sum()
        if least <= self.total <= most and math.isfinite(self.total):
            return
        # A sum whose terms cancel is only as accurate as its largest terms.
        ends = np.concatenate([self.lower, self.upper])
        slack = 1e-12 * (1 + np.abs(ends[np.isfinite(ends)]).sum())
        if not math.isfinite(self.total) or not least - slack <= self.total <= most + slack:
            raise ValueError(
                f"No beta within the bounds sums to {self.total}: sums run from {least} to {most}."
            )


def sum_by_row(problem: DualProblem, values: np.ndarray) -> np.ndarray:
    """Sum one number per variable over the variables of each data row, (n_rows,)."""
    if problem.row is None:
        return values
    return np.bincount(problem.row, weights=values, minlength=problem.kernel.n_rows)


@dataclass(frozen=True)
class DualSolution:
    """A solution, which can also start the next solve of a sequence on the same kernel rows.

    Attributes
    ----------
    beta : ndarray of shape (n_variables,)
        The coefficients.
    scores : ndarray of shape (n_rows,)
        K beta for every data row.
    bias : float
        The multiplier of the sum constraint.
    objective : float
        1/2 beta' K beta + linear' beta.
    gap : float
        How far the gradient is from optimal.
    n_iter : int
        Number of steps.
    status : Status
        Why the solve ended.
    seconds : float
        Time that the solve took.
    row : ndarray of int of shape (n_variables,) or None
        The data row of each variable, as in the problem.
    row_beta : ndarray of shape (n_rows,)
        The coefficient of each data row.
    decision_values : ndarray of shape (n_rows,)
        scores + bias.
    squared_norm : float
        beta' K beta, the squared length of the weights in the space of the kernel.
    bound : float
        A lower bound of the primal objective of the same SVM.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.dual import DualProblem, solve
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X, sign = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> rows = kernel_rows(X, make_formula("linear", X), dtype=np.float64)
    >>> solution = solve(DualProblem(rows, -sign, np.minimum(sign, 0), np.maximum(sign, 0)))
    >>> solution.decision_values
    array([-1.,  1.])
    """

    beta: np.ndarray
    scores: np.ndarray
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
        """f = K beta + bias for every data row of the kernel, used by a variable or not."""
        return self.scores + self.bias

    @property
    def squared_norm(self) -> float:
        """The squared norm of the weights, ``beta' K beta``."""
        return float(self.row_beta @ self.scores)

    @property
    def bound(self) -> float:
        """A lower bound of the primal objective of the same SVM."""
        return -self.objective


def bias_of(
    gradient: np.ndarray, may_rise: np.ndarray, may_fall: np.ndarray, is_free: np.ndarray
) -> float:
    """The multiplier of the sum constraint: mean over the free variables, else the middle of what
    the others allow.

    A variable that may rise needs gradient + bias >= 0, one that may fall gradient + bias <= 0. If
    only one side has such variables, its end is taken; if neither has (every box has width 0), the
    bias is 0.
    """
    if is_free.any():
        return float(-gradient[is_free].mean())
    ends = [-gradient[may_rise].min()] if may_rise.any() else []
    ends += [-gradient[may_fall].max()] if may_fall.any() else []
    return float(np.mean(ends)) if ends else 0.0
