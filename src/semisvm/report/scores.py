"""Where the Displays get their scores and what they draw on; and how the scores are distributed.

    scores     (n,)  of labeled rows, on the scale of `threshold`
    sign       (n,)  +1 on rows of the class, -1 on other labeled rows
    unlabeled  (m,)  scores of the unlabeled rows; empty where X was not given

From an estimator without X and y, these are the scores on which it chose its operating point (`calibration_scores_`);
with X and y, its decision function on those rows, where the threshold in use is 0. The estimator may be the last step
of a Pipeline.

The colors are those of Okabe and Ito, which people with any kind of color vision can tell apart.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from semisvm.decision import OperatingPoint
from semisvm.decision.checks import check_scores, check_scores_and_sign
from semisvm.labels import encode
from semisvm.report.charts import UsableScores
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.summary import FitSummary

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#7F7F7F", "#1A2027"
NO_MATPLOTLIB = 'matplotlib is not installed; get it with: pip install "semisvm[plots]"'


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """See above; `point` is the operating point where the scores are those that it was chosen on."""

    scores: NDArray[np.float64]
    sign: NDArray[Any]
    unlabeled: NDArray[np.float64]
    threshold: float
    point: OperatingPoint | None
    name: str


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the last step of a pipeline."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def score_estimator(estimator: Any, X: Any = None, y: Any = None, *, positive: Any = None) -> ScoredRows:
    """Return the scores for one class: of the rows of X, or of those that the operating point was chosen on."""
    check_is_fitted(estimator)
    if (X is None) != (y is None):
        raise ValueError("X and y go together: pass both, or neither to see what the estimator was calibrated on.")
    final = last_step(estimator)
    index = _class_index(final, positive)
    name = f"{type(final).__name__}, {final.classes_[index]}"
    return _calibration(final, index, name) if X is None else _on_rows(estimator, final, X, y, index, name)


def read_scores(summary: FitSummary, positive: str | None = None) -> ScoredRows:
    """Return the scores for one class that a summary holds."""
    name = pick_class(summary.scores, positive, "scores")
    usable, point = UsableScores.of(summary.scores[name]), summary.operating_points.get(name)
    threshold = 0.0 if point is None else point.threshold
    title = f"{summary.method.name}, {name}"
    return ScoredRows(usable.labeled, usable.sign, usable.unlabeled, threshold, point, title)


def pick_class(part: Mapping[Any, Any], positive: Any, what: str) -> Any:
    """Return the class to draw: the one named, or the only one there is."""
    if not part:
        raise ValueError(f"No {what} were stored: there is nothing to draw.")
    if positive is None and len(part) == 1:
        return next(iter(part))
    if positive not in part:
        raise ValueError(f"positive must name one of the classes {list(part)}, got {positive!r}.")
    return positive


def _class_index(final: Any, positive: Any) -> int:
    classes = list(final.classes_)
    if positive is None:
        if len(classes) == 2:
            return 1
        raise ValueError(f"positive must name one of the {len(classes)} classes, for example {classes[0]!r}.")
    if positive not in classes:
        raise ValueError(f"positive={positive!r} is not a class of this estimator; its classes are {classes}.")
    return classes.index(positive)


def _calibration(final: Any, index: int, name: str) -> ScoredRows:
    if not hasattr(final, "calibration_scores_"):
        raise ValueError(
            f"{type(final).__name__} keeps no calibration scores: pass X and y of labeled rows it was not trained on."
        )
    label = final.classes_[index]
    if label not in final.operating_points_:
        raise ValueError(f"the operating point is that of {final.classes_[1]!r}: pass X and y to see the other class.")
    point = final.operating_points_[label]
    if point is None:
        raise ValueError(f"the fit was stopped before it chose an operating point of {label!r}: fit again.")
    scores = np.asarray(final.calibration_scores_[label], dtype=np.float64)
    return ScoredRows(scores, final.calibration_sign_[label], np.empty(0), point.threshold, point, name)


def _on_rows(estimator: Any, final: Any, X: Any, y: Any, index: int, name: str) -> ScoredRows:
    values = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if values.ndim == 2:
        values = values[:, index]
    elif index == 0:
        values = -values
    labels = encode(y, unlabeled=getattr(final, "unlabeled", -1), n_rows=len(values))
    known = labels.is_labeled
    is_positive = np.asarray(labels.decode(labels.codes[known])) == final.classes_[index]
    return ScoredRows(values[known], np.where(is_positive, 1, -1), values[~known], 0.0, None, name)


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
