"""What a classifier says of itself: accuracy on the rows that have a label, and in notebooks its operating points."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from semisvm.labels import find_labeled
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import num_samples, safe_indexing


class LabeledRowsScoreMixin:
    """Mixin for classifiers: `score` judges the labeled rows and leaves the unlabeled ones out.

    It must come before scikit-learn's `ClassifierMixin` among the base classes. The class needs a parameter
    `unlabeled`, the marker of rows without a label.
    """

    unlabeled: Any

    @with_shared_docs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labeled rows.

        Parameters
        ----------
        %(rows)s
        y : array-like of shape (n_samples,)
            The true label of each row. Rows with the marker `unlabeled` or a missing value are left out.
        sample_weight : array-like of shape (n_samples,), optional
            One weight per row.

        Returns
        -------
        score : float
            The share of labeled rows that are predicted correctly.
        """
        return accuracy_on_labeled_rows(self, X, y, sample_weight=sample_weight, unlabeled=self.unlabeled)

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, and below it what is known of each threshold."""
        shown = super()._html_repr()  # type: ignore[misc]
        points = getattr(self, "operating_points_", None) or {}
        return shown + "".join(
            f'<div class="semisvm-operating-point"><b>Operating point of class {escape(str(name))}</b>'
            f"<pre>{escape(str(point))}</pre></div>"
            for name, point in points.items()
            if point is not None
        )


def accuracy_on_labeled_rows(
    classifier: Any, X: Any, y: Any, *, sample_weight: Any = None, unlabeled: Any = -1
) -> float:
    """Return the accuracy of a fitted classifier on the rows of `y` that have a label.

    Parameters
    ----------
    classifier : fitted classifier
        With `predict`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The true label of each row, with a marker where it is not known.
    sample_weight : array-like of shape (n_samples,), optional
        One weight per row.
    unlabeled : number, string or None, default=-1
        The marker of rows without a label; see `semisvm.labels`.

    Returns
    -------
    score : float
        The share of labeled rows that are predicted correctly.

    Raises
    ------
    ValueError
        Where no row has a label.
    """
    is_labeled = find_labeled(y, unlabeled=unlabeled, n_rows=num_samples(X))
    if is_labeled.all():
        return accuracy_score(y, classifier.predict(X), sample_weight=sample_weight)
    if not is_labeled.any():
        raise ValueError(
            f"score needs rows with a known label, but all {len(is_labeled)} rows of y are unlabeled. Pass the true "
            "labels of at least some rows."
        )
    rows = np.flatnonzero(is_labeled)
    weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
    is_right = np.asarray(safe_indexing(y, rows)) == classifier.predict(safe_indexing(X, rows))
    return float(np.average(is_right, weights=weight))
