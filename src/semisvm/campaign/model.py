"""The model of a campaign: its scores for one class, what is known of it before the first draw, and its new threshold.

With two classes the score is that of `decision_function`, or the probability of the positive class. With more it is the
lead of the positive class over the best of the others: above 0 exactly where the class wins.

`plan_campaign` says what is frozen when a campaign begins, from the scores of the pool and what training labels say
about where to look first. Promises do not depend on how good any of this is, only on its being fixed before the first
draw. `ThresholdClassifier` is the model with what was certified.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import OperatingPoint, Target, count_all, f_score, precision
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.decision.sampling_plan import SamplingPlan, plan_sampling
from semisvm.labels import encode
from semisvm.model_selection import LabeledRowsScoreMixin, SemiSupervisedKFold, cross_fit_scores
from semisvm.shared_docs import with_shared_docs

FOLDS_OF_CALIBRATION = 5
FEWEST_ACCEPTED = 3  # rows that a precision is estimated from
ASIDE = 0.2  # of the pool sets the thresholds where the claim is about new rows
MOST_TESTED = 100  # thresholds
MARGIN_SLOPE = 2.0  # of the probability at score 0, where nothing better is known: 0.88 at a margin of 1

Calibration = tuple[np.ndarray, np.ndarray]  # scores of labeled rows, and whether each is positive


def scores_for_class(scores: np.ndarray, classes: np.ndarray, pos_label: Any) -> np.ndarray:
    """Return one score per row for one class, (n,), higher for rows that are more likely positive.

    scores    (n,) or (n, n_classes), what `decision_function` or `predict_proba` gave
    classes   (n_classes,) those of the classifier
    """
    scores = np.asarray(scores, dtype=np.float64)
    place = int(np.flatnonzero(classes == pos_label)[0])
    if scores.ndim == 1:
        return scores if place == 1 else -scores
    if scores.shape[1] == 2:
        return scores[:, place]
    return scores[:, place] - np.delete(scores, place, axis=1).max(axis=1)


def response_of(model: Any, X: Any) -> tuple[np.ndarray, str]:
    """Return the scores of rows by a fitted classifier, and the name of the method that gave them."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X)), name
    raise TypeError(
        f"{type(model).__name__} has neither decision_function nor predict_proba, so its rows have no scores. "
        "Pass scores to Campaign yourself, or use a classifier that has one of them."
    )


def find_pos_label(classes: np.ndarray, pos_label: Any) -> Any:
    """Return the positive class: the one named, or the second of two."""
    if pos_label is None:
        if len(classes) != 2:
            raise ValueError(f"There are {len(classes)} classes: say which one the target is about, by pos_label.")
        return classes[1]
    if not np.any(classes == pos_label):
        raise ValueError(f"pos_label={pos_label!r} is not a class of the model; there are {classes.tolist()}.")
    return pos_label


def plan_campaign(
    scores: np.ndarray,
    target: Target,
    confidence: float,
    claim: SamplingClaim,
    seed: bytes,
    *,
    calibration: Any,
    probabilities: Any,
    thresholds: Any,
) -> SamplingPlan:
    """Return what a campaign freezes, from the pool's scores and what else is known; see `Campaign`."""
    known = None if calibration is None else check_scores_and_sign(*calibration)
    if probabilities is None:
        chances = predict_positive(scores, known)
    else:
        chances = check_scores(probabilities, "probabilities")
        if len(chances) != len(scores) or chances.min() < 0 or chances.max() > 1:
            raise ValueError(f"probabilities must be {len(scores)} numbers from 0 to 1, one per row of the pool.")
    given = None if thresholds is None else check_scores(np.ravel(thresholds), "thresholds")
    if given is not None and len(given) > MOST_TESTED:
        raise ValueError(f"At most {MOST_TESTED} thresholds can be tested, got {len(given)}.")
    aside = None
    if claim == "new rows" and given is None:
        random = np.random.default_rng(int.from_bytes(seed, "big"))
        aside = random.permutation(len(scores)) < max(1, round(ASIDE * len(scores)))
        if aside.all():
            raise ValueError("A pool of one row is not enough for a claim about new rows.")
    return plan_sampling(
        scores,
        chances,
        target,
        1 - confidence,
        n_base=own_accepted(scores, known, target),
        thresholds=given,
        equal_draws=claim == "new rows",
        aside=aside,
    )


def predict_positive(scores: np.ndarray, known: Calibration | None) -> np.ndarray:
    """Return the chance that each row of the pool is positive: logistic in the score."""
    from sklearn.linear_model import LogisticRegression

    if known is None:
        return scores if _are_probabilities(scores) else expit(MARGIN_SLOPE * scores)
    own, is_positive = known
    center, spread = float(own.mean()), float(own.std()) or 1.0
    line = LogisticRegression().fit(((own - center) / spread)[:, None], is_positive)
    return expit(line.coef_[0, 0] * ((scores - center) / spread) + line.intercept_[0])


def own_accepted(scores: np.ndarray, known: Calibration | None, target: Target) -> int:
    """Return how many rows of the pool the threshold accepts that the labeled rows speak for.

    It is the one with the best F1 among those with the precision asked for, or else the most precise one. Without
    labeled rows it is the model's own: 0, or 0.5 where scores are probabilities.
    """
    if known is None or target.min_precision is None:
        return int((scores > (0.5 if _are_probabilities(scores) else 0.0)).sum())
    own, is_positive = known
    curve = count_all(own, np.where(is_positive, 1, -1))
    measured = np.where(curve.counts.accepted >= FEWEST_ACCEPTED, precision(curve.counts), -np.inf)
    is_enough = measured >= target.min_precision
    merit = np.where(is_enough, f_score(curve.counts), -np.inf) if is_enough.any() else measured
    return int((scores > curve.thresholds[int(np.nanargmax(merit))]).sum())


