"""Carry coefficients into new bounds, touching few of them.

A warm start is worth what it keeps: each coefficient that changes costs a kernel row to bring the gradient up to
date. So every coefficient outside its new box is clipped, and what the sum then lacks is taken by as few variables
as possible, those first for which the move is most downhill.
"""

import numpy as np

USUALLY_ENOUGH = 32  # variables looked at before all of them are sorted


def repair(beta, lower, upper, total, gradient) -> np.ndarray:
    """Return the coefficients, inside the bounds and with the right sum, that differ from `beta` in few places."""
    beta = np.clip(beta, lower, upper)
    lacking = total - beta.sum()
    if lacking == 0:
        return beta
    direction = 1.0 if lacking > 0 else -1.0
    room = upper - beta if direction > 0 else beta - lower
    chosen = _fewest(direction * gradient, room, abs(lacking))
    if len(chosen):
        # All but the last go to their bound: set there, not added up, so that no rounding puts them beside it.
        full, last = chosen[:-1], chosen[-1]
        beta[full] = (upper if direction > 0 else lower)[full]
        beta[last] = np.clip(beta[last] + (total - beta.sum()), lower[last], upper[last])
    return beta


def _fewest(slope, room, amount) -> np.ndarray:
    """Variables, steepest first, that together have room for `amount`, and not one more."""
    able = np.flatnonzero(room > 0)
    if len(able) > USUALLY_ENOUGH:
        few = able[np.argpartition(slope[able], USUALLY_ENOUGH)[:USUALLY_ENOUGH]]
        able = few if room[few].sum() >= amount else able
    order = able[np.argsort(slope[able], kind="stable")]
    reach = np.cumsum(room[order])
    return order[: int(np.searchsorted(reach, amount)) + 1]
