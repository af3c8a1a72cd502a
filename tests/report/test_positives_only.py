"""The report where only positives are labeled: the assumption comes first, and no precision is claimed."""

import math
import re
from dataclasses import replace

import pytest

from semisvm.decision import AcceptedCounts, judge_without_negatives
from semisvm.report import render_page
from semisvm.report.answers import ASSUMED, CHECK, describe_positives
from semisvm.tables.summary import DataSummary, FitSummary, MethodSummary, ScoreSample

COUNTS = AcceptedCounts(45, 50, 300, 3000)


def summary_of(point):
    return FitSummary(
        title="frauds",
        created="2026-11-15",
        data=DataSummary("cases.csv", 3050, 50, 3000, "kind"),
        classes=("not fraud", "fraud"),
        positive="fraud",
        method=MethodSummary("positive-unlabeled", "weighted SVM", "All labels are 'fraud'."),
        scores={"fraud": ScoreSample((0.5, 1.0, 2.0), (1, 1, 1), "cross-fitted", (-1.0, 0.0, 1.0), 3)},
        positives_only=point,
    )


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<main") :]))


@pytest.mark.parametrize("level", ["cross-fitted", "certified"])
def test_the_assumption_and_its_check_come_first_and_no_precision_is_claimed(level):
    point = judge_without_negatives(0.2, COUNTS, min_recall=0.8, level=level, prior_bound=0.2)
    page = render_page(summary_of(point))
    text = text_of(page)
    assert ASSUMED in text
    assert text.index(ASSUMED) < text.index("of all rows that are “fraud”")
    assert CHECK in text
    tiles = [tile["label"] for tile in describe_positives(point, "fraud")["tiles"]]
    assert tiles == ["Recall", "Accepted", "Lift", "Prior"]
    assert "none of these lines is a measurement" in text


def test_precision_is_listed_by_prior_up_to_the_bound_and_claimed_for_a_prior_that_was_given():
    point = judge_without_negatives(0.2, COUNTS, prior_bound=0.08)
    rows = describe_positives(point, "fraud")["priors"]
    assert [prior for prior, _ in rows] == ["0.80%", "2.00%", "4.00%", "6.00%", "8.00%"]
    assert rows[-1][1] == f"{0.08 * 9:.3f}"  # lift 9 = 0.9 / 0.1
    given = replace(point, prior=(0.05, 0.05))
    described = describe_positives(given, "fraud")
    assert described["tiles"][-1]["label"] == "Precision"
    assert described["priors"] == [("5.00%", "0.450")]


def test_numbers_that_are_not_known_are_dashes():
    point = judge_without_negatives(0.2, AcceptedCounts(0, 5, 0, 100), prior_bound=math.nan)
    described = describe_positives(point, "fraud")
    assert described["priors"] == []
    assert described["tiles"][-1]["value"] == "–"
    render_page(summary_of(point))
