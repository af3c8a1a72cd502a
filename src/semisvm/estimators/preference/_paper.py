"""Algorithm 1 of the PSVM paper on one binary problem; docs/preference.md lists what the paper leaves open.

    L        labels that train
    B        labels that calibrate. L and B are two halves of the labels ("part"), or both are all labels ("full").
    S        unlabeled rows with a soft label

    repeat
        train on L and S; v are the decision values of all rows
        measure precision, recall and F1 on B, at the threshold 0 and at the adjusted threshold d+ (`decision.adjust`);
        both are candidates for the answer
        d- is the mean of v over the negatives of B
        unlabeled rows with v > d+ become +1, and of the others those with v < d- become -1:
            "grow"      only rows that are not in S yet; S never shrinks
            "rebuild"   S is made again from all unlabeled rows
    until S does not change, S was there before ("rebuild"), or max_rounds is reached
    answer: among the candidates that keep the target on B, the one with the best F1; if none keeps it, the nearest one

Without adjusting, d+ = d- = 0, and all unlabeled rows get a label at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision import Counts, Target, adjust, best_of, count_at, measure
from semisvm.decision.audit import make_audit
from semisvm.estimators.preference._learner import ALL_LABELS, Learner
from semisvm.estimators.preference._plan import Outcome, measures_at


@dataclass(frozen=True)
class _Answer:
    """A model with a threshold, and what they make of the calibration rows."""

    model: Any
    values: np.ndarray
    threshold: float
    counts: Counts


class PaperRounds:
    """The rounds of one binary problem.

    sign         (n,) the labels, 0 where there is none
    copies       (n,) how many of the user's rows each row stands for
    trains       (n,) mask: the labeled rows in L
    calibrates   (n,) mask: the labeled rows in B

    If the learner raises an exception during `run`, `outcome` still returns the best answer so far.
    """

    def __init__(
        self,
        learner: Learner,
        sign: np.ndarray,
        copies: np.ndarray,
        trains: np.ndarray,
        calibrates: np.ndarray,
        target: Target,
        *,
        pool: str,
        rule: str | None,
        max_rounds: int,
    ):
        self.learner, self.target, self.copies = learner, target, copies
        self.is_unlabeled, self.calibrates = sign == 0, calibrates
        self.is_held_out = not (trains & calibrates).any()
        self.sign, self.calibration_sign = sign, sign[calibrates]
        self.soft = np.where(trains, sign, 0).astype(np.int8)  # the signs to train on: L and S
        self.labeled_in = np.where(sign != 0, 0, -1)
        self.pool, self.rule, self.max_rounds = pool, rule, max_rounds
        self.supervised: np.ndarray | None = None
        self.fair_scores: np.ndarray | None = None
        self.best: _Answer | None = None
        self.ended: str | None = "max_rounds"

    def run(self) -> None:
        """Train, measure and label until the soft labels do not change."""
        seen, share = {self.soft.tobytes()}, np.ones(len(self.soft))
        for number in range(self.max_rounds):
            values = self.learner.train(self.soft, share, ALL_LABELS)
            d_plus, d_minus, details = self._measure(values)
            guess = np.where(values > d_plus, 1, np.where(values < d_minus, -1, 0))
            may_change = self.is_unlabeled if self.pool == "rebuild" else self.is_unlabeled & (self.soft == 0)
            soft = np.where(may_change, guess, self.soft).astype(np.int8)
            changed = soft != self.soft
            self.labeled_in[changed] = np.where(soft[changed] != 0, number + 1, -1)
            self.soft = soft
            n_soft = {side: int(self.copies[self.is_unlabeled & (soft == side)].sum()) for side in (1, -1)}
            self.learner.done(**details, soft_positive=n_soft[1], soft_negative=n_soft[-1])
            if not changed.any() or soft.tobytes() in seen:
                self.ended = "cycle" if changed.any() else None
                return
            seen.add(soft.tobytes())

    def outcome(self, unfinished: tuple[Any, np.ndarray] | None = None) -> Outcome:
        """The best answer; where the first training did not finish, its unfinished model and values, at 0."""
        if self.best is None:
            assert unfinished is not None
            self._offer(*unfinished, 0.0)
        best = self.best
        assert best is not None
        scores = best.values[self.calibrates]
        point = measure(scores, self.calibration_sign, best.threshold, target=self.target)
        supervised = scores if self.supervised is None else self.supervised
        audit = make_audit(self.target, supervised, self.calibration_sign, point, "empirical")
        return Outcome(
            model=best.model,
            values=best.values,
            point=point,
            audit=audit,
            calibration_scores=scores,
            calibration_sign=self.calibration_sign,
            is_held_out=self.is_held_out,
            labeled_in=self.labeled_in,
            fair_scores=self.fair_scores,
            ended=self.ended,
        )

    def _measure(self, values: np.ndarray) -> tuple[float, float, dict[str, Any]]:
        """Measure on B, offer both candidates, and return d+, d- and the details of the round's record."""
        scores = values[self.calibrates]
        if self.supervised is None:
            self.supervised = scores
            if self.is_held_out:
                self.fair_scores = np.where(self.calibrates | self.is_unlabeled, values, np.nan)
        at_zero = self._offer(self.learner.model, values, 0.0)
        if self.rule is None:
            d_plus = d_minus = 0.0
        else:
            target = self.target
            d_plus = adjust(
                scores,
                self.calibration_sign,
                min_precision=target.min_precision,
                min_recall=target.min_recall,
                rule=self.rule,  # type: ignore[arg-type]
            )
            d_minus = float(scores[self.calibration_sign < 0].mean())
        adjusted = self._offer(self.learner.model, values, d_plus)
        thresholds = {"threshold": d_plus, "threshold_negative": d_minus}
        return d_plus, d_minus, measures_at(at_zero) | measures_at(adjusted, "adjusted_") | thresholds

    def _offer(self, model: Any, values: np.ndarray, threshold: float) -> Counts:
        """Keep a candidate if it is better than those before it; return its counts."""
        counts = count_at(values[self.calibrates], self.calibration_sign, threshold)
        if self.best is None or best_of(_side_by_side(self.best.counts, counts), self.target)[0] == 1:
            self.best = _Answer(model, values, threshold, counts)
        return counts


def _side_by_side(one: Counts, other: Counts) -> Counts:
    return Counts(*(np.array(cells) for cells in zip(one, other, strict=True)))
