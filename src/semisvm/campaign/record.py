"""The outcome of a campaign for people: its claim in one sentence, and how its evidence grew.

    labels  (m,)    numbers of answers, in the order in which they were given
    paths   (k, m)  per threshold, log10 of its evidence relative to what certifies it: 0 is enough

The evidence of a claim may only be read in its own random order; here it is read after so many
answers, whichever rows they were for. That is what the person saw, and one may look at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.campaign import Campaign
from semisvm.campaign.procedure import ThresholdEvidence
from semisvm.campaign.state import limits_of
from semisvm.decision import Target

MOST_POINTS = 120  # of a path
WIDEST_LOG = 3.0  # evidence a thousand times too small or too large is drawn at the edge


@dataclass(frozen=True)
class CampaignSummary:
    """The outcome of a campaign, as the report shows it.

    Attributes
    ----------
    claim : str
        The promise in a sentence, or that there is none.
    reason : str
        The verdict in sentences, with what to do next.
    status : {"certified", "known", "open", "refuted"}
        As in `CampaignVerdict`.
    positive, target : str
        The class that the target is about, and the target.
    n_rows, n_labels, n_positive, n_unknown, n_corrections : int
        Rows of the pool; answers, how many of them were positive, "don't know", and changed
        afterward.
    campaign : int
        Its number in the ledger.
    total_risk : float
        The chance, at most, that any campaign of the ledger is wrong.
    forecast : int or None
        About how many labels the next certificate takes.
    n_accepted, n_found : int
        Rows in the certified set, and how many of them were found positive.
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
    n_accepted: int
    n_found: int
    thresholds: tuple[dict[str, Any], ...]
    certified_at: tuple[int | None, ...]
    labels: tuple[int, ...]
    paths: tuple[tuple[float, ...], ...]


def summarize_campaign(campaign: Campaign) -> CampaignSummary:
    """Return the outcome of a campaign so far; its answers are replayed to see how the evidence
    grew.

    Parameters
    ----------
    campaign : Campaign
        The campaign; it is not changed.

    Returns
    -------
    CampaignSummary
        The outcome, for the report and for plots.
    """
    verdict = campaign.verdict()
    labels, paths, certified_at = _replay(campaign)
    state = campaign._state
    return CampaignSummary(
        claim=claim_in_words(campaign),
        reason=verdict.reason,
        status=verdict.status,
        positive=_positive_name(campaign),
        target=str(campaign.target),
        n_rows=campaign.n_in_play,
        n_labels=state.n_labels,
        n_positive=state.n_positive,
        n_unknown=state.n_unknown,
        n_corrections=verdict.n_corrections,
        campaign=len(campaign.ledger),
        total_risk=campaign.total_risk,
        forecast=verdict.forecast,
        n_accepted=verdict.n_accepted,
        n_found=verdict.n_found,
        thresholds=tuple(line.as_dict() for line in verdict.table),
        certified_at=certified_at,
        labels=labels,
        paths=paths,
    )


def first_price(
    scores: ArrayLike,
    calibration: tuple[ArrayLike, ArrayLike],
    target: Target,
    confidence: float = 0.9,
) -> int | None:
    """Return about how many labels the first certificate of a campaign would take; None where none
    is in sight.

    `scores` are those of the pool, or of a random sample of it; `calibration` has held-out scores
    and true signs of labeled rows.
    """
    try:
        campaign = Campaign(
            scores, calibration=calibration, confidence=confidence, **limits_of(target)
        )
    except ValueError:  # no threshold accepts a row
        return None
    return campaign.verdict().forecast


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
    verdict = campaign.verdict()
    target = campaign.target
    name = _positive_name(campaign)
    if not verdict.certified:
        return f"Nothing is promised yet: {target} for {name} is not proved."
    is_pool = campaign.claim == "pool"
    accepted = "these" if is_pool else f"those that this model accepts as {name}"
    parts = []
    if target.min_precision is not None:
        parts.append(f"at least {_percent(target.min_precision)} of {accepted} are {name}")
    if target.min_recall is not None:
        parts.append(
            f"at least {_percent(target.min_recall)} of all rows that are {name} are accepted"
        )
    if target.min_f is not None or target.max_cost is not None:
        parts = [f"the rows accepted as {name} have {target}"]
    promise = " and ".join(parts)
    if is_pool:
        about = (
            f"Of the {campaign.n_in_play:,} rows of the pool {verdict.n_accepted:,} are accepted as"
            f" {name}: {promise}"
        )
    else:
        about = f"On new rows from the source of this pool, {promise}"
    if verdict.status == "known":
        return f"{about}. This is known for certain."
    risk = _percent(1 - campaign.confidence)
    return f"{about}. At most {risk} of campaigns like this one are wrong."


def where_it_holds(campaign: Campaign) -> str:
    """Return which rows the promise of a certified threshold is about, and which it is not."""
    if campaign.claim == "new rows":
        return (
            "The promise is about new rows from the source of this pool that the threshold accepts."
        )
    standing = campaign.standing(with_forecasts=False)
    about = "The promise is about the rows of the pool above the threshold."
    if standing.holds_for_set_only or standing.best is None:
        about = (
            f"The promise is about {standing.n_accepted:,} rows of the pool: those found positive"
            " are among them, and those found negative are not. It does not hold for all rows above"
            " the threshold."
        )
    return (
        f'{about} Nothing is promised about new rows: a campaign with `claim` "new rows" does that.'
    )


def _replay(
    campaign: Campaign,
) -> tuple[tuple[int, ...], tuple[tuple[float, ...], ...], tuple[int | None, ...]]:
    """Return numbers of answers, the paths, and when each threshold was certified.

    The table of a recall has other thresholds at other times: a threshold that is not in it is as
    it was last.
    """
    nothing: dict[str, Any] = {"answers": [], "corrections": [], "second_answers": []}
    again = Campaign.from_dict(campaign.as_dict() | nothing)
    given = list(campaign.labels.items())
    ends = np.unique(
        np.linspace(0, len(given), min(len(given), MOST_POINTS) + 1).round().astype(int)
    ).tolist()
    last = campaign.verdict().table
    certified_at: list[int | None] = [None] * len(last)
    paths: list[list[float]] = [[] for _ in last]
    before = 0
    for end in ends:
        rows = given[before:end]
        again.tell([row for row, _ in rows], [label for _, label in rows])
        lines = {line.n_accepted: line for line in again.standing(with_forecasts=False).table}
        for k, final in enumerate(last):
            line = lines.get(final.n_accepted)
            if line is not None:
                paths[k].append(_log_ratio(line))
            else:
                paths[k].append(paths[k][-1] if paths[k] else -WIDEST_LOG)
            is_certified = final.is_certified and (line is None or line.is_certified)
            if is_certified and certified_at[k] is None and (line is not None or end == ends[-1]):
                certified_at[k] = end
        before = end
    return tuple(ends), tuple(map(tuple, paths)), tuple(certified_at)


def _log_ratio(line: ThresholdEvidence) -> float:
    """log10 of the evidence relative to what is needed, if the tests before it pass."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log10(line.evidence) - np.log10(line.evidence_hoped)
    return float(np.clip(np.nan_to_num(ratio, nan=-WIDEST_LOG), -WIDEST_LOG, WIDEST_LOG))


def _positive_name(campaign: Campaign) -> str:
    if campaign.classes is not None and campaign.pos_label is None:
        return "right"  # labels of somebody else
    return "positive" if campaign.pos_label is None else f"“{campaign.pos_label}”"


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
