"""The certificate keeps its promise, in worlds whose true precision and recall are known.

Each world is drawn 2,000 times. The share of draws whose certified threshold breaks the promise
must stay below the risk plus three standard errors of that share: 0.1 + 3 sqrt(0.1 * 0.9 / 2000) =
0.120. Two worlds are just below the target at every threshold, so that every certificate is a
breach. Procedures that are broken on purpose fail the same check, which shows that the check can
fail.
"""

from typing import NamedTuple

import numpy as np
import pytest

from semisvm import decision
from semisvm.decision.binomial import tail
from semisvm.decision.certify import spaced_ranks
from semisvm.decision.counts import count_all, count_each, f_score

DRAWS = 2000
CONFIDENCE = 0.9
MOST_BREACHES = 0.1 + 3 * np.sqrt(0.1 * 0.9 / DRAWS)
TARGET = 0.8
LEVELS = 12  # of the worlds with ties
EAGER = (0.0, 1.0)  # costs that make it accept as few negatives as the promise allows


class World(NamedTuple):
    """Scores uniform on [0, 1] (or on a few levels), and a chance of being positive at each
    score.
    """

    chance: object
    tied: bool = False

    def draw(self, rng, n):
        scores = rng.random(n)
        if self.tied:
            scores = np.floor(LEVELS * scores) / LEVELS
        sign = np.where(rng.random(n) < self.chance(scores), 1, -1)
        sign[:2] = (1, -1) if abs(sign.sum()) == n else sign[:2]
        return scores, sign

    def precision(self, threshold):
        grid = np.arange(LEVELS) / LEVELS if self.tied else (np.arange(20_000) + 0.5) / 20_000
        return float(np.mean(self.chance(grid[grid > threshold])))


def just_below(scores):
    return np.full_like(scores, TARGET - 1e-9)


def rising(scores):
    return scores


def steep(scores):
    return 1 / (1 + np.exp(-12 * (scores - 0.55)))


def falling_and_rising(scores):
    """Precision crosses the target (about 0.8) many times."""
    return TARGET + 0.25 * np.sin(40 * scores) * (scores < 0.93) - 0.06


PRECISION_WORLDS = {
    "at the boundary": World(just_below),
    "at the boundary, tied": World(just_below, tied=True),
    "rising": World(rising),
    "rising, tied": World(rising, tied=True),
    "steep": World(steep),
}


def certify_precision(scores, sign, reference=None):
    target = decision.Target(min_precision=TARGET)
    return decision.certify(scores, sign, target, confidence=CONFIDENCE, reference=reference)


def share_of_breaches(world, procedure, n, with_reference=False):
    """How often a threshold is returned whose true precision is below the target."""
    rng = np.random.default_rng(5)
    truth = {}
    breaches = 0
    for _ in range(DRAWS):
        rows = world.draw(rng, n)
        point = procedure(*rows, world.draw(rng, 3 * n)[0]) if with_reference else procedure(*rows)
        if point.reached:
            # the truth to three digits is enough away from the boundary, and there it is constant
            key = (
                point.threshold
                if world.tied
                else max(-0.001, np.floor(1000 * point.threshold) / 1000)
            )
            if key not in truth:
                truth[key] = world.precision(key)
            breaches += truth[key] < TARGET
    return breaches / DRAWS


@pytest.mark.parametrize("name", PRECISION_WORLDS)
def test_certified_precision_holds_with_thresholds_at_the_rows_own_ranks(name):
    assert share_of_breaches(PRECISION_WORLDS[name], certify_precision, n=150) <= MOST_BREACHES


@pytest.mark.parametrize("name", ["at the boundary", "rising, tied"])
def test_certified_precision_holds_with_thresholds_from_a_reference(name):
    breaches = share_of_breaches(
        PRECISION_WORLDS[name], certify_precision, n=150, with_reference=True
    )
    assert breaches <= MOST_BREACHES


def test_certified_precision_needs_no_monotone_scores_with_a_reference():
    breaches = share_of_breaches(
        World(falling_and_rising), certify_precision, n=300, with_reference=True
    )
    assert breaches <= MOST_BREACHES


