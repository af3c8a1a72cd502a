"""What came of a campaign, for people: its claim in one sentence, and how its evidence grew.

    labels  (m,)    numbers of answers, in the order in which they were given
    paths   (k, m)  per threshold, log10 of its evidence relative to what certifies it: 0 is enough

The evidence of a claim may only be read in its own random order; here it is read after so many answers, whichever rows
they were for. That is what the person saw, and one may look at any time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.sequence import ThresholdEvidence
from semisvm.decision import Target

if TYPE_CHECKING:
    from semisvm.campaign import Campaign

MOST_POINTS = 120  # of a path
WIDEST_LOG = 3.0  # evidence a thousand times too small or too large is drawn at the edge


@dataclass(frozen=True)
class CampaignSummary:
    """What came of a campaign; the report shows it.

    Attributes
    ----------
    claim : str
        What is promised, in a sentence, or that nothing is.
    reason : str
        The verdict in sentences, with what to do next.
    status : {"certified", "known", "open", "refuted"}
        As in `CampaignVerdict`.
    positive, target : str
        The class that the target is about, and the target.
    n_rows, n_labels, n_positive, n_unknown, n_corrections : int
        Rows of the pool; answers, how many of them were positive, "don't know", and changed afterward.
    campaign : int
        Its number in the ledger.
    total_risk : float
        The chance, at most, that any campaign of the ledger is wrong.
    forecast : int or None
        About how many labels the next certificate takes.
    thresholds : tuple of dict
        `ThresholdEvidence.as_dict()` per threshold, in the order of their tests.
    certified_at : tuple of (int or None)
        After how many answers each threshold was certified.
    labels : tuple of int
        See above.
    paths : tuple of tuple of float
        See above.
    """

    claim: str
    reason: str
    status: str
    positive: str
    target: str
    n_rows: int
    n_labels: int
    n_positive: int
    n_unknown: int
    n_corrections: int
    campaign: int
    total_risk: float
    forecast: int | None
    thresholds: tuple[dict[str, Any], ...]
    certified_at: tuple[int | None, ...]
    labels: tuple[int, ...]
    paths: tuple[tuple[float, ...], ...]


def summarize_campaign(campaign: Campaign) -> CampaignSummary:
    """Return what came of a campaign so far; its answers are played again to see how the evidence grew.

    Parameters
    ----------
    campaign : Campaign
        The campaign; it is not changed.

    Returns
    -------
    CampaignSummary
        For people and for pictures.
    """
    verdict = campaign.verdict()
    labels, paths, certified_at = _replay(campaign)
    codes = list(campaign.answers.values())
    return CampaignSummary(
        claim=claim_in_words(campaign),
        reason=verdict.reason,
        status=verdict.status,
        positive=_positive_name(campaign),
        target=str(campaign.target),
        n_rows=campaign.n_in_play,
        n_labels=len(codes),
        n_positive=sum(code == 1 for code in codes),
        n_unknown=sum(math.isnan(code) for code in codes),
        n_corrections=verdict.n_corrections,
        campaign=len(campaign.ledger),
        total_risk=campaign.total_risk,
        forecast=verdict.forecast,
        thresholds=tuple(line.as_dict() for line in verdict.table),
        certified_at=certified_at,
        labels=labels,
        paths=paths,
    )


def first_price(
    scores: ArrayLike, calibration: tuple[ArrayLike, ArrayLike], target: Target, confidence: float = 0.9
) -> int | None:
    """Return about how many labels the first certificate of a campaign would take; None where none is in sight.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the pool, or of a random sample of it.
    calibration : (scores, sign)
        Held-out scores and true signs of labeled rows.
    target : Target
        What is to be certified.
    confidence : float, default=0.9
        The probability of the promise.

    Returns
    -------
    int or None
        The smallest forecast over the thresholds of the campaign.
    """
    from semisvm.campaign import Campaign

    asked = {name: getattr(target, name) for name in ("min_precision", "min_recall", "min_f", "max_cost", "costs")}
    try:
        campaign = Campaign(scores, calibration=calibration, confidence=confidence, beta=target.beta, **asked)
    except ValueError:  # no threshold accepts a row
        return None
    return min((line.forecast for line in campaign.prices().table if line.forecast), default=None)


def claim_in_words(campaign: Campaign) -> str:
    """Return what a campaign promises, in one plain sentence.

    Parameters
    ----------
    campaign : Campaign
        The campaign.

    Returns
    -------
    str
        The promise and its risk; or that nothing is promised yet.
    """
    verdict, target = campaign.verdict(), campaign.target
    name = _positive_name(campaign)
    if verdict.operating_point is None:
        return f"Nothing is promised yet: {target} for {name} is not proved."
    n_accepted = verdict.operating_point.sampling.n_accepted if verdict.operating_point.sampling else 0
    parts = []
    these = "these" if campaign.claim == "pool" else f"those that this model accepts as {name}"
    if target.min_precision is not None:
        parts.append(f"at least {_percent(target.min_precision)} of {these} are {name}")
    if target.min_recall is not None:
        parts.append(f"at least {_percent(target.min_recall)} of all rows that are {name} are accepted")
    if target.min_f is not None or target.max_cost is not None:
        parts = [f"the rows accepted as {name} have {target}"]
    kept = " and ".join(parts)
    if campaign.claim == "pool":
        about = f"Of the {campaign.n_in_play:,} rows of the pool this model accepts {n_accepted:,} as {name}: {kept}"
    else:
        about = f"On new rows from the source of this pool, {kept}"
    if verdict.status == "known":
        return f"{about}. This is known: so many rows were labeled that nothing is left to chance."
    return f"{about}. The chance that this is wrong is at most {_percent(1 - campaign.confidence)}."


def _replay(campaign: Campaign) -> tuple[tuple[int, ...], tuple[tuple[float, ...], ...], tuple[int | None, ...]]:
    """Return numbers of answers, the paths, and when each threshold was certified."""
    again = type(campaign).from_dict(campaign.as_dict() | {"answers": [], "corrections": []})
    given = list(campaign.labels.items())
    ends = np.unique(np.linspace(0, len(given), min(len(given), MOST_POINTS) + 1).round().astype(int))
    certified_at: list[int | None] = [None] * len(again.verdict().table)
    columns = []
    before = 0
    for end in ends.tolist():
        again.tell([row for row, _ in given[before:end]], [label for _, label in given[before:end]])
        table = again.verdict().table
        columns.append([_log_ratio(line) for line in table])
        for k, line in enumerate(table):
            if line.is_certified and certified_at[k] is None:
                certified_at[k] = end
        before = end
    return tuple(ends.tolist()), tuple(map(tuple, np.array(columns).T.tolist())), tuple(certified_at)


def _log_ratio(line: ThresholdEvidence) -> float:
    """log10 of the evidence relative to what is needed, if the tests before it pass."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log10(line.evidence) - np.log10(line.evidence_hoped)
    return float(np.clip(np.nan_to_num(ratio, nan=-WIDEST_LOG), -WIDEST_LOG, WIDEST_LOG))


def _positive_name(campaign: Campaign) -> str:
    return "positive" if campaign.pos_label is None else f"“{campaign.pos_label}”"


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
