"""A kernel matrix that is computed once and shared by all fits of a search.

A grid search passes slices of X to every fit, so that a fit can't know that another one had the
same rows. Here rows are identified by their bytes, and the kernel values of any slices are looked
up.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import numpy as np

from semisvm.kernels.formula import make_formula
from semisvm.kernels.sources import cross_kernel
from semisvm.matrices import is_sparse_matrix, without_duplicates

FEWEST_REMEMBERED = 100  # rows of a block whose places are kept for the next call


class SharedKernel:
    """Kernel whose values between the rows of X are computed only once for many fits.

    Pass it as `kernel` to any SVM of this library. In a grid search one such kernel per gamma is
    shared by all other parameters and all folds. Kernel values with rows that are not in X are
    computed when they are needed.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        All rows of the search. Their kernel matrix stays in memory: 8 bytes for each pair.
    kernel : {"linear", "rbf", "poly", "sigmoid"}, default="rbf"
        The kernel.
    gamma : float or {"scale", "auto"}, default="scale"
        Kernel coefficient of "rbf", "poly" and "sigmoid"; "scale" and "auto" are computed from X.
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    degree : float, default=3
        Degree of "poly".

    Attributes
    ----------
    gamma : float
        The kernel coefficient as a number.

    Notes
    -----
    Clones and threads share the matrix. Another process computes it again.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.model_selection import GridSearchCV
    >>> from semisvm import SemiSupervisedKFold, TransductiveSVC
    >>> from semisvm.kernels import SharedKernel
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> y[20:] = -1
    >>> grid = {"kernel": [SharedKernel(X, gamma=g) for g in (0.3, 3)], "C": [1, 10]}
    >>> search = GridSearchCV(TransductiveSVC(), grid, cv=SemiSupervisedKFold(2)).fit(X, y)
    >>> search.best_params_["kernel"].gamma in (0.3, 3.0)
    True
    """

    def __init__(
        self,
        X: Any,
        kernel: str = "rbf",
        *,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: float = 3,
    ):
        if kernel == "precomputed" or callable(kernel):
            raise ValueError(
                "kernel must be 'linear', 'rbf', 'poly' or 'sigmoid', got"
                f" {kernel!r}: pass other kernels to the estimator itself."
            )
        self._X = _plain(X)
        self._formula = make_formula(kernel, self._X, gamma=gamma, coef0=coef0, degree=degree)
        self.gamma = self._formula.gamma
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._values: np.ndarray | None = None
        self._place_of: dict[bytes, int] = {}
        self._last: tuple[Any, np.ndarray | None] = (None, None)

    def __call__(self, left: Any, right: Any) -> np.ndarray:
        """Return the kernel values between two blocks of rows, (n_left, n_right)."""
        values = self._matrix()
        of_right = self._places(right)
        of_left = of_right if left is right else self._places(left)
        if of_left is None or of_right is None:
            return cross_kernel(self._formula, _plain(left), _plain(right))
        return values[np.ix_(of_left, of_right)]

    def _matrix(self) -> np.ndarray:
        with self._lock:
            if self._values is None:
                self._place_of = {key: place for place, key in enumerate(_keys(self._X))}
                self._values = cross_kernel(self._formula, self._X, self._X)
            return self._values

    def _places(self, rows: Any) -> np.ndarray | None:
        """Where the rows are in X; None where one of them is not."""
        known, places = self._last
        if known is rows:  # a solver asks for values with the same rows again and again
            return places
        try:
            places = np.array([self._place_of[key] for key in _keys(_plain(rows))], dtype=np.intp)
        except KeyError:
            places = None
        if rows.shape[0] >= FEWEST_REMEMBERED:
            self._last = (rows, places)
        return places

    def __deepcopy__(self, memo: dict) -> SharedKernel:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_X": self._X, "_formula": self._formula, "gamma": self.gamma}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __repr__(self) -> str:
        name = self._formula.name
        scale = "" if name == "linear" else f", gamma={self.gamma:g}"
        return f"SharedKernel({name}{scale}, {self._X.shape[0]} rows)"


def _plain(X: Any) -> Any:
    """The rows in float64, in the one order of memory that makes equal rows equal bytes."""
    if is_sparse_matrix(X):
        return without_duplicates(X.tocsr().astype(np.float64))
    return np.ascontiguousarray(X, dtype=np.float64)


def _keys(X: Any) -> list[bytes]:
    """The bytes of each row."""
    if not is_sparse_matrix(X):
        return [row.tobytes() for row in X]
    indices = X.indices.astype(np.int64)
    ends = X.indptr.tolist()
    return [
        indices[start:end].tobytes() + X.data[start:end].tobytes() for start, end in pairwise(ends)
    ]
