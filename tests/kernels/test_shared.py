"""SharedKernel: the values of the kernel, computed once, in every slice, copy and thread."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV

from semisvm import (
    LaplacianSVC,
    PositiveUnlabeledSVC,
    PreferenceSVC,
    SemiSupervisedKFold,
    TransductiveSVC,
)
from semisvm.kernels import SharedKernel, shared


def rows(is_sparse=False):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 5)) + 1.5 * truth[:, None]
    X[np.abs(X) < 0.5] = 0
    return (sparse.csr_matrix(X) if is_sparse else X), np.where(np.arange(120) < 60, truth, -1)


@pytest.fixture
def n_made(monkeypatch):
    """How often kernel values were computed."""
    made = []
    compute = shared.cross_kernel

    def counted(formula, left, right):
        made.append((left.shape[0], right.shape[0]))
        return compute(formula, left, right)

    monkeypatch.setattr(shared, "cross_kernel", counted)
    return made


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_slices_have_the_values_of_the_kernel_which_are_computed_once(n_made, kernel, is_sparse):
    X, _ = rows(is_sparse)
    values = SharedKernel(X, kernel, gamma=0.3, coef0=0.5, degree=2)
    parameters = {} if kernel == "linear" else {"gamma": 0.3}
    if kernel in ("poly", "sigmoid"):
        parameters["coef0"] = 0.5
    if kernel == "poly":
        parameters["degree"] = 2
    expected = pairwise_kernels(X, metric=kernel, **parameters)
    order = np.random.default_rng(1).permutation(120)
    for left, right in ((order[:100], order[40:]), (order[:5], order[:110]), (order, order)):
        assert_allclose(values(X[left], X[right]), expected[np.ix_(left, right)])
    assert n_made == [(120, 120)]
    new = X[:3] * 2
    assert_allclose(values(new, X), pairwise_kernels(new, X, metric=kernel, **parameters))
    assert n_made[1:] == [(3, 120)]


@pytest.mark.filterwarnings("ignore::UserWarning")  # some cells are bad on purpose
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (TransductiveSVC(tol=1e-6), {"C": [0.3, 3.0], "C_unlabeled": [0.1, 1.0]}),
        (PreferenceSVC(min_precision=0.6, random_state=0, tol=1e-6), {"C": [0.3, 3.0]}),
        (LaplacianSVC(tol=1e-6), {"C": [0.3, 3.0]}),
        (PositiveUnlabeledSVC(random_state=0, tol=1e-6), {"C": [0.3, 3.0]}),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_grid_search_gives_what_it_gives_without(n_made, estimator, grid):
    X, y = rows()
    cv = SemiSupervisedKFold(2)
    if isinstance(estimator, PositiveUnlabeledSVC):
        y = np.where(y == 1, 1, -1)
        cv = 2
    gammas = (0.05, 0.5)
    plain = GridSearchCV(estimator, grid | {"gamma": gammas}, cv=cv, refit=False).fit(X, y)
    kernels = [SharedKernel(X, gamma=gamma) for gamma in gammas]
    search = GridSearchCV(estimator, grid | {"kernel": kernels}, cv=cv, refit=False).fit(X, y)
    assert n_made == [(120, 120)] * 2  # one matrix for each gamma
    scores = {
        (cell.pop("gamma"), *sorted(cell.items())): score
        for cell, score in zip(
            plain.cv_results_["params"], plain.cv_results_["mean_test_score"], strict=True
        )
    }
    for cell, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        key = (cell.pop("kernel").gamma, *sorted(cell.items()))
        assert score == pytest.approx(scores[key], abs=1 / 30)  # one row of a fold: rounding


def test_copies_share_the_matrix_and_other_processes_make_their_own(n_made):
    X, _ = rows()
    kernel = SharedKernel(X, gamma="scale")
    assert kernel.gamma == pytest.approx(1 / (5 * X.var()))
    assert clone(TransductiveSVC(kernel=kernel)).kernel is kernel
    expected = kernel(X[:7], X)
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(X[:7], X), expected)
    assert len(pickle.dumps(kernel)) < 2 * X.nbytes
    assert n_made == [(120, 120)] * 2
    assert repr(SharedKernel(X, gamma=0.5)) == "SharedKernel(rbf, gamma=0.5, 120 rows)"
    assert repr(SharedKernel(X, "linear")) == "SharedKernel(linear, 120 rows)"


def test_threads_share_the_matrix(n_made):
    X, _ = rows()
    kernel = SharedKernel(X, gamma=0.4)
    expected = pairwise_kernels(X, metric="rbf", gamma=0.4)
    parts = [np.random.default_rng(k).permutation(120)[:110] for k in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: kernel(X[part], X[part[::-1]]), parts))
    for part, values in zip(parts, found, strict=True):
        assert_allclose(values, expected[np.ix_(part, part[::-1])])
    assert n_made == [(120, 120)]


@pytest.mark.parametrize("kernel", ["precomputed", lambda left, right: left @ right.T, "nonsense"])
def test_what_can_not_be_shared_is_refused(kernel):
    with pytest.raises(ValueError, match="kernel must be"):
        SharedKernel(np.eye(3), kernel)


def test_a_gamma_that_is_none_is_refused():
    with pytest.raises(ValueError, match="gamma must be positive"):
        SharedKernel(np.eye(3), gamma=-1)
