"""A fit that was killed continues where it stopped, and ends with the same model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from killed_fits import training
from semisvm import ClusterSVC, SelfTrainingSVC, SupervisedSVC, TransductiveSVC
from semisvm.dual import advance
from semisvm.errors import DataError
from semisvm.tables.checkpoint import open_checkpoint
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings


@pytest.mark.posix
def test_killed_at_ten_random_moments_it_ends_with_the_same_model(tmp_path):
    script = Path(__file__).parents[1] / "killed_fits.py"
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
    words = [sys.executable, str(script), str(tmp_path), "transductive", "250", "10"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == 10
    assert told["same"]
    assert told["left"] == ["parts.skops", "warm.skops", "whole.skops"]


class CutOffError(Exception):
    """Stands for the end of a killed process."""


class CutOff:
    """A store that fails at one of the solves, as a killed process does."""

    def __init__(self, memory, at):
        self.memory, self.left = memory, at

    def recall(self, problem, settings):
        self.left -= 1
        if self.left < 0:
            raise CutOffError
        return self.memory.recall(problem, settings)

    def keep(self, problem, found):
        self.memory.keep(problem, found)


METHODS = [
    TransductiveSVC(),
    TransductiveSVC(algorithm="cccp"),
    SelfTrainingSVC(),
    ClusterSVC(random_state=0),
    SupervisedSVC(),
]


@pytest.mark.parametrize("rows_in_memory", ["all", "some"])
@pytest.mark.parametrize("estimator", METHODS, ids=lambda one: type(one).__name__)
def test_every_method_ends_with_the_same_model_to_the_last_bit(tmp_path, monkeypatch, estimator, rows_in_memory):
    """If only some kernel rows are in memory they influence the solver, so they must be restored."""
    if rows_in_memory == "some":
        monkeypatch.setattr(advance, "WHOLE_GRAM_BYTES", 1000)
        monkeypatch.setattr("semisvm.tables.checkpoint.WHOLE_GRAM_BYTES", 1000)
        monkeypatch.setattr(advance, "FIRST_BATCH", 16)
    rows = training(300)
    X, y = rows.rows.to_numpy(), rows.codes
    whole = estimator.fit(X, y).decision_function(X)
    for at in (0, 1, 3, 6):
        folder = tmp_path / str(at)
        memory = CutOff(open_checkpoint(folder, "digest", resume=True), at)
        try:
            estimator.fit_with_store(X, y, store=memory)
        except CutOffError:
            again = open_checkpoint(folder, "digest", resume=True)
            resumed = estimator.fit_with_store(X, y, store=again).decision_function(X)
            assert again.n_recalled == at
            has_means = rows_in_memory == "some" and getattr(estimator, "algorithm", "") == "cccp"
            np.testing.assert_allclose(resumed, whole, rtol=0, atol=1e-9 if has_means else 0)


def test_the_solution_of_another_problem_is_not_taken_from_the_store(tmp_path):
    rows = training(200)
    X, y = rows.rows.to_numpy(), rows.codes
    store = open_checkpoint(tmp_path / "c", "digest", resume=True)
    SupervisedSVC(C=1.0).fit_with_store(X, y, store=store)
    again = open_checkpoint(tmp_path / "c", "digest", resume=True)
    found = SupervisedSVC(C=5.0).fit_with_store(X, y, store=again).decision_function(X)
    assert again.n_recalled == 0
    np.testing.assert_array_equal(found, SupervisedSVC(C=5.0).fit(X, y).decision_function(X))


def test_the_checkpoint_of_another_fit_is_refused_and_one_that_is_there_is_not_overwritten(tmp_path):
    rows = training(200)
    folder = tmp_path / "c"
    fit_model(rows, Settings(), method="supervised", checkpoint=folder)
    with pytest.raises(DataError, match=r"there is a checkpoint already\. Continue it \(`resume`\)"):
        fit_model(rows, Settings(), method="supervised", checkpoint=folder)
    with pytest.raises(DataError, match=r"the checkpoint is of another fit: .* Fit as before"):
        fit_model(rows, Settings(C=2.0), method="supervised", checkpoint=folder, resume=True)


def test_a_damaged_checkpoint_is_refused_with_a_sentence(tmp_path):
    rows = training(200)
    folder = tmp_path / "c"
    fit_model(rows, Settings(), method="supervised", checkpoint=folder)
    (folder / "solve-000001.npz").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match=r"solve-000001.npz: the checkpoint is damaged .* Remove its folder"):
        fit_model(rows, Settings(), method="supervised", checkpoint=folder, resume=True)


@pytest.mark.parametrize("n_deleted", range(4))
def test_a_checkpoint_that_was_cut_off_while_it_was_deleted_can_be_resumed(tmp_path, monkeypatch, n_deleted):
    folder, unlink, left = tmp_path / "c", Path.unlink, n_deleted
    done = open_checkpoint(folder, "digest", resume=True)
    for number in (1, 2):
        (folder / f"solve-{number:06d}.npz").touch()

    def cut_off(path, missing_ok=False):
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", cut_off)
    with pytest.raises(KeyboardInterrupt):
        done.remove()
    monkeypatch.undo()
    assert (folder / "fit.json").exists()
    kept = ["solve-000001.npz", "solve-000002.npz"][: max(0, 2 - n_deleted)]  # the first ones
    assert sorted(path.name for path in folder.glob("solve-*")) == kept
    open_checkpoint(folder, "digest", resume=True).remove()
    assert not folder.exists()


def test_an_empty_folder_is_where_a_resumed_fit_begins(tmp_path):
    fitted = fit_model(training(200), Settings(), method="supervised", checkpoint=tmp_path / "new", resume=True)
    assert fitted.checkpoint.n_recalled == 0
    fitted.checkpoint.remove()
    assert not (tmp_path / "new").exists()
