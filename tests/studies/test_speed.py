"""The benchmarks of one version next to another, and of ours next to LIBSVM and oneDAL: plans
and tables.
"""

import numpy as np
import pytest
from scipy import sparse

import semisvm
from studies.speed import method_rows, methods
from studies.speed.methods import FITS, render_versions
from studies.speed.page import PAGE, put
from studies.speed.supervised import interleave


@pytest.mark.parametrize("task", FITS)
def test_the_parameters_of_every_task_are_those_of_its_estimator(task):
    fit = FITS[task]
    getattr(semisvm, fit.estimator)(**fit.params, device="cpu")


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_matrix])
def test_rows_are_written_and_read_as_they_are(monkeypatch, tmp_path, made):
    X = made(np.eye(3))
    y = np.array([0, 1, -1])
    truth = np.array([0, 1, 1])
    monkeypatch.setattr(method_rows, "load_rows", lambda name: (X, y, truth))
    path = str(tmp_path / "rows.npz")
    methods.write_rows("documents", path)
    found = methods._read_rows(path)
    assert type(found[0]) is type(X)
    assert (found[0] != X).sum() == 0
    assert [values.tolist() for values in found[1:]] == [[0, 1, -1], [0, 1, 1]]


def test_another_version_than_the_one_on_the_path_is_not_measured(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere/src")
    with pytest.raises(RuntimeError, match="Another version than before was imported"):
        methods.run_once({"task": methods.FLIPS, "version": "before"}, 0)


def test_versions_are_compared_by_ratios_and_a_failed_run_has_none():
    took = {"cpu_s": 2.0, "wall_s": 1.0, "rss_peak_mib": 400.0, "wrong": 0.125}
    faster = {"cpu_s": 0.5, "wall_s": 0.5, "rss_peak_mib": 200.0, "wrong": 0.12}
    found = {
        ("a", "before"): took,
        ("a", "now"): faster,
        ("b", "before"): None,
        ("b", "now"): faster,
    }
    text = render_versions(found)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert cells[2] == [
        "a",
        "2",
        "0.5",
        "0.25",
        "1",
        "0.5",
        "0.50",
        "400",
        "200",
        "0.50",
        "12.5%",
        "12.0%",
    ]
    assert cells[3] == ["b", "", "0.5", "", "", "0.5", "", "", "200", "", "", "12.0%"]
    assert text.endswith("CPU-s 0.25 (most 0.25), seconds 0.50 (most 0.50), MiB 0.50 (most 0.50).")


def test_solvers_take_turns_and_the_slow_ones_run_once_on_all_rows():
    assert interleave(["ours", "libsvm:csr64"], "adult", "all") == [
        (0, "ours"),
        (0, "libsvm:csr64"),
        (1, "ours"),
        (2, "ours"),
    ]
    assert interleave(["ours", "libsvm"], "mnist", "all") == [(0, "ours"), (1, "ours")]
    assert interleave(["libsvm"], "mnist", "all", 1) == [(0, "libsvm")]
    assert len(interleave(["ours", "libsvm", "onedal-f64"], "mnist", "10%")) == 9


@pytest.mark.parametrize("name", ["cores", "cores-all", "threads"])
def test_a_table_takes_the_place_of_the_last_one_on_the_page(name):
    page = PAGE.read_text(encoding="utf-8")
    changed = put(page, name, "\nnew table\n")
    assert f"<!-- {name} -->\n\nnew table\n\n<!-- /{name} -->\n" in changed
    assert len(changed) < len(page)
    assert put(changed, name, "new table") == changed
    with pytest.raises(ValueError, match="no place 'nowhere'"):
        put(page, "nowhere", "table")
