"""Cross-validation splitters that test on labeled rows only.

    n rows, of which n_labeled carry a label
    train, test : row indices;  test holds labeled rows only, train holds every unlabeled row

An ordinary splitter tests on rows whose true label is not known, counts the marker -1 as a class,
and removes unlabeled rows from training. The splitters here split the labeled rows only, by one of
scikit-learn's own splitters, and put every unlabeled row into every training part. With them
`cross_val_score` and `GridSearchCV` give correct results.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.utils import check_array, check_consistent_length, check_random_state

from semisvm.labels import Labels, encode
from semisvm.model_selection.cross_fit import TrainTest, assign_folds, list_folds
from semisvm.sklearn_private import num_samples


class _Splitter(BaseCrossValidator):
    """Folds of a target with unlabeled rows; a subclass brings `_folds`."""

    n_splits: int
    unlabeled: Any
    _may_be_one_class = False

    @abstractmethod
    def _folds(self, labels: Labels, groups: Any) -> Iterator[TrainTest]:
        """What `split` yields."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object, optional
            Not used, present for API consistency with scikit-learn.

        Returns
        -------
        n_splits : int
            The number of (train, test) pairs.
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[TrainTest]:
        """Yield (train, test), two arrays of row indices, `n_splits` times.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Only its number of rows is used.
        y : array-like of shape (n,)
            The labels; `unlabeled` marks rows without one.
        groups : array-like of shape (n,), optional
            The group of each row, labeled or not (customer, document): no group is in both the
            training and the test part. Required by `SemiSupervisedGroupKFold`, optional in
            `PositiveUnlabeledKFold`.

        Yields
        ------
        train : ndarray of shape (n_train,)
            Row indices of the training part.
        test : ndarray of shape (n_test,)
            Row indices of the test part; with unlabeled rows only in `PositiveUnlabeledKFold`.
        """
        how = {"unlabeled": self.unlabeled, "may_be_one_class": self._may_be_one_class}
        yield from self._folds(encode(y, n_rows=num_samples(X), **how), groups)


class _SemiSupervisedSplitter(_Splitter):
    """Split the labeled rows by `_labeled_splitter()`; unlabeled rows train."""

    stratify: bool

    @abstractmethod
    def _labeled_splitter(self) -> Any:
        """Return the scikit-learn splitter that splits the labeled rows."""

    @property
    def _fewest_labels(self) -> int:
        """Of every class, where the classes keep their proportions."""
        return self.n_splits

    def _folds(self, labels: Labels, groups: Any) -> Iterator[TrainTest]:
        labeled_rows = np.flatnonzero(labels.is_labeled)
        codes = labels.codes[labeled_rows]
        groups = self._read_groups(groups, n_rows=len(labels.codes))
        labeled_groups = None if groups is None else groups[labeled_rows]
        name, fewest = labels.rarest
        if self.stratify and fewest < self._fewest_labels:
            raise ValueError(
                f"{type(self).__name__} with n_splits={self.n_splits} needs at least"
                f" {self._fewest_labels} labeled rows of every class, but class {name!r} has"
                f" {fewest}. Use fewer splits, label more rows, or pass stratify=False."
            )
        n_groups = self.n_splits if labeled_groups is None else len(np.unique(labeled_groups))
        if n_groups < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs as many groups with a labeled row, but there are"
                f" {n_groups}. Use fewer splits."
            )
        folds = self._labeled_splitter().split(codes, codes, labeled_groups)
        for fold, (train, test) in enumerate(folds):
            self._check_fold(fold, codes[train], codes[test])
            trains = ~labels.is_labeled
            trains[labeled_rows[train]] = True
            if labeled_groups is not None:
                trains &= ~np.isin(groups, labeled_groups[test])
            yield np.flatnonzero(trains), labeled_rows[test]

    def _read_groups(self, groups: Any, *, n_rows: int) -> np.ndarray | None:
        if groups is not None:
            ignored = f"The groups parameter is ignored by {type(self).__name__}"
            warnings.warn(ignored, UserWarning, stacklevel=4)
        return None

    def _check_fold(self, fold: int, train_codes: np.ndarray, test_codes: np.ndarray) -> None:
        """Refuse, in terms of the split, what would otherwise fail inside a fit or a score."""
        name = f"Split {fold} of {type(self).__name__}"
        if len(test_codes) == 0:
            raise ValueError(f"{name} tests no labeled row. Use fewer splits, or stratify=False.")
        if len(np.unique(train_codes)) < 2:
            raise ValueError(
                f"{name} would train on one class only. Stratify, shuffle, or label more rows."
            )


