"""Calibrated probabilities: scikit-learn's, where every row has a label; true ones elsewhere."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from semisvm import SemiSupervisedCalibratedClassifierCV, SupervisedSVC

X, TRUTH = load_iris(return_X_y=True)
CV = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_with_all_labels_it_is_scikit_learns_calibrator(method, n_classes, is_weighted):
    rows, y = X[TRUTH < n_classes][::-1], TRUTH[TRUTH < n_classes][::-1]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if is_weighted else None
    how = {"method": method, "cv": CV}
    ours = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), **how).fit(rows, y, weight)
    theirs = CalibratedClassifierCV(SupervisedSVC(), ensemble=False, **how).fit(rows, y, weight)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


def test_unlabeled_rows_are_no_class_and_probabilities_are_right_on_average():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 2))
    chance = 1 / (1 + np.exp(-2 * rows[:, 0]))
    truth = np.where(rng.random(1500) < chance, "yes", "no")
    y = np.where(np.arange(1500) < 400, truth, "")
    model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(kernel="linear"), random_state=0)
    found = model.fit(rows, y).predict_proba(rows[400:])
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.abs(found[:, 1] - chance[400:]).mean() < 0.05
    assert np.isnan(model.out_of_fold_scores_[400:]).all()
    np.testing.assert_allclose(
        model.decision_function(rows[:5]), np.diff(model.predict_proba(rows[:5]))[:, 0]
    )
    assert model.score(rows, y) == np.mean(model.predict(rows[:400]) == truth[:400])
    assert model.n_features_in_ == 2


def test_a_classifier_with_probabilities_alone():
    model = SemiSupervisedCalibratedClassifierCV(GaussianNB(), cv=CV)
    assert model.fit(X, TRUTH).score(X, TRUTH) > 0.9


def test_folds_that_leave_rows_out_calibrate_on_the_others():
    y = np.where(np.arange(150) % 3, -1, TRUTH)
    cv = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), cv=cv).fit(X, y)
    assert np.isfinite(model.out_of_fold_scores_[3::6]).all()
    assert np.isnan(model.out_of_fold_scores_[0::6]).all()


@pytest.mark.parametrize(
    ("estimator", "y", "how", "message"),
    [
        (GaussianNB(), np.where(TRUTH == 2, -1, TRUTH), {}, "-1, as a class"),
        (SupervisedSVC(), TRUTH, {"cv": KFold(3)}, "different classes"),
    ],
)
def test_what_would_be_wrong_is_refused(estimator, y, how, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedCalibratedClassifierCV(estimator, **how).fit(X, y)
