"""Evidence for a recall from draws in phases: fair for every pool in the null, by enumeration."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semisvm.decision.linear_claims import StratifiedClaim, bet_on
from semisvm.decision.recall_sets import (
    N_EARLY,
    SHIFTS_BELOW,
    Phase,
    RecallEvidence,
    band_rates,
    plan_phase,
)

LEVEL = 0.6
BANDS = np.array([0, 0, 1, 1, 2])
SIZES = np.bincount(BANDS).astype(float)
FIRST = Phase(np.array([0.3, 0.15, 0.1]), np.array([0.8, 0.4, 0.1]))


def second_phase(is_positive, rows):
    """A phase that depends on the answers of the first draws, as in a campaign."""
    share = 0.3 + 0.4 * is_positive[rows].mean()
    return Phase(np.array([0.1, 0.2, 0.4 * share]), np.array([0.9, share, share / 2]))


def mean_wealth(is_positive, n_accepting, found):
    """The mean of the wealth after three of five draws, the last two in a new phase, over all
    orders.
    """
    total = 0.0
    for order in itertools.permutations(range(5), 3):
        rows = np.array(order)
        phases = [FIRST] + [second_phase(is_positive, rows[:1])] * 2
        chance = 1.0
        left = set(range(5))
        for row, phase in zip(order, phases, strict=True):
            weights = {i: phase.speeds[BANDS[i]] for i in left}
            chance *= weights[row] / sum(weights.values())
            left.remove(row)
        evidence = RecallEvidence(SIZES, LEVEL, n_accepting)
        bands = BANDS[rows]
        is_good = is_positive[rows] == (bands < n_accepting)
        evidence.read(phases, bands, is_good)
        total += chance * np.exp(evidence.log_wealths(found)[-1]).mean()
    return total


@pytest.mark.parametrize(("n_accepting", "found"), [(1, 0), (2, 0), (1, 1)])
def test_no_pool_in_the_null_lets_the_evidence_grow(n_accepting, found):
    """With `found` positives below the threshold the null is that the set misses the recall."""
    is_below = n_accepting <= BANDS
    n_null = 0
    for labels in itertools.product([False, True], repeat=5):
        is_positive = np.array(labels)
        hits = (is_positive & ~is_below).sum() + found
        misses = (is_positive & is_below).sum() - found
        if misses < 0 or (1 - LEVEL) * hits - LEVEL * misses >= 0:
            continue  # so many can't be found, or the claim is true
        n_null += 1
        assert mean_wealth(is_positive, n_accepting, found) <= 1 + 1e-9
    assert n_null > 0


def test_one_phase_is_the_bet_of_a_linear_claim():
    rng = np.random.default_rng(0)
    sizes = np.array([100.0, 400.0, 1500.0])
    phase = Phase(np.array([4.0, 2.0, 1.0]) / 2700, np.array([0.9, 0.3, 0.02]))
    bands = rng.choice(3, 60, p=[0.3, 0.3, 0.4])
    is_good = rng.random(60) < 0.9
    evidence = RecallEvidence(sizes, 0.8, 1)
    evidence.read([phase] * 40, bands[:40], is_good[:40])
    evidence.read([phase] * 20, bands[40:], is_good[40:])
    log_odds = np.log(phase.beliefs / (1 - phase.beliefs))
    shifted = [1 / (1 + np.exp(-(log_odds + shift))) for shift in SHIFTS_BELOW]
    experts = np.array([[phase.beliefs[0], *(1 - one[1:])] for one in shifted])
    values = np.array([0.2, 0.8, 0.8])
    claim = StratifiedClaim(sizes, values, 0.8 * 1900 - 1e-9, phase.speeds, experts)
    _, path = bet_on(claim, bands, is_good)
    wealths = evidence.log_wealths()
    assert_allclose(np.logaddexp.reduce(wealths, axis=1) - math.log(3), path, atol=1e-9)
    assert evidence.highest() == pytest.approx(max(0, path.max()))


def test_found_positives_can_only_help_and_enough_of_them_prove_it():
    sizes = np.array([10.0, 20.0])
    evidence = RecallEvidence(sizes, 0.8, 1)
    assert evidence.highest() == 0
    assert evidence.highest(found=17) == math.inf  # 16 found below are enough whatever the rest is
    phase = Phase(np.full(2, 1 / 30), np.array([0.9, 0.1]))
    evidence.read([phase] * 6, np.array([0, 1, 1, 0, 1, 1]), np.ones(6, dtype=bool))
    highest = [evidence.highest(found) for found in range(4)]
    assert highest == sorted(highest)


def test_a_phase_draws_where_it_is_worth_most_and_follows_the_answers():
    sizes = np.array([50.0, 200.0, 1000.0])
    predicted = np.array([0.8, 0.3, 0.02])
    nothing = np.zeros(3)
    phase = plan_phase(sizes, predicted, nothing, nothing, 0.8)
    assert (phase.speeds * sizes).sum() == pytest.approx(1)
    assert (phase.speeds > 0).all()
    assert_allclose(phase.beliefs, predicted)
    rates = band_rates(predicted, np.array([10.0, 10, 10]), np.array([2.0, 9, 0]))
    assert (np.diff(rates) <= 0).all()
    assert rates[1] > 0.3


def test_the_first_draws_suit_loose_thresholds_and_later_ones_strict_ones():
    sizes = np.full(20, 200.0)
    rates = 1 / (1 + np.exp(np.linspace(-2, 8, 20)))
    seen = np.full(20, N_EARLY / 20)
    early = plan_phase(sizes, rates, np.zeros(20), np.zeros(20), 0.8)
    late = plan_phase(sizes, rates, seen, seen * rates, 0.8)
    assert_allclose(late.beliefs, early.beliefs)
    needed = {
        n_accepting: [
            RecallEvidence(sizes, 0.8, n_accepting).labels_needed(math.log(10), phase, rates)
            for phase in (early, late)
        ]
        for n_accepting in (17, 7)
    }
    assert needed[17][0] < needed[17][1]
    assert needed[7][0] > needed[7][1]


def test_a_forecast_is_the_number_of_labels_that_it_takes():
    """With right predictions, the median of 40 campaigns is near the forecast."""
    rng = np.random.default_rng(0)
    sizes = np.array([200.0, 300.0, 1500.0])
    rates = np.array([0.9, 0.3, 0.005])
    phase = plan_phase(sizes, rates, np.zeros(3), np.zeros(3), 0.8)
    needed = math.log(10)
    forecast = RecallEvidence(sizes, 0.8, 2).labels_needed(needed, phase, rates)
    taken = []
    for _ in range(40):
        bands = np.repeat(np.arange(3), sizes.astype(int))
        is_positive = rng.random(2000) < rates[bands]
        rows = np.argsort(rng.exponential(size=2000) / phase.speeds[bands])[:600]
        evidence = RecallEvidence(sizes, 0.8, 2)
        evidence.read([phase] * 600, bands[rows], is_positive[rows] == (bands[rows] < 2))
        path = np.logaddexp.reduce(evidence.log_wealths(), axis=1) - math.log(3)
        taken.append(np.argmax(path >= needed) if (path >= needed).any() else 600)
    assert forecast / 1.4 < np.median(taken) < 1.4 * forecast