class SemiSupervisedKFold(_SemiSupervisedSplitter):
    """K-fold splitter of the labeled rows; every unlabeled row is in every training part.

    Use it as `cv` in `cross_val_score`, `GridSearchCV` and `cross_fit_scores`.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2; with `stratify`, at most the labeled rows of the rarest class.
    shuffle : bool, default=False
        Shuffle the labeled rows before splitting them.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle. Pass an int for reproducible results.
    stratify : bool, default=True
        Keep the proportions of the classes in every fold.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows; see `semisvm.labels`.

    See Also
    --------
    SemiSupervisedGroupKFold : No group of rows is on both sides of a split.
    SemiSupervisedShuffleSplit : Random splits.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import SemiSupervisedKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in SemiSupervisedKFold(2).split(y, y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        stratify: bool = True,
        unlabeled: Any = -1,
    ):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify
        self.unlabeled = unlabeled
        # scikit-learn's splitters check their parameters here, so ours do.
        self._labeled_splitter()

    def _labeled_splitter(self) -> Any:
        splitter = StratifiedKFold if self.stratify else KFold
        return splitter(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)


class SemiSupervisedGroupKFold(SemiSupervisedKFold):
    """K-fold splitter of groups of rows: no group is in both the training and the test part.

    Use it to measure how well a model works on new groups (patients, users, documents). A fit with
    the unlabeled rows of a test group would adapt to that group, so these rows are left out of the
    training part, unlike in the other splitters. Every row needs a group; give a row that belongs
    to none a group of its own.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of groups with a labeled row; with
        `stratify`, at most the labeled rows of the rarest class.
    shuffle : bool, default=False
        Shuffle the groups before splitting them.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle. Pass an int for reproducible results.
    stratify : bool, default=True
        Balance the classes across folds as far as groups allow.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows; see `semisvm.labels`.

    See Also
    --------
    SemiSupervisedKFold : The same without groups.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import SemiSupervisedGroupKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> groups = ["ann", "ann", "ann", "bob", "bob", "bob"]
    >>> for train, test in SemiSupervisedGroupKFold(2).split(y, y, groups):
    ...     print(train, test)
    [3 4 5] [0 1]
    [0 1 2] [3 4]
    """

    # With metadata routing on, groups reach `split` without a request, as with GroupKFold.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def _labeled_splitter(self) -> Any:
        splitter = StratifiedGroupKFold if self.stratify else GroupKFold
        return splitter(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)

    def _read_groups(self, groups: Any, *, n_rows: int) -> np.ndarray:
        """Return the groups as integers, so that they may be given as any type."""
        if groups is None:
            raise ValueError(
                "The 'groups' parameter should not be None: pass the group of every row."
            )
        groups = check_array(groups, input_name="groups", ensure_2d=False, dtype=None)
        check_consistent_length(groups, range(n_rows))
        if groups.dtype.kind == "O" and any(group is None for group in groups):
            raise ValueError(
                "Input groups contains None: a row that belongs to no group needs one of its own."
            )
        return np.unique(groups, return_inverse=True)[1].ravel()


class SemiSupervisedShuffleSplit(_SemiSupervisedSplitter):
    """Random splitter of the labeled rows; every unlabeled row is in every training part.

    `test_size` and `train_size` count labeled rows, or are fractions of them. Labeled rows in
    neither part are left out of the split: a splitter can't hide their labels to use them as
    unlabeled rows.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits, each drawn independently of the others.
    test_size : float, int or None, default=None
        Number or share of labeled rows to test on, as in scikit-learn's `ShuffleSplit`; by default
        a tenth of them.
    train_size : float, int or None, default=None
        Number or share of labeled rows to train on; by default all others.
    random_state : int, RandomState or None, default=None
        Seed of the draws. Pass an int for reproducible results.
    stratify : bool, default=True
        Keep the proportions of the classes in both parts.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows; see `semisvm.labels`.

    See Also
    --------
    SemiSupervisedKFold : Every labeled row is tested exactly once.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import SemiSupervisedShuffleSplit
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> splitter = SemiSupervisedShuffleSplit(3, test_size=2, random_state=0)
    >>> [len(test) for _, test in splitter.split(y, y)]
    [2, 2, 2]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | None = None,
        train_size: float | None = None,
        random_state: Any = None,
        stratify: bool = True,
        unlabeled: Any = -1,
    ):
        self.n_splits = n_splits
        self.test_size = test_size
        self.train_size = train_size
        self.random_state = random_state
        self.stratify = stratify
        self.unlabeled = unlabeled

    _fewest_labels = 2  # type: ignore[assignment]

    def _labeled_splitter(self) -> Any:
        sizes = {"test_size": self.test_size, "train_size": self.train_size}
        splitter = StratifiedShuffleSplit if self.stratify else ShuffleSplit
        return splitter(self.n_splits, **sizes, random_state=self.random_state)


