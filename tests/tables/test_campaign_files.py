"""`semisvm certify`: campaigns on files, as a person runs them."""

import csv
import json
import multiprocessing
import os
import subprocess

import numpy as np
import pytest

from command_line import COMMAND, copy_fitted_mails, run_command
from semisvm import Campaign, load
from semisvm.tables.certify import file_digest, load_campaign

COLUMNS = ["row", "id", "sent", "country", "size", "subject", "urgent", "drawn", "label"]


@pytest.fixture
def mails(fitted, tmp_path, capsys):
    """A copy of the mails and the model in a folder of the test's own: (folder, truth)."""
    folder, truth = fitted
    copy_fitted_mails(capsys, folder, tmp_path)
    return tmp_path, truth


def read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    return path


def fill_in(path, truth, column="row"):
    rows = read(path)
    for row in rows:
        row["label"] = truth[int(row[column]) - 1]
    return write(path, rows)


def start(capsys, folder, *words, n=20):
    files = (folder / "spam.skops", folder / "mails.csv")
    where = ("--state", folder / "c.campaign", "--out", folder / "batch.csv", "-n", n)
    return run_command(
        capsys, "certify", "start", *files, *where, *(words or ("--min-precision", "0.8"))
    )


def test_the_whole_way_to_a_certified_model(mails, capsys):
    folder, truth = mails
    done = start(capsys, folder)
    assert done.code == 0
    assert "Expected labels" in done.out
    filled = folder / "batch.csv"
    for number in range(6):
        fill_in(filled, truth)
        batch = folder / f"batch-{number}.csv"
        done = run_command(
            capsys, "certify", "tell", folder / "c.campaign", filled, "--out", batch, "--json"
        )
        filled = batch
        assert done.code == 0
        if json.loads(done.out)["certified"]:
            break
    shown = run_command(capsys, "certify", "show", folder / "c.campaign")
    assert shown.code == 0
    assert "Certified after" in shown.out
    rows_file = folder / "rows.csv"
    written = run_command(capsys, "certify", "rows", folder / "c.campaign", "--out", rows_file)
    assert written.code == 0
    assert "At most 10% of campaigns like this one are wrong" in written.out
    accepted = read(rows_file)
    assert {row["why"] for row in accepted} <= {"above the threshold", "found positive"}
    assert all(
        truth[int(row["row"]) - 1] == "spam" for row in accepted if row["why"] == "found positive"
    )
    assert np.mean([truth[int(row["row"]) - 1] == "spam" for row in accepted]) >= 0.8
    assert f"{len(accepted)} rows" in written.out
    out = folder / "certified.skops"
    applied = run_command(capsys, "certify", "apply", folder / "c.campaign", "--out", out)
    assert applied.code == 0
    assert 'a campaign with --claim "new rows" does that' in " ".join(applied.out.split())
    point = load(out).summary.operating_points["spam"]
    assert (point.status, point.level) == ("certified", "certified by sampling")
    assert (
        run_command(capsys, "predict", out, folder / "mails.csv", "--out", folder / "p.csv").code
        == 0
    )
    was_open = [row["label"] == "" for row in read_mails(folder)]
    above = np.array([row["above"] == "true" for row in read(folder / "p.csv")]) & was_open
    assert above.sum() == point.sampling.n_accepted
    assert np.mean([truth[i] == "spam" for i in np.flatnonzero(above)]) >= 0.8
    assert run_command(capsys, "report", out).code == 0
    assert (
        "certified by sampling" in run_command(capsys, "report", out, "--force").out
        or out.with_suffix(".html").exists()
    )


def test_no_rows_are_written_while_nothing_is_certified(mails, capsys):
    folder, _ = mails
    assert start(capsys, folder, "--min-recall", "0.8", "--budget", "30", "--one-look").code == 0
    done = run_command(
        capsys, "certify", "rows", folder / "c.campaign", "--out", folder / "rows.csv"
    )
    assert done.code == 1
    assert "tested once, after 30 more labels" in done.out
    assert not (folder / "rows.csv").exists()