@pytest.mark.parametrize("name", ["at the boundary", "at the boundary, tied"])
def test_at_the_boundary_the_check_comes_close_to_failing(name):
    """Exact tests use most of the risk they are given where every certificate is a breach."""
    assert (
        0.04 < share_of_breaches(PRECISION_WORLDS[name], certify_precision, n=400) <= MOST_BREACHES
    )


def test_picking_the_best_of_all_thresholds_breaks_the_promise():
    def best_of_all(scores, sign):
        curve = count_all(scores, sign)
        passed = tail(curve.counts.tp, curve.counts.accepted, TARGET) <= 1 - CONFIDENCE
        best = np.argmax(np.where(passed, f_score(curve.counts), -1))
        point = decision.measure(scores, sign, curve.thresholds[best])
        return point if passed.any() else decision.measure(scores, sign, 0, target=impossible)

    impossible = decision.Target(min_precision=1.0, min_recall=1.0)
    assert (
        share_of_breaches(PRECISION_WORLDS["at the boundary"], best_of_all, n=150)
        > 2 * MOST_BREACHES
    )


def recall_breaches(procedure, tied, n=120):
    """Scores uniform on [0, 1], so that recall at t is 1 - t (on levels: the share of levels above
    t).

    With EAGER costs the highest threshold allowed is taken, the one most likely to break the
    promise.
    """
    rng = np.random.default_rng(6)
    breaches = 0
    for _ in range(DRAWS):
        sign = np.where(rng.random(n) < 0.4, 1, -1)
        scores = rng.random(n)
        if tied:
            scores = np.floor(LEVELS * scores) / LEVELS
        point = procedure(scores, sign)
        levels = np.arange(LEVELS) / LEVELS
        recall = np.mean(levels > point.threshold) if tied else 1 - np.clip(point.threshold, 0, 1)
        breaches += point.reached and recall < TARGET
    return breaches / DRAWS


@pytest.mark.parametrize("tied", [False, True])
def test_certified_recall_holds(tied):
    def procedure(scores, sign):
        target = decision.Target(min_recall=TARGET, costs=EAGER)
        return decision.certify(scores, sign, target, confidence=CONFIDENCE)

    breaches = recall_breaches(procedure, tied)
    assert breaches <= MOST_BREACHES
    assert tied or breaches > 0.02, "without ties the bound is nearly exact"


def test_the_empirical_choice_of_recall_breaks_the_promise():
    def procedure(scores, sign):
        return decision.choose(scores, sign, decision.Target(min_recall=TARGET, costs=EAGER))

    assert recall_breaches(procedure, tied=False) > 2 * MOST_BREACHES


def test_both_promises_hold_together():
    """Positives with density 3 t^2, negatives 3 (1 - t)^2, half and half: both rates are 0.875
    at t = 1/2.
    """
    rng = np.random.default_rng(7)
    target = decision.Target(min_precision=0.85, min_recall=0.85)
    breaches, reached = 0, 0
    for _ in range(DRAWS):
        positive = rng.random(800) < 0.5
        scores = np.where(positive, rng.random(800) ** (1 / 3), 1 - rng.random(800) ** (1 / 3))
        point = decision.certify(scores, np.where(positive, 1, -1), target, confidence=CONFIDENCE)
        t = np.clip(point.threshold, 0, 1)
        recall = 1 - t**3
        false_alarms = (1 - t) ** 3
        kept = recall >= 0.85 and recall / (recall + false_alarms) >= 0.85
        reached += point.reached
        breaches += point.reached and not kept
    assert breaches / DRAWS <= MOST_BREACHES
    assert reached > DRAWS / 20, "a promise that is never made is easily kept"


# Two levels of scores and the rest: the highest is pure and holds just less than TARGET of the
# positives; with the middle one, recall is 1 and precision just below TARGET.
SHARE_POSITIVE = 0.4
CHANCE_OF_HIGH = SHARE_POSITIVE * (TARGET - 1e-6)
ACCEPTED_WITH_MIDDLE = SHARE_POSITIVE / (TARGET - 1e-6)


