"""Matrices that are dense or sparse: what is done differently for the two is written here once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse

from semisvm.errors import shorten

MOST_COLUMNS_NAMED = 3


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


def is_frame(X: object) -> bool:
    """Whether rows are in a DataFrame: of pandas, Polars, Dask."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_pandas"))


def refuse_words(taker: str, X: Any, *, is_fit: bool) -> None:
    """Refuse rows, in a frame or an array, with columns of text or dates: `taker`, an estimator, takes numbers only."""
    if not is_frame(X) and not (isinstance(X, np.ndarray) and X.ndim == 2):
        return
    named = ((name, np.asarray(X[name])) for name in X.columns) if is_frame(X) else enumerate(X.T)
    found = []
    for name, cells in named:
        word = next((cell for cell in cells if isinstance(cell, str) and not _is_number(cell)), None)
        if word is not None or cells.dtype.kind in "mM":
            found.append(f"column {name!r} holds {'dates' if word is None else f'text, for example {shorten(word)}'}")
    if found:
        remedy = (
            f"Encode the columns of a DataFrame by make_pipeline(semisvm.TableEncoder(), {taker}()), or use "
            "semisvm.AutoSVC, which takes a DataFrame as it is"
        )
        told = "; ".join(found[:MOST_COLUMNS_NAMED]) + ("; ..." if len(found) > MOST_COLUMNS_NAMED else "")
        raise ValueError(f"{taker} takes numbers, and {told}. {remedy if is_fit else 'Give rows like those of fit'}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_plain_float(values: np.ndarray) -> bool:
    """Whether an array is one piece of memory with numbers in float32 or float64."""
    return values.dtype in (np.float32, np.float64) and values.dtype.isnative and values.flags.c_contiguous


@dataclass(frozen=True)
class PickedRows:
    """X[rows] without a copy of all of them: a part is picked when it is asked for, by ``pick(X, rows[part], out)``."""

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
