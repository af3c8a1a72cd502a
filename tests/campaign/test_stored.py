"""Files of campaigns: what is refused, what is noticed, and that no answer is lost; and the ledger of all campaigns."""

import json

import numpy as np
import pytest

from campaign_pools import pool, run
from every_estimator import few_labels
from semisvm import Campaign, SupervisedSVC
from semisvm.errors import DataError

# ---- files ----


def test_another_model_is_refused(tmp_path):
    scores, _ = pool()
    for claim in ("pool", "new rows"):
        path = Campaign(scores, min_precision=0.9, claim=claim, seed="12").save(tmp_path / "c")
        Campaign.load(path, scores + 1e-13)  # rounding is no change
        for changed in (scores[::-1], scores[:-1], scores + 0.05):
            with pytest.raises(ValueError, match="the model or the rows have changed"):
                Campaign.load(path, changed)


def test_files_that_are_not_campaigns_are_refused(tmp_path):
    path = tmp_path / "c"
    with pytest.raises(ValueError, match="there is no such file"):
        Campaign.load(path)
    for text in ("", "{}", "[1]", '{"kind": "other"}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="not the file of a campaign"):
            Campaign.load(path)
    Campaign(np.arange(9.0), min_precision=0.9).save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"version": 99}))
    with pytest.raises(ValueError, match="version 99"):
        Campaign.load(path)
    content["digests"]["scores"] = "0"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="its digest is wrong"):
        Campaign.load(path)


@pytest.mark.posix
def test_a_campaign_is_written_as_other_files_are(tmp_path):
    """A link stays a link, what a killed run left behind is deleted, and a place that can't be written to is named."""
    campaign = Campaign(np.linspace(0, 1, 50), min_precision=0.8)
    link, left = tmp_path / "link.campaign", tmp_path / ".real.campaign.999999999.unfinished"
    link.symlink_to(tmp_path / "real.campaign")
    left.write_text("half")
    assert campaign.save(link) == link
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.campaign", "real.campaign"]
    assert link.is_symlink()
    with pytest.raises(DataError, match="there is no folder"):
        campaign.save(tmp_path / "none" / "c.campaign")


def test_any_changed_character_of_the_file_is_noticed(tmp_path):
    """One answer more or less would be another proof; a file of an earlier version has no digest, and is read."""
    campaign = Campaign(np.linspace(0, 1, 50), min_precision=0.6, seed="00")
    rows = campaign.draw(5)
    campaign.tell(rows, [True] * len(rows))
    path = campaign.save(tmp_path / "c.json")
    text = path.read_text()
    assert Campaign.load(path).answers == campaign.answers
    name_of_digest = range(text.index('"sha256"'), text.index('"sha256"') + 8)  # without it, there is none to compare
    for number in range(0, len(text), 97):
        if text[number] in "{}[],: " or number in name_of_digest:
            continue
        path.write_text(text[:number] + ("7" if text[number] != "7" else "8") + text[number + 1 :])
        with pytest.raises(ValueError, match=r"digest is wrong|not the file of a campaign|version"):
            Campaign.load(path)
    content = json.loads(text)
    del content["sha256"]
    path.write_text(json.dumps(content))
    assert Campaign.load(path).answers == campaign.answers
    del content["plan"]["thresholds"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="damaged"):
        Campaign.load(path)


def test_answers_of_a_campaign_without_a_model_come_back_from_its_file(tmp_path):
    scores, truth = pool(300)
    campaign = Campaign(scores, min_precision=0.7, seed="1a")
    rows = campaign.draw(10)
    campaign.tell(rows, truth[rows])
    campaign.save(tmp_path / "c.json")
    assert Campaign.load(tmp_path / "c.json").labels == campaign.labels == dict(zip(rows, truth[rows], strict=True))


def test_two_programs_do_not_overwrite_each_others_answers(tmp_path):
    path = Campaign(np.arange(40.0), min_precision=0.9).save(tmp_path / "c.campaign")
    one, other = Campaign.load(path), Campaign.load(path)
    one.tell(one.draw(1), [1])
    one.save(path)
    other.tell(other.draw(2)[1:], [1])
    with pytest.raises(ValueError, match=r"c\.campaign: another program has saved this campaign meanwhile"):
        other.save(path)
    assert Campaign.load(path).answers == one.answers
    other.save(tmp_path / "another.campaign")
    one.tell(one.draw(1), [1])
    one.save(path)
    path.unlink()
    one.save(path)  # nothing would be lost
    assert Campaign.load(path).n_labels == 2


def test_a_file_that_was_copied_back_is_no_reason_to_refuse_answers(tmp_path):
    campaign = Campaign(np.arange(40.0), min_precision=0.9)
    path = campaign.save(tmp_path / "c.campaign")
    (tmp_path / "copy").write_bytes(path.read_bytes())  # as a backup, or a drive that is synchronized
    (tmp_path / "copy").replace(path)
    campaign.tell(campaign.draw(1), [1])
    campaign.save(path)
    assert Campaign.load(path).n_labels == 1


# ---- ledger ----


def test_the_risks_of_campaigns_add_up(tmp_path):
    scores, truth = pool()
    first = Campaign(scores, min_precision=0.9)
    second = Campaign(scores, min_recall=0.8, confidence=0.95, after=[first])
    third = Campaign(scores, min_precision=0.7, after=[*second.ledger, first])  # each is counted once
    assert [entry["campaign"] for entry in third.ledger] == [1, 2, 3]
    assert third.total_risk == pytest.approx(0.25)
    reason = run(third, truth).reason
    assert "This is campaign 3: the chance that any of the 3 is wrong is at most 25%." in reason
    assert Campaign.load(third.save(tmp_path / "c")).total_risk == third.total_risk


def test_the_ledger_is_kept_on_the_model():
    X, y, _ = few_labels()
    model = SupervisedSVC().fit(X, y)
    model.campaign(X, min_precision=0.9)
    second = model.campaign(X, min_precision=0.8)
    assert len(second.ledger) == len(model.campaigns_) == 2
    assert model.fit(X, y).campaign(X, min_precision=0.8).total_risk == pytest.approx(0.3)
