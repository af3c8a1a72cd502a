"""The dual form on the CPU finds the optimum, its certificate is true, and it says so where it
can't.
"""

import inspect
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from semisvm.engine import Limits, Problem, Solution, Status, make_formula, parallel, solve
from semisvm.engine.dual import steps
from semisvm.engine.dual.start import feasible_start
from semisvm.engine.kernels import kernel_of
from tests.helpers.engine_cases import (
    given_case,
    is_certified,
    is_feasible,
    make_case,
    random_boxes,
    random_case,
    random_total,
    svc_case,
    usable,
)


def solve_one(problem, start=None, tol=1e-3, max_iter=np.inf) -> Solution:
    return solve([problem], [start], Limits(tol, max_iter))[0]


# --- against a general-purpose QP solver: six kernels, shared rows, any boxes and totals ---


@tries(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_random_problems_end_at_the_optimum_from_any_start(seed):
    case = usable(random_case(seed))
    best, rng, problem = case.optimum(), np.random.default_rng(seed), case.problem()
    other = usable(replace(case, linear=rng.permutation(case.linear)))
    starts = None, rng.normal(size=len(case.linear)), solve_one(other.on(problem.on))
    for start in starts:
        found = solve_one(problem, start, tol=1e-6)
        assert found.status is Status.CONVERGED
        assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-7)
        is_certified(case, found)
    for start in (found, found.beta):
        again = solve_one(problem, start, tol=1e-6)
        assert (again.n_iter, again.status) == (0, Status.CONVERGED)
        assert_allclose(again.beta, found.beta, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_a_solution_starts_problems_with_other_boxes_rows_and_totals(seed):
    rng = np.random.default_rng(seed)
    case = usable(random_case(3000 + seed))
    problem = case.problem()
    first = solve_one(problem, tol=1e-6)
    lower, upper = random_boxes(rng, len(case.linear))
    total = random_total(rng, lower, upper)
    row = None if case.row is None else rng.permutation(case.row)
    changed = usable(replace(case, lower=lower, upper=upper, total=total, row=row))
    warm, cold = (solve_one(changed.on(problem.on), start, tol=1e-6) for start in (first, None))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6, abs=1e-7)
    is_certified(changed, warm)


