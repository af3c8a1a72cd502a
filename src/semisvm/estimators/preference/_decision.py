"""What `PreferenceSVC` and `PreferenceClassifier` share: parameters, thresholds, certificates and probabilities.

A binary problem is one class against the rest (with two classes: the second against the first). Each has a target, a
run (`PaperRounds` or `CrossFitted`) and the run's `Outcome`. `threshold_` has one entry per binary problem.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import OperatingPoint, Target, certify
from semisvm.decision.audit import Audit
from semisvm.decision.operating_point import scores_beyond
from semisvm.errors import FairSampleWarning
from semisvm.estimators.binary import combine
from semisvm.estimators.preference._cross import CrossFitted
from semisvm.estimators.preference._learner import Learner
from semisvm.estimators.preference._paper import PaperRounds
from semisvm.estimators.preference._plan import Outcome, Plan, draw_folds, draw_pool, make_plan, split_labels
from semisvm.estimators.progress import warn_caller
from semisvm.labels import Labels
from semisvm.matrices import stored_numbers
from semisvm.model_selection import FairSampleCheck
from semisvm.model_selection.calibration import fit_sigmoid, probabilities_of
from semisvm.model_selection.fair_sample import FAIR_LEVEL, N_PERMUTATIONS, judge_sample, kernel_test
from semisvm.primal.dask_rows import is_dask, map_lazily
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import Interval, StrOptions

TARGET_CONSTRAINTS: dict[str, Any] = {
    "min_precision": [Interval(Real, 0, 1, closed="right"), dict, None],
    "min_recall": [Interval(Real, 0, 1, closed="right"), dict, None],
    "confidence": [Interval(Real, 0, 1, closed="neither"), None],
}
PREFERENCE_CONSTRAINTS: dict[str, Any] = {
    **TARGET_CONSTRAINTS,
    "calibration": [StrOptions({"cross", "part", "full"})],
    "calibration_size": [Interval(Real, 0, 1, closed="neither")],
    "pool": [StrOptions({"grow", "rebuild"})],
    "adjust": [StrOptions({"best", "paper"}), None],
    "max_rounds": [Interval(Integral, 1, None, closed="left")],
    "probability": ["boolean"],
    "random_state": ["random_state"],
}

REFUSED_CERTIFICATE = "No certificate is given, and the labels that were kept for it have no part in the model."
SAY_SO = (
    "`random_sample` of fit, a mask, says which labels are a random sample: others train and measure nothing, and a "
    "mask is taken at its word."
)


def begin_check(X: Any, labels: Labels) -> Future[float | None] | None:
    """Begin what `check_labels` finds without scores, beside the training; None where there is nothing to test.

    Rows that are not plain numbers are not compared by a kernel.
    """
    values = stored_numbers(X)
    is_plain = isinstance(values, np.ndarray) and values.dtype.kind in "fiub"  # where a cell is empty there is no test
    if not is_plain or labels.is_labeled.all():
        return None
    testing = ThreadPoolExecutor(1)  # goes on while the models are trained
    begun = testing.submit(kernel_test, X, labels.is_labeled, N_PERMUTATIONS, np.random.RandomState(0))
    testing.shutdown(wait=False)
    return begun


def check_labels(
    begun: Future[float | None] | None, labels: Labels, scores: np.ndarray | None, *, certifies: bool
) -> FairSampleCheck | None:
    """Check whether the labels look like a random sample of all rows, and warn where they do not.

    begun       from `begin_check`
    scores      (n, n_problems) `Outcome.fair_scores`, NaN where there are none
    certifies   whether a certificate was asked for, which is then refused

    None where there are no other rows to compare with.
    """
    if labels.is_labeled.all():
        return None
    found = judge_sample(None if begun is None else begun.result(), scores, labels.is_labeled, FAIR_LEVEL)
    if not found.is_fair:
        told = [found.sentence, REFUSED_CERTIFICATE, SAY_SO] if certifies else [found.sentence, SAY_SO]
        warn_caller(FairSampleWarning(" ".join(told)))
    return found


def _has_honest_probabilities(estimator: PreferenceMixin) -> bool:
    if not estimator.probability:
        raise AttributeError(
            "The threshold decides, so the most probable class is not always the one that is predicted, which much of "
            "scikit-learn takes for granted. Ask for probabilities by set_params(probability=True), before or after "
            "the fit."
        )
    if estimator.calibration == "full":
        raise AttributeError(
            "With calibration='full' the calibration scores are those of training rows, and probabilities made from "
            "them would be too close to 0 and 1: use calibration='cross' or 'part'."
        )
    if hasattr(estimator, "threshold_") and not np.all(getattr(estimator, "_is_held_out", False)):
        raise AttributeError(
            "Probabilities are made from scores of rows that were not trained on, and this model has none: fit again, "
            "with higher limits if the fit ended early."
        )
    return True


class OperatingPointsMixin:
    """Targets of one class against the rest, thresholds on its scores, and what they give, by class."""

    min_precision: Any
    min_recall: Any
    confidence: float | None
    random_state: Any
    classes_: np.ndarray
    threshold_: np.ndarray
    operating_points_: dict[Any, OperatingPoint | None]
    fair_sample_: FairSampleCheck | None

    def _make_plan(
        self, labels: Labels, random_sample: np.ndarray | None, calibration: str, calibration_size: float
    ) -> Plan:
        """Draw the rows that are kept apart."""
        return make_plan(
            labels,
            min_precision=self.min_precision,
            min_recall=self.min_recall,
            confidence=self.confidence,
            calibration=calibration,
            calibration_size=calibration_size,
            random_state=self.random_state,
            random_sample=random_sample,
        )

    @property
    def operating_point_(self) -> OperatingPoint | None:
        """The operating point of the positive class; only with two classes."""
        return self._of_positive_class("operating_point_", "operating_points_")

    def _of_positive_class(self, name: str, by_class: str) -> Any:
        found = getattr(self, by_class)
        if len(found) > 1:
            raise AttributeError(f"{name} is only available with two classes; with more, {by_class} has one per class.")
        return next(iter(found.values()))

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """Scores of the binary problems, (n, n_problems), to what decision_function returns: above 0 is accepted."""
        columns = [scores_beyond(own, threshold) for own, threshold in zip(scores.T, self.threshold_, strict=True)]
        return combine(np.stack(columns, axis=1), len(self.classes_), "ovr")


class PreferenceMixin(OperatingPointsMixin):
    """Runs, thresholds and probabilities; the estimator brings `_raw_scores`, (n, n_problems) without thresholds."""

    calibration: str
    calibration_size: float
    pool: str
    adjust: str | None
    max_rounds: int
    probability: bool
    audits_: dict[Any, Audit | None]
    calibration_scores_: dict[Any, np.ndarray | None]
    calibration_sign_: dict[Any, np.ndarray | None]
    _is_held_out: np.ndarray  # (n_problems,) mask: whether the calibration scores are those of rows left out
    _sigmoids: np.ndarray | None  # (n_problems, 2): slope and offset; None where the fit was not asked for them
    _raw_scores: Callable[[Any], np.ndarray]

    def _draw_pool(self, n_unlabeled: int) -> np.ndarray | None:
        """Which unlabeled rows a fit needs in memory, by their ranks; None: all."""
        if self.calibration != "cross":
            why = f"calibration={self.calibration!r} labels all unlabeled rows, which needs them in memory"
            raise ValueError(f"{why}; use calibration='cross'.")
        return draw_pool(n_unlabeled, self.random_state)

    def _within_pool(self, labels: Labels, rows: np.ndarray) -> np.ndarray:
        """These rows without the unlabeled ones that no fit considers; they are drawn by place, as in streams."""
        unlabeled = np.flatnonzero(~labels.is_labeled[rows])
        pool = draw_pool(len(unlabeled), self.random_state) if self.calibration == "cross" else None
        return rows if pool is None else np.delete(rows, np.delete(unlabeled, pool))

    def _make_run(
        self,
        plan: Plan,
        number: int,
        learner: Learner,
        sign: np.ndarray,
        measures: np.ndarray,
        copies: np.ndarray | None = None,
        n_draws: int | None = None,
    ) -> PaperRounds | CrossFitted:
        """The work on one binary problem, ready to run; row i stands for copies[i] of the user's rows.

        Labels outside of the mask `measures` train and do nothing else.
        """
        target, seed = plan.targets[number], plan.draw_seed()
        if self.calibration == "cross":
            folds = draw_folds(np.where(measures, sign, 0), n_draws=n_draws, seed=seed)
            return CrossFitted(learner, sign, folds, target, seed=seed)
        trains, calibrates = sign != 0, (sign != 0) & measures
        if self.calibration == "part":
            trains, calibrates = split_labels(sign, self.calibration_size, seed, measures)
        return PaperRounds(
            learner,
            sign,
            np.ones(len(sign), dtype=np.intp) if copies is None else copies,
            trains,
            calibrates,
            target,
            pool=self.pool,
            rule=self.adjust,
            max_rounds=self.max_rounds,
        )

    def _conclude(
        self,
        plan: Plan,
        labels: Labels,
        outcomes: list[Outcome | None],
        begun: Future[float | None] | None,
        score_certifying: Callable[[], np.ndarray],
    ) -> None:
        """Check the labels unless the user vouches for them, certify, and set the learned attributes.

        labels             of the rows of the plan
        outcomes           of the rows that learn; None where the user stopped the fit before a problem was begun
        begun              from `begin_check`
        score_certifying   gives scores of the rows that certify, (m, n_problems), without thresholds
        """
        self.fair_sample_ = None
        if not plan.is_vouched_for:
            fair_scores = _join_fair_scores(outcomes, plan.learns)
            self.fair_sample_ = check_labels(begun, labels, fair_scores, certifies=self.confidence is not None)
        if plan.certifies.any() and (self.fair_sample_ is None or self.fair_sample_.is_fair):
            scores, is_unlabeled = score_certifying(), ~labels.is_labeled[plan.learns]
            for number, (outcome, target) in enumerate(zip(outcomes, plan.targets, strict=True)):
                if outcome is not None and target.is_constrained:
                    sign = labels.sign(1 if len(outcomes) == 1 else number)[plan.certifies]
                    outcomes[number] = self._certify(target, outcome, is_unlabeled, scores[:, number], sign)
        self._keep_outcomes(outcomes)
        warn_unless_reached(self.operating_points_)

    def _certify(
        self, target: Target, outcome: Outcome, is_unlabeled: np.ndarray, scores: np.ndarray, sign: np.ndarray
    ) -> Outcome:
        """Replace the operating point by one that the certificate's rows, of these scores and signs, prove."""
        assert self.confidence is not None
        # Scores of rows that trained are more extreme than those of new rows: their ranks would be misleading.
        is_like_new = is_unlabeled.sum() >= len(scores) and not (outcome.labeled_in > 0).any()
        # With "full" the calibration scores are those of training rows, which would put the first test too high.
        pilot = None if self.calibration == "full" else (outcome.calibration_scores, outcome.calibration_sign)
        reference = outcome.values[is_unlabeled] if is_like_new else None
        point = certify(scores, sign, target, confidence=self.confidence, reference=reference, pilot=pilot)
        return replace(outcome, point=point, calibration_scores=scores, calibration_sign=sign, is_held_out=True)

    def _keep_outcomes(self, outcomes: list[Outcome | None]) -> None:
        names = self.classes_.tolist()
        names = names[1:] if len(names) == 2 else names
        self.threshold_ = np.array([0.0 if o is None else o.point.threshold for o in outcomes])
        self._is_held_out = np.array([o is not None and o.is_held_out for o in outcomes])
        self.operating_points_, self.audits_ = dict.fromkeys(names), dict.fromkeys(names)
        self.calibration_scores_, self.calibration_sign_ = dict.fromkeys(names), dict.fromkeys(names)
        for name, outcome in zip(names, outcomes, strict=True):
            if outcome is not None:
                self.operating_points_[name], self.audits_[name] = outcome.point, outcome.audit
                self.calibration_scores_[name] = outcome.calibration_scores
                self.calibration_sign_[name] = outcome.calibration_sign
        self._sigmoids = self._fit_sigmoids() if self.probability and self._is_held_out.all() else None

    def _fit_sigmoids(self) -> np.ndarray:
        pairs = zip(self.calibration_scores_.values(), self.calibration_sign_.values(), strict=True)
        return np.array([fit_sigmoid(scores, sign) for scores, sign in pairs])  # type: ignore[arg-type]

    @property
    def audit_(self) -> Audit | None:
        """The audit of the positive class; only with two classes."""
        return self._of_positive_class("audit_", "audits_")

    @available_if(_has_honest_probabilities)
    @with_shared_docs
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        It is made from the calibration scores, by Platt's method. These scores must come from machines that were not
        trained on the calibration rows; hence the method is only available with ``calibration="cross"`` or ``"part"``.
        `predict` uses the thresholds, so it does not always give the most probable class; hence ``probability=True``
        asks for the method, before the fit or after it.

        Parameters
        ----------
        %(rows)s

        Returns
        -------
        %(probabilities)s
        """
        check_is_fitted(self)
        if is_dask(X):
            return map_lazily(self.predict_proba, X, len(self.classes_), np.float64)
        sigmoids = self._fit_sigmoids() if self._sigmoids is None else self._sigmoids
        return probabilities_of(self._raw_scores(X), sigmoids)


def _join_fair_scores(outcomes: list[Outcome | None], rows: np.ndarray) -> np.ndarray | None:
    """The fair scores of some rows, a mask, one column per binary problem; None where a problem has none."""
    columns = [None if outcome is None else outcome.fair_scores for outcome in outcomes]
    if any(column is None for column in columns):
        return None
    scores = np.full((len(rows), len(columns)), np.nan)
    scores[rows] = np.stack(columns, axis=1)  # type: ignore[arg-type]
    return scores


def warn_unless_reached(points: dict[Any, OperatingPoint | None]) -> None:
    """Warn about every target that was not reached."""
    for name, point in points.items():
        if point is not None and not point.reached:
            warn_caller(UserWarning(f"Class {name!r}: {point.reason}"))
