"""The parts of AutoSVC against slow, obvious answers: refits, repeated rows, a general solver,
plain formulas.
"""

import itertools

import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_moons

from oracles import solve_convex
from semisvm import AutoSVC
from semisvm.device import resolve
from semisvm.estimators.auto import geometry, library
from semisvm.estimators.auto.geometry import (
    make_geometry,
    make_graph,
    median_distance2,
    nearest_rows,
    squared_distances_between,
)
from semisvm.estimators.auto.library import make_library
from semisvm.estimators.auto.stacking import Member, prior_weights, stack
from semisvm.estimators.least_squares import LabeledTarget, fit_least_squares
from semisvm.kernels.spectrum import largest_eigenpairs, weighted_median
from semisvm.kernels.threads import n_threads


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rbf(X, gamma=0.3):
    return np.exp(-gamma * squared_distances_between(X, X))


# ---- leave-one-out ----


def solve_by_definition(K, Y, weight, price, r):
    """Minimize the loss over coefficients and bias by its normal equations: sum_i c_i |Y_i -
    f_i|^2 + r a'Ka.
    """
    n = len(K)
    design = np.column_stack([K, np.ones(n)])
    c = (weight * price)[:, None]
    penalty = np.zeros((n + 1, n + 1))
    penalty[:n, :n] = r * K
    return np.linalg.lstsq(design.T @ (c * design) + penalty, design.T @ (c * Y), rcond=None)[0]


@pytest.mark.parametrize("n_columns", [1, 3])
def test_the_machine_minimizes_its_objective(rng, n_columns):
    X = rng.standard_normal((14, 3))
    Y = rng.choice([-1.0, 1.0], (14, n_columns))
    weight = rng.uniform(0.5, 3, 14)
    price = rng.uniform(0.2, 4, 14)
    K = rbf(X)
    machine = fit_least_squares(K, Y, weight, price, ridge=0.2)
    expected = solve_by_definition(K, Y, weight, price, r=0.2)  # the diagonal of K is 1
    assert_allclose(machine.scores(K), np.column_stack([K, np.ones(14)]) @ expected, atol=1e-6)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_leave_one_out_scores_are_those_of_refits(rng, n_columns):
    X = rng.standard_normal((20, 3))
    Y = rng.choice([-1.0, 1.0], (20, n_columns))
    price = rng.uniform(0.2, 4, 20)
    K = rbf(X)  # of diagonal 1, so that the ridge is the same without a row
    machine = fit_least_squares(K, Y, np.ones(20), price, ridge=0.1)
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        refit = fit_least_squares(
            K[np.ix_(rest, rest)], Y[rest], np.ones(19), price[rest], ridge=0.1
        )
        assert_allclose(machine.left_out[i], refit.scores(K[[i]][:, rest])[0], atol=1e-9)


def test_a_row_of_weight_k_is_k_rows_in_the_machine_and_in_its_leave_one_out_scores(rng):
    X = rng.standard_normal((12, 2))
    Y = rng.choice([-1.0, 1.0], (12, 1))
    weight = rng.integers(1, 5, 12).astype(float)
    price = rng.uniform(0.5, 2, 12)
    times = np.repeat(np.arange(12), weight.astype(int))
    K = rbf(X)
    one = fit_least_squares(K, Y, weight, price, ridge=0.1)
    other = fit_least_squares(
        K[np.ix_(times, times)], Y[times], np.ones(len(times)), price[times], ridge=0.1
    )
    assert_allclose(one.scores(K), other.scores(K[:, times]), atol=1e-10)
    assert_allclose(one.left_out[times], other.left_out, atol=1e-9)
    assert_allclose(one.spread[times], other.spread, rtol=1e-9)


def test_the_spread_is_the_mean_error_over_all_orders_of_the_labels(rng):
    X = rng.standard_normal((6, 2))
    Y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
    price = rng.uniform(0.5, 2, 6)
    K = rbf(X)
    orders = np.array(list(itertools.permutations(Y))).T  # one column per order
    machine = fit_least_squares(K, orders, np.ones(6), price, ridge=0.1)
    errors = ((orders - machine.left_out) ** 2).mean(axis=1)
    assert_allclose(errors, Y.var(ddof=1) * machine.spread, rtol=1e-9)


