"""Members from outside: any classifier of scikit-learn's interface joins the average as a family.

    p_out      probabilities of labeled rows, by fits on the other four of five folds of labels
    left_out   2 p_out - 1, on the scale of the other members

Then the classifier is fitted on all labeled rows, and scores new rows by 2 p - 1. It gets the rows
as they were given to `fit`. A classifier inside scikit-learn's `FrozenEstimator` is never fitted:
its scores of the labeled rows are honest only if it has not learned from these labels.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from semisvm.estimators.auto.members import FamilyFit, FamilyTask, from_shares, single_member
from semisvm.estimators.auto.stacking import codes_of
from semisvm.sklearn_private import safe_indexing

N_FOLDS = 5
GIVEN = "rows as given"  # the name of the view that members from outside see


@dataclass(frozen=True)
class OutsideMember:
    """A classifier, and its prior weight (`belief`): 1 for a built-in family."""

    name: str
    classifier: Any
    belief: float


def read_members(members: Any, classes: np.ndarray) -> list[OutsideMember]:
    """Check `AutoSVC.members`."""
    read: list[OutsideMember] = []
    for entry in members or ():
        parts = tuple(entry) if isinstance(entry, list | tuple) else ()
        if not (len(parts) in (2, 3) and isinstance(parts[0], str) and parts[0]):
            raise ValueError(
                "members must hold (name, classifier) or (name, classifier, weight), such as"
                f" ('boosting', HistGradientBoostingClassifier(), 1.0); got {entry!r}."
            )
        name, classifier, belief = parts if len(parts) == 3 else (*parts, 1.0)
        if not (isinstance(belief, Real) and 0 < float(belief) < np.inf):
            raise ValueError(
                f"The weight of the member {name!r} must be a positive number, got {belief!r}."
            )
        if not (hasattr(classifier, "fit") and hasattr(classifier, "predict_proba")):
            raise ValueError(
                f"The member {name!r} must have fit and predict_proba, but"
                f" {type(classifier).__name__} does not: wrap it in"
                " sklearn.calibration.CalibratedClassifierCV."
            )
        if any(other.name == name for other in read):
            raise ValueError(f"Two members are named {name!r}: each needs a name of its own.")
        if _is_frozen(classifier):
            known = getattr(classifier, "classes_", None)
            if known is None:
                raise ValueError(
                    f"The frozen member {name!r} has no classes_: fit it before it is frozen."
                )
            missing = classes[~np.isin(classes, known)].tolist()
            if missing:
                raise ValueError(f"The frozen member {name!r} does not know the classes {missing}.")
        read.append(OutsideMember(name, classifier, float(belief)))
    return read


@dataclass(frozen=True)
class OutsideFamily:
    """A fitted classifier, whose probabilities of `classes` are scores."""

    classifier: Any
    classes: np.ndarray

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return from_shares(_probabilities(self.classifier, views[GIVEN], self.classes))


def train_outside(member: OutsideMember, classes: np.ndarray, task: FamilyTask) -> FamilyFit:
    """Fit a member from outside on the labeled rows, as they were given."""
    began = time.perf_counter()
    target = task.target
    labeled = safe_indexing(task.views[GIVEN], target.position)
    y = classes[codes_of(target.Y)]
    fold = target.fold % N_FOLDS
    if _is_frozen(member.classifier):
        p_out = _probabilities(member.classifier, labeled, classes)
        family = OutsideFamily(member.classifier, classes)
    else:
        p_out = np.full((len(y), len(classes)), 1 / len(classes))
        for number in np.unique(fold):
            kept = np.flatnonzero(fold != number)
            tested = np.flatnonzero(fold == number)
            if len(np.unique(y[kept])) > 1:  # of one class nothing can be learned
                fitted = _fit(member.classifier, labeled, y, target.count, kept)
                p_out[tested] = _probabilities(fitted, safe_indexing(labeled, tested), classes)
        fitted = _fit(member.classifier, labeled, y, target.count, np.arange(len(y)))
        family = OutsideFamily(fitted, classes)
    members = single_member(from_shares(p_out), task, time.perf_counter() - began, member.belief)
    return FamilyFit(family, members, family.scores(task.views), member.belief)


def _is_frozen(classifier: Any) -> bool:
    return isinstance(classifier, FrozenEstimator)


def _fit(classifier: Any, rows: Any, y: np.ndarray, count: np.ndarray, kept: np.ndarray) -> Any:
    """A copy, fitted on some rows; weights reach classifiers whose `fit` knows them."""
    fitted = clone(classifier)
    weights = {}
    if (count != count[0]).any() and has_fit_parameter(fitted, "sample_weight"):
        weights["sample_weight"] = count[kept]
    return fitted.fit(safe_indexing(rows, kept), y[kept], **weights)


def _probabilities(classifier: Any, rows: Any, classes: np.ndarray) -> np.ndarray:
    """Probabilities in the order of our classes, (m, C); those of other classes are left out."""
    columns: Sequence[Any] = classifier.classes_.tolist()
    given = np.asarray(classifier.predict_proba(rows), dtype=np.float64)
    p = np.zeros((len(given), len(classes)))
    for number, name in enumerate(classes.tolist()):
        if name in columns:
            p[:, number] = given[:, columns.index(name)]
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=np.full_like(p, 1 / len(classes)), where=total > 0)
