"""Out-of-fold scores -> operating points and the audit, for methods that choose no threshold of their own.

For two classes there is one operating point; for more, one a class, on a score that is above 0 exactly where the
class wins. A threshold is moved only where a precision or recall is asked for and there are two classes; elsewhere 0
is measured as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.decision import (
    SUPERVISED,
    SUPERVISED_THRESHOLD,
    WITH_UNLABELED,
    OperatingPoint,
    Target,
    choose_for,
    measure,
)
from semisvm.tables.merit import cost_matrix
from semisvm.tables.methods import Settings, margins


def target_of(settings: Settings, n_classes: int) -> Target:
    """What is asked of a threshold."""
    costs = pair_of_costs(settings.costs, n_classes)
    return Target(settings.min_precision, settings.min_recall, costs=costs)


def pair_of_costs(costs: Any, n_classes: int) -> tuple[float, float] | None:
    """(cost of a missed positive, of an accepted negative) where there are two classes."""
    if costs is None or n_classes != 2:
        return None
    matrix = cost_matrix(costs, 2)
    return float(matrix[1, 0]), float(matrix[0, 1])


def place(
    scores: np.ndarray, codes: np.ndarray, settings: Settings, n_classes: int, *, may_move: bool = True
) -> dict[int, OperatingPoint]:
    """The operating point of each class (of two: of the second), from out-of-fold scores."""
    target = target_of(settings, n_classes)
    if n_classes == 2:
        sign = np.where(codes == 1, 1, -1)
        if target.is_constrained and may_move:
            return {1: choose_for(target, scores, sign, level="cross-fitted")}
        return {1: measure(scores, sign, 0.0, target=target, level="cross-fitted")}
    per_class = margins(scores)
    return {
        code: measure(per_class[:, code], np.where(codes == code, 1, -1), 0.0, target=target, level="cross-fitted")
        for code in range(n_classes)
    }


def audit(
    supervised: np.ndarray,
    codes: np.ndarray,
    points: dict[int, OperatingPoint],
    settings: Settings,
    n_classes: int,
    *,
    uses_unlabeled: bool = True,
) -> dict[int, dict[str, OperatingPoint]]:
    """What the labels alone give, what the threshold adds where one is set, and what the unlabeled rows add."""
    target = target_of(settings, n_classes)
    is_set = target.is_constrained and n_classes == 2
    per_class = margins(supervised)
    steps: dict[int, dict[str, OperatingPoint]] = {}
    for column, (code, point) in enumerate(points.items()):
        sign = np.where(codes == code, 1, -1)
        scores = per_class[:, column]
        steps[code] = {SUPERVISED: measure(scores, sign, 0.0, target=target, level="cross-fitted")}
        if is_set:
            steps[code][SUPERVISED_THRESHOLD] = choose_for(target, scores, sign, level="cross-fitted")
        if uses_unlabeled:
            steps[code][WITH_UNLABELED] = point
    return steps


def decide(scores: np.ndarray, points: dict[int, OperatingPoint]) -> np.ndarray:
    """The code of each row: with two classes by the threshold, with more the largest score."""
    if scores.ndim == 1:
        return (scores > points[1].threshold).astype(np.intp)
    return scores.argmax(axis=1)
