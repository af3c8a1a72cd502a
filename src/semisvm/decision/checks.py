"""Checks of input, shared by the functions of this package and those above it; each raises a
ValueError.

scores  (n,)  real and finite; larger means "more likely positive"
sign    (n,)  +1 or -1, the true class of each row; unlabeled rows are left out
costs         {class: cost of misclassifying it}, or a matrix (K, K): costs[y, k] is what predicting
              k costs where y is true, 0 on the diagonal; of two classes alone, a pair
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.errors import counted

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def check_scores(scores: ArrayLike, name: str = "scores") -> Floats:
    """Return `scores` as a float64 vector."""
    vector = np.asarray(scores, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(
            f"{name} must have one number per row, got an array of shape {vector.shape}."
        )
    if vector.size == 0:
        raise ValueError(f"{name} is empty: at least one row is needed.")
    bad = int(np.count_nonzero(~np.isfinite(vector)))
    if bad:
        raise ValueError(f"{name} must be finite: {bad} of {vector.size} are NaN or infinite.")
    return vector


def check_scores_and_sign(scores: ArrayLike, sign: ArrayLike) -> tuple[Floats, Bools]:
    """Return the scores as float64 and "is this row positive", both of shape (n,)."""
    vector = check_scores(scores)
    labels = np.asarray(sign)
    if labels.shape != vector.shape:
        raise ValueError(
            f"scores and sign differ in length: {vector.shape} against {labels.shape}."
        )
    positive = labels == 1
    strange = ~(positive | (labels == -1))
    if strange.any():
        found = labels[strange][0]
        raise ValueError(
            f"sign must be +1 or -1 on every row, found {found}; leave unlabeled rows out."
        )
    if not positive.any():
        raise ValueError(
            f"no positive among the {counted(vector.size, 'row')}: recall and F are undefined"
            " without one."
        )
    if positive.all():
        raise ValueError(
            f"no negative among the {counted(vector.size, 'row')}: no threshold can be judged"
            " without one."
        )
    return vector, positive


def check_number(value: Any, name: str, must: str, is_valid: Callable[[float], bool]) -> float:
    """Return a number for which `is_valid` holds; `must` says that in words."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or isinstance(value, bool) or not is_valid(value):
        raise ValueError(f"{name} must {must}, got {value!r}.")
    return float(value)


def check_target_rate(value: float | None, name: str) -> float | None:
    """Return a requested precision or recall: None, or a number in (0, 1]."""
    return None if value is None else check_number(value, name, "lie in (0, 1]", is_rate)


def is_rate(value: float) -> bool:
    """Whether a number is in (0, 1]."""
    return 0 < value <= 1


def check_confidence(confidence: float) -> float:
    """Return a confidence in the open interval (0, 1)."""
    must = "lie strictly between 0 and 1"
    return check_number(confidence, "confidence", must, lambda value: 0 < value < 1)


def check_costs(costs: Any) -> tuple[float, float]:
    """Return (cost of a missed positive, cost of an accepted negative): finite, not negative,
    not both 0.
    """
    try:
        missed_positive, accepted_negative = (float(cost) for cost in costs)
    except (TypeError, ValueError):
        raise ValueError(
            f"costs must be a pair (missed positive, accepted negative), got {costs!r}."
        ) from None
    pair = (missed_positive, accepted_negative)
    if not all(math.isfinite(cost) and cost >= 0 for cost in pair) or max(pair) == 0:
        raise ValueError(f"costs must be finite, not negative and not both 0, got {pair}.")
    return pair


def cost_matrix(costs: Any, classes: np.ndarray) -> np.ndarray:
    """A dictionary or a matrix, checked, as a matrix (K, K): for those who weigh probabilities
    by it.
    """
    if isinstance(costs, dict):
        return check_class_costs(costs, classes)[:, None] * (1 - np.eye(len(classes)))
    return check_cost_matrix(costs, "costs", (len(classes),) * 2, classes)


def check_class_costs(costs: dict[Any, float], classes: np.ndarray) -> np.ndarray:
    """Return the cost of misclassifying each class, (K,): every class is named, costs are
    positive and finite.
    """
    names = classes.tolist()
    missing = [c for c in names if c not in costs]
    unknown = [c for c in costs if c not in names]
    if missing or unknown:
        raise ValueError(
            f"costs must name each class once: classes are {names}; missing {missing}, not a class"
            f" {unknown}."
        )
    try:
        values = np.array([costs[c] for c in names], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be a number for each class, got {costs}.") from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"costs must be positive and finite, got {costs}: leave out the rows of a class that is"
            " free."
        )
    return values


def check_cost_matrix(
    matrix: Any, name: str, shape: tuple[int, ...], classes: np.ndarray
) -> np.ndarray:
    """Return a cost matrix, or one per row: finite, not negative, 0 on the diagonal, and no
    class is free.
    """
    values = check_numbers(matrix, name)
    if values.shape != shape:
        raise ValueError(
            f"{name} has shape {values.shape} where {shape} is needed: a line for each true class"
            f" and a column for each predicted class, in the order {classes.tolist()}."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        at = tuple(np.argwhere(~(values >= 0) | np.isinf(values))[0].tolist())
        raise ValueError(
            f"{name} must be finite and not negative, and {name}{list(at)} is {values[at]}."
        )
    diagonal = np.diagonal(values, axis1=-2, axis2=-1)
    if diagonal.any():
        at = tuple(np.argwhere(diagonal)[0].tolist())
        raise ValueError(
            f"{name} must be 0 on the diagonal, where the prediction is right, and is"
            f" {diagonal[at]} for class {classes.tolist()[at[-1]]!r}: subtract that from its line."
        )
    free = ~values.any(axis=-1)
    if free.any():
        at = np.argwhere(free)[0].tolist()
        remedy = "leave its rows out" if values.ndim == 2 else "give the row sample_weight 0"
        raise ValueError(
            f"{name} says that mistaking class {classes.tolist()[at[-1]]!r} costs nothing, since"
            f" the line {name}{at} is all 0: give it a cost, or {remedy}."
        )
    return values


def check_numbers(values: Any, name: str) -> np.ndarray:
    """Return an array of numbers, copied, as float64."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array of numbers, got {type(values).__name__}."
        ) from None


def check_accept(accept: float | int) -> float | int:
    """Return a share of rows in (0, 1] as a float, or a number of rows, at least 1, as an int."""
    is_count = isinstance(accept, int | np.integer)
    must = "be a share of rows, a float in (0, 1], or a number of rows, an int of at least 1"
    check_number(accept, "accept", must, lambda value: value >= 1 if is_count else is_rate(value))
    return int(accept) if is_count else float(accept)
