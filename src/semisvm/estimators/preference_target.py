"""What the user asks of each class, and which labels are set aside to see whether it is kept.

    min_precision, min_recall   a number for all classes, or {class: number} for some of them
    target                      what is asked of one class against the rest (`decision.Target`)

With two classes the targets are of the second one, the positive class. A class without a target is asked for its
best F1. Labels are set aside at random, and at least one of each class stays on either side: to calibrate, class by
class; for the certificate, without a look at the classes where that leaves enough of each. Its rows are then
independent of those that train, as its proof asks; two halves with equal numbers of positives are not.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from semisvm.decision import Target
from semisvm.labels import Labels

FEWEST_LABELS = 2  # of a class, the certificate's not counted: one trains while the other is scored


def targets_of(classes: np.ndarray, min_precision: Any, min_recall: Any) -> list[Target]:
    """One target a class, in the order of `classes`; for two classes only the second one's matters."""
    least_precision = _by_class("min_precision", min_precision, classes.tolist())
    least_recall = _by_class("min_recall", min_recall, classes.tolist())
    return [Target(p, r) for p, r in zip(least_precision, least_recall, strict=True)]


def check_certificate(certify: float | None, targets: list[Target]) -> None:
    """Refuse a certificate of nothing: each class that is asked for no precision or recall goes without one."""
    if certify is not None and not any(target.is_constrained for target in targets):
        raise ValueError(
            f"certify={certify} promises a precision or recall, and none is asked for: pass min_precision, "
            "min_recall or both, or leave certify at None."
        )


def split_labels(sign: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Deal the labeled rows of a binary problem into those that train and a share that calibrates: two masks, (n,)."""
    rows = np.flatnonzero(sign)
    calibrates = np.zeros(len(sign), dtype=bool)
    calibrates[rows[set_aside((sign[rows] > 0).astype(int), share, check_random_state(seed))]] = True
    return (sign != 0) & ~calibrates, calibrates


def certificate_rows(labels: Labels, share: float, random_state) -> np.ndarray:
    """Draw the labeled rows that are kept for the certificate, as a mask over all rows."""
    rows = np.flatnonzero(labels.is_labeled)
    counts = np.bincount(labels.codes[rows], minlength=labels.n_classes)
    if counts.min() < 2:
        rare = int(np.argmin(counts))
        raise ValueError(
            f"A certificate takes labels that train nothing, so each class needs at least two, and class "
            f"{labels.classes.tolist()[rare]!r} has {counts[rare]}: label more rows of it, or leave certify at None."
        )
    order = random_state.permutation(len(rows))
    drawn = np.bincount(labels.codes[rows[order[: round(share * len(rows))]]], minlength=labels.n_classes)
    wanted = np.clip(drawn, 1, np.maximum(1, counts - FEWEST_LABELS))
    mask = np.zeros(len(labels.codes), dtype=bool)
    mask[rows[_first_of_each(labels.codes[rows], wanted, order)]] = True
    return mask


def set_aside(codes: np.ndarray, share: float, random_state) -> np.ndarray:
    """Draw a share of the rows of each class, at least one and not all of them; true where a row is set aside."""
    counts = np.bincount(codes)
    wanted = np.clip(np.round(share * counts).astype(int), 1, counts - 1)
    return _first_of_each(codes, wanted, random_state.permutation(len(codes)))


def _first_of_each(codes: np.ndarray, wanted: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The first wanted[code] rows of each class, in the given order of rows, as a mask."""
    chosen = np.zeros(len(codes), dtype=bool)
    for code, number in enumerate(wanted):
        chosen[order[codes[order] == code][:number]] = True
    return chosen


def _by_class(name: str, value: Any, classes: list) -> list[Any]:
    if not isinstance(value, Mapping):
        return [value] * len(classes)
    for label in value:
        if label not in classes:
            raise ValueError(f"{name} names the class {label!r}, but the classes are {classes}.")
    if len(classes) == 2 and classes[0] in value:
        raise ValueError(
            f"{name} names {classes[0]!r}, but with two classes targets are of the second one, {classes[1]!r}: "
            f"name that one, or recode y so that {classes[0]!r} comes second."
        )
    return [value.get(label) for label in classes]
