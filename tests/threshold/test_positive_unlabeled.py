"""Positives and unlabeled rows: the problem by an oracle, the prior and thresholds in worlds."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from semisvm import PositiveUnlabeledSVC, certify
from semisvm.threshold.positive_unlabeled import Search, column_scale, read_positives
from semisvm.threshold.without_negatives import (
    best_f1,
    bound_prior,
    judge_threshold,
    reach_recall,
)

X, BENIGN = load_breast_cancer(return_X_y=True)
TRUTH = 1 - BENIGN


def one_list(truth, n_labeled, seed=0):
    """A target in which so many positives have a label, and no other row has."""
    y = np.full(len(truth), -1)
    positive = np.flatnonzero(truth)
    y[np.random.default_rng(seed).permutation(positive)[:n_labeled]] = 1
    return y


@pytest.mark.parametrize("with_negatives", [False, True])
def test_the_svm_is_that_of_scikit_learn_with_its_prices(with_negatives):
    rows, rng = scale(X), np.random.default_rng(0)
    y = one_list(TRUTH, 80)
    if with_negatives:
        y[np.flatnonzero(TRUTH == 0)[:30]] = 0
    weight = rng.uniform(0.5, 2, len(y))
    model = PositiveUnlabeledSVC(C=0.7, gamma=0.02, tol=1e-7, random_state=0).fit(rows, y, weight)
    price = np.where(y == 1, model.positive_weight_, 1.0) * weight
    price[y == -1] *= weight[y == 1].sum() / weight[y == -1].sum()
    svc = SVC(C=0.7, gamma=0.02, tol=1e-9).fit(rows, y == 1, price)
    np.testing.assert_allclose(
        model.decision_function(rows) + model.threshold_, svc.decision_function(rows), atol=1e-4
    )


@pytest.mark.parametrize(
    ("seed", "objective"),
    enumerate([38.987375, 37.529576, 41.784490, 40.343730, 40.292417]),
)
def test_objectives_of_another_solver(seed, objective):
    """Of the dual problem by an interior-point method in float64; weight 0.8."""
    order = np.random.default_rng(seed).permutation(569)
    unlabeled, rest = order[150:450], order[450:]
    rows = np.append(rest[TRUTH[rest] == 1][:40], unlabeled)
    y = np.append(np.ones(len(rows) - 300), np.full(300, -1))
    model = PositiveUnlabeledSVC(tol=1e-7, gamma="scale")
    labels = read_positives(y, unlabeled=-1, n_rows=len(y))
    data = model._training_set(scale(X[rows]), labels, np.ones(len(y)))
    search = Search(data, 1.0, np.empty((0, len(y)), int))
    search.fit(0.8)
    assert search.rounds.history[-1]["objective"] == pytest.approx(-objective, rel=1e-5)


def test_the_bound_on_the_prior_holds():
    """Positives N(gap, 1), negatives N(0, 1): the bound is below the prior in a tenth at most."""
    rng = np.random.default_rng(0)
    for prior, gap, n in ((0.2, 1.0, 50), (0.5, 3.0, 200), (0.05, 2.0, 30)):
        broken, estimates = [], []
        for _ in range(300):
            positive = rng.normal(gap, 1, n)
            unlabeled = rng.normal(gap * (rng.random(800) < prior), 1)
            estimate, bound = bound_prior(positive, unlabeled, 0.9)
            broken.append(bound < prior)
            estimates.append(estimate)
            assert 0 <= estimate <= bound <= 1
        assert np.mean(broken) <= 0.1
        assert np.mean(estimates) > 0.8 * prior
    # Of rows where positives and unlabeled rows are alike, nearly all may be positive.
    assert bound_prior(rng.normal(size=500), rng.normal(size=500), 0.9).bound > 0.9


def test_thresholds_against_all_others():
    rng = np.random.default_rng(0)
    for _ in range(40):
        positive = rng.integers(0, 12, 9) / 4 + 0.5
        unlabeled = rng.integers(0, 12, 30) / 4
        prior, labeled = rng.uniform(0.05, 0.9), rng.uniform(0, 0.5)
        cuts = np.unique(np.append(positive, unlabeled))

        def f1(t, positive=positive, unlabeled=unlabeled, prior=prior, labeled=labeled):
            r, a = (positive > t).mean(), (unlabeled > t).mean()
            share = labeled + (1 - labeled) * prior
            precision = share * r / (labeled * r + (1 - labeled) * a) if r else 0.0
            return stats.hmean([precision, r]) if r else 0.0

        found = best_f1(positive, unlabeled, prior, labeled)
        assert f1(found) == pytest.approx(max(f1(cut - 0.1) for cut in cuts))
        for recall in (0.3, 0.7, 1.0):
            t = reach_recall(positive, recall)
            assert (positive > t).mean() >= recall
            higher = np.unique(positive[positive > t])
            assert not len(higher) or (positive > higher[0]).mean() < recall


def test_what_is_said_of_a_threshold():
    positive, unlabeled = np.arange(100.0)[None], np.arange(-400.0, 100)[None]
    point = judge_threshold(39.5, positive, unlabeled, (0.1, 0.2), 0.9)
    assert point.recall.value == pytest.approx(0.6)
    assert point.accepted.value == pytest.approx(0.12)
    assert point.lift.value == pytest.approx(5.0)
    assert point.precision.value == pytest.approx(5 * math.sqrt(0.02))
    for name in ("recall", "accepted", "lift", "precision"):
        estimate = getattr(point, name)
        assert estimate.low < estimate.value < estimate.high
    assert point.precision.low == pytest.approx(0.1 * point.lift.low)
    assert judge_threshold(39.5, positive, unlabeled, None, 0.9).precision is None
    assert "lift 5 (" in str(point)


@pytest.mark.parametrize(
    ("rows", "truth", "n_labeled", "auc", "f1"),
    [
        (X, TRUTH, 60, 0.97, 0.85),  # columns from 0.002 to 4,000
        (
            np.column_stack([X, np.random.default_rng(0).permutation(569) * 1e4]),
            TRUTH,
            100,
            0.97,
            0.85,
        ),
        (load_digits(return_X_y=True)[0], load_digits(return_X_y=True)[1] % 2, 200, 0.95, 0.88),
    ],
    ids=["breast cancer", "with an id column", "digits"],
)
def test_it_finds_the_positives(rows, truth, n_labeled, auc, f1):
    y = one_list(truth, n_labeled)
    model = PositiveUnlabeledSVC(random_state=0).fit(rows, y)
    pool = y == -1
    scores = model.decision_function(rows)
    assert roc_auc_score(truth[pool], scores[pool]) > auc
    assert f1_score(truth, model.predict(rows)) > f1
    assert model.prior_bound_ >= truth[pool].mean()
    assert abs(model.prior_ - truth[pool].mean()) < 0.1
    point = model.operating_point_
    assert point.recall.low <= model.predict(rows)[truth == 1].mean() <= 1
    assert model.transduction_[y == 1].tolist() == [1] * n_labeled
    held = ~np.isnan(model.out_of_fold_scores_)
    assert held.all()
    assert point.recall.value == pytest.approx(
        (model.out_of_fold_scores_[y == 1] > 0).mean(), abs=0.05
    )


def test_a_recall_can_be_chosen_and_proved():
    order = np.random.default_rng(0).permutation(np.flatnonzero(TRUTH))
    learns, aside = order[:80], order[80:140]
    y = np.full(569, -1)
    y[learns] = 1
    rows = np.setdiff1d(np.arange(569), aside)
    model = PositiveUnlabeledSVC(min_recall=0.95, random_state=0).fit(X[rows], y[rows])
    assert model.operating_point_.recall.value >= 0.95
    found = certify(model.decision_function(X[aside]), np.ones(60), min_recall=0.9)
    assert found.proved
    assert (model.decision_function(X[TRUTH == 1]) > found.threshold).mean() >= 0.9


def test_a_given_prior_bounds_the_accepted_share_and_gives_a_precision():
    y = one_list(TRUTH, 100)
    true = TRUTH[y == -1].mean()
    model = PositiveUnlabeledSVC(prior=true, random_state=0).fit(X, y)
    assert model.prior_ == pytest.approx(true)
    assert model.operating_point_.accepted.value >= true - 0.01
    accepted = model.predict(X) == 1
    low, high = model.operating_point_.precision[1:]
    assert low <= TRUTH[accepted & (y == -1)].mean() <= high
    assert PositiveUnlabeledSVC(prior=(0.1, 0.4)).fit(X, y).prior_ == pytest.approx(0.2)
    with pytest.warns(UserWarning, match=r"prior given, 0\.9, is above what the scores allow"):
        PositiveUnlabeledSVC(prior=0.9, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X[::-1], y[::-1]),
        lambda X, y: (np.asfortranarray(X), y),
        lambda X, y: (X[:, ::-1], y),
        lambda X, y: (X * 2.0 ** np.arange(30), y),
        lambda X, y: (X.tolist(), y.tolist()),
    ],
    ids=["rows", "Fortran", "columns", "units", "lists"],
)
def test_neither_order_nor_units_nor_form_matter(change):
    y = one_list(TRUTH, 80)
    expected = PositiveUnlabeledSVC(random_state=0).fit(X, y)
    rows, target = change(X, y)
    found = PositiveUnlabeledSVC(random_state=0).fit(rows, target)
    scores = found.decision_function(rows)
    scores = (
        scores[::-1]
        if change is not None and np.array_equal(np.asarray(rows)[0], X[-1])
        else scores
    )
    assert np.mean((scores > 0) == (expected.decision_function(X) > 0)) > 0.98
    assert np.corrcoef(scores, expected.decision_function(X))[0, 1] > 0.99


def test_kernels_sparse_rows_and_weights():
    rows, y = scale(X), one_list(TRUTH, 80)
    expected = PositiveUnlabeledSVC(gamma=0.03, random_state=0).fit(rows, y)
    K = rbf_kernel(rows, gamma=0.03)
    K_model = PositiveUnlabeledSVC(kernel="precomputed", random_state=0).fit(K, y)
    assert np.mean(K_model.predict(K) == expected.predict(rows)) > 0.97
    sparse = PositiveUnlabeledSVC(gamma=0.03, random_state=0).fit(csr_matrix(rows), y)
    assert np.mean(sparse.predict(csr_matrix(rows)) == expected.predict(rows)) > 0.97
    assert sparse.scale_ is None
    linear = PositiveUnlabeledSVC(kernel="linear", random_state=0).fit(X, y)
    by_hand = X @ linear.coef_[0] + linear.intercept_[0] - linear.threshold_
    np.testing.assert_allclose(by_hand, linear.decision_function(X), atol=1e-6)
    gone = np.where(np.arange(569) < 100, 0.0, 1.0)
    weighted = PositiveUnlabeledSVC(random_state=0).fit(X, y, gone)
    without = PositiveUnlabeledSVC(random_state=0).fit(X[100:], y[100:])
    np.testing.assert_array_equal(weighted.predict(X), without.predict(X))


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.random.default_rng(0).normal(size=(100, 9)), None),  # alike
        (np.random.default_rng(0).integers(0, 17, (100, 64)).astype(float), None),  # pixels
        (np.random.default_rng(0).normal(size=(100, 3)) * [1, 1, 1000], "spread"),
        (np.eye(100)[:, :5], "halves"),  # indicators
        (np.random.default_rng(0).normal(size=(20, 2)) * [1, 1e6], None),  # too few to judge
        (np.ones((100, 2)), None),
    ],
)
def test_which_columns_are_scaled(X, expected):
    found = column_scale(X)
    if expected is None:
        assert found is None
    elif expected == "halves":
        assert found.tolist() == [0.5] * 5
    else:
        np.testing.assert_allclose(found, X.std(axis=0))


@pytest.mark.parametrize(
    ("y", "marker", "classes"),
    [
        ([1, -1, 1, -1], -1, [0, 1]),
        ([0, -1, 0, -1], -1, [1, 0]),
        ([True, None, True, None], -1, [False, True]),
        (["spam", "", "spam", ""], -1, ["not spam", "spam"]),
        ([1, 0, 1, 0], 0, [-1, 1]),
        ([2.0, np.nan, 2.0, np.nan], -1, [0.0, 2.0]),
        (["a", "b", "", "b"], -1, ["a", "b"]),
    ],
)
def test_names_of_classes(y, marker, classes):
    labels = read_positives(y, unlabeled=marker, n_rows=4)
    assert labels.classes.tolist() == classes
    assert (labels.codes == 1).any()


@pytest.mark.parametrize(
    ("y", "how", "message"),
    [
        (np.ones(569), {}, "one class, 1.0, and no unlabeled row to compare it with"),
        (np.full(569, -1), {}, "y has no labeled row"),
        (np.arange(569) % 3, {}, "multiclass: y has 3 classes. Keep the label of the positives"),
        (one_list(TRUTH, 9), {"prior": (0.4, 0.2)}, "two, the lower first; got"),
        (one_list(TRUTH, 9), {"prior": 1.0}, "'prior' parameter"),
    ],
)
def test_what_cannot_work_is_refused(y, how, message):
    with pytest.raises(ValueError, match=message):
        PositiveUnlabeledSVC(**how).fit(X, y)


def test_without_unlabeled_rows_it_is_an_svc():
    rows = scale(X)
    with pytest.warns(UserWarning, match="no unlabeled rows, so this is an ordinary SVC") as told:
        model = PositiveUnlabeledSVC(gamma=0.03, tol=1e-6, random_state=0).fit(rows, TRUTH)
    assert told[0].filename == __file__
    expected = SVC(gamma=0.03, tol=1e-6).fit(rows, TRUTH).decision_function(rows)
    np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-4)
    assert model.operating_point_ is None


def test_few_positives_and_none_to_tell_apart():
    model = PositiveUnlabeledSVC(random_state=0).fit(X, one_list(TRUTH, 4))
    assert math.isnan(model.prior_bound_)
    assert roc_auc_score(TRUTH, model.decision_function(X)) > 0.9
    one = PositiveUnlabeledSVC(random_state=0).fit(X, one_list(TRUTH, 1))
    assert math.isnan(one.pu_auc_)
    assert np.isnan(one.out_of_fold_scores_).all()
    noise = np.random.default_rng(0).normal(size=(569, 3))
    with pytest.warns(UserWarning, match="can't be told apart from the unlabeled rows"):
        PositiveUnlabeledSVC(random_state=0).fit(noise, one_list(TRUTH, 60))
