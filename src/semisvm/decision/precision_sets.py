"""Certified sets for a precision: time-uniform bounds on nested sets, and what to label next.

    S_1 < ... < S_m   nested sets of the pool: the n_k rows with the highest scores
    T_k               the unknown number of positives in S_k
    L_k               a lower bound of T_k that holds at every time
    F, F_k, U_k       rows found positive, those of them inside S_k, rows of S_k without an answer

**One bound.** Read the rows of S_k in random order up to the first without an answer: `pos`
positive and `neg` negative ones. With falling factorials [a]_j = a (a - 1) ... (a - j + 1),

    lik_K = [K]_pos [n - K]_neg,    A = sum_M w_M lik_M    (fixed weights w that sum to 1)
    L(risk) = min {K : lik_K > risk A}

A / lik_T is a likelihood ratio against the true law, a nonnegative martingale from 1, so that the
chance that L is ever above T is at most `risk` (Ville 1939).

**Several sets.** The hypotheses "T_k <= K" for K < ceil(p n_k) are tested in the fixed order of k,
then K, by the fallback procedure: set k has the risk share v_k, and that of set k - 1 besides once
L_{k-1} has reached ceil(p n_{k-1}). **L_k is capped at ceil(p n_k)**: the risk was handed on there,
and a higher bound would use it twice. Then all bounds hold together, at every time.

**What may be returned.** The unlabeled rows of S_k and all rows found positive have T_k + F - F_k
positives among U_k + F rows, so that L_k + F - F_k >= p (U_k + F) is enough. More generally any u
unlabeled rows that contain those of S_k may be returned for u <= (L_k + F - F_k) / p - F. Without
a bound, u <= F (1 - p) / p: rows found positive pay for unlabeled ones.

Which rows are labeled, when and why does not matter for any of this. `plan_labels` decides it by
what is expected: a part of the labels at random in one set, to prove it, and the rest below that
set from the top, where each positive counts for itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.betting import (
    CLAIM_ROUNDING,
    MOST_TOTALS,
    log_falling,
    log_prior,
    null_total,
    share_experts,
)
from semisvm.decision.checks import Floats
from semisvm.decision.logarithms import expit, log_sum_exp, logit

# Weight of the experts with totals below p n, at most: small sets need them, because rows found
# positive lower their bar.
WIDEST_WEIGHT = 0.5
# Parts of the labels left that a plan may spend at random in one set.
PARTS_AT_RANDOM = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
# Sets before the planned one whose risk the plan expects to be handed on.
CHAIN = 4
# Standard deviations by which there may be more or fewer positives than expected, equally likely: a
# plan is worth the mean over these. One cautious case instead, .7 below the mean, put the risk at
# sets that were too small: on five synthetic pools .22 instead of .25 of the positives were
# returned with 100 labels at precision .9, and .14 instead of .16 at .95.
SPREADS = (-1.15, -0.32, 0.32, 1.15)

PRIOR_ROWS = 3.0  # that the prediction for a band is worth, beside its answers
# How wrong predictions may be: their log-odds are stretched and shifted, in all combinations.
STRETCH_SPREAD = 0.4  # standard deviation of the logarithm of the stretch; that of the shift is 1
SHIFTS, STRETCHES = (
    grid.ravel() for grid in np.meshgrid(np.linspace(-2.5, 2.5, 11), [0.5, 0.7, 1.0, 1.4, 2.0])
)


class SetBound:
    """The bound of one set of `n` rows; `wide` is the weight of the experts below the target."""

    def __init__(self, n: int, level: float, wide: float = 0.0):
        self.n = n
        self.level = level
        totals, log_weights = share_experts(n, level)
        if wide > 0:
            lowest = math.floor(level * n / 2)
            broad = np.unique(np.round(np.linspace(lowest, n, MOST_TOTALS)))
            rates = np.clip((broad - 0.5) / n, 1e-6, 1.0)
            log_weights = np.concatenate(
                [math.log1p(-wide) + log_weights, math.log(wide) + log_prior(rates, level)]
            )
            totals = np.concatenate([totals, broad])
        self.totals = totals
        self.log_weights = log_weights

    @cached_property
    def whole(self) -> int:
        """The fewest positives with which the set keeps the precision; the bound is capped here."""
        return null_total(self.n, self.level) + 1

    def log_mixture(self, pos: ArrayLike, neg: ArrayLike) -> Floats:
        """Return log A after so many positive and negative answers."""
        pos = np.asarray(pos, float)[..., None]
        neg = np.asarray(neg, float)[..., None]
        log_terms = self.log_weights + log_falling(self.totals, pos)
        return log_sum_exp(log_terms + log_falling(self.n - self.totals, neg), axis=-1)

    def log_likelihood(self, K: ArrayLike, pos: ArrayLike, neg: ArrayLike) -> Floats:
        """Return log lik_K after so many positive and negative answers."""
        K = np.asarray(K, float)
        return log_falling(K, pos) + log_falling(self.n - K, neg)

    def lower(self, pos: ArrayLike, neg: ArrayLike, mixture: ArrayLike, risk: ArrayLike) -> Floats:
        """Return L for many prefixes at once, by bisection between `pos` and the mode of lik.

        `mixture` is what `log_mixture` gave. The bound is not capped.

        Examples
        --------
        >>> from semisvm.decision.precision_sets import SetBound
        >>> bound = SetBound(300, 0.7)
        >>> int(bound.lower(20, 2, bound.log_mixture(20, 2), 0.1))
        212
        """
        low = np.asarray(pos, float)
        neg = np.asarray(neg, float)
        mode = np.floor((self.n + 1) * low / np.maximum(low + neg, 1))
        high = np.minimum(np.maximum(low, mode), self.n - neg)
        # 1 - confidence has a rounding error, and short perfect records give exact ties.
        rejects_at = np.asarray(mixture) + np.log(np.maximum(risk, 1e-300)) + CLAIM_ROUNDING
        for _ in range(math.ceil(math.log2(self.n + 1)) + 1):
            middle = np.floor((low + high) / 2)
            is_rejected = self.log_likelihood(middle, pos, neg) <= rejects_at
            low = np.where(is_rejected & (middle < high), middle + 1, low)
            high = np.where(is_rejected, high, middle)
            if not (low < high).any():
                break
        return np.maximum(low, pos)

    def proved(self, path: PrefixPath, risk: float, share: float) -> float:
        """Return the highest bound of the later half of a path, at a share of the risk.

        All of the path would be as valid, but a lucky beginning would stand for ever.
        """
        late = slice(len(path) // 2, None)
        bounds = self.lower(path.pos[late], path.neg[late], path.mixture[late], risk * share)
        return float(bounds.max())

    def expected(self, pos: Floats, neg: Floats, risk: float, shares: Floats) -> Floats:
        """Return the bound after so many positive and negative answers, maybe not whole ones."""
        return self.lower(pos, neg, self.log_mixture(pos, neg), risk * shares)


def width_of(n: int, budget: int) -> float:
    """Return the weight of the experts below the target, for a set of n rows."""
    return min(WIDEST_WEIGHT, budget / (2 * n))


# ---- all sets together ----


@dataclass(frozen=True)
class PrefixPath:
    """What was read of one set: positives and negatives after each row, and log A."""

    pos: Floats
    neg: Floats
    mixture: Floats

    @classmethod
    def empty(cls) -> PrefixPath:
        """Return the path before the first row."""
        return cls(np.empty(0), np.empty(0), np.empty(0))

    def read(self, bound: SetBound, is_positive: ArrayLike) -> PrefixPath:
        """Return the path of these answers; as far as they are those of this one, it goes on."""
        outcomes = np.asarray(is_positive, float)
        pos = np.cumsum(outcomes)
        neg = np.cumsum(1 - outcomes)
        start = len(self) if np.array_equal(pos[: len(self)], self.pos) else 0
        if start == len(self) == len(pos):
            return self
        mixture = bound.log_mixture(pos[start:], neg[start:])
        return PrefixPath(pos, neg, np.append(self.mixture[:start], mixture))

    def __len__(self) -> int:
        return len(self.pos)


def certified_bounds(
    bounds: Sequence[SetBound],
    paths: Sequence[PrefixPath],
    found: ArrayLike,
    shares: ArrayLike,
    risk: float,
    *,
    is_capped: bool = True,
) -> tuple[Floats, Floats]:
    """Return L_k of all sets, which hold together at every time, and the risk share of each.

    `found` are the rows found positive inside each set, wherever they stand in the order.
    `is_capped=False` is wrong, and there for the test that shows it.
    """
    lower: list[float] = []
    levels: list[float] = []
    carried = 0.0
    facts = np.asarray(found, float)
    for k, (bound, path) in enumerate(zip(bounds, paths, strict=True)):
        level = float(np.asarray(shares)[k]) + carried
        L = facts[k]
        if len(path):
            L = max(L, bound.proved(path, risk, level))
        carried = level if bound.whole <= L else 0.0
        if is_capped:
            L = max(min(L, bound.whole), facts[k])
        if k:
            L = max(L, lower[-1] + facts[k] - facts[k - 1])
        lower.append(L)
        levels.append(level)
    return np.array(lower), np.array(levels)


def returnable(lower: float, found: float, found_inside: float, level: float) -> int:
    """Return how many unlabeled rows may be returned on the strength of one bound."""
    return math.floor((lower + found - found_inside) / level - found + CLAIM_ROUNDING)


# ---- what to label ----


def decreasing(values: ArrayLike, weights: ArrayLike) -> Floats:
    """Return the nearest decreasing sequence: pool adjacent violators.

    Examples
    --------
    >>> from semisvm.decision.precision_sets import decreasing
    >>> decreasing([0.9, 0.5, 0.7], [1, 1, 1]).tolist()
    [0.9, 0.6, 0.6]
    """
    pooled: list[tuple[float, float, int]] = []
    for value, weight in zip(np.asarray(values, float), np.asarray(weights, float), strict=True):
        block = (float(value), float(weight), 1)
        while pooled and pooled[-1][0] < block[0]:
            before = pooled.pop()
            weight = before[1] + block[1]
            mean = (before[0] * before[1] + block[0] * block[1]) / weight
            block = (mean, weight, before[2] + block[2])
        pooled.append(block)
    return np.concatenate([np.full(length, value) for value, _, length in pooled])


def corrected_beliefs(beliefs: Floats, hits: Floats, seen: Floats) -> Floats:
    """Return the predicted share of positives in each band, with log-odds that are shifted and
    stretched as the answers of all bands suggest.
    """
    log_odds = logit(beliefs)
    rates = expit(SHIFTS[:, None] + STRETCHES[:, None] * log_odds).clip(1e-6, 1 - 1e-6)
    log_weights = -0.5 * (SHIFTS**2 + (np.log(STRETCHES) / STRETCH_SPREAD) ** 2)
    log_weights += np.log(rates) @ hits + np.log1p(-rates) @ (seen - hits)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return expit(weights @ SHIFTS + np.exp(weights @ np.log(STRETCHES)) * log_odds)


def expected_rates(beliefs: Floats, hits: Floats, seen: Floats) -> Floats:
    """Return the expected share of positives in each band, decreasing, from predictions and the
    answers of the band.
    """
    n_rows = seen + PRIOR_ROWS
    return decreasing((hits + PRIOR_ROWS * beliefs) / n_rows, n_rows)


@dataclass(frozen=True)
class SetOutlook:
    """What is known and expected of the sets now, for plans and forecasts.

    edges      (n_bands + 1,)  rows from the top at which each band begins, 0 first, all rows last;
                               the first m bands end at the sets
    rates      (n_bands,)      expected share of positives among the unlabeled rows of each band
    seen       (n_bands,)      rows with an answer
    hits       (n_bands,)      rows found positive
    paths                      what was read of each set
    """

    bounds: Sequence[SetBound]
    shares: Floats
    risk: float
    edges: Floats
    rates: Floats
    seen: Floats
    hits: Floats
    paths: Sequence[PrefixPath]

    @property
    def n_sets(self) -> int:
        """How many sets there are."""
        return len(self.bounds)

    @cached_property
    def sizes(self) -> Floats:
        """Rows of each set."""
        return np.array([bound.n for bound in self.bounds], dtype=float)

    @cached_property
    def unlabeled(self) -> Floats:
        """Rows of each band without an answer."""
        return np.diff(self.edges) - self.seen

    def expected(
        self, lengths: Floats, spread: ArrayLike, *, in_whole_rows: bool
    ) -> tuple[Floats, Floats]:
        """Return the capped bounds, (n_plans, n_sets), that are expected once so many rows of each
        set are read, and the rates of the unlabeled rows of each set.

        `lengths` has one row per plan and one column per set: the prefix of the set, if the plan is
        about it. The sets before it are read in proportion. `spread` is by how many standard
        deviations more positives are read than expected, one number or one per plan. Fractions of
        rows make plans smooth; in small sets they promise too much, so that forecasts are made in
        whole rows.
        """
        n_plans, m = lengths.shape
        proved, levels_now = self.proved
        unlabeled = np.cumsum(self.unlabeled)[:m]
        hope = np.cumsum(self.unlabeled * self.rates)[:m]
        hits = np.cumsum(self.hits)[:m]
        rates = hope / np.maximum(unlabeled, 1)
        carried = np.zeros((n_plans, m))
        lower = np.zeros((n_plans, m))
        for j, (bound, path) in enumerate(zip(self.bounds, self.paths, strict=True)):
            about = slice(j, min(j + CHAIN, m))
            read = np.maximum(len(path), lengths[:, about] * bound.n / self.sizes[about])
            new = read - len(path)
            before = path.pos[-1] if len(path) else 0.0
            # Rows that come next in the random order may have an answer already.
            n_unread = max(bound.n - len(path), 1)
            rate = min((hope[j] + hits[j] - before) / n_unread, 1.0)
            deviation = np.sqrt(new * unlabeled[j] / n_unread * rates[j] * (1 - rates[j]))
            pos = np.clip(before + new * rate + spread * deviation, 0, read)
            if in_whole_rows:
                read = np.round(read)
                pos = np.minimum(np.floor(pos), read)
            levels = self.shares[j] + carried[:, about]
            L = np.maximum(bound.expected(pos, read - pos, self.risk, levels), proved[j])
            carried[:, about] = np.where(bound.whole <= L, levels, 0.0)
            carried[:, about.stop :] = levels_now[j] if bound.whole <= proved[j] else 0.0
            lower[:, j] = np.minimum(L[:, 0], bound.whole)
        return lower, rates

    @cached_property
    def proved(self) -> tuple[Floats, Floats]:
        """The bounds of the sets now, and their shares of the risk."""
        found = np.cumsum(self.hits)[: self.n_sets]
        return certified_bounds(self.bounds, self.paths, found, self.shares, self.risk)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Unlabeled rows, and the positives expected among them, above each edge."""
        expected = np.stack([self.unlabeled, self.unlabeled * self.rates])
        unlabeled, positives = np.cumsum(np.pad(expected, ((0, 0), (1, 0))), axis=1)
        return unlabeled, positives

    def positives_of_first(self, n: ArrayLike) -> Floats:
        """Expected positives among the first n unlabeled rows from the top."""
        return np.interp(np.asarray(n, float), *self._sums)

    def positives_below(self, start: Floats, n: Floats) -> Floats:
        """Expected positives among the next n unlabeled rows below the first `start` rows."""
        unlabeled, positives = self._sums
        n_before = np.interp(start, self.edges, unlabeled)
        return self.positives_of_first(n_before + n) - np.interp(start, self.edges, positives)


