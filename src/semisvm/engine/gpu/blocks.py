"""The solver for devices: outer steps that each solve a block of variables, of several problems.

    repeat on the device
        1  choose the variables that violate optimality most, a quarter of the block from either
           side; together with those that the previous step chose they form the block
        2  gather the kernel values between them
        3  pairwise steps within the block, by one program, until its gap is well below that of the
           problem
        4  scores += K[:, block] times what changed: one pass over the block's kernel rows

Half of the block stays for a second step: without it there are four times as many outer steps.
Every few steps the host reads what the device wrote some steps ago, so that the device never waits.
When all problems are solved, the scores are computed again from the coefficients and the gap is
checked on them.

Problems of one batch have the same kernel and the same row for each variable. Each has one row in
every array (see `programs`), and one program in every launch.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semisvm.engine.dual.stall import Stall
from semisvm.engine.dual.start import feasible_start
from semisvm.engine.gpu.programs import (
    STALLED,
    Block,
    Choice,
    Facts,
    Problems,
    Settings,
    choose_blocks,
    gather,
    solve_blocks,
)
from semisvm.engine.gpu.source import current_device
from semisvm.engine.problem import DualProblem, Limits, Solution, Status
from semisvm.errors import UndefinedError

if TYPE_CHECKING:
    from semisvm.engine.gpu.kernel import DeviceKernel

BLOCK_WARPS = 8  # of the program that solves a block
BLOCK_SHARE = 0.4  # the gap of a block is closed to this share of the problem's gap
ONLY_BLOCK_SHARE = {"float32": 1e-4, "float64": 0.0}  # the same if the block is the whole problem
STEPS_PER_BLOCK = 4096  # most steps in one block
STEPS_PER_LOOK = 4  # outer steps between two looks of the host,
LOOKS_BEHIND = 1  # and how many of them the device may be ahead
MOST_CERTIFICATES = 5  # how often the gap may turn out larger on scores that were computed again
STATUSES = (Status.STALLED, Status.CONVERGED, Status.MAX_ITER, Status.STALLED)  # by state


@dataclass(frozen=True)
class BlockSizes:
    """How the variables of a problem are cut up.

    block, block_of_many     variables per block; of batches from `many` problems on: more of their
                             blocks are in the device's cache. Fewer variables are one block.
    segments, segment_width  programs that choose, and variables that each handles at once
    """

    block: int = 1024
    block_of_many: int = 512
    many: int = 64
    segments: int = 64
    segment_width: int = 1024


def solve_in_blocks(
    problems: Sequence[DualProblem],
    starts: Sequence[Solution | np.ndarray | None],
    kernel: DeviceKernel,
    limits: Limits,
) -> list[Solution]:
    """Solve problems on one kernel as one batch."""
    try:
        with current_device(kernel.device):
            blocks = Blocks(problems, starts, kernel, limits)
            for _ in range(MOST_CERTIFICATES):
                _step_until_solved(blocks)
                if not blocks.has_moved or not blocks.refresh():
                    break
            return blocks.solutions()
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Solving {len(problems)} problem(s) of {len(problems[0].linear)} variables does not"
            f" fit the memory of device {kernel.device}: set cache_size (megabytes for kernel rows)"
            " lower, or use device='cpu'."
        ) from error


def _step_until_solved(blocks: Blocks) -> None:
    """Step until every problem has ended; end those of which nothing more is to be expected."""
    pending: deque[Any] = deque()
    stalls = [Stall(blocks.n_variables) for _ in blocks.problems]
    n_before = np.full(len(blocks.problems), -1.0)
    while True:
        for _ in range(blocks.steps_per_look):
            blocks.step()
        pending.append(blocks.look())
        if len(pending) <= blocks.looks_behind:
            continue
        facts = Facts(*pending.popleft()())
        if not np.isfinite(facts.objective).all():
            raise UndefinedError(
                "The kernel has values that are not finite: scale the data, or correct the kernel."
            )
        if (facts.state != 0).all():
            return
        for b in np.flatnonzero(facts.state == 0):
            has_stopped = facts.n_iter[b] == n_before[b]
            if has_stopped or stalls[b].has_come(facts.n_iter[b], facts.gap[b], facts.largest[b]):
                blocks.end(int(b), STALLED)
        n_before = facts.n_iter


class Blocks:
    """The arrays of a batch, one outer step of it (`step`), and what the host reads (`look`)."""

    def __init__(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[Solution | np.ndarray | None],
        kernel: DeviceKernel,
        limits: Limits,
    ):
        self.problems, self.kernel, self.limits = problems, kernel, limits
        self.n_problems, self.n_variables = len(problems), len(problems[0].linear)
        B, m = self.n_problems, self.n_variables
        self.linear, self.lower, self.upper = (
            kernel.tensor(np.stack([getattr(problem, name) for problem in problems]))
            for name in ("linear", "lower", "upper")
        )
        row = problems[0].row
        self.row = kernel.each_row if row is None else kernel.tensor(row.astype(np.int32))
        self.at_row: Any = slice(None) if row is None else self.row.long()
        self.beta, self.scores = self._begin(starts)

        # Cut the variables into segments and blocks.
        sizes = kernel.sizes
        most = min(sizes.block, sizes.block_of_many) if B >= sizes.many else sizes.block
        self.is_one_block = m <= most
        self.size = Q = max(16, _power_of_two(m)) if self.is_one_block else most
        self.n_segments = S = 1 if self.is_one_block else min(sizes.segments, Q // 4)
        self.picks = 0 if self.is_one_block else Q // 4 // S
        self.width = max(16, min(sizes.segment_width, _power_of_two(-(-m // S))))
        self.n_tiles = -(-m // (S * self.width))
        chosen = np.full((B, Q), -1, dtype=np.int32)
        if self.is_one_block:
            chosen[:, :m] = np.arange(m)
        self.stored = kernel.stored if kernel.is_whole else kernel.empty(B * Q)

        def new(*shape: int, dtype: Any = torch.float64) -> Any:
            return torch.zeros(shape, dtype=dtype, device=kernel.device)

        self.state, self.n_iter = new(B, dtype=torch.int32), new(B, dtype=torch.int64)
        self.facts = new(B, len(Facts._fields))
        mean = float(np.abs(kernel.diagonal).mean()) if kernel.n_rows else 1.0
        share = ONLY_BLOCK_SHARE[kernel.dtype.name] if self.is_one_block else BLOCK_SHARE
        unit = 1 / mean if mean > 0 else 1.0
        numbers = limits.tol, share, unit, limits.max_iter, STEPS_PER_BLOCK
        self.variables = Problems(
            row=self.row,
            beta=self.beta,
            lower=self.lower,
            upper=self.upper,
            linear=self.linear,
            scores=self.scores,
            state=self.state,
        )
        self.choice = Choice(
            stamp=new(B, max(m, 1), dtype=torch.int32) - 2,
            chosen=kernel.tensor(chosen),
            lowest=new(B, S),
            highest=new(B, S),
            largest=new(B, S),
            energy=new(B, S),
        )
        self.block = Block(
            gram=new(B, Q, Q, dtype=getattr(torch, kernel.dtype.name)),
            place=new(B, Q, dtype=torch.int32),
            diagonal=kernel.diagonal_there,
            delta=new(B, Q),
            n_iter=self.n_iter,
            facts=self.facts,
            settings=Settings(*(kernel.tensor(np.array([float(x)])) for x in numbers)),
        )
        self.n_outer = 0
        is_cuda = kernel.device.type == "cuda"
        self.steps_per_look = (2 if self.is_one_block else STEPS_PER_LOOK) if is_cuda else 1
        self.looks_behind = 0 if self.is_one_block or not is_cuda else LOOKS_BEHIND

    def _begin(self, starts: Sequence[Solution | np.ndarray | None]) -> tuple[Any, Any]:
        """Carry the starts into the bounds; return them, and their scores."""
        kernel = self.kernel
        pairs = zip(self.problems, starts, strict=True)
        begun = [feasible_start(problem, start) for problem, start in pairs]
        betas, scores, changes = (np.stack(part) for part in zip(*begun, strict=True))
        there = kernel.tensor(scores)
        if changes.any():
            kernel.add_times(kernel.tensor(changes), there)
        return kernel.tensor(betas), there

    def step(self) -> None:
        """Take one outer step of every unsolved problem: four launches, nothing is read back."""
        self.n_outer += 1
        kernel, p, c, block = self.kernel, self.variables, self.choice, self.block
        B, Q, S, m, n = self.n_problems, self.size, self.n_segments, self.n_variables, kernel.n_rows
        # 1. Choose
        choose_blocks[(B, S)](
            p, c, m, n, self.n_outer, self.n_tiles, S=S, WIDTH=self.width, PICKS=self.picks, Q=Q,
            num_warps=4,
        )  # fmt: skip
        # 2. Gather
        if not kernel.is_whole:
            self._make_rows()
        gather[(B, Q // 8)](
            p.row, c.chosen, p.state, block.place, block.gram, self.stored, kernel.stride,
            self.n_outer, WHOLE=kernel.is_whole, HALVES=self.picks > 0 and self.n_outer > 1, Q=Q,
            ROWS=8, COLUMNS=min(Q // 2, 128), num_warps=4,
        )  # fmt: skip
        # 3. Solve
        warps = max(1, min(BLOCK_WARPS, Q // 128))
        solve_blocks[(B,)](p, c, block, m, n, Q=Q, S=S, num_warps=warps)
        # 4. Add
        kernel.add_to_scores(self.stored, block.place, block.delta, p.scores, p.state)

    def _make_rows(self) -> None:
        """Make the kernel rows of the variables just chosen; those of a single block only once."""
        if self.is_one_block and self.n_outer > 1:
            return
        half = self.size // 2
        first = (self.n_outer % 2) * half if self.picks else 0
        last = first + half if self.picks else self.size
        for b in range(self.n_problems):
            rows = self.row[self.choice.chosen[b, first:last].clamp(min=0).long()].long()
            at = b * self.size
            self.kernel.source.write(rows, self.stored[at + first : at + last])

    def look(self) -> Callable[[], np.ndarray]:
        """Start a transfer; the result returns `Facts`, one number of each per problem."""
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
        self.facts[problem, Facts._fields.index("state")] = state

    @property
    def has_moved(self) -> bool:
        """Whether any step was taken."""
        return bool((self.n_iter > 0).any())

    def refresh(self) -> bool:
        """Compute the scores again; return whether a problem that counted as solved is not."""
        by_row = self.beta
        if self.problems[0].row is not None:
            by_row = self.beta.new_zeros(self.scores.shape).index_add_(1, self.at_row, self.beta)
        self.kernel.add_times(by_row, self.scores.zero_())
        lowest, highest = self._extremes(self._gradient())
        again = (self.state == 1) & (highest - lowest >= self.limits.tol)
        self.state.masked_fill_(again, 0)
        self.facts[:, Facts._fields.index("state")] = self.state.double()
        return bool(again.any())

    def solutions(self) -> list[Solution]:
        """The solutions, with what the present state says of them."""
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
        gap = highest - lowest
        values = (gap, objective, bias, self.n_iter, self.state, self.beta, self.scores)
        columns = (_on_host(part) for part in values)
        return [
            Solution(
                problem=problem,
                bias=float(bias),
                objective=float(objective),
                gap=float(gap),
                n_iter=int(n_iter),
                status=STATUSES[int(state)],
                scores=scores,
                beta=beta,
                bound=-float(objective),
            )
            for problem, gap, objective, bias, n_iter, state, beta, scores in zip(
                self.problems, *columns, strict=True
            )
        ]

    def _gradient(self) -> Any:
        return self.scores[:, self.at_row] + self.linear

    def _extremes(self, gradient: Any) -> tuple[Any, Any]:
        """The least gradient of variables that may rise, the largest of those that may fall."""
        if not self.n_variables:
            none = gradient.new_full((self.n_problems,), math.inf)
            return none, -none
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
