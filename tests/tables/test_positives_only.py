"""Tables in which one class is labeled: the fit goes its way by itself, says so, and claims no precision."""

import numpy as np
import pytest

import semisvm
from command_line import run_command
from semisvm.errors import DataError
from semisvm.tables.fit import compare_on, fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training


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
    rows = read_training([table], "kind")
    assert rows.has_positives_only
    fitted = fit_model(rows, Settings())
    summary = fitted.model.summary
    assert summary.method.name == "positive-unlabeled"
    assert summary.method.why.startswith("All labels of 'kind' are 'fraud'")
    assert summary.classes == ("not fraud", "fraud")
    assert summary.operating_points == {}
    assert summary.notes[0].startswith("All of this assumes that the labeled positives are a random sample")
    assert [note for note in summary.notes if note.startswith("Precision depends on the prior, which is not known")]
    assert fitted.reached
    back = semisvm.load(semisvm.save(fitted.model, tmp_path / "m.skops"))
    assert set(back.predict(rows.rows)) == {"not fraud", "fraud"}
    assert back.summary.as_dict() == summary.as_dict()


def test_a_recall_may_be_asked_for_and_a_precision_may_not(table):
    rows = read_training([table], "kind")
    assert fit_model(rows, Settings(min_recall=0.8, confidence=0.9)).reached
    assert not fit_model(rows, Settings(min_recall=0.95, confidence=0.9)).reached
    with pytest.raises(DataError, match="no precision can be measured"):
        fit_model(rows, Settings(min_precision=0.8))
    with pytest.raises(DataError, match="'transductive' needs labels of two classes"):
        fit_model(rows, Settings(), method="transductive")
    with pytest.raises(DataError, match="errors can't be counted"):
        compare_on(rows, Settings())


def test_the_method_is_refused_where_two_classes_are_labeled(table):
    rows = read_training([table], "kind")
    rows.codes[60:80] = 0
    with pytest.raises(DataError, match="one class only"):
        fit_model(rows, Settings(), method="positive-unlabeled")


def test_the_command_does_it_and_writes_predictions_and_a_report(table, tmp_path, capsys):
    model, report, out = tmp_path / "m.skops", tmp_path / "report.html", tmp_path / "out.csv"
    fit = run_command(capsys, "fit", table, "--target", "kind", "--out", model, "--report", report)
    assert fit.code == 0
    assert "positive-unlabeled" in fit.out + fit.err
    assert run_command(capsys, "predict", model, table, "--out", out).code == 0
    assert "not fraud" in out.read_text()
    page = report.read_text()
    assert "random sample of all positives" in page
    assert "precision is at least" not in page.lower()
