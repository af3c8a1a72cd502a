"""Operating points: what came of a target (`status`), and to JSON and back."""

import json
import math
import pickle
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semisvm import decision
from semisvm.decision.operating_point import (
    Evidence,
    TargetStatus,
    judge_without_negatives,
    operating_point,
)
from semisvm.decision.without_negatives import AcceptedCounts


def perfect_rows(n_positive, n_negative):
    """Every positive is above every negative."""
    return np.arange(n_positive + n_negative, 0.0, -1), np.repeat([1, -1], [n_positive, n_negative])


@pytest.mark.parametrize(
    ("rows", "asked", "status"),
    [
        ((100, 100), {"min_precision": 0.9}, "reached"),
        ((100, 100), {"min_precision": 0.9, "min_recall": 0.9}, "reached"),
        ((10, 100), {"min_precision": 0.9}, "unproven"),
        ((10, 100), {"min_recall": 0.9}, "unproven"),
        ((10, 100), {}, "chosen"),
        ((10, 100), {"beta": 2.0}, "chosen"),
        ((10, 100), {"costs": (5.0, 1.0)}, "chosen"),
        ((10, 100), {"accept": 7}, "chosen"),
    ],
)
def test_the_status_says_what_came_of_the_target(rows, asked, status):
    point = decision.choose(*perfect_rows(*rows), decision.Target(**asked), level="cross-fitted")
    assert point.status == status


@pytest.mark.parametrize(("n_positive", "status"), [(100, "certified"), (10, "missed")])
def test_the_status_says_what_came_of_a_certificate(n_positive, status):
    target = decision.Target(min_precision=0.9)
    assert decision.certify(*perfect_rows(n_positive, 100), target).status == status


def test_a_target_that_no_threshold_gives_is_missed():
    assert (
        decision.choose([4, 3, 2, 1], [-1, 1, 1, -1], decision.Target(min_precision=0.9)).status
        == "missed"
    )


def test_one_interval_below_its_target_is_enough_to_be_unproven():
    """Precision is proved by 200 accepted rows without an error; recall 0.99 takes 230
    positives.
    """
    point = decision.choose(
        *perfect_rows(200, 100), decision.Target(min_precision=0.9, min_recall=0.99)
    )
    assert point.precision.low >= 0.9
    assert point.recall.low < 0.99
    assert point.status == "unproven"


def test_equal_scores_that_prevent_the_number_of_rows_asked_for_are_a_miss():
    assert (
        decision.choose([1.0, 1.0, 0.0], [1, -1, -1], decision.Target(accept=1)).status == "missed"
    )


cells = st.integers(0, 60)
targets = st.builds(
    decision.Target,
    min_precision=st.none() | st.floats(0.01, 1),
    min_recall=st.none() | st.floats(0.01, 1),
    beta=st.sampled_from([0.5, 1.0, 2.0]),
    costs=st.none() | st.tuples(st.floats(0.1, 10), st.floats(0, 10)),
)
points = st.builds(
    operating_point,
    st.floats(-5, 5) | st.sampled_from([math.inf, -math.inf]),
    st.builds(decision.Counts, cells, cells, cells, cells),
    targets,
    level=st.sampled_from(Evidence),
    confidence=st.sampled_from([0.5, 0.9, 0.99]),
    reached=st.booleans(),
)


@given(points)
def test_every_point_has_exactly_one_status_and_it_agrees_with_the_parts(point):
    is_proved = all(
        least is None or low >= least
        for least, low in (
            (point.target.min_precision, point.precision.low),
            (point.target.min_recall, point.recall.low),
        )
    )
    is_promise = point.level.is_promise
    expected = {
        "missed": not point.reached,
        "chosen": point.reached and not point.target.is_constrained,
        "certified": point.reached and point.target.is_constrained and is_promise,
        "reached": point.reached and point.target.is_constrained and not is_promise and is_proved,
        "unproven": (
            point.reached and point.target.is_constrained and not is_promise and not is_proved
        ),
    }
    assert [status for status, holds in expected.items() if holds] == [point.status]
    assert set(expected) == set(get_args(TargetStatus))


