"""Checks of input, shared by the functions of this package and those above it; each raises a
ValueError.

scores  (n,)  real and finite; larger means "more likely positive"
sign    (n,)  +1 or -1, the true class of each row; unlabeled rows are left out
costs         {class: cost of misclassifying it}, or a matrix (K, K): costs[y, k] is what predicting
              k costs where y is true, 0 on the diagonal; of two classes alone, a pair
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.errors import counted

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LARGEST_BETA = 1e100


def check_scores(scores: ArrayLike, name: str = "scores") -> Floats:
    """Return `scores` as a float64 vector."""
    vector = np.asarray(scores, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(
            f"{name} must be one number per row, got an array of shape {vector.shape}."
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


def check_target_rate(value: float | None, name: str) -> float | None:
    """Return a requested precision or recall: None, or a number in (0, 1]."""
    if value is None:
        return None
    if not _is_number(value) or not 0.0 < value <= 1.0:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}.")
    return float(value)


def check_confidence(confidence: float) -> float:
    """Return a confidence in the open interval (0, 1)."""
    if not _is_number(confidence) or not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
    return float(confidence)


def check_threshold(threshold: float) -> float:
    """Return a threshold: any number, infinities included, but not NaN."""
    if not _is_number(threshold) or math.isnan(threshold):
        raise ValueError(f"threshold must be a number, got {threshold!r}.")
    return float(threshold)


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


def check_max_cost(cost: float) -> float:
    """Return the highest cost per row that is good enough: not negative and finite."""
    if not _is_number(cost) or not 0 <= cost < math.inf:
        raise ValueError(f"max_cost must be a number of 0 or more, got {cost!r}.")
    return float(cost)


def check_beta(beta: float) -> float:
    """Return the weight of recall in F-beta: positive, and with a square that is finite."""
    if not _is_number(beta) or not 0 < beta <= LARGEST_BETA:
        raise ValueError(
            f"beta must be a positive number of at most {LARGEST_BETA:g}, got {beta!r}."
        )
    return float(beta)


def check_accept(accept: float | int) -> float | int:
    """Return a share of rows in (0, 1] as a float, or a number of rows, at least 1, as an int."""
    if not _is_number(accept):
        raise ValueError(
            f"accept must be a share of rows in (0, 1] or a number of rows, got {accept!r}."
        )
    is_count = isinstance(accept, (int, np.integer))
    if accept < 1 if is_count else not 0 < accept <= 1:
        raise ValueError(
            "accept must be a float in (0, 1] (a share) or an int of at least 1 (rows), got"
            f" {accept!r}."
        )
    return int(accept) if is_count else float(accept)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
