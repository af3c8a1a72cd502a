"""Kernel PCA, the choice of its components and the width of its kernel against scikit-learn,
SciPy and loops.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import ttest_ind
from sklearn.decomposition import KernelPCA
from sklearn.feature_selection import f_classif

from semisvm.estimators.cluster_labels import f_statistic, median_gamma, select_components
from semisvm.kernels import kernel_rows, make_formula
from semisvm.kernels.spectrum import Components, kernel_pca, largest_eigenpairs
from semisvm.labels import encode


def few_labels():
    rng = np.random.default_rng(0)
    return rng.standard_normal((240, 2)), np.where(np.arange(240) < 24, np.arange(240) % 3, -1)


def our_pca(X, gamma, solver, n_components=8, least=0.0, cache_size=None):
    rows = kernel_rows(
        X, make_formula("rbf", X, gamma=gamma), dtype=np.float64, cache_size=cache_size
    )
    return kernel_pca(
        rows, n_components=n_components, least=least, solver=solver, rng=np.random.default_rng(0)
    )


@pytest.mark.parametrize(
    ("solver", "cache_size"),
    [("exact", None), ("truncated", None), ("truncated", 0.1), ("nystroem", None)],
)
def test_kernel_pca_is_scikit_learn_s(solver, cache_size):
    """Nystroem too: with fewer rows than landmarks it knows the whole kernel matrix."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    theirs = KernelPCA(8, kernel="rbf", gamma=0.3, eigen_solver="dense")
    scores = theirs.fit_transform(X)
    ours = our_pca(X, 0.3, solver, cache_size=cache_size)
    np.testing.assert_allclose(ours.eigenvalues, theirs.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(np.abs(ours.scores), np.abs(scores), atol=2e-4)
    np.testing.assert_allclose(ours.scores.mean(axis=0), 0, atol=1e-6)


def test_nystroem_with_few_landmarks_is_near(monkeypatch):
    monkeypatch.setattr("semisvm.kernels.spectrum.N_LANDMARKS", 100)
    X = np.random.default_rng(0).standard_normal((600, 2))
    exact = our_pca(X, 0.2, "exact", 4)
    near = our_pca(X, 0.2, "nystroem", 4)
    np.testing.assert_allclose(near.eigenvalues, exact.eigenvalues, rtol=0.01)
    correlation = [
        abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(near.scores.T, exact.scores.T, strict=True)
    ]
    assert min(correlation) > 0.999


def test_components_of_small_eigenvalue_are_not_offered():
    X = np.random.default_rng(0).standard_normal((100, 2))
    every = our_pca(X, 0.2, "exact", 50)
    some = our_pca(X, 0.2, "exact", 50, least=1e-2)
    assert len(some.eigenvalues) == (every.eigenvalues >= 1e-2 * every.eigenvalues[0]).sum() < 50


@pytest.mark.parametrize("solver", ["exact", "truncated", "nystroem"])
def test_rows_that_are_all_the_same_have_one_empty_component(solver):
    components = our_pca(np.ones((200, 2)), 1.0, solver)
    np.testing.assert_array_equal(components.scores, np.zeros((200, 1)))


def test_for_two_classes_the_statistic_is_hotelling_s_t2():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((60, 5)) + np.arange(5)
    codes = rng.integers(-1, 2, 60)
    scores[codes == 1] += 0.5
    first = scores[codes == 0]
    second = scores[codes == 1]
    n1 = len(first)
    n2 = len(second)
    textbook = []
    for a, b in zip(first.T, second.T, strict=True):
        # T^2 = (n1 n2 / (n1 + n2)) (mean1 - mean2)' S^-1 (mean1 - mean2), S the pooled covariance,
        # one column
        pooled = ((n1 - 1) * np.var(a, ddof=1) + (n2 - 1) * np.var(b, ddof=1)) / (n1 + n2 - 2)
        textbook.append(n1 * n2 / (n1 + n2) * (a.mean() - b.mean()) ** 2 / pooled)
    np.testing.assert_allclose(f_statistic(scores, codes), textbook)
    np.testing.assert_allclose(f_statistic(scores, codes), ttest_ind(first, second).statistic ** 2)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5))
