"""The solver for devices is certified as that of the CPU is: on a CUDA device, or in Triton's
interpreter where TRITON_INTERPRET=1 asks for it (`make test-gpu`).
"""

import os
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from semisvm.engine import DualProblem, Limits, Problem, Status, make_formula, solve
from semisvm.engine.kernels import kernel_of
from tests.helpers.engine_cases import (
    given_case,
    is_certified,
    make_case,
    naive_kernel,
    random_case,
    svc_case,
    usable,
)


def _device():
    if not (find_spec("torch") and find_spec("triton")):
        return None
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "interpreter"
    import torch

    return "cuda" if torch.cuda.is_available() else None


DEVICE = _device()
pytestmark = pytest.mark.skipif(DEVICE is None, reason="needs torch and Triton: make test-gpu")
FORMULAS = {
    "linear": {},
    "rbf": {"gamma": 0.4},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "sigmoid": {"gamma": 0.02, "coef0": 0.1},
}


def in_small_blocks(kernel):
    """Blocks of 16 variables, chosen by 4 programs that handle 16 variables at a time."""
    from semisvm.engine.gpu.blocks import BlockSizes

    kernel.sizes = BlockSizes(block=16, block_of_many=16, segments=4, segment_width=16)
    return kernel


def solve_there(case, tol=1e-3, small=True, **settings):
    problem = case.problem(device=DEVICE, **settings)
    if small:
        in_small_blocks(problem.on)
    return solve([problem], limits=Limits(tol))[0]


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_end_at_the_optimum(seed):
    case = usable(random_case(seed))
    for small in (False, True):
        found = solve_there(case, tol=1e-4, small=small)
        assert found.status is Status.CONVERGED
        is_certified(case, found)
        reach = np.where(np.isfinite(case.upper - case.lower), case.upper - case.lower, 9.0)
        assert found.objective - case.optimum() <= 1e-4 * reach.sum() + 1e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cache_size", [None, 1e-3])
@pytest.mark.parametrize("name", FORMULAS)
def test_every_kernel_is_certified_whole_and_by_rows(name, cache_size, dtype):
    case = svc_case(n=40, kernel={"name": name, **FORMULAS[name]}, C=0.1)
    case = replace(case, total=0.5)
    found = solve_there(case, tol=1e-2, cache_size=cache_size, dtype=dtype)
    assert found.status is Status.CONVERGED
    is_certified(case, found, 3e-6 if dtype == np.float32 else 1e-9)


def test_a_grid_is_one_batch_that_solves_each_problem_as_if_alone_and_restarts_without_a_step():
    case = svc_case(n=20)
    kernel, grid = case.problem(device=DEVICE).on, (0.05, 1.0, 3.0)
    cases = [replace(case, lower=C * case.lower, upper=C * case.upper) for C in grid]
    problems = [each.on(kernel) for each in cases]
    found = solve(problems, limits=Limits(1e-4))
    for each, solution in zip(cases, found, strict=True):
        is_certified(each, solution)
        assert solution.objective == pytest.approx(each.optimum(), rel=1e-4)
    for starts in (found, [solution.beta for solution in found]):
        again = solve(problems, starts, Limits(1e-4))
        assert [solution.n_iter for solution in again] == [0, 0, 0]


def test_problems_on_other_rows_are_solved_one_by_one():
    case = svc_case(n=40)
    half = [part[:20] for part in case.parts]
    kernel = case.problem(device=DEVICE).on
    rows = np.arange(20), np.repeat(np.arange(10), 2)
    found = solve([DualProblem(kernel, *half, 0.5, row) for row in rows])
    for row, solution in zip(rows, found, strict=True):
        parts = dict(zip(("linear", "lower", "upper"), half, strict=True))
        is_certified(replace(case, **parts, total=0.5, row=row), solution)


