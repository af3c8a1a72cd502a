"""What is asked of each class, which rows serve which purpose, and what comes of it: the two ends of a fit.

    min_precision, min_recall   a number for all classes, or {class: number} for some of them
    target                      what is asked of one class against the rest (`decision.Target`)

With two classes the targets are those of the second one, the positive class. A class without a target is asked for its
best F1. Labels are kept apart at random, and at least one label of each class stays on either side. Labels that
calibrate are drawn class by class. Labels for the certificate are drawn without looking at the classes, as long as
that leaves enough of each: they are then independent of the labels that train, as the proof of the certificate
requires. Two halves with equal numbers of positives are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from semisvm.decision import Counts, OperatingPoint, Target, f_score, precision, recall
from semisvm.decision.audit import Audit
from semisvm.labels import UNLABELED_CODE, Labels
from semisvm.model_selection import assign_folds

FEWEST_LABELS = 2  # of each class, without those of the certificate: one trains while the other is scored
N_CALIBRATION_FOLDS = 5
N_DRAWS = 3  # with few labels much of the noise comes from the draw of the folds
ENOUGH_LABELS = 300  # from here on there is one draw of folds: three take three times as long
POOL_SIZE = 10_000  # most unlabeled rows that are considered for training: a bound on the time


@dataclass(frozen=True)
class Plan:
    """Which rows of a fit serve which purpose, and what is asked of each binary problem.

    targets     one per binary problem
    certifies   (n,) mask: labeled rows that are kept for the certificate and used for nothing else
    measures    (n,) mask: labeled rows that may set thresholds and enter intervals: those that are a random sample
    learns      (n,) mask: the rows that train and calibrate, without the unlabeled rows beyond the pool
    random      draws the seeds of the binary problems, one after the other
    is_vouched_for   whether the user says which labels are a random sample
    """

    targets: list[Target]
    certifies: np.ndarray
    measures: np.ndarray
    learns: np.ndarray
    random: np.random.RandomState
    is_vouched_for: bool

    def draw_seed(self) -> int:
        """The seed of the next binary problem."""
        return int(self.random.randint(2**31))


def make_plan(
    labels: Labels,
    *,
    min_precision: Any,
    min_recall: Any,
    confidence: float | None,
    calibration: str,
    calibration_size: float,
    random_state: Any,
    random_sample: np.ndarray | None = None,
) -> Plan:
    """Check what is asked against the labels, and draw the rows that are kept apart."""
    unlabeled = np.flatnonzero(~labels.is_labeled)
    pool = draw_pool(len(unlabeled), random_state) if calibration == "cross" else None
    random = check_random_state(random_state)
    targets = read_targets(labels.classes, min_precision, min_recall)
    targets = targets[1:] if labels.n_classes == 2 else targets
    certifies = np.zeros(len(labels.codes), dtype=bool)
    measures = labels.is_labeled if random_sample is None else labels.is_labeled & random_sample
    fair = Labels(labels.classes, np.where(measures, labels.codes, UNLABELED_CODE))
    if confidence is not None:
        if not any(target.is_constrained for target in targets):
            raise ValueError(
                f"confidence={confidence} is for a minimum precision or recall, and none is asked for: pass "
                "min_precision, min_recall or both, or leave confidence at None."
            )
        certifies = draw_certificate_rows(fair, calibration_size, random)
    rest = Labels(labels.classes, np.where(certifies, UNLABELED_CODE, fair.codes))
    if random_sample is not None and (labels.is_labeled & ~random_sample).any():
        refuse_rare(
            rest,
            "Thresholds are set on labels that are a random sample, and random_sample leaves {number} of class {name} "
            f"for that, where at least {FEWEST_LABELS} are needed: label more rows drawn at random.",
        )
    if calibration != "full":
        left = "" if confidence is None else " without those of the certificate"
        refuse_rare(
            rest,
            f"calibration={calibration!r} needs at least {FEWEST_LABELS} labeled rows of each class, and class "
            f"{{name}} has {{number}}{left}: label more rows of it, or use calibration='full'.",
        )
    learns = ~certifies
    if pool is not None:
        learns[np.delete(unlabeled, pool)] = False
    return Plan(targets, certifies, measures & ~certifies, learns, random, random_sample is not None)


def draw_pool(n_unlabeled: int, random_state: Any) -> np.ndarray | None:
    """Which of so many unlabeled rows are considered for training, ascending; None: all of them.

    The draw depends on their number alone, so that it is the same where the rows are not in memory.
    """
    if n_unlabeled <= POOL_SIZE:
        return None
    own = np.random.default_rng(check_random_state(random_state).randint(2**31))
    return np.sort(own.choice(n_unlabeled, POOL_SIZE, replace=False))


def read_targets(classes: np.ndarray, min_precision: Any, min_recall: Any) -> list[Target]:
    """One target per class, in the order of `classes`; with two classes only that of the second one counts."""
    least_precision = _list_by_class("min_precision", min_precision, classes.tolist())
    least_recall = _list_by_class("min_recall", min_recall, classes.tolist())
    return [Target(p, r) for p, r in zip(least_precision, least_recall, strict=True)]


def split_labels(
    sign: np.ndarray, share: float, seed: int, measures: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split the labeled rows of a binary problem into those that train and a share that calibrates: two masks, (n,).

    Only rows in the mask `measures` calibrate; None: all labeled rows may.
    """
    rows = np.flatnonzero(sign if measures is None else np.where(measures, sign, 0))
    codes, random = (sign[rows] > 0).astype(int), check_random_state(seed)
    counts = np.bincount(codes)
    wanted = np.clip(np.round(share * counts).astype(int), 1, counts - 1)
    calibrates = np.zeros(len(sign), dtype=bool)
    calibrates[rows[_first_of_each(codes, wanted, random.permutation(len(codes)))]] = True
    return (sign != 0) & ~calibrates, calibrates


