"""Precision against recall over all thresholds, with the interval of precision and the threshold in use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision import OperatingPoint, Target, binomial_interval, count_all, measure, precision, recall
from semisvm.report.displays.scores import (
    BLUE,
    GREY,
    ORANGE,
    ScoredRows,
    axes_to_draw_on,
    read_scores,
    score_estimator,
)
from semisvm.report.wording import verdict
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.summary import FitSummary


@with_shared_docs
class OperatingPointDisplay:
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
    ) -> OperatingPointDisplay:
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

        Returns
        -------
        OperatingPointDisplay
            The display, drawn.
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
    @with_shared_docs
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None, **line: Any
    ) -> OperatingPointDisplay:
        """Draw from a fitted estimator: on the rows it was calibrated on, or on X and y.

        Parameters
        ----------
        estimator : estimator
            A fitted `PreferenceSVC`, another classifier with a decision function, or a Pipeline that ends in one.
        X, y : array-like, optional
            Rows and labels; unlabeled rows are left out. By default the rows the operating point was chosen on.
        %(drawn_class)s
        %(axes)s
        %(line_options)s

        Returns
        -------
        OperatingPointDisplay
            The display, drawn.
        """
        return cls._from_rows(score_estimator(estimator, X, y, positive=positive), ax, line)

    @classmethod
    @with_shared_docs
    def from_summary(
        cls, summary: FitSummary, *, positive: str | None = None, ax: Any = None, **line: Any
    ) -> OperatingPointDisplay:
        """Draw from the summary of a fit.

        Parameters
        ----------
        %(summary_with_scores)s
        %(drawn_class)s
        %(axes)s
        %(line_options)s

        Returns
        -------
        OperatingPointDisplay
            The display, drawn.
        """
        return cls._from_rows(read_scores(summary, positive), ax, line)

    @classmethod
    def _from_rows(cls, rows: ScoredRows, ax: Any, line: dict[str, Any]) -> OperatingPointDisplay:
        return cls.from_scores(
            rows.scores, rows.sign, point=rows.point, threshold=rows.threshold, name=rows.name, ax=ax, **line
        )

    @with_shared_docs
    def plot(self, ax: Any = None, *, name: str | None = None, **line: Any) -> OperatingPointDisplay:
        """Draw the curve and the operating point.

        Parameters
        ----------
        %(axes)s
        name : str, optional
            For the legend; by default the display's own.
        %(line_options)s

        Returns
        -------
        OperatingPointDisplay
            The display itself.
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
