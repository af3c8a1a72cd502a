"""The promise `max_error`: of n labels by a machine, at most b = floor(e n) are wrong in the end.

A person answers some rows; a set K of the others keeps its machine labels; people label the rest.
With the confidence asked for, at every moment, at most b labels of the completed data are wrong
(answers of people count as right). Nothing is assumed of rows, labels or confidences.

    scan order   rows by confidence, the surest first; ties in random order; fixed first
    clock        of each row, uniform on (0, 1), drawn once (`order.Scan`)
    c(t)         the table of `count_table`, for errors = wrong machine labels

**Rule.** If all of the first k rows with clocks up to t are answered, and at most c(t) of them are
found wrong, the first k rows are certified: at most b of those without an answer are wrong. So the
kept set ends before the (c(t) + 1)-th wrong label that is found. Take the largest k over all looks.
The proof is that of `count_table`. Wrong labels that were found are corrected, and do not count.

The order may be learned first: the answers to a *pilot* fit which rows are sure. When the last row
of the pilot is answered the order is fixed, and all rows without an answer get clocks. Nothing is
claimed before, b stays as it is, and whether there is a pilot does not depend on answers.
"""

from __future__ import annotations

import numpy as np

from semisvm.evidence.answers import NO, OPEN, UNKNOWN
from semisvm.evidence.count_table import CountTable, certified_size
from semisvm.evidence.order import Floats, Rows, Scan, highest_first, uniform
from semisvm.evidence.procedure import ROUNDING, Forecast, Procedure, Proved
from semisvm.evidence.total_error_plan import ErrorPlan, ErrorRates, pilot_size, planned_look


class TotalError(Procedure):
    """Keep machine labels where that is proved, so that at most a share of all labels is wrong."""

    def __init__(
        self,
        rows: Rows,
        sure: Floats,
        labels: np.ndarray,
        *,
        max_error: float,
        risk: float,
        budget: int | None,
        random_state: int,
        name: str = "",
    ):
        super().__init__(rows)
        n = len(rows)
        self.max_error = max_error
        self.risk = risk
        self.b = int(np.floor(max_error * n + ROUNDING))
        self._random_state = random_state
        self._name = name
        self._rates = ErrorRates(sure, labels)
        n_pilot = pilot_size(self.b, risk, n, budget) if self._rates.has_classes else 0
        self.table = CountTable(self.b, risk, planned_look(self.b, risk, n, budget, n_pilot))
        self.scan: Scan | None = None
        by_confidence = highest_first(sure, random_state, f"{name} confidence")
        surest = by_confidence[: max(n_pilot, int(0.8 * n))]
        chance = uniform(f"{random_state} pilot {name} {n}", len(surest))
        self._pilot = surest[np.argsort(chance, kind="stable")[:n_pilot]]
        self._waiting = set(self._pilot.tolist())
        self.is_starting = n_pilot > 0
        if not n_pilot:
            self._start(by_confidence)

    def _start(self, order: Rows) -> None:
        """Fix the scan order of the rows without an answer, and give them clocks."""
        self.is_starting = False
        self._places = order[self.codes[order] == OPEN]
        plan = {
            "promise": "max_error",
            "name": self._name,
            "n_rows": len(self.rows),
            "max_error": self.max_error,
            "risk": self.risk,
            "b": self.b,
            "looks": self.table.t.tolist(),
            "most_found": self.table.c.tolist(),
        }
        self.scan = Scan(self.rows[self._places], self._random_state, plan)
        self._plan = ErrorPlan(self.scan, self.table, self._rates, self._places)

    def tell(self, place: int, code: int) -> None:
        super().tell(place, code)
        if self.scan is None and place in self._pilot:
            self._waiting = self._waiting | {place} if code == OPEN else self._waiting - {place}
            if not self._waiting:
                # Rounded, so that the last digits of another machine do not change the order.
                doubt = self._rates.expected(self.codes).round(9)
                self._start(highest_first(-doubt, self._random_state, f"{self._name} doubt"))

    def n_certified(self) -> int:
        """Return how many rows of the scan are certified; it never falls as answers come in."""
        if self.scan is None:
            return 0
        codes = self.codes[self._places]
        is_wrong = (codes == NO) | (codes == UNKNOWN)
        return certified_size(self.scan, codes == OPEN, is_wrong, self.table.t, self.table.c)

    def proved(self) -> Proved:
        size = self.n_certified()
        first = self._places[:size] if size else np.empty(0, dtype=np.intp)
        kept = np.sort(first[self.codes[first] == OPEN])
        return Proved(kept, max(len(kept) - self.b, 0), is_certified=len(kept) > 0)

    def draw(self, n: int, left: int | None) -> list[int]:
        most = n if left is None else min(n, left)
        if self.scan is None:
            return [int(row) for row in self._pilot if self.codes[row] == OPEN][:most]
        return self._plan.draw(self.codes, most, left)

    def forecast(self, left: int | None) -> Forecast | None:
        if self.scan is None:
            return None
        return self._plan.forecast(self.codes, left, self.n_certified())
