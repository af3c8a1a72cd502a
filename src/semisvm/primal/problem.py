"""The primal problem of a linear SVM, and its solutions.

    minimize  P(w, bias) = 1/2 |w|^2 + sum_i [ p_i h(f_i) + q_i h(-f_i) ]   f_i = <w, x_i> + bias

    hinge            h(t) = max(0, 1 - t)
    squared hinge    h(t) = max(0, 1 - t)^2

Row i has two prices: p_i is what it costs to be short of the positive side, q_i of the negative
side. A labeled row has one of them (C times its weight times the cost of its class), a guessed row
has one, a soft label has both, and a row out of use has none. The bias is not regularized.
LIBLINEAR's is, as one more column of ones: another problem.

For any w there are dual variables that bound the optimum from below (see `passes`), so every
solution comes with

    objective   P at (w, bias)
    bound       a number that the optimum is not below
    gap         (objective - bound) / objective, which is what "certified" means here

A problem says nothing about where its rows are: `Rows` may be in memory, in files or on a cluster.
Prices are given by a rule that is evaluated where the rows are: `GivenPrices` looks them up,
`ClassPrices` knows the prices of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from semisvm.dual import Status

if TYPE_CHECKING:
    from semisvm.primal.rows import Rows

Loss = Literal["hinge", "squared_hinge"]
LOSSES = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class RowPart:
    """Some consecutive rows."""

    X: Any  # (m, d) features, an array or CSR
    codes: np.ndarray | None  # (m,) classes where the rows bring them, -1 for none
    weight: np.ndarray | None  # (m,) how many rows each row counts for; None: 1
    span: slice  # which of all rows these are

    @property
    def is_open(self) -> np.ndarray:
        """Which rows have no label."""
        return np.asarray(self.codes) < 0

    @property
    def weights(self) -> np.ndarray:
        """`weight` in float64, or ones."""
        if self.weight is None:
            return np.ones(self.X.shape[0])
        return np.asarray(self.weight, dtype=np.float64)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return <w, x> for each row, (m,)."""
        if isinstance(self.X, np.ndarray):
            return self.X @ w
        from semisvm.primal.compiled import csr_scores

        out = np.empty(self.X.shape[0])
        csr_scores(*csr_arrays(self.X), w, out)
        return out

    def times(self, net: np.ndarray) -> np.ndarray:
        """Return the sum of the rows, each times its own number of `net`, (n_features,)."""
        if isinstance(self.X, np.ndarray):
            return self.X.T @ net
        from semisvm.primal.compiled import csr_times

        out = np.zeros(self.X.shape[1])
        csr_times(*csr_arrays(self.X), net, out)
        return out


def csr_arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of CSR rows as compiled functions take them; indices are never negative."""
    return X.data, X.indices.view(f"u{X.indices.itemsize}"), X.indptr.view(f"u{X.indptr.itemsize}")


def flat_arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for CSR rows or dense ones, which have no columns; copied only if needed."""
    if not isinstance(X, np.ndarray):
        return csr_arrays(X)
    starts = np.arange(len(X) + 1, dtype=np.uint64) * np.uint64(X.shape[1])
    kind = np.uint32 if X.size < 1 << 32 else np.uint64
    return np.ascontiguousarray(X).reshape(-1), np.empty(0, dtype=np.uint32), starts.astype(kind)


def widen(part: RowPart) -> RowPart:
    """The part with dense features in float64; sparse ones stay as they are."""
    if part.X.dtype == np.float64 or not isinstance(part.X, np.ndarray):
        return part
    return RowPart(part.X.astype(np.float64), part.codes, part.weight, part.span)


Prices = Callable[[RowPart], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class GivenPrices:
    """Prices that are there already, one pair for each row."""

    positive: np.ndarray  # (n_rows,) the price of being short of the positive side
    negative: np.ndarray  # (n_rows,) and of the negative side

    @classmethod
    def of_signs(cls, sign: np.ndarray, box: np.ndarray) -> GivenPrices:
        """Return the prices of rows with one sign each (0: out of use), `box` under that sign."""
        return cls(np.where(sign > 0, box, 0.0), np.where(sign < 0, box, 0.0))

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        return self.positive[part.span], self.negative[part.span]


@dataclass(frozen=True)
class ClassPrices:
    """One class against the rest, or against another one, by the codes that come with the rows."""

    positive: int  # the code of the positive class
    negative: int | None  # that of the negative class; None: every other class
    price: np.ndarray  # (n_classes,) what an error on a row of each class costs: C times its weight

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        codes = part.codes
        if codes is None:
            raise ValueError("Penalties per class need rows with class codes.")
        box = np.where(codes >= 0, self.price[np.maximum(codes, 0)], 0.0)
        if part.weight is not None:
            box = box * part.weight
        is_positive = codes == self.positive
        is_negative = ~is_positive if self.negative is None else codes == self.negative
        return np.where(is_positive, box, 0.0), np.where(is_negative, box, 0.0)


@dataclass(frozen=True)
class PrimalProblem:
    """Minimize ``1/2 |w|^2`` and the losses of rows with two prices each.

    ``prices(part)`` returns the prices of the rows of a part as positive and as negative. It is
    called where the rows are, so it must be picklable for a cluster.
    """

    rows: Rows
    prices: Prices
    loss: Loss = "hinge"

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}.")

    @property
    def is_squared(self) -> bool:
        """Whether the loss is the squared hinge."""
        return self.loss == "squared_hinge"


@dataclass(frozen=True)
class PrimalSolution:
    """A solution, which can also start the next solve of a sequence on the same rows."""

    w: np.ndarray
    bias: float
    objective: float
    bound: float  # the optimum is not below this
    gap: float  # (objective - bound) / objective
    n_iter: int  # Newton steps, or epochs of dual coordinate descent
    status: Status
    seconds: float
    smoothing: float = 0.0  # of the hinge, where the solve ended; the next one begins there
    # (n_rows,) decision values, where the rows are in memory
    values: np.ndarray | None = field(default=None, repr=False)
    # (n_rows,) signed dual variables, where the solver was dual coordinate descent
    beta: np.ndarray | None = field(default=None, repr=False)

    @property
    def decision_values(self) -> np.ndarray:
        """f of every row, in memory."""
        if self.values is None:
            raise ValueError(
                "Decision values are kept for rows in memory only; compute them part by part."
            )
        return self.values

    @property
    def scores(self) -> np.ndarray:
        """Decision values without the bias."""
        return self.decision_values - self.bias

    @property
    def squared_norm(self) -> float:
        """The squared norm of the weights."""
        return float(self.w @ self.w)


def relative_gap(objective: float, bound: float) -> float:
    """How far the objective may be above the optimum, as a share of it; 0 where both are 0."""
    return max(objective - bound, 0.0) / objective if objective > 0 else 0.0