def believed(K, Y, is_structure=True, rows=slice(None)):
    """The belief in a kernel beside an ordinary one that says nothing, both believed in alike
    before labels speak.
    """
    ones = np.ones(len(Y))
    target = LabeledTarget(np.arange(len(Y)), Y, ones, ones, np.arange(len(Y)) % 20)
    members = [Member("own", "own", 1.0, 1.0, is_structure), Member("none", "none", 1.0, 1.0)]
    kernels = {"own": K, "none": np.zeros_like(K)}
    machines = {
        name: fit_least_squares(kernel, Y, ones, ones, ridge=0.1)
        for name, kernel in kernels.items()
    }
    return prior_weights(members, machines, target, rows)[0]


def test_labels_that_speak_against_a_structure_take_the_belief_in_it():
    """Pairs of equal rows: with equal labels the kernel is right about each, with different ones
    it is wrong.
    """
    K = np.kron(np.eye(4), np.ones((2, 2)))
    agree = np.repeat([[1.0], [-1.0], [1.0], [-1.0]], 2, axis=0)
    differ = np.tile([[1.0], [-1.0]], (4, 1))
    assert believed(K, agree) == 0.5
    assert believed(K, differ) < 1e-8
    assert believed(K, differ, is_structure=False) == 0.5
    mixed = np.array([[1.0], [1.0], [-1.0], [-1.0], [1.0], [-1.0], [1.0], [-1.0]])
    assert believed(K, mixed, rows=np.arange(8) < 4) == 0.5  # only those rows are asked
    assert believed(K, mixed, rows=np.arange(8) >= 4) < 1e-8
    assert believed(np.eye(2), np.array([[1.0], [-1.0]])) == 0.5  # one label per class says nothing


def test_a_row_of_next_to_no_weight_leaves_all_scores_finite():
    Y = np.array([[1.0], [-1.0]])
    machine = fit_least_squares(np.zeros((2, 2)), Y, np.array([1.0, 1e-20]), np.ones(2), ridge=0.1)
    assert np.isfinite(machine.left_out).all()
    assert np.isfinite(machine.spread).all()
    np.testing.assert_allclose(machine.bias, 1.0)  # the row that counts decides


def test_a_row_of_weight_below_1_is_left_out_as_a_whole(rng):
    X = rng.standard_normal((9, 2))
    Y = rng.choice([-1.0, 1.0], (9, 1))
    weight = np.where(np.arange(9) == 4, 0.3, 1.0)
    K = rbf(X)
    rest = np.delete(np.arange(9), 4)
    refit = fit_least_squares(K[np.ix_(rest, rest)], Y[rest], weight[rest], np.ones(8), ridge=0.1)
    found = fit_least_squares(K, Y, weight, np.ones(9), ridge=0.1).left_out[4]
    assert_allclose(found, refit.scores(K[[4]][:, rest])[0], atol=1e-9)


def test_a_kernel_of_zeros_predicts_the_mean():
    Y = np.array([[1.0], [1.0], [-1.0]])
    machine = fit_least_squares(np.zeros((3, 3)), Y, np.ones(3), np.ones(3), ridge=0.1)
    assert_allclose(machine.bias, [1 / 3])
    assert_allclose(machine.left_out[:, 0], [0, 0, 1])


# ---- stacking ----


def stack_by_clarabel(left_out, Y, count, prior, strength):
    """The same problem for a general cone solver: t_j >= w_j log(w_j / prior_j) are exponential
    cones.
    """
    n_members, _, n_columns = left_out.shape
    root = np.sqrt(count / n_columns)[:, None]
    A = (left_out * root).reshape(n_members, -1)
    y = (Y * root).ravel()
    P = np.zeros((2 * n_members,) * 2)
    P[:n_members, :n_members] = A @ A.T
    q = np.append(-A @ y, np.full(n_members, strength))
    # Clarabel's cone: (x, y, z) with y exp(x / y) <= z. Here x = -t, y = w, z = prior: w exp(-t /
    # w) <= prior.
    rows = [np.append(np.ones(n_members), np.zeros(n_members))]
    bounds = [1.0]
    cones = [clarabel.ZeroConeT(1)]
    for j in range(n_members):
        unit = np.eye(2 * n_members)
        rows += [unit[n_members + j], -unit[j], np.zeros(2 * n_members)]
        bounds += [0.0, 0.0, prior[j]]
        cones.append(clarabel.ExponentialConeT())
    return solve_convex(P, q, np.array(rows), np.array(bounds), cones)[0][:n_members]


