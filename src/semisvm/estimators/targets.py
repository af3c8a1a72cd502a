"""Common parts of estimators with a target: targets, the plan of a fit, thresholds and their
checks.

    min_precision, min_recall   a number for all classes, or {class: number} for some of them
    target                      the target of one class against the rest (`decision.Target`)
    plan                        which rows serve which purpose (`Plan`)
    threshold_                  one per binary problem: one class against the rest; with two classes
                                the second, positive class against the first

With two classes the targets are those of the positive class. For a class without a target, the
threshold has the best F1. Labels for the certificate are drawn so that they are independent of the
labels that train, as the proof of the certificate requires (`draw_certificate_rows`). Two halves
with equal numbers of positives are not independent.

Figures that are measured on labels hold for new rows if the labels are a random sample of all rows.
`begin_check` and `check_labels` test that; where the labels fail, no certificate is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from semisvm.decision import OperatingPoint, Target
from semisvm.decision.operating_point import scores_beyond
from semisvm.errors import FairSampleWarning
from semisvm.estimators.binary import combine
from semisvm.estimators.equal_rows import is_first_copy
from semisvm.estimators.progress import warn_caller
from semisvm.labels import UNLABELED_CODE, Labels
from semisvm.matrices import stored_numbers
from semisvm.model_selection import FairSampleCheck
from semisvm.model_selection.fair_sample import (
    FAIR_LEVEL,
    N_PERMUTATIONS,
    judge_sample,
    kernel_test,
)
from semisvm.sklearn_private import Interval

CONFIDENCE_CONSTRAINT: list[Any] = [Interval(Real, 0, 1, closed="neither"), None]
TARGET_CONSTRAINTS: dict[str, Any] = {
    "min_precision": [Interval(Real, 0, 1, closed="right"), dict, None],
    "min_recall": [Interval(Real, 0, 1, closed="right"), dict, None],
    "confidence": CONFIDENCE_CONSTRAINT,
}
# Labels of each class, without those of the certificate: one is used for training while the other
# is scored.
FEWEST_LABELS = 2
REFUSED_CERTIFICATE = "No certificate is given, and the labels held out for it are not used."
SAY_SO = (
    "To say which labels are a random sample, pass a mask as `random_sample` to fit: other labels"
    " are then used for training only. The mask is not checked."
)


# ---- the plan of a fit ----


@dataclass(frozen=True)
class Plan:
    """The purpose of each row in a fit, and the target of each binary problem.

    targets     one per binary problem
    certifies   (n,) mask: labeled rows that are kept for the certificate and used for nothing else;
                of the copies of a row, one
    measures    (n,) mask: labeled rows that may set thresholds and enter intervals: those that are
                a random sample
    learns      (n,) mask: the rows that train and calibrate; no copies of those that certify
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

    def measured(self, labels: Labels) -> Labels:
        """The labels that measure, other rows being unlabeled."""
        return Labels(labels.classes, np.where(self.measures, labels.codes, UNLABELED_CODE))


def read_targets(classes: np.ndarray, min_precision: Any, min_recall: Any) -> list[Target]:
    """One target per class; with two classes only that of the second one counts."""
    least_precision = _list_by_class("min_precision", min_precision, classes.tolist())
    least_recall = _list_by_class("min_recall", min_recall, classes.tolist())
    return [Target(p, r) for p, r in zip(least_precision, least_recall, strict=True)]


def _list_by_class(name: str, value: Any, classes: list) -> list[Any]:
    if not isinstance(value, Mapping):
        return [value] * len(classes)
    for label in value:
        if label not in classes:
            raise ValueError(f"{name} names the class {label!r}, but the classes are {classes}.")
    if len(classes) == 2 and classes[0] in value:
        raise ValueError(
            f"{name} names {classes[0]!r}, but with two classes the targets are those of the second"
            f" one, {classes[1]!r}: name that one, or recode y so that {classes[0]!r} comes second."
        )
    return [value.get(label) for label in classes]


def draw_certificate_rows(
    labels: Labels, share: float, random: np.random.RandomState
) -> np.ndarray:
    """Draw the labeled rows that are kept for the certificate: a mask, (n,).

    Rows in a random order, from the last one back, are left to train until they are enough, and
    enough of each class. So those before them are draws from the same source, whatever was left. A
    class that is missing among them gets its first row: one more error, for all other classes.
    """
    rows = np.flatnonzero(labels.is_labeled)
    refuse_rare(
        labels,
        "A certificate needs labels held out from training, so each class needs at least two, and"
        " class {name} has {number}: label more rows of it, or leave confidence at None.",
    )
    order = random.permutation(len(rows))
    codes = labels.codes[rows[order]]
    places = [np.flatnonzero(codes == code) for code in range(labels.n_classes)]
    n_drawn = min(round(share * len(rows)), *(of_class[-FEWEST_LABELS] for of_class in places))
    is_drawn = np.arange(len(rows)) < n_drawn
    is_drawn[[of_class[0] for of_class in places]] = True
    mask = np.zeros(len(labels.codes), dtype=bool)
    mask[rows[order[is_drawn]]] = True
    return mask


