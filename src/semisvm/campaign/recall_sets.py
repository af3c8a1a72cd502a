"""Certified sets for a recall: the rows above the strictest threshold that is proved, and all rows
found positive below it.

`semisvm.decision.recall_sets` has the evidence and why it is valid. Here rows are drawn in phases:
a phase begins when every row drawn before it is answered, and its speeds and beliefs are kept, so
that a later correction does not change which rows were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from semisvm.campaign.draws import exponential_clocks
from semisvm.campaign.procedure import (
    NEGATIVE,
    POSITIVE,
    UNKNOWN,
    UNLABELED,
    AcceptedRows,
    Standing,
    ThresholdEvidence,
    accepted_rows,
    codes_by_row,
)
from semisvm.campaign.state import CampaignState
from semisvm.decision import Counts
from semisvm.decision.betting import log_evidence_needed
from semisvm.decision.recall_sets import Phase, RecallEvidence, band_rates, plan_phase

# Draws. Phases from 0, 40 and 100 on instead returned 8% more rows after 100 and 300 labels; more
# of them, from 15 and 30 on, returned 10% more.
PHASE_STARTS = (0, 20, 50, 100, 250, 600, 1500, 4000)
STEPS_AT_ONCE = 64  # draws that a threshold reads before it is asked whether it has passed
MOST_LINES = 12  # of the table


class RecallThresholds:
    """Thresholds from loose to strict, each proved after the one before it, and the answers.

    `_n_passed` of them are proved by the draws alone.
    """

    def __init__(self, state: CampaignState):
        assert state.target.min_recall is not None
        self._state = state
        self._plan = state.plan
        self._level = state.target.min_recall
        self._needed = log_evidence_needed(state.risk)
        self._bands = state.plan.bands.astype(np.intp)
        self._answers = codes_by_row(state.log.codes, len(self._bands))
        self._n_passed = 0

    def _strictest(self) -> int | None:
        """The strictest threshold that is proved; None while there is none."""
        raise NotImplementedError

    def fewest_labels(self) -> tuple[int, ...]:
        """Return per line of the table how many labels it takes at least: the elusion bound."""
        plan = self._plan
        fewest = []
        for k in self._lines():
            n_bands = plan.thresholds[k].n_bands
            hits = float((plan.sizes[:n_bands] * plan.beliefs[:n_bands]).sum())
            worth = max((1 - self._level) * hits, 1e-300)
            bound = self._needed * self._level * float(plan.sizes[n_bands:].sum()) / worth
            fewest.append(math.ceil(min(bound, plan.n_rows)))
        return tuple(fewest)

    def accepted(self) -> AcceptedRows:
        """Return the rows above the strictest threshold that is proved, without those found
        negative, and all rows found positive; none while nothing is proved.

        A row answered "don't know" stays in: it may be positive.
        """
        return accepted_rows(self._is_accepted(), self._answers)

    def _is_accepted(self) -> np.ndarray:
        may_be_positive = np.isin(self._answers, (UNLABELED, UNKNOWN))
        k = self._strictest()
        if k is None and may_be_positive.any():
            return np.zeros(len(self._answers), dtype=bool)
        n_bands = 0 if k is None else self._plan.thresholds[k].n_bands
        is_above = (self._bands < n_bands) & may_be_positive
        return is_above | (self._answers == POSITIVE)

    def _counted(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows, and rows found positive, per band."""
        n_bands = len(self._plan.sizes)
        seen = np.bincount(self._bands[rows], minlength=n_bands)
        hits = np.bincount(self._bands[rows[self._answers[rows] == POSITIVE]], minlength=n_bands)
        return seen.astype(float), hits.astype(float)

    def _lines(self) -> list[int]:
        """The thresholds of the table: some of all, and those at the frontier."""
        m = len(self._plan.thresholds)
        spaced = np.linspace(0, m - 1, min(m, MOST_LINES)).round().astype(int).tolist()
        frontier = [k for k in (self._n_passed - 1, self._n_passed) if 0 <= k < m]
        return sorted({*spaced, *frontier})

    def _counts(self, k: int) -> Counts:
        """What threshold k does to the answered rows; "don't know" counts as negative."""
        is_above = self._bands < self._plan.thresholds[k].n_bands
        positive = self._answers == POSITIVE
        negative = np.isin(self._answers, (NEGATIVE, UNKNOWN))
        return Counts(
            tp=int((is_above & positive).sum()),
            fp=int((is_above & negative).sum()),
            fn=int((~is_above & positive).sum()),
            tn=int((~is_above & negative).sum()),
        )


