"""Files of campaigns: what is refused, what is noticed, and that no answer is lost; and the
ledger of all campaigns.
"""

import datetime
import json
import multiprocessing
import os
from decimal import Decimal

import numpy as np
import pytest

from campaign_pools import pool, run
from every_estimator import few_labels
from semisvm import Campaign, Monitor, SupervisedSVC, disk
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
    with pytest.raises(ValueError, match="Begin it by `semisvm certify start`"):
        Campaign.load(path)
    for text in ("", "{}", "[1]", '{"kind": "other"}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="not the file of a campaign"):
            Campaign.load(path)
    Campaign(np.arange(9.0), min_precision=0.9).save(path, force=True)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"version": 99}))
    with pytest.raises(ValueError, match="version 99"):
        Campaign.load(path)
    content["accepted"] = ["0"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="its digest is wrong"):
        Campaign.load(path)


def test_only_an_empty_file_or_a_campaign_without_answers_is_replaced_without_force(tmp_path):
    path = tmp_path / "c"
    path.touch()
    Campaign(np.arange(9.0), min_precision=0.9, seed="00").save(path)
    answered = Campaign(np.arange(9.0), min_precision=0.9, seed="01")
    answered.tell([0, 1], [0, 1])
    answered.save(path)
    other = Campaign(np.arange(9.0), min_precision=0.9, seed="02")
    mails = tmp_path / "mails.csv"
    mails.write_text("text,spam\n")
    monitor = Monitor(0.0, min_precision=0.9)
    for unsaved, kept, message in (
        (other, path, "c: this file exists and holds 2 answers.*pass force=True"),
        (other, mails, r"mails\.csv: this file exists\. Choose another name"),
        (monitor, path, "c: this file exists"),
        (monitor, mails, r"mails\.csv: this file exists"),
    ):
        before = kept.read_bytes()
        with pytest.raises(ValueError, match=message):
            unsaved.save(kept)
        assert kept.read_bytes() == before
    other.save(path, force=True)
    assert Campaign.load(path).n_labels == 0
    monitor.save(mails, force=True)
    assert Monitor.load(mails).batches == []


@pytest.mark.posix
def test_a_campaign_is_written_as_other_files_are(tmp_path):
    """A link stays a link, and a place that can't be written to is named."""
    campaign = Campaign(np.linspace(0, 1, 50), min_precision=0.8)
    link = tmp_path / "link.campaign"
    link.symlink_to(tmp_path / "real.campaign")
    assert campaign.save(link) == link
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.campaign", "real.campaign"]
    assert link.is_symlink()
    with pytest.raises(DataError, match="there is no folder"):
        campaign.save(tmp_path / "none" / "c.campaign")


def test_any_changed_character_of_the_file_is_noticed(tmp_path):
    """One answer more or less would be another proof."""
    campaign = Campaign(np.linspace(0, 1, 50), min_precision=0.6, seed="00")
    rows = campaign.draw(5)
    campaign.tell(rows, [True] * len(rows))
    path = campaign.save(tmp_path / "c.json")
    text = path.read_text()
    assert Campaign.load(path).answers == campaign.answers
    for number in range(0, len(text), 97):
        if text[number] in "{}[],: ":
            continue
        path.write_text(text[:number] + ("7" if text[number] != "7" else "8") + text[number + 1 :])
        with pytest.raises(ValueError, match=r"digest is wrong|not the file of a campaign|version"):
            Campaign.load(path)
    content = json.loads(text)
    del content["sha256"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="damaged"):
        Campaign.load(path)


def test_answers_of_a_campaign_without_a_model_come_back_from_its_file(tmp_path):
    scores, truth = pool(300)
    campaign = Campaign(scores, min_precision=0.7, seed="1a")
    rows = campaign.draw(10)
    campaign.tell(rows, truth[rows])
    campaign.save(tmp_path / "c.json")
    assert (
        Campaign.load(tmp_path / "c.json").labels
        == campaign.labels
        == dict(zip(rows, truth[rows], strict=True))
    )


def test_answers_of_two_programs_are_both_kept(tmp_path):
    path = Campaign(np.arange(40.0), min_precision=0.9).save(tmp_path / "c.campaign")
    first = Campaign.load(path)
    second = Campaign.load(path)
    first.tell([3, 4], [1, 0])
    first.save(path)
    second.tell([5, 4, 6], [1, 0, None])
    second.save(path)
    for campaign in (second, Campaign.load(path)):
        assert campaign.labels == {3: 1, 4: 0, 5: 1, 6: None}
        assert list(campaign.answers)[-1] == 6  # what `undo` takes back
    assert second.verdict() == Campaign.load(path).verdict()
    second.tell(3, 0)
    second.withdraw(5)
    second.save(path)
    first.tell(7, 1)
    first.save(path)
    assert Campaign.load(path).labels == first.labels == {3: 0, 4: 0, 6: None, 7: 1}
    assert [change["row"] for change in first.corrections] == [3, 5]
    path.unlink()
    first.save(path)
    assert Campaign.load(path).n_labels == 4


def test_two_answers_for_one_row_are_a_contradiction(tmp_path):
    path = Campaign(np.arange(40.0), min_precision=0.9).save(tmp_path / "c.campaign")
    first = Campaign.load(path)
    second = Campaign.load(path)
    first.tell([3, 4], [1, 1])
    first.save(path)
    second.tell([4, 5], [0, 1])
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"c\.campaign: another program has saved other .*: 4\)"):
        second.save(path)
    assert path.read_bytes() == before
    second.tell(4, 1)
    second.save(path)
    assert Campaign.load(path).labels == {3: 1, 4: 1, 5: 1}


