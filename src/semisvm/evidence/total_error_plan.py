"""What to label next for `max_error`, and what to expect; no promise depends on it.

rates   the expected chance of each row to be wrong: logistic regression on the log-odds of its
        confidence, its class and their products, then corrected in 20 bands of the scan
plan    for each look t: the scan goes on until c(t) wrong labels are expected among the rows
        with clocks up to t. The look with the most kept rows is chosen, among those that the
        budget reaches. Looks before the planned one count only if the budget reaches no other:
        to stop early on a pessimistic first estimate lost up to a fifth of the kept rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.cells import Cells
from semisvm.evidence.count_table import CountTable, best_look, earliest_look
from semisvm.evidence.order import Floats, Rows, Scan
from semisvm.evidence.procedure import Forecast
from semisvm.evidence.rates import band_correction, ridge_logistic

FEWEST_OF_CLASS, MOST_CLASSES = 30, 20  # rows of a class whose errors are learned apart
FEWEST_PILOT, MOST_PILOT = 20, 100
SHARE_OF_PILOT = 0.4  # of the planned labels
SHARE_KEPT = 0.6  # of the rows: a guess, before the first answer, that costs little if wrong
N_BANDS, WORTH_OF_RATE = 20, 3.0
MORE_THAN_ALLOWED = 0.7  # errors that are expected beyond c(t), since the last one ends the set
PERCENT = 20.0  # confidences up to 100, and some above this, are taken for percent


def as_shares(confidences: Floats) -> Floats:
    """Return confidences in percent as shares; others as they are."""
    low, high = float(confidences.min()), float(confidences.max())
    return confidences / 100 if low >= 0 and PERCENT < high <= 100 else confidences


def pilot_size(b: int, risk: float, n: int, budget: int | None) -> int:
    """Return how many labels are spent on learning the order."""
    size = int(np.clip(SHARE_OF_PILOT * best_look(b, risk) * n, FEWEST_PILOT, MOST_PILOT))
    return min(size, n if budget is None else budget // 3)


def planned_look(b: int, risk: float, n: int, budget: int | None, n_pilot: int) -> float:
    """Return the look where most of the risk is spent."""
    look = best_look(b, risk)
    if budget is not None:
        look = min(look, (budget - n_pilot) / (SHARE_KEPT * n))
    first = earliest_look(b, risk)
    return round(max(look, min(1.1 * first, (1 + first) / 2)), 10)


class ErrorRates:
    """The expected chance of each machine label to be wrong, by its confidence and class."""

    def __init__(self, sure: Floats, labels: np.ndarray):
        n = len(sure)
        if sure.min() >= 0 and sure.max() <= 1:
            self.odds = np.log(np.clip(1 - sure, 0.003, 0.9) / np.clip(sure, 0.1, 0.997))
        else:  # any scores: a guess by rank
            self.odds = np.empty(n)
            self.odds[np.argsort(-sure, kind="stable")] = np.linspace(-4, 0.5, n)
        self.centered = self.odds - self.odds.mean()
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        common = np.flatnonzero(counts >= FEWEST_OF_CLASS)
        self.has_classes = 2 <= len(common) <= MOST_CLASSES
        place = np.full(len(classes), -1)
        if self.has_classes:
            place[common] = np.arange(len(common))
        self.n_classes = len(common) if self.has_classes else 0
        self.kind = place[codes]  # of each row: its common class, -1 for none

    def _features(self, rows: Rows) -> Floats:
        x = self.centered[rows]
        is_class = (self.kind[rows][:, None] == np.arange(self.n_classes)).astype(float)
        return np.column_stack([np.ones(len(rows)), x, is_class, is_class * x[:, None]])

    def expected(self, codes: np.ndarray) -> Floats:
        """Return the chance of each row to be wrong, from all answers."""
        seen = np.flatnonzero(codes != OPEN)
        if not len(seen):
            return expit(np.clip(self.odds, -9, 9))
        is_wrong = (codes[seen] != YES).astype(float)
        w = ridge_logistic(self._features(seen), is_wrong, np.clip(self.odds[seen], -30, 30))
        # A row without a common class has the last place, -1: no effect of its own.
        level, slope = np.pad(w[2:].reshape(2, -1), ((0, 0), (0, 1)))
        effect = w[0] + level[self.kind] + (w[1] + slope[self.kind]) * self.centered
        return expit(np.clip(self.odds + effect, -9, 9))


class Planned(NamedTuple):
    """A plan: the look, the rows of the scan up to it, new labels, and rows kept then."""

    t: float
    size: int
    n_labels: int
    n_kept: int


class ErrorPlan:
    """Plans for one scan and its table."""

    def __init__(self, scan: Scan, table: CountTable, rates: ErrorRates, places: Rows):
        self._scan, self._table, self._rates, self._places = scan, table, rates, places
        n = len(places)
        self._band = np.full(len(rates.odds), N_BANDS)
        self._band[places] = np.arange(n) * N_BANDS // max(n, 1)
        self._cells = Cells(scan, table.t)

    def expected(self, codes: np.ndarray) -> Floats:
        """Return the chance of each row to be wrong: the model's, then band by band."""
        rate = self._rates.expected(codes)
        seen = np.flatnonzero(codes != OPEN)
        is_wrong = (codes[seen] != YES).astype(float)
        factor = band_correction(self._band[seen], is_wrong, rate[seen], N_BANDS + 1, WORTH_OF_RATE)
        return np.clip(rate * factor[self._band], 1e-4, 0.95)

    def plan(self, codes: np.ndarray, left: int | None) -> Planned | None:
        """Return the plan with the most rows kept; None if the budget reaches no proof."""
        mine = codes[self._places]
        is_open = mine == OPEN
        rate = self.expected(codes)[self._places]
        errors = self._cells.up_to(np.where(is_open, rate, mine != YES))
        new = self._cells.up_to(is_open.astype(float))
        n_open = np.append(0, np.cumsum(is_open))
        most_new = np.inf if left is None else left
        best: Planned | None = None
        for i in range(len(self._table.t) - 1, -1, -1):
            t, c = float(self._table.t[i]), int(self._table.c[i])
            if c < 0 or (t < self._table.planned and best is not None):
                break
            size = int(np.interp(c + MORE_THAN_ALLOWED, errors[:, i], self._cells.edges))
            n_new = int(np.interp(size, self._cells.edges, new[:, i]))
            n_kept = int(n_open[size]) - n_new
            if n_new <= most_new and (best is None or n_kept > best.n_kept):
                best = Planned(t, size, n_new, n_kept)
        return best

    def draw(self, codes: np.ndarray, n: int, left: int | None) -> list[int]:
        """Return the next places to label, by their clocks."""
        plan = self.plan(codes, left)
        if plan is None:  # no proof is in reach: the earliest clocks of the surest half
            first = np.flatnonzero(self._table.c >= 0)[0]
            plan = Planned(float(self._table.t[first]), len(self._places) // 2, 0, 0)
        is_open = codes[self._places[: plan.size]] == OPEN
        due = np.flatnonzero(is_open & (self._scan.clock[: plan.size] <= plan.t))
        by_clock = due[np.argsort(self._scan.clock[due], kind="stable")]
        return self._places[by_clock[:n]].tolist()

    def forecast(self, codes: np.ndarray, left: int | None, n_certified: int) -> Forecast | None:
        """Return what the plan brings beyond the rows that are kept now."""
        plan = self.plan(codes, left)
        kept_now = int((codes[self._places[:n_certified]] == OPEN).sum())
        if plan is None or plan.n_kept <= kept_now or not plan.n_labels:
            return None
        return Forecast(plan.n_labels, plan.n_kept)
