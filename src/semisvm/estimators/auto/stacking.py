"""The weights of an average of scores, from the leave-one-out scores of its members.

    A_j     (l, c)  the leave-one-out scores of member j on the labeled rows
    Y       (l, c)  what they should be, +1 or -1
    count   (l,)    how much each labeled row counts
    prior   (J,)    the weights where the labels say nothing, positive, with sum 1

    minimize    1/(2 c) sum_i count_i |Y_i - sum_j w_j A_ji|^2 + strength sum_j w_j log(w_j / prior_j)
    subject to  w >= 0,  sum_j w_j = 1

It is strictly convex, and the logarithm keeps every weight positive: Newton's method needs no active set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_NEWTON_STEPS = 200
SMALLEST_WEIGHT = 1e-100
SUFFICIENT = 1e-4  # of the decrease that the slope promises


@dataclass(frozen=True)
class Stacked:
    """Weights (J,), the value of the objective, how many steps were made, and how far it may be from the minimum.

    The gap is a share of the strength where that is above 1.
    """

    weights: np.ndarray
    objective: float
    n_iter: int
    gap: float


def stack(
    left_out: np.ndarray, Y: np.ndarray, count: np.ndarray, prior: np.ndarray, *, strength: float, tol: float = 1e-10
) -> Stacked:
    """Solve the problem of the module's docstring; `left_out` is (J, l, c)."""
    n_members, _, n_columns = left_out.shape
    by_row = np.sqrt(count / n_columns)[:, None]
    A, target = (left_out * by_row).reshape(n_members, -1), (Y * by_row).ravel()
    G, b = A @ A.T, A @ target

    def objective(w: np.ndarray) -> float:
        return float(w @ G @ w / 2 - b @ w + strength * (w @ np.log(w / prior)))

    w, gap, n_iter = prior.copy(), np.inf, 0
    while n_iter < MOST_NEWTON_STEPS:
        n_iter += 1
        gradient = G @ w - b + strength * (np.log(w / prior) + 1)
        step = _newton_step(G + np.diag(strength / w), gradient)
        decrease = float(-gradient @ step)  # twice what the quadratic model promises
        gap = decrease / 2 / max(1.0, strength)
        if gap <= tol:
            break
        length, before = 1.0, objective(w)
        while objective(_moved(w, length * step)) > before - SUFFICIENT * length * decrease and length > 1e-14:
            length /= 2
        w = _moved(w, length * step)
    return Stacked(w, objective(w) + float(target @ target) / 2, n_iter, max(gap, 0.0))


def _moved(w: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The weights after a step; those that shrink do so by a factor, and stay positive however long it is."""
    moved = np.where(step < 0, w * np.exp(np.minimum(step, 0) / w), w + step)
    moved = np.maximum(moved, SMALLEST_WEIGHT)
    return moved / moved.sum()


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The step to the minimum of the quadratic model along which the sum stays the same."""
    n = len(gradient)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = hessian, 0
    return np.linalg.solve(system, np.append(-gradient, 0))[:n]
