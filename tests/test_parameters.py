"""Every documented value of every parameter of every estimator is fitted with, alone and with others."""

import itertools
import warnings
from numbers import Integral

import numpy as np
import pytest

from every_estimator import CASES
from semisvm.sklearn_private import Interval, StrOptions

# Values where the constraint names none, or where those of the constraint need data of their own.
OWN_VALUES = {
    "kernel": ["linear", "rbf", "poly", "sigmoid", "precomputed", lambda left, right: np.asarray(left @ right.T)],
    "costs": [None, {0: 1.0, 1: 5.0}, [[0.0, 2.0], [3.0, 0.0]]],
    "class_weight": [None, "balanced", {0: 1.0, 1: 2.0}],
    "unlabeled": [-1],
    "device": ["auto", "cpu"],
    "random_state": [None, 0, np.random.RandomState(1)],
    "verbose": [False, True, 1],
    "estimator": [],
    "clusterer": [None],
    "confidence": [None],
    "max_iter": [None, 1, 1000],
    "time_limit": [None, 60.0],
}
PAIRED = ("algorithm",)  # parameters whose values meet those of all others


def values_of(name, constraints):
    """The values that a constraint names, and those at the ends of its intervals."""
    if name in OWN_VALUES:
        return OWN_VALUES[name]
    found = [(3, 15)] if isinstance(constraints, list) and tuple in constraints else []
    for one in constraints if isinstance(constraints, list) else []:
        if isinstance(one, StrOptions):
            found += sorted(one.options)
        elif one is None or one == "boolean":
            found += [None] if one is None else [False, True]
        elif isinstance(one, Interval):
            whole = issubclass(one.type, Integral)
            low = 0 if one.left is None else one.left
            ends = [low + (1 if whole else 1e-3)] + ([low] if one.closed in ("left", "both") else [])
            ends += [one.right] if one.right is not None and one.closed in ("right", "both") else []
            found += [int(end) if whole else float(end) for end in ends]
    return found


def grid():
    """One (case, parameters) for each value of each parameter, and for each pair with a value in PAIRED."""
    seen = set()
    for case in CASES:
        known = case.estimator_class._parameter_constraints
        names = [name for name in case.make().get_params(deep=False) if name in known]
        choices = {name: values_of(name, known[name]) for name in names}
        for name in names:
            for value in choices[name]:
                others = [
                    (other, that) for other in PAIRED if other in choices and other != name for that in choices[other]
                ]
                for extra in [(), *others]:
                    given = {name: value} | (dict([extra]) if extra else {})
                    key = (case.class_name, *sorted((key, repr(value)) for key, value in given.items()))
                    if key not in seen:
                        seen.add(key)
                        yield case, given


GRID = list(grid())
CLASSES = list(dict.fromkeys(case.class_name for case, _ in GRID))


def small_set():
    rng = np.random.default_rng(0)
    truth = np.arange(24) % 2
    X = np.abs(rng.normal(size=(24, 3)) + 2 * truth[:, None])
    return X, np.where(np.arange(24) < 16, truth, -1)


@pytest.mark.parametrize("class_name", CLASSES)
def test_every_documented_value_of_every_parameter_fits_and_predicts(class_name, capsys):
    X, y = small_set()
    K = X @ X.T
    wrong = []
    for case, parameters in GRID:
        if case.class_name != class_name:
            continue
        rows = K if parameters.get("kernel") == "precomputed" else X
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = case.make(**parameters).fit(rows, y)
                assert np.isin(model.predict(rows), [0, 1]).all()
                if hasattr(model, "decision_function"):
                    assert np.isfinite(model.decision_function(rows)).all()
        except ValueError as error:
            # values that exclude each other are refused in words that name one of them
            if not any(name.removesuffix("_") in str(error) for name in parameters):
                wrong.append((parameters, f"{type(error).__name__}: {error}"))
        except Exception as error:
            wrong.append((parameters, f"{type(error).__name__}: {error}"))
    assert not wrong, "\n".join(f"{parameters}: {told}" for parameters, told in itertools.islice(wrong, 20))


def test_the_grid_has_every_parameter_of_every_estimator():
    for case in CASES:
        tried = {name for one, given in GRID if one.class_name == case.class_name for name in given}
        assert tried >= set(case.make().get_params(deep=False)) - {"estimator"}
