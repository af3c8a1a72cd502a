"""The harness of random inputs: repeatable, able to see what it looks for, and failures are made
small.
"""

import argparse
import json

import numpy as np
import pytest
from pyarrow import parquet

from studies.fuzz import __main__ as fuzz
from studies.fuzz import (
    arrays,
    columns,
    command,
    estimators,
    faults,
    kept,
    labeling,
    links,
    models,
    streams,
    texts,
    writers,
)
from studies.fuzz.verdict import Verdict, minimize, of_error, random_of

CATEGORIES = {
    "estimators": estimators,
    "arrays": arrays,
    "streams": streams,
    "texts": texts,
    "command": command,
    "labeling": labeling,
    "columns": columns,
    "kept": kept,
    "writers": writers,
    "links": links,
    "models": models,
    "faults": faults,
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_recipes_are_repeatable_and_json(name):
    for number in range(20):
        one, other = (CATEGORIES[name].make(random_of(7, name, number)) for _ in range(2))
        assert json.dumps(one) == json.dumps(other)
    assert CATEGORIES[name].make(random_of(7, name, 0)) != CATEGORIES[name].make(
        random_of(8, name, 0)
    )


def test_a_cell_counts_what_it_tried():
    record = fuzz.run_cell(("estimators", 0, 0, 3))
    assert sum(record["kinds"].values()) == 3
    assert record["failures"] == []
    assert "| estimators | 3 |" in fuzz.summary_table([record])


def test_a_run_can_ask_for_counts():
    asked = {"estimators": 90, "faults": 5}
    cells = fuzz.cells_for(3, asked)
    for category, count in asked.items():
        tried = [
            k for name, _, first, n in cells if name == category for k in range(first, first + n)
        ]
        assert sorted(tried) == list(range(count))
    assert {cell[0] for cell in cells[:2]} == set(asked)  # side by side, not one after the other
    assert fuzz.counted("models=12") == ("models", 12)
    for wrong in ("models", "models=", "models=-1", "models=0", "no=3"):
        with pytest.raises(argparse.ArgumentTypeError, match="CATEGORY=COUNT"):
            fuzz.counted(wrong)


def test_rows_on_disk_and_campaigns_are_drawn():
    kinds = [
        streams.check({**streams.make(random_of(0, "streams", k)), "damage": how}).kind
        for k, how in enumerate(["none", "none", "none", "none", "cut", "empty", "gone"])
    ]
    assert "done" in kinds
    assert set(kinds[-2:]) <= {"refused"}
    plain = labeling.make(random_of(0, "labeling", 0)) | {
        "method": "supervised",
        "n": 40,
        "state": "whole",
        "pool": [],
    }
    plain |= {
        "target": labeling.TARGETS[0],
        "options": [],
        "told": [],
        "answers": "right",
        "steps": ["tell", "label"],
    }
    assert labeling.check(plain).kind == "done"
    assert (
        labeling.check(plain | {"state": "empty"}).kind == "done"
    )  # start is done; the rest is refused


def test_a_failure_is_made_small():
    recipe = estimators.make(random_of(0, "estimators", 1)) | {
        "parameters": {"C": 2.0, "tol": 0.1},
        "weights": "nan",
    }

    def check(candidate):
        return Verdict("nan", "it") if candidate["weights"] == "nan" else Verdict("done")

    small = minimize(recipe, check(recipe), check, estimators.simpler)
    assert small == {
        **estimators.PLAIN,
        "estimator": recipe["estimator"],
        "parameters": {},
        "weights": "nan",
    }


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("class 'a' has one row: label more"), "refused"),
        (ValueError(""), "traceback"),
        (ValueError("operands could not be broadcast together"), "unhelpful"),
        (IndexError("3"), "traceback"),
        (MemoryError(), "memory"),
        (RuntimeWarning("overflow"), "warning"),
    ],
)
def test_errors_are_told_apart(error, kind):
    assert of_error(error).kind == kind


def test_what_a_command_must_not_do_is_seen(tmp_path):
    (tmp_path / "p.csv").write_text("label,score,above\nham,nan,false\n")
    assert (
        command.judge(tmp_path, ["predict", "m", "d", "--out", "p.csv"], 0, "", "", {}).kind
        == "nan"
    )
    assert (
        command.judge(tmp_path, ["info"], 1, "", "Traceback (most recent", {}).kind == "traceback"
    )
    assert command.judge(tmp_path, ["info"], 5, "", "", {}).kind == "exit code"
    assert command.judge(tmp_path, ["fit", "--out", "m"], 0, "", "", {}).kind == "lost file"
    assert command.judge(tmp_path, ["info"], 0, "", "", {"p.csv": b"before"}).kind == "lost file"


