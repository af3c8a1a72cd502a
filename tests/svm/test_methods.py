"""One oracle for each method: the paper's loop with scikit-learn's SVC trained from nothing, all
labelings of a few rows, or a general-purpose solver.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_svmlight_file, make_circles, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from label_mean_primals import Equation6, Equation7
from oracles import optimum
from semisvm import svm
from semisvm.labels import Labels
from semisvm.svm import laplacian
from semisvm.svm._label_means import GuessedMargins, LabelMeans
from semisvm.svm._rounds import Rounds
from semisvm.svm._shares import exact_interval
from semisvm.svm.cluster import count_votes, f_statistic, label_clusters
from semisvm.svm.laplacian import left_out_scores

TIGHT = {"tol": 1e-9}


def blobs(seed, n=60, n_labeled=8, n_classes=2, distance=2.0):
    """Overlapping classes by turns; the first rows are labeled."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % n_classes
    centers = distance * np.array([[0, 0], [1, 1], [1, -1]])
    X = centers[true] + rng.standard_normal((n, 2))
    return X, np.where(np.arange(n) < n_labeled, true, -1), true


def sign_of(y):
    return np.where(y > 0, 1.0, np.where(y == 0, -1.0, 0.0))


# SupervisedSVC.


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.5},
        {"kernel": "linear", "solver": "primal"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_supervised_is_the_svc_of_the_labeled_rows(parameters, n_classes):
    X, y, _ = blobs(0, n_labeled=40, n_classes=n_classes)
    costs = dict(zip(range(n_classes), (1, 3, 2), strict=False))
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    tol = 1e-7 if "solver" in parameters else 1e-9
    ours = svm.SupervisedSVC(C=2.0, costs=costs, tol=tol, **parameters).fit(X, y, weight)
    known = y >= 0
    theirs = SVC(
        C=2.0,
        class_weight=costs,
        tol=1e-9,
        decision_function_shape="ovr",
        **{name: value for name, value in parameters.items() if name != "solver"},
    ).fit(X[known], y[known], weight[known])
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)
    if parameters == {"kernel": "linear"}:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
        np.testing.assert_array_equal(ours.support_, np.sort(theirs.support_))  # the first 40


@pytest.mark.parametrize("estimator_class", [svm.SupervisedSVC, svm.ClusterSVC])
def test_features_of_very_different_scales_are_solved_for(estimator_class):
    X, true = load_breast_cancer(return_X_y=True)
    y = np.where(np.arange(len(true)) < 100, true, -1)
    X, y = np.r_[X, X[:60]] * np.geomspace(1, 100, 30), np.r_[y, y[:60]]  # some of them copies
    model = estimator_class(C=1000, kernel="linear").fit(X, y)
    assert model.termination_condition_ == "converged"
    assert (model.gap_ <= model.tol).all()
    assert model.coef_.shape == (1, 30)


def test_copies_are_solved_for_once():
    X, y, _ = blobs(1, n_labeled=40)
    X = np.round(X)
    model = svm.SupervisedSVC(**TIGHT).fit(X, y)
    plain = SVC(tol=1e-9).fit(X[:40], y[:40])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-5)
    assert len(model.support_) == len(np.unique(np.c_[X, y][model.support_], axis=0))


