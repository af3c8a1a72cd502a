"""A column that gives the label away is pointed at, and rows that look different are noticed."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import semisvm
from command_line import run_command
from semisvm.columns.cells import Column
from semisvm.columns.table import Columns, Schema
from semisvm.errors import DataError
from semisvm.tables.column_checks import (
    columns_that_moved,
    profile_columns,
    say_deciding_columns,
    say_moved,
)
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
    folder = loans / "folder"
    folder.mkdir()
    for name in ("alike.csv", "new.csv"):
        (folder / name).write_bytes((loans / name).read_bytes())
    done = run_command(capsys, "predict", loans / "m.skops", folder, "--out", loans / "predicted")
    assert "new.csv: Careful: it accepts 0.0% of 500 rows, and" in done.err


def test_a_column_that_has_become_empty_is_named_even_if_as_many_rows_are_accepted(
    capsys, tmp_path
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b", "seldom"]).assign(kind=rng.choice(["x", "y"], 300))
    frame.loc[30:, "seldom"] = np.nan
    frame.assign(label=np.where(X[:, 0] > 0, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    words = ("--target", "label", "--method", "supervised", "--no-tune", "--out")
    model = tmp_path / "m.skops"
    assert run_command(capsys, "fit", tmp_path / "t.csv", *words, model).code == 0
    for emptied, said in (
        (["b"], "no row has a value in 1 column that most rows of the fit had one in: 'b'."),
        (["kind", "seldom"], "in 1 column that most rows of the fit had one in: 'kind'."),
        (["seldom"], ""),
    ):
        frame.assign(**dict.fromkeys(emptied)).to_csv(tmp_path / "new.csv", index=False)
        out = ("--out", tmp_path / "out.csv", "--force")
        done = run_command(capsys, "predict", model, tmp_path / "new.csv", *out)
        assert done.code == 0
        assert said in done.err
        assert ("Careful" in done.err) == bool(said)


def test_a_column_that_is_empty_in_the_rows_read_first_is_said_to_be_empty_in_these(
    capsys, tmp_path, monkeypatch
):
    X = np.random.default_rng(0).normal(size=(300, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(label=np.where(X[:, 0] > 0, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    words = ("--target", "label", "--method", "supervised", "--no-tune", "--out")
    model = tmp_path / "m.skops"
    assert run_command(capsys, "fit", tmp_path / "t.csv", *words, model).code == 0
    frame.loc[:149, "b"] = np.nan
    frame.to_parquet(tmp_path / "new.parquet")
    monkeypatch.setattr("semisvm.tables.formats.ROWS_AT_A_TIME", 100)
    out = ("--out", tmp_path / "out.csv")
    done = run_command(capsys, "predict", model, tmp_path / "new.parquet", *out)
    assert "none of the first 100 rows has a value in 1 column that most rows of" in done.err


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


KINDS = {
    "normal": "number",
    "mostly_zero": "number",
    "with_gaps": "number",
    "day": "date",
    "common": "category",
    "many": "category",
    "remark": "text",
}


def simulated(rng, n_rows, **changed):
    """Rows of all types, some cells of them empty; columns in `changed` are replaced."""
    share = 1 / np.arange(1, 41)
    many = [f"level {k}" for k in range(40)]
    columns = {
        "normal": rng.normal(size=n_rows),
        "mostly_zero": np.where(rng.random(n_rows) < 0.6, 0.0, rng.integers(0, 17, n_rows)),
        "with_gaps": np.where(rng.random(n_rows) < 0.3, np.nan, rng.exponential(size=n_rows)),
        "day": np.datetime64("2026-01-01", "s") + rng.integers(0, 100, n_rows) * 86_400,
        "common": rng.choice(["car", "house", ""], n_rows, p=[0.6, 0.35, 0.05]).astype(object),
        "many": rng.choice(many, n_rows, p=share / share.sum()).astype(object),
        "remark": rng.choice(["a remark", ""], n_rows, p=[0.9, 0.1]).astype(object),
    }
    schema = Schema(tuple(Column(name, kind) for name, kind in KINDS.items()))
    return Columns(schema, tuple((columns | changed).values()))


def summary_of(rows):
    """What `columns_that_moved` reads of the summary of a fit on these rows."""
    return SimpleNamespace(data=SimpleNamespace(profiles=profile_columns(rows)))


def test_profiles_count_bins_levels_and_empty_cells_of_every_other_row():
    rows = simulated(
        np.random.default_rng(0),
        202,
        normal=np.repeat(np.append(np.arange(100.0), np.nan), 2),
        common=np.array(["a", "a", "b", "b", "a", ""] * 33 + ["a"] * 4, dtype=object),
    )
    profiles = profile_columns(rows)
    assert profiles["normal"].edges == pytest.approx(9.9 * np.arange(1, 11))
    assert profiles["normal"].counts == (10,) * 10 + (0, 1)
    assert profiles["common"].levels == ("a", "b")
    assert profiles["common"].counts == (35, 33, 0, 33)
    assert sum(profiles["remark"].counts) == 101


@pytest.mark.parametrize(("n_fit", "n_new"), [(200, 100), (600, 1_500)])
def test_of_a_thousand_files_like_the_fit_at_most_5_percent_name_a_column(n_fit, n_new):
    rng = np.random.default_rng(0)
    named = [
        columns_that_moved(summary_of(simulated(rng, n_fit)), simulated(rng, n_new))
        for _ in range(1_000)
    ]
    assert np.mean([bool(names) for names in named]) <= 0.05


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("normal", lambda cells: cells + 1, "% above 0."),
        ("normal", lambda cells: np.full_like(cells, np.nan), "100% empty, at the fit 0%"),
        ("mostly_zero", lambda cells: 16 - cells, "% above 0, at the fit"),
        ("with_gaps", lambda cells: np.where(cells > 0, cells, 99.0), "% above 0."),
        ("day", lambda cells: cells + np.timedelta64(60, "D"), "% above 2026-0"),
        ("many", lambda cells: np.where(cells == "level 0", "", cells), "0% 'level 0', at the fit"),
        ("common", lambda cells: np.where(cells == "car", "house", cells), "0% 'car', at the fit"),
        ("common", lambda cells: np.where(cells == "car", "boat", cells), "other values, at the"),
        ("common", lambda cells: np.full_like(cells, "boat"), "100% other values, at the fit 0%"),
        ("remark", lambda cells: np.full_like(cells, ""), "100% empty, at the fit"),
    ],
)
def test_a_column_that_moved_is_named_with_its_largest_change(name, change, words):
    rng = np.random.default_rng(0)
    summary = summary_of(simulated(rng, 1_000))
    rows = simulated(rng, 500)
    (moved,) = columns_that_moved(summary, simulated(rng, 500, **{name: change(rows[name])}))
    assert moved.startswith(f"'{name}' (")
    assert words in moved


def test_a_small_change_is_not_named_however_many_rows_there_are():
    rng = np.random.default_rng(0)
    rows = simulated(rng, 100_000)
    summary = summary_of(rows)
    assert not columns_that_moved(summary, simulated(rng, 100_000, normal=rows["normal"] + 0.1))
    assert columns_that_moved(summary, simulated(rng, 100_000, normal=rows["normal"] + 0.5))


def test_reversed_pixels_are_named():
    from sklearn.datasets import load_digits

    pixels = load_digits().data
    names = [f"pixel_{k}" for k in np.flatnonzero(pixels.std(axis=0) > 0)]
    schema = Schema(tuple(Column(name, "number") for name in names))
    pixels = pixels[:, pixels.std(axis=0) > 0]
    alike = np.random.default_rng(0).permutation(pixels)
    summary = summary_of(Columns(schema, tuple(alike[:900].T)))
    assert columns_that_moved(summary, Columns(schema, tuple(alike[900:].T))) == []
    moved = columns_that_moved(summary, Columns(schema, tuple(16 - alike[900:].T)))
    assert len(moved) >= 0.9 * len(names)
    assert say_moved(moved).endswith(f"; {len(moved) - 5} others.")


def test_labels_of_one_class_are_refused_by_reading(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,negative\n2,\n" * 20)
    with pytest.raises(DataError, match="one class only, 'negative'"):
        read_training([tmp_path / "t.csv"], "y")


def test_a_model_without_a_target_does_not_say_that_one_was_reached():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.where(np.arange(80) < 40, (X[:, 0] > 0).astype(int), -1)
    model = semisvm.AutoSVC().fit(X, y)
    assert str(model.operating_point_).startswith("No target was set (")
    assert "reached" not in str(model.operating_point_)
