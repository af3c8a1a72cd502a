"""Graphs, deformed kernels and spectra: against a double loop, the formula in full, and
scikit-learn.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from semisvm.engine import make_formula
from semisvm.engine.kernels import kernel_of, spectrum
from semisvm.engine.kernels.deformed import deform, most_nodes
from semisvm.engine.kernels.graphs import (
    GraphPenalty,
    graph_penalty,
    link_nearest,
    link_nearest_by_kernel,
    sample_nodes,
)
from semisvm.engine.kernels.spectrum import kernel_pca, largest_eigenpairs, weighted_median
from semisvm.errors import UndefinedError


def points(n=40, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def links_by_hand(distance, n_neighbors):
    """W from all distances: i and j are linked where either is among the nearest of the other."""
    n = len(distance)
    asked = np.zeros((n, n), dtype=bool)
    for i in range(n):
        nearest = [j for j in np.argsort(distance[i], kind="stable") if j != i][:n_neighbors]
        asked[i, nearest] = True
    width = distance[asked].mean()
    return np.where(asked | asked.T, np.exp(-0.5 * (distance / width) ** 2), 0.0)


def distances(X):
    return np.array([[np.linalg.norm(x - z) for z in X] for x in X])


def kernel_with(K):
    return SimpleNamespace(n_rows=len(K), rows=lambda rows: K[rows])


# ---- graphs ----


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_links_are_those_of_a_double_loop(form):
    X = points()
    expected = links_by_hand(distances(X), 4)
    assert_allclose(link_nearest(form(X), 4).toarray(), expected, atol=1e-9)
    K = rbf_kernel(X, gamma=0.2)
    apart = np.sqrt(np.maximum(2 - 2 * K, 0))
    assert_allclose(link_nearest_by_kernel(K, 4).toarray(), links_by_hand(apart, 4), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_and_equal_rows_are_graphs_too(n):
    for X in (points(n), np.zeros((n, 2))):
        L = graph_penalty(link_nearest(X, 6), np.ones(n), power=2).matrix.toarray()
        assert np.isfinite(L).all()
        assert np.linalg.eigvalsh(L).min() > -1e-12


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_a_node_of_mass_two_is_two_rows(power):
    """h' L^p h of the merged graph is that of the graph in which the copies stand apart, with the
    same links; of masses 1 it is the power of the normalized Laplacian.
    """
    rng = np.random.default_rng(0)
    X, h, mass = points(15), rng.normal(size=15), rng.integers(1, 4, 15)
    links = link_nearest(X, 3)
    penalty = graph_penalty(links, mass.astype(float), power=power)
    apart = np.repeat(np.arange(15), mass)
    W = links.toarray()[np.ix_(apart, apart)]
    degree = W.sum(axis=1)
    L = np.diag(W.sum(axis=1) / degree) - W / np.sqrt(np.outer(degree, degree))
    expected = h[apart] @ np.linalg.matrix_power(L, power) @ h[apart]
    assert h @ penalty.matrix @ h == pytest.approx(expected)
    if power % 2 == 0:
        assert_allclose(
            (penalty.root.T @ penalty.root).toarray(), penalty.matrix.toarray(), atol=1e-9
        )
    else:
        assert penalty.root is None


def test_a_sample_of_nodes_keeps_as_many_columns_as_are_allowed():
    columns = np.array([3, 5, 8, 90])
    nodes, kept = sample_nodes(100, columns, 20, 3)
    assert len(nodes) == len(np.unique(nodes)) == 20
    assert len(kept) == 3
    assert set(kept) == set(nodes) & set(columns)
    everything, kept = sample_nodes(100, columns, 200, 10)
    assert_array_equal(everything, np.arange(100))
    assert_array_equal(kept, columns)


# ---- deformed kernels ----


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("factor", [0.0, 0.3, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_deformed_kernel_is_the_formula_in_full(power, factor, dtype):
    X, columns = points(60), np.array([3, 7, 30, 59])
    penalty = factor * graph_penalty(link_nearest(X, 5), np.ones(60), power=power)
    kernel = kernel_of(X, make_formula("rbf", X, gamma=0.5), dtype=dtype)
    found = deform(kernel, penalty, columns)
    K, L = rbf_kernel(X, gamma=0.5), penalty.matrix.toarray()
    full = K - K @ np.linalg.solve(np.eye(60) + L @ K, L @ K)
    atol = 1e-10 if dtype == np.float64 else 1e-4
    assert_allclose(found.values, full[:, columns], atol=atol)
    assert_allclose(K @ found.coefficients, full[:, columns], atol=atol)
    between = found.between(columns)
    assert_allclose(between, full[np.ix_(columns, columns)], atol=atol)
    assert_array_equal(between, between.T)


def test_a_kernel_that_is_no_inner_product_is_solved_too():
    X, columns = points(30), np.arange(5)
    K = -5 * rbf_kernel(X)
    penalty = 3.0 * graph_penalty(link_nearest(X, 4), np.ones(30), power=2)
    found = deform(kernel_with(K), penalty, columns)
    residual = (np.eye(30) + penalty.matrix @ K) @ found.coefficients - np.eye(30)[:, columns]
    assert np.abs(residual).max() < 1e-8


def test_the_size_of_a_graph_follows_from_the_memory():
    assert most_nodes(20 * 5_000**2) == 5_000
    assert most_nodes(19 * 5_000**2) < 5_000


def test_a_factor_multiplies_a_penalty_and_its_root():
    root = sparse.csr_matrix(points(6, 6))
    scaled = 9.0 * GraphPenalty(sparse.csr_matrix(root.T @ root), root)
    assert_allclose((scaled.root.T @ scaled.root).toarray(), scaled.matrix.toarray())


# ---- spectra ----


def pca(X, gamma=0.3, n_components=8, least=0.0, **details):
    kernel = kernel_of(X, make_formula("rbf", X, gamma=gamma), dtype=np.float64)
    rng = np.random.default_rng(0)
    return kernel_pca(kernel, n_components=n_components, least=least, rng=rng, **details)


@pytest.mark.parametrize("way", ["LAPACK", "Lanczos", "Nystroem"])
def test_kernel_pca_is_scikit_learn_s(way, monkeypatch):
    """Nystroem too: with fewer rows than landmarks it knows the whole kernel matrix."""
    if way == "Nystroem":
        monkeypatch.setattr(spectrum, "MANY_ROWS", 0)
    X = points(100 if way == "LAPACK" else 200, 3)
    theirs = KernelPCA(8, kernel="rbf", gamma=0.3, eigen_solver="dense")
    scores = theirs.fit_transform(X)
    ours = pca(X)
    assert_allclose(ours.eigenvalues, theirs.eigenvalues_, rtol=1e-5)
    assert_allclose(np.abs(ours.scores), np.abs(scores), atol=2e-4)
    assert_allclose(ours.scores.mean(axis=0), 0, atol=1e-6)
    assert (ours.scores.max(axis=0) >= -ours.scores.min(axis=0)).all()
    some = pca(X, least=0.3)
    assert len(some.eigenvalues) == (ours.eigenvalues >= 0.3 * ours.eigenvalues[0]).sum() < 8


def test_landmarks_of_many_rows_are_near_the_whole():
    X = points(4_100, 2)
    near = pca(X, 0.2, 3)
    exact = KernelPCA(3, kernel="rbf", gamma=0.2, eigen_solver="randomized", random_state=0).fit(X)
    assert_allclose(near.eigenvalues, exact.eigenvalues_, rtol=0.01)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("many", [4_000, 0])
def test_a_row_of_weight_two_is_two_rows(n, many, monkeypatch):
    monkeypatch.setattr(spectrum, "MANY_ROWS", many)
    X = points(n)
    weight = np.random.default_rng(1).integers(1, 4, n)
    copies = np.repeat(np.arange(n), weight)
    weighted, repeated = pca(X, weight=weight.astype(float)), pca(X[copies])
    assert_allclose(weighted.eigenvalues, repeated.eigenvalues, rtol=1e-4)
    assert_allclose(weighted.scores[copies], repeated.scores, atol=1e-3)


@pytest.mark.parametrize("many", [4_000, 0])
def test_rows_that_are_all_the_same_have_one_empty_component(many, monkeypatch):
    monkeypatch.setattr(spectrum, "MANY_ROWS", many)
    assert_array_equal(pca(np.ones((200, 2)), 1.0).scores, np.zeros((200, 1)))


@pytest.mark.parametrize(("n", "n_vectors"), [(2_100, 6), (300, 5), (90, 200)])
@pytest.mark.parametrize("form", [sparse.csr_matrix, lambda A: A.toarray()])
def test_the_largest_eigenpairs_are_those_of_lapack(n, n_vectors, form):
    A = sparse.random(n, n, density=0.004, random_state=0)
    matrix = form(sparse.csr_matrix(A + A.T))
    values, vectors = largest_eigenpairs(matrix, n_vectors)
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    assert_allclose(matrix @ vectors, vectors * values, atol=1e-7)
    assert_allclose(values, np.linalg.eigvalsh(dense)[::-1][:n_vectors], atol=1e-9)
    matrix = matrix * np.nan
    with pytest.raises(UndefinedError, match="not finite"):
        largest_eigenpairs(matrix, n_vectors)


@pytest.mark.parametrize("n", [1, 2, 7, 100_001])
def test_a_weight_counts_as_copies_in_a_median(n):
    rng = np.random.default_rng(n)
    values, weight = rng.standard_normal(n), rng.integers(1, 4, n)
    expected = np.median(np.repeat(values, weight))
    assert weighted_median(values, weight.astype(float)) == pytest.approx(expected, abs=1e-12)
