"""Scores of a fitted classifier, one column per class."""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.evidence.answers import plain_label
from semisvm.evidence.order import Floats


def class_scores(model: Any, X: Any) -> tuple[Floats, np.ndarray]:
    """Return scores of shape (n_rows, n_classes), and the classes; probabilities if there are."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            scores = np.asarray(getattr(model, name)(X), dtype=np.float64)
            break
    else:
        raise TypeError(
            f"{type(model).__name__} has neither predict_proba nor decision_function, so its rows"
            " have no scores. Pass scores to Campaign, or use a classifier that has one of them."
        )
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    return scores, np.asarray(model.classes_)


def scores_for_class(scores: Floats, classes: list[Any], pos_label: Any) -> tuple[Floats, Any]:
    """Return the score of each row for the positive class, and that class."""
    label = plain_label(pos_label)
    if label is None:
        if len(classes) != 2:
            raise ValueError(f"Say which class is positive: pos_label, one of {classes}.")
        label = classes[1]
    if label not in classes:
        raise ValueError(f"pos_label: {label!r} is not a class; there are {classes}.")
    place = classes.index(label)
    if len(classes) == 2 or (scores.min() >= 0 and scores.max() <= 1):
        return scores[:, place], label
    return scores[:, place] - np.delete(scores, place, axis=1).max(axis=1), label
