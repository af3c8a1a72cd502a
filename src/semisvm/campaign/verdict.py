"""The outcome of a campaign so far: one line per threshold, an operating point if one is certified,
and sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semisvm import html
from semisvm.campaign.agreement import measure_agreement
from semisvm.campaign.answers import NEGATIVE, POSITIVE, UNLABELED
from semisvm.campaign.procedure import CampaignStatus, Standing, ThresholdEvidence
from semisvm.campaign.state import CampaignState
from semisvm.decision import Counts, Estimate, Evidence, OperatingPoint, SamplingEvidence
from semisvm.decision.betting import SamplingClaim
from semisvm.errors import counted
from semisvm.plain import to_plain

OWN_ORDER = (
    "Each threshold uses the answers to its own rows in a random order, up to the first row without"
    " an answer: one that accepts more rows may use fewer answers."
)
NEARLY_ALL = 0.9  # of the rows: a set that accepts more rules out little


@dataclass(frozen=True, repr=False)
class CampaignVerdict:
    """The outcome of a campaign so far; it is shown as its reason and a table.

    Attributes
    ----------
    status : {"certified", "known", "open", "refuted"}
        "certified": a set of rows is certified (`Campaign.accepted` returns it). "known": so many
        rows were labeled that the target is certain. "open": nothing is certified yet. "refuted":
        the answers show that nothing can be certified.
    operating_point : OperatingPoint or None
        The best certified threshold: the lowest for precision, the highest for recall. If
        `sampling.is_set` is true, the promise is about the rows above it without an answer and all
        rows found positive. None if nothing is certified.
    table : tuple of ThresholdEvidence
        All thresholds, in the order of their tests. Those that are certified hold together.
    forecast : int or None
        The approximate number of labels for the next certificate; None if none is in sight.
    n_labels, n_corrections : int
        Number of answers, and of answers that were changed afterward.
    claim : {"pool", "new rows"}
        What the promise is about.
    n_accepted, n_found : int
        Number of rows in the certified set, and of those found positive.
    next_accepted : int or None
        Number of rows in the set that `forecast` is about, if any.
    reason : str
        The verdict in sentences.
    """

    status: CampaignStatus
    operating_point: OperatingPoint | None
    table: tuple[ThresholdEvidence, ...]
    forecast: int | None
    n_labels: int
    n_corrections: int
    claim: SamplingClaim
    n_accepted: int
    n_found: int
    next_accepted: int | None
    reason: str

    @property
    def certified(self) -> bool:
        """Whether a set of rows is certified (or known to be good)."""
        return self.status in ("certified", "known")

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return to_plain(vars(self)) | {"certified": self.certified}

    def __repr__(self) -> str:
        lines = [self.reason, _format(_cells(self.table, with_answers=True))]
        return "\n".join(filter(None, [*lines, self._why_fewer_answers()]))

    def _why_fewer_answers(self) -> str:
        """Why a line may show fewer answers than one about fewer rows; "" where none does."""
        lines = sorted(self.table, key=lambda line: line.n_accepted)
        n_read = [line.n_read for line in lines]
        return "" if n_read == sorted(n_read) else OWN_ORDER

    def _repr_html_(self) -> str:
        tone: html.Tone = "good" if self.certified else ""
        titles, *rows = _cells(self.table, with_answers=True)
        chosen = [k for k, line in enumerate(self.table) if line.is_certified]
        figures = html.table(titles, rows, chosen)
        if why := self._why_fewer_answers():
            figures += f"<p>{why}</p>"
        return html.reason_card(
            self.reason,
            "" if self.certified else html.progress_bar(self.n_labels, self.forecast),
            html.fold("Thresholds in figures", figures),
            tone="bad" if self.status == "refuted" else tone,
        )


@dataclass(frozen=True, repr=False)
class PriceList:
    """The number of labels that each threshold would take; it is shown as a table.

    Attributes
    ----------
    table : tuple of ThresholdEvidence
        All thresholds, in the order of their tests.
    fewest : tuple of int
        Number of labels that each takes if every answer is favorable.
    """

    table: tuple[ThresholdEvidence, ...]
    fewest: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "prices": [
                line.as_dict() | {"fewest": n}
                for line, n in zip(self.table, self.fewest, strict=True)
            ]
        }

    def __repr__(self) -> str:
        return _format(_cells(self.table, self.fewest))

    def _repr_html_(self) -> str:
        titles, *rows = _cells(self.table, self.fewest)
        return html.card("What each threshold would take", [], html.table(titles, rows))


def say_next_step(at: Standing | CampaignVerdict, otherwise: str = "the next step") -> str:
    """What the next certificate takes; "" where none is in sight. `otherwise` is what it is for
    where that is no set of rows.
    """
    if at.forecast is None:
        return ""
    what = otherwise
    if at.next_accepted is not None:
        what = f"a set of {counted(at.next_accepted, 'row')}"
    return f"About {counted(at.forecast, 'more label')} for {what}."


def _cells(
    table: tuple[ThresholdEvidence, ...],
    fewest: tuple[int, ...] | None = None,
    with_answers: bool = False,
) -> list[list[str]]:
    """Return titles and one line per threshold."""
    titles = ["score above", "accepted", *(f"predicted {name}" for name in table[0].predicted)]
    titles += ["labels needed"] if fewest is None else ["labels (about)", "at least"]
    titles += ["positive answers", ""] if with_answers else []
    lines = [titles]
    for k, line in enumerate(table):
        cells = [
            f"{line.threshold:.5g}",
            f"{line.n_accepted:,}",
            *(f"{v:.3f}" for v in line.predicted.values()),
        ]
        cells.append("not in sight" if line.forecast is None else f"{line.forecast:,}")
        cells += [] if fewest is None else [f"{fewest[k]:,}"]
        if with_answers:
            cells += [f"{line.positives} of {line.n_read}", _mark(line)]
        lines.append(cells)
    return lines


def _format(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _mark(line: ThresholdEvidence) -> str:
    if line.is_known is not None:
        return "known to be good" if line.is_known else "known to miss"
    return "certified" if line.is_certified else ""


# ---- from evidence to an operating point and words ----


def make_verdict(state: CampaignState, standing: Standing, X_pool: Any) -> CampaignVerdict:
    """Put where a campaign stands into a verdict; `X_pool` are its rows, where they are known."""
    point = None if standing.best is None else _certified_point(state, standing, X_pool)
    return CampaignVerdict(
        status=standing.status,
        operating_point=point,
        table=standing.table,
        forecast=standing.forecast,
        n_labels=state.n_labels,
        n_corrections=len(state.log.corrections),
        claim=state.claim,
        n_accepted=standing.n_accepted if standing.is_certified else 0,
        n_found=state.n_positive if state.is_about_set else 0,
        next_accepted=standing.next_accepted,
        reason=_verdict_in_words(state, standing),
    )


def _certified_point(state: CampaignState, standing: Standing, X_pool: Any) -> OperatingPoint:
    """The operating point of the threshold that is certified."""
    assert standing.best is not None
    target = state.target
    nothing = Estimate(math.nan, math.nan, math.nan)

    def estimate(measure: str, low: float | None, high: float | None) -> Estimate:
        if measure not in standing.estimates:
            return nothing
        return Estimate(standing.estimates[measure], low or 0.0, high or 0.0)

    line = standing.table[standing.best]
    thresholds = [planned.threshold for planned in state.plan.thresholds]
    place = thresholds.index(line.threshold)
    return OperatingPoint(
        threshold=line.threshold,
        target=target,
        level=Evidence.SAMPLED,
        confidence=state.confidence,
        counts=_count_answers(state, state.plan.thresholds[place].n_bands),
        precision=estimate("precision", target.min_precision, 1.0),
        recall=estimate("recall", target.min_recall, 1.0),
        f_score=estimate("f", target.min_f, 1.0),
        cost=None if target.costs is None else estimate("cost", 0.0, target.max_cost),
        reached=True,
        sampling=replace(
            sampling_evidence(state, standing),
            n_accepted=line.n_accepted,
            digest=state.accepted[place],
        ),
        X_pool=X_pool,
    )


def _count_answers(state: CampaignState, n_bands: int) -> Counts:
    """What a threshold above the first `n_bands` bands does to the answered rows; "don't know" is
    an error on both sides.
    """
    answers = state.log.by_row()
    is_above = state.plan.bands < n_bands
    is_good = answers == np.where(is_above, POSITIVE, NEGATIVE)
    is_bad = (answers != UNLABELED) & ~is_good
    return Counts(
        tp=int((is_above & is_good).sum()),
        fp=int((is_above & is_bad).sum()),
        fn=int((~is_above & is_bad).sum()),
        tn=int((~is_above & is_good).sum()),
    )


def sampling_evidence(state: CampaignState, standing: Standing) -> SamplingEvidence:
    """What the promise is about and what it is based on."""
    return SamplingEvidence(
        claim=state.claim,
        n_labels=state.n_labels,
        n_rows=state.n_in_play,
        n_accepted=standing.n_accepted,
        campaign=len(state.ledger),
        total_risk=state.total_risk,
        is_known=standing.status == "known",
        is_set=standing.holds_for_set_only,
    )


def _verdict_in_words(state: CampaignState, standing: Standing) -> str:
    sentences = [_outcome(state, standing)]
    if state.n_unknown and state.dont_know == "bad":
        sentences.append(
            f'{counted(state.n_unknown, "answer")} of "don\'t know" counted against the model.'
        )
    if state.error_rate:
        sentences.append(
            f"It allows for people who label up to {state.error_rate:.1%} of the negatives as"
            " positive."
        )
    agreement = measure_agreement(state)
    if agreement.n_rows:
        sentences.append(agreement.words)
    if state.claim == "new rows" and state.n_in_play == len(state.plan.bands):
        sentences.append(
            "The thresholds were given, and no row was set aside: they must not have been chosen"
            " with the help of this pool."
        )
    if state.seed_given:
        sentences.append("The seed was given: it must not have been chosen for its result.")
    return " ".join(sentences)


def _outcome(state: CampaignState, standing: Standing) -> str:
    """What is proved, or what it takes."""
    target = state.target
    n_corrections = len(state.log.corrections)
    labels = counted(state.n_labels, "label")
    notes = [f"{state.n_positive:,} positive"]
    notes += [f"{n_corrections} corrected"] if n_corrections else []
    if state.n_labels:
        labels += f" ({', '.join(notes)})"
    if standing.is_certified:
        kind = standing.status.capitalize()
        caution = sampling_evidence(state, standing).caution(state.confidence)
        return (
            f"{kind} after {labels}: {target} for {_what_is_accepted(state, standing)}."
            f" {caution} {say_next_step(standing)}"
        ).strip()
    is_refuted = standing.status == "refuted"
    needs_positive = target.max_cost is None and not state.n_positive
    if needs_positive and (state.log.by_row()[state.is_in_play] != UNLABELED).all():
        nothing = "Nothing is left to ask, and no row was found positive."
        return f"Not certified after {labels}: {target}. {nothing}"
    if state.is_about_set and not is_refuted:
        return _found_so_far(state, standing, labels)
    if standing.forecast is not None and not is_refuted:
        next_step = say_next_step(standing, "the first certificate")
        return f"Not certified after {labels}: {target}. {next_step}"
    if not is_refuted and needs_positive and state.n_labels:
        return f"Not certified after {labels}: {target}. No positive row is found yet."
    # The model can't reach its target: a better one is needed, which adds the risk of another
    # campaign.
    start_again = (
        "A better model is needed: label the rows that it is least sure of (semisvm suggest), fit"
        f" it again with these labels too, and start a new campaign. {_risk_of_another(state)}"
    )
    if is_refuted:
        return f"Known after {labels}: no threshold of this campaign gives {target}. {start_again}"
    return (
        f"Not certified after {labels}: {target}. No certificate is in sight: the scores do not"
        " separate the classes well enough at these thresholds, or these accept too few rows."
        f" {start_again} Or lower the target, or use a larger pool."
    )


def _risk_of_another(state: CampaignState) -> str:
    risk = min(1.0, state.total_risk + 1 - state.confidence)
    return (
        "Risks add up: the probability that any of the"
        f" {len(state.ledger) + 1} campaigns is wrong is then at most {risk:.0%}."
    )


def _what_is_accepted(state: CampaignState, standing: Standing) -> str:
    n_rows = counted(state.n_in_play, "row")
    if not state.is_about_set:
        return f"the {standing.n_accepted:,} of {n_rows} with the highest scores"
    n_open = standing.n_accepted - state.n_positive
    accepted = (
        f"{standing.n_accepted:,} of {n_rows}: {n_open:,} with high scores, and"
        f" {state.n_positive:,} found positive"
    )
    if state.target.min_recall is not None and n_open > NEARLY_ALL * state.n_in_play:
        accepted += ", which is nearly every row"
    return accepted


def _found_so_far(state: CampaignState, standing: Standing, labels: str) -> str:
    """What a campaign for a set says before the first certificate."""
    verdict = f"Not certified after {labels}: {state.target}."
    if state.plan.kind == "one look":
        if standing.forecast is not None:
            labels_left = counted(standing.forecast, "more label")
            return f"{verdict} It is tested once, after {labels_left}."
        over = "The one look is over: start a new campaign, with a larger budget."
        return f"{verdict} {over} {_risk_of_another(state)}"
    n_found = state.n_positive
    if state.target.min_recall is not None and not n_found:
        verdict += " No positive row is found yet, and without one a recall means nothing."
    elif state.target.min_recall is None:
        verdict += f" Found positive so far: {n_found:,}."
    if standing.forecast is not None:
        return f"{verdict} {say_next_step(standing, 'the first set')}"
    return f"{verdict} No larger set is in sight; every positive row that is found counts."
