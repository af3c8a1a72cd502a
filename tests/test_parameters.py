"""Every documented value of every parameter of every estimator is fitted with. Any values together
are what random inputs try (`make fuzz`).
"""

import itertools
import warnings

import numpy as np
import pytest

from every_estimator import CASES
from studies.fuzz.parameters import choices_of, make_estimator

PAIRED = ("algorithm",)  # parameters whose values meet those of all others


def grid():
    """Each value of each parameter, alone and with each value in PAIRED."""
    seen = set()
    for case in CASES:
        choices = choices_of(case.class_name)
        alone = [{name: value} for name, values in choices.items() for value in values]
        beside = [{name: value} for name in PAIRED for value in choices.get(name, ())]
        for given in [*alone, *(one | other for one in alone for other in beside)]:
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
                model = make_estimator(
                    class_name, case.make().get_params(deep=False) | parameters
                ).fit(rows, y)
                assert np.isin(model.predict(rows), [0, 1]).all()
                if hasattr(model, "decision_function"):
                    assert np.isfinite(model.decision_function(rows)).all()
        except ValueError as error:
            # values that exclude each other are refused in words that name one of them
            if not any(name.removesuffix("_") in str(error) for name in parameters):
                wrong.append((parameters, f"{type(error).__name__}: {error}"))
        except Exception as error:
            wrong.append((parameters, f"{type(error).__name__}: {error}"))
    assert not wrong, "\n".join(
        f"{parameters}: {told}" for parameters, told in itertools.islice(wrong, 20)
    )


def test_the_grid_has_every_parameter_of_every_estimator():
    for case in CASES:
        tried = {name for one, given in GRID if one.class_name == case.class_name for name in given}
        assert tried >= set(case.make().get_params(deep=False)) - {"estimator"}
