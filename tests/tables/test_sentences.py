"""The first screen: short, plain, and it says it where a model is of no use."""

import io
import re
from dataclasses import replace

import click
import numpy as np
import pytest
from rich.console import Console

from semisvm.cli.commands import commands
from semisvm.cli.screen import WIDE, Screen, show_first
from semisvm.decision import Target, certify, measure
from semisvm.report import render_page
from semisvm.tables.sentences import first_screen, labels_left
from semisvm.tables.summary import (
    DataSummary,
    FeatureSummary,
    FitSummary,
    MethodSummary,
    ScoreSample,
)

JARGON = (
    r"cross-fitted|audit|threshold|empirical|certif(?!y start)|operating"
    r" point|interval|F1|kernel|SVM|calibrat"
)


def make_summary(scores, sign, target=None, **rest):
    point = measure(scores, sign, 0.0, target=target or Target(), level="cross-fitted")
    n = len(sign)
    counts = {"ham": int((sign < 0).sum()), "spam": int((sign > 0).sum())}
    features = (FeatureSummary("price", "category", "looks like numbers"),)
    return replace(
        FitSummary(
            title="spam in mails.csv",
            created="",
            data=DataSummary("mails.csv", n + 500, n, 500, "spam", features, {}, counts),
            classes=("ham", "spam"),
            positive="spam",
            method=MethodSummary("autosvc", "", ""),
            operating_points={"spam": point},
            scores={
                "spam": ScoreSample(tuple(scores), tuple(sign), "cross-fitted", tuple(scores), 500)
            },
        ),
        **rest,
    )


def draw(n=200, share=0.1, gap=3.0, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n) < share, 1, -1)
    return rng.normal(size=n) + gap * (sign > 0) - shift, sign


@pytest.mark.parametrize(
    "target", [None, Target(min_precision=0.8), Target(min_recall=0.9), Target(0.999, 0.999)]
)
@pytest.mark.parametrize("chance", [None, 0.03, 0.64, 0.99])
def test_it_is_short_and_free_of_jargon_whatever_came_of_the_fit(target, chance):
    summary = make_summary(
        *draw(), target, chances={} if chance is None else {"spam": chance}, is_fair_sample=False
    )
    found = first_screen(summary, "spam.skops", "mails.csv")
    words = " ".join(found.lines)
    assert len(words.split()) <= 120
    assert not re.search(JARGON, words.replace("semisvm label", "")), words
    assert found.lines[0].startswith("Looking for: spam (the rarer class; ")
    assert "do not look like a random sample" in words
    assert "Please check the column 'price'" in words
    assert found.lines[-1].startswith("Next")


def test_a_column_that_was_left_out_and_may_be_numbers_is_to_be_checked():
    summary = make_summary(*draw())
    left_out = {
        "fee": "is different in every row, and looks like numbers, for example '1.234,56'",
        "id": "is a key",
    }
    summary = replace(summary, data=replace(summary.data, features=(), left_out=left_out))
    assert "Please check the column 'fee'" in " ".join(first_screen(summary).lines)


def test_the_top_of_the_report_has_the_same_words():
    summary = make_summary(*draw(), Target(min_recall=0.9), chances={"spam": 0.64})
    page = re.sub(r"\s+", " ", render_page(summary))
    named = render_page(summary, "spam.skops")
    assert "semisvm label spam.skops mails.csv" in named
    assert "MODEL" not in named[named.index("The answer") :][:4000]
    for line in first_screen(summary, remarks="see the notes").lines:
        assert line.replace("'", "&#39;") in page
    assert page.index("Looking for: spam") < page.index("Where the gain comes from")


