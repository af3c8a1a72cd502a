"""A split's parts are disjoint, of the sizes asked for, and the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semisvm.model_selection import hide, split

Y = np.repeat([0, 1, 2], [60, 30, 10])


def parts_of(split):
    return split.labeled, split.unlabeled, split.test


@st.composite
def requests(draw):
    """Draw a y of two or more classes, some rows unlabeled, and sizes that fit into it."""
    n_classes = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(6, 30), min_size=n_classes, max_size=n_classes))
    y = np.repeat(np.arange(n_classes), sizes)
    y = np.concatenate([y, np.full(draw(st.integers(0, 20)), -1)])
    y = np.random.default_rng(draw(st.integers(0, 99))).permutation(y)
    options = {
        "labeled": draw(st.integers(n_classes, 3 * n_classes)),
        "test": draw(st.integers(0, 2 * n_classes)),
        "draw": draw(st.sampled_from(["stratified", "balanced"])),
        "draw_test": "stratified",
        "random_state": draw(st.integers(0, 2**31)),
    }
    return y, options


@settings(deadline=None)
@given(requests())
def test_parts_are_disjoint_sorted_complete_and_of_the_size_asked_for(request):
    y, options = request
    parts = split(y, **options)
    together = np.concatenate(parts_of(parts))
    assert_array_equal(np.sort(together), np.arange(len(y)))
    assert (len(parts.labeled), len(parts.test)) == (options["labeled"], options["test"])
    assert all(np.all(np.diff(rows) > 0) for rows in parts_of(parts))
    assert_array_equal(parts.train, np.setdiff1d(np.arange(len(y)), parts.test))


@settings(deadline=None)
@given(requests())
def test_rows_without_a_label_are_only_ever_unlabeled(request):
    y, options = request
    parts = split(y, **options)
    assert (y[parts.labeled] != -1).all()
    assert (y[parts.test] != -1).all()
    assert set(y[parts.labeled]) == set(y[y != -1])


@settings(deadline=None)
@given(requests())
def test_the_same_seed_gives_the_same_split_and_more_labels_contain_fewer(request):
    y, options = request
    first = split(y, **options)
    again = split(y, **options)
    for one, other in zip(parts_of(first), parts_of(again), strict=True):
        assert_array_equal(one, other)
    if options["draw"] == "balanced":
        more = split(y, **options | {"labeled": options["labeled"] + 1})
        assert_array_equal(more.test, first.test)
        assert set(first.labeled) < set(more.labeled)


@settings(deadline=None)
@given(requests())
def test_a_stratified_draw_is_within_one_row_of_the_proportions(request):
    y, options = request
    options |= {"draw": "stratified", "test": 0}
    labeled = split(y, **options).labeled
    known = y[y != -1]
    for label in np.unique(known):
        exact = len(labeled) * np.mean(known == label)
        drawn = np.sum(y[labeled] == label)
        assert drawn == 1 or abs(drawn - exact) < 2


@settings(deadline=None)
@given(requests())
def test_hiding_shows_the_kept_labels_and_no_other(request):
    y, options = request
    keep = split(y, **options).labeled
    shown = hide(y, keep)
    assert_array_equal(shown[keep], y[keep])
    assert (np.delete(shown, keep) == -1).all()


def test_different_seeds_give_different_splits():
    firsts = {tuple(split(Y, labeled=30, random_state=seed).labeled) for seed in range(5)}
    assert len(firsts) == 5


def test_a_tenth_labeled_and_a_tenth_for_the_test_is_psvms_protocol():
    y = np.arange(32561) % 4 == 0
    parts = split(y, labeled=0.1, test=0.1, random_state=0)
    assert [len(rows) for rows in parts_of(parts)] == [3256, 32561 - 2 * 3256, 3256]
    assert abs(y[parts.labeled].mean() - 0.25) < 0.03


def test_a_random_draw_does_not_look_at_the_classes():
    counts = [np.sum(Y[split(Y, labeled=50, random_state=seed).labeled] == 0) for seed in range(40)]
    # hypergeometric: mean 30, standard deviation 2.46
    assert abs(np.mean(counts) - 30) < 1.5
    assert 1.5 < np.std(counts) < 3.5


@pytest.mark.parametrize(
    ("labeled", "draw", "expected"),
    [
        (10, "stratified", [6, 3, 1]),
        (5, "stratified", [3, 1, 1]),
        (3, "stratified", [1, 1, 1]),
        (10, "balanced", [4, 3, 3]),
        (0.3, "balanced", [10, 10, 10]),
        ({0: 7, 1: 2, 2: 1}, "random", [7, 2, 1]),
    ],
)
def test_labeled_rows_of_each_class(labeled, draw, expected):
    rows = split(Y, labeled=labeled, draw=draw, random_state=0).labeled
    assert np.bincount(Y[rows]).tolist() == expected


def test_text_labels_missing_labels_and_other_markers_are_understood():
    y = np.array(["spam", "ham", "", "spam", "ham", ""])
    parts = split(y, labeled=2, draw="balanced", random_state=0)
    assert {2, 5} <= set(parts.unlabeled)
    assert sorted(y[parts.labeled]) == ["ham", "spam"]
    svmlight = np.array([1, -1, 0, 1, -1, 0])
    assert {2, 5} <= set(
        split(svmlight, labeled=2, draw="balanced", marker=0, random_state=0).unlabeled
    )
    assert {1} <= set(split([0.0, np.nan, 1.0], labeled=2, random_state=0).unlabeled)


def test_a_count_of_unlabeled_rows_leaves_the_others_out():
    parts = split(Y, labeled=30, unlabeled=20, test=10, random_state=1)
    assert [len(rows) for rows in parts_of(parts)] == [30, 20, 10]
    assert len(np.unique(np.concatenate(parts_of(parts)))) == 60


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array([True, False, True]), [1, -1, -1]),
        (np.array([7, 200, 7], dtype=np.uint8), [7, -1, -1]),
        (np.array([0.0, 1.0, np.nan]), [0.0, -1.0, -1.0]),
        (np.array(["a", "bc", "a"]), ["a", "", ""]),
        (np.array(["a", "bc", None], dtype=object), ["a", "", ""]),
        ([0, 1, 1], [0, -1, -1]),
    ],
)
def test_hidden_labels_suit_the_type_of_y(y, expected):
    assert hide(y, [0]).tolist() == expected
    assert hide(y, [True, False, False]).tolist() == expected


def test_hiding_with_another_marker():
    assert hide([-1, 1, 0, 1], [0, 1], marker=0).tolist() == [-1, 1, 0, 0]
    assert hide(["a", "b", "a"], [0], marker="unknown").tolist() == ["a", "unknown", "unknown"]


def test_a_row_without_a_label_and_a_number_of_rows_can_not_be_kept():
    with pytest.raises(ValueError, match="Row 2 is in keep, but has no label"):
        hide([0, 1, -1], [0, 2])
    with pytest.raises(ValueError, match="keep holds the numbers of rows, or a mask, and is 2"):
        hide([0, 1, 1], 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labeled": 101}, "labeled asks for 101 rows, but 100 with a label are left"),
        ({"labeled": 50, "test": 60}, "labeled asks for 50 rows, but 40 with a label are left"),
        ({"labeled": 50, "test": 101}, "test asks for 101 rows"),
        ({"labeled": 60, "draw": "balanced"}, "asks for 20 rows of class 2, but 10 are left"),
        ({"labeled": {0: 1, 1: 1, 2: 11}}, "asks for 11 rows of class 2, but 10 are left"),
        ({"labeled": {0: 1, 1: 1, 3: 1}}, r"names the class 3, but y has \[0, 1, 2\]"),
        ({"labeled": {0: 1, 1: 1, 2: 0.5}}, "must give a count for class 2; got 0.5"),
        ({"labeled": {0: 1, 1: 1}}, "No labeled row of class 2 among 2 drawn. Ask for more"),
        ({"labeled": 3}, "No labeled row of class . among 3 drawn.*draw='stratified'"),
        ({"labeled": 0}, "No labeled row of class 0"),
        ({"labeled": 50, "unlabeled": 51}, "unlabeled asks for 51 rows, but 50 are left"),
        ({"labeled": 1.5}, "labeled must be a count of rows, or a share between 0 and 1; got 1.5"),
        ({"labeled": -1}, "labeled must be a count"),
        ({"labeled": True}, "labeled must be a count"),
        ({"labeled": 30, "test": "half"}, "test must be a count"),
        (
            {"labeled": 30, "draw": "even"},
            "draw must be one of random, stratified, balanced; got 'even'",
        ),
        ({"labeled": 30, "draw_test": "balanced"}, "draw_test must be one of random, stratified"),
    ],
)
def test_a_split_that_can_not_be_made_says_why(options, message):
    with pytest.raises(ValueError, match=message):
        split(Y, random_state=0, **options)


def test_a_target_of_plus_and_minus_one_is_not_guessed_at():
    with pytest.raises(ValueError, match=r"recode y to \{0, 1\}"):
        split(np.array([-1, 1, -1, 1]), labeled=2)
