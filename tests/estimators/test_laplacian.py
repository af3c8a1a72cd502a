"""LaplacianSVC: the machine on paper, the graph by a double loop, and what a manifold is for."""

import warnings
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from histories import RoundCounter, records_of
from primal import primal_objective, solve_primal
from semisvm import LaplacianSVC, SupervisedSVC
from semisvm.estimators import laplacian
from semisvm.estimators.problem import Limits
from semisvm.kernels import deformed, kernel_rows, make_formula
from semisvm.kernels.graphs import (
    GraphPenalty,
    graph_laplacian,
    graph_penalty,
    link_nearest,
    sample_nodes,
)

TIGHT = {"tol": 1e-9}
PAPER = {"power": 1, "graph_weights": "connectivity"}


def few_labels(n=40, n_labels=12, seed=0, n_classes=2):
    X, true = make_blobs(n, centers=n_classes + 1, cluster_std=2.5, random_state=seed)
    true %= n_classes
    return X, np.where(np.arange(n) < n_labels, true, -1), true


def graph_by_hand(X, n_neighbors, weights="connectivity"):
    """W from all distances: i and j are linked where either is among the nearest of the other."""
    n = len(X)
    distance = np.array([[np.linalg.norm(X[i] - X[j]) for j in range(n)] for i in range(n)])
    asked = np.zeros((n, n), dtype=bool)
    for i in range(n):
        nearest = [j for j in np.argsort(distance[i], kind="stable") if j != i][:n_neighbors]
        asked[i, nearest] = True
    linked = asked | asked.T
    width = distance[asked].mean()
    return np.where(
        linked, 1.0 if weights == "connectivity" else np.exp(-0.5 * (distance / width) ** 2), 0.0
    )


