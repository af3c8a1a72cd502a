"""Guesses by rank, and what else methods ask of rows wherever they are: counts, histograms of
scores, quantiles.

A guess for an unlabeled row is the side of a line that a model puts it on,

    positive where  <w, x> + bias >= line

so that no state per row is needed: `RankPrices` sends the model and the line to the rows, and
`score_quantile` finds the line that leaves a share of the rows above it, by histograms that are
added up over the parts.

A soft label is how much a row is positive, p in [0, 1], at a temperature T, again a function of the
last model alone:

    p = 1 / (1 + exp((g - level) / T)),     g = cost+ h(f) - cost- h(-f),     f = <w, x> + bias

`soft_level` finds the level at which the mean of p is the share of positives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from semisvm.primal.problem import ClassPrices, Loss, RowPart
from semisvm.primal.rows import Rows

BINS_OF_SCORES = 4_096
MOST_LEVEL_STEPS, LEVEL_TOL = 6, 1e-9


@dataclass(frozen=True)
class RankPrices:
    """Prices of labeled rows, and of the others by their side of an earlier model's line."""

    labeled: ClassPrices
    w: np.ndarray
    bias: float
    line: float
    price_positive: float
    price_negative: float

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        p, q = self.labeled(part)
        is_open = part.is_open
        is_positive = part.scores(self.w) + self.bias >= self.line
        weight = part.weights
        p = np.where(is_open & is_positive, self.price_positive * weight, p)
        return p, np.where(is_open & ~is_positive, self.price_negative * weight, q)


@dataclass(frozen=True)
class SoftLabels:
    """How much rows are positive, by an earlier model, a temperature and a level."""

    w: np.ndarray
    bias: float
    temperature: float
    level: float
    cost_positive: float
    cost_negative: float
    loss: Loss

    def excess_losses(self, f: np.ndarray) -> np.ndarray:
        """g: by how much rows lose more as positive than as negative."""
        short = np.maximum(0.0, 1.0 - f)
        over = np.maximum(0.0, 1.0 + f)
        if self.loss == "squared_hinge":
            short = short**2
            over = over**2
        return self.cost_positive * short - self.cost_negative * over

    def __call__(self, part: RowPart) -> np.ndarray:
        """p of each row of a part."""
        g = self.excess_losses(part.scores(self.w) + self.bias)
        return expit((self.level - g) / self.temperature)


@dataclass(frozen=True)
class SoftPrices:
    """Prices of labeled rows, and of the others under both signs by their soft labels."""

    labeled: ClassPrices
    soft: SoftLabels
    price: float

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        p, q = self.labeled(part)
        soft = self.soft(part)
        is_open = part.is_open
        whole = self.price * part.weights
        p = np.where(is_open, self.soft.cost_positive * whole * soft, p)
        return p, np.where(is_open, self.soft.cost_negative * whole * (1 - soft), q)


def sum_soft(part: RowPart, soft: SoftLabels, before: SoftLabels | None) -> np.ndarray:
    """Unlabeled sums of p, dp/dlevel, |p - p before|, min(p, 1 - p) and 1."""
    weight = np.where(part.is_open, part.weights, 0.0)
    p = soft(part)
    change = np.zeros(len(p)) if before is None else np.abs(p - before(part))
    slope = p * (1 - p) / soft.temperature
    return np.array(
        [weight @ values for values in (p, slope, change, np.minimum(p, 1 - p), np.ones(len(p)))]
    )


def soft_level(rows: Rows, soft: SoftLabels, share: float) -> SoftLabels:
    """The same soft labels at the level where their mean is `share`.

    A histogram of the scores gives a first level, and Newton's method on the rows themselves the
    rest.
    """
    from scipy.optimize import brentq

    low, high = _range_of_scores(rows, soft.w)
    edges = np.linspace(low, np.nextafter(high, np.inf), BINS_OF_SCORES + 1)
    weight = rows.sum_over(weigh_unlabeled, soft.w, edges)
    g = soft.excess_losses(0.5 * (edges[:-1] + edges[1:]) + soft.bias)
    T = soft.temperature
    room = T * logit(share) + np.array([-1e-6, 1e-6]) * (T + np.abs(g).max())
    level = brentq(
        lambda at: float(weight @ expit((at - g) / T)) - share * weight.sum(),
        g.min() + room[0],
        g.max() + room[1],
    )
    for _ in range(MOST_LEVEL_STEPS):
        soft = replace(soft, level=float(level))
        total, slope, _, _, whole = rows.sum_over(sum_soft, soft, None)
        if abs(total / whole - share) <= LEVEL_TOL or slope <= 0:
            break
        level = soft.level - np.clip((total - share * whole) / slope, -T, T)
    return soft


