"""ClusterSVC: kernel PCA, component statistics and cluster labels, each against a slow, obvious
answer.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from histories import RoundCounter
from paper_designs import draw_a1, draw_a2, draw_b1, draw_b2, mean_accuracy, one_accuracy
from semisvm import ClusterSVC, SupervisedSVC
from semisvm.estimators.cluster_labels import label_clusters, settle_noise
from semisvm.estimators.equal_rows import content_key
from semisvm.estimators.problem import TrainingProblem


def seed_of(random_state):
    """The seed that a fit draws from its random_state."""
    return int(np.random.RandomState(random_state).randint(2**31))


def few_labels(seed=0, n=240, centers=4, n_labels=24):
    X, true = make_blobs(n, centers=centers, cluster_std=1.5, random_state=seed)
    true %= 3
    return X, np.where(np.arange(n) < n_labels, true, -1), true


# -- step 2: labels
# ---------------------------------------------------------------------------------------------


def naive_labels(features, clusters, codes, weight, n_classes, empty):
    """The class of each cluster by a loop; None where the paper would draw lots."""
    answer = {}
    for cluster in range(max(clusters) + 1):
        votes = [0.0] * n_classes
        for i in range(len(codes)):
            if clusters[i] == cluster and codes[i] >= 0:
                votes[codes[i]] += weight[i]
        if max(votes) == 0:
            answer[cluster] = "empty"
        else:
            answer[cluster] = votes.index(max(votes)) if votes.count(max(votes)) == 1 else None
    members = {c: [i for i in range(len(codes)) if clusters[i] == c] for c in answer}
    centers = {
        c: sum(weight[i] * features[i] for i in rows) / sum(weight[rows])
        for c, rows in members.items()
    }
    known = [c for c in answer if answer[c] != "empty"]
    for cluster in answer:
        if answer[cluster] == "empty" and empty == "nearest":
            nearest = min(known, key=lambda c: np.linalg.norm(centers[c] - centers[cluster]))
            answer[cluster] = ("as", nearest)
        elif answer[cluster] == "empty":
            answer[cluster] = -1 if empty == "drop" else None
    return answer


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    empty=st.sampled_from(["nearest", "drop", "random"]),
    weighted=st.booleans(),
)
def test_clusters_are_labeled_as_a_naive_loop_would(seed, empty, weighted):
    rng = np.random.default_rng(seed)
    n, n_classes = 25, 3
    features = rng.standard_normal((n, 2))
    clusters = settle_noise(rng.integers(-1, 7, n))
    codes = np.where(rng.random(n) < 0.4, rng.integers(0, n_classes, n), -1)
    codes[0] = 0
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    found = label_clusters(
        features, clusters, codes, weight, n_classes, empty, np.random.default_rng(0)
    )
    for cluster, expected in naive_labels(
        features, clusters, codes, weight, n_classes, empty
    ).items():
        if isinstance(expected, tuple):
            assert found[cluster] == found[expected[1]]
        elif expected is not None:
            assert found[cluster] == expected
        else:
            assert 0 <= found[cluster] < n_classes


def test_ties_are_drawn_by_lot_among_the_tied_classes_only():
    clusters = np.zeros(6, dtype=int)
    codes = np.array([0, 2, 0, 2, 1, -1])
    drawn = {
        int(
            label_clusters(
                np.zeros((6, 1)),
                clusters,
                codes,
                np.ones(6),
                3,
                "nearest",
                np.random.default_rng(s),
            )[0]
        )
        for s in range(30)
    }
    assert drawn == {0, 2}


def test_noise_becomes_clusters_of_one_row():
    assert settle_noise(np.array([3, -1, 5, 3, -1, -2])).tolist() == [0, 2, 1, 0, 3, 4]


# -- the whole method
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", ["nearest", "drop", "random"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_it_is_the_svm_of_the_labels_that_clusters_give(empty, multi_class):
    X, y, _ = few_labels()
    model = ClusterSVC(
        n_clusters=40, empty=empty, multi_class=multi_class, random_state=0, tol=1e-6
    ).fit(X, y)
    given_by_cluster = model.cluster_codes_[model.clusters_]
    trained = np.where(y >= 0, y, given_by_cluster)
    in_use = trained >= 0
    assert in_use.all() == (empty != "drop")
    assert (model.transduction_[in_use] == trained[in_use]).all()
    assert (model.labeled_iter_ == np.where(y >= 0, 0, np.where(in_use, 1, -1))).all()
    plain = SupervisedSVC(gamma=model._formula.gamma, multi_class=multi_class, tol=1e-6).fit(
        X[in_use], trained[in_use]
    )
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-4)
    if multi_class == "ovo":
        theirs = SVC(gamma=model._formula.gamma, tol=1e-6).fit(X[in_use], trained[in_use])
        assert (theirs.predict(X) == model.predict(X)).mean() > 0.99


def test_clusters_without_embedding_are_those_of_k_means():
    X, y, _ = few_labels()
    model = ClusterSVC(n_clusters=4, embed=None, kernel="linear", random_state=0).fit(X, y)
    theirs = KMeans(4, n_init=10, random_state=seed_of(0)).fit_predict(X)
    pairs = set(zip(model.clusters_.tolist(), theirs.tolist(), strict=True))
    assert len(pairs) == 4


def test_kernel_pca_finds_clusters_that_k_means_of_x_does_not():
    X, true = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    y = np.where(np.arange(300) < 10, true, -1)
    assert (ClusterSVC(n_clusters=2, random_state=0).fit(X, y).transduction_ == true).all()
    assert (
        ClusterSVC(n_clusters=2, embed=None, random_state=0).fit(X, y).transduction_ == true
    ).mean() < 0.7


def test_sparse_rows_and_a_kernel_matrix_give_the_same_model():
    X, y, _ = few_labels()
    order = content_key(
        X
    ).argsort()  # draws follow the content of rows, and in a kernel matrix their places
    X = X[order]
    y = y[order]
    dense = ClusterSVC(n_clusters=6, gamma=0.1, random_state=0).fit(X, y)
    K = rbf_kernel(X, gamma=0.1)
    thin = ClusterSVC(n_clusters=6, gamma=0.1, random_state=0).fit(sparse.csr_array(X), y)
    given_ = ClusterSVC(n_clusters=6, kernel="precomputed", random_state=0).fit(K, y)
    assert (thin.transduction_ == dense.transduction_).all()
    assert (given_.transduction_ == dense.transduction_).all()
    np.testing.assert_allclose(given_.decision_function(K), dense.decision_function(X), atol=1e-6)
    raw = {"n_clusters": 6, "embed": None, "kernel": "linear", "random_state": 0}
    assert (
        ClusterSVC(**raw).fit(sparse.csr_array(X), y).transduction_
        == ClusterSVC(**raw).fit(X, y).transduction_
    ).all()


def test_rows_without_weight_take_no_part():
    X, y, _ = few_labels()
    weight = np.where(np.arange(len(y)) % 5 == 4, 0.0, 1.0)
    model = ClusterSVC(n_clusters=5, random_state=0).fit(X, y, weight)
    fewer = ClusterSVC(n_clusters=5, random_state=0).fit(X[weight > 0], y[weight > 0])
    assert (model.clusters_[weight == 0] == -1).all()
    np.testing.assert_allclose(model.decision_function(X), fewer.decision_function(X), atol=1e-9)


def test_the_same_random_state_gives_the_same_model():
    X, y, _ = few_labels()
    make = ClusterSVC(n_clusters=12, random_state=3)
    first = clone(make).fit(X, y)
    second = clone(make).fit(X, y)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_any_clusterer_serves_and_is_left_as_it_was():
    X, y, _ = few_labels()
    given_ = AgglomerativeClustering(n_clusters=2)
    model = ClusterSVC(clusterer=given_, n_clusters=8, random_state=0).fit(X, y)
    assert model.n_clusters_ == 8
    assert given_.n_clusters == 2
    assert not hasattr(given_, "labels_")
    assert ClusterSVC(clusterer=given_).fit(X, y).n_clusters_ == 2


def test_rows_that_a_clusterer_calls_noise_are_labeled_too():
    X, true = make_blobs(200, centers=3, cluster_std=0.6, random_state=0)
    y = np.where(np.arange(200) < 12, true, -1)
    model = ClusterSVC(clusterer=DBSCAN(eps=0.5), embed=None).fit(X, y)
    by_density = DBSCAN(eps=0.5).fit_predict(X)
    assert model.n_clusters_ == by_density.max() + 1 + (by_density < 0).sum()
    assert (model.transduction_ == true).mean() > 0.98


# -- sample weights
# ---------------------------------------------------------------------------------------------


def weighted_and_repeated(seed=0):
    """Rows with weights 1 to 3, and the same rows each repeated so often; separate enough for
    one best clustering.
    """
    X, true = make_blobs(90, centers=[[0, 0], [0, 9], [9, 0], [9, 9]], random_state=seed)
    true %= 3
    y = np.where(np.arange(90) < 30, true, -1)
    weight = np.random.default_rng(seed).integers(1, 4, 90)
    return X, y, weight, np.repeat(np.arange(90), weight)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"embed": None, "kernel": "linear"},
        {"n_clusters": 12},
        {"embed": None, "clusterer": KMeans(4, n_init=20), "n_clusters": None},
        {"eigen_solver": "truncated", "components": "eigenvalue"},
    ],
    ids=str,
)
def test_a_row_of_weight_two_is_two_rows(parameters):
    """Up to the random starts of k-means, which find the best clusters here."""
    X, y, weight, copies = weighted_and_repeated()
    model = ClusterSVC(**{"n_clusters": 4, "random_state": 0, "tol": 1e-8} | parameters)
    weighted = clone(model).fit(X, y, weight)
    repeated = clone(model).fit(X[copies], y[copies])
    if "n_clusters" not in parameters or parameters["n_clusters"] is None:
        pairs = set(
            zip(weighted.clusters_[copies].tolist(), repeated.clusters_.tolist(), strict=True)
        )
        assert len(pairs) == 4
    np.testing.assert_array_equal(weighted.transduction_[copies], repeated.transduction_)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )


def test_weights_move_the_centers_of_clusters():
    """Five rows on a line in two clusters: weight on the third decides which side it is on."""
    X = np.array([[0.0], [1.0], [2.4], [4.0], [5.0]])
    y = np.array([0, -1, -1, -1, 1])
    model = ClusterSVC(n_clusters=2, embed=None, kernel="linear", random_state=0)
    assert model.fit(X, y, [1, 1, 1, 1, 1]).transduction_[2] == 0
    assert model.fit(X, y, [9, 9, 1, 1, 1]).transduction_[2] == 1


# -- edges
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embed", ["kernel_pca", None])
@pytest.mark.parametrize("empty", ["nearest", "drop", "random"])
def test_more_clusters_than_rows(embed, empty):
    X, y, _ = few_labels(n=30, n_labels=9)
    model = ClusterSVC(n_clusters=1000, embed=embed, empty=empty, random_state=0).fit(X, y)
    assert model.n_clusters_ <= 30
    assert (model.transduction_[:9] == y[:9]).all()


def test_a_class_with_one_labeled_row():
    X, y, _ = few_labels()
    for code, n_kept in ((0, 1), (1, 2)):
        y[np.flatnonzero(y == code)[n_kept:]] = -1
    model = ClusterSVC(n_clusters=6, random_state=0).fit(X, y)
    assert set(model.transduction_) == {0, 1, 2}


@pytest.mark.parametrize("embed", ["kernel_pca", None])
def test_constant_columns_and_rows_that_are_all_the_same(embed):
    X, y, _ = few_labels()
    plain = ClusterSVC(n_clusters=5, embed=embed, random_state=0).fit(X, y)
    wide = np.column_stack([X, np.full(len(X), 5.0)])
    assert (
        ClusterSVC(n_clusters=5, embed=embed, random_state=0).fit(wide, y).transduction_
        == plain.transduction_
    ).all()
    same = ClusterSVC(n_clusters=5, embed=embed, random_state=0).fit(
        np.ones((20, 2)), [0, 0, 1] + [-1] * 17
    )
    assert (same.transduction_[3:] == 0).all()  # the majority


def test_a_small_cache_is_slower_and_no_different():
    X, y, _ = few_labels()
    full = ClusterSVC(n_clusters=6, eigen_solver="truncated", random_state=0).fit(X, y)
    tight = ClusterSVC(n_clusters=6, eigen_solver="truncated", cache_size=0.05, random_state=0).fit(
        X, y
    )
    assert (tight.transduction_ == full.transduction_).all()


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"kernel": "precomputed", "embed": None}, "embed=None clusters the columns"),
        ({"n_clusters": [2, 3]}, "'n_clusters' parameter"),
        ({"C": "cv"}, "'C' parameter"),
        ({"clusterer": "kmeans"}, "must be a scikit-learn clusterer"),
        ({"clusterer": DBSCAN(), "n_clusters": 4}, "DBSCAN has no parameter n_clusters"),
        ({"empty": "zero"}, "'empty' parameter"),
        ({"share": 0.0}, "'share' parameter"),
    ],
)
def test_what_can_t_be_done_is_refused_before_any_work(parameters, says, monkeypatch):
    for work in ("formula", "kernel_rows"):
        monkeypatch.setattr(TrainingProblem, work, lambda *_, **__: pytest.fail("work was done"))
    X, y, _ = few_labels()
    with pytest.raises(ValueError, match=says):
        ClusterSVC(**parameters).fit(rbf_kernel(X) if "kernel" in parameters else X, y)


# -- the paper's numbers, with few repetitions
# ------------------------------------------------------------------


def close_to(expected, tolerance, sd, repetitions):
    """The notes' tolerance, which is for many repetitions, and three standard errors of our few."""
    return pytest.approx(expected, abs=tolerance + 3 * sd / np.sqrt(repetitions))


