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

Both bounds hold at any (w, bias), so the gap costs no pass of its own. For wide or sparse rows H is
not formed; its diagonal is, and products with it are sums of their own.

`Passes` is how Newton's method looks at rows of which only sums are known: a full step is tried,
and where the objective rose, one more pass finds where along it the slope is 0. `MemoryPasses`
keeps the decision values of all rows, so that a line search costs one number per row, and products
with the curvature touch only the rows that have one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from semisvm.engine.primal.compiled import (
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
from semisvm.engine.primal.rows import MemoryRows, Part, Penalties, csr_of
from semisvm.engine.problem import PrimalProblem

WIDEST_HESSIAN = 2_000  # features; above it products with the Hessian take its place
LINE_SEARCH_STEPS = 40
LINE_SEARCH_TOL = 0.1  # the slope is brought down to this share of the first
# Where along a step one pass looks at the slope. In a narrow zone only a short step may go down.
STREAM_STEPS = np.append(0.0, 2.0 ** (np.arange(-48, 1) / 2))


@dataclass(frozen=True)
class Sums:
    """What one pass found; `packed` is the vector that was added up over the parts."""

    w: np.ndarray
    bias: float
    mu: float
    packed: np.ndarray
    has_hessian: bool

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
        return self.packed[N_SCALARS : N_SCALARS + 2 * len(self.w)].reshape(2, -1)

    @property
    def curvature(self) -> np.ndarray:
        """H, (d + 1, d + 1), or its diagonal, (d + 1,); the bias last."""
        rest = self.packed[N_SCALARS + 2 * len(self.w) :]
        return rest.reshape(2 * (len(self.w) + 1,)) if self.has_hessian else rest

    @cached_property
    def gradient(self) -> np.ndarray:
        """The gradient of the smoothed objective, (d + 1,), the bias last."""
        positive, negative = self.sum_alpha_x
        return np.append(self.w - positive + negative, self.sum_alpha[1] - self.sum_alpha[0])

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """(bound, smooth bound): lower bounds of the true and of the smoothed optimum."""
        total = self.sum_alpha
        factor = np.divide(total.min(), total, out=np.zeros(2), where=total > 0)
        v = factor[0] * self.sum_alpha_x[0] - factor[1] * self.sum_alpha_x[1]
        bound = float(factor @ total) - 0.5 * float(v @ v)
        smooth = bound - float(factor**2 @ self.packed[CONJUGATE : CONJUGATE + 2])
        return (bound if self.mu > 0 else smooth), smooth


def sum_part(
    part: Part, penalties: Penalties, w: np.ndarray, bias: float, mu: float, has_hessian: bool
) -> np.ndarray:
    """The sums of one part, as one vector."""
    return sum_scored(part, *penalties(part), part.scores(w) + bias, mu, has_hessian)


def sum_scored(
    part: Part, p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float, has_hessian: bool
) -> np.ndarray:
    """The sums of one part whose decision values are known."""
    X, m, d = part.X, len(f), part.X.shape[1]
    alpha, curved = np.empty((2, m)), np.empty(m)
    size = N_SCALARS + 2 * d + ((d + 1) ** 2 if has_hessian else d + 1)
    packed = np.empty(size) if has_hessian else np.zeros(size)
    packed[:N_SCALARS] = 0.0
    add_pieces(f, p, q, mu, alpha, curved, packed[:N_SCALARS])
    sums = packed[N_SCALARS : N_SCALARS + 2 * d].reshape(2, d)
    curvature = packed[N_SCALARS + 2 * d :]
    if has_hessian:
        np.dot(alpha, X, out=sums)
        _fill_hessian(X, curved, curvature.reshape(d + 1, d + 1))
        return packed
    if isinstance(X, np.ndarray):
        np.dot(alpha, X, out=sums)
        curvature[:d] = curved @ X**2
    else:
        csr_add_pieces(csr_of(X), alpha, curved, sums, curvature[:d])
    curvature[d] = curved.sum()
    return packed


def _fill_hessian(X: np.ndarray, curved: np.ndarray, out: np.ndarray) -> None:
    rows = np.flatnonzero(curved)
    root = np.sqrt(curved[rows])
    d = X.shape[1]
    Z = np.empty((len(rows), d + 1))
    np.take(X, rows, axis=0, out=Z[:, :d], mode="clip")  # "clip" writes to `out` itself
    Z[:, :d] *= root[:, None]
    Z[:, d] = root
    np.dot(Z.T, Z, out=out)


def curvature_times(
    part: Part, penalties: Penalties, w: np.ndarray, bias: float, mu: float, direction: np.ndarray
) -> np.ndarray:
    """H direction over one part, for rows that are not in memory."""
    alpha, curved = np.empty((2, part.X.shape[0])), np.empty(part.X.shape[0])
    add_pieces(part.scores(w) + bias, *penalties(part), mu, alpha, curved, np.zeros(N_SCALARS))
    return times_curved(part, curved, direction)


def times_curved(part: Part, curved: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The same, for curvatures that are known."""
    if isinstance(part.X, np.ndarray):
        along = curved * (part.scores(direction[:-1]) + direction[-1])
        return np.append(part.times(along), along.sum())
    out = np.zeros(len(direction))
    csr_curvature_times(csr_of(part.X), curved, direction, out)
    return out


def slopes_along(
    part: Part, penalties: Penalties, points: np.ndarray, steps: np.ndarray, mu: float
) -> np.ndarray:
    """Derivatives of the smoothed losses of one part at several steps along a direction; points is
    (2, d + 1): the point and the direction, the bias last.
    """
    f, g = (part.scores(point[:-1]) + point[-1] for point in points)
    p, q = penalties(part)
    return np.array([slope_along(f, g, step, p, q, mu)[0] for step in steps])


class Passes:
    """Rows of which only sums are known."""

    def __init__(self, problem: PrimalProblem):
        self.rows, self.penalties = problem.on, problem.penalties
        self.has_hessian = not self.rows.is_sparse and self.rows.n_features <= WIDEST_HESSIAN

    @property
    def scores(self) -> np.ndarray | None:
        """<w, x> of each row at the point that was looked at last, where they are kept."""
        return None

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        """The sums at a point."""
        packed = self.rows.sum_over(sum_part, self.penalties, w, bias, mu, self.has_hessian)
        return Sums(w, bias, mu, packed, self.has_hessian)

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        """The sums after a step along a direction."""
        start = np.append(here.w, here.bias)
        full = start + direction
        after = self.at(full[:-1], float(full[-1]), here.mu)
        if after.smooth_objective <= here.smooth_objective:
            return after
        points = np.stack([start, direction])
        losses = self.rows.sum_over(slopes_along, self.penalties, points, STREAM_STEPS, here.mu)
        dw = direction[:-1]
        slopes = losses + here.w @ dw + STREAM_STEPS * (dw @ dw)
        # The objective rose, so the slope is above 0 before the full step: where it is 0, linearly.
        past = max(int(np.argmax(slopes > 0)), 1)
        low, high = STREAM_STEPS[past - 1 : past + 1]
        rise = slopes[past] - slopes[past - 1]
        step = low - slopes[past - 1] * (high - low) / rise if rise > 0 else 0.0
        point = start + max(step, 0.0) * direction
        return self.at(point[:-1], float(point[-1]), here.mu)

    def curvature_times(self, here: Sums) -> Callable[[np.ndarray], np.ndarray]:
        """The product of H with a direction."""
        at = self.penalties, here.w, here.bias, here.mu
        return lambda direction: self.rows.sum_over(curvature_times, *at, direction)


class MemoryPasses(Passes):
    """Rows in memory, of which the decision values f are kept."""

    rows: MemoryRows

    def __init__(self, problem: PrimalProblem):
        super().__init__(problem)
        self.p, self.q = self.rows.penalties(problem.penalties)
        self.f, self._point = np.zeros(self.rows.n_rows), (np.empty(0), 0.0)

    @property
    def scores(self) -> np.ndarray | None:
        return self.f - self._point[1]

    def know(self, w: np.ndarray, bias: float, f: np.ndarray) -> None:
        """Take the decision values at a point from elsewhere."""
        self.f, self._point = f, (w, bias)

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        if self._point[0] is not w or self._point[1] != bias:
            self.know(w, bias, self.rows.scores(w) + bias)
        kept = self.p, self.q, self.f, mu, self.has_hessian
        return Sums(w, bias, mu, self.rows.sum_over(_sum_kept, *kept), self.has_hessian)

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        g = self.rows.scores(direction[:-1]) + direction[-1]
        step = self._search(here, direction, g)
        w, bias = here.w + step * direction[:-1], here.bias + step * float(direction[-1])
        self.know(w, bias, self.f + step * g)
        return self.at(w, bias, here.mu)

    def _search(self, here: Sums, direction: np.ndarray, g: np.ndarray) -> float:
        """The step at which the slope is small: Newton's method between two brackets."""
        dw = direction[:-1]
        along, square = float(here.w @ dw), float(dw @ dw)

        def slope_at(step: float) -> tuple[float, float]:
            losses, second = slope_along(self.f, g, step, self.p, self.q, here.mu)
            return losses + along + step * square, second + square

        first, _ = slope_at(0.0)
        if first >= 0:  # rounding: there is no way down
            return 0.0
        low, high, step = 0.0, np.inf, 1.0
        for _ in range(LINE_SEARCH_STEPS):
            slope, second = slope_at(step)
            if abs(slope) <= LINE_SEARCH_TOL * abs(first):
                return step
            low, high = (step, high) if slope < 0 else (low, step)
            step = step - slope / second if second > 0 else np.inf
            if not low < step < high:
                step = 2 * low if np.isinf(high) else 0.5 * (low + high) if low > 0 else 0.1 * high
        return low  # where the objective still falls

    def curvature_times(self, here: Sums) -> Callable[[np.ndarray], np.ndarray]:
        curved = self._curvatures(here)
        return lambda direction: self.rows.sum_over(_times_kept, curved, direction)

    def _curvatures(self, here: Sums) -> np.ndarray:
        """The curvature of every row."""
        if here.mu > 0:
            inside = [(0 < s) & (s < here.mu) for s in (1 - self.f, 1 + self.f)]
            return (self.p * inside[0] + self.q * inside[1]) / here.mu
        return 2 * (self.p * (self.f < 1) + self.q * (self.f > -1))


def _sum_kept(
    part: Part, p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float, has_hessian: bool
) -> np.ndarray:
    return sum_scored(part, p[part.span], q[part.span], f[part.span], mu, has_hessian)


def _times_kept(part: Part, curved: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return times_curved(part, curved[part.span], direction)
