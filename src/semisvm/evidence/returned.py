"""The promise `min_precision` about returned rows: of the rows that people found positive and the
unseen rows that are accepted with them, at least a share p is positive.

    S_1 < ... < S_m   nested sets: the n_k rows with the highest scores, fixed first (`nested`)
    T_k               the unknown number of positives in S_k
    L_k               a lower bound of T_k that holds at every time
    F, F_k, U_k       rows found positive, those of them inside S_k, rows of S_k without an answer

**One bound.** Read S_k by clock up to the first row without an answer: `pos` positive and `neg`
other answers. With falling factorials [a]_j = a (a - 1) ... (a - j + 1),

    lik_K = [K]_pos [n - K]_neg,    A = sum_M w_M lik_M    (fixed weights w that sum to 1)
    L(risk) = min {K : lik_K > risk A}

A / lik_T is a likelihood ratio against the true law, a nonnegative martingale from 1, so that the
chance that L is ever above T is at most `risk` (Ville 1939).

**Several sets.** The hypotheses "T_k <= K" for K < ceil(p n_k) are tested in the fixed order of k,
then K, by the fallback procedure: set k has the share v_k of the risk, and that of set k - 1
besides once L_{k-1} has reached ceil(p n_{k-1}). **L_k is capped at ceil(p n_k)**: the risk was
handed on there, and a higher bound would use it twice. Then all bounds hold together, at any time.

**What may be returned.** The open rows of S_k and all rows found positive have T_k + F - F_k
positives among U_k + F rows, so that L_k + F - F_k >= p (U_k + F) is enough. More generally any u
open rows that contain those of S_k may be returned for u <= (L_k + F - F_k) / p - F. Without a
bound, u <= F (1 - p) / p: rows found positive pay for unseen ones.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.nested import NestedSets, later_counts, log_weights
from semisvm.evidence.order import Floats, Rows, Scan, highest_first
from semisvm.evidence.procedure import ROUNDING, Forecast, Procedure, Proved
from semisvm.evidence.returned_plan import Outlook, ReturnedPlan, planned_shares, planned_sizes

MOST_TOTALS = 48  # totals M of the mixture


def log_falling(a: Any, j: Any) -> Floats:
    """Return log [a]_j; -infinite where a factor is 0."""
    a = np.asarray(a, float)
    left = a - np.asarray(j, float)
    value = gammaln(a + 1) - gammaln(np.maximum(left, 0) + 1)
    return np.where(left < -ROUNDING, -np.inf, value)


class SetBound:
    """The bound L of one set of n rows.

    `wide` is the weight of the totals below p n: small sets need them, because rows found positive
    elsewhere lower their bar.
    """

    def __init__(self, n: int, p: float, wide: float):
        self.n = n
        self.p = p
        self.whole = math.ceil(p * n - ROUNDING)  # positives with which the set keeps the promise
        totals = np.unique(np.round(np.linspace(self.whole, n, MOST_TOTALS)))
        broad = np.unique(np.round(np.linspace(math.floor(p * n / 2), n, MOST_TOTALS)))
        strict_weights = log_weights((totals - 0.5) / n, (1 + p) / 2)
        broad_weights = log_weights(np.clip((broad - 0.5) / n, 1e-6, 1), p)
        self._totals = np.concatenate([totals, broad])
        self._log_w = np.concatenate(
            [math.log1p(-wide) + strict_weights, math.log(wide) + broad_weights]
        )

    def log_mixture(self, pos: Any, neg: Any) -> Floats:
        """Return log A after so many answers."""
        pos = np.asarray(pos, float)[..., None]
        neg = np.asarray(neg, float)[..., None]
        terms = log_falling(self._totals, pos) + log_falling(self.n - self._totals, neg)
        return logsumexp(self._log_w + terms, axis=-1)

    def lower(self, pos: Any, neg: Any, risk: Any) -> Floats:
        """Return L after so many answers: bisection between `pos` and the mode of lik."""
        low, neg = np.asarray(pos, float), np.asarray(neg, float)
        pos = low
        mode = np.floor((self.n + 1) * low / np.maximum(low + neg, 1))
        high = np.minimum(np.maximum(low, mode), self.n - neg)
        needed = self.log_mixture(pos, neg) + np.log(np.maximum(risk, 1e-300)) - ROUNDING
        for _ in range(math.ceil(math.log2(self.n + 1)) + 1):
            middle = np.floor((low + high) / 2)
            log_lik = log_falling(middle, pos) + log_falling(self.n - middle, neg)
            is_rejected = log_lik <= needed
            low = np.where(is_rejected & (middle < high), middle + 1, low)
            high = np.where(is_rejected, high, middle)
            if not (low < high).any():
                break
        return np.maximum(low, pos)


def certified_bounds(
    bounds: list[SetBound],
    paths: list[np.ndarray],
    found: np.ndarray,
    shares: Floats,
    risk: float,
    *,
    is_capped: bool = True,
) -> tuple[Floats, Floats]:
    """Return L_k of all sets, which hold together at every time, and the risk share of each.

    `paths` are the answers read of each set, and `found` the rows found positive in each.
    `is_capped=False` is wrong, and there for the test that shows it.
    """
    lower: list[float] = []
    levels: list[float] = []
    carried = 0.0
    for k, (bound, path) in enumerate(zip(bounds, paths, strict=True)):
        level = float(shares[k]) + carried
        L = float(found[k])
        if len(path):
            pos, neg = later_counts(path)
            L = max(L, float(bound.lower(pos, neg, risk * level).max()))
        carried = level if bound.whole <= L else 0.0
        if is_capped:
            L = max(min(L, bound.whole), float(found[k]))
        if k:
            L = max(L, lower[-1] + found[k] - found[k - 1])
        lower.append(L)
        levels.append(level)
    return np.array(lower), np.array(levels)


class Returned(Procedure):
    """Return rows found positive and unseen rows, of which at least a share is positive."""

    scan: Scan

    def __init__(
        self,
        rows: Rows,
        scores: Floats,
        probabilities: Floats,
        *,
        min_precision: float,
        risk: float,
        budget: int,
        random_state: int,
        name: str = "",
    ):
        super().__init__(rows)
        self.p = min_precision
        self.risk = risk
        self._places = highest_first(scores, random_state, f"{name} scores")
        chance = np.clip(probabilities[self._places], 5e-4, 1 - 5e-4)
        sizes = planned_sizes(chance, budget)
        wide = [min(0.5, budget / (2 * int(n))) for n in sizes]
        self.bounds = [SetBound(int(n), self.p, w) for n, w in zip(sizes, wide, strict=True)]
        self.shares = planned_shares(self.bounds, chance, sizes, risk, budget)
        plan = {
            "promise": "returned",
            "name": name,
            "min_precision": min_precision,
            "risk": risk,
            "sizes": sizes.tolist(),
            "shares": self.shares.tolist(),
            "wide": wide,
        }
        self.scan = Scan(rows[self._places], random_state, plan)
        self.sets = NestedSets(self.scan, sizes)
        self._plan = ReturnedPlan(self.sets, chance)

    @cached_property
    def _now(self) -> Outlook:
        """What is proved by the answers of now, for the plan too."""
        codes = self.codes[self._places]
        paths = self.sets.read(codes)
        found = np.cumsum(codes == YES)[self.sets.sizes - 1]
        lower, levels = certified_bounds(self.bounds, paths, found, self.shares, self.risk)
        return Outlook(self.bounds, self.shares, self.risk, codes, paths, lower, levels)

    def tell(self, place: int, code: int) -> None:
        super().tell(place, code)
        self.__dict__.pop("_now", None)

    def n_returned(self) -> tuple[int, float]:
        """Return how many unseen rows may be returned, and the positives proved among all."""
        now = self._now
        is_open = now.codes == OPEN
        n_found = int((now.codes == YES).sum())
        n_open = np.cumsum(is_open)
        best, proved = math.floor(n_found * (1 - self.p) / self.p + ROUNDING), float(n_found)
        found = np.cumsum(now.codes == YES)
        for size, L in zip(self.sets.sizes, now.lower, strict=True):
            good = L + n_found - found[size - 1]
            room = math.floor(good / self.p - n_found + ROUNDING)
            if room >= n_open[size - 1] and room > best:
                best, proved = room, good
        return min(best, int(n_open[-1])), proved

    def proved(self) -> Proved:
        n, good = self.n_returned()
        unseen = np.sort(self._places[self._now.codes == OPEN][:n])
        n_found = int((self.codes == YES).sum())
        n_right = max(0, math.ceil(good - ROUNDING) - n_found)
        return Proved(unseen, n_right, is_certified=n > 0)

    def draw(self, n: int, left: int | None) -> list[int]:
        return self._places[self._plan.draw(self._now, n, left, self.n_returned()[0])].tolist()

    def forecast(self, left: int | None) -> Forecast | None:
        return self._plan.forecast(self._now, left, self.n_returned()[0])
