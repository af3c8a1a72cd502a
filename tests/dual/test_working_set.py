"""Working sets: the same optimum for every source of rows, any memory and any number of threads."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from conftest import in_working_sets
from dual_cases import is_certified, svc_case
from oracles import gap_by_definition, objective_by_definition, optimum
from semisvm.dual import DualProblem, Status, advance, host, pairwise_kernel, solve
from semisvm.kernels import kernel_rows, make_formula, threads
from semisvm.kernels.virtual import VirtualRows

N = 500
KERNELS = {
    "rbf": {"gamma": 0.3},
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "sigmoid": {"gamma": 0.02, "coef0": 0.1},
}


@pytest.fixture(autouse=True)
def _small_sets(monkeypatch):
    in_working_sets(monkeypatch, size=64)


def make_data(n=N, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1.0, 1.0], size=n)
    X = (rng.normal(size=(n, n_features)) + 0.5 * sign[:, None]) * (
        rng.random((n, n_features)) > 0.3
    )
    return np.round(8 * X) / 8, sign


def svc(rows, sign, C=2.0):
    return DualProblem(rows, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))


# --- every source of rows ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["dense", "csr", "long", "function", "matrix"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_and_form_of_data_ends_at_the_optimum(name, form, dtype):
    n = 240 if form == "long" else N
    X, sign = make_data(n, 300 if form == "long" else 6)
    X = X / np.sqrt(X.shape[1] / 6)
    K = pairwise_kernels(X, metric=name, **KERNELS[name])
    given = X
    kernel = name
    if form == "csr":
        given = sparse.csr_matrix(X)
    elif form == "function":
        kernel = lambda left, right: pairwise_kernels(left, right, metric=name, **KERNELS[name])  # noqa: E731
    elif form == "matrix":
        given = K.astype(dtype)
        kernel = "precomputed"
    parameters = KERNELS[name] if isinstance(kernel, str) and kernel != "precomputed" else {}
    problem = svc(kernel_rows(given, make_formula(kernel, given, **parameters), dtype=dtype), sign)
    tol = 1e-3 if dtype == np.float32 else 1e-5
    found = solve(problem, tol=tol)
    assert found.status is Status.CONVERGED
    parts = problem.linear, problem.lower, problem.upper
    size = np.abs(K).max() * np.abs(found.beta).sum()
    slack = (3e-6 if dtype == np.float32 else 1e-12) * size
    assert gap_by_definition(K, *parts, found.beta) < tol + slack
    assert found.objective == pytest.approx(
        objective_by_definition(K, problem.linear, found.beta), rel=1e-4, abs=slack
    )
    pairwise = solve_pairwise(problem, tol=tol)
    assert found.objective == pytest.approx(
        pairwise.objective, rel=1e-4 if dtype == np.float32 else 1e-6
    )


def solve_pairwise(problem, **settings):
    """The same by pairwise steps, on rows of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "WHOLE_GRAM_BYTES", 10**9)
        return solve(problem, **settings)


def test_the_optimum_is_that_of_a_general_purpose_solver_for_many_sizes():
    for n, seed in ((65, 0), (130, 1), (200, 2), (300, 3)):
        case = svc_case(seed, n=n, C=3.0)
        found = solve(case.problem(), tol=1e-7)
        assert found.status is Status.CONVERGED
        assert found.objective == pytest.approx(optimum(case.K, *case.parts)[1], rel=1e-6)
        is_certified(case, found)


def test_means_of_rows_and_several_pieces_per_row_are_solved():
    X, sign = make_data()
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.3), dtype=np.float64)
    weights = np.random.default_rng(0).random((2, N)) / N
    K = (
        np.block([[np.eye(N)], [weights]])
        @ rbf_kernel(X, gamma=0.3)
        @ np.block([np.eye(N), weights.T])
    )
    row = np.concatenate([np.arange(N), np.arange(0, N, 2), [N, N + 1]])
    rng = np.random.default_rng(1)
    linear = np.concatenate([-sign, rng.normal(size=len(row) - N)])
    lower = np.full(len(row), -0.5)
    upper = np.full(len(row), 0.5)
    lower[-2:], upper[-2:] = -np.inf, np.inf  # two equalities
    problem = DualProblem(VirtualRows(rows, weights), linear, lower, upper, 1.0, row)
    found = solve(problem, tol=1e-6)
    assert found.status is Status.CONVERGED
    assert gap_by_definition(K, linear, lower, upper, found.beta, row) < 1e-6 + 1e-9
    assert found.objective == pytest.approx(solve_pairwise(problem, tol=1e-6).objective, rel=1e-7)


def test_variables_that_join_together_have_adjacent_positions():
    X, sign = make_data()
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.3))
    state = host.SolverState(svc(rows, sign), None, rows)
    sets = advance.WorkingSets(state)
    for state.n_rounds in range(3):
        state.survey()
        assert sets.advance(1e-6, 10**6)
        at = np.flatnonzero((sets.joined == state.n_rounds) & (sets.member >= 0))
        assert len(at) == at[-1] - at[0] + 1 == len(sets.member) // 2


