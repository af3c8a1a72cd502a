"""Cross-fitting: out-of-fold scores of the labeled rows.

    codes      (n,)   the class of each row, as a number; -1 for rows without a label
    fold       (n,)   the number of the fold that tests a row; -1 for rows that are never tested
    folds             a list of (train, test), two arrays of row indices each, as scikit-learn's
                      splitters yield them
    scores     (n,) or (n, k)   out-of-fold scores; NaN for rows that are never tested

`assign_folds` deals the labeled rows out, class by class, and `list_folds` turns the numbers of the
folds into (train, test); `cross_fit` fits once per fold and collects the scores, and
`collect_scores` collects them alone, for callers that train all folds in one batch.

`cross_fit_scores` puts the steps together for any classifier. scikit-learn's `cross_val_predict`
refuses every splitter that leaves a row untested, and unlabeled rows are never tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from semisvm.labels import find_labeled
from semisvm.sklearn_private import num_samples, safe_split

TrainTest = tuple[np.ndarray, np.ndarray]


def assign_folds(
    codes: np.ndarray,
    n_folds: int,
    *,
    rng: np.random.Generator | np.random.RandomState | None = None,
    n_draws: int = 1,
    every_class_in_every_fold: bool = False,
) -> np.ndarray:
    """Deal the labeled rows out to folds, class by class: the fold of each row, (n_draws, n).

    Dealing continues from class to class, so that the sizes of any two folds differ by at most one
    row, and so do the numbers of rows of one class in them. Rows with a negative code are never
    tested; their fold is -1.

    n_folds   lowered to the number of rows that are dealt out: each row is then a fold of its own
    rng       shuffles the rows of each class first; None: they are dealt out in their order
    n_draws   how many times folds are made
    every_class_in_every_fold   lowers the number of folds to the size of the smallest class; a
              class with a single row is then an error

    >>> assign_folds(np.array([0, 0, 1, 1, 1, -1]), 2)
    array([[ 0,  1,  0,  1,  0, -1]])
    """
    if n_folds < 1 or n_draws < 1:
        raise ValueError(f"n_folds={n_folds} and n_draws={n_draws} must be at least 1.")
    codes = np.asarray(codes)
    rows_of_class = [np.flatnonzero(codes == code) for code in np.unique(codes[codes >= 0])]
    sizes = [len(rows) for rows in rows_of_class]
    n_folds = min(n_folds, max(sum(sizes), 1))
    if every_class_in_every_fold:
        if min(sizes, default=0) < 2 or len(sizes) < 2:
            raise ValueError(
                "Out-of-fold scores need at least 2 labeled rows of each of at least 2 classes,"
                f" but the classes have {sizes} labeled rows. Label more rows."
            )
        n_folds = min(n_folds, *sizes)
    fold = np.full((n_draws, len(codes)), -1)
    for draw in fold:
        n_dealt = 0
        for rows in rows_of_class:
            draw[rows if rng is None else rng.permutation(rows)] = (
                n_dealt + np.arange(len(rows))
            ) % n_folds
            n_dealt += len(rows)
    return fold


def hide_single_rows(codes: np.ndarray) -> np.ndarray:
    """Return codes with -1 for the only row of a class: every fold then trains on every class."""
    present, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.where(counts[place] < 2, -1, present[place])


def list_folds(fold: np.ndarray) -> list[TrainTest]:
    """Turn the fold that tests each row, (n,), into one pair (train, test) per fold.

    Rows with a negative number are never tested, and train in every fold.
    """
    fold = np.asarray(fold)
    return [
        (np.flatnonzero(fold != number), np.flatnonzero(fold == number))
        for number in np.unique(fold[fold >= 0])
    ]


def cross_fit(
    folds: Iterable[TrainTest],
    fit_and_score: Callable[[np.ndarray, np.ndarray], Any],
    n_rows: int,
) -> np.ndarray:
    """Fit once per fold and collect the scores of the rows held out, (n_rows,) or (n_rows, k).

    `fit_and_score` takes `train` and `test` and returns the scores of `test`, (len(test),) or
    (len(test), k). No row may be tested twice.

    >>> values = np.array([1.0, 2.0, 3.0, 10.0])
    >>> folds = list_folds(np.array([0, 1, 0, -1]))
    >>> def mean_of_others(train, test):
    ...     return np.full(len(test), values[train].mean())
    >>> cross_fit(folds, mean_of_others, n_rows=4)
    array([6.        , 4.66666667, 6.        ,        nan])
    """
    folds = list(folds)
    _check_tested_once(folds)
    return collect_scores(folds, (fit_and_score(*fold) for fold in folds), n_rows)


def collect_scores(
    folds: Sequence[TrainTest], scores_of_folds: Iterable[Any], n_rows: int
) -> np.ndarray:
    """Put the scores of the folds in the places of their rows: for callers that train all folds in
    one batch.
    """
    scores: np.ndarray | None = None
    for number, ((_, test), found) in enumerate(zip(folds, scores_of_folds, strict=True)):
        found = np.asarray(found)
        if len(found) != len(test):
            raise ValueError(
                f"Fold {number} tests {len(test)} rows, but {len(found)} scores came back."
            )
        if scores is None:
            scores = np.full((n_rows, *found.shape[1:]), np.nan)
        scores[test] = found
    return np.full(n_rows, np.nan) if scores is None else scores


def _check_tested_once(folds: Sequence[TrainTest], made_by: str = "This split") -> None:
    tested, n_times = np.unique(
        np.concatenate([np.empty(0, int), *(test for _, test in folds)]), return_counts=True
    )
    if (n_times > 1).any():
        raise ValueError(
            f"{made_by} tests row {tested[n_times > 1][0]} more than once: use SemiSupervisedKFold,"
            " or cross-fit each draw of the folds separately."
        )


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
    """Return out-of-fold scores of the labeled rows.

    Each labeled row is scored by a fit without its label. So every label is used both for training
    and for evaluation, which thresholds and calibration need if labels are few.

    Parameters
    ----------
    estimator : classifier
        The classifier, cloned and fitted once per fold. If it is pairwise (a precomputed kernel),
        the columns of X are split too.
    X : array-like of shape (n, d)
        The labeled and unlabeled rows.
    y : array-like of shape (n,)
        The labels, with the marker that the estimator and `cv` use for unlabeled rows.
    cv : splitter
        A splitter that tests every labeled row once: `SemiSupervisedKFold` or
        `SemiSupervisedGroupKFold`.
    method : str, default="decision_function"
        The method of the classifier that scores rows.
    groups : array-like of shape (n,), optional
        Passed on to `cv.split`.
    sample_weight : array-like of shape (n,), optional
        One weight per row, passed on to `fit`.

    Returns
    -------
    scores : ndarray of shape (n,) or (n, k)
        The out-of-fold scores; NaN for rows that `cv` never tests.

    See Also
    --------
    cross_fit : The same with a function instead of an estimator.
    SemiSupervisedCalibratedClassifierCV : Probabilities from these scores.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import SemiSupervisedKFold, SupervisedSVC
    >>> from semisvm.model_selection import cross_fit_scores
    >>> X = np.array([[0.0], [0.2], [0.9], [1.0], [0.5]])
    >>> y = np.array([0, 0, 1, 1, -1])
    >>> cross_fit_scores(SupervisedSVC(), X, y, cv=SemiSupervisedKFold(2)).round(1)
    array([-0.8, -0.7,  0.9,  0.9,  nan])
    """
    if method not in ("decision_function", "predict_proba", "predict_log_proba"):
        raise ValueError(
            f"method={method!r} gives no scores; use 'decision_function' or 'predict_proba'."
        )
    folds = list(cv.split(X, y, groups))
    _check_tested_once(folds, type(cv).__name__)
    classes: list[np.ndarray] = []

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        fitted = _fit_clone(estimator, X, y, train, sample_weight)
        refuse_marker_among_classes(fitted, getattr(cv, "unlabeled", None))
        classes.append(fitted.classes_)
        if not np.array_equal(classes[-1], classes[0]):
            raise ValueError(
                "Folds were fitted on different classes: use a splitter with stratify=True."
            )
        return getattr(fitted, method)(safe_split(fitted, X, None, test, train)[0])

    return cross_fit(folds, fit_and_score, num_samples(X))


def refuse_marker_among_classes(fitted: Any, unlabeled: Any) -> None:
    """Raise ValueError for a classifier that took the marker of unlabeled rows for a class."""
    is_label = find_labeled(fitted.classes_, unlabeled=unlabeled)
    if not is_label.all():
        marker = np.asarray(fitted.classes_)[~is_label].tolist()[0]
        raise ValueError(
            f"{type(fitted).__name__} counts the marker of unlabeled rows, {marker!r}, as a class:"
            " use an estimator of semisvm, or give it the labeled rows alone."
        )


def _fit_clone(estimator: Any, X: Any, y: Any, train: np.ndarray, sample_weight: Any) -> Any:
    """Fit a clone on the training rows; Ctrl-C ends the whole cross-fit."""
    estimator = clone(estimator)
    X_train, y_train = safe_split(estimator, X, y, train)
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[train]}
    estimator.fit(X_train, y_train, **weights)
    if getattr(estimator, "termination_condition_", "") == "interrupted":
        raise KeyboardInterrupt
    return estimator
