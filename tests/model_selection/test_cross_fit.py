"""One home for cross-fitting: five kinds of callers, each with the numbers that its own loop
gave in version 0.1.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from semisvm import PreferenceSVC, SemiSupervisedKFold, SupervisedSVC
from semisvm.decision.guard import guard
from semisvm.estimators.equal_rows import content_order
from semisvm.model_selection import cross_fit_scores
from semisvm.model_selection.cross_fit import (
    assign_folds,
    collect_scores,
    cross_fit,
    hide_single_rows,
    list_folds,
)


def draw_folds_of_version_1(sign, *, n_folds=5, n_draws=1, seed=0):
    """The fold maker of soft labels, before there was one for all."""
    classes = [np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)]
    n_folds = min(n_folds, *(len(rows) for rows in classes))
    rng = np.random.default_rng(seed)
    folds = np.full((n_draws, len(sign)), -1)
    for draw in folds:
        dealt = itertools.count()
        for rows in classes:
            draw[rng.permutation(rows)] = [next(dealt) % n_folds for _ in rows]
    return folds


def deal_folds_of_version_1(codes, rng):
    """The fold maker of the cluster search: a class with a single row is never hidden."""
    fold = np.full(len(codes), -1)
    n_dealt = 0
    for code in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            fold[rows] = (n_dealt + np.arange(len(rows))) % 5
            n_dealt += len(rows)
    return fold


def guard_folds_of_version_1(rows, codes, most=20):
    """The fold maker of the guard: nothing is random, leave-one-out up to twenty rows."""
    rows = rows[np.argsort(codes[rows], kind="stable")]
    n_folds = min(len(rows), most)
    return [rows[k::n_folds] for k in range(n_folds)]


signs = st.lists(st.integers(-1, 1), max_size=40).map(
    lambda sign: np.array([1, -1, *sign, -1, 1, 0])
)
class_codes = st.lists(st.integers(-1, 3), max_size=40).map(lambda codes: np.array([0, *codes]))


@given(signs, st.integers(1, 3), st.integers(0, 5))
def test_the_folds_of_soft_labels_are_bit_for_bit_those_of_version_1(sign, n_draws, seed):
    codes = np.where(sign > 0, 0, np.where(sign < 0, 1, -1))  # positive rows are dealt out first
    rng = np.random.default_rng(seed)
    ours = assign_folds(codes, 5, rng=rng, n_draws=n_draws, every_class_in_every_fold=True)
    assert_array_equal(ours, draw_folds_of_version_1(sign, n_draws=n_draws, seed=seed))


@given(class_codes, st.integers(0, 5))
def test_the_folds_of_the_cluster_search_are_bit_for_bit_those_of_version_1(codes, seed):
    theirs = np.random.RandomState(seed)
    ours = np.random.RandomState(seed)
    expected = deal_folds_of_version_1(codes, theirs)
    assert_array_equal(assign_folds(hide_single_rows(codes), 5, rng=ours)[0], expected)
    assert theirs.random() == ours.random()  # and what is drawn next is the same too


@given(class_codes)
def test_the_folds_of_the_guard_are_those_of_version_1(codes):
    expected = guard_folds_of_version_1(np.flatnonzero(codes >= 0), codes)
    (fold,) = assign_folds(codes, 20)
    assert [test.tolist() for _, test in list_folds(fold)] == [sorted(rows) for rows in expected]


@given(class_codes, st.integers(2, 7))
def test_folds_and_the_classes_in_them_differ_by_at_most_one_row(codes, n_folds):
    (fold,) = assign_folds(codes, n_folds, rng=np.random.default_rng(0))
    assert_array_equal(fold >= 0, codes >= 0)
    for rows in [codes >= 0, *(codes == code for code in range(4))]:
        sizes = np.bincount(fold[rows], minlength=min(n_folds, (codes >= 0).sum()))
        assert sizes.max() - sizes.min() <= 1


@given(class_codes, st.integers(1, 7))
def test_rows_that_are_never_tested_train_in_every_fold(codes, n_folds):
    folds = list_folds(assign_folds(codes, n_folds)[0])
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(codes)))
        assert set(np.flatnonzero(codes < 0)) <= set(train)


def test_a_class_with_a_single_row_cannot_be_in_every_fold():
    with pytest.raises(ValueError, match=r"at least 2 labeled rows .* \[3, 1\]"):
        assign_folds(np.array([0, 0, 0, 1, -1]), 5, every_class_in_every_fold=True)
    with pytest.raises(ValueError, match="n_folds=0"):
        assign_folds(np.array([0, 1]), 0)


@pytest.fixture
def rows():
    """Two overlapping classes with 24 labels, and 36 unlabeled rows."""
    X, truth = make_blobs(60, centers=[[-1, 0], [1, 0]], random_state=1)
    return X, np.where(np.arange(60) < 24, truth, -1), truth


def test_use_1_and_2_a_splitter_and_an_estimator(rows):
    """`cross_fit_scores`, and the comparison of methods on tables: warnings and progress belong
    to the closure.
    """
    X, y, _ = rows
    folds = list(SemiSupervisedKFold(4, shuffle=True, random_state=0).split(X, y))
    estimator = SupervisedSVC(gamma=0.5)
    told = []
    numbers = itertools.count(1)

    def fit_and_score(train, test):
        told.append(f"fold {next(numbers)} of {len(folds)}")
        return clone(estimator).fit(X[train], y[train]).decision_function(X[test])

    found = cross_fit(folds, fit_and_score, len(y))
    by_hand = np.full(len(y), np.nan)
    for train, test in folds:
        by_hand[test] = clone(estimator).fit(X[train], y[train]).decision_function(X[test])
    assert_array_equal(found, by_hand)
    assert told[-1] == "fold 4 of 4"
    cv = SemiSupervisedKFold(4, shuffle=True, random_state=0)
    assert_array_equal(cross_fit_scores(estimator, X, y, cv=cv), by_hand)


def test_use_3_the_guard_hides_labels_and_compares_costs(rows):
    """The tested rows stay among the rows, unlabeled: the closure hides their labels. Oracle:
    the guard of a fit.
    """
    X, y, _ = rows
    costs = {0: 1.0, 1: 4.0}
    model = SupervisedSVC(gamma=0.5, costs=costs, guard=True, tol=1e-8).fit(X, y)
    folds = list_folds(assign_folds(y, 20)[0])

    def fit_and_score(train, test):
        hidden = y.copy()
        hidden[test] = -1
        fitted = SupervisedSVC(gamma=0.5, costs=costs, guard=False, tol=1e-8).fit(X, hidden)
        return fitted.decision_function(X[test])

    found = cross_fit(folds, fit_and_score, len(y))
    labeled = y >= 0
    scores = found[labeled]
    verdict = guard(
        np.stack([np.zeros(len(scores)), scores], axis=1),
        y[labeled],
        np.array([[0.0, 1.0], [4.0, 0.0]]),
        np.bincount(y[labeled]) / labeled.sum(),
    )
    assert model.guard_["n_fits"] == len(folds) == 20
    assert model.guard_["own_cost"] == pytest.approx(verdict.own_cost, abs=1e-12)
    assert model.guard_["best_cut_cost"] == pytest.approx(verdict.best_cut_cost, abs=1e-12)


def test_use_4_a_search_scores_several_settings_at_once(rows):
    """One column per C."""
    X, y, _ = rows
    values = (0.1, 1.0, 10.0)
    folds = list_folds(assign_folds(hide_single_rows(y), 5, rng=np.random.RandomState(0))[0])

    def fit_and_score(train, test):
        train = train[y[train] >= 0]
        return np.stack(
            [SVC(C=C, gamma=0.1).fit(X[train], y[train]).predict(X[test]) for C in values], axis=1
        )

    n_right = (cross_fit(folds, fit_and_score, len(y)) == y[:, None])[y >= 0].sum(axis=0)
    by_hand = np.zeros(3, dtype=int)
    for train, test in folds:
        train = train[y[train] >= 0]
        by_hand += [
            (SVC(C=C, gamma=0.1).fit(X[train], y[train]).predict(X[test]) == y[test]).sum()
            for C in values
        ]
    assert_array_equal(n_right, by_hand)


def test_use_5_machines_of_several_draws_trained_in_one_batch(rows):
    """`PreferenceSVC` trains all folds of all draws at once; its scores are the mean over the
    draws.
    """
    X, _, truth = rows
    order = content_order(X, truth)  # that in which folds are drawn
    X = X[order]
    truth = truth[order]
    model = PreferenceSVC(C=2, gamma=0.3, tol=1e-8, random_state=5).fit(X, truth)
    sign = np.where(truth == 1, 1, -1)
    rng = np.random.default_rng(check_random_state(5).randint(2**31))
    draws = assign_folds(
        np.where(sign > 0, 0, 1), 5, rng=rng, n_draws=3, every_class_in_every_fold=True
    )
    scores = np.zeros(draws.shape)
    for draw, fold in enumerate(draws):
        folds = list_folds(fold)
        values = [
            SVC(C=2, gamma=0.3, tol=1e-8).fit(X[train], sign[train]).decision_function(X)
            for train, _ in folds
        ]
        batch = [of_all_rows[test] for of_all_rows, (_, test) in zip(values, folds, strict=True)]
        scores[draw] = collect_scores(folds, batch, len(sign))
    assert_array_equal(model.calibration_sign_[1], sign)
    assert_allclose(model.calibration_scores_[1], scores.mean(axis=0), atol=1e-5)


FOLDS = [(np.array([1, 2]), np.array([0])), (np.array([0, 2]), np.array([1]))]


def test_an_estimator_that_ended_on_ctrl_c_ends_cross_fit_scores(rows):
    X, y, _ = rows

    class Interrupted(SVC):
        def fit(self, X, y):
            self.termination_condition_ = "interrupted"
            return super().fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        cross_fit_scores(Interrupted(), X, y, cv=SemiSupervisedKFold(2))


def test_scores_that_do_not_fit_the_fold_are_refused():
    with pytest.raises(ValueError, match="Fold 0 tests 1 rows, but 3 scores"):
        cross_fit(FOLDS, lambda train, test: np.zeros(3), 3)
    with pytest.raises(ValueError, match="tests row 0 more than once"):
        cross_fit([FOLDS[0], FOLDS[0]], lambda train, test: np.zeros(1), 3)
