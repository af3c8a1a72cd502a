"""Cells spread over processes: killed, interrupted, failing, and gone on with."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from studies.harness.records import read_records, record_key
from studies.papers.run import records_path, run_cell, run_tables
from studies.papers.tasks import Cell, Line, Paper, Reference, Table, Task, cells_of

GOOD = Task("iris", "supervised", {"train": 100, "hidden": 0.7}, {"kernel": "linear", "C": 1.0})
BAD = Task("iris", "supervised", {"train": 100, "hidden": 0.7}, {"C": -1.0})
N_SEEDS = 60


def paper_of(*tasks, seeds=2):
    lines = tuple(
        Line("t", "s", str(i), "accuracy", task, Reference(0.95)) for i, task in enumerate(tasks)
    )
    return Paper("tiny", "nobody", (Table("t", "a table", lines, seeds=seeds),))


def run(paper, out, **how):
    return run_tables(paper, paper.tables, out, **{"workers": 1} | how)


@pytest.mark.usefixtures("cells_run_here")
def test_cells_run_are_recorded_and_never_run_again(tmp_path):
    paper = paper_of(GOOD)
    seen = []
    first = run(paper, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert (first.done, first.failed, first.is_complete) == (2, 0, True)
    assert seen == [(0, 2), (1, 2), (2, 2)]
    before = records_path(tmp_path, paper).read_bytes()
    again = run(paper, tmp_path)
    assert (again.done, again.before, again.is_complete) == (0, 2, True)
    assert records_path(tmp_path, paper).read_bytes() == before
    more = run(paper, tmp_path, seeds=3, workers=2)  # one is left, so one process is enough
    assert (more.done, more.before) == (1, 2)


@pytest.mark.usefixtures("cells_run_here")
def test_a_line_may_ask_for_fewer_repetitions_and_slow_tasks_run_last(tmp_path):
    slow = Task(
        "iris",
        "supervised",
        {"train": 100, "hidden": 0.7},
        {"kernel": "linear", "C": 2.0},
        slow=True,
    )
    lines = (
        Line("t", "s", "slow", "accuracy", slow, seeds=2),
        Line("t", "s", "slow too", "accuracy", slow, seeds=1),
        Line("t", "s", "fast", "accuracy", GOOD),
    )
    table = Table("t", "a table", lines, seeds=3)
    assert [(cell.task is slow, cell.seed) for cell in cells_of(table)] == [
        (True, 0),
        (False, 0),
        (True, 1),
        (False, 1),
        (False, 2),
    ]
    assert len(cells_of(table, seeds=1)) == 2
    paper = Paper("tiny", "nobody", (table,))
    run(paper, tmp_path)
    ran = [record["task"]["params"]["C"] for record in read_records(records_path(tmp_path, paper))]
    assert ran == [1.0, 1.0, 1.0, 2.0, 2.0]


def test_a_record_holds_what_ran_how_it_went_and_on_what(tmp_path):
    paper = paper_of(GOOD, seeds=1)
    run(paper, tmp_path)
    (record,) = read_records(records_path(tmp_path, paper))
    assert record["task"] == {
        "data": "iris",
        "split": GOOD.split,
        "method": "supervised",
        "params": GOOD.params,
    }
    assert 0.8 < record["measures"]["accuracy"] <= 1
    assert (
        record["measures"]["accuracy"] == run_cell(Cell(GOOD, 0))["measures"]["accuracy"]
    )  # in this process too
    assert record["measures"]["seconds"] > 0
    assert record["measures"].get("peak_rss_mib", 11) > 10
    assert set(record["versions"]) >= {"python", "numpy", "semisvm"}
    assert set(record["machine"]) == {"cpu", "cores", "memory_gib", "system"}
    assert "/" not in json.dumps(record | {"commit": ""}).replace("+00:00", "")


@pytest.mark.usefixtures("cells_run_here")
def test_a_cell_that_raises_is_recorded_and_the_others_go_on(tmp_path):
    ending = run(paper_of(BAD, GOOD, seeds=1), tmp_path)
    assert (ending.done, ending.failed, ending.is_complete) == (1, 1, False)
    failed, done = read_records(records_path(tmp_path, paper_of()))
    assert (failed["outcome"], done["outcome"]) == ("failed", "done")
    assert "C" in failed["why"]


def test_what_can_not_run_here_is_recorded_once_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    paper = paper_of(Task("tutorial", "supervised", {}, {}, seeded=False), seeds=1)
    ending = run(paper, tmp_path)
    assert (ending.done, ending.not_runnable, ending.is_complete) == (0, 1, False)
    run(paper, tmp_path)
    hindered = [
        r for r in read_records(records_path(tmp_path, paper)) if r["outcome"] == "not runnable"
    ]
    assert len(hindered) == 1
    assert "SEMISVM_DATA" in hindered[0]["why"]
    assert "ptsvm/tutorial.csv" in hindered[0]["why"]


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_run import GOOD, N_SEEDS, paper_of, run
ending = run(paper_of(GOOD, seeds=N_SEEDS), Path(sys.argv[1]))
print("interrupted" if ending.interrupted else "ended")
"""


def start(out):
    command = [sys.executable, "-c", PROGRAM, str(out), os.path.dirname(__file__)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_for_records(path, n, process):
    for _ in range(6000):  # five minutes, on a busy machine
        if path.exists() and path.read_bytes().count(b"\n") > n:
            return
        assert process.poll() is None, "ended before it could be stopped"
        time.sleep(0.05)
    raise AssertionError("no records came")


@pytest.mark.posix
@pytest.mark.usefixtures("cells_run_here")
def test_killed_in_the_middle_and_started_again_it_goes_on(tmp_path):
    paper = paper_of(GOOD, seeds=N_SEEDS)
    path = records_path(tmp_path, paper)
    with start(tmp_path) as process:
        wait_for_records(path, 10, process)
        process.send_signal(signal.SIGKILL)
    kept = path.read_bytes()
    finished = len(read_records(path))
    assert 9 <= finished < N_SEEDS
    path.write_bytes(kept[:-7])  # as if it had been killed while writing
    ending = run(paper, tmp_path)
    assert ending.is_complete
    assert ending.before == finished - 1
    runs = Counter(record_key(record) for record in read_records(path))
    assert len(runs) == N_SEEDS
    assert set(runs.values()) == {1}
    assert path.read_bytes().startswith(kept[: kept.rstrip(b"\n").rindex(b"\n") + 1])


@pytest.mark.posix
def test_ctrl_c_stops_cleanly_with_what_it_has(tmp_path):
    path = records_path(tmp_path, paper_of(GOOD))
    with start(tmp_path) as process:
        wait_for_records(path, 5, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    assert said.strip() == "interrupted"
    assert process.returncode == 0
    assert path.read_bytes().endswith(b"\n")
    for line in path.read_text().splitlines():
        json.loads(line)
