"""What `PreferenceSVC` and `PreferenceClassifier` have in common: the parameters, and what is learned of a threshold.

A binary problem is one class against the rest (with two classes: the second against the first). For each there is a
target, a run (`PaperRounds` or `CrossFitted`) and its `Outcome`; `threshold_` has an entry a problem.
"""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from semisvm.decision import Target, certify
from semisvm.estimators.preference_cross import CrossFitted
from semisvm.estimators.preference_learner import Learner
from semisvm.estimators.preference_loop import PaperRounds
from semisvm.estimators.preference_outcome import Outcome, beyond
from semisvm.estimators.preference_target import (
    FEWEST_LABELS,
    certificate_rows,
    check_certificate,
    split_labels,
    targets_of,
)
from semisvm.estimators.soft_labels import POOL_SIZE
from semisvm.labels import UNLABELED_CODE, Labels
from semisvm.sklearn_private import Interval, StrOptions


class PreferenceMixin:
    """Parameters, checks and learned attributes; `_decide` turns scores into what decision_function returns."""

    min_precision: Any
    min_recall: Any
    calibration: str
    calibration_size: float
    pool: str
    adjust: str | None
    certify: float | None
    max_rounds: int
    random_state: Any
    classes_: np.ndarray

    _n_draws: ClassVar[int | None] = None  # draws of folds; None lets the number of labels decide

    _preference_constraints: ClassVar[dict[str, Any]] = {
        "min_precision": [Interval(Real, 0, 1, closed="right"), dict, None],
        "min_recall": [Interval(Real, 0, 1, closed="right"), dict, None],
        "calibration": [StrOptions({"cross", "part", "full"})],
        "calibration_size": [Interval(Real, 0, 1, closed="neither")],
        "pool": [StrOptions({"grow", "rebuild"})],
        "adjust": [StrOptions({"best", "paper"}), None],
        "certify": [Interval(Real, 0, 1, closed="neither"), None],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _ask(self, labels: Labels, weight: np.ndarray) -> np.ndarray:
        """Settle what is asked of each class; return which rows are to be kept from training, as a mask.

        These are the certificate's, and unlabeled rows beyond the number that the choice among candidates can afford.
        """
        self._random = check_random_state(self.random_state)
        targets = targets_of(labels.classes, self.min_precision, self.min_recall)
        self._targets = targets[1:] if labels.n_classes == 2 else targets
        check_certificate(self.certify, self._targets)
        counted = Labels(labels.classes, np.where(weight > 0, labels.codes, UNLABELED_CODE))
        certified = np.zeros(len(labels.codes), dtype=bool)
        if self.certify is not None:
            certified = certificate_rows(counted, self.calibration_size, self._random)
        self._certificate = np.flatnonzero(certified)
        self._check_enough(Labels(labels.classes, np.where(certified, UNLABELED_CODE, counted.codes)))
        return certified | self._beyond_pool(~labels.is_labeled & (weight > 0))

    def _beyond_pool(self, is_unlabeled: np.ndarray) -> np.ndarray:
        rows = np.flatnonzero(is_unlabeled)
        left_out = np.zeros(len(is_unlabeled), dtype=bool)
        if self.calibration == "cross" and len(rows) > POOL_SIZE:
            left_out[self._random.permutation(rows)[POOL_SIZE:]] = True
        return left_out

    def _check_enough(self, labels: Labels) -> None:
        counts = np.bincount(labels.codes[labels.is_labeled], minlength=labels.n_classes)
        rarest = int(np.argmin(counts))
        if self.calibration == "full" or counts[rarest] >= FEWEST_LABELS:
            return
        left = " once the certificate has its share" if len(self._certificate) else ""
        raise ValueError(
            f"calibration={self.calibration!r} needs at least {FEWEST_LABELS} labeled rows of each class, and "
            f"class {labels.classes.tolist()[rarest]!r} has {counts[rarest]}{left}: label more rows of it, or use "
            "calibration='full'."
        )

    def _run_of(
        self, learner: Learner, sign: np.ndarray, copies: np.ndarray, problem: int
    ) -> PaperRounds | CrossFitted:
        """The method's work on one binary problem, ready to run; row i stands for copies[i] of the user's."""
        target, seed = self._targets[problem], int(self._random.randint(2**31))
        if self.calibration == "cross":
            return CrossFitted(learner, sign, copies, target, seed, n_draws=self._n_draws)
        trains = calibrates = sign != 0
        if self.calibration == "part":
            trains, calibrates = split_labels(sign, self.calibration_size, seed)
        return PaperRounds(
            learner,
            sign,
            copies,
            trains,
            calibrates,
            target,
            pool=self.pool,
            rule=self.adjust,
            max_rounds=self.max_rounds,
        )

    def _certified(self, outcome: Outcome, target: Target, scores: np.ndarray, sign: np.ndarray) -> Outcome:
        """Give an outcome the operating point that the certificate's rows allow; without a target it stays as it is."""
        if self.certify is None or not target.is_constrained:
            return outcome
        pool = outcome.values[outcome.is_unlabeled]
        # Scores of rows that trained lie further out than those of new rows: their ranks would miss the certificate's.
        is_like_new = len(pool) >= len(scores) and not (outcome.labeled_in > 0).any()
        # "full" measures on rows it was trained on, which promises far too much and would start in the wrong place
        pilot = None if self.calibration == "full" else (outcome.calibration_scores, outcome.calibration_sign)
        point = certify(
            scores, sign, target, confidence=1 - self.certify, reference=pool if is_like_new else None, pilot=pilot
        )
        return replace(outcome, point=point, calibration_scores=scores, calibration_sign=sign)

    def _learn_points(self, outcomes: list[Outcome | None]) -> None:
        """Set the learned attributes; a problem that was never solved, for the user stopped before it, has none."""
        self.threshold_ = np.array([0.0 if o is None else o.point.threshold for o in outcomes])
        self.operating_point_ = self._by_class([o and o.point for o in outcomes])
        self.audit_ = self._by_class([o and o.audit for o in outcomes])
        self.calibration_scores_ = self._by_class([o and o.calibration_scores for o in outcomes])
        self.calibration_sign_ = self._by_class([o and o.calibration_sign for o in outcomes])

    def _by_class(self, values: list[Any]) -> Any:
        """The one value there is for two classes, {class: value} for more."""
        return values[0] if len(self.classes_) == 2 else dict(zip(self.classes_.tolist(), values, strict=True))

    def _warn_unless_reached(self) -> None:
        points = self.operating_point_ if len(self.classes_) > 2 else {self.classes_.tolist()[1]: self.operating_point_}
        for name, point in points.items():
            if point is not None and not point.reached:
                warnings.warn(f"Class {name!r}: {point.reason}", UserWarning, stacklevel=5)

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """Scores, (n,) or (n, n_classes), minus their thresholds."""
        if scores.ndim == 1:
            return beyond(scores, self.threshold_[0])
        columns = [beyond(column, threshold) for column, threshold in zip(scores.T, self.threshold_, strict=True)]
        return np.stack(columns, axis=1)
