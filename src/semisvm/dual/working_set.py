"""Working sets: the other way to advance on the CPU, for large problems, with everything that is long on all cores.

    choose   the variables that violate optimality most, in place of the older half of the last set
    G        the kernel values between them: only those with new variables are made
    step     pairwise steps among them on G, which stays in the cache, until their gap is well below the gap
    spread   K[:, moved] times what moved is added to the gradient; rows not in memory are made panel by panel, and a
             panel is added while it is in the first-level cache

A variable stays for two rounds: without the second one there are several times as many. A row of K is made only if its
variable moved, not if it was only chosen. It is kept if it will be needed again: its variable is inside its box, or it
was made before, or the rows serve a sequence of problems. A step costs two or three microseconds whatever the number of
rows. Sizes depend on the problem alone, and every sum has one order: the solution is the same to the last bit for any
number of threads.
"""

import numpy as np

from semisvm.dual.host import SolverState
from semisvm.kernels import CachedRows

SET_SIZES = ((12_000, 2048), (5_000, 1024), (0, 512))  # variables in a set, from so many rows on
STAYING_SHARE = 0.5  # of a set that stays for the next round
SET_GAP_SHARE = 0.3  # the gap of a set is closed to this share of the problem's gap,
SET_GAP_FLOOR = 0.5  # but not below this share of tol, so that the last rounds do not end just above it
STEPS_PER_MEMBER = 100  # most steps of a round per variable of the set
PADDING = 16  # numbers after each row of G: at a power of two, a column would lie in one set of the cache


class WorkingSets:
    """Advances a solve by working sets.

    Parameters
    ----------
    state : SolverState
        The coefficients and the gradient, which are changed.

    Attributes
    ----------
    member : ndarray of int of shape (size,)
        The variable at each position of G, as an index into the raveled state; -1 if there is none.
    G : ndarray of shape (size, size + PADDING)
        The kernel values between the members.
    """

    def __init__(self, state: SolverState):
        self.state = state
        kernel, n_variables = state.kernel, state.beta.size
        size = min(n_variables, next(size for n_rows, size in SET_SIZES if kernel.n_rows >= n_rows))
        self.member = np.full(size, -1)
        self.row, self.joined = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.int64)
        self.G = np.zeros((size, size + PADDING), dtype=kernel.dtype)
        self.is_member = np.zeros(n_variables, dtype=bool)
        self.was_made = np.zeros(kernel.n_rows, dtype=bool)
        self._unused = np.zeros(size, dtype=np.int64)

    def advance(self, tol: float, max_iter: float) -> bool:
        """Solve one set and spread what moved; return whether anything did."""
        from semisvm.dual.pairwise_kernel import apply_moves

        state = self.state
        self._choose(tol)
        beta, n_steps = self._step(tol, max_iter)
        moved = np.flatnonzero(beta != state.beta.ravel()[self.member])
        moved = moved[self.member[moved] >= 0]
        variable = self.member[moved]
        change = self._spread(variable, beta[moved])
        # One compiled call: Ctrl-C comes before it or after it, and coefficients and gradient stay consistent.
        apply_moves(state.gradient, state.beta.ravel(), change, variable, beta[moved])
        state.n_iter += n_steps
        return n_steps > 0

    def _choose(self, tol: float) -> None:
        """Replace members, and make the kernel values of those that are new."""
        from semisvm.dual.pairwise_kernel import worst_violators

        state, size = self.state, len(self.member)
        kept = self._kept(size)
        left = np.setdiff1d(np.flatnonzero(self.member >= 0), kept, assume_unique=True)
        self.is_member[self.member[left]] = False
        self.member[left] = -1
        new = worst_violators(
            state.gradient, state.beta, state.lower, state.upper, self.is_member, state.lowest, state.highest, tol,
            size - len(kept),
        )  # fmt: skip
        at = np.flatnonzero(self.member < 0)[: len(new)]
        self.member[at] = new
        self.row[at], self.joined[at] = new % state.kernel.n_rows, state.n_rounds
        self.is_member[new] = True
        if len(new):
            state.kernel.fill_gram(self.G, np.concatenate([kept, at]), len(kept), self.row)

    def _kept(self, size: int) -> np.ndarray:
        """Positions that stay: variables that joined last, then by violation."""
        state = self.state
        here = np.flatnonzero(self.member >= 0)
        count = size if size == state.beta.size else int(STAYING_SHARE * size)
        if len(here) <= count:
            return here
        at = self.member[here]
        beta, gradient = state.beta.ravel()[at], state.gradient.ravel()[at]
        may_rise, may_fall = beta < state.upper.ravel()[at], beta > state.lower.ravel()[at]
        by_rising = np.where(may_rise, state.highest - gradient, -np.inf)
        violation = np.maximum(by_rising, np.where(may_fall, gradient - state.lowest, -np.inf))
        return np.sort(here[np.lexsort((-violation, -self.joined[here]))[:count]])

    def _step(self, tol: float, max_iter: float) -> tuple[np.ndarray, int]:
        """Solve the set; return the coefficients of its members, and the number of steps."""
        from semisvm.dual.pairwise_kernel import mark_movable, pairwise_steps

        state, size, at = self.state, len(self.member), self.member
        beta, lower, upper = (part.ravel()[at][None] for part in (state.beta, state.lower, state.upper))
        middle = (state.lowest + state.highest) / 2  # of a gradient near 0, float32 keeps more digits
        gradient = (state.gradient.ravel()[at] - middle).astype(self.G.dtype)[None]
        movable, position = np.empty((1, size), dtype=np.int32), np.arange(size)
        mark_movable(movable, beta, lower, upper, at)
        goal = max(SET_GAP_FLOOR * tol, SET_GAP_SHARE * (state.highest - state.lowest))
        n_steps, _ = pairwise_steps(
            self.G, position, self._unused, 0, state.kernel.diagonal[self.row], gradient, beta, lower, upper, movable,
            goal, int(min(STEPS_PER_MEMBER * size, max_iter - state.n_iter)),
        )  # fmt: skip
        return beta[0], n_steps

    def _spread(self, variable: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The change of K beta when the variables get these coefficients."""
        state, kernel = self.state, self.state.kernel
        rows, moves = variable % kernel.n_rows, beta - state.beta.ravel()[variable]
        is_free = (beta > state.lower.ravel()[variable]) & (beta < state.upper.ravel()[variable])
        if len(state.beta) > 1:  # several variables may have the same row
            rows, of = np.unique(rows, return_inverse=True)
            moves = np.bincount(of, weights=moves, minlength=len(rows))
            is_free = np.bincount(of, weights=is_free, minlength=len(rows)) > 0
        is_kept = is_free | self.was_made[rows]
        kernel.clock += 1
        if isinstance(kernel, CachedRows):
            is_kept |= not kernel.is_frugal
            self._make_room(kernel, int(is_kept[kernel.slot[rows] < 0].sum()))
        self.was_made[rows] = True
        return kernel.spread(rows, moves, is_kept)

    def _make_room(self, kernel: CachedRows, count: int) -> None:
        """Release rows of settled variables: before more memory is taken if rows are frugal, else when it is full."""
        state = self.state
        settled = state.settled_rows(kernel, (state.beta < state.upper) & (state.beta > state.lower))
        if kernel.is_frugal or kernel.n_free < count:
            kernel.release(settled, count if kernel.is_frugal else count - kernel.n_free)
