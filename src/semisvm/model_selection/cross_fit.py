"""Out-of-fold scores: each labeled row is scored by a fit that has not seen its label.

So every label is used both for training and for evaluation, which thresholds and calibration need
where labels are few. scikit-learn's `cross_val_predict` refuses every splitter that leaves a row
untested, and unlabeled rows are never tested.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from semisvm.labels import encode, find_labeled
from semisvm.model_selection.split import as_split
from semisvm.sklearn_private import num_samples, safe_split

SMALLEST_PROBABILITY = 1e-300  # so that log-odds stay finite


def cross_fit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    method: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    unlabeled: Any = -1,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return out-of-fold scores of the labeled rows.

    Parameters
    ----------
    estimator : classifier
        A classifier of labeled and unlabeled rows, cloned and fitted once per fold.
    X : {array-like, sparse matrix, DataFrame, list} of n_samples rows
        The rows; of a precomputed kernel, the columns are split too.
    y : array-like of shape (n_samples,)
        The labels; `unlabeled` marks rows without one.
    cv : int, splitter or None, default=None
        A splitter that tests no row twice. None or an int: five or that many stratified, shuffled
        folds, or fewer if a class has fewer labels.
    method : str, default=None
        The method that scores rows, such as "predict_proba" or "predict". None:
        `decision_function`, or the log-odds of classifiers that only have probabilities.
    sample_weight : array-like of shape (n_samples,), default=None
        One weight per row, passed on to `fit`.
    groups : array-like of shape (n_samples,), default=None
        The group of each row, passed on to the splitter.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows.
    random_state : int, default=None
        Seed of the shuffle; pass an int for reproducible results.
    n_jobs : int, default=None
        Number of folds that are fitted in parallel, as in scikit-learn.

    Returns
    -------
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The out-of-fold scores; NaN for rows that are never tested.

    See Also
    --------
    semisvm.threshold.choose_threshold : A threshold from these scores.
    SemiSupervisedCalibratedClassifierCV : Probabilities from these scores.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import SupervisedSVC
    >>> from semisvm.model_selection import cross_fit
    >>> X = np.array([[0.0], [0.2], [0.9], [1.0], [0.5]])
    >>> y = np.array([0, 0, 1, 1, -1])
    >>> cross_fit(SupervisedSVC(), X, y, random_state=0).round(1)
    array([-0.7, -0.8,  0.9,  0.9,  nan])
    """
    n_rows = num_samples(X)
    labels = encode(y, unlabeled=unlabeled, n_rows=n_rows)
    cv = as_split(cv, labels, unlabeled=unlabeled, random_state=random_state)
    folds = list(cv.split(X, y, groups))
    if len(set(tested := np.concatenate([test for _, test in folds]).tolist())) < len(tested):
        raise ValueError(f"{cv.cv!r} tests rows more than once: cross_fit needs folds.")

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model = fit_on(estimator, X, y, train, sample_weight)
        refuse_marker_among_classes(model, unlabeled)
        rows = safe_split(model, X, None, test, train)[0]
        found = scores_of(model, rows) if method is None else getattr(model, method)(rows)
        return np.asarray(found), model.classes_

    found = Parallel(n_jobs)(delayed(fit_and_score)(*fold) for fold in folds)
    first, classes = found[0]
    dtype = object if first.dtype.kind in "OU" else np.float64  # predicted names, or numbers
    scores = np.full((n_rows, *first.shape[1:]), np.nan, dtype)
    for (_, test), (values, known) in zip(folds, found, strict=True):
        if not np.array_equal(known, classes):
            raise ValueError("Folds were fitted on different classes: stratify the folds.")
        scores[test] = values
    return scores


def fit_on(estimator: Any, X: Any, y: Any, rows: np.ndarray, sample_weight: Any = None) -> Any:
    """A clone that was fitted on some of the rows."""
    estimator = clone(estimator)
    X_train, y_train = safe_split(estimator, X, y, rows)
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[rows]}
    return estimator.fit(X_train, y_train, **weights)


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Decision values, or the log-odds of a classifier that only has probabilities."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    log_p = np.log(np.maximum(model.predict_proba(X), SMALLEST_PROBABILITY))
    return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p


def refuse_marker_among_classes(model: Any, unlabeled: Any) -> None:
    """Raise ValueError for a classifier that took the marker of unlabeled rows for a class."""
    is_label = find_labeled(model.classes_, unlabeled=unlabeled)
    if not is_label.all():
        marker = np.asarray(model.classes_)[~is_label].tolist()[0]
        raise ValueError(
            f"{type(model).__name__} counts the marker of unlabeled rows, {marker!r}, as a class:"
            " use an estimator that knows unlabeled rows, or give it the labeled rows alone."
        )
