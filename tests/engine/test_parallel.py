"""The team of threads does every piece once, and BLAS has one thread while it works."""

import os
import subprocess
import sys
import threading
import time

import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from semisvm.engine import parallel
from semisvm.engine.parallel import Team, for_each, libraries_on_one_thread, n_threads


@pytest.fixture
def team(monkeypatch):
    monkeypatch.setattr(parallel, "n_threads", lambda: 4)
    team = Team()
    monkeypatch.setattr(parallel, "_team", team)
    return team


def test_every_piece_is_done_once_by_several_threads(team):
    done, threads = [], set()

    def work(piece):
        time.sleep(0.001)
        done.append(piece)
        threads.add(threading.get_ident())

    for_each(work, range(100))
    assert sorted(done) == list(range(100))
    assert 2 <= len(threads) <= 4
    for_each(work, [])
    for_each(work, [7])
    assert done[100:] == [7]


def test_a_region_inside_a_region_and_a_second_caller_work_alone(team):
    sums = []

    def inner(piece):
        for_each(sums.append, [piece, piece])

    callers = [threading.Thread(target=for_each, args=(inner, range(10))) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(sums) == sorted(list(range(10)) * 16)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("in_caller", [True, False])
def test_an_error_waits_for_the_others_and_reaches_the_caller(team, error, in_caller):
    caller, ended = threading.get_ident(), []

    def work(piece):
        if (threading.get_ident() == caller) == in_caller and piece != 0:
            raise error
        time.sleep(0.02)
        ended.append(piece)

    with pytest.raises(error):
        for_each(work, range(50))
    n_ended = len(ended)
    time.sleep(0.05)
    assert len(ended) == n_ended  # nobody writes to the caller's arrays any more
    done = []
    for_each(done.append, range(10))
    assert sorted(done) == list(range(10))


def test_a_process_that_can_start_no_thread_works_alone(team, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done = []
    for_each(done.append, range(10))
    assert sorted(done) == list(range(10))


def test_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(parallel, "_n_cores", lambda: 8)
    for value, expected in (("", 8), ("3", 3), ("100", 8), ("2,1", 2), ("many", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert n_threads() == expected
    assert set(Parallel(2, backend="threading")(delayed(n_threads)() for _ in range(2))) == {1}
    assert parallel.n_workers() == 1


def blas_threads():
    return {library["num_threads"] for library in threadpool_info()}


def test_blas_and_openmp_have_one_thread_inside_and_their_own_after():
    with threadpool_limits(2):
        before = blas_threads()
        with libraries_on_one_thread(), libraries_on_one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(KeyboardInterrupt), libraries_on_one_thread():
            raise KeyboardInterrupt
        assert blas_threads() == before


def test_threads_that_come_and_go_leave_the_limits_as_they_were():
    before, errors = blas_threads(), []

    def enter_and_leave():
        for _ in range(50):
            with libraries_on_one_thread():
                if blas_threads() != {1}:
                    errors.append(blas_threads())

    threads = [threading.Thread(target=enter_and_leave) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert blas_threads() == before


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.posix
def test_a_child_of_a_fork_has_a_team_of_its_own():
    program = """
import os, warnings
from semisvm.engine import parallel
warnings.simplefilter("ignore")
parallel.n_threads = lambda: 3
parallel.for_each(lambda piece: None, range(10))
if (child := os.fork()) == 0:
    done = []
    parallel.for_each(done.append, range(10))
    os._exit(0 if sorted(done) == list(range(10)) else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""
    assert run(program).returncode == 0


@pytest.mark.posix
def test_ctrl_c_during_the_import_of_numba_waits_for_its_end():
    program = """
import signal, sys, threading, time
def press():
    while "numba" not in sys.modules:
        time.sleep(0.001)
    signal.raise_signal(signal.SIGINT)
threading.Thread(target=press).start()
try:
    import semisvm.engine.jit
    time.sleep(5)
except KeyboardInterrupt:
    import semisvm.engine.jit
    semisvm.engine.jit.jit(lambda x: x)(1.0)
    print("fine")
"""
    found = run(program)
    assert found.stdout == "fine\n", found.stderr


def test_importing_the_engine_brings_neither_numba_nor_torch():
    program = "import sys, semisvm.engine.kernels; print({'numba', 'torch'} & set(sys.modules))"
    assert run(program).stdout == "set()\n"


def test_the_solution_of_one_process_is_that_of_another_with_other_threads():
    program = """
import numpy as np
from semisvm.engine import *
from semisvm.engine.kernels import kernel_of
rng = np.random.default_rng(0)
X, sign = rng.normal(size=(2500, 30)), rng.choice([-1.0, 1.0], 2500)
kernel = kernel_of(X, make_formula("rbf", X), cache_size=10)
print(repr(solve([Problem.hinge(kernel, sign, np.ones(2500))])[0].scores.sum()))
"""
    found = [run(program, OMP_NUM_THREADS=n) for n in ("1", "2")]
    assert found[0].stdout == found[1].stdout != "", found[0].stderr + found[1].stderr
