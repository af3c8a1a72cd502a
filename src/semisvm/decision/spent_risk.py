"""Lower bounds of the positives of a set that spend their risk over a budget of labels.

    n, T         rows of the set, and the unknown number of positives among them
    s, neg       rows read in random order, and the negatives among them
    "T <= K"     the hypothesis; it is rejected after s rows where neg <= d_K(s)
    B, risk      the budget of labels, and the risk of one hypothesis

A bound for looks at any time (`precision_sets.SetBound`) pays for all looks to come, however far
away. Who says how many labels there will be pays less: the risk is spent little by little,

    P(rejected after s rows or before; T = K) <= risk spent(s),    spent(B) = 1 - LATER,

and d_K(s) is the largest number for which that is true, by the exact law of draws without
replacement. One more positive row in the pool never delays a rejection, so that T = K is the worst
case of T <= K. The rest of the risk is spent beyond the budget, so that campaigns may go on.

With 100 labels, risk 0.1 and n = 1,000, precision 0.9 takes 96 positives of 100, where one look at
the end takes 94 and the bound for any time 97; precision 0.8 takes 88, 86 and 90.

For each set the hypotheses K are a fixed list that ends with ceil(p n) - 1, tested upward. The
bound is one above the last that is rejected together with all before it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.betting import CLAIM_ROUNDING, null_total
from semisvm.decision.checks import Floats
from semisvm.decision.precision_sets import SPREADS, PrefixPath, SetBound, width_of

LATER = 0.1  # of the risk is spent beyond the budget
# The risk that is spent grows with this power of the labels: much of it early, because sets inside
# the planned one see a part of the labels only.
POWER = 0.5
# Hypotheses below ceil(p n) - 1: each negative found inside a set lowers its bar by p.
STEPS_DOWN = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300)
# Tables for more labels than this take seconds, and gain little over the bound for any time.
MOST_SPENT = 500
# Risks are rounded down to multiples of this share of the whole, which saves tables.
SHARE_STEP = 1 / 64


def spent_share(s: ArrayLike, budget: int) -> Floats:
    """Return the share of the risk that is spent after s rows."""
    s = np.asarray(s, float)
    within = (1 - LATER) * np.minimum(s / budget, 1.0) ** POWER
    return within + LATER * (1 - budget / np.maximum(s, budget))


def hypotheses(n: int, level: float) -> Floats:
    """Return the totals K of the hypotheses, ascending."""
    last = null_total(n, level)
    return np.array([last - step for step in STEPS_DOWN if step <= last][::-1], dtype=float)


@lru_cache(maxsize=1024)
def most_negatives(n: int, level: float, risk: float, budget: int, length: int) -> np.ndarray:
    """Return d_K(s), of shape (n_hypotheses, length + 1), for s = 0, ..., length; -1 where nothing
    is rejected.

    Examples
    --------
    >>> from semisvm.decision.spent_risk import most_negatives
    >>> d = most_negatives(1000, 0.9, 0.1, budget=100, length=100)
    >>> int(d[-1, 100])  # of 100 rows, for a precision of 0.9
    4
    """
    K = hypotheses(n, level)[:, None]
    # Negatives are never fewer: paths with more than any boundary allows need no place.
    neg = np.arange(math.ceil((1 - K.min() / n) * length) + 2)
    chances = np.zeros((len(K), len(neg)))
    chances[:, 0] = 1.0
    spent = np.zeros(len(K))
    limits = np.full((len(K), length + 1), -1, dtype=np.int32)
    allowed = risk * spent_share(np.arange(length + 1), budget)
    for s in range(1, length + 1):
        is_positive = np.clip((K - (s - 1 - neg)) / (n - s + 1), 0.0, 1.0)
        moved = chances * (1 - is_positive)
        chances *= is_positive
        chances[:, 1:] += moved[:, :-1]
        tails = np.cumsum(chances, axis=1)
        d = (tails <= (allowed[s] - spent)[:, None]).sum(axis=1) - 1
        rejects = d >= 0
        if rejects.any():
            spent[rejects] += tails[rejects, d[rejects]]
            chances[neg <= d[:, None]] = 0.0
        limits[:, s] = d
    limits.setflags(write=False)
    return limits


@lru_cache(maxsize=1024)
def smooth_limits(n: int, level: float, risk: float, budget: int, length: int) -> np.ndarray:
    """Return d_K(s) as lines between the rows at which it rises: for plans, which count in
    fractions of rows.
    """
    limits = np.maximum.accumulate(most_negatives(n, level, risk, budget, length), axis=1)
    smooth = np.empty(limits.shape)
    for k, steps in enumerate(limits):
        values, firsts = np.unique(steps, return_index=True)
        smooth[k] = np.interp(np.arange(length + 1), firsts, values)
    smooth.setflags(write=False)
    return smooth


class SpentBound(SetBound):
    """The bound of one set of `n` rows that spends its risk over a budget."""

    def __init__(self, n: int, level: float, budget: int):
        super().__init__(n, level)
        self._budget = budget
        self._K = hypotheses(n, level)

    def proved(self, path: PrefixPath, risk: float, share: float) -> float:
        """Return the bound, by the later half of a path."""
        late = len(path) // 2
        table = self._table(risk, share, len(path))
        if table is None:
            return 0.0
        limits = most_negatives(*table)[:, late + 1 : len(path) + 1]
        is_rejected = np.any(path.neg[late:] <= limits, axis=1)
        return float(self._above(np.asarray(is_rejected)))

    def expected(self, pos: Floats, neg: Floats, risk: float, shares: Floats) -> Floats:
        """Return the bound after so many positive and negative answers, maybe not whole ones.

        Beyond the budget the bound for any time stands in: this is for plans alone.
        """
        pos, neg, shares = np.broadcast_arrays(pos, neg, shares)
        read = pos + neg
        within = read <= self._budget
        # Where every row is read, nothing is left to prove.
        lower = np.where(within, pos, np.ceil(pos))
        is_far = ~within & (read < self.n - CLAIM_ROUNDING)
        if is_far.any():
            lower[is_far] = super().expected(pos[is_far], neg[is_far], risk, shares[is_far])
        for share in np.unique(shares):
            mine = (shares == share) & within
            table = self._table(risk, float(share), self._budget)
            if table is None or not mine.any():
                continue
            s = read[mine]
            limits = smooth_limits(*table)
            before = np.minimum(np.floor(s).astype(int), limits.shape[1] - 1)
            after = np.minimum(before + 1, limits.shape[1] - 1)
            at = limits[:, before] + (s - before) * (limits[:, after] - limits[:, before])
            is_rejected = neg[mine] <= at + CLAIM_ROUNDING
            lower[mine] = np.maximum(lower[mine], self._above(is_rejected))
        return lower

    def limits(self, risk: float, share: float) -> np.ndarray:
        """Return the most negatives with which the set is proved after 0, 1, ... rows, as far as
        the budget goes; -1 where it is not.
        """
        table = self._table(risk, share, self._budget)
        return np.full(1, -1) if table is None else most_negatives(*table)[-1]

    def reads_needed(self, read: int, neg: float, rate: float, risk: float, share: float) -> Floats:
        """Return after how many rows in all the set is expected to be proved, for each of SPREADS;
        infinite where the budget is not enough.

        So far `read` rows have `neg` negative ones; a share `rate` of the others is positive.
        """
        limits = self.limits(risk, share)[read:]
        if not len(limits):
            return np.full(len(SPREADS), math.inf)
        new = np.arange(len(limits))
        left = np.maximum(1 - new / max(self.n - read, 1), 0.0)
        more = (1 - rate) * new - np.outer(SPREADS, np.sqrt(new * left * rate * (1 - rate)))
        expected = neg + np.maximum(np.round(more), 0)
        is_enough = expected <= limits
        if read + len(limits) > self.n:  # where every row is read, nothing is left to prove
            is_enough[:, -1] |= expected[:, -1] <= self.n - self.whole
        return np.where(is_enough.any(axis=1), read + is_enough.argmax(axis=1), math.inf)

    def _table(
        self, risk: float, share: float, length: float
    ) -> tuple[int, float, float, int, int] | None:
        """Arguments of `most_negatives` for at least `length` rows, at a risk that is rounded
        down; None where it is nothing.
        """
        rounded = math.floor(share / SHARE_STEP + 1e-6) * SHARE_STEP
        if rounded == 0:
            return None
        n_planned = self._budget
        while n_planned < length:
            n_planned *= 2
        return self.n, self.level, risk * rounded, self._budget, min(n_planned, self.n)

    def _above(self, is_rejected: np.ndarray) -> Floats:
        """One above the last hypothesis that is rejected with all before it; 0 without one."""
        n_rejected = np.cumprod(is_rejected, axis=0).sum(axis=0)
        return np.where(n_rejected > 0, self._K[n_rejected - 1] + 1, 0.0)


def is_spent(n_planned: int, *, is_budget: bool) -> bool:
    """Return whether the risk is spent over the planned labels."""
    return is_budget and n_planned <= MOST_SPENT


def set_bounds(
    sizes: ArrayLike, level: float, n_planned: int, *, is_budget: bool
) -> list[SetBound]:
    """Return the bound of each set: spent over a budget, or for any time where none was given."""
    if is_spent(n_planned, is_budget=is_budget):
        return [SpentBound(int(n), level, n_planned) for n in np.asarray(sizes)]
    return [SetBound(int(n), level, width_of(int(n), n_planned)) for n in np.asarray(sizes)]