def random_parts(n_left: int) -> np.ndarray:
    """Return the numbers of labels at random that a plan considers."""
    return np.unique(np.round(np.array(PARTS_AT_RANDOM) * n_left)).astype(int)


def plan_labels(
    outlook: SetOutlook, lengths: Floats, n_left: int, n_returned: int = 0
) -> tuple[int, int, float]:
    """Return the plan from which most positives are expected in the returned set: a set, how many
    labels at random in it (the others are spent below it from the top), and these positives.

    `lengths` has the prefix of each set (columns) after each of `random_parts(n_left)` more labels
    at random in it (rows). `n_returned` unlabeled rows may be returned already, and stay if the
    plan fails.
    """
    level = outlook.bounds[0].level
    m = outlook.n_sets
    unlabeled = np.cumsum(outlook.unlabeled)
    # The last plan labels its set to the end: nothing is left to prove there.
    X = np.broadcast_to(random_parts(n_left)[:, None].astype(float), lengths.shape)
    X = np.concatenate([X, unlabeled[None, :m]])
    lengths = np.concatenate([lengths, outlook.sizes[None]])
    n_plans = len(X)
    lower, rates = outlook.expected(
        np.tile(lengths, (len(SPREADS), 1)),
        np.repeat(SPREADS, n_plans)[:, None],
        in_whole_rows=False,
    )
    lower = lower.reshape(len(SPREADS), n_plans, m)
    found = outlook.hits.sum()
    found_inside = np.cumsum(outlook.hits)[:m] + rates * X
    rest = np.clip(n_left - X, 0.0, unlabeled[-1] - unlabeled[:m])
    outside = found - np.cumsum(outlook.hits)[:m] + outlook.positives_below(outlook.sizes, rest)
    U = unlabeled[:m] - X
    room = (np.maximum(lower, found_inside) + outside) / level - found_inside - outside - U
    more = outlook.positives_below(outlook.sizes, rest + np.maximum(room, 0))
    proved = (
        found_inside + rates * U + outside + more - outlook.positives_below(outlook.sizes, rest)
    )
    paid_for = np.minimum((found_inside + outside) * (1 - level) / level, U)
    unproved = found_inside + outside + paid_for * rates[0]
    if n_returned:
        kept = found + outlook.positives_of_first(n_returned)
        new_inside = rates * X * np.maximum(1 - n_returned / np.maximum(unlabeled[:m], 1), 0.0)
        new_below = outlook.positives_of_first(unlabeled[:m] + rest)
        new_below = new_below - outlook.positives_of_first(np.maximum(unlabeled[:m], n_returned))
        unproved = np.maximum(unproved, kept + new_inside + np.maximum(new_below, 0.0))
    is_possible = (U >= 0) & (X <= n_left)
    value = np.where(is_possible, np.where(room >= 0, proved, unproved).mean(axis=0), -1.0)
    x, k = np.unravel_index(np.argmax(value), value.shape)
    return int(k), int(X[x, k]), float(value[x, k])


def forecast_labels(outlook: SetOutlook, lengths: Floats, labels: np.ndarray) -> list[int | None]:
    """Return for each set after how many labels at random it may be expected to be proved.

    `lengths` has the prefix of each set (columns) after each of the numbers of `labels` (rows).
    None where none of them is enough.
    """
    level = outlook.bounds[0].level
    m = outlook.n_sets
    X = labels[:, None].astype(float)
    lower, rates = outlook.expected(lengths, 0.0, in_whole_rows=True)
    found = outlook.hits.sum() + rates * X
    found_inside = np.cumsum(outlook.hits)[:m] + rates * X
    U = np.cumsum(outlook.unlabeled)[:m] - X
    room = (np.maximum(lower, found_inside) + found - found_inside) / level - found - U
    # Rows found positive alone pay for some: a set is proved where its bound pays for more.
    is_enough = (room >= 0) & (found * (1 - level) / level < U)
    firsts = is_enough.argmax(axis=0)
    return [int(labels[first]) if is_enough[first, k] else None for k, first in enumerate(firsts)]
