"""Thresholds whose true precision or recall reaches the target with probability `confidence`.

    risk          1 - confidence, the probability that the returned threshold breaks the promise
    precision(t)  P(positive | score > t), and recall(t) = P(score > t | positive), in the
                  population
    tail          P(Bin(m, target) >= k), the exact p-value of "the true rate is below the target"

The rows are independent draws from the population that the threshold will be used on, and they were
used for nothing else: neither for training nor for tuning, and not as unlabeled rows either.

**Recall: all thresholds at once.** Given the number of positives n+, their scores are n+
independent draws. Let t* be the infimum of the thresholds with recall below the target; P(score >
t) is continuous from the right, so recall(t*) <= target. Recall only falls as t rises. So a
threshold that breaks the promise is at or above t*, and accepts no more positives than t* does,
whose number is Bin(n+, recall(t*)). Therefore all thresholds that accept at least c positives, with
P(Bin(n+, target) >= c) <= risk, are good together with probability 1 - risk. It does not matter
that they lie between the scores of these very positives: the argument is made at t*, which does not
move. No order, no grid and no assumption is needed. (These are the tolerance limits of Wilks,
1941.)

**Precision: a few thresholds in a fixed order.** Precision may fall and rise again, so thresholds
are tested one after the other until one fails (fixed-sequence testing: Maurer, Hothorn and
Lehmacher 1995; in this use "Learn then Test", Angelopoulos et al. 2021). A false threshold can be
returned only if the *first* false one in the sequence passed its test: one test, so the whole
family has one risk.

- Thresholds and an order that come from elsewhere are constants with respect to these rows. Given
  how many rows are accepted at t, the positives among them are Bin(accepted, precision(t)): the
  test is exact, and which threshold is the first false one is not random. No assumption is needed,
  neither on the scores nor on the source of thresholds and order. With `reference` (the scores of
  the unlabeled rows) the thresholds are at its ranks, from high to low. With `pilot` (scores and
  signs of other labels) the order is learned as well: it starts where the pilot promises most and
  goes down from there (see below). That matters where a model is wrong about its own highest
  scores.
- Thresholds at ranks of the rows' own scores, from high to low. The threshold of rank k is the
  score of rank k + 1 *itself*, not a midpoint: given it and the number of rows above it, those rows
  are independent draws from what lies above it, so each test is exact, ties included. (A midpoint
  would use the lowest accepted score.) But which threshold is the first false one now depends on
  the scores, and so possibly on the counts. Let t0 be where precision first falls to the target
  (inside a tie, a part of it: break ties at random for the argument). Given how many rows lie above
  t0, each is positive with probability `target`, independently. If below t0 no score has a share of
  positives above the target, each further row adds less than such a draw, whatever the scores are,
  and the count at the first false threshold is at most Bin(accepted, target) in distribution.
  (Dropping thresholds that accept too few rows to pass, which ties can cause, looks at scores only
  and does not change this.) So the promise is exact where a higher score never means a smaller
  probability of being positive. With `reference` or `pilot` not even that is needed.

All thresholds that pass are good *together*, so the best F-beta among them may be picked on the
same rows.

**Both targets.** With a pilot, each is tested at the full risk (an intersection-union test: Berger,
1982). The thresholds are tested in an order from high to low that is fixed beforehand, by both
tests, until either fails. Let t be the first false threshold of that order. It breaks precision or
recall, and to be returned, or to have one below it returned, it must pass that very test: one test,
one risk. Its recall test is exact, since t does not depend on these rows: given n+, the positives
accepted are Bin(n+, recall(t)). So the start of the order must promise both at once; nothing above
it can be returned. Without a pilot nobody knows where to start: the sequence for precision begins
at the highest thresholds, recall is tested everywhere at once, and each gets half the risk, since
the two probabilities of a false threshold add up.

**The order learned from a pilot.** A fixed sequence is worth as much as its first test. From the
highest threshold down it certifies nothing if a model is wrong about its own highest scores. So for
each rank the pilot makes a promise: by how many standard deviations the positives expected among
the accepted rows exceed the fewest that pass the test. The expected count is beta-binomial (with
Jeffreys' prior), so that the pilot's own chance is part of the deviation and a perfect record of
five rows promises less than a good one of a hundred. The sequence starts at the highest threshold
that is almost sure to pass, or else at the most promising one, and goes down, toward recall, as
long as there is hope. Pilot and pool are matched by rank, so that scores of other models, such as
those of folds, need not be on one scale. How well they match affects the power only: the
certificate's rows play no part in any of this.

**Limits.** A perfect record of m accepted rows certifies only if target^m <= risk: 11 rows for
precision 0.8 at 90%, 22 for 0.9, 45 for 0.95.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.decision.binomial import fewest_that_pass, labels_needed, tail
from semisvm.decision.checks import (
    Bools,
    Floats,
    check_confidence,
    check_scores,
    check_scores_and_sign,
)
from semisvm.decision.counts import Counts, Curve, count_all, count_each
from semisvm.decision.operating_point import Evidence, OperatingPoint, operating_point
from semisvm.decision.target import Target, best_of, explain_shortage

# Fine enough to lose little recall; a threshold costs nothing but the chance to fail on the way.
N_THRESHOLDS = 20

# Promises of a pilot, in standard deviations.
SURE = 2.5  # a test that passes 199 times in 200
HOPELESS = -2.0  # one that fails 49 times in 50
N_RANKS = 200  # at which promises are compared


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
    """Return a threshold that reaches the target with probability `confidence`, or say why there is
    none.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of labeled rows that were used for nothing else, neither for training nor for tuning.
    sign : array-like of shape (n,)
        Their true classes, +1 or -1.
    target : Target
        A target with min_precision, min_recall or both; beta or costs choose among the certified
        thresholds.
    confidence : float, default=0.9
        Probability, over the random draw of the rows, that the target is reached. It is valid for a
        single certificate: to use the best of k certificates from the same labels, certify each
        with confidence 1 - (1 - confidence) / k.
    reference : array-like, optional
        Scores of other rows (the unlabeled pool) whose ranks define the thresholds to test for
        precision.
    pilot : (scores, sign), optional
        Held-out or out-of-fold scores and signs of other labeled rows, which determine where the
        tests for precision start. They must not be the same rows as in `scores`.
    n_thresholds : int, default=20
        Number of thresholds to test for precision.

    Returns
    -------
    OperatingPoint
        An operating point of level "certified". If not `reached`, it is the empirical choice for
        the same target, with the reason and the number of labels that a certificate would need; its
        intervals are then not valid jointly.

    References
    ----------
    S. S. Wilks, "Determination of sample sizes for setting tolerance limits", Annals of
    Mathematical Statistics 12, 1941. :doi:`10.1214/aoms/1177731788`

    R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24,
    1982. :doi:`10.1080/00401706.1982.10487790`

    A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, "Learn then test:
    calibrating predictive algorithms to achieve risk control", 2021.
    :doi:`10.48550/arXiv.2110.01052`

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.decision import Target, certify
    >>> scores = np.linspace(1, -1, 200)
    >>> sign = np.where(scores > 0, 1, -1)
    >>> certify(scores, sign, Target(min_precision=0.9)).status
    'certified'
    >>> certify(scores[::10], sign[::10], Target(min_precision=0.9)).status
    'missed'
    """
    vector, positive = check_scores_and_sign(scores, sign)
    confidence = check_confidence(confidence)
    if not target.is_constrained or target.min_f is not None or target.max_cost is not None:
        raise ValueError(
            "only min_precision and min_recall can be certified: ask for one of them, or both."
        )
    if n_thresholds < 1:
        raise ValueError(f"n_thresholds must be at least 1, got {n_thresholds}.")
    asks_both = target.min_precision is not None and target.min_recall is not None
    each = (1 - confidence) / 2 if asks_both and pilot is None else 1 - confidence
    everything = count_all(vector, np.where(positive, 1, -1))
    if target.min_precision is None:
        tested = everything
    else:
        pool = None if reference is None else check_scores(reference, "reference")
        if pilot is None:
            tested = _sequence(vector, positive, pool, target.min_precision, each, n_thresholds)
        else:
            other = check_scores_and_sign(*pilot)
            order = order_by_pilot(vector.size, *other, pool, target, each, n_thresholds)
            tested = Curve(order, count_each(vector, positive, order))
    passed = _test(tested.counts, target, each, stops_at_recall=pilot is not None)
    if passed.any():
        threshold, counts = _best_point(tested, passed, target)
        reason = ""
    else:
        threshold, counts = _best_point(
            everything, np.ones(everything.thresholds.size, dtype=bool), target
        )
        reason = explain_shortage(counts, target, confidence, 1 - each)
    return operating_point(
        threshold,
        counts,
        target,
        level=Evidence.CERTIFIED,
        confidence=confidence,
        reached=not reason,
        reason=reason,
    )


def _best_point(curve: Curve, allowed: Bools, target: Target) -> tuple[float, Counts]:
    """Return the allowed threshold that answers the target best on these rows, and its counts."""
    thresholds = curve.thresholds[allowed]
    counts = Counts(*(cell[allowed] for cell in curve.counts))
    index, _ = best_of(counts, target)
    return float(thresholds[index]), counts.at(index)


def _test(counts: Counts, target: Target, risk: float, *, stops_at_recall: bool) -> Bools:
    """Return which thresholds, given in the order of their tests, are certified.

    stops_at_recall   whether a threshold that fails the test of recall ends the sequence too, as
                      the full risk for each of both targets requires
    """
    is_complete = np.ones(counts.tp.shape, dtype=bool)
    if target.min_recall is not None:
        is_complete = np.asarray(tail(counts.tp, counts.positives, target.min_recall) <= risk)
    if target.min_precision is None:
        return is_complete
    is_precise = np.asarray(tail(counts.tp, counts.accepted, target.min_precision) <= risk)
    if stops_at_recall:
        return np.logical_and.accumulate(is_precise & is_complete)
    return np.logical_and.accumulate(is_precise) & is_complete


def _sequence(
    vector: Floats,
    positive: Bools,
    pool: Floats | None,
    target: float,
    risk: float,
    n_thresholds: int,
) -> Curve:
    """Return the thresholds to test for precision, from high to low, chosen without looking at
    the labels.
    """
    if pool is None:
        ordered = np.sort(vector)[::-1]
        ranks = spaced_ranks(vector.size, target, risk, n_thresholds)
    else:
        ordered = np.sort(pool)[::-1]
        # How many of these rows a rank of the pool accepts is random: start one standard deviation
        # further down.
        ranks = spaced_ranks(vector.size, target, risk, n_thresholds, margin=1.0)
        ranks = np.maximum(1, np.round(ranks * (pool.size / vector.size))).astype(int)
    # Accepted are scores strictly above the one that follows the rank; nothing follows the last.
    thresholds = np.unique(np.append(ordered, -np.inf)[ranks])[::-1]
    # A tie across the first rank leaves too few rows above it, or none: such a test could only
    # fail.
    thresholds = thresholds[np.searchsorted(-ordered, -thresholds) >= ranks[0]]
    return Curve(thresholds, count_each(vector, positive, thresholds))


def spaced_ranks(
    n: int, target: float, risk: float, n_thresholds: int = N_THRESHOLDS, margin: float = 0.0
) -> NDArray[np.int64]:
    """Return the ranks at which precision is tested: geometric, from the first that is likely to
    pass, to n.

    A sequence that fails its first test certifies nothing, so the first test should allow an error
    or two; but a high rank demands the precision of many rows. So the first rank allows e errors, e
    up to 3, if the rank that this needs is within n / (10 e). (Simulated with 60 to 2,000 rows, 10
    to 50% positive, targets 0.7 to 0.9: the mean recall of the certified threshold is within 0.03
    of that of the best e for each case.)
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


