"""Kernel functions of dot products and squared norms, their parameters, and their precision.

    linear   <x, z>                      poly     (gamma <x, z> + coef0)^degree
    rbf      exp(-gamma |x - z|^2)       sigmoid  tanh(gamma <x, z> + coef0)

Code for dot products (dense, sparse) and code for formulas are therefore independent. "precomputed"
and the user's own functions have no formula here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.matrices import is_sparse_matrix

DOT_FORMULAS = ("linear", "rbf", "poly", "sigmoid")  # compiled code knows them by their place here
KERNEL_NAMES = (*DOT_FORMULAS, "precomputed")
WITH_GAMMA = ("rbf", "poly", "sigmoid")
# The squared distance of the mean from the origin, in units of the total variance, above which
# rows of the rbf kernel are moved by their mean: |x|^2 + |z|^2 - 2<x, z> would lose digits.
FAR_FROM_ORIGIN = 4.0
# Kernel values, and exponents of the rbf kernel, that float32 has enough digits for: it rounds the
# largest to 6e-5, decision values are sums of many, and a margin is 1.
SAFE_IN_FLOAT32 = 1e3
IN_RANGE_OF_FLOAT32 = 1e30  # with room for sums
NUMBERS_AT_ONCE = 1 << 20  # of a matrix that is looked through in float64
ROWS_OF_SAMPLE = 256  # tell how large the values of the user's own function are


@dataclass(frozen=True)
class Formula:
    """A kernel whose parameters are numbers; "callable" has the user's function of two blocks."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 3
    function: Callable[..., Any] | None = None

    def finish(self, dots: np.ndarray, squares_left: Any, squares_right: Any) -> np.ndarray:
        """Turn dot products into kernel values in place, and return them."""
        if self.name == "rbf":
            dots *= -2
            dots += squares_left[:, None]
            dots += squares_right
            np.maximum(dots, 0, out=dots)
            dots *= -self.gamma
            np.exp(dots, out=dots)
        elif self.name in ("poly", "sigmoid"):
            dots *= self.gamma
            dots += self.coef0
            if self.name == "poly":
                np.power(dots, self.degree, out=dots)
            else:
                np.tanh(dots, out=dots)
        return dots

    def of_rows(self, X: Any, Z: Any) -> np.ndarray:
        """The user's own function of two blocks of rows, with its answer checked."""
        assert self.function is not None
        values = np.ascontiguousarray(self.function(X, Z))
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for blocks of"
                f" {X.shape[0]} and {Z.shape[0]} rows: it must return one value for each pair."
            )
        return values

    def diagonal(self, squares: np.ndarray) -> np.ndarray:
        """k(x, x) for rows of the given squared norms."""
        if self.name == "rbf":
            return np.ones_like(squares)
        return self.finish(squares[:, None].copy(), None, None)[:, 0]

    @property
    def numbers(self) -> np.ndarray:
        """The formula as compiled code takes it."""
        kind = DOT_FORMULAS.index(self.name)
        return np.array([kind, self.gamma, self.coef0, self.degree], dtype=np.float64)

    def needs_float64(self, X: Any) -> bool:
        """Whether float32 would round kernel values of these rows, or exponents, too much."""
        if self.name == "precomputed" or not X.shape[0]:
            return False
        if self.function is not None:
            some = X[:: -(-X.shape[0] // ROWS_OF_SAMPLE)]
            return not np.abs(self.of_rows(some, some)).max() <= SAFE_IN_FLOAT32
        with np.errstate(over="ignore", invalid="ignore"):
            # Of most rows the largest number says enough.
            values = X.data if is_sparse_matrix(X) else X
            number = max(values.max(initial=0), -values.min(initial=0))
            if self._is_safe_in_float32(X.shape[1] * np.float64(number) ** 2):
                return False
            center = far_center(X) if self.name == "rbf" else None
            square = max(
                float(squared_norms(part if center is None else part - center).max())
                for part in parts_in_float64(X)
            )
            return not self._is_safe_in_float32(square)

    def _is_safe_in_float32(self, square: float) -> bool:
        """Whether float32 has enough digits for rows whose squared norms are at most `square`."""
        largest = np.float64(square if self.name == "linear" else self.gamma * square)
        if self.name == "poly":
            largest = (largest + abs(self.coef0)) ** self.degree
        is_in_range = square <= IN_RANGE_OF_FLOAT32 and self.gamma <= IN_RANGE_OF_FLOAT32
        return bool(largest <= SAFE_IN_FLOAT32 and is_in_range)


def make_formula(
    kernel: Any,
    X: Any,
    *,
    gamma: float | str = "scale",
    coef0: float = 0.0,
    degree: float = 3,
    weight: np.ndarray | None = None,
) -> Formula:
    """Compute the parameters of a kernel from the training rows, as scikit-learn's SVC does.

    A row of weight 2 counts as two rows in gamma="scale", 1 / (n_features * X.var()).
    """
    if callable(kernel):
        return Formula("callable", function=kernel)
    if kernel not in KERNEL_NAMES:
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, KERNEL_NAMES))} or a callable, got"
            f" {kernel!r}."
        )
    if kernel in ("linear", "precomputed"):
        return Formula(kernel)
    if kernel == "poly" and not degree >= 0:
        raise ValueError(f"degree must be 0 or more, got {degree!r}.")
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma must be 'scale', 'auto' or a number, got {gamma!r}.")
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _variance(X, weight) if gamma == "scale" else 1.0
        gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if not 0 < gamma < np.inf:
        raise ValueError(
            f"gamma must be positive and finite, got {gamma!r}; 'scale' chooses it from the data."
        )
    return Formula(kernel, float(gamma), float(coef0), degree)


def parts_in_float64(X: Any) -> Iterator[Any]:
    """The rows of a matrix in float64, part by part."""
    step = max(1, NUMBERS_AT_ONCE // max(X.shape[1], 1))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step].astype(np.float64)


def squared_norms(X: Any) -> np.ndarray:
    """|x|^2 of dense rows or of sparse ones without duplicates, in float64."""
    if is_sparse_matrix(X):
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(row, np.square(X.data, dtype=np.float64), X.shape[0])
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _variance(X: Any, weight: np.ndarray | None) -> float:
    """The variance of all entries of X."""
    share = np.full(X.shape[0], 1 / X.shape[0]) if weight is None else weight / weight.sum()
    share = share / X.shape[1]

    def sum_of(squares_from: float | None) -> float:
        total, start = 0.0, 0
        for part in parts_in_float64(X):
            own = share[start : start + part.shape[0]]
            start += part.shape[0]
            if squares_from is None:
                total += float((own @ part).sum())
            elif is_sparse_matrix(part):
                total += float(own @ squared_norms(part))
            else:
                total += float(own @ squared_norms(part - squares_from))
        return total

    mean = sum_of(None)
    return sum_of(mean) - (mean**2 if is_sparse_matrix(X) else 0.0)


def far_center(X: Any) -> np.ndarray | None:
    """The mean of dense rows that are far from the origin for their spread; None for others.

    Far rows of the rbf kernel are moved by it. Others are not moved and keep their zeros.
    """
    if is_sparse_matrix(X):
        return None
    n_rows = max(len(X), 1)
    mean = X.sum(axis=0, dtype=np.float64) / n_rows
    square = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / n_rows
    return mean if mean @ mean > FAR_FROM_ORIGIN * (square - mean @ mean) else None
