"""Campaigns: what is certified, what it costs, and every corner of it."""

import json
import math
import time
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from campaign_pools import TARGETS, measures, pool, run
from semisvm import Campaign
from semisvm.campaign.draws import uniform_numbers


@pytest.mark.parametrize("claim", ["pool", "new rows"])
@pytest.mark.parametrize("n_rows", [20, 60])
def test_perfect_targets_have_a_price_or_none(n_rows, claim):
    """Recall 1 where every row is accepted is true of itself: no row counts."""
    scores = np.random.default_rng(1).normal(size=n_rows) + 1
    for asked in ({"min_precision": 1.0, "min_recall": 1.0}, {"min_recall": 1.0, "min_f": 1.0}):
        campaign = Campaign(scores, claim=claim, **asked)
        assert all(
            line.forecast is None or line.forecast <= n_rows for line in campaign.prices().table
        )


# ---- what is certified ----


@pytest.mark.parametrize("claim", ["pool", "new rows"])
@pytest.mark.parametrize("asked", TARGETS, ids=str)
def test_an_easy_target_is_certified_and_true(asked, claim):
    scores, truth = pool()
    verdict = run(Campaign(scores, claim=claim, seed="01", **asked), truth, most=800, at_once=40)
    point = verdict.operating_point
    assert verdict.certified
    assert (point.status, point.level, point.sampling.claim) == (
        "certified",
        "certified by sampling",
        claim,
    )
    found = measures(scores > point.threshold, truth, asked.get("beta", 1.0))
    for name, least in asked.items():
        if name.startswith("min_"):
            assert found[name.removeprefix("min_")] >= least
        elif name == "max_cost":
            assert found["cost"] <= least


def test_several_targets_do_not_halve_the_risk():
    scores, truth = pool()
    campaign = Campaign(scores, min_precision=0.5, min_recall=0.5, thresholds=[0.0], seed="01")
    (line,) = campaign.verdict().table
    assert line.evidence_needed == pytest.approx(10)
    verdict = run(campaign, truth, most=1000)
    point = verdict.operating_point
    assert (point.precision.low, point.recall.low) == (0.5, 0.5)
    assert point.f_score.value != point.f_score.value  # not measured


def test_false_campaigns_are_rare():
    """Every set just below the target: 100 campaigns, the verdict looked at after every batch."""
    n_false, n_rows, level = 0, 400, 0.7
    truth = np.zeros(n_rows, dtype=int)
    truth[np.arange(n_rows) % 10 < 7] = 1
    truth[::40] = 0  # 0.675 in all
    scores = np.linspace(1, -1, n_rows)
    for seed in range(100):
        campaign = Campaign(
            scores, min_precision=level, thresholds=[0.5, 0.0, -0.5], seed=f"{seed:04x}"
        )
        while campaign.n_labels < 100 and len(campaign.accepted().rows) == 0:
            rows = campaign.draw(20)
            campaign.tell(rows, truth[rows])
        n_false += len(campaign.accepted().rows) > 0
    assert n_false <= 0.1 * 100 + 3 * math.sqrt(0.09 * 100)


def test_the_widest_certified_set_is_reported_and_widening_goes_on():
    scores, truth = pool(noise=0.1)
    campaign = Campaign(scores, min_precision=0.8, seed="02")
    first = run(campaign, truth)
    for _ in range(20):
        rows = campaign.draw(20)
        campaign.tell(rows, truth[rows])
    later = campaign.verdict()
    assert later.operating_point.sampling.n_accepted > first.operating_point.sampling.n_accepted
    certified = [line for line in later.table if line.is_certified]
    assert later.operating_point.sampling.n_accepted == max(line.n_accepted for line in certified)
    assert later.n_accepted == len(campaign.accepted().rows)


