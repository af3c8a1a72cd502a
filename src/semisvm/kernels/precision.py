"""The precision of kernel values: float32 where it has enough digits, else float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.device import TensorRows, on_host
from semisvm.kernels.formula import Formula, near_origin
from semisvm.kernels.sources import cross_kernel
from semisvm.kernels.threads import for_each
from semisvm.matrices import is_sparse_matrix, stored_numbers

BYTES_PER_PART = 1 << 21  # that a thread reads or copies at a time
# Kernel values, and exponents of the rbf kernel, up to which float32 has enough digits: it rounds
# this one to 6e-5, decision values are sums of many, and a margin is 1.
SAFE_KERNEL_VALUE = 1e3
ROWS_OF_SAMPLE = 256  # that tell how large the values of the user's own function are


def needs_float64(formula: Formula, X: Any) -> bool:
    """Whether float32 would round kernel values of these rows, or their exponents, too much."""
    if formula.name == "precomputed" or not X.shape[0]:
        return False
    if formula.function is not None:
        sample = on_host(X)[:: -(-X.shape[0] // ROWS_OF_SAMPLE)]
        return not np.abs(cross_kernel(formula, sample, sample)).max() <= SAFE_KERNEL_VALUE
    with np.errstate(over="ignore", invalid="ignore"):
        # Of most rows the largest number says enough.
        if _is_safe_in_float32(formula, X.shape[1] * np.square(largest_magnitude(X))):
            return False
        if isinstance(X, TensorRows):
            rows = X.tensor.double()
            rows = rows - rows.mean(dim=0) if formula.name == "rbf" else rows
            squares = (rows**2).sum(dim=1)
        elif is_sparse_matrix(X):
            squares = X.multiply(X).sum(axis=1)
        else:
            rows = near_origin(X) if formula.name == "rbf" else X
            squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        return not _is_safe_in_float32(formula, np.float64(float(squares.max())))


def _is_safe_in_float32(formula: Formula, square: np.float64) -> bool:
    """Whether float32 has enough digits for rows whose squared norms are at most `square`."""
    largest = square if formula.name == "linear" else formula.gamma * square
    if formula.name == "poly":
        largest = (largest + abs(formula.coef0)) ** formula.degree
    return bool(largest <= SAFE_KERNEL_VALUE)


def largest_magnitude(X: Any) -> float:
    """The largest |X[i, j]|; 0 where X is empty."""
    if isinstance(X, TensorRows):
        return float(X.tensor.abs().max()) if min(X.shape) else 0.0
    values = stored_numbers(X)
    if not values.size:
        return 0.0
    parts = parts_of_rows(len(values), values.nbytes)
    ends = np.empty((2, len(parts)))

    def measure(number: int) -> None:
        part = values[parts[number]]
        ends[:, number] = part.max(), -part.min()

    for_each(measure, range(len(parts)))
    return float(ends.max())


def parts_of_rows(length: int, n_bytes: int) -> list[slice]:
    """Parts of an array of so many bytes, along its first axis, that are worth a thread each."""
    step = max(1, -(-length // max(1, n_bytes // BYTES_PER_PART)))
    return [slice(start, start + step) for start in range(0, length, step)]
