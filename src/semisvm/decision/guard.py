"""Whether the classifier costs less than predicting the same class for every row.

    costs      (K, K)  cost of predicting the column's class for a row of the row's class; zero
               diagonal
    shares     (K,)    of the classes where the classifier will be used; they sum to 1
    decisions  (n, K)  one score per class, for labeled rows, from fits without their labels; the
               largest wins
    codes      (n,)    the class of each of those rows; n_j of them are of class j

With few labels, a cut without an observed error is not free of errors. So each class is charged
extra rows, some of them wrong (Laplace's rule of succession). A cut is a number that is added to
the scores of one class, so that more rows, or fewer, get this class:

    est(cut)    = sum_j shares_j sum_k costs_jk (rows of j given k at that cut + 2 / (K (K - 1))) /
                (n_j + 4 / K)
    constant k  = sum_j shares_j costs_jk, exactly

All classes together are charged four rows, two right and two wrong: for two classes one error in
two rows each. (Charging every class as much as one of two would demand more evidence the more
classes there are.) Cuts that give every row the same class are constants and do not count as cuts.

If the cheapest of all is a constant, it replaces the classifier; otherwise the classifier keeps its
threshold (moving it on ten leave-one-out scores did harm when we measured it; the guard did not).
No cut of two classes can promise a rate of missed positives below 1 / (n+ + 2), where n+ positives
are labeled. So where that alone costs more than accepting every row, the expensive class is
predicted whatever the scores are.

With more than two classes, a class with a single label is not judged: a fit without that label
knows nothing about the class, so its error there says nothing about the final classifier, which has
the label. Such a class keeps its charge alone, an error in every second row.
"""

from typing import NamedTuple

import numpy as np

from semisvm.decision.checks import Floats

# A constant wins where it costs as much as the best cut. Both are sums of a few products, whose
# rounding must not decide.
ROUNDING = 1e-12


class Guard(NamedTuple):
    """The result of `guard`: the constant to predict, or None, and the expected costs per row."""

    constant: int | None
    own_cost: float
    best_cut_cost: float
    constant_costs: Floats


def guard(decisions: Floats, codes: np.ndarray, costs: Floats, shares: Floats) -> Guard:
    """Keep the classifier unless a constant is expected to cost no more than its best cut."""
    K = len(costs)
    n_judged = np.bincount(codes, minlength=K).astype(np.float64)
    # What giving row i class k adds to est.
    row_cost = (shares / (n_judged + 4 / K))[codes, None] * costs[codes]
    charge = least_possible_cost(n_judged, costs, shares)
    own = charge + row_cost[np.arange(len(codes)), decisions.argmax(axis=1)].sum()
    best_cut = charge + min(_least_of_cuts(decisions, row_cost, k) for k in range(K))
    constant_costs = shares @ costs
    cheapest = int(constant_costs.argmin())
    is_no_dearer = constant_costs[cheapest] <= best_cut * (1 + ROUNDING)
    constant = cheapest if is_no_dearer else None
    return Guard(constant, float(own), float(best_cut), constant_costs)


def _least_of_cuts(decisions: Floats, row_cost: Floats, k: int) -> float:
    """Return the smallest sum of row costs over all numbers added to the scores of class k."""
    rows = np.arange(len(decisions))
    others = decisions.copy()
    others[:, k] = -np.inf
    rival = others.argmax(axis=1)
    # What must be added before the row is given class k.
    lead = others[rows, rival] - decisions[:, k]
    order = np.argsort(lead, kind="stable")
    change = (row_cost[:, k] - row_cost[rows, rival])[order]
    # After the first 0, 1, ..., n rows; tied rows go together.
    sums = row_cost[rows, rival].sum() + np.append(0.0, np.cumsum(change))
    is_cut = np.append(np.append(np.ptp(rival) > 0, np.diff(lead[order]) > 0), False)
    return float(sums.min(where=is_cut, initial=np.inf))


def smoothed_confusion_cost(confusion: Floats, costs: Floats, shares: Floats) -> float:
    """Return est for counts (K, K), class by prediction; costs have a zero diagonal, so only
    errors count.
    """
    K = len(costs)
    rates = (confusion + 2 / (K * (K - 1))) / (confusion.sum(axis=1, keepdims=True) + 4 / K)
    return float(shares @ (costs * rates).sum(axis=1))


def count_judged(n_labeled: Floats) -> Floats:
    """Return how many labeled rows of each class are judged: all, or none of a class with a
    single one.
    """
    return np.where((n_labeled > 1) | (len(n_labeled) == 2), n_labeled, 0)


def least_possible_cost(n_judged: Floats, costs: Floats, shares: Floats) -> float:
    """Return est for a classifier without an error: no classifier trained on these labels is
    expected to cost less.
    """
    return smoothed_confusion_cost(np.diag(n_judged), costs, shares)
