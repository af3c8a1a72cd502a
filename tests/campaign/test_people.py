"""Labels of somebody else, several people who answer, and answers that are wrong."""

import numpy as np
import pytest

from semisvm import Campaign
from semisvm.campaign.state import precision_with_errors


def label_until(campaign, truth, most=400):
    while campaign.n_labels < most and (rows := campaign.draw(10)):
        if campaign.standing(with_forecasts=False).is_certified:
            break
        campaign.tell(rows, truth[rows])
    return campaign.verdict()


def made_labels(rng, n=2000, classes=("bug", "idea", "question")):
    """The truth, labels of a model, and how sure it is: right with the chance that it says."""
    truth = rng.choice(classes, n)
    sure = rng.uniform(0.4, 1, n)
    other = rng.choice(classes, n)
    return truth, np.where(rng.random(n) < sure, truth, other), sure


def test_all_labels_that_are_surely_right_are_certified(tmp_path):
    truth, labels, sure = made_labels(np.random.default_rng(0))
    campaign = Campaign.for_labels(labels, sure, min_precision=0.9, seed="01")
    verdict = label_until(campaign, truth)
    assert verdict.certified
    rows = campaign.accepted().rows
    assert len(rows) > 50
    assert np.mean(labels[rows] == truth[rows]) >= 0.9
    again = Campaign.load(campaign.save(tmp_path / "labels.campaign"))
    assert again.labels == campaign.labels
    assert again.answers == campaign.answers
    assert again.verdict().reason == verdict.reason


def test_an_answer_is_right_if_it_is_the_label_of_its_row():
    campaign = Campaign.for_labels(["a", "b", "a"], min_precision=0.5, classes=["a", "b", "c"])
    campaign.tell([0, 1, 2], ["a", "c", None])
    assert campaign.answers[0] == 1
    assert campaign.answers[1] == 0
    assert np.isnan(campaign.answers[2])
    with pytest.raises(ValueError, match="'d' is not a class"):
        campaign.tell(0, "d")


def test_one_class_is_certified_among_the_rows_with_its_label():
    truth, labels, sure = made_labels(np.random.default_rng(1))
    campaign = Campaign.for_labels(labels, sure, pos_label="bug", min_precision=0.9, seed="01")
    assert label_until(campaign, truth).certified
    accepted = campaign.accepted()
    above = accepted.rows[np.array(accepted.reasons) == "above the threshold"]
    assert set(labels[above]) == {"bug"}
    assert np.mean(truth[accepted.rows] == "bug") >= 0.9


def test_labels_without_confidences_are_certified_together_or_not_at_all():
    rng = np.random.default_rng(2)
    truth = rng.choice(["no", "yes"], 1000)
    labels = np.where(rng.random(1000) < 0.97, truth, "yes")
    campaign = Campaign.for_labels(labels, min_precision=0.9, seed="03")
    assert label_until(campaign, truth).certified
    assert campaign.n_labels < 100


def test_certificates_of_labels_are_wrong_within_the_risk():
    n_false = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = rng.choice(["a", "b"], 500)
        # 79% are right, whatever the confidence says.
        wrong = np.where(truth == "a", "b", "a")
        labels = np.where(rng.permutation(500) < 395, truth, wrong)
        campaign = Campaign.for_labels(labels, rng.random(500), min_precision=0.8)
        if label_until(campaign, truth, most=60).certified:
            rows = campaign.accepted().rows
            n_false += np.mean(labels[rows] == truth[rows]) < 0.8
    assert n_false <= 7  # 3 are expected at most; 8 or more have a chance below .01


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a", "b"], [0.1]), {}, "one confidence per label"),
        (([],), {}, "one label per row"),
        ((["a", "b"],), {"pos_label": "c"}, "No row has the label 'c'"),
        ((["a", None, np.nan],), {}, "2 of 3 labels are missing. Leave these rows out"),
    ],
)
def test_labels_that_make_no_sense_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        Campaign.for_labels(*arguments, min_precision=0.9, **options)


# ---- several people ----


