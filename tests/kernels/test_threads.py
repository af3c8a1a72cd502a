"""The team of threads does every piece once, whoever calls it and whatever happens meanwhile."""

import _thread
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from semisvm.kernels import threads
from semisvm.kernels.compiler import jit
from semisvm.kernels.intrinsics import next_piece
from semisvm.kernels.threads import Team, for_each, n_threads, new_counter, one_blas_thread, team


@jit
def count_pieces(counter, times):
    piece = next_piece(counter)
    while piece < times.shape[0]:
        times[piece] += 1
        piece = next_piece(counter)


def every_piece_once(crew, n_pieces=2000, most=None):
    counter, times = new_counter(), np.zeros(n_pieces, dtype=np.int64)
    crew.run(lambda: count_pieces(counter, times), most)
    assert_array_equal(times, np.ones(n_pieces))
    return True


@pytest.fixture
def crew():
    crew = Team(4)
    yield crew
    crew.close()


# --- what a region does ---


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_piece_is_done_once(size):
    crew = Team(size)
    for n_pieces in (0, 1, 3, 10_000):
        every_piece_once(crew, n_pieces)
    every_piece_once(crew, most=2)
    crew.close()


def test_all_threads_take_part_and_no_more_than_are_worth_it(crew):
    for most, expected in ((None, 4), (3, 3), (1, 1)):
        meet, inside = threading.Barrier(expected), set()

        def take_part(meet=meet, inside=inside):
            inside.add(threading.get_ident())
            meet.wait(timeout=20)

        crew.run(take_part, most)
        assert len(inside) == expected


def test_a_region_ends_when_its_work_is_done_even_if_a_thread_never_comes(crew):
    crew.close()  # its threads are gone or going
    every_piece_once(crew)


def test_a_region_inside_a_region_is_done_by_its_caller(crew):
    seen = []
    crew.run(lambda: seen.append(every_piece_once(crew)))
    assert seen
    assert all(seen)


def test_eight_callers_at_once(crew):
    done = []
    callers = [
        threading.Thread(target=lambda: done.extend(every_piece_once(crew) for _ in range(20))) for _ in range(8)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(done) == 160


@pytest.mark.parametrize("fails_in_the_caller", [True, False])
def test_an_error_in_any_thread_reaches_the_caller_and_the_team_goes_on(crew, fails_in_the_caller):
    caller, meet = threading.get_ident(), threading.Barrier(4)

    def fail():
        meet.wait(timeout=20)
        if (threading.get_ident() == caller) == fails_in_the_caller:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crew.run(fail)
    every_piece_once(crew)


def test_ctrl_c_waits_for_the_threads_that_write_to_the_callers_arrays(crew):
    ended, meet = [], threading.Barrier(4)
    caller = threading.get_ident()

    def work():
        meet.wait(timeout=20)
        if threading.get_ident() == caller:
            _thread.interrupt_main(signal.SIGINT)
            return
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        crew.run(work)
    assert len(ended) == 3
    every_piece_once(crew)


def test_for_each_does_every_piece_and_raises_what_it_raises():
    done = []
    for_each(done.append, range(100))
    assert sorted(done) == list(range(100))
    for_each(done.append, [])
    with pytest.raises(ZeroDivisionError):
        for_each(lambda piece: 1 / piece, [1, 0, 2])


# --- how many threads ---


def test_openmp_environment_and_threadpoolctl_limit_the_threads(monkeypatch):
    monkeypatch.setattr(threads, "_n_cores", lambda: 6)
    monkeypatch.setattr(threads, "_libraries", lambda kind: SimpleNamespace(lib_controllers=[]))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads() == team().size == 6
    for text, expected in (("3", 3), ("4,2", 4), ("99", 6), ("0", 1), ("many", 6)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert n_threads() == team().size == expected


def test_threadpool_limits_are_seen():
    with threadpool_limits(limits=1):
        assert n_threads() == 1
    assert n_threads() >= 1


def test_a_thread_of_joblib_works_alone():
    assert Parallel(n_jobs=2, backend="threading")(delayed(n_threads)() for _ in range(4)) == [1] * 4


def test_processes_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = Parallel(n_jobs=2)(delayed(n_threads)() for _ in range(2))
    assert max(found) <= max(1, (os.cpu_count() or 1) // 2)


# --- processes ---


def in_child(answer):
    answer.put(every_piece_once(team()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_has_a_team_of_its_own(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    every_piece_once(team())
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=in_child, args=(answer,))
    child.start()
    assert answer.get(timeout=60)
    child.join()
    assert child.exitcode == 0
    every_piece_once(team())


def limit_in_child(answer):
    answer.put((one_blas_thread.lock.locked(), one_blas_thread.n_inside, one_blas_thread.limit))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_finds_nobody_inside_the_limit_of_blas_threads():
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=limit_in_child, args=(answer,))
    with one_blas_thread, one_blas_thread.lock:  # as another thread may hold it
        child.start()
    assert answer.get(timeout=60) == (False, 0, None)
    child.join()


def test_the_team_ends_with_the_process():
    program = "from semisvm.kernels.threads import Team; Team(4).run(lambda: None); print('end')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert (ended.stdout, ended.stderr) == ("end\n", "")


def test_a_process_that_can_start_no_thread_works_alone(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    every_piece_once(Team(4))


@pytest.mark.skipif(os.environ.get("OPENBLAS_NUM_THREADS") != "1", reason="another number was asked for")
def test_tests_that_run_side_by_side_have_one_blas_thread_each():
    """Set in conftest.py, in time: before anything imports NumPy."""
    found = [one["num_threads"] for one in threadpool_info() if one["internal_api"] == "openblas"]
    assert set(found) <= {1}


ONE_BLAS_THREAD = """
import time
from concurrent.futures import ThreadPoolExecutor
from random import random
import numpy, scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits
from semisvm.kernels.threads import one_blas_thread
from semisvm.primal import GivenPrices, MemoryRows, PrimalProblem, solve_primal

def counts():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

def counts_inside(_):
    with one_blas_thread:
        found = counts()
        time.sleep(random() / 50)
        return found

def counts_in_a_solve():
    found, sign = [], numpy.repeat([-1.0, 1.0], 20)
    problem = PrimalProblem(MemoryRows(sign[:, None] + numpy.eye(40)), GivenPrices.of_signs(sign, numpy.ones(40)))
    solve_primal(problem, callback=lambda n_iter, gap: found.append(counts()))
    return found

before = counts()
for _ in range(10):  # whoever comes first and leaves last
    with ThreadPoolExecutor(3) as workers:
        found = workers.map(counts_inside, range(6))
        seen = counts_in_a_solve()
        assert seen and seen == [[1] * len(before)] * len(seen)
        assert list(found) == [[1] * len(before)] * 6
    assert counts() == before
with threadpool_limits(2):
    assert counts_inside(None) == [1] * len(before)
    assert counts() == before
assert counts() == before
print(max(before))
"""


def test_blas_has_one_thread_inside_and_as_many_as_before_after():
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", ONE_BLAS_THREAD], env=two, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) in [("1", ""), ("2", "")]