def order_by_pilot(
    n: int,
    pilot: Floats,
    positive: Bools,
    pool: Floats | None,
    target: Target,
    risk: float,
    n_thresholds: int,
) -> Floats:
    """Return the thresholds to test for precision, or for both targets, in the order of testing.

    `n` is the number of the certificate's rows, `pilot` and `positive` are other labeled rows, and
    `pool` are scores of unlabeled rows by the model that will decide; without them the pilot's
    scores are used.
    """
    source = pilot if pool is None else pool
    ranks = np.unique(np.round(np.geomspace(1, n, N_RANKS)).astype(np.int64))
    expected = count_each(pilot, positive, _thresholds_at(pilot, ranks / n))
    ordered = np.sort(source)
    accepted = source.size - np.searchsorted(
        ordered, _thresholds_at(source, ranks / n), side="right"
    )
    assert target.min_precision is not None
    promise = _promise(
        np.round(accepted * (n / source.size)), expected.tp, expected.fp, target.min_precision, risk
    )
    promise_of_all = promise
    if target.min_recall is not None:
        positives = np.full(ranks.size, np.round(n * positive.mean()))
        complete = _promise(positives, expected.tp, expected.fn, target.min_recall, risk)
        promise_of_all = np.minimum(promise, complete)
    is_sure = promise_of_all >= SURE
    start = int(np.argmax(is_sure if is_sure.any() else promise_of_all))
    promise[:start] = -np.inf
    end = int(np.flatnonzero((promise >= HOPELESS) | (np.arange(ranks.size) == start))[-1])
    tested = np.geomspace(ranks[start], ranks[end], n_thresholds) / n
    return np.unique(_thresholds_at(source, tested))[::-1]


def _thresholds_at(scores: Floats, shares: Floats) -> Floats:
    """Return the thresholds above which these shares of the scores lie, or smaller shares where
    scores are equal.
    """
    ranks = np.maximum(1, np.round(shares * scores.size)).astype(np.int64)
    return np.append(np.sort(scores)[::-1], -np.inf)[ranks]


def _promise(trials: Floats, hits: Floats, misses: Floats, target: float, risk: float) -> Floats:
    """Return by how many standard deviations the expected positives exceed the fewest that pass."""
    total = hits + misses + 1.0
    rate = (hits + 0.5) / total
    variance = trials * rate * (1 - rate) * (1 + np.maximum(trials - 1, 0) / (total + 1))
    # Half a row more: counts are integers.
    excess = trials * rate - fewest_that_pass(trials, target, risk) + 0.5
    return np.where(trials > 0, excess / np.sqrt(np.maximum(variance, 0.25)), -np.inf)
