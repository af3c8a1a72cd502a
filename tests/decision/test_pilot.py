"""With an order learned from a pilot the certificate keeps its promise in any world, and gains
where the top is bad.

As in test_certify.py each world is drawn 2,000 times, and at most 0.120 of the draws may be
breaches.
"""

import numpy as np
import pytest

from decision.test_certify import (
    CONFIDENCE,
    MOST_BREACHES,
    PRECISION_WORLDS,
    TARGET,
    World,
    falling_and_rising,
    share_of_breaches,
)
from decision.test_certify import certify_precision as from_the_top
from semisvm import decision
from semisvm.decision.binomial import fewest_that_pass, tail
from semisvm.decision.certify import order_by_pilot

RNG_SEED = 9


def bad_top(scores):
    """Nearly all positive from 0.6 to 0.95, few above, a slope below."""
    return np.where(scores > 0.95, 0.3, np.where(scores > 0.6, 0.95, scores))


def just_below_at_the_best(scores):
    """The best precision of all, from 0.5 up, is just below the target: every certificate is a
    breach.
    """
    return np.where(scores > 0.5, TARGET - 1e-9, 0.3)


WORLDS = {
    "at the boundary": PRECISION_WORLDS["at the boundary"],
    "bad top": World(bad_top),
    "bad top, tied": World(bad_top, tied=True),
    "falling and rising": World(falling_and_rising),
    "just below at the best": World(just_below_at_the_best),
}


def with_pilot_of(world, rng, n_pilot, distort=None):
    """A procedure that draws a pilot from the world; `distort` makes its scores those of another
    model.
    """

    def procedure(scores, sign, reference=None):
        other, truth = world.draw(rng, n_pilot)
        other = other if distort is None else distort(other)
        target = decision.Target(min_precision=TARGET)
        return decision.certify(
            scores, sign, target, confidence=CONFIDENCE, reference=reference, pilot=(other, truth)
        )

    return procedure


@pytest.mark.parametrize("name", WORLDS)
def test_the_promise_holds_whatever_the_world(name):
    world = WORLDS[name]
    rng = np.random.default_rng(RNG_SEED)
    assert share_of_breaches(world, with_pilot_of(world, rng, n_pilot=100), n=200) <= MOST_BREACHES


@pytest.mark.parametrize("name", ["at the boundary", "bad top, tied"])
def test_the_promise_holds_with_thresholds_from_a_reference(name):
    world = WORLDS[name]
    rng = np.random.default_rng(RNG_SEED)
    procedure = with_pilot_of(world, rng, n_pilot=100)
    assert share_of_breaches(world, procedure, n=200, with_reference=True) <= MOST_BREACHES


def test_at_the_boundary_the_check_comes_close_to_failing_and_a_pilot_of_the_same_rows_fails():
    """Where every certificate is a breach, the test's risk is used up; a start picked on the
    same rows exceeds it.
    """
    world = WORLDS["just below at the best"]
    rng = np.random.default_rng(RNG_SEED)
    assert share_of_breaches(world, with_pilot_of(world, rng, n_pilot=400), n=400) > 0.04

    def its_own_pilot(scores, sign):
        target = decision.Target(min_precision=TARGET)
        return decision.certify(scores, sign, target, confidence=CONFIDENCE, pilot=(scores, sign))

    assert share_of_breaches(world, its_own_pilot, n=400) > 1.5 * MOST_BREACHES


def test_a_misleading_pilot_costs_power_but_breaks_no_promise():
    world = WORLDS["falling and rising"]
    rng = np.random.default_rng(RNG_SEED)
    procedure = with_pilot_of(world, rng, n_pilot=100, distort=lambda scores: -scores)
    assert share_of_breaches(world, procedure, n=300, with_reference=True) <= MOST_BREACHES


def mean_recall(world, procedure, n, draws=200):
    """The recall of what is certified, 0 where nothing is."""
    rng = np.random.default_rng(RNG_SEED)
    points = [procedure(*world.draw(rng, n), world.draw(rng, 3 * n)[0]) for _ in range(draws)]
    return np.mean([point.recall.value if point.reached else 0.0 for point in points])


def test_a_bad_top_does_not_prevent_a_certificate():
    world = WORLDS["bad top"]
    rng = np.random.default_rng(RNG_SEED)
    assert mean_recall(world, from_the_top, n=400) < 0.1
    assert mean_recall(world, with_pilot_of(world, rng, n_pilot=400), n=400) > 0.4
    # the scores of another model serve as well, whatever their scale
    other = with_pilot_of(world, rng, n_pilot=400, distort=lambda scores: np.exp(3 * scores) - 7)
    assert mean_recall(world, other, n=400) > 0.4


@pytest.mark.parametrize("name", ["rising", "steep"])
@pytest.mark.parametrize("n", [100, 400])
def test_where_the_top_is_best_a_pilot_costs_almost_nothing(name, n):
    world = PRECISION_WORLDS[name]
    rng = np.random.default_rng(RNG_SEED)
    present = mean_recall(world, from_the_top, n)
    assert mean_recall(world, with_pilot_of(world, rng, n_pilot=n), n) > present - 0.03


def test_the_order_starts_where_the_pilot_promises_most_and_goes_down():
    rng = np.random.default_rng(RNG_SEED)
    scores, sign = World(bad_top).draw(rng, 2000)
    order = order_by_pilot(
        2000, scores, sign > 0, None, decision.Target(min_precision=TARGET), 0.1, 20
    )
    assert 0.59 < order[0] < 0.9
    assert (np.diff(order) < 0).all()
    assert len(order) <= 20


@pytest.mark.parametrize("trials", [1, 7, 11, 60, 500])
def test_the_fewest_that_pass_do_pass_and_one_less_does_not(trials):
    fewest = fewest_that_pass(trials, TARGET, 0.1)
    passes = [tail(k, trials, TARGET) <= 0.1 for k in range(trials + 1)]
    assert fewest == (passes.index(True) if any(passes) else trials + 1)


@pytest.mark.parametrize("n_pilot", [2, 5])
def test_a_pilot_of_a_few_rows_is_no_error(n_pilot):
    scores = np.linspace(0, 1, 60)
    sign = np.where(scores > 0.5, 1, -1)
    point = decision.certify(
        scores,
        sign,
        decision.Target(min_precision=0.7),
        pilot=(np.arange(n_pilot), np.arange(n_pilot) % 2 * 2 - 1),
    )
    assert point.level == "certified"


def test_a_pilot_of_one_class_is_refused():
    with pytest.raises(ValueError, match="no negative among the 3 rows"):
        decision.certify(
            [1, 2, 3],
            [1, -1, 1],
            decision.Target(min_precision=0.7),
            pilot=([1, 2, 3], [1, 1, 1]),
        )


@pytest.mark.parametrize("pilot", [None, ([1, 2, 3], [1, -1, 1])])
def test_no_threshold_at_all_is_refused(pilot):
    target = decision.Target(min_precision=0.7)
    with pytest.raises(ValueError, match="n_thresholds must be at least 1, got 0"):
        decision.certify([1, 2, 3], [1, -1, 1], target, pilot=pilot, n_thresholds=0)