def test_a_text_whose_rows_are_not_those_of_csv_is_seen(monkeypatch):
    recipe = {"pieces": ['1,x\n2,"y\n3,z\n4,w\n'], "block": 1_000_000}
    assert texts.check(recipe).kind == "refused"
    monkeypatch.setattr(texts, "_rows_of_csv", lambda text: [["1", "x"]])
    assert texts.check(recipe).kind == "lost"
    monkeypatch.setattr(texts, "_rows_of_csv", lambda text: None)
    assert texts.check({**recipe, "pieces": ["1,x\n"]}).kind == "wrong"


def test_model_files_are_changed_with_a_right_digest_or_a_wrong_one():
    recipe = {
        "method": "supervised",
        "kind": "array",
        "what": "nan",
        "times": 1,
        "is_signed": True,
        "seed": 1,
    }
    assert models.tampered(recipe) != models.model_bytes("supervised")
    assert models.check(recipe).kind in ("refused", "done")
    assert models.check({**recipe, "is_signed": False}).kind == "refused"


def test_half_a_file_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("label,score\nham,")
    recipe = {"fault": "SIGKILL", "command": "predict", "has_old": False}
    assert faults._judge(recipe, -9, "").kind == "half a file"
    assert faults._judge({**recipe, "fault": "SIGTERM"}, 99, "").kind == "exit code"
    (tmp_path / "p.csv").unlink()
    assert faults._judge({**recipe, "has_old": True}, -9, "").kind == "lost file"
    assert np.isin(faults._judge(recipe, -9, "").kind, ["done"])


@pytest.mark.parametrize("then", estimators.THEN)
@pytest.mark.parametrize("container", ["array", "csr", "table", "texts"])
def test_fitted_models_are_used_and_tables_and_texts_are_drawn(then, container):
    recipe = {
        "estimator": "AutoSVC",
        "parameters": {},
        **estimators.PLAIN,
        "then": then,
        "container": container,
    }
    is_refused = then == "onnx" or (container in ("table", "texts") and then == "unlabeled kernel")
    assert estimators.check(recipe).kind == ("refused" if is_refused else "done")


# ---- several programs, links, and tables in another form ----


@pytest.mark.posix
def test_answers_that_a_second_writer_loses_are_seen(monkeypatch):
    plain = {"n_answers": 5, "n_shared": 0, "disagree": False, "delay": 0.0}
    plain |= {"kind": "save", "killed_after": None, "seed": 0}
    assert writers.check(plain).kind == "done"
    assert writers.check(plain | {"n_shared": 2, "disagree": True}).kind == "refused"
    assert writers.check(plain | {"kind": "start"}).kind == "done"
    assert writers.check(plain | {"kind": "tell"}).kind == "done"
    monkeypatch.setattr("semisvm.campaign.file._merge", lambda *_: None)
    assert writers.check(plain).kind == "lost"


def test_columns_in_another_form_are_compared(monkeypatch):
    recipe = columns.make(random_of(0, "columns", 0)) | {"damage": "none", "n_extra": 0}
    assert columns.check(recipe).kind == "done"
    assert columns.check(recipe | {"damage": "renamed"}).kind == "refused"
    stored_as = columns.stored_as
    monkeypatch.setattr(
        columns, "stored_as", lambda name, column, kind: stored_as(name, column[::-1], kind).array
    )
    assert columns.check(recipe | {"rows": [0, 1, 2]}).kind == "wrong"


def test_kept_columns_are_compared(monkeypatch):
    recipe = {"types": ["int64", "string", "date32"], "n": 3, "missing": 0.0, "group": 7}
    recipe |= {"out": "parquet", "compression": "none", "seed": 0}
    assert kept.check(recipe).kind == "done"
    assert kept.check(recipe | {"out": "csv"}).kind == "done"
    assert kept.check(recipe | {"out": "csv", "types": ["list"]}).kind == "refused"
    monkeypatch.setattr(
        "pyarrow.parquet.read_table",
        lambda path, read=parquet.read_table: (
            read(path).slice(1) if path == "p.parquet" else read(path)
        ),
    )
    assert kept.check(recipe).kind == "wrong"


@pytest.mark.posix
def test_modes_and_links_are_compared(monkeypatch):
    recipe = {"command": "predict", "output": "link", "input": "link", "mode": 0o600}
    recipe |= {"model_mode": 0o600, "force": True, "prepared": True, "seed": 0}
    assert links.check(recipe).kind == "done"
    assert links.check(recipe | {"output": "link in a circle"}).kind == "refused"
    monkeypatch.setattr(
        "semisvm.disk.os.replace", lambda new, old: (new.rename(old), old.chmod(0o644))
    )
    assert links.check(recipe | {"output": "file", "mode": 0o640}).kind == "mode"
