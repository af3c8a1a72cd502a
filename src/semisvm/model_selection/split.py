"""Cross-validation that tests on labeled rows only.

An ordinary splitter tests on rows whose label nobody knows, counts the marker -1 as a class, and
takes unlabeled rows out of the training part.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import check_consistent_length

from semisvm.labels import Labels, encode
from semisvm.sklearn_private import num_samples

MOST_FOLDS = 5  # where the number of folds is left to the rows


class SemiSupervisedSplit(BaseCrossValidator):
    """Any splitter of scikit-learn, on the labeled rows; every unlabeled row is in every
    training part.

    Use it as `cv` in `cross_val_score`, `GridSearchCV` and :func:`~semisvm.model_selection.
    cross_fit`. With groups, the unlabeled rows of a group that is tested are left out of the
    training part, because a fit on them would adapt to that group.

    Parameters
    ----------
    cv : int, splitter or list of (train, test), default=5
        A splitter such as `StratifiedGroupKFold(5, shuffle=True, random_state=0)` or
        `LeaveOneOut()`, which brings its random state and its use of groups. An int is the number
        of stratified folds. Splits of a list are of all rows: unlabeled ones are not tested.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.

    See Also
    --------
    cross_fit : Out-of-fold scores of the labeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import SemiSupervisedSplit
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in SemiSupervisedSplit(2).split(y, y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    # With metadata routing on, groups reach `split` without a request, as with GroupKFold.
    __metadata_request__split: ClassVar[dict[str, Any]] = {"groups": True}

    def __init__(self, cv: Any = 5, *, unlabeled: Any = -1):
        self.cv = cv
        self.unlabeled = unlabeled
        is_known = isinstance(cv, Integral | list) or hasattr(cv, "get_n_splits")
        if isinstance(cv, SemiSupervisedSplit) or not is_known:
            raise ValueError(f"cv must be a number of folds, a splitter or a list, got {cv!r}.")

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield (train, test), two arrays of row indices, for each split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its number of rows is used.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, labeled or not, for a splitter that takes groups.

        Yields
        ------
        train, test : ndarray of int
            The rows of the training part, and the labeled rows of the test part.
        """
        labels = encode(y, unlabeled=self.unlabeled, n_rows=num_samples(X))
        if isinstance(self.cv, list):
            yield from ((train, test[labels.is_labeled[test]]) for train, test in self.cv)
            return
        labeled = np.flatnonzero(labels.is_labeled)
        codes = labels.codes[labeled]
        if groups is not None:
            check_consistent_length(X, groups)
            groups = np.asarray(groups)
        own_groups: Any = None if groups is None else groups[labeled]
        splits = self._splitter(labels).split(codes.reshape(-1, 1), codes, own_groups)
        for number, (train, test) in enumerate(splits):
            if len(np.unique(codes[train])) < 2:
                raise ValueError(
                    f"Split {number} of {self.cv!r} would train on one class only. Stratify,"
                    " shuffle, or label more rows."
                )
            trains = ~labels.is_labeled
            trains[labeled[train]] = True
            if groups is not None:
                trains &= ~np.isin(groups, own_groups[test])
            yield np.flatnonzero(trains), labeled[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : array-like, default=None
            As in `split`, for splitters whose number of splits depends on the rows.

        Returns
        -------
        n_splits : int
            The number of (train, test) pairs.
        """
        if isinstance(self.cv, Integral | list):
            return int(self.cv) if isinstance(self.cv, Integral) else len(self.cv)
        if y is None:
            return self.cv.get_n_splits(X, y, groups)
        labels = encode(y, unlabeled=self.unlabeled)
        codes = labels.codes[labels.is_labeled]
        own_groups = None if groups is None else np.asarray(groups)[labels.is_labeled]
        return self.cv.get_n_splits(codes.reshape(-1, 1), codes, own_groups)

    def _splitter(self, labels: Labels) -> Any:
        """The splitter of the labeled rows."""
        if not isinstance(self.cv, Integral):
            return self.cv
        name, fewest = labels.rarest
        if fewest < int(self.cv):
            raise ValueError(
                f"{self.cv} stratified folds need {self.cv} labeled rows of every class, and class"
                f" {name!r} has {fewest}: use fewer folds, or label more rows."
            )
        return check_cv(int(self.cv), labels.codes[labels.is_labeled], classifier=True)


def as_split(cv: Any, labels: Labels, *, unlabeled: Any, random_state: Any = None) -> Any:
    """The splits that a parameter `cv` means: a number of folds, a splitter, or nothing.

    None or an int is a number of stratified, shuffled folds, fewer where a class has fewer labels.
    Any splitter that does not know unlabeled rows is wrapped.
    """
    if cv is None or isinstance(cv, Integral):
        from sklearn.model_selection import StratifiedKFold

        name, fewest = labels.rarest
        if fewest < 2:
            raise ValueError(
                f"Out-of-fold scores need 2 labeled rows of every class, and class {name!r} has"
                f" {fewest}: label more rows of it."
            )
        n_folds = min(MOST_FOLDS if cv is None else int(cv), fewest)
        cv = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    return (
        cv if isinstance(cv, SemiSupervisedSplit) else SemiSupervisedSplit(cv, unlabeled=unlabeled)
    )
