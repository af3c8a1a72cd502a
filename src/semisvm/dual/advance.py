"""How a solve on the CPU advances: pairwise steps, working sets, and exact steps where pairwise
ones are too short.

Pairwise steps, for small problems and single changes:

    bring in  the kernel rows of the variables, not in memory, that violate optimality most
    step      among the variables whose rows are in memory until their own gap is well below the gap
              (or below tol)

So a row is made when its variable is needed, many at a time by one product. If few rows are support
vectors, most of the kernel matrix is never made; if the matrix is larger than memory, some rows are
made more than once.

Working sets, for large problems, with everything that is long on all cores:

    choose   half a set of the variables that violate optimality most, in place of the older half of
             the last set
    G        the kernel values between them: only those with new variables are made
    step     pairwise steps among them on G, which stays in the cache, until their gap is well below
             the gap
    spread   K[:, moved] times what moved is added to the gradient; rows not in memory are made
             panel by panel, and a panel is added while it is in the first-level cache

A variable stays for two rounds: without the second one there are several times as many. A row of K
is made only if its variable moved, not if it was only chosen. It is kept if it will be needed
again: its variable is inside its box, or it was made before, or the rows serve a sequence of
problems. Sizes depend on the problem alone, and every sum has one order: the solution is the same
to the last bit for any number of threads.

Exact steps, for small problems that pairwise steps have not solved soon:

    minimize over d    1/2 d' K_FF d + gradient_F' d    subject to    sum(d) = 0
    F                  the variables inside their boxes

Where K_FF has little or no curvature in directions of three or more variables, as with a huge C, or
with a linear kernel of unscaled features that are not separable, every pair runs uphill soon, and
the minimum, or the box, is millions of steps away. A Cholesky factor of K_FF gives the minimum.
Where there is no factor, a flat direction is explicit in the eigenvectors of the matrix (centered,
so that every direction sums to 0), and one step follows it to the box. Each step either reaches the
minimum over F or puts a variable on its bound, so a sequence is hardly longer than F.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from semisvm.dual.host import SolverState

# A kernel matrix smaller than this is made completely, and solved by pairwise steps.
WHOLE_GRAM_BYTES = 64_000_000
# Pairwise steps bring in FIRST_BATCH kernel rows at first, later the share BATCH_GROWTH of those in
# memory; before that, the gap among the rows in memory is closed to PAIRWISE_SHARE of the whole.
FIRST_BATCH = 256
BATCH_GROWTH = 0.15
PAIRWISE_SHARE = 0.3

# (rows, variables): from this many rows on, a working set has this many variables.
SET_SIZES = ((12_000, 2048), (5_000, 1024), (0, 512))
# The share of a working set that stays for the next round.
STAYING_SHARE = 0.5
# The gap of a working set is closed to SET_GAP_SHARE of the problem's gap, but not below
# SET_GAP_FLOOR times tol, so that the last rounds do not end just above tol.
SET_GAP_SHARE = 0.3
SET_GAP_FLOOR = 0.5
# Most steps of a round for each variable of the working set.
STEPS_PER_MEMBER = 100
# Numbers after each row of G: at a power of two, a column would lie in one set of the cache.
PADDING = 16

MOST_FREE = 256  # with more free variables, exact steps would take longer than pairwise ones
MOST_UNCLIPPED = 5  # steps that end inside all boxes, before pairwise steps go on
SET_ASIDE = 0.1  # a difference of gradients below this share of tol is not worth another step
ROWS_PER_PRODUCT = 256  # kernel rows whose absolute values are copied at a time
# Pairwise steps before the first exact ones, and between two sequences of them.
EXACT_AFTER = 20_000
NO_CURVATURE = 1e-13  # eigenvalues below this share of the largest, per variable, are rounding
ROUNDING_OF_SUMS = 2.0**-52
SHARE_OF_MARGIN = 0.01  # scores that are not known to this share of the margin are not worth having


class PairwiseSteps:
    """Advances a solve by pairwise steps among the rows in memory."""

    def __init__(self, state: "SolverState"):
        self.state = state

    def advance(self, tol: float, max_iter: float) -> bool:
        """Bring in rows, and step among those in memory."""
        state = self.state
        all_present = self._bring_in(tol)
        state.step(
            tol if all_present else max(tol, PAIRWISE_SHARE * (state.highest - state.lowest)),
            max_iter,
        )
        return True

    def _bring_in(self, tol: float) -> bool:
        """Make rows of the worst violators; return whether all that may move have one."""
        state, kernel = self.state, self.state.kernel
        may_rise = state.beta < state.upper
        may_fall = state.beta > state.lower
        # Rows whose boxes have width 0 are never needed.
        can_move = (may_rise | may_fall).any(axis=0)
        n_missing = int((kernel.slot[can_move] < 0).sum())
        if n_missing == 0:
            return True
        if kernel.n_rows**2 * kernel.dtype.itemsize <= min(WHOLE_GRAM_BYTES, kernel.values.nbytes):
            kernel.require(np.arange(kernel.n_rows))
            return True
        if n_missing <= FIRST_BATCH and np.count_nonzero(can_move) <= kernel.capacity:
            kernel.require(np.flatnonzero(can_move))
            return True
        rising = np.where(may_rise, state.gradient, np.inf)
        falling = np.where(may_fall, state.gradient, -np.inf)
        # How much the variables of each row would gain by rising, and by falling.
        violation_up = (falling.max() - rising).max(axis=0)
        violation_down = (falling - rising.min()).max(axis=0)
        n_held = kernel.n_rows - int((kernel.slot < 0).sum())
        size = min(max(FIRST_BATCH, int(BATCH_GROWTH * n_held)), kernel.capacity // 2)
        rows = np.union1d(
            _worst_rows(violation_up, size // 2, tol), _worst_rows(violation_down, size // 2, tol)
        )
        if kernel.is_frugal:
            kernel.release(state.settled_rows(), int((kernel.slot[rows] < 0).sum()))
        kernel.require(rows)
        return bool((kernel.slot[can_move] >= 0).all())


def _worst_rows(violation, count: int, tol: float) -> np.ndarray:
    """Rows with the `count` largest violations above tol; ties are drawn from all rows evenly."""
    rows = np.flatnonzero(violation >= tol)
    if len(rows) <= count:
        return rows
    rows = np.random.default_rng(0).permutation(rows)
    return rows[np.argpartition(-violation[rows], count - 1)[:count]]


class WorkingSets:
    """Advances a solve by working sets; it changes the coefficients and the gradient of its state.

    member   (size,)                 the variable at each position of G, an index into the raveled
             state; -1: none
    G        (size, size + PADDING)  the kernel values between the members
    """

    def __init__(self, state: "SolverState"):
        self.state = state
        kernel = state.kernel
        n_variables = state.beta.size
        size = min(n_variables, next(size for n_rows, size in SET_SIZES if kernel.n_rows >= n_rows))
        self.member = np.full(size, -1)
        self.row = np.zeros(size, dtype=np.intp)
        self.joined = np.zeros(size, dtype=np.int64)
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
        # One compiled call: Ctrl-C comes before it or after it, and coefficients and gradient stay
        # consistent.
        apply_moves(state.gradient, state.beta.ravel(), change, variable, beta[moved])
        state.n_iter += n_steps
        return n_steps > 0

    def _choose(self, tol: float) -> None:
        """Replace members, and make the kernel values of those that are new."""
        from semisvm.dual.pairwise_kernel import worst_violators

        state = self.state
        size = len(self.member)
        # Half a set at a time: the two halves alternate, and the new variables have adjacent
        # positions in G.
        most_new = size if size == state.beta.size else size - int(STAYING_SHARE * size)
        kept = self._kept(size)
        is_leaving = self.member >= 0
        is_leaving[kept] = False
        self.is_member[self.member[is_leaving]] = False
        self.member[is_leaving] = -1
        new = worst_violators(
            state.gradient,
            state.beta,
            state.lower,
            state.upper,
            self.is_member,
            state.lowest,
            state.highest,
            tol,
            min(size - len(kept), most_new),
        )
        at = np.flatnonzero(self.member < 0)[: len(new)]
        self.member[at] = new
        self.row[at], self.joined[at] = new % state.kernel.n_rows, state.n_rounds
        self.is_member[new] = True
        if len(new):
            state.kernel.source.fill_gram(self.G, np.concatenate([kept, at]), len(kept), self.row)

    def _kept(self, size: int) -> np.ndarray:
        """Positions that stay: variables that joined last, then by violation."""
        state = self.state
        here = np.flatnonzero(self.member >= 0)
        count = size if size == state.beta.size else int(STAYING_SHARE * size)
        if len(here) <= count:
            return here
        newest = here[self.joined[here] == self.joined[here].max()]
        if len(newest) == count:  # nearly always
            return newest
        at = self.member[here]
        beta = state.beta.ravel()[at]
        gradient = state.gradient.ravel()[at]
        may_rise = beta < state.upper.ravel()[at]
        may_fall = beta > state.lower.ravel()[at]
        by_rising = np.where(may_rise, state.highest - gradient, -np.inf)
        violation = np.maximum(by_rising, np.where(may_fall, gradient - state.lowest, -np.inf))
        return np.sort(here[np.lexsort((-violation, -self.joined[here]))[:count]])

    def _step(self, tol: float, max_iter: float) -> tuple[np.ndarray, int]:
        """Solve the set; return the coefficients of its members, and the number of steps."""
        from semisvm.dual.pairwise_kernel import pairwise_steps

        state = self.state
        size = len(self.member)
        at = self.member
        beta, lower, upper = (
            part.ravel()[at][None] for part in (state.beta, state.lower, state.upper)
        )
        middle = (
            state.lowest + state.highest
        ) / 2  # of a gradient near 0, float32 keeps more digits
        gradient = (state.gradient.ravel()[at] - middle).astype(self.G.dtype)[None]
        movable = np.empty((1, size), dtype=np.int32)
        position = np.where(at >= 0, np.arange(size), -1)
        goal = max(SET_GAP_FLOOR * tol, SET_GAP_SHARE * (state.highest - state.lowest))
        n_steps, _ = pairwise_steps(
            self.G,
            position,
            self._unused,
            0,
            state.kernel.diagonal[self.row],
            gradient,
            beta,
            lower,
            upper,
            movable,
            goal,
            int(min(STEPS_PER_MEMBER * size, max_iter - state.n_iter)),
        )
        return beta[0], n_steps

    def _spread(self, variable: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The change of K beta when the variables get these coefficients."""
        state, kernel = self.state, self.state.kernel
        rows = variable % kernel.n_rows
        moves = beta - state.beta.ravel()[variable]
        is_free = (beta > state.lower.ravel()[variable]) & (beta < state.upper.ravel()[variable])
        if len(state.beta) > 1:  # several variables may have the same row
            rows, of = np.unique(rows, return_inverse=True)
            moves = np.bincount(of, weights=moves, minlength=len(rows))
            is_free = np.bincount(of, weights=is_free, minlength=len(rows)) > 0
        is_kept = is_free | self.was_made[rows] | (not kernel.is_frugal)
        kernel.clock += 1
        # Rows of settled variables make room: before more memory is taken if rows are frugal, else
        # when it is full.
        n_new = int(is_kept[kernel.slot[rows] < 0].sum())
        settled = state.settled_rows()
        kernel.release(settled, n_new if kernel.is_frugal else max(0, n_new - kernel.n_free))
        self.was_made[rows] = True
        return kernel.spread(rows, moves, is_kept)