@pytest.mark.filterwarnings("ignore:.*one side of the boundary:UserWarning")
@pytest.mark.parametrize(
    "estimator_class",
    [
        svm.SupervisedSVC,
        svm.SelfTrainingSVC,
        svm.TransductiveSVC,
        svm.ProgressiveSVC,
        svm.LabelMeanSVC,
        svm.LaplacianSVC,
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_kernel_is_given_by_name_by_its_values_or_by_a_function(estimator_class, n_classes):
    X, y, _ = blobs(3, n_labeled=15, n_classes=n_classes)
    by_name = estimator_class(gamma=0.2, **TIGHT).fit(X, y)
    K = rbf_kernel(X, gamma=0.2)
    by_values = estimator_class(kernel="precomputed", **TIGHT).fit(K, y)
    by_function = estimator_class(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.2), **TIGHT)
    by_function.fit(X, y)
    expected = by_name.decision_function(X)
    if estimator_class is not svm.LaplacianSVC:  # whose distances are then those of the kernel
        np.testing.assert_allclose(by_values.decision_function(K), expected, atol=1e-4)
    np.testing.assert_allclose(by_function.decision_function(X), expected, atol=1e-4)


# SelfTrainingSVC.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_self_training_is_a_loop_of_refits(n_classes, seed):
    X, y, _ = blobs(seed, n=120, n_labeled=9, n_classes=n_classes, distance=1.2)
    codes, n_changed = y, []
    while not n_changed or n_changed[-1]:
        known = codes >= 0
        f = np.stack(
            [
                SVC(C=0.5, gamma=0.2, tol=1e-8)
                .fit(X[known], codes[known] == c)
                .decision_function(X)
                for c in range(n_classes)
            ],
            axis=1,
        )
        before, codes = codes, np.where(y >= 0, y, f.argmax(axis=1))
        n_changed.append(int((codes != before).sum()))
    parameters = {"C": 0.5, "gamma": 0.2, "multi_class": "ovr"}
    model = svm.SelfTrainingSVC(**parameters, **TIGHT).fit(X, y)
    assert [record["n_changed"] for record in model.history_] == n_changed
    assert len(n_changed) > 2, "a test of rounds needs rounds"
    np.testing.assert_array_equal(model.transduction_, codes)
    with pytest.warns(ConvergenceWarning, match="max_rounds") as told:
        model.set_params(max_rounds=1).fit(X, y)
    assert told[0].filename == __file__


# TransductiveSVC.


def least_objective(K, y, n_positive, C):
    """The best of all labelings of the unlabeled rows with so many positives."""
    unlabeled, best = np.flatnonzero(y < 0), np.inf
    for positive in combinations(unlabeled, n_positive):
        sign = np.where(y > 0, 1.0, -1.0)
        sign[list(positive)] = 1
        bound = sign * C
        _, value = optimum(K, -sign, np.minimum(bound, 0), np.maximum(bound, 0))
        best = min(best, -value)
    return best


def test_switching_is_never_below_the_best_of_all_labelings_and_mostly_there():
    ratios = []
    for seed in range(8):
        X, y, _ = blobs(seed, n=12, n_labeled=4)
        model = svm.TransductiveSVC(C=2, gamma=0.3, positive_fraction=0.5, **TIGHT).fit(X, y)
        assert (model.transduction_[4:] == 1).sum() == 4
        least = least_objective(rbf_kernel(X, gamma=0.3), y, 4, C=2)
        ratios.append(model.history_[-1]["objective"] / least)
    assert min(ratios) > 1 - 1e-6
    assert np.median(ratios) < 1 + 1e-6


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_within_a_level_the_objective_falls_with_every_switch(kernel, solver):
    if (kernel, solver) == ("rbf", "primal"):
        pytest.skip("no primal form")
    X, y, _ = blobs(3, n=200, n_labeled=10, distance=1.5)
    model = svm.TransductiveSVC(C=2, kernel=kernel, solver=solver, tol=1e-5).fit(X, y)
    levels = [record for record in model.history_ if "switched" in record]
    assert sum(record["switched"] > 0 for record in levels) > 1
    for before, after in pairwise(levels):
        if after["switched"]:
            assert after["objective"] < before["objective"]


def test_the_ramp_loss_never_rises_and_keeps_the_balance():
    for seed in range(6):
        X, y, _ = blobs(seed, n_labeled=10)
        model = svm.TransductiveSVC(algorithm="cccp", gamma=0.3, **TIGHT).fit(X, y)
        values = [record["objective"] for record in model.history_ if "objective" in record]
        assert len(values) > 0
        assert (np.diff(values) <= 1e-9 * values[0]).all()
        share = 2 * model.positive_fraction_[0] - 1
        assert model.decision_function(X[y < 0]).mean() == pytest.approx(share, abs=1e-6)


def test_the_share_of_positives_comes_with_its_exact_interval():
    from scipy.stats import binomtest

    X, y, _ = blobs(0, n_labeled=10)
    y[:10] = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    labeled = svm.TransductiveSVC().fit(X, y)
    ends = binomtest(3, 10).proportion_ci(0.9, method="exact")
    assert exact_interval(3, 10) == pytest.approx((ends.low, ends.high))
    np.testing.assert_allclose(labeled.positive_fraction_interval_[0], (ends.low, ends.high))
    assert labeled.positive_fraction_ == pytest.approx(0.3)
    estimated = svm.TransductiveSVC(positive_fraction="estimated").fit(X, y)
    predicted = (svm.SupervisedSVC().fit(X, y).predict(X[y < 0]) == 1).mean()
    assert estimated.positive_fraction_ == pytest.approx(np.clip(predicted, ends.low, ends.high))
    X, y, _ = blobs(0, n_labeled=9, n_classes=3)
    with pytest.raises(ValueError, match="two classes"):
        svm.TransductiveSVC(positive_fraction=0.5).fit(X, y)


# ProgressiveSVC.


@pytest.mark.filterwarnings("ignore:.*one side of the boundary:UserWarning")
@pytest.mark.parametrize("seed", range(6))
def test_progressive_is_the_papers_loop(seed):
    X, y, _ = blobs(seed)
    state, n_rounds = sign_of(y), 0
    while True:
        used = state != 0
        f = SVC(C=1.5, gamma=0.3, tol=1e-10).fit(X[used], state[used]).decision_function(X)
        state[(state * f < 0) & (y < 0)] = 0
        inside = np.flatnonzero((state == 0) & (np.abs(f) < 1))
        if len(inside) == 0:
            break
        positive, negative = inside[f[inside] > 0], inside[f[inside] < 0]
        if len(positive):
            state[positive[np.argmax(f[positive])]] = 1
        if len(negative):
            state[negative[np.argmin(f[negative])]] = -1
        n_rounds += 1
    model = svm.ProgressiveSVC(C=1.5, gamma=0.3, **TIGHT).fit(X, y)
    assert sum("candidates" in record for record in model.history_) == n_rounds > 3
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)
    assert (model.labeled_iter_[y >= 0] == 0).all()
    assert model.labeled_iter_.max() == n_rounds
    assert model.termination_condition_ == "margin_empty"