def read_mails(folder):
    with open(folder / "mails.csv", newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def test_the_batch_holds_cells_and_an_empty_label_but_no_score_and_no_prediction(mails, capsys):
    folder, _ = mails
    start(capsys, folder)
    rows = read(folder / "batch.csv")
    whole = read_mails(folder)
    assert list(rows[0]) == COLUMNS
    for row in rows:
        own = whole[int(row["row"]) - 1]
        assert own["label"] == ""  # only rows without a label are drawn
        assert row["label"] == ""
        assert row["drawn"] == "by campaign"
        assert (row["id"], row["subject"]) == (own["id"], own["subject"])


def test_rows_are_shuffled_inside_a_batch(mails, capsys):
    """By score the first rows of the sequence would stand first: over several batches they do
    not.
    """
    from semisvm.tables.batches import write_batch
    from semisvm.tables.certify import load_campaign

    folder, _ = mails
    start(capsys, folder)
    campaign = load_campaign(folder / "c.campaign")
    orders = set()
    for _ in range(4):
        write_batch(campaign, 12, folder / "again.csv", force=True)
        orders.add(tuple(row["row"] for row in read(folder / "again.csv")))
    assert len(orders) > 1
    assert len({frozenset(order) for order in orders}) == 1


def test_dont_know_later_and_corrections(mails, capsys):
    folder, truth = mails
    start(capsys, folder, n=6)
    rows = read(fill_in(folder / "batch.csv", truth))
    rows[0]["label"], rows[1]["label"] = "?", ""
    write(folder / "batch.csv", rows)
    tell = ("certify", "tell", folder / "c.campaign", folder / "batch.csv")
    done = json.loads(run_command(capsys, *tell, "--json").out)
    assert (done["n_labels"], done["n_new"], done["n_empty"], done["n_corrected"]) == (5, 5, 1, 0)
    rows[0]["label"] = "ham"
    write(folder / "batch.csv", rows)
    done = run_command(capsys, *tell, "--out", folder / "next.csv", "-n", 6)
    assert "0 new answers, 1 corrected, 1 left empty, still open." in done.out
    # Answered rows are not asked again; an open one may be, where the plan still needs it.
    answered = {row["row"] for row in rows if row is not rows[1]}
    assert answered.isdisjoint(row["row"] for row in read(folder / "next.csv"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "sapm"}, "'sapm' is not a class. Perhaps 'spam' is meant"),
        ({"row": "x"}, "line 2: 'x' is not a row number"),
        ({"row": "99999"}, "line 2: row 99999 is not one of"),
    ],
)
def test_a_bad_answer_is_refused_with_its_line_and_nothing_is_told(mails, capsys, change, said):
    folder, truth = mails
    start(capsys, folder, n=5)
    rows = read(fill_in(folder / "batch.csv", truth))
    rows = [{name: cell.replace("\n", " ") for name, cell in row.items()} for row in rows]
    write(folder / "bad.csv", [rows[0] | change, *rows[1:]])
    done = run_command(capsys, "certify", "tell", folder / "c.campaign", folder / "bad.csv")
    assert done.code == 2
    assert "bad.csv" in done.err
    assert said in " ".join(done.err.split())
    assert (
        json.loads(run_command(capsys, "certify", "show", folder / "c.campaign", "--json").out)[
            "n_labels"
        ]
        == 0
    )


def test_two_answers_for_a_row_and_missing_columns_are_refused(mails, capsys):
    folder, truth = mails
    start(capsys, folder, n=3)
    rows = read(fill_in(folder / "batch.csv", truth))
    other = "ham" if rows[0]["label"] == "spam" else "spam"
    write(folder / "twice.csv", [*rows, rows[0] | {"label": other}])
    done = run_command(capsys, "certify", "tell", folder / "c.campaign", folder / "twice.csv")
    assert done.code == 2
    assert "has two different answers in this file" in " ".join(done.err.split())
    write(folder / "less.csv", [{"row": row["row"]} for row in rows])
    done = run_command(capsys, "certify", "tell", folder / "c.campaign", folder / "less.csv")
    assert done.code == 2
    assert "there is no column 'label'" in " ".join(done.err.split())


