"""Kernels: from data rows to rows of the kernel matrix, made on demand under a memory budget;
scores of new rows.

`make_formula` settles a kernel's parameters on the data, `kernel_rows` gives the rows of its matrix
between the training rows, and `scores_of_new_rows` evaluates a trained SVM on other rows. Both
choose where kernel values are computed, and by what.
"""

from typing import Any

import numpy as np

from semisvm.device import SOLVES_OF_A_SEQUENCE, TensorRows, on_host, resolve
from semisvm.kernels.formula import Formula, make_formula, near_origin
from semisvm.kernels.panel_source import sparse_source
from semisvm.kernels.precision import needs_float64
from semisvm.kernels.rows import CachedRows, GivenRows, KernelRows
from semisvm.kernels.shared import SharedKernel
from semisvm.kernels.sources import CallableSource, DataSource, KernelSource, cross_kernel
from semisvm.kernels.threads import for_each, n_threads
from semisvm.matrices import PickedRows, as_dense, is_sparse_matrix
from semisvm.memory import budget_bytes

__all__ = ["SharedKernel", "kernel_rows", "make_formula", "scores_of_new_rows"]

# The panel product works on the non-zeros only and applies the exponential immediately. BLAS
# multiplies up to twice as fast once rows have many non-zeros, so long and dense rows are left to
# BLAS.
PANEL_PAYS_BELOW_NONZEROS = 64
PANEL_PAYS_BELOW_SHARE = 0.5
# Without an exponential, BLAS makes rows of up to 64 features three to seven times as fast: the
# panel is used only for rows that are nearly empty.
PANEL_PAYS_BELOW_SHARE_UNFUSED = 0.1
FEW_VALUES = 4_000_000  # of a dense kernel matrix: BLAS is as fast, and panels need not be compiled
# Of a given matrix: the solver adds several values, which must be finite too.
LARGEST_FLOAT32 = 1e30
SCORED_BYTES = 64_000_000  # of kernel values per block
# features up to which one compiled pass is faster than a matrix product followed by an exponential
SHORT_ROW = 64
SHORT_ROWS_AT_ONCE = 128 * 256  # of them, at most, are scored by one call
WORTH_COMPILING = 1_000_000  # kernel values; for fewer, loading the compiled code would take longer
# Kernel values; fewer are computed on the host before the data has been transferred.
DEVICE_PAYS_FROM_VALUES = 1 << 20


