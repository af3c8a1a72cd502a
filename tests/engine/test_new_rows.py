"""Scores of new rows against a double loop, scikit-learn, and themselves on other blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from semisvm.engine import make_formula
from semisvm.engine.formula import Formula
from semisvm.engine.kernels.new_rows import scores_of_new_rows

KERNELS = ["linear", "rbf", "poly", "sigmoid"]
PARAMETERS = {"gamma": 0.3, "coef0": 0.5, "degree": 2}


def rows_and_support(n=60, n_support=25, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, d)), rng.standard_normal((n_support, d))
    X[np.abs(X) < 0.5], Z[np.abs(Z) < 0.5] = 0, 0
    return X, Z, rng.standard_normal((3, n_support))


def expected(kernel, X, Z, coefficients):
    used = {"linear": (), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
    names = used.get(kernel, tuple(PARAMETERS))
    return pairwise_kernels(X, Z, kernel, **{k: PARAMETERS[k] for k in names}) @ coefficients.T


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("left", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("right", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n", [60, 3_000], ids=["NumPy", "compiled"])
def test_scores_are_those_of_scikit_learn_s_kernels(kernel, left, right, n):
    X, Z, coefficients = rows_and_support(n, 400 if n > 60 else 25)
    formula = make_formula(kernel, X, **PARAMETERS)
    found = scores_of_new_rows(left(X), right(Z), coefficients, formula)
    assert_allclose(found, expected(kernel, X, Z, coefficients), atol=1e-10)
    if n == 60:
        kernels = [[[kernel_value(kernel, x, z) for z in Z] for x in X]]
        assert_allclose(found, np.array(kernels[0]) @ coefficients.T, atol=1e-10)


def kernel_value(kernel, x, z):
    gamma, coef0, degree = PARAMETERS.values()
    return {
        "linear": x @ z,
        "rbf": np.exp(-gamma * ((x - z) ** 2).sum()),
        "poly": (gamma * (x @ z) + coef0) ** degree,
        "sigmoid": np.tanh(gamma * (x @ z) + coef0),
    }[kernel]


@pytest.mark.parametrize("kernel", KERNELS)
def test_they_are_the_decision_values_of_libsvm(kernel):
    X, Z, _ = rows_and_support(200)
    y = np.sign(Z[:, 0] + 0.01)
    model = SVC(kernel=kernel, **PARAMETERS).fit(Z, y)
    formula = make_formula(kernel, Z, **PARAMETERS)
    found = scores_of_new_rows(X, model.support_vectors_, model.dual_coef_, formula)
    assert_allclose(found[:, 0] + model.intercept_[0], model.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("n", [20, 3_000])
def test_rows_far_from_the_origin_are_scored_as_those_near_it(n):
    X, Z, coefficients = rows_and_support(n, 400)
    formula = Formula("rbf", 0.3)
    near, far = (scores_of_new_rows(X + c, Z + c, coefficients, formula) for c in (0, 1e6))
    assert_allclose(far, near, atol=1e-6)
    assert_allclose(
        scores_of_new_rows(X.astype(np.float32), Z, coefficients, formula), near, atol=1e-4
    )


def test_neither_threads_nor_blocks_change_a_score(monkeypatch):
    X, Z, coefficients = rows_and_support(3_000, 400)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(scores_of_new_rows(X, Z, coefficients, Formula("rbf", 0.3)))
    assert_array_equal(*found)
    few = scores_of_new_rows(X[7:9], Z, coefficients, Formula("rbf", 0.3))
    assert_allclose(few, found[0][7:9], atol=1e-12)


def test_the_user_s_own_function_is_called_with_two_blocks_and_its_answer_is_checked():
    X, Z, coefficients = rows_and_support()
    calls = []

    def function(left, right):
        calls.append((left.shape, right.shape))
        return np.minimum(left[:, None], right).sum(axis=2)

    found = scores_of_new_rows(X, Z, coefficients, Formula("callable", function=function))
    assert_allclose(found, np.minimum(X[:, None], Z).sum(axis=2) @ coefficients.T)
    assert set(calls) == {((60, 5), (25, 5))}
    wrong = Formula("callable", function=lambda left, right: np.ones(3))
    with pytest.raises(ValueError, match="one value for each pair"):
        scores_of_new_rows(X, Z, coefficients, wrong)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_precomputed_kernel_brings_its_own_values(form):
    rng = np.random.default_rng(0)
    K, coefficients = rng.random((7, 4)), rng.random((2, 4))
    found = scores_of_new_rows(form(K), None, coefficients, Formula("precomputed"))
    assert_allclose(found, K @ coefficients.T)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("n", "n_support"), [(5, 0), (0, 5)])
def test_nothing_scores_nothing(kernel, n, n_support):
    X, Z, coefficients = rows_and_support(max(n, 1), max(n_support, 1))
    found = scores_of_new_rows(X[:n], Z[:n_support], coefficients[:, :n_support], Formula(kernel))
    assert_array_equal(found, np.zeros((n, 3)))


def test_values_that_are_not_finite_come_without_a_warning():
    X, Z, coefficients = rows_and_support()
    found = scores_of_new_rows(1e200 * X, 1e200 * Z, coefficients, Formula("poly", degree=3))
    assert not np.isfinite(found).all()
