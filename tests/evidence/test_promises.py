"""Each promise against an adversary who stops as soon as it is false, in the worst worlds; and each
procedure broken on purpose beside it, which has to be caught.
"""

import numpy as np
import pytest

from semisvm.evidence import envelope, new_rows, recall, recall_sets, returned
from semisvm.evidence.count_table import CountTable
from semisvm.evidence.envelope import Envelope
from semisvm.evidence.new_rows import NewRows
from semisvm.evidence.recall import CountTables, Recall
from semisvm.evidence.recall_sets import RecallSets
from semisvm.evidence.returned import Returned
from semisvm.evidence.total_error import TotalError
from semisvm.evidence.unseen import Unseen
from studies.certificates.worlds import (
    breaks,
    first_false,
    too_few_found,
    too_imprecise,
    too_imprecise_with_found,
    too_many_left,
    truths,
)

N, RISK = 60, 0.2
ROWS, SCORES = np.arange(N), np.linspace(1, 0, N)
LIKELY = np.linspace(0.95, 0.2, N)

PROMISES = {
    "unseen": (
        lambda i: Unseen(
            ROWS, SCORES, LIKELY, min_precision=0.8, risk=RISK, budget=30, random_state=i
        ),
        too_imprecise(0.8),
        {"budget": 30},
    ),
    "returned": (
        lambda i: Returned(
            ROWS, SCORES, LIKELY, min_precision=0.8, risk=RISK, budget=30, random_state=i
        ),
        too_imprecise_with_found(0.8),
        {"budget": 30, "n_at_once": 5},
    ),
    "max_error": (
        lambda i: TotalError(
            ROWS, SCORES, np.zeros(N), max_error=0.1, risk=RISK, budget=None, random_state=i
        ),
        too_many_left(6),
        {},
    ),
    "max_error with a pilot": (
        lambda i: TotalError(
            ROWS, SCORES, ROWS // 30, max_error=0.1, risk=RISK, budget=None, random_state=i
        ),
        too_many_left(6),
        {},
    ),
    "recall": (
        lambda i: Recall(
            ROWS, SCORES, LIKELY, min_recall=0.8, risk=RISK, budget=None, random_state=i
        ),
        too_few_found(0.8),
        {},
    ),
    "recall of few labels": (
        lambda i: RecallSets(
            ROWS, SCORES, LIKELY, min_recall=0.8, risk=RISK, budget=40, random_state=i
        ),
        too_few_found(0.8),
        {"budget": 40},
    ),
}


def true_rows(promise, world, rng):
    """Which rows are positive, or rightly labeled: recall is worst where the others' rows are."""
    share = 0.1 if promise.startswith("max_error") else 0.2
    wrong = truths(N, share, rng)[world]
    return wrong if promise.startswith("recall") else ~wrong


def share_of_false(promise, world, n_campaigns, **how):
    make, is_false, usual = PROMISES[promise]
    return breaks(
        make, lambda rng: true_rows(promise, world, rng), is_false, n_campaigns, **usual, **how
    )


def most_false(n_campaigns):
    """Three standard errors above the risk."""
    return RISK + 3 * (RISK * (1 - RISK) / n_campaigns) ** 0.5


# The worlds in which each promise is most often false.
WORST = [
    ("unseen", "just false", 70),
    ("returned", "half", 12),
    ("max_error", "all wrong", 300),
    ("max_error", "half", 200),
    ("max_error with a pilot", "all wrong", 200),
    ("recall", "just false", 80),
    ("recall of few labels", "half", 25),
]


@pytest.mark.parametrize(("promise", "world", "n_campaigns"), WORST)
def test_a_promise_is_false_no_more_often_than_it_says(promise, world, n_campaigns):
    assert share_of_false(promise, world, n_campaigns) <= most_false(n_campaigns)


@pytest.mark.nightly
@pytest.mark.parametrize("world", truths(N, 0.2, np.random.default_rng(0)))
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("order", ["drawn", "at random"])
def test_promises_in_all_worlds(promise, world, order):
    n_campaigns = 40 if promise == "returned" else 200
    assert share_of_false(promise, world, n_campaigns, order=order) <= most_false(n_campaigns)


# ---- broken on purpose ----


def generous_count(monkeypatch):
    """Two more errors may be found than the table says."""

    class Generous(CountTable):
        def __init__(self, *args):
            super().__init__(*args)
            self.c = np.where(self.c >= 0, self.c + 2, self.c)

    monkeypatch.setattr("semisvm.evidence.total_error.CountTable", Generous)


def generous_recall(monkeypatch):
    class Generous(CountTables):
        def __init__(self, *args):
            super().__init__(*args)
            self.c = np.where(self.c >= 0, self.c + 2, self.c)

    monkeypatch.setattr(recall, "CountTables", Generous)


def risk_of_one_set(monkeypatch):
    """The table of one set and one look, and one found row more, is used for all."""

    class Pointwise(Envelope):
        def __init__(self, looks, planned, risk, text, **options):
            super().__init__(looks, planned, risk, text, **options)
            laws = [
                [envelope.found_law(int(m), t, 60) for m in u]
                for t, u in zip(self.looks, self.unfound, strict=True)
            ]
            self.most_found = [
                np.array([np.searchsorted(law, risk, side="right") for law in look])
                for look in laws
            ]

    monkeypatch.setattr("semisvm.evidence.unseen.Envelope", Pointwise)


def risk_spent_for_each_set(monkeypatch):
    bounds = returned.certified_bounds

    def generous(sets, paths, found, shares, risk):
        return bounds(sets, paths, found, np.full(len(shares), 4.0), risk)

    monkeypatch.setattr(returned, "certified_bounds", generous)


def a_wealth_that_starts_at_five(monkeypatch):
    highest = recall_sets.RecallEvidence.highest
    monkeypatch.setattr(
        recall_sets.RecallEvidence,
        "highest",
        lambda self, found=0: highest(self, found) + np.log(5) * (self.n_read > 10),
    )


@pytest.mark.parametrize(
    ("promise", "world", "break_it", "n_campaigns"),
    [
        ("unseen", "just false", risk_of_one_set, 60),
        ("returned", "half", risk_spent_for_each_set, 15),
        ("max_error", "all wrong", generous_count, 60),
        ("recall", "just false", generous_recall, 40),
        ("recall of few labels", "half", a_wealth_that_starts_at_five, 25),
    ],
)
def test_a_broken_procedure_is_caught(monkeypatch, promise, world, break_it, n_campaigns):
    break_it(monkeypatch)
    assert share_of_false(promise, world, n_campaigns) > most_false(n_campaigns)


# ---- new rows ----


def breaks_new_rows(n_campaigns, p=0.8, true_share=0.79):
    """The share of campaigns that certify a threshold, where every score has the same share."""
    rng = np.random.default_rng(0)
    n_false = 0
    for number in range(n_campaigns):
        scores = rng.random(200)
        procedure = NewRows(
            np.arange(200),
            scores,
            np.clip(scores, 0.5, 1),
            min_precision=p,
            risk=RISK,
            budget=100,
            random_state=number,
        )
        truth = rng.random(200) < true_share
        n_false += first_false(procedure, truth, lambda *_: True, rng, budget=100, n_at_once=5)
    return n_false / n_campaigns


def test_new_rows_just_below_the_promise():
    assert breaks_new_rows(30) <= most_false(30)


def test_evidence_against_another_share_is_caught(monkeypatch):
    evidence = new_rows.log_evidence
    monkeypatch.setattr(new_rows, "log_evidence", lambda pos, neg, p: evidence(pos, neg, p - 0.3))
    assert breaks_new_rows(20) > most_false(20)
