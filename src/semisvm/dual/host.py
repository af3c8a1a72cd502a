"""The solvers of the CPU: the loop that they share, the state they work on, and when they end.

    repeat
        compute the gap over all variables; stop when it is below tol
        advance: pairwise steps among the rows in memory, or a working set (`advance`)

Both keep the gradient of all variables up to date, so the gap is that of the whole problem.
Pairwise steps are for small problems and for warm starts that few steps finish; working sets use
all cores and are for the rest.

A small problem, once below tol, continues to working precision if that takes only a few
milliseconds: with few labels the model then does not depend on the order of rows or on where the
solver started.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.dual import feasible_start
from semisvm.dual.advance import WHOLE_GRAM_BYTES, ExactSteps, PairwiseSteps, WorkingSets
from semisvm.dual.problem import DualProblem, DualSolution, Status, bias_of
from semisvm.errors import UndefinedError
from semisvm.kernels.rows import CachedRows

# A warm start is finished by pairwise steps where the whole kernel matrix is smaller than this.
WARM_GRAM_BYTES = 128_000_000
# A warm start that changes fewer than SINGLE_FLIP_ROWS rows, among fewer than PAIRWISE_WARM_ROWS,
# is finished by pairwise steps too.
SINGLE_FLIP_ROWS = 256
PAIRWISE_WARM_ROWS = 20_000
# In frugal rows, the rounds for which a variable must stay at a bound before its kernel row may be
# overwritten.
ROUNDS_TO_SETTLE = 3
# Gradient entries updated between two checks of the clock, Ctrl-C and callbacks.
WORK_BETWEEN_CHECKS = 50_000_000
# Steps between two checks where steps are short, so that a stall is noticed soon.
MOST_STEPS_BETWEEN_CHECKS = 20_000
# A problem of up to FEW_VARIABLES variables that has reached tol goes on to the gap POLISHED_GAP,
# for at most STEPS_TO_POLISH steps: then the model does not depend on the order of rows.
FEW_VARIABLES = 256
POLISHED_GAP = 1e-10
STEPS_TO_POLISH = 20_000
# Whatever its gap, a solve may take this many steps, or this many for each variable if that is
# more, before it has to show progress (LEAST_GAIN).
STEPS_BEFORE_STALL = 1_000_000
STEPS_PER_VARIABLE_BEFORE_STALL = 100
# The same for a problem of up to SMALL_PROBLEM variables, which exact steps help.
SMALL_PROBLEM = 128
STEPS_OF_SMALL_BEFORE_STALL = 200_000
# From then on, each doubling of the number of steps must bring the least gap below this share of
# what it was.
LEAST_GAIN = 0.9
# A gap below this share of the largest gradient is rounding.
ROUNDING = 4 * float(np.finfo(np.float64).eps)
# A relative decrease of the objective below this, over as many steps as there are variables or over
# ROUNDS_TO_STALL rounds of the loop, is no progress.
STALLED_DECREASE = 1e-14
ROUNDS_TO_STALL = 400


def solve_on_host(
    problem: DualProblem,
    start: DualSolution | np.ndarray | None,
    kernel: CachedRows,
    *,
    tol: float,
    max_iter: int | None,
    time_limit: float | None,
    callback: Callable[[int, float], bool] | None,
) -> DualSolution:
    """Solve on the CPU; arguments as for `semisvm.dual.solve`."""
    began = time.perf_counter()
    state = SolverState(problem, start, kernel)
    limits = _Limits(
        math.inf if max_iter is None else max_iter,
        math.inf if time_limit is None else began + time_limit,
        callback,
    )
    progress = _Progress(state)
    exact = ExactSteps(state)
    n_evicted = kernel.n_evicted
    is_fresh = False
    advance: Callable[[float, float], bool] | None = None
    status = None
    try:
        while status is None:
            gap = state.survey()
            if gap < tol:
                state.polish(limits.max_iter)
                if is_fresh or kernel.source.is_repeatable or kernel.n_evicted == n_evicted:
                    status = Status.CONVERGED
                else:
                    # Rows that were made twice may differ in the last digit: check the gap on a
                    # fresh gradient.
                    state.refresh()
                    is_fresh = True
                    progress = _Progress(state)
            elif (reason := limits.reached(state, gap)) is not None:
                status = reason
            elif not progress.continues(state, gap):
                status = Status.STALLED
            elif exact.are_due:
                status = None if exact.take(tol) else Status.STALLED
            else:
                advance = advance or _method(state, start is None)
                status = None if advance(tol, limits.max_iter) else Status.STALLED
                state.n_rounds += 1
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return state.solution(status, time.perf_counter() - began)


def _method(state: "SolverState", is_cold: bool) -> Callable[[float, float], bool]:
    """The way to advance: a function of tol and max_iter that returns whether anything moved."""
    kernel = state.kernel
    is_small = kernel.n_rows**2 * kernel.dtype.itemsize <= (
        WHOLE_GRAM_BYTES if is_cold else WARM_GRAM_BYTES
    )
    is_nearly_there = (
        not is_cold and kernel.n_rows <= PAIRWISE_WARM_ROWS and state.n_repaired < SINGLE_FLIP_ROWS
    )
    return (PairwiseSteps if is_small or is_nearly_there else WorkingSets)(state).advance


@dataclass
class _Limits:
    max_iter: float
    deadline: float
    callback: Callable[[int, float], bool] | None

    def reached(self, state: "SolverState", gap: float) -> Status | None:
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
    2. Neither the objective nor the least gap has decreased: kernels that are not exactly symmetric
       can make the steps cycle. Near the end the objective alone says nothing: it falls by the
       square of the gap, less than its rounding.
    3. After many steps, twice as many have hardly reduced the least gap. Features of very different
       scales or a huge C slow the steps down so much that no user would wait for the end.
    """

    def __init__(self, state: "SolverState"):
        self.seen_at = state.n_iter
        self.round_seen = state.n_rounds
        self.objective = state.objective
        self.least_gap = self.least_gap_before = math.inf
        self.window_gap = self.window_gap_before = math.inf
        least = (
            STEPS_BEFORE_STALL if state.beta.size > SMALL_PROBLEM else STEPS_OF_SMALL_BEFORE_STALL
        )
        self.compare_at = (
            state.n_iter + max(least, STEPS_PER_VARIABLE_BEFORE_STALL * state.beta.size) // 2
        )

    def continues(self, state: "SolverState", gap: float) -> bool:
        if gap <= ROUNDING * state.largest:
            return False
        self.least_gap = min(self.least_gap, gap)
        self.window_gap = min(self.window_gap, gap)
        if state.n_iter >= self.compare_at:
            if not self.least_gap < LEAST_GAIN * self.least_gap_before:
                return False
            self.least_gap_before = self.least_gap
            self.least_gap = math.inf
            self.compare_at = 2 * state.n_iter
        window = max(10_000, state.beta.size)
        if (
            state.n_iter - self.seen_at < window
            and state.n_rounds - self.round_seen < ROUNDS_TO_STALL
        ):
            return True
        before = self.objective
        self.seen_at = state.n_iter
        self.round_seen = state.n_rounds
        has_narrowed = self.window_gap < LEAST_GAIN * self.window_gap_before
        self.window_gap_before = min(self.window_gap, self.window_gap_before)
        self.window_gap = math.inf
        self.objective = state.objective
        return has_narrowed or before - self.objective > STALLED_DECREASE * max(
            abs(self.objective), 1e-300
        )


