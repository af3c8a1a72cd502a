"""The promise `min_recall` where the accepted rows are not read: the open rows above a threshold,
and all rows found positive, hold at least a share r of all positives.

    bands       of rows by score, the highest first; a threshold accepts the first few bands
    good        a row above the threshold that is positive, or one below that is not
    c_i         what a good row is worth: 1 - r above the threshold, r below it
    null        sum of c_i over good rows <= K, K a little below r times the rows below: then the
                recall of the rows above is at most r
    q_i         the chance that row i is drawn next: w_i / sum of w over the rows that are left

**One bet.** Numbers rho_i >= 0 are chosen beforehand. To draw row i with outcome g (1 if good)
multiplies the wealth by

    c_i (g + rho_i) / (D q_i),      D = K + sum of c_j rho_j over the rows that are left,

with a mean of at most 1 under the null. What good rows were worth is taken from K; below 0 the null
is impossible. So the chance that the wealth ever reaches 1 / risk is at most `risk` (Ville 1939).
Several experts bet side by side on the same draws; the evidence is the mean of their wealths.

**Phases.** When all rows drawn so far are answered, new weights w and beliefs may be chosen, and
the rows that were not drawn get new clocks, independent of the answers: all bets stay fair.

**Rows found positive.** f of them are below the threshold. rho stays as it was for f = 0, and D - f
takes the place of D in every past bet: fair for the null with K - f.

**Many thresholds** are tested from loose to strict, each with the full risk: the first false one
has to be passed first. The pass that needs rows found positive is used for the first threshold that
has not passed without, and hands nothing on.

**"Don't know"** counts as what is worse for the promise: above the threshold as not positive, below
it as positive.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, logit, logsumexp

from semisvm.evidence.answers import OPEN, UNKNOWN, YES
from semisvm.evidence.order import Floats, Rows, digest, highest_first, uniform
from semisvm.evidence.procedure import ROUNDING, Forecast, Procedure, Proved
from semisvm.evidence.recall_sets_plan import Phase, band_edges, plan_phase

# Log-odds below the threshold are shifted by these, one expert each.
SHIFTS_BELOW = np.array([-2.5, -1.0, 0.0])
# Draws after which a phase begins.
PHASES = (0, 20, 50, 100, 250, 600, 1500, 4000)
MOST_STEPS, LEAST_STEP, LEAST_SLOPE = 60, 1e-12, 1e-12  # of Newton's method


class RecallEvidence:
    """The bets on one threshold, which accepts the first `n_above` bands."""

    def __init__(self, sizes: Floats, r: float, n_above: int):
        self.is_above = np.arange(len(sizes)) < n_above
        self.values = np.where(self.is_above, 1 - r, r)
        self.left = sizes.astype(float)
        self.total = r * float(sizes[~self.is_above].sum()) - ROUNDING
        self.n_read = 0
        self._payments: list[Floats] = []  # log of c (g + rho) / q, by draw and expert
        self._D: list[Floats] = []  # NaN where an expert does not bet

    def read(self, phases: list[Phase], bands: np.ndarray, is_positive: np.ndarray) -> None:
        """Bet on more draws: the phase, the band and the outcome of each."""
        good = (is_positive == self.is_above[bands]).astype(float)
        drawn = np.zeros((len(bands) + 1, len(self.left)))
        drawn[np.arange(1, len(bands) + 1), bands] = 1
        sizes = self.left - np.cumsum(drawn, axis=0)
        totals = self.total - np.append(0.0, np.cumsum(self.values[bands] * good))
        self._bet(phases, bands, good, sizes[:-1], totals[:-1])
        self.left, self.total = sizes[-1], float(totals[-1])
        self.n_read += len(bands)

    def _bet(
        self, phases: list[Phase], bands: np.ndarray, good: Floats, sizes: Floats, totals: Floats
    ) -> None:
        weights = np.array([phase.weights for phase in phases])
        log_odds = logit(np.array([phase.beliefs for phase in phases]))[:, None, :]
        believed = np.where(
            self.is_above, expit(log_odds), 1 - expit(log_odds + SHIFTS_BELOW[:, None])
        )
        chances = weights / (sizes * weights).sum(axis=1, keepdims=True)
        hope = (sizes[:, None, :] * self.values * believed).sum(axis=2)
        is_placed = (totals[:, None] > ROUNDING) & (hope > totals[:, None])
        step, expert = np.nonzero(is_placed)
        D, rho = best_bets(
            self.values, sizes[step], totals[step], chances[step], believed[step, expert]
        )
        at = bands[step]
        paid = self.values[at] * (good[step] + rho[np.arange(len(step)), at])
        payments = np.zeros(is_placed.shape)
        with np.errstate(divide="ignore"):
            payments[step, expert] = np.log(paid / chances[step, at])
        all_D = np.full(is_placed.shape, np.nan)
        all_D[step, expert] = D
        self._payments.append(payments)
        self._D.append(all_D)

    def path(self, found: int = 0) -> Floats:
        """Return the log evidence after each draw, with rows found positive below the threshold."""
        if not self._D:
            return np.zeros(0)
        D = np.concatenate(self._D) - found
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.concatenate(self._payments) - np.log(np.maximum(D, 1e-300))
        wealth = np.cumsum(np.where(np.isnan(D), 0.0, steps), axis=0)
        return logsumexp(wealth, axis=1) - math.log(len(SHIFTS_BELOW))

    def highest(self, found: int = 0) -> float:
        """Return the highest log evidence so far: infinite where the answers prove the claim."""
        if self.total - found < -ROUNDING / 10:
            return math.inf
        return float(self.path(found).max(initial=0.0))


def best_bets(
    values: Floats, sizes: Floats, totals: Floats, chances: Floats, believed: Floats
) -> tuple[Floats, Floats]:
    """Return D and rho of the bets that grow fastest if the beliefs are true; rows are states.

    D = K + sum of c rho(D) is solved by Newton's method. A bet is fair whatever the accuracy of
    the root, since D is computed again from rho.
    """
    worth, shares = sizes * values, chances / values
    D = totals
    is_open = np.ones(len(totals), dtype=bool)
    for _ in range(MOST_STEPS):
        rho, slope = _rho_and_slope(shares * D[:, None], believed)
        excess = totals + (worth * rho).sum(axis=1) - D
        step = excess / np.maximum(1 - (worth * shares * slope).sum(axis=1), LEAST_SLOPE)
        is_open &= step > LEAST_STEP * D
        D = np.where(is_open, D + step, D)
        if not is_open.any():
            break
    rho, _ = _rho_and_slope(shares * D[:, None], believed)
    return totals + (worth * rho).sum(axis=1), rho


def _rho_and_slope(tau: Floats, believed: Floats) -> tuple[Floats, Floats]:
    """Return the best rho for tau = q D / c, and its derivative in tau."""
    ahead, doubt = tau - 1, 1 - believed
    root = np.sqrt(ahead**2 + 4 * tau * doubt)
    # For tau < 1 the sum of two numbers of opposite sign would lose all digits.
    below = np.where(ahead < 0, root - ahead, 1.0)
    rho = np.where(ahead < 0, 2 * tau * doubt / below, (ahead + root) / 2)
    return rho, (1 + (ahead + 2 * doubt) / root) / 2


class RecallSets(Procedure):
    """Certify rows that hold a share of all positives, with few labels."""

    def __init__(
        self,
        rows: Rows,
        scores: Floats,
        probabilities: Floats,
        *,
        min_recall: float,
        risk: float,
        budget: int,
        random_state: int,
        name: str = "",
    ):
        super().__init__(rows)
        self.r, self.risk = min_recall, risk
        self._name, self._random_state = name, random_state
        self._places = highest_first(scores, random_state, f"{name} scores")
        self._edges = band_edges(len(rows))
        self._sizes = np.diff(self._edges)
        self._band = np.empty(len(rows), dtype=np.intp)
        self._band[self._places] = np.repeat(np.arange(len(self._sizes)), self._sizes)
        predicted = np.add.reduceat(probabilities[self._places], self._edges[:-1])
        self._predicted = np.clip(predicted / self._sizes, 5e-4, 1 - 5e-4)
        self._phases: list[Phase] = []
        self._drawn: list[int] = []
        self._waiting: set[int] = set()
        self._begin_phase()
        self._forget()

    # ---- draws ----

    def _begin_phase(self) -> None:
        """Choose weights and beliefs by the answers so far, and draw the rows of the phase."""
        drawn = np.array(self._drawn, dtype=np.intp)
        bands = self._band[drawn]
        seen = np.bincount(bands, minlength=len(self._sizes))
        hits = np.bincount(bands[self.codes[drawn] == YES], minlength=len(self._sizes))
        phase = plan_phase(self._sizes, self._predicted, seen, hits, self.r, len(self._phases))
        number = len(self._phases)
        about = f"{self._name} {self.r} {digest(self.rows[self._places])}"
        chance = uniform(f"{self._random_state} clocks recall {number} {about}", len(self.rows))
        clock = -np.log(chance) / phase.weights[self._band]
        clock[drawn] = np.inf
        last = PHASES[number + 1] if number + 1 < len(PHASES) else len(clock)
        n = min(last, len(clock)) - len(drawn)
        first = np.argpartition(clock, n - 1)[:n] if n < len(clock) else np.arange(n)
        new = first[np.argsort(clock[first], kind="stable")].tolist()
        self._phases.append(phase)
        self._drawn += new
        self._waiting = {row for row in new if self.codes[row] == OPEN}

    def tell(self, place: int, code: int) -> None:
        was_read = place in self._read_rows
        super().tell(place, code)
        self._is_current = False
        if was_read:
            self._forget()
        if code != OPEN:
            self._waiting.discard(place)
        elif place in self._drawn:
            self._waiting.add(place)
        while not self._waiting and len(self._drawn) < len(self.rows):
            self._begin_phase()

    def _forget(self) -> None:
        """Forget what the thresholds have read, since an answer was corrected."""
        n = len(self._sizes)
        self._evidence = [RecallEvidence(self._sizes, self.r, k) for k in range(n - 1, 0, -1)]
        self._n_passed = 0
        self._n_read = 0
        self._read_rows: set[int] = set()
        self._is_with_found = False
        self._is_current = False

    # ---- what is proved ----

    def _read(self) -> None:
        """Read the draws up to the first open one, threshold by threshold."""
        if self._is_current:
            return
        drawn = np.array(self._drawn, dtype=np.intp)
        opened = np.flatnonzero(self.codes[drawn] == OPEN)
        self._n_read = int(opened[0]) if len(opened) else len(drawn)
        drawn = drawn[: self._n_read]
        self._read_rows = set(drawn.tolist())
        number = np.searchsorted(PHASES, np.arange(self._n_read), side="right") - 1
        needed = -math.log(self.risk)
        self._is_with_found = False
        while self._n_passed < len(self._evidence):
            evidence = self._evidence[self._n_passed]
            if evidence.n_read < self._n_read:
                new = drawn[evidence.n_read :]
                phases = [self._phases[i] for i in number[evidence.n_read :]]
                is_positive = self._counts_as_positive(evidence, new)
                evidence.read(phases, self._band[new], is_positive)
            if evidence.highest() < needed:
                found = int(((self.codes == YES) & ~evidence.is_above[self._band]).sum())
                self._is_with_found = found > 0 and evidence.highest(found) >= needed
                break
            self._n_passed += 1
        self._is_current = True

    def _counts_as_positive(self, evidence: RecallEvidence, rows: np.ndarray) -> np.ndarray:
        """Whether each row counts as positive; "don't know" is the worse of both."""
        is_below = ~evidence.is_above[self._band[rows]]
        return (self.codes[rows] == YES) | ((self.codes[rows] == UNKNOWN) & is_below)

    def _n_above(self) -> int:
        """Return how many bands are accepted now."""
        self._read()
        n = len(self._sizes) - self._n_passed - int(self._is_with_found)
        return n if (self.codes == YES).any() else len(self._sizes)

    def proved(self) -> Proved:
        unread = np.flatnonzero((self._band >= self._n_above()) & (self.codes == OPEN))
        return Proved(unread, 0, is_certified=len(unread) > 0)

    def draw(self, n: int, left: int | None) -> list[int]:
        self._read()
        if self._n_passed == len(self._evidence):
            return []
        waiting = [row for row in self._drawn if row in self._waiting]
        return waiting[: n if left is None else min(n, left)]

    def forecast(self, left: int | None) -> Forecast | None:
        """Return when the next threshold passes if its evidence goes on as in its later half."""
        self._read()
        if self._n_passed == len(self._evidence):
            return None
        path = self._evidence[self._n_passed].path()
        half = len(path) // 2
        growth = (path[-1] - path[half]) / (len(path) - half) if half else 0.0
        if growth <= 0:
            return None
        n_labels = max(1, math.ceil((-math.log(self.risk) - path[-1]) / growth))
        if left is not None and n_labels > left:
            return None
        is_below = self._band >= len(self._sizes) - self._n_passed - 1
        n_rows = int((is_below & (self.codes == OPEN)).sum())
        return Forecast(n_labels, n_rows) if n_rows > len(self.proved().rows) else None
