"""Probabilities and accuracy where some rows have no label: right, or refused with a sentence."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from semisvm import SelfTrainingSVC, SemiSupervisedKFold, SupervisedSVC
from semisvm.model_selection import SemiSupervisedCalibratedClassifierCV, cross_fit_scores
from semisvm.model_selection.scoring import LabeledRowsScoreMixin


def overlapping(n=2000, n_labeled=200, n_classes=2, seed=0):
    centers = [[0, 0], [2, 0], [0, 2]][:n_classes]
    X, truth = make_blobs(n, centers=centers, random_state=seed)
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth


def test_the_splitters_serve_scikit_learns_calibrator_where_every_row_has_a_label():
    X, _, truth = overlapping(200, 100)
    ours, theirs = (
        CalibratedClassifierCV(SupervisedSVC(), cv=cv).fit(X, truth).predict_proba(X)
        for cv in (SemiSupervisedKFold(3), StratifiedKFold(3))
    )
    assert_array_equal(ours, theirs)


def test_the_recipe_of_the_refusal_works():
    X, y, truth = overlapping(600, 300)
    fitted = SupervisedSVC().fit(X[300:], truth[300:])
    model = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X[:300], y[:300])
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_labels_everywhere_it_is_scikit_learns_calibrator(method, n_classes):
    if method == "temperature" and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8):
        pytest.skip("scikit-learn before 1.8 does not have it")
    X, _, truth = overlapping(300, 300, n_classes)
    ours = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), method=method).fit(X, truth)
    theirs = CalibratedClassifierCV(
        SupervisedSVC(), method=method, cv=StratifiedKFold(5), ensemble=False
    )
    assert_allclose(ours.predict_proba(X), theirs.fit(X, truth).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_calibrated_on_rows_that_were_not_used(n_classes):
    X, y, truth = overlapping(n_classes=n_classes)
    model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(C=0.1)).fit(X, y)
    assert model.classes_.tolist() == list(range(n_classes))
    probabilities = model.predict_proba(X)
    unseen = y == -1
    assert_allclose(probabilities.sum(axis=1), 1)
    for code in range(n_classes):
        p = probabilities[unseen, code]
        is_class = truth[unseen] == code
        for low, high in ((0, 0.3), (0.3, 0.7), (0.7, 1.01)):
            inside = (p >= low) & (p < high)
            # four standard errors, and what 200 labels leave open
            assert (
                abs(p[inside].mean() - is_class[inside].mean())
                < 4 * np.sqrt(0.25 / inside.sum()) + 0.05
            )
    if n_classes == 2:
        best = brier_score_loss(
            truth[unseen], 1 / (1 + np.exp(-(2 * X[unseen, 0] - 2)))
        )  # the true probability
        assert brier_score_loss(truth[unseen], probabilities[unseen, 1]) < best + 0.02


def test_strings_sparse_rows_weights_and_names_pass_through():
    X, y, _ = overlapping(200, 100)
    names = np.where(y == -1, "", np.array(["ham", "spam"])[y])
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = SemiSupervisedCalibratedClassifierCV(
        SelfTrainingSVC(C=0.1, unlabeled=""), unlabeled=""
    ).fit(frame, names)
    assert model.classes_.tolist() == ["ham", "spam"]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    by_number = SemiSupervisedCalibratedClassifierCV(SelfTrainingSVC(C=0.1)).fit(
        sparse.csr_array(X), y, np.ones(200)
    )
    assert_allclose(
        model.predict_proba(frame), by_number.predict_proba(sparse.csr_array(X)), atol=1e-6
    )
    assert set(model.predict(frame)) == {"ham", "spam"}
    assert_array_equal(np.isnan(model.out_of_fold_scores_), y == -1)
    assert_allclose(
        model.out_of_fold_scores_,
        cross_fit_scores(SelfTrainingSVC(C=0.1), X, y, cv=SemiSupervisedKFold(5)),
        atol=1e-6,
    )
    assert model.score(frame, names) == np.mean((model.predict(frame) == names)[y != -1])
    clone(model)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [SupervisedSVC(), LinearSVC()])
def test_the_order_of_categories_changes_no_probability(estimator, n_classes, method):
    is_ours = isinstance(estimator, SupervisedSVC)
    X, y, truth = overlapping(300, 150 if is_ours else 300, n_classes)
    names = ["low", "high"] if n_classes == 2 else ["low", "mid", "high"]
    graded = pd.Series(pd.Categorical.from_codes(y, categories=names))
    by_name, by_number = (
        SemiSupervisedCalibratedClassifierCV(estimator, method=method).fit(X, target)
        for target in (graded, y)
    )
    assert by_name.classes_.tolist() == (names if is_ours else sorted(names))
    columns = [names.index(name) for name in by_name.classes_]
    assert_allclose(by_name.predict_proba(X), by_number.predict_proba(X)[:, columns], atol=1e-6)
    assert by_name.score(X, np.array(names)[truth]) == by_number.score(X, truth) > 0.7


def test_weights_need_no_request_of_the_calibrator_with_metadata_routing():
    X, y, _ = overlapping(300, 100)
    weight = np.where(np.arange(300) < 30, 2.0, 1.0)
    plain = SemiSupervisedCalibratedClassifierCV(SupervisedSVC()).fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        routed = SemiSupervisedCalibratedClassifierCV(SupervisedSVC()).fit(
            X, y, sample_weight=weight
        )
    assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("cv", [3, SemiSupervisedKFold(3)])
def test_the_folds_may_be_a_number_a_splitter_or_a_list(cv):
    X, y, _ = overlapping(100, 50)
    folds = list(SemiSupervisedKFold(3).split(X, y))
    model, listed = (
        SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), cv=c).fit(X, y) for c in (cv, folds)
    )
    assert_array_equal(model.predict_proba(X), listed.predict_proba(X))


class Threshold(LabeledRowsScoreMixin, ClassifierMixin, BaseEstimator):
    """Predicts the second class above 0."""

    def __init__(self, classes=(0, 1), unlabeled=-1):
        self.classes = classes
        self.unlabeled = unlabeled

    def fit(self, X, y=None):
        self.classes_ = np.array(self.classes)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


X_OF_FIVE = np.array([[-1.0], [1.0], [2.0], [-3.0], [4.0]])


@pytest.mark.parametrize(
    ("classes", "unlabeled", "y"),
    [
        ((0, 1), -1, np.array([0, 1, 0, -1, -1])),
        ((0, 1), -1, [0, 1, 0, -1, -1]),
        ((0, 1), None, [0, 1, 0, None, float("nan")]),
        ((0, 1), -1, np.array([0.0, 1.0, 0.0, np.nan, -1])),
        ((0, 1), -1, pd.Series([0, 1, 0, None, -1], dtype="Int64")),
        (("ham", "spam"), -1, ["ham", "spam", "ham", "", None]),
        (("ham", "spam"), -1, pd.Series(["ham", "spam", "ham", pd.NA, ""])),
        (("ham", "spam"), "?", np.array(["ham", "spam", "ham", "?", ""])),
        ((-1, 1), 0, np.array([-1, 1, -1, 0, 0])),
    ],
)
def test_score_is_the_accuracy_on_the_labeled_rows_however_the_others_are_marked(
    classes, unlabeled, y
):
    model = Threshold(classes, unlabeled).fit(X_OF_FIVE)
    assert model.score(X_OF_FIVE, y) == pytest.approx(2 / 3)
    assert model.score(X_OF_FIVE, y, sample_weight=[1, 1, 2, 50, 50]) == pytest.approx(0.5)
    assert model.score(pd.DataFrame(X_OF_FIVE), y) == pytest.approx(2 / 3)


def test_score_takes_a_test_set_of_one_class_and_refuses_one_without_labels():
    model = Threshold().fit(X_OF_FIVE)
    assert model.score(X_OF_FIVE[:2], [1, 1]) == 0.5
    assert model.score(X_OF_FIVE[:2], [1, -1]) == 0
    with pytest.raises(ValueError, match="every row of y is unlabeled"):
        model.score(X_OF_FIVE[:2], [-1, -1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X_OF_FIVE, [0, 1])


def test_where_every_row_has_a_label_the_score_is_scikit_learns():
    X, _, truth = overlapping(100, 100)
    model = SupervisedSVC().fit(X, truth)
    weight = np.arange(100.0)
    expected = accuracy_score(truth, model.predict(X), sample_weight=weight)
    assert model.score(X, truth, sample_weight=weight) == expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_predict_gives_the_most_probable_class_and_agrees_with_the_decision_function(
    n_classes, method
):
    X, y, truth = overlapping(600, 200, n_classes)
    model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), method=method).fit(X, y)
    assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    decision = model.decision_function(X)
    codes = decision > 0 if n_classes == 2 else decision.argmax(axis=1)
    assert_array_equal(model.predict(X), codes)
    assert model.score(X, truth) > 0.7


def test_two_labels_of_each_class_are_enough():
    X, _, truth = overlapping(100, 100)
    y = np.full(100, -1)
    rows = np.concatenate([np.flatnonzero(truth == k)[:2] for k in (0, 1)])
    y[rows] = truth[rows]
    model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC()).fit(X, y)
    assert_array_equal(~np.isnan(model.out_of_fold_scores_), y != -1)


def test_a_classifier_that_counts_the_marker_as_a_class_is_refused():
    X, y = load_iris(return_X_y=True)
    hidden = np.where(np.arange(150) % 3 == 0, y, -1)
    told = "LinearSVC counts the marker of unlabeled rows, -1, as a class"
    with pytest.raises(ValueError, match=told):
        SemiSupervisedCalibratedClassifierCV(LinearSVC()).fit(X, hidden)
    with pytest.raises(ValueError, match=told):
        cross_fit_scores(LinearSVC(), X, hidden, cv=SemiSupervisedKFold(3))
    labeled = hidden >= 0
    scores = cross_fit_scores(LinearSVC(), X[labeled], y[labeled], cv=SemiSupervisedKFold(3))
    assert scores.shape == (50, 3)
