"""Scores where some rows have no label: accuracy on the labeled rows, and the AUC of positives against unlabeled rows.

The AUC of labeled positives against unlabeled rows is prior / 2 + (1 - prior) * (the AUC of positives against
negatives): it ranks models in the right order whatever the share of positives among the unlabeled rows. But it has to
be measured on unlabeled rows that did not train, since a model has pushed the scores of its training rows down. So
the folds for it leave out labeled and unlabeled rows alike, unlike those of `SemiSupervisedKFold`.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import check_consistent_length, check_random_state

from semisvm.decision import rank_auc
from semisvm.labels import Labels, encode, find_labeled
from semisvm.model_selection.cross_fit import assign_folds, list_folds
from semisvm.model_selection.split import CountedSplitter
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
            "score needs rows with a known label, but every row of y is unlabeled. Pass the true labels "
            "of at least some rows."
        )
    rows = np.flatnonzero(is_labeled)
    weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
    # A column of labels was let pass with a warning: beside (n,) predictions it would be compared as a matrix.
    is_right = np.asarray(safe_indexing(y, rows)).ravel() == classifier.predict(safe_indexing(X, rows))
    return float(np.average(is_right, weights=weight))


class PositiveUnlabeledKFold(CountedSplitter):
    """K-fold over labeled and over unlabeled rows, each dealt out evenly.

    Use it as `cv` together with the scorer `pu_auc`.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of labeled positives and of unlabeled rows.
    shuffle : bool, default=False
        Shuffle the rows before they are dealt out.
    random_state : int, RandomState or None, default=None
        Makes the shuffle repeatable.
    unlabeled : number, string or None, default=-1
        The marker of rows without a label; see `semisvm.labels`.

    See Also
    --------
    pu_auc : The scorer to use with it.
    SemiSupervisedKFold : For targets with labels of several classes; unlabeled rows train in every fold.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import PositiveUnlabeledKFold
    >>> y = np.array([1, 1, -1, -1, -1, -1])
    >>> for train, test in PositiveUnlabeledKFold(2).split(y, y):
    ...     print(train, test)
    [1 3 5] [0 2 4]
    [0 2 4] [1 3 5]

    The tuned simple baseline, which takes unlabeled rows for negatives:

    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from semisvm.model_selection import pu_auc
    >>> baseline = SVC(class_weight="balanced")
    >>> search = GridSearchCV(baseline, {"C": [0.01, 0.1, 1, 10]}, scoring=pu_auc, cv=PositiveUnlabeledKFold())
    """

    # With metadata routing on, groups reach `split` without a request, as with GroupKFold.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None, unlabeled: Any = -1):
        if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2, got {n_splits!r}.")
        if random_state is not None and not shuffle:
            raise ValueError("random_state has no effect without shuffle=True: pass both, or neither.")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test), two arrays of row indices, `n_splits` times.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Only its number of rows is used.
        y : array-like of shape (n,)
            The target, with `unlabeled` on rows without a label.
        groups : array-like of shape (n,), optional
            The group of each row (customer, document): no group is then on both sides of a split.

        Yields
        ------
        train : ndarray of shape (n_train,)
            Row indices of the training part.
        test : ndarray of shape (n_test,)
            Row indices of the test part: labeled and unlabeled rows.
        """
        labels = encode(y, unlabeled=self.unlabeled, n_rows=num_samples(X), may_be_one_class=True)
        place = labels.codes + 1  # unlabeled rows are dealt out like a class
        counts = np.bincount(place, minlength=2)
        if min(counts[0], counts[-1]) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs as many labeled positives and as many unlabeled rows, but y has "
                f"{counts[-1]} of class {labels.classes.tolist()[-1]!r} and {counts[0]} unlabeled rows. Use fewer "
                "splits."
            )
        if groups is not None:
            check_consistent_length(groups, place)
            splitter = StratifiedGroupKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
            yield from splitter.split(place, place, np.asarray(groups))
            return
        rng = check_random_state(self.random_state) if self.shuffle else None
        yield from list_folds(deal_with_unlabeled(labels.codes, self.n_splits, rng)[0])


def deal_with_unlabeled(codes: np.ndarray, n_folds: int, rng: Any = None, n_draws: int = 1) -> np.ndarray:
    """The fold that tests each row in each of several draws of folds, (n_draws, n).

    The rows of each class, and the unlabeled rows like a class, are dealt out evenly.
    """
    return assign_folds(np.asarray(codes) + 1, n_folds, rng=rng, n_draws=n_draws)


def pu_auc(estimator: Any, X: Any, y: Any, *, unlabeled: Any = -1) -> float:
    """Return the AUC of the labeled positives against the unlabeled rows: a scorer for grid searches.

    Labels of a second class are allowed; the positives are then the rows of the class that comes last in order, and
    the others are left out.

    Parameters
    ----------
    estimator : fitted classifier
        With `decision_function` or `predict_proba`: a `PositiveUnlabeledSVC`, or any classifier that was fitted on the
        same target and took the marker of unlabeled rows for a class.
    X : {array-like, sparse matrix} of shape (n, d)
        Rows that the estimator has not seen, as `PositiveUnlabeledKFold` gives them.
    y : array-like of shape (n,)
        The target, with `unlabeled` on rows without a label.
    unlabeled : number, string or None, default=-1
        The marker; for another one pass ``functools.partial(pu_auc, unlabeled="?")`` as `scoring`.

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
    is_positive, is_unlabeled = labels.codes == positive, ~labels.is_labeled
    if not is_unlabeled.any():
        raise ValueError("pu_auc compares positives with unlabeled rows, and y has no unlabeled row.")
    rows = np.flatnonzero(is_positive | is_unlabeled)
    scores = _scores_for(estimator, safe_indexing(X, rows), labels, positive)
    return rank_auc(scores[is_positive[rows]], scores[is_unlabeled[rows]])


def _scores_for(estimator: Any, X: Any, labels: Labels, positive: int) -> np.ndarray:
    """Scores that are higher for the positive class."""
    label = labels.classes.tolist()[positive]
    classes = list(estimator.classes_.tolist())
    if label not in classes:
        raise ValueError(f"The estimator has not learned the class {label!r}: its classes are {classes}.")
    code = classes.index(label)
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            return scores if code == 1 else -scores
        return scores[:, code]
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, code]
