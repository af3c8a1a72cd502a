"""The harness itself: a pool whose workers may die, calls in fresh processes, means of records."""

import os
import signal
import time

import pytest

import process_calls
from process_calls import failed_number, run_or_die
from studies.harness.fresh_process import call_fresh
from studies.harness.means import read_means, write_means
from studies.harness.pool import DIED, ONE_THREAD, run_in_pool

HERE = {"PYTHONPATH": os.path.dirname(process_calls.__file__)}


@pytest.mark.posix
@pytest.mark.parametrize("workers", [1, 3])
def test_a_cell_that_ends_its_process_fails_alone_and_the_others_are_run(workers):
    numbers = [1, 2, -1, 3, 4, -2, 5]
    found = list(run_in_pool(run_or_die, numbers, workers=workers, failed=failed_number))
    assert sorted(record["number"] for record in found) == sorted(numbers)
    assert {record["number"] for record in found if record.get("why") == DIED} == {-1, -2}


@pytest.mark.posix
def test_a_worker_killed_from_outside_is_replaced_and_its_cell_run_again():
    found = []
    for record in run_in_pool(run_or_die, list(range(6)), workers=1, failed=failed_number):
        found.append(record)
        if len(found) == 1:
            os.kill(record["process"], signal.SIGKILL)
    assert sorted(record["number"] for record in found) == list(range(6))
    assert len({record["process"] for record in found if "process" in record}) >= 2
    assert not any("why" in record for record in found)


def test_no_cell_begins_after_the_time_is_over_and_those_that_run_are_given_up():
    assert not list(run_in_pool(run_or_die, [1, 2], workers=1, failed=failed_number, seconds=0.0))
    found = run_in_pool(time.sleep, [600], workers=1, failed=failed_number, seconds=0.1)
    assert not list(found)


def test_workers_have_one_thread_and_the_environment_that_is_given():
    (found,) = run_in_pool(run_or_die, [1], workers=1, failed=failed_number)
    assert found["threads"] == ONE_THREAD["OMP_NUM_THREADS"] == "1"
    assert found["process"] != os.getpid()
    (found,) = run_in_pool(
        run_or_die, [1], workers=1, failed=failed_number, environment={"OMP_NUM_THREADS": "7"}
    )
    assert found["threads"] == "7"


def test_a_function_is_called_in_a_fresh_process_and_its_answer_comes_back():
    answer = call_fresh("process_calls:add", 1, 2, environment=HERE)
    assert (answer["outcome"], answer["result"]) == ("done", {"sum": 3})


@pytest.mark.parametrize(
    ("function", "outcome", "why"),
    [
        ("process_calls:fail", "failed", "ValueError: it broke in file.py"),  # without the folder
        ("process_calls:lack", "not available", "no such solver"),
        ("no_such_module:f", "failed", "No module named 'no_such_module'"),
    ],
)
def test_a_function_that_raises_is_reported_with_its_reason(function, outcome, why):
    answer = call_fresh(function, environment=HERE)
    assert answer["outcome"] == outcome
    assert why in answer["why"]


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="POSIX signals")
def test_a_block_past_its_limit_ends_its_process():
    answer = call_fresh("process_calls:take_time", 600, 0.2, environment=HERE)
    assert (answer["outcome"], answer["why"]) == ("over limit", "it took longer than its limit")


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_a_block_is_measured_in_time_and_memory():
    took = call_fresh("process_calls:take_time", 0, 0, environment=HERE)["result"]
    assert set(took) == {"wall_s", "cpu_s", "rss_before_mib", "rss_peak_mib"}
    assert 0 < took["wall_s"] < 60
    assert 45 < took["rss_peak_mib"] - took["rss_before_mib"] < 80  # the 50 MiB that it held


def test_means_are_those_of_the_last_record_of_each_cell(tmp_path):
    def record(rows, seed, seconds, outcome="done"):
        measures = {"wall_s": seconds, "error": {"ours": seconds / 10}, "solver": "ours"}
        made = {"task": {"rows": rows}, "seed": seed, "outcome": outcome, "measures": measures}
        return made | {"date": "2026-01-02T00:00:00", "commit": "abc"}

    records = [record(10, 0, 99.0), record(10, 0, 1.0), record(10, 1, 3.0), record(20, 0, 5.0)]
    write_means([*records, record(20, 1, 0.0, outcome="failed")], tmp_path / "means.json")
    first, second = read_means(tmp_path / "means.json")
    assert first["task"] == {"rows": 10}
    assert first["measures"]["wall_s"] == {
        "n": 2,
        "mean": 2,
        "sd": 1.4142,
        "min": 1,
        "median": 2,
        "max": 3,
    }
    assert first["measures"]["error / ours"]["mean"] == 0.2
    assert set(first["measures"]) == {"wall_s", "error / ours"}
    assert second["measures"]["wall_s"]["n"] == 1
