"""The dual solver finds the optimum, and what it says about it is true."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from oracles import (
    gap_by_definition,
    gradient_by_definition,
    multiplier_interval,
    naive_kernel,
    objective_by_definition,
    optimum,
    repair_one_by_one,
    scores_by_definition,
)
from semisvm.data import load
from semisvm.dual import DualProblem, DualSolution, Status, repair, solve
from semisvm.kernels import kernel_rows, make_formula, scores_of_new_rows


@dataclass(frozen=True)
class Case:
    """A problem in the open: the naive kernel matrix beside what the library is given."""

    X: np.ndarray
    kernel: dict
    K: np.ndarray
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    row: np.ndarray | None = None

    def problem(self, dtype=np.float64, **cache):
        parameters = {"gamma": 1.0, **self.kernel}
        rows = kernel_rows(self.X, make_formula(parameters.pop("name"), self.X, **parameters), dtype=dtype, **cache)
        return DualProblem(rows, self.linear, self.lower, self.upper, self.total, self.row)

    @property
    def parts(self):
        return self.linear, self.lower, self.upper

    def start_objective(self):
        """The objective where a cold start begins."""
        beta = repair(np.zeros(len(self.linear)), self.lower, self.upper, self.total, self.linear)
        return objective_by_definition(self.K, self.linear, beta, self.row)


def make_case(X, kernel, linear, lower, upper, total=0.0, row=None):
    parameters = dict(kernel)
    K = naive_kernel(parameters.pop("name"), X, **parameters)
    return Case(X, kernel, K, *(np.asarray(part, dtype=float) for part in (linear, lower, upper)), total, row)


def precomputed_case(K, linear, lower, upper, total=0.0, row=None):
    return Case(K, {"name": "precomputed"}, K, linear, lower, upper, total, row)


def svc_case(seed=0, n=60, C=1.0, kernel=None, n_features=4):
    """C-SVC on two overlapping classes: linear -y, bounds [0, C] or [-C, 0].

    On a grid of quarters, so that the products of rows are exact in float32: LIBSVM keeps them so whatever is asked.
    """
    X, y = make_classification(n, n_features, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed)
    X = np.round(4 * X) / 4
    sign = 2.0 * y - 1
    kernel = kernel or {"name": "rbf", "gamma": 0.5}
    return make_case(X, kernel, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))


KERNELS = {
    "rbf": {"name": "rbf", "gamma": 0.7},
    "linear": {"name": "linear"},
    "rank one": {"name": "linear"},
    "poly": {"name": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2},
}


def random_case(seed):
    """A problem with everything at once: ties, duplicates, zero-width boxes, shared and unused rows, any total."""
    rng = np.random.default_rng(seed)
    flavour = list(KERNELS)[seed % len(KERNELS)]
    n_rows = int(rng.choice([1, 2, 3, 6, 12, 25]))
    X = rng.normal(size=(n_rows, 1 if flavour == "rank one" else 3))
    if rng.random() < 0.5:
        X = X[rng.integers(n_rows, size=n_rows)]  # duplicate rows
    if rng.random() < 0.3:
        X = np.round(X)  # tied distances
    row = None
    if rng.random() < 0.5:
        row = rng.permutation(np.repeat(np.arange(n_rows), rng.integers(0, 4, size=n_rows)))
        row = row if len(row) else np.array([n_rows - 1])
    n = n_rows if row is None else len(row)
    linear = rng.choice([-1.0, 1.0], size=n) if rng.random() < 0.5 else rng.normal(size=n)
    lower, upper = random_boxes(rng, n)
    if flavour == "rbf" and rng.random() < 0.4:
        v = rng.integers(n)  # one equality piece; the others' boxes keep the problem bounded
        lower[v], upper[v] = -np.inf, np.inf
    total = random_total(rng, lower, upper)
    return make_case(X, KERNELS[flavour], linear, lower, upper, total, row)


def random_boxes(rng, n):
    C = 10.0 ** rng.uniform(-1, 1.5)
    kind = rng.integers(4, size=n)
    width = C * rng.choice([1.0, 1.0, 0.3], size=n)
    offset = rng.normal(size=n)
    lower = np.choose(kind, [np.zeros(n), -width, offset, offset])
    upper = np.choose(kind, [width, np.zeros(n), offset + width, offset])  # the last: zero width
    return lower, upper


def random_total(rng, lower, upper):
    """A sum that can be had: most often in the middle, sometimes at one end."""
    share = rng.choice([0.0, 1.0, *rng.random(8)])
    low, high = np.clip(lower, -5, None), np.clip(upper, None, 5)
    return float(np.sum(low + share * (high - low)) if 0 < share < 1 else (lower if share == 0 else upper).sum())


def usable(case):
    return case if np.isfinite(case.total) else replace(case, total=float(np.clip(0, case.lower, case.upper).sum()))


def is_feasible(case, beta):
    assert (beta >= case.lower).all()
    assert (beta <= case.upper).all()
    assert abs(beta.sum() - case.total) <= 1e-9 * max(1.0, np.abs(beta).sum())


def is_certified(case, solution):
    """Everything the solution says of itself, computed afresh from the naive kernel matrix."""
    scores = scores_by_definition(case.K, solution.beta, case.row)
    size = 1e-9 * (1 + np.abs(case.K).max() * np.abs(solution.beta).sum() + np.abs(case.linear).max(initial=0))
    is_feasible(case, solution.beta)
    assert_allclose(solution.scores, scores, rtol=0, atol=size)
    gradient = gradient_by_definition(case.K, case.linear, solution.beta, case.row)
    assert_allclose(solution.gradient, gradient, rtol=0, atol=size)
    gap = gap_by_definition(case.K, *case.parts, solution.beta, case.row)
    assert solution.gap == pytest.approx(gap, rel=0, abs=size) or solution.gap == gap == -np.inf
    assert solution.objective == pytest.approx(
        objective_by_definition(case.K, case.linear, solution.beta, case.row), rel=1e-9, abs=size
    )
    least_rising, most_falling = multiplier_interval(gradient, solution.beta, case.lower, case.upper)
    slack = max(gap, 0) + size
    assert most_falling - slack <= -solution.bias <= least_rising + slack
    assert_allclose(solution.decision_values, scores + solution.bias, rtol=0, atol=size)


# --- against a general-purpose QP solver ---


@pytest.mark.parametrize("block", range(20))
def test_random_problems_end_at_the_optimum(block):
    for seed in range(40 * block, 40 * block + 40):
        case = usable(random_case(seed))
        solution = solve(case.problem(), tol=1e-6, time_limit=10)
        assert solution.status is Status.CONVERGED, seed
        _, best = optimum(case.K, *case.parts, case.total, case.row)
        assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-7), seed
        assert solution.gap < 1e-6
        is_certified(case, solution)


@pytest.mark.parametrize("seed", range(20))
def test_float32_rows_find_the_same_optimum_at_their_precision(seed):
    case = usable(random_case(1000 + seed))
    solution = solve(case.problem(np.float32), tol=1e-3, time_limit=10)
    _, best = optimum(case.K, *case.parts, case.total, case.row)
    reach = np.where(np.isfinite(case.upper - case.lower), case.upper - case.lower, 10).sum()
    assert solution.status is Status.CONVERGED
    assert abs(solution.objective - best) <= 1e-5 * abs(best) + 1e-3 * reach


def test_hard_margin_problems_have_no_upper_bounds_at_all():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 2))
        sign = np.where(X[:, 0] > 0, 1.0, -1.0)
        lower, upper = np.where(sign > 0, 0, -np.inf), np.where(sign > 0, np.inf, 0)
        case = make_case(X, {"name": "rbf", "gamma": 2.0}, -sign, lower, upper)
        solution = solve(case.problem(), tol=1e-6, time_limit=10)
        assert solution.status is Status.CONVERGED
        assert solution.objective == pytest.approx(optimum(case.K, *case.parts)[1], rel=1e-6)
        assert_allclose(sign * solution.decision_values, np.maximum(1, sign * solution.decision_values), atol=1e-5)


def test_two_points_have_the_optimum_one_writes_down():
    # f = +-1 at the two points: beta = 2 / |x - z|^2, here 2 / 4
    case = make_case(np.array([[1.0], [-1.0]]), {"name": "linear"}, [-1, 1], [0, -9], [9, 0])
    solution = solve(case.problem(), tol=1e-12)
    assert_allclose(solution.beta, [0.5, -0.5])
    assert_allclose(solution.decision_values, [1, -1])
    assert solution.objective == pytest.approx(-0.5)


@pytest.mark.parametrize("total", [0.0, 0.7, -1.5, 2.0])
def test_a_single_variable_is_its_total(total):
    case = make_case(np.ones((1, 2)), {"name": "rbf", "gamma": 1.0}, [0.3], [-2], [2], total)
    solution = solve(case.problem(), tol=1e-6)
    assert solution.beta == pytest.approx([total])
    assert solution.status is Status.CONVERGED
    assert solution.n_iter == 0
    is_certified(case, solution)


def test_boxes_of_zero_width_leave_nothing_to_do_and_a_bias_of_zero():
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


def test_no_variables_at_all_score_zero():
    case = make_case(np.eye(3), {"name": "linear"}, [], [], [], row=np.array([], dtype=int))
    solution = solve(case.problem())
    assert_array_equal(solution.decision_values, np.zeros(3))


def test_an_equality_piece_is_met():
    # f(x_0) = 0.25, beside a C-SVC on the other rows
    case = svc_case()
    linear, lower, upper = (part.copy() for part in case.parts)
    linear[0], lower[0], upper[0] = -0.25, -np.inf, np.inf
    solution = solve(replace(case, linear=linear, lower=lower, upper=upper).problem(), tol=1e-8)
    assert solution.decision_values[0] == pytest.approx(0.25, abs=1e-7)


@pytest.mark.parametrize("scale", [1e-10, 1e-3, 1e3, 1e10, 1e30])
def test_the_optimum_is_found_whatever_the_scale_of_the_kernel(scale):
    case = svc_case()
    scaled = precomputed_case(scale * case.K, case.linear, case.lower / scale, case.upper / scale)
    solution, reference = solve(scaled.problem(), tol=1e-6), solve(case.problem(), tol=1e-6)
    assert solution.status is Status.CONVERGED
    assert_allclose(solution.decision_values, reference.decision_values, atol=1e-5)
    assert solution.objective * scale == pytest.approx(reference.objective, rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite_is_refused_and_not_spun_on(bad):
    case = svc_case()
    K = case.K.copy()
    K[3, 5] = K[5, 3] = bad
    problem = replace(case, X=K, K=K, kernel={"name": "precomputed"}).problem()
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="finite"):
        solve(problem, time_limit=1)


# --- kernels that are not positive semi-definite ---


@pytest.mark.parametrize("seed", range(60))
def test_slightly_indefinite_kernels_end(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 5, 15, 40]))
    half = rng.normal(size=(n, max(1, n // 2)))
    noise = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-12, -1)
    K = half @ half.T + noise + noise.T
    lower, upper = random_boxes(rng, n)
    case = precomputed_case(K, rng.normal(size=n), lower, upper, random_total(rng, lower, upper))
    ends_well(case)


@pytest.mark.parametrize("seed", range(20))
def test_sigmoid_kernels_with_negative_eigenvalues_end(seed):
    rng = np.random.default_rng(seed)
    kernel = {"name": "sigmoid", "gamma": 0.8, "coef0": rng.uniform(-1, 1)}
    sign = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    case = make_case(rng.normal(size=(30, 3)), kernel, -sign, np.minimum(0, 5 * sign), np.maximum(0, 5 * sign))
    assert np.linalg.eigvalsh(case.K).min() < -0.1
    ends_well(case)


@pytest.mark.parametrize("seed", range(10))
def test_kernels_that_are_not_quite_symmetric_end(seed):
    rng = np.random.default_rng(seed)
    case = svc_case(seed, n=30, C=100.0)
    K = case.K + 1e-4 * rng.normal(size=case.K.shape)
    solution = solve(replace(case, X=K, K=K, kernel={"name": "precomputed"}).problem(), tol=1e-9, time_limit=20)
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert np.isfinite(solution.objective)
    is_feasible(case, solution.beta)


def ends_well(case):
    solution = solve(case.problem(), tol=1e-6, time_limit=20)
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert np.isfinite(solution.beta).all()
    assert np.isfinite([solution.bias, solution.objective]).all()
    assert solution.objective <= case.start_objective() + 1e-9 * (1 + abs(solution.objective))
    is_certified(case, solution)


# --- against LIBSVM ---


@pytest.mark.parametrize("kernel", [{"name": "rbf", "gamma": 0.3}, {"name": "linear"}, KERNELS["poly"]], ids=str)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_decision_values_are_those_of_libsvm(kernel, C):
    case = svc_case(seed=1, n=200, C=C, kernel=kernel)
    name, *_ = kernel.values()
    parameters = {key: value for key, value in kernel.items() if key != "name"}
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(case.X))
    case = replace(case, lower=case.lower * weights, upper=case.upper * weights)
    libsvm = SVC(C=C, kernel=name, tol=1e-6, **parameters).fit(case.X, case.linear < 0, sample_weight=weights)
    solution = solve(case.problem(), tol=1e-6)
    assert_allclose(solution.decision_values, libsvm.decision_function(case.X), rtol=0, atol=1e-5)
    assert solution.objective == pytest.approx(libsvm_objective(libsvm, case.K), rel=1e-7)


def test_float32_rows_at_the_usual_tolerance_give_libsvms_objective():
    for seed in range(5):
        case = svc_case(seed, n=300, C=3.0)
        libsvm = SVC(C=3.0, gamma=0.5, tol=1e-6).fit(case.X, case.linear < 0)
        solution = solve(case.problem(np.float32), tol=1e-3)
        assert solution.objective == pytest.approx(libsvm_objective(libsvm, case.K), rel=1e-5)


@pytest.mark.data
@pytest.mark.parametrize(("name", "C", "gamma"), [("adult", 100, 0.5), ("ijcnn1", 10, 0.125), ("protein", 10, 0.25)])
def test_a_tenth_of_the_papers_sets_gives_libsvms_objective_and_predictions(name, C, gamma, paper_data):
    data = load(name, data_dir=paper_data)
    order = np.random.default_rng(0).permutation(np.flatnonzero(data.y >= 0))
    train, held_out = order[: len(order) // 10], order[-3000:]
    X, sign = data.X[train], 2.0 * data.y[train] - 1
    libsvm = SVC(C=C, gamma=gamma, tol=1e-3, cache_size=500).fit(X, sign)
    formula = make_formula("rbf", X, gamma=gamma)
    problem = DualProblem(kernel_rows(X, formula), -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))
    solution = solve(problem, tol=1e-3)
    support = libsvm.support_vectors_
    theirs = objective_by_definition(rbf_kernel(support, gamma=gamma), -sign[libsvm.support_], dual_coef(libsvm))
    used = np.flatnonzero(solution.beta)
    scores = scores_of_new_rows(data.X[held_out], X[used], solution.beta[None, used], formula)[:, 0] + solution.bias
    agree = (scores > 0) == (libsvm.decision_function(data.X[held_out]) > 0)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(theirs, rel=1e-5)
    assert agree.mean() >= 0.999


def dual_coef(libsvm):
    coefficients = libsvm.dual_coef_
    return np.asarray(coefficients.todense() if hasattr(coefficients, "todense") else coefficients).ravel()


def libsvm_objective(libsvm, K):
    beta = np.zeros(len(K))
    beta[libsvm.support_] = dual_coef(libsvm)
    return objective_by_definition(K, -np.sign(beta), beta)


# --- starting from somewhere ---


@pytest.mark.parametrize("seed", range(40))
def test_restarting_from_the_optimum_takes_no_step(seed):
    problem = usable(random_case(2000 + seed)).problem()
    first = solve(problem, tol=1e-6)
    for start in (first, first.beta):
        again = solve(problem, start=start, tol=1e-6)
        assert (again.n_iter, again.status) == (0, Status.CONVERGED)
        assert_allclose(again.beta, first.beta, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("C", [1.0, 1e2, 1e5])
def test_the_gap_of_float32_rows_is_the_gap_of_those_rows_after_a_million_steps(C):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    sign = np.sign(X[:, 0] + 0.8 * rng.normal(size=400))
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.2))
    problem = DualProblem(rows, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))
    solution = solve(problem, tol=1e-3, time_limit=30)
    rows.require(np.arange(400))
    K = rows.values[rows.slot].astype(np.float64)
    gap = gap_by_definition(K, problem.linear, problem.lower, problem.upper, solution.beta)
    assert solution.status is Status.CONVERGED
    assert gap < 1e-3
    assert solution.gap == pytest.approx(gap, abs=1e-6)
    assert solve(problem, start=solution, tol=1e-3).n_iter == 0
    assert solve(problem, start=solution.beta, tol=1e-3).n_iter == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_called_converged_has_a_gap_below_the_tolerance(dtype):
    for seed in range(1, 4):
        rng = np.random.default_rng(seed)
        X, sign = rng.normal(size=(250, 3)), rng.choice([-1.0, 1.0], size=250)
        rows = kernel_rows(X, make_formula("rbf", X, gamma=0.05), dtype=dtype)
        problem = DualProblem(rows, -sign, np.minimum(0, 1e4 * sign), np.maximum(0, 1e4 * sign))
        for tol in (0.1, 0.01):
            solution = solve(problem, tol=tol, time_limit=20)
            assert solution.status is Status.CONVERGED
            assert solution.gap < tol


@pytest.mark.parametrize("seed", range(40))
def test_a_warm_start_ends_where_a_cold_one_does(seed):
    rng = np.random.default_rng(seed)
    case = usable(random_case(3000 + seed))
    problem = case.problem()
    first = solve(problem, tol=1e-6)
    linear = case.linear * rng.choice([1, 1, -1], size=len(case.linear))
    lower, upper = random_boxes(rng, len(linear))
    changed = replace(case, linear=linear, lower=lower, upper=upper, total=random_total(rng, lower, upper))
    problem = DualProblem(problem.kernel, linear, lower, upper, changed.total, case.row)
    cold = solve(problem, tol=1e-6)
    for start in (first, first.beta, rng.normal(size=len(linear))):
        warm = solve(problem, start=start, tol=1e-6)
        assert warm.status is Status.CONVERGED
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6, abs=1e-7)
        is_certified(changed, warm)


def test_a_solution_on_other_rows_still_starts_a_true_solve():
    case = svc_case(n=40)
    row = np.arange(20)
    parts = [part[:20] for part in case.parts]
    problem = replace(case, row=row, linear=parts[0], lower=parts[1], upper=parts[2]).problem()
    first = solve(problem, tol=1e-6)
    moved = replace(case, row=row + 20, linear=case.linear[20:], lower=case.lower[20:], upper=case.upper[20:])
    problem = DualProblem(problem.kernel, *moved.parts, row=moved.row)
    second = solve(problem, start=first, tol=1e-6)
    is_certified(moved, second)
    assert second.objective == pytest.approx(optimum(moved.K, *moved.parts, 0.0, moved.row)[1], rel=1e-6)


FINITE = st.floats(-100, 100, allow_subnormal=False)


@st.composite
def starts(draw):
    n = draw(st.integers(1, 8))
    ends = np.sort(np.array(draw(st.lists(st.tuples(FINITE, FINITE), min_size=n, max_size=n))), axis=1)
    beta, gradient = (np.array(draw(st.lists(FINITE, min_size=n, max_size=n))) for _ in range(2))
    lower, upper = ends.T.copy()
    if draw(st.booleans()):
        upper[0] = np.inf
    if draw(st.booleans()):
        lower[-1] = -np.inf
    share = draw(st.floats(0, 1))
    total = float((np.maximum(lower, -200) + share * (np.minimum(upper, 200) - np.maximum(lower, -200))).sum())
    total = min(max(total, float(lower.sum())), float(upper.sum()))
    return beta, lower, upper, total, gradient


@given(starts())
@settings(max_examples=300, deadline=None)
def test_repair_keeps_the_bounds_exactly_and_the_sum_to_rounding(start):
    beta, lower, upper, total, gradient = start
    repaired = repair(beta, lower, upper, total, gradient)
    assert (repaired >= lower).all()
    assert (repaired <= upper).all()
    assert repaired.sum() == pytest.approx(total, rel=1e-12, abs=1e-11)


@given(starts())
@settings(max_examples=300, deadline=None)
def test_repair_moves_one_coefficient_after_the_other_most_downhill_first(start):
    repaired = repair(*start)
    assert_allclose(repaired, repair_one_by_one(*start), rtol=1e-12, atol=1e-11)
    beta, lower, upper, *_ = start
    clipped = np.clip(beta, lower, upper)
    inside = (np.abs(repaired - clipped) > 1e-11) & (repaired > lower + 1e-11) & (repaired < upper - 1e-11)
    assert inside.sum() <= 1  # all others that moved went as far as they could


@given(starts())
@settings(max_examples=300, deadline=None)
def test_repair_is_content_with_a_right_sum_and_with_its_own_answer(start):
    beta, lower, upper, total, gradient = start
    clipped = np.clip(beta, lower, upper)
    assert_array_equal(repair(beta, lower, upper, clipped.sum(), gradient), clipped)
    repaired = repair(*start)
    assert_allclose(repair(repaired, lower, upper, total, gradient), repaired, rtol=1e-12, atol=1e-11)
    assert_array_equal(np.clip(beta, lower, upper), clipped)


@pytest.mark.parametrize("seed", range(20))
def test_repair_of_many_coefficients_is_repair_one_by_one(seed):
    rng = np.random.default_rng(seed)
    lower, upper = np.sort(rng.normal(size=(2, 200)), axis=0)
    beta, gradient = 2 * rng.normal(size=200), rng.normal(size=200)
    share = rng.random()
    total = float(np.sum((1 - share) * lower + share * upper))
    repaired = repair(beta, lower, upper, total, gradient)
    assert ((lower <= repaired) & (repaired <= upper)).all()
    assert_allclose(repaired, repair_one_by_one(beta, lower, upper, total, gradient), atol=1e-11)


def test_repair_leaves_its_arguments_alone():
    beta, lower, upper, gradient = np.array([5.0, 0.0]), np.zeros(2), np.ones(2), np.zeros(2)
    repair(beta, lower, upper, 1.5, gradient)
    assert_array_equal(beta, [5, 0])
    assert_array_equal(upper, [1, 1])


# --- invariances ---


def test_permuting_the_rows_permutes_the_solution():
    case = svc_case(n=80)
    order = np.random.default_rng(0).permutation(80)
    shuffled = make_case(case.X[order], case.kernel, *(part[order] for part in case.parts))
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, shuffled))
    assert second.objective == pytest.approx(first.objective, rel=1e-9)
    assert_allclose(second.decision_values, first.decision_values[order], atol=1e-6)


def test_a_row_duplicated_at_half_the_cost_changes_nothing():
    case = svc_case(n=50)
    linear, lower, upper = (np.tile(part, 2) for part in case.parts)
    twice = make_case(np.vstack([case.X, case.X]), case.kernel, linear, lower / 2, upper / 2)
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, twice))
    assert second.objective == pytest.approx(first.objective, rel=1e-8)
    assert_allclose(second.decision_values[:50], first.decision_values, atol=1e-6)


def test_two_variables_on_one_row_are_one_of_both_widths():
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


def test_rows_that_no_variable_uses_change_nothing_and_are_scored():
    case = svc_case(n=50)
    new = np.random.default_rng(0).normal(size=(10, 4))
    row = np.arange(10, 60)
    wider = make_case(np.vstack([new, case.X]), case.kernel, *case.parts, row=row)
    first, second = (solve(each.problem(), tol=1e-8) for each in (case, wider))
    assert_allclose(second.beta, first.beta, atol=1e-7)
    new_scores = naive_kernel("rbf", new, case.X, gamma=0.5) @ second.beta
    assert_allclose(second.decision_values[:10], new_scores + second.bias, atol=1e-9)


# --- what is refused ---

ROWS = kernel_rows(np.eye(3), make_formula("linear", np.eye(3)), dtype=np.float64)
BAD_PROBLEMS = {
    "too few": (
        {"linear": np.zeros(2), "lower": np.zeros(2), "upper": np.ones(2)},
        "2 variables for 3 kernel rows",
    ),
    "lower short": ({"lower": np.zeros(2)}, "lower .* upper"),
    "upper long": ({"upper": np.ones(4)}, "lower .* upper"),
    "linear of two dimensions": ({"linear": np.zeros((3, 1))}, "shape|length|dimension"),
    "linear a number": ({"linear": 0.0}, "shape|length|dimension"),
    "crossed": ({"lower": np.array([0, 2.0, 0])}, "Variable 1 has lower bound 2.0 above"),
    "nan bound": ({"lower": np.array([0, np.nan, 0])}, "Variable 1"),
    "nan linear": ({"linear": np.array([0, np.nan, 0])}, "linear must be finite"),
    "total too large": ({"total": 3.5}, "No beta within the bounds sums to 3.5"),
    "total too small": ({"total": -0.1}, "sums run from 0.0 to 3.0"),
    "total nan": ({"total": np.nan}, "No beta|total"),
    "total infinite": ({"total": np.inf}, "No beta|total"),
    "row too large": ({"row": np.array([0, 1, 3])}, "indices of kernel rows, 0 to 2"),
    "row negative": ({"row": np.array([0, 1, -1])}, "indices of kernel rows"),
    "row short": ({"row": np.array([0, 1])}, "row must hold 3 indices"),
}


@pytest.mark.parametrize("name", BAD_PROBLEMS)
def test_a_problem_that_makes_no_sense_is_refused(name):
    changes, sentence = BAD_PROBLEMS[name]
    parts = {"linear": np.zeros(3), "lower": np.zeros(3), "upper": np.ones(3)} | changes
    with pytest.raises(ValueError, match=sentence):
        DualProblem(ROWS, **parts)


def test_a_total_that_only_rounding_puts_out_of_reach_is_accepted():
    a, b = 1e6 / 3, 1e6 / 7
    held = np.array([a, -(a + b), b])
    assert held.sum() != 0
    problem = DualProblem(ROWS, np.zeros(3), held, held, total=0.0)
    assert_array_equal(solve(problem).beta, held)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tol": 0}, "tol must be positive"),
        ({"tol": -1e-3}, "tol must be positive"),
        ({"tol": np.nan}, "tol must be positive"),
        ({"device": "abacus"}, "device must be"),
        ({"device": "cuda"}, "no GPU solver"),
        ({"start": np.zeros(4)}, "start has shape"),
        ({"start": np.zeros((3, 1))}, "start has shape"),
        ({"start": np.array([0, np.nan, 0]), "time_limit": 1}, "start"),
    ],
    ids=str,
)
def test_a_solve_that_makes_no_sense_is_refused(arguments, sentence):
    problem = DualProblem(ROWS, np.array([-1.0, 1, 0]), np.zeros(3), np.ones(3), total=1)
    with pytest.raises(ValueError, match=sentence):
        solve(problem, **arguments)


def test_a_solution_of_another_length_is_refused():
    problem = svc_case(n=20).problem()
    other = solve(svc_case(n=30).problem())
    assert isinstance(other, DualSolution)
    with pytest.raises(ValueError, match="start has shape"):
        solve(problem, start=other)
