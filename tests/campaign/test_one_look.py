"""A recall that is looked at once: the promise, and what it gains over looking at any time."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from campaign_pools import pool
from semisvm import Campaign
from semisvm.decision.one_look import recall_p_value


def labeled(campaign, truth):
    while rows := campaign.draw(50):
        campaign.tell(rows, truth[rows])
    return campaign


def test_p_values_are_hypergeometric_tails():
    level = 0.8
    for n_positive, n_above, most, found in [(12, 11, 30, 0), (12, 10, 40, 2), (5, 5, 9, 0)]:
        tails = []
        for total in range(n_positive, most + 1):
            good = math.ceil(level * total - 1e-9) - 1 - found
            if good >= n_above:
                tails.append(stats.hypergeom(total, good, n_positive).sf(n_above - 1))
        found_p = recall_p_value(n_above, n_positive, most, level, found)
        assert found_p == pytest.approx(max(tails, default=0.0), rel=1e-9)
    many = recall_p_value(45, 50, 10**6, level)
    assert many == pytest.approx(stats.binom(50, level).sf(44), rel=1e-9)


def test_every_sample_of_a_small_pool():
    """All samples of four of eight rows: a wrong set is returned in at most 30% of them, wherever
    the three positives lie.
    """
    scores = np.linspace(1, -1, 8)
    campaign = Campaign(scores, min_recall=0.6, budget=4, one_look=True, confidence=0.7)
    tests = campaign._tests
    samples = [list(sample) for sample in itertools.combinations(range(8), 4)]
    for where in [(0, 1, 7), (0, 6, 7), (1, 3, 5), (5, 6, 7), (0, 3, 6)]:
        truth = np.zeros(8, dtype=int)
        truth[list(where)] = 1
        n_wrong = 0
        for sample in samples:
            tests._sample = np.array(sample)
            tests._answers[:] = -1
            tests._answers[sample] = truth[sample]
            tests._look()
            rows = tests.accepted().rows
            n_wrong += len(rows) > 0 and truth[rows].sum() < 0.6 * 3
        assert n_wrong <= 0.3 * len(samples)


def test_nothing_is_said_before_the_last_answer(tmp_path):
    scores, truth = pool()
    campaign = Campaign(scores, min_recall=0.8, budget=120, one_look=True, seed="01")
    rows = campaign.draw(200)
    assert len(rows) == 120
    campaign.tell(rows[:-1], truth[rows[:-1]])
    verdict = campaign.verdict()
    assert not verdict.certified
    assert verdict.forecast == 1
    assert "tested once, after 1 more label" in verdict.reason
    assert len(campaign.accepted().rows) == 0
    path = campaign.save(tmp_path / "a.campaign")
    again = Campaign.load(path)
    again.tell(rows[-1], int(truth[rows[-1]]))
    assert again.verdict().certified
    assert again.draw(5) == []
    accepted = again.accepted().rows
    assert truth[accepted].sum() >= 0.8 * truth.sum()


def test_one_look_returns_fewer_rows_than_looks_at_any_time():
    """For rare positives: 2,000 rows, 5% positive, 300 labels."""
    sizes = []
    for number in range(4):
        rng = np.random.default_rng(number)
        truth = (rng.random(2000) < 0.05).astype(int)
        scores = 2 * truth + rng.normal(size=2000) - 2
        once = Campaign(scores, min_recall=0.8, budget=300, one_look=True, seed=f"{number:02x}")
        rows = labeled(once, truth).accepted().rows
        sizes.append(len(rows) / 2000 if len(rows) else 1.0)
    assert np.mean(sizes) < 0.6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_recall": 0.8}, "needs a `budget`"),
        ({"min_precision": 0.8, "budget": 50}, "`min_recall` alone"),
        ({"min_recall": 0.8, "budget": 50, "claim": "new rows"}, "`min_recall` alone"),
        ({"min_recall": 0.8, "budget": 50, "dont_know": "leave out"}, "counts"),
    ],
)
def test_what_one_look_is_not_for(options, words):
    with pytest.raises(ValueError, match=words):
        Campaign(pool()[0], one_look=True, **options)


def test_dont_know_counts_as_a_miss():
    scores, _ = pool()
    campaign = Campaign(scores, min_recall=0.8, budget=100, one_look=True, seed="02")
    rows = campaign.draw(100)
    campaign.tell(rows, [None] * 100)
    verdict = campaign.verdict()
    assert not verdict.certified
    assert "The one look is over: start a new campaign, with a larger budget." in verdict.reason
    assert (
        "the probability that any of the 2 campaigns is wrong is then at most 20%" in verdict.reason
    )
    assert_array_equal(campaign.accepted().rows, [])
