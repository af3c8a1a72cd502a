"""A column that gives the label away is pointed at, and rows that look different are noticed."""

import json

import numpy as np
import pandas as pd
import pytest

import semisvm
from command_line import run_command
from semisvm.columns.cells import Column
from semisvm.columns.table import Schema
from semisvm.errors import DataError
from semisvm.tables.column_checks import profile_columns, say_deciding_columns
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training


@pytest.fixture(params=[0.3, 0.15], ids=["often", "rarely"])
def loans(tmp_path, request):
    """Loans with a fee that is charged after a default, and new loans that have no fee yet."""
    rng = np.random.default_rng(0)
    is_default = rng.random(500) < request.param
    frame = pd.DataFrame(
        {
            "income": rng.normal(3 - is_default, 1).round(3),
            "purpose": rng.choice(["car", "house", "other"], 500),
            "collection_fee": np.where(is_default, rng.uniform(10, 90, 500).round(2), np.nan),
            "status": np.where(is_default, "Default", "Paid"),
        }
    )
    labeled = frame.assign(status=frame["status"].where(np.arange(500) < 300))
    labeled.to_csv(tmp_path / "loans.csv", index=False)
    frame.drop(columns="status").assign(collection_fee=np.nan).to_csv(
        tmp_path / "new.csv", index=False
    )
    frame.drop(columns="status").to_csv(tmp_path / "alike.csv", index=False)
    return tmp_path


def test_fit_points_at_the_column_and_predict_says_that_it_has_moved(loans, capsys):
    words = (
        "--target",
        "status",
        "--method",
        "supervised",
        "--no-tune",
        "--out",
        loans / "m.skops",
    )
    fit = run_command(capsys, "fit", loans / "loans.csv", *words)
    assert fit.code == 0
    told = "Careful: the column 'collection_fee' alone nearly decides the label."
    assert told in fit.out
    assert "leave it out (--drop)" in fit.out
    out = ("--out", loans / "out.csv", "--force")
    done = run_command(capsys, "predict", loans / "m.skops", loans / "new.csv", *out)
    assert done.code == 0
    assert "Careful: it accepts 0.0% of 500 rows, and" in done.err
    assert "'collection_fee' (100% empty, at the fit" in done.err
    assert "income" not in done.err
    alike = run_command(capsys, "predict", loans / "m.skops", loans / "alike.csv", *out)
    assert "Careful" not in alike.err
    as_json = run_command(capsys, "predict", loans / "m.skops", loans / "new.csv", *out, "--json")
    assert json.loads(as_json.out)["notes"][0].startswith("Careful: it accepts 0.0%")


def test_a_useful_column_is_not_one_that_decides(loans):
    training = read_training([loans / "loans.csv"], "status", drop=["collection_fee"])
    summary = fit_model(training, Settings(), method="supervised").summary
    assert not any("nearly decides" in note for note in summary.notes)
    assert set(summary.data.profiles) == {"income", "purpose"}


@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_column_decides_by_its_values_and_by_being_empty(kind):
    codes = np.arange(200) % 2
    cells = {"number": np.where(codes, 3.0, 7.0), "category": np.where(codes, "a", "b")}[kind]
    frame = pd.DataFrame({"x": cells})
    schema = Schema((Column("x", kind),))
    rows = schema.read(frame)
    assert say_deciding_columns(rows, codes)
    assert say_deciding_columns(schema.read(frame.where((codes == 0)[:, None])), codes)
    noisy = np.where(np.arange(200) < 190, codes, 1 - codes)
    assert not say_deciding_columns(rows, noisy)
    assert not say_deciding_columns(rows[:12], codes[:12])


def test_profiles_hold_what_a_column_looks_like():
    frame = pd.DataFrame({"x": [*range(100), np.nan], "c": ["a"] * 75 + ["b"] * 26})
    schema = Schema((Column("x", "number"), Column("c", "category")))
    profiles = profile_columns(schema.read(frame))
    assert profiles["x"].missing == pytest.approx(1 / 101)
    assert (profiles["x"].low, profiles["x"].high) == pytest.approx((4.95, 94.05))
    assert profiles["c"].common == pytest.approx({"a": 75 / 101, "b": 26 / 101})


def test_labels_of_one_class_are_refused_by_reading(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,negative\n2,\n" * 20)
    with pytest.raises(DataError, match="one class only, 'negative'"):
        read_training([tmp_path / "t.csv"], "y")


def test_a_model_without_a_target_does_not_say_that_one_was_reached():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.where(np.arange(80) < 40, (X[:, 0] > 0).astype(int), -1)
    model = semisvm.AutoSVC().fit(X, y)
    assert str(model.operating_point_).startswith("No precision or recall was asked for (")
    assert "reached" not in str(model.operating_point_)
