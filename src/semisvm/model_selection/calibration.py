"""Probabilities from out-of-fold scores, with unlabeled rows.

scikit-learn's `CalibratedClassifierCV` takes its classes from all of y. With unlabeled rows in y
the marker -1 becomes a class: a two-class model has one column of scores, which is then fitted to
the wrong class, and the probabilities of the first class come out as 1 for every row. For that
reason the splitters of this package refuse to work inside it.

`SemiSupervisedCalibratedClassifierCV` does it in two steps that leave the marker out:
`cross_fit_scores` gives the out-of-fold scores of the labeled rows, and scikit-learn's own
calibrators are fitted to these scores.

`fit_sigmoid` is Platt's sigmoid alone, for callers that have out-of-fold scores and keep no
calibrator.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable

from semisvm.labels import Labels, encode, refuse_marker_as_class
from semisvm.model_selection.cross_fit import cross_fit_scores, refuse_marker_among_classes
from semisvm.model_selection.scoring import LabelsAndScoresMixin
from semisvm.model_selection.splitters import SemiSupervisedKFold
from semisvm.sklearn_private import HasMethods, StrOptions, fit_context, num_samples

MOST_FOLDS = 5
PROBABLE = 1e-9, 1 - 1e-9  # where the search for a sigmoid may begin
# Widths of the classes (`usual_range`) from a median on, beyond which a score is far out. With 1, 2
# and 3 a score of 18 among scores below 2 left the probabilities a range of .73, .66 and .61 in
# place of .05. 2 is between: less cuts more of ordinary scores, which was not measured.
FAR_OUT = 2.0


class SemiSupervisedCalibratedClassifierCV(
    LabelsAndScoresMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """Probability calibration of a classifier of labeled and unlabeled rows.

    The classifier is fitted on all rows. In addition, it is cross-validated on the labeled rows,
    and a calibrator is fitted to the out-of-fold scores. If every row has a label, this is the same
    as `CalibratedClassifierCV(ensemble=False)`.

    Parameters
    ----------
    estimator : classifier
        A classifier with `decision_function`; it is cloned.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        The calibrator, as in scikit-learn's `CalibratedClassifierCV`. "isotonic" needs many labels
        (about 1000), "temperature" scikit-learn 1.8 or newer.
    cv : int, splitter, iterable of (train, test) or None, default=None
        A splitter or splits that test every labeled row once. An int k means
        `SemiSupervisedKFold(k)`. None means five folds, or fewer if a class has fewer labeled rows.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows; see `semisvm.labels`. The estimator must use the same
        one.

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
    n_features_in_ : int
        The number of features, if `estimator_` has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of the features, if X has feature names.

    See Also
    --------
    semisvm.model_selection.cross_fit_scores : The out-of-fold scores only.
    sklearn.calibration.CalibratedClassifierCV : The same if every row has a label.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import SupervisedSVC
    >>> from semisvm.model_selection import SemiSupervisedCalibratedClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> y[100:] = -1  # all but a hundred labels are hidden
    >>> model = SemiSupervisedCalibratedClassifierCV(SupervisedSVC()).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "decision_function"])],
        "method": [StrOptions({"sigmoid", "isotonic", "temperature"})],
        "cv": ["cv_object"],
        "unlabeled": "no_validation",
    }

    def __init__(
        self, estimator: Any, *, method: str = "sigmoid", cv: Any = None, unlabeled: Any = -1
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.unlabeled = unlabeled

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier on all rows and the calibrator on out-of-fold scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one. For scikit-learn tools that take such a
            target, see :doc:`/scikit-learn`.
        sample_weight : array-like of shape (n_samples,), optional
            One weight per row, for the classifier and for the calibrator.
        groups : array-like of shape (n_samples,), optional
            Passed on to `cv.split`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)
        refuse_marker_among_classes(self.estimator_, self.unlabeled)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else num_samples(X))
        cv = self._splitter(labels)
        scores = cross_fit_scores(
            self.estimator, X, y, cv=cv, groups=groups, sample_weight=sample_weight
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        tested = np.flatnonzero(
            labels.is_labeled & ~np.isnan(scores.reshape(len(scores), -1)[:, 0])
        )
        weight = None if sample_weight is None else np.asarray(sample_weight)[tested]
        self.calibrator_ = fit_calibrator(
            scores[tested],
            labels.decode(labels.codes[tested]),
            self.estimator_.classes_,
            method=self.method,
            sample_weight=weight,
        )
        self.classes_ = self.estimator_.classes_
        self.out_of_fold_scores_ = scores
        return self

    def _splitter(self, labels: Labels) -> Any:
        if self.cv is not None and not isinstance(self.cv, Integral):
            return check_cv(self.cv)
        n_splits = max(2, min(MOST_FOLDS, labels.rarest[1])) if self.cv is None else int(self.cv)
        return SemiSupervisedKFold(n_splits, unlabeled=self.unlabeled)

    def _why_no_probabilities(self) -> str:
        return ""

    def _probabilities(self, X: Any) -> np.ndarray:
        refuse_marker_as_class(self.unlabeled)
        scores = _as_features(self.estimator_.decision_function(X))
        in_order = np.searchsorted(self.calibrator_.classes_, self.classes_)
        return self.calibrator_.predict_proba(scores)[:, in_order]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return calibrated scores: probabilities, or with two classes their difference.

        The uncalibrated scores are those of `estimator_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the probability of the second minus that of the first, positive where
            the second is predicted; with more, the probabilities.
        """
        probabilities = self.predict_proba(X)
        if len(self.classes_) == 2:
            return probabilities[:, 1] - probabilities[:, 0]
        return probabilities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.pairwise = inner.sparse, inner.pairwise
        tags.input_tags.allow_nan = inner.allow_nan
        return tags


def fit_calibrator(
    scores: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    *,
    method: str = "sigmoid",
    sample_weight: Any = None,
) -> Any:
    """Fit scikit-learn's calibrators to scores, (n,) or (n, n_classes), by fits that have not seen
    the labels y: a classifier whose features are scores. scikit-learn sorts its classes, whatever
    the order of `classes`.
    """
    from sklearn.calibration import CalibratedClassifierCV

    # Two folds of a classifier that learns nothing: the calibrators get the scores as they are.
    calibrator = CalibratedClassifierCV(_GivenScores(classes), method=method, cv=2, ensemble=False)
    with config_context(enable_metadata_routing=False):  # the weights are for the calibrators
        return calibrator.fit(_as_features(scores), y, sample_weight=sample_weight)


def _as_features(scores: np.ndarray) -> np.ndarray:
    return np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its scores, for scikit-learn's calibrators."""

    def __init__(self, classes: np.ndarray):
        self.classes = classes

    def fit(self, scores: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Self:
        self.classes_ = np.sort(self.classes)
        return self

    def decision_function(self, scores: np.ndarray) -> np.ndarray:
        order = np.argsort(self.classes)
        if scores.shape[1] == 1:
            return scores[:, 0] if order[0] == 0 else -scores[:, 0]
        return scores[:, order]

    predict = decision_function  # never called: scikit-learn looks whether it is there


def fit_sigmoid(
    scores: np.ndarray,
    sign: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    steepest: float | None = None,
) -> tuple[float, float]:
    """Return slope and offset of P(positive | s) = 1 / (1 + exp(-(slope s + offset))), by Platt.

    They maximize the likelihood of smoothed targets, (n+ + 1) / (n+ + 2) for positives and 1 / (n-
    + 2) for negatives, where a row counts by its weight. The slope is not negative, so that a
    higher score is never less probable, and at most `steepest` per standard deviation of the
    scores. A single score far from all others would flatten the sigmoid, because its loss grows
    with its distance: scores beyond `usual_range` count as its ends. (J. Platt, "Probabilistic
    outputs for support vector machines and comparisons to regularized likelihood methods",
    Advances in Large Margin Classifiers, 1999.)
    """
    from scipy.optimize import minimize

    weight = np.ones(len(scores)) if weight is None else weight
    scores = np.clip(scores, *usual_range(scores, sign, weight))
    n_positive = float(weight[sign > 0].sum())
    n_negative = float(weight[sign < 0].sum())
    target = np.where(
        sign > 0, (n_positive + 1) / (n_positive + 2), 1 - (n_negative + 1) / (n_negative + 2)
    )
    share = weight / weight.sum()
    center = float(share @ scores)
    # The squares of huge scores would overflow.
    largest = float(np.abs(scores - center).max()) or 1.0
    scale = largest * float(np.sqrt(share @ ((scores - center) / largest) ** 2)) or 1.0
    z = (scores - center) / scale

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        u = parameters[0] * z + parameters[1]
        residual = share * (expit(u) - target)
        return float(share @ (np.logaddexp(0, u) - target * u)), np.array(
            [residual @ z, residual.sum()]
        )

    start = [0.0, logit(np.clip(share @ target, *PROBABLE))]
    within = [(0, steepest), (None, None)]
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=within,
        options={"ftol": 1e-12, "gtol": 1e-8},
    )
    slope = float(found.x[0] / scale)
    return slope, float(found.x[1] - slope * center)


def fit_sigmoids(decisions: np.ndarray, labels: Labels, weight: np.ndarray) -> np.ndarray:
    """Slope and offset of each sigmoid: (1, 2) for decisions (n,) of two classes, (n_classes, 2)
    for (n, n_classes).
    """
    positives = [1] if labels.n_classes == 2 else range(labels.n_classes)
    columns = zip(positives, decisions.reshape(len(decisions), -1).T, strict=True)
    return np.array([fit_sigmoid(scores, labels.sign(k), weight) for k, scores in columns])


def usual_range(scores: np.ndarray, sign: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the ends beyond which a score says no more than the end itself.

    They are FAR_OUT widths below the lower and above the higher of the two classes' medians, where
    the width is the largest of their interquartile ranges and the distance of their medians. So
    rows of the rarer class, and labels that are wrong, are inside.
    """
    quartiles = [
        _quartiles(scores[mask], weight[mask])
        for mask in ((sign > 0) & (weight > 0), (sign < 0) & (weight > 0))
        if mask.any()
    ]
    medians = [middle for _, middle, _ in quartiles]
    width = max(max(high - low for low, _, high in quartiles), max(medians) - min(medians))
    if not 0 < width < np.inf:
        return -np.inf, np.inf
    return min(medians) - FAR_OUT * width, max(medians) + FAR_OUT * width


def _quartiles(scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The scores below which a quarter, half and three quarters of the weight lie."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weight[order])
    places = np.searchsorted(reached, np.array([0.25, 0.5, 0.75]) * reached[-1])
    return scores[order[np.minimum(places, len(order) - 1)]]


def probabilities_of(scores: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """One column per class, from scores (n, n_problems) by their sigmoids (n_problems, 2)."""
    positive = expit(scores * sigmoids[:, 0] + sigmoids[:, 1])
    if positive.shape[1] == 1:
        return np.hstack([1 - positive, positive])
    total = positive.sum(axis=1, keepdims=True)
    return np.divide(
        positive, total, out=np.full_like(positive, 1 / positive.shape[1]), where=total > 0
    )