def count_bad_values(part: RowPart) -> np.ndarray:
    """How many values of each column are not finite, and last how many weights are no weights."""
    if isinstance(part.X, np.ndarray):
        counts = np.count_nonzero(~np.isfinite(part.X), axis=0)
    else:
        counts = np.bincount(part.X.indices[~np.isfinite(part.X.data)], minlength=part.X.shape[1])
    weight = part.weights
    return np.append(counts, np.count_nonzero(~(np.isfinite(weight) & (weight >= 0)))).astype(
        np.float64
    )


def count_classes(part: RowPart, n_classes: int) -> np.ndarray:
    """How many rows each class has."""
    codes = np.asarray(part.codes)
    return np.bincount(codes[codes >= 0], minlength=n_classes).astype(np.float64)


def labeled_places(part: RowPart) -> np.ndarray:
    """Where the labeled rows are."""
    return np.flatnonzero(~part.is_open)


def count_open(part: RowPart) -> tuple[int, int, int]:
    """(number of the first row, labeled rows, unlabeled rows); rows of weight 0 are not counted."""
    is_used = part.weights > 0
    is_open = part.is_open
    return (
        part.span.start,
        int(np.count_nonzero(is_used & ~is_open)),
        int(np.count_nonzero(is_used & is_open)),
    )


def pool_places(
    part: RowPart, starts: np.ndarray, ranks: np.ndarray, pool: np.ndarray | None
) -> np.ndarray:
    """Where the labeled rows are, and those unlabeled rows that are in the pool.

    Part k begins at row starts[k], with ranks[k] unlabeled rows before it; the pool has ranks,
    ascending; None: all.
    """
    is_open = part.is_open
    taken = part.weights > 0
    if pool is not None:
        rank = ranks[np.searchsorted(starts, part.span.start)]
        candidates = np.flatnonzero(taken & is_open)
        drawn = pool[slice(*np.searchsorted(pool, [rank, rank + len(candidates)]))] - rank
        taken[is_open] = False
        taken[candidates[drawn]] = True
    return np.flatnonzero(taken)


def weigh_classes(part: RowPart, n_classes: int) -> np.ndarray:
    """The weight of the rows of each class."""
    codes = np.asarray(part.codes)
    return np.bincount(codes[codes >= 0], part.weights[codes >= 0], minlength=n_classes).astype(
        np.float64
    )


def weigh_unlabeled(part: RowPart, w: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The weight of unlabeled rows by bin of <w, x>, upper edges excluded."""
    is_open = part.is_open
    place = np.searchsorted(edges, part.scores(w)[is_open], side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    return np.bincount(
        place[inside], part.weights[is_open][inside], minlength=len(edges) - 1
    ).astype(np.float64)


def score_range(part: RowPart, w: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest score of unlabeled rows."""
    scores = part.scores(w)[part.is_open]
    return (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)


def count_changed(
    part: RowPart, w: np.ndarray, bias: float, line: float, new_w, new_bias: float, new_line: float
):
    """How many unlabeled rows are on another side of the new line than of the old one."""
    before = part.scores(w) + bias >= line
    after = part.scores(new_w) + new_bias >= new_line
    return np.array([float(np.count_nonzero((before != after) & part.is_open))])


def score_part(part: RowPart, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Scores of the rows of a part, (m, n_problems)."""
    return np.asarray(part.X @ coef.T) + intercept


def _range_of_scores(rows: Rows, w: np.ndarray) -> tuple[float, float]:
    ranges = list(rows.map_over(score_range, w))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def score_quantile(rows: Rows, w: np.ndarray, bias: float, share: float) -> float:
    """A line with this share of the unlabeled weight below it, to about 1e-7 of the range of the
    scores.

    Histograms of 4,096 bins, the second inside the bin where the first has the line.
    """
    low, high = _range_of_scores(rows, w)
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
        low = edges[place]
        high = edges[place + 1]
    return float(high) + bias
