"""What happened step by step: where the gain comes from, what each round did, how the evidence of a campaign grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.campaign import Campaign, CampaignSummary, summarize_campaign
from semisvm.decision import OperatingPoint
from semisvm.estimators.progress import RoundRecord
from semisvm.report.charts import changing_columns, last_step, pick_class
from semisvm.report.scores import BLUE, GRAY, INK, pyplot
from semisvm.report.wording import column_title, listing_of, price_left
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.summary import FitSummary

AUDIT_MEASURES = ("precision", "recall", "f_score")
EVIDENCE_TITLE = "Evidence, relative to what certifies"
PRICE_TITLE = "Labels that are still needed, about"


@with_shared_docs
class AuditDisplay:
    """Precision, recall and F of each step of an audit; made by `from_estimator` or `from_summary`.

    Parameters
    ----------
    audit : dict of {str: OperatingPoint}
        The steps; the last one is the model in use.

    Attributes
    ----------
    %(figure_of_charts)s
    """

    def __init__(self, audit: Mapping[str, OperatingPoint]) -> None:
        self.audit = dict(audit)

    @classmethod
    @with_shared_docs
    def from_estimator(cls, estimator: Any, *, positive: Any = None, axes: Any = None) -> AuditDisplay:
        """Draw the audit of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with an audit (as `PreferenceSVC` has), or a Pipeline that ends in one.
        %(drawn_class)s
        %(axes_of_charts)s

        %(drawn_display)s
        """
        check_is_fitted(estimator)
        final = last_step(estimator)
        if not hasattr(final, "audits_"):
            raise ValueError(f"{type(final).__name__} keeps no audit: PreferenceSVC does.")
        audits = {name: audit for name, audit in final.audits_.items() if audit is not None}
        return cls(audits[pick_class(audits, positive, "audits")]).plot(axes)

    @classmethod
    @with_shared_docs
    def from_summary(cls, summary: FitSummary, *, positive: str | None = None, axes: Any = None) -> AuditDisplay:
        """Draw the audit that the summary of a fit holds.

        Parameters
        ----------
        summary : FitSummary
            With audits.
        %(drawn_class)s
        %(axes_of_charts)s

        %(drawn_display)s
        """
        return cls(summary.audits[pick_class(summary.audits, positive, "audits")]).plot(axes)

    @with_shared_docs
    def plot(self, axes: Any = None) -> AuditDisplay:
        """Draw one chart per measure.

        Parameters
        ----------
        %(axes_of_charts)s

        %(drawn_display)s
        """
        if axes is None:
            axes = pyplot().subplots(1, 3, sharey=True, figsize=(9, 2.4), layout="constrained")[1]
        self.axes_ = np.atleast_1d(axes)
        if self.axes_.size != len(AUDIT_MEASURES):
            raise ValueError(f"axes must be {len(AUDIT_MEASURES)} axes, one per measure, got {self.axes_.size}.")
        colors = [GRAY] * (len(self.audit) - 1) + [BLUE]
        for ax, name in zip(self.axes_, AUDIT_MEASURES, strict=True):
            for place, (found, color) in enumerate(zip(self.audit.values(), colors, strict=True)):
                value = getattr(found, name)
                ax.plot([value.low, value.high], [place, place], color=color, alpha=0.5, linewidth=5)
                ax.plot(value.value, place, "o", color=color)
                least = getattr(found.target, f"min_{name}", None)
            if least is not None:
                ax.axvline(least, color=GRAY, linestyle="--", linewidth=1.2)
            ax.set(title=name.replace("_", " "), yticks=range(len(self.audit)), yticklabels=list(self.audit))
            ax.set_ylim(len(self.audit) - 0.5, -0.5)
        self.figure_ = self.axes_[0].figure
        return self


@with_shared_docs
class RoundsDisplay:
    """The records of a fit's rounds as small charts; made by `from_estimator` or `from_summary`.

    Parameters
    ----------
    rounds : sequence of RoundRecord
        One per round, as in `history_`.

    Attributes
    ----------
    columns : dict of {str: dict of {str: list of (int, float)}}
        The numbers that change from round to round: by name and by binary problem, (round, value).
    %(figure_of_charts)s
    """

    def __init__(self, rounds: Sequence[RoundRecord]) -> None:
        self.rounds = list(rounds)
        self.columns = changing_columns(self.rounds)

    @classmethod
    @with_shared_docs
    def from_estimator(
        cls, estimator: Any, *, columns: Sequence[str] | None = None, axes: Any = None, **line: Any
    ) -> RoundsDisplay:
        """Draw the rounds of a fitted estimator, or of the last step of a Pipeline.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a `history_`.
        %(columns_to_draw)s
        %(axes_of_charts)s
        %(line_options)s

        %(drawn_display)s
        """
        check_is_fitted(estimator)
        final = last_step(estimator)
        if not hasattr(final, "history_"):
            raise ValueError(f"{type(final).__name__} keeps no record of its rounds (history_).")
        return cls(final.history_).plot(columns=columns, axes=axes, **line)

    @classmethod
    @with_shared_docs
    def from_summary(
        cls, summary: FitSummary, *, columns: Sequence[str] | None = None, axes: Any = None, **line: Any
    ) -> RoundsDisplay:
        """Draw the rounds that the summary of a fit holds.

        Parameters
        ----------
        summary : FitSummary
            With rounds.
        %(columns_to_draw)s
        %(axes_of_charts)s
        %(line_options)s

        %(drawn_display)s
        """
        return cls(summary.rounds).plot(columns=columns, axes=axes, **line)

    @with_shared_docs
    def plot(self, *, columns: Sequence[str] | None = None, axes: Any = None, **line: Any) -> RoundsDisplay:
        """Draw one chart per column.

        Parameters
        ----------
        %(columns_to_draw)s
        %(axes_of_charts)s
        %(line_options)s

        %(drawn_display)s
        """
        names = list(self.columns) if columns is None else list(columns)
        unknown = [name for name in names if name not in self.columns]
        if unknown or not names:
            told = f"no number called {unknown[0]!r} changes" if unknown else "no number changes"
            raise ValueError(f"{told} over these {len(self.rounds)} rounds; those that do: {list(self.columns)}.")
        self.axes_ = np.atleast_1d(_new_axes(len(names)) if axes is None else axes)
        if self.axes_.size != len(names):
            raise ValueError(f"axes must be {len(names)} axes, one per column, got {self.axes_.size}.")
        listing = listing_of(self.rounds)
        x_label = "round" if listing is None else listing.unit
        for ax, name in zip(self.axes_, names, strict=True):
            lines = self.columns[name]
            for problem, points in lines.items():
                look = {"marker": "."} | ({"color": BLUE} if len(lines) == 1 else {"label": problem})
                ax.plot(*zip(*points, strict=True), **(look | line))
            ax.set(title=column_title(name), xlabel=x_label)
        if len(self.columns[names[0]]) > 1:
            self.axes_[0].legend()
        self.figure_ = self.axes_[0].figure
        return self


def _new_axes(number: int) -> Any:
    """Return as many axes in rows of three."""
    wide = min(3, number)
    high = -(-number // wide)
    axes = pyplot().subplots(high, wide, squeeze=False, figsize=(3.4 * wide, 2.4 * high), layout="constrained")[1]
    axes = axes.ravel()
    for spare in axes[number:]:
        spare.remove()
    return axes[:number]


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
            look = {"color": GRAY, "linewidth": 1.0} if done is None else {"color": BLUE, "linewidth": 1.8}
            left.plot(found.labels, 10.0 ** np.array(path), drawstyle="steps-post", **look)
            if done is not None:
                left.plot(done, 10.0 ** path[found.labels.index(done)], "o", color=BLUE, markersize=4)
        left.axhline(1, color=INK, linestyle="--", linewidth=1.2)
        left.set(yscale="log", xlabel="labels", title=EVIDENCE_TITLE)
        needs = [0 if line["is_certified"] else line["forecast"] for line in found.thresholds]
        places = np.arange(len(needs))
        colors = [BLUE if line["is_certified"] else GRAY for line in found.thresholds]
        right.barh(places, [need or 0 for need in needs], color=colors)
        for place, (line, need) in enumerate(zip(found.thresholds, needs, strict=True)):
            right.text(need or 0, place, f" {price_left(line)}", va="center", fontsize=8)
        names = [f"{line['n_accepted']:,}" for line in found.thresholds]
        right.set(yticks=places, yticklabels=names, ylabel="rows accepted", title=PRICE_TITLE)
        right.set_xlim(0, 1.35 * max([need or 0 for need in needs] + [1]))
        right.invert_yaxis()
        self.figure_ = left.figure
        return self
