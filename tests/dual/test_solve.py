"""The dual solver finds the optimum, and its certificate is true."""

import inspect
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dual_cases import (
    is_certified,
    is_feasible,
    make_case,
    precomputed_case,
    random_boxes,
    random_case,
    random_total,
    svc_case,
    usable,
)
from oracles import gap_by_definition, naive_kernel, optimum
from semisvm import dual
from semisvm.dual import DualProblem, Status, pairwise_kernel
from semisvm.kernels import kernel_rows, make_formula

PATIENCE = 300  # seconds after which a solve counts as endless, even on a busy machine

# --- against a general-purpose QP solver ---


@cache
def case_and_optimum(seed):
    """A random problem and its least objective, for both ways of the CPU."""
    case = usable(random_case(seed))
    return case, optimum(case.K, *case.parts, case.total, case.row)[1]


@pytest.mark.parametrize("block", range(80))
def test_random_problems_end_at_the_optimum(block, solve):
    for seed in range(10 * block, 10 * block + 10):
        case, best = case_and_optimum(seed)
        solution = solve(case.problem(), tol=1e-6, time_limit=PATIENCE)
        assert solution.status is Status.CONVERGED, seed
        assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-7), seed
        assert solution.gap < 1e-6
        is_certified(case, solution)


@pytest.mark.parametrize("seed", range(20))
def test_float32_rows_find_the_same_optimum_at_their_precision(seed, solve):
    case, best = case_and_optimum(1000 + seed)
    solution = solve(case.problem(np.float32), tol=1e-3, time_limit=PATIENCE)
    reach = np.where(np.isfinite(case.upper - case.lower), case.upper - case.lower, 10).sum()
    assert solution.status is Status.CONVERGED
    assert abs(solution.objective - best) <= 1e-5 * abs(best) + 1e-3 * reach


@pytest.mark.many_steps
def test_hard_margin_problems_have_no_upper_bounds_at_all(solve):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 2))
        sign = np.where(X[:, 0] > 0, 1.0, -1.0)
        lower = np.where(sign > 0, 0, -np.inf)
        upper = np.where(sign > 0, np.inf, 0)
        case = make_case(X, {"name": "rbf", "gamma": 2.0}, -sign, lower, upper)
        solution = solve(case.problem(), tol=1e-6, time_limit=PATIENCE)
        assert solution.status is Status.CONVERGED
        assert solution.objective == pytest.approx(optimum(case.K, *case.parts)[1], rel=1e-6)
        assert_allclose(
            sign * solution.decision_values,
            np.maximum(1, sign * solution.decision_values),
            atol=1e-5,
        )


def test_two_points_have_the_optimum_known_in_closed_form(solve):
    # f = +-1 at the two points: beta = 2 / |x - z|^2, here 2 / 4
    case = make_case(np.array([[1.0], [-1.0]]), {"name": "linear"}, [-1, 1], [0, -9], [9, 0])
    solution = solve(case.problem(), tol=1e-12)
    assert_allclose(solution.beta, [0.5, -0.5])
    assert_allclose(solution.decision_values, [1, -1])
    assert solution.objective == pytest.approx(-0.5)


@pytest.mark.parametrize("total", [0.0, 0.7, -1.5, 2.0])
def test_a_single_variable_is_its_total(total, solve):
    case = make_case(np.ones((1, 2)), {"name": "rbf", "gamma": 1.0}, [0.3], [-2], [2], total)
    solution = solve(case.problem(), tol=1e-6)
    assert solution.beta == pytest.approx([total])
    assert solution.status is Status.CONVERGED
    assert solution.n_iter == 0
    is_certified(case, solution)


def test_boxes_of_zero_width_leave_nothing_to_do_and_a_bias_of_zero(solve):
    held = np.array([0.5, -1.0, 2.0])
    case = make_case(np.eye(3), {"name": "linear"}, [1, 2, 3], held, held, total=1.5)
    solution = solve(case.problem())
    assert_array_equal(solution.beta, held)
    assert (solution.status, solution.n_iter, solution.bias, solution.gap) == (
        Status.CONVERGED,
        0,
        0.0,
        -np.inf,
    )


