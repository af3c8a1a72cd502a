"""An order of rows by what they hold, whatever order the user has them in.

Every row is projected on a line, which depends on the columns alone: the coefficient of a column is
a function of its third moment, and then of its product with the projections that this gives. So
neither the order of the rows nor that of the columns matters, nor how the matrix is stored. Only
rows that the line does not tell apart keep the user's order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.matrices import is_sparse_matrix

ROWS_AT_ONCE = 256
SPREAD = 1e3  # radians over which columns are spread: neighbors get coefficients of their own


def content_order(X: Any, codes: np.ndarray) -> np.ndarray:
    """The numbers of the rows of a matrix, in an order by content; of equal rows by class."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.lexsort((codes, line_of(X)))


def line_of(X: Any) -> np.ndarray:
    """The place of each row on the line, (n,)."""
    if is_sparse_matrix(X):
        X = X.astype(np.float64, copy=False)
        third_moment = np.asarray(X.power(3).sum(axis=0)).ravel()
        place = X @ _coefficients(third_moment)
        return X @ _coefficients(X.T @ place)
    # Sums in float64 of float32 too; einsum makes no copy of X, and is slow on three factors of it.
    third_moment = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        part = X[start : start + ROWS_AT_ONCE].astype(np.float64)
        third_moment += np.einsum("ij,ij,ij->j", part, part, part)
    place = np.einsum("ij,j->i", X, _coefficients(third_moment), dtype=np.float64)
    product = np.einsum("ij,i->j", X, place, dtype=np.float64)
    return np.einsum("ij,j->i", X, _coefficients(product), dtype=np.float64)


def _coefficients(of_column: np.ndarray) -> np.ndarray:
    """Numbers between -1 and 1 that look random, equal for equal columns."""
    largest = np.abs(of_column).max(initial=0.0)
    return np.cos(SPREAD * of_column / (largest or 1.0))
