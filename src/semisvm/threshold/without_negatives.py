"""What scores of labeled positives and of unlabeled rows say, without a labeled negative.

    positive    (n,)  scores of labeled positives: a random sample of all positives, the assumption
    unlabeled   (N,)  scores of unlabeled rows
    prior       the share of positives among the unlabeled rows
    r(t), a(t)  recall, P(score > t | positive), and the share of unlabeled rows that are accepted
    lift(t)     r(t) / a(t) = precision(t) / prior

Both samples are of rows that the scorer has not seen: out-of-fold scores, or rows put aside.

**Precision** is the prior times the lift, so nothing is said about it unless somebody gives the
prior. A bound with an estimated one would be wrong most of the time.

**The prior** has an upper bound: prior P(S | positive) <= P(S) for every set S, so prior <=
a(t) / r(t) for every t. Nothing bounds it from below, since negatives may look like positives. Let
t_k be the k-th highest score of the positives and m_k the number of unlabeled rows at or above it.
P(score >= t_k | positive) is Beta(k, n - k + 1), larger with ties, and m_k is binomial. With K
ranks, each test at risk / (2 K):

    bound = min_k  upper(m_k of N) / lower(k of n)
    estimate = (m_k / N) (n + 1) / k  at the same k
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semisvm.threshold.binomial import Estimate, binomial_interval, estimate_rate
from semisvm.threshold.choosing import between, just_below

PRIOR_RANKS = 8
FEWEST_FOR_A_PRIOR = 10
LARGEST_PRIOR = 0.95


class PriorBound(NamedTuple):
    """The share of positives among the unlabeled rows: an estimate, and an upper bound."""

    estimate: float
    bound: float


@dataclass(frozen=True)
class PositiveUnlabeledPoint:
    """A threshold, and what to expect of it without labeled negatives.

    The intervals are exact for a threshold that was given; for one that was chosen on these scores
    they are a little too short.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are accepted.
    recall, accepted, lift : Estimate
        The share of the positives and of the unlabeled rows that are accepted, and their ratio: how
        many times as frequent positives are among the accepted rows as among all. Each has `value`,
        `low` and `high`.
    precision : Estimate or None
        The prior times the lift; None if nobody gave the prior.
    """

    threshold: float
    recall: Estimate
    accepted: Estimate
    lift: Estimate
    precision: Estimate | None

    def __str__(self) -> str:
        names = ("recall", "accepted", "lift", "precision")
        found = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        rates = [f"{name} {e.value:.3g} ({e.low:.3g} to {e.high:.3g})" for name, e in found]
        return f"threshold {self.threshold:.4g}: {', '.join(rates)}"


def judge_threshold(
    threshold: float,
    positive: np.ndarray,
    unlabeled: np.ndarray,
    prior: tuple[float, float] | None,
    confidence: float,
) -> PositiveUnlabeledPoint:
    """Recall, lift and precision of a threshold; scores are (draws, n), shares are means."""
    each = (1 + confidence) / 2  # two rates share the risk of the lift
    shares = [((scores > threshold).mean(), scores.shape[1]) for scores in (positive, unlabeled)]
    recall, accepted = (estimate_rate(share * n, n, confidence) for share, n in shares)
    r, a = (estimate_rate(share * n, n, each) for share, n in shares)
    lift = Estimate(
        r.value / a.value if a.value else math.nan,
        r.low / a.high,
        r.high / a.low if a.low else math.inf,
    )
    precision = None
    if prior is not None:
        value = math.sqrt(prior[0] * prior[1]) * lift.value
        precision = Estimate(min(value, 1.0), prior[0] * lift.low, min(prior[1] * lift.high, 1.0))
    return PositiveUnlabeledPoint(threshold, recall, accepted, lift, precision)


def bound_prior(positive: np.ndarray, unlabeled: np.ndarray, confidence: float) -> PriorBound:
    """Bound the share of positives among the unlabeled rows from above, and estimate it.

    >>> unlabeled = np.concatenate([np.linspace(-1, 0, 800), np.linspace(0.005, 1, 200)])
    >>> estimate, bound = bound_prior(np.linspace(0.01, 1, 100), unlabeled, 0.9)
    >>> round(estimate, 3), round(bound, 3)
    (0.201, 0.25)
    """
    n, N = len(positive), len(unlabeled)
    rank = np.unique(np.geomspace(max(5, n / 10), 0.98 * n, PRIOR_RANKS).astype(int))
    cut = np.sort(positive)[n - rank]
    accepted = N - np.searchsorted(np.sort(unlabeled), cut, side="left")
    each = 1 - (1 - confidence) / (2 * len(rank))
    most_accepted = binomial_interval(accepted, N, each, "upper")[1]
    least_recall = binomial_interval(rank, n, each, "lower")[0]
    best = int(np.argmin(most_accepted / least_recall))
    bound = min(float(most_accepted[best] / least_recall[best]), 1.0)
    return PriorBound(min(float(accepted[best] / N * (n + 1) / rank[best]), bound), bound)


def reach_recall(positive: np.ndarray, min_recall: float) -> float:
    """The highest threshold that accepts at least this share of the positives.

    >>> round(reach_recall(np.array([1.0, 2.0, 3.0, 4.0]), 0.75), 3)
    1.5
    """
    ordered = np.sort(positive)
    # A product such as 0.7 * 10 is 7.000000000000001 in floating point.
    needed = max(1, math.ceil(min_recall * len(ordered) * (1 - 1e-12)))
    score = ordered[len(ordered) - needed]
    lower = ordered[ordered < score]
    below = lower[-1] if len(lower) else just_below(score, float(np.ptp(ordered)))
    return float(between(below, score))


def best_f1(positive: np.ndarray, unlabeled: np.ndarray, prior: float, labeled: float) -> float:
    """The threshold of the largest F1 to expect among all rows; the highest of equals.

    `labeled` is the share l of the labeled positives among them. Then (1 - l) prior + l of all rows
    are positive, and l r + (1 - l) a are accepted:

        F1 = 2 ((1 - l) prior + l) r / ((1 - l) prior + l + l r + (1 - l) a)

    A prior too high costs little, one too low may accept almost nothing.

    >>> best_f1(np.array([3.0, 4.0, 5.0]), np.array([0.0, 1.0, 2.0, 3.0, 4.0]), 0.4, labeled=0.0)
    2.5
    """
    scores = np.unique(np.concatenate([positive, unlabeled]))[::-1]
    below = np.append(scores[1:], just_below(scores[-1], float(np.ptp(scores))))
    threshold = between(below, scores)
    r = 1 - np.searchsorted(np.sort(positive), threshold) / len(positive)
    a = 1 - np.searchsorted(np.sort(unlabeled), threshold) / len(unlabeled)
    positives = (1 - labeled) * prior + labeled
    f1 = 2 * positives * r / (positives + labeled * r + (1 - labeled) * a)
    return float(threshold[np.argmax(f1)])
