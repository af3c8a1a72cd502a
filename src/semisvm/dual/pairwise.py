"""The CPU solver: compiled pairwise steps on the rows in memory, rows brought in as the solution needs them.

    repeat
        compute the gap over all variables; stop when it is below tol
        bring in the kernel rows of the variables, not in memory, that violate optimality most
        step among the variables whose rows are in memory until their own gap is well below the gap (or below tol)

So a row is made when its variable is needed, many at a time by one product. If few rows are support vectors, most of
the kernel matrix is never made; if the matrix is larger than memory, some rows are made more than once. Steps keep the
gradient of all variables up to date, so the gap is that of the whole problem.

A small problem, once below tol, continues to working precision if that takes only a few milliseconds: with few labels
the model then does not depend on the order of rows or on where the solver started.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.dual.exact import MOST_VARIABLES, ExactSteps
from semisvm.dual.problem import DualProblem, DualSolution, Status, bias_of
from semisvm.dual.start import feasible_start
from semisvm.errors import UndefinedError
from semisvm.kernels import CachedRows
from semisvm.kernels.interface import HostRows

FIRST_BATCH = 256  # kernel rows brought in at first,
BATCH_GROWTH = 0.15  # and then this share of those in memory
PAIRWISE_SHARE = 0.3  # the gap among the rows in memory is closed to this share before others are brought in
ROUNDS_TO_SETTLE = 3  # rounds that a variable must stay at a bound before its row may be overwritten, in frugal rows
WHOLE_GRAM_BYTES = 64_000_000  # a smaller kernel matrix is made completely: that costs less than choosing rows
WORK_BETWEEN_CHECKS = 50_000_000  # gradient entries updated between two checks of the clock, Ctrl-C and callbacks
FEW_VARIABLES = 256  # a problem this small is solved beyond tol,
POLISHED_GAP = 1e-10  # to this gap,
STEPS_TO_POLISH = 20_000  # if so many steps are enough
MOST_STEPS_BETWEEN_CHECKS = 20_000  # so that a stall is noticed soon where steps are short
STEPS_BEFORE_STALL = 1_000_000  # a solve may take so many steps, or so many per variable, whatever its gap;
STEPS_PER_VARIABLE_BEFORE_STALL = 100
STEPS_OF_SMALL_BEFORE_STALL = 200_000  # the same where exact steps help the pairwise ones
LEAST_GAIN = 0.9  # from then on, twice the steps must bring the least gap below this share of what it was
ROUNDING = 4 * float(np.finfo(np.float64).eps)  # a gap below this share of the largest gradient is rounding
STALLED_DECREASE = 1e-14  # relative decrease of the objective, over as many steps as variables, that is no progress


def solve_pairwise(
    problem: DualProblem,
    start: DualSolution | np.ndarray | None,
    kernel: HostRows,
    *,
    tol: float,
    max_iter: int | None,
    time_limit: float | None,
    callback: Callable[[int, float], bool] | None,
) -> DualSolution:
    """Solve on the CPU; `kernel` is the problem's, the other arguments are those of `semisvm.dual.solve`."""
    began = time.perf_counter()
    state = _State(problem, start, kernel)
    limits = _Limits(
        math.inf if max_iter is None else max_iter, math.inf if time_limit is None else began + time_limit, callback
    )
    progress, exact = _Progress(state), ExactSteps(state)
    n_evicted, is_fresh = kernel.n_evicted, False
    status = None
    try:
        while status is None:
            may_rise, may_fall = state.beta < state.upper, state.beta > state.lower
            gap = state.gap(may_rise, may_fall)
            if not np.isfinite(state.gradient).all():
                raise UndefinedError(
                    "The kernel has values that are not finite: scale the data, or correct the kernel."
                )
            if gap < tol:
                state.polish(limits.max_iter)
                if is_fresh or kernel.is_repeatable or kernel.n_evicted == n_evicted:
                    status = Status.CONVERGED
                else:
                    # Rows that were made twice may differ in the last digit: check the gap on a fresh gradient.
                    state.refresh()
                    is_fresh, progress = True, _Progress(state)
            elif (reason := limits.reached(state, gap)) is not None:
                status = reason
            elif not progress.continues(state, gap) or (exact.are_due and not exact.take(tol)):
                status = Status.STALLED
            else:
                all_present = _bring_in(state, may_rise, may_fall, tol)
                state.step(tol if all_present else max(tol, PAIRWISE_SHARE * gap), limits.max_iter)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return state.solution(status, time.perf_counter() - began)


