"""Certified sets for a recall: the rows above the strictest threshold that is proved, and all rows
found positive below it.

`semisvm.decision.recall_sets` has the evidence and why it is valid. Here rows are drawn in phases:
a phase begins when every row drawn before it is answered, and its speeds and beliefs are kept, so
that a later correction does not change which rows were drawn.
"""

from __future__ import annotations

import math

import numpy as np

from semisvm.campaign.answers import NEGATIVE, POSITIVE, UNLABELED
from semisvm.campaign.draws import exponential_clocks
from semisvm.campaign.procedure import Procedure, Standing, ThresholdEvidence
from semisvm.campaign.state import CampaignState
from semisvm.decision.betting import log_evidence_needed
from semisvm.decision.recall_sets import Phase, RecallEvidence, band_rates, plan_phase
from semisvm.decision.sampling_plan import fewest_for_recall

# Draws. Phases from 0, 40 and 100 on instead returned 8% more rows after 100 and 300 labels; more
# of them, from 15 and 30 on, returned 10% more.
PHASE_STARTS = (0, 20, 50, 100, 250, 600, 1500, 4000)
STEPS_AT_ONCE = 64  # draws that a threshold reads before it is asked whether it has passed
MOST_LINES = 12  # of the table


class RecallThresholds(Procedure):
    """Thresholds from loose to strict, each proved after the one before it.

    `_n_passed` of them are proved by the draws alone, from `_rows_read` in the order of the draws.
    `_is_proved_with_found` says whether the rows found positive below it prove the next one.
    """

    _rows_read: np.ndarray
    _is_proved_with_found: bool

    def __init__(self, state: CampaignState):
        super().__init__(state)
        assert state.target.min_recall is not None
        self._level = state.target.min_recall
        self._needed = log_evidence_needed(state.risk)
        self._bands = state.plan.bands.astype(np.intp)
        self._n_passed = 0

    def _strictest(self) -> int | None:
        """The strictest threshold that is proved, with the rows found positive below it; None
        while there is none, or no positive row is found.

        Where no row is positive every recall is true and says nothing.
        """
        if not (self._answers == POSITIVE).any():
            return None
        if self._is_proved_with_found:
            return self._n_passed
        return self._n_passed - 1 if self._n_passed else None

    def _evidence_at(self, k: int) -> tuple[int, float]:
        """How many of these rows were read at threshold k, and the log evidence then."""
        raise NotImplementedError

    def _forecast(self, k: int) -> int | None:
        """About how many labels it takes until threshold k is proved, if those before it are."""
        raise NotImplementedError

    def _estimate(self, k: int) -> float:
        """The recall at threshold k that the answers and the predictions suggest."""
        n_bands = self._plan.thresholds[k].n_bands
        seen, hits, rates = self._rates()
        expected = hits + (self._plan.sizes - seen) * rates
        total = float(expected.sum())
        return float(expected[:n_bands].sum()) / total if total > 0 else math.nan

    def _rates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows read and positives among them per band, and the share of positives expected."""
        seen = self._per_band(self._rows_read)
        hits = self._per_band(self._rows_read[self._answers[self._rows_read] == POSITIVE])
        return seen, hits, band_rates(self._plan.beliefs, seen, hits)

    # ---- what a campaign asks ----

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        strictest = self._strictest()
        thresholds = self._plan.thresholds
        lines = self._lines()
        n_accepted = int(self._is_accepted().sum())
        forecast = next_accepted = None
        is_open = self._n_passed < len(thresholds)
        if is_open and with_forecasts and (self._answers == UNLABELED).any():
            forecast = self._forecast(self._n_passed)
        if forecast is not None:  # where rows found positive prove it already, its set stays
            n_next = int(self._accepts(self._n_passed).sum())
            next_accepted = None if n_next == n_accepted else n_next
        return Standing(
            status=self._status_of_set(strictest),
            table=tuple(self._line(k, strictest, with_forecasts) for k in lines),
            best=None if strictest is None else lines.index(strictest),
            estimates={} if strictest is None else {"recall": self._estimate(strictest)},
            n_accepted=n_accepted,
            forecast=forecast,
            next_accepted=next_accepted,
            holds_for_set_only=strictest is not None and strictest == self._n_passed,
        )

    def _line(self, k: int, strictest: int | None, with_forecasts: bool) -> ThresholdEvidence:
        planned = self._plan.thresholds[k]
        has_passed = k < self._n_passed or k == strictest
        is_certified = has_passed and strictest is not None  # not while no positive row is found
        n_read, log_evidence = self._evidence_at(k)
        forecast = None
        if is_certified:
            forecast = 0
        elif with_forecasts and not has_passed:
            forecast = self._forecast(k)
        return ThresholdEvidence(
            threshold=planned.threshold,
            n_accepted=planned.n_accepted,
            predicted={"recall": self._estimate(k)},
            evidence=float(np.exp(log_evidence)),
            evidence_needed=math.exp(self._needed) if k <= self._n_passed else math.inf,
            evidence_hoped=math.exp(self._needed),
            n_read=n_read,
            positives=int((self._answers[self._rows_read[:n_read]] == POSITIVE).sum()),
            is_certified=is_certified,
            is_known=None,
            forecast=forecast,
        )

    def _lines(self) -> list[int]:
        """The thresholds of the table: some of all, and those at the frontier."""
        m = len(self._plan.thresholds)
        spaced = np.linspace(0, m - 1, min(m, MOST_LINES)).round().astype(int).tolist()
        frontier = [k for k in (self._n_passed - 1, self._n_passed) if 0 <= k < m]
        return sorted({*spaced, *frontier})

    def fewest_labels(self) -> tuple[int, ...]:
        plan = self._plan
        return tuple(
            fewest_for_recall(plan, plan.thresholds[k].n_bands, self._level, self._state.risk)
            for k in self._lines()
        )

    def _is_accepted(self) -> np.ndarray:
        """The rows above the strictest threshold that is proved, without those found negative, and
        all rows found positive; none while nothing is proved.

        A row answered "don't know" stays in: it may be positive.
        """
        k = self._strictest()
        if k is not None:
            return self._accepts(k)
        is_known = not np.isin(self._answers, self._may_be_positive).any()
        return is_known & (self._answers == POSITIVE)

    def _accepts(self, k: int) -> np.ndarray:
        """The rows that are accepted where threshold k is proved."""
        is_above = self._bands < self._plan.thresholds[k].n_bands
        may_be_positive = np.isin(self._answers, self._may_be_positive)
        return is_above & may_be_positive | (self._answers == POSITIVE)


class RecallSets(RecallThresholds):
    """The thresholds of one campaign, from loose to strict, and what the draws prove of them."""

    def __init__(self, state: CampaignState):
        super().__init__(state)
        self._phases: list[Phase] = []
        self._answers_read: np.ndarray
        self._sequence = np.empty(0, dtype=np.intp)
        self._begin()
        self.read()

    # ---- what a campaign asks ----

    def read(self) -> None:
        super().read()
        if not np.array_equal(self._answers[self._rows_read], self._answers_read):
            self._begin()
        self._draw_phases()
        is_open = self._answers[self._sequence] == UNLABELED
        n_read = int(is_open.argmax()) if is_open.any() else len(self._sequence)
        self._rows_read = self._sequence[:n_read]
        self._answers_read = self._answers[self._rows_read]
        thresholds = self._plan.thresholds
        while self._n_passed < len(thresholds) and self._has_passed(self._n_passed):
            self._n_passed += 1
        self._is_proved_with_found = False
        if self._n_passed < len(thresholds):
            is_below = self._bands >= thresholds[self._n_passed].n_bands
            found = int((is_below & (self._answers == POSITIVE)).sum())
            evidence = self._evidence[self._n_passed].highest(found)
            self._is_proved_with_found = found > 0 and evidence >= self._needed

    def _begin(self) -> None:
        """Forget what the thresholds have read."""
        self._evidence = [
            RecallEvidence(self._plan.sizes, self._level, planned.n_bands)
            for planned in self._plan.thresholds
        ]
        self._n_passed = 0
        self._rows_read = np.empty(0, dtype=np.intp)
        self._answers_read = np.empty(0, dtype=np.int8)

    def next_rows(self, n: int) -> list[int]:
        """Return up to n rows of this phase without an answer; none where every threshold has
        passed.
        """
        if self._n_passed == len(self._plan.thresholds):
            return []
        is_open = self._answers[self._sequence] == UNLABELED
        return self._sequence[is_open][:n].tolist()

    # ---- draws ----

    def _draw_phases(self) -> None:
        """Draw the rows of all phases that were begun, and of those that are due now."""
        begun = self._state.phases
        while len(self._sequence) < len(self._bands):
            if len(self._phases) == len(begun):
                drawn = self._sequence
                answers = self._answers[drawn]
                if (answers == UNLABELED).any():
                    return
                hits = self._per_band(drawn[answers == POSITIVE])
                seen = self._per_band(drawn)
                phase = plan_phase(self._plan.sizes, self._plan.beliefs, seen, hits, self._level)
                begun.append({name: part.tolist() for name, part in vars(phase).items()})
            phase = Phase(**{k: np.array(v) for k, v in begun[len(self._phases)].items()})
            self._draw_phase(phase)

    def _draw_phase(self, phase: Phase) -> None:
        """Add the rows of a phase to the sequence: those that come first by their new clocks."""
        number = len(self._phases)
        self._phases.append(phase)
        speeds = phase.speeds[self._bands]
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

    # ---- evidence ----

    def _has_passed(self, k: int) -> bool:
        """Whether the draws prove threshold k by themselves; it reads no more than it needs."""
        evidence = self._evidence[k]
        while evidence.highest() < self._needed:
            start = evidence.n_read
            end = min(len(self._rows_read), start + STEPS_AT_ONCE)
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

    def _evidence_at(self, k: int) -> tuple[int, float]:
        evidence = self._evidence[k]
        if k < self._n_passed:
            return evidence.first_passage(self._needed)
        return evidence.n_read, evidence.highest()

    def _forecast(self, k: int) -> int | None:
        _, _, rates = self._rates()
        return self._evidence[k].labels_needed(self._needed, self._phases[-1], rates)
