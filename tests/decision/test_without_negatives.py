"""What scores of positives and of unlabeled rows can prove: exact numbers, brute force, and
simulated draws.
"""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import roc_auc_score

from semisvm.decision import OperatingPoint, Target
from semisvm.decision.operating_point import judge_without_negatives
from semisvm.decision.without_negatives import (
    AcceptedCounts,
    accept_best,
    bound_lift,
    bound_prior,
    certify_recall,
    choose_without_negatives,
    rank_auc,
    reach_recall,
)


@pytest.mark.parametrize(
    ("n", "recall", "needed"),
    [
        *(
            (20, 0.8, 19),
            (30, 0.8, 28),
            (50, 0.8, 45),
            (100, 0.8, 86),
            (200, 0.8, 168),
            (1000, 0.8, 817),
        ),
        *(
            (20, 0.9, None),
            (21, 0.9, None),
            (22, 0.9, 22),
            (30, 0.9, 30),
            (50, 0.9, 49),
            (100, 0.9, 95),
        ),
        *(
            (200, 0.9, 186),
            (1000, 0.9, 913),
            (50, 0.95, 50),
            (100, 0.95, 99),
            (200, 0.95, 195),
            (1000, 0.95, 960),
        ),
        (50, 1.0, None),
    ],
)
def test_a_recall_is_certified_by_the_fewest_positives_that_prove_it(n, recall, needed):
    scores = np.random.default_rng(0).permutation(n).astype(float)
    threshold = certify_recall(scores, recall, confidence=0.9)
    if needed is None:
        assert threshold is None
    else:
        assert np.count_nonzero(scores > threshold) == needed
        assert stats.binom.sf(needed - 1, n, recall) <= 0.1 < stats.binom.sf(needed - 2, n, recall)


def test_the_bound_on_the_lift_is_the_known_number():
    assert bound_lift(86, 100, 400, 3000) == pytest.approx(5.4549, abs=5e-5)


def test_the_bound_on_the_prior_is_the_known_number():
    positive = np.arange(1, 101) / 100
    unlabeled = np.concatenate([np.linspace(-1, 0, 800), 0.005 * np.arange(1, 201)])
    estimate, bound = bound_prior(positive, unlabeled)
    assert estimate == pytest.approx(0.20097, abs=5e-6)
    assert bound == pytest.approx(0.24986, abs=1e-5)


def test_a_prior_needs_ten_positives_and_never_exceeds_one():
    with pytest.raises(ValueError, match="at least 10 labeled positives, got 9"):
        bound_prior(np.arange(9.0), np.arange(50.0))
    same = np.arange(30.0)
    assert bound_prior(same, same).bound == 1.0


def test_the_auc_is_scikit_learns():
    rng = np.random.default_rng(1)
    positive = rng.integers(0, 6, 40) + 1.0
    unlabeled = rng.integers(0, 6, 90).astype(float)
    truth = np.concatenate([np.ones(40), np.zeros(90)])
    assert rank_auc(positive, unlabeled) == pytest.approx(
        roc_auc_score(truth, np.concatenate([positive, unlabeled]))
    )


@pytest.mark.parametrize("prior", [None, 0.05, 0.3, 0.9])
def test_the_threshold_is_the_best_of_all(prior):
    rng = np.random.default_rng(2)
    positive = rng.normal(1.5, 1, 30).round(1)
    unlabeled = rng.normal(0, 1, 80).round(1)

    def gain(threshold):
        r = np.mean(positive > threshold)
        a = np.mean(unlabeled > threshold)
        return r - a if prior is None else 2 * prior * r / (prior + a)

    every = [-100.0, *positive, *unlabeled]
    assert gain(choose_without_negatives(positive, unlabeled, prior)) == max(map(gain, every))


def test_reaching_a_recall_and_accepting_rows_take_no_more_than_needed():
    scores = np.random.default_rng(3).permutation(200) / 7
    assert [
        np.count_nonzero(scores > reach_recall(scores, share)) for share in (0.001, 0.7, 1.0)
    ] == [1, 140, 200]
    assert [np.count_nonzero(scores > accept_best(scores, number)) for number in (1, 37, 200)] == [
        1,
        37,
        200,
    ]
    assert [
        np.count_nonzero(scores > accept_best(scores, share)) for share in (0.001, 0.25, 1.0)
    ] == [1, 50, 200]
    with pytest.raises(ValueError, match="more rows than there are: 200"):
        accept_best(scores, 201)
    with pytest.raises(ValueError, match="share"):
        accept_best(scores, 1.5)


# ---- what is said about a threshold ----

COUNTS = AcceptedCounts(86, 100, 400, 3000)


