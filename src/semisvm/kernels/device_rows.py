"""Rows of the kernel matrix in a device's memory: the whole matrix where it fits, else made as they are needed.

`DeviceRows` stands where `KernelRows` does. The solver for devices reads `stored` (all of K, where `is_whole`) or asks
`make` for the rows of its block. To code on the host it looks like rows that are all there: `values[rows]` and
`times` fetch what they are asked for.
"""

from typing import Any

import numpy as np

from semisvm.kernels.gram import DataSource, MatrixSource, current, device_of, make_device_source
from semisvm.kernels.memory import budget_bytes, free_bytes
from semisvm.kernels.rows import KernelRows
from semisvm.kernels.sources import BlasSource, GivenMatrix, PanelSource, Source
from semisvm.kernels.virtual import VirtualRows

SHARE_FOR_ROWS = 0.8  # of the device's free memory: products and solvers need the rest
ROWS_MADE_AT_ONCE = 512
ALIGNED = 32  # numbers
_ROWS, _COLUMNS = 32, 128  # of kernel values that a program of `spread` has under way


class DeviceRows(KernelRows):
    """The rows of K on a device; `stored` is (n, stride) and holds K where `is_whole`, and is None where not."""

    def __init__(self, device_source: DataSource | MatrixSource, dtype, device, cache_size: float | None = None):
        self.device_source, self.device = device_source, device
        self.n_rows = self.capacity = device_source.n_rows
        self.dtype, self.diagonal = np.dtype(dtype), device_source.diagonal
        self.stride = -(-max(self.n_rows, 1) // ALIGNED) * ALIGNED
        self.is_frugal = False
        self.clock = self.n_made = self.n_evicted = 0
        self.slot = self.owner = np.arange(self.n_rows)
        self.each_row = self.tensor(np.arange(self.n_rows, dtype=np.int32))
        self.diagonal_there = self.tensor(np.asarray(self.diagonal, dtype=np.float64))
        self.stored = self._whole_matrix(cache_size)

    @property
    def is_whole(self) -> bool:
        return self.stored is not None

    # Made when asked for: kept, they would refer back here, and the device's memory would wait for the cycle collector.
    @property
    def source(self) -> Source:  # type: ignore[override]
        return _OnHost(self)

    @property
    def values(self) -> Any:  # type: ignore[override]
        return _Values(self)

    def tensor(self, values: np.ndarray) -> Any:
        """An array of the host's on the device."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def empty(self, n_rows: int) -> Any:
        """Room for kernel rows on the device."""
        import torch

        return torch.empty((n_rows, self.stride), dtype=getattr(torch, self.dtype.name), device=self.device)

    def make(self, rows: Any, out: Any) -> None:
        """out[i, :n] = K[rows[i]], for a tensor of rows."""
        self.device_source.write(rows, out)

    def add_times(self, rows: Any, coefficients: Any, scores: Any) -> None:
        """scores += coefficients @ K[rows] in float64, for tensors on the device."""
        import torch

        step = len(rows) if self.is_whole else ROWS_MADE_AT_ONCE
        block = None if self.is_whole else self.empty(min(step, len(rows)))
        state = torch.zeros(1, dtype=torch.int32, device=self.device)
        for start in range(0, len(rows), max(step, 1)):
            part = rows[start : start + step]
            if block is not None:
                self.make(part, block[: len(part)])
            stored, place = (
                (self.stored, part) if block is None else (block, torch.arange(len(part), device=self.device))
            )
            self.spread(stored, place.to(torch.int32), coefficients[start : start + step], scores, state, 1)

    def spread(self, stored, place, coefficients, scores, state, n_problems: int) -> None:
        """scores[b] += coefficients[b] @ stored[place[b]] for each problem b."""
        from semisvm.kernels.device_kernel import spread

        length = place.shape[-1]
        grid = (-(-self.n_rows // _COLUMNS), n_problems)
        spread[grid](
            stored, place, coefficients, scores, state, self.n_rows, self.stride, length,
            ROWS=_ROWS, COLUMNS=_COLUMNS, num_warps=4,
        )  # fmt: skip

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """K @ coefficients in float64, as an array of the host's."""
        import torch

        used = np.flatnonzero(coefficients)
        scores = torch.zeros(self.n_rows, dtype=torch.float64, device=self.device)
        with current(self.device):
            self.add_times(self.tensor(used), self.tensor(np.asarray(coefficients, dtype=np.float64)[used]), scores)
        return scores.cpu().numpy()

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """K[rows] as an array of the host's."""
        index = self.tensor(np.asarray(rows, dtype=np.int64))
        if self.is_whole:
            return self.stored[index, : self.n_rows].cpu().numpy()
        block = self.empty(len(index))
        with current(self.device):
            self.make(index, block)
        return block[:, : self.n_rows].cpu().numpy()

    def require(self, rows: np.ndarray) -> None:
        """Nothing to do: a solver on the device makes its rows itself."""

    def release(self, rows: np.ndarray, count: int) -> None:
        """Nothing to do."""

    def _whole_matrix(self, cache_size: float | None) -> Any:
        """All of K, or None where it is larger than the budget or than what the device can give."""
        import torch

        n_bytes = self.n_rows * self.stride * self.dtype.itemsize
        if n_bytes > _budget(self.device, cache_size):
            return None
        try:
            stored = self.empty(self.n_rows)
            self.device_source.write_all(stored)
        except torch.OutOfMemoryError:  # someone else took it in the meantime
            torch.cuda.empty_cache()
            return None
        return stored


class _Values:
    """What code on the host takes for the array of kernel rows."""

    def __init__(self, kernel: DeviceRows):
        self.kernel = kernel
        self.shape, self.dtype = (kernel.n_rows, kernel.n_rows), kernel.dtype
        self.nbytes = kernel.n_rows**2 * kernel.dtype.itemsize

    def __getitem__(self, rows):
        return self.kernel.fetch(np.atleast_1d(np.arange(self.kernel.n_rows)[rows]))

    def __matmul__(self, coefficients):
        return self.kernel.times(coefficients)


class _OnHost(Source):
    """The rows as a source on the host, for code that writes them into arrays of its own."""

    def __init__(self, kernel: DeviceRows):
        self.kernel, self.n_rows, self.dtype, self.diagonal = kernel, kernel.n_rows, kernel.dtype, kernel.diagonal

    def write(self, rows, out):
        for start in range(0, len(rows), ROWS_MADE_AT_ONCE):
            part = slice(start, start + ROWS_MADE_AT_ONCE)
            out[part] = self.kernel.fetch(rows[part])


def device_rows(X, formula, *, device: str, cache_size: float | None = None, dtype=np.float32) -> DeviceRows:
    """Rows of the kernel matrix of X on a device that `semisvm.device.resolve` has found usable."""
    import torch

    place = device_of(device)
    try:
        with current(place):
            return DeviceRows(make_device_source(X, formula, dtype, place), dtype, place, cache_size)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"The data of {X.shape[0]} rows does not fit the memory of device {place}: free some of it, or use "
            "device='cpu'."
        ) from error


