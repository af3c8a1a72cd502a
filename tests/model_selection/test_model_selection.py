"""Labeled rows take turns at being tested; unlabeled rows train, and are never tested."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from semisvm.labels import encode
from semisvm.model_selection import (
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedShuffleSplit,
    cross_fit_scores,
)

rows_of_X = np.zeros


@pytest.fixture
def blobs():
    """Two well separated classes: 40 labeled rows of 120, the labels scattered."""
    X, truth = make_blobs(120, centers=[[-3, 0], [3, 0]], random_state=0)
    y = np.where(np.arange(120) % 3 == 0, truth, -1)
    return X, y, truth


class LabeledRowsOnly(ClassifierMixin, BaseEstimator):
    """A supervised classifier that leaves unlabeled rows aside; its fits are easy to repeat by
    hand.
    """

    def __init__(self, model=None, unlabeled=-1):
        self.model = model
        self.unlabeled = unlabeled

    def fit(self, X, y, sample_weight=None):
        labels = encode(y, unlabeled=self.unlabeled)
        rows = np.flatnonzero(labels.is_labeled)
        weights = None if sample_weight is None else sample_weight[rows]
        self.model_ = LogisticRegression() if self.model is None else clone(self.model)
        self.model_.fit(
            np.asarray(X)[rows], labels.decode(labels.codes[rows]), sample_weight=weights
        )
        self.classes_ = labels.classes
        return self

    def predict(self, X):
        return self.model_.predict(np.asarray(X))

    def decision_function(self, X):
        return self.model_.decision_function(np.asarray(X))

    def predict_proba(self, X):
        return self.model_.predict_proba(np.asarray(X))


# Three classes at both ends, whatever comes between: every contiguous fold leaves two classes to
# train on.
targets = st.lists(st.integers(-1, 2), max_size=25).map(
    lambda y: np.array([0, 1, 2, *y, 0, 1, 2, 0, 1, 2])
)
kinds_of_kfold = st.sampled_from(
    [
        {"stratify": False},
        {"stratify": True},
        {"stratify": True, "shuffle": True, "random_state": 0},
    ]
)


@given(targets, st.integers(2, 3), kinds_of_kfold)
def test_each_labeled_row_is_tested_once_and_each_unlabeled_row_always_trains(y, n_splits, kind):
    cv = SemiSupervisedKFold(n_splits, **kind)
    splits = list(cv.split(rows_of_X(len(y)), y))
    tested = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(np.sort(tested), np.flatnonzero(y != -1))
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert set(np.flatnonzero(y == -1)) <= set(train)
    assert len(splits) == cv.get_n_splits()


@given(targets)
def test_random_splits_test_labeled_rows_only_and_train_on_every_unlabeled_row(y):
    cv = SemiSupervisedShuffleSplit(3, test_size=1 / 3, train_size=1 / 2, random_state=0)
    for train, test in cv.split(rows_of_X(len(y)), y):
        assert (y[test] != -1).all()
        assert not set(train) & set(test)
        assert set(np.flatnonzero(y == -1)) <= set(train)
        assert (y[train] != -1).sum() == (y != -1).sum() // 2


@given(targets, st.lists(st.integers(0, 7), min_size=34, max_size=34), st.booleans())
def test_no_group_is_on_both_sides_and_every_labeled_row_is_tested_once(y, groups, stratify):
    groups = np.array(groups[: len(y)])
    groups[-9:] = np.arange(9) + 10  # groups enough for three folds
    cv = SemiSupervisedGroupKFold(3, stratify=stratify)
    try:
        splits = list(cv.split(rows_of_X(len(y)), y, groups))
    except ValueError as refusal:
        # a few large groups can leave a fold with one class to train on, or with nothing to test
        assume("one class only" not in str(refusal) and "tests no labeled row" not in str(refusal))
        raise
    tested = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(np.sort(tested), np.flatnonzero(y != -1))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        # nothing sits out but the unlabeled rows of the groups under test
        out = np.setdiff1d(np.arange(len(y)), np.concatenate([train, test]))
        assert (y[out] == -1).all()
        assert set(groups[out]) <= set(groups[test])


@given(targets, st.integers(0, 10))
def test_adding_unlabeled_rows_leaves_the_split_of_the_labeled_rows_as_it_was(y, n_more):
    cv = SemiSupervisedKFold(3, shuffle=True, random_state=1)
    more = np.concatenate([y, np.full(n_more, -1)])
    few = [test.tolist() for _, test in cv.split(rows_of_X(len(y)), y)]
    many = [test.tolist() for _, test in cv.split(rows_of_X(len(more)), more)]
    assert few == many


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SemiSupervisedKFold(4), StratifiedKFold(4)),
        (SemiSupervisedKFold(4, stratify=False), KFold(4)),
        (
            SemiSupervisedKFold(4, shuffle=True, random_state=3),
            StratifiedKFold(4, shuffle=True, random_state=3),
        ),
        (
            SemiSupervisedShuffleSplit(4, test_size=0.3, random_state=3),
            StratifiedShuffleSplit(4, test_size=0.3, random_state=3),
        ),
        (
            SemiSupervisedShuffleSplit(4, test_size=5, random_state=3, stratify=False),
            ShuffleSplit(4, test_size=5, random_state=3),
        ),
        (SemiSupervisedGroupKFold(4), StratifiedGroupKFold(4)),
        (SemiSupervisedGroupKFold(4, stratify=False), GroupKFold(4)),
    ],
    ids=repr,
)
def test_without_unlabeled_rows_the_splits_are_scikit_learns(ours, theirs):
    rng = np.random.default_rng(0)
    X = rows_of_X(60)
    y = rng.integers(0, 2, 60)
    groups = np.arange(60) % 12
    by_group = groups if isinstance(ours, SemiSupervisedGroupKFold) else None
    for (train, test), (their_train, their_test) in zip(
        ours.split(X, y, by_group), theirs.split(X, y, by_group), strict=True
    ):
        np.testing.assert_array_equal(train, np.sort(their_train))
        np.testing.assert_array_equal(test, their_test)


@pytest.mark.parametrize(
    ("marker", "mark"),
    [(-1, -1), (0, 0), (np.nan, np.nan), (None, None), ("", "")],
)
def test_the_marker_may_be_any_that_labels_knows(marker, mark):
    names = ["ham", "spam"] if mark in ("", None) else [1, 2]
    y = [names[i % 2] if i < 8 else mark for i in range(12)]
    splits = list(SemiSupervisedKFold(4, unlabeled=marker).split(rows_of_X(12), y))
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(8))
    assert all({8, 9, 10, 11} <= set(train) for train, _ in splits)


def test_plain_kfold_scores_the_marker_as_a_class_and_ours_does_not(blobs):
    X, y, truth = blobs
    perfect = LabeledRowsOnly()
    assert (perfect.fit(X, y).predict(X) == truth).all()
    # Two rows in three are unlabeled: a perfect classifier is marked wrong on all of them.
    plain = cross_val_score(perfect, X, y, cv=KFold(5))
    assert plain.mean() == pytest.approx(1 / 3)
    # A constant that always says "unlabeled" looks twice as good.
    constant = DummyClassifier(strategy="constant", constant=-1)
    assert cross_val_score(constant, X, y, cv=KFold(5)).mean() == pytest.approx(2 / 3)

    assert cross_val_score(perfect, X, y, cv=SemiSupervisedKFold(5)).mean() == 1
    assert cross_val_score(constant, X, y, cv=SemiSupervisedKFold(5)).mean() == 0


def test_a_grid_search_chooses_by_labeled_rows(blobs):
    X, y, truth = blobs
    # Under plain KFold the constant would win; see the test above.
    grid = {"model": [LogisticRegression(C=1e-9), LogisticRegression(C=1.0)]}
    flipped = np.where(y == -1, -1, np.where(np.arange(120) % 30 == 0, 1 - truth, truth))
    search = GridSearchCV(LabeledRowsOnly(), grid, cv=SemiSupervisedKFold(4)).fit(X, flipped)
    by_hand = [
        cross_val_score(LabeledRowsOnly(model), X, flipped, cv=SemiSupervisedKFold(4)).mean()
        for model in grid["model"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_params_["model"].C == 1.0


def test_scikit_learns_own_semi_supervised_classifier_works_under_ours(blobs):
    X, y, _ = blobs
    model = SelfTrainingClassifier(LogisticRegression())
    assert cross_val_score(model, X, y, cv=SemiSupervisedKFold(5)).mean() == 1


def test_groups_reach_the_splitter_with_and_without_metadata_routing(blobs):
    X, y, _ = blobs
    groups = np.arange(120) // 6
    cv = SemiSupervisedGroupKFold(4)
    unrouted = cross_val_score(LabeledRowsOnly(), X, y, cv=cv, groups=groups)
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(LabeledRowsOnly(), X, y, cv=cv, params={"groups": groups})
    np.testing.assert_array_equal(routed, unrouted)


def test_unlabeled_rows_of_a_tested_group_sit_that_split_out():
    y = np.array([0, 1, -1, 0, 1, -1, -1])
    groups = ["ann", "ann", "ann", "bob", "bob", "bob", "cy"]
    splits = {
        tuple(test): tuple(train)
        for train, test in SemiSupervisedGroupKFold(2).split(rows_of_X(7), y, groups)
    }
    assert splits == {(0, 1): (3, 4, 5, 6), (3, 4): (0, 1, 2, 6)}


def test_a_splitter_shows_its_parameters():
    assert (
        " ".join(repr(SemiSupervisedKFold(3)).split())
        == "SemiSupervisedKFold(n_splits=3, random_state=None, shuffle=False, stratify=True,"
        " unlabeled=-1)"
    )
    assert "SemiSupervisedShuffleSplit(n_splits=10, " in repr(SemiSupervisedShuffleSplit())


@pytest.mark.parametrize(
    ("cv", "y", "groups", "message"),
    [
        (
            SemiSupervisedKFold(3),
            [0, 0, 0, 1, 1, -1],
            None,
            "n_splits=3 needs at least 3 .* class 1 has 2",
        ),
        (
            SemiSupervisedKFold(3, stratify=False),
            [0, 1, -1],
            None,
            "n_splits=3 greater than the number of samples: n_samples=2",
        ),
        (
            SemiSupervisedKFold(2, stratify=False),
            [0, 0, 1, 1],
            None,
            "Split 0 .* train on one class only",
        ),
        (
            SemiSupervisedShuffleSplit(2),
            [0, 0, 1, -1],
            None,
            "needs at least 2 labeled rows of every class, but class 1 has 1",
        ),
        (
            SemiSupervisedShuffleSplit(2, test_size=1),
            [0, 0, 1, 1],
            None,
            "test_size = 1 should be greater",
        ),
        (SemiSupervisedGroupKFold(2), [0, 1, 0, 1], None, "'groups' parameter should not be None"),
        (
            SemiSupervisedGroupKFold(2),
            [0, 1, 0, 1, -1],
            [1, 1, 1, 1, 2],
            "groups with a labeled row, but .* 1",
        ),
        (SemiSupervisedGroupKFold(2), [0, 1, 0, 1], [1, 1, 2, np.nan], "Input groups contains NaN"),
        (
            SemiSupervisedGroupKFold(2),
            [0, 1, 0, 1],
            ["a", "a", "b", None],
            "Input groups contains None",
        ),
        (SemiSupervisedGroupKFold(2), [0, 1, 0, 1], [1, 1, 2], "inconsistent numbers of samples"),
        (SemiSupervisedKFold(2), [-1, 1, 1, -1], None, "y holds only -1 and"),
        (SemiSupervisedKFold(2), None, None, "requires y to be passed"),
    ],
)
def test_what_cannot_be_split_is_refused_with_a_reason(cv, y, groups, message):
    with pytest.raises(ValueError, match=message):
        list(cv.split(rows_of_X(4 if y is None else len(y)), y, groups))


def test_random_splits_that_are_not_stratified_take_a_class_with_one_label():
    y = np.array([0, 0, 0, 0, 0, 1, 1, 2, -1])
    cv = SemiSupervisedShuffleSplit(5, test_size=2, stratify=False, random_state=0)
    tested = [set(test.tolist()) for _, test in cv.split(rows_of_X(9), y)]
    assert all(len(test) == 2 and 8 not in test for test in tested)


def test_an_empty_test_part_that_scikit_learn_would_yield_is_refused():
    y = np.array([1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0])
    groups = np.array([0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3])
    assert [] in [test.tolist() for _, test in StratifiedGroupKFold(4).split(y, y, groups)]
    with pytest.raises(
        ValueError, match="Split 2 of SemiSupervisedGroupKFold tests no labeled row"
    ):
        list(SemiSupervisedGroupKFold(4).split(y, y, groups))


@pytest.mark.parametrize("parameters", [{"n_splits": 1}, {"random_state": 0}, {"shuffle": "yes"}])
@pytest.mark.parametrize("splitter", [SemiSupervisedKFold, SemiSupervisedGroupKFold])
def test_parameters_are_refused_where_scikit_learn_refuses_them(splitter, parameters):
    with pytest.raises((ValueError, TypeError)):
        StratifiedKFold(**parameters)
    with pytest.raises((ValueError, TypeError)):
        splitter(**parameters)


def test_groups_given_to_a_splitter_that_does_not_read_them_are_ignored_with_scikit_learns_warning():
    with pytest.warns(UserWarning, match="groups parameter is ignored by SemiSupervisedKFold"):
        list(SemiSupervisedKFold(2).split(rows_of_X(4), [0, 1, 0, 1], [1, 1, 2, 2]))


def test_cross_fit_scores_are_those_of_fits_that_have_not_seen_the_row(blobs):
    X, y, _ = blobs
    cv = SemiSupervisedKFold(4)
    scores = cross_fit_scores(LabeledRowsOnly(), X, y, cv=cv)
    assert scores.shape == (120,)
    np.testing.assert_array_equal(np.isnan(scores), y == -1)
    for train, test in cv.split(X, y):
        model = LabeledRowsOnly().fit(X[train], y[train])
        np.testing.assert_array_equal(scores[test], model.decision_function(X[test]))


def test_cross_fit_scores_stand_in_for_cross_val_predict(blobs):
    X, y, truth = blobs
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(LabeledRowsOnly(), X, y, cv=SemiSupervisedKFold(4))
    # where no row is unlabeled, the two agree
    model = LogisticRegression()
    frame = pd.DataFrame(X)
    for method in ("decision_function", "predict_proba"):
        np.testing.assert_array_equal(
            cross_fit_scores(model, frame, truth, cv=SemiSupervisedKFold(4), method=method),
            cross_val_predict(model, frame, truth, cv=StratifiedKFold(4), method=method),
        )


def test_cross_fit_scores_split_the_columns_of_a_precomputed_kernel(blobs):
    X, _, truth = blobs
    cv = SemiSupervisedKFold(3)
    np.testing.assert_allclose(
        cross_fit_scores(SVC(kernel="precomputed"), X @ X.T, truth, cv=cv),
        cross_fit_scores(SVC(kernel="linear"), X, truth, cv=cv),
        atol=1e-6,
    )


def test_a_weight_of_two_is_a_row_given_twice_in_cross_fit_scores(blobs):
    X, y, _ = blobs
    groups = np.arange(120)
    weight = 1.0 + (np.arange(120) % 2)
    twice = np.repeat(groups, weight.astype(int))
    cv = SemiSupervisedGroupKFold(3, shuffle=True, random_state=0, stratify=False)
    weighted = cross_fit_scores(LabeledRowsOnly(), X, y, cv=cv, groups=groups, sample_weight=weight)
    repeated = cross_fit_scores(LabeledRowsOnly(), X[twice], y[twice], cv=cv, groups=groups[twice])
    np.testing.assert_allclose(weighted[twice], repeated, rtol=1e-3)


@pytest.mark.parametrize(
    ("cv", "method", "message"),
    [
        (
            SemiSupervisedShuffleSplit(5, random_state=0, stratify=False),
            "decision_function",
            "more than once",
        ),
        (SemiSupervisedKFold(2), "predict", "method='predict' gives no scores"),
        (SemiSupervisedKFold(9, stratify=False), "predict_proba", "different classes"),
    ],
)
def test_cross_fit_scores_refuse_what_would_not_be_one_score_a_row(cv, method, message):
    X = np.arange(18.0)[:, None]
    y = np.array([2, 2, *[0, 1] * 8])
    with pytest.raises(ValueError, match=message):
        cross_fit_scores(LogisticRegression(), X, y, cv=cv, method=method)