def test_the_strictest_certified_threshold_is_reported_for_recall():
    scores, truth = pool()
    campaign = Campaign(scores, min_recall=0.6, seed="02")
    while (rows := campaign.draw(20)) and campaign.n_labels < 600:
        campaign.tell(rows, truth[rows])
    verdict = campaign.verdict()
    certified = [line.threshold for line in verdict.table if line.is_certified]
    assert verdict.operating_point.threshold == max(certified)


def test_calibration_shows_where_to_look():
    scores, truth = pool(20_000)
    known = np.random.default_rng(1).permutation(len(scores))[:200]
    calibration = scores[known], np.where(truth[known] == 1, 1, -1)
    prices = Campaign(scores, min_precision=0.9, calibration=calibration, seed="03").prices()
    for line in prices.table:
        accepted = scores > line.threshold
        assert abs(line.predicted["precision"] - truth[accepted].mean()) < 0.15


def test_a_small_pool_with_few_positives_can_be_certified():
    """60 of 240 rows are positive and have the highest scores: sets of 88 rows, four perfect
    records, would not do.
    """
    rng = np.random.default_rng(0)
    truth = np.arange(240) < 60
    scores = np.where(truth, 2.0, -2.0) + rng.normal(scale=0.5, size=240)
    known = (np.repeat([2.0, -2.0], 20) + rng.normal(scale=0.5, size=40), np.repeat([1, -1], 20))
    campaign = Campaign(scores, min_precision=0.9, calibration=known, seed="00ff" * 8)
    rows = campaign.draw(40)
    campaign.tell(rows, truth[rows].astype(int).tolist())
    assert campaign.verdict().certified


@pytest.mark.parametrize(
    "asked", [{"min_recall": 0.3}, {"min_f": 0.3}, {"min_f": 0.3, "beta": 2.0}], ids=str
)
def test_the_value_of_a_certified_point_is_that_of_the_rows_once_all_are_labeled(asked):
    scores, truth = pool(200, noise=0.8, seed=3)
    campaign = Campaign(
        scores, thresholds=[0.0], probabilities=np.where(scores > 0, 0.7, 0.1), seed="19", **asked
    )
    campaign.tell(range(200), truth)
    true = measures(scores > 0, truth, asked.get("beta", 1.0))
    point = campaign.verdict().operating_point
    found = point.recall.value if "min_recall" in asked else point.f_score.value
    assert found == pytest.approx(true["recall" if "min_recall" in asked else "f"], abs=0.02)


# ---- prices and words ----


def test_prices_are_told_before_the_first_label():
    scores, _ = pool()
    prices = Campaign(scores, min_precision=0.9, seed="04").prices()
    assert "predicted precision" in repr(prices)
    assert prices.fewest[-1] >= 22  # a perfect record at the full risk
    assert len(prices.as_dict()["prices"]) == len(prices.table)


def test_the_price_of_recall_is_at_least_the_elusion_bound():
    scores, _ = pool()
    campaign = Campaign(
        scores, min_recall=0.8, thresholds=[0.0], probabilities=np.where(scores > 0, 0.5, 0.1)
    )
    n_rejected = (scores <= 0).sum()
    hits = 0.5 * (scores > 0).sum()
    assert campaign.prices().fewest == (math.ceil(math.log(10) * 0.8 * n_rejected / (0.2 * hits)),)


def test_a_precision_of_one_costs_nine_tenths_of_the_set_and_can_be_certified():
    scores = np.linspace(1, -1, 60)
    truth = np.array([1] * 20 + [0] * 40)
    campaign = Campaign(scores, min_precision=1.0, thresholds=[scores[19:21].mean()], seed="05")
    assert campaign.prices().fewest == (18,)
    assert campaign.prices().table[0].forecast == 18
    assert run(campaign, truth, most=60, at_once=1).status == "certified"
    assert campaign.n_labels == 18


