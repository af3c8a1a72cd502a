"""`semisvm certify`: campaigns on files, as a person runs them."""

import csv
import json

import numpy as np
import pytest

from command_line import copy_fitted_mails, run_command, write_messy
from semisvm import load
from semisvm.tables.certify import file_digest, load_campaign
from semisvm.tables.files import model_digest

COLUMNS = ["row", "id", "sent", "country", "size", "subject", "urgent", "drawn", "label"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Mails, their true labels, and a model: (folder, truth)."""
    folder = tmp_path_factory.mktemp("mails")
    truth = write_messy(folder / "mails.csv", n_rows=900, share_labeled=0.12)
    return folder, truth


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
    return run_command(capsys, "certify", "start", *files, *where, *(words or ("--min-precision", "0.8")))


def test_the_whole_way_to_a_certified_model(mails, capsys):
    folder, truth = mails
    done = start(capsys, folder)
    assert done.code == 0
    assert "What it may take" in done.out
    filled = folder / "batch.csv"
    for number in range(6):
        fill_in(filled, truth)
        batch = folder / f"batch-{number}.csv"
        done = run_command(capsys, "certify", "tell", folder / "c.campaign", filled, "--out", batch, "--json")
        filled = batch
        assert done.code == 0
        if json.loads(done.out)["certified"]:
            break
    shown = run_command(capsys, "certify", "show", folder / "c.campaign")
    assert shown.code == 0
    assert "Certified after" in shown.out
    out = folder / "certified.skops"
    assert run_command(capsys, "certify", "apply", folder / "c.campaign", "--out", out).code == 0
    point = load(out).summary.operating_points["spam"]
    assert (point.status, point.level) == ("certified", "certified by sampling")
    assert run_command(capsys, "predict", out, folder / "mails.csv", "--out", folder / "p.csv").code == 0
    was_open = [row["label"] == "" for row in read_mails(folder)]
    above = np.array([row["above"] == "true" for row in read(folder / "p.csv")]) & was_open
    assert above.sum() == point.sampling.n_accepted
    assert np.mean([truth[i] == "spam" for i in np.flatnonzero(above)]) >= 0.8
    assert run_command(capsys, "report", out).code == 0
    assert (
        "certified by sampling" in run_command(capsys, "report", out, "--force").out
        or out.with_suffix(".html").exists()
    )


def read_mails(folder):
    with open(folder / "mails.csv", newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def test_the_batch_holds_cells_and_an_empty_label_but_no_score_and_no_prediction(mails, capsys):
    folder, _ = mails
    start(capsys, folder)
    rows, whole = read(folder / "batch.csv"), read_mails(folder)
    assert list(rows[0]) == COLUMNS
    for row in rows:
        own = whole[int(row["row"]) - 1]
        assert own["label"] == ""  # only rows without a label are drawn
        assert row["label"] == ""
        assert row["drawn"] == "by campaign"
        assert (row["id"], row["subject"]) == (own["id"], own["subject"])


def test_rows_are_shuffled_inside_a_batch(mails, capsys):
    """By score the first rows of the sequence would stand first: over several batches they do not."""
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
    assert "0 new answers, 1 corrected, 1 left empty, to be asked again." in done.out
    assert rows[1]["row"] in [row["row"] for row in read(folder / "next.csv")]


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
    assert json.loads(run_command(capsys, "certify", "show", folder / "c.campaign", "--json").out)["n_labels"] == 0


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
    (folder / "moved.csv").write_bytes(content)
    assert run_command(capsys, *tell, "--data", folder / "moved.csv").code == 0
    done = run_command(capsys, "certify", "apply", folder / "c.campaign", "--out", folder / "m.skops")
    assert done.code == 2
    assert "Nothing is certified" in done.err


def test_another_model_is_not_given_the_threshold(mails, capsys):
    folder, truth = mails
    start(capsys, folder, "--min-precision", "0.5")
    for number in range(3):
        filled = folder / ("batch.csv" if number == 0 else f"batch-{number}.csv")
        fill_in(filled, truth)
        batch = ("--out", folder / f"batch-{number + 1}.csv")
        run_command(capsys, "certify", "tell", folder / "c.campaign", filled, *batch)
    words = ("--target", "label", "--positive", "spam", "--method", "supervised", "--C", "0.1", "--out")
    other = folder / "other.skops"
    assert run_command(capsys, "fit", folder / "mails.csv", *words, other).code == 0
    apply = ("certify", "apply", folder / "c.campaign", "--out", folder / "m.skops")
    done = run_command(capsys, *apply, "--model", other)
    assert done.code == 2
    assert "the model has changed since the campaign began" in " ".join(done.err.split())
    assert run_command(capsys, *apply).code == 0


def test_the_ledger_is_kept_in_the_model_file_and_leaves_its_digest(mails, capsys):
    folder, _ = mails
    model = folder / "spam.skops"
    before, scores = model_digest(model), load(model).decision_function(load_rows(folder))
    start(capsys, folder)
    done = start(capsys, folder, "--min-recall", "0.8", "--force")
    assert "Campaign 2" in done.out
    assert "is at most 20%" in done.out
    assert model_digest(model) == before
    loaded = load(model)
    assert [entry["campaign"] for entry in loaded.summary.campaigns] == [1, 2]
    assert np.array_equal(loaded.decision_function(load_rows(folder)), scores)


def load_rows(folder):
    import pandas

    frame = pandas.read_csv(folder / "mails.csv", encoding="utf-8-sig", dtype=str).head(20)
    frame["size"] = pandas.to_numeric(frame["size"], errors="coerce")
    return frame


def test_show_ends_with_1_while_nothing_is_certified(mails, capsys):
    folder, _ = mails
    start(capsys, folder, "--min-f", "0.6", "--beta", "2", "--claim", "new rows", "--dont-know", "leave out")
    done = run_command(capsys, "certify", "show", folder / "c.campaign", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["status"], found["claim"]) == ("open", "new rows")


def test_shares_may_be_percentages(mails, capsys):
    folder, _ = mails
    assert start(capsys, folder, "--min-precision", "80%", "--min-recall", "5%", "--confidence", "95%").code == 0
    campaign = load_campaign(folder / "c.campaign")
    assert (campaign.target.min_precision, campaign.target.min_recall) == (0.8, 0.05)
    assert campaign.confidence == 0.95


def test_a_cost_needs_costs(mails, capsys):
    folder, _ = mails
    done = start(capsys, folder, "--max-cost", "0.2")
    assert done.code == 2
    assert "max_cost needs costs" in done.err
    done = start(capsys, folder, "--max-cost", "0.2", "--costs", "spam=1,ham=2")
    assert done.code == 0
    assert "cost at most 0.2 per row (1 per missed positive, 2 per accepted negative)" in done.out


def test_bad_starts_are_refused(mails, capsys):
    folder, _ = mails
    assert "Say what to certify" in start(capsys, folder, "--confidence", "0.9").err
    assert start(capsys, folder).code == 0
    assert "the file exists" in start(capsys, folder).err
    (folder / "no.campaign").write_text("{}")
    done = run_command(capsys, "certify", "show", folder / "no.campaign")
    assert done.code == 2
    assert "not the file of a campaign" in done.err
    rows = [row for row in read_mails(folder) if row["label"]]
    write(folder / "labeled.csv", rows)
    files = (folder / "spam.skops", folder / "labeled.csv", "--min-precision", "0.8")
    done = run_command(capsys, "certify", "start", *files, "--state", folder / "x", "--out", folder / "y")
    assert "every row has a label" in done.err


def test_no_output_replaces_an_input(mails, capsys):
    """Not even with --force: the filled-in file, the campaign, the model and the data would be lost."""
    folder, truth = mails
    model, data, state = folder / "spam.skops", folder / "mails.csv", folder / "c.campaign"
    files = ("certify", "start", model, data, "--min-precision", "0.8", "--force")
    for one, other in ((model, folder / "b.csv"), (state, data), (state, state), (data, folder / "b.csv")):
        done = run_command(capsys, *files, "--state", one, "--out", other)
        assert (done.code, "read or written by the same command" in done.err) == (2, True)
    assert start(capsys, folder).code == 0
    kept = {path: path.read_bytes() for path in (model, data, state, fill_in(folder / "batch.csv", truth))}
    for path in kept:
        done = run_command(capsys, "certify", "tell", state, folder / "batch.csv", "--out", path, "--force")
        assert "read or written by the same command" in done.err
        assert path == folder / "batch.csv" or run_command(
            capsys, "certify", "apply", state, "--out", path, "--force"
        ).err.count("read or written by the same command")
    assert kept == {path: path.read_bytes() for path in kept}


def test_a_column_called_row_is_left_alone(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    truth = np.where(x > 0, "yes", "no")
    rows = [{"row": f"r{i}", "x": f"{x[i]:.4f}", "label": truth[i] if i < 60 else ""} for i in range(300)]
    write(tmp_path / "t.csv", rows)
    fit = ("fit", tmp_path / "t.csv", "--target", "label", "--drop", "row", "--method", "supervised")
    assert run_command(capsys, *fit, "--out", tmp_path / "m.skops").code == 0
    files = (tmp_path / "m.skops", tmp_path / "t.csv", "--state", tmp_path / "c", "--out", tmp_path / "b.csv")
    assert run_command(capsys, "certify", "start", *files, "--min-precision", "0.9").code == 0
    fill_in(tmp_path / "b.csv", truth, column="row_number")
    assert all(row["row"] == f"r{int(row['row_number']) - 1}" for row in read(tmp_path / "b.csv"))
    done = run_command(capsys, "certify", "tell", tmp_path / "c", tmp_path / "b.csv", "--json")
    assert json.loads(done.out)["n_new"] == 20


def test_a_digest_of_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path):
    with pytest.raises(ValueError, match="gone"):
        file_digest(tmp_path / "gone.csv")


# ---- labeling tools ----


def answered_by_label_studio(tasks, truth):
    """What Label Studio exports after people answered: ids and times added, the third task skipped."""
    for k, task in enumerate(tasks):
        label = "?" if k == 1 else truth[task["data"]["row"] - 1]
        result = {"id": f"r{k}", "from_name": "label", "to_name": "cells", "type": "choices", "origin": "manual"}
        done = {"id": k, "completed_by": 1, "lead_time": 4.2, "was_cancelled": k == 2}
        done["result"] = [] if k == 2 else [result | {"value": {"choices": [label]}}]
        task |= {"id": 100 + k, "project": 3, "predictions": [], "drafts": [], "annotations": [done]}
    return tasks


def answered_by_argilla(records, truth):
    """What `dataset.records.to_json` gives after people answered; the third record has no response."""
    for k, record in enumerate(records):
        label = "?" if k == 1 else truth[record["metadata"]["row"] - 1]
        record["responses"] = {} if k == 2 else {"label": [{"value": label, "user_id": f"user-{k}"}]}
        record |= {"_server_id": f"server-{k}", "status": "completed"}
    return records


WRONG_CHOICE = {"type": "choices", "value": {"choices": ["spma"]}}
TOOLS = {"label-studio": answered_by_label_studio, "argilla": answered_by_argilla}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_batch_goes_to_a_labeling_tool_and_its_answers_come_back(mails, capsys, tool):
    folder, truth = mails
    files = ("certify", "start", folder / "spam.skops", folder / "mails.csv", "--state", folder / "c.campaign")
    batch = folder / "batch.json"
    done = run_command(capsys, *files, "--min-precision", "0.8", "--out", batch, "--format", tool, "-n", "12")
    assert done.code == 0
    assert "Set the project up with" in done.out
    entries = json.loads(batch.read_text(encoding="utf-8"))
    assert len(entries) == 12
    assert "score" not in batch.read_text(encoding="utf-8")
    assert not any(entry.get("annotations") or entry.get("responses") for entry in entries)
    answered = folder / "answered.json"
    answered.write_text(json.dumps(TOOLS[tool](entries, truth)), encoding="utf-8")
    told = run_command(capsys, "certify", "tell", folder / "c.campaign", answered, "--json")
    found = json.loads(told.out)
    assert (found["n_new"], found["n_empty"]) == (11, 1)
    campaign = load_campaign(folder / "c.campaign")
    assert sorted(map(str, campaign.labels.values())).count("None") == 1
    # out again, as answers, and into another campaign's file: nothing is new
    export = ("certify", "export", folder / "c.campaign", "--out")
    assert run_command(capsys, *export, folder / "answers.json", "--format", tool).code == 0
    again = json.loads(
        run_command(capsys, "certify", "tell", folder / "c.campaign", folder / "answers.json", "--json").out
    )
    assert (again["n_new"], again["n_corrected"], again["n_empty"]) == (0, 0, 0)
    assert load_campaign(folder / "c.campaign").labels == campaign.labels


def test_answers_train_the_next_model(mails, capsys):
    folder, truth = mails
    start(capsys, folder)
    export = ("certify", "export", folder / "c.campaign", "--out", folder / "labels.csv")
    assert "Nothing is answered" in run_command(capsys, *export).out
    run_command(capsys, "certify", "tell", folder / "c.campaign", fill_in(folder / "batch.csv", truth))
    assert "20 rows with their labels" in run_command(capsys, *export).out
    rows = read(folder / "labels.csv")
    assert all(row["label"] == truth[int(row["row"]) - 1] and row["drawn"] == "by campaign" for row in rows)
    words = ("--target", "label", "--positive", "spam", "--method", "supervised", "--out", folder / "next.skops")
    assert run_command(capsys, "fit", folder / "mails.csv", folder / "labels.csv", *words).code == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "this is not JSON"),
        ("{}", "not a list of tasks"),
        ('[{"data": {"text": "x"}}]', "entry 1 is neither a task"),
        ('[{"metadata": {"row": 1}, "responses": 3}]', "entry 1 is neither a task"),
        ('[{"data": {"row": "x"}, "annotations": []}]', "'x' is not a row number"),
        (
            json.dumps([{"data": {"row": 5}, "annotations": [{"result": [WRONG_CHOICE]}]}]),
            "row 5: 'spma' is not a class",
        ),
    ],
)
def test_a_strange_export_is_refused_in_one_sentence(mails, capsys, content, said):
    folder, _ = mails
    start(capsys, folder)
    (folder / "x.json").write_text(content)
    done = run_command(capsys, "certify", "tell", folder / "c.campaign", folder / "x.json")
    assert done.code == 2
    assert said in done.err
