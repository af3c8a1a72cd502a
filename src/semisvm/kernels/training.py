"""From the training rows and a kernel to `KernelRows`: the one way in for estimators."""

import numpy as np

from semisvm.device import resolve
from semisvm.kernels.formula import Formula
from semisvm.kernels.memory import budget_bytes
from semisvm.kernels.rows import GivenRows, KernelRows
from semisvm.kernels.sources import GivenMatrix, make_source


def kernel_rows(
    X,
    formula: Formula,
    *,
    cache_size: float | None = None,
    dtype=np.float32,
    is_frugal: bool = False,
    device: str = "cpu",
) -> KernelRows:
    """Rows of the kernel matrix of X (or of X itself, where X is the matrix), float32 unless asked otherwise."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    # A function of the user's own is called on the host: a device would have it called for every pair of rows.
    wanted = "cpu" if device == "auto" and formula.function is not None else device
    n_rows = X.shape[0] if len(X.shape) else 0
    if (place := resolve(wanted, n_rows)) != "cpu":
        from semisvm.kernels.device_rows import device_rows

        if formula.name == "precomputed":
            _check_square(X.shape)
        try:
            return device_rows(X, formula, device=place, cache_size=cache_size, dtype=dtype)
        except MemoryError:
            if device != "auto":
                raise
    if formula.name == "precomputed":
        return GivenRows(GivenMatrix(_square(X)))
    return KernelRows(make_source(X, formula, dtype), budget_bytes(cache_size), is_frugal=is_frugal)


def _square(K) -> np.ndarray:
    K = np.asarray(K)
    _check_square(K.shape)
    return np.ascontiguousarray(K, dtype=np.float32 if K.dtype == np.float32 else np.float64)


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in fit, got {tuple(shape)}."
        )
