"""Tables in which one class is labeled: the fit goes its way by itself, says so, and claims no
precision.
"""

import json

import numpy as np
import pandas as pd
import pytest

import semisvm
from command_line import run_command
from semisvm.errors import DataError
from semisvm.tables.evaluate import summarize_estimator
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training
from semisvm.tables.sentences import first_screen


@pytest.fixture
def table(tmp_path):
    """Forty known frauds, and 160 rows that may hold more."""
    rng = np.random.default_rng(0)
    is_fraud = np.concatenate([np.ones(40, bool), rng.random(160) < 0.2])
    X = rng.standard_normal((200, 2)) + 2.5 * is_fraud[:, None]
    lines = [f"{a:.4f},{b:.4f},{'fraud' if row < 40 else ''}" for row, (a, b) in enumerate(X)]
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(["a,b,kind", *lines]) + "\n")
    return path


def test_one_label_and_empty_cells_go_to_the_method_for_them(table, tmp_path):
    rows = read_training([table], "kind", positive="fraud")
    assert rows.has_positives_only
    fitted = fit_model(rows, Settings())
    summary = fitted.summary
    assert summary.method.name == "positive-unlabeled"
    assert summary.method.why.startswith("All labels of 'kind' are 'fraud'")
    assert summary.classes == ("not fraud", "fraud")
    assert list(summary.operating_points) == ["fraud"]
    assert summary.positives_only == fitted.estimator.operating_point_
    assert summary.notes[0].startswith(
        "All of this assumes that the labeled positives are a random sample"
    )
    assert [
        note
        for note in summary.notes
        if note.startswith("Precision depends on the prior, which is not known")
    ]
    screen = " ".join(first_screen(summary).lines)
    assert "It assumes that the labeled rows are a random sample of all fraud" in screen
    assert "These shares differ a lot" not in screen
    assert fitted.summary.reached
    back = semisvm.load(semisvm.save(fitted, tmp_path / "m.skops"))
    assert set(back.predict(rows.rows)) == {"not fraud", "fraud"}
    assert back.summary.as_dict() == summary.as_dict()


def test_a_recall_may_be_asked_for_and_a_precision_may_not(table):
    rows = read_training([table], "kind", positive="fraud")
    assert fit_model(rows, Settings(min_recall=0.8, confidence=0.9)).summary.reached
    assert not fit_model(rows, Settings(min_recall=0.95, confidence=0.9)).summary.reached
    with pytest.raises(DataError, match="no precision can be measured"):
        fit_model(rows, Settings(min_precision=0.8))
    with pytest.raises(DataError, match="'transductive' needs labels of two classes"):
        fit_model(rows, Settings(), method="transductive")


def test_the_method_is_refused_where_two_classes_are_labeled(table):
    rows = read_training([table], "kind", positive="fraud")
    rows.codes[60:80] = 0
    with pytest.raises(DataError, match="one class only"):
        fit_model(rows, Settings(), method="positive-unlabeled")


def test_the_command_does_it_and_writes_predictions_and_a_report(table, tmp_path, capsys):
    model = tmp_path / "m.skops"
    report = tmp_path / "report.html"
    out = tmp_path / "out.csv"
    fit = run_command(
        capsys,
        "fit",
        table,
        "--target",
        "kind",
        "--positive",
        "fraud",
        "--out",
        model,
        "--report",
        report,
        "--details",
    )
    assert fit.code == 0
    assert "positive-unlabeled" in fit.out + fit.err
    assert run_command(capsys, "predict", model, table, "--out", out).code == 0
    assert "not fraud" in out.read_text()
    page = report.read_text()
    assert "random sample of all positives" in page
    assert "precision is at least" not in page.lower()
    compare = run_command(capsys, "compare", table, "--target", "kind", "--positive", "fraud")
    assert compare.code == 2
    assert "all labels of 'kind' are 'fraud', and errors are counted on" in compare.err


def relabel(path, table, negative):
    """The same rows, of which those after the known frauds have labels: every fourth "fraud",
    the others `negative`.
    """
    head, *lines = table.read_text().splitlines()
    labels = ["fraud" if row < 40 or row % 4 == 0 else negative for row in range(len(lines))]
    cells = (line.rpartition(",")[0] for line in lines)
    path.write_text(
        "\n".join([head, *(f"{a},{b}" for a, b in zip(cells, labels, strict=True))]) + "\n"
    )
    return path


