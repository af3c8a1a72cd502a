"""Thresholds by the share that is expected to be positive, with values computed apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score

from semisvm.estimators.auto.operating import place_threshold
from semisvm.model_selection.thresholds import (
    accept_share,
    best_f1_share,
    expected_share,
    fit_probability,
)

NEGATIVE = [-1.2, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2]
SIGN = np.repeat([-1, 1], [9, 3])
POOL = np.linspace(-1.2, 0.4, 17)


@pytest.mark.parametrize(
    ("last", "sigmoid", "share", "threshold"),
    [(0.3, (3.8879, 0.2354), 0.3182, -0.1092), (18.0, (1.6826, -0.5918), 0.2495, 0.0008)],
)
def test_the_expected_share_and_its_threshold(last, sigmoid, share, threshold):
    """Reference values of a computation by hand; a score of 18 counts as 2."""
    scores = np.clip([*NEGATIVE, 0.1, -0.1, last], -2, 2)
    probability = fit_probability(scores, SIGN, fewest=2)
    assert_allclose((probability.slope, probability.offset), sigmoid, atol=2e-4)
    assert expected_share(probability, POOL) == pytest.approx(share, abs=1e-4)
    assert accept_share(POOL, expected_share(probability, POOL)) == pytest.approx(
        threshold, abs=2e-4
    )


def test_the_share_of_the_best_expected_f1_by_brute_force():
    rng = np.random.default_rng(0)
    sign = np.where(rng.random(200) < 0.15, 1, -1)
    probability = fit_probability(rng.normal(size=200) + 1.5 * (sign > 0), sign)
    pool = rng.normal(size=40)
    p = probability.of(pool)
    expected = [2 * np.sort(p)[-k:].sum() / (k + p.sum()) for k in range(1, 41)]
    assert best_f1_share(probability, pool) == (1 + np.argmax(expected)) / 40


def test_equal_scores_are_accepted_together_whichever_way_is_nearer_to_the_share():
    pool = np.repeat([-1.0, 1.0], [60, 40])
    for share in (0.21, 0.38, 0.42, 0.69):
        assert np.mean(pool > accept_share(pool, share)) == pytest.approx(0.4)
    assert np.mean(pool > accept_share(pool, 0.1)) == 0
    assert np.mean(pool > accept_share(pool, 0.9)) == 1


def test_one_outlying_score_changes_little_and_rare_positives_are_found():
    rng = np.random.default_rng(1)
    sign = np.where(rng.random(100) < 0.1, 1, -1)
    truth = np.where(rng.random(2000) < 0.1, 1, -1)
    scores = -0.8 + 0.3 * rng.normal(size=100) + 0.6 * (sign > 0)
    pool = -0.8 + 0.3 * rng.normal(size=(2000, 1)) + 0.6 * (truth > 0)[:, None]
    weight = np.ones(2000)
    f1 = {}
    shares = {}
    for rule in ("share", "f1", "labeled_f1", "score"):
        accepted = pool[:, 0] > place_threshold(rule, scores, sign, pool, weight)
        f1[rule] = f1_score(truth, np.where(accepted, 1, -1), zero_division=0)
        shares[rule] = accepted.mean()
    assert shares["share"] == pytest.approx(0.1, abs=0.03)
    assert min(f1["share"], f1["f1"], f1["labeled_f1"]) > f1["score"] + 0.2
    scores[np.flatnonzero(sign < 0)[0]] = 18.0
    moved = pool[:, 0] > place_threshold("share", scores, sign, pool, weight)
    assert moved.mean() == pytest.approx(shares["share"], abs=0.04)


def test_where_rows_or_labels_are_too_few_scores_above_0_count():
    scores = np.array([*NEGATIVE, 0.1, -0.1, 0.3])
    pool = POOL[:, None]
    assert place_threshold("share", scores, SIGN, pool, np.ones(17)) == 0
    weighted = place_threshold("f1", scores, SIGN, pool, np.full(17, 3.0))
    repeated = place_threshold("f1", scores, SIGN, np.repeat(pool, 3, axis=0), np.ones(51))
    assert weighted == repeated != 0
    many = np.repeat(pool, 3, axis=0)
    assert place_threshold("share", scores[:10], SIGN[:10], many, np.ones(51)) == 0
    apart = np.repeat([-1.0, 1.0], [350, 150])[:, None]  # the share above 0 is nearly as expected
    assert place_threshold("share", scores, SIGN, apart, np.ones(500)) == 0


def test_where_scores_do_not_rise_with_the_class_the_share_of_the_labels_is_accepted():
    scores = -np.array([*NEGATIVE, 0.1, -0.1, 0.3])
    pool = np.linspace(-1.2, 0.4, 400)[:, None]
    accepted = pool > place_threshold("share", scores, SIGN, pool, np.ones(400))
    assert accepted.mean() == np.mean(SIGN > 0)