def home_of(kernel: KernelRows) -> str | None:
    """The name of the device that kernel rows, or the rows that means are put behind, lie on; None for the host."""
    inner = kernel.source.kernel if isinstance(kernel, VirtualRows) else kernel  # type: ignore[attr-defined]
    if not isinstance(inner, DeviceRows):
        return None
    return "interpreter" if inner.device.type == "cpu" else str(inner.device)


def on_device(kernel: KernelRows, device: str) -> DeviceRows:
    """The same kernel on a device, made once: a sequence of problems on one kernel finds it there."""
    if isinstance(kernel, DeviceRows):
        return kernel
    copies = kernel.__dict__.setdefault("_on_devices", {})
    if device not in copies:
        with current(device_of(device)):
            copies[device] = _copied(kernel, device) if home_of(kernel) is None else _extended(kernel)
    return copies[device]


def _copied(kernel: KernelRows, device: str) -> DeviceRows:
    source: Any = kernel.source
    place = device_of(device)
    if isinstance(source, BlasSource | PanelSource):
        return DeviceRows(DataSource(source.X, source.formula, kernel.dtype, place), kernel.dtype, place)
    K = source.K if isinstance(source, GivenMatrix) else np.empty((kernel.n_rows, kernel.n_rows), dtype=kernel.dtype)
    if not isinstance(source, GivenMatrix):
        source.write(np.arange(kernel.n_rows), K)
    return DeviceRows(MatrixSource(K, kernel.dtype, place), kernel.dtype, place)


def _extended(kernel: KernelRows) -> DeviceRows:
    """Rows with means behind them: the data's own are copied on the device, those of the means come from the host."""
    source: Any = kernel.source
    inner: DeviceRows = source.kernel
    if not inner.is_whole:
        raise MemoryError(
            f"This method needs the whole kernel matrix of {inner.n_rows} rows on the device, and it does not fit: "
            "raise cache_size, or use device='cpu'."
        )
    n, n_all = inner.n_rows, source.n_rows
    K = inner.stored.new_empty((n_all, n_all))
    K[:n, :n] = inner.stored[:, :n]
    with_means = inner.tensor(source.with_means).to(K.dtype)
    K[n:, :n], K[:n, n:] = with_means, with_means.T
    K[n:, n:] = inner.tensor(source.between_means).to(K.dtype)
    return DeviceRows(MatrixSource(K, kernel.dtype, inner.device), kernel.dtype, inner.device)


def _budget(device, cache_size: float | None) -> int:
    import torch

    if cache_size is not None:
        return budget_bytes(cache_size)
    if device.type != "cuda":
        return int(SHARE_FOR_ROWS * free_bytes())
    # What torch holds in reserve and does not use is free to us.
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(SHARE_FOR_ROWS * free)
