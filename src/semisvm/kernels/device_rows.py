"""Rows of the kernel matrix in a device's memory: the whole matrix if it fits, otherwise made as
they are needed.

The solver for devices reads `DeviceRows.stored` (all of K, if `is_whole`) or has `device_source`
make its rows. The rest of the library uses them as any `KernelRows`.
"""

from typing import Any, cast

import numpy as np
import torch
import triton
import triton.language as tl

from semisvm.kernels.formula import Formula
from semisvm.kernels.rows import CachedRows, GivenRows, KernelRows
from semisvm.kernels.sources import DataSource
from semisvm.kernels.torch_source import (
    TorchDataSource,
    TorchMatrixSource,
    current_device,
    make_torch_source,
    torch_device,
)
from semisvm.kernels.virtual import VirtualRows
from semisvm.memory import budget_bytes, free_bytes

SHARE_OF_DEVICE_MEMORY = 0.8  # of what is free: products and solvers need the rest
DEVICE_ROWS_PER_WRITE = 512
STRIDE_MULTIPLE = 32  # numbers
# Kernel values that a program of `add_rows_on_device` works on at a time.
ROWS_OF_PROGRAM = 32
COLUMNS_OF_PROGRAM = 128


class DeviceRows:
    """Kernel rows in the memory of a device; implements `KernelRows`, and to the host all rows look
    present.

    `stored` is a tensor of shape (n_rows, stride) with K in its first n_rows columns, or None if
    that does not fit `cache_size` megabytes, by default most of what is free on the device.
    """

    def __init__(
        self,
        device_source: TorchDataSource | TorchMatrixSource,
        dtype: Any,
        device: Any,
        cache_size: float | None = None,
    ):
        self.device_source = device_source
        self.device = device
        self.home = "interpreter" if device.type == "cpu" else str(device)
        self.n_rows = self.capacity = device_source.n_rows
        self.dtype = np.dtype(dtype)
        self.diagonal = device_source.diagonal
        self.stride = -(-max(self.n_rows, 1) // STRIDE_MULTIPLE) * STRIDE_MULTIPLE
        self.each_row = self.tensor(np.arange(self.n_rows, dtype=np.int32))
        self.diagonal_tensor = self.tensor(np.asarray(self.diagonal, dtype=np.float64))
        self.stored = self._whole_matrix(cache_size)

    @property
    def is_whole(self) -> bool:
        """Whether all of K is stored."""
        return self.stored is not None

    def tensor(self, values: np.ndarray) -> Any:
        """Copy an array of the host to the device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def empty(self, n_rows: int) -> Any:
        """Allocate memory for kernel rows on the device."""
        return torch.empty(
            (n_rows, self.stride), dtype=getattr(torch, self.dtype.name), device=self.device
        )

    def add_times(self, coefficients: Any, scores: Any) -> None:
        """scores[b] += K @ coefficients[b] in float64, for tensors of shape (n_problems, n)."""
        n_problems = len(coefficients)
        rows = self.each_row
        # One launch, in which rows with coefficient 0 are not read.
        if self.is_whole and n_problems > 1:
            state = torch.zeros(n_problems, dtype=torch.int32, device=self.device)
            place = rows.expand(n_problems, -1).contiguous()
            self.add_to_scores(self.stored, place, coefficients, scores, state, n_problems)
            return
        state = torch.zeros(1, dtype=torch.int32, device=self.device)
        for own, sums in zip(coefficients, scores, strict=True):
            used = own.nonzero()[:, 0]
            step = len(used) if self.is_whole else DEVICE_ROWS_PER_WRITE
            block = None if self.is_whole else self.empty(min(step, len(used)))
            for start in range(0, len(used), max(step, 1)):
                part = used[start : start + step]
                if block is None:
                    stored = self.stored
                    place = rows[part]
                else:
                    self.device_source.write(part, block[: len(part)])
                    stored = block
                    place = rows[: len(part)]
                self.add_to_scores(stored, place, own[part], sums, state, 1)

    def add_to_scores(
        self, stored: Any, place: Any, coefficients: Any, scores: Any, state: Any, n_problems: int
    ) -> None:
        """scores[b] += coefficients[b] @ stored[place[b]] for each problem b."""
        length = place.shape[-1]
        add_rows_on_device[(-(-self.n_rows // COLUMNS_OF_PROGRAM) * n_problems,)](
            stored,
            place,
            coefficients,
            scores,
            state,
            n_problems,
            self.n_rows,
            self.stride,
            length,
            ROWS=ROWS_OF_PROGRAM,
            COLUMNS=COLUMNS_OF_PROGRAM,
            num_warps=4,
        )

    def require(self, rows: np.ndarray) -> None:
        """Do nothing: the solver on the device makes the rows it needs."""

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return K[rows] as an array of the host."""
        index = self.tensor(np.asarray(rows, dtype=np.int64))
        if self.is_whole:
            return self.stored[index, : self.n_rows].cpu().numpy()
        out = np.empty((len(rows), self.n_rows), dtype=self.dtype)
        for start in range(0, len(rows), DEVICE_ROWS_PER_WRITE):
            part = index[start : start + DEVICE_ROWS_PER_WRITE]
            block = self.empty(len(part))
            with current_device(self.device):
                self.device_source.write(part, block)
            out[start : start + len(part)] = block[:, : self.n_rows].cpu().numpy()
        return out

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients in float64, as an array of the host."""
        scores = torch.zeros((1, self.n_rows), dtype=torch.float64, device=self.device)
        with current_device(self.device):
            self.add_times(self.tensor(np.asarray(coefficients, dtype=np.float64)[None]), scores)
        return scores[0].cpu().numpy()

    def times_dense(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients, the coefficients rounded to the precision of the rows."""
        return self.times(coefficients.astype(self.dtype))

    def _whole_matrix(self, cache_size: float | None) -> Any:
        """All of K, or None if it is larger than the budget or than what the device can give."""
        n_bytes = self.n_rows * self.stride * self.dtype.itemsize
        if n_bytes > _device_budget_bytes(self.device, cache_size):
            return None
        try:
            stored = self.empty(self.n_rows)
            self.device_source.write_all(stored)
        except torch.OutOfMemoryError:  # another process took the memory in the meantime
            torch.cuda.empty_cache()
            return None
        return stored


@triton.jit(do_not_specialize=["n_problems"])
def add_rows_on_device(
    stored,
    place,
    coefficients,
    scores,
    state,
    n_problems,
    n,
    stride,
    length,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """scores[b] += sum_k coefficients[b, k] stored[place[b, k]] in float64; rows with coefficient 0
    are not read.

    One program handles a segment of the columns of one problem b; problems with state[b] != 0 are
    skipped. Programs of one segment are neighbors, so that rows which several problems add are
    still in the device's cache.
    """
    b = (tl.program_id(0) % n_problems).to(tl.int64)
    if tl.load(state + b) == 0:
        j = tl.program_id(0) // n_problems * COLUMNS + tl.arange(0, COLUMNS)
        there = j < n
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float64)
        for start in range(0, length, ROWS):
            k = start + tl.arange(0, ROWS)
            coefficient = tl.load(coefficients + b * length + k, mask=k < length, other=0.0)
            at = tl.load(place + b * length + k, mask=k < length, other=0).to(tl.int64)
            read = (coefficient != 0)[:, None] & there[None, :]
            values = tl.load(stored + at[:, None] * stride + j[None, :], mask=read, other=0.0)
            sums += coefficient[:, None] * values.to(tl.float64)
        at = scores + b * n + j
        tl.store(at, tl.load(at, mask=there, other=0.0) + tl.sum(sums, axis=0), mask=there)


def device_rows(
    X: Any,
    formula: Formula,
    *,
    device: str,
    cache_size: float | None = None,
    dtype: Any = np.float32,
) -> DeviceRows:
    """Return the kernel rows of X on a device that `semisvm.device.resolve` has accepted."""
    place = torch_device(device)
    try:
        with current_device(place):
            return DeviceRows(make_torch_source(X, formula, dtype, place), dtype, place, cache_size)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"The data of {X.shape[0]} rows does not fit the memory of device {place}: free some of"
            " it, or use device='cpu'."
        ) from error