def linear(**parameters):
    return lambda r: ClusterSVC(
        0.01, embed=None, kernel="linear", multi_class="ovo", random_state=r, **parameters
    )


def test_a1_and_a2_are_as_the_notes_measured():
    assert mean_accuracy(draw_a1, linear(n_clusters=2), 0.95, 8) == close_to(0.935, 0.008, 0.009, 8)
    assert mean_accuracy(draw_a1, linear(n_clusters=5, empty="random"), 0.9, 8) == close_to(
        0.917, 0.015, 0.026, 8
    )
    two = mean_accuracy(lambda n, rng: draw_a2(n, rng, 2), linear(n_clusters=3), 0.9, 8)
    assert two == close_to(0.913, 0.02, 0.01, 8)
    four = mean_accuracy(lambda n, rng: draw_a2(n, rng, 4), linear(n_clusters=3), 0.8, 8)
    assert four < 0.834  # Bayes .824: the printed design can't give the printed table
    assert four == close_to(0.746, 0.04, 0.03, 8)


def test_b1_and_b2_are_as_the_notes_measured():
    b1 = mean_accuracy(
        draw_b1, lambda r: ClusterSVC(n_clusters=20, empty="random", random_state=r), 0.8, 8
    )
    assert b1 == close_to(0.588, 0.02, 0.033, 8)
    assert b1 < 0.63  # Bayes .62
    b2 = mean_accuracy(
        draw_b2, lambda r: ClusterSVC(10, n_clusters=50, multi_class="ovo", random_state=r), 0.8, 6
    )
    assert b2 == close_to(0.856, 0.025, 0.032, 6)