def test_any_other_label_of_a_held_out_file_is_negative_where_that_is_plain(
    table, tmp_path, capsys
):
    model = tmp_path / "m.skops"
    assert (
        run_command(
            capsys,
            "fit",
            table,
            "--target",
            "kind",
            "--positive",
            "fraud",
            "--min-recall",
            "0.8",
            "--out",
            model,
        ).code
        == 0
    )
    known = run_command(
        capsys, "evaluate", model, relabel(tmp_path / "known.csv", table, "not fraud"), "--json"
    )
    own = relabel(tmp_path / "own.csv", table, "no")
    found = run_command(capsys, "evaluate", model, own, "--json")
    values = json.loads(found.out)
    assert values.pop("as_negative") == {"no": 120}
    assert values == {
        name: one for name, one in json.loads(known.out).items() if name != "as_negative"
    }
    assert found.code == known.code == (0 if values["reached"] else 1)
    assert (
        values["operating_points"]["fraud"]["target"]["min_recall"] == 0.8
    )  # what was asked of the fit is judged
    told = run_command(capsys, "evaluate", model, own).out
    assert "Labels other than 'fraud' count as 'not fraud': 'no' (120 rows)." in told
    assert run_command(capsys, "report", model, own, "--out", tmp_path / "r.html").code == 0
    everything = run_command(capsys, "suggest", model, own, "--out", tmp_path / "s.csv")
    assert (everything.code, "every row has a label" in everything.err) == (2, True)
    frame = pd.read_csv(own)
    summary = summarize_estimator(semisvm.load(model), frame[["a", "b"]], frame["kind"])
    assert summary.operating_points["fraud"].counts.negatives == 120


@pytest.mark.parametrize("mark", ["?", "unknown", "-1"])
def test_a_label_that_may_mark_unlabeled_rows_is_asked_about(table, tmp_path, capsys, mark):
    model = tmp_path / "m.skops"
    held_out = relabel(tmp_path / "held-out.csv", table, mark)
    assert (
        run_command(
            capsys, "fit", table, "--target", "kind", "--positive", "fraud", "--out", model
        ).code
        == 0
    )
    done = run_command(capsys, "evaluate", model, held_out)
    assert done.code == 2
    assert (
        f"Set --unlabeled to '{mark}' if it marks unlabeled rows, or to '' if such rows are 'not"
        " fraud'." in done.err
    )
    assert (
        json.loads(
            run_command(capsys, "evaluate", model, held_out, "--unlabeled", "", "--json").out
        )["rows"]
        == 200
    )
    done = run_command(capsys, "evaluate", model, held_out, "--unlabeled", mark)
    assert (done.code, "any label but 'fraud' counts as 'not fraud'" in done.err) == (2, True)


def test_labels_of_one_class_stop_in_words_unless_it_is_named(table, tmp_path, capsys):
    """What all labels are may be "negative": nobody wants a model that looks for it unasked."""
    done = run_command(capsys, "fit", table, "--target", "kind", "--out", tmp_path / "m.skops")
    assert done.code == 2
    assert "labels of one class only, 'fraud' (40 of 200 rows)" in done.err
    assert "or set --positive to 'fraud' if that is what you look for" in done.err
    assert not (tmp_path / "m.skops").exists()


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_model_of_positives_that_accepts_nearly_every_row_is_of_no_use(tmp_path, capsys, share):
    """Columns that tell nothing: the share that is asked for is accepted."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((1000, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(np.arange(1000) < 60, "fraud", "")
    frame.to_csv(tmp_path / "cases.csv", index=False)
    words = ["fit", tmp_path / "cases.csv", "--target", "kind", "--positive", "fraud"]
    words += ["--min-recall", str(share), "--out", tmp_path / "m.skops"]
    done = run_command(capsys, *words)
    shown = " ".join(done.out.split())
    assert ("This model is of no use: it accepts" in shown) == (share == 1.0)
    assert done.code == (4 if share == 1.0 else 0)
