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
    place = resolve(device, X.shape[0])
    if place != "cpu":
        from semisvm.kernels.device_rows import device_rows

        return device_rows(X, formula, device=place, cache_size=cache_size, dtype=dtype)
    if formula.name == "precomputed":
        return GivenRows(GivenMatrix(_square(X)))
    return KernelRows(make_source(X, formula, dtype), budget_bytes(cache_size), is_frugal=is_frugal)


def _square(K) -> np.ndarray:
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in fit, got {K.shape}."
        )
    return np.ascontiguousarray(K, dtype=np.float32 if K.dtype == np.float32 else np.float64)