EDGES = {
    "closed form": make_case(np.array([[1.0], [-1.0]]), {"name": "linear"}, [-1, 1], [0, -9], [9, 0]),
    "one row": make_case(np.ones((1, 2)), {"name": "rbf"}, [0.3], [-2], [2], 0.7),
    "no width": make_case(np.eye(3), {"name": "linear"}, [1, 2, 3], [0.5, -1, 2], [0.5, -1, 2], 1.5),
    "no variables": make_case(np.eye(3), {"name": "linear"}, [], [], [], row=np.array([], dtype=int)),
    "equal rows": make_case(
        np.array([[0.0], [0.0], [1.0], [1.0]]), {"name": "rbf"}, [-1, 1, 0.3, -0.2], [0, -2, -1, 0],
        [2, 0, 1, 2], 0.5,
    ),
    "hard margin": make_case(
        np.array([[-2.0], [-1.0], [1.0], [3.0]]), {"name": "linear"}, [1, 1, -1, -1],
        [-np.inf, -np.inf, 0, 0], [0, 0, np.inf, np.inf],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    found = solve_one(EDGES[name].problem(), tol=1e-8)
    assert found.status is Status.CONVERGED
    is_certified(EDGES[name], found)
    assert found.objective == pytest.approx(EDGES[name].optimum(), abs=1e-7)


@pytest.mark.parametrize("scale", [1e-10, 1e3, 1e10, 1e30])
def test_the_optimum_is_found_whatever_the_scale_of_the_kernel(scale):
    case = svc_case()
    scaled = given_case(scale * case.K, case.linear, case.lower / scale, case.upper / scale)
    found, reference = (solve_one(each.problem(), tol=1e-6) for each in (scaled, case))
    assert_allclose(found.decision_values, reference.decision_values, atol=1e-5)
    assert found.objective * scale == pytest.approx(reference.objective, rel=1e-6)


# --- more rows than a working set, by every source of rows, in any memory, from any start ---

PARAMETERS = {
    "rbf": {"gamma": 0.3},
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "sigmoid": {"gamma": 0.02, "coef0": 0.1},
}
N = 800


def make_data(n=N, n_features=6):
    rng = np.random.default_rng(n_features)
    sign = rng.choice([-1.0, 1.0], size=n)
    X = rng.normal(size=(n, n_features)) + 0.5 * sign[:, None]
    X = np.round(8 * X * (rng.random(X.shape) > 0.3)) / 8
    return X / np.sqrt(n_features / 6), sign


def large_case(name, n_features=6, C=2.0):
    X, sign = make_data(n_features=n_features)
    case = given_case(pairwise_kernels(X, metric=name, **PARAMETERS[name]), -sign, *boxes(sign, C))
    return replace(case, X=X, kernel={"name": name, **PARAMETERS[name]})


def boxes(sign, C=2.0):
    return np.minimum(0, C * sign), np.maximum(0, C * sign)


def megabytes(n_rows, dtype, n=N):
    return (n_rows + 0.5) * n * np.dtype(dtype).itemsize / 1e6


def wide(X):
    return sparse.csr_matrix((X[X.nonzero()], X.nonzero()), shape=(len(X), 80_000))


FORMS = {
    "dense": {},
    "csr": {"form": sparse.csr_matrix},
    "wide csr": {"form": wide},
    "function": {},
    "matrix": {},
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PARAMETERS)
def test_every_kernel_and_form_of_rows_is_certified_in_little_and_in_enough_memory(
    name, form, dtype
):
    case = large_case(name)
    if form == "function":
        function = partial(pairwise_kernels, metric=name, **PARAMETERS[name])
        given = replace(case, kernel={"name": function})
    else:
        given = replace(case, X=case.K.astype(dtype), kernel={"name": "precomputed"})
        given = given if form == "matrix" else case
    tol, digits = (1e-3, 3e-6) if dtype == np.float32 else (1e-5, 1e-11)
    objectives = []
    for capacity in (0, 100, N):
        cache_size = megabytes(capacity, dtype)
        problem = given.problem(dtype, cache_size=cache_size, **FORMS[form])
        found = solve_one(problem, tol=tol)
        assert found.status is Status.CONVERGED
        is_certified(case, found, digits)
        objectives.append(found.objective)
        kernel = problem.on
        if form != "matrix":
            assert kernel.values.nbytes <= 1e6 * cache_size
        held = np.flatnonzero(kernel.slot >= 0)
        size = digits * np.abs(case.K).max()
        assert_allclose(kernel.values[kernel.slot[held]], case.K[held], atol=size)
        assert_array_equal(kernel.owner[kernel.slot[held]], held)
    is_rough = dtype == np.float32 or name == "sigmoid"  # which is not convex
    assert_allclose(objectives, objectives[0], rtol=1e-4 if is_rough else 1e-6)


def test_several_pieces_per_row_in_working_sets_have_the_optimum_of_whole_matrices():
    case = large_case("rbf")
    rng = np.random.default_rng(1)
    row = np.concatenate([np.arange(N), np.arange(0, N, 2)])
    linear = np.append(case.linear, rng.normal(size=N // 2))
    lower, upper = np.append(case.lower, -np.ones(N // 2)), np.append(case.upper, np.ones(N // 2))
    case = replace(case, linear=linear, lower=lower, upper=upper, row=row, total=3.0)
    found = [solve_one(case.problem(cache_size=mb), tol=1e-5) for mb in (0.5, 100.0)]
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-7)
    is_certified(case, found[0])


def test_a_sequence_of_problems_in_little_memory_is_certified_and_finds_rows_of_those_before():
    case = large_case("rbf")
    rng, sign = np.random.default_rng(0), -case.linear
    kernel = case.problem(cache_size=megabytes(600, np.float64)).on
    found = None
    for _ in range(5):
        sign[rng.integers(N, size=5)] *= -1
        lower, upper = boxes(sign)
        case = replace(case, linear=-sign, lower=lower, upper=upper)
        before = kernel.n_remade + np.count_nonzero(kernel.was_made)
        found = solve_one(case.on(kernel), found)
        n_made = kernel.n_remade + np.count_nonzero(kernel.was_made) - before
        is_certified(case, found)
    assert n_made < N / 2


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_the_solution_is_the_same_to_the_last_bit_for_any_number_of_threads(
    name, form, monkeypatch
):
    X, sign = make_data(2500)
    X = sparse.csr_matrix(X) if form == "csr" else X
    formula = make_formula(name, X, **PARAMETERS[name])
    found = []
    for size in (1, 2, 5, 16):
        monkeypatch.setattr(parallel, "n_threads", lambda size=size: size)
        found.append(solve_one(Problem.hinge(kernel_of(X, formula, cache_size=5), sign, 2.0)))
    for other in found[1:]:
        assert_array_equal(other.beta, found[0].beta)
        assert_array_equal(other.scores, found[0].scores)
        assert (other.objective, other.gap) == (found[0].objective, found[0].gap)


def test_several_threads_may_solve_at_the_same_time():
    case, found = large_case("rbf"), []
    expected = solve_one(case.problem(np.float32, cache_size=1))

    def one():
        found.append(solve_one(case.problem(np.float32, cache_size=1)))

    solvers = [threading.Thread(target=one) for _ in range(4)]
    for solver in solvers:
        solver.start()
    for solver in solvers:
        solver.join()
    assert len(found) == 4
    for other in found:
        assert_array_equal(other.beta, expected.beta)


# --- against LIBSVM ---


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", ["rbf", "linear", "poly"])
def test_objective_and_decision_values_are_those_of_libsvm(name, C):
    case = svc_case(n=250, C=C, kernel={"name": name, **PARAMETERS[name]})
    found = solve_one(case.problem(), tol=1e-6)
    svc = SVC(C=C, kernel="precomputed", tol=1e-6).fit(case.K, -case.linear)
    beta = np.zeros(250)
    beta[svc.support_] = svc.dual_coef_[0]
    assert found.objective == pytest.approx(case.objective(beta), rel=1e-6)
    assert_allclose(found.decision_values, svc.decision_function(case.K), atol=5e-3)


# --- invariances ---


def test_permuted_rows_split_rows_and_unused_rows_change_nothing():
    case = svc_case(n=80)
    expected = solve_one(case.problem(), tol=1e-8)
    order = np.random.default_rng(0).permutation(80)
    shuffled = make_case(case.X[order], case.kernel, *(part[order] for part in case.parts))
    found = solve_one(shuffled.problem(), tol=1e-8)
    assert_allclose(found.decision_values, expected.decision_values[order], atol=1e-6)
    row = np.tile(np.arange(80), 2)
    halves = replace(
        case, row=row, linear=case.linear[row], lower=case.lower[row] / 2, upper=case.upper[row] / 2
    )
    found = solve_one(halves.problem(), tol=1e-8)
    assert_allclose(found.decision_values, expected.decision_values, atol=1e-6)
    new = np.random.default_rng(0).normal(size=(10, 4))
    wider = make_case(np.vstack([new, case.X]), case.kernel, *case.parts, row=np.arange(10, 90))
    found = solve_one(wider.problem(), tol=1e-8)
    assert_allclose(found.beta, expected.beta, atol=1e-6)
    is_certified(wider, found)


# --- limits and honest stalls ---


@pytest.mark.parametrize("cache_size", [0.5, 100.0])
@pytest.mark.parametrize("max_iter", [0, 1, 7, 100])
def test_the_limit_on_steps_ends_with_a_feasible_point_and_its_true_gap(max_iter, cache_size):
    case = large_case("rbf")
    found = solve_one(case.problem(cache_size=cache_size), max_iter=max_iter)
    assert (found.status, found.n_iter) == (Status.MAX_ITER, max_iter)
    is_certified(case, found)


@pytest.mark.parametrize("seed", range(12))
def test_indefinite_and_asymmetric_kernels_end_with_a_true_gap_or_as_stalled(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 5, 15, 40]))
    half = rng.normal(size=(n, max(1, n // 2)))
    noise = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-12, -1)
    K = half @ half.T + noise + (noise.T if seed % 2 else 0.0)
    lower, upper = random_boxes(rng, n)
    total = random_total(rng, lower, upper)
    case = given_case(K, rng.normal(size=n), lower, upper, total)
    found = solve_one(case.problem(), tol=1e-6)
    assert found.status in (Status.CONVERGED, Status.STALLED)
    is_feasible(case, found.beta)
    if seed % 2:
        is_certified(case, found)


@pytest.mark.parametrize("scale", [1e2, 1e6, 1e9])
@pytest.mark.parametrize("name", ["linear", "poly"])
def test_unscaled_rows_that_nothing_separates_are_certified_by_either_form_or_stalled(name, scale):
    X = scale * np.random.default_rng(0).normal(size=(12, 2))
    sign = np.array([-1.0, 1, 1, -1, -1, 1, 1, -1, -1, 1, -1, 1])
    case = make_case(
        X, {"name": name, "gamma": 1.0, "coef0": 1.0, "degree": 2}, -sign, *boxes(sign, 1.0)
    )
    case = replace(case, kernel=case.kernel if name == "poly" else {"name": "linear"})
    found = solve_one(case.problem())
    if found.beta is not None:
        assert found.status in (Status.CONVERGED, Status.STALLED)
        assert (found.gap < 1e-3) == (found.status is Status.CONVERGED)
        is_certified(case, found)
    else:  # by the primal form
        assert found.status is Status.CONVERGED
        f = X @ found.w + found.bias
        objective = 0.5 * found.w @ found.w + np.maximum(0, 1 - sign * f).sum()
        assert objective + found.objective <= 1.01e-3 * objective
        assert_allclose(found.decision_values, f, rtol=1e-9)


@pytest.mark.parametrize("C", [1e-30, 1e30])
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_any_C_ends_with_a_true_answer(name, C):
    case = svc_case(n=60, C=C, kernel={"name": name, **PARAMETERS[name]})
    found = solve_one(case.problem())
    assert found.status in (Status.CONVERGED, Status.STALLED)
    if found.beta is not None:
        is_certified(case, found)
    if C < 1:
        assert found.status is Status.CONVERGED


# --- bad input, in one sentence ---


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("cache_size", [0.01, 100.0])
def test_a_kernel_that_is_not_finite_is_refused(bad, cache_size):
    case = svc_case(n=700)
    K = case.K.copy()
    K[3, 5] = K[5, 3] = bad

    def function(left, right):
        return K[np.ix_(left[:, 0].astype(int), right[:, 0].astype(int))]

    number = np.arange(700.0)[:, None]
    for X, kernel in ((K, "precomputed"), (number, function)):
        kernel = kernel_of(X, make_formula(kernel, X), dtype=np.float64, cache_size=cache_size)
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="not finite"):
            solve_one(case.on(kernel), case.upper + case.lower - (case.upper + case.lower).mean())


@pytest.mark.parametrize("scale", [1e-30, 1e19])
def test_rows_too_large_or_too_small_for_float32_are_computed_in_float64(scale):
    X, sign = make_data(1200)
    X = (scale * X).astype(np.float32)
    kernel = kernel_of(X, make_formula("rbf", X))
    assert kernel.dtype == np.float64
    assert solve_one(Problem.hinge(kernel, sign, 1.0)).status is Status.CONVERGED


def test_rows_too_large_for_any_float_are_refused():
    X, sign = make_data(100)
    with pytest.raises(ValueError, match="not finite: scale the data"):
        solve_one(Problem.hinge(kernel_of(1e200 * X, make_formula("linear", X)), sign, 1.0))


@pytest.mark.parametrize(
    ("start", "words"),
    [(np.zeros(3), r"start has shape \(3,\), but the problem has 60 variables"),
     (np.full(60, np.nan), "start must be finite")],
)  # fmt: skip
def test_bad_starts_are_refused(start, words):
    with pytest.raises(ValueError, match=words):
        feasible_start(svc_case().problem(), start)


def test_a_list_of_starts_has_one_for_each_problem_and_no_problems_have_no_solutions():
    with pytest.raises(ValueError, match="2 starts were given for 1 problems"):
        solve([svc_case().problem()], [None, None])
    assert solve([]) == []


# --- how deep the call is, and Ctrl-C ---


@pytest.mark.parametrize("cache_size", [0.5, 100.0])
def test_three_frames_lie_between_solve_and_the_compiled_steps(cache_size, monkeypatch):
    compiled, frames = steps.pairwise_steps, []

    def record_frames(*arguments):
        frames.extend(frame.function for frame in inspect.stack()[1:])
        return compiled(*arguments)

    monkeypatch.setattr(steps, "pairwise_steps", record_frames)
    solve([large_case("rbf").problem(cache_size=cache_size)])
    last = "step" if cache_size > 10 else "advance"
    assert frames[: frames.index("solve", 3) + 1] == [last, "solve_on_host", "solve", "solve"]


@pytest.mark.parametrize("at_call", [1, 2, 3, 10])
def test_ctrl_c_propagates_and_leaves_no_wrong_row_behind(at_call):
    case = large_case("rbf")
    kernel = case.problem(cache_size=megabytes(300, np.float64)).on
    values, calls = kernel.source.values, []

    def interrupted(rows, columns):
        calls.append(1)
        if len(calls) == at_call:
            raise KeyboardInterrupt
        return values(rows, columns)

    kernel.source.values = interrupted
    with pytest.raises(KeyboardInterrupt):
        solve_one(case.on(kernel))
    kernel.source.values = values
    held = np.flatnonzero(kernel.slot >= 0)
    assert_allclose(kernel.values[kernel.slot[held]], case.K[held], atol=1e-12)
    found = solve_one(case.on(kernel))
    assert found.status is Status.CONVERGED
    is_certified(case, found)
