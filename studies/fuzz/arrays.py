"""Rows, targets and weights of any floats, by hypothesis, which also makes a failing example small.

One recipe is an estimator and a seed; it stands for `EXAMPLES` sets of rows. The promises are those
of `estimators`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from studies.fuzz.parameters import ESTIMATORS, make_estimator
from studies.fuzz.verdict import Verdict, limited, of_error

Recipe = dict[str, Any]
EXAMPLES = 20


class WrongError(Exception):
    """An example that breaks a promise; holds the verdict."""

    def __init__(self, verdict: Verdict):
        super().__init__(verdict.key)
        self.verdict = verdict


def make(random: np.random.Generator) -> Recipe:
    """Draw an estimator, a kernel and a seed."""
    name = str(random.choice(list(ESTIMATORS)))
    has_kernel = "kernel" in ESTIMATORS[name]._get_param_names()
    parameters = (
        {"kernel": str(random.choice(["linear", "rbf", "poly", "sigmoid"]))} if has_kernel else {}
    )
    return {"estimator": name, "parameters": parameters, "seed": int(random.integers(2**31))}


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Nothing: hypothesis has done it."""
    return iter(())


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows of any finite floats, a target with and without labels, and weights or none."""
    n = draw(st.integers(2, 8))
    d = draw(st.integers(1, 3))
    width = draw(st.sampled_from([32, 64]))
    floats = st.floats(allow_nan=False, allow_infinity=False, width=width)
    X = draw(
        hnp.arrays(
            np.dtype(f"float{width}"), (n, d), elements=floats | st.sampled_from([0.0, 1.0, -1.0])
        )
    )
    y = draw(hnp.arrays(np.int64, n, elements=st.sampled_from([-1, 0, 1])))
    y[:2] = [1, 0]
    weights = hnp.arrays(np.float64, n, elements=st.floats(0, 1e300) | st.sampled_from([0.0, 1.0]))
    return X, y, draw(st.none() | weights)


def check(recipe: Recipe) -> Verdict:
    """Fit and predict each example."""
    n_tried, n_done = 0, 0

    @seed(recipe["seed"])
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(problems())
    def holds(problem: Any) -> None:
        nonlocal n_tried, n_done
        n_tried += 1
        verdict = _try(recipe, *problem)
        n_done += verdict.kind == "done"
        if not verdict.is_good:
            raise WrongError(verdict)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holds()
    except WrongError as error:
        found = error.verdict
        notes = " ".join(getattr(error, "__notes__", ()))
        return Verdict(found.kind, f"{found.told} {notes}"[:1500], found.where)
    return Verdict("done" if n_done else "refused", count=n_tried)


def _try(recipe: Recipe, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Verdict:
    if recipe["estimator"] == "PositiveUnlabeledSVC":
        y = np.where(y == 0, -1, y)
    keywords = {} if weight is None else {"sample_weight": weight}
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("error", RuntimeWarning)
            model = make_estimator(recipe["estimator"], recipe["parameters"]).fit(X, y, **keywords)
            labels = model.predict(X)
            if (
                hasattr(model, "decision_function")
                and not np.isfinite(model.decision_function(X)).all()
            ):
                return Verdict("nan", "a score is not finite")
    except Exception as error:
        return of_error(error)
    return Verdict("done" if np.isin(labels, model.classes_).all() else "label")