class ExactSteps:
    """Exact steps of one solve, taken whenever enough pairwise steps were not enough."""

    def __init__(self, state: "SolverState"):
        self.state = state
        self.due_at = state.n_iter + EXACT_AFTER

    @property
    def are_due(self) -> bool:
        """Whether many steps were taken, the kernel is in memory, and few variables are free."""
        state, kernel = self.state, self.state.kernel
        if (
            state.n_iter < self.due_at
            or kernel.n_rows**2 * kernel.dtype.itemsize > WHOLE_GRAM_BYTES
        ):
            return False
        n_free = int(((state.beta > state.lower) & (state.beta < state.upper)).sum())
        return n_free <= MOST_FREE and bool(kernel.is_present.all())

    def take(self, tol: float) -> bool:
        """Minimize over the free variables; return False, and change nothing, where scores would be
        rounding.

        The sums K beta must be known to a small share of a margin. If they are not, no coefficients
        are a solution.
        """
        state, kernel = self.state, self.state.kernel
        self.due_at = state.n_iter + EXACT_AFTER
        beta = self._minimum(tol)
        coefficients = beta.sum(axis=0)
        gradient = state.linear + kernel.times(coefficients)
        sizes = np.abs(coefficients).astype(kernel.dtype)
        parts = np.array_split(kernel.slot, -(-kernel.n_rows // ROWS_PER_PRODUCT))
        largest = max(float((np.abs(kernel.values[part]) @ sizes).max()) for part in parts)
        is_known = ROUNDING_OF_SUMS * largest < SHARE_OF_MARGIN * float(np.abs(state.linear).max())
        if is_known and 0.5 * np.sum(beta * (gradient + state.linear)) <= state.objective:
            state.beta[:], state.gradient[:] = beta, gradient
        return is_known

    def _minimum(self, tol: float) -> np.ndarray:
        """The coefficients at the minimum over the variables that are still free."""
        state, kernel = self.state, self.state.kernel
        at = np.nonzero((state.beta > state.lower) & (state.beta < state.upper))
        K = kernel.values[kernel.slot[at[1]]][:, at[1]].astype(np.float64)
        beta, gradient, low, high = (
            part[at] for part in (state.beta, state.gradient, state.lower, state.upper)
        )
        before = beta.copy()
        free = np.arange(len(beta))
        n_unclipped = 0
        while (
            len(free) >= 2
            and n_unclipped < MOST_UNCLIPPED
            and np.ptp(gradient[free]) > SET_ASIDE * tol
        ):
            direction, longest = _best_direction(
                K[np.ix_(free, free)], gradient[free], tol, kernel.dtype
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                room = (
                    np.where(direction > 0, high[free] - beta[free], low[free] - beta[free])
                    / direction
                )
            room[direction == 0] = np.inf
            length = min(longest, float(room.min()))
            if not np.isfinite(length):
                break
            moved = np.clip(beta[free] + length * direction, low[free], high[free])
            if length < longest:
                first = int(np.argmin(room))
                moved[first] = high[free[first]] if direction[first] > 0 else low[free[first]]
            gradient += K[:, free] @ (moved - beta[free])
            beta[free] = moved
            n_unclipped += length == longest
            state.n_iter += 1
            free = free[(moved > low[free]) & (moved < high[free])]
        minimum = state.beta.copy()
        if len(
            beta
        ):  # what rounding added to the sum is taken from the variable that has most room for it
            most = int(np.argmax(np.minimum(beta - low, high - beta)))
            beta[most] = np.clip(beta[most] - (beta - before).sum(), low[most], high[most])
            minimum[at] = beta
        return minimum


def _best_direction(
    K: np.ndarray, gradient: np.ndarray, tol: float, dtype: np.dtype
) -> tuple[np.ndarray, float]:
    """A direction of sum 0, and the longest step along it; infinity where there is no minimum."""
    # The last variable takes up the sum of the others. What rounding has made negative in K, a
    # small ridge lifts.
    reduced = K[:-1, :-1] - K[-1, :-1] - (K[:-1, -1:] - K[-1, -1])
    corner = np.diagonal(reduced).copy()
    np.fill_diagonal(reduced, corner + float(np.finfo(dtype).eps) * np.sqrt(len(K)) * corner.max())
    factor, failed = linalg.lapack.dpotrf(reduced, lower=True, overwrite_a=True)
    pivots = np.diagonal(factor) ** 2
    if failed == 0 and pivots.min() > NO_CURVATURE * len(K) * pivots.max():
        others, _ = linalg.lapack.dpotrs(factor, gradient[-1] - gradient[:-1], lower=True)
        direction = np.append(others, -others.sum())
        slope = float(-gradient @ direction)
        curvature = float(direction @ K @ direction)
        if slope > 0:
            return direction, slope / curvature if curvature > 0 else np.inf
    # Flat directions are eigenvectors of the centered matrix.
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
