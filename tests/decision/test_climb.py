"""Climbs through nested sets: their labels by counting, where they begin, and how far they get."""

import numpy as np
import pytest

from semisvm import Campaign
from semisvm.decision.climb import best_start, climb_costs, plan_climb
from semisvm.decision.precision_sets import SPREADS, PrefixPath, SetOutlook
from semisvm.decision.spent_risk import SpentBound, most_negatives

SIZES = np.array([50, 100, 200, 400, 800])


def outlook_of(rates, budget=100, level=0.9, start=0):
    """Five sets and one band below them, before any answer."""
    nothing = np.zeros(len(SIZES) + 1)
    return SetOutlook(
        bounds=[SpentBound(int(n), level, budget) for n in SIZES],
        shares=np.eye(len(SIZES))[start],
        risk=0.1,
        edges=np.concatenate([[0], SIZES, [2000]]).astype(float),
        rates=np.array(rates, dtype=float),
        seen=nothing,
        hits=nothing,
        paths=[PrefixPath.empty() for _ in SIZES],
    )


def test_labels_of_a_climb_by_counting_rows():
    """Each set reads its rows up to its own clock; rows of several sets count once."""
    clocks = np.array([0.5, 0.3, 0.4, 0.1, 0.2])
    rng = np.random.default_rng(0)
    is_done = np.array([0.1, 0.1, 0.1, 0.0, 0.0])
    counted = np.zeros(len(SIZES))
    n_orders = 200
    bands = np.searchsorted(SIZES, np.arange(SIZES[-1]), side="right")
    for _ in range(n_orders):
        clock = rng.random(SIZES[-1])
        is_read = clock < is_done[bands]
        for k, n in enumerate(SIZES):
            new = (np.arange(len(clock)) < n) & (clock < clocks[k]) & ~is_read
            counted[k:] += new.sum() / n_orders
            is_read |= new
    unlabeled = np.diff(SIZES, prepend=0) * (1 - is_done)
    costs = climb_costs(clocks[None], 0, is_done, unlabeled)[0]
    np.testing.assert_allclose(costs, counted, rtol=0.03)


def test_a_set_that_is_never_proved_stops_a_climb():
    costs = climb_costs(np.array([[0.5, np.inf, 0.1]]), 0, np.zeros(3), np.full(3, 100.0))[0]
    assert costs[0] == 50
    assert np.isinf(costs[1:]).all()


def test_rows_that_a_set_needs_are_those_of_its_bound():
    bound = SpentBound(400, 0.9, 100)
    limits = most_negatives(400, 0.9, 0.1, 100, 100)[-1]
    reads = bound.reads_needed(20, 0, 1.0, 0.1, 1.0)
    assert (reads == np.flatnonzero(limits >= 0)[0]).all()
    later = bound.reads_needed(20, 2, 1.0, 0.1, 1.0)
    assert (later == np.flatnonzero(limits >= 2)[0]).all()
    assert np.isinf(bound.reads_needed(20, 0, 0.7, 0.1, 1.0)).all()
    assert np.isinf(bound.reads_needed(20, 0, 1.0, 0.1, 0.0)).all()
    assert (np.diff(bound.reads_needed(20, 0, 0.96, 0.1, 1.0)) <= 0).all()  # more luck, fewer rows
    assert len(reads) == len(SPREADS)


def test_climbs_begin_lower_where_positives_are_fewer():
    many = best_start(outlook_of([0.999, 0.999, 0.999, 0.999, 0.99, 0.01]), 100)
    few = best_start(outlook_of([0.999, 0.99, 0.9, 0.5, 0.1, 0.01]), 100)
    assert few < many
    assert SIZES[few] <= 200


def test_a_plan_reads_the_first_open_set_before_larger_ones():
    plan = plan_climb(outlook_of([0.999, 0.999, 0.99, 0.98, 0.3, 0.01], start=1), 100, 0)
    assert plan is not None
    sets, rows = zip(*plan.steps, strict=True)
    assert sets[0] == 1
    assert list(sets) == sorted(sets)
    assert 20 <= rows[0] <= 50  # a perfect record takes 22 rows at one look
    assert all(n < rows[0] for n in rows[1:-1])  # a step up shares rows with the one before


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_campaigns_reach_sets_beyond_the_one_they_begin_at(level):
    """A pool whose predictions are far too sure: the first quarter keeps the precision, and models
    promise it of more than half.
    """
    rng = np.random.default_rng(0)
    n = 2000
    rates = np.concatenate(
        [np.linspace(1.0, level + 0.05, n // 4), np.linspace(0.6, 0, 3 * n // 4)]
    )
    truth = (rng.random(n) < rates).astype(int)
    predicted = np.linspace(6, -3, n)
    probabilities = 1 / (1 + np.exp(-predicted))
    largest = []
    for seed in range(3):
        campaign = Campaign(probabilities, min_precision=level, budget=100, seed=f"{seed:02x}")
        while campaign.n_labels < 100:
            rows = campaign.draw(10)
            campaign.tell(rows, truth[rows])
        accepted = campaign.accepted().rows
        assert truth[accepted].mean() >= level
        largest.append(len(accepted))
    assert np.median(largest) >= n // 8
