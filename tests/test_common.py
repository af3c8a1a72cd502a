"""What estimators outside of `semisvm.svm` promise, at their default settings, once for each class;
tests/svm has the others.
"""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from estimator_properties import PROPERTIES, holds
from semisvm import (
    AutoSVC,
    PositiveUnlabeledSVC,
    PreferenceClassifier,
    PreferenceSVC,
    SemiSupervisedCalibratedClassifierCV,
    SupervisedSVC,
    UnlabeledKernel,
)

MINUS_ONE = "trains on {-1, +1}, where -1 marks unlabeled rows: refused, never guessed"
BY_ROWS = "neighbors and trees are of rows, whatever their weight"
FOLDS = "folds are of rows, and the check of scikit-learn 1.6 does not fix them"
HAVE_FOLDS = ("PreferenceSVC", "PreferenceClassifier", "PositiveUnlabeledSVC")
ESTIMATORS = [
    AutoSVC(random_state=0),
    PreferenceSVC(random_state=0),
    PreferenceClassifier(LogisticRegression(), random_state=0),
    SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), random_state=0),
    PositiveUnlabeledSVC(random_state=0),
]
# What a class does not promise, and why.
NOT_PROMISED = {
    ("AutoSVC", "copies"),  # neighbors are rows
    ("AutoSVC", "float32"),  # forests draw other thresholds
    ("PreferenceSVC", "copies"),  # folds are of rows
    ("PreferenceClassifier", "copies"),
    ("SemiSupervisedCalibratedClassifierCV", "copies"),
    ("PreferenceSVC", "order of rows"),  # folds are drawn by place
    ("PreferenceClassifier", "order of rows"),
    ("SemiSupervisedCalibratedClassifierCV", "order of rows"),
}


def name_of(estimator):
    return type(estimator).__name__


def few_labels():
    """Two overlapping classes, 30 labels."""
    X, truth = make_blobs(120, centers=[[0, 0, 0], [2, 1, 0]], random_state=0)
    return X, np.where(np.arange(120) < 30, truth, -1), truth


def expected_failures(estimator):
    """What each class does otherwise, with the reason."""
    failures = {}
    if hasattr(estimator, "predict"):
        failures["check_classifiers_classes"] = MINUS_ONE
    if name_of(estimator) == "AutoSVC":
        for kind in ("dense", "sparse"):
            failures[f"check_sample_weight_equivalence_on_{kind}_data"] = BY_ROWS
    if name_of(estimator) in HAVE_FOLDS and parse_version(sklearn.__version__) < parse_version(
        "1.7"
    ):
        for kind in ("dense", "sparse"):
            failures[f"check_sample_weight_equivalence_on_{kind}_data"] = FOLDS
    return failures


@parametrize_with_checks([*ESTIMATORS, UnlabeledKernel()], expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("property_name", [name for name in PROPERTIES if "bool" not in name])
@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=name_of)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_may_change_without_changing_the_model(estimator, property_name):
    if (name_of(estimator), property_name) in NOT_PROMISED:
        pytest.skip("not promised")
    X, y, _ = few_labels()
    holds(property_name, estimator, X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=name_of)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_can_be_repeated_cloned_and_pickled(estimator):
    X, y, truth = few_labels()
    X_before, y_before = X.copy(), y.copy()
    model = clone(estimator).fit(X, y)
    scores = model.decision_function(X)
    for other in (model.fit(X, y), clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.decision_function(X), scores)
    assert_array_equal(X, X_before)
    assert_array_equal(y, y_before)
    assert model.score(X, y) == np.mean(model.predict(X[:30]) == truth[:30])
    with pytest.raises(ValueError, match=r"label"):
        model.fit(X, np.full(len(y), -1))
    assert_array_equal(model.decision_function(X), scores)  # a refit that fails changes nothing
