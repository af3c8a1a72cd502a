"""How a Newton solver looks at its problem: passes over rows in memory, with a line search, or over any other rows.

In memory the decision values of all rows are kept, so that a line search costs one number per row, and products with
the curvature touch only the rows that have one. Elsewhere every look is a sum over parts: a full step is tried, and
where the objective rose, one more pass finds where along it the slope is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from semisvm.primal.compiled import slope_along
from semisvm.primal.problem import PrimalProblem
from semisvm.primal.rows import MemoryRows, RowPart, Rows
from semisvm.primal.sums import DIAGONAL, FULL, Sums, curvature_times, slopes_along, sum_part, sum_scored

WIDEST_HESSIAN = 2_000  # features; above it products with the Hessian take its place
LINE_SEARCH_STEPS = 40
LINE_SEARCH_TOL = 0.1  # the slope is brought down to this share of the first
STREAM_STEPS = np.append(0.0, 0.5 ** np.arange(12, -1, -1))  # at which the slope is looked at in one pass


class Passes(Protocol):
    """What the Newton solver asks of a problem."""

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        """The sums at a point."""

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        """The sums at the point where a search along the direction ends."""

    def hessian_products(self, here: Sums) -> Callable[[np.ndarray], np.ndarray]:
        """Multiplication by the curvature H at a point."""

    def curved_rows(self, here: Sums, most: int) -> tuple[Any, np.ndarray] | None:
        """The rows with a curvature and their curvatures, where they are in memory and not more than `most`."""


def passes_of(problem: PrimalProblem) -> StreamPasses | MemoryPasses:
    """The passes that suit the rows of a problem."""
    return MemoryPasses(problem) if isinstance(problem.rows, MemoryRows) else StreamPasses(problem)


def curvature_kind(rows: Rows) -> str:
    """Whether the Hessian of rows is formed."""
    return FULL if rows.n_features <= WIDEST_HESSIAN and not rows.is_sparse else DIAGONAL


class StreamPasses:
    """Rows in files or on a cluster: sums only."""

    def __init__(self, problem: PrimalProblem):
        self.rows, self.prices = problem.rows, problem.prices
        self.kind = curvature_kind(problem.rows)

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        return Sums(w, bias, mu, self.rows.sum_over(sum_part, self.prices, w, bias, mu, self.kind), self.kind)

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        start = np.append(here.w, here.bias)
        found = self._try(start + direction, here.mu)
        if found.smooth_objective <= here.smooth_objective:
            return found
        points = np.stack([start, direction])
        losses = self.rows.sum_over(slopes_along, self.prices, points, STREAM_STEPS, here.mu)
        dw = direction[:-1]
        slopes = losses + here.w @ dw + STREAM_STEPS * (dw @ dw)
        past = int(np.argmax(slopes > 0))  # the objective rose, so the slope is above 0 before the full step
        low, high = STREAM_STEPS[past - 1], STREAM_STEPS[past]
        step = low - slopes[past - 1] * (high - low) / (slopes[past] - slopes[past - 1]) if past else high
        return self._try(start + step * direction, here.mu)

    def _try(self, point: np.ndarray, mu: float) -> Sums:
        return self.at(point[:-1], float(point[-1]), mu)

    def hessian_products(self, here: Sums) -> Callable[[np.ndarray], np.ndarray]:
        def times(direction: np.ndarray) -> np.ndarray:
            return self.rows.sum_over(curvature_times, self.prices, here.w, here.bias, here.mu, direction)

        return times

    def curved_rows(self, here: Sums, most: int) -> None:
        return None


class MemoryPasses:
    """Rows in memory, of which the decision values are kept.

    f         (n,) decision values at the point that was looked at last
    curved    (n,) curvature of each row there
    """

    def __init__(self, problem: PrimalProblem):
        assert isinstance(problem.rows, MemoryRows)
        rows = problem.rows
        prices = [problem.prices(part) for part in rows.parts()]
        self.p = np.concatenate(
            [np.broadcast_to(p, part.X.shape[0]) for (p, _), part in zip(prices, rows.parts(), strict=True)]
        )
        self.q = np.concatenate(
            [np.broadcast_to(q, part.X.shape[0]) for (_, q), part in zip(prices, rows.parts(), strict=True)]
        )
        self.rows, self.kind = rows, curvature_kind(rows)
        self.f = np.zeros(rows.n_rows)
        self._point: tuple[np.ndarray, float] | None = None

    def at(self, w: np.ndarray, bias: float, mu: float) -> Sums:
        if self._point is None or self._point[0] is not w or self._point[1] != bias:
            self.f, self._point = self.rows.scores(w) + bias, (w, bias)
        packed = self.rows.sum_over(_sum_kept, self.p, self.q, self.f, mu, self.kind)
        return Sums(w, bias, mu, packed, self.kind)

    def advance(self, here: Sums, direction: np.ndarray) -> Sums:
        g = self.rows.scores(direction[:-1]) + direction[-1]
        step = self._search(here, direction, g)
        self.f = self.f + step * g
        w, bias = here.w + step * direction[:-1], here.bias + step * float(direction[-1])
        self._point = (w, bias)
        return self.at(w, bias, here.mu)

    def _search(self, here: Sums, direction: np.ndarray, g: np.ndarray) -> float:
        """The step at which the slope of the smoothed objective is small: Newton's method between two brackets."""
        dw = direction[:-1]
        along, square = float(here.w @ dw), float(dw @ dw)
        first, low, high, step = 0.0, 0.0, np.inf, 1.0
        for number in range(LINE_SEARCH_STEPS):
            losses, second = slope_along(self.f, g, step if number else 0.0, self.p, self.q, here.mu)
            at = step if number else 0.0
            slope, second = losses + along + at * square, second + square
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
        X, curved = self._all_curved_rows(here)

        def times(direction: np.ndarray) -> np.ndarray:
            along = curved * (X @ direction[:-1] + direction[-1])
            return np.append(X.T @ along, along.sum())

        return times

    def curved_rows(self, here: Sums, most: int) -> tuple[Any, np.ndarray] | None:
        return self._all_curved_rows(here) if here.n_curved <= most else None

    def _all_curved_rows(self, here: Sums) -> tuple[Any, np.ndarray]:
        if here.mu > 0:
            inside = [(0 < s) & (s < here.mu) for s in (1 - self.f, 1 + self.f)]
            curved = (self.p * inside[0] + self.q * inside[1]) / here.mu
        else:
            curved = 2 * (self.p * (self.f < 1) + self.q * (self.f > -1))
        rows = np.flatnonzero(curved)
        return self.rows.X[rows].astype(np.float64, copy=False), curved[rows]


def _sum_kept(part: RowPart, p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float, kind: str) -> np.ndarray:
    return sum_scored(part, p[part.span], q[part.span], f[part.span], mu, kind)
