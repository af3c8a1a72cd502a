"""Precision against recall over all thresholds; and a campaign: how evidence grew, and what each threshold takes."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign import Campaign, CampaignSummary, summarize_campaign
from semisvm.decision import OperatingPoint, Target, binomial_interval, count_all, measure, precision, recall
from semisvm.report.scores import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    DisplayOfScores,
    ScoredRows,
    axes_to_draw_on,
    pyplot,
)
from semisvm.report.wording import price_left, verdict
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.summary import FitSummary

EVIDENCE_TITLE = "Evidence, relative to what certifies"
PRICE_TITLE = "Labels that are still needed, about"


@with_shared_docs
class OperatingPointDisplay(DisplayOfScores):
    """Precision against recall, with the operating point; made by `from_estimator`, `from_summary` or `from_scores`.

    Parameters
    ----------
    precision, recall : ndarray of shape (k,)
        The curve, one entry per threshold.
    low, high : ndarray of shape (k,)
        The exact interval of precision at each threshold.
    point : OperatingPoint
        The threshold in use, with its target.
    name : str, default=""
        For the legend.

    Attributes
    ----------
    %(figure)s
    line_ : matplotlib.lines.Line2D
        The curve.
    point_ : matplotlib.container.ErrorbarContainer or None
        The operating point with its intervals; None where its precision is undefined.
    """

    def __init__(self, *, precision, recall, low, high, point: OperatingPoint, name: str = "") -> None:
        self.precision = precision
        self.recall = recall
        self.low = low
        self.high = high
        self.point = point
        self.name = name

    @classmethod
    @with_shared_docs
    def from_scores(
        cls,
        scores: ArrayLike,
        sign: ArrayLike,
        *,
        point: OperatingPoint | None = None,
        threshold: float = 0.0,
        target: Target | None = None,
        confidence: float = 0.9,
        name: str = "",
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Draw from scores and true signs.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores of labeled rows.
        sign : array-like of shape (n,)
            Their true classes, +1 or -1.
        point : OperatingPoint, optional
            The operating point to mark. By default `threshold` is measured on these rows.
        threshold : float, default=0.0
            The threshold in use.
        target : Target, optional
            What it is judged by; by default F1.
        confidence : float, default=0.9
            Of the intervals.
        name : str, default=""
            For the legend.
        %(axes)s
        %(line_options)s

        %(drawn_display)s
        """
        curve = count_all(scores, sign)
        point = point or measure(scores, sign, threshold, target=target, confidence=confidence)
        accepts_some = curve.counts.accepted > 0
        low, high = binomial_interval(curve.counts.tp, curve.counts.accepted, point.confidence)
        display = cls(
            precision=precision(curve.counts)[accepts_some],
            recall=recall(curve.counts)[accepts_some],
            low=low[accepts_some],
            high=high[accepts_some],
            point=point,
            name=name,
        )
        return display.plot(ax, **line)

    @classmethod
    def _from_rows(cls, rows: ScoredRows, ax: Any, **style: Any) -> Self:
        return cls.from_scores(
            rows.scores, rows.sign, point=rows.point, threshold=rows.threshold, name=rows.name, ax=ax, **style
        )

    @with_shared_docs
    def plot(self, ax: Any = None, *, name: str | None = None, **line: Any) -> Self:
        """Draw the curve and the operating point.

        Parameters
        ----------
        %(axes)s
        name : str, optional
            For the legend; by default the display's own.
        %(line_options)s

        %(drawn_display)s
        """
        ax = axes_to_draw_on(ax)
        style = {"color": BLUE, "linewidth": 2, "label": (self.name if name is None else name) or None} | line
        (self.line_,) = ax.plot(self.recall, self.precision, **style)
        share = f"{self.point.confidence:.3g}"
        ax.fill_between(
            self.recall, self.low, self.high, color=style["color"], alpha=0.13, linewidth=0, label=f"interval ({share})"
        )
        for least, draw in ((self.point.target.min_precision, ax.axhline), (self.point.target.min_recall, ax.axvline)):
            if least is not None:
                draw(least, color=GREY, linestyle="--", linewidth=1.2)
        self.point_ = None
        if not math.isnan(self.point.precision.value):
            self.point_ = self._mark(ax)
        ax.set(xlabel="recall", ylabel="precision", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.legend(loc="lower left")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any) -> Any:
        """Draw the operating point as a cross as wide and high as its intervals."""
        found = (self.point.recall, self.point.precision)
        wings = [np.maximum(0, [[e.value - e.low], [e.high - e.value]]) for e in found]
        label = verdict(self.point).headline if self.point.target.is_constrained else "threshold in use"
        return ax.errorbar(
            found[0].value, found[1].value, xerr=wings[0], yerr=wings[1], fmt="o", color=ORANGE, capsize=3, label=label
        )


@with_shared_docs
class CampaignDisplay:
    """Evidence against labels, and the price of each threshold; made by `from_campaign` or `from_summary`.

    Parameters
    ----------
    campaign : CampaignSummary
        What came of a campaign.

    Attributes
    ----------
    %(figure_of_charts)s
    """

    def __init__(self, campaign: CampaignSummary) -> None:
        self.campaign = campaign

    @classmethod
    @with_shared_docs
    def from_campaign(cls, campaign: Campaign, *, axes: Any = None) -> CampaignDisplay:
        """Draw a campaign.

        Parameters
        ----------
        campaign : Campaign
            The campaign.
        %(axes_of_charts)s

        %(drawn_display)s
        """
        return cls(summarize_campaign(campaign)).plot(axes)

    @classmethod
    @with_shared_docs
    def from_summary(cls, summary: FitSummary, *, axes: Any = None) -> CampaignDisplay:
        """Draw the campaign that the summary of a model holds.

        Parameters
        ----------
        summary : FitSummary
            Of a model that `semisvm certify apply` wrote.
        %(axes_of_charts)s

        %(drawn_display)s
        """
        if summary.campaign is None:
            raise ValueError("The summary holds no campaign: semisvm certify apply writes a model that has one.")
        return cls(summary.campaign).plot(axes)

    @with_shared_docs
    def plot(self, axes: Any = None) -> CampaignDisplay:
        """Draw the evidence and the prices.

        Parameters
        ----------
        %(axes_of_charts)s

        %(drawn_display)s
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
            right.text(need or 0, place, f" {price_left(line)}", va="center", fontsize=8)
        names = [f"{line['n_accepted']:,}" for line in found.thresholds]
        right.set(yticks=places, yticklabels=names, ylabel="rows accepted", title=PRICE_TITLE)
        right.set_xlim(0, 1.35 * max([need or 0 for need in needs] + [1]))
        right.invert_yaxis()
        self.figure_ = left.figure
        return self
