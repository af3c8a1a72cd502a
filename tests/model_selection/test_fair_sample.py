"""The fair-sample test: false alarms at its level, and true alarms where labels were chosen."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from semisvm import check_fair_sample


def alarms(choose, n_worlds=100):
    found = []
    for seed in range(n_worlds):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        found.append(not check_fair_sample(X, choose(rng, X), random_state=seed).is_fair)
    return np.mean(found)


def test_alarms():
    at_random = alarms(lambda rng, X: rng.permutation(200) < 60)
    assert at_random <= 0.05  # the level is 0.01
    assert alarms(lambda rng, X: np.argsort(np.abs(X[:, 0])).argsort() < 60, 20) > 0.9
    assert alarms(lambda rng, X: rng.random(200) < 1 / (1 + np.exp(2 - 3 * X[:, 1])), 20) > 0.9


def test_p_values_of_fair_samples_are_spread_evenly():
    rng = np.random.default_rng(0)
    p = [
        check_fair_sample(
            rng.normal(size=(80, 2)), rng.permutation(80) < 30, random_state=k
        ).p_value
        for k in range(150)
    ]
    for level in (0.1, 0.3, 0.5):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.12)


def test_what_it_takes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    labeled = np.abs(X[:, 0]) < 0.3
    expected = check_fair_sample(X, labeled)
    assert not expected.is_fair
    assert (expected.n_labeled, expected.n_others) == (200, 300)
    assert "do not look like a random sample of all rows (p = 0.005)" in str(expected)
    y = np.where(labeled, rng.choice(["a", "b"], 1000), "")
    assert check_fair_sample(X, y) == expected
    assert check_fair_sample(csr_matrix(X), y).p_value == pytest.approx(expected.p_value)
    few = check_fair_sample(X[:5], np.array([0, 1, -1, -1, -1]))
    assert (few.p_value, few.is_fair) == (1.0, True)
    assert "too few rows" in str(few)
    assert "no sign" in str(check_fair_sample(np.ones((50, 2)), np.arange(50) % 2 == 0))
