"""Functions for dense and sparse matrices alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse


def is_sparse_matrix(X: object) -> TypeGuard[sparse.csr_matrix]:
    """Whether rows are sparse; to type checkers, in the format that all input is converted to."""
    return bool(sparse.issparse(X))


def as_dense(X: Any) -> Any:
    """The array of a sparse matrix; anything else as it is."""
    return X.toarray() if is_sparse_matrix(X) else X


def without_duplicates(X: Any) -> Any:
    """CSR rows that store each column once, in order; a copy where the given ones do not."""
    if not X.has_canonical_format:
        X = X.copy()  # the arrays may be the user's
        X.sum_duplicates()
    return X


def with_small_indices(X: Any) -> Any:
    """A sparse matrix whose indices are 32-bit integers where they fit: parts of scikit-learn take
    no others.
    """
    most = np.iinfo(np.int32).max
    if not is_sparse_matrix(X) or X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > most:
        return X
    arrays = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_matrix(arrays, shape=X.shape)


def stored_numbers(X: Any) -> np.ndarray:
    """The numbers of a matrix; of a sparse one those that are stored, and no zeros."""
    return X.data if is_sparse_matrix(X) else X


def stack_rows(parts: Sequence[Any]) -> Any:
    """The rows of several matrices in one, CSR if the first one is sparse; one stays as it is."""
    if len(parts) == 1:
        return parts[0]
    is_sparse = is_sparse_matrix(parts[0])
    return sparse.vstack(parts, format="csr") if is_sparse else np.concatenate(parts)