def calibration_of(model: Any, pos_label: Any, training: tuple[Any, Any] | None, method: str) -> Any:
    """Return scores and signs of labeled rows by fits that had not seen their labels; None where there are none."""
    if training is not None:
        X, y = training
        marker = getattr(model, "unlabeled", -1)
        cv = SemiSupervisedKFold(FOLDS_OF_CALIBRATION, shuffle=True, random_state=0, unlabeled=marker)
        raw = cross_fit_scores(model, X, y, cv=cv, method=method)
        labels = encode(y, unlabeled=marker, n_rows=len(raw))
        is_tested = labels.is_labeled & ~np.isnan(raw.reshape(len(raw), -1)[:, 0])
        known = labels.decode(labels.codes[is_tested])
        scores = scores_for_class(raw[is_tested], labels.classes, pos_label)
        return scores, np.where(known == pos_label, 1, -1)
    own: Any = getattr(model, "calibration_scores_", None)
    points: Any = getattr(model, "operating_points_", None)
    if not isinstance(own, dict) or pos_label not in own or not points or len(model.classes_) > 2:
        return None
    threshold, sign = points[pos_label].threshold, np.asarray(model.calibration_sign_[pos_label])
    if not np.isfinite(threshold) or len(np.unique(sign)) < 2:
        return None
    return np.asarray(own[pos_label]) - threshold, sign


def _are_probabilities(scores: np.ndarray) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)


class ThresholdClassifier(LabeledRowsScoreMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that accepts a row as positive where its score is above a given threshold.

    `model.with_threshold(point)` makes one around a fitted model: it can predict at once, with the certified threshold.
    Fitting it again fits the inner classifier again and keeps the threshold, but no promise.

    Parameters
    ----------
    estimator : classifier
        With `decision_function` or `predict_proba`.
    threshold : float, default=0.0
        Rows with a score above it are accepted. With two classes the score is that of `decision_function`, or the
        probability of the positive class; with more it is the lead of the positive class over the best other one.
    pos_label : label, default=None
        The positive class; by default the last one.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    operating_point_ : OperatingPoint or None
        What is promised of the threshold; None after `fit`.
    operating_points_ : dict of {class: OperatingPoint}
        The same under the name of the positive class; empty where there is none.
    n_features_in_ : int
        The number of features, where the inner classifier knows it.

    See Also
    --------
    Campaign : Finds a threshold that is certified.
    sklearn.model_selection.FixedThresholdClassifier : The same without an operating point, for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import SupervisedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SupervisedSVC(C=10).fit(X[:100], y[:100])
    >>> strict = model.with_threshold(1.0)
    >>> int(model.predict(X).sum()) > int(strict.predict(X).sum())
    True
    """

    def __init__(self, estimator: Any, threshold: float = 0.0, pos_label: Any = None):
        self.estimator = estimator
        self.threshold = threshold
        self.pos_label = pos_label

    @classmethod
    def around(cls, model: Any, point: OperatingPoint | float, pos_label: Any = None) -> ThresholdClassifier:
        """Put a threshold around a model that is fitted already.

        Parameters
        ----------
        model : classifier
            Fitted.
        point : OperatingPoint or float
            What a campaign certified, or a plain threshold.
        pos_label : label, default=None
            The positive class; by default the second of two.

        Returns
        -------
        ThresholdClassifier
            Ready to predict.
        """
        check_is_fitted(model)
        if not isinstance(point, OperatingPoint):
            return cls(model, float(point), pos_label)._learn(model, None)
        if not point.reached:
            raise ValueError("This operating point missed its target: label more rows, or pass a plain threshold.")
        return cls(model, point.threshold, pos_label)._learn(model, point)

    @with_shared_docs
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the inner classifier; the threshold stays, what was promised of it does not.

        Parameters
        ----------
        %(rows)s
        y : array-like of shape (n_samples,)
            The labels.
        **fit_params : dict
            Passed on to the inner `fit`.

        Returns
        -------
        %(fitted_self)s
        """
        return self._learn(clone(self.estimator).fit(X, y, **fit_params), None)

    def _learn(self, fitted: Any, point: OperatingPoint | None) -> Self:
        self.estimator_ = fitted
        self.classes_ = fitted.classes_
        label = self._positive_class()
        self.operating_point_ = point
        self.operating_points_ = {} if point is None else {label: point}
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    @with_shared_docs
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores with the threshold subtracted.

        Parameters
        ----------
        %(rows)s

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes above 0 for the second; with more, the largest wins.
        """
        check_is_fitted(self)
        label = self._positive_class()
        scores, _ = response_of(self.estimator_, X)
        if len(self.classes_) == 2:
            ahead = scores_for_class(scores, self.classes_, label) - self.threshold
            return ahead if label == self.classes_[1] else -ahead
        scores = np.array(scores, dtype=np.float64)
        scores[:, self.classes_ == label] -= self.threshold
        return scores

    @with_shared_docs
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        %(rows)s

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The positive class for rows above the threshold; for the others the class that wins among the rest.
        """
        scores = self.decision_function(X)
        if scores.ndim > 1:
            return self.classes_[scores.argmax(axis=1)]
        # A row exactly at the threshold is not accepted, whichever class is the positive one.
        is_second = scores > 0 if self._positive_class() == self.classes_[1] else scores >= 0
        return self.classes_[is_second.astype(np.intp)]

    def _positive_class(self) -> Any:
        return self.classes_[-1] if self.pos_label is None else find_pos_label(self.classes_, self.pos_label)

    @property
    def unlabeled(self) -> Any:
        """The marker of rows without a label in the inner classifier; None where it knows none."""
        return getattr(self.estimator, "unlabeled", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