def on_device(kernel: KernelRows, device: str) -> DeviceRows:
    """Return the same kernel on a device; it is copied once for all problems on it."""
    if isinstance(kernel, DeviceRows):
        return kernel
    rows = cast(CachedRows, kernel)
    copies = rows.device_copies
    if device not in copies:
        with current_device(torch_device(device)):
            if isinstance(rows, VirtualRows) and rows.home != "cpu":
                copies[device] = _extended_on_device(rows)
            else:
                copies[device] = _copy_to_device(rows, torch_device(device))
    return copies[device]


def _copy_to_device(kernel: CachedRows, place: Any) -> DeviceRows:
    source = kernel.source
    if isinstance(source, DataSource):
        return DeviceRows(
            TorchDataSource(source.X, source.formula, kernel.dtype, place), kernel.dtype, place
        )
    K = kernel.values if isinstance(kernel, GivenRows) else kernel.fetch(np.arange(kernel.n_rows))
    return DeviceRows(TorchMatrixSource(K, kernel.dtype, place), kernel.dtype, place)


def _extended_on_device(kernel: VirtualRows) -> DeviceRows:
    """Data rows followed by means: the rows of the means come from the host."""
    source = kernel.extended
    inner = cast(DeviceRows, source.kernel)
    if not inner.is_whole:
        raise MemoryError(
            f"This method needs the whole kernel matrix of {inner.n_rows} rows on the device, and"
            " it does not fit: raise cache_size, or use device='cpu'."
        )
    n = source.n_data
    n_all = source.n_rows
    K = inner.tensor(np.empty((n_all, n_all), dtype=kernel.dtype))
    if n == inner.n_rows:
        K[:n, :n] = inner.stored[:, :n]
    else:
        rows = inner.tensor(source.rows)
        K[:n, :n] = inner.stored[rows[:, None], rows]
    with_means = inner.tensor(source.with_means[:, source.rows]).to(K.dtype)
    K[n:, :n], K[:n, n:] = with_means, with_means.T
    K[n:, n:] = inner.tensor(source.between_means).to(K.dtype)
    return DeviceRows(TorchMatrixSource(K, kernel.dtype, inner.device), kernel.dtype, inner.device)


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
