"""Choosing: against a search by hand over all thresholds, and invariances."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score

from semisvm import decision
from semisvm.decision.counts import count_at
from semisvm.decision.target import best_of

ASKED = [
    {},
    {"beta": 2.0},
    {"min_precision": 0.7},
    {"min_precision": 1.0},
    {"min_recall": 0.8},
    {"min_precision": 0.6, "min_recall": 0.6},
    {"min_precision": 0.95, "min_recall": 0.95},
    {"costs": (5.0, 1.0)},
    {"costs": (1.0, 4.0), "min_recall": 0.5},
    {"accept": 0.3},
    {"accept": 2},
]


@st.composite
def scored_rows(draw):
    n = draw(st.integers(2, 20))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    sign = [1, -1, *draw(st.lists(st.sampled_from([1, -1]), min_size=n - 2, max_size=n - 2))]
    return np.array(scores, float), np.array(sign)


def rank_by_hand(
    scores, sign, threshold, min_precision=None, min_recall=None, beta=1.0, costs=None
):
    """(shortfall, loss) of one threshold: the smaller tuple is the better answer."""
    accepted = scores > threshold
    p = np.mean(sign[accepted] > 0) if accepted.any() else 0.0
    r = np.mean(accepted[sign > 0])
    shortfall = max(0, (min_precision or 0) - p) + max(0, (min_recall or 0) - r)
    if costs is None:
        return shortfall, -fbeta_score(sign, np.where(accepted, 1, -1), beta=beta, zero_division=0)
    return shortfall, costs[0] * np.sum(~accepted & (sign > 0)) + costs[1] * np.sum(
        accepted & (sign < 0)
    )


def is_thin_by_hand(counts, min_precision=None, min_recall=None, **_):
    """Whether a perfect record of as many rows happens too often by luck: target^rows above the
    risk.
    """
    risk = 0.1
    return (min_precision or 0) ** counts.accepted > risk or (
        min_recall or 0
    ) ** counts.positives > risk


@given(scored_rows(), st.sampled_from([asked for asked in ASKED if "accept" not in asked]))
def test_no_threshold_answers_better_than_the_chosen(rows, asked):
    scores, sign = rows
    point = decision.choose(scores, sign, decision.Target(**asked))
    chosen = rank_by_hand(scores, sign, point.threshold, **asked)
    best = min(
        rank_by_hand(scores, sign, cut, **asked) for cut in [*(np.unique(scores) - 0.5), 9.0]
    )
    assert chosen == pytest.approx(best)
    assert point.reached == (best[0] == 0)
    assert bool(point.reason) == (not point.reached or is_thin_by_hand(point.counts, **asked))
    assert point.counts == count_at(scores, sign, point.threshold)


@given(scored_rows(), st.sampled_from(ASKED))
def test_a_monotone_change_of_scores_keeps_the_chosen_rows(rows, asked):
    scores, sign = rows
    before = decision.choose(scores, sign, decision.Target(**asked))
    after = decision.choose(np.exp(scores) + scores**3, sign, decision.Target(**asked))
    np.testing.assert_array_equal(
        scores > before.threshold, np.exp(scores) + scores**3 > after.threshold
    )
    assert before.counts == after.counts


@given(scored_rows(), st.sampled_from(ASKED), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, asked, random):
    scores, sign = rows
    order = random.sample(range(len(scores)), len(scores))
    assert str(decision.choose(scores, sign, decision.Target(**asked))) == str(
        decision.choose(scores[order], sign[order], decision.Target(**asked))
    )


@given(scored_rows(), st.integers(1, 20))
def test_accepting_a_number_of_rows_never_accepts_more_and_keeps_ties_together(rows, number):
    scores, sign = rows
    number = min(number, len(scores))
    point = decision.choose(scores, sign, decision.Target(accept=number))
    accepted = int(np.count_nonzero(scores > point.threshold))
    assert accepted <= number
    if accepted < number:
        following = np.sort(scores)[::-1][accepted]
        assert np.count_nonzero(scores == following) > number - accepted
    assert point.reached == (accepted == number)


def test_a_share_is_rounded_down_to_one_row_at_least():
    scores = np.arange(100.0)
    sign = np.where(np.arange(100) % 2, 1, -1)
    assert decision.choose(scores, sign, decision.Target(accept=0.29)).counts.accepted == 29
    assert decision.choose(scores, sign, decision.Target(accept=0.001)).counts.accepted == 1
    assert decision.choose(scores, sign, decision.Target(accept=1.0)).threshold == -np.inf


def test_rows_to_accept_are_counted_in_the_reference_pool():
    pool = np.linspace(0, 1, 1000)
    point = decision.choose(
        [0.1, 0.6, 0.8, 0.95],
        [-1, 1, -1, 1],
        decision.Target(accept=300),
        reference=pool,
        confidence=0.8,
    )
    assert point.confidence == 0.8
    assert np.count_nonzero(pool > point.threshold) == 300
    assert point.counts == decision.Counts(tp=1, fp=1, fn=1, tn=1)


def test_expensive_misses_make_the_best_answer_a_constant():
    point = decision.choose(
        [3.0, 2.0, 1.0, 0.0], [1, -1, -1, 1], decision.Target(costs=(100.0, 1.0))
    )
    assert point.threshold == -np.inf
    assert point.is_constant
    assert "accepts every row, regardless of its score" in str(point)


def test_an_unreachable_precision_says_the_best_there_is_with_its_interval():
    point = decision.choose([4, 3, 2, 1], [-1, 1, 1, -1], decision.Target(min_precision=0.9))
    assert not point.reached
    assert point.precision.value == pytest.approx(2 / 3)
    low, high = decision.binomial_interval(2, 3)
    assert "No threshold gives precision 0.9 on these 4 labels" in point.reason
    assert f"precision 0.667 [{low:.3f}, {high:.3f}]" in point.reason
    assert "not reached" in str(point)


def test_measuring_a_given_threshold_judges_it_by_the_target():
    rows = [4, 3, 2, 1], [-1, 1, 1, -1]
    assert decision.measure(*rows, 2.5).f_score.value == pytest.approx(0.5)
    point = decision.measure(*rows, 2.5, target=decision.Target(min_recall=0.9))
    assert not point.reached
    assert point.reason.startswith("This threshold does not give recall 0.9")


@pytest.mark.parametrize("level", ["empirical", "cross-fitted"])
def test_the_level_is_kept_and_shown(level):
    point = decision.choose(
        [4, 3, 2, 1], [1, 1, -1, -1], decision.Target(min_precision=0.9), level=level
    )
    assert point.level == level
    assert level in str(point)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("sign", [[1, 1, -1, -1], [-1, -1, 1, 1]])
def test_an_operating_point_is_plain_json(asked, sign):
    point = decision.choose(np.float32([4, 3, 2, 1]), sign, decision.Target(**asked))
    text = json.dumps(point.as_dict(), allow_nan=False)
    assert float(json.loads(text)["threshold"]) == point.threshold


def test_an_operating_point_cannot_be_changed():
    point = decision.choose([2.0, 1.0], [1, -1])
    with pytest.raises(AttributeError):
        point.threshold = 0.0


def test_candidates_of_different_models_are_ranked_by_the_same_rule():
    candidates = decision.Counts(*np.array([[8, 2, 2, 8], [5, 0, 5, 10], [6, 0, 4, 10]]).T)
    assert best_of(candidates, decision.Target()) == (0, True)
    assert best_of(candidates, decision.Target(min_precision=0.9)) == (2, True)
    assert best_of(candidates, decision.Target(min_recall=0.9)) == (0, False)