# --- memory ---


@pytest.mark.parametrize("is_frugal", [True, False])
@pytest.mark.parametrize("capacity", [8, 40, 250])
def test_a_memory_smaller_than_the_rows_needed_gives_the_same_optimum(capacity, is_frugal):
    X, sign = make_data()
    formula = make_formula("rbf", X, gamma=0.3)
    megabytes = (capacity + 0.5) * N * 4 / 1e6
    rows = kernel_rows(X, formula, cache_size=megabytes, is_frugal=is_frugal)
    found = solve(svc(rows, sign))
    plenty = solve(svc(kernel_rows(X, formula), sign))
    K = rbf_kernel(X, gamma=0.3)
    assert found.status is plenty.status is Status.CONVERGED
    assert rows.n_made - rows.n_evicted == rows.is_present.sum() <= capacity
    assert found.objective == pytest.approx(plenty.objective, rel=1e-5)
    for i in np.flatnonzero(rows.is_present):
        assert_allclose(rows.values[rows.slot[i]], K[i], atol=1e-6)
        assert rows.owner[rows.slot[i]] == i


def test_a_sequence_finds_the_rows_of_the_solves_before_it():
    X, sign = make_data()
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.3))
    first = solve(svc(rows, sign))
    n_made = rows.n_made
    assert rows.n_evicted == 0
    sign[np.flatnonzero(first.beta)[:20]] *= -1
    second = solve(svc(rows, sign), first)
    assert second.status is Status.CONVERGED
    assert rows.n_made - n_made < 0.3 * n_made
    fresh = solve(svc(kernel_rows(X, make_formula("rbf", X, gamma=0.3)), sign))
    assert second.objective == pytest.approx(fresh.objective, rel=1e-5)


# --- threads ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_solution_is_the_same_to_the_last_bit_for_any_number_of_threads(dtype, monkeypatch):
    X, sign = make_data(1500)
    monkeypatch.setattr("semisvm.kernels.sources.VALUES_PER_THREAD", 1)
    found = []
    for size in (1, 2, 5, 16):
        monkeypatch.setattr(threads, "n_threads", lambda size=size: size)
        rows = kernel_rows(X, make_formula("rbf", X, gamma=0.3), dtype=dtype, is_frugal=True)
        found.append(solve(svc(rows, sign)))
    for other in found[1:]:
        assert_array_equal(other.beta, found[0].beta)
        assert_array_equal(other.scores, found[0].scores)
        assert (other.objective, other.gap, other.n_iter) == (
            found[0].objective,
            found[0].gap,
            found[0].n_iter,
        )


def test_the_solution_of_whole_numbers_is_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("semisvm.kernels.sources.VALUES_PER_THREAD", 1)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (2_100, 30)) * (rng.random((2_100, 30)) < 0.4)
    X, sign = sparse.csr_matrix(X, dtype=np.float32), np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    found = []
    for size in (1, 2, 5, 16):
        monkeypatch.setattr(threads, "n_threads", lambda size=size: size)
        found.append(solve(svc(kernel_rows(X, make_formula("rbf", X), is_frugal=True), sign)))
    for other in found[1:]:
        assert_array_equal(other.beta, found[0].beta)
        assert_array_equal(other.scores, found[0].scores)


def test_several_threads_may_solve_at_the_same_time():
    X, sign = make_data()
    expected = solve(svc(kernel_rows(X, make_formula("rbf", X, gamma=0.3)), sign))
    found = []

    def one():
        found.append(solve(svc(kernel_rows(X, make_formula("rbf", X, gamma=0.3)), sign)))

    solvers = [threading.Thread(target=one) for _ in range(4)]
    for solver in solvers:
        solver.start()
    for solver in solvers:
        solver.join()
    assert len(found) == 4
    for other in found:
        assert_array_equal(other.beta, expected.beta)


# --- Ctrl-C ---


@pytest.mark.parametrize("at", ["_choose", "_step", "_spread"])
@pytest.mark.parametrize("in_round", [1, 3])
def test_ctrl_c_in_any_part_of_a_round_leaves_a_true_solution(at, in_round, monkeypatch):
    X, sign = make_data()
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.3), dtype=np.float64)
    calls = []
    whole = getattr(advance.WorkingSets, at)

    def interrupted(self, *arguments):
        calls.append(at)
        result = whole(self, *arguments)
        if len(calls) == in_round:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(advance.WorkingSets, at, interrupted)
    problem = svc(rows, sign)
    found = solve(problem, tol=1e-6)
    assert found.status is Status.INTERRUPTED
    K = rbf_kernel(X, gamma=0.3)
    assert_allclose(found.scores, K @ found.beta, rtol=0, atol=1e-10)
    again = solve(problem, found, tol=1e-6)
    assert again.status is Status.CONVERGED
    assert (
        gap_by_definition(K, problem.linear, problem.lower, problem.upper, again.beta) < 1e-6 + 1e-9
    )


# --- which way is taken ---