@given(points)
def test_from_dict_is_the_inverse_of_as_dict(point):
    text = json.dumps(point.as_dict(), allow_nan=False)
    back = decision.OperatingPoint.from_dict(json.loads(text))
    assert json.dumps(back.as_dict(), allow_nan=False) == text
    assert (back.threshold, back.target, back.counts, back.status) == (
        point.threshold,
        point.target,
        point.counts,
        point.status,
    )


@pytest.mark.parametrize(
    "name", ["threshold", "target", "level", "confidence", "counts", "recall", "cost", "reached"]
)
def test_an_entry_that_is_missing_is_named(name):
    values = decision.choose([2.0, 1.0], [1, -1]).as_dict()
    del values[name]
    with pytest.raises(
        ValueError, match=f"not an operating point as as_dict writes it: .* argument: '{name}'"
    ):
        decision.OperatingPoint.from_dict(values)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "level",
            "sure",
            "level must be one of empirical, cross-fitted, certified, .*; got 'sure'",
        ),
        ("confidence", 1.5, "confidence must lie strictly between 0 and 1"),
        ("threshold", "nan", "operating_point.threshold is 'nan', which is not of its type"),
        ("threshold", None, "a threshold and counts of 0 or more"),
        ("counts", {"tp": -1, "fp": 0, "fn": 0, "tn": 0}, "a threshold and counts of 0 or more"),
        ("counts", {"tp": 1}, "not an operating point"),
        ("target", {"min_precision": 2.0}, r"min_precision must lie in \(0, 1\]"),
        ("target", {"speed": 2.0}, "not an operating point"),
        ("recall", 0.5, "operating_point.recall is '0.5', which is not of its type"),
    ],
)
def test_an_impossible_entry_is_refused(name, value, message):
    values = decision.choose([2.0, 1.0], [1, -1]).as_dict() | {name: value}
    with pytest.raises(ValueError, match=message):
        decision.OperatingPoint.from_dict(values)


@pytest.mark.parametrize("level", Evidence)
def test_every_level_says_how_far_to_trust_it(level):
    point = replace(
        decision.choose(*perfect_rows(30, 30), decision.Target(min_precision=0.9)), level=level
    )
    assert level in str(point)
    assert str(point).splitlines()[-1].strip()


def test_a_point_is_shown_in_one_line_with_its_main_numbers():
    point = decision.choose(*perfect_rows(50, 50), decision.Target(min_precision=0.9))
    without = judge_without_negatives(
        0.3, AcceptedCounts(45, 50, 300, 3000), decision.Target(min_recall=0.8)
    )
    for one, words in [
        (
            point,
            [
                "OperatingPoint: Precision at least 0.9: reached",
                "accepts score > 50.5",
                "precision 1.000 [0.942",
            ],
        ),
        (
            without,
            [
                "OperatingPoint: Recall at least 0.8: reached",
                "accepts score > 0.3",
                "recall 0.900 [0.801",
            ],
        ),
    ]:
        assert "\n" not in repr(one)
        assert len(repr(one)) < 220
        assert not [word for word in words if word not in repr(one)], repr(one)
        assert replace(one) == one != replace(one, threshold=0.0)


def test_the_level_is_its_text_in_comparisons_json_and_models():
    point = decision.choose(*perfect_rows(30, 30), decision.Target(min_precision=0.9))
    assert point.level is Evidence.EMPIRICAL
    assert point.level == "empirical"
    assert f"{point.level} {point.level!r}" == "empirical 'empirical'"
    assert json.loads(json.dumps({"level": point.level})) == {"level": "empirical"}
    assert type(point.__getstate__()["level"]) is str
    assert pickle.loads(pickle.dumps(point)).level is Evidence.EMPIRICAL
    with pytest.raises(ValueError, match=r"level must be one of empirical, .*; got 'sure'"):
        Evidence("sure")
