"""TSVM on rows that are not in memory: what is said of an unlabeled row comes from an earlier machine and two numbers.

    switching    positive if its score under the last machine is at least a threshold. At equal prices, switching all
                 pairs of guesses that pay is the same as guessing by rank.
    annealing    positive by p = 1 / (1 + exp((g - nu) / T)), with g the difference of its losses under the last machine

The threshold is a quantile of scores, and nu makes the mean of p right. Both come from histograms that are added up
over the rows, so no number per row is kept anywhere. The price of unlabeled rows rises by PRICE_FACTOR at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from semisvm.dual import Status
from semisvm.estimators.class_shares import PositiveShare, settle_counted_share
from semisvm.estimators.rounds import losses_at
from semisvm.estimators.streamed import Stream, StreamTask
from semisvm.primal import ClassPrices, RowPart

N_BINS = 4_096
MOST_SAMPLED_NUMBERS = 1 << 22
FIRST_PRICE, PRICE_FACTOR = 1e-4, 4.0
MOST_TURNS = 10
TOL_ON_THE_WAY = 1e-2
FIRST_TEMPERATURE, COOLING, LAST_TEMPERATURE, SETTLED = 0.5, 1.5, 0.01, 1e-2


@dataclass(frozen=True)
class RankedPrices:
    """Unlabeled rows with a score of at least `threshold` under `w` are positive, the others negative."""

    labeled: ClassPrices
    positive: float
    negative: float
    w: np.ndarray
    threshold: float

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        """Return the prices of the rows of a part."""
        p, q = self.labeled(part)
        is_open, weight = _open_rows(part)
        guess = self.guess(part)[is_open]
        p[is_open], q[is_open] = (
            weight * np.where(guess, self.positive, 0.0),
            weight * np.where(guess, 0.0, self.negative),
        )
        return p, q

    def guess(self, part: RowPart) -> np.ndarray:
        """Which rows are on the positive side."""
        return part.scores(self.w) >= self.threshold


@dataclass(frozen=True)
class SoftPrices:
    """Unlabeled rows are positive by p = 1 / (1 + exp((g - nu) / temperature)), g from the machine (w, bias)."""

    labeled: ClassPrices
    positive: float
    negative: float
    price: float
    w: np.ndarray
    bias: float
    nu: float
    temperature: float
    loss: str

    def __call__(self, part: RowPart) -> tuple[np.ndarray, np.ndarray]:
        """Return the prices of the rows of a part."""
        p, q = self.labeled(part)
        is_open, weight = _open_rows(part)
        share = self.share(part.scores(self.w)[is_open] + self.bias)
        p[is_open], q[is_open] = weight * self.positive * share, weight * self.negative * (1 - share)
        return p, q

    def share(self, f: np.ndarray) -> np.ndarray:
        """How much rows with these decision values are positive."""
        g = (self.positive * losses_at(f, self.loss) - self.negative * losses_at(-f, self.loss)) / self.price
        return expit((self.nu - g) / self.temperature)


def _open_rows(part: RowPart) -> tuple[np.ndarray, np.ndarray]:
    """(mask of the unlabeled rows, their weights)."""
    assert part.codes is not None
    is_open = part.codes < 0
    return is_open, np.ones(np.count_nonzero(is_open)) if part.weight is None else part.weight[is_open]


def count_scores(part: RowPart, w: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The weight of the unlabeled rows of a part between the edges, (len(edges) + 1,)."""
    is_open, weight = _open_rows(part)
    return np.bincount(np.searchsorted(edges, part.scores(w)[is_open], side="right"), weight, minlength=len(edges) + 1)


def count_changes(part: RowPart, before: RankedPrices, after: RankedPrices) -> np.ndarray:
    """The weight of the unlabeled rows whose guess changes."""
    is_open, weight = _open_rows(part)
    return np.array([weight[before.guess(part)[is_open] != after.guess(part)[is_open]].sum()])


