"""Solving while kernel rows come and go: little memory, sequences of problems, limits, Ctrl-C."""

import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification

from oracles import gap_by_definition, naive_kernel, objective_by_definition, scores_by_definition
from semisvm.dual import DualProblem, Status, advance, solve
from semisvm.kernels import kernel_rows, make_formula
from semisvm.kernels.sources import KernelSource

pytestmark = pytest.mark.usefixtures("cpu_way")
N = 300
GAMMA = 0.5


@cache
def make_data(n=N):
    """Two overlapping clouds, about a third of the rows in the margin; and their signs."""
    rng = np.random.default_rng(n)
    sign = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    X = rng.normal(size=(n, 3)) + 0.7 * sign[:, None]
    return X, sign


@cache
def naive(n=N):
    return naive_kernel("rbf", make_data(n)[0], gamma=GAMMA)


def make_rows(capacity=None, *, n=N, dtype=np.float64, form=np.asarray):
    """Kernel rows of which memory holds `capacity`."""
    X = form(make_data(n)[0])
    megabytes = None if capacity is None else (capacity + 0.5) * n * np.dtype(dtype).itemsize / 1e6
    rows = kernel_rows(X, make_formula("rbf", X, gamma=GAMMA), cache_size=megabytes, dtype=dtype)
    assert rows.capacity == (n if capacity is None else capacity)
    return rows


def svc_parts(sign, C=2.0):
    return -sign, np.minimum(0, C * sign), np.maximum(0, C * sign)


def svc_problem(rows, C=2.0):
    return DualProblem(rows, *svc_parts(make_data(rows.n_rows)[1], C))


def holds_what_it_says(rows, K, atol):
    """Every row that counts as present is the true one, and the two directories agree."""
    for i in np.flatnonzero(rows.is_present):
        assert_allclose(rows.values[rows.slot[i]], K[i], rtol=0, atol=atol)
        assert rows.owner[rows.slot[i]] == i
    assert rows.is_present.sum() == len(np.unique(rows.slot[rows.is_present])) <= rows.capacity


def is_feasible(problem, beta):
    assert (beta >= problem.lower).all()
    assert (beta <= problem.upper).all()
    assert abs(beta.sum() - problem.total) <= 1e-9 * max(1.0, np.abs(beta).sum())


def is_consistent(problem, solution, K, atol=1e-7):
    """A solution that ended early is still a feasible point, and its scores, objective and gap
    are true.
    """
    is_feasible(problem, solution.beta)
    assert_allclose(
        solution.scores, scores_by_definition(K, solution.beta, problem.row), rtol=0, atol=atol
    )
    assert solution.objective == pytest.approx(
        objective_by_definition(K, problem.linear, solution.beta, problem.row), rel=1e-7, abs=atol
    )
    gap = gap_by_definition(
        K, problem.linear, problem.lower, problem.upper, solution.beta, problem.row
    )
    assert solution.gap == pytest.approx(gap, abs=2 * atol)