def first_of_each(codes: np.ndarray, wanted: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The first wanted[code] rows of each class, in the given order of rows, as a mask."""
    chosen = np.zeros(len(codes), dtype=bool)
    for code, number in enumerate(wanted):
        chosen[order[codes[order] == code][:number]] = True
    return chosen


def refuse_rare(labels: Labels, message: str) -> None:
    """Raise ValueError, a message with {name} and {number}, where a class has too few labels."""
    name, number = labels.rarest
    if number < FEWEST_LABELS:
        raise ValueError(message.format(name=repr(name), number=number))


# ---- are the labels a random sample? ----


def begin_check(X: Any, labels: Labels) -> Future[float | None] | None:
    """Begin the part of `check_labels` that needs no scores; None where there is nothing to test.

    Rows that are not plain numbers are not compared by a kernel.
    """
    values = stored_numbers(X)
    # Where a cell is empty there is no test.
    is_plain = isinstance(values, np.ndarray) and values.dtype.kind in "fiub"
    if not is_plain or labels.is_labeled.all():
        return None
    # Goes on while the models are trained: on a GPU that takes 0.2 s, and this 0.03 s.
    testing = ThreadPoolExecutor(1)
    begun = testing.submit(
        kernel_test, X, labels.is_labeled, N_PERMUTATIONS, np.random.RandomState(0)
    )
    testing.shutdown(wait=False)
    return begun


def check_labels(
    begun: Future[float | None] | None,
    labels: Labels,
    scores: np.ndarray | None,
    *,
    certifies: bool,
) -> FairSampleCheck | None:
    """Check whether the labels look like a random sample of all rows, and warn where they do not.

    begun       from `begin_check`
    scores      (n, n_problems) by models that have not seen the labels of their rows; NaN where
                there are none
    certifies   whether there is to be a certificate, which is then not given

    None where there are no other rows to compare with.
    """
    if labels.is_labeled.all():
        return None
    p_value = None if begun is None else begun.result()
    check = judge_sample(p_value, scores, labels.is_labeled, FAIR_LEVEL)
    if not check.is_fair:
        refused = [REFUSED_CERTIFICATE] if certifies else []
        warn_caller(FairSampleWarning(" ".join([check.sentence, *refused, SAY_SO])))
    return check


# ---- thresholds and what they give ----


class OperatingPointsMixin:
    """Targets of one class against the rest, thresholds on its scores, and what they give."""

    min_precision: Any
    min_recall: Any
    confidence: float | None
    random_state: Any
    classes_: np.ndarray
    threshold_: np.ndarray
    operating_points_: dict[Any, OperatingPoint | None]
    fair_sample_: FairSampleCheck | None

    def _make_plan(
        self,
        labels: Labels,
        random_sample: np.ndarray | None,
        certificate_share: float,
        row_numbers: np.ndarray | None = None,
    ) -> Plan:
        """Check the targets against the labels, and draw the rows that are held out.

        `row_numbers`, (n,), are equal for the copies of a row of weight 2. Copies are no evidence
        of their own: one of them certifies, and then none of them trains.
        """
        random = check_random_state(self.random_state)
        targets = read_targets(labels.classes, self.min_precision, self.min_recall)
        targets = targets[1:] if labels.n_classes == 2 else targets
        certifies = np.zeros(len(labels.codes), dtype=bool)
        learns = ~certifies
        is_fair = labels.is_labeled if random_sample is None else labels.is_labeled & random_sample
        if self.confidence is not None:
            if not any(target.is_constrained for target in targets):
                raise ValueError(
                    f"confidence={self.confidence} needs a minimum to certify: pass min_precision,"
                    " min_recall or both, or leave confidence at None."
                )
            if row_numbers is None:
                row_numbers = np.arange(len(labels.codes))
            may_certify = is_fair & is_first_copy(row_numbers)
            fair = Labels(labels.classes, np.where(may_certify, labels.codes, UNLABELED_CODE))
            certifies = draw_certificate_rows(fair, certificate_share, random)
            learns = ~np.isin(row_numbers, row_numbers[certifies])
        is_vouched_for = random_sample is not None
        plan = Plan(targets, certifies, is_fair & learns, learns, random, is_vouched_for)
        if (labels.is_labeled & ~is_fair).any():
            refuse_rare(
                plan.measured(labels),
                "Thresholds are set on labels that are a random sample, and random_sample leaves"
                f" {{number}} of class {{name}} for that, where at least {FEWEST_LABELS} are"
                " needed: label more rows drawn at random.",
            )
        return plan

    def _may_certify(self, plan: Plan) -> bool:
        """Whether there are labels for a certificate, and nothing speaks against them."""
        return bool(plan.certifies.any()) and (
            self.fair_sample_ is None or self.fair_sample_.is_fair
        )

    @property
    def operating_point_(self) -> OperatingPoint | None:
        """The operating point of the positive class; only with two classes."""
        return self._of_positive_class("operating_point_", "operating_points_")

    def _of_positive_class(self, name: str, by_class: str) -> Any:
        values = getattr(self, by_class)
        if len(values) > 1:
            raise AttributeError(
                f"{name} is only available with two classes; with more, {by_class} has one per"
                " class."
            )
        return next(iter(values.values()), None)

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """Scores of the binary problems to decision values: above 0 is accepted."""
        columns = [
            scores_beyond(of_class, threshold)
            for of_class, threshold in zip(scores.T, self.threshold_, strict=True)
        ]
        return combine(np.stack(columns, axis=1), len(self.classes_), "ovr")


def warn_unless_reached(points: dict[Any, OperatingPoint | None]) -> None:
    """Warn about every target that was not reached."""
    for name, point in points.items():
        if point is not None and not point.reached:
            warn_caller(UserWarning(f"Class {name!r}: {point.reason}"))