def laplacian_by_hand(W, kind):
    degree = W.sum(axis=1)
    L = np.diag(degree) - W
    return L if kind == "combinatorial" else L / np.sqrt(np.outer(degree, degree))


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
@pytest.mark.parametrize("weights", ["connectivity", "heat"])
def test_the_laplacian_is_that_of_the_nearest_neighbors(kind, weights):
    X, *_ = few_labels()
    L = graph_laplacian(
        link_nearest(X, 4, weights), np.ones(len(X)), is_normalized=kind == "normalized"
    )
    np.testing.assert_allclose(
        L.toarray(), laplacian_by_hand(graph_by_hand(X, 4, weights), kind), atol=1e-12
    )


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
@pytest.mark.parametrize("power", [1, 2, 3])
def test_a_node_of_mass_two_is_two_rows(kind, power):
    """h' L^p h of the merged graph is that of the graph in which the copies stand apart, with
    the same links.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    h = rng.normal(size=15)
    mass = rng.integers(1, 4, 15)
    links = link_nearest(X, 3, "connectivity")
    merged = graph_laplacian(
        links, mass.astype(float), is_normalized=kind == "normalized", power=power
    )
    copies = np.repeat(np.arange(15), mass)
    apart = np.linalg.matrix_power(
        laplacian_by_hand(links.toarray()[np.ix_(copies, copies)], kind), power
    )
    assert h @ merged @ h == pytest.approx(h[copies] @ apart @ h[copies])


@pytest.mark.parametrize(("C_intrinsic", "power"), [(0.01, 1), (1.0, 1), (1.0, 2), (100.0, 1)])
@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_it_is_the_machine_on_paper(C_intrinsic, power, kind, kernel):
    X, y, _ = few_labels()
    costs = {0: 1.0, 1: 5.0}
    graph = {
        "C_intrinsic": C_intrinsic,
        "power": power,
        "graph_weights": "connectivity",
        "n_neighbors": 4,
    }
    model = LaplacianSVC(
        C=2, laplacian=kind, kernel=kernel, gamma=0.1, costs=costs, **graph, **TIGHT
    ).fit(X, y)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.1)
    P = C_intrinsic * np.linalg.matrix_power(laplacian_by_hand(graph_by_hand(X, 4), kind), power)
    row = np.flatnonzero(y >= 0)
    sign = np.where(y[row] > 0, 1.0, -1.0)
    pieces = (row, sign, sign, 2 * np.where(y[row] > 0, 5.0, 1.0))
    scores, objective = solve_primal(K, *pieces, P)
    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    ours = primal_objective(K, coefficients, model.intercept_[0], *pieces, P)
    assert ours == pytest.approx(objective, rel=1e-8)
    if kernel == "rbf":  # with few features the bias may have an interval to choose from
        np.testing.assert_allclose(
            model.decision_function(X), scores, atol=1e-5 * (1 + np.abs(scores).max())
        )


def test_scores_are_those_of_the_kernel_deformed_in_full():
    """As in the textbook: the whole kernel, an inverse, and the supervised machine on it."""
    X, y, _ = few_labels(n=60)
    new, *_ = few_labels(n=25, seed=5)
    P = 3.0 * laplacian_by_hand(graph_by_hand(X, 5), "normalized")
    K = rbf_kernel(X, gamma=0.05)
    K_new = rbf_kernel(new, X, gamma=0.05)
    inverse = np.linalg.inv(np.eye(len(X)) + P @ K)
    bent = K - K @ inverse @ P @ K
    bent_new = K_new - K_new @ inverse @ P @ K
    by_the_book = SupervisedSVC(kernel="precomputed", **TIGHT).fit((bent + bent.T) / 2, y)
    ours = LaplacianSVC(C_intrinsic=3.0, n_neighbors=5, gamma=0.05, **PAPER, **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(new), by_the_book.decision_function(bent_new), atol=1e-8
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_without_the_graph_it_is_the_supervised_machine(n_classes, multi_class):
    X, y, _ = few_labels(n_classes=n_classes, n_labels=20)
    same = {"gamma": 0.1, "multi_class": multi_class, "class_weight": "balanced"} | TIGHT
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = LaplacianSVC(C_intrinsic=0, **same).fit(X, y, sample_weight=weight)
    supervised = SupervisedSVC(**same).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        ours.decision_function(X), supervised.decision_function(X), atol=1e-7
    )


def test_labels_of_training_rows_are_the_predictions_for_them():
    X, y, _ = few_labels(n=80, n_classes=3, n_labels=25)
    for multi_class in ("ovr", "ovo"):
        model = LaplacianSVC(C_intrinsic=1.0, multi_class=multi_class).fit(X, y)
        hidden = y < 0
        np.testing.assert_array_equal(model.transduction_[hidden], model.predict(X)[hidden])
        np.testing.assert_array_equal(model.transduction_[~hidden], y[~hidden])
        np.testing.assert_array_equal(model.labeled_iter_, np.where(hidden, -1, 0))


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_two_moons_are_told_apart_by_two_labels(kind):
    X, true = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    y[[np.flatnonzero(true == 0)[0], np.flatnonzero(true == 1)[0]]] = [0, 1]
    assert (
        LaplacianSVC(C_intrinsic=100, gamma=5, laplacian=kind, **PAPER).fit(X, y).score(X, true)
        == 1.0
    )
    assert SupervisedSVC(gamma=5).fit(X, y).score(X, true) < 0.95


def test_conjugate_gradients_find_what_the_factors_find(monkeypatch):
    X, *_ = few_labels(n=300)
    L = graph_laplacian(link_nearest(X, 6, "connectivity"), np.ones(300), is_normalized=True)
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.1), dtype=np.float64)
    columns = np.arange(12)
    penalty = 10.0 * GraphPenalty(L)
    direct = deformed.deform(rows, penalty, columns, budget=10**9, tol=1e-10)
    assert direct.n_steps == 0
    for budget in (8 * 300 * 300, 1000):  # one matrix fits, none
        found = deformed.deform(rows, penalty, columns, budget=budget, tol=1e-10)
        assert 0 < found.n_steps < 200
        assert found.residual <= 1e-10
        np.testing.assert_allclose(found.values, direct.values, atol=1e-9)
        np.testing.assert_allclose(found.between(columns), direct.between(columns), atol=1e-9)


def test_conjugate_gradients_give_way_to_factors_where_these_cost_less(monkeypatch):
    monkeypatch.setattr(deformed, "OFTEN_STEPS", 5)
    X, *_ = few_labels(n=300)
    L = graph_laplacian(link_nearest(X, 6, "connectivity"), np.ones(300), is_normalized=True)
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.1), dtype=np.float64)
    for price, is_direct in ((1e-4, False), (10.0, True)):
        penalty = price * GraphPenalty(L)
        direct = deformed._directly(rows, penalty.matrix, np.arange(12))
        monkeypatch.setattr(deformed, "FEWEST_COLUMNS", 1)  # eight steps cost as much
        found = deformed.deform(rows, penalty, np.arange(12), budget=10**9, tol=1e-6)
        assert (found.n_steps == 0) == is_direct
        assert found.residual <= 1e-6
        np.testing.assert_allclose(found.values, direct.values, atol=1e-5)
        monkeypatch.setattr(deformed, "FEWEST_COLUMNS", 32)  # three do
        assert deformed.deform(rows, penalty, np.arange(12), budget=10**9, tol=1e-6).n_steps == 0


def test_conjugate_gradients_end_early_where_their_rate_foretells_too_many_steps():
    X, *_ = few_labels(n=300)
    L = graph_laplacian(link_nearest(X, 6, "connectivity"), np.ones(300), is_normalized=True)
    times_K = deformed._Product(
        kernel_rows(X, make_formula("rbf", X, gamma=0.1), dtype=np.float64), 10**9
    )
    needed = deformed._by_conjugate_gradients(times_K, 10.0 * L, np.arange(12), 1e-6, 1000).n_steps
    for most, n_steps in ((2 * needed, needed), (needed // 2, deformed.STEPS_PER_FORECAST)):
        found = deformed._by_conjugate_gradients(
            times_K, 10.0 * L, np.arange(12), 1e-6, most, deformed.FAR_TOO_MANY
        )
        assert found.n_steps == n_steps


@pytest.mark.parametrize("power", [2, 4])
@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("price", [0.0, 1.0, 1e4])
def test_cholesky_factors_find_what_lu_factors_find(power, kind, price, monkeypatch):
    """Also where rows of any weight are nodes of any mass."""
    X, *_ = few_labels(n=300)
    mass = np.random.default_rng(0).uniform(0.5, 3, 300)
    links = link_nearest(X, 6, "heat")
    penalty = graph_penalty(links, mass, is_normalized=kind == "normalized", power=power)
    root = penalty.root.toarray()
    np.testing.assert_allclose(root.T @ root, penalty.matrix.toarray(), atol=1e-9)
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.1), dtype=np.float64)
    penalty = price * penalty
    columns = np.arange(12)
    by_lu = []
    with monkeypatch.context() as patched:
        patched.setattr(deformed, "_directly", lambda *asked: by_lu.append(asked))
        found = deformed.deform(rows, penalty, columns, budget=16 * 300**2, tol=1e-6)
    assert by_lu == []
    assert (found.n_steps, found.residual) == (0, 0.0)
    direct = deformed._directly(rows, penalty.matrix, columns)
    K = rows.fetch(np.arange(300)).astype(np.longdouble)

    def residual(Z):
        """|r|_K, which bounds the error of the values; k(x, x) is 1."""
        r = np.eye(300, 12) - Z - penalty.matrix.toarray() @ (K @ Z)
        return float(np.sqrt(np.einsum("ij,ij->j", r, K @ r).max()))

    own = residual(found.coefficients)
    other = residual(direct.coefficients)
    assert own <= max(other, 1e-12)
    np.testing.assert_allclose(found.values, direct.values, rtol=0, atol=own + other + 1e-12)
    np.testing.assert_allclose(
        found.values, (K @ found.coefficients).astype(float), rtol=0, atol=1e-12
    )


def test_with_many_rows_the_price_is_chosen_on_a_sample_of_them(monkeypatch):
    X, true = make_moons(600, noise=0.05, random_state=0)
    y = np.where(np.arange(600) % 60 == 0, true, -1)
    monkeypatch.setattr(laplacian, "MOST_CHOSEN_ON", 200)
    calls = []

    def deform(rows, penalty, columns, **kwargs):
        found = deformed.deform(rows, penalty, columns, **kwargs)
        calls.append((rows.n_rows, found.between(columns)))
        return found

    monkeypatch.setattr(laplacian, "deform", deform)
    model = LaplacianSVC(gamma=5).fit(X, y)
    assert [n for n, _ in calls] == [200] * 7 + [
        600
    ]  # four prices with one power, three with the other, the chosen one
    assert model.C_intrinsic_ > 0
    # The machine is that of the chosen price on all rows, for a kernel of the old size: 1 on the
    # diagonal.
    size = np.diagonal(calls[-1][1]).mean()
    given = {"C_intrinsic": model.C_intrinsic_, "power": model.power_, "gamma": 5, "tol": 1e-6}
    same = LaplacianSVC(C=1 / size, **given).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-3)
    order = np.random.default_rng(0).permutation(600)
    moved = LaplacianSVC(gamma=5).fit(X[order], y[order])
    np.testing.assert_allclose(model.decision_function(X), moved.decision_function(X), atol=1e-6)


def test_with_many_labels_the_price_is_chosen_by_some_of_them(monkeypatch):
    X, true = make_moons(600, noise=0.2, random_state=0)
    y = np.where(np.arange(600) % 3 == 0, -1, true)
    X[5], X[8] = X[1], X[2]  # equal rows, some with different labels
    y[[1, 2, 5, 8]] = 0, 0, 1, 0
    monkeypatch.setattr(laplacian, "MOST_CHOSEN_ON", 150)
    monkeypatch.setattr(laplacian, "MOST_LABELED_CHOSEN_ON", 100)
    calls = []

    def deform(rows, penalty, columns, **kwargs):
        calls.append((rows.n_rows, len(columns)))
        return deformed.deform(rows, penalty, columns, **kwargs)

    monkeypatch.setattr(laplacian, "deform", deform)
    model = LaplacianSVC(gamma=5).fit(X, y)
    assert calls == [(150, 100)] * 7 + [(598, 398)]
    order = np.random.default_rng(0).permutation(600)
    moved = LaplacianSVC(gamma=5).fit(X[order], y[order])
    np.testing.assert_allclose(model.decision_function(X), moved.decision_function(X), atol=1e-6)

    # All rows labeled, one class in three of them only: the choice is that of the sample alone.
    for flipped, seed in [([], 0), ([3, 4, 5], 1)]:
        X, true = make_moons(600, noise=0.2, random_state=seed)
        y = np.where(np.isin(np.arange(600), flipped), 2, true)
        K = rbf_kernel(X, gamma=5)
        model = LaplacianSVC(kernel="precomputed").fit(K, y)
        nodes, columns = sample_nodes(600, np.arange(600), 150, 100)
        assert nodes.tolist() == columns.tolist()
        assert len(nodes) == 100
        alone = LaplacianSVC(kernel="precomputed").fit(K[np.ix_(nodes, nodes)], y[nodes])
        assert (model.C_intrinsic_, model.power_) == (alone.C_intrinsic_, alone.power_)
        assert model.C_intrinsic_ > 0


def test_a_small_cache_gives_the_same_model(monkeypatch):
    monkeypatch.setattr(deformed, "OFTEN_STEPS", -1)
    X, y, _ = few_labels(n=400)
    wide, narrow = (
        LaplacianSVC(cache_size=size, C_intrinsic=1.0).fit(X, y) for size in (None, 0.1)
    )
    np.testing.assert_allclose(wide.decision_function(X), narrow.decision_function(X), atol=1e-5)
    assert records_of(narrow)[0]["residual"] <= 1e-6


def test_a_kernel_that_is_no_inner_product_is_solved_directly(monkeypatch):
    """Conjugate gradients stop where no step leads downhill."""
    monkeypatch.setattr(deformed, "OFTEN_STEPS", -1)
    X, y, _ = few_labels()
    model = LaplacianSVC(kernel=lambda a, b: -rbf_kernel(a, b, gamma=0.1), C_intrinsic=0.1).fit(
        X, y
    )
    assert records_of(model)[0]["residual"] == 0.0
    assert (
        LaplacianSVC(kernel=lambda a, b: -rbf_kernel(a, b, gamma=0.1)).fit(X, y).C_intrinsic_ == 0
    )


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_input_forms_agree(as_input):
    X, y, _ = few_labels()
    plain = LaplacianSVC(gamma=0.1, **TIGHT).fit(X, y)
    K = rbf_kernel(X, gamma=0.1)
    model = LaplacianSVC(gamma=0.1, **TIGHT).fit(as_input(X), y)
    np.testing.assert_allclose(
        model.decision_function(as_input(X)), plain.decision_function(X), atol=1e-8
    )
    # In an RBF kernel's feature space the nearest rows are the nearest.
    by_matrix = LaplacianSVC(kernel="precomputed", **TIGHT).fit(K, y)
    np.testing.assert_allclose(
        by_matrix.decision_function(K), plain.decision_function(X), atol=1e-8
    )


def test_the_order_of_rows_and_of_classes_does_not_matter():
    X, y, _ = few_labels(n_classes=3, n_labels=20)
    order = np.random.default_rng(0).permutation(len(y))
    plain = LaplacianSVC(gamma=0.1, **TIGHT).fit(X, y).decision_function(X)
    permuted = LaplacianSVC(gamma=0.1, **TIGHT).fit(X[order], y[order]).decision_function(X)
    np.testing.assert_allclose(permuted, plain, atol=1e-7)
    renamed = np.where(y >= 0, 2 - y, -1)
    again = LaplacianSVC(gamma=0.1, **TIGHT).fit(X, renamed).decision_function(X)
    np.testing.assert_allclose(again[:, ::-1], plain, atol=1e-7)


def test_a_kernel_scaled_up_is_prices_scaled_up():
    """With k -> s k, w -> w / s: C -> C / s and C_intrinsic -> C_intrinsic / s give the same f."""
    X, y, _ = few_labels()
    K = rbf_kernel(X, gamma=0.1)
    one = LaplacianSVC(C=1, C_intrinsic=0.5, kernel="precomputed", **TIGHT).fit(K, y)
    other = LaplacianSVC(C=0.25, C_intrinsic=0.125, kernel="precomputed", **TIGHT).fit(4 * K, y)
    one = one.decision_function(K)
    other = other.decision_function(4 * K)
    np.testing.assert_allclose(one, other, atol=1e-7)


def test_a_cost_matrix_goes_through_the_deformed_kernel():
    X, true = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 5 == 0, true, -1)
    costs = np.array([[0, 1, 1], [1, 0, 9], [1, 1, 0]])
    free = LaplacianSVC(C_intrinsic=0, costs=costs, gamma=0.5, **TIGHT).fit(X, y)
    supervised = SupervisedSVC(costs=costs, gamma=0.5, **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        free.decision_function(X), supervised.decision_function(X), atol=1e-7
    )
    smooth = LaplacianSVC(C_intrinsic=0.01, costs=costs, gamma=0.5).fit(X, y)
    np.testing.assert_array_equal(smooth.predict(X), smooth.decision_function(X).argmax(axis=1))
    mistaken = (smooth.predict(X) == 2) & (true == 1)
    assert mistaken.sum() == 0  # the mistake that costs 9


def test_a_graph_of_one_or_two_rows_works():
    X = np.array([[0.0], [0.0], [1.0]])
    model = LaplacianSVC(kernel="linear", n_neighbors=6).fit(X, [0, -1, 1])
    assert model.predict(X).tolist() == [0, 0, 1]
    same = LaplacianSVC(kernel="linear").fit(np.zeros((3, 2)), [0, 1, 1])
    assert np.isfinite(same.decision_function(np.zeros((1, 2)))).all()


def test_systems_that_neither_converge_nor_fit_in_memory_are_reported(monkeypatch):
    monkeypatch.setattr(deformed, "OFTEN_STEPS", -1)
    monkeypatch.setattr(deformed, "MOST_STEPS", 1)
    X, y, _ = few_labels(n=100)
    with pytest.warns(
        ConvergenceWarning, match="Raise cache_size or time_limit, or lower C_intrinsic"
    ) as told:
        LaplacianSVC(C_intrinsic=100, cache_size=0.01).fit(X, y)
    assert told[0].filename == __file__
    enough = LaplacianSVC(C_intrinsic=100, cache_size=1.0).fit(X, y)  # there the factors stand in
    assert records_of(enough)[0]["residual"] == 0.0


def deformed_by_hand(K, L, price):
    penalty = price * L
    return K - K @ np.linalg.inv(np.eye(len(K)) + penalty @ K) @ penalty @ K


@pytest.mark.parametrize(("scale", "n_classes"), [(1.0, 2), (4.0, 2), (1.0, 3)])
def test_auto_takes_the_price_with_the_least_leave_one_out_error_and_keeps_the_size_of_the_kernel(
    scale, n_classes
):
    """The error by training again without each row, the machine by an SVM on the deformed
    kernel, made in full.
    """
    X, true = make_moons(80, noise=0.1, random_state=0)
    true = true + (n_classes - 2) * (X[:, 0] > 1)
    y = np.where(np.arange(80) % 5 == 0, true, -1)
    K = scale * rbf_kernel(X, gamma=2)
    labeled = np.flatnonzero(y >= 0)
    L = np.linalg.matrix_power(laplacian_by_hand(graph_by_hand(X, 6, "heat"), "normalized"), 2)
    Y = 2.0 * (y[labeled][:, None] == np.arange(n_classes)) - 1
    errors = {}
    kernels = {}
    for price in (0.0, 10.0, 1e3, 1e4):
        kernels[price] = bent = deformed_by_hand(K, L, price / scale)
        block = bent[np.ix_(labeled, labeled)]
        ridge = 0.1 * np.diagonal(block).mean()
        errors[price] = 0.0
        for i in range(len(labeled)):
            rest = np.delete(np.arange(len(labeled)), i)
            system = np.ones((len(rest) + 1,) * 2)
            system[:-1, :-1], system[-1, -1] = (
                block[np.ix_(rest, rest)] + ridge * np.eye(len(rest)),
                0,
            )
            a = np.linalg.solve(system, np.vstack([Y[rest], np.zeros(n_classes)]))
            errors[price] += ((Y[i] - block[i, rest] @ a[:-1] - a[-1]) ** 2).sum()
    best = min(errors, key=errors.get)
    own = {"kernel": lambda a, b: scale * rbf_kernel(a, b, gamma=2), "power": 2}
    model = LaplacianSVC(C=3, **own, **TIGHT).fit(X, y)
    assert model.C_intrinsic_ == pytest.approx(best / scale)
    assert best > 0
    bent = kernels[best] * (scale / np.diagonal(kernels[best])[labeled].mean())
    machine = SupervisedSVC(C=3, kernel="precomputed", multi_class="ovr", **TIGHT).fit(
        (bent + bent.T) / 2, y
    )
    np.testing.assert_allclose(
        model.decision_function(X), machine.decision_function(bent), atol=1e-5
    )


@pytest.mark.parametrize(("noise", "power"), [(0.1, 1), (0.15, 2)])
def test_auto_takes_the_first_power_only_where_its_error_is_less_by_a_third(noise, power):
    """The least leave-one-out error of each power, from systems that are written out here."""
    X, true = make_moons(120, noise=noise, random_state=1)
    y = np.where(np.arange(120) % 8 == 0, true, -1)
    labeled = np.flatnonzero(y >= 0)
    K = rbf_kernel(X, gamma=2)
    Y = 2.0 * y[labeled] - 1
    L = laplacian_by_hand(graph_by_hand(X, 6, "heat"), "normalized")
    least = {}
    for p in (1, 2):
        errors = []
        for price in (0.0, 10.0, 1e3, 1e4):
            block = deformed_by_hand(K, np.linalg.matrix_power(L, p), price)[
                np.ix_(labeled, labeled)
            ]
            system = np.ones((len(labeled) + 1,) * 2)
            system[:-1, :-1], system[-1, -1] = (
                block + 0.1 * np.diagonal(block).mean() * np.eye(len(labeled)),
                0,
            )
            inverse = np.linalg.inv(system)
            a = inverse[:, :-1] @ Y
            errors.append(((a[:-1] / np.diagonal(inverse)[:-1]) ** 2).sum())
        least[p] = min(errors)
    assert (least[1] < 2 / 3 * least[2]) == (power == 1)
    assert least[1] < least[2]
    assert LaplacianSVC(C=3, gamma=2, **TIGHT).fit(X, y).power_ == power


def test_auto_leaves_the_graph_out_where_it_does_not_help():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 20))
    y = np.where(np.arange(120) < 40, X[:, 0] + X[:, 1] > 0, -1)
    model = LaplacianSVC(kernel="linear", **TIGHT).fit(X, y)
    assert model.C_intrinsic_ == 0
    supervised = SupervisedSVC(kernel="linear", **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), supervised.decision_function(X), atol=1e-6
    )


def test_a_callback_may_end_it_before_the_machine_is_trained():
    X, y, _ = few_labels()
    model = LaplacianSVC()
    model.set_callbacks(RoundCounter(1))  # the graph is the first round
    with pytest.warns(ConvergenceWarning, match="stopped_by_callback"):
        model.fit(X, y)
    assert model.termination_condition_ == "stopped_by_callback"
    assert np.isfinite(model.decision_function(X)).all()


# -- time and Ctrl-C
# --------------------------------------------------------------------------------------------


def few_curves(n=120):
    """Two moons of which every eighth row is labeled: prices of the graph have ever less error."""
    X, true = make_moons(n, noise=0.15, random_state=1)
    return X, np.where(np.arange(n) % 8 == 0, true, -1), true


def after_tries(monkeypatch, n_tries, then):
    """Call `then` after the price that many have been tried; the list gets their leave-one-out
    errors.
    """
    errors = []
    fit = laplacian.fit_least_squares

    def counted(K, Y, *others, **settings):
        machine = fit(K, Y, *others, **settings)
        errors.append(((Y - machine.left_out) ** 2).sum())
        if len(errors) == n_tries:
            then()
        return machine

    monkeypatch.setattr(laplacian, "fit_least_squares", counted)
    return errors


def test_a_time_limit_before_the_kernel_is_made_leaves_the_machine_without_the_graph(monkeypatch):
    """No system is solved, whether the price was given or is to be chosen; every row is labeled."""
    X, _, true = few_curves()
    for name in ("cholesky", "lapack", "_columnwise_dots"):
        monkeypatch.setattr(deformed, name, None)
    monkeypatch.setattr(laplacian, "fit_least_squares", None)
    for price in ("auto", 10.0):
        with pytest.warns(ConvergenceWarning, match="Raise time_limit"):
            model = LaplacianSVC(C_intrinsic=price, time_limit=1e-9).fit(X, true)
        assert model.termination_condition_ == "time_limit"
        assert model.C_intrinsic_ == 0
        assert np.isfinite(model.decision_function(X)).all()


def test_no_step_is_begun_that_would_take_the_time_of_the_machine(monkeypatch):
    """A matrix of 120 rows is expected to take 1,728 seconds: no price is tried, no factors are
    made.
    """
    monkeypatch.setattr(deformed, "SECONDS_TO_INVERT", 1e-3)
    X, _, true = few_curves()
    for name in ("cholesky", "lapack"):
        monkeypatch.setattr(deformed, name, None)
    monkeypatch.setattr(laplacian, "fit_least_squares", None)
    for graph in ({}, {"C_intrinsic": 10.0, "power": 1}, {"C_intrinsic": 10.0, "power": 2}):
        with pytest.warns(ConvergenceWarning, match="Raise time_limit"):
            model = LaplacianSVC(C=3, gamma=2, time_limit=1000, **graph).fit(X, true)
        assert (model.termination_condition_, model.C_intrinsic_) == ("time_limit", 0)
        assert model.gap_[0] <= model.tol
        assert model.score(X, true) > 0.9


@pytest.mark.parametrize("n_tries", [1, 2, 3])
def test_the_choice_ends_with_the_time_and_the_machine_is_trained_with_the_best_price_so_far(
    monkeypatch, n_tries
):
    X, y, true = few_curves()
    now = [0.0]
    monkeypatch.setattr(deformed, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    errors = after_tries(monkeypatch, n_tries, lambda: now.append(now.pop() + np.inf))
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LaplacianSVC(C=3, gamma=2, power=2, time_limit=1000).fit(X, y)
    assert len(errors) == n_tries
    assert model.termination_condition_ == "time_limit"
    assert model.C_intrinsic_ == (0, 10, 1e3, 1e4)[np.argmin(errors)]
    assert model.gap_[0] <= model.tol  # a quarter of the time was left
    assert model.score(X, true) > 0.8


def test_ctrl_c_ends_the_choice_with_the_best_price_so_far(monkeypatch):
    def press():
        raise KeyboardInterrupt

    X, y, true = few_curves()
    errors = after_tries(monkeypatch, 3, press)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LaplacianSVC(C=3, gamma=2).fit(X, y)
    assert len(errors) == 3
    assert model.termination_condition_ == "interrupted"
    assert model.C_intrinsic_ == (0, 10)[np.argmin(errors[:2])]
    assert model.score(X, true) > 0.8
    monkeypatch.setattr(laplacian, "deform", lambda *_, **__: press())
    with pytest.raises(KeyboardInterrupt):  # there is nothing to keep
        LaplacianSVC(C_intrinsic=10.0).fit(X, y)


def ticking(monkeypatch):
    """A clock that goes on by one second with every look at it."""
    monkeypatch.setattr(deformed, "time", SimpleNamespace(perf_counter=count().__next__))


@pytest.mark.parametrize("way", ["cholesky", "lu"])
def test_factors_are_given_up_at_whichever_look_at_the_clock_the_time_is_over(monkeypatch, way):
    X, *_ = few_labels(n=60)
    penalty = graph_penalty(link_nearest(X, 6, "heat"), np.ones(60), is_normalized=True, power=2)
    penalty = penalty if way == "cholesky" else GraphPenalty(penalty.matrix)
    rows = kernel_rows(X, make_formula("rbf", X, gamma=0.1), dtype=np.float64)
    monkeypatch.setattr(deformed, "ROWS_PER_PART", 20)
    n_late = 0
    for deadline in range(100):
        ticking(monkeypatch)
        try:
            deformed.deform(rows, penalty, np.arange(60), budget=10**9, tol=1e-6, deadline=deadline)
        except TimeoutError:
            n_late += 1
    assert 9 < n_late < 20  # the kernel, the systems and the products have three parts each


@pytest.mark.parametrize(
    ("cache_size", "looks"), [(0.1, 2), (2.0, 1)], ids=["rows made again", "one matrix"]
)
def test_conjugate_gradients_return_how_far_they_have_come_when_the_time_is_over(
    monkeypatch, cache_size, looks
):
    monkeypatch.setattr(deformed, "ROWS_PER_PART", 200)
    X, y, true = few_curves(n=400)
    for n_steps, ended in ((3, "time_limit"), (15, "time_limit"), (400, "converged")):
        ticking(monkeypatch)
        deadline = looks * n_steps + 3
        monkeypatch.setattr(Limits, "share_of_time", lambda *_, deadline=deadline: deadline)
        model = LaplacianSVC(
            C=100, C_intrinsic=100.0, power=1, gamma=5, cache_size=cache_size, time_limit=1000
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(X, y)
        assert model.termination_condition_ == ended
        assert any("Raise time_limit" in str(one.message) for one in told) == (
            ended == "time_limit"
        )
        taken = model.history_[0].n_iter
        residual = model.history_[0].details["residual"]
        if n_steps < deformed.FEWEST_STEPS:
            assert (model.C_intrinsic_, taken) == (0, 0)
        else:
            assert model.C_intrinsic_ == 100
            assert (residual > 1e-7) == (ended == "time_limit")
            assert abs(taken - n_steps) < 3 if ended == "time_limit" else taken > 15
        assert model.score(X, true) > 0.9