class Watched:
    """A source that records which rows it was asked to write, and can be made to fail at one of
    the calls.
    """

    def __init__(self, rows, at_call=None, fail=None):
        self.source = rows.source
        self.written = []
        self.n_calls = 0
        self.at_call = at_call
        self.fail = fail
        rows.source = self

    spread = KernelSource.spread  # through `write_at` and `write`

    def __getattr__(self, name):
        return getattr(self.source, name)

    def write(self, rows, out):
        self.write_at(rows, out, np.arange(len(rows)))

    def write_at(self, rows, values, slots):
        self.n_calls += 1
        self.source.write_at(rows, values, slots)
        if self.n_calls == self.at_call:
            values[slots[len(slots) // 2 :]] = np.nan  # half-way through
            self.fail()
        self.written.extend(np.asarray(rows).tolist())


def interrupt():
    raise KeyboardInterrupt


# --- little memory ---


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("capacity", [8, 9, 13, 20])
def test_memory_for_a_few_rows_gives_the_same_optimum(capacity, form):
    plenty = solve(svc_problem(make_rows()), tol=1e-6)
    rows = make_rows(capacity, form=form)
    problem = svc_problem(rows)
    solution = solve(problem, tol=1e-6, time_limit=20)
    assert solution.status is Status.CONVERGED
    assert rows.n_evicted > 0
    assert solution.objective == pytest.approx(plenty.objective, rel=1e-9)
    assert_allclose(solution.decision_values, plenty.decision_values, atol=1e-5)
    is_consistent(problem, solution, naive())
    holds_what_it_says(rows, naive(), atol=1e-12)


@pytest.mark.parametrize("capacity", [8, 20, 60])
def test_memory_for_a_few_float32_rows_gives_the_same_optimum(capacity):
    plenty = solve(svc_problem(make_rows()), tol=1e-6)
    rows = make_rows(capacity, dtype=np.float32)
    solution = solve(svc_problem(rows), tol=1e-3, time_limit=20)
    assert solution.status is Status.CONVERGED
    assert rows.n_evicted > 0
    assert solution.objective == pytest.approx(plenty.objective, rel=1e-5)
    holds_what_it_says(rows, naive(), atol=3e-6)


def test_rows_shared_by_three_variables_and_a_total_are_solved_in_little_memory():
    rng = np.random.default_rng(0)
    row = rng.permutation(np.repeat(np.arange(0, N, 2), 3))  # half of the rows unused
    linear = rng.normal(size=len(row))
    width = rng.uniform(0, 1, size=len(row))
    lower = -width
    upper = width * (rng.random(len(row)) > 0.1)
    problems = [
        DualProblem(rows, linear, lower, upper, 4.0, row) for rows in (make_rows(), make_rows(12))
    ]
    plenty, little = (solve(problem, tol=1e-6, time_limit=20) for problem in problems)
    assert little.status is Status.CONVERGED
    assert problems[1].kernel.n_evicted > 0
    assert little.objective == pytest.approx(plenty.objective, rel=1e-8)
    is_consistent(problems[1], little, naive())


def test_a_sequence_of_problems_in_little_memory_gives_true_solutions():
    rng = np.random.default_rng(0)
    few = make_rows(16)
    plenty = make_rows()
    sign = make_data()[1].copy()
    warm = None
    for _ in range(5):
        sign[rng.integers(N, size=3)] *= -1
        problem = DualProblem(few, *svc_parts(sign))
        warm = solve(problem, start=warm, tol=1e-6, time_limit=20)
        cold = solve(DualProblem(plenty, *svc_parts(sign)), tol=1e-6)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
        is_consistent(problem, warm, naive())
    holds_what_it_says(few, naive(), atol=1e-12)


# --- enough memory ---

LARGE = 1500


@pytest.fixture
def lazy(monkeypatch):
    """The rows of small matrices are made on demand too."""
    monkeypatch.setattr(advance, "WHOLE_GRAM_BYTES", 0)


@pytest.mark.usefixtures("lazy")
def test_no_row_is_made_twice_and_a_second_problem_finds_those_of_the_first():
    rows = make_rows(n=LARGE, dtype=np.float32)
    watched = Watched(rows)
    sign = make_data(LARGE)[1].copy()
    first = solve(DualProblem(rows, *svc_parts(sign)), tol=1e-3)
    assert len(watched.written) == len(set(watched.written)) == rows.n_made == rows.is_present.sum()
    assert rows.n_evicted == 0
    n_made = rows.n_made
    again = solve(DualProblem(rows, *svc_parts(sign)), start=first.beta, tol=1e-3)
    assert (again.n_iter, rows.n_made) == (0, n_made)
    cold = solve(
        DualProblem(rows, *svc_parts(sign)), tol=1e-3
    )  # other rows are in memory, so it takes other steps
    assert cold.objective == pytest.approx(first.objective, rel=1e-5)
    assert rows.n_made <= n_made + 0.05 * LARGE
    n_made = rows.n_made
    sign[np.flatnonzero(first.beta)[0]] *= -1
    solve(DualProblem(rows, *svc_parts(sign)), start=first, tol=1e-3)
    assert rows.n_made <= n_made + 0.05 * LARGE
    assert len(watched.written) == len(set(watched.written))


@pytest.mark.usefixtures("lazy")
def test_few_support_rows_leave_most_of_the_matrix_unmade():
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], size=4000)
    X = rng.normal(size=(4000, 2)) + 4 * sign[:, None]
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.1))
    assert solve(DualProblem(rows, *svc_parts(sign)), tol=1e-3).status is Status.CONVERGED
    assert rows.n_made < 1500


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("lazy")
def test_rows_made_on_demand_give_the_same_optimum(dtype):
    rows = make_rows(n=N, dtype=dtype)
    problem = svc_problem(rows)
    solution = solve(problem, tol=1e-6 if dtype == np.float64 else 1e-3)
    plenty = make_rows()
    plenty.require(np.arange(N))
    best = solve(svc_problem(plenty), tol=1e-6)
    assert solution.objective == pytest.approx(
        best.objective, rel=1e-9 if dtype == np.float64 else 1e-5
    )
    is_consistent(problem, solution, naive(), atol=1e-9 if dtype == np.float64 else 1e-4)


# --- the rows themselves ---


