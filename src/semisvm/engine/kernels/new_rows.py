"""Scores of rows that no kernel was made of: sums of their kernel values with the support vectors.

    scores[i, q] = sum_j coefficients[q, j] k(x_i, z_j)

In float64, block by block on all cores. The size of a block depends on the number of support
vectors alone, so that scores are the same for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.engine.device import choose_device
from semisvm.engine.formula import Formula, far_center, squared_norms
from semisvm.engine.parallel import for_each, libraries_on_one_thread
from semisvm.matrices import as_dense, is_sparse_matrix

VALUES_PER_BLOCK = 1 << 18  # two megabytes, which stay in the cache until they are added up
LEAST_ROWS, MOST_ROWS = 16, 1024  # of a block
WORTH_COMPILING = 1_000_000  # kernel values; for fewer, loading the compiled code would take longer
WORTH_A_DEVICE = 1 << 20  # kernel values; fewer are computed before the data has been transferred


def scores_of_new_rows(
    X: Any, support_vectors: Any, coefficients: np.ndarray, formula: Formula, *, device: str = "cpu"
) -> np.ndarray:
    """Scores of rows, (n_rows, n_outputs), without bias.

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
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.engine.formula import Formula
    >>> support = np.array([[0.0], [1.0]])
    >>> X = np.array([[2.0], [3.0]])
    >>> scores_of_new_rows(X, support, np.array([[1.0, -1.0]]), Formula("linear"))
    array([[-2.],
           [-3.]])
    """
    n_rows, (n_outputs, n_support) = X.shape[0], coefficients.shape
    if n_support == 0:
        return np.zeros((n_rows, n_outputs))
    if formula.name == "precomputed":
        return np.asarray(X @ coefficients.T, dtype=np.float64)
    if formula.name == "linear":
        w = np.asarray(coefficients @ support_vectors, dtype=np.float64)
        return np.asarray(X @ w.T)
    is_large = n_rows * n_support >= WORTH_A_DEVICE and formula.function is None
    if is_large and (place := choose_device(device, n_rows)) != "cpu":
        from semisvm.engine.gpu import scores_on_device

        dtype = np.float64 if formula.needs_float64(support_vectors) else np.float32
        return scores_on_device(X, support_vectors, coefficients, formula, place, dtype)
    with libraries_on_one_thread():
        return _scores_on_host(X, support_vectors, coefficients, formula)


def _scores_on_host(
    X: Any, support_vectors: Any, coefficients: np.ndarray, formula: Formula
) -> np.ndarray:
    scores = np.empty((X.shape[0], len(coefficients)))
    size = int(np.clip(VALUES_PER_BLOCK // support_vectors.shape[0], LEAST_ROWS, MOST_ROWS))
    parts = [slice(start, start + size) for start in range(0, X.shape[0], size)]
    if formula.function is not None:  # the user's own function is called on one thread
        for part in parts:
            scores[part] = formula.of_rows(X[part], support_vectors) @ coefficients.T
        return scores
    is_worth_compiling = X.shape[0] * support_vectors.shape[0] >= WORTH_COMPILING
    kernel = KernelWith(support_vectors, formula, is_compiled=is_worth_compiling)

    def score(part: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # the model refuses what is not finite
            scores[part] = kernel.values(X[part]) @ coefficients.T

    for_each(score, parts)
    return scores


class KernelWith:
    """The kernel between any rows and some given ones, by a formula of dot products, in float64."""

    def __init__(self, rows: Any, formula: Formula, *, is_compiled: bool):
        self.formula, self.is_compiled = formula, is_compiled
        rows = rows.astype(np.float64, copy=False)
        # Squared distances are small differences of large numbers.
        self.center = far_center(rows) if formula.name == "rbf" else None
        rows = rows if self.center is None else rows - self.center
        self.squares = squared_norms(sparse.csr_array(rows) if is_sparse_matrix(rows) else rows)
        self.transposed = rows.T.tocsr() if is_sparse_matrix(rows) else rows.T

    def values(self, X: Any) -> np.ndarray:
        """Kernel values of rows X, (len(X), n_rows)."""
        X = X.astype(np.float64, copy=False)
        X = X if self.center is None else as_dense(X) - self.center
        dots = np.ascontiguousarray(safe_sparse_dot(X, self.transposed, dense_output=True))
        if self.formula.name != "rbf":
            return self.formula.finish(dots, None, None)
        squares = squared_norms(sparse.csr_array(X) if is_sparse_matrix(X) else X)
        if not self.is_compiled:
            return self.formula.finish(dots, squares, self.squares)
        from semisvm.engine.kernels.loops import finish_block

        finish_block(dots, squares, self.squares, self.formula.numbers)
        return dots