def test_what_was_frozen_must_not_change(mails, capsys):
    folder, truth = mails
    start(capsys, folder)
    fill_in(folder / "batch.csv", truth)
    data = folder / "mails.csv"
    content = data.read_bytes()
    data.write_bytes(content + b"m99999,,,,one more,no,\n")
    tell = ("certify", "tell", folder / "c.campaign", "--out", folder / "n.csv")
    done = run_command(capsys, *tell)
    assert done.code == 2
    assert "the data file has changed since the campaign began" in " ".join(done.err.split())
    data.unlink()
    (folder / "moved.csv").write_bytes(content)
    done = run_command(capsys, *tell)
    assert done.code == 2
    assert "is no longer there. Say by --data where it is now." in " ".join(done.err.split())
    assert run_command(capsys, *tell, "--data", folder / "moved.csv").code == 0
    done = run_command(
        capsys, "certify", "apply", folder / "c.campaign", "--out", folder / "m.skops"
    )
    assert done.code == 2
    assert "No threshold is certified" in done.err


def test_another_model_is_not_given_the_threshold(mails, capsys):
    folder, truth = mails
    start(capsys, folder, "--min-precision", "0.5")
    for number in range(3):
        filled = folder / ("batch.csv" if number == 0 else f"batch-{number}.csv")
        fill_in(filled, truth)
        batch = ("--out", folder / f"batch-{number + 1}.csv")
        run_command(capsys, "certify", "tell", folder / "c.campaign", filled, *batch)
    words = (
        "--target",
        "label",
        "--positive",
        "spam",
        "--method",
        "supervised",
        "--C",
        "0.1",
        "--out",
    )
    other = folder / "other.skops"
    assert run_command(capsys, "fit", folder / "mails.csv", *words, other).code == 0
    apply = ("certify", "apply", folder / "c.campaign", "--out", folder / "m.skops")
    done = run_command(capsys, *apply, "--model", other)
    assert done.code == 2
    assert "the model has changed since the campaign began" in " ".join(done.err.split())
    assert run_command(capsys, *apply).code == 0


def ledger_of(folder, model="spam.skops"):
    content = json.loads((folder / f"{model}.ledger").read_text())
    return content["campaigns"]


def answer(capsys, folder, truth, state="c.campaign", batch="batch.csv"):
    filled = fill_in(folder / batch, truth)
    assert run_command(capsys, "certify", "tell", folder / state, filled).code == 0


def test_the_ledger_is_a_file_beside_the_model_which_stays_as_it_is(mails, capsys):
    folder, truth = mails
    model = folder / "spam.skops"
    model.chmod(0o600)
    before = model.read_bytes()
    done = start(capsys, folder)
    assert "No earlier campaign is known" in done.out
    assert "spam.skops.ledger" in done.out
    answer(capsys, folder, truth)
    done = start(capsys, folder, "--min-recall", "0.8", "--force")
    assert "Campaign 2" in done.out
    assert "any of the 2 campaigns on this task is wrong is at most 20%" in done.out
    assert model.read_bytes() == before
    assert [entry["answered"] for entry in ledger_of(folder)] == [True]
    assert (folder / "spam.skops.ledger").stat().st_mode & 0o777 == 0o600
    assert not list(folder.glob(".*"))  # no lock and no unfinished file is left


def test_a_campaign_counts_from_its_first_answer(mails, capsys):
    """One that is abandoned before it costs nothing, wherever its file has gone."""
    folder, truth = mails
    start(capsys, folder)
    done = start(capsys, folder, "--min-precision", "0.7", "--force")
    assert "Campaign 1" in done.out
    assert load_campaign(folder / "c.campaign").total_risk == pytest.approx(0.1)
    answer(capsys, folder, truth)
    (folder / "c.campaign").unlink()
    assert "at most 20%" in start(capsys, folder, "--min-recall", "0.8", "--force").out
    assert [entry["answered"] for entry in ledger_of(folder)] == [True]


def test_answers_that_python_saves_count_as_well(mails, capsys):
    folder, _ = mails
    start(capsys, folder)
    campaign = Campaign.load(folder / "c.campaign")
    campaign.tell(campaign.draw(1), ["spam"])
    campaign.withdraw(list(campaign.answers))  # it was seen all the same
    campaign.save(folder / "c.campaign")
    assert [entry["answered"] for entry in ledger_of(folder)] == [True]


def test_a_campaign_knows_of_those_that_were_answered_after_its_start(mails, capsys):
    folder, truth = mails
    start(capsys, folder)
    start_named(capsys, folder, "d")
    rows = load_campaign(folder / "c.campaign").draw(20)
    answer(capsys, folder, truth, "d.campaign", "d.csv")
    first = load_campaign(folder / "c.campaign")
    assert first.total_risk == pytest.approx(0.2)
    assert first.draw(20) == rows  # the clocks are those that it began with
    assert load_campaign(folder / "d.campaign").total_risk == pytest.approx(0.1)


