"""What can be said from scores of labeled positives and unlabeled rows, without a labeled negative.

    positive    (n,)  scores of labeled positives, a random sample of all positives: the one
                assumption
    unlabeled   (N,)  scores of unlabeled rows
    prior       the share of positives among the unlabeled rows
    r(t), a(t)  recall, P(score > t | positive), and the share of unlabeled rows that are accepted,
                P(score > t)
    lift(t)     r(t) / a(t) = precision(t) / prior

Both samples must be of rows that the scorer has not seen: out-of-fold scores, or better, rows held
out.

**The prior** can be bounded from above: prior * P(S | positive) <= P(S) for every set S, so prior
<= a(t) / r(t) for every t. Nothing bounds it from below, since negatives may look like positives
everywhere. Let t_k be the k-th highest score of the positives and m_k the number of unlabeled rows
at or above it. P(score >= t_k | positive) is Beta(k, n - k + 1), larger with ties; given the
positives, m_k is binomial. With K ranks, each test at risk / (2 K):

    bound = min_k  upper(m_k of N) / lower(k of n)          estimate = (m_k / N) (n + 1) / k  at the
                   same k

**Recall** is a statement about positives alone, and **lift** about both samples: both have exact
bounds. **Precision** is prior * lift. A bound on it needs a prior from outside: with an estimated
one it would be wrong most of the time, so no function here computes it.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.binomial import Estimate, binomial_interval, fewest_that_pass
from semisvm.decision.checks import check_accept, check_confidence, check_scores, check_target_rate

PRIOR_RANKS = 8
FEWEST_FOR_A_PRIOR = 10
LARGEST_PRIOR = 0.95
# Of the risk of a bound on the lift, the share that goes to recall: positives are the smaller
# sample.
SHARE_OF_RECALL = 0.8


class AcceptedCounts(NamedTuple):
    """How many labeled positives and unlabeled rows a threshold accepts, of how many."""

    accepted_positives: int
    positives: int
    accepted_unlabeled: int
    unlabeled: int


class PriorBound(NamedTuple):
    """The share of positives among the unlabeled rows: an estimate, which is too high where no
    region holds positives only, and an upper bound.
    """

    estimate: float
    bound: float


def rank_auc(positive: ArrayLike, unlabeled: ArrayLike) -> float:
    """Return the probability that a positive has a higher score than an unlabeled row; ties count
    one half.

    It is prior / 2 + (1 - prior) * (the AUC of positives against negatives), so it ranks scorers in
    the same order, whatever the prior.

    >>> rank_auc([3.0, 2.0], [1.0, 2.0, 0.0])
    0.9166666666666666
    """
    from scipy import stats  # takes its time to import

    positive = check_scores(positive, "positive")
    unlabeled = check_scores(unlabeled, "unlabeled")
    n = len(positive)
    rank = stats.rankdata(np.concatenate([positive, unlabeled]))
    return float((rank[:n].sum() - n * (n + 1) / 2) / (n * len(unlabeled)))


def bound_prior(positive: ArrayLike, unlabeled: ArrayLike, confidence: float = 0.9) -> PriorBound:
    """Bound the share of positives among the unlabeled rows from above, and estimate it.

    The bound is exact for rows that the scorer has not seen. At least 10 positives are needed.

    >>> import numpy as np
    >>> unlabeled = np.concatenate([np.linspace(-1, 0, 800), np.linspace(0.005, 1, 200)])
    >>> estimate, bound = bound_prior(np.linspace(0.01, 1, 100), unlabeled)
    >>> round(estimate, 3), round(bound, 3)
    (0.201, 0.25)
    """
    positive = check_scores(positive, "positive")
    unlabeled = check_scores(unlabeled, "unlabeled")
    n = len(positive)
    N = len(unlabeled)
    if n < FEWEST_FOR_A_PRIOR:
        raise ValueError(
            f"A prior needs scores of at least {FEWEST_FOR_A_PRIOR} labeled positives, got {n}:"
            " label more positives."
        )
    rank = np.unique(np.geomspace(max(5, n / 10), 0.98 * n, PRIOR_RANKS).astype(int))
    cut = np.sort(positive)[n - rank]
    accepted = N - np.searchsorted(np.sort(unlabeled), cut, side="left")
    each = 1 - (1 - check_confidence(confidence)) / (2 * len(rank))
    most_accepted = binomial_interval(accepted, N, each, "upper")[1]
    least_recall = binomial_interval(rank, n, each, "lower")[0]
    best = int(np.argmin(most_accepted / least_recall))
    bound = float(most_accepted[best] / least_recall[best])
    estimate = float(accepted[best] / N * (n + 1) / rank[best])
    return PriorBound(min(estimate, bound, 1.0), min(bound, 1.0))


def bound_lift(
    accepted_positives: int,
    positives: int,
    accepted_unlabeled: int,
    unlabeled: int,
    confidence: float = 0.9,
    side: Literal["lower", "upper"] = "lower",
) -> float:
    """Return a bound on the lift of one threshold: the accepted rows hold at least, or at most, so
    many times the positives of as many random rows.

    It is exact for rows that neither the scorer nor the choice of the threshold has seen. The
    threshold may be the k-th highest score of the positives, if k was fixed beforehand.

    >>> round(bound_lift(86, 100, 400, 3000), 4)
    5.4549
    """
    risk = 1 - check_confidence(confidence)
    of_recall = 1 - SHARE_OF_RECALL * risk
    of_share = 1 - (1 - SHARE_OF_RECALL) * risk
    if side == "lower":
        recall = binomial_interval(accepted_positives, positives, of_recall, "lower")[0]
        share = binomial_interval(accepted_unlabeled, unlabeled, of_share, "upper")[1]
    else:
        recall = binomial_interval(accepted_positives, positives, of_recall, "upper")[1]
        share = binomial_interval(accepted_unlabeled, unlabeled, of_share, "lower")[0]
    return float(recall / share) if share else math.inf


def estimate_lift(counts: AcceptedCounts, confidence: float) -> Estimate:
    """Return recall over the share of unlabeled rows accepted, with its two-sided interval; NaN
    if none is accepted.
    """
    each = (1 + check_confidence(confidence)) / 2
    value = math.nan
    if counts.accepted_unlabeled:
        recall = counts.accepted_positives / counts.positives
        value = recall / (counts.accepted_unlabeled / counts.unlabeled)
    return Estimate(value, bound_lift(*counts, each), bound_lift(*counts, each, "upper"))


def certify_recall(positive: ArrayLike, min_recall: float, confidence: float = 0.9) -> float | None:
    """Return the highest threshold whose recall is proved to be at least `min_recall`; None where
    so few positives can't prove it.

    It lies just below the c-th highest score, where c is the least number of n positives that
    proves the recall. All lower thresholds keep the promise too. The positives were used for
    nothing else.

    >>> import numpy as np
    >>> scores = np.arange(50.0)
    >>> int((scores > certify_recall(scores, 0.8)).sum())
    45
    >>> certify_recall(scores[:21], 0.9) is None
    True
    """
    scores = np.sort(check_scores(positive, "positive"))
    check_target_rate(min_recall, "min_recall")
    needed = int(fewest_that_pass(len(scores), min_recall, 1 - check_confidence(confidence)))
    if min_recall == 1 or needed > len(scores):
        return None
    return _just_below(scores, len(scores) - needed)


def _just_below(ordered: np.ndarray, place: int) -> float:
    """A threshold that accepts this score and none below it, with room for rounding where the same
    row is scored again.

    A lower threshold accepts no fewer positives, so promises that hold at the score hold here.
    """
    score = float(ordered[place])
    lower = ordered[:place][ordered[:place] < score]
    below = score - 1e-6 * (1 + abs(score))
    if len(lower):
        below = max(below, (score + float(lower[-1])) / 2)
    return min(below, float(np.nextafter(score, -math.inf)))


def reach_recall(positive: ArrayLike, min_recall: float) -> float:
    """Return the highest threshold that accepts at least this share of the given positives; no
    promise.

    >>> round(reach_recall([1.0, 2.0, 3.0, 4.0], 0.75), 3)
    2.0
    """
    scores = np.sort(check_scores(positive, "positive"))
    check_target_rate(min_recall, "min_recall")
    # A product such as 0.7 * 10 is 7.000000000000001 in floating point.
    needed = max(1, math.ceil(min_recall * len(scores) * (1 - 1e-12)))
    return _just_below(scores, len(scores) - needed)


def accept_best(unlabeled: ArrayLike, accept: float | int) -> float:
    """Return the threshold that accepts a number (int) or a share (float) of unlabeled rows, the
    highest scores; rows with the score of the last one are accepted with it.

    >>> round(accept_best([1.0, 2.0, 3.0, 4.0], 0.5), 3)
    3.0
    """
    scores = np.sort(check_scores(unlabeled, "unlabeled"))
    accept = check_accept(accept)
    wanted = accept if isinstance(accept, int) else max(1, round(accept * len(scores)))
    if wanted > len(scores):
        raise ValueError(
            f"accept={accept} asks for more rows than there are: {len(scores)} unlabeled rows."
        )
    return _just_below(scores, len(scores) - wanted)


def choose_without_negatives(
    positive: ArrayLike, unlabeled: ArrayLike, prior: float | None = None
) -> float:
    """Return the threshold of the largest estimated F1, or without a prior that of the largest
    balanced accuracy.

    With a prior, precision is prior r / a, so F1 = 2 prior r / (prior + a). A prior too high costs
    little, one too low may accept almost nothing. Without one, r - a = (1 - prior) (recall - false
    positive rate) is largest where balanced accuracy is, whatever the prior.

    >>> choose_without_negatives([3.0, 4.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0], prior=0.4)
    2.0
    """
    positive = np.sort(check_scores(positive, "positive"))
    unlabeled = np.sort(check_scores(unlabeled, "unlabeled"))
    scores = np.unique(np.concatenate([positive, unlabeled]))
    threshold = np.concatenate([[np.nextafter(scores[0], -math.inf)], scores])
    recall = 1 - np.searchsorted(positive, threshold, side="right") / len(positive)
    accepted = 1 - np.searchsorted(unlabeled, threshold, side="right") / len(unlabeled)
    gain = recall - accepted if prior is None else 2 * prior * recall / (prior + accepted)
    return float(threshold[np.argmax(gain)])
