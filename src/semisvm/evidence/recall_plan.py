"""What to read next for a recall, and what to expect; no promise depends on it.

A plan is a set D (the first k rows of the scan) and a look t. Its rows with clocks up to t are
read, and the rows outside of D from the highest score down. Of all plans whose D is expected to be
certified then, the one with the fewest rows to read is chosen; with a budget, the one with the
largest D, and as many of the highest rows are read as the budget leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semisvm.evidence.answers import NO, OPEN, YES
from semisvm.evidence.cells import Cells
from semisvm.evidence.order import Floats, Scan
from semisvm.evidence.procedure import Forecast
from semisvm.evidence.rates import Predicted

if TYPE_CHECKING:
    from semisvm.evidence.recall import CountTables

ROOM = 0.5  # positives: a set ends before the one that is too many
LIMITS = (1e-4, 0.996)


class _Goal(NamedTuple):
    """The first k rows of the scan, the look, the labels until then, and rows not read then."""

    k: int
    t: float
    n_labels: int
    n_unread: int


class RecallPlan:
    """Plans for one scan and its tables; everything is by place in the scan."""

    def __init__(self, scan: Scan, tables: CountTables, min_recall: float, probabilities: Floats):
        self._scan, self._tables, self._r = scan, tables, min_recall
        n = len(probabilities)
        from_top = np.arange(n)[::-1]
        self._rates = Predicted(np.clip(probabilities, *LIMITS), from_top, LIMITS)
        self._cells = Cells(scan, tables.t)

    def _goal(self, codes: np.ndarray, left: int | None) -> _Goal | None:
        """Return the best plan; None if no set is expected to be certified."""
        is_open = codes == OPEN
        seen = np.flatnonzero(~is_open)
        rate = self._rates.given(seen, (codes[seen] == YES).astype(float))
        hope = np.where(is_open, rate, 0.0)
        opened = self._cells.up_to(is_open.astype(float))
        hoped = self._cells.up_to(hope)
        counted = self._cells.up_to((~is_open & (codes != NO)).astype(float))
        due, hoped_due = opened[:, :-1], hoped[:, :-1]
        outside = opened[-1, -1] - opened[:, -1:]
        n_read = np.broadcast_to(outside, due.shape)
        if left is not None:
            n_read = np.clip(left - due, 0, outside)
        # Positives of the highest open rows: from the end of the scan.
        from_top = np.append(0.0, np.cumsum(hope[is_open][::-1]))
        found = (codes == YES).sum() + from_top[n_read.astype(int)] + hoped_due
        b = np.floor(found * (1 - self._r) / self._r).astype(int)
        c = self._tables.c[self._tables.place(b), np.arange(len(self._tables.t))]
        is_enough = (c >= 0) & (counted[:, :-1] + hoped_due <= c + ROOM)
        n_labels = due + n_read
        if left is None:
            cost = n_labels
        else:
            is_enough &= due <= left
            cost = -self._cells.edges[:, None] + n_labels / (n_labels.max() + 1)
        cost = np.where(is_enough, cost, np.inf)
        i, j = np.unravel_index(np.argmin(cost), cost.shape)
        if not np.isfinite(cost[i, j]):
            return None
        n_unread = int(opened[i, -1] - due[i, j])
        return _Goal(
            int(self._cells.edges[i]), float(self._tables.t[j]), round(n_labels[i, j]), n_unread
        )

    def draw(self, codes: np.ndarray, n: int, left: int | None) -> np.ndarray:
        """Return places to read next: half from the top, half of D by their clocks."""
        goal = self._goal(codes, left)
        if goal is None:  # the whole budget is not enough: half from the top, half at random
            goal = _Goal(int(0.8 * len(codes)), 1.0, n, 0)
        is_open = codes == OPEN
        top = np.flatnonzero(is_open[goal.k :])[::-1][:n] + goal.k
        due = np.flatnonzero(is_open[: goal.k] & (self._scan.clock[: goal.k] <= goal.t))
        due = due[np.argsort(self._scan.clock[due], kind="stable")][:n]
        n_top = min(len(top), max(n - n // 2, n - len(due)))
        n = min(n, goal.n_labels) if left is None else n
        return np.concatenate([top[:n_top], due[: n - n_top]])[:n]

    def forecast(self, codes: np.ndarray, left: int | None) -> Forecast | None:
        """Return how many rows nobody needs to read once the plan is carried out."""
        goal = self._goal(codes, left)
        if goal is None or not goal.n_labels or not goal.n_unread:
            return None
        return Forecast(goal.n_labels, goal.n_unread)
