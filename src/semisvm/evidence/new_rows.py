"""The promise `min_precision` about new rows: of new rows from the source of the pool whose scores
reach a threshold, at least a share p is positive.

The pool must be a random sample of its source that was not used in training. A fifth of it, drawn
at random, only sets thresholds h_1 > ... > h_m. The other rows are independent of these, so that
those whose scores reach h_k, by clock, are positive independently, with the same unknown chance
q_k. Read them up to the first row without an answer: `pos` and `neg` answers.

    evidence  E_k = sum_i w_i (r_i / q)^pos ((1 - r_i) / (1 - q))^neg,  the least over q <= p

with fixed rates r_i above p and weights w that sum to 1. If q_k <= p, E_k is at most a likelihood
ratio against the true law: the chance that it ever reaches 1 / a is at most a (Ville 1939).

**Several thresholds** are tested from the highest to the lowest by the fallback procedure: h_k has
the share v_k of the risk, and besides that of h_{k-1} once h_{k-1} is certified.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.nested import NestedSets, later_counts, log_weights
from semisvm.evidence.order import Floats, Rows, Scan, highest_first, uniform
from semisvm.evidence.procedure import Forecast, Procedure, Proved
from semisvm.evidence.rates import Predicted

ASIDE = 0.2
N_THRESHOLDS = 12
N_RATES = 48
FEWEST_ABOVE = 3  # rows aside above the highest threshold


def log_evidence(pos: Any, neg: Any, p: float) -> Floats:
    """Return log E after so many answers that a share is above p."""
    pos, neg = np.asarray(pos, float), np.asarray(neg, float)
    rates = p + (1 - p) * (np.arange(N_RATES) + 0.5) / N_RATES
    q = np.minimum(p, pos / np.maximum(pos + neg, 1))  # the worst share up to p
    with np.errstate(divide="ignore", invalid="ignore"):
        null = np.where(pos > 0, pos * np.log(q), 0.0) + np.where(neg > 0, neg * np.log1p(-q), 0.0)
    terms = pos[..., None] * np.log(rates) + neg[..., None] * np.log1p(-rates)
    return logsumexp(log_weights(rates, (1 + p) / 2) + terms, axis=-1) - null


def planned_thresholds(aside: Floats, p: float, chance: Floats, risk: float) -> Floats:
    """Return thresholds from the scores of the rows set aside, the highest first."""
    ordered = np.sort(aside)[::-1]
    perfect = ASIDE * np.log(risk) / np.log(p)  # rows aside, for a set that could just be proved
    good = np.cumsum(np.sort(chance)[::-1]) / np.arange(1, len(chance) + 1)
    widest = max(int((good >= p).sum()), 4 * perfect, FEWEST_ABOVE)
    smallest = max(perfect, FEWEST_ABOVE, widest / 64)
    ends = np.geomspace(min(smallest, widest), widest, N_THRESHOLDS).round().astype(int)
    return np.unique(ordered[np.clip(ends, 1, len(ordered)) - 1])[::-1]


class NewRows(Procedure):
    """Certify a threshold for new rows from the source of the pool."""

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
        if len(rows) < 10:
            raise ValueError("A promise about new rows needs a pool of 10 rows at least.")
        self.p = min_precision
        self.risk = risk
        mixed = np.argsort(uniform(f"{random_state} aside {name} {len(rows)}", len(rows)))
        aside, used = np.split(mixed, [round(ASIDE * len(rows))])
        self._scores = scores
        self.thresholds = planned_thresholds(
            scores[aside], self.p, probabilities[aside], risk / N_THRESHOLDS
        )
        order = used[highest_first(scores[used], random_state, f"{name} scores")]
        sizes = np.searchsorted(-scores[order], -self.thresholds, side="right")
        share = 1 / len(self.thresholds)  # whatever rows there are: fixed by the rows aside
        self.thresholds, sizes = self.thresholds[sizes > 0], sizes[sizes > 0]
        if not len(sizes):
            raise ValueError("No threshold accepts a row: give a larger pool.")
        self.shares = np.full(len(sizes), share)
        self._places = order
        plan = {
            "promise": "new rows",
            "name": name,
            "min_precision": min_precision,
            "risk": risk,
            "thresholds": self.thresholds.tolist(),
            "sizes": sizes.tolist(),
            "shares": self.shares.tolist(),
        }
        self.scan = Scan(rows[order], random_state, plan)
        self.sets = NestedSets(self.scan, sizes)
        self._chance = Predicted(
            np.clip(probabilities[order], 0.004, 0.996), np.arange(len(order)), (0.002, 0.998)
        )

    def best(self) -> int:
        """Return the number of the lowest certified threshold, or -1."""
        best, carried = -1, 0.0
        for k, path in enumerate(self.sets.read(self.codes[self._places])):
            level = self.shares[k] + carried
            carried = 0.0
            if not len(path):
                continue
            if log_evidence(*later_counts(path), self.p).max() >= -np.log(self.risk * level):
                best, carried = k, level
        return best

    def proved(self) -> Proved:
        k = self.best()
        self.threshold = None if k < 0 else float(self.thresholds[k])
        is_above = self._scores >= (np.inf if k < 0 else self.thresholds[k])
        return Proved(np.flatnonzero(is_above & (self.codes == OPEN)), 0, is_certified=k >= 0)

    def _goal(self, left: int | None) -> tuple[int, int] | None:
        """Return the lowest threshold that the labels left are expected to prove, and how many."""
        codes = self.codes[self._places]
        left = int((codes == OPEN).sum()) if left is None else left
        seen = np.flatnonzero(codes != OPEN)
        chance = self._chance.given(seen, (codes[seen] == YES).astype(float))
        hope = np.cumsum(np.where(codes == OPEN, chance, codes == YES))
        labels = np.unique(np.geomspace(1, max(left, 1), 30).astype(int))
        lengths = self.sets.lengths(codes, labels)
        paths = self.sets.read(codes)
        for k in range(len(paths) - 1, self.best(), -1):
            size, path = self.sets.sizes[k], paths[k]
            rate = (hope[size - 1] - path.sum()) / max(size - len(path), 1)
            new = lengths[:, k] - len(path)
            pos = path.sum() + new * min(rate, 1.0)
            needed = -np.log(self.risk * self.shares[k])
            enough = np.flatnonzero(log_evidence(pos, len(path) + new - pos, self.p) >= needed)
            if len(enough) and labels[enough[0]] <= left:
                return k, int(labels[enough[0]])
        return None

    def draw(self, n: int, left: int | None) -> list[int]:
        goal = self._goal(left)
        if goal is None:
            if self.best() >= 0:
                return []
            goal = (len(self.sets.sizes) // 2, n)
        codes = self.codes[self._places]
        n = n if left is None else min(n, left)
        return self._places[self.sets.open_rows(codes, goal[0])[:n]].tolist()

    def forecast(self, left: int | None) -> Forecast | None:
        goal = self._goal(left)
        if goal is None:
            return None
        return Forecast(goal[1], int((self._scores >= self.thresholds[goal[0]]).sum()))
