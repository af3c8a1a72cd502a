"""What people are told about a campaign: answers taken back, the claim in a sentence, how the
evidence grew.
"""

import json
from dataclasses import replace
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from campaign_pools import pool
from report_summaries import binary_summary
from semisvm import Campaign
from semisvm.campaign import claim_in_words, summarize_campaign
from semisvm.campaign.record import first_price
from semisvm.campaign.verdict import say_next_step
from semisvm.decision import Target
from semisvm.report import CampaignDisplay
from semisvm.tables.summary import FitSummary


def labeled(n, **asked):
    scores, truth = pool(2000)
    campaign = Campaign(scores, seed="01", **asked)
    while campaign.n_labels < n and (rows := campaign.draw(min(7, n - campaign.n_labels))):
        campaign.tell(rows, truth[rows])
    return campaign


@pytest.mark.parametrize("asked", [{"min_precision": 0.8}, {"min_recall": 0.8}], ids=str)
def test_a_withdrawn_answer_is_as_if_it_had_not_been_given(asked):
    campaign = labeled(30, **asked)
    shorter = labeled(30, **asked)
    before = shorter.verdict()
    extra = shorter.draw(5)
    shorter.tell(extra, [1, 0, 1, None, 1])
    shorter.verdict()
    shorter.withdraw(extra)
    assert shorter.answers == campaign.answers
    assert shorter.verdict().table == before.table
    assert shorter.draw(5) == extra
    assert [one["to"] for one in shorter.corrections] == ["no answer"] * 5
    again = Campaign.from_dict(json.loads(json.dumps(shorter.as_dict())))
    assert again.verdict() == shorter.verdict()
    shorter.withdraw(extra[0])
    assert len(shorter.corrections) == 5


def test_labels_of_several_classes_are_kept():
    scores, _ = pool(300)
    campaign = Campaign(scores, min_precision=0.5, classes=["a", "b", "c"], pos_label="b")
    campaign.tell([3, 1, 2], ["c", "b", None])
    campaign.tell(3, "a")
    again = Campaign.from_dict(json.loads(json.dumps(campaign.as_dict())))
    assert again.labels == campaign.labels == {1: "b", 2: None, 3: "a"}
    assert again.corrections == []  # a negative row stays a negative row


@pytest.mark.parametrize("asked", [{"min_precision": 0.8}, {"min_recall": 0.8}], ids=str)
def test_the_evidence_is_that_of_the_verdicts_along_the_way(asked):
    campaign = labeled(60, **asked)
    summary = summarize_campaign(campaign)
    assert summary.labels == tuple(range(61))
    half = labeled(0, **asked)
    first_certified = {}
    for n, row in enumerate(campaign.answers, 1):
        half.tell(row, campaign.labels[row])
        lines = {line.n_accepted: line for line in half.standing(with_forecasts=False).table}
        for k, final in enumerate(summary.thresholds):
            line = lines.get(final["n_accepted"])
            if line is not None:
                assert (summary.paths[k][n] > 0) == (line.evidence > line.evidence_hoped)
                if line.is_certified and final["is_certified"]:
                    first_certified.setdefault(k, n)
    assert {k: n for k, n in enumerate(summary.certified_at) if n is not None} == first_certified
    told = replace(binary_summary(), campaign=summary)
    assert FitSummary.from_json(told.to_json()).campaign == summary
    assert summary.n_positive == sum(campaign.answers.values())
    is_certified = campaign.verdict().certified
    assert summary.n_accepted == (len(campaign.accepted().rows) if is_certified else 0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"min_precision": 0.8}, "are accepted as positive: at least 80% of these"),
        (
            {"min_precision": 0.5, "min_recall": 0.3},
            "% of these are positive and at least 30% of all rows",
        ),
        ({"min_f": 0.4}, "have F1 at least 0.4"),
        (
            {"min_precision": 0.6, "claim": "new rows"},
            "On new rows from the source of this pool, at least 60%",
        ),
    ],
)
def test_the_claim_is_one_plain_sentence(asked, said):
    campaign = labeled(120, **asked)
    assert campaign.verdict().certified
    told = claim_in_words(campaign)
    assert said in told
    assert told.endswith("At most 10% of campaigns like this one are wrong.")
    assert claim_in_words(labeled(0, **asked)).startswith("Nothing is promised yet")


