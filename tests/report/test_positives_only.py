"""The report where only positives are labeled: the assumption comes first, and no precision is
claimed.
"""

import math
import re
from dataclasses import replace

import pytest

from semisvm.decision import Target, measure
from semisvm.decision.operating_point import judge_without_negatives
from semisvm.decision.without_negatives import AcceptedCounts
from semisvm.report import render_page
from semisvm.tables.sentences import ASSUMED, CHECK, figures, precisions_by_prior
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
        scores={
            "fraud": ScoreSample((0.5, 1.0, 2.0), (1, 1, 1), "cross-fitted", (-1.0, 0.0, 1.0), 3)
        },
        operating_points={"fraud": point},
    )


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<main") :]))


@pytest.mark.parametrize("level", ["cross-fitted", "certified"])
def test_the_assumption_and_its_check_come_first_and_no_precision_is_claimed(level):
    point = judge_without_negatives(
        0.2, COUNTS, Target(min_recall=0.8), level=level, prior_bound=0.2
    )
    page = render_page(summary_of(point))
    text = text_of(page)
    assert ASSUMED in text
    assert text.index(ASSUMED) < text.index("of all rows that are “fraud”")
    assert CHECK in text
    shown = [figure.label for figure in figures(point, "fraud")]
    assert shown == ["Recall", "Accepted", "Lift", "Prior"]
    assert "none of these lines is a measurement" in text


def test_a_certificate_by_sampling_takes_the_place_of_what_positives_alone_show():
    """`semisvm certify apply` draws rows at random, so that it knows more."""
    alone = judge_without_negatives(0.2, COUNTS, Target(min_recall=0.8), prior_bound=0.2)
    sampled = measure([2.0, 1.0, -1.0], [1, 1, -1], target=Target(min_precision=0.5))
    summary = replace(summary_of(alone), operating_points={"fraud": sampled})
    for page, is_alone in ((render_page(summary_of(alone)), True), (render_page(summary), False)):
        text = text_of(page)
        assert ("t be measured" in text) == is_alone
        assert (ASSUMED in text) == is_alone
        assert ("recision at least 0.5" in text) != is_alone
        assert "labeled rows may be unlike the others" not in text
        assert "unlabeled rows were not needed" not in text


def test_precision_is_listed_by_prior_up_to_the_bound_and_claimed_for_a_prior_that_was_given():
    point = judge_without_negatives(0.2, COUNTS, prior_bound=0.08)
    rows = precisions_by_prior(point)
    assert [prior for prior, _ in rows] == ["0.80%", "2.00%", "4.00%", "6.00%", "8.00%"]
    assert rows[-1][1] == f"{0.08 * 9:.3f}"  # lift 9 = 0.9 / 0.1
    given = judge_without_negatives(0.2, COUNTS, prior_bound=0.08, prior=(0.05, 0.05))
    assert figures(given, "fraud")[-1].label == "Precision"
    assert precisions_by_prior(given) == [("5.00%", "0.450")]


def test_numbers_that_are_not_known_are_left_out():
    point = judge_without_negatives(0.2, AcceptedCounts(0, 5, 0, 100), prior_bound=math.nan)
    assert precisions_by_prior(point) == []
    assert [figure.label for figure in figures(point, "fraud")] == ["Recall", "Accepted"]
    render_page(summary_of(point))
