"""How good the predictions of held-out rows are, as a mean over rows, with its standard error.

    merit = sum_i weight_i value_i

    balanced accuracy   value_i = 1 if row i is predicted right, weight_i = 1 / (classes x rows of its class)
    cost                value_i = -what the prediction of row i costs, weight_i = 1 / rows

Being a weighted mean, it has a standard error within each class, and so has the difference of two methods on the
same rows. Each class is given two rows more, half the span of its values to either side of its mean: with few labels,
no error seen does not mean no error ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from semisvm.decision import Estimate

CONFIDENCE = 0.9
ACCURACY, COST = "balanced accuracy", "cost"


@dataclass(frozen=True)
class Merit:
    """Values, weights and class codes of m held-out rows; `span` (k,) is the best minus the worst value of a class."""

    name: str
    values: np.ndarray
    weights: np.ndarray
    codes: np.ndarray
    span: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return _standard_error(self.values, self.weights, self.codes, self.span)

    def estimate(self) -> Estimate:
        """The mean and its interval, within what is possible."""
        found = _interval(self.mean, self.error)
        worst, best = self.limits
        return Estimate(found.value, max(found.low, worst), min(found.high, best))

    @property
    def limits(self) -> tuple[float, float]:
        """The worst and the best mean that rows of these classes could have."""
        best = 1.0 if self.name == ACCURACY else 0.0
        return best - float(self.weights @ self.span[self.codes]), best

    def minus(self, other: Merit) -> Estimate:
        """The difference of two methods on the same rows, and its interval."""
        return _interval(self.mean - other.mean, self.error_of_gap(other))

    def error_of_gap(self, other: Merit) -> float:
        """The standard error of the difference of two methods on the same rows."""
        return _standard_error(self.values - other.values, self.weights, self.codes, self.span)


def judge(predicted: np.ndarray, codes: np.ndarray, n_classes: int, costs: Any = None) -> Merit:
    """Judge predicted codes by true ones; `costs` is {code: cost} or a matrix, rows true and columns predicted."""
    if costs is None:
        sizes = np.bincount(codes, minlength=n_classes)
        values = (predicted == codes).astype(np.float64)
        return Merit(ACCURACY, values, 1 / (n_classes * sizes[codes]), codes, np.ones(n_classes))
    matrix = cost_matrix(costs, n_classes)
    weights = np.full(len(codes), 1 / len(codes))
    return Merit(COST, -matrix[codes, predicted], weights, codes, matrix.max(axis=1))


def cost_matrix(costs: Any, n_classes: int) -> np.ndarray:
    """Return costs as a matrix, rows true and columns predicted."""
    if not isinstance(costs, dict):
        return np.asarray(costs, dtype=np.float64)
    each = np.array([costs[code] for code in range(n_classes)])
    return np.where(np.eye(n_classes, dtype=bool), 0.0, each[:, None])


def _standard_error(values: np.ndarray, weights: np.ndarray, codes: np.ndarray, span: np.ndarray) -> float:
    total = 0.0
    for code in np.unique(codes):
        mine = codes == code
        n, mean = int(mine.sum()), values[mine].mean()
        variance = (((values[mine] - mean) ** 2).sum() + span[code] ** 2 / 2) / (n + 2)
        total += weights[mine].sum() ** 2 * variance / n
    return float(np.sqrt(total))


def _interval(mean: float, error: float) -> Estimate:
    reach = float(ndtri(0.5 + CONFIDENCE / 2)) * error
    return Estimate(mean, mean - reach, mean + reach)