def test_second_opinions_are_drawn_and_compared_and_the_first_answer_counts(tmp_path):
    rng = np.random.default_rng(3)
    scores = np.sort(rng.normal(size=1000))[::-1]
    truth = (scores + 0.2 * rng.normal(size=1000) > 0).astype(int)
    campaign = Campaign(scores, min_precision=0.9, seed="05")
    first = campaign.draw(20, annotator="Ann")
    campaign.tell(first, truth[first], annotator="Ann")
    second = campaign.draw(20, annotator="Bob", repeat=0.25)
    again = [row for row in second if row in first]
    assert len(again) == 5
    before = dict(campaign.answers)
    campaign.tell(again, 1 - truth[again], annotator="Bob")
    assert {row: campaign.answers[row] for row in first} == before
    assert not campaign.corrections
    assert campaign.agreement().n_rows == 5
    assert campaign.agreement().n_same == 0
    campaign.tell(again, truth[again], annotator="Bob")  # Bob's last word
    assert (campaign.agreement().n_rows, campaign.agreement().share) == (5, 1.0)
    assert not set(campaign.draw(40, annotator="Bob", repeat=1.0)) & set(again)
    assert "5 rows answered by two people: 5 alike" in campaign.verdict().reason
    loaded = Campaign.load(campaign.save(tmp_path / "two.campaign"))
    assert loaded.agreement().as_dict() == campaign.agreement().as_dict()
    assert loaded.agreement().by_annotator == {"Ann": 20}


def test_two_programs_that_save_second_answers_lose_none(tmp_path):
    scores = np.linspace(1, -1, 200)
    path = tmp_path / "c.campaign"
    campaign = Campaign(scores, min_precision=0.9, seed="05")
    campaign.tell([0, 1, 2], [1, 1, 0], annotator="Ann")
    campaign.save(path)
    others = [Campaign.load(path), Campaign.load(path)]
    others[0].tell([0, 5], [1, 1], annotator="Bob")
    others[1].tell([1, 6], [0, 1], annotator="Cy")
    others[0].save(path)
    others[1].save(path)
    both = Campaign.load(path)
    assert both.agreement().n_rows == 2
    assert both.agreement().by_annotator == {"Ann": 3, "Bob": 1, "Cy": 1}


def test_agreement_without_second_answers_and_bad_shares():
    campaign = Campaign(np.linspace(1, -1, 200), min_recall=0.9)
    assert "No row was answered by two people" in str(campaign.agreement())
    assert campaign.agreement().as_dict()["share"] is None
    with pytest.raises(ValueError, match="repeat must be"):
        campaign.draw(5, annotator="Ann", repeat=2)


# ---- wrong answers ----


def test_the_formula_of_wrong_answers_by_counting():
    rng = np.random.default_rng(4)
    is_positive = rng.random(200_000) < 0.8
    says_yes = is_positive | (rng.random(200_000) < 0.1)
    shown = says_yes.mean()
    assert precision_with_errors(shown, 0.1) == pytest.approx(is_positive.mean(), abs=0.003)


def false_share(error_rate, n_worlds):
    """Certificates of precision .8 where it is .79, and people say yes to 30% of the negatives."""
    n_false = 0
    for seed in range(n_worlds):
        rng = np.random.default_rng(seed)
        scores = -np.arange(600.0)
        truth = rng.permutation(600) < 474
        answers = (truth | (rng.random(600) < 0.3)).astype(int)
        campaign = Campaign(scores, min_precision=0.8, error_rate=error_rate, thresholds=[-1e9])
        n_false += label_until(campaign, answers, most=300).certified
    return n_false / n_worlds


def test_error_rate_keeps_the_promise_where_answers_are_wrong():
    assert false_share(0.3, 40) <= 0.25
    assert false_share(0.0, 20) > 0.3  # without it, it is broken


def test_error_rate_is_said_kept_and_refused_where_it_has_no_formula(tmp_path):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=1000)
    campaign = Campaign(scores, min_precision=0.8, error_rate=0.05, seed="01")
    verdict = label_until(campaign, (scores > -0.5).astype(int))
    assert verdict.certified
    assert "label up to 5.0% of the negatives as positive" in verdict.reason
    assert not verdict.operating_point.sampling.is_set
    assert Campaign.load(campaign.save(tmp_path / "c.campaign")).error_rate == 0.05
    with pytest.raises(ValueError, match="`min_precision` alone"):
        Campaign(scores, min_recall=0.8, error_rate=0.05)
    with pytest.raises(ValueError, match="error_rate must be"):
        Campaign(scores, min_precision=0.8, error_rate=1.0)
