"""PSVM's adjusting step, on the paper's own Figures 2 and 3 and against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semisvm import decision
from semisvm.decision.counts import count_all, count_at, precision, recall
from semisvm.estimators.preference.paper import adjust

# From the highest score down; 0 lies after the sixth row: precision 4/6, recall 4/7.
SCORES = np.array([6.0, 5, 4, 3, 2, 1, -1, -2, -3, -4, -5, -6])
SIGN = np.array([1, 1, -1, 1, 1, -1, 1, -1, 1, -1, 1, -1])


def rates(threshold):
    counts = count_at(SCORES, SIGN, threshold)
    return precision(counts), recall(counts)


def test_a_precision_not_met_moves_the_threshold_up_just_far_enough():
    threshold = adjust(SCORES, SIGN, min_precision=0.8)
    assert threshold == 1.5
    assert rates(threshold) == (0.8, 4 / 7)


def test_a_recall_not_met_moves_the_threshold_down_just_far_enough():
    threshold = adjust(SCORES, SIGN, min_recall=0.8)
    assert threshold == -3.5
    assert rates(threshold) == (6 / 9, 6 / 7)


def test_both_preferences_move_to_the_nearest_threshold_that_meets_both():
    assert adjust(SCORES, SIGN, min_precision=0.6, min_recall=0.7) == -1.5


def test_preferences_that_exclude_each_other_come_as_near_as_they_can():
    threshold = adjust(SCORES, SIGN, min_precision=0.95, min_recall=0.95)
    target = decision.Target(min_precision=0.95, min_recall=0.95)
    curve = count_all(SCORES, SIGN)
    assert (
        target.shortfall(count_at(SCORES, SIGN, threshold)) == target.shortfall(curve.counts).min()
    )


def test_a_precision_out_of_reach_above_gives_the_highest_there_is_above():
    scores = [4.0, 3.0, -1.0, -2.0]
    sign = [-1, 1, 1, 1]
    assert adjust(scores, sign, min_precision=0.9) < 3
    assert count_at(scores, sign, adjust(scores, sign, min_precision=0.9)).accepted == 2


def test_no_preference_takes_the_best_f1():
    threshold = adjust(SCORES, SIGN)
    assert threshold == decision.choose(SCORES, SIGN).threshold


def test_a_preference_already_met_is_not_given_up_for_a_better_f1():
    threshold = adjust(SCORES, SIGN, min_precision=0.66)
    assert rates(threshold)[0] >= 0.66
    assert threshold == decision.choose(SCORES, SIGN, decision.Target(min_precision=0.66)).threshold


def test_the_papers_rule_raises_the_smaller_rate_to_the_larger():
    """At 0 precision is 4/6 and recall 4/7, so recall is raised to 4/6 at least."""
    threshold = adjust(SCORES, SIGN, rule="paper")
    assert threshold == -1.5
    assert rates(threshold)[1] == 5 / 7


def test_the_papers_rule_raises_precision_where_that_is_the_smaller():
    scores = np.array([5.0, 4, 3, 2, 1, -1])
    sign = np.array([1, 1, -1, 1, -1, -1])
    assert adjust(scores, sign, rule="paper") == 4 - 0.5


def test_equal_rates_stay_where_they_are_under_the_papers_rule():
    assert adjust([2, 1, -1, -2], [1, -1, 1, -1], rule="paper") == 0.0


def test_the_papers_rule_falls_back_to_the_best_f1_where_no_positive_is_accepted():
    scores = [-1.0, -2.0, -3.0, -4.0]
    sign = [1, 1, -1, -1]
    assert adjust(scores, sign, rule="paper") == -2.5


@given(
    st.permutations(range(12)),
    st.sampled_from(["best", "paper"]),
    st.sampled_from([None, 0.5, 0.75, 0.9]),
)
def test_an_unmet_preference_is_met_wherever_some_threshold_above_meets_it(order, rule, least):
    sign = SIGN[order]
    threshold = adjust(SCORES, sign, min_precision=least, rule=rule)
    curve = count_all(SCORES, sign)
    now = count_at(SCORES, sign, 0.0)
    if least is None or precision(now) >= least:
        return
    above = precision(curve.counts)[curve.thresholds >= 0]
    if np.any(above >= least):
        assert precision(count_at(SCORES, sign, threshold)) >= least
        between = (curve.thresholds > 0) & (curve.thresholds < threshold)
        assert not np.any(precision(curve.counts)[between] >= least), "no nearer threshold meets it"


@pytest.mark.parametrize("rule", ["best", "paper"])
def test_with_nothing_accepted_a_precision_is_sought_below(rule):
    """There is no precision to raise, and the paper's direction leads nowhere: the nearest
    threshold that gives it.
    """
    scores = [-1.0, -2.0, -3.0, -4.0]
    sign = [1, 1, -1, -1]
    assert adjust(scores, sign, min_precision=0.9, rule=rule) == -1.5


def test_an_unknown_rule_is_named():
    with pytest.raises(ValueError, match='rule must be "best" or "paper", got \'worst\''):
        adjust(SCORES, SIGN, rule="worst")
