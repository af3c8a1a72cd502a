"""Pictures of scores: how they are distributed, and precision against recall over all thresholds.

The colors are those of Okabe and Ito, which people with any kind of color vision can tell apart.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision import OperatingPoint, Target, binomial_interval, count_all, measure, precision, recall
from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.report.charts import ScoredRows, read_scores, score_estimator
from semisvm.report.wording import verdict
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.summary import FitSummary

BLUE, ORANGE, GRAY, INK = "#0072B2", "#D55E00", "#7F7F7F", "#1A2027"
NO_MATPLOTLIB = 'matplotlib is not installed; get it with: pip install "semisvm[plots]"'


def pyplot() -> Any:
    """Return matplotlib's pyplot, or raise an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(NO_MATPLOTLIB) from None
    return plt


def axes_to_draw_on(ax: Any) -> Any:
    """Return the axes that were given, or new ones."""
    return pyplot().subplots()[1] if ax is None else ax


class DisplayOfScores(ABC):
    """A picture of scores of one class, wherever they come from."""

    @classmethod
    @abstractmethod
    def _from_rows(cls, rows: ScoredRows, ax: Any, **style: Any) -> Self: ...

    @classmethod
    @with_shared_docs
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw from a fitted estimator: on the rows it was calibrated on, or on X and y.

        Parameters
        ----------
        estimator : estimator
            A fitted `PreferenceSVC`, another classifier with a decision function, or a Pipeline that ends in one.
        X, y : array-like, optional
            Rows and labels. By default the rows the operating point was chosen on.
        %(drawn_class)s
        %(axes)s
        **style : dict
            As for `plot`.

        %(drawn_display)s
        """
        return cls._from_rows(score_estimator(estimator, X, y, positive=positive), ax, **style)

    @classmethod
    @with_shared_docs
    def from_summary(cls, summary: FitSummary, *, positive: str | None = None, ax: Any = None, **style: Any) -> Self:
        """Draw from the summary of a fit.

        Parameters
        ----------
        summary : FitSummary
            With scores.
        %(drawn_class)s
        %(axes)s
        **style : dict
            As for `plot`.

        %(drawn_display)s
        """
        return cls._from_rows(read_scores(summary, positive), ax, **style)


@with_shared_docs
class ScoresDisplay(DisplayOfScores):
    """Histograms of scores, each group as shares of its own rows; made by the `from_...` methods.

    Parameters
    ----------
    positive, negative, unlabeled : array-like
        Scores of the rows of each group; any of them may be empty.
    threshold : float, default=0.0
        Rows to its right are accepted; an infinite one is not drawn.
    name : str, default=""
        The title.

    Attributes
    ----------
    %(figure)s
    """

    def __init__(self, *, positive, negative, unlabeled, threshold: float = 0.0, name: str = "") -> None:
        self.positive = positive
        self.negative = negative
        self.unlabeled = unlabeled
        self.threshold = threshold
        self.name = name

    @classmethod
    @with_shared_docs
    def from_scores(
        cls,
        scores: ArrayLike,
        sign: ArrayLike,
        unlabeled: ArrayLike | None = None,
        *,
        threshold: float = 0.0,
        name: str = "",
        ax: Any = None,
        bins: int = 30,
    ) -> Self:
        """Draw from scores and true signs of labeled rows, and scores of unlabeled rows.

        Parameters
        ----------
        scores, sign : array-like of shape (n,)
            Scores of labeled rows and their true classes, +1 or -1.
        unlabeled : array-like of shape (m,), optional
            Scores of unlabeled rows.
        threshold : float, default=0.0
            The threshold in use.
        name : str, default=""
            The title.
        %(axes)s
        %(bins)s

        %(drawn_display)s
        """
        vector, is_positive = check_scores_and_sign(scores, sign)
        pool = np.empty(0) if unlabeled is None or not np.size(unlabeled) else check_scores(unlabeled, "unlabeled")
        groups = {"positive": vector[is_positive], "negative": vector[~is_positive], "unlabeled": pool}
        return cls(**groups, threshold=threshold, name=name).plot(ax, bins=bins)

    @classmethod
    def _from_rows(cls, rows: ScoredRows, ax: Any, **style: Any) -> Self:
        return cls.from_scores(
            rows.scores, rows.sign, rows.unlabeled, threshold=rows.threshold, name=rows.name, ax=ax, **style
        )

    @with_shared_docs
    def plot(self, ax: Any = None, *, bins: int = 30) -> Self:
        """Draw the histograms and the threshold.

        Parameters
        ----------
        %(axes)s
        %(bins)s

        %(drawn_display)s
        """
        ax = axes_to_draw_on(ax)
        outline = {"histtype": "step", "linewidth": 2}
        groups = [
            ("unlabeled", self.unlabeled, {"color": GRAY, "alpha": 0.35}),
            ("labeled negative", self.negative, {"color": ORANGE} | outline),
            ("labeled positive", self.positive, {"color": BLUE, "linestyle": "--"} | outline),
        ]
        groups = [(label, np.asarray(rows, dtype=np.float64), style) for label, rows, style in groups if len(rows)]
        edges = np.histogram_bin_edges(np.concatenate([rows for _, rows, _ in groups]), bins=bins)
        for label, rows, style in groups:
            ax.hist(
                rows, bins=edges, weights=np.full(rows.size, 1 / rows.size), label=f"{label} ({rows.size})", **style
            )
        if math.isfinite(self.threshold):
            ax.axvline(self.threshold, color=INK, linewidth=2, label="threshold")
        ax.set(xlabel="score", ylabel="share of the group's rows", title=self.name)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
                draw(least, color=GRAY, linestyle="--", linewidth=1.2)
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
