"""Exact binomial arithmetic: a tail, an interval, and how many trials a claim needs.

    successes, trials   k of m, integers or equally long arrays
    rate                a success probability
    P(Bin(m, rate) >= k) = I_rate(k, m - k + 1), the regularized incomplete beta function

The intervals are Clopper and Pearson's (Biometrika 26, 1934): they cover with at least the stated
probability for every rate and every m, which no approximate interval does. No trial at all gives [0, 1].
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special, stats

from semisvm.decision.checks import check_confidence

Side = Literal["two-sided", "lower", "upper"]

# Past this many labels a claim counts as out of reach.
MOST_LABELS = 10**9


class Estimate(NamedTuple):
    """A measured value and the interval it comes with."""

    value: float
    low: float
    high: float


def tail(successes: Any, trials: Any, rate: float) -> Any:
    """P(Bin(trials, rate) >= successes): the p-value of "the rate is below `rate`"."""
    successes, trials = np.asarray(successes, float), np.asarray(trials, float)
    some = np.maximum(successes, 1)  # I_rate(0, .) is 1, but SciPy's betainc is not defined there
    reached = special.betainc(some, np.maximum(trials - some, 0) + 1, rate)
    return np.where(successes > 0, reached, 1.0)[()]


def fewest_that_pass(trials: Any, rate: float, risk: float) -> Any:
    """Return the least number of successes whose tail is at most `risk`; trials + 1 where none is."""
    return stats.binom.isf(risk, trials, rate) + 1


def binomial_interval(
    successes: Any, trials: Any, confidence: float = 0.9, side: Side = "two-sided"
) -> tuple[Any, Any]:
    """Return the exact interval of a success probability; "lower" is [low, 1], "upper" is [0, high]."""
    if side not in ("two-sided", "lower", "upper"):
        raise ValueError(f'side must be "two-sided", "lower" or "upper", got {side!r}.')
    risk = 1 - check_confidence(confidence)
    if side == "two-sided":
        risk /= 2
    k, m = np.asarray(successes, float), np.asarray(trials, float)
    if np.any((k < 0) | (k > m)):
        raise ValueError("successes must lie between 0 and trials.")
    low, high = np.zeros(np.broadcast(k, m).shape), np.ones(np.broadcast(k, m).shape)
    if side != "upper":
        low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), m - k + 1, risk), low)
    if side != "lower":
        high = np.where(k < m, special.betaincinv(k + 1, np.maximum(m - k, 1), 1 - risk), high)
    return low[()], high[()]


def estimate(successes: int, trials: int, confidence: float) -> Estimate:
    """Return successes / trials with its two-sided interval; NaN in [0, 1] without a trial."""
    low, high = binomial_interval(successes, trials, confidence)
    return Estimate(successes / trials if trials else float("nan"), float(low), float(high))


def labels_needed(target: float, *, rate: float = 1.0, confidence: float = 0.9) -> int | None:
    """Return how many trials, a share `rate` of them successes, put the one-sided lower bound at `target`.

    rate = 1 asks for the shortest perfect record: the least m with target^m <= 1 - confidence. Between
    whole successes the incomplete beta function interpolates the tail, which then falls steadily in m. None
    where no number does: the rate is not above the target, or so near it that it would take over 10^9.
    """
    if not rate > target:
        return None
    risk = 1 - check_confidence(confidence)

    def is_enough(trials: int) -> bool:
        return bool(special.betainc(rate * trials, (1 - rate) * trials + 1, target) <= risk)

    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > MOST_LABELS:
            return None
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
    return enough
