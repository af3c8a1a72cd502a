"""Certified sets: which rows are accepted and why, that the promise holds, and what is said."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_circles

from campaign_pools import pool
from semisvm import Campaign, SupervisedSVC

SETS = [{"min_precision": 0.8}, {"min_recall": 0.8}]


def labeled(campaign, truth, n, at_once=10):
    while campaign.n_labels < n and (rows := campaign.draw(min(at_once, n - campaign.n_labels))):
        campaign.tell(rows, truth[rows])
    return campaign


# ---- the rows ----


@pytest.mark.parametrize("asked", SETS, ids=str)
def test_the_accepted_rows_are_those_found_positive_and_unlabeled_rows_above(asked):
    scores, truth = pool()
    campaign = labeled(Campaign(scores, seed="01", **asked), truth, 150)
    verdict = campaign.verdict()
    assert verdict.certified
    rows, reasons = campaign.accepted()
    answers = np.array([campaign.answers.get(row, -1) for row in range(len(scores))])
    assert_array_equal(rows, np.sort(rows))
    assert_array_equal(rows[reasons == "found positive"], np.flatnonzero(answers == 1))
    above = rows[reasons == "above the threshold"]
    assert (answers[above] == -1).all()
    left_out = np.setdiff1d(np.flatnonzero(answers == -1), above)
    assert scores[above].min() > scores[left_out].max()
    assert (verdict.n_accepted, verdict.n_found) == (len(rows), (answers == 1).sum())
    if "min_precision" in asked:
        assert truth[rows].mean() >= 0.8
    else:
        assert truth[rows].sum() >= 0.8 * truth.sum()


@pytest.mark.parametrize("asked", SETS, ids=str)
def test_when_every_row_is_labeled_the_set_is_exactly_the_positives(asked):
    scores, truth = pool(120)
    campaign = Campaign(scores, seed="02", **asked)
    campaign.tell(range(120), truth)
    rows, reasons = campaign.accepted()
    assert_array_equal(rows, np.flatnonzero(truth))
    assert set(reasons) == {"found positive"}
    assert campaign.verdict().status == "known"
    assert campaign.draw(5) == []
    nothing = Campaign(scores, seed="02", **asked)
    nothing.tell(range(120), np.zeros(120, dtype=int))
    assert nothing.verdict().status == "refuted"
    assert len(nothing.accepted().rows) == 0


def test_equal_scores_are_accepted_together_or_not_at_all():
    scores = np.repeat(np.arange(40.0), 25)
    truth = (scores > 25).astype(int)
    campaign = labeled(Campaign(scores, min_precision=0.7, seed="03"), truth, 60)
    rows, reasons = campaign.accepted()
    above = rows[reasons == "above the threshold"]
    left_out = np.setdiff1d(np.setdiff1d(np.arange(1000), rows), list(campaign.answers))
    assert len(above)
    assert not set(scores[above]) & set(scores[left_out])


def test_dont_know_is_on_the_safe_side():
    """For a precision it is no positive; for a recall the row stays in, and a missed one counts."""
    scores, truth = pool()
    answers = [None if row % 3 == 0 else int(truth[row]) for row in range(len(scores))]
    for asked in SETS:
        campaign = Campaign(scores, seed="04", **asked)
        while campaign.n_labels < 150:
            rows = campaign.draw(10)
            campaign.tell(rows, [answers[row] for row in rows])
        unknown = [row for row in campaign.answers if answers[row] is None]
        accepted = set(campaign.accepted().rows.tolist())
        if "min_precision" in asked:
            assert not accepted & set(unknown)
        elif accepted:
            lowest = min(scores[row] for row in accepted - set(campaign.answers))
            assert {row for row in unknown if scores[row] > lowest} <= accepted
        assert 'of "don\'t know" counted against the model' in campaign.verdict().reason


@pytest.mark.parametrize("answer", [0, None])
@pytest.mark.parametrize("asked", SETS, ids=str)
def test_without_a_positive_row_nothing_is_certified(asked, answer):
    """A recall is true where no row is positive, and answers of "don't know" prove nothing."""
    scores, _ = pool(300)
    campaign = Campaign(scores, seed="05", **asked)
    while rows := campaign.draw(20):
        campaign.tell(rows, [answer] * len(rows))
        assert not campaign.verdict().certified
        assert len(campaign.accepted().rows) == 0


@pytest.mark.parametrize("answer", [0, None])
def test_a_threshold_test_of_a_recall_needs_a_positive_row_too(answer):
    scores, _ = pool(300)
    campaign = Campaign(scores, min_recall=0.5, thresholds=[-2.0], seed="05")
    while rows := campaign.draw(20):
        campaign.tell(rows, [answer] * len(rows))
        assert not campaign.verdict().certified


# ---- the promise ----


def ever_wrong(make, truth, n_labels, at_once, n_campaigns, is_wrong):
    """The number of campaigns that are wrong after some batch: an adversary stops there."""
    count = 0
    for number in range(n_campaigns):
        campaign = make(number)
        while campaign.n_labels < n_labels and (rows := campaign.draw(at_once)):
            campaign.tell(rows, truth[rows])
            accepted = campaign.accepted().rows
            if len(accepted) and is_wrong(accepted):
                count += 1
                break
    return count


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("world", ["just below", "top bad", "rare"])
def test_sets_for_a_precision_are_rarely_wrong(world):
    """Forty campaigns."""
    n, level = 400, 0.8
    rng = np.random.default_rng(7)
    truth = rng.random(n) < {"just below": 0.78, "top bad": 0.7, "rare": 0.05}[world]
    if world == "top bad":
        truth[:40] = rng.random(40) < 0.5
    truth = truth.astype(int)
    scores = np.linspace(1, -1, n)
    count = ever_wrong(
        lambda number: Campaign(scores, min_precision=level, budget=60, seed=f"{number:04x}"),
        truth,
        60,
        12,
        40,
        lambda rows: truth[rows].mean() < level,
    )
    assert count <= 0.1 * 40 + 3 * math.sqrt(0.09 * 40)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("use", [0.0, 1.5])
def test_sets_for_a_recall_are_rarely_wrong(use):
    """Scores of no use, and informative ones."""
    rng = np.random.default_rng(8)
    truth = (rng.random(400) < 0.15).astype(int)
    scores = use * truth + rng.normal(size=400)
    count = ever_wrong(
        lambda number: Campaign(scores, min_recall=0.8, seed=f"{number:04x}"),
        truth,
        100,
        20,
        30,
        lambda rows: truth[rows].sum() < 0.8 * truth.sum(),
    )
    assert count <= 0.1 * 30 + 3 * math.sqrt(0.09 * 30)


def test_what_is_returned_does_not_depend_on_how_the_answers_came():
    """Labels outside of the sequences never change the evidence, and more facts never hurt."""
    scores, truth = pool()
    campaign = labeled(Campaign(scores, min_precision=0.8, seed="06"), truth, 80)
    again = Campaign(scores, min_precision=0.8, seed="06")
    for row in np.random.default_rng(0).permutation(list(campaign.answers)).tolist():
        again.tell(row, int(truth[row]))
    assert_array_equal(again.accepted().rows, campaign.accepted().rows)
    read = [line.n_read for line in campaign.verdict().table]
    before = len(campaign.accepted().rows)
    found = [row for row in np.argsort(scores) if truth[row] and row not in campaign.answers][:5]
    campaign.tell(found, [1] * 5)
    assert [line.n_read for line in campaign.verdict().table] == read
    assert len(campaign.accepted().rows) >= before + 5


# ---- power ----


def test_the_circles_of_mapie_keep_most_of_their_recall():
    """Precision 0.8 at 90%: at least .60 of the positives with 100 labels, .88 with 500. The
    campaign knows the margins alone.
    """
    kept = {100: [], 500: []}
    for number in range(3):
        X, y = make_circles(n_samples=5200, noise=0.3, factor=0.3, random_state=number)
        model = SupervisedSVC(C=1.0).fit(X[:200], y[:200])
        truth = y[200:]
        for budget, values in kept.items():
            campaign = model.campaign(
                X[200:],
                min_precision=0.8,
                budget=budget,
                seed=f"{number:02x}",
            )
            rows = labeled(campaign, truth, budget, at_once=20).accepted().rows
            assert truth[rows].mean() >= 0.8
            values.append(truth[rows].sum() / truth.sum())
    assert np.mean(kept[100]) >= 0.60
    assert np.mean(kept[500]) >= 0.88


def test_recall_goes_on_to_stricter_thresholds():
    scores, truth = pool()
    campaign = Campaign(scores, min_recall=0.7, seed="07")
    sizes = []
    for n in (40, 100, 250, 600):
        labeled(campaign, truth, n, at_once=60)
        sizes.append(campaign.verdict().n_accepted)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.7 * sizes[0]


# ---- phases ----


def test_a_phase_is_drawn_when_the_one_before_is_answered_and_stays_as_it_was(tmp_path):
    scores, truth = pool()
    campaign = Campaign(scores, min_recall=0.8, seed="08")
    first = campaign.draw(100)
    assert len(first) == 20  # the first phase
    campaign.tell(first[1:], truth[first[1:]])
    assert campaign.draw(100) == first[:1]
    campaign.tell(first[:1], truth[first[:1]])
    second = campaign.draw(100)
    assert len(second) == 30
    path = campaign.save(tmp_path / "c.campaign")
    campaign.tell(first[0], 1 - int(truth[first[0]]))  # a correction changes no draw
    assert campaign.draw(100) == second
    assert Campaign.load(path).draw(100) == second
    assert json.loads(path.read_text())["phases"][1]["speeds"]


def test_a_seed_that_is_given_twice_has_other_clocks_for_another_model_or_campaign():
    scores, _ = pool()
    first = Campaign(scores, min_precision=0.8, seed="09")
    same = Campaign(scores, min_precision=0.8, seed="09")
    refitted = Campaign(-scores, min_precision=0.8, seed="09")
    second = Campaign(scores, min_precision=0.8, seed="09", after=[first])
    assert first.draw(10) == same.draw(10)
    assert first.draw(10) != second.draw(10)
    by_clock = [np.argsort(one._tests._order._clocks[3]) for one in (first, refitted)]
    assert not np.array_equal(*(rows[:20] for rows in by_clock)) or len(by_clock[0]) < 2
    assert "The seed was given" in first.verdict().reason
    assert "The seed was given" not in Campaign(scores, min_precision=0.8).verdict().reason


# ---- words and budgets ----


def test_the_words_say_what_is_accepted_and_what_is_found():
    scores, truth = pool()
    campaign = Campaign(scores, min_precision=0.8, seed="0a")
    assert "Found positive so far: 0. About" in campaign.verdict().reason
    labeled(campaign, truth, 60)
    verdict = campaign.verdict()
    n_open = verdict.n_accepted - verdict.n_found
    accepted = f"{n_open:,} with high scores, and {verdict.n_found:,} found positive"
    assert f"{verdict.n_accepted:,} of 3,000 rows: {accepted}" in verdict.reason
    assert "At most 10% of campaigns like this one are wrong" in verdict.reason


@pytest.mark.parametrize(("noise", "is_nearly_all"), [(0.5, False), (3.0, True)])
def test_a_set_of_nearly_every_row_is_called_that(noise, is_nearly_all):
    scores, truth = pool(noise=noise)
    campaign = Campaign(scores, min_recall=0.7, seed="0a")
    while not (verdict := campaign.verdict()).certified:
        labeled(campaign, truth, campaign.n_labels + 1)
    if not is_nearly_all:  # the first threshold that passes is a loose one
        verdict = labeled(campaign, truth, 150).verdict()
    assert (verdict.n_accepted - verdict.n_found > 0.9 * 3000) == is_nearly_all
    assert ("which is nearly every row" in verdict.reason) == is_nearly_all


def test_nothing_is_refuted_while_labels_are_unspent():
    scores, _ = pool(400)
    truth = np.zeros(400, dtype=int)
    truth[np.argsort(-scores)[:3]] = 1
    campaign = labeled(Campaign(scores, min_precision=0.95, seed="0b"), truth, 100)
    verdict = campaign.verdict()
    assert verdict.status == "open"
    assert "Found positive so far: 3. No larger set is in sight" in verdict.reason
    assert len(campaign.accepted().rows) == 3


def test_labels_are_forecast_for_sets_that_are_not_accepted_yet():
    scores, truth = pool()
    campaign = Campaign(scores, min_precision=0.8, seed="0e")
    while campaign.n_labels < 200:
        rows = campaign.draw(20)
        campaign.tell(rows, truth[rows])
        verdict = campaign.verdict()
        accepted = campaign.accepted().rows
        answers = np.array([campaign.answers.get(row, -1) for row in range(len(scores))])
        in_sight = []
        for line in verdict.table:
            unlabeled = np.flatnonzero((answers == -1) & (scores > line.threshold))
            is_accepted = verdict.certified and np.isin(unlabeled, accepted).all()
            assert (line.forecast == 0) == is_accepted
            if line.forecast:
                in_sight.append((line.forecast, len(unlabeled) + verdict.n_found))
        assert (verdict.forecast, verdict.next_accepted) == min(in_sight)
        assert verdict.next_accepted > verdict.n_accepted
    assert verdict.certified


def test_the_next_set_of_a_recall_is_smaller_than_the_one_that_is_certified():
    scores, truth = pool(800)
    campaign = Campaign(scores, min_recall=0.8, seed="0f")
    next_sets = []
    while campaign.n_labels < 400:
        rows = campaign.draw(10)
        campaign.tell(rows, truth[rows])
        verdict = campaign.verdict()
        if verdict.certified:
            next_sets.append((verdict.next_accepted, verdict.n_accepted))
    smaller = [after < now for after, now in next_sets if after is not None]
    assert len(smaller) > 10
    assert all(smaller)
    assert len(smaller) < len(next_sets)  # None where the next proof leaves the set as it is


def test_a_budget_plans_and_does_not_bind():
    scores, truth = pool()
    with pytest.raises(ValueError, match="budget must be a whole number, at least 1, got 0"):
        Campaign(scores, min_precision=0.8, budget=0)
    campaign = labeled(Campaign(scores, min_precision=0.8, budget=20, seed="0c"), truth, 60)
    assert campaign.n_labels == 60
    small, large = (
        Campaign(scores, min_precision=0.8, budget=budget).verdict().table for budget in (20, 1000)
    )
    assert small[-1].n_accepted < large[-1].n_accepted


@pytest.mark.parametrize("asked", SETS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_tiny_pools(asked, n):
    scores = np.linspace(1, 0, n)
    for truth in (np.ones(n, dtype=int), np.zeros(n, dtype=int)):
        campaign = Campaign(scores, seed="0d", **asked)
        while rows := campaign.draw(1):
            campaign.tell(rows, truth[rows])
            campaign.verdict()
        assert len(campaign.accepted().rows) in (0, n)


# ---- new rows ----


@pytest.mark.parametrize("asked", [{"min_precision": 0.7}, {"min_recall": 0.7}], ids=str)
def test_only_rows_set_aside_choose_the_thresholds_of_a_claim_about_new_rows(asked):
    """Scores with ties, of which all that are in play are then replaced."""
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=600), 1)
    campaign = Campaign(scores, claim="new rows", seed="0a", **asked)
    plan = campaign._state.plan
    is_aside = plan.bands == len(plan.sizes) + 1
    assert is_aside.sum() == 120
    other = np.where(is_aside, scores, rng.normal(size=600) + 0.3)
    again = Campaign(other, claim="new rows", seed="0a", **asked)._state.plan
    assert [(line.threshold, line.share) for line in again.thresholds] == [
        (line.threshold, line.share) for line in plan.thresholds
    ]