class PositiveUnlabeledKFold(_Splitter):
    """K-fold splitter for positives and unlabeled rows: each fold tests labeled and unlabeled rows.

    Use it as `cv` together with the scorer `pu_auc`.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of labeled positives and of unlabeled
        rows.
    shuffle : bool, default=False
        Shuffle the rows before splitting them.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle. Pass an int for reproducible results.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows; see `semisvm.labels`.

    See Also
    --------
    pu_auc : The scorer to use with this splitter.
    SemiSupervisedKFold : For targets with labels of several classes; unlabeled rows train in every
    fold.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import PositiveUnlabeledKFold
    >>> y = np.array([1, 1, -1, -1, -1, -1])
    >>> for train, test in PositiveUnlabeledKFold(2).split(y, y):
    ...     print(train, test)
    [1 3 5] [0 2 4]
    [0 2 4] [1 3 5]

    Tune a simple baseline, which treats unlabeled rows as negatives:

    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from semisvm.model_selection import pu_auc
    >>> baseline = SVC(class_weight="balanced")
    >>> grid = {"C": [0.01, 0.1, 1, 10]}
    >>> search = GridSearchCV(baseline, grid, scoring=pu_auc, cv=PositiveUnlabeledKFold())
    """

    # With metadata routing on, groups reach `split` without a request, as with GroupKFold.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled: Any = -1,
    ):
        if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2, got {n_splits!r}.")
        if random_state is not None and not shuffle:
            raise ValueError(
                "random_state has no effect without shuffle=True: pass both, or neither."
            )
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled

    _may_be_one_class = True

    def _folds(self, labels: Labels, groups: Any) -> Iterator[TrainTest]:
        place = labels.codes + 1  # unlabeled rows are dealt out like a class
        counts = np.bincount(place, minlength=2)
        if min(counts[0], counts[-1]) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs as many labeled positives and as many unlabeled"
                f" rows, but y has {counts[-1]} of class {labels.classes.tolist()[-1]!r} and"
                f" {counts[0]} unlabeled rows. Use fewer splits."
            )
        if groups is not None:
            check_consistent_length(groups, place)
            splitter = StratifiedGroupKFold(
                self.n_splits, shuffle=self.shuffle, random_state=self.random_state
            )
            yield from splitter.split(place, place, np.asarray(groups))
            return
        rng = check_random_state(self.random_state) if self.shuffle else None
        yield from list_folds(assign_folds(place, self.n_splits, rng=rng)[0])
