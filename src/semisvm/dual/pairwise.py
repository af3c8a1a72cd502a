"""The CPU solver: compiled pairwise steps on the rows in memory, rows brought in as the solution asks for them.

    repeat
        gap over all variables; stop when it is below tol
        bring in the kernel rows of the variables, not in memory, that violate optimality most
        step among the variables whose rows are in memory until their own gap is well below the gap (or below tol)

So a row is made when its variable is needed, a whole batch by one product; a data set of few support vectors never
makes most of its Gram matrix, and a Gram matrix larger than memory only makes rows more than once. Steps keep the
gradient of all variables up to date, which makes the gap that is certified that of the whole problem.

A small problem, once below tol, is carried on to working precision while that takes a few milliseconds: with few
labels the model then does not depend on the order of rows or on where the solver started.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.dual.problem import DualProblem, DualSolution, Status, bias_of
from semisvm.dual.repair import repair

FIRST_BATCH = 256  # kernel rows brought in at first,
GROWTH = 0.15  # and then this share of those in memory
INNER_SHARE = 0.3  # how far the gap among the rows in memory is closed before others are brought in
ROUNDS_TO_SETTLE = 3  # rounds a bounded variable sits out before its row may be overwritten, where memory is saved
WHOLE_GRAM_BYTES = 64_000_000  # below this the whole matrix costs less than choosing from it
WORK_BETWEEN_LOOKS = 50_000_000  # gradient entries touched between two looks at the clock, Ctrl-C and callbacks
FEW_VARIABLES = 256  # a problem this small is solved beyond tol,
SETTLED = 1e-10  # to this gap,
STEPS_TO_SETTLE = 20_000  # if so many steps suffice
STALLED_AT = 1e-14  # relative decrease of the objective, over as many steps as variables, that is no progress


def solve_pairwise(
    problem: DualProblem,
    start: DualSolution | np.ndarray | None,
    *,
    tol: float,
    max_iter: int | None,
    time_limit: float | None,
    callback: Callable[[int, float], bool] | None,
) -> DualSolution:
    """Solve on the CPU; arguments as for `semisvm.dual.solve`."""
    began = time.perf_counter()
    state = _State(problem, start)
    limits = _Limits(
        math.inf if max_iter is None else max_iter, math.inf if time_limit is None else began + time_limit, callback
    )
    evicted_before = problem.kernel.n_evicted
    try:
        status = _descend(state, tol, limits)
        made_twice = problem.kernel.n_evicted > evicted_before and not problem.kernel.source.is_repeatable
        if status is Status.CONVERGED and made_twice:
            # Rows that were made twice may differ in the last digit: certify on a gradient made afresh.
            state.refresh()
            status = _descend(state, tol, limits)
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


def _descend(state: "_State", tol: float, limits: _Limits) -> Status:
    """Alternate between bringing rows in and stepping among them until the gap, or a limit, is reached."""
    progress = _Progress(state)
    while True:
        may_rise, may_fall = state.beta < state.upper, state.beta > state.lower
        gap = state.gap(may_rise, may_fall)
        if not np.isfinite(state.gradient).all():
            raise ValueError("The kernel has values that are not finite: scale the data, or mend the kernel.")
        if gap < tol:
            state.settle(limits.max_iter)
            return Status.CONVERGED
        if (reason := limits.reached(state, gap)) is not None:
            return reason
        if not progress.made(state):
            return Status.STALLED
        all_present = _bring_in(state, may_rise, may_fall, tol)
        inner_tol = tol if all_present else max(tol, INNER_SHARE * gap)
        state.step(inner_tol, limits.max_iter)


class _Progress:
    """Tells a solve that creeps from one that stands still: kernels that are not quite symmetric can cycle."""

    def __init__(self, state: "_State"):
        self.seen_at, self.objective = state.n_iter, state.objective

    def made(self, state: "_State") -> bool:
        window = max(10_000, state.beta.size)
        if state.n_iter - self.seen_at < window:
            return True
        before, self.seen_at, self.objective = self.objective, state.n_iter, state.objective
        return before - self.objective > STALLED_AT * max(abs(self.objective), 1e-300)


def _bring_in(state: "_State", may_rise, may_fall, tol: float) -> bool:
    """Make kernel rows for the variables that violate optimality most; say whether no row that may move is missing."""
    kernel = state.kernel
    can_move = (may_rise | may_fall).any(axis=0)  # rows out of use, their boxes shut, are never asked for
    if (kernel.slot[can_move] >= 0).all():
        return True
    if kernel.n_rows**2 * kernel.dtype.itemsize <= min(WHOLE_GRAM_BYTES, kernel.values.nbytes):
        kernel.require(np.arange(kernel.n_rows))
        return True
    rising = np.where(may_rise, state.gradient, np.inf)
    falling = np.where(may_fall, state.gradient, -np.inf)
    violation_up = (falling.max() - rising).max(axis=0)  # how far each row's variables could rise with profit,
    violation_down = (falling - rising.min()).max(axis=0)  # and fall
    n_held = kernel.n_rows - int((kernel.slot < 0).sum())
    size = min(max(FIRST_BATCH, int(GROWTH * n_held)), kernel.capacity // 2)
    rows = np.union1d(_largest(violation_up, size // 2, tol), _largest(violation_down, size // 2, tol))
    if kernel.is_frugal:
        kernel.release(state.settled_rows(may_rise & may_fall), int((kernel.slot[rows] < 0).sum()))
    kernel.require(rows)
    return bool((kernel.slot[can_move] >= 0).all())


def _largest(violation, count: int, tol: float) -> np.ndarray:
    """Rows with the `count` largest violations above tol; equal ones are drawn evenly from the whole range of rows."""
    rows = np.flatnonzero(violation >= tol)
    if len(rows) <= count:
        return rows
    rows = np.random.default_rng(0).permutation(rows)
    return rows[np.argpartition(-violation[rows], count - 1)[:count]]


class _State:
    """Coefficients and gradient on their way, as arrays of shape (pieces, n): piece k of data row j."""

    def __init__(self, problem: DualProblem, start: DualSolution | np.ndarray | None):
        self.problem, self.kernel = problem, problem.kernel
        self.place, n_pieces = _layout(problem)
        shape = (n_pieces, self.kernel.n_rows)
        self.linear, self.lower, self.upper = (np.zeros(shape) for _ in range(3))
        for ours, theirs in ((self.linear, problem.linear), (self.lower, problem.lower), (self.upper, problem.upper)):
            ours[self.place] = theirs
        self.beta, self.gradient = np.zeros(shape), np.empty(shape)
        self.movable = np.zeros(shape, dtype=np.int32)  # as wide as what it masks
        self.n_iter = 0
        self._clocks: list[int] = []  # of the kernel rows, whenever rows were brought in
        self._begin(start)

    def _begin(self, start):
        """Carry the start into the bounds and bring the gradient up to date for the coefficients that changed."""
        problem = self.problem
        if isinstance(start, DualSolution):
            before, scores = start.beta, start.scores if self._has_the_rows_of(start) else None
        else:
            before = np.zeros(problem.n_variables) if start is None else np.asarray(start, dtype=np.float64)
            scores = None
        if before.shape != (problem.n_variables,):
            raise ValueError(f"start has shape {before.shape} where the problem has {problem.n_variables} variables.")
        if not np.isfinite(before).all():
            raise ValueError("start must be finite.")
        if scores is None:
            scores = self.kernel.times(self._by_row(before))
        gradient = scores[self.place[1]] + problem.linear
        beta = repair(before, problem.lower, problem.upper, problem.total, gradient)
        self.beta[self.place] = beta
        self.gradient[:] = self.linear + self._moved_scores(scores, self._by_row(beta - before))

    def _has_the_rows_of(self, start: DualSolution) -> bool:
        """Whether the scores of `start` are what its coefficients give on the rows they have here."""
        theirs, ours = start.row, self.problem.row
        if len(start.scores) != self.kernel.n_rows:
            return False
        if theirs is None or ours is None:
            return theirs is ours
        return np.array_equal(theirs, ours)

    def _moved_scores(self, scores, change):
        rows = np.flatnonzero(change)
        if 0 < len(rows) <= self.kernel.capacity // 2:
            self.kernel.require(rows)  # they have just changed: the solver will want them
        return scores + self.kernel.times(change)

    def _by_row(self, beta) -> np.ndarray:
        if self.problem.row is None:
            return beta
        return np.bincount(self.problem.row, weights=beta, minlength=self.kernel.n_rows)

    @property
    def objective(self) -> float:
        return float(0.5 * np.sum(self.beta * (self.gradient + self.linear)))

    def gap(self, may_rise, may_fall) -> float:
        """How far from optimal: -inf where no pair of variables could move at all."""
        highest = np.max(self.gradient, where=may_fall, initial=-np.inf)
        lowest = np.min(self.gradient, where=may_rise, initial=np.inf)
        return float(highest - lowest)

    def step(self, tol: float, max_iter: float) -> None:
        """Take compiled steps among the variables whose rows are in memory, for a fraction of a second at most."""
        from semisvm.dual.pairwise_kernel import mark_movable, pairwise_steps

        kernel = self.kernel
        mark_movable(self.movable, self.beta, self.lower, self.upper, kernel.slot)
        n_steps, _ = pairwise_steps(
            kernel.values, kernel.slot, kernel.last_used, kernel.clock, kernel.diagonal,
            self.gradient, self.beta, self.lower, self.upper, self.movable,
            tol, int(min(max(WORK_BETWEEN_LOOKS // self.beta.size, 100), max_iter - self.n_iter)),
        )  # fmt: skip
        self.n_iter += n_steps
        kernel.clock += n_steps

    def settled_rows(self, is_free) -> np.ndarray:
        """Rows of variables that lie at a bound and had no part in the last rounds: few of them ever move again."""
        self._clocks.append(self.kernel.clock)
        if len(self._clocks) <= ROUNDS_TO_SETTLE:
            return np.empty(0, dtype=np.intp)
        idle = self.kernel.owner[self.kernel.last_used < self._clocks[-1 - ROUNDS_TO_SETTLE]]
        idle = idle[idle >= 0]
        return idle[~is_free.any(axis=0)[idle]]

    def settle(self, max_iter: float) -> None:
        """Carry a small problem on beyond tol; a start that was optimal already is left as it is."""
        if 0 < self.n_iter < max_iter and self.beta.size <= FEW_VARIABLES and self.kernel.is_present.all():
            before = self.beta.copy(), self.gradient.copy()
            self.step(SETTLED, min(max_iter, self.n_iter + STEPS_TO_SETTLE))
            if not self.gap(self.beta < self.upper, self.beta > self.lower) < SETTLED:
                self.beta[:], self.gradient[:] = before  # the gap does not fall steadily: keep the one below tol

    def refresh(self) -> None:
        """Recompute the gradient from the coefficients alone."""
        self.gradient[:] = self.linear + self.kernel.times(self.beta.sum(axis=0))

    def _is_free(self) -> np.ndarray:
        """Variables inside their boxes by more than rounding: one that is beside its bound must not fix the bias."""
        width = self.upper - self.lower
        rounding = 1e-12 * np.where(np.isfinite(width), width, 0)
        return (self.beta > self.lower + rounding) & (self.beta < self.upper - rounding)

    def solution(self, status: Status, seconds: float) -> DualSolution:
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


def _layout(problem: DualProblem) -> tuple[tuple[Any, Any], int]:
    """Where the variables are in arrays of shape (pieces, n): an index (piece, row), and the number of pieces."""
    if problem.row is None:
        return (0, slice(None)), 1
    order = np.argsort(problem.row, kind="stable")
    sorted_rows = problem.row[order]
    first = np.searchsorted(sorted_rows, sorted_rows)  # where the run of equal rows begins
    piece = np.empty(problem.n_variables, dtype=np.intp)
    piece[order] = np.arange(problem.n_variables) - first
    return (piece, problem.row), int(piece.max(initial=0)) + 1