def test_the_words_of_a_verdict_say_what_is_promised():
    scores, truth = pool()
    verdict = run(Campaign(scores, min_precision=0.7, seed="06"), truth)
    assert (
        "This is about these 3,000 rows. At most 10% of campaigns like this one are wrong."
        in verdict.reason
    )
    assert "positive answers" in str(verdict)
    assert repr(verdict).startswith(verdict.reason)
    assert json.dumps(verdict.as_dict(), allow_nan=False)
    point = verdict.operating_point
    assert type(point).from_dict(point.as_dict()).as_dict() == point.as_dict()
    assert "certified by sampling" in str(point)
    assert "not measured" in str(point)  # recall


@pytest.mark.parametrize("asked", [{"min_precision": 0.8}, {"min_recall": 0.8}], ids=str)
def test_a_million_rows_are_drawn_and_judged_in_a_second(asked):
    scores, truth = pool(n=10**6)
    campaign = Campaign(scores, seed="07", **asked)
    began = time.process_time()
    rows = campaign.draw(200)
    drawn = time.process_time()
    campaign.tell(rows, truth[rows])
    told = time.process_time()
    tracemalloc.start()
    assert campaign.verdict().n_labels == len(rows)
    judged, (_, most) = time.process_time(), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(drawn - began, judged - told) < 1
    assert most < 50e6  # bytes: a few for each row


def test_two_targets_are_known_when_both_are():
    """Where every row is accepted recall is 1 without a label; precision is not known yet."""
    scores = np.arange(50.0)
    campaign = Campaign(scores, min_precision=0.5, min_recall=0.9, thresholds=[-1.0], seed="18")
    assert campaign.verdict().table[0].is_known is None
    campaign.tell(range(50), np.ones(50, dtype=int))
    assert campaign.verdict().status == "known"


def test_two_targets_take_as_many_labels_as_the_harder_one():
    scores, _ = pool()
    options = {"thresholds": [0.0], "probabilities": np.where(scores > 0, 0.9, 0.02)}
    alone = Campaign(scores, min_recall=0.9, **options).prices()
    both = Campaign(scores, min_precision=0.6, min_recall=0.9, **options).prices()
    assert both.fewest == alone.fewest != (0,)
    assert both.table[0].forecast >= both.fewest[0]
    everything = Campaign(scores, min_precision=0.1, min_recall=1.0, **options)
    assert everything.prices().fewest == (math.ceil(0.9 * (scores <= 0).sum()),)


# ---- edge cases ----


def test_an_empty_pool_or_one_without_accepted_rows_is_refused():
    with pytest.raises(ValueError, match="scores is empty"):
        Campaign([], min_precision=0.9)
    with pytest.raises(ValueError, match="No threshold accepts a row"):
        Campaign([0.1, 0.2], min_precision=0.9, thresholds=[0.5])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "Say what to certify"),
        ({"min_precision": 1.5}, "min_precision must lie in"),
        ({"min_f": 0}, "min_f must lie in"),
        ({"max_cost": 0.1}, "`max_cost` needs `costs`"),
        ({"max_cost": -1, "costs": (1, 1)}, "max_cost must be"),
        ({"min_precision": 0.9, "confidence": 1}, "confidence must lie"),
        ({"min_precision": 0.9, "claim": "world"}, "claim must be one of 'pool', 'new rows'"),
        ({"min_precision": 0.9, "dont_know": "drop"}, "dont_know must be one of"),
        (
            {"max_cost": 0.1, "costs": (1, 1), "dont_know": "leave out"},
            "`max_cost` counts every row",
        ),
        ({"min_precision": 0.9, "seed": "xyz"}, "hexadecimal"),
        ({"min_precision": 0.9, "probabilities": [0.5]}, "probabilities must be 3 numbers"),
        ({"min_precision": 0.9, "probabilities": [0.5, 2, 0]}, "probabilities must be 3 numbers"),
        ({"min_precision": 0.9, "thresholds": np.arange(200.0)}, "At most 100 thresholds"),
        ({"min_precision": 0.9, "classes": ["a", "b", "c"]}, "say which one the target is about"),
        ({"min_precision": 0.9, "pos_label": "b"}, "pos_label needs classes"),
        ({"min_precision": 0.9, "budget": 20.5}, "budget must be a whole number"),
        ({"min_precision": 0.9, "budget": math.inf}, "budget must be a whole number"),
        ({"min_precision": 0.9, "budget": math.nan}, "budget must be a whole number"),
        ({"min_precision": 0.9, "after": ["mails.campaign"]}, "after must be a list of campaigns"),
    ],
)
def test_bad_arguments_are_refused_with_a_reason(options, said):
    with pytest.raises(ValueError, match=said):
        Campaign([0.1, 0.2, 0.3], **options)


