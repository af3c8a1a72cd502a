"""A table as people have them goes through every command without a hint."""

import json

import pandas as pd
import pytest

import semisvm
from command_line import run_command, write_messy


@pytest.fixture(scope="module")
def mails(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mails")
    truth = write_messy(folder / "mails.csv")
    new = write_messy(folder / "new.csv", n_rows=300, share_labeled=1.0, seed=1)
    return folder, truth, new


@pytest.fixture(scope="module")
def model(mails):
    from semisvm.tables.fit import fit_model
    from semisvm.tables.methods import Settings
    from semisvm.tables.read_training import read_training

    folder = mails[0]
    fitted = fit_model(read_training([folder / "mails.csv"], "label"), Settings(min_recall=0.9))
    return semisvm.save(fitted, folder / "model.skops")


def test_fit_finds_out_what_the_columns_are_and_says_what_it_left_out(mails, capsys):
    folder = mails[0]
    out = folder / "auto.skops"
    done = run_command(
        capsys, "fit", folder / "mails.csv", "--target", "label", "--out", out, "--json"
    )
    assert done.code == 0, done.err
    summary = json.loads(done.out)["summary"]
    types = {column["name"]: column["type"] for column in summary["data"]["features"]}
    assert types == {"sent": "date", "country": "category", "size": "number", "subject": "text"}
    notes = " ".join(summary["notes"])
    for words in (
        "'id' is different in every row",
        "'urgent' holds 'no' in every row",
        "'unknown' counts as an empty",
    ):
        assert words in notes
    assert summary["method"]["name"] == summary["comparison"]["chosen"]
    assert out.exists()


def test_predict_labels_new_mails_mostly_right_whatever_else_is_in_the_file(mails, model, capsys):
    folder, _, truth = mails
    out = folder / "labels.csv"
    done = run_command(capsys, "predict", model, folder / "new.csv", "--out", out, "--keep", "id")
    assert done.code == 0, done.err
    found = pd.read_csv(out)
    assert list(found.columns) == ["id", "label", "score", "above", "probability"]
    assert found["probability"].corr(found["score"], method="spearman") > 0.999
    assert (found["label"] == truth).mean() > 0.75  # 0.6 by chance; the threshold is set for recall
    assert ((found["score"] > 0) == found["above"]).all()
    assert ((found["label"] == "spam") == found["above"]).all()


def test_evaluate_says_whether_the_recall_that_was_asked_for_is_there(mails, model, capsys):
    done = run_command(capsys, "evaluate", model, mails[0] / "new.csv", "--json")
    found = json.loads(done.out)
    assert done.code == (0 if found["reached"] else 1)
    assert found["reached"] == (found["operating_points"]["spam"]["recall"]["value"] >= 0.9)
    assert found["rows"] == 300
    told = run_command(capsys, "evaluate", model, mails[0] / "new.csv")
    assert "recall at least 0.9" in told.out


def test_compare_has_every_method_and_a_verdict(mails, capsys):
    folder = mails[0]
    done = run_command(capsys, "compare", folder / "mails.csv", "--target", "label")
    assert done.code == 0, done.err
    for name in (
        "supervised",
        "mixture",
        "self-training",
        "cluster",
        "laplacian",
        "transductive",
        "progressive",
    ):
        assert name in done.out
    assert "Verdict" in done.out
    assert "unlabeled rows" in done.out


def test_suggested_rows_are_filled_in_and_fed_back(mails, model, capsys):
    folder, truth, _ = mails
    out = folder / "to-label.csv"
    done = run_command(capsys, "suggest", model, folder / "mails.csv", "-n", "12", "--out", out)
    assert done.code == 0, done.err
    rows = pd.read_csv(out, dtype=str)
    assert len(rows) == 12
    assert rows["label"].isna().all()
    assert rows["id"].is_unique
    rows["label"] = [truth[int(name[1:])] for name in rows["id"]]
    rows.to_csv(out, index=False)
    again = run_command(
        capsys, "fit", folder / "mails.csv", out, "--target", "label", "--method", "supervised", "--json",
        "--out", folder / "again.skops",
    )  # fmt: skip
    summary = json.loads(again.out)["summary"]
    assert summary["data"]["rows"] == 240
    assert any("Used once: 12 unlabeled rows" in note for note in summary["notes"])


def test_report_is_one_file_with_or_without_rows(mails, model, capsys):
    folder = mails[0]
    for name, more in (("model.html", ()), ("rows.html", (folder / "new.csv",))):
        done = run_command(capsys, "report", model, *more, "--out", folder / name)
        assert done.code == 0, done.err
        assert "<html" in (folder / name).read_text(encoding="utf-8")


def test_the_model_file_has_no_training_row_but_its_support_vectors(model):
    estimator = semisvm.load(model).estimator
    for name in ("transduction_", "labeled_iter_", "calibration_scores_"):
        assert not hasattr(estimator, name)
    assert b"m00017" not in model.read_bytes()


def test_names_that_look_like_markup_of_the_terminal_are_printed_as_they_are(tmp_path, capsys):
    rows = [
        f"{k % 7},{k % 5},{('[/b]' if k % 7 > 4 else '[red]') if k < 60 else ''}" for k in range(90)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["[/i],b,kind", *rows]) + "\n")
    model = tmp_path / "m.skops"
    words = ("--target", "kind", "--method", "supervised", "--no-tune", "--details", "--out", model)
    done = run_command(capsys, "fit", tmp_path / "table.csv", *words)
    assert done.code == 0, done.err
    assert "[/i]: number" in done.out
    assert "classes [red], [/b] (positive: [/b])" in done.out
    assert "held-out labels, [/b]" in done.out