@pytest.mark.posix
def test_two_first_answers_at_once_are_both_in_the_ledger(mails, capsys):
    folder, truth = mails
    context = multiprocessing.get_context("fork")
    for pair in range(4):
        names = (f"{pair}-0", f"{pair}-1")
        for name in names:
            start_named(capsys, folder, name)
        answers = [
            context.Process(
                target=answer, args=(capsys, folder, truth, f"{name}.campaign", f"{name}.csv")
            )
            for name in names
        ]
        for process in answers:
            process.start()
        for process in answers:
            process.join()
        assert [process.exitcode for process in answers] == [0, 0]
        begun = {load_campaign(folder / f"{name}.campaign").ledger[-1]["id"] for name in names}
        assert begun <= {entry["id"] for entry in ledger_of(folder)}
    assert len(ledger_of(folder)) == 8


def start_named(capsys, folder, name):
    files = (folder / "spam.skops", folder / "mails.csv", "--min-precision", "0.8")
    where = ("--state", folder / f"{name}.campaign", "--out", folder / f"{name}.csv")
    assert run_command(capsys, "certify", "start", *files, *where).code == 0


@pytest.mark.posix
def test_a_kill_between_ledger_and_campaign_leaves_nothing_wrong(mails, capsys, monkeypatch):
    """The first answer may have been seen, so the campaign counts."""
    folder, truth = mails
    start(capsys, folder)
    with monkeypatch.context() as patch:
        patch.setattr("semisvm.campaign.file.write_checked", lambda *given: os._exit(9))
        child = multiprocessing.get_context("fork").Process(
            target=answer, args=(capsys, folder, truth)
        )
        child.start()
        child.join()
    assert child.exitcode == 9
    assert len(ledger_of(folder)) == 1
    assert not load_campaign(folder / "c.campaign").answers
    answer(capsys, folder, truth)
    assert len(ledger_of(folder)) == 1


def test_a_model_without_its_ledger(mails, capsys):
    """Copied without it, earlier campaigns are named by --after; a campaign whose model is gone
    says what to do; one whose ledger is gone restores it.
    """
    folder, truth = mails
    start(capsys, folder)
    answer(capsys, folder, truth)
    (folder / "spam.skops.ledger").rename(folder / "elsewhere")
    assert "No earlier campaign is known" in start(capsys, folder, "--min-f", "0.3", "--force").out
    files = (folder / "spam.skops", folder / "mails.csv", "--min-precision", "0.8")
    other = ("--state", folder / "d.campaign", "--out", folder / "d.csv")
    after = ("--after", folder / "c.campaign")
    assert run_command(capsys, "certify", "start", *files, *other, *after).code == 0
    answer(capsys, folder, truth, "d.campaign", "d.csv")
    assert [entry["answered"] for entry in ledger_of(folder)] == [True, True]
    campaign = Campaign.load(folder / "c.campaign")
    (folder / "spam.skops").unlink()
    campaign.tell(campaign.draw(1), ["ham"])
    with pytest.warns(UserWarning, match="name its file by `after`"):
        campaign.save(folder / "c.campaign")
    campaign.save(folder / "c.campaign")
    assert Campaign.load(folder / "c.campaign").n_labels == 1


def test_a_warning_of_the_command_is_a_sentence_that_names_options(mails, capsys):
    folder, truth = mails
    start(capsys, folder)
    fill_in(folder / "batch.csv", truth)
    (folder / "spam.skops").unlink()
    words = ("certify", "tell", folder / "c.campaign", folder / "batch.csv")
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: The ledger ")
    assert done.stderr.endswith("name its file by --after when you start one.\n")


@pytest.mark.parametrize("content", ["", "[]", '{"campaigns": [{}]}', "[" * 100_000])
def test_a_damaged_ledger_is_named(mails, capsys, content):
    folder, _ = mails
    (folder / "spam.skops.ledger").write_text(content)
    done = start(capsys, folder)
    assert done.code == 2
    assert "the ledger of campaigns can't be read" in done.err
    assert (folder / "spam.skops.ledger").read_text() == content


