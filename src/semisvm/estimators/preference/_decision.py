"""What `PreferenceSVC` and `PreferenceClassifier` share: parameters, thresholds, certificates and
probabilities.

A binary problem is one class against the rest (with two classes: the second against the first).
Each has a target, a run (`CrossFitted`, or the rounds of `paper`) and the `Outcome` of the run.
`threshold_` has one entry per binary problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from semisvm.decision import Target, certify
from semisvm.decision.audit import Audit
from semisvm.estimators.preference._cross import (
    CANDIDATES,
    Candidate,
    CrossFitted,
    Outcome,
    draw_folds,
)
from semisvm.estimators.preference._learner import Learner
from semisvm.estimators.targets import (
    FEWEST_LABELS,
    TARGET_CONSTRAINTS,
    OperatingPointsMixin,
    Plan,
    check_labels,
    refuse_rare,
    warn_unless_reached,
)
from semisvm.labels import Labels
from semisvm.model_selection.calibration import fit_sigmoid, probabilities_of
from semisvm.sklearn_private import Interval

POOL_SIZE = 10_000  # most unlabeled rows that are considered for training: a bound on the time
PREFERENCE_CONSTRAINTS: dict[str, Any] = {
    **TARGET_CONSTRAINTS,
    "calibration_size": [Interval(Real, 0, 1, closed="neither")],
    "probability": ["boolean"],
    "random_state": ["random_state"],
}


class PreferenceMixin(OperatingPointsMixin):
    """Runs, thresholds and probabilities; the estimator brings `_raw_scores`."""

    calibration_size: float
    probability: bool
    audits_: dict[Any, Audit | None]
    calibration_scores_: dict[Any, np.ndarray | None]
    calibration_sign_: dict[Any, np.ndarray | None]
    # (n_problems,) mask: whether the calibration scores are those of rows left out.
    _is_held_out: np.ndarray
    # (n_problems, 2): slope and offset; None without probabilities.
    _sigmoids: np.ndarray | None
    _raw_scores: Callable[[Any], np.ndarray]

    def _make_plan(
        self,
        labels: Labels,
        random_sample: np.ndarray | None,
        certificate_share: float,
        row_numbers: np.ndarray | None = None,
    ) -> Plan:
        """Draw the rows that are held out; unlabeled rows beyond the pool do not train."""
        plan = super()._make_plan(labels, random_sample, certificate_share, row_numbers)
        self._refuse_few_labels(plan.measured(labels))
        learns = np.zeros(len(labels.codes), dtype=bool)
        learns[self._within_pool(labels, np.arange(len(labels.codes)))] = True
        return replace(plan, learns=learns & plan.learns)

    def _refuse_few_labels(self, labels: Labels) -> None:
        """Raise ValueError where a class has too few labels, without those of a certificate."""
        left = "" if self.confidence is None else " without those of the certificate"
        refuse_rare(
            labels,
            f"{type(self).__name__} needs at least {FEWEST_LABELS} labeled rows of each class, and"
            f" class {{name}} has {{number}}{left}: label more rows of it.",
        )

    def _draw_pool(self, n_unlabeled: int) -> np.ndarray | None:
        """Which of so many unlabeled rows are considered for training, ascending; None: all.

        The draw depends on their number alone: it is the same where the rows are not in memory.
        """
        if n_unlabeled <= POOL_SIZE:
            return None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return np.sort(rng.choice(n_unlabeled, POOL_SIZE, replace=False))

    def _within_pool(self, labels: Labels, rows: np.ndarray) -> np.ndarray:
        """These rows without the unlabeled ones beyond the pool, drawn by place as in streams."""
        unlabeled = np.flatnonzero(~labels.is_labeled[rows])
        pool = self._draw_pool(len(unlabeled))
        return rows if pool is None else np.delete(rows, np.delete(unlabeled, pool))

    def _make_run(
        self,
        plan: Plan,
        measures: np.ndarray,
        number: int,
        learner: Learner,
        sign: np.ndarray,
        *,
        n_draws: int | None = None,
        candidates: Sequence[Candidate] = CANDIDATES,
    ) -> CrossFitted:
        """The work on one binary problem; labels outside of the mask `measures` only train."""
        seed = plan.draw_seed()
        folds = draw_folds(np.where(measures, sign, 0), n_draws=n_draws, seed=seed)
        target = plan.targets[number]
        return CrossFitted(learner, sign, folds, target, candidates=candidates, seed=seed)

    def _why_no_probabilities(self) -> str:
        """Why there is no `predict_proba`; empty where there is."""
        if not self.probability:
            return (
                "predict uses the threshold, so it does not always return the most probable class,"
                " as much of scikit-learn assumes. Turn on probabilities by"
                " set_params(probability=True), before or after the fit."
            )
        if hasattr(self, "threshold_") and not np.all(getattr(self, "_is_held_out", False)):
            return (
                "Probabilities need scores of labeled rows that were not trained on, and this model"
                " has none: fit again, with higher limits if the fit ended early."
            )
        return ""

    def _conclude(
        self,
        plan: Plan,
        labels: Labels,
        outcomes: list[Outcome | None],
        begun: Future[float | None] | None,
        score_certifying: Callable[[], np.ndarray],
    ) -> None:
        """Check the labels unless the user vouches for them, certify, and set attributes.

        labels             of the rows of the plan
        outcomes           of the rows that learn; None where the user stopped the fit before a
                           problem was begun
        begun              from `begin_check`
        score_certifying   gives scores of the rows that certify, (m, n_problems), without
                           thresholds
        """
        self.fair_sample_ = None
        if not plan.is_vouched_for:
            fair_scores = _join_fair_scores(outcomes, plan.learns)
            self.fair_sample_ = check_labels(
                begun, labels, fair_scores, certifies=self.confidence is not None
            )
        if self._may_certify(plan):
            scores = score_certifying()
            is_unlabeled = ~labels.is_labeled[plan.learns]
            for number, (outcome, target) in enumerate(zip(outcomes, plan.targets, strict=True)):
                if outcome is not None and target.is_constrained:
                    sign = labels.sign(1 if len(outcomes) == 1 else number)[plan.certifies]
                    outcomes[number] = self._certify(
                        target, outcome, is_unlabeled, scores[:, number], sign
                    )
        self._keep_outcomes(outcomes)
        warn_unless_reached(self.operating_points_)

    def _certify(
        self,
        target: Target,
        outcome: Outcome,
        is_unlabeled: np.ndarray,
        scores: np.ndarray,
        sign: np.ndarray,
    ) -> Outcome:
        """Replace the operating point by one that the rows of the certificate prove."""
        assert self.confidence is not None
        # Scores of rows that trained are more extreme than those of new rows: their ranks would be
        # misleading.
        is_like_new = is_unlabeled.sum() >= len(scores) and not (outcome.labeled_in > 0).any()
        # Calibration scores of rows that trained would put the first test too high.
        pilot = (
            (outcome.calibration_scores, outcome.calibration_sign) if outcome.is_held_out else None
        )
        reference = outcome.values[is_unlabeled] if is_like_new else None
        point = certify(
            scores, sign, target, confidence=self.confidence, reference=reference, pilot=pilot
        )
        return replace(
            outcome, point=point, calibration_scores=scores, calibration_sign=sign, is_held_out=True
        )

    def _keep_outcomes(self, outcomes: list[Outcome | None]) -> None:
        names = self.classes_.tolist()
        names = names[1:] if len(names) == 2 else names
        self.threshold_ = np.array([0.0 if o is None else o.point.threshold for o in outcomes])
        self._is_held_out = np.array([o is not None and o.is_held_out for o in outcomes])

        def by_class(field: str) -> dict[Any, Any]:
            return {n: getattr(o, field, None) for n, o in zip(names, outcomes, strict=True)}

        self.operating_points_ = by_class("point")
        self.audits_ = by_class("audit")
        self.calibration_scores_ = by_class("calibration_scores")
        self.calibration_sign_ = by_class("calibration_sign")
        self._sigmoids = (
            self._fit_sigmoids() if self.probability and self._is_held_out.all() else None
        )

    def _fit_sigmoids(self) -> np.ndarray:
        pairs = zip(self.calibration_scores_.values(), self.calibration_sign_.values(), strict=True)
        return np.array([fit_sigmoid(scores, sign) for scores, sign in pairs])  # type: ignore[arg-type]

    @property
    def audit_(self) -> Audit | None:
        """The audit of the positive class; only with two classes."""
        return self._of_positive_class("audit_", "audits_")

    def _probabilities(self, X: Any) -> np.ndarray:
        sigmoids = self._fit_sigmoids() if self._sigmoids is None else self._sigmoids
        return probabilities_of(self._raw_scores(X), sigmoids)


def _join_fair_scores(outcomes: list[Outcome | None], rows: np.ndarray) -> np.ndarray | None:
    """Fair scores by binary problem, NaN outside of the mask; None where a problem has none."""
    columns = [None if outcome is None else outcome.fair_scores for outcome in outcomes]
    if any(column is None for column in columns):
        return None
    scores = np.full((len(rows), len(columns)), np.nan)
    scores[rows] = np.stack(columns, axis=1)  # type: ignore[arg-type]
    return scores
