"""Scores and true signs of one class, out of a fitted estimator.

    scores     (n,)  of labeled rows, on the scale on which `threshold` cuts
    sign       (n,)  +1 on rows of the class, -1 on other labeled rows
    unlabeled  (m,)  scores of the rows without a label, none where X was not given

Without X and y these are what the estimator itself chose its operating point on (`calibration_scores_`); with them, the
decision function on those rows, where 0 is the threshold in use. The estimator may be the last step of a Pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import OperatingPoint
from semisvm.labels import encode


@dataclass(frozen=True, eq=False)
class Scored:
    """See above; `point` is the operating point where the scores are those it was chosen on."""

    scores: NDArray[np.float64]
    sign: NDArray[Any]
    unlabeled: NDArray[np.float64]
    threshold: float
    point: OperatingPoint | None
    name: str


def last_step(estimator: Any) -> Any:
    """The estimator itself, or the last step of a pipeline."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def score_rows(estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None) -> Scored:
    """Return the scores of one class: of the rows of X, or of those the operating point was chosen on."""
    check_is_fitted(estimator)
    if (X is None) != (y is None):
        raise ValueError("X and y go together: pass both, or neither to see what the estimator was calibrated on.")
    final = last_step(estimator)
    index = _class_index(final, positive)
    name = f"{type(final).__name__}, {final.classes_[index]}"
    return _calibration(final, index, name) if X is None else _on_rows(estimator, final, X, y, index, name)


def _class_index(final: Any, positive: Any) -> int:
    classes = list(final.classes_)
    if positive is None:
        if len(classes) == 2:
            return 1
        raise ValueError(f"positive must name one of the {len(classes)} classes, for example {classes[0]!r}.")
    if positive not in classes:
        raise ValueError(f"positive={positive!r} is no class of this estimator; its classes are {classes}.")
    return classes.index(positive)


def _calibration(final: Any, index: int, name: str) -> Scored:
    if not hasattr(final, "calibration_scores_"):
        raise ValueError(
            f"{type(final).__name__} keeps no calibration scores: pass X and y of labeled rows it was not trained on."
        )
    parts = (final.calibration_scores_, final.calibration_sign_, final.operating_point_)
    if isinstance(final.operating_point_, dict):
        parts = tuple(part[final.classes_[index]] for part in parts)
    elif index == 0:
        raise ValueError(f"the operating point is that of {final.classes_[1]!r}: pass X and y to see the other class.")
    scores, sign, point = parts
    none = np.empty(0)
    return Scored(np.asarray(scores, dtype=np.float64), np.asarray(sign), none, point.threshold, point, name)


def _on_rows(estimator: Any, final: Any, X: Any, y: Any, index: int, name: str) -> Scored:
    values = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if values.ndim == 2:
        values = values[:, index]
    elif index == 0:
        values = -values
    labels = encode(y, unlabeled=getattr(final, "unlabeled", -1), n_rows=len(values))
    known = labels.is_labeled
    is_positive = np.asarray(labels.decode(labels.codes[known])) == final.classes_[index]
    return Scored(values[known], np.where(is_positive, 1, -1), values[~known], 0.0, None, name)
