"""Solves that pairwise steps can't finish: exact steps do, or they end as "stalled" after a
bounded number of steps.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from oracles import gap_by_definition, optimum
from semisvm import PreferenceSVC, SupervisedSVC, TransductiveSVC
from semisvm.dual import DualProblem, Status, advance, host, solve
from semisvm.dual.advance import EXACT_AFTER
from semisvm.dual.host import STEPS_OF_SMALL_BEFORE_STALL
from semisvm.kernels import kernel_rows, make_formula

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SIGN = np.array(
    [-1.0, 1, 1, -1, -1, 1, 1, -1, -1, 1, -1, 1]
)  # has nothing to do with the rows: not separable


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(12, 2))
    X[1::2] += 0.8
    return X


def svc(X, C=1.0):
    kernel = kernel_rows(X, make_formula("linear", X), dtype=np.float64)
    return DualProblem(kernel, -SIGN, C * np.minimum(SIGN, 0), C * np.maximum(SIGN, 0))


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_a_linear_kernel_of_unscaled_features_that_are_not_separable_converges_in_exact_steps(
    X, scale
):
    found = solve(svc(X * scale))
    assert found.status is Status.CONVERGED
    assert found.n_iter < 200_000
    assert np.abs(found.beta).max() <= 1
    assert abs(found.beta.sum()) < 1e-9
    linear = -SIGN
    lower = np.minimum(SIGN, 0)
    upper = np.maximum(SIGN, 0)
    assert (
        gap_by_definition(X @ X.T * scale**2, linear, lower, upper, found.beta) < 1e-2
    )  # 1e-3 and rounding
    # Beyond a scale of 100 the objective hardly changes, and there the interior point method still
    # converges.
    assert found.objective == pytest.approx(
        optimum(X @ X.T * 1e4, linear, lower, upper)[1], rel=1e-3
    )


@pytest.mark.parametrize(("seed", "n", "d"), [(1, 30, 3), (2, 100, 5), (3, 60, 1)])
def test_exact_steps_reach_the_optimum_of_an_interior_point_method(seed, n, d):
    rng = np.random.default_rng(seed)
    X = np.round(100 * rng.normal(size=(n, d)))
    sign = rng.choice([-1.0, 1.0], n)
    parts = -sign, np.minimum(sign, 0), np.maximum(sign, 0)
    found = solve(DualProblem(kernel_rows(X, make_formula("linear", X), dtype=np.float64), *parts))
    assert found.status is Status.CONVERGED
    assert found.n_iter > EXACT_AFTER
    assert found.objective == pytest.approx(optimum(X @ X.T, *parts)[1], rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("C", "kernel"), [(1e5, "rbf"), (1e3, "linear")])
def test_a_huge_price_is_solved_by_exact_steps_in_a_fraction_of_the_pairwise_ones(
    C, kernel, dtype, monkeypatch
):
    rng = np.random.default_rng(1)
    n = 200
    X = rng.normal(size=(n, 3))
    sign = np.sign(X[:, 0] + 0.8 * rng.normal(size=n))
    rows = kernel_rows(X, make_formula(kernel, X, gamma=0.2), dtype=dtype)
    problem = DualProblem(rows, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))
    found = solve(problem)
    monkeypatch.setattr(advance, "MOST_FREE", 0)
    pairwise = solve(problem)
    K = rows.fetch(np.arange(n)).astype(np.float64)
    assert found.status is pairwise.status is Status.CONVERGED
    assert gap_by_definition(K, problem.linear, problem.lower, problem.upper, found.beta) < 1e-3
    assert found.gap < 1e-3
    assert abs(found.beta.sum()) < 1e-9 * C * n
    assert found.objective <= pairwise.objective + 1e-7 * abs(pairwise.objective)
    assert 2 * found.n_iter < pairwise.n_iter


def test_a_kernel_whose_sums_are_rounding_stalls_soon(X):
    for scale in (1e9, 1e30):
        found = solve(svc(X * scale))
        assert found.status is Status.STALLED
        assert found.n_iter <= 2 * STEPS_OF_SMALL_BEFORE_STALL
        assert np.abs(found.beta).max() <= 1
        assert abs(found.beta.sum()) < 1e-9


@pytest.mark.usefixtures("cpu_way")
@pytest.mark.parametrize("tol", [1e-14, 1e-300])
def test_a_tolerance_below_rounding_stalls_at_a_gap_of_rounding(X, tol):
    found = solve(svc(X, C=100), tol=tol)
    assert found.status in (Status.CONVERGED, Status.STALLED)
    assert found.gap < 1e-12
    assert found.n_iter <= 200_000
    assert found.objective == pytest.approx(solve(svc(X, C=100), tol=1e-6).objective, rel=1e-9)


@pytest.mark.usefixtures("cpu_way")
@pytest.mark.parametrize("scale", [1e20, 1e30, 1e60])
def test_kernel_values_beyond_float32_still_find_a_partner_that_makes_progress(X, scale):
    X[SIGN > 0] += 10  # separable now
    found = solve(svc(X * scale))
    expected = solve(svc(X, C=1e6), tol=1e-9)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.beta * scale**2, expected.beta, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize(
    ("method", "scale"),
    [
        (TransductiveSVC(algorithm="anneal", kernel="linear"), 1e30),
        (TransductiveSVC(algorithm="anneal", kernel="linear"), 1e4),
        (TransductiveSVC(algorithm="switch", kernel="linear"), 1e6),
        (TransductiveSVC(algorithm="anneal", C=1e20), 1.0),
        (TransductiveSVC(tol=1e-300), 1.0),
        (PreferenceSVC(tol=1e-300), 1.0),
        (PreferenceSVC(kernel="linear"), 1e30),
        (SupervisedSVC(kernel="linear", tol=1e-300), 1e30),
    ],
    ids=str,
)
def test_twelve_rows_end_soon_whatever_is_asked(X, method, scale):
    y = np.where(np.arange(12) < 6, np.arange(12) % 2, -1)
    model = method.fit(X * scale, y)
    assert model.n_iter_ < 5_000_000
    assert np.isfinite(model.decision_function(X * scale)).all()


def test_a_solve_goes_on_while_its_gap_narrows_though_the_objective_is_at_its_rounding():
    state = SimpleNamespace(
        beta=np.zeros((1, 200)), n_iter=0, n_rounds=0, objective=-1.0, largest=1.0
    )
    progress = host._Progress(state)
    for gap in (1e-9, 1e-10, 1e-11):
        state.n_iter += 10_000
        assert progress.continues(state, gap)
    state.n_iter += 10_000
    assert not progress.continues(state, 1e-11)
