"""Exact intervals: of a success probability, of F-beta and of the expected cost; and how many
trials a claim needs.

    successes, trials   k of m, integers or arrays of equal length
    rate                a success probability
    risk                1 - confidence
    P(Bin(m, rate) >= k) = I_rate(k, m - k + 1), the regularized incomplete beta function

Binomial intervals are those of Clopper and Pearson (Biometrika 26, 1934). They cover the true rate
with at least the stated probability for every rate and every m, which no approximate interval does.
Without any trial the interval is [0, 1].

The intervals of F-beta and of the cost are built from them. The rows are n independent draws, so
(tp, fp, fn, tn) is multinomial. (A bootstrap of F would be random, and too short where rows are
few: if no error was seen, its interval is a single point.)

- Given the m = tp + fp + fn rows that are not true negatives, tp is Bin(m, J) with J = P(tp) /
  P(not tn), and F1 = 2 J / (1 + J) increases with J. So the exact interval of J, transformed, is an
  exact interval of F1.
- For beta != 1 the kind of error matters too: given e = fp + fn errors, fn is Bin(e, v), and
      F_beta = (1 + beta^2) J / ((1 + beta^2) J + (1 - J) (beta^2 v + 1 - v)),
  monotone in J and in v. One interval for each at half the risk gives an interval of F_beta
  (Bonferroni): wider than necessary, never too short.
- fn and fp are each binomial in n. Half the risk for each gives an interval of the expected cost in
  the same way.

All of this holds for a threshold that was fixed before these rows were seen. A threshold that was
chosen on the same rows looks better than it is.
"""

from bisect import bisect_left
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from semisvm.decision.checks import check_confidence
from semisvm.decision.counts import Counts, expected_cost, f_score

Side = Literal["two-sided", "lower", "upper"]

# Above this number of labels a claim counts as out of reach.
MOST_LABELS = 10**9


class Estimate(NamedTuple):
    """A measured value with its interval.

    Parameters
    ----------
    value : float
        The measured value; NaN if it is undefined.
    low, high : float
        Ends of the interval.

    Examples
    --------
    >>> from semisvm.decision import Estimate
    >>> Estimate(0.9, low=0.8, high=0.95).low
    0.8
    """

    value: float
    low: float
    high: float


def tail(successes: Any, trials: Any, rate: float) -> Any:
    """Return P(Bin(trials, rate) >= successes), the p-value of "the true rate is below `rate`"."""
    from scipy import special  # here and below: a campaign begins sooner without SciPy

    successes = np.asarray(successes, float)
    trials = np.asarray(trials, float)
    some = np.maximum(successes, 1)  # I_rate(0, .) is 1, but SciPy's betainc is not defined there
    reached = special.betainc(some, np.maximum(trials - some, 0) + 1, rate)
    return np.where(successes > 0, reached, 1.0)[()]


def fewest_that_pass(trials: Any, rate: float, risk: float) -> Any:
    """Return the smallest number of successes whose tail is at most `risk`; trials + 1 where
    there is none.
    """
    from scipy import stats

    return stats.binom.isf(risk, trials, rate) + 1


def binomial_interval(
    successes: Any, trials: Any, confidence: float = 0.9, side: Side = "two-sided"
) -> tuple[Any, Any]:
    """Return the exact interval of a success probability (Clopper and Pearson).

    Parameters
    ----------
    successes, trials : int or array-like of int
        Number of successes and number of trials.
    confidence : float, default=0.9
        The interval covers the true rate with at least this probability.
    side : {"two-sided", "lower", "upper"}, default="two-sided"
        "lower" gives [low, 1] and "upper" gives [0, high].

    Returns
    -------
    low, high : float or ndarray
        Ends of the interval.

    Examples
    --------
    >>> from semisvm.decision import binomial_interval
    >>> low, high = binomial_interval(9, 10, confidence=0.9)
    >>> round(float(low), 3), round(float(high), 3)
    (0.606, 0.995)
    """
    if side not in ("two-sided", "lower", "upper"):
        raise ValueError(f'side must be "two-sided", "lower" or "upper", got {side!r}.')
    from scipy import special

    risk = 1 - check_confidence(confidence)
    if side == "two-sided":
        risk /= 2
    k = np.asarray(successes, float)
    m = np.asarray(trials, float)
    if np.any((k < 0) | (k > m)):
        raise ValueError("successes must lie between 0 and trials.")
    low = np.zeros(np.broadcast(k, m).shape)
    high = np.ones(np.broadcast(k, m).shape)
    if side != "upper":
        low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), m - k + 1, risk), low)
    if side != "lower":
        high = np.where(k < m, special.betaincinv(k + 1, np.maximum(m - k, 1), 1 - risk), high)
    return low[()], high[()]


