"""Matrices that are dense or sparse: what is done differently for the two is written here once."""

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


def stored_numbers(X: Any) -> np.ndarray:
    """The numbers of a matrix; of a sparse one those that are stored, and no zeros."""
    return X.data if is_sparse_matrix(X) else X


def stack_rows(parts: Sequence[Any]) -> Any:
    """The rows of several matrices in one: CSR if the first one is sparse."""
    return sparse.vstack(parts, format="csr") if is_sparse_matrix(parts[0]) else np.concatenate(parts)