@pytest.mark.parametrize("max_iter", [0, 5])
def test_no_more_steps_are_taken_than_allowed(max_iter):
    case = svc_case(n=30)
    found = solve([case.problem(device=DEVICE)], limits=Limits(1e-6, max_iter))[0]
    assert (found.status, found.n_iter) == (Status.MAX_ITER, max_iter)
    is_certified(case, found)


@pytest.mark.skipif(DEVICE != "cuda", reason="takes 100,000 steps")
@pytest.mark.parametrize("name", ["poly", "linear"])
def test_unscaled_rows_end_with_a_true_gap_as_stalled_or_in_the_primal_form(name):
    X = 1e9 * np.random.default_rng(0).normal(size=(12, 2))
    sign = np.array([-1.0, 1, 1, -1, -1, 1, 1, -1, -1, 1, -1, 1])
    boxes = np.minimum(sign, 0), np.maximum(sign, 0)
    parameters = {"gamma": 1.0, "coef0": 1.0, "degree": 2}
    kernel = {"name": name, **(parameters if name == "poly" else {})}
    case = make_case(X, kernel, -sign, *boxes)
    found = solve_there(case, small=False)
    if found.beta is not None:
        is_certified(case, found)
        assert (found.status is Status.CONVERGED) == (found.gap < 1e-3)
        return
    f = X @ found.w + found.bias
    objective = 0.5 * found.w @ found.w + np.maximum(0, 1 - sign * f).sum()
    assert objective + found.objective <= 1.01e-3 * objective


@pytest.mark.skipif(DEVICE != "cuda", reason="takes 100,000 steps")
@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_a_stall_of_many_steps_is_handed_over(scale):
    X = scale * np.random.default_rng(0).normal(size=(300, 4))
    sign = np.random.default_rng(1).choice([-1.0, 1.0], 300)
    case = make_case(X, {"name": "linear"}, -sign, np.minimum(sign, 0), np.maximum(sign, 0))
    found = solve_there(case, small=False)
    assert found.status is Status.CONVERGED


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite_is_refused(bad):
    case = svc_case(n=30)
    K = case.K.copy()
    K[3, 5] = K[5, 3] = bad
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="not finite"):
        solve_there(given_case(K, *case.parts))


# --- kernel rows on a device ---


def test_the_verbs_are_those_of_the_naive_kernel_whatever_the_form_of_the_data():
    import torch

    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6), 2)
    K, some, beta = naive_kernel("rbf", X, gamma=0.5), np.array([3, 1, 4, 7]), rng.normal(size=30)
    twice = sparse.csr_matrix(
        (np.c_[X, X].ravel() / 2, np.tile(np.arange(4), 60), np.arange(0, 241, 8)), shape=X.shape
    )
    forms = X, sparse.csr_matrix(X), twice, torch.from_numpy(X).requires_grad_(), X + 2.0**20
    for form in forms:
        for cache_size in (None, 1e-3):
            formula = make_formula("rbf", X, gamma=0.5)
            kernel = kernel_of(form, formula, device=DEVICE, cache_size=cache_size)
            assert kernel.is_whole == (cache_size is None)
            assert_allclose(kernel.rows(some), K[some], atol=1e-9)
            assert_allclose(kernel.block(some, some), K[np.ix_(some, some)], atol=1e-9)
            assert_allclose(kernel.times(beta), K @ beta, atol=1e-9)
            moved = kernel.spread(some, beta[some], np.ones(4, dtype=bool))
            assert_allclose(moved, beta[some] @ K[some], atol=1e-9)


def test_given_matrices_and_functions_of_the_user_work_on_the_device():
    X = np.random.default_rng(0).normal(size=(20, 3))
    K = naive_kernel("rbf", X, gamma=0.5)
    given = kernel_of(K, make_formula("precomputed", K), device=DEVICE)
    assert_array_equal(given.rows(np.arange(20)), K)
    own = kernel_of(X, make_formula(lambda a, b: a @ b.T, X), device=DEVICE)
    assert_allclose(own.rows(np.arange(20)), X @ X.T)
    with pytest.raises(ValueError, match="must be a square matrix"):
        kernel_of(K[:3], make_formula("precomputed", K), device=DEVICE)


