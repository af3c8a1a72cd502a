"""The solver of the CPU.

Where K is small, pairwise steps among all variables. Otherwise, in rounds (`WorkingSets.advance`):

    1  choose half a set of those variables that violate optimality most, in place of the older half
       of the last set
    2  make the kernel values between the members: only those of new variables
    3  pairwise steps on them, until their gap is well below the gap
    4  add K[:, moved] times what moved to the gradient; rows that are not in memory are made panel
       by panel, and a panel is added while it is in the first-level cache

The gradient is that of all variables, in float64, so the gap is that of the whole problem. A
variable stays for two rounds: without the second one there are several times as many. A row is kept
if its variable is inside its box: others hardly move again. Sizes depend on the problem alone, and
every sum has one order: the solution is the same to the last bit for any number of threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semisvm.engine.dual.stall import Stall
from semisvm.engine.dual.start import feasible_start
from semisvm.engine.problem import DualProblem, Limits, Solution, Status
from semisvm.errors import UndefinedError

# (rows, variables): from this many rows on, a working set has this many variables.
SET_SIZES = ((12_000, 2048), (5_000, 1024), (0, 512))
SET_GAP_SHARE, SET_GAP_FLOOR = 0.3, 0.5  # of the problem's gap, of tol: how far a set is solved
STEPS_PER_MEMBER = 100  # most steps of a round
PADDING = 16  # numbers after each row of G: a column must not lie in one set of the cache
WORK_BETWEEN_CHECKS, MOST_STEPS_BETWEEN_CHECKS = 50_000_000, 20_000
# A problem of up to FEW_VARIABLES variables that has reached tol goes on for a few milliseconds:
# then the model does not depend on the order of rows.
FEW_VARIABLES, POLISHED_GAP, STEPS_TO_POLISH = 256, 1e-10, 20_000


def solve_on_host(problem: DualProblem, start: Any, limits: Limits) -> Solution:
    """Solve from a start: the solution of an earlier problem on the same kernel, or an array."""
    kernel = problem.on
    K = kernel.whole()
    state = State(problem, start)
    stall = Stall(state.beta.size)
    sets = None
    n_remade, is_fresh = kernel.n_remade, kernel.is_repeatable
    while True:
        gap = state.survey()
        status = limits.reached(state.n_iter, gap)
        if status is Status.CONVERGED:
            if kernel.n_remade > n_remade and not is_fresh:
                state.refresh()  # rows made twice may differ in the last digit
                is_fresh = True
                continue
            if K is not None and state.beta.size <= FEW_VARIABLES and 0 < state.n_iter:
                state.polish(K, limits.max_iter)
        elif status is None and stall.has_come(state.n_iter, gap, state.largest):
            status = Status.STALLED
        elif status is None and K is not None:
            state.step(K, limits.tol, limits.max_iter)
        elif status is None:
            sets = sets or WorkingSets(state)
            status = None if sets.advance(limits.tol, limits.max_iter) else Status.STALLED
        if status is not None:
            return state.solution(status)


class State:
    """Coefficients and gradient of a solve, (pieces, n): piece k of data row j."""

    def __init__(self, problem: DualProblem, start: Any):
        self.problem, self.kernel = problem, problem.on
        self.place, n_pieces = _piece_layout(problem)
        shape = (n_pieces, self.kernel.n_rows)
        self.linear, self.lower, self.upper, self.beta = (np.zeros(shape) for _ in range(4))
        self.linear[self.place] = problem.linear
        self.lower[self.place] = problem.lower
        self.upper[self.place] = problem.upper
        self.movable = np.zeros(shape, dtype=np.int32)  # as wide as the numbers it masks
        self.n_iter = self.n_rounds = 0
        self.lowest, self.highest, self.largest = math.inf, -math.inf, 0.0
        beta, scores, change = feasible_start(problem, start)
        self.beta[self.place] = beta
        rows = np.flatnonzero(change)  # they have just changed, so the solver will need them
        scores = scores + self.kernel.spread(rows, change[rows], np.ones(len(rows), dtype=bool))
        self.gradient = self.linear + scores

    def survey(self) -> float:
        """The gap, -inf where no pair could move; note the extremes of the gradient."""
        from semisvm.engine.dual.steps import survey_gradient

        self.lowest, self.highest, self.largest = survey_gradient(
            self.gradient, self.beta, self.lower, self.upper
        )
        if not math.isfinite(self.largest):
            raise UndefinedError(
                "The kernel has values that are not finite: scale the data, or correct the kernel."
            )
        return self.highest - self.lowest

    def step(self, K: np.ndarray, tol: float, max_iter: float) -> None:
        """Step among all variables, for a fraction of a second."""
        from semisvm.engine.dual.steps import pairwise_steps

        most = min(
            max(WORK_BETWEEN_CHECKS // self.beta.size, 100),
            MOST_STEPS_BETWEEN_CHECKS,
            max_iter - self.n_iter,
        )
        boxes = self.beta, self.lower, self.upper, self.movable
        n_steps, _ = pairwise_steps(K, self.kernel.diagonal, self.gradient, *boxes, tol, int(most))
        self.n_iter += n_steps

    def polish(self, K: np.ndarray, max_iter: float) -> None:
        """Solve a small problem beyond tol."""
        before = self.beta.copy(), self.gradient.copy()
        self.step(K, POLISHED_GAP, min(max_iter, self.n_iter + STEPS_TO_POLISH))
        if not self.survey() < POLISHED_GAP:  # the gap may rise on its way
            self.beta[:], self.gradient[:] = before

    def refresh(self) -> None:
        """Compute the gradient from the coefficients."""
        self.gradient[:] = self.linear + self.kernel.times(self.beta.sum(axis=0))

    def solution(self, status: Status) -> Solution:
        gap = self.survey()
        may_rise, may_fall = self.beta < self.upper, self.beta > self.lower
        width = self.upper - self.lower
        rounding = 1e-12 * np.where(np.isfinite(width), width, 0)
        is_free = (self.beta > self.lower + rounding) & (self.beta < self.upper - rounding)
        if is_free.any():
            bias = float(-self.gradient[is_free].mean())
        else:  # the middle of what the others allow
            ends = [-self.gradient[may_rise].min()] if may_rise.any() else []
            ends += [-self.gradient[may_fall].max()] if may_fall.any() else []
            bias = float(np.mean(ends)) if ends else 0.0
        objective = float(0.5 * np.sum(self.beta * (self.gradient + self.linear)))
        return Solution(
            problem=self.problem,
            bias=bias,
            objective=objective,
            gap=gap,
            n_iter=self.n_iter,
            status=status,
            scores=self.gradient[0] - self.linear[0],
            beta=self.beta[self.place].copy(),
            bound=-objective,
        )


class WorkingSets:
    """Working sets of a solve.

    member   (size,)                 the variable at each position of G, -1: none
    G        (size, size + PADDING)  the kernel values between the members
    """

    def __init__(self, state: State):
        self.state, kernel = state, state.kernel
        size = next(size for n_rows, size in SET_SIZES if kernel.n_rows >= n_rows)
        size = min(state.beta.size, size)
        self.size = size
        self.member = np.full(size, -1)
        self.row = np.zeros(size, dtype=np.intp)
        self.joined = np.zeros(size, dtype=np.int64)
        self.G = np.zeros((size, size + PADDING), dtype=kernel.dtype)
        self.is_member = np.zeros(state.beta.size, dtype=bool)

    def advance(self, tol: float, max_iter: float) -> bool:
        """One round; return whether any step was taken."""
        from semisvm.engine.dual.steps import apply_moves, pairwise_steps

        state = self.state
        # 1. Choose members
        new = self._choose(tol)
        # 2. Make the kernel values of those that are new
        if len(new):
            state.kernel.fill_gram(self.G, self.row, new)
        # 3. Step within the set
        at = self.member
        beta, lower, upper = (
            np.where(at >= 0, part.ravel()[at], 0.0)[None]
            for part in (state.beta, state.lower, state.upper)
        )
        middle = (state.lowest + state.highest) / 2  # near 0, float32 keeps more digits
        gradient = (state.gradient.ravel()[at] - middle).astype(self.G.dtype)[None]
        goal = max(SET_GAP_FLOOR * tol, SET_GAP_SHARE * (state.highest - state.lowest))
        most = int(min(STEPS_PER_MEMBER * self.size, max_iter - state.n_iter))
        movable = np.empty((1, self.size), dtype=np.int32)
        diagonal = state.kernel.diagonal[self.row]
        n_steps, _ = pairwise_steps(
            self.G, diagonal, gradient, beta, lower, upper, movable, goal, most
        )
        # 4. Bring the gradient of all variables up to date
        moved = np.flatnonzero((beta[0] != state.beta.ravel()[at]) & (at >= 0))
        variable = at[moved]
        change = self._spread(variable, beta[0, moved])
        apply_moves(state.gradient, state.beta.ravel(), change, variable, beta[0, moved])
        state.n_iter += n_steps
        state.n_rounds += 1
        return n_steps > 0

    def _choose(self, tol: float) -> np.ndarray:
        """Replace members; return the positions of those that are new."""
        from semisvm.engine.dual.steps import worst_violators

        state = self.state
        here = np.flatnonzero(self.member >= 0)
        newest = here[self.joined[here] == self.joined[here].max()] if len(here) else here
        kept = here if len(here) <= self.size // 2 else newest[: self.size // 2]
        leaving = np.setdiff1d(here, kept, assume_unique=True)
        self.is_member[self.member[leaving]] = False
        self.member[leaving] = -1
        most = self.size - self.size // 2 if self.size < state.beta.size else self.size
        new = worst_violators(
            state.gradient, state.beta, state.lower, state.upper, self.is_member,
            state.lowest, state.highest, tol, min(self.size - len(kept), most),
        )  # fmt: skip
        at = np.flatnonzero(self.member < 0)[: len(new)]
        self.member[at] = new
        self.row[at], self.joined[at] = new % state.kernel.n_rows, state.n_rounds
        self.is_member[new] = True
        return at

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
        return kernel.spread(rows, moves, is_free)


def _piece_layout(problem: DualProblem) -> tuple[tuple[Any, Any], int]:
    """Where variables are in arrays of shape (pieces, n), and the number of pieces."""
    if problem.row is None:
        return (0, slice(None)), 1
    order = np.argsort(problem.row, kind="stable")
    sorted_rows = problem.row[order]
    piece = np.empty(len(order), dtype=np.intp)
    piece[order] = np.arange(len(order)) - np.searchsorted(sorted_rows, sorted_rows)
    return (piece, problem.row), int(piece.max(initial=0)) + 1
