"""A target that is reached on fewer labels than a perfect record needs is said to be unproven."""

import numpy as np
import pytest

from semisvm import PreferenceSVC, decision


def perfect_rows(n_positive, n_negative):
    """Every positive above every negative."""
    return np.arange(n_positive + n_negative, 0.0, -1), np.repeat([1, -1], [n_positive, n_negative])


@pytest.mark.parametrize("level", ["empirical", "cross-fitted"])
def test_a_precision_on_too_few_accepted_labels_is_reached_unproven_and_says_so(level):
    point = decision.choose(*perfect_rows(7, 50), decision.Target(min_precision=0.95), level=level)
    assert point.reached
    assert (
        point.reason
        == "This is based on 7 accepted labels; to prove a precision of 0.95 at 90% confidence"
        " takes at least 45, all of them right: don't rely on it."
    )
    assert point.status == "unproven"
    assert point.reason in str(point)
    assert "precision at least 0.95: reached" in str(point).lower()
    assert point.as_dict()["reason"] == point.reason


def test_a_recall_on_too_few_positives_says_so_however_many_rows_are_accepted():
    point = decision.choose(
        *perfect_rows(21, 500), decision.Target(min_recall=0.9, costs=(1000.0, 1.0))
    )
    assert point.reached
    assert point.reason.startswith(
        "This is based on 21 positive labels; to prove a recall of 0.9 at 90% confidence takes at"
        " least 22,"
    )


@pytest.mark.parametrize(("n_positive", "is_thin"), [(44, True), (45, False)])
def test_a_record_long_enough_to_certify_needs_no_remark(n_positive, is_thin):
    point = decision.choose(*perfect_rows(n_positive, 50), decision.Target(min_precision=0.95))
    assert point.counts.accepted == n_positive
    assert point.reached
    assert bool(point.reason) == is_thin
    certified = decision.certify(*perfect_rows(n_positive, 50), decision.Target(min_precision=0.95))
    assert certified.reached != is_thin


def test_each_of_two_targets_is_proved_at_the_full_risk():
    point = decision.choose(
        *perfect_rows(20, 50), decision.Target(min_precision=0.9, min_recall=0.5)
    )
    assert decision.labels_needed(0.9) == 22
    assert (
        "20 accepted labels; to prove a precision of 0.9 at 90% confidence takes at least 22,"
        in point.reason
    )
    assert "recall" not in point.reason


def test_a_precision_of_one_can_not_be_proved():
    point = decision.choose(*perfect_rows(500, 50), decision.Target(min_precision=1.0))
    assert point.reached
    assert "no number of labels can prove a precision of 1" in point.reason


def test_a_given_threshold_on_too_few_labels_says_so():
    point = decision.measure(*perfect_rows(1, 4), 4.5, target=decision.Target(min_precision=0.9))
    assert point.reached
    assert point.reason.startswith("This is based on 1 accepted label; ")


@pytest.mark.parametrize("asked", [{}, {"costs": (5.0, 1.0)}, {"accept": 2}])
def test_without_a_target_for_precision_or_recall_there_is_nothing_to_prove(asked):
    assert decision.choose(*perfect_rows(3, 4), decision.Target(**asked)).reason == ""


def test_a_preference_classifier_records_thin_evidence_and_does_not_warn():
    rng = np.random.default_rng(0)
    sign = np.repeat([1, -1], [30, 50])
    X = rng.normal(size=(80, 2)) + 3.0 * (sign[:, np.newaxis] > 0)
    y = np.where(sign > 0, 1, 0)
    y[np.r_[8:30, 42:80]] = -1
    point = PreferenceSVC(min_precision=0.95, random_state=0).fit(X, y).operating_point_
    assert point.reached
    assert (
        point.reason
        == f"This is based on {point.counts.accepted} accepted labels; to prove a precision of 0.95"
        " at 90% confidence takes at least 45, all of them right: don't rely on it."
    )
