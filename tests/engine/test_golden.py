"""Optima of the papers' sets, found by earlier engines and other solvers: RBF at tolerance 1e-3, and
unscaled linear rows in either form.
"""

import numpy as np
import pytest
from scipy import sparse

from semisvm.engine import Problem, Status, make_formula, solve
from semisvm.engine.kernels import kernel_of
from studies.data import load

pytestmark = pytest.mark.data

# set, rows, C, gamma, cache_size; objective, bias, number of support rows
RBF = [
    ("adult", 3_000, 100.0, 0.5, None, -6080.70, -0.525, 2_476),
    ("adult", 3_000, 100.0, 0.5, 5.0, -6080.70, -0.525, 2_476),
    ("ijcnn1", 20_000, 10.0, 0.125, None, -21271.36, -3.383, 2_573),
    ("mnist", 2_000, 10.0, 0.125, None, -788.736, -0.122, 1_936),
    ("protein", 3_000, 10.0, 0.25, 10.0, -1008.90, -0.485, 2_716),
]


def signed(name, folder, n=None):
    data = load(name, folder)
    rows = np.flatnonzero(data.y >= 0)
    if n is not None:
        rows = rows[np.random.default_rng(0).permutation(len(rows))[:n]]
    return data.X[rows], np.where(data.y[rows] == 1, 1.0, -1.0)


@pytest.mark.parametrize(
    ("name", "n", "C", "gamma", "cache_size", "objective", "bias", "n_support"), RBF
)
def test_rbf(name, n, C, gamma, cache_size, objective, bias, n_support, paper_data):
    X, sign = signed(name, paper_data, n)
    X = sparse.csr_matrix(X, dtype=np.float64)
    kernel = kernel_of(X, make_formula("rbf", X, gamma=gamma), cache_size=cache_size)
    found = solve([Problem.hinge(kernel, sign, np.full(n, C))])[0]
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(objective, rel=1e-5)
    assert found.bias == pytest.approx(bias, abs=2e-3)
    assert np.count_nonzero(found.beta) == pytest.approx(n_support, rel=0.01)
    # The gap in float64 from the coefficients alone, on a sample of the rows.
    some = np.random.default_rng(1).permutation(n)[:500]
    exact = kernel_of(X, make_formula("rbf", X, gamma=gamma), dtype=np.float64, cache_size=1)
    used = np.flatnonzero(found.beta)
    gradient = exact.block(some, used) @ found.beta[used] - sign[some]
    bound, beta = sign[some] * C, found.beta[some]
    least = gradient[beta < np.maximum(bound, 0)].min()
    assert gradient[beta > np.minimum(bound, 0)].max() - least < 1e-3 + 2e-5


@pytest.mark.parametrize(("C", "objective"), [(1.0, 48.8757), (1e4, 177_683)])
def test_an_unscaled_linear_svm_that_stalls_is_certified_by_the_primal_form(
    C, objective, paper_data
):
    X, sign = signed("wdbc", paper_data)
    kernel = kernel_of(X, make_formula("linear", X))
    found = solve([Problem.hinge(kernel, sign, np.full(len(sign), C))])[0]
    assert found.status is Status.CONVERGED
    assert found.beta is None
    f = X @ found.w + found.bias
    primal = 0.5 * found.w @ found.w + C * np.maximum(0, 1 - sign * f).sum()
    assert primal == pytest.approx(objective, rel=1e-3)
    assert -found.objective <= primal <= 1.001 * -found.objective
    again = solve([Problem.hinge(kernel, sign, np.full(len(sign), 2 * C))], [found])[0]
    assert again.beta is None
    assert again.n_iter < 1_000  # the next one of a sequence does not try the dual form again