def draw_two_levels(rng, n):
    """Scores 3, 2 and 1, of which a threshold between two breaks one of both promises."""
    u = rng.random(n)
    scores = np.where(u < CHANCE_OF_HIGH, 3.0, np.where(u < ACCEPTED_WITH_MIDDLE, 2.0, 1.0))
    sign = np.where(u < SHARE_POSITIVE, 1, -1)
    return scores, sign


def full_risk_without_an_order(scores, sign):
    """Precision from high to low, recall everywhere at once, each at the full risk."""
    risk = 1 - CONFIDENCE
    counts = count_each(scores, sign > 0, np.array([2.5, 1.5]))
    is_precise = np.logical_and.accumulate(tail(counts.tp, counts.accepted, TARGET) <= risk)
    return (is_precise & (tail(counts.tp, counts.positives, TARGET) <= risk)).any()


def test_both_targets_at_the_full_risk_need_an_order_that_is_fixed_beforehand():
    """No threshold keeps both promises, so every certificate is false. With the order of a pilot
    they stay within the risk of one; without it the two risks add up, which this world shows.
    """
    rng = np.random.default_rng(3)
    target = decision.Target(min_precision=TARGET, min_recall=TARGET)
    false = np.zeros(2)
    for _ in range(DRAWS):
        scores, sign = draw_two_levels(rng, 300)
        pilot = draw_two_levels(rng, 300)
        point = decision.certify(scores, sign, target, confidence=CONFIDENCE, pilot=pilot)
        false += point.reached, full_risk_without_an_order(scores, sign)
    assert false[0] / DRAWS <= MOST_BREACHES
    assert false[1] / DRAWS > 1.2 * MOST_BREACHES