def draw_folds(sign: np.ndarray, *, n_draws: int | None = None, seed: int = 0) -> np.ndarray:
    """Deal the labeled rows out to folds several times: (draws, n), -1 for unlabeled rows.

    n_draws None: three draws with fewer than ENOUGH_LABELS labels, else one. A class with fewer rows than folds makes
    the folds fewer.
    """
    sign = np.asarray(sign)
    codes = np.where(sign > 0, 0, np.where(sign < 0, 1, -1))
    if n_draws is None:
        n_draws = N_DRAWS if np.count_nonzero(sign) < ENOUGH_LABELS else 1
    rng = np.random.default_rng(seed)
    return assign_folds(codes, N_CALIBRATION_FOLDS, rng=rng, n_draws=n_draws, every_class_in_every_fold=True)


def draw_certificate_rows(labels: Labels, share: float, random: np.random.RandomState) -> np.ndarray:
    """Draw the labeled rows that are kept for the certificate: a mask, (n,)."""
    rows = np.flatnonzero(labels.is_labeled)
    refuse_rare(
        labels,
        "A certificate takes labels that do not train, so each class needs at least two, and class {name} has "
        "{number}: label more rows of it, or leave confidence at None.",
    )
    order = random.permutation(len(rows))
    drawn = np.bincount(labels.codes[rows[order[: round(share * len(rows))]]], minlength=labels.n_classes)
    wanted = np.clip(drawn, 1, np.maximum(1, labels.n_of_class - FEWEST_LABELS))
    mask = np.zeros(len(labels.codes), dtype=bool)
    mask[rows[_first_of_each(labels.codes[rows], wanted, order)]] = True
    return mask


def _first_of_each(codes: np.ndarray, wanted: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The first wanted[code] rows of each class, in the given order of rows, as a mask."""
    chosen = np.zeros(len(codes), dtype=bool)
    for code, number in enumerate(wanted):
        chosen[order[codes[order] == code][:number]] = True
    return chosen


def refuse_rare(labels: Labels, message: str) -> None:
    """Refuse labels of which a class has fewer than two; `message` has places for its {name} and their {number}."""
    name, number = labels.rarest
    if number < FEWEST_LABELS:
        raise ValueError(message.format(name=repr(name), number=number))


def _list_by_class(name: str, value: Any, classes: list) -> list[Any]:
    if not isinstance(value, Mapping):
        return [value] * len(classes)
    for label in value:
        if label not in classes:
            raise ValueError(f"{name} names the class {label!r}, but the classes are {classes}.")
    if len(classes) == 2 and classes[0] in value:
        raise ValueError(
            f"{name} names {classes[0]!r}, but with two classes the targets are those of the second one, "
            f"{classes[1]!r}: name that one, or recode y so that {classes[0]!r} comes second."
        )
    return [value.get(label) for label in classes]


# ---- what came of one binary problem ----


@dataclass(frozen=True)
class Outcome:
    """What a method learned about one class against the rest.

    model                the trained classifier, as its learner keeps it
    values               (n,) its decision values of all rows, without the threshold
    point                the operating point, with the threshold
    audit                the steps that led to it (`semisvm.decision.audit`)
    calibration_scores   (m,) the scores that the threshold was chosen on
    calibration_sign     (m,) the true signs of these rows
    is_held_out          whether those scores come from machines that were not trained on these rows
    labeled_in           (n,) the round that gave each row its last soft label; 0 for the user's labels, -1 for none
    fair_scores          (n,) scores for the fair-sample check, of labeled and unlabeled rows by machines that were not
                         trained on them; NaN for other rows. None where there are none
    ended                "cycle" or "max_rounds"; None where the method converged
    """

    model: Any
    values: np.ndarray
    point: OperatingPoint
    audit: Audit
    calibration_scores: np.ndarray
    calibration_sign: np.ndarray
    is_held_out: bool
    labeled_in: np.ndarray
    fair_scores: np.ndarray | None = None
    ended: str | None = None


def measures_at(counts: Counts, prefix: str = "") -> dict[str, float]:
    """Precision, recall and F1, for the record of a round."""
    found = {"precision": precision(counts), "recall": recall(counts), "f_score": f_score(counts)}
    return {prefix + name: float(value) for name, value in found.items()}
