"""How the scores are distributed: labeled rows of both signs and unlabeled rows, with the threshold in use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.report.displays.sources import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    ScoredRows,
    axes_to_draw_on,
    read_scores,
    score_estimator,
)
from semisvm.tables.summary import FitSummary


class ScoresDisplay:
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
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        Their figure.
    """

    def __init__(self, *, positive, negative, unlabeled, threshold: float = 0.0, name: str = "") -> None:
        self.positive = positive
        self.negative = negative
        self.unlabeled = unlabeled
        self.threshold = threshold
        self.name = name

    @classmethod
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
    ) -> ScoresDisplay:
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
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        bins : int, default=30
            Number of bins.

        Returns
        -------
        ScoresDisplay
            The display, drawn.
        """
        vector, is_positive = check_scores_and_sign(scores, sign)
        pool = np.empty(0) if unlabeled is None or not np.size(unlabeled) else check_scores(unlabeled, "unlabeled")
        groups = {"positive": vector[is_positive], "negative": vector[~is_positive], "unlabeled": pool}
        return cls(**groups, threshold=threshold, name=name).plot(ax, bins=bins)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None, bins: int = 30
    ) -> ScoresDisplay:
        """Draw from a fitted estimator: on the rows it was calibrated on, or on X and y, unlabeled rows included.

        Parameters
        ----------
        estimator : estimator
            As for `OperatingPointDisplay.from_estimator`.
        X, y : array-like, optional
            Rows and labels. By default the rows the operating point was chosen on.
        positive : label, optional
            The class to draw; needed for more than two.
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        bins : int, default=30
            Number of bins.

        Returns
        -------
        ScoresDisplay
            The display, drawn.
        """
        return cls._from_rows(score_estimator(estimator, X, y, positive=positive), ax, bins)

    @classmethod
    def from_summary(
        cls, summary: FitSummary, *, positive: str | None = None, ax: Any = None, bins: int = 30
    ) -> ScoresDisplay:
        """Draw from the summary of a fit.

        Parameters
        ----------
        summary : FitSummary
            With scores.
        positive : str, optional
            The class to draw; needed for more than two.
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        bins : int, default=30
            Number of bins.

        Returns
        -------
        ScoresDisplay
            The display, drawn.
        """
        return cls._from_rows(read_scores(summary, positive), ax, bins)

    @classmethod
    def _from_rows(cls, rows: ScoredRows, ax: Any, bins: int) -> ScoresDisplay:
        return cls.from_scores(
            rows.scores, rows.sign, rows.unlabeled, threshold=rows.threshold, name=rows.name, ax=ax, bins=bins
        )

    def plot(self, ax: Any = None, *, bins: int = 30) -> ScoresDisplay:
        """Draw the histograms and the threshold.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        bins : int, default=30
            Number of bins.

        Returns
        -------
        ScoresDisplay
            The display itself.
        """
        ax = axes_to_draw_on(ax)
        outline = {"histtype": "step", "linewidth": 2}
        groups = [
            ("unlabeled", self.unlabeled, {"color": GREY, "alpha": 0.35}),
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
