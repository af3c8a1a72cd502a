"""One pass over the rows: the sums from which objective, gradient, curvature and the duality gap
follow.

At (w, bias) with smoothing mu the pieces of the rows have dual variables alpha (see `compiled`).
Their sums are

    A+, A-   of alpha over positive and negative pieces        V+, V-   of alpha x
    Q+, Q-   of the conjugates                                 H        of curvature (x, 1)(x, 1)'

    gradient       w - V+ + V-   and for the bias   A- - A+
    feasible       the dual needs A+ = A-: r+ or r- scales the larger side down to the smaller
    v              r+ V+ - r- V-
    bound          r+ A+ + r- A- - 1/2 |v|^2       of the hinge
    smooth bound   bound - r+^2 Q+ - r-^2 Q-       of the smoothed problem and the squared hinge

Both bounds hold at any (w, bias): the gap costs no pass of its own. For wide rows H is not formed;
its diagonal is, and products with it are sums of their own.

`StreamPasses` and `MemoryPasses` are how a Newton solver looks at its problem. In memory the
decision values of all rows are kept, so that a line search costs one number per row, and products
with the curvature touch only the rows that have one. Elsewhere every look is a sum over parts: a
full step is tried, and where the objective rose, one more pass finds where along it the slope is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from semisvm.primal.compiled import (
    CONJUGATE,
    LOSS,
    N_CURVED,
    N_SCALARS,
    SMOOTH,
    TOTAL,
    add_pieces,
    csr_add_pieces,
    csr_curvature_times,
    slope_along,
)
from semisvm.primal.problem import Prices, PrimalProblem, RowPart, csr_arrays
from semisvm.primal.rows import MemoryRows, Rows, prices_of_rows

NOTHING, DIAGONAL, FULL = "nothing", "diagonal", "full"  # how much of the curvature a pass adds up
WIDEST_HESSIAN = 2_000  # features; above it products with the Hessian take its place
LINE_SEARCH_STEPS = 40
LINE_SEARCH_TOL = 0.1  # the slope is brought down to this share of the first
# At which the slope is looked at in one pass.
STREAM_STEPS = np.append(0.0, 0.5 ** np.arange(12, -1, -1))


@dataclass(frozen=True)
class Sums:
    """What one pass found; `packed` is the vector that was added up over the parts."""

    w: np.ndarray
    bias: float
    mu: float
    packed: np.ndarray
    curvature: str

    @property
    def _d(self) -> int:
        return len(self.w)

    @cached_property
    def norm(self) -> float:
        """1/2 |w|^2."""
        return 0.5 * float(self.w @ self.w)

    @property
    def objective(self) -> float:
        """P of the true problem."""
        return self.norm + float(self.packed[LOSS])

    @property
    def smooth_objective(self) -> float:
        """P of the smoothed problem; of the squared hinge, P itself."""
        return self.norm + float(self.packed[SMOOTH])

    @property
    def n_curved(self) -> int:
        """How many pieces have a curvature."""
        return int(self.packed[N_CURVED])

    @property
    def sum_alpha(self) -> np.ndarray:
        """A+, A-."""
        return self.packed[TOTAL : TOTAL + 2]

    @property
    def sum_alpha_x(self) -> np.ndarray:
        """V+, V- as the rows of a matrix."""
        return self.packed[N_SCALARS : N_SCALARS + 2 * self._d].reshape(2, self._d)

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of H, the bias last."""
        rest = self.packed[N_SCALARS + 2 * self._d :]
        return rest if self.curvature == DIAGONAL else self.hessian.diagonal()

    @property
    def hessian(self) -> np.ndarray:
        """H, (d + 1, d + 1), the bias last."""
        return self.packed[N_SCALARS + 2 * self._d :].reshape(self._d + 1, self._d + 1)

    @cached_property
    def gradient(self) -> np.ndarray:
        """The gradient of the smoothed objective, (d + 1,), the bias last."""
        positive, negative = self.sum_alpha_x
        return np.append(self.w - positive + negative, self.sum_alpha[1] - self.sum_alpha[0])

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """(bound, smooth bound): lower bounds of the true and the smoothed optimum."""
        total = self.sum_alpha
        factor = np.divide(total.min(), total, out=np.zeros(2), where=total > 0)
        v = factor[0] * self.sum_alpha_x[0] - factor[1] * self.sum_alpha_x[1]
        bound = float(factor @ total) - 0.5 * float(v @ v)
        smooth = bound - float(factor**2 @ self.packed[CONJUGATE : CONJUGATE + 2])
        return (bound if self.mu > 0 else smooth), smooth