def test_no_variables_at_all_score_zero(solve):
    case = make_case(np.eye(3), {"name": "linear"}, [], [], [], row=np.array([], dtype=int))
    solution = solve(case.problem())
    assert_array_equal(solution.decision_values, np.zeros(3))


def test_an_equality_piece_is_met(solve):
    # f(x_0) = 0.25, together with a C-SVC on the other rows
    case = svc_case()
    linear, lower, upper = (part.copy() for part in case.parts)
    linear[0], lower[0], upper[0] = -0.25, -np.inf, np.inf
    solution = solve(replace(case, linear=linear, lower=lower, upper=upper).problem(), tol=1e-8)
    assert solution.decision_values[0] == pytest.approx(0.25, abs=1e-7)


@pytest.mark.parametrize("scale", [1e-10, 1e-3, 1e3, 1e10, 1e30])
def test_the_optimum_is_found_whatever_the_scale_of_the_kernel(scale, solve):
    case = svc_case()
    scaled = precomputed_case(scale * case.K, case.linear, case.lower / scale, case.upper / scale)
    solution = solve(scaled.problem(), tol=1e-6)
    reference = solve(case.problem(), tol=1e-6)
    assert solution.status is Status.CONVERGED
    assert_allclose(solution.decision_values, reference.decision_values, atol=1e-5)
    assert solution.objective * scale == pytest.approx(reference.objective, rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite_is_refused(bad, solve):
    case = svc_case()
    K = case.K.copy()
    K[3, 5] = K[5, 3] = bad
    problem = replace(case, X=K, K=K, kernel={"name": "precomputed"}).problem()
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="finite"):
        solve(problem, time_limit=1)


# --- kernels that are not positive semi-definite ---


@pytest.mark.parametrize("seed", range(60))
def test_slightly_indefinite_kernels_end(seed, solve):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 5, 15, 40]))
    half = rng.normal(size=(n, max(1, n // 2)))
    noise = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-12, -1)
    K = half @ half.T + noise + noise.T
    lower, upper = random_boxes(rng, n)
    case = precomputed_case(K, rng.normal(size=n), lower, upper, random_total(rng, lower, upper))
    ends_well(case, solve)


@pytest.mark.parametrize("seed", range(20))
def test_sigmoid_kernels_with_negative_eigenvalues_end(seed, solve):
    rng = np.random.default_rng(seed)
    kernel = {"name": "sigmoid", "gamma": 0.8, "coef0": rng.uniform(-1, 1)}
    sign = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    case = make_case(
        rng.normal(size=(30, 3)), kernel, -sign, np.minimum(0, 5 * sign), np.maximum(0, 5 * sign)
    )
    assert np.linalg.eigvalsh(case.K).min() < -0.1
    ends_well(case, solve)


@pytest.mark.many_steps
@pytest.mark.parametrize("seed", range(10))
def test_kernels_that_are_not_quite_symmetric_end(seed, solve):
    rng = np.random.default_rng(seed)
    case = svc_case(seed, n=30, C=100.0)
    K = case.K + 1e-4 * rng.normal(size=case.K.shape)
    solution = solve(
        replace(case, X=K, K=K, kernel={"name": "precomputed"}).problem(),
        tol=1e-9,
        time_limit=PATIENCE,
    )
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert np.isfinite(solution.objective)
    is_feasible(case, solution.beta)


def ends_well(case, solve):
    solution = solve(case.problem(), tol=1e-6, time_limit=PATIENCE)
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert np.isfinite(solution.beta).all()
    assert np.isfinite([solution.bias, solution.objective]).all()
    assert solution.objective <= case.start_objective() + 1e-9 * (1 + abs(solution.objective))
    is_certified(case, solution)


# --- warm starts ---


@pytest.mark.parametrize("seed", range(40))
def test_restarting_from_the_optimum_takes_no_step(seed, solve):
    problem = usable(random_case(2000 + seed)).problem()
    first = solve(problem, tol=1e-6)
    for start in (first, first.beta):
        again = solve(problem, start=start, tol=1e-6)
        assert (again.n_iter, again.status) == (0, Status.CONVERGED)
        assert_allclose(again.beta, first.beta, rtol=1e-12, atol=1e-12)


@pytest.mark.many_steps
@pytest.mark.parametrize("C", [1.0, 1e2, 1e5])
def test_the_gap_of_float32_rows_is_the_gap_of_those_rows_after_a_million_steps(C, device, solve):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    sign = np.sign(X[:, 0] + 0.8 * rng.normal(size=400))
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.2), device=device)
    problem = DualProblem(rows, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))
    solution = solve(problem, tol=1e-3, time_limit=PATIENCE)
    K = rows.fetch(np.arange(400)).astype(np.float64)
    used = np.flatnonzero(solution.beta)
    K[:, used] = rows.fetch(used).T  # as they were made for the solver: BLAS rounds by the batch
    gap = gap_by_definition(K, problem.linear, problem.lower, problem.upper, solution.beta)
    assert solution.status is Status.CONVERGED
    assert gap < 1e-3
    assert solution.gap == pytest.approx(gap, abs=1e-6)
    assert solve(problem, start=solution, tol=1e-3).n_iter == 0
    assert solve(problem, start=solution.beta, tol=1e-3).n_iter == 0