def test_a_collapse_and_a_limit_are_told():
    X, y, _ = blobs(0, n=200, n_labeled=4, distance=0.5)
    with pytest.warns(ConvergenceWarning, match="still inside the margin"):
        model = svm.ProgressiveSVC(max_rounds=3).fit(X, y)
    assert model.termination_condition_ == "max_rounds"
    X = np.r_[[[0.0], [2.0]], np.linspace(0.2, 0.9, 30)[:, None]]
    with pytest.warns(UserWarning, match="one side of the boundary"):
        svm.ProgressiveSVC(kernel="linear").fit(X, np.r_[0, 1, np.full(30, -1)])


# LabelMeanSVC.


@pytest.mark.parametrize("ratio", [0.2, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_label_means_are_the_equations_of_the_paper(ratio, seed):
    """Equations 7 and 6 as printed: our f has the value that we say, and no other f less."""
    X, y, _ = blobs(seed, n=14, n_labeled=6)
    y[:6] = [0, 1] * 3
    model = svm.LabelMeanSVC(kernel="linear", costs={0: 1, 1: ratio}, tol=1e-10)
    model.classes_ = np.array([0, 1])
    data = model._training_set(X, Labels(model.classes_, y), np.ones(len(y)))
    X, (problem,) = data.X, data.binary_problems()
    sign = problem.sign
    guess = np.where(sign == 0, np.where(np.arange(len(sign)) % 2, 1.0, -1.0), sign)
    cheaper = min(ratio, 1.0)
    means = LabelMeans(problem, C=1.0, C_unlabeled=0.1)
    found = Rounds(problem).solve(means.svm(guess), tol=1e-11)
    cost = {+1: ratio / cheaper, -1: 1 / cheaper}
    printed = Equation7(X, sign, cost, cheaper, 0.1 * cheaper, guess)
    w, value = X.T @ means.kernel.fold(found.row_beta), -found.objective
    assert printed.value(w, found.bias) == pytest.approx(value, abs=1e-7)
    assert printed.least() == pytest.approx(value, abs=1e-6)

    rounds = Rounds(problem)
    GuessedMargins(problem, guess, C=1.0, C_unlabeled=0.5).solve(rounds)
    found, value = rounds.solution, rounds.history[-1]["objective"]
    printed = Equation6(X, sign, {+1: ratio, -1: 1.0}, 1.0, 0.5, guess)
    assert printed.value(X.T @ found.row_beta, found.bias) == pytest.approx(value, abs=1e-6)
    assert printed.least() == pytest.approx(value, abs=1e-5)


def test_the_search_lowers_its_objective_and_helps_where_the_means_tell():
    X, y, true = blobs(4, n=200, n_labeled=6, distance=2.5)
    model = svm.LabelMeanSVC(C=1, gamma=0.1, positive_fraction=float(true[y < 0].mean())).fit(X, y)
    searched = [record["objective"] for record in model.history_ if "changed" in record]
    assert (np.diff(searched) <= 1e-6).all()
    assert model.score(X, true) > 0.9


# LaplacianSVC.


def laplacian_by_hand(X, n_neighbors):
    """The normalized Laplacian, from all distances."""
    n = len(X)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    asked = np.zeros((n, n), dtype=bool)
    for i in range(n):
        asked[i, [j for j in np.argsort(distance[i], kind="stable") if j != i][:n_neighbors]] = True
    W = np.where(asked | asked.T, np.exp(-0.5 * (distance / distance[asked].mean()) ** 2), 0.0)
    degree = W.sum(axis=1)
    return (np.diag(degree) - W) / np.sqrt(np.outer(degree, degree))


@pytest.mark.parametrize(("C_intrinsic", "power"), [(0.5, 1), (3.0, 2)])
def test_laplacian_is_the_svm_in_the_textbooks_kernel(C_intrinsic, power):
    X, y, _ = blobs(0, n=60, n_labeled=12)
    new, *_ = blobs(5, n=25)
    P = C_intrinsic * np.linalg.matrix_power(laplacian_by_hand(X, 5), power)
    K, K_new = rbf_kernel(X, gamma=0.1), rbf_kernel(new, X, gamma=0.1)
    inverse = np.linalg.inv(np.eye(len(X)) + P @ K)
    known = np.flatnonzero(y >= 0)
    deformed, of_new = K - K @ inverse @ P @ K, K_new - K_new @ inverse @ P @ K
    paper = SVC(C=2, kernel="precomputed", tol=1e-10).fit(deformed[np.ix_(known, known)], y[known])
    model = svm.LaplacianSVC(
        C=2, gamma=0.1, C_intrinsic=C_intrinsic, power=power, n_neighbors=5, **TIGHT
    ).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(new), paper.decision_function(of_new[:, known]), atol=1e-5
    )


def test_left_out_scores_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(0)
    X, price = rng.normal(size=(12, 2)), rng.uniform(0.5, 2, 12)
    Y = np.where(rng.random((12, 1)) < 0.5, -1.0, 1.0)
    K, weight = rbf_kernel(X), np.ones(12)
    ours = left_out_scores(K, Y, weight, price)
    for i in range(12):
        kept = np.delete(np.arange(12), i)
        system = np.ones((12, 12))
        system[:11, :11] = K[np.ix_(kept, kept)] + np.diag(laplacian.AUTO_RIDGE / price[kept])
        system[11, 11] = 0
        solution = np.linalg.solve(system, np.append(Y[kept], 0.0))
        assert ours[i, 0] == pytest.approx(K[i, kept] @ solution[:11] + solution[11])


def test_the_penalty_is_chosen_where_there_are_labels_to_choose_by():
    X, true = make_moons(200, noise=0.05, random_state=0)
    for n_of_class, penalty, power in ((1, 10.0, 2), (2, 10.0, 2), (5, 1e4, 1)):
        y = np.full(200, -1)
        for c in (0, 1):
            y[np.flatnonzero(true == c)[:n_of_class]] = c
        model = svm.LaplacianSVC(gamma=5).fit(X, y)
        assert (model.C_intrinsic_, model.power_) == (pytest.approx(penalty), power)
    assert model.score(X, true) == 1


def test_with_little_memory_the_graph_is_one_of_a_sample():
    X, true = make_moons(400, noise=0.05, random_state=0)
    y = np.where(np.arange(400) < 20, true, -1)
    model = svm.LaplacianSVC(C=10, gamma=5, cache_size=0.5).fit(X, y)
    assert model.history_[-1]["nodes"] == 158
    assert model.score(X, true) > 0.98
    assert np.isfinite(model.decision_function(X)).all()


# ClusterSVC and MixtureClassifier.


def test_clusters_take_the_labels_of_their_members():
    X, y, _ = blobs(0, n=80, n_labeled=10, n_classes=3)
    model = svm.ClusterSVC(embed=None, n_clusters=8, random_state=0, **TIGHT).fit(X, y)
    for k, code in enumerate(model.cluster_codes_):
        members = model.clusters_ == k
        votes = np.bincount(y[members & (y >= 0)], minlength=3)
        assert votes.sum() == 0 or votes[code] == votes.max()
        assert (model.transduction_[members & (y < 0)] == code).all()
    centers = np.array([X[model.clusters_ == k].mean(axis=0) for k in range(8)])
    nearest = np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == model.clusters_).all(), "k-means ends where every row is with its center"
    gamma = 1 / (
        2 * np.median(np.linalg.norm(X[:10, None] - X[:10], axis=2)[np.triu_indices(10, 1)]) ** 2
    )
    plain = SVC(gamma=gamma, tol=1e-9).fit(X, model.transduction_)
    assert (plain.predict(X) == model.predict(X)).all()
    inertia = sum(((X[model.clusters_ == k] - centers[k]) ** 2).sum() for k in range(8))
    assert inertia < 1.1 * KMeans(8, n_init=20, random_state=1).fit(X).inertia_


