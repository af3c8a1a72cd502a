"""A recall that is certified by one look at the end: a simple random sample of the size that was
said at the start.

`semisvm.decision.one_look` has the test. Nothing is said before the last row of the sample is
answered.
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
    Standing,
    ThresholdEvidence,
    codes_by_row,
)
from semisvm.campaign.recall_sets import RecallThresholds
from semisvm.campaign.state import CampaignState
from semisvm.decision import Counts
from semisvm.decision.one_look import recall_p_value


class OneLook(RecallThresholds):
    """The sample, and what it proves once all of it is answered."""

    def __init__(self, state: CampaignState):
        super().__init__(state)
        clocks = exponential_clocks(state.clock_key(), np.ones(len(self._bands)))
        n = min(state.n_planned, len(clocks))
        self._sample = np.argsort(clocks, kind="stable")[:n]
        self._look()

    def tell(self, rows: Iterable[int]) -> None:
        """Read the answers."""
        self.read_again()

    def read_again(self) -> None:
        """Read all answers again."""
        self._answers = codes_by_row(self._state.log.codes, len(self._bands))
        self._look()

    def fewest_labels(self) -> tuple[int, ...]:
        """Return the size of the sample for every line of the table."""
        return tuple(len(self._sample) for _ in self._lines())

    def next_rows(self, n: int) -> list[int]:
        """Return up to n rows of the sample without an answer."""
        return self._sample[self._answers[self._sample] == UNLABELED][:n].tolist()

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        """Return what is proved: nothing before the sample is complete."""
        n_left = int((self._answers[self._sample] == UNLABELED).sum())
        strictest = self._strictest()
        is_all_labeled = not np.isin(self._answers, (UNLABELED, UNKNOWN)).any()
        n_found = int((self._answers == POSITIVE).sum())
        lines = self._lines()
        return Standing(
            table=tuple(self._line(k, strictest, n_left) for k in lines),
            best=None if strictest is None else lines.index(strictest),
            is_certified=strictest is not None or (is_all_labeled and n_found > 0),
            is_set=True,
            holds_for_set_only=strictest is not None and strictest == self._n_passed,
            forecast=n_left or None,
            is_known=is_all_labeled and n_found > 0,
            is_refuted=is_all_labeled and n_found == 0,
            n_accepted=int(self._is_accepted().sum()),
            n_found=n_found,
            counts=Counts(0, 0, 0, 0) if strictest is None else self._counts(strictest),
            estimates={} if strictest is None else {"recall": self._measured(strictest)},
        )

    def _look(self) -> None:
        """Test the thresholds in their order, if the sample is complete."""
        answers = self._answers[self._sample]
        self._p_values = np.ones(len(self._plan.thresholds))
        self._n_passed = 0
        self._passes_with_found = False
        if (answers == UNLABELED).any():
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
                self._passes_with_found = recall_p_value(*tested, found) <= self._state.risk
                break
            self._n_passed += 1

    def _strictest(self) -> int | None:
        """The strictest threshold that is proved, with the rows found positive below it."""
        if not (self._answers == POSITIVE).any():
            return None
        if self._passes_with_found:
            return self._n_passed
        return self._n_passed - 1 if self._n_passed else None

    def _measured(self, k: int) -> float:
        """The recall at threshold k in the sample."""
        positive_bands = self._bands[self._sample[self._answers[self._sample] == POSITIVE]]
        return float((positive_bands < self._plan.thresholds[k].n_bands).sum() / self._n_positive)

    def _line(self, k: int, strictest: int | None, n_left: int) -> ThresholdEvidence:
        planned = self._plan.thresholds[k]
        answers = self._answers[self._sample]
        is_certified = k < self._n_passed or k == strictest
        expected = self._plan.sizes * self._plan.beliefs
        predicted = float(expected[: planned.n_bands].sum() / max(expected.sum(), 1e-300))
        evidence = 1.0 if n_left else 1 / max(float(self._p_values[k]), 1e-300)
        return ThresholdEvidence(
            threshold=planned.threshold,
            n_accepted=planned.n_accepted,
            predicted={"recall": predicted},
            evidence=evidence,
            evidence_needed=1 / self._state.risk if k <= self._n_passed else math.inf,
            evidence_hoped=1 / self._state.risk,
            n_read=0 if n_left else len(answers),
            positives=0 if n_left else int((answers == POSITIVE).sum()),
            is_certified=is_certified,
            is_known=None,
            forecast=0 if is_certified else n_left or None,
        )
