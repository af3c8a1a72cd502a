"""The solver for devices: outer steps that each solve a block of variables, for one problem or a batch.

    repeat on the device
        choose    the variables that violate optimality most, a quarter of the block from either side; together with
                  those that the previous step chose they form the block
        gather    the kernel values between them
        solve     pairwise steps within the block, by one program, until its gap is well below that of the problem
        add       scores += K[:, block] times what changed: one pass over the block's kernel rows

Half of the block stays for a second step: without it Adult takes four times as many outer steps. Every few steps the
host reads what the device wrote some steps ago, so that the device never waits: whether all problems are solved, the
limits, the callback. When all are solved, the scores are computed again from the coefficients and the gap is checked on
them.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semisvm.dual.block_arrays import STALLED, Blocks
from semisvm.dual.problem import DualProblem, DualSolution, Status
from semisvm.errors import UndefinedError
from semisvm.kernels.device_rows import DeviceRows
from semisvm.kernels.torch_source import current_device

BLOCK_STALLED_DECREASE = (
    1e-14  # relative decrease of the objective, over as many steps as variables, that is no progress
)
OUTER_STEPS_TO_STALL = 400  # or over so many outer steps
MOST_CERTIFICATES = 5  # how often the gap may turn out larger on scores that were computed again


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
    """Solve problems on one kernel; arguments as for `semisvm.dual.solve_many`."""
    import torch

    began = time.perf_counter()
    deadline = math.inf if time_limit is None else began + time_limit
    try:
        with current_device(kernel.device):
            blocks = Blocks(problems, starts, kernel, tol, max_iter)
            reason = _solve_and_certify(blocks, tol, deadline, callback)
        return _solutions(blocks, reason, time.perf_counter() - began)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Solving {len(problems)} problem(s) of {problems[0].n_variables} variables does not fit the memory of "
            f"device {kernel.device}: set cache_size (megabytes for kernel rows) lower, or use device='cpu'."
        ) from error


def _solve_and_certify(blocks: Blocks, tol: float, deadline: float, callback) -> Status | None:
    """Step until every problem has ended; return the reason if the host ended them, None if the device did."""
    try:
        for _ in range(MOST_CERTIFICATES):
            reason = _step_until_solved(blocks, deadline, callback)
            if not blocks.has_moved or not blocks.refresh(tol) or reason is not None:
                return reason
    except KeyboardInterrupt:
        blocks.refresh(tol)
        return Status.INTERRUPTED
    return Status.STALLED


def _step_until_solved(blocks: Blocks, deadline: float, callback) -> Status | None:
    """Step until the device says that every problem has ended (None), or a limit is reached."""
    pending: deque[Any] = deque()
    progress = _BatchProgress(blocks)
    while True:
        for _ in range(blocks.steps_per_look):
            blocks.step()
        pending.append(blocks.look())
        if len(pending) <= blocks.looks_behind:
            continue
        gap, objective, n_iter, state = pending.popleft()()
        _refuse_undefined(objective)
        if (state != 0).all():
            return None
        if time.perf_counter() >= deadline:
            return Status.TIME_LIMIT
        if callback is not None and callback(int(n_iter.sum()), float(gap.max())):
            return Status.STOPPED
        progress.check(blocks, n_iter, objective, state)


def _refuse_undefined(objective: np.ndarray) -> None:
    if not np.isfinite(objective).all():
        raise UndefinedError("The kernel has values that are not finite: scale the data, or correct the kernel.")


class _BatchProgress:
    """Detects and ends solves that no longer make progress: rounding can make them cycle."""

    def __init__(self, blocks: Blocks):
        self.n_last = np.full(blocks.n_problems, -1.0)
        self.n_seen, self.objective = np.zeros(blocks.n_problems), np.full(blocks.n_problems, math.inf)
        self.outer_seen = np.full(blocks.n_problems, blocks.n_outer)

    def check(self, blocks: Blocks, n_iter, objective, state) -> None:
        has_stopped = n_iter == self.n_last
        self.n_last = n_iter
        window = max(10_000, blocks.n_variables)
        due = (n_iter - self.n_seen >= window) | (blocks.n_outer - self.outer_seen >= OUTER_STEPS_TO_STALL)
        is_stalled = due & ~(
            self.objective - objective > BLOCK_STALLED_DECREASE * np.maximum(np.abs(objective), 1e-300)
        )
        self.n_seen = np.where(due, n_iter, self.n_seen)
        self.outer_seen = np.where(due, blocks.n_outer, self.outer_seen)
        self.objective = np.where(due, objective, self.objective)
        for problem in np.flatnonzero((has_stopped | is_stalled) & (state == 0)):
            blocks.end(int(problem), STALLED)


def _solutions(blocks: Blocks, reason: Status | None, seconds: float) -> list[DualSolution]:
    ends = {0: reason or Status.STALLED, 1: Status.CONVERGED, 2: Status.MAX_ITER, STALLED: Status.STALLED}
    gap, objective, bias = blocks.certificate()
    _refuse_undefined(objective)
    beta, scores, state, n_iter = (x.cpu().numpy() for x in (blocks.beta, blocks.scores, blocks.state, blocks.n_iter))
    return [
        DualSolution(
            beta=beta[b],
            scores=scores[b],
            gradient=problem.at_variables(scores[b]) + problem.linear,
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
