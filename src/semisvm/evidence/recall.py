"""The promise `min_recall`: when all rows but D are read, at least a share r of all positives is
found. D are the certified rows with the lowest scores; nobody needs to read them.

    scan order   rows by score, the lowest first; ties in random order; fixed first
    clock        of each row, uniform on (0, 1), drawn once (`order.Scan`)
    found        rows answered positive; "don't know" counts as positive inside of D only
    F            all rows answered positive so far, in D or not
    c_b(t)       the table of `count_table` for b, errors = positives

**Rule.** D is the first k rows of the scan. If all of them with clocks up to t are answered, and at
most c_b(t) of these are found, with b = floor(F (1 - r) / r), then D is certified. F and b grow as
answers come. Take the largest k over all looks.

**Proof.** Let P be the number of positives and b* = floor((1 - r) P). If the promise is false, more
than (1 - r) P positives of D have no answer, so F < r P and b <= b*. With tables that never fall
with b, found <= c_b(t) <= c_b*(t): the event of `count_table` for b*, whatever b was, which has a
chance of `risk` at most for all looks and sets together. A table for g <= b* is valid for b* too,
since the (b* + 1)-th unfound positive comes after the (g + 1)-th: tables are made for some b only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.evidence.answers import OPEN, UNKNOWN, YES
from semisvm.evidence.count_table import (
    CountTable,
    best_look,
    certified_size,
    looks_around,
    rounded_looks,
)
from semisvm.evidence.order import Floats, Rows, Scan, highest_first
from semisvm.evidence.procedure import ROUNDING, Forecast, Procedure, Proved
from semisvm.evidence.recall_plan import RecallPlan

MOST_MISSED = 20_000  # the largest b with a table of its own
N_LOOKS = 60


class CountTables:
    """c_b(t) for many b and the same looks.

    Attributes
    ----------
    b, t : ndarray
        The numbers b that have a table, and the looks.
    c : ndarray of shape (len(b), len(t))
        The tables; they never fall with b.
    """

    def __init__(self, most_b: int, risk: float):
        apart = np.geomspace(12, max(most_b, 12), max(2, int(np.log(max(most_b, 13) / 12) / 0.15)))
        b = np.unique(np.append(np.arange(13), np.round(apart).astype(int)))
        self.b = b[b <= max(most_b, 0)]
        planned = [best_look(int(one), risk) for one in self.b]
        ranges = [looks_around(int(one), risk, t) for one, t in zip(self.b, planned, strict=True)]
        self.t = rounded_looks(np.geomspace(ranges[-1][0], ranges[0][-1], N_LOOKS))
        self.c = np.full((len(self.b), len(self.t)), -1)
        for i, (one, t, own) in enumerate(zip(self.b, planned, ranges, strict=True)):
            within = int(np.searchsorted(self.t, own[-1], side="right"))
            if within:
                self.c[i, :within] = CountTable(int(one), risk, t, self.t[:within]).c
                self.c[i, within:] = self.c[i, within - 1]  # what is found never falls either
        self.c = np.minimum.accumulate(self.c[::-1], axis=0)[::-1]

    def place(self, b: np.ndarray | int) -> Any:
        """Return the place of the table that serves b."""
        return np.searchsorted(self.b, b, side="right") - 1


class Recall(Procedure):
    """Find a share of all positives without reading the rows with the lowest scores."""

    scan: Scan

    def __init__(
        self,
        rows: Rows,
        scores: Floats,
        probabilities: Floats,
        *,
        min_recall: float,
        risk: float,
        budget: int | None,
        random_state: int,
        name: str = "",
    ):
        super().__init__(rows)
        self.r = min_recall
        self._places = highest_first(-scores, random_state, f"{name} scores")
        most = (1 - min_recall) / min_recall * len(rows)
        self.tables = CountTables(min(int(most), MOST_MISSED), risk)
        plan = {
            "promise": "recall",
            "name": name,
            "min_recall": min_recall,
            "risk": risk,
            "b": self.tables.b.tolist(),
            "looks": self.tables.t.tolist(),
            "most_found": self.tables.c.tolist(),
        }
        self.scan = Scan(rows[self._places], random_state, plan)
        self._plan = RecallPlan(self.scan, self.tables, min_recall, probabilities[self._places])

    def n_certified(self) -> int:
        """Return the number of rows of D."""
        codes = self.codes[self._places]
        n_found = int((codes == YES).sum())
        b = int(np.floor(n_found * (1 - self.r) / self.r + ROUNDING))
        c = self.tables.c[self.tables.place(b)]
        is_found = (codes == YES) | (codes == UNKNOWN)
        return certified_size(self.scan, codes == OPEN, is_found, self.tables.t, c)

    def proved(self) -> Proved:
        first = self._places[: self.n_certified()]
        unread = np.sort(first[self.codes[first] == OPEN])
        return Proved(unread, 0, is_certified=len(unread) > 0)

    def draw(self, n: int, left: int | None) -> list[int]:
        return self._places[self._plan.draw(self.codes[self._places], n, left)].tolist()

    def forecast(self, left: int | None) -> Forecast | None:
        return self._plan.forecast(self.codes[self._places], left)
