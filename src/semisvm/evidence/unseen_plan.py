"""What to label next for a precision of unseen rows; no promise depends on it.

    first plan   before the first answer: the look t and the number b of wrong rows with the largest
                 (chance of a certificate) times (square root of the rows accepted then)
    looks        around t, a factor 1.5 apart. Where few labels are planned, nearly all answers have
                 to be right, and all risk goes to one look
    rates        the chance of each row to be wrong: its prediction, corrected by the answers, for
                 all rows and then in bands of the scan
    draw         the look and k with the largest chance times gain, its open rows by their clocks

The square root prefers smaller sets: with the rows themselves more are accepted in the mean, and
fewer campaigns have a certificate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.envelope import Envelope, found_law, look_at
from semisvm.evidence.order import Floats, Scan
from semisvm.evidence.procedure import ROUNDING, Forecast
from semisvm.evidence.rates import Predicted, normal

LATEST_LOOK = 0.75
BETWEEN_LOOKS = 1.5
UNSURE = 0.5  # the standard deviation of the share of wrong rows, relative to its prediction


class FirstPlan(NamedTuple):
    """What is planned before the first answer."""

    looks: Floats
    planned: tuple[float, float]
    across: float


def first_plan(rate: Floats, p: float, risk: float, budget: int) -> FirstPlan:
    """Return the plan for rows with these chances to be wrong, in scan order."""
    n = len(rate)
    m = min(budget, n)
    is_few = p**m > 0.01
    t, b = look_and_bound(rate, p, m, risk * (0.9 if is_few else 0.5))
    looks = t * BETWEEN_LOOKS ** np.arange(-40.0, 41.0)
    low = min(max(0.006, 0.8 * m / n), t)
    looks = looks[(looks >= low) & (looks <= max(LATEST_LOOK, t))]
    if is_few:
        looks = np.array([t])
    return FirstPlan(
        look_at(looks), (float(look_at(t)), round(max(b, 1.0), 6)), 4.0 if is_few else 2.0
    )


def look_and_bound(rate: Floats, p: float, budget: int, level: float) -> tuple[float, float]:
    """Return the look and b with the largest chance of a certificate times the root of its rows."""
    total = np.cumsum(rate)
    best = (-1.0, 0.5, 1.0)
    for t in np.geomspace(max(0.004, 0.7 * budget / len(rate)), LATEST_LOOK, 36):
        most = max(1, min(len(rate), int(budget / t)))
        k = np.unique(np.geomspace(min(8, most), most, 60).astype(int))
        found, b = t * total[k - 1], (1 - p) * (1 - t) * k
        c = np.array([_most_found(int(m) + 1, float(t), level) for m in b])
        spread = np.sqrt(found + (UNSURE * found) ** 2 + 0.1)
        chance = np.where(c < 0, 1e-3, 1.0) * normal((c + 0.5 - found) / spread)
        value = ((1 - t) * k) ** 0.5 * chance
        i = int(np.argmax(value))
        if value[i] > best[0]:
            best = (float(value[i]), float(t), float(b[i]))
    return best[1], best[2]


def _most_found(u: int, t: float, level: float) -> int:
    law = found_law(u, t, int(u * t / (1 - t)) + 1)
    return int(np.searchsorted(law, level, side="right")) - 1


class _Goal(NamedTuple):
    """A look and the first k rows of the scan, the new labels, the unseen rows, and a value."""

    look: int
    k: int
    n_labels: int
    n_unseen: int
    value: float


class UnseenPlan:
    """Plans for one scan and its table; everything is by place in the scan."""

    def __init__(self, scan: Scan, table: Envelope, p: float, rate: Floats):
        self._scan, self._table, self._p = scan, table, p
        self._rates = Predicted(rate, np.arange(len(rate)), (0.002, 0.97))
        self._due = [np.flatnonzero(scan.clock <= t) for t in table.looks]

    def _best(self, codes: np.ndarray, left: int, n_accepted: int) -> _Goal | None:
        """Return the goal with the largest chance times gain, if any has one."""
        answered = np.flatnonzero(codes != OPEN)
        is_wrong = codes[answered] != YES
        rate = self._rates.given(answered, is_wrong.astype(float))
        clocks = self._scan.clock[answered]
        best: _Goal | None = None
        for look, (t, all_due) in enumerate(zip(self._table.looks, self._due, strict=True)):
            # A set ends just before the next row that would have to be labeled.
            due = all_due[: left + len(answered) + 1]
            is_open = codes[due] == OPEN
            hope = np.cumsum(np.where(is_open, rate[due], 0.0))
            spread = np.cumsum(np.where(is_open, rate[due] * (1 - rate[due]), 0.0))
            labels = np.cumsum(is_open)
            k = np.append(due[1:], all_due[len(due)] if len(due) < len(all_due) else len(codes))
            k = k[: len(due)]
            n_before = np.searchsorted(answered, k)
            is_due = clocks <= t
            found = np.append(0, np.cumsum(is_wrong & is_due))[n_before]
            late = np.append(0, np.cumsum(is_wrong & ~is_due))[n_before]
            n_unseen = k - n_before - labels
            b = np.floor((1 - self._p) * n_unseen + ROUNDING).astype(int) + late
            c = self._table.at(look, b)
            unsure = spread + hope**2 / (4 + is_wrong.sum()) + 0.05
            chance = np.where(c < 0, 0.0, normal((c + 0.5 - found - hope) / np.sqrt(unsure)))
            gain = np.maximum(np.sqrt(np.maximum(n_unseen, 0)) - n_accepted**0.5, 0)
            value = np.where((labels > 0) & (labels <= left), chance * gain, 0.0)
            i = int(np.argmax(value)) if len(value) else -1
            if i >= 0 and value[i] > (best.value if best else 0.0):
                goal = (look, int(k[i]), int(labels[i]), int(n_unseen[i]), float(value[i]))
                best = _Goal(*goal)
        return best

    def draw(self, codes: np.ndarray, n: int, left: int | None, n_accepted: int) -> np.ndarray:
        """Return places to label next: of the best goal, the earliest clocks first."""
        most = len(codes) if left is None else left
        goal = self._best(codes, most, n_accepted)
        if goal is None:
            return np.empty(0, dtype=np.intp)
        due = self._due[goal.look]
        due = due[: np.searchsorted(due, goal.k)]
        due = due[codes[due] == OPEN]
        by_clock = due[np.argsort(self._scan.clock[due], kind="stable")]
        return by_clock[: min(n, most)]

    def forecast(self, codes: np.ndarray, left: int | None, n_accepted: int) -> Forecast | None:
        """Return what the best goal would bring, if it is reached."""
        goal = self._best(codes, len(codes) if left is None else left, n_accepted)
        return None if goal is None else Forecast(goal.n_labels, goal.n_unseen)