def test_a_precision_is_only_known_where_the_prior_is_given():
    estimated = judge_without_negatives(0.0, COUNTS, prior_estimate=0.1, prior_bound=0.2)
    assert math.isnan(estimated.precision.value)
    assert estimated.as_dict()["precision"] == {"value": None, "low": None, "high": None}
    assert "precision depends on the prior, which is not known: 0.32 if 5.0% are positive" in str(
        estimated
    )
    assert estimated.positive_unlabeled.precision_at(0.1) == pytest.approx(0.645)
    given = judge_without_negatives(0.0, COUNTS, prior=(0.1, 0.12))
    assert_allclose(
        given.precision,
        (math.sqrt(0.012) * 6.45, 0.1 * given.lift.low, min(1, 0.12 * given.lift.high)),
    )
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        given.positive_unlabeled.precision_at(1.0)


def test_a_certified_point_promises_lower_bounds_and_no_more():
    point = judge_without_negatives(
        0.0, COUNTS, Target(min_recall=0.8), level="certified", prior=(0.1, 0.1)
    )
    assert point.recall.low == pytest.approx(stats.beta.ppf(0.1, 86, 15))
    assert point.recall.low >= 0.8
    assert (point.recall.high, point.lift.high) == (1.0, math.inf)
    assert point.lift.low == bound_lift(*COUNTS)
    assert point.precision.low == 0.1 * point.lift.low
    assert point.precision.high == 1.0
    assert "recall is at least 0.8" in str(point)
    assert "for a single certificate. The best of several" in str(point)
    assert "random sample of all positives" in str(point)


def test_the_status_says_what_came_of_a_recall():
    def status(min_recall=None, **judged):
        return judge_without_negatives(0.0, COUNTS, Target(min_recall=min_recall), **judged).status

    assert status() == "chosen"
    assert status(min_recall=0.7) == "reached"
    assert status(min_recall=0.85) == "unproven"
    assert status(min_recall=0.8, level="certified") == "certified"
    assert status(min_recall=0.95, level="certified", reached=False, reason="too few") == "missed"


@pytest.mark.parametrize("level", ["cross-fitted", "certified"])
@pytest.mark.parametrize("counts", [COUNTS, AcceptedCounts(5, 9, 0, 30)])
@pytest.mark.parametrize("prior", [None, (0.1, 0.2)])
def test_a_point_survives_json(level, counts, prior):
    point = judge_without_negatives(0.5, counts, level=level, prior=prior, reason="because")
    again = OperatingPoint.from_dict(json.loads(json.dumps(point.as_dict())))
    assert repr(again) == repr(point)  # NaN is not equal to itself
    assert str(again) == str(point)


# ---- simulated draws ----


@pytest.mark.parametrize(("n", "recall"), [(30, 0.8), (100, 0.8), (50, 0.9), (200, 0.9)])
def test_recall_and_lift_certificates_break_in_at_most_a_tenth_of_draws(n, recall):
    rng = np.random.default_rng(4)
    broken = np.zeros(2)
    n_draws, N, prior = 1000, 500, 0.2
    for _ in range(n_draws):
        positive = rng.normal(1.5, 1, n)
        is_positive = rng.random(N) < prior
        unlabeled = rng.normal(0, 1, N) + 1.5 * is_positive
        threshold = certify_recall(positive, recall)
        true_recall = stats.norm.sf(threshold - 1.5)
        true_share = prior * true_recall + (1 - prior) * stats.norm.sf(threshold)
        counts = (int((positive > threshold).sum()), n, int((unlabeled > threshold).sum()), N)
        broken += true_recall < recall, true_recall / true_share < bound_lift(*counts)
    assert (broken <= 0.1 * n_draws + 2 * math.sqrt(0.09 * n_draws)).all()


def test_lower_bounds_hold_in_nine_draws_of_ten_where_scores_are_equal():
    """Four scores, equally frequent: more positives are accepted than prove the recall."""
    rng = np.random.default_rng(6)
    broken = np.zeros(2)
    n_draws, n = 1000, 100
    target = Target(min_recall=0.5)
    for _ in range(n_draws):
        positive, unlabeled = rng.integers(1, 5, n), rng.integers(1, 5, 100_000)
        threshold = certify_recall(positive, 0.5)
        counts = AcceptedCounts(
            int((positive > threshold).sum()), n, int((unlabeled > threshold).sum()), 100_000
        )
        point = judge_without_negatives(threshold, counts, target, level="certified")
        true_recall = true_share = (4 - math.floor(threshold)) / 4
        broken += true_recall < point.recall.low, true_recall / true_share < point.lift.low
    assert (broken <= 0.1 * n_draws + 2 * math.sqrt(0.09 * n_draws)).all()


@pytest.mark.parametrize("separation", [1.0, 2.5])
def test_the_bound_on_the_prior_holds_in_nine_draws_of_ten(separation):
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(500):
        unlabeled = rng.normal(0, 1, 500) + separation * (rng.random(500) < 0.2)
        held += bound_prior(rng.normal(separation, 1, 50), unlabeled).bound >= 0.2
    assert held >= 450
