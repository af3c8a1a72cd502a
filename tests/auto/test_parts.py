"""Stacking, least-squares SVMs, kernels, graphs and thresholds, each beside an oracle or a golden
value.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_digits, make_moons

from semisvm.auto.geometry import between, largest_eigenpairs, nearest_rows
from semisvm.auto.graph import make_graph
from semisvm.auto.kernels import ViewKernels
from semisvm.auto.members import NaiveBayes, fit_least_squares
from semisvm.auto.stacking import Block, average, make_target, stack
from semisvm.auto.threshold import (
    fit_sigmoid,
    interval_threshold,
    most_likely_slope,
    place_offsets,
    place_threshold,
    share_threshold,
)

SCORES = np.array([-1.2, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2, 0.1, -0.1, 0.3])


# ---- stacking ----


@pytest.mark.parametrize(
    ("count", "prior", "strength", "weights"),
    [
        ([1, 1, 1, 1], [0.5, 0.5], 0.5, [0.687402, 0.312598]),
        ([1, 2, 1, 1], [0.25, 0.75], 2, [0.422731, 0.577269]),
    ],
)
def test_weights_of_two_members(count, prior, strength, weights):
    left_out = np.array([[0.5, -0.5, 0.8, -0.2], [0.9, 0.1, -0.3, -1.1]])[:, :, None]
    Y = np.array([[1.0], [-1], [1], [-1]])
    found = stack(left_out, Y, np.array(count, dtype=float), np.array(prior), strength)
    assert_allclose(found, weights, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_weights_minimize_their_objective(seed):
    rng = np.random.default_rng(seed)
    Y = np.where(rng.random((40, 3)) < 0.4, 1.0, -1.0)
    left_out = Y * rng.random((6, 1, 1)) + rng.normal(size=(6, 40, 3))
    count, prior = rng.uniform(0.5, 3, 40), rng.dirichlet(np.ones(6))
    strength = 10.0 ** rng.uniform(-2, 2)

    def objective(z):
        w = np.exp(z - z.max())
        w /= w.sum()
        rest = Y - np.tensordot(w, left_out, 1)
        return count @ (rest**2).sum(axis=1) / 6 + strength * w @ np.log(
            np.maximum(w, 1e-300) / prior
        )

    w = stack(left_out, Y, count, prior, strength)
    assert w.sum() == pytest.approx(1)
    best = minimize(objective, np.log(prior), method="BFGS", options={"gtol": 1e-9}).fun
    assert objective(np.log(w)) <= best + 1e-6 * abs(best)


def test_members_with_next_to_no_weight_are_left_out():
    codes = np.arange(60) % 2
    target = make_target(codes, np.array(["a", "b"]), np.ones(60), None)
    good, bad = 0.9 * target.Y, -target.Y
    block = Block("all", None, ["good", "bad"], np.ones(2), np.stack([good, bad]))
    learned = average([block], target, 0.5, 0.5)
    assert learned.of_members() == {"good": 1.0, "bad": 0.0}
    assert_allclose(learned.out_of_fold, good, atol=0.01)


def test_folds_share_each_class_and_class_weights_keep_the_sum():
    codes = np.repeat([0, 1, -1], [20, 10, 30])
    target = make_target(codes, np.array([0, 1]), np.ones(60), "balanced")
    for fold in range(5):
        assert np.bincount(target.codes[target.fold == fold]).tolist() == [4, 2]
    assert target.count.sum() == pytest.approx(30)
    sums = np.bincount(target.codes, target.count)
    assert sums[0] == pytest.approx(sums[1])


# ---- least-squares SVMs ----


def test_a_least_squares_svm_by_hand():
    K = np.array([[2, 1, 0], [1, 2, 0.5], [0, 0.5, 1]])
    svm = fit_least_squares(K, np.array([[1.0], [-1], [1]]), np.ones(3), 0.1)
    assert_allclose(svm.coef[:, 0], [2 / 3, -4 / 3, 2 / 3])
    assert_allclose(svm.bias, [8 / 9])
    assert_allclose(svm.left_out[:, 0], [-3 / 7, 1, -3 / 7])


def test_scores_left_out_are_those_of_fits_without_the_label():
    rng = np.random.default_rng(0)
    X, count = rng.normal(size=(20, 3)), rng.uniform(0.5, 2, 20)
    K, Y = X @ X.T + 1, np.sign(rng.normal(size=(20, 2)))
    svm = fit_least_squares(K, Y, count, 0.1)
    r = 0.1 * count @ np.diagonal(K) / count.sum()  # the ridge of all rows
    for out in range(20):
        kept = np.arange(20) != out
        own = count[kept] @ np.diagonal(K)[kept] / count[kept].sum()
        other = fit_least_squares(K[np.ix_(kept, kept)], Y[kept], count[kept], r / own)
        assert_allclose(K[out, kept] @ other.coef + other.bias, svm.left_out[out], atol=1e-9)


# ---- kernels ----


def test_structure_of_digits_and_of_moons():
    digits = ViewKernels(load_digits().data[:500], 10, 200)
    assert digits.structure.component_ratio == pytest.approx(3.3989, abs=1e-4)
    assert digits.structure.link_ratios == pytest.approx({3: 1.4638, 15: 1.2803}, abs=1e-4)
    assert_allclose(digits.components.values[:3], [23.1886, 22.9333, 18.3713], atol=1e-4)
    assert digits.components.median == 2371
    moons = ViewKernels(make_moons(200, noise=0.05, random_state=0)[0], 2, 200)
    assert moons.structure.component_ratio == pytest.approx(1.2016, abs=1e-4)
    assert moons.structure.link_ratios == pytest.approx({3: 1.6865, 15: 1.4988}, abs=1e-4)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_kernel_is_positive_and_has_the_trace_n_and_rows_are_placed_where_they_are(is_sparse):
    X = np.maximum(make_moons(150, noise=0.1, random_state=0)[0] + 1, 0)
    X = sparse.csr_matrix(X) if is_sparse else X
    kernels = ViewKernels(X, 2, 64)
    nodes = np.arange(len(kernels.mass))
    own = dict(kernels.matrices(kernels.own, nodes))
    assert len(own) == 12
    for name, K in own.items():
        assert np.linalg.eigvalsh((K + K.T) / 2)[0] > -1e-6, name
        assert kernels.mass @ np.diagonal(K) == pytest.approx(150), name
    for name, K in kernels.matrices(kernels.place(X), nodes):
        assert_allclose(K, own[name][kernels.node], atol=1e-6, err_msg=name)


def test_equal_rows_are_one_node_and_count_as_many():
    X, _ = make_moons(60, noise=0.1, random_state=0)
    twice = ViewKernels(np.repeat(X, 2, axis=0), 2, 40)
    assert twice.rows.shape == (60, 2)
    assert_array_equal(twice.mass, 2)
    once = ViewKernels(X, 2, 40)
    for k, graph in once.graphs.items():
        assert_allclose(twice.graphs[k].lam, graph.lam, atol=1e-8)


def test_nearest_rows_are_those_of_a_sort_and_ties_go_to_the_first():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (80, 5)).astype(float)
    d2 = ((codes[:, None] - codes) ** 2).sum(axis=2)
    nearest, distance = nearest_rows(d2 + 1e-13 * rng.random(d2.shape), 7, 1e-9)
    assert_array_equal(nearest, np.argsort(d2, axis=1, kind="stable")[:, :7])
    assert_allclose(distance**2, np.sort(d2, axis=1)[:, :7], atol=1e-10)
    assert_allclose(between(codes, codes), d2, atol=1e-12)


@pytest.mark.parametrize(("n", "wanted"), [(40, 10), (400, 8)])
def test_eigenpairs_and_functions_of_graphs_are_those_of_lapack(n, wanted):
    X, _ = make_moons(n, noise=0.1, random_state=0)
    d2 = between(X, X)
    values, vectors = largest_eigenpairs(np.exp(-d2), wanted)
    assert_allclose(values, np.linalg.eigvalsh(np.exp(-d2))[::-1][:wanted], atol=1e-8)
    assert_allclose(np.exp(-d2) @ vectors, vectors * values, atol=1e-8)
    np.fill_diagonal(d2, np.inf)
    graph = make_graph(*nearest_rows(d2, 3, 1e-9), np.ones(n), wanted)
    W = np.zeros((n, n))
    nearest, distance = nearest_rows(d2, 3, 1e-9)
    np.put_along_axis(W, nearest, np.exp(-0.5 * (distance / distance.mean()) ** 2), axis=1)
    W = np.maximum(W, W.T)
    root = np.sqrt(W.sum(axis=1))
    expected = np.linalg.eigvalsh(np.eye(n) - W / root / root[:, None])[:wanted]
    assert_allclose(graph.lam, np.maximum(expected, 0), atol=1e-7)


def test_naive_bayes_with_em_learns_words_that_no_labeled_text_has():
    texts = np.array(
        [[1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 1]]
    )
    target = make_target(np.array([0, 1, -1, -1, -1, -1]), np.array([0, 1]), np.ones(6), None)
    model = NaiveBayes().fit_all(
        sparse.csr_matrix(texts, dtype=float), target, np.ones(2, dtype=bool)
    )
    assert_array_equal(model.predict_proba(texts).argmax(axis=1), [0, 1, 0, 1, 0, 1])


# ---- thresholds ----


def test_the_slope_of_probabilities():
    is_positive = np.arange(12) >= 9
    both = np.column_stack([-SCORES / 2, SCORES / 2])
    slope = most_likely_slope(both, is_positive.astype(int), np.ones(12), (0, None))
    assert slope == pytest.approx(4.2143, abs=1e-4)
    assert fit_sigmoid(-SCORES, is_positive)[0] == 0  # never falling


@pytest.mark.parametrize(
    ("scores", "n_positive", "pool", "by_share", "by_interval", "threshold"),
    [
        (SCORES, 3, np.linspace(-1.5, 0.2, 171), 0, -0.106898, 0),
        (
            [*np.linspace(-1.2, -0.1, 28), -0.3, 0.2],
            2,
            np.linspace(-1.2, 0.02, 123),
            -0.08291,
            -0.034541,
            -0.058725,
        ),
        (
            [*np.linspace(-1.2, -0.1, 25), -0.3, 0.2, 0.1, 0, -0.2],
            5,
            np.linspace(-1.2, 0.02, 123),
            -0.155743,
            -0.136191,
            -0.093248,
        ),
    ],
)
def test_thresholds_of_two_classes(scores, n_positive, pool, by_share, by_interval, threshold):
    scores = np.array(scores)
    is_positive = np.arange(len(scores)) >= len(scores) - n_positive
    assert share_threshold(scores, is_positive, pool) == pytest.approx(by_share, abs=1e-5)
    of_interval = interval_threshold(n_positive, len(scores) - n_positive, pool)
    assert of_interval == pytest.approx(by_interval, abs=1e-5)
    assert place_threshold(scores, is_positive, pool) == pytest.approx(threshold, abs=1e-5)


def test_few_rows_or_labels_leave_the_threshold_at_0():
    is_positive = np.arange(12) >= 9
    pool = np.linspace(-1, -0.5, 200)
    assert place_threshold(SCORES, is_positive, pool[:49]) == 0
    assert place_threshold(SCORES, np.arange(12) == 11, pool) == 0
    assert place_threshold(np.ones(12), is_positive, pool) == 0


def test_offsets_of_several_classes():
    g = np.linspace(-1, 1, 300)
    scores = np.column_stack([g, -g / 2 - 0.2, 0.3 * np.cos(7 * g) - 0.1])
    offsets = place_offsets(scores, 3.0)
    assert_allclose(offsets, [0.021521, -0.032667, 0.011146], atol=1e-6)
    assert np.bincount((scores + offsets).argmax(axis=1)).tolist() == [134, 109, 57]
