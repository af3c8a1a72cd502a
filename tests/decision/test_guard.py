"""The guard against constants: its formula by hand, and when a constant replaces the classifier."""

import numpy as np
import pytest

from semisvm import decision

SCORES = np.array([3.0, 2.0, 1.0, 0.5, -0.5, -1.0, -2.0, -3.0, -4.0, -5.0])
SIGN = np.array([1, 1, 1, -1, 1, -1, -1, 1, -1, -1])


def estimate_by_hand(threshold, costs, share):
    accepted = threshold < SCORES
    missed = np.sum(~accepted & (SIGN > 0))
    false_alarms = np.sum(accepted & (SIGN < 0))
    return costs[0] * share * (missed + 1) / 7 + costs[1] * (1 - share) * (false_alarms + 1) / 7


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("costs", [(1.0, 1.0), (2.0, 1.0), (1.0, 5.0), (10.0, 1.0), (1000.0, 1.0)])
def test_the_verdict_is_the_least_of_all_estimates(costs, share):
    verdict = decision.guard(SCORES, SIGN, costs=costs, positive_share=share)
    cuts = [estimate_by_hand(cut, costs, share) for cut in (np.sort(SCORES)[:-1] + 0.01)]
    constants = {"positive": costs[1] * (1 - share), "negative": costs[0] * share}
    assert verdict.best_cut_cost == pytest.approx(min(cuts))
    assert verdict.own_cost == pytest.approx(estimate_by_hand(0.0, costs, share))
    assert verdict.all_positive_cost == pytest.approx(constants["positive"])
    assert verdict.all_negative_cost == pytest.approx(constants["negative"])
    cheapest = min(constants, key=constants.get)
    assert verdict.constant == (cheapest if constants[cheapest] <= min(cuts) else None)


def test_equal_costs_keep_the_models_own_threshold():
    verdict = decision.guard(SCORES, SIGN, costs=(1.0, 1.0), threshold=0.25)
    assert verdict.threshold == 0.25
    assert verdict.constant is None
    assert verdict.reason == ""


def test_an_expensive_class_is_predicted_everywhere_and_the_reason_says_why():
    verdict = decision.guard(SCORES, SIGN, costs=(500.0, 1.0))
    assert verdict.threshold == -np.inf
    assert verdict.constant == "positive"
    assert "Calling every row positive costs 0.5 per row" in verdict.reason
    assert "5 labeled positives can't promise a rate of missed positives below 1/7" in verdict.reason


def test_the_guard_is_the_same_for_the_other_class():
    expensive_positive = decision.guard(SCORES, SIGN, costs=(500.0, 1.0))
    expensive_negative = decision.guard(-SCORES, -SIGN, costs=(1.0, 500.0))
    assert expensive_negative.threshold == -expensive_positive.threshold
    assert expensive_negative.best_cut_cost == pytest.approx(expensive_positive.best_cut_cost)
    assert "accepted negatives below 1/7" in expensive_negative.reason


def test_scaling_both_costs_changes_no_verdict():
    one, many = (decision.guard(SCORES, SIGN, costs=(10.0 * scale, scale)) for scale in (1.0, 64.0))
    assert one.threshold == many.threshold
    assert many.own_cost == pytest.approx(64 * one.own_cost)


def test_tied_scores_leave_only_the_constants():
    verdict = decision.guard([1.0, 1.0], [1, -1], costs=(2.0, 1.0))
    assert verdict.best_cut_cost == np.inf
    assert verdict.constant == "positive"


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_class_share_outside_0_and_1_is_refused(share):
    with pytest.raises(ValueError, match="positive_share must lie strictly between 0 and 1"):
        decision.guard(SCORES, SIGN, costs=(1.0, 1.0), positive_share=share)
