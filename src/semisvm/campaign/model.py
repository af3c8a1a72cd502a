"""The model of a campaign: its scores for one class, and a classifier with a new threshold.

With two classes the score is that of `decision_function`, or the probability of the positive class.
With more it is the difference between the positive class and the best other class: above 0 exactly
where the positive class wins.

`ThresholdClassifier` is the model with a certified threshold. This module needs scikit-learn, and a
campaign about plain scores does not: it is imported where a model is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from semisvm.campaign.plan import find_pos_label
from semisvm.campaign.state import digest_of_accepted, require_point
from semisvm.decision import OperatingPoint
from semisvm.labels import encode, refuse_marker_as_class
from semisvm.model_selection import SemiSupervisedKFold, cross_fit_scores
from semisvm.model_selection.scoring import LabeledRowsScoreMixin
from semisvm.sklearn_private import available_unless

FOLDS_OF_CALIBRATION = 5


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
    """Return the scores of rows by a fitted classifier, and the name of the method that gave
    them.
    """
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X)), name
    raise TypeError(
        f"{type(model).__name__} has neither decision_function nor predict_proba, so its rows have"
        " no scores. Pass scores to Campaign yourself, or use a classifier that has one of them."
    )


def calibration_of(
    model: Any, pos_label: Any, training: tuple[Any, Any] | None, method: str
) -> Any:
    """Return scores and signs of labeled rows by fits that had not seen their labels; None where
    there are none.
    """
    if training is not None:
        X, y = training
        marker = getattr(model, "unlabeled", -1)
        cv = SemiSupervisedKFold(
            FOLDS_OF_CALIBRATION, shuffle=True, random_state=0, unlabeled=marker
        )
        raw = cross_fit_scores(model, X, y, cv=cv, method=method)
        labels = encode(y, unlabeled=marker, n_rows=len(raw))
        is_tested = labels.is_labeled & ~np.isnan(raw.reshape(len(raw), -1)[:, 0])
        known = labels.decode(labels.codes[is_tested])
        classes = model.classes_[np.isin(model.classes_, labels.classes)]  # in the model's order
        scores = scores_for_class(raw[is_tested], classes, pos_label)
        return scores, np.where(known == pos_label, 1, -1)
    if hasattr(model, "_out_of_fold_calibration"):
        return model._out_of_fold_calibration(pos_label)
    calibrated: Any = getattr(model, "calibration_scores_", None)
    points: Any = getattr(model, "operating_points_", None)
    has_scores = isinstance(calibrated, dict) and pos_label in calibrated
    if not has_scores or not points or len(model.classes_) > 2:
        return None
    threshold = points[pos_label].threshold
    sign = np.asarray(model.calibration_sign_[pos_label])
    if not np.isfinite(threshold) or len(np.unique(sign)) < 2:
        return None
    return np.asarray(calibrated[pos_label]) - threshold, sign


def _why_inner_has_no(name: str) -> Callable[[Any], str]:
    """What the inner classifier says of a method that it does not have; empty where it has it."""

    def reason(model: Any) -> str:
        try:
            getattr(getattr(model, "estimator_", model.estimator), name)
        except AttributeError as error:
            return str(error.__cause__ or error)
        return ""

    return reason


class ThresholdClassifier(
    LabeledRowsScoreMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """Classifier that predicts the positive class for rows with a score above a given threshold.

    `model.with_threshold(point)` wraps a fitted model with a certified threshold, ready to predict.
    `fit` fits the wrapped classifier again and keeps the threshold, but not its certificate.

    Parameters
    ----------
    estimator : classifier
        A classifier with `decision_function` or `predict_proba`.
    threshold : float, default=0.0
        Rows with a score above it are accepted. With two classes the score is that of
        `decision_function`, or the probability of the positive class; with more it is the
        difference between the positive class and the best other class.
    pos_label : label, default=None
        The positive class; by default the last one.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    operating_point_ : OperatingPoint or None
        The certificate of the threshold; None after `fit`.
    operating_points_ : dict of {class: OperatingPoint}
        The same by positive class; empty after `fit`.
    n_features_in_ : int
        The number of features, if the wrapped classifier has it.

    See Also
    --------
    Campaign : Finds a threshold that is certified.
    sklearn.model_selection.FixedThresholdClassifier : The same without an operating point, for two
    classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import SupervisedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
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
    def around(
        cls,
        model: Any,
        point: OperatingPoint | float,
        pos_label: Any = None,
        *,
        X_pool: Any = None,
    ) -> ThresholdClassifier:
        """Wrap a fitted model with a threshold.

        Parameters
        ----------
        model : classifier
            Fitted.
        point : OperatingPoint or float
            A certified operating point, or a plain threshold.
        pos_label : label, default=None
            The positive class; by default the second of two.
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            The pool of the campaign. It is scored again, because the certificate only holds for a
            model that accepts the same rows. Needed after `Campaign.load`, and if the campaign was
            started with scores.

        Returns
        -------
        ThresholdClassifier
            Ready to predict.

        Raises
        ------
        ValueError
            If the point is certified and the model is not the one that it was certified for.
        """
        check_is_fitted(model)
        require_point(point)
        if not isinstance(point, OperatingPoint):
            return cls(model, float(point), pos_label)._learn(model, None)
        if not point.reached:
            raise ValueError(
                "This operating point missed its target: label more rows, or pass a plain"
                " threshold."
            )
        around = cls(model, point.threshold, pos_label)._learn(model, replace(point, X_pool=None))
        if point.sampling is not None:
            around._require_pool(point.sampling.digest, point.X_pool if X_pool is None else X_pool)
        return around

    def _require_pool(self, digest: str, X_pool: Any) -> None:
        """ValueError if the model does not accept the rows of the pool that were certified."""
        instead = "or pass point.threshold, a plain threshold without a certificate."
        if X_pool is None:
            raise ValueError(
                "A certificate holds only for the model that the campaign began with, which can't"
                f" be checked without the rows of the pool: pass X_pool, {instead}"
            )
        raw, _ = response_of(self.estimator_, X_pool)
        scores = scores_for_class(raw, self.classes_, self._positive_class())
        if digest_of_accepted(scores, self.threshold) != digest:
            raise ValueError(
                "This operating point was certified for another model, other rows or another"
                " pos_label: this model accepts other rows of the pool. Use the model that the"
                f" campaign began with, {instead}"
            )

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the wrapped classifier; the threshold is kept, its certificate is not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; unlabeled rows need a marker that the classifier supports (see
            :doc:`/scikit-learn`).
        **fit_params : dict
            Passed on to the `fit` of the wrapped classifier.

        Returns
        -------
        self : object
            The fitted estimator.
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

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores with the threshold subtracted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for the second class; with more, the largest wins.
        """
        check_is_fitted(self)
        refuse_marker_as_class(self.unlabeled)
        label = self._positive_class()
        scores, _ = response_of(self.estimator_, X)
        if len(self.classes_) == 2:
            ahead = scores_for_class(scores, self.classes_, label) - self.threshold
            return ahead if label == self.classes_[1] else -ahead
        scores = np.array(scores, dtype=np.float64)
        scores[:, self.classes_ == label] -= self.threshold
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The positive class for rows above the threshold, else the best of the other classes.
        """
        scores = self.decision_function(X)
        if scores.ndim > 1:
            return self.classes_[scores.argmax(axis=1)]
        # A row exactly at the threshold is not accepted, whichever class is the positive one.
        is_second = scores > 0 if self._positive_class() == self.classes_[1] else scores >= 0
        return self.classes_[is_second.astype(np.intp)]

    @available_unless(_why_inner_has_no("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the wrapped classifier, which do not depend on the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_unless(_why_inner_has_no("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities of the wrapped classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    def _positive_class(self) -> Any:
        return (
            self.classes_[-1]
            if self.pos_label is None
            else find_pos_label(self.classes_, self.pos_label)
        )

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


def certified_around(model: Any, point: OperatingPoint, pos_label: Any) -> ThresholdClassifier:
    """Put a certified threshold around a model that is known to be the certified one: its file has
    the digest that it had.
    """
    return ThresholdClassifier(model, point.threshold, pos_label)._learn(model, point)