def test_a_command_to_run_next_is_one_line_in_a_narrow_terminal():
    console = Console(
        width=40, file=io.StringIO(), force_terminal=True, no_color=True, highlight=False
    )
    with click.Context(commands):
        answer = first_screen(make_summary(*draw()), "models/spam.skops", "data/of/march/mails.csv")
        show_first(console, answer)
    lines = console.file.getvalue().splitlines()
    assert lines[-1].endswith("semisvm suggest models/spam.skops data/of/march/mails.csv")
    assert max(len(line) for line in lines[:-1] if "\033" not in line) <= 40


def test_no_sentence_is_broken_in_a_pipe(capsys):
    summary = make_summary(*draw(), Target(min_precision=0.999, min_recall=0.999))
    with click.Context(commands):
        answer = first_screen(summary, "models/spam.skops", "data/of/march/mails.csv")
        show_first(Screen().console, answer)
    sentences = first_screen(summary).lines[:-1]
    assert max(map(len, sentences)) > WIDE
    assert len(capsys.readouterr().out.splitlines()) == len(sentences) + 1


def test_a_target_that_labels_show_and_do_not_prove_is_not_called_missed():
    scores, sign = draw(40, share=0.25, gap=6.0, shift=3.0)
    point = certify(scores, sign, Target(min_precision=0.9))
    assert point.precision.value == 1
    assert not point.reached
    summary = make_summary(scores, sign, operating_points={"spam": point})
    said = " ".join(first_screen(summary).lines)
    assert "On your labels: NOT PROVED (100% of what it accepts is spam" in said
    classes = ("ham", "spam", "other")
    of_three = replace(summary, classes=classes, positive=None)
    said = " ".join(first_screen(of_three).lines)
    assert "On your labels, the target is NOT PROVED for the class 'spam'." in said


def test_unlabeled_rows_that_the_supervised_method_never_saw_are_not_called_needless():
    supervised = MethodSummary("supervised", "", "It was asked for.")
    said = first_screen(make_summary(*draw(), method=supervised)).lines
    assert "It learned from the labels alone." in said


def test_a_chance_is_told_in_tens():
    told = {
        chance: " ".join(
            first_screen(
                make_summary(*draw(), Target(min_recall=0.5), chances={"spam": chance})
            ).lines
        )
        for chance in (0.03, 0.64, 0.99)
    }
    assert "a probability of under 10%" in told[0.03]
    assert "about 6 in 10" in told[0.64]
    assert "over 95%" in told[0.99]


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ({"shift": -50.0}, "it accepts every row"),
        ({"shift": 50.0}, "it accepts no row"),
        ({"share": 0.05, "gap": 1.0, "shift": -0.5}, "of all rows to reach the minimum recall"),
        ({"gap": 0.0, "shift": 1.0}, "the labels do not show that it is better than guessing"),
    ],
)
def test_a_model_of_no_use_says_so_in_its_first_line(drawn, said):
    found = first_screen(make_summary(*draw(**drawn), Target(min_recall=0.9)))
    assert found.status == "useless"
    assert found.lines[0].startswith("This model is of no use: ")
    assert said in found.lines[0]
    assert "To do: label more rows of spam" in found.lines[0]


def test_shares_accepted_that_differ_much_are_a_warning():
    scores, sign = draw()
    summary = make_summary(scores, sign)
    sample = summary.scores["spam"]
    other = replace(sample, unlabeled=tuple(np.sort(scores + 1.2)))
    assert "These shares differ a lot" not in " ".join(first_screen(summary).lines)
    assert "These shares differ a lot" in " ".join(
        first_screen(replace(summary, scores={"spam": other})).lines
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"is_known": True}, "known to be good"),
        ({"is_known": False}, "known to miss"),
        ({"is_certified": True}, "certified"),
        ({"forecast": 0}, "accepted already"),  # its rows are in a larger set
        ({"forecast": 1_200}, "1,200 more"),
        ({"forecast": None}, "not in sight"),
    ],
)
def test_a_threshold_of_a_campaign_says_what_it_takes(line, words):
    assert labels_left({"is_known": None, "is_certified": False, "forecast": None} | line) == words
