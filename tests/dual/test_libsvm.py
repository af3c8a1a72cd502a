"""The dual solver gives LIBSVM's answers."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dual_cases import KERNELS, svc_case
from oracles import objective_by_definition
from paper_sets import paper_set
from semisvm.dual import DualProblem, Status, solve
from semisvm.kernels import kernel_rows, make_formula, scores_of_new_rows

pytestmark = pytest.mark.usefixtures("cpu_way")


@pytest.mark.parametrize(
    "kernel", [{"name": "rbf", "gamma": 0.3}, {"name": "linear"}, KERNELS["poly"]], ids=str
)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_decision_values_are_those_of_libsvm(kernel, C):
    case = svc_case(seed=1, n=200, C=C, kernel=kernel)
    name, *_ = kernel.values()
    parameters = {key: value for key, value in kernel.items() if key != "name"}
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(case.X))
    case = replace(case, lower=case.lower * weights, upper=case.upper * weights)
    libsvm = SVC(C=C, kernel=name, tol=1e-6, **parameters).fit(
        case.X, case.linear < 0, sample_weight=weights
    )
    solution = solve(case.problem(), tol=1e-6)
    assert_allclose(solution.decision_values, libsvm.decision_function(case.X), rtol=0, atol=1e-5)
    assert solution.objective == pytest.approx(libsvm_objective(libsvm, case.K), rel=1e-7)


def test_float32_rows_at_the_usual_tolerance_give_libsvms_objective():
    for seed in range(5):
        case = svc_case(seed, n=300, C=3.0)
        libsvm = SVC(C=3.0, gamma=0.5, tol=1e-6).fit(case.X, case.linear < 0)
        solution = solve(case.problem(np.float32), tol=1e-3)
        assert solution.objective == pytest.approx(libsvm_objective(libsvm, case.K), rel=1e-5)


@functools.cache
def libsvm_on_a_part(name, share, C, gamma, paper_data):
    """LIBSVM on a share of a set of the papers: rows, signs, its model, and held-out rows with its
    scores.
    """
    data = paper_set(name, paper_data)
    order = np.random.default_rng(0).permutation(np.flatnonzero(data.y >= 0))
    train = order[: round(share * len(order))]
    X = data.X[train]
    sign = 2.0 * data.y[train] - 1
    model = SVC(C=C, gamma=gamma, tol=1e-3, cache_size=500).fit(X, sign)
    held_out = data.X[order[-1000:]]
    return X, sign, model, held_out, model.decision_function(held_out)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "share", "C", "gamma"),
    [("adult", 0.1, 100, 0.5), ("ijcnn1", 0.1, 10, 0.125), ("protein", 0.05, 10, 0.25)],
)
def test_a_part_of_the_papers_sets_gives_libsvms_objective_and_predictions(
    name, share, C, gamma, paper_data
):
    X, sign, libsvm, held_out, their_scores = libsvm_on_a_part(name, share, C, gamma, paper_data)
    formula = make_formula("rbf", X, gamma=gamma)
    problem = DualProblem(
        kernel_rows(X, formula), -sign, np.minimum(0, C * sign), np.maximum(0, C * sign)
    )
    solution = solve(problem, tol=1e-3)
    support = libsvm.support_vectors_
    theirs = objective_by_definition(
        rbf_kernel(support, gamma=gamma), -sign[libsvm.support_], dual_coef(libsvm)
    )
    used = np.flatnonzero(solution.beta)
    scores = (
        scores_of_new_rows(held_out, X[used], solution.beta[None, used], formula)[:, 0]
        + solution.bias
    )
    agree = (scores > 0) == (their_scores > 0)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(theirs, rel=1e-5)
    assert agree.mean() >= 0.999


def dual_coef(libsvm):
    coefficients = libsvm.dual_coef_
    return np.asarray(
        coefficients.todense() if hasattr(coefficients, "todense") else coefficients
    ).ravel()


def libsvm_objective(libsvm, K):
    beta = np.zeros(len(K))
    beta[libsvm.support_] = dual_coef(libsvm)
    return objective_by_definition(K, -np.sign(beta), beta)
