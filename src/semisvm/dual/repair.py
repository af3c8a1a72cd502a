"""Carry coefficients into new bounds, touching few of them.

A warm start is worth what it keeps: each coefficient that changes costs a kernel row to bring the gradient up to
date. So every coefficient outside its new box is clipped, and what the sum then lacks is taken by as few variables
as possible, those first for which the move is most downhill.
"""

import numpy as np


def repair(beta, lower, upper, total, gradient) -> np.ndarray:
    """Return the coefficients, inside the bounds and with the right sum, that differ from `beta` in few places."""
    beta = np.clip(beta, lower, upper)
    lacking = total - beta.sum()
    if lacking == 0:
        return beta
    rising = lacking > 0
    room = upper - beta if rising else beta - lower
    order = np.argsort(gradient if rising else -gradient, kind="stable")
    order = order[room[order] > 0]
    reach = np.cumsum(room[order])
    n_needed = int(np.searchsorted(reach, abs(lacking))) + 1
    chosen = order[:n_needed]
    moves = room[chosen].copy()
    if len(chosen):
        moves[-1] = min(moves[-1], abs(lacking) - moves[:-1].sum())
    beta[chosen] += moves if rising else -moves
    return beta