def test_scores_must_be_finite_numbers_one_per_row():
    for scores in ([0.1, np.nan], [[0.1, 0.2]]):
        with pytest.raises(ValueError, match="scores must"):
            Campaign(scores, min_precision=0.9)


@pytest.mark.parametrize("claim", ["pool", "new rows"])
def test_equal_scores_are_on_one_side_of_every_threshold(claim):
    scores = np.repeat([3.0, 2.0, 1.0, 0.0], 50)
    campaign = Campaign(scores, min_precision=0.7, claim=claim, seed="07")
    for line in campaign.verdict().table:
        assert line.threshold not in scores
    if claim == "pool":
        sizes = [line.n_accepted for line in campaign.verdict().table]
        assert sizes == sorted(set(sizes))
        assert set(sizes) <= {50, 100, 150, 200}


def test_when_everything_is_labeled_the_claim_is_known():
    truth = np.array([1] * 9 + [0] * 11)
    scores = np.linspace(1, -1, 20)
    known = Campaign(scores, min_precision=0.9, thresholds=[scores[9:11].mean()], seed="08")
    known.tell(range(20), truth)
    assert known.verdict().status == "known"
    assert known.verdict().operating_point.sampling.is_known
    assert known.verdict().reason.startswith("Known after 20 labels (")
    refuted = Campaign(scores, min_precision=0.95, thresholds=[scores[9:11].mean()], seed="08")
    refuted.tell(range(20), truth)
    assert refuted.verdict().status == "refuted"
    assert not refuted.verdict().certified
    assert "A better model is needed" in refuted.verdict().reason
    assert refuted.draw(5) == known.draw(5) == []


@pytest.mark.parametrize(
    "asked", [{"min_recall": 0.9}, {"min_f": 0.9}, {"max_cost": 0.05, "costs": (1, 1)}], ids=str
)
@pytest.mark.parametrize("is_true", [True, False])
def test_known_holds_for_every_target(asked, is_true):
    scores = np.linspace(1, -1, 40)
    truth = (scores > 0).astype(int)
    truth[-8:] = 0 if is_true else 1
    campaign = Campaign(scores, thresholds=[0.0], seed="09", **asked)
    while rows := campaign.draw(7):
        campaign.tell(rows, truth[rows])
        if campaign.verdict().certified:
            break
    campaign.tell(range(40), truth)
    assert campaign.verdict().status == ("known" if is_true else "refuted")


def test_a_threshold_that_accepts_everything_has_its_recall_for_nothing():
    verdict = Campaign(np.arange(5.0), min_recall=0.9, thresholds=[-1.0]).verdict()
    assert verdict.status == "known"


def test_nothing_left_to_ask_ends_the_loop():
    scores = np.linspace(1, -1, 30)
    truth = np.array([1, 0, 0] * 10)
    campaign = Campaign(scores, min_precision=0.9, seed="0a")
    n_batches = 0
    while rows := campaign.draw(5):
        campaign.tell(rows, truth[rows])
        n_batches += 1
    assert n_batches == 6
    assert campaign.verdict().status == "known"
    assert_array_equal(campaign.accepted().rows, np.flatnonzero(truth))


