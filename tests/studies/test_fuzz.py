"""The harness of random inputs: repeatable, able to see what it looks for, and failures are made small."""

import argparse
import json

import numpy as np
import pytest

from studies.fuzz import __main__ as fuzz
from studies.fuzz import arrays, command, estimators, faults, labeling, models, streams
from studies.fuzz.verdict import Verdict, minimize, of_error, random_of

CATEGORIES = {
    "estimators": estimators,
    "arrays": arrays,
    "streams": streams,
    "command": command,
    "labeling": labeling,
    "models": models,
    "faults": faults,
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_recipes_are_repeatable_and_json(name):
    for number in range(20):
        one, other = (CATEGORIES[name].make(random_of(7, name, number)) for _ in range(2))
        assert json.dumps(one) == json.dumps(other)
    assert CATEGORIES[name].make(random_of(7, name, 0)) != CATEGORIES[name].make(random_of(8, name, 0))


def test_a_cell_counts_what_it_tried():
    record = fuzz.run_cell(("estimators", 0, 0, 3))
    assert sum(record["kinds"].values()) == 3
    assert record["failures"] == []
    assert "| estimators | 3 |" in fuzz.summary_table([record])


def test_a_run_can_ask_for_counts():
    asked = {"estimators": 90, "faults": 5}
    cells = fuzz.cells_for(3, asked)
    for category, count in asked.items():
        tried = [k for name, _, first, n in cells if name == category for k in range(first, first + n)]
        assert sorted(tried) == list(range(count))
    assert {cell[0] for cell in cells[:2]} == set(asked)  # side by side, not one after the other
    assert fuzz.counted("models=12") == ("models", 12)
    for wrong in ("models", "models=", "models=-1", "models=0", "no=3"):
        with pytest.raises(argparse.ArgumentTypeError, match="CATEGORY=COUNT"):
            fuzz.counted(wrong)


def test_rows_on_disk_and_campaigns_are_drawn():
    kinds = [streams.check({**streams.make(random_of(0, "streams", k)), "damage": how}).kind
             for k, how in enumerate(["none", "none", "none", "none", "cut", "empty", "gone"])]  # fmt: skip
    assert "done" in kinds
    assert set(kinds[-2:]) <= {"refused"}
    plain = labeling.make(random_of(0, "labeling", 0)) | {"method": "supervised", "n": 40, "state": "whole", "pool": []}
    plain |= {"target": labeling.TARGETS[0], "options": [], "told": [], "answers": "right", "steps": ["tell", "label"]}
    assert labeling.check(plain).kind == "done"
    assert labeling.check(plain | {"state": "empty"}).kind == "done"  # start is done; the rest is refused


def test_a_failure_is_made_small():
    recipe = estimators.make(random_of(0, "estimators", 1)) | {"parameters": {"C": 2.0, "tol": 0.1}, "weights": "nan"}

    def check(candidate):
        return Verdict("nan", "it") if candidate["weights"] == "nan" else Verdict("done")

    small = minimize(recipe, check(recipe), check, estimators.simpler)
    assert small == {**estimators.PLAIN, "estimator": recipe["estimator"], "parameters": {}, "weights": "nan"}


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
    assert command.judge(tmp_path, ["predict", "m", "d", "--out", "p.csv"], 0, "", "", {}).kind == "nan"
    assert command.judge(tmp_path, ["info"], 1, "", "Traceback (most recent", {}).kind == "traceback"
    assert command.judge(tmp_path, ["info"], 5, "", "", {}).kind == "exit code"
    assert command.judge(tmp_path, ["fit", "--out", "m"], 0, "", "", {}).kind == "lost file"
    assert command.judge(tmp_path, ["info"], 0, "", "", {"p.csv": b"before"}).kind == "lost file"


def test_model_files_are_changed_with_a_right_digest_or_a_wrong_one():
    recipe = {"method": "supervised", "kind": "array", "what": "nan", "times": 1, "is_signed": True, "seed": 1}
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
    recipe = {"estimator": "AutoSVC", "parameters": {}, **estimators.PLAIN, "then": then, "container": container}
    is_refused = container in ("table", "texts") and then == "onnx"
    assert estimators.check(recipe).kind == ("refused" if is_refused else "done")
