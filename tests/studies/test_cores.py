"""The benchmark on many cores: which process does what and where, and the tables of its records."""

import pytest

from studies.speed.cores import Part, Run, free_block, plan_runs, render_cores

SOLVERS = ("ours", "onedal-f32", "onedal-f64")


def test_a_part_says_its_fits_and_solvers_or_takes_those_of_the_call():
    assert Part.read("adult:600 rows", 5, SOLVERS) == Part("adult", "600 rows", 5, SOLVERS)
    assert Part.read("mnist:all:1:onedal-f32,ours,before", 5, SOLVERS) == Part(
        "mnist", "all", 1, SOLVERS[:2]
    )


def test_ours_is_first_and_large_blocks_of_cores_are_one_process_per_solver():
    parts = [Part.read("adult:all", 5, SOLVERS), Part.read("mnist:all:1:ours", 5, SOLVERS)]
    runs = plan_runs(parts, SOLVERS, [8, 2], 16)
    assert [(run.solver, run.n_cores, len(run.parts)) for run in runs] == [
        ("ours", 8, 2),
        ("onedal-f64", 8, 1),
        ("onedal-f32", 8, 1),
        ("ours", 2, 1),
        ("ours", 2, 1),
        ("onedal-f64", 2, 1),
        ("onedal-f32", 2, 1),
    ]
    assert runs[4] == Run("ours", 2, (Part("mnist", "all", 1, ()),))


def test_processes_get_neighboring_cores_that_no_other_one_has():
    cpus = [0, 8, 1, 9, 2, 10, 3, 11]  # those that share a core are side by side
    assert free_block(cpus, set(cpus), 2, 8) == [0, 8]
    assert free_block(cpus, set(cpus) - {8}, 2, 8) == [1, 9]
    assert free_block(cpus, set(cpus) - {8, 2}, 4, 8) is None
    assert free_block(cpus, set(cpus) - {0, 8}, 4, 5) is None  # more than may be busy
    assert free_block(cpus, set(cpus) - {0, 8}, 4, 6) == [2, 10, 3, 11]


def record(solver, seconds, gap=None, n_cores=2):
    """The records of a cell, as the processes say them."""
    key = {"set": "adult", "size": "all", "cores": n_cores, "solver": solver}
    yield key | {"rows": 32_561, "seconds": [seconds] * 5, "median": seconds, "peak_mib": 1_234}
    if gap is not None:
        yield key | {"gap": gap}


def test_tables_join_times_with_gaps_and_leave_wrong_solutions_out_of_the_means():
    cells = [
        *record("ours", 2.0, 9e-4),
        *record("onedal-f32", 6.0, 3e-3),
        *record("onedal-f64", 20.0, 9.6),
    ]
    failed = {"solver": "before", "call": "fit before", "error": "MemoryError"}
    text = render_cores([*cells, failed])
    assert (
        "| Adult, 32,561 | 2 | **2.000**, 9.0e-4, 1,234 | 6.000, 3.0e-3, 1,234 | 20.0, *9.6*,"
        " 1,234 |" in text
    )
    assert "| oneDAL float32 | 3.00 (3.00), 1 |" in text
    assert "| oneDAL float64 |  |" in text
    assert text.endswith("before fit before: MemoryError")


@pytest.mark.parametrize(("usual", "shown"), [(5, "1,234 |"), (3, "1,234 (5) |")])
def test_a_cell_says_how_many_fits_it_had_where_others_had_another_number(usual, shown):
    assert shown in render_cores(list(record("ours", 2.0)), usual)