class RecallSets(RecallThresholds):
    """The thresholds of one campaign, from loose to strict, and what the draws prove of them."""

    def __init__(self, state: CampaignState):
        super().__init__(state)
        self._phases = [
            Phase(np.array(phase["speeds"]), np.array(phase["beliefs"])) for phase in state.phases
        ]
        self._sequence = np.empty(0, dtype=np.intp)
        for phase in range(len(self._phases)):
            self._draw_phase(phase)
        if not self._phases:
            self._begin_phase(np.zeros(len(self._plan.sizes)), np.zeros(len(self._plan.sizes)))
        self.read_again()

    # ---- what a campaign asks ----

    def tell(self, rows: Iterable[int]) -> None:
        """Read the answers of these rows."""
        rows = list(rows)
        codes = self._state.log.codes
        is_new = (self._answers[rows] == UNLABELED).all()
        for row in rows:
            self._answers[row] = UNKNOWN if math.isnan(codes[row]) else int(codes[row])
        if is_new:
            self._read_on()
        else:
            self.read_again()

    def read_again(self) -> None:
        """Read all answers again."""
        self._answers = codes_by_row(self._state.log.codes, len(self._bands))
        self._evidence = {
            k: RecallEvidence(self._plan.sizes, self._level, planned.n_bands)
            for k, planned in enumerate(self._plan.thresholds)
        }
        self._n_passed = 0
        self._read_on()

    def next_rows(self, n: int) -> list[int]:
        """Return up to n rows of this phase without an answer; none where every threshold has
        passed.
        """
        if self._n_passed == len(self._plan.thresholds):
            return []
        is_open = self._answers[self._sequence] == UNLABELED
        return self._sequence[is_open][:n].tolist()

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        """Return what is proved."""
        strictest = self._strictest()
        is_all_labeled = not np.isin(self._answers, (UNLABELED, UNKNOWN)).any()
        n_found = int((self._answers == POSITIVE).sum())
        lines = self._lines()
        table = tuple(self._line(k, strictest, with_forecasts) for k in lines)
        forecast = None
        if self._n_passed < len(self._plan.thresholds) and not is_all_labeled and with_forecasts:
            forecast = self._forecast(self._n_passed)
        return Standing(
            table=table,
            best=None if strictest is None else lines.index(strictest),
            is_certified=strictest is not None or (is_all_labeled and n_found > 0),
            is_set=True,
            holds_for_set_only=strictest is not None and strictest == self._n_passed,
            forecast=forecast,
            is_known=is_all_labeled and n_found > 0,
            is_refuted=is_all_labeled and n_found == 0,
            n_accepted=int(self._is_accepted().sum()),
            n_found=n_found,
            counts=Counts(0, 0, 0, 0) if strictest is None else self._counts(strictest),
            estimates={} if strictest is None else {"recall": self._predicted(strictest)},
            next_accepted=(
                None if forecast is None else self._plan.thresholds[self._n_passed].n_accepted
            ),
        )

    # ---- draws ----

    def _begin_phase(self, seen: np.ndarray, hits: np.ndarray) -> None:
        """Plan the next phase from the answers of all draws before it, and draw its rows."""
        phase = plan_phase(self._plan.sizes, self._plan.beliefs, seen, hits, self._level)
        self._phases.append(phase)
        self._state.phases.append(
            {"speeds": phase.speeds.tolist(), "beliefs": phase.beliefs.tolist()}
        )
        self._draw_phase(len(self._phases) - 1)

    def _draw_phase(self, number: int) -> None:
        """Add the rows of a phase to the sequence: those that come first by their new clocks."""
        speeds = self._phases[number].speeds[self._bands]
        clocks = exponential_clocks(self._state.clock_key(number), speeds)
        clocks[self._sequence] = np.inf
        n_rows = len(clocks) - len(self._sequence)
        if number + 1 < len(PHASE_STARTS):
            n_rows = min(n_rows, PHASE_STARTS[number + 1] - len(self._sequence))
        if n_rows < len(clocks):
            first = np.argpartition(clocks, n_rows - 1)[:n_rows]
        else:
            first = np.arange(len(clocks))
        rows = first[np.argsort(clocks[first], kind="stable")]
        self._sequence = np.concatenate([self._sequence, rows])

    def _read_on(self) -> None:
        """Begin the phases that are due, and let the thresholds read what is answered."""
        while True:
            is_open = self._answers[self._sequence] == UNLABELED
            n_read = int(is_open.argmax()) if is_open.any() else len(self._sequence)
            if n_read < len(self._sequence) or n_read == len(self._bands):
                break
            seen, hits = self._counted(self._sequence)
            self._begin_phase(seen, hits)
        self._n_read = n_read
        while self._n_passed < len(self._plan.thresholds) and self._has_passed(self._n_passed):
            self._n_passed += 1

    # ---- evidence ----

    def _has_passed(self, k: int) -> bool:
        """Whether the draws prove threshold k by themselves; it reads no more than it needs."""
        evidence = self._evidence[k]
        while evidence.highest() < self._needed:
            start = evidence.n_read
            end = min(self._n_read, start + STEPS_AT_ONCE)
            if start == end:
                return False
            rows = self._sequence[start:end]
            numbers = np.searchsorted(PHASE_STARTS, np.arange(start, end), side="right") - 1
            phases = [self._phases[number] for number in numbers]
            evidence.read(phases, self._bands[rows], self._good(k, rows))
        return True

    def _good(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Whether each row is decided right at threshold k; "don't know" never is."""
        is_above = self._bands[rows] < self._plan.thresholds[k].n_bands
        return self._answers[rows] == np.where(is_above, POSITIVE, NEGATIVE)

    def _strictest(self) -> int | None:
        """The strictest threshold that is proved, with the rows found positive below it; None
        while there is none, or no positive row is found.

        Where no row is positive every recall is true and says nothing.
        """
        k = self._n_passed
        if not (self._answers == POSITIVE).any():
            return None
        if k < len(self._plan.thresholds):
            is_below = self._bands >= self._plan.thresholds[k].n_bands
            found = int((is_below & (self._answers == POSITIVE)).sum())
            self._has_passed(k)
            if found and self._evidence[k].highest(found) >= self._needed:
                return k
        return k - 1 if k else None

    # ---- what is expected ----

    def _rates(self) -> np.ndarray:
        seen, hits = self._counted(self._sequence[: self._n_read])
        return band_rates(self._plan.beliefs, seen, hits)

    def _forecast(self, k: int) -> int | None:
        """About how many labels it takes until threshold k is proved, if those before it are."""
        return self._evidence[k].labels_needed(self._needed, self._phases[-1], self._rates())

    def _predicted(self, k: int) -> float:
        """The recall at threshold k that the answers and the predictions suggest."""
        seen, hits = self._counted(self._sequence[: self._n_read])
        expected = hits + (self._plan.sizes - seen) * self._rates()
        n_bands = self._plan.thresholds[k].n_bands
        total = float(expected.sum())
        return float(expected[:n_bands].sum()) / total if total > 0 else math.nan

    def _line(self, k: int, strictest: int | None, with_forecasts: bool) -> ThresholdEvidence:
        planned = self._plan.thresholds[k]
        evidence = self._evidence[k]
        is_passed = k < self._n_passed
        is_certified = is_passed or k == strictest
        is_next = k == self._n_passed
        forecast = 0 if is_certified else self._forecast(k) if with_forecasts else None
        n_read, log_evidence = evidence.n_read, evidence.highest()
        if is_passed:
            n_read, log_evidence = evidence.first_passage(self._needed)
        return ThresholdEvidence(
            threshold=planned.threshold,
            n_accepted=planned.n_accepted,
            predicted={"recall": self._predicted(k)},
            evidence=float(np.exp(log_evidence)),
            evidence_needed=math.exp(self._needed) if is_passed or is_next else math.inf,
            evidence_hoped=math.exp(self._needed),
            n_read=n_read,
            positives=int((self._answers[self._sequence[:n_read]] == POSITIVE).sum()),
            is_certified=is_certified,
            is_known=None,
            forecast=forecast,
        )