@lru_cache(maxsize=10_000)  # simulations meet the same counts again and again
def estimate_rate(successes: int, trials: int, confidence: float) -> Estimate:
    """Return successes / trials with its two-sided interval; NaN in [0, 1] without any trial."""
    low, high = binomial_interval(successes, trials, confidence)
    return Estimate(successes / trials if trials else float("nan"), float(low), float(high))


def estimate_f(counts: Counts, beta: float = 1.0, confidence: float = 0.9) -> Estimate:
    """Return F-beta with its interval; NaN in [0, 1] where there are no positives and no row is
    accepted.

    >>> from semisvm.decision import Counts
    >>> value, low, high = estimate_f(Counts(tp=8, fp=2, fn=2, tn=8))
    >>> round(value, 3), round(low, 3), round(high, 3)
    (0.8, 0.562, 0.935)
    """
    errors = counts.fp + counts.fn
    # For beta = 1 the kind of error cancels out of F and needs no share of the risk.
    each = check_confidence(confidence) if beta == 1 else _with_half_the_risk(confidence)
    hit = estimate_rate(counts.tp, counts.tp + errors, each)
    missed = estimate_rate(counts.fn, errors, each)
    # A missed positive has weight beta^2, an accepted negative 1.
    weights = [beta**2 * share + 1 - share for share in (missed.low, missed.high)]
    low = _f_from_shares(hit.low, max(weights), beta)
    high = _f_from_shares(hit.high, min(weights), beta)
    return Estimate(float(f_score(counts, beta)), low, high)


def estimate_cost(counts: Counts, costs: tuple[float, float], confidence: float = 0.9) -> Estimate:
    """Return the expected cost per row with its interval; `costs` are those of a missed positive
    and of an accepted negative.

    >>> from semisvm.decision import Counts
    >>> value, low, high = estimate_cost(Counts(tp=8, fp=2, fn=2, tn=8), costs=(5, 1))
    >>> round(value, 3), round(low, 3), round(high, 3)
    (0.6, 0.074, 1.902)
    """
    each = _with_half_the_risk(confidence)
    missed = binomial_interval(counts.fn, counts.rows, each)
    false_alarm = binomial_interval(counts.fp, counts.rows, each)
    low, high = (
        costs[0] * miss + costs[1] * alarm for miss, alarm in zip(missed, false_alarm, strict=True)
    )
    # A row has at most one of the two errors.
    return Estimate(float(expected_cost(counts, costs)), float(low), float(min(high, max(costs))))


def labels_needed(target: float, *, rate: float = 1.0, confidence: float = 0.9) -> int | None:
    """Return how many trials are needed to prove that a rate is at least `target`.

    Parameters
    ----------
    target : float
        The rate to prove: the one-sided lower confidence bound has to reach it.
    rate : float, default=1.0
        The expected share of successes. With 1, the result is the length of the shortest record
        without an error that proves the target, the smallest m with target^m <= 1 - confidence.
    confidence : float, default=0.9
        Confidence of the bound.

    Returns
    -------
    int or None
        The number of trials. None if no number is enough: `rate` is not above the target, or so
        close to it that more than 10^9 trials would be needed.

    Notes
    -----
    Between whole successes the incomplete beta function interpolates the tail, so that it decreases
    steadily in m.

    Examples
    --------
    >>> from semisvm.decision import labels_needed
    >>> labels_needed(0.9)
    22
    >>> labels_needed(0.9, rate=0.95)
    75
    """
    if not rate > target:
        return None
    from scipy import special

    risk = 1 - check_confidence(confidence)

    def is_enough(trials: int) -> bool:
        return bool(special.betainc(rate * trials, (1 - rate) * trials + 1, target) <= risk)

    fewest = 1 + bisect_left(range(1, MOST_LABELS + 1), True, key=is_enough)
    return fewest if fewest <= MOST_LABELS else None


def _f_from_shares(hit: float, weight: float, beta: float) -> float:
    gain = (1 + beta**2) * hit
    return float(gain / (gain + (1 - hit) * weight)) if hit > 0 else 0.0


def _with_half_the_risk(confidence: float) -> float:
    return (1 + check_confidence(confidence)) / 2