@pytest.mark.parametrize("seed", range(10))
def test_required_rows_are_in_memory_afterwards(seed):
    rng = np.random.default_rng(seed)
    rows = make_rows(12)
    for _ in range(40):
        asked = rng.choice(N, size=rng.integers(1, 13), replace=False)
        if rng.random() < 0.5:  # some in memory, some not
            present = np.flatnonzero(rows.is_present)[:6]
            asked = np.concatenate([present, np.setdiff1d(asked, present)])[:12]
        rows.clock += int(rng.integers(0, 2))
        rows.require(asked)
        assert rows.is_present[asked].all()
    holds_what_it_says(rows, naive(), atol=1e-12)
    assert rows.n_evicted == rows.n_made - rows.is_present.sum() > 0


def test_the_row_used_longest_ago_is_evicted_first():
    rows = make_rows(8)
    for clock, row in enumerate([3, 1, 4, 15, 9, 2, 6, 5]):
        rows.clock = clock
        rows.require(np.array([row]))
    rows.clock = 9
    rows.require(np.array([3]))
    rows.clock = 10
    rows.require(np.array([100]))
    assert rows.is_present[[3, 4, 15, 9, 2, 6, 5, 100]].all()
    assert not rows.is_present[1]


def test_a_row_required_twice_in_one_call_is_made_once():
    rows = make_rows(8)
    rows.require(np.array([5] * 9))
    assert rows.n_made == 1
    holds_what_it_says(rows, naive(), atol=1e-12)


def test_more_rows_than_memory_holds_are_refused():
    with pytest.raises(ValueError, match="9 kernel rows are required, but memory holds only 8"):
        make_rows(8).require(np.arange(9))


@pytest.mark.parametrize("capacity", [8, 100, None])
def test_products_need_no_row_in_memory(capacity):
    rows = make_rows(capacity)
    beta = np.random.default_rng(0).normal(size=N) * (np.arange(N) % 3 == 0)
    rows.require(np.arange(0, 16, 2))
    assert_allclose(rows.times(beta), scores_by_definition(naive(), beta), atol=1e-12)
    assert rows.n_made == 8
    assert_array_equal(rows.times(np.zeros(N)), np.zeros(N))


# --- limits ---


@pytest.mark.parametrize("capacity", [None, 10])
@pytest.mark.parametrize("max_iter", [0, 1, 7, 50])
def test_the_limit_on_steps_ends_with_a_feasible_point(max_iter, capacity):
    problem = svc_problem(make_rows(capacity))
    solution = solve(problem, tol=1e-6, max_iter=max_iter)
    assert (solution.status, solution.n_iter) == (Status.MAX_ITER, max_iter)
    is_consistent(problem, solution, naive())


def test_a_solve_in_many_short_parts_ends_where_a_single_solve_does():
    problem = svc_problem(make_rows())
    solution = solve(problem, tol=1e-6, max_iter=0)
    objectives = [solution.objective]
    for _ in range(1000):
        solution = solve(problem, start=solution, tol=1e-6, max_iter=20)
        objectives.append(solution.objective)
        if solution.status is Status.CONVERGED:
            break
    assert solution.objective == pytest.approx(solve(problem, tol=1e-6).objective, rel=1e-9)
    assert (np.diff(objectives) <= 1e-12 * abs(solution.objective)).all()