def test_a_pilot_certifies_both_targets_with_fewer_labels():
    """The world of the test above: with a pilot each target has the full risk."""
    rng = np.random.default_rng(11)
    target = decision.Target(min_precision=0.85, min_recall=0.85)
    reached, breaches = np.zeros(2), 0

    def draw(n):
        positive = rng.random(n) < 0.5
        scores = np.where(positive, rng.random(n) ** (1 / 3), 1 - rng.random(n) ** (1 / 3))
        return scores, np.where(positive, 1, -1)

    for _ in range(DRAWS // 4):
        scores, sign = draw(800)
        point = decision.certify(scores, sign, target, confidence=CONFIDENCE, pilot=draw(800))
        alone = decision.certify(scores, sign, target, confidence=CONFIDENCE)
        reached += point.reached, alone.reached
        t = np.clip(point.threshold, 0, 1)
        recall = 1 - t**3
        kept = recall >= 0.85 and recall / (recall + (1 - t) ** 3) >= 0.85
        breaches += point.reached and not kept
    assert breaches / (DRAWS // 4) <= MOST_BREACHES
    assert reached[0] > 1.2 * reached[1]


def test_a_tie_across_the_first_rank_does_not_end_the_sequence_at_its_start():
    scores = np.repeat([3.0, 2.0, 1.0], 100)
    sign = np.where(np.arange(300) < 100, 1, -1)
    point = decision.certify(scores, sign, decision.Target(min_precision=0.8))
    assert point.reached
    assert point.counts == decision.Counts(tp=100, fp=0, fn=0, tn=200)


def separable(n, share=0.5):
    sign = np.where(np.arange(n) < share * n, 1, -1)
    return np.where(sign > 0, 2.0, -2.0) + np.linspace(0, 1, n), sign


def test_a_perfect_ranking_is_certified_with_its_full_recall():
    point = decision.certify(*separable(200), decision.Target(min_precision=0.9))
    assert point.reached
    assert point.level == "certified"
    assert point.precision.low == 0.9
    assert point.recall.value > 0.8
    assert "The promise holds with probability 90%" in str(point)


def test_too_few_accepted_rows_say_how_many_labels_would_do():
    point = decision.certify(*separable(40), decision.Target(min_precision=0.9))
    assert not point.reached
    assert point.precision.value == 1
    assert "Precision 0.9 can't be certified at 90% confidence from 40 labels." in point.reason
    assert "a perfect record needs 22 accepted rows, about 44 labels" in point.reason
    assert "fewer than about 100 labels" in point.reason


def test_too_few_positives_say_how_many_would_do():
    point = decision.certify(*separable(150, share=0.1), decision.Target(min_recall=0.9))
    assert not point.reached
    assert "a perfect record needs 22 positives, about 220 labels" in point.reason
    assert "Only accepting every row" in point.reason
    assert "fewer than about 100" not in point.reason


def test_a_rate_above_the_target_but_too_short_says_what_that_rate_needs():
    rng = np.random.default_rng(8)
    scores = rng.random(120)
    sign = np.where(rng.random(120) < 0.83, 1, -1)
    point = decision.certify(scores, sign, decision.Target(min_precision=0.82, min_recall=0.2))
    assert not point.reached
    assert "the rate seen" in point.reason


def test_a_target_of_one_cannot_be_certified_by_any_number():
    point = decision.certify(*separable(100), decision.Target(min_precision=1.0))
    assert not point.reached
    assert "No number of labels certifies a precision of 1." in point.reason


@pytest.mark.parametrize("n", [1, 2, 10, 60, 400, 5000])
@pytest.mark.parametrize("target", [0.5, 0.8, 0.99])
def test_ranks_rise_from_one_that_can_pass_to_all_rows(n, target):
    ranks = spaced_ranks(n, target, 0.1)
    assert np.all(np.diff(ranks) > 0)
    assert len(ranks) <= 20
    assert ranks[0] >= 1
    assert ranks[-1] == n
    assert ranks[0] == n or target ** ranks[0] <= 0.1


def test_a_reference_of_the_same_kind_costs_little_recall():
    """The promise holds with any thresholds; with those of the reference's ranks it must also be
    of use.
    """
    recalls = []
    for with_reference in (False, True):
        rng = np.random.default_rng(7)
        found = []
        for _ in range(20):
            scores, sign = World(steep).draw(rng, 300)
            point = certify_precision(
                scores, sign, World(steep).draw(rng, 900)[0] if with_reference else None
            )
            found.append(point.recall.value if point.reached else 0.0)
        recalls.append(np.mean(found))
    assert recalls[0] > 0.5
    assert recalls[1] > recalls[0] - 0.1


# ---- several certificates from the same labels ----


def share_with_a_certificate(confidence, n_splits=10, n_worlds=300):
    """The share of label sets of a true precision of .78 for which the best of several splits is
    certified for .8.
    """
    rng = np.random.default_rng(4)
    target = decision.Target(min_precision=0.8)
    n_certified = 0
    for _ in range(n_worlds):
        scores = rng.random(200)
        sign = np.where(rng.random(200) < 0.78, 1, -1)
        splits = (rng.permutation(200)[:100] for _ in range(n_splits))
        n_certified += any(
            decision.certify(scores[rows], sign[rows], target, confidence=confidence).reached
            for rows in splits
        )
    return n_certified / n_worlds


def test_the_best_of_ten_splits_has_ten_times_the_risk_and_the_certificate_says_so():
    """One certificate keeps its promise, the best of ten does not, and with a tenth of the risk for
    each it does.
    """
    bound = 0.1 + 3 * np.sqrt(0.1 * 0.9 / 300)
    assert share_with_a_certificate(0.9, n_splits=1) <= bound
    assert share_with_a_certificate(0.9) > bound
    assert share_with_a_certificate(1 - 0.1 / 10) <= 0.1
    scores = np.linspace(1, -1, 200)
    point = decision.certify(scores, np.where(scores > 0, 1, -1), decision.Target(0.8))
    assert point.status == "certified"
    assert "for a single certificate" in str(point)
    assert "their risks add up" in str(point)
    assert "a single certificate, which does not cover the best of several" in repr(point)
