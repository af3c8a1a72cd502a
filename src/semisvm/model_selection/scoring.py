"""Scorers for targets with unlabeled rows, on which nothing can be measured."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.metrics import get_scorer

from semisvm.labels import encode
from semisvm.sklearn_private import num_samples, safe_indexing


def make_labeled_scorer(scoring: Any, *, unlabeled: Any = -1) -> LabeledScorer:
    """Return a scorer that leaves the unlabeled rows out, for scikit-learn's tools.

    Parameters
    ----------
    scoring : str or callable
        Scorer for the labeled rows: a name of :func:`sklearn.metrics.get_scorer_names`, a scorer of
        :func:`sklearn.metrics.make_scorer`, or another function of (estimator, X, y).
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.

    Returns
    -------
    scorer : LabeledScorer
        A scorer to pass as `scoring` to :func:`~sklearn.model_selection.cross_val_score`,
        :class:`~sklearn.model_selection.GridSearchCV` and other tools of scikit-learn.

    See Also
    --------
    SemiSupervisedSplit : Tests on labeled rows only, so that any scorer can be used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from semisvm import SupervisedSVC, make_labeled_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[150:] = -1
    >>> model = make_pipeline(StandardScaler(), SupervisedSVC())
    >>> bool(cross_val_score(model, X, y, scoring=make_labeled_scorer("roc_auc")).min() > 0.9)
    True
    """
    return LabeledScorer(scoring, unlabeled)


class LabeledScorer:
    """What `make_labeled_scorer` returns: a scorer of the labeled rows."""

    def __init__(self, scoring: Any, unlabeled: Any):
        self.scoring = scoring
        self.unlabeled = unlabeled
        self._scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        if not callable(self._scorer):
            raise ValueError(
                f"scoring must be the name of a scorer or a function of (estimator, X, y), got"
                f" {scoring!r}."
            )

    def __call__(self, estimator: Any, X: Any, y: Any, **params: Any) -> float:
        """Score the labeled rows; of parameters with one entry per row, those of labeled rows."""
        n_rows = num_samples(X)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=n_rows, may_be_one_class=True)
        rows = np.flatnonzero(labels.is_labeled)
        chosen = {
            name: safe_indexing(value, rows) if np.ndim(value) and len(value) == n_rows else value
            for name, value in params.items()
        }
        truth = labels.decode(labels.codes[rows])
        return self._scorer(estimator, safe_indexing(X, rows), truth, **chosen)

    def __repr__(self) -> str:
        marker = "" if self.unlabeled == -1 else f", unlabeled={self.unlabeled!r}"
        return f"make_labeled_scorer({self.scoring!r}{marker})"

    def set_score_request(self, **requests: Any) -> Self:
        """Say which metadata the inner scorer takes, such as ``sample_weight=True``."""
        self._scorer = self._scorer.set_score_request(**requests)
        return self

    def get_metadata_routing(self) -> Any:
        """Return the metadata that the inner scorer takes."""
        return self._scorer.get_metadata_routing()