def test_a_cluster_without_labels_is_like_the_nearest_with_some_and_ties_are_drawn():
    X = np.array([[0.0], [0.1], [10.0], [10.1], [2.0]])
    labels = Labels(np.array([0, 1]), np.array([0, -1, 0, 1, -1]))
    clusters = np.array([0, 0, 1, 1, 2])
    votes = count_votes(clusters, labels, np.ones(5))
    np.testing.assert_array_equal(votes, [[1, 0], [1, 1], [0, 0]])
    drawn = [
        label_clusters(X, clusters, votes, np.ones(5), np.random.default_rng(seed)).tolist()
        for seed in range(30)
    ]
    assert {tuple(codes) for codes in drawn} == {(0, 0, 0), (0, 1, 0)}


def test_kernel_pca_finds_what_k_means_of_x_does_not():
    X, true = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    y = np.where(np.arange(200) < 10, true, -1)
    score = {
        embed: svm.ClusterSVC(n_clusters=2, embed=embed, random_state=0).fit(X, y).score(X, true)
        for embed in ("kernel_pca", None)
    }
    assert score["kernel_pca"] == 1
    assert score[None] < 0.8


def test_the_statistic_is_the_f_of_an_analysis_of_variance():
    from sklearn.feature_selection import f_classif

    X, y, _ = blobs(0, n_labeled=30, n_classes=3)
    expected, _ = f_classif(X[:30], y[:30])
    np.testing.assert_allclose(f_statistic(X, y, np.ones(len(y))), expected)