class ScoreHistogram:
    """Scores of the unlabeled rows under a machine: bins that a sample of rows suggests, filled by all rows."""

    def __init__(self, stream: Stream):
        self.rows = stream.rows
        n = max(min(stream.rows.n_rows, MOST_SAMPLED_NUMBERS // max(stream.rows.n_features, 1)), N_BINS)
        sample = stream.rows.sample(n, seed=0)
        assert sample.codes is not None
        is_open = np.flatnonzero(sample.codes < 0)
        self.sample = sample.select(is_open) if len(is_open) else sample

    def fill(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(edges, weights): bins of about equal weight, one more than there are edges."""
        edges = np.unique(np.quantile(self.sample.scores(w), np.linspace(0, 1, N_BINS)))
        return edges, self.rows.sum_over(count_scores, w, edges)

    def threshold(self, w: np.ndarray, share: float) -> float:
        """The score that this share of the weight of unlabeled rows is at or above."""
        edges, weight = self.fill(w)
        above = np.cumsum(weight[::-1])[::-1]  # at or above the edge before each bin
        wanted = share * above[0]
        place = int(np.searchsorted(-above[1:], -wanted, side="right"))  # edges[place] has less above it
        if place == 0 or place >= len(edges):
            return float(edges[min(place, len(edges) - 1)])
        fine = np.linspace(edges[place - 1], edges[place], N_BINS)
        above = np.cumsum(self.rows.sum_over(count_scores, w, fine)[::-1])[::-1][1:]
        return float(fine[int(np.argmin(np.abs(above - wanted)))])

    def share_above(self, w: np.ndarray, score: float) -> float:
        """The share of the weight of unlabeled rows with at least this score."""
        below, above = self.rows.sum_over(count_scores, w, np.array([score]))
        return float(above / (below + above))


def fit_transductive(
    task: StreamTask, C: float, C_unlabeled: float, algorithm: str, positive_fraction: str | float
) -> PositiveShare:
    """TSVM by rank, or by annealing; the prices of unlabeled rows rise in steps."""
    stream = task.stream
    labeled = task.class_prices(C)
    task.solve(labeled, switched=0)
    negative = [code for code in range(len(stream.classes)) if code != task.pair.positive]
    if task.pair.negative is not None:
        negative = [task.pair.negative]
    share = settle_counted_share(
        positive_fraction,
        float(stream.weight_of[task.pair.positive]),
        float(stream.weight_of[negative].sum()),
        int(stream.n_of[[task.pair.positive, *negative]].sum()),
    )
    if stream.unlabeled <= 0:
        return share
    histogram = ScoreHistogram(stream)
    if positive_fraction == "estimated":
        share = share.towards(histogram.share_above(task.solution.w, -task.solution.bias))
    prices = (float(stream.price[task.pair.positive]), float(stream.price[negative].mean()))
    if algorithm == "anneal":
        _anneal(task, labeled, histogram, share.value, C_unlabeled, prices)
        _switch(task, labeled, histogram, share.value, C_unlabeled, prices, None)
        return share
    price = min(FIRST_PRICE, C_unlabeled)
    while True:
        is_last = price >= C_unlabeled
        _switch(task, labeled, histogram, share.value, price, prices, None if is_last else TOL_ON_THE_WAY)
        if is_last or task.solution.status is not Status.CONVERGED:
            return share
        price = min(PRICE_FACTOR * price, C_unlabeled)


def _switch(
    task: StreamTask,
    labeled: ClassPrices,
    histogram: ScoreHistogram,
    share: float,
    price: float,
    costs: tuple[float, float],
    tol: float | None,
) -> None:
    """Guess by rank and solve, until no guess changes or the objective no longer falls."""
    tol = None if tol is None else max(tol, task.stream.limits.tol)
    before: RankedPrices | None = None
    for _ in range(MOST_TURNS):
        last = task.solution
        threshold = histogram.threshold(last.w, share)
        prices = RankedPrices(labeled, price * costs[0], price * costs[1], last.w, threshold)
        switched = 0.0 if before is None else float(task.stream.rows.sum_over(count_changes, before, prices)[0])
        if before is not None and switched == 0:
            return
        found = task.solve(prices, tol, price=price, switched=switched)
        if before is not None and found.objective >= last.objective:
            task.solution = last
            return
        if found.status is not Status.CONVERGED:
            return
        before = prices


def _anneal(
    task: StreamTask,
    labeled: ClassPrices,
    histogram: ScoreHistogram,
    share: float,
    price: float,
    costs: tuple[float, float],
) -> None:
    temperature = FIRST_TEMPERATURE
    tol = max(TOL_ON_THE_WAY, task.stream.limits.tol)
    while temperature > LAST_TEMPERATURE:
        for _ in range(MOST_TURNS):
            last = task.solution
            edges, weight = histogram.fill(last.w)
            middles = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:]]) + last.bias
            both = price * costs[0], price * costs[1], price
            soft = SoftPrices(labeled, *both, last.w, last.bias, 0.0, temperature, task.stream.loss)
            soft = replace(soft, nu=_balance(soft, middles, weight, share))
            found = task.solve(soft, tol, temperature=temperature)
            if found.status is not Status.CONVERGED:
                return
            before, after = soft.share(middles), soft.share(middles + (found.bias - last.bias))
            drift = float(np.linalg.norm(found.w - last.w)) / max(float(np.linalg.norm(found.w)), 1e-12)
            if drift < SETTLED and np.average(np.abs(after - before), weights=weight) < SETTLED:
                break
        temperature /= COOLING


def _balance(soft: SoftPrices, middles: np.ndarray, weight: np.ndarray, share: float) -> float:
    """nu such that the mean of p is the share."""

    def excess(nu: float) -> float:
        return float(np.average(replace(soft, nu=nu).share(middles), weights=weight)) - share

    low, high = -1.0, 1.0
    while excess(low) > 0 and low > -1e12:
        low *= 2
    while excess(high) < 0 and high < 1e12:
        high *= 2
    return float(brentq(excess, low, high))