def test_large_cold_problems_and_large_changes_go_to_working_sets_and_small_ones_do_not(
    monkeypatch,
):
    monkeypatch.undo()
    taken = []
    for name, cls in (("pairwise", "PairwiseSteps"), ("working sets", "WorkingSets")):
        go_on = getattr(advance, cls).advance

        def note(self, *arguments, name=name, go_on=go_on):
            taken.append(name)
            return go_on(self, *arguments)

        monkeypatch.setattr(getattr(advance, cls), "advance", note)
    X, sign = make_data(4500)
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.3))
    first = solve(svc(rows, sign))
    assert set(taken) == {"working sets"}
    taken.clear()
    flipped = sign.copy()
    flipped[np.flatnonzero(first.beta)[0]] *= -1
    solve(svc(rows, flipped), first)
    assert set(taken) == {"pairwise"}
    taken.clear()
    flipped[np.flatnonzero(first.beta)[:600]] *= -1
    solve(svc(rows, flipped), first)
    assert set(taken) == {"pairwise"}
    taken.clear()
    monkeypatch.setattr(host, "WARM_GRAM_BYTES", 0)  # as if the rows were more
    solve(svc(rows, flipped), first)
    assert set(taken) == {"working sets"}
    taken.clear()
    small = slice(0, 1000)
    solve(svc(kernel_rows(X[small], make_formula("rbf", X, gamma=0.3)), sign[small]))
    assert set(taken) == {"pairwise"}


def test_few_rows_that_are_missing_are_made_at_once_and_pairwise_steps_go_to_the_end(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(advance, "WHOLE_GRAM_BYTES", 0)  # as if the rows were more
    X, sign = make_data(1000)
    formula = make_formula("rbf", X, gamma=0.3)
    can_move = np.arange(len(sign)) < 100
    first = solve(svc(kernel_rows(X, formula), sign, C=can_move))
    n_rounds = []
    go_on = advance.PairwiseSteps.advance
    monkeypatch.setattr(
        advance.PairwiseSteps, "advance", lambda *given: n_rounds.append(1) or go_on(*given)
    )
    sign[:5] *= -1  # most of the others do not violate optimality then
    rows = kernel_rows(X, formula)
    assert solve(svc(rows, sign, C=can_move), first).status is Status.CONVERGED
    assert len(n_rounds) == 1
    assert rows.is_present[:100].all()


# --- the choice of members ---


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_violators_are_chosen_from_both_sides(seed):
    rng = np.random.default_rng(seed)
    n, tol = 500, 0.01
    gradient = rng.normal(size=(1, n))
    beta = rng.choice([0.0, 0.5, 1.0], size=(1, n))
    lower = np.zeros((1, n))
    upper = np.ones((1, n))
    is_member = rng.random(n) < 0.1
    low = gradient[beta < 1].min()
    high = gradient[beta > 0].max()
    chosen = pairwise_kernel.worst_violators(
        gradient, beta, lower, upper, is_member, low, high, tol, 40
    )
    assert len(np.unique(chosen)) == len(chosen) <= 40
    assert not is_member[chosen].any()
    up = np.where((beta[0] < 1) & ~is_member, high - gradient[0], -np.inf)
    down = np.where((beta[0] > 0) & ~is_member, gradient[0] - low, -np.inf)
    width = 2 * (high - low) / pairwise_kernel.VIOLATION_BINS
    for violation in (up, down):
        worst = np.argsort(-violation)[:20]
        assert (
            violation[worst].min() - width
            <= violation[np.isin(np.arange(n), chosen) & (violation > 0)].max()
        )
        assert np.isin(worst[:15], chosen).all()


def test_at_a_cold_start_members_are_drawn_evenly_from_all_rows():
    n = 1000
    sign = np.where(np.arange(n) < 500, 1.0, -1.0)[None]
    lower = np.minimum(sign, 0)
    upper = np.maximum(sign, 0)
    beta = np.zeros((1, n))
    members = np.zeros(n, dtype=bool)
    chosen = pairwise_kernel.worst_violators(
        -sign, beta, lower, upper, members, -1.0, 1.0, 1e-3, 100
    )
    assert len(chosen) == 100
    assert (np.histogram(chosen, bins=10, range=(0, n))[0] == 10).all()


def test_a_limit_on_steps_is_kept_within_a_round():
    X, sign = make_data()
    problem = svc(kernel_rows(X, make_formula("rbf", X, gamma=0.3)), sign)
    for max_iter in (0, 1, 7, 100):
        found = solve(problem, max_iter=max_iter)
        assert (found.status, found.n_iter) == (Status.MAX_ITER, max_iter)
        assert_allclose(found.scores, problem.kernel.times(found.beta), atol=1e-6)


def test_a_kernel_that_is_not_quite_symmetric_ends():
    X, _ = make_data(300)
    K = rbf_kernel(X, gamma=0.3) + 1e-3 * np.random.default_rng(0).normal(size=(300, 300))
    case = replace(svc_case(n=300), X=K, K=K, kernel={"name": "precomputed"})
    found = solve(case.problem(), tol=1e-9, time_limit=100)
    assert found.status in (Status.CONVERGED, Status.STALLED)
    assert np.isfinite(found.objective)
