"""The team of threads does every piece once, whoever calls it and whatever happens meanwhile."""

import _thread
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from semisvm.kernels import threads
from semisvm.kernels.compiler import jit
from semisvm.kernels.factors import cholesky, solve_factored
from semisvm.kernels.intrinsics import next_piece
from semisvm.kernels.threads import (
    Team,
    for_each,
    limited_threads,
    n_threads,
    openmp_threads,
    times,
)


@jit
def count_pieces(counter, times):
    piece = next_piece(counter)
    while piece < times.shape[0]:
        times[piece] += 1
        piece = next_piece(counter)


def every_piece_once(crew, n_pieces=2000, most=4):
    counter = np.zeros(1, dtype=np.int64)
    times = np.zeros(n_pieces, dtype=np.int64)
    crew.run(lambda: count_pieces(counter, times), most)
    assert_array_equal(times, np.ones(n_pieces))
    return True


@pytest.fixture
def crew():
    return Team()


# --- what a region does ---


@pytest.mark.parametrize("most", [1, 2, 5])
def test_every_piece_is_done_once(crew, most):
    for n_pieces in (0, 1, 3, 10_000):
        every_piece_once(crew, n_pieces, most)
    every_piece_once(crew, most=2)


def test_all_threads_take_part_and_no_more_than_are_worth_it(crew):
    for most in (3, 4, 2, 1):
        meet = threading.Barrier(most)
        inside = set()

        def take_part(meet=meet, inside=inside):
            inside.add(threading.get_ident())
            meet.wait(timeout=20)

        crew.run(take_part, most)
        assert len(inside) == most


def test_a_region_ends_when_its_work_is_done_even_if_a_thread_never_comes(crew):
    crew._n_started = 3  # which nobody has started
    every_piece_once(crew)


def test_a_region_inside_a_region_is_done_by_its_caller(crew):
    seen = []
    crew.run(lambda: seen.append(every_piece_once(crew)), 4)
    assert seen
    assert all(seen)


