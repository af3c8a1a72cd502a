"""Folds that leave unlabeled rows out too, and the AUC of positives against unlabeled rows."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from semisvm import PositiveUnlabeledSVC, SemiSupervisedKFold, SupervisedSVC
from semisvm.model_selection import PositiveUnlabeledKFold, pu_auc


def two_clouds(n_positive=30, n_unlabeled=120, prior=0.3, seed=0):
    """Rows, the target (1 or -1) and which rows are truly positive."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.ones(n_positive, bool), rng.random(n_unlabeled) < prior])
    X = rng.standard_normal((len(truth), 2)) + 2.0 * truth[:, None]
    return X, np.where(np.arange(len(truth)) < n_positive, 1, -1), truth


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_row_is_tested_once_and_both_kinds_evenly(shuffle):
    _, y, _ = two_clouds(n_positive=13, n_unlabeled=42)
    splitter = PositiveUnlabeledKFold(5, shuffle=shuffle, random_state=0 if shuffle else None)
    folds = list(splitter.split(y, y))
    assert len(folds) == splitter.get_n_splits() == 5
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(y)))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(y)))
        assert np.count_nonzero(y[test] == 1) in (2, 3)
        assert np.count_nonzero(y[test] == -1) in (8, 9)


def test_a_group_is_on_one_side_only():
    _, y, _ = two_clouds()
    groups = np.arange(len(y)) % 20
    for train, test in PositiveUnlabeledKFold(4).split(y, y, groups):
        assert not set(groups[train]) & set(groups[test])
        assert {1, -1} <= set(y[test])


@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (
            lambda: PositiveUnlabeledKFold(1),
            None,
            "n_splits must be an integer of at least 2, got 1",
        ),
        (lambda: PositiveUnlabeledKFold(2.0), None, "n_splits must be an integer"),
        (lambda: PositiveUnlabeledKFold(random_state=0), None, "without shuffle=True"),
        (
            PositiveUnlabeledKFold,
            [1, 1, 1, -1, -1, -1, -1, -1],
            "y has 3 of class 1 and 5 unlabeled rows",
        ),
        (PositiveUnlabeledKFold, [1] * 8, "8 of class 1 and 0 unlabeled rows"),
    ],
)
def test_what_cannot_be_split_is_refused(make, y, message):
    with pytest.raises(ValueError, match=message):
        list(make().split(y, y))


@pytest.mark.parametrize(
    "classifier", [LogisticRegression(), GaussianNB(), SVC(), PositiveUnlabeledSVC(n_folds=3)]
)
def test_the_scorer_is_the_auc_of_positives_against_unlabeled_rows(classifier):
    X, y, _ = two_clouds()
    model = classifier.fit(X, y)
    scores = (
        model.predict_proba(X)[:, 1]
        if isinstance(model, GaussianNB)
        else model.decision_function(X)
    )
    assert pu_auc(model, X, y) == pytest.approx(roc_auc_score(y == 1, scores))


def test_the_scorer_looks_for_the_positive_class_and_leaves_negatives_out():
    X, y, _ = two_clouds()
    named = np.where(y == 1, "fraud", "pool")
    model = LogisticRegression().fit(X, named)  # "fraud" is its first class
    expected = roc_auc_score(y == 1, -model.decision_function(X))
    assert pu_auc(model, X, named, unlabeled="pool") == pytest.approx(expected)
    three = np.where(np.arange(len(y)) >= 140, 0, y)
    rows = three != 0
    model = LogisticRegression().fit(X, three)
    expected = roc_auc_score(three[rows] == 1, model.decision_function(X[rows])[:, 2])
    assert pu_auc(model, X, three) == pytest.approx(expected)


def test_the_scorer_says_what_it_cannot_compare():
    X, y, _ = two_clouds()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="no unlabeled row"):
        pu_auc(model, X[:30], y[:30])
    with pytest.raises(ValueError, match="not learned the class 7"):
        pu_auc(model, X, np.where(y == 1, 7, -1))


def test_the_tuned_baseline_and_a_grid_search_of_ours_are_one_line_each():
    X, y, truth = two_clouds()
    cv = PositiveUnlabeledKFold(3)
    for estimator in (
        SVC(class_weight="balanced"),
        PositiveUnlabeledSVC(positive_weight="balanced", random_state=0),
    ):
        search = GridSearchCV(estimator, {"C": [0.01, 1]}, scoring=pu_auc, cv=cv).fit(X, y)
        assert search.best_score_ > 0.6
        assert roc_auc_score(truth[y == -1], search.decision_function(X[y == -1])) > 0.9


def test_the_marker_can_be_another():
    X, y, _ = two_clouds()
    named = np.where(y == 1, "fraud", "?")
    scoring = partial(pu_auc, unlabeled="?")
    scores = cross_val_score(
        SVC(), X, named, scoring=scoring, cv=PositiveUnlabeledKFold(3, unlabeled="?")
    )
    assert scores == pytest.approx(
        cross_val_score(SVC(), X, y, scoring=pu_auc, cv=PositiveUnlabeledKFold(3))
    )


@pytest.mark.parametrize("every", [1, 3])
def test_the_accuracy_of_a_column_of_labels_is_that_of_the_labels(every):
    X, _, truth = two_clouds(n_positive=20, n_unlabeled=40)
    y = np.where(np.arange(len(X)) % every == 0, truth.astype(int), -1)
    model = SupervisedSVC().fit(X, y)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert model.score(X, y[:, None]) == model.score(X, y)


@pytest.mark.parametrize("kind", [int, bool, str])
def test_a_target_of_objects_is_scored_as_one_of_numbers(kind):
    X, _, truth = two_clouds(n_positive=20, n_unlabeled=40)
    y = np.where(np.arange(len(X)) % 2, truth.astype(int), -1)
    objects = np.array([None if code < 0 else kind(code) for code in y.tolist()], dtype=object)
    model, cv = SupervisedSVC().fit(X, objects), SemiSupervisedKFold(3)
    labeled = y >= 0
    assert model.score(X[labeled], objects[labeled]) == model.score(X, objects)
    assert_array_equal(
        cross_val_score(model, X, objects, cv=cv), cross_val_score(model, X, y, cv=cv)
    )
