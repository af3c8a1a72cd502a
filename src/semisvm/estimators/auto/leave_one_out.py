"""A least-squares SVM, and the scores that each labeled row would get had it been left out.

    K        (l, l)  the kernel between the labeled rows
    Y        (l, c)  +1 for the rows of a class, -1 for the others, one column per class
    weight   (l,)    how many rows each row counts for
    price    (l,)    what its error costs
    r                the ridge, times the mean of the diagonal of K

    minimize  sum_i weight_i price_i |Y_i - f(x_i)|^2 + r |w|^2,     f(x) = K(x, .) a + bias

    [[K + diag(r / (weight price)), 1], [1', 0]] [a; bias] = [Y; 0],     H the inverse of that matrix

Without one row of weight 1, the score of row i is Y_i - a_i / H_ii: exact, since nothing in K depends on a label. A row
of weight w > 1 stands for w rows of which one is left out; the inverse of the larger system has the diagonal element
H_ii / w^2 + (1 - 1 / w) price_i / r at each of them, and the coefficients there are a_i / w. A row of weight below 1
is left out as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve


@dataclass(frozen=True)
class LeastSquaresMachine:
    """Coefficients (l, c), a bias per class (c,), and the leave-one-out scores (l, c)."""

    coef: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray

    def scores(self, kernel: np.ndarray) -> np.ndarray:
        """The scores of rows, (m, c), from their kernel values with the labeled rows, (m, l)."""
        return kernel @ self.coef + self.bias


def fit_least_squares(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray, *, ridge: float
) -> LeastSquaresMachine:
    """Train the machine of the module's docstring."""
    diagonal = float(weight @ np.diagonal(K) / weight.sum())
    r = ridge * (diagonal if diagonal > 0 else 1.0)
    system = (K + K.T) / 2
    system[np.diag_indices_from(system)] += r / (weight * price)
    inverse = cho_solve(cho_factor(system, overwrite_a=True), np.eye(len(K)), overwrite_b=True)
    sums = inverse.sum(axis=1)
    bias = sums @ Y / sums.sum()
    coef = inverse @ (Y - bias)
    h = np.diagonal(inverse) - sums**2 / sums.sum()
    copies = np.maximum(weight, 1)
    left_out = Y - coef / copies[:, None] / (h / copies**2 + (1 - 1 / copies) * price / r)[:, None]
    return LeastSquaresMachine(coef, bias, left_out)
