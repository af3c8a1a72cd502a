"""The guard of `guard` for any number of classes, where a classifier has no single cut: it is judged as it is.

    costs      (k, k)  of predicting the column's class for a row of the row's class; zero diagonal
    shares     (k,)    of the classes where the classifier will be used; they sum to 1
    confusion  (k, k)  counts of labelled rows, class by prediction, by fits that had not seen their labels

Each class is charged two rows more than it has, one right and one wrong, the wrong one spread over the others:

    own cost    = sum_j shares_j sum_k costs_jk (confusion_jk + 1 / (k - 1)) / (n_j + 2)
    constant k  = sum_j shares_j costs_jk, exactly

For two classes the own cost is est(theta) of `guard` at the classifier's own threshold.
"""

from typing import NamedTuple

import numpy as np

from semisvm.decision.checks import Floats


class ClassGuard(NamedTuple):
    """What the guard found: the constant to predict, or None, and the expected cost a row of each alternative."""

    constant: int | None
    own_cost: float
    constant_costs: Floats


def guard_classes(confusion: Floats, costs: Floats, shares: Floats) -> ClassGuard:
    """Keep the classifier unless a constant is expected to cost no more."""
    own = smoothed_confusion_cost(confusion, costs, shares)
    constant_costs = shares @ costs
    cheapest = int(constant_costs.argmin())
    return ClassGuard(cheapest if constant_costs[cheapest] <= own else None, own, constant_costs)


def smoothed_confusion_cost(confusion: Floats, costs: Floats, shares: Floats) -> float:
    """The own cost above; costs have a zero diagonal, so only errors count."""
    rates = (confusion + 1 / (len(costs) - 1)) / (confusion.sum(axis=1, keepdims=True) + 2)
    return float(shares @ (costs * rates).sum(axis=1))


def least_possible_cost(n_labeled: Floats, costs: Floats, shares: Floats) -> float:
    """The own cost of a classifier that makes no error: no classifier of these labels is expected to cost less."""
    return smoothed_confusion_cost(np.diag(n_labeled), costs, shares)
