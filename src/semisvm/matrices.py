"""Functions for dense and sparse matrices alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


def stored_numbers(X: Any) -> np.ndarray:
    """The numbers of a matrix; of a sparse one those that are stored, and no zeros."""
    return X.data if is_sparse_matrix(X) else X


def stack_rows(parts: Sequence[Any]) -> Any:
    """The rows of several matrices in one: CSR if the first one is sparse."""
    return (
        sparse.vstack(parts, format="csr") if is_sparse_matrix(parts[0]) else np.concatenate(parts)
    )


def is_frame(X: object) -> bool:
    """Whether rows are in a DataFrame: of pandas, Polars, Dask."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_pandas"))


def columns_of_words(X: Any) -> dict[Any, str | None]:
    """Return {column: a word in it} of a frame or a 2-D array; the word is None in a column of
    dates.
    """
    if not is_frame(X) and not (isinstance(X, np.ndarray) and X.ndim == 2):
        return {}
    named = ((name, np.asarray(X[name])) for name in X.columns) if is_frame(X) else enumerate(X.T)
    word_of: dict[Any, str | None] = {}
    for name, cells in named:
        word = next(
            (cell for cell in cells if isinstance(cell, str) and not _is_number(cell)), None
        )
        if word is not None or cells.dtype.kind in "mM":
            word_of[name] = word
    return word_of


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_plain_float(values: np.ndarray) -> bool:
    """Whether an array is one piece of memory with numbers in float32 or float64."""
    return (
        values.dtype in (np.float32, np.float64)
        and values.dtype.isnative
        and values.flags.c_contiguous
    )


def with_small_indices(X: Any) -> Any:
    """A sparse matrix whose indices are 32-bit integers where they fit: parts of scikit-learn
    take no others.
    """
    if (
        not is_sparse_matrix(X)
        or X.indices.dtype == np.int32
        or max(X.nnz, *X.shape) > np.iinfo(np.int32).max
    ):
        return X
    return sparse.csr_matrix(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )


@dataclass(frozen=True)
class PickedRows:
    """X[rows] without a copy of all of them: a part is picked when it is asked for, by ``pick(X,
    rows[part], out)``. On a GPU a fit takes less time than the copy of a large array.
    """

    X: Any
    rows: np.ndarray
    pick: Callable[..., Any]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.X.shape[1]

    def __getitem__(self, part: slice) -> Any:
        return self.pick(self.X, self.rows[part])

    def write(self, part: slice, out: np.ndarray) -> None:
        """Pick a part of dense rows into an array of their type."""
        self.pick(self.X, self.rows[part], out)
