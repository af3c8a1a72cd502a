"""The promise `min_precision` about unseen rows: of the rows that are accepted and that nobody has
looked at, at least a share p is positive.

    scan order   rows by score, the highest first; ties in random order; fixed first
    clock        of each row, uniform on (0, 1), drawn once (`order.Scan`)
    wrong        a row that is not positive ("don't know" too)
    c(t, b)      the table of `envelope`

**Rule.** Take any look t and any k such that all of the first k rows with clocks up to t are
answered. U are the rows of the first k without an answer, and

    b = floor((1 - p) |U|) + wrong answers in the first k with clocks above t.

If found(k, t) <= c(t, b), at least p of U are positive. Accept U for the largest such k.

**Proof.** If more than (1 - p) |U| rows of U are wrong, unfound(k, t) >= b + 1, since answered
wrong rows with late clocks are unfound too. Then found(k, t) <= c(t, b) <= c(t, unfound - 1): the
envelope is broken, which has a chance of `risk` at most, for all looks and all k together. So b may
depend on all answers, rows may be answered in any order and for any reason, and the number of sets
and looks costs nothing more.
"""

from __future__ import annotations

import numpy as np

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.envelope import Envelope
from semisvm.evidence.order import Floats, Rows, Scan, digest, highest_first
from semisvm.evidence.procedure import ROUNDING, Forecast, Procedure, Proved
from semisvm.evidence.unseen_plan import UnseenPlan, first_plan


class Unseen(Procedure):
    """Accept rows that nobody looked at, of which at least a share is positive."""

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
        self._places = highest_first(scores, random_state, f"{name} scores")
        rate = np.clip(1 - probabilities[self._places], 0.004, 0.96)
        first = first_plan(rate, min_precision, risk, budget)
        worlds = f"{random_state} worlds {name} {digest(rows[self._places])} {first.planned}"
        self.table = Envelope(first.looks, first.planned, risk, worlds, across=first.across)
        plan = {
            "promise": "unseen",
            "name": name,
            "min_precision": min_precision,
            "table": self.table.settings,
        }
        self.scan = Scan(rows[self._places], random_state, plan)
        self._plan = UnseenPlan(self.scan, self.table, min_precision, rate)

    def certified(self) -> tuple[int, int]:
        """Return the largest certified k, and the most wrong rows among its unseen ones."""
        codes = self.codes[self._places]
        limits = self.scan.first_open(codes == OPEN, self.table.looks)
        answered = np.flatnonzero(codes != OPEN)
        is_wrong = codes[answered] != YES
        clocks = self.scan.clock[answered]
        best, most_wrong = 0, 0
        for look, (t, limit) in enumerate(zip(self.table.looks, limits, strict=True)):
            # Between answers b only grows with k: the last row before each answer, and the limit.
            k = np.append(answered[answered < limit], limit)
            n_before = np.arange(len(k))
            is_due = clocks[: len(k) - 1] <= t
            wrong = is_wrong[: len(k) - 1]
            found = np.append(0, np.cumsum(wrong & is_due))
            late = np.append(0, np.cumsum(wrong & ~is_due))
            n_unseen = k - n_before
            b = np.floor((1 - self.p) * n_unseen + ROUNDING).astype(int) + late
            passes = np.flatnonzero((found <= self.table.at(look, b)) & (n_unseen > 0))
            if len(passes) and k[passes[-1]] > best:
                i = passes[-1]
                best = int(k[i])
                most_wrong = int(min(self.table.most_left(look, int(found[i])), b[i]) - late[i])
        return best, max(most_wrong, 0)

    def proved(self) -> Proved:
        size, most_wrong = self.certified()
        first = self._places[:size]
        unseen = np.sort(first[self.codes[first] == OPEN])
        return Proved(unseen, len(unseen) - most_wrong, is_certified=len(unseen) > 0)

    def draw(self, n: int, left: int | None) -> list[int]:
        return self._places[self._plan.draw(self._answers(), n, left, self._n_accepted())].tolist()

    def forecast(self, left: int | None) -> Forecast | None:
        return self._plan.forecast(self._answers(), left, self._n_accepted())

    def _answers(self) -> np.ndarray:
        return self.codes[self._places]

    def _n_accepted(self) -> int:
        return len(self.proved().rows)
