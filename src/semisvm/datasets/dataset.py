"""A data set in memory: rows X, labels y, and the names of both.

    X   (n_rows, n_features)  float array, or CSR matrix with int32 indices
    y   (n_rows,)             labels

Rows without a label are kept: their y is -1 in the named sets. In a file of a user it is NaN (numbers) or "" (text).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from semisvm.datasets.splits import Split


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and labels, ready to learn from.

    Attributes
    ----------
    name : str
        The name of a named set, or of the file.
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite numbers.
    y : ndarray of shape (n_rows,)
        Labels, with NaN, "" or -1 where a row has none.
    feature_names : sequence of str of length n_features
        The names of the columns of X.
    target_name : str or None
        The column that y comes from; None where a file was read without one.
    source : str
        Where the rows come from, in words.
    split : Split or None
        The split that the set was published with, if there is exactly one.
    splits : dict of int to tuple of Split
        The splits that the set was published with, if there are several, by the number of labeled rows. The sets of the
        SSL book have them; they have no test rows, since the book scores the unlabeled rows.
    """

    name: str
    X: NDArray[np.floating] | csr_matrix
    y: NDArray
    feature_names: Sequence[str]
    target_name: str | None
    source: str = ""
    split: Split | None = None
    splits: Mapping[int, tuple[Split, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_rows, n_features = self.X.shape
        if self.y.shape != (n_rows,):
            raise ValueError(f"{self.name}: {n_rows} rows in X, but y has shape {self.y.shape}.")
        if len(self.feature_names) != n_features:
            raise ValueError(f"{self.name}: {n_features} features, {len(self.feature_names)} names for them.")

    def __repr__(self) -> str:
        n_rows, n_features = self.X.shape
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return f"Dataset({self.name!r}: {n_rows} rows x {n_features} features, {kind} {self.X.dtype})"


class NumberedNames(Sequence[str]):
    """Names for columns that have none: x1, x2, ..., counted from 1 as in LIBSVM files.

    A name is made when it is asked for, because a sparse row may have its only value at feature two billion.
    """

    def __init__(self, n_features: int) -> None:
        self._numbers = range(1, n_features + 1)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice):
            return tuple(f"x{number}" for number in self._numbers[i])
        return f"x{self._numbers[i]}"
