"""What came of a campaign so far: one line per threshold, an operating point if one is certified, and sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from semisvm.campaign.sequence import ThresholdEvidence
from semisvm.decision import Counts, Estimate, OperatingPoint, SamplingEvidence
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.sampling_plan import measure_of
from semisvm.errors import counted

if TYPE_CHECKING:
    from semisvm.campaign import Campaign

CampaignStatus = Literal["certified", "known", "open", "refuted"]
WAITS = '\nA threshold with "-" under "needed" is tested once the one above it is certified.'


@dataclass(frozen=True, repr=False)
class CampaignVerdict:
    """What came of a campaign so far; it is shown as its reason and a table.

    Attributes
    ----------
    status : {"certified", "known", "open", "refuted"}
        "certified": a threshold is certified. "known": so many rows were labeled that nothing is left to chance.
        "open": nothing is certified yet. "refuted": the answers show that no threshold of the campaign keeps the
        target.
    operating_point : OperatingPoint or None
        The best certified threshold: the widest for precision, the strictest for recall. None while there is none.
    table : tuple of ThresholdEvidence
        All thresholds, in the order of their tests. Those that are certified hold together.
    forecast : int or None
        About how many labels the next certificate takes; None where none is in sight.
    n_labels, n_corrections : int
        Answers given, and how many of them were changed afterward.
    claim : {"pool", "new rows"}
        What the promise is about.
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
    reason: str

    @property
    def certified(self) -> bool:
        """Whether a threshold is certified (or known to be good)."""
        return self.operating_point is not None

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        point = self.operating_point
        return {
            "status": self.status,
            "certified": self.certified,
            "operating_point": None if point is None else point.as_dict(),
            "table": [line.as_dict() for line in self.table],
            "forecast": self.forecast,
            "n_labels": self.n_labels,
            "n_corrections": self.n_corrections,
            "claim": self.claim,
            "reason": self.reason,
        }

    def __repr__(self) -> str:
        note = WAITS if any(math.isinf(line.evidence_needed) for line in self.table) else ""
        return self.reason + "\n" + _table(self.table, with_answers=True) + note


@dataclass(frozen=True, repr=False)
class PriceList:
    """What each threshold would cost in labels; it is shown as a table.

    Attributes
    ----------
    table : tuple of ThresholdEvidence
        All thresholds, in the order of their tests.
    fewest : tuple of int
        Labels that each takes if every answer is as hoped.
    """

    table: tuple[ThresholdEvidence, ...]
    fewest: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"prices": [line.as_dict() | {"fewest": n} for line, n in zip(self.table, self.fewest, strict=True)]}

    def __repr__(self) -> str:
        return _table(self.table, self.fewest)


def more_labels(n: int) -> str:
    """So many more labels, in words."""
    return counted(n, "more label")


def _table(
    table: tuple[ThresholdEvidence, ...], fewest: tuple[int, ...] | None = None, with_answers: bool = False
) -> str:
    titles = ["score above", "accepted", *(f"predicted {name}" for name in table[0].predicted)]
    titles += ["labels, about"] if fewest is None else ["labels, about", "at least"]
    titles += ["evidence", "needed", "answers", ""] if with_answers else []
    lines = [titles]
    for k, line in enumerate(table):
        cells = [f"{line.threshold:.5g}", f"{line.n_accepted:,}", *(f"{v:.3f}" for v in line.predicted.values())]
        cells.append("not in sight" if line.forecast is None else f"{line.forecast:,}")
        cells += [] if fewest is None else [f"{fewest[k]:,}"]
        if with_answers:
            cells += [_figure(line.evidence), _figure(line.evidence_needed)]
            cells += [f"{line.positives} of {line.n_read}", _mark(line)]
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _mark(line: ThresholdEvidence) -> str:
    if line.is_known is not None:
        return "known to be good" if line.is_known else "known to miss"
    return "certified" if line.is_certified else ""


def _figure(value: float) -> str:
    return "-" if math.isinf(value) else f"{value:.3g}"


# ---- from evidence to an operating point and words ----


def make_verdict(campaign: Campaign) -> CampaignVerdict:
    """Put where a campaign stands into a verdict."""
    tests, standing = campaign._tests, campaign._standing()
    best, table = standing.best, standing.table
    status: CampaignStatus = "open"
    if best is not None:
        status = "known" if table[best].is_known else "certified"
    elif all(line.is_known is False for line in table):
        status = "refuted"
    forecasts = [
        line.forecast
        for k, line in enumerate(table)
        if line.forecast and not line.is_certified and tests.improves(k, best)
    ]
    forecast = min(forecasts, default=None)
    point = None if best is None else _certified_point(campaign, best, table[best])
    return CampaignVerdict(
        status,
        point,
        table,
        forecast,
        campaign.n_labels,
        len(campaign.corrections),
        campaign.claim,
        reason=_verdict_in_words(campaign, status, point, forecast),
    )