def test_a_model_that_can_not_reach_its_target_is_to_be_improved_and_the_risks_add_up():
    scores, truth = pool(400, noise=20)
    campaign = Campaign(
        scores,
        min_precision=0.95,
        thresholds=[0.0, -0.5],
        after=[{"campaign": 1, "risk": 0.1, "created": "", "target": ""}],
    )
    while campaign.verdict().forecast is not None and (rows := campaign.draw(10)):
        campaign.tell(rows, truth[rows])
    reason = campaign.verdict().reason
    assert "least sure of (semisvm suggest)" in reason
    assert "start a new campaign. Risks add up" in reason
    assert "the probability that any of the 3 campaigns is wrong is then at most 30%" in reason


def test_a_table_says_why_a_wider_threshold_has_read_fewer_answers():
    scores, truth = pool(400)
    campaign = Campaign(scores, min_precision=0.8, thresholds=[1.0, -1.0], seed="00")
    why = "one that accepts more rows may use fewer answers"
    assert why not in repr(campaign.verdict())
    rows = np.flatnonzero(scores > 1.0)
    campaign.tell(rows, truth[rows])
    narrow, wide = campaign.verdict().table
    assert narrow.n_read == len(rows) > wide.n_read
    assert why in repr(campaign.verdict())
    assert why in campaign.verdict()._repr_html_()


def test_one_label_is_not_labels():
    one = SimpleNamespace(forecast=1, next_accepted=None)
    many = SimpleNamespace(forecast=1200, next_accepted=300)
    assert say_next_step(one) == "About 1 more label for the next step."
    assert say_next_step(many) == "About 1,200 more labels for a set of 300 rows."


def test_the_price_is_forecast_from_the_training_labels():
    scores, truth = pool(2000)
    own = (scores[:200], np.where(truth[:200] == 1, 1, -1))
    n = first_price(scores[200:], own, Target(min_precision=0.8))
    assert 10 <= n <= 40
    assert first_price(scores[200:], own, Target(min_precision=0.6)) < n
    rng = np.random.default_rng(0)
    useless = (own[0], rng.permutation(own[1]))
    assert first_price(scores[200:], useless, Target(min_precision=0.95)) is None


def test_the_display_draws_a_line_per_threshold_and_a_dot_per_certificate():
    mpl.use("Agg")
    campaign = labeled(150, min_precision=0.8)
    display = CampaignDisplay.from_campaign(campaign)
    n = len(display.campaign.paths)
    done = [at for at in display.campaign.certified_at if at is not None]
    assert done
    assert len(display.axes_[0].lines) == n + len(done) + 1
    assert len(display.axes_[1].patches) == n
    words = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert {"threshold, certified", "needed"} <= set(words)
    assert len(words) <= 3
    with pytest.raises(ValueError, match="2 axes"):
        display.plot(display.axes_[:1])
    own = Figure().subplots(1, 2)
    others = Figure().subplots(1, 2)
    assert list(CampaignDisplay.from_campaign(campaign, ax=own).axes_) == list(own)
    with pytest.raises(ValueError, match="holds no campaign"):
        CampaignDisplay.from_summary(binary_summary(), ax=others)
    again = CampaignDisplay.from_summary(
        replace(binary_summary(), campaign=display.campaign), ax=others
    )
    assert list(again.axes_) == list(others)
    for ax, other in zip(own, others, strict=True):
        assert [line.get_xydata().tolist() for line in ax.lines] == [
            line.get_xydata().tolist() for line in other.lines
        ]
    assert len(others[0].lines) == n + len(done) + 1
    import matplotlib.pyplot as plt

    plt.close("all")


def test_a_claim_that_is_known_is_said_to_be():
    scores = np.linspace(1, -1, 20)
    campaign = Campaign(scores, min_precision=0.9, thresholds=[0.0], seed="08")
    campaign.tell(range(20), (scores > 0).astype(int))
    assert claim_in_words(campaign).endswith("This is known for certain.")