@pytest.mark.parametrize(
    ("n_members", "n_labeled", "n_columns"), [(3, 4, 1), (10, 100, 1), (10, 40, 5), (12, 400, 2)]
)
@pytest.mark.parametrize("strength", [1e-3, 0.05, 0.5, 20.0])
def test_the_weights_are_those_of_a_general_solver(rng, n_members, n_labeled, n_columns, strength):
    Y = rng.choice([-1.0, 1.0], (n_labeled, n_columns))
    left_out = 0.5 * Y + rng.standard_normal((n_members, n_labeled, n_columns)) * rng.uniform(
        0.3, 2, (n_members, 1, 1)
    )
    count = rng.uniform(0.1, 3, n_labeled)
    prior = rng.dirichlet(np.ones(n_members))
    found = stack(left_out, Y, count, prior, strength=strength)
    assert_allclose(
        found.weights, stack_by_clarabel(left_out, Y, count, prior, strength), atol=1e-5
    )
    assert found.gap <= 1e-8
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights > 0).all()


def test_members_that_agree_keep_their_prior_weights(rng):
    Y = rng.choice([-1.0, 1.0], (8, 1))
    same = np.repeat(rng.standard_normal((1, 8, 1)), 4, axis=0)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    assert_allclose(stack(same, Y, np.ones(8), prior, strength=0.5).weights, prior, atol=1e-10)


# ---- geometry, components, graphs ----


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("is_cosine", [False, True])
def test_distances_and_products_are_those_of_the_definition(rng, is_sparse, is_cosine):
    X = np.where(rng.random((30, 5)) < 0.7, rng.standard_normal((30, 5)), 0)
    X[3] = 0  # a row without direction
    X[7] = X[6]
    form = sparse.csr_matrix if is_sparse else np.asarray
    geometry, node = make_geometry(form(X[:20]), np.arange(1.0, 21), is_cosine=is_cosine)
    assert geometry.n_rows == 19
    assert geometry.mass[node[6]] == 7 + 8
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    Z = X / np.where(lengths > 0, lengths, 1) if is_cosine else X
    first = np.unique(node, return_index=True)[1]
    mean = np.average(Z[:20], axis=0, weights=np.arange(1.0, 21))
    prepared = geometry.prepare(form(X))
    products = geometry.products(prepared)
    assert_allclose(products, (Z - mean) @ (Z[first] - mean).T, atol=1e-12)
    expected = ((Z[:, None] - Z[first]) ** 2).sum(axis=2)
    assert_allclose(geometry.squared_distances(prepared, products), expected, atol=1e-12)
    assert_array_equal(geometry.find(prepared)[:20], node)


def test_the_median_counts_copies_as_rows(rng):
    X = rng.standard_normal((9, 2))
    mass = rng.integers(1, 4, 9).astype(float)
    repeated = X[np.repeat(np.arange(9), mass.astype(int))]
    pairs = np.triu_indices(len(repeated), 1)
    expected = np.median(squared_distances_between(repeated, repeated)[pairs])
    assert median_distance2(squared_distances_between(X, X), mass) == pytest.approx(expected)
    assert median_distance2(np.zeros((4, 4)), np.ones(4)) == 1.0