def test_products_are_in_full_precision_whatever_precision_torch_is_set_to():
    import torch

    X = np.random.default_rng(0).normal(size=(40, 30))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        kernel = kernel_of(X, make_formula("linear", X), device=DEVICE, dtype=np.float32)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert_allclose(kernel.rows(np.arange(40)), X @ X.T, atol=1e-4)


@pytest.mark.parametrize("on_host", [True, False])
def test_means_have_the_solution_of_the_cpu(on_host):
    case, rng = svc_case(n=40), np.random.default_rng(0)
    weights, chosen = rng.dirichlet(np.ones(40), size=1), rng.permutation(40)[:25]
    for data in (None, chosen):
        parts = [part if data is None else part[data] for part in case.parts]
        linear, lower, upper = (
            np.append(part, end) for part, end in zip(parts, (0.2, -np.inf, np.inf), strict=True)
        )
        found = []
        for device in ("cpu", DEVICE):
            kernel = case.problem(device=device).on
            if device == DEVICE and not on_host:
                in_small_blocks(kernel).spare_bytes = 0
            means = kernel.with_means(weights, data=data)
            problem = DualProblem(means, linear, lower, upper)
            first = solve([problem], limits=Limits(1e-5))
            found += solve([problem], first, Limits(1e-5))
        assert found[0].n_iter == found[1].n_iter == 0
        assert found[1].objective == pytest.approx(found[0].objective, rel=1e-6)
        assert_allclose(found[1].scores, found[0].scores, atol=1e-3)
        assert_allclose(
            means.data_scores(found[1].row_beta), case.K @ means.fold(found[1].row_beta), atol=1e-9
        )


def test_new_rows_are_scored_on_the_device():
    from semisvm.engine.gpu import scores_on_device

    rng = np.random.default_rng(0)
    new, support, weights = (rng.normal(size=size) for size in ((50, 4), (30, 4), (2, 30)))
    for offset in (0.0, 2.0**20):
        formula = make_formula("rbf", support, gamma=0.3)
        found = scores_on_device(
            new + offset, support + offset, weights, formula, DEVICE, np.float64
        )
        assert_allclose(found, naive_kernel("rbf", new, support, gamma=0.3) @ weights.T, atol=1e-6)


def test_a_device_too_full_says_what_to_do(monkeypatch):
    import torch

    from semisvm.engine.gpu.kernel import DeviceKernel
    from semisvm.engine.gpu.source import DeviceDataSource

    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    case = svc_case(n=16)
    with monkeypatch.context() as patch:
        patch.setattr(DeviceDataSource, "write_all", full)
        assert not case.problem(device=DEVICE).on.is_whole
    problem = case.problem(device=DEVICE, cache_size=1e-4)
    monkeypatch.setattr(DeviceKernel, "empty", full)
    with pytest.raises(MemoryError, match=r"does not fit the memory of device .* set cache_size"):
        solve([problem])
    monkeypatch.setattr(DeviceDataSource, "__init__", full)
    with pytest.raises(MemoryError, match="The data of 16 rows does not fit"):
        case.problem(device=DEVICE)


@pytest.mark.skipif(DEVICE != "cuda", reason="takes long in the interpreter")
@pytest.mark.parametrize("n", [300, 3_000, 9_000])
def test_large_problems_end_where_the_cpu_does(n):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, 8)) + 0.4 * sign[:, None]
    formula = make_formula("rbf", X)
    here, there = (
        solve([Problem.hinge(kernel_of(X, formula, device=device), sign, np.ones(n))])[0]
        for device in ("cpu", DEVICE)
    )
    assert there.objective == pytest.approx(here.objective, rel=1e-5)
    assert np.mean((there.decision_values > 0) == (here.decision_values > 0)) >= 0.999
