"""Counting at all thresholds: against naive counting and scikit-learn, and invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from semisvm import decision
from semisvm.decision.binomial import estimate_f
from semisvm.decision.counts import (
    count_all,
    count_at,
    expected_cost,
    f_score,
    precision,
    recall,
)


@st.composite
def scored_rows(draw):
    """A few rows of both classes, with many ties."""
    n = draw(st.integers(2, 25))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    sign = [1, -1, *draw(st.lists(st.sampled_from([1, -1]), min_size=n - 2, max_size=n - 2))]
    return np.array(scores, float), np.array(sign)


def count_naively(scores, sign, threshold):
    cells = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    for score, true in zip(scores, sign, strict=True):
        accepted = score > threshold
        cells[("tp" if true > 0 else "fp") if accepted else ("fn" if true > 0 else "tn")] += 1
    return decision.Counts(**cells)


@given(scored_rows())
def test_every_threshold_is_counted_as_by_hand(rows):
    scores, sign = rows
    curve = count_all(scores, sign)
    assert curve.thresholds[0] == np.inf
    assert curve.thresholds[-1] == -np.inf
    for index, threshold in enumerate(curve.thresholds):
        assert curve.counts.at(index) == count_naively(scores, sign, threshold)
        assert curve.counts.at(index) == count_at(scores, sign, threshold)


@given(scored_rows())
def test_each_distinct_set_of_accepted_rows_appears_once(rows):
    scores, sign = rows
    curve = count_all(scores, sign)
    assert len(curve.thresholds) == len(set(scores)) + 1
    assert np.all(np.diff(curve.counts.accepted) > 0)
    assert not np.isin(curve.thresholds, scores).any(), (
        "thresholds lie between scores, so ties stay together"
    )


@given(scored_rows(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    scores, sign = rows
    order = random.sample(range(len(scores)), len(scores))
    before = count_all(scores, sign)
    after = count_all(scores[order], sign[order])
    np.testing.assert_array_equal(before.thresholds, after.thresholds)
    np.testing.assert_array_equal(before.counts, after.counts)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_neighboring_floats_and_huge_scores_are_still_separated(scale):
    scores = scale * np.array([1.0, np.nextafter(1.0, 2), -1.7, 1.7])
    curve = count_all(scores, [1, -1, 1, -1])
    np.testing.assert_array_equal(
        [np.count_nonzero(scores > threshold) for threshold in curve.thresholds], [0, 1, 2, 3, 4]
    )


def test_precision_and_recall_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    scores = np.round(rng.standard_normal(300), 1)
    sign = rng.choice([1, -1], 300)
    counts = count_all(scores, sign).counts
    p, r, _ = metrics.precision_recall_curve(sign, scores)
    np.testing.assert_allclose(precision(counts)[1:], p[:-1][::-1])
    np.testing.assert_allclose(recall(counts)[1:], r[:-1][::-1])
    assert np.isnan(precision(counts)[0]), "nothing accepted has no precision"


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("threshold", [-0.4, 0.0, 1.1])
def test_f_agrees_with_scikit_learn(beta, threshold):
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(200)
    sign = rng.choice([1, -1], 200)
    counts = count_at(scores, sign, threshold)
    predicted = np.where(scores > threshold, 1, -1)
    assert f_score(counts, beta) == pytest.approx(metrics.fbeta_score(sign, predicted, beta=beta))


def test_expected_cost_is_the_mean_of_the_costs_of_the_rows():
    counts = count_at([3, 2, 1, 0, -1], [1, -1, 1, -1, 1], 0.5)
    assert expected_cost(counts, (10.0, 3.0)) == pytest.approx((3.0 + 10.0) / 5)


MEASURES = {
    "precision": precision,
    "recall": recall,
    "f_score": f_score,
    "expected_cost": lambda counts: expected_cost(counts, (2.0, 1.0)),
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    "cells", [(0, 0, 0, 0), (0, 0, 0, 10), (0, 3, 0, 7), (0, 0, 4, 6), (2, 1, 3, 4)]
)
def test_a_measure_without_a_denominator_is_undefined_and_no_error(name, cells):
    tp, fp, fn, _ = cells
    denominators = {
        "precision": tp + fp,
        "recall": tp + fn,
        "f_score": tp + fp + fn,
        "expected_cost": sum(cells),
    }
    value = MEASURES[name](decision.Counts(*cells))
    assert np.isnan(value) == (denominators[name] == 0)
    as_array = MEASURES[name](decision.Counts(*(np.array([cell, 1]) for cell in cells)))
    np.testing.assert_array_equal(as_array[0], value)
    assert not np.isnan(as_array[1])


@pytest.mark.parametrize("cells", [(0, 0, 0, 0), (0, 0, 0, 10)])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_an_undefined_f_may_be_anything(cells, beta):
    value, low, high = estimate_f(decision.Counts(*cells), beta)
    assert np.isnan(value)
    assert (low, high) == (0.0, 1.0)
