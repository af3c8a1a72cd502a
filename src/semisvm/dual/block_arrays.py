"""The arrays of the solver for devices, in the device's memory, and the launches that work on them.

Problems of one batch have the same kernel rows and the same map from variables to rows. Each has one row in every array
(`block_kernel` lists them), and one program in every launch. Kernel rows are float32 or float64, everything else is
float64.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semisvm.dual.problem import DualProblem, DualSolution
from semisvm.dual.solve import feasible_start
from semisvm.kernels.device_rows import DeviceRows

BLOCK = 1024  # variables per block; fewer variables are one block
BLOCK_WARPS = 8  # of the program that solves a block
SEGMENTS = 64  # programs that choose
SEGMENT_WIDTH = 1024  # variables that such a program handles at once
BLOCK_SHARE = 0.4  # the gap of a block is closed to this share of the problem's gap
ONLY_BLOCK_SHARE = {np.float32: 1e-4, np.float64: 0.0}  # the same if the block is the whole problem
STEPS_PER_BLOCK = 4096  # most steps in one block
STEPS_PER_LOOK = 4  # outer steps between two looks of the host,
LOOKS_BEHIND = 1  # and how many of them the device may be ahead
STALLED = 3  # a state that the host sets, in addition to those of `block_kernel`


class Blocks:
    """The arrays of a batch of problems, one outer step of it (`step`), and what the host reads of it (`look`)."""

    def __init__(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[DualSolution | np.ndarray | None],
        kernel: DeviceRows,
        tol: float,
        max_iter: int | None,
    ):
        import torch

        self.problems, self.kernel = problems, kernel
        self.n_problems, self.n_variables = len(problems), problems[0].n_variables
        row = problems[0].row
        self.row = kernel.each_row if row is None else kernel.tensor(row.astype(np.int32))
        self.at_row: Any = slice(None) if row is None else self.row.long()
        self.linear, self.lower, self.upper = (
            kernel.tensor(np.stack([getattr(problem, name) for problem in problems]))
            for name in ("linear", "lower", "upper")
        )
        self._cut_into_blocks()
        self._begin(starts)
        shape, device = (self.n_problems,), kernel.device
        self.state = torch.zeros(shape, dtype=torch.int32, device=device)
        self.n_iter = torch.zeros(shape, dtype=torch.int64, device=device)
        self.facts = torch.zeros((self.n_problems, 4), dtype=torch.float64, device=device)
        self.lowest, self.highest, self.energy = (
            torch.empty((self.n_problems, self.n_segments), dtype=torch.float64, device=device) for _ in range(3)
        )
        mean = float(np.abs(kernel.diagonal).mean()) if kernel.n_rows else 1.0
        share = BLOCK_SHARE if self.picks else ONLY_BLOCK_SHARE[kernel.dtype.type]
        settings = [
            tol,
            share,
            1 / mean if mean > 0 else 1.0,
            math.inf if max_iter is None else max_iter,
            STEPS_PER_BLOCK,
        ]
        self.settings = kernel.tensor(np.array(settings, dtype=np.float64))
        self.n_outer = 0
        on_device = device.type == "cuda"
        self.steps_per_look = (STEPS_PER_LOOK if self.picks else 2) if on_device else 1
        self.looks_behind = LOOKS_BEHIND if on_device and self.picks else 0

    def _cut_into_blocks(self) -> None:
        """Divide the variables into segments and blocks, and allocate memory for a block's kernel values."""
        import torch

        m, B, device = self.n_variables, self.n_problems, self.kernel.device
        is_one_block = m <= BLOCK
        self.size = max(16, _power_of_two(m)) if is_one_block else BLOCK
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
        self.stored = self.kernel.stored if self.kernel.is_whole else self.kernel.empty(B * self.size)

    def _begin(self, starts: Sequence[DualSolution | np.ndarray | None]) -> None:
        """Carry the starts into the bounds, and bring the scores up to date for the coefficients that changed."""
        begun = [
            feasible_start(problem, start, self.kernel) for problem, start in zip(self.problems, starts, strict=True)
        ]
        betas, scores, changes = zip(*begun, strict=True)
        self.beta, self.scores = self.kernel.tensor(np.stack(betas)), self.kernel.tensor(np.stack(scores))
        if (change := np.stack(changes)).any():
            self.kernel.add_times(self.kernel.tensor(change), self.scores)

    def step(self) -> None:
        """Take one outer step of every problem that is not solved yet: four launches, nothing is read back."""
        from semisvm.dual.block_kernel import choose_blocks, gather, solve_blocks

        self.n_outer += 1
        B, m, n, Q = self.n_problems, self.n_variables, self.kernel.n_rows, self.size
        choose_blocks[(B, self.n_segments)](
            self.beta, self.lower, self.upper, self.linear, self.scores, self.row, self.stamp, self.chosen,
            self.lowest, self.highest, self.energy, self.state, m, n, self.n_outer, self.n_tiles,
            S=self.n_segments, WIDTH=self.width, PICKS=self.picks, Q=Q, num_warps=4,
        )  # fmt: skip
        if not self.kernel.is_whole:
            self._make_rows()
        gather[(B, Q // 8)](
            self.stored, self.row, self.chosen, self.place, self.block, self.state, self.kernel.stride, self.n_outer,
            WHOLE=self.kernel.is_whole, HALVES=self.picks > 0 and self.n_outer > 1, Q=Q,
            ROWS=8, COLUMNS=min(Q // 2, 128), num_warps=4,
        )  # fmt: skip
        solve_blocks[(B,)](
            self.block, self.kernel.diagonal_tensor, self.row, self.chosen, self.delta, self.beta, self.lower,
            self.upper, self.linear, self.scores, self.lowest, self.highest, self.energy, self.state, self.n_iter,
            self.facts, self.settings, m, n, Q=Q, S=self.n_segments, num_warps=max(1, min(BLOCK_WARPS, Q // 128)),
        )  # fmt: skip
        self.kernel.add_to_scores(self.stored, self.place, self.delta, self.scores, self.state, B)

    def _make_rows(self) -> None:
        """Make the kernel rows of the variables just chosen in place of those that left; a single block only once."""
        half = self.size // 2
        if self.picks:
            new = slice((self.n_outer % 2) * half, (self.n_outer % 2) * half + half)
        elif self.n_outer == 1:
            new = slice(0, self.size)
        else:
            return
        for b in range(self.n_problems):
            rows = self.row[self.chosen[b, new].clamp(min=0).long()].long()
            self.kernel.make(rows, self.stored[b * self.size + new.start : b * self.size + new.stop])

    def look(self) -> Callable[[], np.ndarray]:
        """Start a transfer to the host; call the result for (4, B): gap, objective, n_iter, state."""
        import torch

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
        """Compute the scores from the coefficients; return whether a problem that counted as solved is not."""
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
        import torch

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
        return torch.stack([highest - lowest, self._objective(gradient), bias]).cpu().numpy()

    def _gradient(self) -> Any:
        return self.scores[:, self.at_row] + self.linear

    def _objective(self, gradient) -> Any:
        return 0.5 * (self.beta * (gradient + self.linear)).sum(dim=1)

    def _extremes(self, gradient) -> tuple[Any, Any]:
        """The least gradient of variables that may rise, and the largest of those that may fall, per problem."""
        lowest = gradient.masked_fill(~(self.beta < self.upper), math.inf).amin(dim=1)
        return lowest, gradient.masked_fill(~(self.beta > self.lower), -math.inf).amax(dim=1)


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()
