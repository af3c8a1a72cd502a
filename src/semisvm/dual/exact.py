"""Exact steps for small problems that pairwise steps are too short for.

    minimize over d    1/2 d' K_FF d + gradient_F' d    subject to    sum(d) = 0,    F: the variables inside their boxes

Pairwise steps change two variables. Where the kernel matrix of the free variables F has little or no curvature in
directions of three or more variables, as with a linear kernel of unscaled features that are not separable, every pair
runs uphill soon, and the boxes are hundreds of millions of steps away. In the eigenvectors of the matrix (centered, so
that every direction sums to 0) such a direction is explicit: one step follows it to the box. Where there is curvature
in all directions, one step is the minimum.

Each step either reaches the minimum over F or puts a variable on its bound, so a sequence is no longer than F.
Pairwise steps then find which variables leave their bounds.
"""

from typing import Any, Protocol

import numpy as np
from scipy import linalg

MOST_VARIABLES = 128  # the eigenvectors of more would take longer than pairwise steps
EXACT_AFTER = 20_000  # pairwise steps before the first exact ones, and between two sequences of them
NO_CURVATURE = 1e-13  # eigenvalues below this share of the largest, per variable, are rounding
ROUNDING_OF_SUMS = 2.0**-52
SHARE_OF_MARGIN = 0.01  # scores that are not known to this share of the margin are not worth having


class MovingState(Protocol):
    """What exact steps read and change: arrays of shape (pieces, n), as in `pairwise`."""

    kernel: Any
    beta: np.ndarray
    gradient: np.ndarray
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    n_iter: int

    @property
    def objective(self) -> float:
        """The objective at beta."""


class ExactSteps:
    """Exact steps of one solve, taken whenever enough pairwise steps were not enough."""

    def __init__(self, state: MovingState):
        self.state = state
        self.due_at = state.n_iter + EXACT_AFTER

    @property
    def are_due(self) -> bool:
        """Whether the problem is small, its kernel is in memory, and many pairwise steps were taken."""
        state = self.state
        return state.n_iter >= self.due_at and state.beta.size <= MOST_VARIABLES and bool(state.kernel.is_present.all())

    def take(self, tol: float) -> bool:
        """Minimize over the free variables; return False, and change nothing, where scores would be rounding.

        The sums K beta must be known to a small share of a margin. If they are not, no coefficients are a solution.
        """
        state = self.state
        self.due_at = state.n_iter + EXACT_AFTER
        before = state.beta.copy(), state.gradient.copy(), state.objective
        K = state.kernel.values[state.kernel.slot].astype(np.float64)
        for _ in range(state.beta.size):
            if not self._take_one(K, tol):
                break
        rounding = ROUNDING_OF_SUMS * float((np.abs(K) @ np.abs(state.beta.sum(axis=0))).max())
        is_known = rounding < SHARE_OF_MARGIN * float(np.abs(state.linear).max())
        if not (is_known and state.objective <= before[2]):
            state.beta[:], state.gradient[:] = before[:2]
        return is_known

    def _take_one(self, K: np.ndarray, tol: float) -> bool:
        """Take one step; return whether a variable came to its bound, so that another step may help."""
        state = self.state
        piece, row = np.nonzero((state.beta > state.lower) & (state.beta < state.upper))
        if len(row) < 2:
            return False
        direction, longest = _best_direction(K[np.ix_(row, row)], state.gradient[piece, row], tol)
        beta, low, high = (values[piece, row] for values in (state.beta, state.lower, state.upper))
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(direction > 0, (high - beta) / direction, (low - beta) / direction)
        room[direction == 0] = np.inf
        length = min(longest, float(room.min()))
        if not np.isfinite(length):
            return False
        moved = np.clip(beta + length * direction, low, high)
        if length < longest:
            first = int(np.argmin(room))
            moved[first] = high[first] if direction[first] > 0 else low[first]
        state.beta[piece, row] = moved
        self._restore_sum(piece, row, float((moved - beta).sum()))
        state.n_iter += 1
        state.gradient[:] = state.linear + K @ state.beta.sum(axis=0)
        return length < longest

    def _restore_sum(self, piece: np.ndarray, row: np.ndarray, excess: float) -> None:
        """Take what rounding added to the sum from the variable that has most room for it."""
        state = self.state
        beta, low, high = (values[piece, row] for values in (state.beta, state.lower, state.upper))
        at = int(np.argmax(np.minimum(beta - low, high - beta)))
        state.beta[piece[at], row[at]] = np.clip(beta[at] - excess, low[at], high[at])


def _best_direction(K: np.ndarray, gradient: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """A direction of sum 0 and how long a step along it may be: 1 to the minimum, infinity where there is none."""
    centered = K - K.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    values, vectors = linalg.eigh((centered + centered.T) / 2, check_finite=False)
    slopes = vectors.T @ (gradient - gradient.mean())
    is_flat = values <= NO_CURVATURE * len(K) * max(float(values[-1]), 0.0)
    downhill = -vectors[:, is_flat] @ slopes[is_flat]
    downhill -= downhill.mean()
    if np.abs(downhill).max(initial=0.0) > tol / 4:
        return downhill, np.inf
    curved = -vectors[:, ~is_flat] @ (slopes[~is_flat] / values[~is_flat])
    return curved - curved.mean(), 1.0
