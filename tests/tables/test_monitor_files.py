"""`semisvm monitor`: a model in use, watched with a few labels of each new file."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from command_line import copy_fitted_mails, run_command, write_messy
from semisvm import Monitor


@pytest.fixture
def mails(fitted, tmp_path, capsys):
    """A folder with a model, new rows, and the true labels of those."""
    folder, _ = fitted
    copy_fitted_mails(capsys, folder, tmp_path)
    truth = write_messy(tmp_path / "june.csv", n_rows=400, share_labeled=0, seed=5)
    return tmp_path, truth


def draw(capsys, folder, data, *words, n=20, out="to-label.csv"):
    where = ("--state", folder / "spam.monitor", "--out", folder / out, "-n", n)
    return run_command(
        capsys, "monitor", "draw", folder / "spam.skops", folder / data, *where, *words
    )


def fill_in(path, labels):
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["label"] = labels[int(row["row"]) - 1]
    with open(path, "w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    return len(rows)


def test_right_answers_raise_no_alarm_and_wrong_predictions_do(mails, capsys):
    folder, truth = mails
    done = draw(capsys, folder, "june.csv", "--min-precision", "0.8")
    assert done.code == 0, done.err
    assert "20 rows to label" in done.out
    fill_in(folder / "to-label.csv", truth)
    done = run_command(capsys, "monitor", "tell", folder / "spam.monitor", folder / "to-label.csv")
    assert done.code == 0, done.err
    assert "No alarm: 20 labels of 1 batch" in done.out

    # From now on everything that the model accepts is ham.
    write_messy(folder / "july.csv", n_rows=400, share_labeled=0, seed=6)
    assert draw(capsys, folder, "july.csv", out="july-20.csv").code == 0
    fill_in(folder / "july-20.csv", ["ham"] * 400)
    done = run_command(
        capsys, "monitor", "tell", folder / "spam.monitor", folder / "july-20.csv", "--json"
    )
    assert done.code == 1
    assert json.loads(done.out)["alarm"]
    done = run_command(capsys, "monitor", "show", folder / "spam.monitor")
    assert done.code == 1
    assert "no longer holds" in done.out
    assert Monitor.load(folder / "spam.monitor").verdict().n_labels == 40


def test_a_batch_of_which_no_row_is_drawn_is_not_said_to_have_no_accepted_row(
    mails, capsys, monkeypatch
):
    """Of few rows, chance may draw none, although the model accepts some."""
    folder, _ = mails
    monkeypatch.setattr(Monitor, "_chances", lambda _, sizes: np.zeros((len(sizes), 2)))
    done = draw(capsys, folder, "june.csv", "--min-recall", "0.5")
    assert done.code == 0, done.err
    assert Monitor.load(folder / "spam.monitor").batches[0].n_accepted > 0
    assert "No row was drawn, so there is nothing to label." in done.out
    assert "accepts none" not in done.out


def test_the_file_of_an_earlier_batch_needs_its_number(mails, capsys):
    folder, truth = mails
    assert draw(capsys, folder, "june.csv", "--min-precision", "0.8").code == 0
    assert draw(capsys, folder, "june.csv", out="next.csv").code == 0
    fill_in(folder / "to-label.csv", truth)
    tell = ("monitor", "tell", folder / "spam.monitor", folder / "to-label.csv")
    done = run_command(capsys, *tell)
    assert done.code == 2
    assert "the number of an earlier batch is given by --batch" in " ".join(done.err.split())
    assert run_command(capsys, *tell, "--batch", "1").code in (0, 1)
    assert Monitor.load(folder / "spam.monitor").open_rows(0) == []


def test_columns_and_scores_that_moved_are_named(mails, capsys):
    folder, _ = mails
    rows = pd.read_csv(folder / "june.csv", dtype=str, keep_default_na=False)
    rows["country"] = "Atlantis"
    rows.to_csv(folder / "moved.csv", index=False)
    done = draw(capsys, folder, "june.csv", "--min-precision", "0.8", "--json")
    assert json.loads(done.out)["reference_share"] is None
    done = draw(capsys, folder, "moved.csv", "--json", out="moved-20.csv")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert any("'country'" in words for words in answer["columns_moved"])
    assert answer["reference_share"] is not None


def test_what_does_not_fit_is_refused(mails, capsys):
    folder, truth = mails
    assert "A target is needed" in draw(capsys, folder, "june.csv").err
    assert draw(capsys, folder, "june.csv", "--min-recall", "0.5", "--risk", "0.1").code == 0
    state = folder / "spam.monitor"
    assert Monitor.load(state).risk == 0.1
    fill_in(folder / "to-label.csv", ["fish"] * 400)
    done = run_command(capsys, "monitor", "tell", state, folder / "to-label.csv")
    assert done.code == 2
    assert "'fish' is not a class" in done.err
    fill_in(folder / "to-label.csv", truth)
    done = run_command(capsys, "monitor", "tell", state, folder / "to-label.csv", "--batch", "2")
    assert done.code == 2
    assert "There is no batch 2" in done.err
    assert draw(capsys, folder, "june.csv").code == 2  # the file to fill in is there
    for words in (("--min-precision", "0.5"), ("--risk", "0.2"), ("--positive", "ham")):
        done = draw(capsys, folder, "june.csv", *words, out="other.csv")
        assert done.code == 2
        assert f"this monitor was begun with another {words[0]}" in done.err
    done = run_command(capsys, "monitor", "show", folder)
    assert "can't be read (Is a directory). Give the file of a monitor." in done.err
    words = ("--target", "label", "--positive", "spam", "--method", "supervised", "--C", "0.1")
    again = ("--out", folder / "spam.skops", "--force")
    assert run_command(capsys, "fit", folder / "mails.csv", *words, *again).code == 0
    done = draw(capsys, folder, "june.csv", out="other.csv")
    assert done.code == 2
    assert "the model has changed since the monitor began" in " ".join(done.err.split())


def test_a_monitor_goes_on_where_its_model_was_moved_to(mails, capsys):
    folder, _ = mails
    assert draw(capsys, folder, "june.csv", "--min-precision", "0.8").code == 0
    moved = folder / "moved"
    moved.mkdir()
    for name in ("spam.skops", "spam.monitor", "june.csv"):
        (folder / name).rename(moved / name)
    done = draw(capsys, moved, "june.csv")
    assert done.code == 0, done.err
