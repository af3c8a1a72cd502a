"""A recall that is certified by one look at the end: a simple random sample of the size that was
said at the start.

`semisvm.decision.one_look` has the test. Nothing is said before the last row of the sample is
answered.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from semisvm.campaign.answers import NEGATIVE, POSITIVE, UNKNOWN, UNLABELED
from semisvm.campaign.draws import exponential_clocks
from semisvm.campaign.procedure import Standing
from semisvm.campaign.recall_sets import RecallThresholds
from semisvm.campaign.state import CampaignState
from semisvm.decision.one_look import recall_p_value


class OneLook(RecallThresholds):
    """The sample, and what it proves once all of it is answered."""

    def __init__(self, state: CampaignState):
        super().__init__(state)
        clocks = exponential_clocks(state.clock_key(), np.ones(len(self._bands)))
        n = min(state.n_planned, len(clocks))
        self._sample = np.argsort(clocks, kind="stable")[:n]
        self.read()

    def read(self) -> None:
        super().read()
        self._look()

    def fewest_labels(self) -> tuple[int, ...]:
        """Return the size of the sample for every line of the table."""
        return tuple(len(self._sample) for _ in self._lines())

    def next_rows(self, n: int) -> list[int]:
        """Return up to n rows of the sample without an answer."""
        return self._sample[self._answers[self._sample] == UNLABELED][:n].tolist()

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        """Return what is proved: nothing before the sample is complete."""
        return replace(super().standing(with_forecasts=with_forecasts), next_accepted=None)

    def _look(self) -> None:
        """Test the thresholds in their order, if the sample is complete."""
        answers = self._answers[self._sample]
        self._p_values = np.ones(len(self._plan.thresholds))
        self._n_passed = 0
        self._is_proved_with_found = False
        self._rows_read = self._sample[:0] if self._n_left() else self._sample
        if self._n_left():
            return
        # "Don't know" counts as a positive row that every threshold misses.
        self._n_positive = int(np.isin(answers, (POSITIVE, UNKNOWN)).sum())
        positive_bands = self._bands[self._sample[answers == POSITIVE]]
        n_negative = int((self._answers == NEGATIVE).sum())
        most_positive = len(self._bands) - n_negative
        for k, planned in enumerate(self._plan.thresholds):
            n_above = int((positive_bands < planned.n_bands).sum())
            found = len(positive_bands) - n_above
            tested = (n_above, self._n_positive, most_positive, self._level)
            self._p_values[k] = recall_p_value(*tested)
            if self._p_values[k] > self._state.risk:
                self._is_proved_with_found = recall_p_value(*tested, found) <= self._state.risk
                break
            self._n_passed += 1

    def _n_left(self) -> int:
        """The rows of the sample without an answer."""
        return int((self._answers[self._sample] == UNLABELED).sum())

    def _evidence_at(self, k: int) -> tuple[int, float]:
        return len(self._rows_read), -math.log(max(float(self._p_values[k]), 1e-300))

    def _forecast(self, k: int) -> int | None:
        return self._n_left() or None

    def _estimate(self, k: int) -> float:
        """The recall at threshold k in the sample; before it is complete, as predicted."""
        if self._n_left() or not self._n_positive:
            return super()._estimate(k)
        positive_bands = self._bands[self._sample[self._answers[self._sample] == POSITIVE]]
        return float((positive_bands < self._plan.thresholds[k].n_bands).sum() / self._n_positive)
