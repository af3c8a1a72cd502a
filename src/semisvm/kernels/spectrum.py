"""The largest eigenvalues of a symmetric matrix, and their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from semisvm.errors import UndefinedError

FEW_VECTORS = 20  # so few are found by Lanczos with products of the dense matrix
MOST_ROWS_EIGH = 2000


def largest_eigenpairs(matrix: Any, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,), largest first, and orthonormal vectors (n, r) of a dense or sparse symmetric matrix."""
    if not np.isfinite(matrix.data if sparse.issparse(matrix) else matrix).all():
        raise UndefinedError("Distances between these rows are not finite in float64. Scale the features to near 1.")
    n = matrix.shape[0]
    n_vectors = min(n_vectors, n)
    is_few = n_vectors <= FEW_VECTORS and n > 10 * FEW_VECTORS
    if (is_few and not sparse.issparse(matrix)) or (n > MOST_ROWS_EIGH and n > 4 * n_vectors):
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(matrix, k=n_vectors, which="LA", v0=start, ncv=min(n - 1, 2 * n_vectors + 40))
    else:
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        values, vectors = eigh(dense, subset_by_index=(n - n_vectors, n - 1))
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
