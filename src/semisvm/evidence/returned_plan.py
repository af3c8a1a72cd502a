"""What to label for a precision of returned rows, and what to expect; no promise depends on it.

A part of the labels is drawn at random in one set, to prove it; the others are spent below that set
from the top, where each positive counts for itself and pays for unseen rows. Of all sets and parts,
the one from which most positives are expected in the returned rows is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.order import Floats
from semisvm.evidence.procedure import Forecast

if TYPE_CHECKING:
    from semisvm.evidence.nested import NestedSets
    from semisvm.evidence.returned import SetBound

N_SETS, N_BANDS_BELOW = 20, 8
DECAY = 0.6  # of the risk, from set to set, away from the one that looks best beforehand
PARTS_AT_RANDOM = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # of the labels left
CHAIN = 4  # sets before the planned one whose risk the plan expects to be handed on
# Standard deviations by which there may be more or fewer positives than expected, equally likely.
SPREADS = (-1.15, -0.32, 0.32, 1.15)
FIRST_AT_RANDOM = 10  # labels: they say how good the predictions are
PRIOR_ROWS = 3.0  # that the prediction for a band is worth, beside its answers
# How wrong predictions may be: their log-odds are stretched and shifted, in all combinations.
STRETCH_SPREAD = 0.4  # of the logarithm of the stretch; that of the shift is 1
SHIFTS, STRETCHES = (
    grid.ravel() for grid in np.meshgrid(np.linspace(-2.5, 2.5, 11), [0.5, 0.7, 1.0, 1.4, 2.0])
)


def planned_sizes(chance: Floats, budget: int) -> np.ndarray:
    """Return the sizes of the nested sets, for chances to be positive in scan order."""
    n, m = len(chance), budget
    widest = min(n, max(1.5 * int((chance > 0.5).sum()), m, 40))
    smallest = min(max(20, m / 10, widest / 128), widest)
    return np.unique(np.round(np.geomspace(smallest, widest, N_SETS)).astype(int))


def planned_shares(
    bounds: list[SetBound], chance: Floats, sizes: np.ndarray, risk: float, budget: int
) -> Floats:
    """Return the share of the risk of each set: most near the one that looks best beforehand."""
    m = min(budget, len(chance))
    equal = np.full(len(sizes), 1 / len(sizes))
    nothing = np.full(len(chance), OPEN, dtype=np.int8)
    none = [np.zeros(0, dtype=bool) for _ in bounds]
    zeros = np.zeros(len(sizes))
    outlook = Outlook(bounds, equal, risk, nothing, none, zeros, equal)
    bands = _Bands(sizes, chance)
    lengths = np.minimum(random_parts(m)[:, None].astype(float), sizes)
    center = max(_best_plan(outlook, bands.given(nothing), lengths, m, 0)[0] - 1, 0)
    shares = DECAY ** np.abs(np.arange(len(sizes)) - center)
    return shares / shares.sum()


def random_parts(n_left: int) -> np.ndarray:
    """Return the numbers of labels at random that a plan considers."""
    return np.unique(np.round(np.array(PARTS_AT_RANDOM) * n_left)).astype(int)


@dataclass(frozen=True)
class Outlook:
    """What is proved now; `codes` are by place in the scan."""

    bounds: list[SetBound]
    shares: Floats
    risk: float
    codes: np.ndarray
    paths: list[np.ndarray]
    lower: Floats
    levels: Floats


@dataclass(frozen=True)
class _Hopes:
    """What is known and expected in bands of rows; the first bands end at the sets."""

    edges: np.ndarray
    rates: Floats
    n_open: Floats
    hits: Floats

    def of_first(self, n: Floats) -> Floats:
        """Expected positives among the first n open rows from the top."""
        n_open = np.append(0.0, np.cumsum(self.n_open))
        return np.interp(n, n_open, np.append(0.0, np.cumsum(self.n_open * self.rates)))

    def below(self, sizes: Floats, n: Floats) -> Floats:
        """Expected positives among the next n open rows below the first `sizes` rows."""
        n_open = np.append(0.0, np.cumsum(self.n_open))
        start = np.interp(sizes, self.edges, n_open)
        return self.of_first(start + n) - self.of_first(start)


class _Bands:
    """Bands of the scan: between the sets, and below them."""

    def __init__(self, sizes: np.ndarray, chance: Floats):
        n = len(chance)
        tail = np.geomspace(sizes[-1], n, N_BANDS_BELOW)[1:].round().astype(int)
        self.edges = np.unique(np.concatenate([[0], sizes, tail]))
        self._chance = np.add.reduceat(chance, self.edges[:-1]) / np.diff(self.edges)

    def given(self, codes: np.ndarray) -> _Hopes:
        """Return what is expected: predictions stretched and shifted, then band by band."""
        seen = np.add.reduceat((codes != OPEN).astype(float), self.edges[:-1])
        hits = np.add.reduceat((codes == YES).astype(float), self.edges[:-1])
        log_odds = logit(self._chance)
        rates = expit(SHIFTS[:, None] + STRETCHES[:, None] * log_odds).clip(1e-6, 1 - 1e-6)
        log_w = -0.5 * (SHIFTS**2 + (np.log(STRETCHES) / STRETCH_SPREAD) ** 2)
        log_w += np.log(rates) @ hits + np.log1p(-rates) @ (seen - hits)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        expected = expit(w @ SHIFTS + np.exp(w @ np.log(STRETCHES)) * log_odds)
        worth = seen + PRIOR_ROWS
        rate = decreasing((hits + PRIOR_ROWS * expected) / worth, worth)
        return _Hopes(self.edges, rate, np.diff(self.edges) - seen, hits)


def decreasing(values: Floats, weights: Floats) -> Floats:
    """Return the nearest decreasing sequence: pool adjacent violators."""
    pooled: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        block = (float(value), float(weight), 1)
        while pooled and pooled[-1][0] < block[0]:
            before = pooled.pop()
            total = before[1] + block[1]
            mean = (before[0] * before[1] + block[0] * block[1]) / total
            block = (mean, total, before[2] + block[2])
        pooled.append(block)
    return np.concatenate([np.full(length, value) for value, _, length in pooled])


def _expected_bounds(
    outlook: Outlook, hopes: _Hopes, lengths: Floats, spread: Floats | float
) -> tuple[Floats, Floats]:
    """Return the capped bounds once so many rows of each set are read, (n_plans, n_sets), and the
    share of positives among the open rows of each set.

    A plan is about one set (a column); the sets before it are read in proportion.
    """
    m = len(outlook.bounds)
    sizes = np.array([bound.n for bound in outlook.bounds], dtype=float)
    n_open = np.cumsum(hopes.n_open)[:m]
    hope = np.cumsum(hopes.n_open * hopes.rates)[:m]
    hits = np.cumsum(hopes.hits)[:m]
    rates = hope / np.maximum(n_open, 1)
    carried = np.zeros(lengths.shape)
    lower = np.zeros(lengths.shape)
    for j, (bound, path) in enumerate(zip(outlook.bounds, outlook.paths, strict=True)):
        about = slice(j, min(j + CHAIN, m))
        read = np.maximum(len(path), lengths[:, about] * bound.n / sizes[about])
        new = read - len(path)
        before = float(path.sum())
        n_unread = max(bound.n - len(path), 1)
        rate = min((hope[j] + hits[j] - before) / n_unread, 1.0)
        deviation = np.sqrt(new * n_open[j] / n_unread * rates[j] * (1 - rates[j]))
        pos = np.clip(before + new * rate + spread * deviation, 0, read)
        levels = outlook.shares[j] + carried[:, about]
        L = np.maximum(bound.lower(pos, read - pos, outlook.risk * levels), outlook.lower[j])
        carried[:, about] = np.where(bound.whole <= L, levels, 0.0)
        is_whole = bound.whole <= outlook.lower[j]
        carried[:, about.stop :] = outlook.levels[j] if is_whole else 0.0
        lower[:, j] = np.minimum(L[:, 0], bound.whole)
    return lower, rates


def _best_plan(
    outlook: Outlook, hopes: _Hopes, lengths: Floats, n_left: int, n_returned: int
) -> tuple[int, int, float, float]:
    """Return a set, the labels at random in it, the positives expected in the returned rows, and
    the unseen rows returned then.

    `lengths` has the prefix of each set (columns) after each of `random_parts(n_left)` more labels.
    """
    p = outlook.bounds[0].p
    m = len(outlook.bounds)
    sizes = np.array([bound.n for bound in outlook.bounds], dtype=float)
    n_open = np.cumsum(hopes.n_open)
    parts = random_parts(n_left)[:, None].astype(float)
    # The last plan labels its set to the end: nothing is left to prove there.
    X = np.concatenate([np.broadcast_to(parts, lengths.shape), n_open[None, :m]])
    lengths = np.concatenate([lengths, sizes[None]])
    spreads = np.repeat(SPREADS, len(X))[:, None]
    tiled = np.tile(lengths, (len(SPREADS), 1))
    lower, rates = _expected_bounds(outlook, hopes, tiled, spreads)
    lower = lower.reshape(len(SPREADS), len(X), m)
    hits = hopes.hits.sum()
    inside = np.cumsum(hopes.hits)[:m] + rates * X
    rest = np.clip(n_left - X, 0.0, n_open[-1] - n_open[:m])
    outside = hits - np.cumsum(hopes.hits)[:m] + hopes.below(sizes, rest)
    U = n_open[:m] - X
    room = (np.maximum(lower, inside) + outside) / p - inside - outside - U
    extra = np.maximum(room, 0)
    more = hopes.below(sizes, rest + extra) - hopes.below(sizes, rest)
    proved = inside + rates * U + outside + more
    paid_for = np.minimum((inside + outside) * (1 - p) / p, U)
    unproved = inside + outside + paid_for * rates[0]
    if n_returned:  # unseen rows that may be returned already stay if the plan fails
        kept = hits + hopes.of_first(np.array(float(n_returned)))
        new_inside = rates * X * np.maximum(1 - n_returned / np.maximum(n_open[:m], 1), 0.0)
        new_below = hopes.of_first(n_open[:m] + rest)
        new_below = new_below - hopes.of_first(np.maximum(n_open[:m], n_returned))
        unproved = np.maximum(unproved, kept + new_inside + np.maximum(new_below, 0.0))
    is_possible = (U >= 0) & (n_left >= X)
    value = np.where(is_possible, np.where(room >= 0, proved, unproved).mean(axis=0), -1.0)
    x, k = np.unravel_index(np.argmax(value), value.shape)
    n_unseen = np.where(room >= 0, U + extra, 0.0).mean(axis=0)[x, k]
    return int(k), int(X[x, k]), float(value[x, k]), float(n_unseen)


class ReturnedPlan:
    """Plans for the nested sets of one campaign; everything is by place in the scan."""

    def __init__(self, sets: NestedSets, chance: Floats):
        self._sets = sets
        self._bands = _Bands(sets.sizes, chance)

    def _best(
        self, outlook: Outlook, left: int | None, n_returned: int
    ) -> tuple[int, int, float, float]:
        n_left = self._left(outlook, left)
        lengths = self._sets.lengths(outlook.codes, random_parts(n_left))
        return _best_plan(outlook, self._bands.given(outlook.codes), lengths, n_left, n_returned)

    def _left(self, outlook: Outlook, left: int | None) -> int:
        n_open = int((outlook.codes == OPEN).sum())
        return n_open if left is None else min(left, n_open)

    def draw(self, outlook: Outlook, n: int, left: int | None, n_returned: int) -> np.ndarray:
        """Return places to label next: at random in the planned set, then below it."""
        n = min(n, self._left(outlook, left))
        if n <= 0:
            return np.empty(0, dtype=np.intp)
        k, n_random, _, _ = self._best(outlook, left, n_returned)
        n_labels = int((outlook.codes != OPEN).sum())
        n_random = max(n_random, FIRST_AT_RANDOM - n_labels)
        rows = self._sets.open_rows(outlook.codes, k)[: min(n, n_random)]
        is_open = outlook.codes == OPEN
        is_open[rows] = False
        below = np.flatnonzero(is_open[self._sets.sizes[k] :])[: n - len(rows)]
        rows = np.append(rows, below + self._sets.sizes[k])
        is_open[rows] = False
        return np.append(rows, np.flatnonzero(is_open)[: n - len(rows)])

    def forecast(self, outlook: Outlook, left: int | None, n_returned: int) -> Forecast | None:
        """Return what the labels left are expected to bring."""
        n_left = self._left(outlook, left)
        if not n_left:
            return None
        n_unseen = round(self._best(outlook, left, n_returned)[3])
        return Forecast(n_left, n_unseen) if n_unseen > n_returned else None
