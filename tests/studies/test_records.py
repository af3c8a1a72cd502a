"""The journal of records: whole lines, whatever happens to the process that writes them."""

import json

import pytest

from studies.harness.records import (
    Journal,
    RecordsInUseError,
    read_records,
    record_key,
    task_key,
)
from studies.papers.run import left_to_run
from studies.papers.tasks import Cell, Line, Table, Task, cells_of

SESSION = {"machine": {"cores": 2}, "versions": {"python": "3"}, "commit": None, "source": "abc"}
TASK = Task("iris", "supervised", {"hidden": 0.9}, {"C": 0.1234567890123})


def done(seed, **more):
    return Cell(TASK, seed).as_dict() | {"outcome": "done", "measures": {"accuracy": 0.5}} | more


def write(path, *records):
    with Journal(path, SESSION) as journal:
        for record in records:
            journal.append(record)


def test_records_come_back_with_what_their_session_shares(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, done(0), done(1))
    write(path, done(2))
    records = read_records(path)
    assert [record["seed"] for record in records] == [0, 1, 2]
    assert all(
        record["machine"] == {"cores": 2} and record["source"] == "abc" for record in records
    )
    assert len({record["session"] for record in records}) == 2
    assert len(path.read_text().splitlines()) == 5  # two lines for the sessions


def test_scores_are_rounded_and_parameters_are_not(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, done(0, measures={"accuracy": 1 / 3}))
    (record,) = read_records(path)
    assert record["measures"]["accuracy"] == 0.3333333333
    assert record_key(record) == Cell(TASK, 0).key
    assert task_key(record["task"]) == TASK.key


def test_a_session_without_records_writes_nothing(tmp_path):
    write(tmp_path / "r.jsonl")
    assert read_records(tmp_path / "r.jsonl") == []
    assert read_records(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("cut", [1, 2, 20, 150])
def test_an_incomplete_last_line_is_ignored_and_removed(tmp_path, cut):
    path = tmp_path / "r.jsonl"
    write(path, done(0), done(1))
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    whole = 2 if cut == 1 else 1  # only the newline is gone
    assert [record["seed"] for record in read_records(path)] == list(range(whole))
    write(path, done(7))
    assert [record["seed"] for record in read_records(path)] == [*range(whole), 7]
    for line in path.read_text().splitlines():
        json.loads(line)


def test_a_broken_line_in_the_middle_is_refused(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, done(0), done(1))
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:-5]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="line 2, is not a record"):
        read_records(path)


def test_what_is_not_a_number_never_gets_in(tmp_path):
    path = tmp_path / "r.jsonl"
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(path, done(0, measures={"accuracy": float("nan")}))
    assert read_records(path) == []


def test_two_runs_do_not_write_to_one_file(tmp_path):
    pytest.importorskip("fcntl")
    with (
        Journal(tmp_path / "r.jsonl", SESSION),
        pytest.raises(RecordsInUseError, match="Another run"),
        Journal(tmp_path / "r.jsonl", SESSION),
    ):
        pass


def test_finished_cells_are_not_left_and_failed_ones_are():
    cells = [Cell(TASK, seed) for seed in range(3)]
    records = [done(0), done(1) | {"outcome": "failed", "why": "no memory"}]
    assert [cell.seed for cell in left_to_run(cells, records)] == [1, 2]


def test_equal_tasks_are_one_cell_whatever_the_order_of_their_parameters():
    same = Task("iris", "supervised", {"hidden": 0.9}, {"kernel": "rbf", "C": 1.0})
    again = Task("iris", "supervised", {"hidden": 0.9}, {"C": 1.0, "kernel": "rbf"})
    once = Task("tutorial", "supervised", seeded=False)
    lines = [Line("t", "s", str(i), "accuracy", task) for i, task in enumerate((same, again, once))]
    table = Table("t", "", (*lines, Line("t", "s", "none", "accuracy", None)), seeds=3)
    assert len(cells_of(table)) == 4
    assert len(cells_of(table, seeds=2)) == 3
    assert cells_of(table, quick=True) == []