def test_eight_callers_at_once(crew):
    done = []
    callers = [
        threading.Thread(target=lambda: done.extend(every_piece_once(crew) for _ in range(20)))
        for _ in range(8)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(done) == 160


@pytest.mark.parametrize("fails_in_the_caller", [True, False])
def test_an_error_in_any_thread_reaches_the_caller_and_the_team_goes_on(crew, fails_in_the_caller):
    caller = threading.get_ident()
    meet = threading.Barrier(4)

    def fail():
        meet.wait(timeout=20)
        if (threading.get_ident() == caller) == fails_in_the_caller:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crew.run(fail, 4)
    every_piece_once(crew)


def test_ctrl_c_waits_for_the_threads_that_write_to_the_callers_arrays(crew):
    ended = []
    meet = threading.Barrier(4)
    caller = threading.get_ident()

    def work():
        meet.wait(timeout=20)
        if threading.get_ident() == caller:
            _thread.interrupt_main(signal.SIGINT)
            return
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        crew.run(work, 4)
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
    monkeypatch.setattr(threads, "_libraries", lambda kind: [])
    monkeypatch.setattr(threads._load, "n_cores_to_use", lambda: 99)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads() == 6
    for text, expected in (("3", 3), ("4,2", 4), ("99", 6), ("0", 1), ("many", 6)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert n_threads() == expected


@pytest.mark.parametrize(
    ("n_others", "n_free", "n_used"),
    [(0.0, 8, 8), (1.2, 7, 7), (2.4, 6, 6), (2.6, 5, 8), (7.9, 0, 8), (20.0, 0, 8)],
)
def test_cores_that_others_keep_busy_are_left_to_them_unless_few_are_free(
    monkeypatch, n_others, n_free, n_used
):
    """Two looks a second apart: this process had 1.5 cores of the time, the others theirs."""
    clock = iter([0.0, 1.0])
    busy = iter([100.0, 101.5 + n_others])
    own = iter([10.0, 11.5])
    monkeypatch.setattr(threads.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(threads, "_busy_seconds", lambda: next(busy))
    monkeypatch.setattr(threads.time, "process_time", lambda: next(own))
    monkeypatch.setattr(threads, "_n_visible_cores", lambda: 8)
    load = threads._Load()
    assert load.n_free_cores() == n_free
    monkeypatch.setattr(threads.time, "perf_counter", lambda: 1.0)
    assert load.n_cores_to_use() == n_used


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="the system does not tell")
def test_a_busy_loop_beside_is_seen():
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        load = threads._Load()
        time.sleep(1.0)
        load.n_free_cores()
    finally:
        loop.kill()
        loop.wait()
    assert load.n_others > 0.2  # of one core, which other tests may share


ONE_CORE = """
import hashlib, threading
import numpy as np
from semisvm import SupervisedSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 40))
model = SupervisedSVC(C=10.0).fit(X, X[:, 0] + rng.normal(size=len(X)) > 0)
digest = hashlib.sha256(model.decision_function(X).tobytes()).hexdigest()
helpers = [thread for thread in threading.enumerate() if thread.name == "semisvm-team"]
"""
# Before anything else of the process: what the system, or its user, allows.
LIMITS = {
    "affinity": "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
    "OMP_NUM_THREADS": "import os; os.environ['OMP_NUM_THREADS'] = '1'",
    "quota": """
import builtins, io
real_open = open
def fake_open(file, *arguments, **options):
    if str(file) == "/sys/fs/cgroup/cpu.max":
        return io.StringIO("50000 100000")
    return real_open(file, *arguments, **options)
builtins.open = fake_open
import os.path
real_exists = os.path.exists
os.path.exists = lambda path: str(path) == "/sys/fs/cgroup/cpu.max" or real_exists(path)
""",
}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_one_core_half_a_core_or_one_thread_by_wish_start_no_other_and_give_the_same_bits():
    free = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    one_thread = "\nfrom semisvm.kernels.threads import n_threads; print(n_threads())"
    fit = f"{ONE_CORE}print(len(helpers), digest)"
    found = {}
    for name, limit in LIMITS.items():  # a fit asks n_threads, whatever the limit
        done = subprocess.run(
            [sys.executable, "-c", limit + one_thread + (fit if name == "affinity" else "")],
            env=free,
            capture_output=True,
            text=True,
            check=True,
        )
        found[name] = done.stdout.split()
    without_limit = {}
    exec(ONE_CORE, without_limit)
    assert found.pop("affinity") == ["1", "0", without_limit["digest"]]
    assert found == {"OMP_NUM_THREADS": ["1"], "quota": ["1"]}


def test_openmp_has_one_thread_inside_and_its_own_after(monkeypatch):
    def numbers():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"]

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_n_cores", lambda: 6)
    with threadpool_limits(3, user_api="openmp"):
        before = numbers()
        with limited_threads():
            assert set(numbers()) <= {1}
            with limited_threads():
                assert set(numbers()) <= {1}
            with openmp_threads(0):
                assert set(numbers()) <= {1}
            for n_free, expected in ((4, 3), (2, 2), (1, 1), (0, 1)):
                monkeypatch.setattr(threads._load, "n_free_cores", lambda n_free=n_free: n_free)
                with openmp_threads(np.inf):
                    assert set(numbers()) <= {expected}
            assert set(numbers()) <= {1}
        assert numbers() == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_products_and_factors_have_the_same_bits_for_any_number_of_threads(
    monkeypatch, dtype
):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(900, 700)).astype(dtype)
    right = rng.normal(size=(700, 250)).astype(dtype)
    S = (A @ A.T).astype(np.float64) + 900 * np.eye(900)
    monkeypatch.setattr(threads, "_at_most", lambda most: most)
    found = []
    for size in (1, 2, 5):
        monkeypatch.setattr(threads, "_n_allowed", lambda size=size: size)
        with limited_threads():
            L = S.copy()
            cholesky(L)
            found.append((times(A, right), np.tril(L), solve_factored(L, S[:, :70])))
    for one in found[1:]:
        for first, other in zip(found[0], one, strict=True):
            assert_array_equal(first, other)
    product, L, answer = found[0]
    np.testing.assert_allclose(product, A @ right, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(L, np.linalg.cholesky(S), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(answer, np.eye(900)[:, :70], atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    A = np.eye(600)
    A[500, 500] = -1
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(A)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(np.full((3, 3), np.nan))


def test_threadpool_limits_are_seen():
    with threadpool_limits(limits=1):
        assert n_threads() == 1
    assert n_threads() >= 1


def test_a_thread_of_joblib_works_alone():
    assert (
        Parallel(n_jobs=2, backend="threading")(delayed(n_threads)() for _ in range(4)) == [1] * 4
    )


def test_processes_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = Parallel(n_jobs=2)(delayed(n_threads)() for _ in range(2))
    assert max(found) <= max(1, (os.cpu_count() or 1) // 2)


# --- processes ---


def in_child(answer):
    answer.put(every_piece_once(threads._team))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_has_a_team_of_its_own():
    every_piece_once(threads._team)
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=in_child, args=(answer,))
    child.start()
    assert answer.get(timeout=60)
    child.join()
    assert child.exitcode == 0
    every_piece_once(threads._team)


def limit_in_child(answer):
    with limited_threads():
        is_limited = {one["num_threads"] for one in blas_libraries()} <= {1}
    answer.put((is_limited, len(threads._blas_limit.inside), blas_libraries()))


def blas_libraries():
    return [one for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_finds_nobody_inside_the_limit_of_blas_threads():
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=limit_in_child, args=(answer,))
    before = blas_libraries()
    with limited_threads(), threads._blas_limit.lock:  # as another thread may hold it
        child.start()
    is_limited, n_inside, libraries = answer.get(timeout=60)
    assert (is_limited, n_inside) == (True, 0)
    assert [one["num_threads"] for one in libraries] == [one["num_threads"] for one in before]
    child.join()


def test_a_process_that_can_start_no_thread_works_alone(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    every_piece_once(Team())


@pytest.mark.skipif(
    os.environ.get("OPENBLAS_NUM_THREADS") != "1", reason="another number was asked for"
)
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
from semisvm.kernels.threads import limited_threads
from semisvm.primal import solve_primal
from semisvm.primal.problem import GivenPrices, PrimalProblem
from semisvm.primal.rows import MemoryRows

def counts():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

def counts_inside(_):
    with limited_threads():
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
    done = subprocess.run(
        [sys.executable, "-c", ONE_BLAS_THREAD],
        env=two,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) in [("1", ""), ("2", "")]


CTRL_C_ANYWHERE = """
import gc, signal, time, warnings
import numpy as np
from semisvm import ClusterSVC, LaplacianSVC
from threadpoolctl import threadpool_info

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = np.arange(60) % 2
X = rng.normal(size=(60, 3)) + y[:, None]
hidden = np.where(np.arange(60) < 20, y, -1)
models = [ClusterSVC(C=1.0, n_clusters=3), LaplacianSVC(C_intrinsic=1.0)]
for model in models:
    model.fit(X, hidden)
began = time.perf_counter()
for model in models:
    model.fit(X, hidden)
seconds = time.perf_counter() - began

def state():
    gc.collect()
    return [(one["user_api"], one["num_threads"]) for one in threadpool_info()], warnings.filters[:]

gc.collect()
gc.freeze()  # `state` looks at what came after
before = state()
n_ended = 0
for _ in range(60):
    signal.setitimer(signal.ITIMER_REAL, 1e-4 + rng.random() * seconds)
    try:
        for model in models:
            model.fit(X, hidden)
    except KeyboardInterrupt:
        n_ended += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(0.001)
    except KeyboardInterrupt:
        pass
    assert state() == before, (before, state())
print("ended", n_ended > 0)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_ctrl_c_anywhere_in_a_fit_leaves_the_process_as_it_was():
    program = (
        "import signal; signal.signal(signal.SIGALRM, signal.default_int_handler)" + CTRL_C_ANYWHERE
    )
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=two, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("ended True\n", "")


THREE_THREADS = """
import warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from semisvm import ClusterSVC, LaplacianSVC, PreferenceSVC
from semisvm.kernels.threads import Team
from threadpoolctl import threadpool_info

rng = np.random.default_rng(0)
y = np.arange(80) % 2
X = rng.normal(size=(80, 3)) + 2 * y[:, None]
hidden = np.where(np.arange(80) < 40, y, -1)
makers = [
    lambda: ClusterSVC(C=1.0, n_clusters=90),
    lambda: LaplacianSVC(C_intrinsic=1.0, power=1),
    lambda: PreferenceSVC(kernel="linear", solver="primal"),
]

def state():
    return [(one["user_api"], one["num_threads"]) for one in threadpool_info()], warnings.filters[:]

makers[0]().fit(X, hidden)
before = state()
with ThreadPoolExecutor(3) as workers:
    for done in [workers.submit(make().fit, X, hidden) for make in makers * 5]:
        done.result()
assert state() == before, (before, state())
Team().run(lambda: None, 4)
print("same")
"""


def test_fits_in_three_threads_leave_the_process_as_it_was_and_the_team_ends_with_it():
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", THREE_THREADS],
        env=two,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "same\n", "")