@pytest.mark.many_steps
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_called_converged_has_a_gap_below_the_tolerance(dtype, solve):
    for seed in range(1, 4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(250, 3))
        sign = rng.choice([-1.0, 1.0], size=250)
        rows = kernel_rows(X, make_formula("rbf", X, gamma=0.05), dtype=dtype)
        problem = DualProblem(rows, -sign, np.minimum(0, 1e4 * sign), np.maximum(0, 1e4 * sign))
        for tol in (0.1, 0.01):
            solution = solve(problem, tol=tol, time_limit=PATIENCE)
            assert solution.status is Status.CONVERGED
            assert solution.gap < tol


@pytest.mark.parametrize("seed", range(40))
def test_a_warm_start_ends_where_a_cold_one_does(seed, solve):
    rng = np.random.default_rng(seed)
    case = usable(random_case(3000 + seed))
    problem = case.problem()
    first = solve(problem, tol=1e-6)
    linear = case.linear * rng.choice([1, 1, -1], size=len(case.linear))
    lower, upper = random_boxes(rng, len(linear))
    changed = replace(
        case, linear=linear, lower=lower, upper=upper, total=random_total(rng, lower, upper)
    )
    problem = DualProblem(problem.kernel, linear, lower, upper, changed.total, case.row)
    cold = solve(problem, tol=1e-6)
    for start in (first, first.beta, rng.normal(size=len(linear))):
        warm = solve(problem, start=start, tol=1e-6)
        assert warm.status is Status.CONVERGED
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6, abs=1e-7)
        is_certified(changed, warm)


@pytest.mark.many_steps
def test_a_solution_on_other_rows_starts_a_solve_that_ends_at_the_optimum(solve):
    case = svc_case(n=40)
    row = np.arange(20)
    parts = [part[:20] for part in case.parts]
    problem = replace(case, row=row, linear=parts[0], lower=parts[1], upper=parts[2]).problem()
    first = solve(problem, tol=1e-6)
    moved = replace(
        case, row=row + 20, linear=case.linear[20:], lower=case.lower[20:], upper=case.upper[20:]
    )
    problem = DualProblem(problem.kernel, *moved.parts, row=moved.row)
    second = solve(problem, start=first, tol=1e-6)
    is_certified(moved, second)
    assert second.objective == pytest.approx(
        optimum(moved.K, *moved.parts, 0.0, moved.row)[1], rel=1e-6
    )


# --- invariances ---