def hard_problem(n=1500):
    """Random signs, almost no limit on the coefficients: more than a second of work."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    sign = rng.choice([-1.0, 1.0], size=n)
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.1), dtype=np.float64)
    return DualProblem(rows, *svc_parts(sign, C=1e6))


@pytest.mark.parametrize("time_limit", [0.0, 0.5])
def test_the_limit_on_time_ends_with_a_feasible_point(time_limit):
    problem = hard_problem()
    solve(problem, max_iter=1)  # compiled before the clock starts
    began = time.perf_counter()
    solution = solve(problem, tol=1e-9, time_limit=time_limit)
    assert solution.status is Status.TIME_LIMIT
    assert time_limit <= solution.seconds <= time.perf_counter() - began < time_limit + 3
    is_feasible(problem, solution.beta)


def test_a_callback_sees_steps_and_gap_and_can_stop():
    seen = []

    def stop_at_the_third(n_iter, gap):
        seen.append((n_iter, gap))
        return len(seen) == 3

    problem = hard_problem()
    solution = solve(problem, tol=1e-9, callback=stop_at_the_third, time_limit=20)
    assert solution.status is Status.STOPPED
    assert len(seen) == 3
    assert seen[0][0] == 0 < seen[1][0] < seen[2][0] == solution.n_iter
    assert seen[2][1] == solution.gap
    is_feasible(problem, solution.beta)


def test_a_callback_that_returns_none_changes_nothing():
    problem = svc_problem(make_rows())
    calls = []
    watched = solve(problem, tol=1e-6, callback=lambda *seen: calls.append(seen))
    assert calls
    assert_array_equal(watched.beta, solve(svc_problem(make_rows()), tol=1e-6).beta)


def test_an_error_in_a_callback_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        solve(svc_problem(make_rows()), callback=lambda n_iter, gap: 1 / 0)


# --- Ctrl-C ---


@pytest.mark.parametrize("capacity", [None, 10])
@pytest.mark.parametrize("at_call", [1, 2, 3])
def test_ctrl_c_during_a_callback_ends_the_solve(at_call, capacity):
    calls = []

    def press_ctrl_c(n_iter, gap):
        calls.append(n_iter)
        if len(calls) == at_call:
            raise KeyboardInterrupt

    rows = make_rows(capacity)
    problem = svc_problem(rows)
    solution = solve(problem, tol=1e-6, callback=press_ctrl_c)
    if len(calls) < at_call:  # solved before
        assert solution.status is Status.CONVERGED
        return
    assert (solution.status, solution.n_iter) == (Status.INTERRUPTED, calls[-1])
    is_consistent(problem, solution, naive())


@pytest.mark.parametrize("capacity", [10, 40, None])
@pytest.mark.parametrize("at_call", [1, 2, 3, 10])
def test_ctrl_c_while_rows_are_made_leaves_no_wrong_row(at_call, capacity):
    rows = make_rows(capacity)
    watched = Watched(rows, at_call, interrupt)
    problem = svc_problem(rows)
    solution = solve(problem, tol=1e-6, time_limit=20)
    assert solution.status is (
        Status.INTERRUPTED if watched.n_calls >= at_call else Status.CONVERGED
    )
    is_consistent(problem, solution, naive())
    holds_what_it_says(rows, naive(), atol=1e-12)
    again = solve(problem, start=solution, tol=1e-6, time_limit=20)
    assert again.status is Status.CONVERGED
    assert again.objective == pytest.approx(
        solve(svc_problem(make_rows()), tol=1e-6).objective, rel=1e-9
    )
    holds_what_it_says(rows, naive(), atol=1e-12)


@pytest.mark.parametrize("delay", [0.05, 0.3])
def test_a_real_ctrl_c_ends_a_long_solve_with_the_solution_so_far(delay):
    problem = hard_problem()
    problem.kernel.require(np.arange(problem.kernel.n_rows))
    timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])

    def start_once_there_are_steps(n_iter, gap):
        if n_iter > 0 and timer.ident is None:
            timer.start()

    try:
        solution = solve(problem, tol=1e-9, time_limit=60, callback=start_once_there_are_steps)
        timer.join()
    except KeyboardInterrupt:
        pytest.fail("Ctrl-C came out of the solver, or after the solve had ended")
    assert solution.status is Status.INTERRUPTED
    assert solution.n_iter > 0
    is_feasible(problem, solution.beta)
    exact = problem.kernel.values[problem.kernel.slot] @ solution.beta
    assert_allclose(solution.scores, exact, rtol=0, atol=1e-9 * np.abs(solution.beta).sum())


def test_ctrl_c_pressed_now_and_then_never_leaves_a_wrong_answer():
    rows = make_rows(16)
    problem = svc_problem(rows)
    wait = 0.0005
    for _ in range(30):
        timer = threading.Timer(wait, signal.raise_signal, [signal.SIGINT])
        solution = None
        try:
            timer.start()
            solution = solve(problem, tol=1e-9, time_limit=20)
            timer.join()
        except KeyboardInterrupt:  # before the solve began or after it ended
            timer.join()
        if solution is not None:
            is_consistent(problem, solution, naive())
        holds_what_it_says(rows, naive(), atol=1e-12)
        wait *= 1.15
    assert solve(problem, tol=1e-6, time_limit=20).status is Status.CONVERGED


def test_frugal_rows_overwrite_those_of_settled_variables_and_end_at_the_same_optimum(monkeypatch):
    monkeypatch.setattr("semisvm.dual.advance.WHOLE_GRAM_BYTES", 0)
    monkeypatch.setattr("semisvm.dual.advance.FIRST_BATCH", 32)
    X, y = make_classification(3000, 5, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0)
    sign = 2.0 * y - 1
    formula = make_formula("rbf", X, gamma=0.2)
    lavish = kernel_rows(X, formula)
    frugal = kernel_rows(X, formula, is_frugal=True)
    found = [
        solve(DualProblem(rows, -sign, np.minimum(sign, 0), np.maximum(sign, 0)))
        for rows in (lavish, frugal)
    ]
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-6)
    assert lavish.n_evicted == 0 < frugal.n_evicted
    assert frugal.is_present.sum() < 0.7 * lavish.is_present.sum()
    assert_allclose(found[1].scores, frugal.times(found[1].beta), atol=1e-6)