def graph_of_pieces(rng, n=1700):
    """The normalized links of four far clusters, and the inner products of their rows."""
    X = rng.standard_normal((n, 3)) + 50 * rng.integers(0, 4, n)[:, None]
    distances2 = squared_distances_between(X, X)
    W = sparse.csr_matrix(
        np.where(distances2 < np.partition(distances2, 8, axis=1)[:, [8]], np.exp(-distances2), 0)
    )
    W = W.maximum(W.T)
    root = sparse.diags(np.asarray(W.sum(axis=1)).ravel() ** -0.5)
    return sparse.csr_matrix(root @ W @ root), X @ X.T


def test_a_device_finds_the_eigenvectors_of_the_cpu(rng, other_device, monkeypatch):
    """Equal eigenvalues, which pieces of a graph have, and the spaces of vectors; also where it
    decomposes whole.
    """
    from semisvm.kernels.torch_source import eigenpairs_on_device

    links, products = graph_of_pieces(rng)
    for matrix, count in ((links, 30), (products, 3)):
        values, vectors = largest_eigenpairs(matrix, count)
        for most in (0, 10**6):
            monkeypatch.setattr("semisvm.kernels.torch_source.LAPACK_ROWS", most)
            found, there = eigenpairs_on_device(matrix, count, other_device)
            assert_allclose(found, values, atol=1e-9 * values[0])
            assert_allclose(there.T @ there, np.eye(count), atol=1e-9)
            assert_allclose(matrix @ there, there * found, atol=1e-9 * values[0])
            assert_allclose(there @ (there.T @ vectors), vectors, atol=1e-6)
    assert_allclose(largest_eigenpairs(links, 6)[0][:4], 1)  # the four pieces


def test_a_device_leaves_what_it_can_not_separate_to_the_cpu(other_device, monkeypatch):
    from semisvm.kernels.torch_source import eigenpairs_on_device

    monkeypatch.setattr("semisvm.kernels.torch_source.LAPACK_ROWS", 0)
    pairs = sparse.kron(
        sparse.eye(60), np.array([[0.5, 0.5], [0.5, 0.5]])
    ).tocsr()  # 60 equal eigenvalues
    assert eigenpairs_on_device(pairs, 4, other_device) is None
    values, vectors = largest_eigenpairs(pairs, 4, other_device)
    assert_allclose(values, 1)
    assert_allclose(pairs @ vectors, vectors, atol=1e-9)


@pytest.mark.parametrize("columns", ["points", "table"])
def test_auto_svc_is_the_same_on_a_device(other_device, monkeypatch, columns):
    monkeypatch.setattr("semisvm.kernels.torch_source.LAPACK_ROWS", 0)
    X, y = make_moons(700, noise=0.08, random_state=0)
    hidden = np.where(np.arange(700) < 12, y, -1)
    on_cpu, there = (
        AutoSVC(columns=columns, device=name).fit(X, hidden) for name in ("cpu", other_device)
    )
    assert there.weights_ == pytest.approx(on_cpu.weights_, abs=1e-6)
    assert there.structure_ == pytest.approx(on_cpu.structure_)
    assert_allclose(
        there.decision_function(X + 0.01), on_cpu.decision_function(X + 0.01), atol=1e-6
    )


def test_auto_svc_asks_for_a_device_only_where_the_cpu_would_take_long(monkeypatch):
    X, y = make_moons(60, random_state=0)
    asked = []
    monkeypatch.setattr(
        "semisvm.estimators.auto.library.resolve",
        lambda device, seconds: asked.append((device, seconds)) or "cpu",
    )
    AutoSVC().fit(X, np.where(np.arange(60) < 8, y, -1))
    [(device, seconds)] = asked
    assert device == "auto"
    expected = 2 * 60 * 5e-4 + 2 * 60**2 * 2e-8  # two graphs; the rows and the random ones
    assert seconds == pytest.approx(expected / min(n_threads(), 2))
    assert resolve("auto", seconds=seconds) == "cpu"
    monkeypatch.undo()
    with pytest.raises(ValueError, match="device must be"):
        AutoSVC(device="gpu").fit(X, y)


