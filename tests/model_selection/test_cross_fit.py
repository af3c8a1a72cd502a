"""Out-of-fold scores are those of fits without the label, and of nothing else."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.preprocessing import scale

from semisvm import SupervisedSVC, TransductiveSVC
from semisvm.model_selection import cross_fit

X, TRUTH = load_breast_cancer(return_X_y=True)
X, TRUTH = scale(X)[:150], TRUTH[:150]
Y = np.where(np.arange(150) < 60, TRUTH, -1)
CV = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.parametrize("method", [TransductiveSVC(C=0.5), SupervisedSVC()])
def test_each_row_is_scored_by_a_fit_without_its_label(method):
    found = cross_fit(method, X, Y, cv=CV)
    labeled = np.flatnonzero(Y >= 0)
    assert np.isnan(found[Y < 0]).all()
    for train, test in CV.split(labeled[:, None], Y[labeled]):
        rows = np.sort(np.append(labeled[train], np.flatnonzero(Y < 0)))
        expected = method.fit(X[rows], Y[rows]).decision_function(X[labeled[test]])
        np.testing.assert_array_equal(found[labeled[test]], expected)


def test_with_all_labels_it_is_cross_val_predict():
    how = {"cv": CV, "method": "decision_function"}
    expected = cross_val_predict(SupervisedSVC(), X, TRUTH, **how)
    np.testing.assert_array_equal(cross_fit(SupervisedSVC(), X, TRUTH, **how), expected)
    expected = cross_val_predict(LogisticRegression(), X, TRUTH, cv=CV, method="decision_function")
    only_probabilities = cross_fit(LogisticRegression(), X, TRUTH, cv=CV, method="predict_proba")
    odds = np.log(only_probabilities[:, 1] / only_probabilities[:, 0])
    np.testing.assert_allclose(odds, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "method"),
    [
        (csr_array(X), SupervisedSVC()),
        (rbf_kernel(X, gamma=1 / 30), SupervisedSVC(kernel="precomputed")),
    ],
    ids=["sparse", "precomputed"],
)
def test_rows_in_other_forms(rows, method):
    expected = cross_fit(SupervisedSVC(gamma=1 / 30), X, Y, cv=CV)
    found = cross_fit(method.set_params(gamma=1 / 30), rows, Y, cv=CV)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_several_classes_and_other_methods():
    rows, y = load_iris(return_X_y=True)
    y[::2] = -1
    scores = cross_fit(SupervisedSVC(), rows, y, random_state=0)
    assert scores.shape == (150, 3)
    labels = cross_fit(SupervisedSVC(), rows, y, method="predict", random_state=0)
    np.testing.assert_array_equal(labels[1::2], scores[1::2].argmax(axis=1))


def test_the_default_folds_are_stratified_and_fewer_with_few_labels():
    y = np.full(150, -1)
    y[[0, 1, 2, 19, 20, 37]] = TRUTH[[0, 1, 2, 19, 20, 37]]
    assert np.isfinite(cross_fit(SupervisedSVC(), X, y, random_state=0)[y >= 0]).all()
    same = [cross_fit(SupervisedSVC(), X, y, random_state=0) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    with parallel_config(backend="threading", n_jobs=2):
        np.testing.assert_array_equal(cross_fit(SupervisedSVC(), X, y, random_state=0), same[0])


def test_groups_and_weights_reach_the_folds_and_the_fits():
    groups = np.arange(150) // 5
    found = cross_fit(SupervisedSVC(), X, Y, cv=StratifiedGroupKFold(3), groups=groups)
    assert np.isfinite(found[Y >= 0]).all()
    weight = np.where(np.arange(150) % 2, 1.0, 1e-6)
    weighted = cross_fit(SupervisedSVC(), X, Y, cv=CV, sample_weight=weight)
    assert np.nanmax(np.abs(weighted - cross_fit(SupervisedSVC(), X, Y, cv=CV))) > 0.1


@pytest.mark.parametrize(
    ("method", "y", "how", "message"),
    [
        (LogisticRegression(), Y, {}, "counts the marker of unlabeled rows, -1, as a class"),
        (SupervisedSVC(), Y, {"cv": ShuffleSplit(9, test_size=0.5)}, "more than once"),
        (SupervisedSVC(), np.where(np.arange(150) < 3, [0, 1, 0] * 50, -1), {}, "class 1 has 1"),
        (SupervisedSVC(), np.repeat([0, 1, 2], 50), {"cv": KFold(3)}, "different classes"),
    ],
)
def test_what_would_be_wrong_is_refused(method, y, how, message):
    with pytest.raises(ValueError, match=message):
        cross_fit(method, X, y, **how)
