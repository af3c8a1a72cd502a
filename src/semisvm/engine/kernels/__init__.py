"""Kernels: from data rows to rows of the kernel matrix, made on demand within a budget of memory.

`kernel_of` gives the kernel of some rows, where it belongs: on the host or on a device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.engine.device import choose_device, on_host
from semisvm.engine.formula import Formula
from semisvm.engine.kernels.kernel import Kernel
from semisvm.engine.kernels.memory import budget_bytes
from semisvm.engine.kernels.sources import make_source
from semisvm.matrices import is_sparse_matrix

FLOAT32_SUFFICES = 1e-5  # a smaller tolerance needs kernel values in float64
FEW_ROWS = 1_000  # of fewer rows float64 takes no longer


def kernel_of(
    X: Any,
    formula: Formula,
    *,
    tol: float = 1e-3,
    device: str = "cpu",
    cache_size: float | None = None,
    dtype: Any = None,
) -> Any:
    """The kernel of rows X, on the host or on a device.

    Kernel values are float32 where that has enough digits for the tolerance and the data, and
    float64 otherwise; a precomputed matrix keeps its type. `cache_size` is in megabytes, by default
    half of the free memory.

    >>> from semisvm.engine.formula import make_formula
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> kernel = kernel_of(X, make_formula("rbf", X, gamma=1.0))
    >>> kernel.rows(np.array([0])).round(3)
    array([[1.   , 0.368, 0.018]])
    """
    X = on_host(X)
    X = X if is_sparse_matrix(X) else np.asarray(X)
    place = choose_device(device, X.shape[0])
    if dtype is None:
        is_rough = tol >= FLOAT32_SUFFICES and X.shape[0] > FEW_ROWS
        dtype = np.float32 if is_rough and not formula.needs_float64(X) else np.float64
    # The user's own function runs on the host: a device would call it for all pairs at once.
    if place != "cpu" and (formula.function is None or device != "auto"):
        from semisvm.engine.gpu import device_kernel

        try:
            return device_kernel(X, formula, place, cache_size=cache_size, dtype=dtype)
        except MemoryError:
            if device != "auto":
                raise
    return Kernel(make_source(X, formula, dtype), budget_bytes(cache_size))
