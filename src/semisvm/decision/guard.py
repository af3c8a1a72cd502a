"""Is the classifier worth its errors, or is it cheaper to give every row the same class?

**Two classes** (`guard`).

    costs = (c+, c-)   cost of a missed positive, of an accepted negative
    p+, p-             shares of the classes where the classifier will be used; p+ + p- = 1
    n+, n-             labeled rows of each class
    FN, FP             errors of a cut theta on scores of rows not trained on (leave-one-out or out-of-fold)

With few labels, a cut without an observed error is not free of errors. So each cut is charged one extra error of each
kind, out of two extra rows (Laplace's rule of succession):

    est(theta) = c+ p+ (FN + 1) / (n+ + 2) + c- p- (FP + 1) / (n- + 2)

The constants need no estimate: accepting every row costs exactly c- p-, accepting none c+ p+. If the cheapest of all
is a constant, it replaces the classifier; otherwise the classifier keeps its own threshold (moving it on ten
leave-one-out scores did harm when we measured it; the guard did not). No cut can promise a rate of missed positives
below 1 / (n+ + 2). So where c+ p+ / (n+ + 2) > c- p-, the expensive class is predicted whatever the scores are.

**Any number of classes** (`guard_classes`).

    costs      (K, K)  cost of predicting the column's class for a row of the row's class; zero diagonal
    shares     (K,)    of the classes where the classifier will be used; they sum to 1
    decisions  (n, K)  one score per class, for labeled rows, from fits without their labels; the largest wins
    codes      (n,)    the class of each of those rows; n_j of them are of class j

`guard` charges its two classes four extra rows, two right and two wrong, and judges the classifier at the best cut of
its scores. Here each of the K classes is charged a K-th part of the four rows, the wrong ones spread evenly over the
other classes. A cut is a number that is added to the scores of one class, so that more rows, or fewer, get this class:

    est(cut)    = sum_j shares_j sum_k costs_jk (rows of j given k at that cut + 2 / (K (K - 1))) / (n_j + 4 / K)
    constant k  = sum_j shares_j costs_jk, exactly

Cuts that give every row the same class are constants and do not count as cuts. For two classes this is `guard`.
(Charging every class as much as one of two, one error in two rows, would demand more evidence the more classes there
are.)

With more than two classes, a class with a single label is not judged: a fit without that label knows nothing about the
class, so its error there says nothing about the final classifier, which has the label. Such a class keeps its charge
alone, an error in every second row.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Floats, check_costs
from semisvm.decision.counts import Counts, count_all, count_at
from semisvm.shared_docs import with_shared_docs


@dataclass(frozen=True)
class Guard:
    """The result of `guard`.

    Parameters
    ----------
    threshold : float
        The threshold to use: the classifier's own, or an infinite one for a constant.
    constant : {"positive", "negative"} or None
        The class to give every row, if that is expected to cost less.
    own_cost : float
        Expected cost per row of the classifier at its own threshold.
    best_cut_cost : float
        Expected cost per row of the best cut of the scores; infinite if all scores are equal.
    all_positive_cost, all_negative_cost : float
        Cost per row of the two constants.
    reason : str
        Why a constant was chosen; empty otherwise.

    Examples
    --------
    >>> from semisvm.decision import guard
    >>> guard([2.0, 1.0, -1.0, -2.0], [1, 1, -1, -1], costs=(100, 1)).constant
    'positive'
    """

    threshold: float
    constant: Literal["positive", "negative"] | None
    own_cost: float
    best_cut_cost: float
    all_positive_cost: float
    all_negative_cost: float
    reason: str


class ClassGuard(NamedTuple):
    """The result of `guard_classes`: the constant to predict, or None, and the expected costs per row."""

    constant: int | None
    own_cost: float
    best_cut_cost: float
    constant_costs: Floats


def guard(
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    costs: tuple[float, float],
    positive_share: float | None = None,
    threshold: float = 0.0,
) -> Guard:
    """Keep a threshold unless a constant is expected to cost less than every cut of the scores.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of labeled rows by models that were not trained on them.
    sign : array-like of shape (n,)
        Their true classes, +1 or -1.
    costs : (float, float)
        Cost of a missed positive and of an accepted negative.
    positive_share : float, optional
        Share of positives where the classifier will be used. By default that of the labeled rows, which is right
        only if they were drawn at random.
    threshold : float, default=0.0
        The classifier's own threshold.

    Returns
    -------
    Guard
        The threshold to use and the expected costs.

    Examples
    --------
    >>> from semisvm.decision import guard
    >>> found = guard([2.0, 1.0, -1.0, -2.0], [1, 1, -1, -1], costs=(1, 1))
    >>> found.constant is None, found.threshold, found.own_cost
    (True, 0.0, 0.25)
    """
    pair = check_costs(costs)
    own = count_at(scores, sign, threshold)
    share = _check_share(positive_share, own)
    cuts = count_all(scores, sign).counts
    best_cut = float(smoothed_cost(cuts, pair, share)[1:-1].min(initial=np.inf))
    all_positive, all_negative = pair[1] * (1 - share), pair[0] * share
    constant: Literal["positive", "negative"] | None = None
    if min(all_positive, all_negative) <= best_cut:
        constant = "positive" if all_positive <= all_negative else "negative"
    return Guard(
        threshold={None: float(threshold), "positive": -np.inf, "negative": np.inf}[constant],
        constant=constant,
        own_cost=float(smoothed_cost(own, pair, share)),
        best_cut_cost=best_cut,
        all_positive_cost=all_positive,
        all_negative_cost=all_negative,
        reason="" if constant is None else _reason(constant, own, pair, share, best_cut),
    )


@with_shared_docs
def smoothed_cost(counts: Counts, costs: tuple[float, float], positive_share: float) -> Any:
    """Return the expected cost per row with one extra error of each kind, est(theta) of the module's docstring.

    Parameters
    ----------
    %(counts)s
    costs : (float, float)
        Cost of a missed positive and of an accepted negative.
    positive_share : float
        Share of positives where the classifier will be used.

    Returns
    -------
    float or ndarray
        The expected cost per row.

    Examples
    --------
    >>> from semisvm.decision import Counts, smoothed_cost
    >>> smoothed_cost(Counts(tp=2, fp=0, fn=0, tn=2), costs=(1, 1), positive_share=0.5)
    0.25
    """
    missed = (counts.fn + 1) / (counts.positives + 2)
    false_alarm = (counts.fp + 1) / (counts.negatives + 2)
    return costs[0] * positive_share * missed + costs[1] * (1 - positive_share) * false_alarm


def _reason(constant: str, counts: Counts, costs: tuple[float, float], share: float, best_cut: float) -> str:
    errors, expensive, labeled, expensive_cost, constant_cost = (
        ("missed positives", "positive", counts.positives, costs[0] * share, costs[1] * (1 - share))
        if constant == "positive"
        else ("accepted negatives", "negative", counts.negatives, costs[1] * (1 - share), costs[0] * share)
    )
    told = (
        f"Calling every row {expensive} costs {constant_cost:.3g} per row;"
        f" the best cut of the scores is expected to cost {best_cut:.3g}."
    )
    if expensive_cost / (labeled + 2) > constant_cost:
        told += (
            f" {labeled} labeled {expensive}s can't promise a rate of {errors} below 1/{labeled + 2},"
            " and at these costs that alone is more expensive: no cut could have been cheaper."
        )
    return told


def _check_share(positive_share: float | None, counts: Counts) -> float:
    if positive_share is None:
        return float(counts.positives / counts.rows)
    if not 0 < positive_share < 1:
        raise ValueError(f"positive_share must lie strictly between 0 and 1, got {positive_share!r}.")
    return float(positive_share)


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
    """Return the smallest sum of row costs over all numbers added to the scores of class k."""
    rows = np.arange(len(decisions))
    others = decisions.copy()
    others[:, k] = -np.inf
    rival = others.argmax(axis=1)
    lead = others[rows, rival] - decisions[:, k]  # what must be added before the row is given class k
    order = np.argsort(lead, kind="stable")
    change = (row_cost[:, k] - row_cost[rows, rival])[order]
    sums = row_cost[rows, rival].sum() + np.append(0.0, np.cumsum(change))  # after the first 0, 1, ..., n rows
    is_cut = np.append(np.append(np.ptp(rival) > 0, np.diff(lead[order]) > 0), False)  # tied rows go together
    return float(sums.min(where=is_cut, initial=np.inf))


def smoothed_confusion_cost(confusion: Floats, costs: Floats, shares: Floats) -> float:
    """Return est for counts (K, K), class by prediction; costs have a zero diagonal, so only errors count."""
    K = len(costs)
    rates = (confusion + 2 / (K * (K - 1))) / (confusion.sum(axis=1, keepdims=True) + 4 / K)
    return float(shares @ (costs * rates).sum(axis=1))


def count_judged(n_labeled: Floats) -> Floats:
    """Return how many labeled rows of each class are judged: all, or none of a class with a single one."""
    return np.where((n_labeled > 1) | (len(n_labeled) == 2), n_labeled, 0)


def least_possible_cost(n_judged: Floats, costs: Floats, shares: Floats) -> float:
    """Return est for a classifier without an error: no classifier trained on these labels is expected to cost less."""
    return smoothed_confusion_cost(np.diag(n_judged), costs, shares)
