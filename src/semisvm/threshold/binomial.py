"""Exact statements about a success probability, from the number of successes in m trials.

    P(Bin(m, rate) >= k) = I_rate(k, m - k + 1),  the regularized incomplete beta function

The intervals are those of Clopper and Pearson (Biometrika 26, 1934). They cover the true rate with
at least the stated probability for every rate and every m, which no approximate interval does.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special, stats

Side = Literal["two-sided", "lower", "upper"]


class Estimate(NamedTuple):
    """A measured rate with its interval; NaN in [0, 1] where nothing was measured."""

    value: float
    low: float
    high: float


def tail(successes: Any, trials: Any, rate: float) -> Any:
    """P(Bin(trials, rate) >= successes), the p-value of "the true rate is below `rate`"."""
    successes, trials = np.asarray(successes, float), np.asarray(trials, float)
    some = np.maximum(successes, 1)  # I_rate(0, .) is 1, but not defined in SciPy
    reached = special.betainc(some, np.maximum(trials - some, 0) + 1, rate)
    return np.where(successes > 0, reached, 1.0)[()]


def fewest_successes(trials: Any, rate: float, risk: float) -> Any:
    """The fewest successes whose tail is at most `risk`; trials + 1 where there are none."""
    return stats.binom.isf(risk, trials, rate) + 1


def fewest_trials(rate: float, risk: float) -> int:
    """The length of the shortest record without a failure that proves a rate below 1."""
    return math.ceil(math.log(risk) / math.log(rate) - 1e-12)


def binomial_interval(
    successes: Any, trials: Any, confidence: float, side: Side = "two-sided"
) -> tuple[Any, Any]:
    """The exact interval of a success probability; "lower" gives [low, 1], "upper" [0, high]."""
    risk = (1 - confidence) / (2 if side == "two-sided" else 1)
    k, m = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    low = np.where(k > 0, special.betaincinv(np.maximum(k, 1e-9), m - k + 1, risk), 0.0)
    high = np.where(k < m, special.betaincinv(k + 1, np.maximum(m - k, 1e-9), 1 - risk), 1.0)
    return (np.zeros_like(k) if side == "upper" else low)[()], (
        np.ones_like(k) if side == "lower" else high
    )[()]


def estimate_rate(successes: float, trials: float, confidence: float) -> Estimate:
    """successes / trials with its two-sided interval."""
    low, high = binomial_interval(successes, trials, confidence)
    value = float(successes / trials) if trials else math.nan
    return Estimate(value, float(low), float(high))
