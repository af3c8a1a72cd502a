"""Guesses by rank, and what else methods ask of rows wherever they are: counts, histograms of scores, quantiles.

A guess for an unlabeled row is the side of a line that a model puts it on,

    positive where  <w, x> + bias >= line

so that no state per row is needed: `RankPrices` sends the model and the line to the rows, and `score_quantile` finds
the line that leaves a share of the rows above it, by histograms that are added up over the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.primal.problem import ClassPrices
from semisvm.primal.rows import RowPart, Rows

BINS_OF_SCORES = 4_096


@dataclass(frozen=True)
class RankPrices:
    """Prices of labeled rows, and of the others by the side of the line that an earlier model puts them on."""

    labeled: ClassPrices
    w: np.ndarray
    bias: float
    line: float
    price_positive: float
    price_negative: float

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        p, q = self.labeled(part)
        assert part.codes is not None
        is_open, is_positive = part.codes < 0, part.scores(self.w) + self.bias >= self.line
        weight = np.ones(len(p)) if part.weight is None else part.weight
        p = np.where(is_open & is_positive, self.price_positive * weight, p)
        return p, np.where(is_open & ~is_positive, self.price_negative * weight, q)


def _weight_of(part: RowPart) -> np.ndarray:
    return np.ones(part.X.shape[0]) if part.weight is None else np.asarray(part.weight, dtype=np.float64)


def count_bad_values(part: RowPart) -> np.ndarray:
    """How many values of each column are not finite, and last how many weights are no weights."""
    if isinstance(part.X, np.ndarray):
        counts = np.count_nonzero(~np.isfinite(part.X), axis=0)
    else:
        counts = np.bincount(part.X.indices[~np.isfinite(part.X.data)], minlength=part.X.shape[1])
    weight = _weight_of(part)
    return np.append(counts, np.count_nonzero(~(np.isfinite(weight) & (weight >= 0)))).astype(np.float64)


def count_classes(part: RowPart, n_classes: int) -> np.ndarray:
    """How many rows each class has."""
    codes = np.asarray(part.codes)
    return np.bincount(codes[codes >= 0], minlength=n_classes).astype(np.float64)


def take_labeled(part: RowPart) -> tuple[Any, np.ndarray, np.ndarray]:
    """The labeled rows, with their codes and weights."""
    rows = np.flatnonzero(part.codes >= 0)  # type: ignore[operator]
    return part.X[rows], np.asarray(part.codes)[rows].astype(np.int64), _weight_of(part)[rows]


def weigh_classes(part: RowPart, n_classes: int) -> np.ndarray:
    """The weight of the rows of each class."""
    codes = np.asarray(part.codes)
    return np.bincount(codes[codes >= 0], _weight_of(part)[codes >= 0], minlength=n_classes).astype(np.float64)


def weigh_unlabeled(part: RowPart, w: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The weight of unlabeled rows whose score <w, x> is in each of the bins, the upper edges not in them."""
    is_open = np.asarray(part.codes) < 0
    place = np.searchsorted(edges, part.scores(w)[is_open], side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    return np.bincount(place[inside], _weight_of(part)[is_open][inside], minlength=len(edges) - 1).astype(np.float64)


def score_range(part: RowPart, w: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest score of unlabeled rows."""
    scores = part.scores(w)[np.asarray(part.codes) < 0]
    return (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)


def count_changed(part: RowPart, w: np.ndarray, bias: float, line: float, new_w, new_bias: float, new_line: float):
    """How many unlabeled rows are on another side of the new line than of the old one."""
    before, after = part.scores(w) + bias >= line, part.scores(new_w) + new_bias >= new_line
    return np.array([float(np.count_nonzero((before != after) & (np.asarray(part.codes) < 0)))])


def score_part(part: RowPart, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Scores of the rows of a part, (m, n_problems)."""
    return np.asarray(part.X @ coef.T) + intercept


def score_quantile(rows: Rows, w: np.ndarray, bias: float, share: float) -> float:
    """A line with this share of the unlabeled weight below it, to about 1e-7 of the range of the scores.

    Histograms of 4,096 bins, the second inside the bin where the first has the line.
    """
    ranges = list(rows.map_over(score_range, w))
    low, high = min(one[0] for one in ranges), max(one[1] for one in ranges)
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