def test_the_statistic_is_f_classif_of_the_labeled_rows(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes = np.concatenate(
        [np.arange(n_classes), rng.integers(-1, n_classes, 30)]
    )  # classes of one row among them
    scores = rng.standard_normal((len(codes), 4))
    labeled = codes >= 0
    np.testing.assert_allclose(
        f_statistic(scores, codes), f_classif(scores[labeled], codes[labeled])[0]
    )


def test_components_are_kept_up_to_the_share_of_their_statistics():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    components = Components(
        rng.standard_normal((60, 6)) + np.outer(codes, [0, 1, 0, 3, 2, 0]), np.arange(6.0)[::-1]
    )
    worth = f_statistic(components.scores, codes)
    for share in (0.3, 0.8, 0.95, 1.0):
        kept = []
        total = 0.0
        for column in sorted(range(6), key=lambda j: -worth[j]):
            if total >= share * worth.sum() * (1 - 1e-12):
                break
            kept.append(column)
            total += worth[column]
        assert select_components(components, codes, by="statistic", share=share).tolist() == kept
    assert select_components(components, codes, by="eigenvalue", share=0.5).tolist() == [0, 1]


def test_with_as_many_classes_as_labels_components_are_kept_by_eigenvalue():
    components = Components(
        np.random.default_rng(0).standard_normal((9, 3)), np.array([5.0, 3.0, 2.0])
    )
    codes = np.array([0, 1, 2] + [-1] * 6)
    assert select_components(components, codes, by="statistic", share=0.8).tolist() == [0, 1]


# ---- the width of the kernel ----


def gamma_of(X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return median_gamma(X, encode(y), weight, np.random.default_rng(0))


def test_sigma_is_the_median_distance_between_labeled_rows():
    X, y = few_labels()
    L = X[y >= 0]
    distances = [np.linalg.norm(L[i] - L[j]) for i in range(len(L)) for j in range(i)]
    assert gamma_of(X, y) == pytest.approx(1 / (2 * np.median(distances) ** 2))
    assert gamma_of(sparse.csr_array(X), y) == pytest.approx(gamma_of(X, y))


def test_a_weight_counts_as_copies_of_a_row():
    X, y, weight, copies = weighted_and_repeated()
    assert gamma_of(X, y, weight.astype(float)) == gamma_of(X[copies], y[copies])


def test_where_sigma_is_0_all_rows_are_asked_and_then_1_is_taken():
    X = np.array([[0.0], [0.0], [3.0], [3.0]])
    y = np.array([0, 1, -1, -1])
    assert gamma_of(X, y) == pytest.approx(1 / (2 * 9))
    assert gamma_of(np.zeros((4, 1)), y) == 0.5


# ---- weights ----


def weighted_and_repeated():
    """Rows with weights 1 to 3, and the same rows each repeated so often."""
    X, y = few_labels()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    return X, y, weight, np.repeat(np.arange(len(y)), weight)


@pytest.mark.parametrize("solver", ["exact", "truncated", "nystroem"])
def test_kernel_pca_counts_a_row_of_weight_two_twice(solver):
    X, _, weight, copies = weighted_and_repeated()
    rng = np.random.default_rng(0)
    same = {"n_components": 6, "least": 0.0, "rng": rng}
    formula = make_formula("rbf", X, gamma=0.5)
    one = kernel_rows(X, formula, dtype=np.float64)
    weighted = kernel_pca(one, solver=solver, weight=weight.astype(float), **same)
    repeated = kernel_pca(kernel_rows(X[copies], formula, dtype=np.float64), solver="exact", **same)
    np.testing.assert_allclose(weighted.eigenvalues, repeated.eigenvalues, rtol=1e-5)
    np.testing.assert_allclose(weighted.scores[copies], repeated.scores, atol=2e-4)


def test_the_statistic_counts_a_row_of_weight_two_twice():
    X, y, weight, copies = weighted_and_repeated()
    np.testing.assert_allclose(
        f_statistic(X, y, weight.astype(float)), f_statistic(X[copies], y[copies])
    )
    np.testing.assert_allclose(f_statistic(X, y, np.ones(len(y))), f_statistic(X, y))


# ---- eigenpairs ----


def test_lanczos_finds_the_eigenvectors_of_lapack():
    A = sparse.random(2500, 2500, density=0.004, random_state=0)
    matrix = sparse.csr_matrix(A + A.T)
    values, vectors = largest_eigenpairs(matrix, 6)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-7)
    np.testing.assert_allclose(
        values, np.sort(np.linalg.eigvalsh(matrix.toarray()))[::-1][:6], atol=1e-9
    )
