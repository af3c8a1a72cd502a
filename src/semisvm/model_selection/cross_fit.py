"""Out-of-fold scores: each labeled row scored by a fit that has not seen its label.

scikit-learn's `cross_val_predict` refuses any splitter that leaves a row untested, and unlabeled rows are never
tested; this function stands in for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from semisvm.sklearn_private import num_samples, safe_split


def cross_fit_scores(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any,
    method: str = "decision_function",
    groups: Any = None,
    sample_weight: Any = None,
) -> np.ndarray:
    """Score each labeled row by a fit that has not seen its label.

    Every label serves twice, once to train and once to judge, which is what thresholds and
    calibration need where labels are few.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted once a fold; a pairwise one (a precomputed kernel) gets X's columns split too.
    X, y, groups, sample_weight
        As for `fit` and `cv.split`; `sample_weight` has one weight for each row.
    cv : splitter
        One that tests every labeled row once: `SemiSupervisedKFold` or `SemiSupervisedGroupKFold`.
    method : {"decision_function", "predict_proba", "predict_log_proba"}
        What scores a row.

    Returns
    -------
    scores : ndarray of shape (n,) or (n, k)
        What `method` gives on each tested row; NaN on rows that `cv` never tests.
    """
    if method not in ("decision_function", "predict_proba", "predict_log_proba"):
        raise ValueError(f"method={method!r} gives no scores; use 'decision_function' or 'predict_proba'.")
    folds = list(cv.split(X, y, groups))
    tested, n_times = np.unique(np.concatenate([test for _, test in folds]), return_counts=True)
    if n_times.max() > 1:
        raise ValueError(
            f"{type(cv).__name__} tests row {tested[n_times > 1][0]} more than once: use SemiSupervisedKFold."
        )
    parts = [_fit_and_score(clone(estimator), X, y, train, test, method, sample_weight) for train, test in folds]
    if any(not np.array_equal(classes, parts[0][0]) for classes, _ in parts):
        raise ValueError("Folds were fitted on different classes: use a splitter with stratify=True.")
    scores = np.full((num_samples(X), *parts[0][1].shape[1:]), np.nan)
    for (_, test), (_, scores_of_test) in zip(folds, parts, strict=True):
        scores[test] = scores_of_test
    return scores


def _fit_and_score(
    estimator: Any, X: Any, y: Any, train: np.ndarray, test: np.ndarray, method: str, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Fit on `train`; give the classes seen there, and the scores of `test`."""
    X_train, y_train = safe_split(estimator, X, y, train)
    X_test, _ = safe_split(estimator, X, y, test, train)
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[train]}
    estimator.fit(X_train, y_train, **weights)
    return estimator.classes_, getattr(estimator, method)(X_test)