def test_show_ends_with_1_while_nothing_is_certified(mails, capsys):
    folder, _ = mails
    start(
        capsys,
        folder,
        "--min-f",
        "0.6",
        "--beta",
        "2",
        "--claim",
        "new rows",
        "--dont-know",
        "leave out",
    )
    done = run_command(capsys, "certify", "show", folder / "c.campaign", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["status"], found["claim"]) == ("open", "new rows")


def test_shares_may_be_percentages(mails, capsys):
    folder, _ = mails
    assert (
        start(
            capsys, folder, "--min-precision", "80%", "--min-recall", "5%", "--confidence", "95%"
        ).code
        == 0
    )
    campaign = load_campaign(folder / "c.campaign")
    assert (campaign.target.min_precision, campaign.target.min_recall) == (0.8, 0.05)
    assert campaign.confidence == 0.95


def test_the_report_of_a_campaign_names_its_model(mails, capsys):
    folder, _ = mails
    assert start(capsys, folder, "--min-precision", "0.8").code == 0
    page = folder / "campaign.html"
    show = ("certify", "show", folder / "c.campaign", "--report", page)
    assert run_command(capsys, *show).code == 1
    assert "Next: semisvm predict spam.skops" in page.read_text(encoding="utf-8")
    assert "MODEL" not in page.read_text(encoding="utf-8")


def test_a_cost_needs_costs(mails, capsys):
    folder, _ = mails
    done = start(capsys, folder, "--max-cost", "0.2")
    assert done.code == 2
    assert "--max-cost needs --costs" in done.err
    done = start(capsys, folder, "--max-cost", "0.2", "--costs", "spam=1,ham=2")
    assert done.code == 0
    assert "cost at most 0.2 per row (1 per missed positive, 2 per accepted negative)" in done.out


def test_bad_starts_are_refused(mails, capsys, monkeypatch):
    folder, _ = mails
    with monkeypatch.context() as patch:  # refused before any row is scored
        patch.setattr("semisvm.tables.certify.score_open_rows", None)
        done = start(capsys, folder, "--confidence", "0.9")
    assert done.code == 2
    assert "A target is needed, --min-precision or --min-recall" in done.err
    assert start(capsys, folder).code == 0
    assert "the file exists" in start(capsys, folder).err
    (folder / "no.campaign").write_text("{}")
    done = run_command(capsys, "certify", "show", folder / "no.campaign")
    assert done.code == 2
    assert "not the file of a campaign" in done.err
    rows = [row for row in read_mails(folder) if row["label"]]
    write(folder / "labeled.csv", rows)
    files = (folder / "spam.skops", folder / "labeled.csv", "--min-precision", "0.8")
    done = run_command(
        capsys, "certify", "start", *files, "--state", folder / "x", "--out", folder / "y"
    )
    assert "every row has a label" in done.err


def test_no_output_replaces_an_input(mails, capsys):
    """Not even with --force: the filled-in file, the campaign, the model and the data would be
    lost.
    """
    folder, truth = mails
    model = folder / "spam.skops"
    data = folder / "mails.csv"
    state = folder / "c.campaign"
    files = ("certify", "start", model, data, "--min-precision", "0.8", "--force")
    for one, other in (
        (model, folder / "b.csv"),
        (state, data),
        (state, state),
        (data, folder / "b.csv"),
    ):
        done = run_command(capsys, *files, "--state", one, "--out", other)
        assert (done.code, "read or written by the same command" in done.err) == (2, True)
    assert start(capsys, folder).code == 0
    kept = {
        path: path.read_bytes()
        for path in (model, data, state, fill_in(folder / "batch.csv", truth))
    }
    for path in kept:
        done = run_command(
            capsys, "certify", "tell", state, folder / "batch.csv", "--out", path, "--force"
        )
        assert "read or written by the same command" in done.err
        assert path == folder / "batch.csv" or run_command(
            capsys, "certify", "apply", state, "--out", path, "--force"
        ).err.count("read or written by the same command")
    assert kept == {path: path.read_bytes() for path in kept}


