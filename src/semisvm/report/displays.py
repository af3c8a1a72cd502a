"""Pictures for notebooks: precision against recall over all thresholds, and the evidence of a
campaign.

The colors are those of Okabe and Ito, which people with any kind of color vision can distinguish.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from semisvm.campaign import Campaign, CampaignSummary, summarize_campaign
from semisvm.decision import OperatingPoint, Target, binomial_interval, measure
from semisvm.decision.counts import count_all, precision, recall
from semisvm.labels import encode
from semisvm.tables.sentences import labels_left, verdict
from semisvm.tables.summary import FitSummary

BLUE, ORANGE, GRAY, INK = "#0072B2", "#D55E00", "#7F7F7F", "#1A2027"
EVIDENCE_TITLE = "How near each threshold is to a certificate"
PRICE_TITLE = "Labels that are still needed, about"


def new_axes(*shape: int, **figure: Any) -> Any:
    """Return new axes, or raise an ImportError that says how to get matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            'matplotlib is not installed; get it with: pip install "semisvm[plots]"'
        ) from None
    return plt.subplots(*shape, **figure)[1]


class OperatingPointDisplay:
    """Precision against recall, with the operating point; made by `from_estimator`, `from_summary`
    or `from_scores`.

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
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        Their figure.
    line_ : matplotlib.lines.Line2D
        The curve.
    point_ : matplotlib.container.ErrorbarContainer or None
        The operating point with its intervals; None where its precision is undefined.
    """

    def __init__(
        self, *, precision, recall, low, high, point: OperatingPoint, name: str = ""
    ) -> None:
        self.precision = precision
        self.recall = recall
        self.low = low
        self.high = high
        self.point = point
        self.name = name

    @classmethod
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
        """Draw the curve of scores and true signs.

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
            The target of the threshold; by default the best F1.
        confidence : float, default=0.9
            Of the intervals.
        name : str, default=""
            For the legend.
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        **line : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        display
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
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        pos_label: Any = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the curve of a fitted estimator, on the rows that it was calibrated on or on X and
        y.

        Parameters
        ----------
        estimator : estimator
            A fitted `PreferenceSVC`, another classifier with a decision function, or a Pipeline
            that ends in one.
        X, y : array-like, optional
            Rows and labels. By default the rows the operating point was chosen on.
        pos_label : label, optional
            The class to draw; needed for more than two.
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        **style : dict
            As for `plot`.

        Returns
        -------
        display
            The display, drawn.
        """
        check_is_fitted(estimator)
        if (X is None) != (y is None):
            raise ValueError(
                "X and y go together: pass both, or neither to draw the rows that the estimator"
                " was calibrated on."
            )
        final = estimator[-1] if hasattr(estimator, "steps") else estimator
        index = _class_index(final, pos_label)
        label = final.classes_[index]
        name = f"{type(final).__name__}, {label}"
        if X is None:
            point = _chosen_point(final, label)
            scores = final.calibration_scores_[label]
            sign = final.calibration_sign_[label]
            return cls.from_scores(scores, sign, point=point, name=name, ax=ax, **style)
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 2:
            scores = scores[:, index]
        elif index == 0:
            scores = -scores
        labels = encode(y, unlabeled=getattr(final, "unlabeled", -1), n_rows=len(scores))
        known = labels.is_labeled
        is_positive = np.asarray(labels.decode(labels.codes[known])) == label
        sign = np.where(is_positive, 1, -1)
        return cls.from_scores(scores[known], sign, name=name, ax=ax, **style)

    @classmethod
    def from_summary(
        cls, summary: FitSummary, *, pos_label: str | None = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the curve of the summary of a fit.

        Parameters
        ----------
        summary : FitSummary
            With scores.
        pos_label : label, optional
            The class to draw; needed for more than two.
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        **style : dict
            As for `plot`.

        Returns
        -------
        display
            The display, drawn.
        """
        if not summary.scores:
            raise ValueError("No scores were stored: there is nothing to draw.")
        if pos_label is None and len(summary.scores) == 1:
            pos_label = next(iter(summary.scores))
        if pos_label not in summary.scores:
            raise ValueError(
                f"pos_label must name one of the classes {list(summary.scores)}, got {pos_label!r}."
            )
        scores, sign = summary.scores[pos_label].judged
        point = summary.operating_points.get(pos_label)
        name = f"{summary.method.name}, {pos_label}"
        return cls.from_scores(scores, sign, point=point, name=name, ax=ax, **style)

    def plot(self, ax: Any = None, *, name: str | None = None, **line: Any) -> Self:
        """Draw the curve and the operating point.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default new ones.
        name : str, optional
            For the legend; by default the display's own.
        **line : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        display
            The display, drawn.
        """
        ax = new_axes() if ax is None else ax
        style = {
            "color": BLUE,
            "linewidth": 2,
            "label": (self.name if name is None else name) or None,
        } | line
        (self.line_,) = ax.plot(self.recall, self.precision, **style)
        share = f"{self.point.confidence:.3g}"
        ax.fill_between(
            self.recall,
            self.low,
            self.high,
            color=style["color"],
            alpha=0.13,
            linewidth=0,
            label=f"interval ({share})",
        )
        for least, draw in (
            (self.point.target.min_precision, ax.axhline),
            (self.point.target.min_recall, ax.axvline),
        ):
            if least is not None:
                draw(least, color=GRAY, linestyle="--", linewidth=1.2)
        self.point_ = None
        if not math.isnan(self.point.precision.value):
            self.point_ = self._mark(ax)
        ax.set(xlabel="recall", ylabel="precision", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.legend(loc="lower left")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _mark(self, ax: Any) -> Any:
        """Draw the operating point as a cross as wide and high as its intervals."""
        place = (self.point.recall, self.point.precision)
        wings = [np.maximum(0, [[e.value - e.low], [e.high - e.value]]) for e in place]
        label = "threshold in use"
        if self.point.target.is_constrained:
            label = verdict(self.point).headline
        look = {"fmt": "o", "color": ORANGE, "capsize": 3, "label": label}
        return ax.errorbar(place[0].value, place[1].value, wings[1], wings[0], **look)


def _class_index(final: Any, pos_label: Any) -> int:
    classes = np.asarray(final.classes_).tolist()
    if pos_label is None and len(classes) == 2:
        return 1
    if pos_label not in classes:
        raise ValueError(f"pos_label must name one of the classes {classes}, got {pos_label!r}.")
    return classes.index(pos_label)


def _chosen_point(final: Any, label: Any) -> OperatingPoint:
    """Return the operating point of a class that an estimator chose."""
    if not hasattr(final, "calibration_scores_"):
        raise ValueError(
            f"{type(final).__name__} keeps no calibration scores: pass X and y of labeled rows it"
            " was not trained on."
        )
    point = final.operating_points_.get(label)
    if point is None:
        raise ValueError(f"the fit chose no operating point of {label!r}: pass X and y.")
    return point


class CampaignDisplay:
    """Evidence by number of labels, and labels needed by each threshold; made by `from_campaign` or
    `from_summary`.

    Parameters
    ----------
    campaign : CampaignSummary
        The outcome of a campaign.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes
        One for each chart, after `plot`.
    figure_ : matplotlib.figure.Figure
        Their figure.
    """

    def __init__(self, campaign: CampaignSummary) -> None:
        self.campaign = campaign

    @classmethod
    def from_campaign(cls, campaign: Campaign, *, ax: Any = None) -> CampaignDisplay:
        """Draw a campaign.

        Parameters
        ----------
        campaign : Campaign
            The campaign.
        ax : sequence of two matplotlib.axes.Axes, optional
            One for each chart; by default new ones.

        Returns
        -------
        display
            The display, drawn.
        """
        return cls(summarize_campaign(campaign)).plot(ax)

    @classmethod
    def from_summary(cls, summary: FitSummary, *, ax: Any = None) -> CampaignDisplay:
        """Draw the campaign that the summary of a model holds.

        Parameters
        ----------
        summary : FitSummary
            Of a model that `semisvm certify apply` wrote.
        ax : sequence of two matplotlib.axes.Axes, optional
            One for each chart; by default new ones.

        Returns
        -------
        display
            The display, drawn.
        """
        if summary.campaign is None:
            raise ValueError(
                "The summary holds no campaign: semisvm certify apply writes a model that has one."
            )
        return cls(summary.campaign).plot(ax)

    def plot(self, ax: Any = None) -> CampaignDisplay:
        """Draw the evidence and the labels needed.

        Parameters
        ----------
        ax : sequence of two matplotlib.axes.Axes, optional
            One for each chart; by default new ones.

        Returns
        -------
        display
            The display, drawn.
        """
        if ax is None:
            ax = new_axes(1, 2, figsize=(9, 3.2), layout="constrained")
        self.axes_ = np.atleast_1d(ax)
        if self.axes_.size != 2:
            raise ValueError(
                f"ax must be 2 axes, for the evidence and the labels needed; got {self.axes_.size}."
            )
        campaign = self.campaign
        left, right = self.axes_
        in_legend = set()
        for path, done in zip(campaign.paths, campaign.certified_at, strict=True):
            label = "threshold, not certified" if done is None else "threshold, certified"
            look = {
                "color": GRAY if done is None else BLUE,
                "linewidth": 1.0 if done is None else 1.8,
                "label": None if label in in_legend else label,
            }
            in_legend.add(label)
            left.plot(campaign.labels, 10.0 ** np.array(path), drawstyle="steps-post", **look)
            if done is not None:
                left.plot(
                    done, 10.0 ** path[campaign.labels.index(done)], "o", color=BLUE, markersize=4
                )
        left.axhline(1, color=INK, linestyle="--", linewidth=1.2, label="needed")
        left.legend(loc="upper left", fontsize=8)
        left.set(yscale="log", xlabel="labels", title=EVIDENCE_TITLE)
        needs = [0 if line["is_certified"] else line["forecast"] for line in campaign.thresholds]
        places = np.arange(len(needs))
        colors = [BLUE if line["is_certified"] else GRAY for line in campaign.thresholds]
        right.barh(places, [need or 0 for need in needs], color=colors)
        for place, (line, need) in enumerate(zip(campaign.thresholds, needs, strict=True)):
            right.text(need or 0, place, f" {labels_left(line)}", va="center", fontsize=8)
        names = [f"{line['n_accepted']:,}" for line in campaign.thresholds]
        right.set(yticks=places, yticklabels=names, ylabel="rows accepted", title=PRICE_TITLE)
        right.set_xlim(0, 1.35 * max([need or 0 for need in needs] + [1]))
        right.invert_yaxis()
        right.tick_params(axis="y", labelsize=8)
        self.figure_ = left.figure
        return self
