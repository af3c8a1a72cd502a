"""From the leave-one-out scores of an average to thresholds, certificates and probabilities.

Thresholds and probabilities come from *crossed* scores (`stacking`), whose weights have not seen the labels of their
rows, at both levels.

    precision, recall asked    the threshold of one class against the rest is chosen on crossed scores
    confidence                 a part of the labels is kept out of the fit, kernels included, and proves the threshold
    probabilities              made from the crossed scores s, so that a row counts by its weight:

        P(class k) = exp(slope s_k) / sum_j exp(slope s_j),     with two classes 1 / (1 + exp(-slope s))

The one slope maximizes the likelihood of smoothed targets: (n + 1) / (n + 2) for the class of a label, with n labels,
and the rest shared by the others. So the largest score is the most probable class; a threshold changes no probability.
Costs and class weights move the scores on purpose: there Platt's sigmoids, one per class, undo it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import Target, certify, choose_for, measure
from semisvm.device import on_host
from semisvm.estimators.auto.families import FamiliesFit, FamilyAverage
from semisvm.estimators.auto.preparation import read_rows
from semisvm.estimators.auto.stacking import LabeledTarget, codes_of
from semisvm.estimators.binary import combine
from semisvm.estimators.classifier import finite_scores
from semisvm.estimators.equal_rows import as_repetitions
from semisvm.estimators.preference._decision import OperatingPointsMixin, begin_check, check_labels
from semisvm.estimators.preference._plan import Plan, refuse_rare
from semisvm.labels import Labels
from semisvm.model_selection.calibration import fit_sigmoid, probabilities_of
from semisvm.shared_docs import with_shared_docs

FEWEST_COMPARED = 50  # labels: with fewer, scores left out differ from others by more than chance
CERTIFICATE_SHARE = 0.5  # of the labels, where a certificate is asked for


def fit_slope(scores: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> float:
    """The slope of the module's docstring; scores and Y are (l, c)."""
    from scipy.optimize import minimize

    columns, codes, total = _both(scores), codes_of(Y), float(weight.sum())
    scale = float(np.abs(scores).max()) or 1.0
    lead = columns / scale
    seen = (total + 1) / (total + 2)
    goal = np.full(lead.shape, (1 - seen) / (lead.shape[1] - 1))
    goal[np.arange(len(codes)), codes] = seen
    share = weight / total

    def loss(slope: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_softmax(slope[0] * lead, axis=1)
        residual = ((np.exp(log_p) - goal) * lead).sum(axis=1)
        return -float(share @ (goal * log_p).sum(axis=1)), np.array([float(share @ residual)])

    found = minimize(
        loss, [1.0], jac=True, method="L-BFGS-B", bounds=[(0, None)], options={"ftol": 1e-12, "gtol": 1e-8}
    )
    return float(found.x[0] / scale)


def _both(scores: np.ndarray) -> np.ndarray:
    """One column per class: with two classes the score is how much the second has more than the first."""
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


class OperatingMixin(OperatingPointsMixin):
    """Thresholds, operating points and probabilities of `AutoSVC`, which brings `_raw_scores`, (n, n_problems)."""

    _slope: float | None  # None where costs move the scores
    _sigmoids: np.ndarray  # (n_problems, 2): slope and offset
    _average: FamilyAverage

    @property
    def _has_target(self) -> bool:
        return self.min_precision is not None or self.min_recall is not None

    def _plan_targets(self, labels: Labels, in_use: np.ndarray, random_sample: np.ndarray | None) -> Plan:
        """What is asked of each class, and which labels are kept for the certificate."""
        used = Labels(labels.classes, np.where(in_use, labels.codes, -1))
        if self._has_target:
            refuse_rare(
                used,
                "A precision or recall is measured on labels left out, so each class needs at least two, and class "
                "{name} has {number}: label more rows of it.",
            )
        return self._make_plan(used, random_sample, "full", CERTIFICATE_SHARE)

    def _average_scores(self, X: Any) -> np.ndarray:
        return finite_scores(self._average.scores_of_rows, X)

    def _raw_scores(self, X: Any) -> np.ndarray:
        """Check rows and score them without thresholds, (n, n_problems)."""
        check_is_fitted(self)
        return self._average_scores(read_rows(self, on_host(X), reset=False))

    def _check_labels(self, found: FamiliesFit, X: Any, labels: Labels, crossed: np.ndarray, plan: Plan) -> None:
        """Check whether the labels that a target is measured on look like a random sample, unless the user says so.

        X, labels   the rows that kernels are made from
        crossed     (l, c) scores of the labeled rows
        """
        self.fair_sample_ = None
        if self._has_target and not plan.is_vouched_for:
            scores: np.ndarray | None = None
            if len(crossed) >= FEWEST_COMPARED:
                scores = found.scores.copy()
                scores[labels.is_labeled] = crossed
            view = next(iter(found.average.views.of(X).values()))
            begun = begin_check(view, labels)
            self.fair_sample_ = check_labels(begun, labels, scores, certifies=self.confidence is not None)

    def _settle(self, scores: np.ndarray, labeled: LabeledTarget, measures: np.ndarray, plan: Plan) -> None:
        """Set thresholds, operating points and probabilities from crossed scores; `measures` says which rows may."""
        all_cost_the_same = (labeled.price == labeled.price[0]).all()
        weight = labeled.weight[measures]
        fair, sign = scores[measures], labeled.Y[measures]
        self._slope = fit_slope(fair, sign, weight) if all_cost_the_same else None
        self._sigmoids = np.array([fit_sigmoid(fair[:, k], sign[:, k], weight) for k in range(sign.shape[1])])
        times = as_repetitions(weight)
        if times is not None:
            fair, sign = np.repeat(fair, times, axis=0), np.repeat(sign, times, axis=0)
        names = self.classes_.tolist()[1 if len(self.classes_) == 2 else 0 :]
        self.operating_points_, self.threshold_ = {}, np.empty(len(names))
        for number, (name, target) in enumerate(zip(names, plan.targets, strict=True)):
            own, of_class = fair[:, number], sign[:, number]
            if self._has_target:
                point = choose_for(target, own, of_class, level="cross-fitted")
            else:  # what the largest score gives
                lead = own if len(names) == 1 else own - np.delete(fair, number, axis=1).max(axis=1)
                point = measure(lead, of_class, 0.0, target=Target(), level="cross-fitted")
            self.operating_points_[name], self.threshold_[number] = point, point.threshold

    def _certify(self, plan: Plan, labels: Labels, X: Any, pilot: tuple[np.ndarray, np.ndarray], others: Any) -> None:
        """Replace the operating points by ones that the labels kept apart prove; `others` are scores like theirs."""
        if not plan.certifies.any() or (self.fair_sample_ is not None and not self.fair_sample_.is_fair):
            return
        scores = self._average_scores(X[plan.certifies])
        for number, (name, target) in enumerate(zip(self.operating_points_, plan.targets, strict=True)):
            if target.is_constrained:
                sign = labels.sign(1 if scores.shape[1] == 1 else number)[plan.certifies]
                reference = others[:, number] if others is not None and len(others) >= len(sign) else None
                point = certify(
                    scores[:, number],
                    sign,
                    target,
                    confidence=self.confidence or 0.9,
                    reference=reference,
                    pilot=(pilot[0][:, number], pilot[1][:, number]),
                )
                self.operating_points_[name], self.threshold_[number] = point, point.threshold

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """From the scores of the average, (n, c), to what `decision_function` returns."""
        return super()._decide(scores) if self._has_target else combine(scores, len(self.classes_), "ovr")

    @with_shared_docs
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, from scores that have not seen the labels.

        `predict` takes the most probable class, unless a precision or recall to keep, costs or class weights ask for
        something else. The probabilities do not change with these.

        Parameters
        ----------
        %(new_rows)s

        Returns
        -------
        %(probabilities)s
        """
        scores, slope = self._raw_scores(X), getattr(self, "_slope", None)  # models of earlier versions have sigmoids
        return probabilities_of(scores, self._sigmoids) if slope is None else softmax(slope * _both(scores), axis=1)
