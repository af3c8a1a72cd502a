"""Penalties by class and by rank, and what else methods ask of rows wherever they are: counts,
histograms of scores, quantiles.

A guess for an unlabeled row is the side of a line that a model puts it on,

    positive where  <w, x> + bias >= line

so that no state per row is needed: `RankPenalties` sends the model and the line to the rows, and
`score_quantile` finds the line that leaves a share of the rows above it, by histograms that are
added up over the parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semisvm.engine.primal.rows import Part, Rows

BINS_OF_SCORES = 4_096


@dataclass(frozen=True)
class ClassPenalties:
    """One class against the rest, or against another one, by the codes that come with the rows."""

    positive: int  # the code of the positive class
    negative: int | None  # that of the negative class; None: every other class
    of_class: np.ndarray  # (n_classes,) what an error on a row of each class costs

    def __call__(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The penalties of the rows of a part."""
        codes = part.codes
        if codes is None:
            raise ValueError("Penalties by class need rows with class codes.")
        box = np.where(codes >= 0, self.of_class[np.maximum(codes, 0)], 0.0) * part.weights
        is_positive = codes == self.positive
        is_negative = ~is_positive if self.negative is None else codes == self.negative
        return np.where(is_positive, box, 0.0), np.where(is_negative, box, 0.0)


@dataclass(frozen=True)
class RankPenalties:
    """Penalties of labeled rows, and of the others by their side of an earlier model's line."""

    labeled: ClassPenalties
    w: np.ndarray
    bias: float
    line: float
    of_positive: float
    of_negative: float

    def __call__(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The penalties of the rows of a part."""
        p, q = self.labeled(part)
        is_positive = part.scores(self.w) + self.bias >= self.line
        p = np.where(part.is_unlabeled & is_positive, self.of_positive * part.weights, p)
        return p, np.where(part.is_unlabeled & ~is_positive, self.of_negative * part.weights, q)


# ---- counts, for `Rows.sum_over` ----


def count_classes(part: Part, n_classes: int) -> np.ndarray:
    """How many rows of positive weight each class has."""
    codes = np.asarray(part.codes)[~part.is_unlabeled & (part.weights > 0)]
    return np.bincount(codes, minlength=n_classes).astype(np.float64)


def weigh_classes(part: Part, n_classes: int) -> np.ndarray:
    """The weight of the rows of each class."""
    is_labeled = ~part.is_unlabeled
    codes = np.asarray(part.codes)[is_labeled]
    return np.bincount(codes, part.weights[is_labeled], minlength=n_classes).astype(np.float64)


def weigh_unlabeled(part: Part, w: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The weight of unlabeled rows by bin of <w, x>, upper edges excluded."""
    place = np.searchsorted(edges, part.scores(w), side="right") - 1
    is_counted = part.is_unlabeled & (place >= 0) & (place < len(edges) - 1)
    weight = part.weights[is_counted]
    return np.bincount(place[is_counted], weight, minlength=len(edges) - 1).astype(np.float64)


def count_changed(
    part: Part,
    w: np.ndarray,
    bias: float,
    line: float,
    new_w: np.ndarray,
    new_bias: float,
    new_line: float,
) -> np.ndarray:
    """How many unlabeled rows are on another side of the new line than of the old one."""
    before = part.scores(w) + bias >= line
    after = part.scores(new_w) + new_bias >= new_line
    return np.array([float(np.count_nonzero((before != after) & part.is_unlabeled))])


# ---- places, for `Rows.gather` ----


def labeled_places(part: Part) -> np.ndarray:
    """Where the labeled rows are."""
    return np.flatnonzero(~part.is_unlabeled)


# ---- quantiles ----


def score_quantile(rows: Rows, w: np.ndarray, bias: float, share: float) -> float:
    """A line with this share of the unlabeled weight below it, to about 1e-7 of the range of the
    scores.

    Histograms of 4,096 bins, the second inside the bin where the first has the line.
    """
    ranges = list(rows.map_over(_score_range, w))
    low, high = min(least for least, _ in ranges), max(most for _, most in ranges)
    if not low < high:
        return low + bias
    below, total = 0.0, 0.0
    for _ in range(2):
        edges = np.linspace(low, high, BINS_OF_SCORES + 1)
        edges[-1] = np.nextafter(high, np.inf) if not total else high
        weight = rows.sum_over(weigh_unlabeled, w, edges)
        total = total or float(weight.sum())
        reached = below + np.cumsum(weight)
        place = min(int(np.searchsorted(reached, share * total)), BINS_OF_SCORES - 1)
        below = reached[place] - weight[place]
        low, high = edges[place], edges[place + 1]
    return float(high) + bias


def _score_range(part: Part, w: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest score of unlabeled rows."""
    scores = part.scores(w)[part.is_unlabeled]
    return (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)
