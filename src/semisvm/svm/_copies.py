"""Rows that are equal, number by number.

first   (n_distinct,)  the first row of each group of equal rows, ascending
group   (n,)           the group of each row: row i equals row first[group[i]]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.matrices import is_sparse_matrix

from ._binary import BinaryFit, TrainingSet
from ._order import line_of

ROUNDING = 1e-12  # of places on the line
FEWEST_COPIES = 0.05  # share of the rows: below it the time saved would not be noticed


def distinct_rows(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """`first` and `group` of the rows of a matrix."""
    if is_sparse_matrix(X):
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = [X.indices[i:j].tobytes() + X.data[i:j].tobytes() for i, j in ends]
    else:
        keys = [row.tobytes() for row in X + 0.0]  # -0.0 is 0.0
    number_of: dict[bytes, int] = {}
    group = np.array([number_of.setdefault(key, len(number_of)) for key in keys])
    return np.unique(group, return_index=True)[1], group


def has_many_copies(data: TrainingSet) -> bool:
    """Whether it may be worth it to merge copies: in the order by content they are neighbors."""
    X = data.X
    if data.engine.form == "primal" or data.formula.name in ("precomputed", "callable"):
        return False
    if is_sparse_matrix(X):
        place = line_of(X)
        is_copy = np.diff(place) <= ROUNDING * np.abs(place).max()
    else:
        is_copy = (X[1:] == X[:-1]).all(axis=1)
    return bool(np.count_nonzero(is_copy) >= FEWEST_COPIES * data.n_rows)


def over_copies(fit: BinaryFit, first: np.ndarray, group: np.ndarray) -> BinaryFit:
    """A fit on the distinct rows as one on all rows: the first copy has the coefficient of all."""
    fit = replace(fit, scores=fit.scores[group])
    if fit.row_beta is None:
        return fit
    row_beta = np.zeros(len(group))
    row_beta[first] = fit.row_beta
    return replace(fit, row_beta=row_beta)
