"""How the scores are spread: labeled rows of both signs and unlabeled rows, with the threshold in use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.report.displays.canvas import BLUE, GREY, INK, ORANGE, axes_to_draw_on
from semisvm.report.displays.fitted import score_rows


class ScoresDisplay:
    """Histograms of scores, each group as shares of its own rows; made by `from_estimator` or `from_scores`.

    Parameters
    ----------
    positive, negative, unlabeled : scores of the rows of each group; any may be empty.
    threshold : float
        Rows to its right are accepted; an infinite one is not drawn.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure, after `plot`.
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
        """Draw from scores and true signs (+1, -1) of labeled rows, and scores of unlabeled ones."""
        vector, is_positive = check_scores_and_sign(scores, sign)
        pool = np.empty(0) if unlabeled is None or not np.size(unlabeled) else check_scores(unlabeled, "unlabeled")
        groups = {"positive": vector[is_positive], "negative": vector[~is_positive], "unlabeled": pool}
        return cls(**groups, threshold=threshold, name=name).plot(ax, bins=bins)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None, bins: int = 30
    ) -> ScoresDisplay:
        """Draw from a fitted estimator: on the rows it was calibrated on, or on X and y, unlabeled rows included."""
        scored = score_rows(estimator, X, y, positive=positive)
        return cls.from_scores(
            scored.scores, scored.sign, scored.unlabeled, threshold=scored.threshold, name=scored.name, ax=ax, bins=bins
        )

    def plot(self, ax: Any = None, *, bins: int = 30) -> ScoresDisplay:
        """Draw on `ax`, or on new axes."""
        ax = axes_to_draw_on(ax)
        groups = [
            ("unlabeled", self.unlabeled, {"color": GREY, "alpha": 0.35}),
            ("labeled negative", self.negative, {"color": ORANGE, "histtype": "step", "linewidth": 2}),
            (
                "labeled positive",
                self.positive,
                {"color": BLUE, "histtype": "step", "linewidth": 2, "linestyle": "--"},
            ),
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
