"""The kernel matrix in a device's memory: all of it where it fits, else rows as they are needed.

To the rest of the library it has the verbs of `kernels.kernel`, with arrays of the host, and its
own `solve`, which solves the problems it is given as one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from semisvm.engine.dual.handover import solve_in_primal_form
from semisvm.engine.gpu.blocks import BlockSizes, solve_in_blocks
from semisvm.engine.gpu.programs import add_rows
from semisvm.engine.gpu.source import DeviceMatrixSource, current_device
from semisvm.engine.kernels.kernel import WHOLE_BYTES
from semisvm.engine.kernels.means import KernelWithMeans
from semisvm.engine.kernels.memory import budget_bytes, free_bytes
from semisvm.engine.problem import DualProblem, Limits, Solution, Status

SHARE_OF_DEVICE_MEMORY = 0.8  # of what is free: products and solvers need the rest
ROWS_PER_WRITE = 512
STRIDE_MULTIPLE = 32  # numbers
ROWS_OF_PROGRAM, COLUMNS_OF_PROGRAM = 32, 128  # kernel values that `add_rows` works on at a time


class DeviceKernel:
    """Kernel rows on a device.

    stored   tensor (n_rows, stride) with K in its first n_rows columns; None if that does not fit
             `cache_size` megabytes, by default most of what is free on the device
    sizes    of the blocks that the solver works on
    """

    form = "dual"
    spare_bytes = WHOLE_BYTES  # on the host, for means of rows

    def __init__(self, source: Any, device: Any, cache_size: float | None = None):
        self.source, self.device, self.dtype = source, device, source.dtype
        self.n_rows, self.diagonal = source.n_rows, source.diagonal
        self.n_remade, self.is_repeatable = 0, False
        self.sizes = BlockSizes()
        self.stride = -(-max(self.n_rows, 1) // STRIDE_MULTIPLE) * STRIDE_MULTIPLE
        self.each_row = self.tensor(np.arange(self.n_rows, dtype=np.int32))
        self.diagonal_there = self.tensor(np.asarray(self.diagonal, dtype=np.float64))
        self.stored = self._whole_matrix(cache_size)

    @property
    def is_whole(self) -> bool:
        """Whether all of K is stored."""
        return self.stored is not None

    def tensor(self, values: np.ndarray) -> Any:
        """Copy an array of the host to the device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def empty(self, n_rows: int) -> Any:
        """Memory for kernel rows on the device."""
        kind = getattr(torch, self.dtype.name)
        return torch.empty((n_rows, self.stride), dtype=kind, device=self.device)

    # --- the verbs of a kernel ---

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """K[rows] as an array of the host."""
        return self.block(rows, np.arange(self.n_rows))

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """K[rows][:, columns] as an array of the host."""
        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        columns = self.tensor(columns)
        with current_device(self.device):
            for start in range(0, len(rows), ROWS_PER_WRITE):
                part = self.tensor(rows[start : start + ROWS_PER_WRITE])
                if self.is_whole:
                    block = self.stored[part]
                else:
                    self.source.write(part, block := self.empty(len(part)))
                out[start : start + len(part)] = block[:, columns].cpu().numpy()
        return out

    def whole(self) -> np.ndarray | None:
        """None: it is on the device."""
        return None

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """K @ coefficients in float64, as an array of the host."""
        scores = torch.zeros((1, self.n_rows), dtype=torch.float64, device=self.device)
        with current_device(self.device):
            self.add_times(self.tensor(np.asarray(coefficients, dtype=np.float64)[None]), scores)
        return scores[0].cpu().numpy()

    def spread(self, rows: np.ndarray, moves: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """moves @ K[rows] in float64; nothing is kept."""
        coefficients = np.zeros(self.n_rows)
        coefficients[rows] = moves
        return self.times(coefficients)

    def linear_rows(self) -> Any:
        """The data rows of a linear kernel on the host, None of others."""
        return self.source.X.cpu().numpy() if self.source.formula.name == "linear" else None

    def with_means(self, weights: np.ndarray, **details: Any) -> KernelWithMeans:
        """This kernel with weighted means of its rows behind them; see `KernelWithMeans`."""
        return DeviceKernelWithMeans(self, weights, **details)

    def solve(
        self, problems: Sequence[DualProblem], starts: Sequence[Any], limits: Limits
    ) -> list[Solution]:
        """Solve problems as one batch, if all have the same row for each variable."""
        row = problems[0].row
        if not all(p.row is row or np.array_equal(p.row, row) for p in problems):  # type: ignore[arg-type]
            pairs = zip(problems, starts, strict=True)
            return [self.solve([problem], [start], limits)[0] for problem, start in pairs]
        found = solve_in_blocks(problems, starts, self, limits)
        for k, (problem, solution) in enumerate(zip(problems, found, strict=True)):
            if solution.status is Status.STALLED:
                found[k] = solve_in_primal_form(problem, solution, limits) or solution
        return found

    # --- what the solver on the device uses ---

    def add_times(self, coefficients: Any, scores: Any) -> None:
        """scores[b] += K @ coefficients[b] in float64, for tensors of shape (n_problems, n)."""
        if (
            self.is_whole and len(coefficients) > 1
        ):  # one launch; rows of coefficient 0 are not read
            place = self.each_row.expand(len(coefficients), -1).contiguous()
            self.add_to_scores(self.stored, place, coefficients, scores)
            return
        for own, sums in zip(coefficients, scores, strict=True):
            used = own.nonzero()[:, 0]
            if self.is_whole:
                self.add_to_scores(self.stored, self.each_row[used][None], own[used][None], sums)
                continue
            for start in range(0, len(used), ROWS_PER_WRITE):
                part = used[start : start + ROWS_PER_WRITE]
                self.source.write(part, block := self.empty(len(part)))
                self.add_to_scores(block, self.each_row[None, : len(part)], own[part][None], sums)

    def add_to_scores(
        self, stored: Any, place: Any, coefficients: Any, scores: Any, state: Any = None
    ) -> None:
        """scores[b] += coefficients[b] @ stored[place[b]] for each problem b whose state is 0."""
        n_problems, length = place.shape
        if state is None:
            state = torch.zeros(n_problems, dtype=torch.int32, device=self.device)
        add_rows[(-(-self.n_rows // COLUMNS_OF_PROGRAM) * n_problems,)](
            stored, place, coefficients, scores, state, n_problems, self.n_rows, self.stride,
            length, ROWS=ROWS_OF_PROGRAM, COLUMNS=COLUMNS_OF_PROGRAM, num_warps=4,
        )  # fmt: skip

    def _whole_matrix(self, cache_size: float | None) -> Any:
        """All of K, or None if it is larger than the budget or than what the device can give."""
        n_bytes = self.n_rows * self.stride * self.dtype.itemsize
        if n_bytes > _device_budget_bytes(self.device, cache_size):
            return None
        try:
            stored = self.empty(self.n_rows)
            self.source.write_all(stored)
        except torch.OutOfMemoryError:  # another process took the memory in the meantime
            torch.cuda.empty_cache()
            return None
        return stored


def _device_budget_bytes(device: Any, cache_size: float | None) -> int:
    if cache_size is not None:
        return budget_bytes(cache_size)
    if device.type != "cuda":
        return int(SHARE_OF_DEVICE_MEMORY * free_bytes())
    # Memory that torch holds in reserve and does not use is free for us.
    free = (
        torch.cuda.mem_get_info(device)[0]
        + torch.cuda.memory_reserved(device)
        - torch.cuda.memory_allocated(device)
    )
    return int(SHARE_OF_DEVICE_MEMORY * free)


class DeviceKernelWithMeans(KernelWithMeans):
    """Means of rows on a device. Problems on few rows are solved on the host; for those on many the
    means are appended to the stored matrix.
    """

    _there: DeviceKernel | None = None

    def solve(
        self, problems: Sequence[DualProblem], starts: Sequence[Any], limits: Limits
    ) -> list[Solution]:
        if self.whole() is not None:
            return super().solve(problems, starts, limits)
        self._there = there = self._there or self._made_there()
        moved = [replace(problem, on=there) for problem in problems]
        starts = [
            replace(start, problem=replace(start.problem, on=there))  # type: ignore[type-var]
            if isinstance(start, Solution) and start.problem.on is self
            else start
            for start in starts
        ]
        found = there.solve(moved, starts, limits)
        return [replace(s, problem=p) for s, p in zip(found, problems, strict=True)]

    def _made_there(self) -> DeviceKernel:
        """The kernel of K_extended, all of it on the device."""
        inner: DeviceKernel = self.kernel
        if not inner.is_whole:
            raise MemoryError(
                f"This method needs the whole kernel matrix of {inner.n_rows} rows on the device,"
                " and it does not fit: raise cache_size, or use device='cpu'."
            )
        n, n_all = self.n_data, self.n_rows
        K = torch.empty((n_all, n_all), dtype=inner.stored.dtype, device=inner.device)
        data = inner.tensor(self.data)
        K[:n, :n] = inner.stored[data[:, None], data]
        AK = inner.tensor(self.AK[:, self.data]).to(K.dtype)
        K[n:, :n], K[:n, n:] = AK, AK.T
        K[n:, n:] = inner.tensor(self.AKA).to(K.dtype)
        return DeviceKernel(DeviceMatrixSource(K, inner.dtype, inner.device), inner.device)
