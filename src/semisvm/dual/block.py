"""The solver for devices: outer steps that solve a block of variables each, for one problem or many at a time.

    repeat, without a word from the host
        choose    the variables that violate optimality most: a quarter of the block from either side; with those that
                  the last step chose they are the block
        gather    the kernel values between them
        solve     pairwise steps within the block, by one program, until its gap is well below that of the problem
        spread    scores += K[:, block] times what changed: one pass over the block's kernel rows

Half of the block stays for a second step: without it Adult takes four times as many outer steps. Every few steps the
host looks at what the device wrote some steps ago, so that the device never waits: whether all is solved, the limits,
the callback. When all is solved the scores are made afresh from the coefficients and the gap is certified on them.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semisvm.dual.block_arrays import STALLED, Blocks
from semisvm.dual.problem import DualProblem, DualSolution, Status
from semisvm.kernels.device_rows import DeviceRows
from semisvm.kernels.gram import current

STALLED_AT = 1e-14  # relative decrease of the objective, over as many steps as variables, that is no progress
OUTER_STEPS_TO_STALL = 400  # or over so many outer steps
CERTIFICATES = 5  # times that a gap may turn out larger on scores made afresh


def solve_block(
    problems: Sequence[DualProblem],
    starts: Sequence[DualSolution | np.ndarray | None],
    kernel: DeviceRows,
    *,
    tol: float,
    max_iter: int | None,
    time_limit: float | None,
    callback: Callable[[int, float], bool] | None,
) -> list[DualSolution]:
    """Solve problems on one kernel; arguments as for `semisvm.dual.solve`, max_iter for each problem."""
    import torch

    began = time.perf_counter()
    deadline = math.inf if time_limit is None else began + time_limit
    try:
        with current(kernel.device):
            blocks = Blocks(problems, starts, kernel, tol, max_iter)
            reason = _solve_and_certify(blocks, tol, deadline, callback)
        return _solutions(blocks, reason, time.perf_counter() - began)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Solving {len(problems)} problem(s) of {problems[0].n_variables} variables does not fit the memory of "
            f"device {kernel.device}: set cache_size (megabytes for kernel rows) lower, or use device='cpu'."
        ) from error


def _solve_and_certify(blocks: Blocks, tol: float, deadline: float, callback) -> Status | None:
    """Step until every problem has ended; return why, where it was not the device that said so."""
    try:
        for _ in range(CERTIFICATES):
            reason = _step_until_solved(blocks, deadline, callback)
            if not blocks.has_moved or not blocks.refresh(tol) or reason is not None:
                return reason
    except KeyboardInterrupt:
        blocks.refresh(tol)
        return Status.INTERRUPTED
    return Status.STALLED


def _step_until_solved(blocks: Blocks, deadline: float, callback) -> Status | None:
    pending: deque[Any] = deque()
    progress = _Progress(blocks)
    while True:
        for _ in range(blocks.steps_a_look):
            blocks.step()
        pending.append(blocks.look())
        if len(pending) <= blocks.looks_behind:
            continue
        gap, n_iter, state, objective, is_finite = pending.popleft()()
        if not is_finite.all():
            raise ValueError("The kernel has values that are not finite: scale the data, or mend the kernel.")
        if (state != 0).all():
            return None
        if time.perf_counter() >= deadline:
            return Status.TIME_LIMIT
        if callback is not None and callback(int(n_iter.sum()), float(gap.max())):
            return Status.STOPPED
        progress.check(blocks, n_iter, objective, state)


class _Progress:
    """Tells solves that creep from those that stand still, which are ended: rounding can make them cycle."""

    def __init__(self, blocks: Blocks):
        self.n_last = np.full(blocks.n_problems, -1.0)
        self.n_seen, self.objective = np.zeros(blocks.n_problems), np.full(blocks.n_problems, math.inf)
        self.outer_seen = np.full(blocks.n_problems, blocks.n_outer)

    def check(self, blocks: Blocks, n_iter, objective, state) -> None:
        stands_still = n_iter == self.n_last
        self.n_last = n_iter
        window = max(10_000, blocks.n_variables)
        due = (n_iter - self.n_seen >= window) | (blocks.n_outer - self.outer_seen >= OUTER_STEPS_TO_STALL)
        creeps = due & ~(self.objective - objective > STALLED_AT * np.maximum(np.abs(objective), 1e-300))
        self.n_seen = np.where(due, n_iter, self.n_seen)
        self.outer_seen = np.where(due, blocks.n_outer, self.outer_seen)
        self.objective = np.where(due, objective, self.objective)
        for problem in np.flatnonzero((stands_still | creeps) & (state == 0)):
            blocks.state[problem] = STALLED


def _solutions(blocks: Blocks, reason: Status | None, seconds: float) -> list[DualSolution]:
    ends = {0: reason or Status.STALLED, 1: Status.CONVERGED, 2: Status.MAX_ITER, STALLED: Status.STALLED}
    gap, objective, bias = blocks.certificate()
    beta, scores, state, n_iter = (x.cpu().numpy() for x in (blocks.beta, blocks.scores, blocks.state, blocks.n_iter))
    return [
        DualSolution(
            beta=beta[b],
            scores=scores[b],
            gradient=scores[b][blocks.row_on_host] + problem.linear,
            bias=float(bias[b]),
            objective=float(objective[b]),
            gap=float(gap[b]),
            n_iter=int(n_iter[b]),
            status=ends[int(state[b])],
            seconds=seconds,
            row=problem.row,
        )
        for b, problem in enumerate(blocks.problems)
    ]