def _certified_point(campaign: Campaign, k: int, line: ThresholdEvidence) -> OperatingPoint:
    """The operating point of threshold k, which is certified."""
    tests, target, answers = campaign._tests, campaign.target, campaign.answers
    rows, codes = np.array(list(answers), dtype=np.intp), np.array(list(answers.values()))
    is_accepted = tests.plan.bands[rows] < tests.plan.thresholds[k].n_bands
    # "Don't know" is an error of the model in these counts, on both sides.
    is_positive = np.where(np.isnan(codes), ~is_accepted, codes == 1)
    nothing = Estimate(math.nan, math.nan, math.nan)
    value = {form.measure: _estimate(campaign, k, place) for place, form in enumerate(tests.forms)}
    cost = None if target.costs is None else nothing
    return OperatingPoint(
        threshold=line.threshold,
        target=target,
        level="certified by sampling",
        confidence=campaign.confidence,
        counts=Counts(
            tp=int((is_accepted & is_positive).sum()),
            fp=int((is_accepted & ~is_positive).sum()),
            fn=int((~is_accepted & is_positive).sum()),
            tn=int((~is_accepted & ~is_positive).sum()),
        ),
        precision=Estimate(value["precision"], target.min_precision or 0, 1.0) if "precision" in value else nothing,
        recall=Estimate(value["recall"], target.min_recall or 0, 1.0) if "recall" in value else nothing,
        f_score=Estimate(value["f"], target.min_f or 0, 1.0) if "f" in value else nothing,
        cost=Estimate(value["cost"], 0.0, target.max_cost or 0.0) if "cost" in value else cost,
        reached=True,
        sampling=SamplingEvidence(
            claim=campaign.claim,
            n_labels=campaign.n_labels,
            n_rows=campaign.n_in_play,
            n_accepted=line.n_accepted,
            campaign=len(campaign.ledger),
            total_risk=campaign.total_risk,
            is_known=bool(line.is_known),
        ),
    )


def _estimate(campaign: Campaign, k: int, place: int) -> float:
    """A measure from the answers of the claim's own sequence, band by band; the belief counts for one row per band."""
    tests, answers = campaign._tests, campaign.answers
    plan, form, n_accepting = tests.plan, tests.forms[place], tests.plan.thresholds[k].n_bands
    rows, _ = campaign._order.prefix(tests.claims[k][place].bands)
    codes = np.array([answers[int(row)] for row in rows])
    rows, codes = rows[~np.isnan(codes)], codes[~np.isnan(codes)]
    if form.measure == "precision" and len(codes) and np.all(plan.speeds == plan.speeds[0]):
        return float(codes.mean())
    seen = np.bincount(plan.bands[rows], minlength=len(plan.sizes))
    positive = np.bincount(plan.bands[rows], weights=codes, minlength=len(plan.sizes))
    positives = plan.sizes * (positive + plan.beliefs) / (seen + 1)
    tp, fn = float(positives[:n_accepting].sum()), float(positives[n_accepting:].sum())
    fp = float(plan.sizes[:n_accepting].sum()) - tp
    return measure_of(tp, fp, fn, plan.n_rows, form, campaign.target)


def _verdict_in_words(campaign: Campaign, status: str, point: OperatingPoint | None, forecast: int | None) -> str:
    target, n_corrections = campaign.target, len(campaign.corrections)
    said = counted(campaign.n_labels, "label") + (f", {n_corrections} corrected" if n_corrections else "")
    if point is not None:
        kind = "Known" if status == "known" else "Certified"
        n_accepted = point.sampling.n_accepted if point.sampling else 0
        rule = f"scores above {point.threshold:.6g} ({n_accepted:,} of {counted(campaign.n_in_play, 'row')} accepted)"
        next_step = "" if forecast is None else f" About {more_labels(forecast)} for the next step."
        return f"{kind} after {said}: {target} for {rule}. {point.caution}{next_step}"
    if forecast is not None and status != "refuted":
        return f"Not certified after {said}: {target}. About {more_labels(forecast)} for the first certificate."
    # The model can't reach its target: what it takes is a better one, and the risk of another campaign.
    risk = min(1.0, campaign.total_risk + 1 - campaign.confidence)
    start_again = (
        "A better model is needed: label the rows that it is least sure of (semisvm suggest), fit it again with these "
        "labels too, and start a new campaign. Its risk is added: the chance that any of the "
        f"{len(campaign.ledger) + 1} campaigns is wrong is then at most {risk:.0%}."
    )
    if status == "refuted":
        return f"Known after {said}: no threshold of this campaign gives {target}. {start_again}"
    return (
        f"Not certified after {said}: {target}. No certificate is in sight: the scores do not separate the classes "
        f"well enough at these thresholds. {start_again} Or ask for less."
    )
