"""The guard of `guard` for any number of classes: is the classifier worth its errors, or one class for every row?

    costs      (K, K)  of predicting the column's class for a row of the row's class; zero diagonal
    shares     (K,)    of the classes where the classifier will be used; they sum to 1
    decisions  (n, K)  a score for each class, of labeled rows by fits that had not seen their labels; the largest wins
    codes      (n,)    the class of each of those rows; n_j of them are of class j

`guard` charges its two classes four rows more than they have, two right and two wrong, and lets the classifier have
the best cut of its scores. So it is here. Each of K classes is charged its K-th part of the four rows, the wrong ones
spread over the other classes; and a cut is a number added to the scores of one class, so that more rows are given it,
or fewer:

    est(cut)    = sum_j shares_j sum_k costs_jk (rows of j given k at that cut + 2 / (K (K - 1))) / (n_j + 4 / K)
    constant k  = sum_j shares_j costs_jk, exactly

Cuts that give every row one class are no cuts but constants. For two classes all this is `guard`. To charge every class
as much as one of two, an error in two rows, would be to ask for more evidence the more classes there are.

Of more than two classes one with a single label is not judged: a fit that has not seen that label knows nothing of the
class, so its error there says nothing of the classifier, which has. Such a class is left with its charge, an error in
every second row.
"""

from typing import NamedTuple

import numpy as np

from semisvm.decision.checks import Floats


class ClassGuard(NamedTuple):
    """What the guard found: the constant to predict, or None, and the expected cost a row of each alternative."""

    constant: int | None
    own_cost: float
    best_cut_cost: float
    constant_costs: Floats


def guard_classes(decisions: Floats, codes: np.ndarray, costs: Floats, shares: Floats) -> ClassGuard:
    """Keep the classifier unless a constant is expected to cost no more than its best cut."""
    K = len(costs)
    n_judged = np.bincount(codes, minlength=K).astype(np.float64)
    row_cost = (shares / (n_judged + 4 / K))[codes, None] * costs[codes]  # what giving row i class k adds to est
    charge = least_possible_cost(n_judged, costs, shares)
    own = charge + row_cost[np.arange(len(codes)), decisions.argmax(axis=1)].sum()
    best_cut = charge + min(_least_of_cuts(decisions, row_cost, k) for k in range(K))
    constant_costs = shares @ costs
    cheapest = int(constant_costs.argmin())
    constant = cheapest if constant_costs[cheapest] <= best_cut else None
    return ClassGuard(constant, float(own), float(best_cut), constant_costs)


def _least_of_cuts(decisions: Floats, row_cost: Floats, k: int) -> float:
    """The least sum of row costs over all numbers added to the scores of class k."""
    rows = np.arange(len(decisions))
    others = decisions.copy()
    others[:, k] = -np.inf
    rival = others.argmax(axis=1)
    lead = others[rows, rival] - decisions[:, k]  # what must be added before the row is given class k
    order = np.argsort(lead, kind="stable")
    change = (row_cost[:, k] - row_cost[rows, rival])[order]
    sums = row_cost[rows, rival].sum() + np.append(0.0, np.cumsum(change))  # after the first 0, 1, ..., n rows
    is_cut = np.append(np.append(np.ptp(rival) > 0, np.diff(lead[order]) > 0), False)  # rows that tie go together
    return float(sums.min(where=is_cut, initial=np.inf))


def smoothed_confusion_cost(confusion: Floats, costs: Floats, shares: Floats) -> float:
    """est above of counts (K, K), class by prediction; costs have a zero diagonal, so only errors count."""
    K = len(costs)
    rates = (confusion + 2 / (K * (K - 1))) / (confusion.sum(axis=1, keepdims=True) + 4 / K)
    return float(shares @ (costs * rates).sum(axis=1))


def count_judged(n_labeled: Floats) -> Floats:
    """How many of the labeled rows of each class are judged: all, or none of a class with a single one."""
    return np.where((n_labeled > 1) | (len(n_labeled) == 2), n_labeled, 0)


def least_possible_cost(n_judged: Floats, costs: Floats, shares: Floats) -> float:
    """est of a classifier that makes no error: no classifier of these labels is expected to cost less."""
    return smoothed_confusion_cost(np.diag(n_judged), costs, shares)