def test_rows_without_an_answer_are_asked_again_first():
    scores, truth = pool()
    campaign = Campaign(scores, min_precision=0.9, thresholds=[0.0], seed="0b")
    rows = campaign.draw(10)
    campaign.tell(rows[3:], truth[rows[3:]])
    before = campaign.verdict().table[0].n_read
    again = campaign.draw(10)
    assert set(rows[:3]) <= set(again)
    assert before < 7  # the first three block the sequence
    campaign.tell(rows[:3], truth[rows[:3]])
    assert campaign.verdict().table[0].n_read >= 10


def test_dont_know_counts_as_an_error_or_is_left_out():
    scores = np.linspace(1, -1, 400)
    truth = np.ones(400, dtype=int)

    def told(dont_know):
        campaign = Campaign(
            scores, min_precision=0.8, thresholds=[0.0], dont_know=dont_know, seed="0c"
        )
        while campaign.n_labels < 60 and (rows := campaign.draw(1)):
            campaign.tell(rows, [None if campaign.n_labels % 3 == 0 else truth[rows[0]]])
        return campaign.verdict()

    assert not told("bad").certified
    left_out = told("leave out")
    assert left_out.certified
    assert left_out.operating_point.precision.value == 1.0


def test_answers_are_checked_and_refused_as_a_whole():
    campaign = Campaign(np.arange(10.0), min_precision=0.9)
    for rows, answers, said in (
        ([0, 1], [1], "one answer per row"),
        ([0, 1], 1, "Got 2 rows and 1 answer"),
        ([0, 1], "ham", "Got 2 rows and 1 answer"),
        ([0, np.float64(1)], [1, 1], "There is no row 1.0 in the pool: row numbers are whole"),
        ([0, 99], [1, 1], "There is no row 99"),
        ([0, True], [1, 1], "There is no row True"),
        ([0, 1], [1, 2], "an answer is 1"),
    ):
        with pytest.raises(ValueError, match=said):
            campaign.tell(rows, answers)
    assert campaign.n_labels == 0
    named = Campaign(np.arange(10.0), min_precision=0.9, classes=["ham", "spam"])
    with pytest.raises(ValueError, match="'eggs' is not a class"):
        named.tell(0, "eggs")
    named.tell([0, 1, 2], ["spam", "ham", None])
    assert_array_equal(list(named.answers.values()), [1, 0, np.nan])
    with pytest.raises(ValueError, match="n must be at least 1"):
        named.draw(0)


def test_a_correction_is_logged_and_everything_is_computed_again():
    scores, truth = pool()
    one, other = (Campaign(scores, min_recall=0.7, seed="0e") for _ in range(2))
    rows = one.draw(15)  # of the first phase, which is planned before any answer
    wrong = truth[rows].copy()
    wrong[4] = 1 - wrong[4]
    one.tell(rows, wrong)
    one.verdict()
    one.tell(rows[4], int(truth[rows[4]]))
    one.tell(rows[5], int(truth[rows[5]]))  # the same answer again is no correction
    other.tell(rows, truth[rows])
    assert one.verdict().table == other.verdict().table
    (change,) = one.corrections
    assert (change["row"], change["from"], change["to"]) == (rows[4], wrong[4], truth[rows[4]])
    assert one.verdict().n_corrections == 1
    assert "1 corrected" in one.verdict().reason


@pytest.mark.parametrize("options", TARGETS, ids=str)
@pytest.mark.parametrize("dont_know", ["bad", "leave out"])
def test_answers_of_dont_know_alone_prove_nothing(options, dont_know):
    if "max_cost" in options and dont_know == "leave out":
        pytest.skip("every row counts for a cost")
    campaign = Campaign(np.linspace(-1, 1, 40), dont_know=dont_know, seed="12", **options)
    while rows := campaign.draw(10):
        campaign.tell(rows, [None] * len(rows))
    verdict = campaign.verdict()
    assert not verdict.certified
    assert not len(campaign.accepted().rows)
    assert not any(line.is_certified or line.is_known for line in verdict.table)


