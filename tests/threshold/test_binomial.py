"""Exact statements about a rate, against enumeration and SciPy."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from semisvm.threshold.binomial import (
    binomial_interval,
    estimate_rate,
    fewest_successes,
    fewest_trials,
    tail,
)


def enumerated_tail(k, m, rate):
    """P(Bin(m, rate) >= k) by all 2^m sequences of trials."""
    return sum(
        math.prod(rate if success else 1 - rate for success in trials)
        for trials in product((0, 1), repeat=m)
        if sum(trials) >= k
    )


@pytest.mark.parametrize("rate", [0.03, 0.5, 0.9])
@pytest.mark.parametrize("m", [1, 4, 9])
def test_the_tail_is_that_of_all_sequences(m, rate):
    k = np.arange(m + 1)
    expected = [enumerated_tail(each, m, rate) for each in k]
    np.testing.assert_allclose(tail(k, m, rate), expected, rtol=1e-12)


def test_the_tail_is_that_of_scipy():
    rng = np.random.default_rng(0)
    m = rng.integers(1, 5000, 200)
    k = rng.integers(0, m + 1)
    np.testing.assert_allclose(tail(k, m, 0.7), stats.binom.sf(k - 1, m, 0.7), atol=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_the_interval_is_that_of_scipy_at_every_count(confidence):
    for m in (1, 7, 40):
        for k in range(m + 1):
            expected = stats.binomtest(k, m).proportion_ci(confidence, "exact")
            low, high = binomial_interval(k, m, confidence)
            assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
            value = estimate_rate(k, m, confidence)
            assert (value.low, value.high) == (low, high)
            assert value.low <= value.value <= value.high
            for side, alternative in (("lower", "greater"), ("upper", "less")):
                expected = stats.binomtest(k, m, alternative=alternative)
                expected = expected.proportion_ci(confidence, "exact")
                found = binomial_interval(k, m, confidence, side)
                assert found == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_interval_covers_every_rate_by_enumeration():
    """The exact probability that it holds the true rate, summed over all counts."""
    for m in (1, 10, 60):
        k = np.arange(m + 1)
        low, high = binomial_interval(k, m, 0.9)
        for rate in np.linspace(0.001, 0.999, 301):
            chance = stats.binom.pmf(k, m, rate)
            assert chance[(low <= rate) & (rate <= high)].sum() >= 0.9 - 1e-12


def test_no_trial_says_nothing():
    assert binomial_interval(0, 0, 0.9) == (0.0, 1.0)
    value, low, high = estimate_rate(0, 0, 0.9)
    assert math.isnan(value)
    assert (low, high) == (0.0, 1.0)


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("risk", [0.01, 0.1])
def test_the_fewest_are_enough_and_one_less_is_not(rate, risk):
    m = fewest_trials(rate, risk)
    assert rate**m <= risk * (1 + 1e-12) < rate ** (m - 1)
    for trials in (m - 1, m, 3 * m):
        k = int(fewest_successes(trials, rate, risk))
        assert k > trials or tail(k, trials, rate) <= risk
        assert k == 0 or tail(k - 1, trials, rate) > risk
        assert (k > trials) == (trials < m)
