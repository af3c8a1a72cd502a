"""From the leave-one-out scores of an average to thresholds, certificates and probabilities.

Thresholds and probabilities come from *crossed* scores (`stacking`), whose weights have not seen
the labels of their rows, at both levels.

    minimum precision, recall  the threshold of one class against the rest is chosen on crossed
                               scores
    confidence                 a part of the labels is kept out of the fit, kernels included, and
                               proves the threshold
    no target, two classes          the share of positives that is expected among the unlabeled rows
                               is accepted, unless `threshold` says something else
                               (`model_selection.thresholds`)
    probabilities              made from the crossed scores s, so that a row counts by its weight:

        P(class k) = exp(slope s_k) / sum_j exp(slope s_j),     with two classes 1 / (1 + exp(-slope
        s))

The one slope maximizes the likelihood of smoothed targets: (n + 1) / (n + 2) for the class of a
label, with n labels, and the rest shared by the others. So the largest score is the most probable
class; a threshold changes no probability. Costs and class weights move the scores on purpose: there
Platt's sigmoids, one per class, undo it. What scores should be is +1 or -1, so that a score of 18
says no more than one of FARTHEST_SCORE: a single outlying score flattens no probability.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from semisvm.columns.table import Schema
from semisvm.decision import Evidence, Target, certify, choose, measure
from semisvm.device import on_host
from semisvm.estimators.auto.families import FamiliesFit, FamilyAverage
from semisvm.estimators.auto.preparation import read_rows
from semisvm.estimators.auto.stacking import codes_of, most_likely_slope
from semisvm.estimators.binary import combine
from semisvm.estimators.classifier import finite_scores
from semisvm.estimators.equal_rows import as_repetitions
from semisvm.estimators.least_squares import LabeledTarget
from semisvm.estimators.targets import (
    OperatingPointsMixin,
    Plan,
    begin_check,
    check_labels,
    refuse_rare,
)
from semisvm.labels import Labels, refuse_marker_as_class
from semisvm.matrices import is_frame
from semisvm.model_selection.calibration import fit_sigmoid, probabilities_of
from semisvm.model_selection.thresholds import (
    accept_share,
    balance,
    best_f1_share,
    expected_share,
    fit_probability,
)
from semisvm.sklearn_private import safe_indexing

FEWEST_COMPARED = 50  # labels: with fewer, scores left out differ from others by more than chance
CERTIFICATE_SHARE = 0.5  # of the labels, with a certificate
FARTHEST_SCORE = 2.0  # what scores beyond it count as, where probabilities are fitted
FEWEST_UNLABELED = 50  # rows that a share is expected among; of fewer, it follows single rows
FEWEST_TO_EXPECT = 2  # labels of each class: one that is left out alone says nothing
# Of several classes the largest score wins. Offsets that give each class its expected share of the
# unlabeled rows cost accuracy (five sets of 4 to 11 classes, some rare, 5 and 15 labels per class):
# shares by the probabilities .764 to .754 (mean F1 of classes .682 to .683), by one sigmoid per
# class .742 (.675), the shares of the labels .713 (.640). Half of the second offsets have .763
# (.692); they were found on these sets, and not tried on others.


def fit_slope(scores: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> float:
    """The slope of the module's docstring; scores and Y are (l, c)."""
    scores = np.clip(scores, -FARTHEST_SCORE, FARTHEST_SCORE)
    scale = float(np.abs(scores).max()) or 1.0
    return most_likely_slope(_both(scores) / scale, codes_of(Y), weight, (0.0, None)) / scale


