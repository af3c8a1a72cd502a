"""Scores with unlabeled rows: accuracy on the labeled rows, and the AUC of positives against
unlabeled rows.

The AUC of labeled positives against unlabeled rows is prior / 2 + (1 - prior) * (the AUC of
positives against negatives): it ranks models in the right order for any share of positives among
the unlabeled rows. But it has to be measured on unlabeled rows that were not used in training,
because a model lowers the scores of unlabeled training rows. So the folds for it
(`PositiveUnlabeledKFold`) leave out labeled and unlabeled rows alike, unlike those of
`SemiSupervisedKFold`.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from operator import methodcaller
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from semisvm.decision.without_negatives import rank_auc
from semisvm.labels import Labels, encode, find_labeled
from semisvm.primal.dask_rows import is_dask, map_lazily
from semisvm.sklearn_private import (
    DiagramMixin,
    DocumentationLinkMixin,
    VisualBlock,
    available_unless,
    num_samples,
    safe_indexing,
)


def winning_codes(decision: np.ndarray) -> np.ndarray:
    """The class index of each row: whether the score is above 0, or the largest of several."""
    return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


class LabeledRowsScoreMixin(DiagramMixin, DocumentationLinkMixin):
    """Mixin for classifiers: `score` judges the labeled rows and leaves the unlabeled ones out.

    It must come before scikit-learn's `ClassifierMixin` among the base classes. The class needs a
    parameter `unlabeled`, the marker of rows without a label.
    """

    unlabeled: Any
    predict: Callable[..., np.ndarray]

    def _keep(self, parameters: dict[str, Any]) -> None:
        """Set the parameters of the constructor, its `locals()`, as attributes."""
        del parameters["self"]
        self.__dict__.update(parameters)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The true labels. Rows with the marker `unlabeled` or a missing value are ignored.
        sample_weight : array-like of shape (n_samples,), optional
            One weight per row.

        Returns
        -------
        score : float
            The accuracy on the labeled rows.
        """
        is_labeled = find_labeled(y, unlabeled=self.unlabeled, n_rows=num_samples(X))
        if is_labeled.all():
            true = np.asarray(y)
            if true.dtype.kind == "O":  # where scikit-learn refuses numbers
                true = np.array(true.tolist())
            return accuracy_score(true, self.predict(X), sample_weight=sample_weight)
        if not is_labeled.any():
            raise ValueError(
                "score needs rows with a known label, but every row of y is unlabeled. Pass the"
                " true labels of at least some rows."
            )
        rows = np.flatnonzero(is_labeled)
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        true = np.asarray(safe_indexing(y, rows)).ravel()  # a column of labels was let pass
        predicted = self.predict(safe_indexing(X, rows))
        return float(np.average(true == predicted, weights=weight))

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it what is known of each threshold."""
        shown = super()._html_repr()  # type: ignore[misc]
        points = getattr(self, "operating_points_", None) or {}
        return shown + "".join(
            '<div class="semisvm-operating-point"><b>Operating point of class'
            f" {escape(str(name))}</b><pre>{escape(str(point))}</pre></div>"
            for name, point in points.items()
            if point is not None
        )

    @property
    def _sk_visual_block_(self) -> Any:
        """The box of a fitted estimator inside the diagram of a pipeline says what is known of its
        thresholds; an AttributeError, and so scikit-learn's own box, where there is nothing to add.
        """
        points = getattr(self, "operating_points_", None) or {}
        known = {name: point for name, point in points.items() if point is not None}
        if not known or hasattr(self, "estimator"):
            raise AttributeError("The diagram is scikit-learn's.")
        headlines = [str(point).partition("\n")[0] for point in known.values()]
        if len(known) > 1:
            headlines = [f"{name}: {line}" for name, line in zip(known, headlines, strict=True)]
        label = f"{type(self).__name__} ({'; '.join(headlines)})"
        return lambda: VisualBlock("single", self, names=label, name_details=str(self))


class LabelsAndScoresMixin(LabeledRowsScoreMixin):
    """Mixin for classifiers with `decision_function`: `predict`, and for those with probabilities
    (`_probabilities`) `predict_proba` and its logarithm.
    """

    classes_: np.ndarray
    decision_function: Callable[..., np.ndarray]

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel values between them and the
            training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        if is_dask(X):
            return map_lazily(self.predict, X, None, self.classes_.dtype)
        return self.classes_[self._predicted_codes(X)]

    def _predicted_codes(self, X: Any) -> np.ndarray:
        return winning_codes(self.decision_function(X))

    def _why_no_probabilities(self) -> str:
        """Why there is no `predict_proba`, and what to do; empty where there is."""
        name = type(self).__name__
        return (
            f"{name} has no probabilities of its own. semisvm.SemiSupervisedCalibratedClassifierCV("
            f"{name}(...)) fits them to out-of-fold scores."
        )

    @available_unless(methodcaller("_why_no_probabilities"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, if the estimator has probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel values between them and the
            training rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        if is_dask(X):
            return map_lazily(self.predict_proba, X, len(self.classes_), np.float64)
        return self._probabilities(X)

    def _probabilities(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    @available_unless(methodcaller("_why_no_probabilities"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class; see `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        probabilities = self.predict_proba(X)
        return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


def pu_auc(estimator: Any, X: Any, y: Any, *, unlabeled: Any = -1) -> float:
    """Scorer for grid searches: the AUC of the labeled positives against the unlabeled rows.

    There may be labels of a second class; the positives are then the rows of the last class in
    order, and the other labeled rows are ignored.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier with `decision_function` or `predict_proba`: a `PositiveUnlabeledSVC`, or any
        classifier that was fitted on the same target with the marker of unlabeled rows as a class.
    X : {array-like, sparse matrix} of shape (n, d)
        Rows that were not used in the fit, such as the test rows of `PositiveUnlabeledKFold`.
    y : array-like of shape (n,)
        The labels; `unlabeled` marks rows without one.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows. For another one, pass ``functools.partial(pu_auc,
        unlabeled="?")`` as `scoring`.

    Returns
    -------
    auc : float
        The probability that a positive has a higher score than an unlabeled row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from semisvm.model_selection import pu_auc
    >>> X, y = np.array([[3.0], [2.0], [1.0], [2.5], [0.0]]), np.array([1, 1, -1, -1, -1])
    >>> round(pu_auc(LogisticRegression().fit(X, y), X, y), 3)
    0.833
    """
    labels = encode(y, unlabeled=unlabeled, n_rows=num_samples(X), may_be_one_class=True)
    positive = labels.n_classes - 1
    is_positive = labels.codes == positive
    is_unlabeled = ~labels.is_labeled
    if not is_unlabeled.any():
        raise ValueError(
            "pu_auc compares positives with unlabeled rows, and y has no unlabeled row."
        )
    rows = np.flatnonzero(is_positive | is_unlabeled)
    scores = _scores_for(estimator, safe_indexing(X, rows), labels, positive)
    return rank_auc(scores[is_positive[rows]], scores[is_unlabeled[rows]])


def _scores_for(estimator: Any, X: Any, labels: Labels, positive: int) -> np.ndarray:
    """Scores that are higher for the positive class."""
    label = labels.classes.tolist()[positive]
    classes = list(estimator.classes_.tolist())
    if label not in classes:
        raise ValueError(
            f"The estimator has not learned the class {label!r}: its classes are {classes}."
        )
    code = classes.index(label)
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            return scores if code == 1 else -scores
        return scores[:, code]
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, code]
