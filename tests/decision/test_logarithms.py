"""The special functions of campaigns beside SciPy's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from semisvm.decision.logarithms import expit, log_gamma, log_sum_exp, logit


def test_log_gamma():
    x = np.concatenate([np.linspace(1, 30, 2001), np.geomspace(30, 1e8, 500)])
    assert_allclose(log_gamma(x), special.gammaln(x), rtol=3e-14, atol=3e-13)
    assert log_gamma(1.0) == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_log_sum_exp(axis):
    rng = np.random.default_rng(0)
    values = 300 * rng.normal(size=(5, 7))
    values[2] = -np.inf
    values[:, 3] = -np.inf
    assert_allclose(log_sum_exp(values, axis), special.logsumexp(values, axis=axis))
    assert log_sum_exp([np.inf, 0.0]) == np.inf


def test_log_odds():
    x = np.linspace(-800, 800, 401)
    assert_allclose(expit(x), special.expit(x), rtol=1e-13, atol=1e-300)
    p = np.linspace(1e-9, 1 - 1e-9, 101)
    assert_allclose(logit(p), special.logit(p), rtol=1e-12, atol=1e-14)
