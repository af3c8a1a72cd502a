"""Probabilities from out-of-fold scores, with unlabeled rows.

scikit-learn's `CalibratedClassifierCV` takes its classes from all of y, the marker of unlabeled
rows too. Here the out-of-fold scores of the labeled rows come from `cross_fit`, and scikit-learn's
own calibrators are fitted to them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from semisvm.labels import ScoredOnLabels, encode
from semisvm.model_selection.cross_fit import (
    cross_fit,
    fit_on,
    refuse_marker_among_classes,
    scores_of,
)
from semisvm.sklearn_private import HasMethods, StrOptions, fit_context, num_samples


class SemiSupervisedCalibratedClassifierCV(MetaEstimatorMixin, ScoredOnLabels, BaseEstimator):
    """Probability calibration of a classifier of labeled and unlabeled rows.

    The classifier is fitted on all rows. In addition, it is cross-validated on the labeled rows,
    and a calibrator is fitted to the out-of-fold scores. If every row has a label, this is the same
    as `CalibratedClassifierCV(ensemble=False)`.

    Parameters
    ----------
    estimator : classifier
        A classifier with `decision_function`, or with `predict_proba`; it is cloned.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        The calibrator, as in scikit-learn's `CalibratedClassifierCV`. "isotonic" needs many labels
        (about 1000), "temperature" scikit-learn 1.8 or newer.
    cv : int, splitter or None, default=None
        A splitter that tests every labeled row once. None or an int: five or that many stratified,
        shuffled folds, or fewer if a class has fewer labels.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows; the estimator must use the same one.
    random_state : int, default=None
        Seed of the shuffle of the folds; pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, without the marker of unlabeled rows.
    estimator_ : classifier
        The estimator, fitted on all rows.
    calibrator_ : CalibratedClassifierCV
        The calibrator, whose only features are scores.
    out_of_fold_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The scores that the calibrator was fitted to; NaN for unlabeled rows.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features and their names, if `estimator_` has them.

    See Also
    --------
    cross_fit : The out-of-fold scores only.
    sklearn.calibration.CalibratedClassifierCV : The same if every row has a label.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import SemiSupervisedCalibratedClassifierCV, SupervisedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> y[100:] = -1  # all but a hundred labels are hidden
    >>> model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC(), random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
        ],
        "method": [StrOptions({"sigmoid", "isotonic", "temperature"})],
        "cv": ["cv_object"],
        "unlabeled": "no_validation",
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "sigmoid",
        cv: Any = None,
        unlabeled: Any = -1,
        random_state: int | None = None,
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.unlabeled = unlabeled
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier on all rows and the calibrator on out-of-fold scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one.
        sample_weight : array-like of shape (n_samples,), default=None
            One weight per row, for the classifier and for the calibrator.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a splitter that takes groups.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        n_rows = num_samples(X)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=n_rows)
        model = fit_on(self.estimator, X, y, np.arange(n_rows), sample_weight)
        refuse_marker_among_classes(model, self.unlabeled)
        scores = cross_fit(
            self.estimator,
            X,
            y,
            cv=self.cv,
            sample_weight=sample_weight,
            groups=groups,
            unlabeled=self.unlabeled,
            random_state=self.random_state,
        )
        tested = np.flatnonzero(labels.is_labeled & ~np.isnan(_as_features(scores)[:, 0]))
        weight = None if sample_weight is None else np.asarray(sample_weight)[tested]
        # Two folds of a classifier that learns nothing: the calibrator gets the scores as they are.
        calibrator = CalibratedClassifierCV(
            _GivenScores(model.classes_), method=self.method, cv=2, ensemble=False
        )
        with config_context(enable_metadata_routing=False):  # the weights are for the calibrator
            calibrator.fit(
                _as_features(scores[tested]), labels.decode(labels.codes[tested]), weight
            )
        self.estimator_, self.calibrator_ = model, calibrator
        self.classes_, self.out_of_fold_scores_ = model.classes_, scores
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

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
        return self.calibrator_.predict_proba(_as_features(scores_of(self.estimator_, X)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return calibrated scores; those before calibration are of `estimator_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the probability of the second minus that of the first; with more, the
            probabilities.
        """
        probabilities = self.predict_proba(X)
        return np.diff(probabilities)[:, 0] if len(self.classes_) == 2 else probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self.predict_proba(X).argmax(axis=1)
        return self.classes_[winners]

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if X had feature names."""
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _as_features(scores: np.ndarray) -> np.ndarray:
    return np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its scores, for scikit-learn's calibrators."""

    def __init__(self, classes: np.ndarray):
        self.classes = classes

    def fit(self, scores: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Self:
        self.classes_ = self.classes
        return self

    def decision_function(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0] if scores.shape[1] == 1 else scores

    predict = decision_function  # never called: scikit-learn looks whether it is there
