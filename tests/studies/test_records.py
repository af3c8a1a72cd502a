"""Journals that survive a killed run, records, pages, and processes that are measured."""

import json
import time

import numpy as np
import pytest

from studies import pages
from studies.records import (
    Journal,
    describe_run,
    markdown_table,
    read_cells,
    read_journal,
    read_measured,
    read_summaries,
    store_summaries,
    summarize,
    write_record,
)
from studies.running import call_fresh, measured, run_study


def test_a_journal_goes_on_after_a_line_that_was_not_finished(tmp_path):
    path = tmp_path / "out" / "cells.jsonl"
    with Journal(path) as journal:
        journal.append({"cell": 1})
    with path.open("a") as file:
        file.write('{"cell": ')  # killed
    assert read_journal(path) == [{"cell": 1}]
    with Journal(path) as journal:
        journal.append({"cell": 2})
    assert read_journal(path) == [{"cell": 1}, {"cell": 2}]


def test_a_record_reads_back(tmp_path):
    path = tmp_path / "record.json"
    write_record(["today"], [{"set": "a", "error": 1 / 3}, {"set": "b", "n": 2}], path)
    assert read_measured(path) == ["today"]
    assert read_cells(path) == [{"set": "a", "error": 0.333333}, {"set": "b", "n": 2}]
    found = {"one": summarize([1.0, 2.0]), "other": summarize([3.0])}
    path.unlink()
    store_summaries(found, path)
    assert read_summaries(path) == found
    store_summaries({"other": found["one"]}, path, "the other")
    assert read_summaries(path) == {"one": found["one"], "other": found["one"]}
    before, now = read_measured(path)
    assert before == describe_run()
    assert now == f"{before}: the other"
    assert read_summaries(tmp_path / "none.json") == {}


def test_a_summary_is_what_numpy_says():
    values = np.random.default_rng(0).normal(size=37)
    found = summarize(values)
    assert found.n == 37
    assert found.mean == pytest.approx(values.mean(), rel=1e-5)
    assert found.sd == pytest.approx(values.std(ddof=1), rel=1e-5)
    assert found.high == pytest.approx(np.quantile(values, 0.9), rel=1e-5)
    assert summarize([2.0]).sd == 0


def square(cell):
    if cell[0] == 3:
        raise ValueError("three")
    return {"square": cell[0] ** 2}


def test_a_study_runs_what_is_missing_and_names_what_fails(tmp_path, capsys):
    journal = tmp_path / "cells.jsonl"
    assert run_study(square, [(2,)], journal, workers=1) == [{"square": 4}]
    found = run_study(square, [(2,), (3,), (4,)], journal, workers=1)
    assert sorted(one["square"] for one in found) == [4, 16]
    assert "(3,) failed: ValueError: three" in capsys.readouterr().out


@pytest.mark.nightly
def test_a_pool_does_as_one_process(tmp_path):
    cells = [(n,) for n in range(3)]
    found = run_study(square, cells, tmp_path / "cells.jsonl", workers=2)
    assert sorted(one["square"] for one in found) == [0, 1, 4]


def sleep(seconds):
    took = {}
    with measured(took, limit_s=1.0):
        time.sleep(seconds)
    return took


@pytest.mark.posix
def test_a_fresh_process_is_measured_and_ended_at_its_limit():
    took = call_fresh("test_records:sleep", 0.05, environment={"PYTHONPATH": "tests/studies:."})
    assert 0.05 <= took["wall_s"] < 1
    assert took["peak_mib"] >= took["before_mib"] > 0
    answer = call_fresh("test_records:sleep", 5, environment={"PYTHONPATH": "tests/studies:."})
    assert answer == {"why": "over its time limit"}


def test_tables_and_pages_are_made_from_records():
    assert markdown_table(["a|b"], [["1"]]) == "| a\\|b |\n| --- |\n| 1 |"
    for page in (pages.papers_page(), pages.accuracy_page(), pages.speed_page()):
        assert page.startswith("# Results: ")
        assert page.count("\n| --- |") >= 1
    assert json.dumps(describe_run())