def place_threshold(
    rule: str, scores: np.ndarray, sign: np.ndarray, pool: np.ndarray, weight: np.ndarray
) -> float:
    """The threshold of two classes without a target, by one of the rules of `AutoSVC.threshold`:
    from crossed scores of labeled rows and their signs, and from the scores (u, 1) of unlabeled
    rows and their weights. 0 if the rows are too few, or if the share above 0 equals the expected
    share within the accuracy that the labels allow; the share among the labels if their scores do
    not rise with the class.
    """
    if rule == "labeled_f1":
        return balance(scores, sign)
    times = as_repetitions(weight) if len(weight) else None
    pool = pool[weight > 0, 0] if times is None else np.repeat(pool[:, 0], times)
    if rule == "score" or len(pool) < FEWEST_UNLABELED:
        return 0.0
    farthest = np.clip(scores, -FARTHEST_SCORE, FARTHEST_SCORE)
    n_positive = np.count_nonzero(sign > 0)
    n_negative = len(sign) - n_positive
    if min(n_positive, n_negative) < FEWEST_TO_EXPECT or not np.std(scores) > 0:
        return 0.0
    probability = fit_probability(farthest, sign, FEWEST_TO_EXPECT)
    if probability is None:  # scores left out do not rise with the class, as of two rare positives
        return accept_share(pool, n_positive / len(sign))
    clipped = np.clip(pool, -FARTHEST_SCORE, FARTHEST_SCORE)
    share = expected_share(probability, clipped)
    # The targets of the sigmoid are smoothed by this much: a smaller difference from the share
    # above 0 says nothing, and would cut into classes that stand apart (two moons).
    smoothed = share / (n_positive + 2) + (1 - share) / (n_negative + 2)
    if rule == "share" and abs(share - np.mean(pool > 0)) <= smoothed:
        return 0.0
    if rule == "f1":
        share = float(np.sqrt(share * best_f1_share(probability, clipped)))
    return accept_share(pool, share)


def _both(scores: np.ndarray) -> np.ndarray:
    """One column per class: with two classes the score is how much the second has more than the
    first.
    """
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