def test_a_mixture_of_labeled_rows_alone_is_discriminant_analysis():
    X, _, true = blobs(0, n=200, n_classes=3)
    ours = svm.MixtureClassifier(covariance_type="tied", tol=1e-9).fit(X, true)
    theirs = LinearDiscriminantAnalysis().fit(X, true)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.02)
    np.testing.assert_allclose(ours.mixture_.means_, theirs.means_, atol=1e-9)


@pytest.mark.parametrize("covariance_type", ["diag", "tied", "full", "spherical"])
def test_a_mixture_is_a_fixed_point_of_em_in_which_labels_and_weights_count(covariance_type):
    X, y, _ = blobs(1, n=150, n_labeled=30, n_classes=2)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = svm.MixtureClassifier(covariance_type=covariance_type, tol=1e-10, max_iter=1000)
    model.fit(X, y, weight)
    share = np.where((y >= 0)[:, None], y[:, None] == [0, 1], model.predict_proba(X))
    share = share * weight[:, None]
    np.testing.assert_allclose(share.sum(axis=0) / weight.sum(), model.mixture_.weights_, atol=1e-4)
    means = share.T @ X / share.sum(axis=0)[:, None]
    np.testing.assert_allclose(means, model.mixture_.means_, atol=1e-4)
    spread = [
        np.cov((X - mean).T, aweights=own, ddof=0) for mean, own in zip(means, share.T, strict=True)
    ]
    expected = {
        "full": spread,
        "tied": np.average(spread, axis=0, weights=share.sum(axis=0)),
        "diag": [np.diag(one) for one in spread],
        "spherical": [np.diag(one).mean() for one in spread],
    }
    found = model.mixture_.covariances_
    np.testing.assert_allclose(found, expected[covariance_type], atol=1e-3)