def sum_part(
    part: RowPart, prices: Prices, w: np.ndarray, bias: float, mu: float, curvature: str
) -> np.ndarray:
    """The sums of one part, as one vector."""
    return sum_scored(part, *prices(part), part.scores(w) + bias, mu, curvature)


def sum_scored(
    part: RowPart, p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float, curvature: str
) -> np.ndarray:
    """The sums of one part whose decision values are known."""
    X, m, d = part.X, len(f), part.X.shape[1]
    alpha = np.empty((2, m))
    curved = np.empty(m)
    size = {NOTHING: 0, DIAGONAL: d + 1, FULL: (d + 1) ** 2}[curvature]
    packed = np.empty(N_SCALARS + 2 * d + size)
    packed[:N_SCALARS] = 0.0
    add_pieces(f, p, q, mu, alpha, curved, packed[:N_SCALARS])
    sums = packed[N_SCALARS : N_SCALARS + 2 * d].reshape(2, d)
    rest = packed[N_SCALARS + 2 * d :]
    if not isinstance(X, np.ndarray):
        packed[N_SCALARS:] = 0.0
        csr_add_pieces(*csr_arrays(X), alpha, curved, sums, rest[:d])
    else:
        np.dot(alpha, X, out=sums)
        if curvature == DIAGONAL:
            rest[:d] = curved @ X**2
        elif curvature == FULL:
            _add_hessian(X, curved, rest.reshape(d + 1, d + 1))
    if curvature == DIAGONAL:
        rest[d] = curved.sum()
    return packed


def _add_hessian(X: np.ndarray, curved: np.ndarray, out: np.ndarray) -> None:
    rows = np.flatnonzero(curved)
    root = np.sqrt(curved[rows])
    d = X.shape[1]
    Z = np.empty((len(rows), d + 1))
    np.take(X, rows, axis=0, out=Z[:, :d], mode="clip")
    Z[:, :d] *= root[:, None]
    Z[:, d] = root
    np.dot(Z.T, Z, out=out)


def curvature_times(
    part: RowPart, prices: Prices, w: np.ndarray, bias: float, mu: float, direction: np.ndarray
) -> np.ndarray:
    """H direction over one part, for rows that are not in memory."""
    alpha = np.empty((2, part.X.shape[0]))
    curved = np.empty(part.X.shape[0])
    add_pieces(part.scores(w) + bias, *prices(part), mu, alpha, curved, np.zeros(N_SCALARS))
    return _times_curved(part, curved, direction)