class OperatingMixin(OperatingPointsMixin):
    """Thresholds, operating points and probabilities of `AutoSVC`, which brings `_raw_scores`,
    (n, n_problems).
    """

    threshold: str
    unlabeled: Any
    members: Any
    _slope: float
    _sigmoids: np.ndarray | None  # (n_problems, 2): slope and offset, where costs move the scores
    _average: FamilyAverage
    _input: Any  # what X is; see `read_rows`
    _column_names: list[str]  # of a table

    @property
    def _has_target(self) -> bool:
        return self.min_precision is not None or self.min_recall is not None

    def _plan_targets(
        self, labels: Labels, in_use: np.ndarray, random_sample: np.ndarray | None
    ) -> Plan:
        """The target of each class, and which labels are held out for the certificate."""
        used = Labels(labels.classes, np.where(in_use, labels.codes, -1))
        if self._has_target:
            refuse_rare(
                used,
                "A precision or recall is measured on held-out labels, so each class needs at least"
                " two, and class {name} has {number}: label more rows of it.",
            )
        return self._make_plan(used, random_sample, CERTIFICATE_SHARE)

    def _average_scores(self, X: Any, given: Any) -> np.ndarray:
        """The scores of rows that were read, and as they were given."""
        given = self._for_outside(given)
        return finite_scores(partial(self._average.scores_of_rows, given=given), X)

    def _for_outside(self, given: Any) -> Any:
        """Rows as members from outside see them, with the columns of a table in the order of the
        fit; None without such members.
        """
        if not self.members:
            return None
        if not is_frame(given) or not isinstance(self._input, Schema):
            return given
        name_of = {str(name): name for name in given.columns}
        names = [name_of[name] for name in self._column_names if name in name_of]
        return given[names] if names else given

    def _raw_scores(self, X: Any) -> np.ndarray:
        """Check rows and score them without thresholds, (n, n_problems)."""
        check_is_fitted(self)
        refuse_marker_as_class(self.unlabeled)
        X = on_host(X)
        return self._average_scores(read_rows(self, X, reset=False), X)

    def _check_labels(
        self, fitted: FamiliesFit, X: Any, labels: Labels, crossed: np.ndarray, plan: Plan
    ) -> None:
        """Check whether the labels that a target is measured on look like a random sample, unless
        the user says so.

        X, labels   the rows that kernels are made from
        crossed     (l, c) scores of the labeled rows
        """
        self.fair_sample_ = None
        if not self._has_target or plan.is_vouched_for:
            return
        scores: np.ndarray | None = None
        if len(crossed) >= FEWEST_COMPARED:
            scores = fitted.scores.copy()
            scores[labels.is_labeled] = crossed
        view = next(iter(fitted.average.views.of(X).values()))
        self.fair_sample_ = check_labels(
            begin_check(view, labels), labels, scores, certifies=self.confidence is not None
        )

    def _settle(
        self,
        scores: np.ndarray,
        labeled: LabeledTarget,
        measures: np.ndarray,
        plan: Plan,
        pool: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Set thresholds, operating points and probabilities from crossed scores.

        measures   which of these rows may
        pool       the scores of the unlabeled rows, (u, c), and their weights
        """
        all_cost_the_same = (labeled.price == labeled.price[0]).all()
        weight = labeled.weight[measures]
        fair = scores[measures]
        sign = labeled.Y[measures]
        self._slope = fit_slope(fair, sign, weight)
        self._sigmoids = None
        if not all_cost_the_same:
            sides = zip(fair.T, sign.T, strict=True)
            self._sigmoids = np.array([fit_sigmoid(*side, weight) for side in sides])
        times = as_repetitions(weight)
        if times is not None:
            fair = np.repeat(fair, times, axis=0)
            sign = np.repeat(sign, times, axis=0)
        names = self.classes_.tolist()[1 if len(self.classes_) == 2 else 0 :]
        self.operating_points_ = {}
        self.threshold_ = np.empty(len(names))
        for number, (name, target) in enumerate(zip(names, plan.targets, strict=True)):
            lead = fair[:, number]
            of_class = sign[:, number]
            level = Evidence.CROSS_FITTED
            if self._has_target:
                point = choose(lead, of_class, target, level=level)
            else:
                threshold = 0.0  # of several classes, and where costs move scores, the largest wins
                if len(names) > 1:
                    lead = lead - np.delete(fair, number, axis=1).max(axis=1)
                elif all_cost_the_same:
                    threshold = place_threshold(self.threshold, lead, of_class, *pool)
                point = measure(lead, of_class, threshold, target=Target(), level=level)
            self.operating_points_[name] = point
            self.threshold_[number] = point.threshold

    def _certify(
        self,
        plan: Plan,
        labels: Labels,
        rows: tuple[Any, Any],
        pilot: tuple[np.ndarray, np.ndarray],
        others: Any,
    ) -> None:
        """Replace the operating points by ones that the held-out labels prove; `others` are scores
        like theirs, `rows` all rows of the fit, as they were read and as they were given.
        """
        if not self._may_certify(plan):
            return
        X, given = rows
        kept = np.flatnonzero(plan.certifies)
        scores = self._average_scores(X[kept], safe_indexing(given, kept))
        for number, (name, target) in enumerate(
            zip(self.operating_points_, plan.targets, strict=True)
        ):
            if target.is_constrained:
                sign = labels.sign(1 if scores.shape[1] == 1 else number)[plan.certifies]
                is_enough = others is not None and len(others) >= len(sign)
                point = certify(
                    scores[:, number],
                    sign,
                    target,
                    confidence=self.confidence or 0.9,
                    reference=others[:, number] if is_enough else None,
                    pilot=(pilot[0][:, number], pilot[1][:, number]),
                )
                self.operating_points_[name] = point
                self.threshold_[number] = point.threshold

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """From the scores of the average, (n, c), to what `decision_function` returns."""
        if self._has_target or len(self.classes_) == 2:
            return super()._decide(scores)
        return combine(scores, len(self.classes_), "ovr")

    def _why_no_probabilities(self) -> str:
        return ""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, calibrated on out-of-fold scores.

        With more than two classes `predict` returns the most probable one, unless there is a
        minimum precision or recall, costs or class weights. With two classes it accepts rows above
        `threshold_`, whose probability need not be 0.5. None of these changes the probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows, of the kind that was fitted.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        scores = self._raw_scores(X)
        if self._sigmoids is not None:
            return probabilities_of(scores, self._sigmoids)
        return softmax(self._slope * _both(scores), axis=1)