@pytest.mark.many_steps
def test_permuting_the_rows_permutes_the_solution(solve):
    case = svc_case(n=80)
    order = np.random.default_rng(0).permutation(80)
    shuffled = make_case(case.X[order], case.kernel, *(part[order] for part in case.parts))
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, shuffled))
    assert second.objective == pytest.approx(first.objective, rel=1e-9)
    assert_allclose(second.decision_values, first.decision_values[order], atol=1e-6)


@pytest.mark.many_steps
def test_a_row_duplicated_at_half_the_cost_changes_nothing(solve):
    case = svc_case(n=50)
    linear, lower, upper = (np.tile(part, 2) for part in case.parts)
    twice = make_case(np.vstack([case.X, case.X]), case.kernel, linear, lower / 2, upper / 2)
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, twice))
    assert second.objective == pytest.approx(first.objective, rel=1e-8)
    assert_allclose(second.decision_values[:50], first.decision_values, atol=1e-6)


@pytest.mark.many_steps
def test_two_variables_on_one_row_are_one_of_both_widths(solve):
    case = svc_case(n=50)
    shares = np.random.default_rng(0).uniform(0.1, 0.9, size=50)
    row = np.tile(np.arange(50), 2)
    split = replace(
        case,
        row=row,
        linear=case.linear[row],
        lower=np.concatenate([case.lower * shares, case.lower * (1 - shares)]),
        upper=np.concatenate([case.upper * shares, case.upper * (1 - shares)]),
    )
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, split))
    assert second.objective == pytest.approx(first.objective, rel=1e-8)
    assert_allclose(second.row_beta.sum(), first.beta.sum(), atol=1e-9)
    assert_allclose(second.decision_values, first.decision_values, atol=1e-6)


@pytest.mark.many_steps
def test_rows_that_no_variable_uses_change_nothing_and_are_scored(solve):
    case = svc_case(n=50)
    new = np.random.default_rng(0).normal(size=(10, 4))
    row = np.arange(10, 60)
    wider = make_case(np.vstack([new, case.X]), case.kernel, *case.parts, row=row)
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, wider))
    assert_allclose(second.beta, first.beta, atol=1e-7)
    new_scores = naive_kernel("rbf", new, case.X, gamma=0.5) @ second.beta
    assert_allclose(second.decision_values[:10], new_scores + second.bias, atol=1e-9)


# --- how deep the call is ---


def test_four_python_frames_lie_between_the_caller_and_the_compiled_steps(monkeypatch):
    compiled = pairwise_kernel.pairwise_steps
    frames = []

    def record_frames(*arguments):
        frames.extend(frame.function for frame in inspect.stack()[1:])
        return compiled(*arguments)

    monkeypatch.setattr(pairwise_kernel, "pairwise_steps", record_frames)
    dual.solve(svc_case(n=20).problem())
    here = test_four_python_frames_lie_between_the_caller_and_the_compiled_steps.__name__
    assert frames[: frames.index(here)] == ["step", "advance", "solve_on_host", "solve"]


def test_a_pair_is_found_however_the_formula_for_it_is_compiled():
    """Nearly equal rows cancel in the curvature: compiled for one and for many variables it may
    round differently.
    """
    rng = np.random.default_rng(130)
    order = np.random.RandomState(30)
    is_high = np.concatenate([np.ones(60, bool), rng.random(150) < 0.2])
    X = rng.standard_normal((210, 1)) + 2.0 * is_high[:, None]
    rows = np.concatenate([order.permutation(60)[30:], 60 + order.permutation(150)[30:]])
    X = X[np.sort(rows)]
    sign = np.where(np.arange(150) < 30, 1.0, -1.0)
    box = np.where(sign > 0, 1.0, 0.25)
    kernel = kernel_rows(X, make_formula("linear", X), dtype=np.float64)
    problem = DualProblem(kernel, -sign, np.minimum(sign, 0) * box, np.maximum(sign, 0) * box)
    solution = dual.solve(problem)
    assert solution.status is Status.CONVERGED
    expected = optimum(X @ X.T, problem.linear, problem.lower, problem.upper)[1]
    assert solution.objective == pytest.approx(expected, rel=1e-5)
