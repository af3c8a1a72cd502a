"""Several annotators: rows for a second opinion, and how well the answers agree."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from semisvm.campaign.draws import uniform_numbers
from semisvm.campaign.state import CampaignState, precision_with_errors
from semisvm.decision.binomial import binomial_interval
from semisvm.errors import counted
from semisvm.plain import to_plain

SECOND_OPINIONS = 2**32  # the phase of the clocks that choose rows for a second opinion


@dataclass(frozen=True, repr=False)
class Agreement:
    """Agreement of people on rows that several of them answered.

    Attributes
    ----------
    n_rows, n_same : int
        Number of second answers, and of those that equal the first.
    share, low, high : float
        The share of equal answers, and its 90% interval; NaN without second answers.
    by_annotator : dict of {str: int}
        Number of first answers by person.
    words : str
        A description in sentences, with the effect that wrong answers would have on the promise.
    """

    n_rows: int
    n_same: int
    share: float
    low: float
    high: float
    by_annotator: dict[str, int]
    words: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return to_plain(vars(self))

    def __repr__(self) -> str:
        return self.words


def second_opinions(state: CampaignState, annotator: str, n: int) -> list[int]:
    """Return rows that others have answered, and this person has not: n of them, at random."""
    log = state.log
    others = [
        row
        for row, answer in log.answers.items()
        if answer.annotator is not None and not log.is_answered_by(row, annotator)
    ]
    numbers = uniform_numbers(state.clock_key(SECOND_OPINIONS), log.n_rows)
    return sorted(others, key=lambda row: numbers[row])[:n]


def measure_agreement(state: CampaignState) -> Agreement:
    """Compare first and second answers; "don't know" is an answer like the others."""
    log = state.log
    pairs = [
        (log.answers[second["row"]].code, second["answer"])
        for second in log.second_answers.values()
        if second["row"] in log.answers
    ]
    n_same = sum(first == second for first, second in pairs)
    names = [answer.annotator for answer in log.answers.values() if answer.annotator is not None]
    share, low, high = math.nan, math.nan, math.nan
    words = "No row was answered by two people: `draw(annotator=...)` includes such rows."
    if pairs:
        share = n_same / len(pairs)
        low, high = map(float, binomial_interval(n_same, len(pairs), 0.9))
        words = (
            f"{counted(len(pairs), 'row')} answered by two people: {n_same} alike"
            f" ({share:.0%}; 90% interval {low:.0%} to {high:.0%})."
        )
        words += _effect(state, math.ceil(100 * (1 - low)) / 100)
    return Agreement(
        n_rows=len(pairs),
        n_same=n_same,
        share=share,
        low=low,
        high=high,
        by_annotator=dict(Counter(sorted(names))),
        words=words,
    )


def _effect(state: CampaignState, most_wrong: float) -> str:
    """What wrong answers would do to the promise of a precision."""
    precision = state.tested_target.min_precision
    if state.error_rate:
        return ""  # the verdict accounts for it
    if precision is None or state.target.min_recall is not None:
        return " The promise assumes that every answer is true."
    worst = precision_with_errors(precision, min(most_wrong, 0.99))
    return (
        " The promise assumes that every answer is true. If people said yes to"
        f" {most_wrong:.0%} of the negatives, which the answers do not rule out, a precision of"
        f" {precision:g} would be {worst:.3g}. To account for this, set `error_rate`."
    )