def _times_curved(part: RowPart, curved: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The same, for curvatures that are known."""
    if isinstance(part.X, np.ndarray):
        along = curved * (part.scores(direction[:-1]) + direction[-1])
        return np.append(part.times(along), along.sum())
    out = np.zeros(len(direction))
    csr_curvature_times(*csr_arrays(part.X), curved, direction, out)
    return out


def slopes_along(
    part: RowPart, prices: Prices, points: np.ndarray, steps: np.ndarray, mu: float
) -> np.ndarray:
    """Derivatives of the smoothed losses of one part at several steps from a point along a
    direction.

    points is (2, d + 1): the point and the direction, the bias last.
    """
    p, q = prices(part)
    f, g = (
        np.ascontiguousarray(values) for values in (part.X @ points[:, :-1].T + points[:, -1]).T
    )
    return np.array([slope_along(f, g, step, p, q, mu)[0] for step in steps])


def passes_of(problem: PrimalProblem) -> Passes:
    """The passes that suit the rows of a problem."""
    return MemoryPasses(problem) if isinstance(problem.rows, MemoryRows) else StreamPasses(problem)


def curvature_kind(rows: Rows) -> str:
    """Whether the Hessian of rows is formed."""
    return FULL if rows.n_features <= WIDEST_HESSIAN and not rows.is_sparse else DIAGONAL


class StreamPasses:
    """Rows in files or on a cluster: sums only."""

    def __init__(self, problem: PrimalProblem):
        self.rows = problem.rows
        self.prices = problem.prices
        self.kind = curvature_kind(problem.rows)

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        return Sums(
            w,
            bias,
            mu,
            self.rows.sum_over(sum_part, self.prices, w, bias, mu, self.kind),
            self.kind,
        )

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        start = np.append(here.w, here.bias)
        full_step = self._try(start + direction, here.mu)
        if full_step.smooth_objective <= here.smooth_objective:
            return full_step
        points = np.stack([start, direction])
        losses = self.rows.sum_over(slopes_along, self.prices, points, STREAM_STEPS, here.mu)
        dw = direction[:-1]
        slopes = losses + here.w @ dw + STREAM_STEPS * (dw @ dw)
        # The objective rose, so the slope is above 0 before the full step.
        past = int(np.argmax(slopes > 0))
        low = STREAM_STEPS[past - 1]
        high = STREAM_STEPS[past]
        step = (
            low - slopes[past - 1] * (high - low) / (slopes[past] - slopes[past - 1])
            if past
            else high
        )
        return self._try(start + step * direction, here.mu)

    def _try(self, point: np.ndarray, mu: float) -> Sums:
        return self.at(point[:-1], float(point[-1]), mu)

    def hessian_products(self, here: Sums) -> Callable[[np.ndarray], np.ndarray]:
        def times(direction: np.ndarray) -> np.ndarray:
            return self.rows.sum_over(
                curvature_times, self.prices, here.w, here.bias, here.mu, direction
            )

        return times

    def curved_rows(self, here: Sums) -> None: ...


class MemoryPasses:
    """Rows in memory, of which the decision values are kept.

    f         (n,) decision values at the point that was looked at last
    curved    (n,) curvature of each row there
    """

    def __init__(self, problem: PrimalProblem):
        assert isinstance(problem.rows, MemoryRows)
        rows = problem.rows
        self.p, self.q = prices_of_rows(rows, problem.prices)
        self.rows, self.kind = rows, curvature_kind(rows)
        self.f = np.zeros(rows.n_rows)
        self._point: tuple[np.ndarray, float] | None = None

    def know(self, w: np.ndarray, bias: float, values: np.ndarray) -> None:
        """Take the decision values at a point from elsewhere."""
        if len(values) == len(self.f):
            self.f = values
            self._point = (w, bias)

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        if self._point is None or self._point[0] is not w or self._point[1] != bias:
            self.f = self.rows.scores(w) + bias
            self._point = (w, bias)
        packed = self.rows.sum_over(_sum_kept, self.p, self.q, self.f, mu, self.kind)
        return Sums(w, bias, mu, packed, self.kind)

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        g = self.rows.scores(direction[:-1]) + direction[-1]
        step = self._search(here, direction, g)
        self.f = self.f + step * g
        w = here.w + step * direction[:-1]
        bias = here.bias + step * float(direction[-1])
        self._point = (w, bias)
        return self.at(w, bias, here.mu)

    def _search(self, here: Sums, direction: np.ndarray, g: np.ndarray) -> float:
        """The step at which the slope is small: Newton's method between two brackets."""
        dw = direction[:-1]
        along = float(here.w @ dw)
        square = float(dw @ dw)
        first = 0.0
        low = 0.0
        high = np.inf
        step = 1.0
        for number in range(LINE_SEARCH_STEPS):
            losses, second = slope_along(
                self.f, g, step if number else 0.0, self.p, self.q, here.mu
            )
            at = step if number else 0.0
            slope = losses + along + at * square
            second = second + square
            if number == 0:
                first = slope
                if slope >= 0:  # rounding: there is no way down
                    return 0.0
                continue
            if abs(slope) <= LINE_SEARCH_TOL * abs(first):
                return step
            low, high = (step, high) if slope < 0 else (low, step)
            step = step - slope / second if second > 0 else np.inf
            if not low < step < high:
                step = 2 * low if np.isinf(high) else 0.5 * (low + high) if low > 0 else 0.1 * high
        return low  # where the objective still falls

    def hessian_products(self, here: Sums) -> Callable[[np.ndarray], np.ndarray]:
        curved = self._curvatures(here)
        return lambda direction: self.rows.sum_over(_times_kept, curved, direction)

    def curved_rows(self, here: Sums) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the rows that have a curvature, and their curvatures."""
        curved = self._curvatures(here)
        rows = np.flatnonzero(curved)
        return rows, curved[rows]

    def _curvatures(self, here: Sums) -> np.ndarray:
        """The curvature of every row."""
        if here.mu > 0:
            inside = [(0 < s) & (s < here.mu) for s in (1 - self.f, 1 + self.f)]
            return (self.p * inside[0] + self.q * inside[1]) / here.mu
        return 2 * (self.p * (self.f < 1) + self.q * (self.f > -1))


def _sum_kept(
    part: RowPart, p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float, kind: str
) -> np.ndarray:
    return sum_scored(part, p[part.span], q[part.span], f[part.span], mu, kind)


def _times_kept(part: RowPart, curved: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return _times_curved(part, curved[part.span], direction)


Passes = StreamPasses | MemoryPasses
