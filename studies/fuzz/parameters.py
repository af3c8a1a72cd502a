"""Values of every parameter of every estimator, read off `_parameter_constraints`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from semisvm import SVCCV, PreferenceClassifier
from semisvm.estimators import METHODS
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.sklearn_private import Interval, StrOptions

# Values where the constraint names none, or where those of the constraint need data of their own.
OWN_VALUES: dict[str, list[Any]] = {
    "kernel": ["linear", "rbf", "poly", "sigmoid", "precomputed", "function"],
    "costs": [None, {0: 1.0, 1: 5.0}, [[0.0, 2.0], [3.0, 0.0]]],
    "class_weight": [None, "balanced", {0: 1.0, 1: 2.0}],
    "unlabeled": [-1],
    "device": ["auto", "cpu"],
    "random_state": [None, 0, "generator"],
    "verbose": [False, True, 1],
    "estimator": [],
    "clusterer": [None],
    "confidence": [None],
    "max_iter": [None, 1, 1000],
    "time_limit": [None, 60.0],
}
# Extreme values that the constraints allow, for random trials.
EXTREME: dict[str, list[Any]] = {
    "C": [1e-300, 1e-20, 1e-3, 1e3, 1e8, 1e20, 1e300],
    "C_unlabeled": [1e-300, 1e-8, 1e8, 1e20],
    "tol": [1e-300, 1e-14, 1e-8, 0.5, 1e3],
    "gamma": [1e-300, 1e-8, 1.0, 1e8, 1e300],
    "coef0": [-1e300, -1.0, 1.0, 1e8],
    "degree": [0, 0.5, 1, 2, 10, 100],
    "cache_size": [1e-6, 0.1, 1.0],
    "max_iter": [0, 1, 2, 10],
    "time_limit": [1e-9, 1e-3],
    "class_weight": [
        {0: 1e-300, 1: 1e300},
        {0: 0.0, 1: 1.0},
        {0: -1.0, 1: 1.0},
        {0: float("nan")},
        {7: 1.0},
    ],
    "costs": [
        {0: 1e-200, 1: 1e200},
        {0: 0.0, 1: 0.0},
        [[0.0, 1e300], [1e-300, 0.0]],
        [[1.0]],
        {0: "a", 1: 1},
    ],
}
ESTIMATORS = {
    **{
        method.class_name: method.estimator_class
        for method in METHODS
        if method.estimator_class is not None
    },
    "PreferenceClassifier": PreferenceClassifier,
    "SVCCV": SVCCV,
    "PaperPreferenceSVC": PaperPreferenceSVC,
}


def values_of(name: str, constraints: Any) -> list[Any]:
    """The values that a constraint names, and those at the ends of its intervals."""
    if name in OWN_VALUES:
        return OWN_VALUES[name]
    found: list[Any] = [(3, 15)] if isinstance(constraints, list) and tuple in constraints else []
    for one in constraints if isinstance(constraints, list) else []:
        if isinstance(one, StrOptions):
            found += sorted(one.options)
        elif one is None or one == "boolean":
            found += [None] if one is None else [False, True]
        elif isinstance(one, Interval):
            whole = issubclass(one.type, Integral)
            low = 0 if one.left is None else one.left
            ends = [low + (1 if whole else 1e-3)] + (
                [low] if one.closed in ("left", "both") else []
            )
            ends += [one.right] if one.right is not None and one.closed in ("right", "both") else []
            found += [int(end) if whole else float(end) for end in ends]
    return found


def choices_of(class_name: str) -> dict[str, list[Any]]:
    """The values of each parameter of an estimator."""
    estimator_class = ESTIMATORS[class_name]
    known = estimator_class._parameter_constraints
    names = [name for name in estimator_class._get_param_names() if name in known]
    return {name: values_of(name, known[name]) for name in names}


def make_estimator(class_name: str, parameters: dict[str, Any]) -> Any:
    """An estimator with these parameters; words stand for objects that JSON can't hold."""
    given = {name: tuple(value) if name == "n_neighbors" and isinstance(value, list) else value
             for name, value in parameters.items()}  # fmt: skip
    if given.get("kernel") == "function":
        given["kernel"] = dot_products
    if given.get("random_state") == "generator":
        given["random_state"] = np.random.RandomState(1)
    for name in ("costs", "class_weight"):
        if isinstance(given.get(name), dict):
            given[name] = {int(key): value for key, value in given[name].items()}
    if class_name == "PreferenceClassifier":
        given.setdefault("estimator", LogisticRegression())
    return ESTIMATORS[class_name](**given)


def dot_products(left: Any, right: Any) -> np.ndarray:
    """A kernel that the user brings."""
    product = left @ right.T
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)