def kernel_rows(
    X: Any,
    formula: Formula,
    *,
    cache_size: float | None = None,
    dtype: Any = np.float32,
    is_frugal: bool = False,
    device: str = "cpu",
) -> KernelRows:
    """Return the rows of the kernel matrix of X, computed on demand (on a device, at once).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The data rows; with a precomputed kernel the kernel matrix itself, of shape (n_rows,
        n_rows). On a device X may also be a torch tensor or a CuPy array.
    formula : Formula
        The kernel with its parameters, from `make_formula`.
    cache_size : float, default=None
        Memory for kernel rows in megabytes; by default half of the free memory of the host, or most
        of the free memory of the device.
    dtype : data-type, default=numpy.float32
        Float type of the kernel values. A precomputed matrix on the host keeps its type. Use
        float64 for kernel values above 1,000, and for "rbf" with ``gamma * |x|**2`` above 1,000.
    is_frugal : bool, default=False
        Whether the rows are for a single solve, which may then overwrite rows that it no longer
        needs.
    device : str, default="cpu"
        Where the rows are computed and stored: "cpu", "cuda", "cuda:1", ..., or "auto", which is
        "cuda" if there is a device and the data is large enough, else "cpu".

    Returns
    -------
    KernelRows
        `CachedRows` or `GivenRows` on the host, `DeviceRows` on a device.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> rows = kernel_rows(X, make_formula("rbf", X, gamma=1.0), dtype=np.float64)
    >>> rows.fetch(np.array([0])).round(3)
    array([[1.   , 0.368, 0.018]])
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if formula.name == "precomputed" and (len(X.shape) != 2 or X.shape[0] != X.shape[1]):
        raise ValueError(
            "A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in fit, "
            f"got {tuple(X.shape)}."
        )
    # The user's own function runs on the host: on a device it would be called for every pair of
    # rows at once.
    wanted = "cpu" if device == "auto" and formula.function is not None else device
    wanted = X.place if wanted == "auto" and isinstance(X, TensorRows) else wanted
    n_solves = 1 if is_frugal else SOLVES_OF_A_SEQUENCE
    n_features = None if formula.name == "precomputed" else X.shape[1]
    if (
        place := resolve(wanted, X.shape[0], n_features, n_threads=n_threads(), n_solves=n_solves)
    ) != "cpu":
        from semisvm.kernels.device_rows import device_rows

        try:
            return device_rows(X, formula, device=place, cache_size=cache_size, dtype=dtype)
        except MemoryError:
            if device != "auto":
                raise
    X = on_host(X)
    if formula.name == "precomputed":
        K = np.asarray(X)
        is_float32 = K.dtype == np.float32 and (K.size == 0 or np.abs(K).max() <= LARGEST_FLOAT32)
        return GivenRows(np.ascontiguousarray(K, dtype=np.float32 if is_float32 else np.float64))
    return CachedRows(make_source(X, formula, dtype), budget_bytes(cache_size), is_frugal=is_frugal)


def make_source(X, formula: Formula, dtype) -> KernelSource:
    """Return the source whose product is fastest for these data, dense or sparse."""
    if formula.function is not None:
        return CallableSource(X, formula, dtype)
    if is_sparse_matrix(X):
        return sparse_source(X, formula, dtype)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    n_rows = max(len(X), 1)
    if formula.name == "rbf":
        X = near_origin(X)
    n_nonzeros = np.count_nonzero(X) / n_rows
    if len(X) ** 2 <= FEW_VALUES:
        is_panel_work = False
    elif formula.name == "rbf" and np.dtype(dtype) == np.float32:
        is_panel_work = n_nonzeros <= max(
            PANEL_PAYS_BELOW_NONZEROS, PANEL_PAYS_BELOW_SHARE * X.shape[1]
        )
    else:
        is_panel_work = n_nonzeros <= PANEL_PAYS_BELOW_SHARE_UNFUSED * X.shape[1]
    return (sparse_source if is_panel_work else DataSource)(X, formula, dtype)


def scores_of_new_rows(
    X: Any, support_vectors: Any, coefficients: np.ndarray, formula: Formula, *, device: str = "cpu"
) -> np.ndarray:
    """Return the sum of each row's kernel values with the support vectors, weighted by the
    coefficients.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        The new rows; with a precomputed kernel their kernel values with the support vectors, of
        shape (n_rows, n_support).
    support_vectors : array or sparse matrix of shape (n_support, n_features)
        The support vectors; not used with a precomputed kernel.
    coefficients : ndarray of shape (n_outputs, n_support)
        One row of coefficients per SVM.
    formula : Formula
        The kernel with the parameters of training.
    device : str, default="cpu"
        Where to compute large products: "cpu", "cuda", "cuda:1", ... or "auto".

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
        The scores, without bias.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import make_formula, scores_of_new_rows
    >>> support = np.array([[0.0], [1.0]])
    >>> formula = make_formula("linear", support)
    >>> scores_of_new_rows(np.array([[2.0], [3.0]]), support, np.array([[1.0, -1.0]]), formula)
    array([[-2.],
           [-3.]])
    """
    n_rows = X.shape[0]
    n_support = coefficients.shape[1]
    is_large = n_rows * n_support >= DEVICE_PAYS_FROM_VALUES
    tensor = X.X if isinstance(X, PickedRows) else X
    is_there = isinstance(tensor, TensorRows)
    if (is_large or is_there) and formula.name not in ("precomputed", "callable"):
        # In effect a problem of as many kernel values.
        n_in_effect = int((n_rows * n_support) ** 0.5)
        wanted = tensor.place if is_there and device == "auto" else device
        if (place := resolve(wanted, n_in_effect, X.shape[1], n_threads=n_threads())) != "cpu":
            from semisvm.kernels.torch_source import scores_on_device

            is_rough = is_large and not needs_float64(formula, support_vectors)
            dtype = np.float32 if is_rough else np.float64
            return scores_on_device(X, support_vectors, coefficients, formula, place, dtype)
    scores = np.zeros((n_rows, coefficients.shape[0]))
    if n_support == 0:
        return scores
    if formula.name == "rbf" and X.shape[1] <= SHORT_ROW and n_rows * n_support >= WORTH_COMPILING:
        _score_short_rows(X, support_vectors, coefficients, formula.gamma, scores)
        return scores
    block = max(1, SCORED_BYTES // (8 * n_support))
    for start in range(0, n_rows, block):
        part = slice(start, start + block)
        K = (
            X[part]
            if formula.name == "precomputed"
            else cross_kernel(formula, X[part], support_vectors)
        )
        scores[part] = np.asarray(K @ coefficients.T)
    return scores


def _score_short_rows(X, support_vectors, coefficients, gamma: float, scores: np.ndarray) -> None:
    """Score rows of few features in one compiled pass, on every core."""
    from semisvm.kernels.compiled import rbf_scores
    from semisvm.kernels.intrinsics import PANEL_WIDTH

    n_rows = X.shape[0]
    Z = _dense(support_vectors)
    share = min(PANEL_WIDTH * max(1, -(-n_rows // (PANEL_WIDTH * n_threads()))), SHORT_ROWS_AT_ONCE)
    parts = [slice(start, start + share) for start in range(0, n_rows, share)]
    coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)

    def score(part: slice) -> None:
        panel = np.zeros((X.shape[1], PANEL_WIDTH))
        sums = np.zeros((1 + len(coefficients), PANEL_WIDTH))
        rbf_scores(_dense(X[part]), Z, coefficients, float(gamma), scores[part], panel, sums)

    for_each(score, parts)


def _dense(rows) -> np.ndarray:
    return np.ascontiguousarray(as_dense(rows), dtype=np.float64)
