"""What scikit-learn asks of estimators, and what their documentation owes to their parameters."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from semisvm import (
    PositiveUnlabeledSVC,
    PreferenceClassifier,
    PreferenceSVC,
    SemiSupervisedCalibratedClassifierCV,
    SupervisedSVC,
    TransductiveSVC,
)

ESTIMATORS = [
    PreferenceClassifier(LogisticRegression()),
    PreferenceClassifier(TransductiveSVC()),
    PreferenceSVC(),
    PositiveUnlabeledSVC(),
    SemiSupervisedCalibratedClassifierCV(SupervisedSVC()),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_copies_say_the_same(estimator):
    X, y = load_breast_cancer(return_X_y=True)
    y[np.arange(569) % 4 > 0] = -1
    estimator = clone(estimator).set_params(random_state=0)
    if isinstance(estimator, PreferenceClassifier):
        X = X / X.std(axis=0)
    expected = estimator.fit(X, y).decision_function(X)
    again = pickle.loads(pickle.dumps(estimator)).decision_function(X)
    np.testing.assert_array_equal(again, expected)
    np.testing.assert_array_equal(clone(estimator).fit(X, y).decision_function(X), expected)
    assert type(estimator).__name__ in estimator._repr_html_()


@pytest.mark.parametrize("estimator", ESTIMATORS[::2], ids=lambda e: type(e).__name__)
def test_every_parameter_has_an_entry_and_a_constraint(estimator):
    documented = inspect.getdoc(type(estimator))
    for name in inspect.signature(type(estimator)).parameters:
        assert f"\n{name}" in documented or f", {name}" in documented, name
        assert name in type(estimator)._parameter_constraints, name
