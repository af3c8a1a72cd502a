"""What reading gives: rows X, labels y, and the names of both.

    X   (n_rows, n_features)  float array, or CSR matrix with int32 indices
    y   (n_rows,)             labels in the file's own values

Rows without a label stay in: their y is NaN (numbers) or "" (text) when read from a user's file,
-1 in the named sets. A file read without a target has no labels at all, so all of its y is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from semisvm.data.partition import Split


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table ready to learn from.

    Parameters
    ----------
    name : str
        What to call it: the name of a named set, or the file's.
    X : float array or CSR matrix of shape (n_rows, n_features)
        Finite numbers.
    y : array of shape (n_rows,)
        Labels, with NaN, "" or -1 where there is none.
    feature_names : sequence of str
        One for each column of X.
    target_name : str or None
        The column y came from; None where the file was read without one.
    source : str
        Where the rows come from, in words.
    split : Split or None
        The split the set was published with, where it has one.
    """

    name: str
    X: NDArray[np.floating] | csr_matrix
    y: NDArray
    feature_names: Sequence[str]
    target_name: str | None
    source: str = ""
    split: Split | None = None

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
    """Names for columns that have none: x1, x2, ..., counted as LIBSVM files count.

    Made when asked for: a sparse row may well have its one value at feature two thousand million.
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
