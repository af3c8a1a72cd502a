"""FitSummary: nothing is lost on the way to JSON and back."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from semisvm.decision import Estimate, OperatingPoint, Target, choose, measure
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.summary import (
    VERSION,
    Comparison,
    DataSummary,
    ErrorCosts,
    FeatureSummary,
    FitSummary,
    MethodResult,
    MethodSummary,
    ScoreSample,
)
from training_rows import training


@pytest.fixture
def summary():
    scores = np.array([2.0, 1.0, -0.5, -1.0])
    sign = np.array([1, 1, -1, -1])
    point = choose(scores, sign, Target(min_precision=0.9))
    return FitSummary(
        title="spam in mails.csv",
        created="2026-11-15 09:30 UTC",
        data=DataSummary("mails.csv", 6, 4, 2, "spam", (FeatureSummary("words", "text"),)),
        classes=("no", "yes"),
        positive="yes",
        method=MethodSummary("preference", "PSVM", "You chose it.", {"C": 1.0, "gamma": "scale"}),
        operating_points={"yes": point},
        audits={
            "yes": {
                "supervised": measure(scores, sign, math.inf, target=Target(costs=(2.0, 1.0))),
                "with unlabeled": point,
            }
        },
        scores={
            "yes": ScoreSample(tuple(scores.tolist()), tuple(sign.tolist()), "empirical", (0.5,), 2)
        },
        costs=ErrorCosts(2.0, 1.0),
        comparison=Comparison(
            "cost",
            (
                MethodResult(
                    "supervised", Estimate(-1, -2, 0), Estimate(0, -1, 1), True, 0.2, ("slow",)
                ),
            ),
            {"mixture": "does not support costs"},
            "supervised",
            "The labels can't tell.",
        ),
        guard={"constant": None, "constant_costs": {"no": 1.0, "yes": 2.0}},
        notes=("A note.",),
        seconds=1.5,
        versions={"semisvm": "0.2"},
        machine={"cores": 2},
    )


def test_a_summary_comes_back_from_json_as_it_went_in(summary):
    back = FitSummary.from_json(summary.to_json())
    assert back.as_dict() == summary.as_dict()
    # NaN (a precision where no row is accepted) differs from itself, so that step is compared above
    # only
    assert replace(back, audits={}) == replace(summary, audits={})
    assert back.audits["yes"]["supervised"].threshold == math.inf
    assert math.isnan(back.audits["yes"]["supervised"].precision.value)
    assert back.audits["yes"]["supervised"].cost == summary.audits["yes"]["supervised"].cost


def test_a_model_and_its_summary_are_printed_in_one_line():
    model = fit_model(training(160), Settings(), method="supervised")
    assert len(repr(model)) + len(repr(model.summary)) < 500
    assert repr(model.target) in repr(model)


def test_the_json_has_a_version_and_no_value_that_json_lacks(summary):
    values = json.loads(summary.to_json(), parse_constant=pytest.fail)
    assert values["version"] == VERSION == 3


def test_a_summary_of_a_newer_version_is_refused(summary):
    with pytest.raises(ValueError, match="version 4, and this semisvm reads version 3"):
        FitSummary.from_dict(summary.as_dict() | {"version": 4})


@pytest.mark.parametrize("threshold", [0.25, math.inf, -math.inf])
def test_from_dict_of_an_operating_point_is_the_inverse_of_as_dict(threshold):
    point = measure(
        [2.0, 1.0, -1.0], [1, -1, -1], threshold, target=Target(min_recall=0.5, costs=(3.0, 1.0))
    )
    back = OperatingPoint.from_dict(json.loads(json.dumps(point.as_dict())))
    assert back.as_dict() == point.as_dict()
    assert (back.threshold, back.target, back.counts) == (
        point.threshold,
        point.target,
        point.counts,
    )
