"""Test rows are labeled, and every unlabeled row trains, whatever the splitter."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)

from semisvm import SemiSupervisedSplit, SupervisedSVC

rng = np.random.default_rng(0)
Y = {
    "two classes": rng.choice([0, 1, -1, -1], 60),
    "three names": rng.choice(["ant", "bee", "cat", ""], 60),
    "missing": rng.choice(np.array([1.0, 2.0, np.nan]), 60),
}
GROUPS = rng.integers(0, 8, 60)
SPLITTERS = {
    "int": (4, False),
    "KFold": (KFold(3, shuffle=True, random_state=0), False),
    "StratifiedKFold": (StratifiedKFold(3), False),
    "repeated": (RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0), False),
    "LeaveOneOut": (LeaveOneOut(), False),
    "ShuffleSplit": (ShuffleSplit(3, test_size=0.2, random_state=0), False),
    "GroupKFold": (GroupKFold(4), True),
    "StratifiedGroupKFold": (StratifiedGroupKFold(3), True),
    "LeaveOneGroupOut": (LeaveOneGroupOut(), True),
}


@pytest.mark.parametrize("y", Y.values(), ids=Y)
@pytest.mark.parametrize(("cv", "has_groups"), SPLITTERS.values(), ids=SPLITTERS)
def test_every_splitter_splits_the_labeled_rows_as_it_would_alone(y, cv, has_groups):
    labeled = np.flatnonzero([value not in (-1, "") and value == value for value in y.tolist()])
    groups = GROUPS if has_groups else None
    alone = StratifiedKFold(cv) if isinstance(cv, int) else cv
    own_groups = None if groups is None else groups[labeled]
    expected = list(alone.split(labeled[:, None], y[labeled], own_groups))
    split = SemiSupervisedSplit(cv)
    found = list(split.split(y, y, groups))
    assert len(found) == len(expected) == split.get_n_splits(y, y, groups)
    for (train, test), (own_train, own_test) in zip(found, expected, strict=True):
        assert sorted(test) == sorted(labeled[own_test])
        assert np.intersect1d(train, labeled).tolist() == sorted(labeled[own_train])
        unlabeled = np.setdiff1d(np.arange(60), labeled)
        if has_groups:  # a group is on one side alone
            unlabeled = unlabeled[~np.isin(GROUPS[unlabeled], GROUPS[test])]
        assert np.setdiff1d(train, labeled).tolist() == unlabeled.tolist()


def test_a_list_of_splits_tests_its_labeled_rows():
    y = np.array([0, -1, 1, 0, 1])
    split = SemiSupervisedSplit([(np.array([3, 4, 1]), np.array([0, 1, 2]))])
    [(train, test)] = split.split(y, y)
    assert (train.tolist(), test.tolist(), split.get_n_splits()) == ([3, 4, 1], [0, 2], 1)


def test_scikit_learns_tools_take_it():
    X, y = load_iris(return_X_y=True)
    truth, y = y, np.where(np.arange(150) % 3 == 0, y, -1)
    scores = cross_val_score(SupervisedSVC(), X, y, cv=SemiSupervisedSplit(5))
    assert scores.min() >= 0.8
    search = GridSearchCV(
        SupervisedSVC(), {"C": [1e-3, 1]}, cv=SemiSupervisedSplit(StratifiedKFold(3))
    )
    assert search.fit(X, y).best_params_ == {"C": 1}
    assert search.best_estimator_.score(X, truth) > 0.9
    assert "StratifiedKFold" in repr(search.cv)
    with config_context(enable_metadata_routing=True):
        how = {"cv": SemiSupervisedSplit(GroupKFold(3)), "params": {"groups": np.arange(150) // 3}}
        assert len(cross_val_score(SupervisedSVC(), X, y, **how)) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y: SemiSupervisedSplit(3), "3 labeled rows of every class, and class 1 has 2"),
        (lambda y: SemiSupervisedSplit(KFold(2)), "Split 1 of KFold.* would train on one class"),
        (lambda y: SemiSupervisedSplit("five"), "cv must be a number of folds, a splitter"),
        (lambda y: SemiSupervisedSplit(SemiSupervisedSplit(2)), "cv must be a number of folds"),
    ],
)
def test_what_cannot_work_is_refused(make, message):
    y = np.array([0, 0, 0, 1, 1, -1])
    with pytest.raises(ValueError, match=message):
        list(make(y).split(y, np.array([0, 0, 0, 0, 1, 1]) if "Split" in message else y))
