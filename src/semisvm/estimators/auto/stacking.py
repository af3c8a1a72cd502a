"""The weights of an average of scores, from the leave-one-out scores of its members.

    A_j     (l, c)  the leave-one-out scores of member j on the labeled rows
    Y       (l, c)  what they should be, +1 or -1
    count   (l,)    how much each labeled row counts
    prior   (J,)    the weights where the labels say nothing, positive, with sum 1

    minimize    1/(2 c) sum_i count_i |Y_i - sum_j w_j A_ji|^2 + strength sum_j w_j log(w_j / prior_j)
    subject to  w >= 0,  sum_j w_j = 1

It is strictly convex. The logarithm keeps every weight positive, so that Newton's method needs no active set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_STEPS = 200
STAY_INSIDE = 0.9  # the most of the way to the boundary that a step goes
SUFFICIENT = 1e-4  # of the decrease that the slope promises


@dataclass(frozen=True)
class Stacked:
    """Weights (J,), the value of the objective, how many steps were made, and how far it may be from the minimum."""

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
    while n_iter < MOST_STEPS:
        n_iter += 1
        gradient = G @ w - b + strength * (np.log(w / prior) + 1)
        step = _newton_step(G + np.diag(strength / w), gradient)
        gap = float(-gradient @ step) / 2
        if gap <= tol * max(1.0, strength):
            break
        shrinking = step < 0
        length = min(1.0, STAY_INSIDE * float(np.min(w[shrinking] / -step[shrinking], initial=np.inf)))
        before = objective(w)
        while objective(w + length * step) > before - SUFFICIENT * length * 2 * gap and length > 1e-14:
            length /= 2
        w = w + length * step
    w = w / w.sum()
    return Stacked(w, objective(w) + float(target @ target) / 2, n_iter, max(gap, 0.0))


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The step to the minimum of the quadratic model along which the sum stays the same."""
    n = len(gradient)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = hessian, 0
    return np.linalg.solve(system, np.append(-gradient, 0))[:n]