def test_a_mixture_predicts_the_class_of_least_expected_cost():
    X, y, _ = blobs(2, n_labeled=20, n_classes=3)
    model = svm.MixtureClassifier(costs={0: 1, 1: 5, 2: 2}).fit(X, y)
    expected = (model.predict_proba(X) * [1, 5, 2]).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.data
def test_reuters_gives_the_numbers_of_the_notes(paper_data):
    """SVMlight's example, a hundred documents of each class without their labels: errors of 600."""
    X, y, test_X, test_y = [], [], None, None
    folder = paper_data / "ptsvm"
    for part in ("train_induction", "train", "test"):
        rows, target = load_svmlight_file(str(folder / f"{part}.dat.bz2"), n_features=9947)
        target = (target > 0).astype(int)
        if part == "test":
            test_X, test_y = rows, target
        elif part == "train":
            labeled_too = [0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999]
            others = np.setdiff1d(np.arange(len(target)), labeled_too)
            chosen = np.sort(np.concatenate([others[target[others] == c][:100] for c in (0, 1)]))
            X, y = [*X, rows[chosen]], [*y, np.full(200, -1)]
        else:
            X, y = [*X, rows], [*y, target]
    X, y = sparse.vstack(X, format="csr"), np.concatenate(y)
    errors = {
        estimator_class: (
            estimator_class(kernel="linear").fit(X, y).predict(test_X) != test_y
        ).sum()
        for estimator_class in (svm.SupervisedSVC, svm.TransductiveSVC, svm.ProgressiveSVC)
    }
    assert list(errors.values()) == [94, 78, 60]
