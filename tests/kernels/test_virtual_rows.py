"""Rows that are means of data rows: the kernel of the means is the kernel of the mean vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from oracles import naive_kernel
from semisvm.dual import DualProblem, solve
from semisvm.kernels import kernel_rows, make_formula
from semisvm.kernels.virtual import VirtualRows


def rows_of(X, kernel="linear", **how):
    return kernel_rows(X, make_formula(kernel, X, gamma=0.5), dtype=np.float64, **how)


def extended(K, weights):
    """The extended matrix by its definition."""
    B = np.vstack([np.eye(len(K)), np.atleast_2d(weights)])
    return B @ K @ B.T


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_mean_in_the_linear_kernel_is_the_mean_vector(as_input):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    weights = rng.dirichlet(np.ones(12), size=2)
    both = np.vstack([X, weights @ X])
    rows = VirtualRows(rows_of(as_input(X)), weights)
    rows.require(np.arange(14))
    assert_allclose(rows.values[rows.slot], both @ both.T, atol=1e-12)
    assert_allclose(rows.diagonal, (both**2).sum(axis=1), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 9),
    m=st.integers(1, 3),
    budget=st.sampled_from([None, 1e-4]),
)
def test_any_kernel_extends_by_its_definition_in_whatever_order_rows_are_required(
    seed, n, m, budget
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    weights = rng.normal(size=(m, n))
    data = rows_of(X, "rbf", cache_size=budget)
    data.require(rng.permutation(n)[: n // 2])
    rows = VirtualRows(data, weights)
    K = extended(np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)), weights)
    for row in rng.permutation(n + m):
        rows.require(np.array([row]))
        assert_allclose(rows.values[rows.slot[row]], K[row], atol=1e-12)
    coefficients = rng.normal(size=n + m)
    assert_allclose(rows.times(coefficients), K @ coefficients, atol=1e-10)


def test_folding_gives_the_same_scores_from_the_data_rows_alone():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 2))
    weights = rng.normal(size=(2, 8))
    beta = rng.normal(size=10)
    rows = VirtualRows(rows_of(X, "rbf"), weights)
    assert_allclose(rows_of(X, "rbf").times(rows.fold(beta)), rows.times(beta)[:8], atol=1e-12)


def test_a_free_variable_on_a_mean_fixes_the_mean_of_f():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 2))
    sign = np.repeat([1.0, -1.0], 10)
    rows = VirtualRows(rows_of(X, "rbf"), np.full(20, 1 / 20))
    problem = DualProblem(
        rows,
        linear=-np.append(sign, 0.3),
        lower=np.append(np.minimum(sign, 0), -np.inf),
        upper=np.append(np.maximum(sign, 0), np.inf),
    )
    found = solve(problem, tol=1e-9)
    assert found.decision_values[:20].mean() == pytest.approx(0.3, abs=1e-8)


def test_rows_already_made_are_copied_and_none_is_added():
    X = np.random.default_rng(3).normal(size=(10, 2))
    data = rows_of(X)
    data.require(np.arange(10))
    made = data.n_made
    rows = VirtualRows(data, np.full(10, 0.1))
    rows.require(np.arange(11))
    assert data.n_made == made
    assert_allclose(rows.values[rows.slot[:10], :10], X @ X.T, atol=1e-12)


def test_a_precomputed_kernel_extends_too():
    X = np.random.default_rng(4).normal(size=(6, 2))
    K = X @ X.T
    rows = VirtualRows(rows_of(K, "precomputed"), np.full(6, 1 / 6))
    rows.require(np.arange(7))
    assert_allclose(rows.values[rows.slot], extended(K, np.full(6, 1 / 6)), atol=1e-12)


def test_weights_of_another_length_are_refused():
    with pytest.raises(ValueError, match="weights has 3 columns, but the kernel has 5 rows"):
        VirtualRows(rows_of(np.eye(5)), np.ones(3))


@pytest.mark.parametrize("held", [0, 3, 9])
def test_some_of_the_rows_with_the_means_of_all_of_them(held):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(9, 2))
    weights = rng.normal(size=(2, 9))
    chosen = np.array([1, 4, 8])
    data = rows_of(X, "rbf")
    data.require(np.arange(held))
    rows = VirtualRows(
        data,
        weights,
        products=weights @ naive_kernel("rbf", X, gamma=0.5),
        rows=chosen,
        dtype=np.float64,
    )
    K = extended(naive_kernel("rbf", X, gamma=0.5), weights)
    in_use = np.append(chosen, [9, 10])
    rows.require(np.arange(5))
    assert_allclose(rows.values[rows.slot], K[np.ix_(in_use, in_use)], atol=1e-12)
    beta = rng.normal(size=5)
    assert_allclose(rows.data_scores(beta), K[:9, in_use] @ beta, atol=1e-12)
    assert_allclose(K[:9, :9] @ rows.fold(beta), K[:9, in_use] @ beta, atol=1e-12)


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_matrix])
def test_sums_of_linear_rows_need_no_rows(as_input):
    X = np.random.default_rng(6).normal(size=(20, 3))
    data = rows_of(as_input(X))
    coefficients = np.linspace(-1, 1, 20)
    data.require(np.arange(5))
    assert_allclose(data.times(coefficients), X @ X.T @ coefficients, atol=1e-12)
    assert data.n_made == 5


@pytest.mark.parametrize("in_use", [None, [0, 2, 5, 7]], ids=["all rows", "some rows"])
def test_values_between_any_rows_are_those_of_the_extended_matrix(in_use):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(8, 2))
    weights = rng.normal(size=(3, 8))
    used = np.arange(8) if in_use is None else np.array(in_use)
    rows = VirtualRows(rows_of(X, "rbf"), weights, rows=used)
    all_of_them = np.append(used, [8, 9, 10])
    K = extended(np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)), weights)[
        np.ix_(all_of_them, all_of_them)
    ]
    last = len(K) - 1  # the order is mixed, and means are at both ends of it
    for some, others in [
        ([last, 0, last - 2, 1], [2, last - 1, 0]),
        ([1, 0], [last, last - 2]),
        ([last], [last, 1]),
    ]:
        found = rows.between(np.array(some), np.array(others))
        assert_allclose(found, K[np.ix_(some, others)], atol=1e-12)
