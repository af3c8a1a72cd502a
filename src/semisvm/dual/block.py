"""The solver for devices: outer steps that each solve a block of variables, for one problem or a
batch.

    repeat on the device
        choose    the variables that violate optimality most, a quarter of the block from either
                  side; together with those that the previous step chose they form the block
        gather    the kernel values between them
        solve     pairwise steps within the block, by one program, until its gap is well below that
                  of the problem
        add       scores += K[:, block] times what changed: one pass over the block's kernel rows

Half of the block stays for a second step: without it Adult takes four times as many outer steps.
Every few steps the host reads what the device wrote some steps ago, so that the device never waits:
whether all problems are solved, the limits, the callback. When all are solved, the scores are
computed again from the coefficients and the gap is checked on them.

Problems of one batch have the same kernel rows and the same map from variables to rows. Each has
one row in every array (`block_kernel` lists them), and one program in every launch. Kernel rows are
float32 or float64, everything else is float64.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from semisvm.dual import feasible_start
from semisvm.dual.block_kernel import choose_blocks, gather, solve_blocks
from semisvm.dual.problem import DualProblem, DualSolution, Status
from semisvm.errors import UndefinedError
from semisvm.kernels.device_rows import DeviceRows
from semisvm.kernels.torch_source import current_device

BLOCK = 1024  # variables per block; fewer variables are one block
# In batches from so many problems on, blocks are smaller: more of them are in the device's cache.
MANY_PROBLEMS = 64
BLOCK_OF_MANY = 512
BLOCK_WARPS = 8  # of the program that solves a block
SEGMENTS = 64  # programs that choose
SEGMENT_WIDTH = 1024  # variables that such a program handles at once
BLOCK_SHARE = 0.4  # the gap of a block is closed to this share of the problem's gap
ONLY_BLOCK_SHARE = {np.float32: 1e-4, np.float64: 0.0}  # the same if the block is the whole problem
STEPS_PER_BLOCK = 4096  # most steps in one block
STEPS_PER_LOOK = 4  # outer steps between two looks of the host,
LOOKS_BEHIND = 1  # and how many of them the device may be ahead
STALLED = 3  # a state that the host sets, in addition to those of `block_kernel`
# Of the objective, relative: less is no progress, over as many steps as variables.
BLOCK_STALLED_DECREASE = 1e-14
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
    began = time.perf_counter()
    deadline = math.inf if time_limit is None else began + time_limit
    try:
        with current_device(kernel.device):
            blocks = Blocks(problems, starts, kernel, tol, max_iter)
            reason = _solve_and_certify(blocks, tol, deadline, callback)
        return _solutions(blocks, reason, time.perf_counter() - began)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Solving {len(problems)} problem(s) of {problems[0].n_variables} variables does not"
            f" fit the memory of device {kernel.device}: set cache_size (megabytes for kernel rows)"
            " lower, or use device='cpu'."
        ) from error


def _solve_and_certify(blocks: "Blocks", tol: float, deadline: float, callback) -> Status | None:
    """Step until every problem has ended; return the reason where the host ended them."""
    try:
        for _ in range(MOST_CERTIFICATES):
            reason = _step_until_solved(blocks, deadline, callback)
            if not blocks.has_moved or not blocks.refresh(tol) or reason is not None:
                return reason
    except KeyboardInterrupt:
        blocks.refresh(tol)
        return Status.INTERRUPTED
    return Status.STALLED


def _step_until_solved(blocks: "Blocks", deadline: float, callback) -> Status | None:
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
        raise UndefinedError(
            "The kernel has values that are not finite: scale the data, or correct the kernel."
        )


class _BatchProgress:
    """Detects and ends solves that no longer make progress: rounding can make them cycle."""

    def __init__(self, blocks: "Blocks"):
        self.n_last = np.full(blocks.n_problems, -1.0)
        self.n_seen = np.zeros(blocks.n_problems)
        self.objective = np.full(blocks.n_problems, math.inf)
        self.outer_seen = np.full(blocks.n_problems, blocks.n_outer)

    def check(self, blocks: "Blocks", n_iter, objective, state) -> None:
        has_stopped = n_iter == self.n_last
        self.n_last = n_iter
        window = max(10_000, blocks.n_variables)
        due = (n_iter - self.n_seen >= window) | (
            blocks.n_outer - self.outer_seen >= OUTER_STEPS_TO_STALL
        )
        least = BLOCK_STALLED_DECREASE * np.maximum(np.abs(objective), 1e-300)
        is_stalled = due & ~(self.objective - objective > least)
        self.n_seen = np.where(due, n_iter, self.n_seen)
        self.outer_seen = np.where(due, blocks.n_outer, self.outer_seen)
        self.objective = np.where(due, objective, self.objective)
        for problem in np.flatnonzero((has_stopped | is_stalled) & (state == 0)):
            blocks.end(int(problem), STALLED)


def _solutions(blocks: "Blocks", reason: Status | None, seconds: float) -> list[DualSolution]:
    ends = {
        0: reason or Status.STALLED,
        1: Status.CONVERGED,
        2: Status.MAX_ITER,
        STALLED: Status.STALLED,
    }
    gap, objective, bias = blocks.certificate()
    _refuse_undefined(objective)
    beta, scores, state, n_iter = (
        _on_host(x) for x in (blocks.beta, blocks.scores, blocks.state, blocks.n_iter)
    )
    return [
        DualSolution(
            beta=beta[b],
            scores=scores[b],
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


class Blocks:
    """The arrays of a batch, one outer step of it (`step`), and what the host reads (`look`)."""

    def __init__(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[DualSolution | np.ndarray | None],
        kernel: DeviceRows,
        tol: float,
        max_iter: int | None,
    ):
        self.problems = problems
        self.kernel = kernel
        self.n_problems = len(problems)
        self.n_variables = problems[0].n_variables
        row = problems[0].row
        self.row = kernel.each_row if row is None else kernel.tensor(row.astype(np.int32))
        self.at_row: Any = slice(None) if row is None else self.row.long()
        self.linear, self.lower, self.upper = self._send_problems()
        self._cut_into_blocks()
        self._begin(starts)
        shape = (self.n_problems,)
        device = kernel.device
        self.state = torch.zeros(shape, dtype=torch.int32, device=device)
        self.n_iter = torch.zeros(shape, dtype=torch.int64, device=device)
        self.facts = torch.zeros((self.n_problems, 4), dtype=torch.float64, device=device)
        self.lowest, self.highest, self.energy = (
            torch.empty((self.n_problems, self.n_segments), dtype=torch.float64, device=device)
            for _ in range(3)
        )
        mean = float(np.abs(kernel.diagonal).mean()) if kernel.n_rows else 1.0
        share = BLOCK_SHARE if self.picks else ONLY_BLOCK_SHARE[kernel.dtype.type]
        unit = 1 / mean if mean > 0 else 1.0
        most_steps = math.inf if max_iter is None else max_iter
        self.settings = kernel.tensor(
            np.array([tol, share, unit, most_steps, STEPS_PER_BLOCK], dtype=np.float64)
        )
        self.n_outer = 0
        on_device = device.type == "cuda"
        self.steps_per_look = (STEPS_PER_LOOK if self.picks else 2) if on_device else 1
        self.looks_behind = LOOKS_BEHIND if on_device and self.picks else 0

    def _send_problems(self) -> tuple[Any, Any, Any]:
        """linear, lower and upper of all problems; multiples of the same bounds are sent once."""
        origins = [problem.widened_from or (problem, 1.0) for problem in self.problems]
        distinct = list({id(origin): origin for origin, _ in origins}.values())
        linear, lower, upper = (
            self.kernel.tensor(np.stack([getattr(origin, name) for origin in distinct]))
            for name in ("linear", "lower", "upper")
        )
        number = {id(origin): k for k, origin in enumerate(distinct)}
        which = self.kernel.tensor(np.array([number[id(origin)] for origin, _ in origins]))
        factor = self.kernel.tensor(np.array([factor for _, factor in origins]))[:, None]
        return linear[which], lower[which] * factor, upper[which] * factor

    def _cut_into_blocks(self) -> None:
        """Divide the variables into segments and blocks, and allocate a block's kernel values."""
        m = self.n_variables
        B = self.n_problems
        device = self.kernel.device
        most = min(BLOCK, BLOCK_OF_MANY) if B >= MANY_PROBLEMS else BLOCK
        is_one_block = m <= most
        self.size = max(16, _power_of_two(m)) if is_one_block else most
        self.n_segments = 1 if is_one_block else min(SEGMENTS, self.size // 4)
        self.picks = 0 if is_one_block else self.size // 4 // self.n_segments
        self.width = max(16, min(SEGMENT_WIDTH, _power_of_two(-(-m // self.n_segments))))
        self.n_tiles = -(-m // (self.n_segments * self.width))
        chosen = np.full((B, self.size), -1, dtype=np.int32)
        if is_one_block:
            chosen[:, :m] = np.arange(m)
        self.chosen = self.kernel.tensor(chosen)
        self.stamp = torch.full((B, max(m, 1)), -2, dtype=torch.int32, device=device)
        self.place = torch.zeros((B, self.size), dtype=torch.int32, device=device)
        self.delta = torch.zeros((B, self.size), dtype=torch.float64, device=device)
        kind = getattr(torch, self.kernel.dtype.name)
        self.block = torch.empty((B, self.size, self.size), dtype=kind, device=device)
        self.stored = (
            self.kernel.stored if self.kernel.is_whole else self.kernel.empty(B * self.size)
        )

    def _begin(self, starts: Sequence[DualSolution | np.ndarray | None]) -> None:
        """Carry the starts into the bounds, and update the scores by what changed."""
        if all(start is None for start in starts):
            self.beta = torch.zeros_like(self.linear).clamp(self.lower, self.upper)
            if not self.beta.any() and all(problem.total == 0 for problem in self.problems):
                shape = (self.n_problems, self.kernel.n_rows)
                self.scores = torch.zeros(shape, dtype=torch.float64, device=self.kernel.device)
                return
        pairs = zip(self.problems, starts, strict=True)
        begun = [feasible_start(problem, start, self.kernel) for problem, start in pairs]
        betas, scores, changes = zip(*begun, strict=True)
        self.beta = self.kernel.tensor(np.stack(betas))
        self.scores = self.kernel.tensor(np.stack(scores))
        if (change := np.stack(changes)).any():
            self.kernel.add_times(self.kernel.tensor(change), self.scores)

    def step(self) -> None:
        """Take one outer step of every unsolved problem: four launches, nothing is read back."""
        self.n_outer += 1
        B = self.n_problems
        m = self.n_variables
        n = self.kernel.n_rows
        Q = self.size
        choose_blocks[(B, self.n_segments)](
            self.beta,
            self.lower,
            self.upper,
            self.linear,
            self.scores,
            self.row,
            self.stamp,
            self.chosen,
            self.lowest,
            self.highest,
            self.energy,
            self.state,
            m,
            n,
            self.n_outer,
            self.n_tiles,
            S=self.n_segments,
            WIDTH=self.width,
            PICKS=self.picks,
            Q=Q,
            num_warps=4,
        )
        if not self.kernel.is_whole:
            self._make_rows()
        gather[(B, Q // 8)](
            self.stored,
            self.row,
            self.chosen,
            self.place,
            self.block,
            self.state,
            self.kernel.stride,
            self.n_outer,
            WHOLE=self.kernel.is_whole,
            HALVES=self.picks > 0 and self.n_outer > 1,
            Q=Q,
            ROWS=8,
            COLUMNS=min(Q // 2, 128),
            num_warps=4,
        )
        solve_blocks[(B,)](
            self.block,
            self.kernel.diagonal_tensor,
            self.row,
            self.chosen,
            self.delta,
            self.beta,
            self.lower,
            self.upper,
            self.linear,
            self.scores,
            self.lowest,
            self.highest,
            self.energy,
            self.state,
            self.n_iter,
            self.facts,
            self.settings,
            m,
            n,
            Q=Q,
            S=self.n_segments,
            num_warps=max(1, min(BLOCK_WARPS, Q // 128)),
        )
        self.kernel.add_to_scores(self.stored, self.place, self.delta, self.scores, self.state, B)

    def _make_rows(self) -> None:
        """Make the kernel rows of the variables just chosen; those of a single block only once."""
        half = self.size // 2
        if self.picks:
            new = slice((self.n_outer % 2) * half, (self.n_outer % 2) * half + half)
        elif self.n_outer == 1:
            new = slice(0, self.size)
        else:
            return
        for b in range(self.n_problems):
            rows = self.row[self.chosen[b, new].clamp(min=0).long()].long()
            self.kernel.device_source.write(
                rows, self.stored[b * self.size + new.start : b * self.size + new.stop]
            )

    def look(self) -> Callable[[], np.ndarray]:
        """Start a transfer; the result returns (4, B): gap, objective, n_iter, state."""
        if self.facts.device.type != "cuda":
            copy = self.facts.clone()
            return lambda: copy.numpy().T
        copy = torch.empty(self.facts.shape, dtype=self.facts.dtype, pin_memory=True)
        copy.copy_(self.facts, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()

        def wait() -> np.ndarray:
            arrived.synchronize()
            return copy.numpy().T

        return wait

    def end(self, problem: int, state: int) -> None:
        """End a problem that the host has given up."""
        self.state[problem] = state
        self.facts[problem, 3] = state

    @property
    def has_moved(self) -> bool:
        """Whether any step was taken."""
        return bool((self.n_iter > 0).any())

    def refresh(self, tol: float) -> bool:
        """Compute the scores again; return whether a problem that counted as solved is not."""
        if self.n_variables == 0:
            return False
        by_row = self.beta
        if self.problems[0].row is not None:
            by_row = self.beta.new_zeros(self.scores.shape).index_add_(1, self.at_row, self.beta)
        self.kernel.add_times(by_row, self.scores.zero_())
        lowest, highest = self._extremes(self._gradient())
        again = (self.state == 1) & (highest - lowest >= tol)
        self.state.masked_fill_(again, 0)
        self.facts[:, 3] = self.state
        return bool(again.any())

    def certificate(self) -> np.ndarray:
        """Return gap, objective and bias (`problem.bias_of`) of the present state, shape (3, B)."""
        if self.n_variables == 0:
            return np.tile([[-math.inf], [0.0], [0.0]], self.n_problems)
        gradient = self._gradient()
        lowest, highest = self._extremes(gradient)
        width = self.upper - self.lower
        rounding = 1e-12 * width.masked_fill(~torch.isfinite(width), 0.0)
        is_free = (self.beta > self.lower + rounding) & (self.beta < self.upper - rounding)
        n_free = is_free.sum(dim=1)
        mean = gradient.masked_fill(~is_free, 0.0).sum(dim=1) / n_free.clamp(min=1)
        ends = torch.stack([lowest, highest])
        is_end = torch.isfinite(ends)
        middle = ends.masked_fill(~is_end, 0.0).sum(dim=0) / is_end.sum(dim=0).clamp(min=1)
        bias = -torch.where(n_free > 0, mean, middle)
        objective = 0.5 * (self.beta * (gradient + self.linear)).sum(dim=1)
        return torch.stack([highest - lowest, objective, bias]).cpu().numpy()

    def _gradient(self) -> Any:
        return self.scores[:, self.at_row] + self.linear

    def _extremes(self, gradient) -> tuple[Any, Any]:
        """The least gradient of variables that may rise, the largest of those that may fall."""
        lowest = gradient.masked_fill(~(self.beta < self.upper), math.inf).amin(dim=1)
        return lowest, gradient.masked_fill(~(self.beta > self.lower), -math.inf).amax(dim=1)


def _on_host(values: Any) -> np.ndarray:
    """Copy a tensor to memory that the device writes directly, which is several times as fast."""
    if values.device.type != "cuda":
        return values.numpy()
    copy = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    return copy.copy_(values).numpy()


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()