@dataclass
class _Limits:
    max_iter: float
    deadline: float
    callback: Callable[[int, float], bool] | None

    def reached(self, state: "_State", gap: float) -> Status | None:
        if state.n_iter >= self.max_iter:
            return Status.MAX_ITER
        if time.perf_counter() >= self.deadline:
            return Status.TIME_LIMIT
        if self.callback is not None and self.callback(state.n_iter, gap):
            return Status.STOPPED
        return None


class _Progress:
    """Detects a solve that no longer makes progress, by any of three signs.

    1. The gap is no larger than the rounding of the gradient.
    2. The objective has not decreased: kernels that are not exactly symmetric can make the steps cycle.
    3. After many steps, twice as many have hardly reduced the least gap. Features of very different scales or a huge C
       slow the steps down so much that no user would wait for the end.
    """

    def __init__(self, state: "_State"):
        self.seen_at, self.objective = state.n_iter, state.objective
        self.least_gap = self.least_gap_before = math.inf
        least = STEPS_BEFORE_STALL if state.beta.size > MOST_VARIABLES else STEPS_OF_SMALL_BEFORE_STALL
        self.compare_at = state.n_iter + max(least, STEPS_PER_VARIABLE_BEFORE_STALL * state.beta.size) // 2

    def continues(self, state: "_State", gap: float) -> bool:
        if gap <= ROUNDING * float(np.abs(state.gradient).max()):
            return False
        self.least_gap = min(self.least_gap, gap)
        if state.n_iter >= self.compare_at:
            if not self.least_gap < LEAST_GAIN * self.least_gap_before:
                return False
            self.least_gap_before, self.least_gap, self.compare_at = self.least_gap, math.inf, 2 * state.n_iter
        window = max(10_000, state.beta.size)
        if state.n_iter - self.seen_at < window:
            return True
        before, self.seen_at, self.objective = self.objective, state.n_iter, state.objective
        return before - self.objective > STALLED_DECREASE * max(abs(self.objective), 1e-300)


def _bring_in(state: "_State", may_rise, may_fall, tol: float) -> bool:
    """Make kernel rows for the variables that violate optimality most; return whether all that may move are present."""
    kernel = state.kernel
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