@pytest.mark.parametrize("claim", ["pool", "new rows"])
@pytest.mark.parametrize("options", [{"min_recall": 0.8}, {"min_f": 0.8}], ids=str)
def test_where_no_positive_is_found_no_recall_is_certified(options, claim):
    """Every threshold keeps a recall of nothing: that is no certificate, after any number of
    labels.
    """
    campaign = Campaign(np.linspace(-1, 1, 60), claim=claim, seed="12", **options)
    while rows := campaign.draw(10):
        campaign.tell(rows, [0] * len(rows))
        verdict = campaign.verdict()
        assert not verdict.certified
        assert not any(line.is_certified or line.is_known for line in verdict.table)
    campaign.tell(range(60), [0] * 60)
    assert "Nothing is left to ask, and no row was found positive." in campaign.verdict().reason


def test_a_recall_of_one_is_asked_for_until_a_positive_row_is_found():
    scores = np.linspace(1, -1, 200)
    campaign = Campaign(scores, min_recall=1.0, seed="12")
    while (rows := campaign.draw(10)) and not campaign.verdict().certified:
        campaign.tell(rows, [int(scores[row] > 0.9) for row in rows])
    verdict = campaign.verdict()
    assert verdict.status == "known"
    assert set(np.flatnonzero(scores > 0.9)) <= set(campaign.accepted().rows)


# ---- replay ----


@pytest.mark.parametrize(
    "options", [*TARGETS, {"min_precision": 0.8, "claim": "new rows"}], ids=str
)
def test_order_batches_extra_answers_and_files_change_nothing(options, tmp_path):
    scores, truth = pool()
    batches = Campaign(scores, seed="0f", **options)
    run(batches, truth, most=60, at_once=20)
    rows = np.array(list(batches.answers))
    expected = batches.verdict()

    one_by_one = Campaign(scores, seed="0f", **options)
    for i, row in enumerate(np.random.default_rng(0).permutation(rows)):
        one_by_one.tell(int(row), int(truth[row]))
        if i % 20 == 7:
            one_by_one.verdict()
    assert one_by_one.verdict().as_dict() == expected.as_dict()

    loaded = Campaign.load(batches.save(tmp_path / "a.campaign"), scores)
    assert loaded.verdict().as_dict() == expected.as_dict()
    assert loaded.draw(7) == batches.draw(7)
    assert loaded.as_dict() == batches.as_dict()

    extra = Campaign(scores, seed="0f", **options)
    extra.tell(rows, truth[rows])
    blocked = {extra.draw(1)[0]} if extra.draw(1) else set()
    others = np.setdiff1d(np.arange(len(scores)), [*rows, *blocked])[:200]
    for line in (extra, batches):
        line.tell(others, truth[others])
    assert extra.verdict().as_dict() == batches.verdict().as_dict()


def test_answers_outside_the_sequence_do_not_count_for_the_evidence():
    scores, truth = pool()
    campaign = Campaign(scores, min_precision=0.7, thresholds=[0.0], seed="10")
    first = campaign.draw(1)
    others = np.setdiff1d(np.flatnonzero(scores > 0), first)
    campaign.tell(others, truth[others])  # all but the first row of the sequence
    assert campaign.verdict().table[0].n_read == 0
    campaign.tell(first, truth[first])
    assert campaign.verdict().table[0].n_read == (scores > 0).sum()


def test_clocks_are_the_same_on_every_machine():
    numbers = uniform_numbers(bytes(range(16)), 20)
    assert numbers[[0, 1, 19]].tolist() == [
        0.8692618229945601,
        0.09400361013068334,
        0.6698178978068181,
    ]


def test_seeds_come_from_the_operating_system_and_given_ones_are_marked():
    scores, _ = pool()
    one, other = (Campaign(scores, min_precision=0.9) for _ in range(2))
    assert one.draw(20) != other.draw(20)
    assert not one.as_dict()["seed_given"]
    assert Campaign(scores, min_precision=0.9, seed="11").as_dict()["seed_given"]
