"""The guard against constants: its formula by hand, and when a constant replaces the classifier."""

import numpy as np
import pytest

from semisvm.decision.guard import guard

SCORES = np.array([3.0, 2.0, 1.0, 0.5, -0.5, -1.0, -2.0, -3.0, -4.0, -5.0])
SIGN = np.array([1, 1, 1, -1, 1, -1, -1, 1, -1, -1])
NEGATIVE, POSITIVE = 0, 1


def guard_of_two(costs, share=0.5, scores=SCORES, sign=SIGN):
    """The guard of two classes: costs of a missed positive and of an accepted negative."""
    decisions = np.stack([np.zeros(len(scores)), scores], axis=1)
    matrix = np.array([[0.0, costs[1]], [costs[0], 0.0]])
    codes = (np.asarray(sign) > 0).astype(int)
    return guard(decisions, codes, matrix, np.array([1 - share, share]))


def estimate_by_hand(threshold, costs, share, scores=SCORES, sign=SIGN):
    """One extra error of each kind, out of two extra rows of each class."""
    accepted = threshold < scores
    missed = np.sum(~accepted & (sign > 0))
    false_alarms = np.sum(accepted & (sign < 0))
    return costs[0] * share * (missed + 1) / (np.sum(sign > 0) + 2) + costs[1] * (1 - share) * (
        false_alarms + 1
    ) / (np.sum(sign < 0) + 2)


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("costs", [(1.0, 1.0), (2.0, 1.0), (1.0, 5.0), (10.0, 1.0), (1000.0, 1.0)])
def test_the_verdict_is_the_least_of_all_estimates(costs, share):
    verdict = guard_of_two(costs, share)
    cuts = [estimate_by_hand(cut, costs, share) for cut in np.sort(SCORES)[:-1] + 0.01]
    constants = [costs[0] * share, costs[1] * (1 - share)]
    assert verdict.best_cut_cost == pytest.approx(min(cuts))
    assert verdict.own_cost == pytest.approx(estimate_by_hand(0.0, costs, share))
    assert verdict.constant_costs == pytest.approx(constants)
    cheapest = int(np.argmin(constants))
    assert verdict.constant == (cheapest if constants[cheapest] <= min(cuts) else None)


@pytest.mark.parametrize("seed", range(20))
def test_random_scores_with_ties(seed):
    rng = np.random.default_rng(seed)
    sign = np.append([-1, 1], 2 * rng.integers(2, size=8) - 1)
    scores = (rng.normal(size=10) + sign / 2).round(1)
    costs = (float(rng.uniform(0.2, 8)), 1.0)
    share = float(rng.uniform(0.2, 0.8))
    verdict = guard_of_two(costs, share, scores, sign)
    distinct = np.unique(scores)
    cuts = [estimate_by_hand(cut, costs, share, scores, sign) for cut in distinct[:-1]]
    assert verdict.own_cost == pytest.approx(estimate_by_hand(0.0, costs, share, scores, sign))
    assert verdict.best_cut_cost == pytest.approx(min(cuts))
    assert (verdict.constant is None) == (min(costs[0] * share, 1 - share) > min(cuts))


def test_an_expensive_class_is_predicted_everywhere():
    assert guard_of_two((1.0, 1.0)).constant is None
    assert guard_of_two((500.0, 1.0)).constant == POSITIVE
    mirrored = guard_of_two((1.0, 500.0), scores=-SCORES, sign=-SIGN)
    assert mirrored.constant == NEGATIVE
    assert mirrored.best_cut_cost == pytest.approx(guard_of_two((500.0, 1.0)).best_cut_cost)


def test_scaling_both_costs_changes_no_verdict():
    once, often = (guard_of_two((10.0 * scale, scale)) for scale in (1.0, 64.0))
    assert once.constant == often.constant
    assert often.own_cost == pytest.approx(64 * once.own_cost)


def test_tied_scores_leave_only_the_constants():
    verdict = guard_of_two((2.0, 1.0), scores=np.array([1.0, 1.0]), sign=np.array([1, -1]))
    assert verdict.best_cut_cost == np.inf
    assert verdict.constant == POSITIVE
