"""Every estimator of the library in several configurations, found through the registry: a new
one is tested too.
"""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from semisvm import PreferenceClassifier
from semisvm.estimators import METHODS
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.preference.paper import PaperPreferenceSVC

PRIMAL = {"kernel": "linear", "solver": "primal"}

# What is tested of each class; a class that is not listed is tested with its defaults.
CONFIGURATIONS = {
    "SupervisedSVC": [
        {"probability": True},
        {"kernel": "linear", "multi_class": "ovr"},
        PRIMAL,
    ],
    "MixtureClassifier": [{}, {"n_components": 2, "covariance_type": "full", "tol": 1e-2}],
    "SelfTrainingSVC": [{}, {"kernel": "linear", "multi_class": "ovo"}, PRIMAL],
    "ClusterSVC": [
        {},
        {"n_clusters": 5, "embed": None, "kernel": "linear", "multi_class": "ovo", "empty": "drop"},
    ],
    "LaplacianSVC": [
        {},
        {
            "kernel": "linear",
            "multi_class": "ovo",
            "laplacian": "combinatorial",
            "graph_weights": "heat",
        },
    ],
    "TransductiveSVC": [
        {},
        {"algorithm": "cccp"},
        {"algorithm": "anneal", "multi_class": "ovo"},
        PRIMAL,
    ],
    "AutoSVC": [{}, {"metric": "euclidean", "safe": False, "n_neighbors": (4,)}],
    "ProgressiveSVC": [{}, PRIMAL],
    "PreferenceSVC": [{}, {"loss": "squared_hinge", "kernel": "linear"}],
    "PositiveUnlabeledSVC": [{}, {"loss": "double_hinge", "positive_weight": "balanced"}],
}


class Case:
    """One estimator in one configuration."""

    def __init__(self, estimator_class, parameters):
        self.estimator_class = estimator_class
        self.parameters = parameters

    @property
    def class_name(self) -> str:
        return self.estimator_class.__name__

    @property
    def has_support(self) -> bool:
        """Whether a fit has support vectors: in the primal form it has weights of features
        alone.
        """
        is_primal = (
            self.parameters.get("solver") == "primal"
            or self.parameters.get("loss") == "squared_hinge"
        )
        return issubclass(self.estimator_class, BaseSVC) and not is_primal

    @property
    def most_classes(self) -> int:
        """How many classes it is tested with at most."""
        return 3 if get_tags(self.make()).classifier_tags.multi_class else 2

    def __str__(self) -> str:
        values = (
            str(value)
            for name, value in self.parameters.items()
            if name not in ("estimator", "random_state")
        )
        return "-".join([self.class_name, *values])

    def make(self, **parameters):
        """Return an unfitted estimator; what is random is repeatable."""
        known = inspect.signature(self.estimator_class).parameters
        given = {"random_state": 0} if "random_state" in known else {}
        return self.estimator_class(
            **given
            | self.parameters
            | {name: value for name, value in parameters.items() if name in known}
        )


CASES = [
    *(
        Case(method.estimator_class, parameters)
        for method in METHODS
        if method.estimator_class is not None
        for parameters in CONFIGURATIONS.get(method.class_name, [{}])
    ),
    Case(PreferenceClassifier, {"estimator": LogisticRegression()}),
    Case(PaperPreferenceSVC, {}),
]
CLASSES = list(dict.fromkeys(case.estimator_class for case in CASES))


def each_case(only=lambda case: True):
    """Parametrize a test over all cases, or over those that `only` chooses."""
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=str(case)) for case in CASES if only(case)]
    )


def each_class():
    """Parametrize a test over all classes."""
    return pytest.mark.parametrize(
        "estimator_class", CLASSES, ids=lambda estimator_class: estimator_class.__name__
    )


def is_first_of_its_class(case) -> bool:
    """Whether a case stands for its class, where parameters make no difference."""
    return next(one for one in CASES if one.class_name == case.class_name) is case


def few_labels(n_classes=2, n=48, n_labeled=18, seed=0):
    """Overlapping classes: rows, target with -1 where there is no label, true classes."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % n_classes)
    centers = np.array([[0.0, 0.0, 1.0], [2.5, 0.0, 0.0], [0.0, 2.5, 0.0]])
    X = centers[truth] + 0.8 * rng.standard_normal((n, 3))
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth


def scores_of(model, X) -> np.ndarray:
    """The scores of rows."""
    return (
        model.decision_function(X)
        if hasattr(model, "decision_function")
        else model.predict_proba(X)
    )