class _State:
    """Coefficients and gradient during a solve, as arrays of shape (pieces, n): piece k of data row j."""

    def __init__(self, problem: DualProblem, start: DualSolution | np.ndarray | None, kernel: HostRows):
        self.problem, self.kernel = problem, kernel
        self.place, n_pieces = _piece_layout(problem)
        shape = (n_pieces, self.kernel.n_rows)
        self.linear, self.lower, self.upper = (np.zeros(shape) for _ in range(3))
        for ours, theirs in ((self.linear, problem.linear), (self.lower, problem.lower), (self.upper, problem.upper)):
            ours[self.place] = theirs
        self.beta, self.gradient = np.zeros(shape), np.empty(shape)
        self.movable = np.zeros(shape, dtype=np.int32)  # as wide as the numbers it masks
        self.n_iter = 0
        self._clocks: list[int] = []  # the clock of the kernel rows each time rows were brought in
        self._begin(start)

    def _begin(self, start: DualSolution | np.ndarray | None) -> None:
        """Carry the start into the bounds and bring the gradient up to date for the coefficients that changed."""
        beta, scores, change = feasible_start(self.problem, start, self.kernel)
        rows = np.flatnonzero(change)
        if 0 < len(rows) <= self.kernel.capacity // 2:
            self.kernel.require(rows)  # they have just changed, so the solver will need them
        self.beta[self.place] = beta
        self.gradient[:] = self.linear + (scores + self.kernel.times(change))

    @property
    def objective(self) -> float:
        return float(0.5 * np.sum(self.beta * (self.gradient + self.linear)))

    def gap(self, may_rise, may_fall) -> float:
        """How far from optimal: -inf where no pair of variables could move at all."""
        highest = np.max(self.gradient, where=may_fall, initial=-np.inf)
        lowest = np.min(self.gradient, where=may_rise, initial=np.inf)
        return float(highest - lowest)

    def step(self, tol: float, max_iter: float) -> None:
        """Take compiled steps among the variables whose rows are in memory, for at most a fraction of a second."""
        from semisvm.dual.pairwise_kernel import mark_movable, pairwise_steps

        kernel = self.kernel
        mark_movable(self.movable, self.beta, self.lower, self.upper, kernel.slot)
        n_steps, _ = pairwise_steps(
            kernel.values, kernel.slot, kernel.last_used, kernel.clock, kernel.diagonal,
            self.gradient, self.beta, self.lower, self.upper, self.movable,
            tol, int(min(max(WORK_BETWEEN_CHECKS // self.beta.size, 100), MOST_STEPS_BETWEEN_CHECKS,
                         max_iter - self.n_iter)),
        )  # fmt: skip
        self.n_iter += n_steps
        kernel.clock += n_steps

    def settled_rows(self, kernel: CachedRows, is_free: Any) -> np.ndarray:
        """Rows of variables that are at a bound and were not used in the last rounds: few of them ever move again."""
        self._clocks.append(kernel.clock)
        if len(self._clocks) <= ROUNDS_TO_SETTLE:
            return np.empty(0, dtype=np.intp)
        unused = kernel.rows_unused_since(self._clocks[-1 - ROUNDS_TO_SETTLE])
        return unused[~is_free.any(axis=0)[unused]]

    def polish(self, max_iter: float) -> None:
        """Solve a small problem beyond tol; a start that was optimal already is left as it is."""
        if 0 < self.n_iter < max_iter and self.beta.size <= FEW_VARIABLES and self.kernel.is_present.all():
            before = self.beta.copy(), self.gradient.copy()
            self.step(POLISHED_GAP, min(max_iter, self.n_iter + STEPS_TO_POLISH))
            if not self.gap(self.beta < self.upper, self.beta > self.lower) < POLISHED_GAP:
                self.beta[:], self.gradient[:] = before  # the gap may rise on its way: keep the state below tol

    def refresh(self) -> None:
        """Recompute the gradient from the coefficients."""
        self.gradient[:] = self.linear + self.kernel.times(self.beta.sum(axis=0))

    def _is_free(self) -> np.ndarray:
        """Variables inside their boxes by more than rounding: one that is at its bound must not determine the bias."""
        width = self.upper - self.lower
        rounding = 1e-12 * np.where(np.isfinite(width), width, 0)
        return (self.beta > self.lower + rounding) & (self.beta < self.upper - rounding)

    def solution(self, status: Status, seconds: float) -> DualSolution:
        """What the solve found."""
        may_rise, may_fall = self.beta < self.upper, self.beta > self.lower
        beta, gradient = self.beta[self.place].copy(), self.gradient[self.place].copy()
        return DualSolution(
            beta=beta,
            scores=self.gradient[0] - self.linear[0],
            gradient=gradient,
            bias=bias_of(self.gradient, may_rise, may_fall, self._is_free()),
            objective=self.objective,
            gap=self.gap(may_rise, may_fall),
            n_iter=self.n_iter,
            status=status,
            seconds=seconds,
            row=self.problem.row,
        )


def _piece_layout(problem: DualProblem) -> tuple[tuple[Any, Any], int]:
    """Where the variables are in arrays of shape (pieces, n): an index (piece, row), and the number of pieces."""
    if problem.row is None:
        return (0, slice(None)), 1
    order = np.argsort(problem.row, kind="stable")
    sorted_rows = problem.row[order]
    first = np.searchsorted(sorted_rows, sorted_rows)  # where the run of equal rows begins
    piece = np.empty(problem.n_variables, dtype=np.intp)
    piece[order] = np.arange(problem.n_variables) - first
    return (piece, problem.row), int(piece.max(initial=0)) + 1
