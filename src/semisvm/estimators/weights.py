"""How much each row counts: sample weights, class weights and the costs of mistakes, as one multiple of C.

`costs={class: cost of misclassifying it}` and `class_weight` both multiply C for the rows of a class; a cost is
meant as the price of an error and must be named for every class, a class weight as a correction of class sizes.
"""

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from semisvm.labels import Labels


def sample_weights(sample_weight, X) -> np.ndarray:
    """Give one weight a row, 1 where none were passed; negative, NaN and all-zero weights are refused."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def class_costs(costs: dict[Any, float] | None, class_weight, labels: Labels) -> np.ndarray:
    """What multiplies C for each class, in the order of labels.classes."""
    labeled = labels.decode(labels.codes[labels.is_labeled])
    factor = compute_class_weight(class_weight, classes=labels.classes, y=labeled)
    return factor if costs is None else factor * _checked_costs(costs, labels.classes)


def _checked_costs(costs, classes) -> np.ndarray:
    if not isinstance(costs, dict):
        raise ValueError(
            f"costs must be a dictionary {{class: cost of misclassifying it}}, got {type(costs).__name__}. "
            "This estimator can't honour a cost matrix."
        )
    names = classes.tolist()
    missing, unknown = [c for c in names if c not in costs], [c for c in costs if c not in names]
    if missing or unknown:
        raise ValueError(
            f"costs must name each class once: classes are {names}; missing {missing}, not a class {unknown}."
        )
    values = np.array([costs[c] for c in names], dtype=np.float64)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"costs must be positive and finite, got {costs}.")
    return values