class SolverState:
    """Coefficients and gradient of a solve, (pieces, n): piece k of data row j."""

    def __init__(
        self, problem: DualProblem, start: DualSolution | np.ndarray | None, kernel: CachedRows
    ):
        self.problem = problem
        self.kernel = kernel
        self.place, n_pieces = _piece_layout(problem)
        shape = (n_pieces, self.kernel.n_rows)
        self.linear, self.lower, self.upper = (np.zeros(shape) for _ in range(3))
        for ours, theirs in (
            (self.linear, problem.linear),
            (self.lower, problem.lower),
            (self.upper, problem.upper),
        ):
            ours[self.place] = theirs
        self.beta = np.zeros(shape)
        self.gradient = np.empty(shape)
        self.movable = np.zeros(shape, dtype=np.int32)  # as wide as the numbers it masks
        self.n_iter = self.n_rounds = 0
        self.lowest = math.inf
        self.highest = -math.inf
        self.largest = 0.0
        self._clocks: list[int] = []  # the clock of the kernel rows each time rows were brought in
        self._begin(start)

    def _begin(self, start: DualSolution | np.ndarray | None) -> None:
        """Carry the start into the bounds, and update the gradient by what changed."""
        beta, scores, change = feasible_start(self.problem, start, self.kernel)
        rows = np.flatnonzero(change)
        self.n_repaired = len(rows)
        if 0 < len(rows) <= self.kernel.capacity // 2:
            self.kernel.require(rows)  # they have just changed, so the solver will need them
        self.beta[self.place] = beta
        self.gradient[:] = self.linear + (scores + self.kernel.times(change))

    @property
    def objective(self) -> float:
        return float(0.5 * np.sum(self.beta * (self.gradient + self.linear)))

    def survey(self) -> float:
        """Return the gap, -inf where no pair could move; note the extremes of the gradient."""
        from semisvm.dual.pairwise_kernel import survey_gradient

        self.lowest, self.highest, self.largest = survey_gradient(
            self.gradient, self.beta, self.lower, self.upper
        )
        if not math.isfinite(self.largest):
            raise UndefinedError(
                "The kernel has values that are not finite: scale the data, or correct the kernel."
            )
        return self.highest - self.lowest

    def step(self, tol: float, max_iter: float) -> None:
        """Step among the variables whose rows are in memory, for a fraction of a second."""
        from semisvm.dual.pairwise_kernel import pairwise_steps

        kernel = self.kernel
        n_steps, _ = pairwise_steps(
            kernel.values,
            kernel.slot,
            kernel.last_used,
            kernel.clock,
            kernel.diagonal,
            self.gradient,
            self.beta,
            self.lower,
            self.upper,
            self.movable,
            tol,
            int(
                min(
                    max(WORK_BETWEEN_CHECKS // self.beta.size, 100),
                    MOST_STEPS_BETWEEN_CHECKS,
                    max_iter - self.n_iter,
                )
            ),
        )
        self.n_iter += n_steps
        kernel.clock += n_steps

    def settled_rows(self) -> np.ndarray:
        """Rows of variables at a bound that the last rounds did not use: few move again."""
        kernel = self.kernel
        self._clocks.append(kernel.clock)
        if len(self._clocks) <= ROUNDS_TO_SETTLE:
            return np.empty(0, dtype=np.intp)
        unused = kernel.owner[
            (kernel.last_used < self._clocks[-1 - ROUNDS_TO_SETTLE]) & (kernel.owner >= 0)
        ]
        beta, lower, upper = (part[:, unused] for part in (self.beta, self.lower, self.upper))
        return unused[~((beta < upper) & (beta > lower)).any(axis=0)]

    def polish(self, max_iter: float) -> None:
        """Solve a small problem beyond tol; a start that was optimal already is left as it is."""
        kernel = self.kernel
        if (
            0 < self.n_iter < max_iter
            and self.beta.size <= FEW_VARIABLES
            and kernel.capacity == kernel.n_rows
        ):
            kernel.require(np.arange(kernel.n_rows))
            before = self.beta.copy(), self.gradient.copy()
            self.step(POLISHED_GAP, min(max_iter, self.n_iter + STEPS_TO_POLISH))
            if not self.survey() < POLISHED_GAP:
                # The gap may rise on its way: keep the state below tol.
                self.beta[:], self.gradient[:] = before

    def refresh(self) -> None:
        """Recompute the gradient from the coefficients."""
        self.gradient[:] = self.linear + self.kernel.times(self.beta.sum(axis=0))

    def _is_free(self) -> np.ndarray:
        """Variables inside their boxes by more than rounding, which determine the bias."""
        width = self.upper - self.lower
        rounding = 1e-12 * np.where(np.isfinite(width), width, 0)
        return (self.beta > self.lower + rounding) & (self.beta < self.upper - rounding)

    def solution(self, status: Status, seconds: float) -> DualSolution:
        """What the solve found."""
        self.survey()
        may_rise = self.beta < self.upper
        may_fall = self.beta > self.lower
        return DualSolution(
            beta=self.beta[self.place].copy(),
            scores=self.gradient[0] - self.linear[0],
            bias=bias_of(self.gradient, may_rise, may_fall, self._is_free()),
            objective=self.objective,
            gap=self.highest - self.lowest,
            n_iter=self.n_iter,
            status=status,
            seconds=seconds,
            row=self.problem.row,
        )


def _piece_layout(problem: DualProblem) -> tuple[tuple[Any, Any], int]:
    """Where variables are in arrays of shape (pieces, n), and the number of pieces."""
    if problem.row is None:
        return (0, slice(None)), 1
    order = np.argsort(problem.row, kind="stable")
    sorted_rows = problem.row[order]
    first = np.searchsorted(sorted_rows, sorted_rows)  # where the run of equal rows begins
    piece = np.empty(problem.n_variables, dtype=np.intp)
    piece[order] = np.arange(problem.n_variables) - first
    return (piece, problem.row), int(piece.max(initial=0)) + 1
