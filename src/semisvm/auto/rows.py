"""What the user gives as rows: an array of points, a table, or texts. It is told by what the rows
are, not by how they are stored: a dense and a sparse copy of one matrix are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from semisvm.matrices import as_dense, is_sparse_matrix
from semisvm.tables.cells import as_frame
from semisvm.tables.views import LARGEST_NUMBER, looks_like_a_table

# A matrix is one of counts, as of words, if it is wide, few of its numbers are not 0, and rows
# differ in how many; in categories as columns of 0 and 1 all rows have the same number.
FEWEST_TERMS, VERY_WIDE = 100, 5_000  # columns; from the second on rows stay sparse in any case
MOST_OF_COUNTS, LEAST_SPREAD = 0.1, 0.1


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a dense array, CSR rows of counts, a frame, or an array of strings.

    With `reset` it is settled, and kept in `estimator._kind`, which of these they are; without it
    X must be the same.
    """
    texts = _as_texts(X)
    if not reset and (texts is not None) != (estimator._kind == "texts"):
        was = "texts" if texts is None else "an array or a table"
        raise ValueError(f"X must be as in fit: {type(estimator).__name__} was fitted on {was}.")
    if texts is not None:
        if reset:
            _refuse_same_words(texts)
        estimator._kind = "texts"
        return texts
    are_points = estimator.columns == "points" if reset else estimator._kind == "points"
    if hasattr(X, "columns") and not are_points:
        estimator._kind = "table"
        return _as_table(estimator, X, reset=reset)
    X = _as_array(estimator, X, reset=reset)
    if reset:
        estimator._kind = _kind_of(X, estimator.columns)
    if estimator._kind == "points":
        return X
    by_place = [str(j) for j in range(X.shape[1])]
    if X.dtype.kind == "O" or (not reset and estimator._names != by_place):
        return _as_table(estimator, as_dense(X), reset=reset)
    estimator._names = by_place
    return as_dense(X)


def _as_texts(X: Any) -> np.ndarray | None:
    """One string per row, "" for missing ones; None for other rows."""
    if isinstance(X, list | tuple):
        cells = list(X)
    elif hasattr(X, "to_list"):  # a Series of pandas or polars
        cells = X.to_list()
    elif isinstance(X, np.ndarray) and X.ndim == 1:
        cells = X.tolist()
    else:
        return None
    if not any(isinstance(cell, str) for cell in cells):
        return None
    return np.array([cell if isinstance(cell, str) else "" for cell in cells], dtype=object)


def _refuse_same_words(texts: np.ndarray) -> None:
    """Texts of the same words can't be told apart."""
    first = sorted(texts[0].lower().split())
    if len(texts) > 1 and first and all(sorted(t.lower().split()) == first for t in texts[1:]):
        raise ValueError(
            f"All {len(texts)} texts hold the same words ({texts[0][:40]!r}): give texts that"
            " differ."
        )


def _refuse_too_large(X: Any) -> None:
    """Squares of the numbers, and their sums, have to be finite."""
    sizes = np.abs(X.data if is_sparse_matrix(X) else X)
    largest = np.fmax.reduce(sizes, axis=None, initial=0.0)  # leaves NaN out
    if largest > LARGEST_NUMBER:
        raise ValueError(
            f"X holds a number of size {largest:.3g}, and {LARGEST_NUMBER:g} is the most: divide"
            " its column by a constant, or correct it."
        )


def _kind_of(X: Any, columns: Any) -> str:
    """Whether an array is one of points, or a table."""
    if columns != "auto":
        return "points" if columns == "points" else "table"
    if is_sparse_matrix(X):
        return "points"
    return "table" if X.dtype.kind == "O" or looks_like_a_table(X) else "points"


def _as_array(estimator: Any, X: Any, *, reset: bool) -> Any:
    """An array that was checked: float64, CSR where it is one of counts; or cells of a table."""
    is_frame = hasattr(X, "columns")
    if not is_frame and not is_sparse_matrix(X):
        X = np.asarray(X)
        if X.ndim == 2 and X.dtype.kind in "OUS" and _holds_words(X):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            return X.astype(object)
    are_finite = is_sparse_matrix(X) or (is_frame or estimator.columns == "points")
    how: Any = {"dtype": np.float64, "ensure_all_finite": True if are_finite else "allow-nan"}
    X = validate_data(estimator, X, reset=reset, accept_sparse="csr", **how)
    if reset:
        _refuse_too_large(X)
        estimator._are_counts = are_counts(X)
    return sparse.csr_matrix(X) if getattr(estimator, "_are_counts", False) else as_dense(X)


def _holds_words(X: np.ndarray) -> bool:
    try:
        X.astype(np.float64)
    except ValueError:
        return True
    except TypeError:
        return any(isinstance(cell, str) for cell in X.ravel())
    return False


def are_counts(X: Any) -> bool:
    """Whether few numbers of a wide matrix are not 0, as of words in texts."""
    if X.shape[1] < FEWEST_TERMS or not (is_sparse_matrix(X) or np.isfinite(X).all()):
        return False
    per_row = np.asarray((X != 0).sum(axis=1)).ravel()
    if per_row.sum() > MOST_OF_COUNTS * X.shape[0] * X.shape[1] or not per_row.any():
        return False
    return bool(X.shape[1] >= VERY_WIDE or per_row.std() > LEAST_SPREAD * per_row.mean())


def _as_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A frame of pandas, its columns in the order of the fit; they are known by their names, or by
    their places where the fit had an array.
    """
    if X.shape[0] == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    frame = as_frame(X)
    if reset:
        validate_data(estimator, X, reset=True, skip_check_array=True)
        estimator._names = list(frame.columns)
        return frame
    known, there = estimator._names, set(frame.columns)
    is_named = isinstance(estimator.columns, dict)  # then other columns do not matter
    if set(known) <= there and (is_named or len(known) == len(there)):
        return frame[known]
    if not is_named:
        validate_data(estimator, frame, reset=False, skip_check_array=True)
        frame = frame.set_axis(known, axis=1)
    return frame
