"""A campaign in pictures: how the evidence grew with the labels, and what each threshold takes.

`describe_campaign` gives the same to the page of the report, which draws it by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.campaign import Campaign, CampaignSummary, summarize_campaign
from semisvm.report.displays.scores import BLUE, GREY, INK, pyplot
from semisvm.report.wording import percent, rate, signed, whole
from semisvm.tables.summary import FitSummary

MARKS = {True: "known to be good", False: "known to miss"}
EVIDENCE_TITLE = "Evidence, relative to what certifies"
PRICE_TITLE = "Labels that are still needed, about"


class CampaignDisplay:
    """Evidence against labels, and the price of each threshold; made by `from_campaign` or `from_summary`.

    Parameters
    ----------
    campaign : CampaignSummary
        What came of a campaign.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes of shape (2,)
        Evidence and prices, after `plot`.
    figure_ : matplotlib.figure.Figure
        Their figure.
    """

    def __init__(self, campaign: CampaignSummary) -> None:
        self.campaign = campaign

    @classmethod
    def from_campaign(cls, campaign: Campaign, *, axes: Any = None) -> CampaignDisplay:
        """Draw a campaign.

        Parameters
        ----------
        campaign : Campaign
            The campaign.
        axes : sequence of two matplotlib.axes.Axes, optional
            By default new ones.

        Returns
        -------
        CampaignDisplay
            The display, drawn.
        """
        return cls(summarize_campaign(campaign)).plot(axes)

    @classmethod
    def from_summary(cls, summary: FitSummary, *, axes: Any = None) -> CampaignDisplay:
        """Draw the campaign that the summary of a model holds.

        Parameters
        ----------
        summary : FitSummary
            Of a model that `semisvm certify apply` wrote.
        axes : sequence of two matplotlib.axes.Axes, optional
            By default new ones.

        Returns
        -------
        CampaignDisplay
            The display, drawn.
        """
        if summary.campaign is None:
            raise ValueError("The summary holds no campaign: semisvm certify apply writes a model that has one.")
        return cls(summary.campaign).plot(axes)

    def plot(self, axes: Any = None) -> CampaignDisplay:
        """Draw the evidence and the prices.

        Parameters
        ----------
        axes : sequence of two matplotlib.axes.Axes, optional
            By default new ones.

        Returns
        -------
        CampaignDisplay
            The display itself.
        """
        if axes is None:
            axes = pyplot().subplots(1, 2, figsize=(9, 3.2), layout="constrained")[1]
        self.axes_ = np.atleast_1d(axes)
        if self.axes_.size != 2:
            raise ValueError(f"axes must be 2 axes, evidence and prices, got {self.axes_.size}.")
        found, (left, right) = self.campaign, self.axes_
        for path, done in zip(found.paths, found.certified_at, strict=True):
            look = {"color": GREY, "linewidth": 1.0} if done is None else {"color": BLUE, "linewidth": 1.8}
            left.plot(found.labels, 10.0 ** np.array(path), drawstyle="steps-post", **look)
            if done is not None:
                left.plot(done, 10.0 ** path[found.labels.index(done)], "o", color=BLUE, markersize=4)
        left.axhline(1, color=INK, linestyle="--", linewidth=1.2)
        left.set(yscale="log", xlabel="labels", title=EVIDENCE_TITLE)
        needs = [0 if line["is_certified"] else line["forecast"] for line in found.thresholds]
        places = np.arange(len(needs))
        colors = [BLUE if line["is_certified"] else GREY for line in found.thresholds]
        right.barh(places, [need or 0 for need in needs], color=colors)
        for place, (line, need) in enumerate(zip(found.thresholds, needs, strict=True)):
            right.text(need or 0, place, f" {_price(line)}", va="center", fontsize=8)
        names = [f"{line['n_accepted']:,}" for line in found.thresholds]
        right.set(yticks=places, yticklabels=names, ylabel="rows accepted", title=PRICE_TITLE)
        right.set_xlim(0, 1.35 * max([need or 0 for need in needs] + [1]))
        right.invert_yaxis()
        self.figure_ = left.figure
        return self


def describe_campaign(found: CampaignSummary) -> dict[str, Any]:
    """Return what the page of the report shows of a campaign, and, under "drawn", what its charts draw."""
    share = f"{found.n_labels / max(found.n_rows, 1):.1%}"
    tiles = [
        ("Rows of the pool", whole(found.n_rows), "had no label when the campaign began"),
        ("Labels", whole(found.n_labels), f"{share} of the pool, drawn at random"),
        ("Positive", whole(found.n_positive), f"of these answers were {found.positive}"),
        ("Don't know", whole(found.n_unknown), "answers; they count as the campaign was told to"),
        ("Corrected", whole(found.n_corrections), "answers were changed afterwards"),
        ("Risk so far", percent(found.total_risk), _ledger(found.campaign)),
    ]
    lines = [
        {
            "threshold": signed(line["threshold"]),
            "accepted": whole(line["n_accepted"]),
            "predicted": ", ".join(f"{name} {rate(value)}" for name, value in line["predicted"].items()),
            "answers": f"{line['positives']} of {line['n_read']}",
            "price": _price(line),
            "at": "" if done is None else f"after {done} labels",
            "is_certified": line["is_certified"],
        }
        for line, done in zip(found.thresholds, found.certified_at, strict=True)
    ]
    next_step = "" if found.forecast is None else f"About {found.forecast:,} more labels for the next certificate."
    return {
        "claim": found.claim,
        "target": f"{found.target} for {found.positive}",
        "status": "certified" if found.status in ("certified", "known") else "missed",
        "reason": found.reason,
        "next": next_step,
        "tiles": tiles,
        "lines": lines,
        "alt": _alt(found),
        "drawn": {
            "labels": list(found.labels),
            "paths": [list(path) for path in found.paths],
            "certified_at": list(found.certified_at),
            "prices": [
                {"name": f"{line['n_accepted']:,} rows", "need": line["forecast"], "is_certified": line["is_certified"]}
                for line in found.thresholds
            ],
        },
    }


def _price(line: dict[str, Any]) -> str:
    if line["is_known"] is not None:
        return MARKS[line["is_known"]]
    if line["is_certified"]:
        return "certified"
    return "not in sight" if line["forecast"] is None else f"{line['forecast']:,} more"


def _ledger(number: int) -> str:
    if number == 1:
        return "the chance, at most, that the promise is wrong"
    return f"the chance, at most, that any of the {number} campaigns so far is wrong"


def _alt(found: CampaignSummary) -> str:
    done = [n for n in found.certified_at if n is not None]
    told = f"{len(done)} of {len(found.thresholds)} thresholds were certified"
    first = f", the first after {min(done)} labels" if done else ""
    return f"Evidence of each threshold against the number of labels: {told}{first}. The table below holds the figures."
