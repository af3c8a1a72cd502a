"""What all classifiers here share: `fit`, a target with unlabeled rows, and labels from scores."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.engine.dask_rows import is_dask, map_lazily
from semisvm.engine.device import on_host
from semisvm.engine.parallel import libraries_on_one_thread
from semisvm.labels import Labels, ScoredOnLabels, encode
from semisvm.sklearn_private import (
    check_sample_weight,
    fit_context,
)

from ._binary import winning_codes

WHOEVER_CALLED_FIT = 6  # as the `stacklevel` of a warning in a method that `_learn` calls


class SemiSupervisedMixin(ScoredOnLabels):
    """`fit`, scores, labels and accuracy of a classifier that has

    _learn(X, y, sample_weight)   sets the learned attributes, whose names end with "_"
    _checked(X, reset)            the rows as it takes them
    _decide(X)                    their decision values, (n,) or (n, n_classes)
    """

    classes_: np.ndarray

    @libraries_on_one_thread()
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel matrix between them.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 0 removes a row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        learner = object.__new__(type(self))
        learner.__dict__ = {k: v for k, v in vars(self).items() if not k.endswith("_")}
        learner._learn(X, y, sample_weight)
        self.__dict__ = learner.__dict__  # all at once: a fit that fails leaves the model whole
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        raise NotImplementedError

    def _checked(self, X: Any, *, reset: bool) -> Any:
        raise NotImplementedError

    def _decide(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Return signed scores; the largest wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel values between them and the
            training rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score per row, positive for the second class; else one per row and
            class.
        """
        check_is_fitted(self)
        if is_dask(X):
            n_columns = None if len(self.classes_) == 2 else len(self.classes_)
            return map_lazily(self.decision_function, X, n_columns, np.float64)
        return self._decide(self._checked(X, reset=False))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, as in `decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        if is_dask(X):
            return map_lazily(self.predict, X, None, self.classes_.dtype)
        return self.classes_[winning_codes(self.decision_function(X))]


def read_target(svm: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Labels, np.ndarray]:
    """Labels and weights of checked rows, of which every class has one in use."""
    labels = encode(on_host(y), unlabeled=svm.unlabeled, n_rows=X.shape[0])
    weight = check_sample_weight(on_host(sample_weight), X, dtype=np.float64)
    weight = np.maximum(weight, 0.0)  # as in scikit-learn's SVC
    used = np.bincount(labels.codes[(weight > 0) & labels.is_labeled], minlength=labels.n_classes)
    if not used.any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    if np.count_nonzero(used) == 1:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class."
        )
    if not used.all():
        name = labels.classes.tolist()[int(used.argmin())]
        raise ValueError(f"No row of class {name!r} has a positive sample_weight.")
    return labels, weight


def read_costs(costs: Any, classes: np.ndarray) -> np.ndarray:
    """What mistaking a row of each class costs, (K,): every class is named, no class is free."""
    names = classes.tolist()
    if costs is None:
        return np.ones(len(names))
    if set(costs) != set(names):
        missing = [name for name in names if name not in costs]
        unknown = [name for name in costs if name not in names]
        raise ValueError(
            f"costs must name each class once: classes are {names}; missing {missing}, not a class"
            f" {unknown}."
        )
    try:
        values = np.array([costs[name] for name in names], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be a number for each class, got {costs}.") from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"costs must be positive and finite, got {costs}: leave out the rows of a class that"
            " is free."
        )
    return values