def test_the_functions_of_a_graph_are_eigenvectors_of_its_normalized_laplacian(rng):
    X = rng.standard_normal((40, 2))
    distances2 = squared_distances_between(X, X)
    np.fill_diagonal(distances2, np.inf)
    nearest, distance = nearest_rows(distances2, 4)
    W = np.zeros((40, 40))
    width = distance.mean()
    for i in range(40):
        for j in np.argsort(distances2[i])[:4]:
            W[i, j] = W[j, i] = np.exp(-distances2[i, j] / (2 * width**2))
    root = W.sum(axis=1) ** -0.5
    laplacian = np.eye(40) - root[:, None] * W * root
    graph = make_graph(nearest, distance, np.ones(40), 64)
    assert_allclose(graph.lam, np.linalg.eigvalsh(laplacian)[:38], atol=1e-10)
    assert_allclose(laplacian @ graph.vectors, graph.vectors * graph.lam, atol=1e-10)


@pytest.mark.parametrize("n_clusters", [1, 30])
def test_lanczos_finds_the_functions_of_lapack_also_of_graphs_in_many_pieces(
    rng, monkeypatch, n_clusters
):
    """Lanczos alone finds 14 of 30 functions with the eigenvalue 0."""
    center = 100 * rng.standard_normal((n_clusters, 4))
    X = center[np.arange(600) % n_clusters] + rng.standard_normal((600, 4))
    mass = rng.choice([1.0, 2.0], 600)
    distances2 = squared_distances_between(X, X)
    np.fill_diagonal(distances2, np.inf)
    links = nearest_rows(distances2, 4)
    by_lanczos = make_graph(*links, mass, 40)
    monkeypatch.setattr(geometry, "ROWS_PER_FUNCTION", 600)
    by_lapack = make_graph(*links, mass, 40)
    assert len(np.unique(by_lanczos.piece)) == n_clusters
    assert_allclose(by_lanczos.lam, by_lapack.lam, atol=1e-12)
    U, V = by_lanczos.vectors, by_lapack.vectors
    assert_allclose(U @ U.T, V @ V.T, atol=1e-9)
    few = make_graph(*links, mass, 10)  # fewer functions than pieces
    assert few.vectors.shape == (600, 10)


