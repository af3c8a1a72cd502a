"""Thresholds whose true precision or recall is at least what was asked, with probability 1 - risk.

    risk          1 - confidence, the chance that the returned threshold breaks the promise
    precision(t)  P(positive | score > t) and recall(t) = P(score > t | positive), of the population
    tail          P(Bin(m, target) >= k), the exact p-value of "the true rate is below the target"

The rows are independent draws of what the threshold will be used on, and were used for nothing else: neither
to train nor to tune, and not as unlabeled rows either.

**Recall: every threshold at once.** Given the number of positives n+, their scores are n+ independent
draws. Let t* be the infimum of the thresholds with recall below the target; P(score > t) is continuous from
the right, so recall(t*) <= target. Recall only falls as t rises: a threshold that breaks the promise is at
or past t* and accepts no more positives than t* does, whose number is Bin(n+, recall(t*)). So all
thresholds that accept c positives or more, with P(Bin(n+, target) >= c) <= risk, are good together with
probability 1 - risk. That they sit between the scores of these very positives changes nothing: the argument
is made at t*, which does not move. No order, no grid, no assumption. (They are Wilks' tolerance limits of
1941.)

**Precision: few thresholds in a fixed order.** Precision may fall and rise again, so thresholds are tested
one after the other until one fails (fixed-sequence testing: Maurer, Hothorn and Lehmacher 1995; in this use
"Learn then Test", Angelopoulos et al. 2021). A false threshold can only be returned if the *first* false
one of the sequence passed: one test, so the whole family costs one risk.

- Thresholds and an order from elsewhere are constants to these rows. Given how many rows are accepted at t,
  the positives among them are Bin(accepted, precision(t)): the test is exact, and which threshold is the
  first false one is not random. No assumption, neither on the scores nor on where thresholds and order come
  from. With `reference` (the unlabeled rows' scores) the thresholds are its ranks, from high to low. With
  `pilot` (scores and signs of other labels) the order is learned too: it starts where the pilot promises most
  and goes down from there (`pilot.py`). That matters where a model is not sure of its own highest scores.
- Thresholds at ranks of the rows' own scores, from high to low. The threshold of rank k is the score of rank
  k + 1 *itself*, not a midpoint: given it and the number of rows above it, those rows are independent draws
  of what lies above it, so each test is exact, ties included. (A midpoint peeks at the lowest accepted
  score.) But which threshold is the first false one now depends on the scores, hence possibly on the
  counts. Let t0 be where precision first falls to the target (inside a tie, part of it: break ties at random
  for the argument). Given how many rows lie above t0, each is positive with probability `target`,
  independently. If below t0 no score has a share of positives above the target, each further row adds less
  than such a draw, whatever the scores, and the count at the first false threshold is at most Bin(accepted,
  target) in distribution. (Dropping thresholds that accept too few rows to pass, as ties can make them,
  looks at scores only and leaves this as it is.) So the promise is exact where a higher score never means a
  smaller chance of being positive; pass `reference` or `pilot` to need not even that.

All thresholds that pass are good *together*, so the best F-beta among them may be picked on the same rows.
Both targets at once: half the risk for each, since a threshold may break either promise and the two chances
add.

Honest limits. A perfect record of m accepted rows certifies only if target^m <= risk: 11 rows for precision
0.8 at 90%, 22 for 0.9, 45 for 0.95. With 30% positives and a good classifier (area under the ROC curve
0.92), 60 labels certify precision 0.8 at 90% one time in four, 100 labels one in two, 200 four in five.
A pilot as large as the certificate, with a reference, was simulated where higher scores are surer (10 to 50%
positive, precision 0.7 to 0.9, 200 draws a case). The mean recall certified is that of the reference alone: 0.140
and 0.142 for 60 rows, 0.425 and 0.409 for 400; in the worst case it is 0.07 less for 60 rows, 0.055 for 120, none
for 400. The rows' own ranks give more where rows are few, 0.195 for 60, at the price of their assumption. Where 2%
of all rows, whatever their class, have the highest scores, 800 rows certify a mean of 0.32 with a pilot and 0.01
without. The constants of `pilot.py` were picked among four on these same cases.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.decision.binomial import labels_needed, tail
from semisvm.decision.checks import Bools, Floats, check_confidence, check_scores, check_scores_and_sign
from semisvm.decision.counts import Counts, Curve, count_all, count_each
from semisvm.decision.operating_point import OperatingPoint, operating_point
from semisvm.decision.pilot import order_by_pilot
from semisvm.decision.shortage import explain_shortage
from semisvm.decision.target import Target, best_of

# Fine enough to lose little recall, and no threshold costs anything but the chance to fail on the way.
N_THRESHOLDS = 20


def certify(
    scores: ArrayLike,
    sign: ArrayLike,
    target: Target,
    *,
    confidence: float = 0.9,
    reference: ArrayLike | None = None,
    pilot: tuple[ArrayLike, ArrayLike] | None = None,
    n_thresholds: int = N_THRESHOLDS,
) -> OperatingPoint:
    """Return a threshold that keeps the target with probability `confidence`, or say why there is none.

    Parameters
    ----------
    scores, sign : array-like of shape (n,)
        The certificate's rows, used for nothing else.
    target : Target
        With min_precision, min_recall or both; beta or costs pick among the certified thresholds.
    confidence : float
        1 - risk.
    reference : array-like, optional
        Scores of other rows (the unlabeled pool) whose ranks set the thresholds tried for precision.
    pilot : (scores, sign), optional
        Of other labeled rows, held out or out of fold: where to start for precision. Any rows but these will do.
    n_thresholds : int
        How many are tried for precision.

    Returns
    -------
    OperatingPoint
        Of level "certified". Where not `reached`, the empirical choice for the same target, with the reason
        and the number of labels a certificate would take; its intervals then promise nothing jointly.
    """
    vector, positive = check_scores_and_sign(scores, sign)
    confidence = check_confidence(confidence)
    if not target.is_constrained or target.accept is not None:
        raise ValueError("only min_precision and min_recall can be certified: ask for one of them, or both.")
    if n_thresholds < 1:
        raise ValueError(f"n_thresholds must be at least 1, got {n_thresholds}.")
    each = target.share_of_risk(1 - confidence)
    everything = count_all(vector, np.where(positive, 1, -1))
    if target.min_precision is None:
        tested = everything
    else:
        pool = None if reference is None else check_scores(reference, "reference")
        if pilot is None:
            tested = _sequence(vector, positive, pool, target.min_precision, each, n_thresholds)
        else:
            other = check_scores_and_sign(*pilot)
            order = order_by_pilot(vector.size, *other, pool, target.min_precision, each, n_thresholds)
            tested = Curve(order, count_each(vector, positive, order))
    passed = _test(tested.counts, target, each)
    if passed.any():
        threshold, counts = _best_point(tested, passed, target)
        reason = ""
    else:
        threshold, counts = _best_point(everything, np.ones(everything.thresholds.size, dtype=bool), target)
        reason = explain_shortage(counts, target, confidence, _stop(tested.counts, target, each))
    return operating_point(
        threshold, counts, target, level="certified", confidence=confidence, reached=not reason, reason=reason
    )


def _best_point(curve: Curve, allowed: Bools, target: Target) -> tuple[float, Counts]:
    """Return the allowed threshold that answers the target best on these rows, and its counts."""
    thresholds, counts = curve.thresholds[allowed], Counts(*(cell[allowed] for cell in curve.counts))
    index, _ = best_of(counts, target)
    return float(thresholds[index]), counts.at(index)


def _test(counts: Counts, target: Target, risk: float) -> Bools:
    """Return which thresholds, given in the order of their tests, are certified."""
    passed = np.ones(counts.tp.shape, dtype=bool)
    if target.min_precision is not None:
        passed = np.logical_and.accumulate(_passes_precision(counts, target, risk))
    if target.min_recall is not None:
        passed &= tail(counts.tp, counts.positives, target.min_recall) <= risk
    return passed


def _passes_precision(counts: Counts, target: Target, risk: float) -> Bools:
    assert target.min_precision is not None
    return np.asarray(tail(counts.tp, counts.accepted, target.min_precision) <= risk)


def _stop(counts: Counts, target: Target, risk: float) -> Counts | None:
    """Return the counts at which the sequence for precision stopped, if there is one and it did."""
    if target.min_precision is None:
        return None
    failed = np.flatnonzero(~_passes_precision(counts, target, risk))
    return counts.at(int(failed[0])) if failed.size else None


def _sequence(
    vector: Floats, positive: Bools, pool: Floats | None, target: float, risk: float, n_thresholds: int
) -> Curve:
    """Return the thresholds to test for precision, from high to low, chosen without a look at the labels."""
    if pool is None:
        ordered = np.sort(vector)[::-1]
        ranks = spaced_ranks(vector.size, target, risk, n_thresholds)
    else:
        ordered = np.sort(pool)[::-1]
        # how many of these rows a rank of the pool accepts is random: start a standard deviation out
        ranks = spaced_ranks(vector.size, target, risk, n_thresholds, margin=1.0)
        ranks = np.maximum(1, np.round(ranks * (pool.size / vector.size))).astype(int)
    # strictly above the score that follows the rank; nothing follows the last
    thresholds = np.unique(np.append(ordered, -np.inf)[ranks])[::-1]
    # a tie across the first rank leaves too few rows, or none, above it: such a test could only fail
    thresholds = thresholds[np.searchsorted(-ordered, -thresholds) >= ranks[0]]
    return Curve(thresholds, count_each(vector, positive, thresholds))


def spaced_ranks(
    n: int, target: float, risk: float, n_thresholds: int = N_THRESHOLDS, margin: float = 0.0
) -> NDArray[np.int64]:
    """Return the ranks at which precision is tested: geometric, from the first that may well pass, to n.

    A sequence that fails its first test certifies nothing, so the first should forgive an error or two; but a
    far rank asks the precision of many rows. The first therefore forgives e errors, e up to 3, if the rank
    that takes is within n / (10 e). (Simulated with 60 to 2,000 rows, 10 to 50% positive, targets 0.7 to 0.9:
    the mean recall of the certified threshold is within 0.03 of that of the best e for each case.)
    """
    first = labels_needed(target, confidence=1 - risk) or n
    for errors in (1, 2, 3):
        trials = np.arange(first + 1, n // (10 * errors) + 1)
        forgiving = trials[tail(trials - errors, trials, target) <= risk]
        if not forgiving.size:
            break
        first = int(forgiving[0])
    first = min(n, round(first + margin * math.sqrt(first)))
    return np.unique(np.round(np.geomspace(first, n, n_thresholds)).astype(np.int64))
