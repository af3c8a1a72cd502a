"""FitSummary: nothing is lost on the way to JSON and back, and summaries of version 0.1 are still read."""

import json
import math
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semisvm.decision import Estimate, OperatingPoint, Target, choose, measure
from semisvm.estimators.progress import RoundRecord
from semisvm.tables import load
from semisvm.tables.summary import (
    VERSION,
    ComparisonSummary,
    DataSummary,
    ErrorCosts,
    FeatureSummary,
    FitSummary,
    MethodResult,
    MethodSummary,
    ScoreSample,
    Suggestion,
    plain_json,
)

VERSION_1 = Path(__file__).with_name("version_1")  # model files written by semisvm 0.1
MODELS = ("two-classes", "auto-costs", "three-classes", "three-supervised")


def facts_of(name):
    return json.loads(zipfile.ZipFile(VERSION_1 / f"{name}.skops").read("semisvm/facts.json"))


@pytest.fixture
def summary():
    scores, sign = np.array([2.0, 1.0, -0.5, -1.0]), np.array([1, 1, -1, -1])
    point = choose(scores, sign, min_precision=0.9)
    return FitSummary(
        title="spam in mails.csv",
        created="2026-11-15 09:30 UTC",
        data=DataSummary("mails.csv", 6, 4, 2, "spam", (FeatureSummary("words", "text"),)),
        classes=("no", "yes"),
        positive="yes",
        method=MethodSummary("preference", "PSVM", "It was asked for.", {"C": 1.0, "gamma": "scale"}),
        operating_points={"yes": point},
        audits={
            "yes": {
                "supervised": measure(scores, sign, math.inf, target=Target(costs=(2.0, 1.0))),
                "with unlabeled": point,
            }
        },
        scores={"yes": ScoreSample(tuple(scores.tolist()), tuple(sign.tolist()), "empirical", (0.5,), 2)},
        costs=ErrorCosts(2.0, 1.0),
        rounds=(RoundRecord("yes vs no", 1, 42, 1e-4, 0.5, None, {"n_changed": 3}),),
        comparison=ComparisonSummary(
            "cost",
            (MethodResult("supervised", Estimate(-1, -2, 0), 0.1, Estimate(0, -1, 1), True, 0.2, ("slow",)),),
            {"mixture": "knows no costs"},
            "supervised",
            "The labels can't tell.",
        ),
        suggestions=(Suggestion(7, 0.01, "yes", {"words": "hello"}),),
        guard={"constant": None, "constant_costs": {"no": 1.0, "yes": 2.0}},
        notes=("A note.",),
        seconds=1.5,
        versions={"semisvm": "0.2"},
        machine={"cores": 2},
    )


def test_a_summary_comes_back_from_json_as_it_went_in(summary):
    back = FitSummary.from_json(summary.to_json())
    assert back.as_dict() == summary.as_dict()
    # NaN (a precision where no row is accepted) differs from itself, so that step is compared above only
    assert replace(back, audits={}) == replace(summary, audits={})
    assert back.audits["yes"]["supervised"].threshold == math.inf
    assert math.isnan(back.audits["yes"]["supervised"].precision.value)
    assert back.audits["yes"]["supervised"].cost == summary.audits["yes"]["supervised"].cost


@pytest.mark.parametrize("name", MODELS)
def test_a_model_and_its_summary_are_printed_in_one_line(name):
    model = load(VERSION_1 / f"{name}.skops")
    assert len(repr(model)) + len(repr(model.summary)) < 500
    assert repr(model.target) in repr(model)


def test_the_json_has_a_version_and_no_value_that_json_lacks(summary):
    values = json.loads(summary.to_json(), parse_constant=pytest.fail)
    assert values["version"] == VERSION == 2


def test_a_summary_of_a_newer_version_is_refused(summary):
    with pytest.raises(ValueError, match="version 3, and this semisvm reads versions up to 2"):
        FitSummary.from_dict(summary.as_dict() | {"version": 3})


@pytest.mark.parametrize("name", MODELS)
def test_summaries_of_version_1_are_read(name):
    facts = facts_of(name)
    found = FitSummary.from_dict(facts)
    assert (found.title, found.classes, found.notes) == (facts["title"], tuple(facts["classes"]), tuple(facts["notes"]))
    assert found.data.features[1] == FeatureSummary("color", "category")
    stored = facts["operating_point"] if len(found.classes) > 2 else {"ham": facts["operating_point"]}
    for class_name, point in found.operating_points.items():  # "asked" is a sentence and follows from the target
        assert plain_json(point) | {"asked": ""} == stored[class_name] | {"asked": ""}
    assert list(found.operating_points) == list(stored)
    assert [one.n_iter for one in found.rounds] == [one["steps"] for one in facts["rounds"]]
    assert FitSummary.from_json(found.to_json()).as_dict() == found.as_dict()


@pytest.mark.parametrize("name", MODELS)
def test_steps_of_an_audit_of_version_1_get_back_their_counts(name):
    """The measures were stored and the counts were not: counts that are right give the same measures again."""
    facts = facts_of(name)
    found = FitSummary.from_dict(facts)
    lines = facts["audit"] if len(found.classes) > 2 else {"ham": facts["audit"]}
    n_steps = 0
    for class_name, steps in found.audits.items():
        for line, (step, point) in zip(lines[class_name], steps.items(), strict=True):
            assert step == line["step"]
            assert point.counts.tp / point.counts.accepted == line["precision"]["value"] == point.precision.value
            assert point.counts.tp / point.counts.positives == line["recall"]["value"] == point.recall.value
            n_steps += 1
    assert n_steps > 0


def test_the_comparison_of_version_1_is_read():
    facts = facts_of("auto-costs")
    found = FitSummary.from_dict(facts)
    assert found.comparison is not None
    assert plain_json(found.comparison) == facts["comparison"] | {"baseline": "supervised"}
    assert found.costs == ErrorCosts(missed=5.0, accepted=1.0)


@pytest.mark.parametrize("threshold", [0.25, math.inf, -math.inf])
def test_from_dict_of_an_operating_point_is_the_inverse_of_as_dict(threshold):
    point = measure([2.0, 1.0, -1.0], [1, -1, -1], threshold, target=Target(min_recall=0.5, costs=(3.0, 1.0)))
    back = OperatingPoint.from_dict(json.loads(json.dumps(point.as_dict())))
    assert back.as_dict() == point.as_dict()
    assert (back.threshold, back.target, back.counts) == (point.threshold, point.target, point.counts)


def test_from_dict_of_a_round_is_the_inverse_of_as_dict():
    record = RoundRecord("spam vs rest", 2, 10, 0.5, 0.1, -3.0, {"n_changed": 4})
    assert record.as_dict()["n_changed"] == 4
    assert RoundRecord.from_dict(record.as_dict()) == record