def test_it_beats_the_svm_on_gaussian_clusters_when_labels_are_few():
    """Symmetric tuning, A1 at 95% hidden: +.047 in the notes; here C = 0.01 for both."""
    gains = [
        one_accuracy(draw_a1, linear(n_clusters=2), 0.95, r)
        - one_accuracy(draw_a1, lambda _: SupervisedSVC(0.01, kernel="linear"), 0.95, r)
        for r in range(8)
    ]
    assert np.mean(gains) > 0.02


def test_statistics_choose_better_components_than_eigenvalues_on_b2():
    """The paper's claim, confirmed in the notes: k = 3 .58 against .46."""
    by = {
        rule: mean_accuracy(
            draw_b2,
            lambda r, rule=rule: ClusterSVC(n_clusters=3, components=rule, random_state=r),
            0.8,
            8,
        )
        for rule in ("statistic", "eigenvalue")
    }
    assert by["statistic"] > by["eigenvalue"] + 0.03


def test_callbacks_see_the_clustering_and_may_end_the_fit_there():
    X, y, _ = few_labels()
    counter = RoundCounter(1)
    model = ClusterSVC(random_state=0).set_callbacks(counter)
    with pytest.warns(ConvergenceWarning, match="stopped_by_callback"):
        model.fit(X, y)
    assert counter.n_rounds == 1
    assert model.termination_condition_ == "stopped_by_callback"


@pytest.mark.parametrize("cache_size", [0.001, None])
def test_rows_of_zeros_are_one_row_whatever_memory_there_is(cache_size):
    model = ClusterSVC(kernel=lambda left, right: left @ right.T, cache_size=cache_size)
    assert np.isfinite(
        model.fit(np.zeros((12, 2)), np.array([0, 1] * 3 + [-1] * 6)).decision_function(
            np.ones((2, 2))
        )
    ).all()