def test_a_column_called_row_is_left_alone(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    truth = np.where(x > 0, "yes", "no")
    rows = [
        {"row": f"r{i}", "x": f"{x[i]:.4f}", "label": truth[i] if i < 60 else ""}
        for i in range(300)
    ]
    write(tmp_path / "t.csv", rows)
    fit = (
        "fit",
        tmp_path / "t.csv",
        "--target",
        "label",
        "--drop",
        "row",
        "--method",
        "supervised",
    )
    assert run_command(capsys, *fit, "--out", tmp_path / "m.skops").code == 0
    files = (
        tmp_path / "m.skops",
        tmp_path / "t.csv",
        "--state",
        tmp_path / "c",
        "--out",
        tmp_path / "b.csv",
    )
    assert run_command(capsys, "certify", "start", *files, "--min-precision", "0.9").code == 0
    fill_in(tmp_path / "b.csv", truth, column="row_number")
    assert all(row["row"] == f"r{int(row['row_number']) - 1}" for row in read(tmp_path / "b.csv"))
    done = run_command(capsys, "certify", "tell", tmp_path / "c", tmp_path / "b.csv", "--json")
    assert json.loads(done.out)["n_new"] == 20


def test_a_digest_of_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path):
    with pytest.raises(ValueError, match="gone"):
        file_digest(tmp_path / "gone.csv")


def test_answers_train_the_next_model(mails, capsys):
    folder, truth = mails
    start(capsys, folder)
    export = ("certify", "export", folder / "c.campaign", "--out", folder / "labels.csv")
    assert "Nothing is answered" in run_command(capsys, *export).out
    run_command(
        capsys, "certify", "tell", folder / "c.campaign", fill_in(folder / "batch.csv", truth)
    )
    assert "20 rows with their labels" in run_command(capsys, *export).out
    rows = read(folder / "labels.csv")
    assert all(
        row["label"] == truth[int(row["row"]) - 1] and row["drawn"] == "by campaign" for row in rows
    )
    words = (
        "--target",
        "label",
        "--positive",
        "spam",
        "--method",
        "supervised",
        "--out",
        folder / "next.skops",
    )
    assert run_command(capsys, "fit", folder / "mails.csv", folder / "labels.csv", *words).code == 0


def test_what_wrong_answers_would_do_is_said_in_options(mails, capsys):
    folder, truth = mails
    start(capsys, folder, "--min-precision", "0.8")
    batch = fill_in(folder / "batch.csv", truth)
    for name in ("Ann", "Bob"):
        tell = ("certify", "tell", folder / "c.campaign", batch, "--annotator", name)
        done = run_command(capsys, *tell)
    assert "To account for this, set --error-rate." in done.out


def test_answers_of_two_people_and_the_error_rate_of_a_campaign(mails, capsys):
    folder, truth = mails
    done = start(capsys, folder, "--min-precision", "0.8", "--error-rate", "2%", n=20)
    assert done.code == 0, done.err
    batch = fill_in(folder / "batch.csv", truth)
    where = ("--out", folder / "bob.csv")
    tell = ("certify", "tell", folder / "c.campaign")
    assert run_command(capsys, *tell, batch, *where, "--annotator", "Ann").code == 0
    again = fill_in(folder / "bob.csv", truth)
    done = run_command(capsys, *tell, again, "--annotator", "Bob")
    assert done.code == 0, done.err
    campaign = load_campaign(folder / "c.campaign")
    assert campaign.error_rate == 0.02
    assert set(campaign.agreement().by_annotator) == {"Ann", "Bob"}

    # Bob's rows were drawn for nobody in particular: those of --out are for whoever is named.
    run_command(capsys, *tell, "--out", folder / "cy.csv", "-n", 20, "--annotator", "Cy")
    numbers = {row["row"] for row in read(folder / "cy.csv")}
    known = {row["row"] for path in (batch, again) for row in read(path)}
    assert len(numbers & known) == 2
    done = run_command(capsys, *tell, fill_in(folder / "cy.csv", truth), "--annotator", "Cy")
    assert "2 rows answered by two people: 2 alike" in done.out
    assert done.out.count("label up to 2.0% of the negatives as positive") == 1

    # Whoever answers next may be somebody else.
    words = ("--annotator", "Cy", "--for", "Ann", "--out", folder / "ann.csv", "-n", 20)
    run_command(capsys, *tell, folder / "cy.csv", *words)
    first = {row["row"] for row in read(folder / "ann.csv")} & (numbers | known)
    assert len(first) == 2
    assert not first & {row["row"] for row in read(batch)}