def test_another_campaign_at_the_same_place_is_not_overwritten_by_surprise(tmp_path):
    path = tmp_path / "c.campaign"
    first = Campaign(np.arange(40.0), min_precision=0.9)
    first.save(path)
    Campaign(np.arange(40.0), min_precision=0.9).save(path)  # to be replaced is what it asks for
    with pytest.raises(ValueError, match="another campaign was saved here meanwhile"):
        first.save(path)


def _tell_and_save(path, rows):
    for row in rows:
        campaign = Campaign.load(path)
        campaign.tell(row, 1)
        campaign.save(path)


@pytest.mark.posix
def test_no_answer_of_four_writers_at_once_is_lost(tmp_path):
    """They load, answer and save as fast as they can: every pair of saves is a race."""
    path = Campaign(np.arange(100.0), min_precision=0.9).save(tmp_path / "c.campaign")
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_tell_and_save, args=(path, range(start, 40, 4)))
        for start in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert sorted(Campaign.load(path).labels) == list(range(40))
    assert [found.name for found in tmp_path.iterdir()] == ["c.campaign"]  # no lock is left


@pytest.mark.posix
def test_a_private_file_stays_private(tmp_path):
    campaign = Campaign(np.arange(40.0), min_precision=0.9)
    path = campaign.save(tmp_path / "c.campaign")
    path.chmod(0o600)
    campaign.tell(3, 1)
    campaign.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.posix
def test_a_lock_without_flock_waits_and_outlives_no_killed_program(tmp_path, monkeypatch):
    """As on Windows, or on a network drive without locks: the file itself is the lock."""
    monkeypatch.setattr(disk, "_flock", lambda lock: None)
    path = tmp_path / "c.campaign"
    held = tmp_path / ".c.campaign.held"
    with disk.locked(path):
        assert held.exists()
    assert not held.exists()
    held.touch()
    os.utime(held, (1, 1))  # left behind by a program that was killed
    with disk.locked(path):
        assert held.exists()


def test_a_file_that_was_copied_back_is_no_reason_to_refuse_answers(tmp_path):
    campaign = Campaign(np.arange(40.0), min_precision=0.9)
    path = campaign.save(tmp_path / "c.campaign")
    (tmp_path / "copy").write_bytes(
        path.read_bytes()
    )  # as a backup, or a drive that is synchronized
    (tmp_path / "copy").replace(path)
    campaign.tell(campaign.draw(1), [1])
    campaign.save(path)
    assert Campaign.load(path).n_labels == 1


# ---- ledger ----


def test_the_risks_of_campaigns_add_up(tmp_path):
    scores, truth = pool()
    first = Campaign(scores, min_precision=0.9)
    second = Campaign(scores, min_recall=0.8, confidence=0.95, after=[first])
    third = Campaign(
        scores, min_precision=0.7, after=iter([*second.ledger, first])
    )  # each is counted once
    assert [entry["campaign"] for entry in third.ledger] == [1, 2, 3]
    assert third.total_risk == pytest.approx(0.25)
    reason = run(third, truth).reason
    assert (
        "This is campaign 3: the probability that any of the 3 is wrong is at most 25%." in reason
    )
    assert Campaign.load(third.save(tmp_path / "c")).total_risk == third.total_risk


def test_a_campaign_leaves_the_model_as_it_is():
    X, y, _ = few_labels()
    model = SupervisedSVC().fit(X, y)
    before = set(vars(model))
    first = model.campaign(X, min_precision=0.9)
    assert set(vars(model)) == before
    assert model.campaign(X, min_precision=0.8, after=[first]).total_risk == pytest.approx(0.2)


# ---- what a file can hold ----


@pytest.mark.parametrize(
    "classes",
    [
        [b"a", b"b"],
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        [Decimal(0), Decimal(1)],
    ],
    ids=["bytes", "dates", "decimals"],
)
def test_classes_that_a_file_cannot_hold_are_refused_at_the_start(classes):
    with pytest.raises(ValueError, match="classes must be text or numbers"):
        Campaign(np.arange(9.0), min_precision=0.9, classes=classes)


def test_missing_values_of_every_library_mean_dont_know():
    import pandas as pd

    campaign = Campaign(np.arange(9.0), min_precision=0.9)
    campaign.tell(3, pd.NA)
    campaign.tell([4, 5, 6, 7], [None, np.nan, pd.NaT, np.float32("nan")])
    assert campaign.labels == dict.fromkeys(range(3, 8))


def test_a_phase_that_another_program_began_is_kept_once(tmp_path):
    """Draws for a recall come in phases; both programs go on in the same one."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2000)
    path = tmp_path / "c.campaign"
    Campaign(scores - 1, min_recall=0.8, seed="00").save(path)
    one = Campaign.load(path)
    other = Campaign.load(path)
    rows = other.draw(20)
    other.tell(rows, (scores[rows] > 1).astype(int))
    other.save(path)
    one.save(path)
    assert len(one.as_dict()["phases"]) == 2
    assert one.draw(30) == other.draw(30) == Campaign.load(path).draw(30)
