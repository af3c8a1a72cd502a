"""Pairwise steps on the rows in memory, rows brought in as the solution needs them: one way to advance on the CPU.

    bring in  the kernel rows of the variables, not in memory, that violate optimality most
    step      among the variables whose rows are in memory until their own gap is well below the gap (or below tol)

So a row is made when its variable is needed, many at a time by one product. If few rows are support vectors, most of
the kernel matrix is never made; if the matrix is larger than memory, some rows are made more than once.
"""

import numpy as np

from semisvm.dual.host import WHOLE_GRAM_BYTES, SolverState
from semisvm.kernels import CachedRows

FIRST_BATCH = 256  # kernel rows brought in at first,
BATCH_GROWTH = 0.15  # and then this share of those in memory
PAIRWISE_SHARE = 0.3  # the gap among the rows in memory is closed to this share before others are brought in


class PairwiseSteps:
    """Advances a solve by pairwise steps among the rows in memory."""

    def __init__(self, state: SolverState):
        self.state = state

    def advance(self, tol: float, max_iter: float) -> bool:
        """Bring in rows, and step among those in memory."""
        state = self.state
        all_present = self._bring_in(tol)
        state.step(tol if all_present else max(tol, PAIRWISE_SHARE * (state.highest - state.lowest)), max_iter)
        return True

    def _bring_in(self, tol: float) -> bool:
        """Make kernel rows of the variables that violate optimality most; return whether all that may move have one."""
        state, kernel = self.state, self.state.kernel
        may_rise, may_fall = state.beta < state.upper, state.beta > state.lower
        can_move = (may_rise | may_fall).any(axis=0)  # rows whose boxes have width 0 are never needed
        if (kernel.slot[can_move] >= 0).all():
            return True
        if kernel.n_rows**2 * kernel.dtype.itemsize <= min(WHOLE_GRAM_BYTES, kernel.values.nbytes):
            kernel.require(np.arange(kernel.n_rows))
            return True
        rising = np.where(may_rise, state.gradient, np.inf)
        falling = np.where(may_fall, state.gradient, -np.inf)
        violation_up = (falling.max() - rising).max(axis=0)  # how much each row's variables would gain by rising,
        violation_down = (falling - rising.min()).max(axis=0)  # and by falling
        n_held = kernel.n_rows - int((kernel.slot < 0).sum())
        size = min(max(FIRST_BATCH, int(BATCH_GROWTH * n_held)), kernel.capacity // 2)
        rows = np.union1d(_worst_rows(violation_up, size // 2, tol), _worst_rows(violation_down, size // 2, tol))
        if isinstance(kernel, CachedRows) and kernel.is_frugal:
            kernel.release(state.settled_rows(kernel, may_rise & may_fall), int((kernel.slot[rows] < 0).sum()))
        kernel.require(rows)
        return bool((kernel.slot[can_move] >= 0).all())


def _worst_rows(violation, count: int, tol: float) -> np.ndarray:
    """Rows with the `count` largest violations above tol; ties are drawn evenly from the whole range of rows."""
    rows = np.flatnonzero(violation >= tol)
    if len(rows) <= count:
        return rows
    rows = np.random.default_rng(0).permutation(rows)
    return rows[np.argpartition(-violation[rows], count - 1)[:count]]
