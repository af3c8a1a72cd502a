"""The least-squares SVM, whose leave-one-out scores have a closed form.

The SVM, and the scores that each labeled row would get had it been left out:

    K        (l, l)  the kernel between the labeled rows
    Y        (l, c)  +1 for the rows of a class, -1 for the others, one column per class
    weight   (l,)    how many rows each row counts for
    price    (l,)    what its error costs
    r                the ridge, times the mean of the diagonal of K

    minimize  sum_i weight_i price_i |Y_i - f(x_i)|^2 + r |w|^2,     f(x) = K(x, .) a + bias

    [[K + diag(r / (weight price)), 1], [1', 0]] [a; bias] = [Y; 0],     H the inverse of that
    matrix

Without one row of weight 1, the score of row i is Y_i - a_i / H_ii: exact, since nothing in K
depends on a label. A row of weight w > 1 stands for w rows of which one is left out; the inverse of
the larger system has the diagonal element H_ii / w^2 + (1 - 1 / w) price_i / r at each of them, and
the coefficients there are a_i / w. A row of weight below 1 is left out as a whole.

Had the labels been dealt to the rows at random, the squared error of row i would be expected to be
the variance of the labels times

    spread_i = sum_j (B_ij / H_ii)^2,     B the part of H that belongs to the rows, so that a = B Y
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotri

from semisvm.columns.table import Columns
from semisvm.estimators.equal_rows import content_key
from semisvm.estimators.problem import Costs
from semisvm.labels import Labels

MOST_CROSSINGS = 20  # folds of crossed scores: a bound on the time that they take
SMALLEST_PRICE = 1e-9  # of the largest: a class whose errors cost nothing still has rows


@dataclass(frozen=True)
class LeastSquaresMachine:
    """Coefficients (l, c), bias (c,), leave-one-out scores (l, c), and the spread of rows (l,)."""

    coef: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray
    spread: np.ndarray

    def scores(self, kernel: np.ndarray) -> np.ndarray:
        """The scores of rows, (m, c), from their kernel values with the labeled rows, (m, l)."""
        return kernel @ self.coef + self.bias


def fit_least_squares(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray, *, ridge: float
) -> LeastSquaresMachine:
    """Train the SVM of the module's docstring."""
    diagonal = float(weight @ np.diagonal(K) / weight.sum())
    r = ridge * (diagonal if diagonal > 0 else 1.0)
    system = (K + K.T) / 2
    system[np.diag_indices_from(system)] += r / (weight * price)
    inverse = _inverse(system)
    sums = inverse.sum(axis=1)
    bias = sums @ Y / sums.sum()
    coef = inverse @ (Y - bias)
    # Above 0 but for rounding, which shows beside rows of next to no weight.
    h = np.diagonal(inverse) - sums**2 / sums.sum()
    h = np.maximum(h, np.finfo(np.float64).eps * np.diagonal(inverse))
    copies = np.maximum(weight, 1)
    # What the other copies of a row add to its place on the diagonal.
    own = (1 - 1 / copies) * price / r
    h_copy = h / copies**2 + own
    left_out = Y - coef / copies[:, None] / h_copy[:, None]
    inverse -= np.outer(sums, sums / sums.sum())
    inverse **= 2
    spread = (inverse @ (1 / copies) / copies**2 + own * price / r) / h_copy**2
    return LeastSquaresMachine(coef, bias, left_out, spread)


def _inverse(system: np.ndarray) -> np.ndarray:
    """The inverse of a positive definite matrix, which is overwritten."""
    factor, is_lower = cho_factor(system, overwrite_a=True)
    # A third of the work of solving for the identity.
    inverse, _ = dpotri(factor, lower=is_lower, overwrite_c=True)
    above = np.triu(inverse)
    return above + np.triu(above, 1).T


@dataclass(frozen=True)
class LabeledTarget:
    """What the labeled rows say.

    position  (l,)    where they are among the rows that kernels are made from
    Y         (l, c)  +1 for the rows of a class, -1 for others; one column for two classes, +1
              being the second
    weight    (l,)    how many rows each counts for
    price     (l,)    what its error costs; the mean over all rows is 1
    fold      (l,)    where it is dealt to; copies of a row share a fold, and the order of the rows
              does not matter
    """

    position: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    price: np.ndarray
    fold: np.ndarray

    @property
    def count(self) -> np.ndarray:
        """How much each labeled row counts."""
        return self.weight * self.price


def labeled_target(
    X: Any, labels: Labels, costs: Costs, weight: np.ndarray, rows: np.ndarray
) -> LabeledTarget:
    """What the labeled ones of these rows say."""
    is_labeled = labels.is_labeled[rows]
    labeled = rows[is_labeled]
    codes = labels.codes[labeled]
    Y = 2.0 * (codes[:, None] == np.arange(labels.n_classes)) - 1
    price = costs.select(labeled).price(codes)
    price = np.maximum(price, SMALLEST_PRICE * price.max())
    price = price * (weight[labeled].sum() / (weight[labeled] @ price))
    Y = Y[:, 1:] if labels.n_classes == 2 else Y
    X_labeled = X[labeled]
    key = content_key(X_labeled.cells if isinstance(X_labeled, Columns) else X_labeled)
    # Numbered one class after the other, so that every fold has rows of every class.
    distinct, place = np.unique(key, return_inverse=True)
    group = np.unique(codes * len(distinct) + place, return_inverse=True)[1]
    fold = group % min(MOST_CROSSINGS, group.max() + 1)
    return LabeledTarget(np.flatnonzero(is_labeled), Y, weight[labeled], price, fold)
