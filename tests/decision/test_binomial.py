"""Exact intervals against SciPy's, and the coverage they promise, simulated."""

import numpy as np
import pytest
from scipy import stats

from semisvm import decision
from semisvm.decision.binomial import estimate_cost, estimate_f, tail
from semisvm.decision.counts import expected_cost, f_score

RECORDS = [(0, 1), (1, 1), (0, 12), (12, 12), (7, 12), (3, 200), (199, 200)]


@pytest.mark.parametrize(("successes", "trials"), RECORDS)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("side", "alternative"), [("two-sided", "two-sided"), ("lower", "greater"), ("upper", "less")]
)
def test_intervals_are_clopper_and_pearsons(successes, trials, confidence, side, alternative):
    expected = stats.binomtest(successes, trials, alternative=alternative).proportion_ci(confidence)
    ours = decision.binomial_interval(successes, trials, confidence, side)
    np.testing.assert_allclose(ours, (expected.low, expected.high), rtol=1e-9, atol=1e-12)


def test_intervals_of_arrays_are_those_of_their_entries():
    successes, trials = np.array(RECORDS).T
    low, high = decision.binomial_interval(successes, trials)
    for index, record in enumerate(RECORDS):
        assert (low[index], high[index]) == decision.binomial_interval(*record)


def test_without_a_trial_the_interval_is_everything():
    assert decision.binomial_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), RECORDS)
@pytest.mark.parametrize("rate", [0.1, 0.8, 1.0])
def test_the_tail_is_the_p_value_of_the_binomial_test(successes, trials, rate):
    expected = stats.binomtest(successes, trials, rate, alternative="greater").pvalue
    assert tail(successes, trials, rate) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("target", "confidence"), [(0.8, 0.9), (0.9, 0.9), (0.95, 0.95), (0.5, 0.99)]
)
def test_the_shortest_perfect_record(target, confidence):
    needed = decision.labels_needed(target, confidence=confidence)
    assert decision.binomial_interval(needed, needed, confidence, "lower")[0] >= target
    assert decision.binomial_interval(needed - 1, needed - 1, confidence, "lower")[0] < target


@pytest.mark.parametrize("rate", [0.85, 0.9, 0.95])
def test_the_record_needed_at_a_rate_is_the_first_that_certifies(rate):
    needed = decision.labels_needed(0.8, rate=rate)
    whole = [m for m in range(20, 1000, 20) if tail(round(rate * m), m, 0.8) <= 0.1]
    assert whole[0] - 20 < needed <= whole[0]


def test_no_number_of_labels_is_enough_for_a_rate_at_the_target_or_a_target_of_one():
    assert decision.labels_needed(0.8, rate=0.8) is None
    assert decision.labels_needed(1.0) is None
    assert decision.labels_needed(0.8, rate=0.8 + 1e-9) is None


# P(tp), P(fp), P(fn), P(tn): rare and common positives, good and poor classifiers
TABLES = [
    (0.1, 0.02, 0.03, 0.85),
    (0.4, 0.1, 0.1, 0.4),
    (0.05, 0.3, 0.01, 0.64),
    (0.02, 0.0, 0.1, 0.88),
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("beta", [1.0, 0.5, 2.0])
def test_the_interval_of_f_covers_as_often_as_it_says(table, beta):
    population = f_score(decision.Counts(*table), beta)
    draws = np.random.default_rng(2).multinomial(60, table, size=600)
    usable = [decision.Counts(*map(int, draw)) for draw in draws if draw[0] + draw[2] > 0]
    estimates = [estimate_f(counts, beta, 0.9) for counts in usable]
    covered = np.mean([low <= population <= high for _, low, high in estimates])
    assert covered >= 0.9 - 3 * np.sqrt(0.09 / len(usable))


def test_the_interval_of_f1_is_not_wider_than_necessary():
    """Coverage is close to the stated one at a medium F1: the transformed interval is not a
    loose bound.
    """
    table = (0.4, 0.1, 0.1, 0.4)
    population = f_score(decision.Counts(*table))
    draws = np.random.default_rng(3).multinomial(400, table, size=1000)
    estimates = [estimate_f(decision.Counts(*map(int, draw))) for draw in draws]
    assert np.mean([low <= population <= high for _, low, high in estimates]) < 0.95


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("costs", [(1.0, 1.0), (20.0, 1.0), (0.0, 5.0)])
def test_the_interval_of_the_cost_covers_as_often_as_it_says(table, costs):
    population = expected_cost(decision.Counts(*table), costs)
    draws = np.random.default_rng(4).multinomial(60, table, size=600)
    estimates = [estimate_cost(decision.Counts(*map(int, draw)), costs, 0.9) for draw in draws]
    covered = np.mean([low - 1e-12 <= population <= high + 1e-12 for _, low, high in estimates])
    assert covered >= 0.9 - 3 * np.sqrt(0.09 / 600)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("cells", [(5, 0, 0, 5), (0, 3, 5, 2), (5, 0, 2, 3), (5, 2, 0, 3)])
def test_the_value_lies_in_its_interval(cells, beta):
    value, low, high = estimate_f(decision.Counts(*cells), beta)
    assert 0 <= low <= value <= high <= 1


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_interval_of_f_ends_where_the_shares_behind_it_do(beta):
    """F is a function of tp / (tp + errors) and of the share of errors that are missed
    positives.
    """
    counts = decision.Counts(tp=30, fp=8, fn=4, tn=60)
    each = 0.9 if beta == 1 else 0.95
    hits = decision.binomial_interval(counts.tp, counts.tp + 12, each)
    missed = decision.binomial_interval(counts.fn, 12, each)
    corners = [
        f_score(
            decision.Counts(tp=hit, fp=(1 - hit) * (1 - miss), fn=(1 - hit) * miss, tn=0.0), beta
        )
        for hit in hits
        for miss in missed
    ]
    value, low, high = estimate_f(counts, beta)
    assert value == pytest.approx(f_score(counts, beta))
    assert (low, high) == pytest.approx((min(corners), max(corners)))