def test_the_cut_after_the_smoothest_functions_is_never_inside_equal_eigenvalues():
    """Four far clusters: four functions with eigenvalue 0, which a solver may return in any
    order.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(np.array([[0, 0], [99, 0], [0, 99], [99, 99]]), 8, axis=0) + rng.standard_normal(
        (32, 2)
    )
    library, _, _ = make_library(
        X, np.ones(32), 2, n_neighbors=(3,), is_cosine=False, is_safe=False
    )
    assert library.graphs[3].smoothest(2) >= 4
    assert library.graphs[3].reached(np.array([0, 1]), np.ones(32)) == 0.25


@pytest.mark.parametrize("is_cosine", [False, True])
def test_every_kernel_is_symmetric_positive_and_of_trace_n(rng, is_cosine):
    X = rng.standard_normal((40, 3))
    weight = rng.integers(1, 4, 40).astype(float)
    library, _, at = make_library(
        X, weight, 3, n_neighbors=(3, 5), is_cosine=is_cosine, is_safe=False
    )
    kernels = dict(library.between(at, np.arange(40)))
    assert len(kernels) == (9 if is_cosine else 10)
    assert [member.kernel for member in library.members(np.arange(5))] == list(kernels)
    for name, kernel in kernels.items():
        assert_allclose(kernel, kernel.T, atol=1e-9, err_msg=name)
        assert np.linalg.eigvalsh(kernel).min() > -1e-8, name
        assert weight @ np.diagonal(kernel) == pytest.approx(weight.sum()), name


def test_rows_of_the_fit_are_in_their_place_and_new_rows_near_them():
    X, _ = make_moons(150, noise=0.05, random_state=0)
    library, _, at = make_library(
        X, np.ones(150), 2, n_neighbors=(5,), is_cosine=False, is_safe=True
    )
    labeled = np.arange(10)
    kernels, same, moved = (
        dict(library.between(of, labeled)) for of in (at, library.place(X), library.place(X + 1e-7))
    )
    for name, own in kernels.items():
        assert_allclose(same[name], own, atol=1e-9 * np.abs(own).max(), err_msg=name)
        # A new row is linked to its own neighbors alone, and not to the rows that would have it as
        # theirs.
        correlation = np.corrcoef(own.ravel(), moved[name].ravel())[0, 1]
        assert correlation > (0.95 if name.startswith("graph") else 1 - 1e-9), name


# ---- structure ----


def structure_of(X, **settings):
    arguments = {
        "n_neighbors": (3, 15),
        "is_cosine": sparse.issparse(X),
        "is_safe": True,
    } | settings
    return make_library(X, np.ones(X.shape[0]), 2, **arguments)[0].structure


@pytest.mark.parametrize("n_columns", [2, 10, 50])
def test_round_clouds_and_boxes_have_no_structure(rng, n_columns):
    for X in (rng.standard_normal((600, n_columns)), rng.uniform(size=(600, n_columns))):
        found = structure_of(X)
        assert found.component_ratio < 1.1
        assert max(found.link_ratios.values()) < (1.05 if n_columns == 2 else 1.02)
        assert found.belief_in_components == 0


def test_a_long_ellipse_is_no_manifold(rng):
    found = structure_of(rng.standard_normal((600, 20)) * np.exp(-np.arange(20) / 6))
    assert max(map(found.belief_in_graph, found.link_ratios)) == 0


def test_two_moons_are_a_manifold_and_two_clouds_are_components(rng):
    found = structure_of(make_moons(300, noise=0.05, random_state=0)[0])
    assert min(map(found.belief_in_graph, found.link_ratios)) > 5
    shift = np.where(np.arange(600) % 2, 3.0, -3.0)[:, None] / np.sqrt(50)
    found = structure_of(rng.standard_normal((600, 50)) + shift)
    assert found.belief_in_components == 1
    assert max(map(found.belief_in_graph, found.link_ratios)) < 0.2


def test_structure_of_sparse_rows_does_not_depend_on_their_order(rng):
    topics = rng.integers(0, 2, 300)
    words = sparse.csr_matrix(
        (rng.random((300, 80)) < np.where(np.arange(80) % 2 == topics[:, None], 0.2, 0.05)) * 1.0
    )
    one = structure_of(words)
    other = structure_of(words[rng.permutation(300)])
    assert one.belief_in_components == 1
    assert one.component_ratio == pytest.approx(other.component_ratio)
    assert one.link_ratios == pytest.approx(other.link_ratios)


def test_a_brief_spectrum_keeps_the_sums_of_all_eigenvalues_and_of_their_squares(rng):
    rows = rng.normal(size=(700, 900)) * np.linspace(3, 0.1, 900)
    matrix = rows @ rows.T
    exact = np.linalg.eigvalsh(matrix)
    brief = library._brief_spectrum(matrix)
    assert len(brief) < len(exact)
    assert_allclose(brief.sum(), exact.sum(), rtol=1e-10)
    assert_allclose(brief @ brief, exact @ exact, rtol=1e-3)  # as many are equal, rounded


def test_scores_of_unlabeled_rows_are_kept_from_the_fit(rng):
    X = rng.normal(size=(120, 3))
    y = np.where(np.arange(120) < 20, np.arange(120) % 2, -1)
    for max_rows in (3000, 60):
        model = AutoSVC(max_rows=max_rows).fit(X, y)
        assert np.isnan(model._unlabeled_scores[:20]).all()
        assert_allclose(model._unlabeled_scores[20:], model.decision_function(X[20:]), atol=1e-9)


@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_a_weighted_median_of_many_values_is_that_of_all_copies(spread):
    """Whole weights, so that the copies can be written down; values that nearly all are equal, and
    weights that move the median far from that of the values.
    """
    rng = np.random.default_rng(0)
    values = np.append(spread * rng.standard_normal(150_000), [5.0, 6.0])
    weight = rng.integers(1, 4, len(values)).astype(float)
    copies = np.repeat(values, weight.astype(int))
    assert weighted_median(values, weight) == np.median(copies)
    weight[values > spread] = 90.0
    copies = np.repeat(values, weight.astype(int))
    assert weighted_median(values, weight) == np.median(copies)
