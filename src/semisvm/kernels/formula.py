"""Kernel functions and their parameters.

    linear   <x, z>
    rbf      exp(-gamma |x - z|^2)
    poly     (gamma <x, z> + coef0)^degree
    sigmoid  tanh(gamma <x, z> + coef0)

All four are functions of the dot product and the squared norms, so the code for dot products
(dense, sparse) and the code for formulas are independent. "precomputed" and callables are treated
separately.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.device import TensorRows
from semisvm.matrices import is_sparse_matrix

DOT_FORMULAS = ("linear", "rbf", "poly", "sigmoid")  # compiled code knows them by their place here
# The squared distance of the mean from the origin, in units of the total variance, above which the
# rbf kernel is computed from rows moved by their mean (`far_center`).
FAR_FROM_ORIGIN = 4.0
KERNEL_NAMES = (*DOT_FORMULAS, "precomputed")
WITH_GAMMA = ("rbf", "poly", "sigmoid")


@dataclass(frozen=True)
class Formula:
    """A kernel whose parameters are numbers; `make_formula` computes them from the data.

    `name` is one of KERNEL_NAMES, or "callable" for the user's own `function` of two blocks of
    rows.
    """

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 3
    function: Callable[..., Any] | None = None

    def finish(self, dots: np.ndarray, squares_left: Any, squares_right: Any) -> np.ndarray:
        """Turn dot products, (n_left, n_right), into kernel values in place, and return them.

        The squared norms of the rows are needed by the rbf kernel only.
        """
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

    def diagonal(self, squares: np.ndarray) -> np.ndarray:
        """k(x, x) for rows of the given squared norms."""
        if self.name == "rbf":
            return np.ones_like(squares)
        return self.finish(squares[:, None].copy(), None, None)[:, 0]

    @property
    def numbers(self) -> np.ndarray:
        """The formula as compiled code takes it: which one it is, gamma, coef0, degree."""
        return np.array(
            [DOT_FORMULAS.index(self.name), self.gamma, self.coef0, self.degree], dtype=np.float64
        )


def make_formula(
    kernel: Any,
    X: Any,
    *,
    gamma: float | str = "scale",
    coef0: float = 0.0,
    degree: float = 3,
    weight: np.ndarray | None = None,
) -> Formula:
    """Compute the parameters of a kernel from the training rows.

    Parameters
    ----------
    kernel : str or callable
        "linear", "rbf", "poly", "sigmoid", "precomputed", or a function of two blocks of rows that
        returns the kernel values between them.
    X : array or sparse matrix of shape (n_rows, n_features)
        The training rows.
    gamma : float or {"scale", "auto"}, default="scale"
        Scale of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features * X.var()), "auto" is 1 /
        n_features, as in scikit-learn.
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    degree : float, default=3
        Degree of "poly", not negative.
    weight : ndarray of shape (n_rows,), default=None
        Weights of the rows in X.var(): a weight of 2 equals duplicating the row.

    Returns
    -------
    Formula
        The kernel with its parameters as numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import make_formula
    >>> make_formula("rbf", np.array([[0.0, 2.0], [2.0, 0.0]])).gamma
    0.5
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
    return Formula(kernel, gamma=_settle_gamma(gamma, X, weight), coef0=float(coef0), degree=degree)


def far_center(X: np.ndarray) -> np.ndarray | None:
    """The mean of dense rows that are far from the origin for their spread; None for others.

    |x - z|^2 = |x|^2 + |z|^2 - 2<x, z> loses the digits that the norms have in common: far rows are
    moved by their mean first. Others are not moved and keep their zeros.
    """
    n_rows = max(len(X), 1)
    mean = X.sum(axis=0, dtype=np.float64) / n_rows
    square = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / n_rows
    return mean if mean @ mean > FAR_FROM_ORIGIN * (square - mean @ mean) else None


def near_origin(X: np.ndarray) -> np.ndarray:
    """Dense rows, moved by their mean if they are far from the origin (`far_center`)."""
    center = far_center(X)
    return X if center is None else X - center


def _settle_gamma(gamma: float | str, X: Any, weight: np.ndarray | None) -> float:
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / X.shape[1]
        if gamma == "scale":
            variance = _weighted_variance(X, weight)
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        raise ValueError(f"gamma must be 'scale', 'auto' or a number, got {gamma!r}.")
    if not 0 < gamma < np.inf:
        raise ValueError(
            f"gamma must be positive and finite, got {gamma!r}; 'scale' chooses it from the data."
        )
    return float(gamma)


def _weighted_variance(X: Any, weight: np.ndarray | None) -> float:
    """Variance of all entries of X; a row of weight 2 counts as two rows."""
    share = np.full(X.shape[0], 1 / X.shape[0]) if weight is None else weight / weight.sum()
    if isinstance(X, TensorRows):
        share = X.like(share)
        X = X.tensor.double()
    mean = float((share @ X).mean())
    if is_sparse_matrix(X):
        return float((share @ X.multiply(X)).mean()) - mean**2
    return float((share @ (X - mean) ** 2).mean())
