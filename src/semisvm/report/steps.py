"""Where the gain comes from, step by step, and what each round of a fit did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import OperatingPoint
from semisvm.estimators.progress import RoundRecord
from semisvm.report.charts import changing_columns, column_title, listing_of
from semisvm.report.scores import BLUE, GREY, last_step, pick_class, pyplot
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.summary import FitSummary

AUDIT_MEASURES = ("precision", "recall", "f_score")


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
        colors = [GREY] * (len(self.audit) - 1) + [BLUE]
        for ax, name in zip(self.axes_, AUDIT_MEASURES, strict=True):
            for place, (found, color) in enumerate(zip(self.audit.values(), colors, strict=True)):
                value = getattr(found, name)
                ax.plot([value.low, value.high], [place, place], color=color, alpha=0.5, linewidth=5)
                ax.plot(value.value, place, "o", color=color)
                least = getattr(found.target, f"min_{name}", None)
            if least is not None:
                ax.axvline(least, color=GREY, linestyle="--", linewidth=1.2)
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
