"""The fair-sample check: false alarms as often as allowed, and power against choices."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from semisvm.model_selection import check_fair_sample
from semisvm.model_selection.fair_sample import _auc_by_column, random_fold_scores


def mask_of(rows, n):
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def out_of_fold(X, y, is_labeled, seed):
    """Scores of a logistic model, as `random_fold_scores` defines them."""
    labeled = np.random.default_rng(seed).permutation(np.flatnonzero(is_labeled))
    parts = np.array_split(labeled, 4)
    folds = [(np.setdiff1d(labeled, part), part) for part in parts]

    def fit_and_score(train, rows):
        return LogisticRegression(C=0.1).fit(X[train], y[train]).decision_function(X[rows])

    return random_fold_scores(
        fit_and_score, folds, np.flatnonzero(~is_labeled), len(X), random_state=seed
    )


def test_random_samples_give_false_alarms_at_the_nominal_rate():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        X = rng.normal(size=(120, 2))
        found.append(
            check_fair_sample(
                X, mask_of(np.arange(40), 120), n_permutations=39, random_state=rng.integers(9999)
            )
        )
    p = np.array([one.kernel_p for one in found])
    for level in (
        0.05,
        0.2,
        0.5,
    ):  # exact, so the share is the level; four standard errors of 300 draws
        assert abs(np.mean(p <= level) - level) <= 4 * np.sqrt(level * (1 - level) / 300)


def test_the_statistic_is_that_of_ridge_regression_in_folds():
    """Oracle: scikit-learn's KernelRidge on the rows of three folds, for the true tags and a few
    permutations.
    """
    rng = np.random.default_rng(10)
    X = rng.normal(size=(80, 3))
    is_labeled = mask_of(np.arange(30), 80)
    found = check_fair_sample(X, is_labeled, n_permutations=9, random_state=4).kernel_p
    random = np.random.RandomState(4)
    rows = np.concatenate(
        [random.permutation(np.arange(30)), random.permutation(np.arange(30, 80))]
    )
    tags = np.repeat([1.0, 0.0], [30, 50])
    Z = np.stack([tags, *(tags[np.argsort(one)] for one in random.uniform(size=(9, 80)))])
    fold = random.permutation(80) % 4
    total = np.zeros(10)
    for number, k in itertools.product(range(4), range(10)):
        train = rows[fold != number]
        test = rows[fold == number]
        ridge = KernelRidge(alpha=1, kernel="rbf", gamma=1 / (3 * X.var()))
        ridge.fit(X[train], Z[k][fold != number] - tags.mean())
        total[k] += roc_auc_score(Z[k][fold == number], ridge.predict(X[test]))
    assert found == (1 + np.sum(total[1:] >= total[0] - 1e-9)) / 10


def test_both_tests_on_random_labels_of_real_rows_rarely_alarm():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    rng = np.random.default_rng(1)
    alarms = 0
    for seed in range(40):
        is_labeled = mask_of(rng.choice(len(X), 80, replace=False), len(X))
        alarms += not check_fair_sample(
            X, is_labeled, out_of_fold(X, y, is_labeled, seed), random_state=seed
        ).is_fair
    assert alarms <= 3  # 1% of 40 is 0.4


def test_labels_chosen_by_doubt_are_found():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    rng = np.random.default_rng(2)
    found = 0
    for seed in range(10):
        order = rng.permutation(len(X))
        first = order[:60]
        doubt = np.abs(
            LogisticRegression(C=0.1).fit(X[first], y[first]).decision_function(X[order[60:]])
        )
        is_labeled = mask_of(np.concatenate([first, order[60:][np.argsort(doubt)[:60]]]), len(X))
        found += not check_fair_sample(
            X, is_labeled, out_of_fold(X, y, is_labeled, seed), random_state=seed
        ).is_fair
    assert found >= 9


def test_labels_from_one_cluster_are_found():
    X = scale(load_breast_cancer().data)
    cluster = KMeans(5, n_init=1, random_state=0).fit_predict(X)
    rng = np.random.default_rng(3)
    largest = np.flatnonzero(cluster == np.bincount(cluster).argmax())
    for seed in range(5):
        is_labeled = mask_of(rng.choice(largest, 50, replace=False), len(X))
        found = check_fair_sample(X, is_labeled, random_state=seed)
        assert not found.is_fair
        assert "Certify by sampling instead" in found.sentence


def test_the_scores_alone_can_give_the_alarm():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2))
    is_labeled = mask_of(np.arange(100), 400)
    scores = np.where(is_labeled, 1.0, 0.0) + 0.5 * rng.normal(size=400)
    found = check_fair_sample(X, is_labeled, scores, random_state=0)
    assert found.kernel_p > 0.005
    assert found.ks_p < 1e-6
    assert found.p_value == 2 * found.ks_p
    assert not found.is_fair
    assert "p < 0.001" in found.sentence


def test_several_columns_of_scores_count_by_the_smallest_times_their_number():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    is_labeled = mask_of(np.arange(60), 200)
    scores = rng.normal(size=(200, 3))
    each = [check_fair_sample(X, is_labeled, scores[:, k], random_state=0).ks_p for k in range(3)]
    assert check_fair_sample(X, is_labeled, scores, random_state=0).ks_p == pytest.approx(
        min(1, 3 * min(each))
    )


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(C=0.1), GaussianNB()]
)  # with and without decision_function
def test_an_estimator_makes_the_scores_of_the_second_test(estimator):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(600, 3))
    names = np.where(X[:, 0] + 0.5 * rng.normal(size=600) > 0, "yes", "no")
    y = np.where(rng.permutation(600) < 100, names, "")
    fair = check_fair_sample(X, y, estimator=estimator, unlabeled="", random_state=0)
    assert fair.is_fair
    assert 0.005 < fair.ks_p <= 1
    chosen = np.where(
        np.argsort(-X[:, 0]).argsort() % 6 < np.where(X[:, 0] > 0, 2, 1), names, ""
    )  # more to the right
    found = check_fair_sample(X, chosen, estimator=estimator, unlabeled="", random_state=0)
    assert found.ks_p < 0.005
    assert not found.is_fair
    assert check_fair_sample(None, chosen, estimator=None, unlabeled="").kernel_p is None


def test_one_label_of_a_class_leaves_the_kernel_test_alone():
    X = np.random.default_rng(9).normal(size=(60, 2))
    y = np.full(60, -1)
    y[:10] = np.arange(10) == 0
    found = check_fair_sample(X, y, estimator=LogisticRegression(), random_state=0)
    assert (found.ks_p, found.p_value) == (None, found.kernel_p)


def test_auc_is_that_of_scikit_learn_and_a_half_without_one_of_the_tags():
    rng = np.random.default_rng(6)
    predicted = np.round(rng.normal(size=(30, 3)), 1)
    tags = (rng.uniform(size=(30, 3)) < 0.3).astype(float)
    tags[:, 2] = 1
    found = _auc_by_column(predicted, tags)
    assert found[:2] == pytest.approx(
        [roc_auc_score(tags[:, k], predicted[:, k]) for k in range(2)]
    )
    assert found[2] == 0.5


def test_sparse_and_dense_rows_give_the_same_p_value():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 5)) * (rng.uniform(size=(150, 5)) < 0.5)
    is_labeled = mask_of(np.arange(50), 150)
    dense = check_fair_sample(X, is_labeled, random_state=3)
    assert check_fair_sample(sparse.csr_matrix(X), is_labeled, random_state=3) == dense
    assert check_fair_sample(X, is_labeled, random_state=3) == dense


def test_too_few_rows_or_equal_rows_are_no_sign_of_a_choice():
    few = check_fair_sample(np.eye(6), mask_of([0, 1], 6))
    assert (few.is_fair, few.kernel_p, few.p_value) == (True, None, 1.0)
    assert "too few" in few.sentence
    assert check_fair_sample(np.ones((40, 2)), mask_of(np.arange(20), 40)).is_fair


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": [True, False]}, "boolean mask"),
        ({"y": np.zeros(3, dtype=int)}, "20"),
        ({"estimator": LogisticRegression()}, "learns from labels"),
        ({"level": 0}, "between 0 and 1"),
        ({"n_permutations": 0}, "at least 1"),
        ({"scores": np.zeros(3)}, "one row for each"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    arguments = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": mask_of(np.arange(8), 20)}
    with pytest.raises(ValueError, match=message):
        check_fair_sample(**(arguments | changes))


@pytest.mark.parametrize("scale", [1e-160, 1e154])
def test_rows_whose_squares_overflow_are_compared_like_others(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) / 10
    is_labeled = rng.random(60) < 0.4
    one, other = (check_fair_sample(rows, is_labeled, random_state=0) for rows in (X, X * scale))
    assert one.kernel_p == pytest.approx(other.kernel_p, abs=0.02)


def test_the_check_counts_labeled_and_other_rows():
    X = np.random.default_rng(0).normal(size=(50, 2))
    found = check_fair_sample(
        X, np.where(np.arange(50) < 20, np.arange(50) % 2, -1), random_state=0
    )
    assert (found.n_labeled, found.n_others) == (20, 30)
