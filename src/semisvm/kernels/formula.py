"""Which function the kernel is, and its parameters.

    linear   <x, z>
    rbf      exp(-gamma |x - z|^2)
    poly     (gamma <x, z> + coef0)^degree
    sigmoid  tanh(gamma <x, z> + coef0)

All four are functions of the dot product and the squared norms, so sources of dot products (dense, sparse) and
formulas are written once each. "precomputed" and callables are sources of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

NAMES = ("linear", "rbf", "poly", "sigmoid", "precomputed")


@dataclass(frozen=True)
class Formula:
    """A kernel with its parameters settled: `gamma` is a number, or `function` is the user's own kernel."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 3
    function: Callable[..., Any] | None = None

    def finish(self, dots, squares_left, squares_right):
        """Turn dot products, shape (left, right), into kernel values in place; squared norms are for the rbf kernel."""
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

    def diagonal(self, squares):
        """k(x, x) for rows of the given squared norms."""
        if self.name == "rbf":
            return np.ones_like(squares)
        return self.finish(squares[:, None].copy(), None, None)[:, 0]

    def as_pairwise(self) -> dict[str, Any]:
        """The same kernel as arguments of ``sklearn.metrics.pairwise.pairwise_kernels``."""
        parameters = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        return {"metric": self.name, "filter_params": True, **parameters}


def make_formula(kernel, X, *, gamma="scale", coef0=0.0, degree=3, weight=None) -> Formula:
    """Settle the kernel's parameters on the training rows X, each counted by its weight."""
    if callable(kernel):
        return Formula("callable", function=kernel)
    if kernel not in NAMES:
        raise ValueError(f"kernel must be one of {', '.join(map(repr, NAMES))} or a callable, got {kernel!r}.")
    if kernel in ("linear", "precomputed"):
        return Formula(kernel)
    if kernel == "poly" and not degree >= 0:
        raise ValueError(f"degree must be 0 or more, got {degree!r}.")
    return Formula(kernel, gamma=_settle_gamma(gamma, X, weight), coef0=float(coef0), degree=degree)


def _settle_gamma(gamma, X, weight) -> float:
    """The number behind gamma = "scale" (1 / (n_features * X.var())), "auto" (1 / n_features), or itself."""
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / X.shape[1]
        if gamma == "scale":
            variance = _variance(X, weight)
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        raise ValueError(f"gamma must be 'scale', 'auto' or a number, got {gamma!r}.")
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma must be positive and finite, got {gamma!r}; 'scale' has it chosen from the data.")
    return float(gamma)


def _variance(X, weight) -> float:
    """Variance of all entries of X, a row of weight 2 counting as two rows."""
    share = np.full(X.shape[0], 1 / X.shape[0]) if weight is None else weight / weight.sum()
    mean = float((share @ X).mean())
    if sparse.issparse(X):
        return float((share @ X.multiply(X)).mean()) - mean**2
    return float((share @ (X - mean) ** 2).mean())
