"""The two ways to train and to calibrate one binary problem, for any learner: cross-fitted, and the paper's rounds.

`CrossFitted`: every label trains and every label calibrates. The labeled rows are dealt out to folds. The machine that
decides is trained on all labels. The threshold is chosen on out-of-fold scores: each label is scored by a machine that
has not seen it. `_unlabeled.CandidateChoice` uses the same scores to choose the machine, with soft labels or without.
Each candidate of that choice is a round. The first is the supervised machine. It is the answer where the fit ends
before the choice is made.

`PaperRounds`: Algorithm 1 of the PSVM paper; docs/preference.md lists what the paper leaves open.

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

from semisvm.decision import (
    Counts,
    OperatingPoint,
    Target,
    adjust,
    best_of,
    choose_for,
    count_at,
    f_score,
    measure,
    precision,
    recall,
)
from semisvm.decision.audit import Audit, make_audit
from semisvm.estimators.preference._learner import ALL_LABELS, Learner
from semisvm.estimators.preference._plan import draw_folds
from semisvm.estimators.preference._unlabeled import CandidateChoice, Trial
from semisvm.estimators.progress import RoundRecord


@dataclass(frozen=True)
class Outcome:
    """What a method learned about one class against the rest.

    model                the trained classifier, as its learner keeps it
    values               (n,) its decision values of all rows, without the threshold
    point                the operating point, with the threshold
    audit                the steps that led to it (`semisvm.decision.audit`)
    calibration_scores   (m,) the scores that the threshold was chosen on
    calibration_sign     (m,) the true signs of these rows
    is_held_out          whether those scores come from machines that were not trained on these rows
    labeled_in           (n,) the round that gave each row its last soft label; 0 for the user's labels, -1 for none
    fair_scores          (n,) scores for the fair-sample check, of labeled and unlabeled rows by machines that were not
                         trained on them; NaN for other rows. None where there are none
    ended                "cycle" or "max_rounds"; None where the method converged
    """

    model: Any
    values: np.ndarray
    point: OperatingPoint
    audit: Audit
    calibration_scores: np.ndarray
    calibration_sign: np.ndarray
    is_held_out: bool
    labeled_in: np.ndarray
    fair_scores: np.ndarray | None = None
    ended: str | None = None


def measures_at(counts: Counts, prefix: str = "") -> dict[str, float]:
    """Precision, recall and F1, for the record of a round."""
    found = {"precision": precision(counts), "recall": recall(counts), "f_score": f_score(counts)}
    return {prefix + name: float(value) for name, value in found.items()}


class CrossFitted(CandidateChoice):
    """Cross-fitting of one binary problem.

    sign      (n,) the labels, 0 where there is none
    seed      of the folds and of the choice
    n_draws   how often folds are drawn (`draw_folds`)
    measures  (n,) mask: labels that are scored out of fold; the others train in every fold. None: all labels
    """

    def __init__(
        self,
        learner: Learner,
        sign: np.ndarray,
        target: Target,
        seed: int,
        n_draws: int | None = None,
        measures: np.ndarray | None = None,
    ):
        folds = draw_folds(sign if measures is None else np.where(measures, sign, 0), n_draws=n_draws, seed=seed)
        super().__init__(learner, sign, folds=folds, target=target, seed=seed)
        self.label_sign = self.sign[self.labeled]

    def mark_chosen(self, history: list[RoundRecord]) -> list[RoundRecord]:
        """The records of the candidates, now that the choice is made."""
        return [record.with_details(chosen=record.details["candidate"] == str(self.chosen)) for record in history]

    def _tried(self, trial: Trial) -> None:
        """Close a round: measure the candidate at the threshold that it would get."""
        scores = trial.scores
        point = choose_for(self.target, scores, self.label_sign, level="cross-fitted")
        self.learner.done(
            **measures_at(count_at(scores, self.label_sign, 0.0)),
            **measures_at(point.counts, "adjusted_"),
            threshold=point.threshold,
            soft_positive=trial.n_soft[0],
            soft_negative=trial.n_soft[1],
            **trial.details,
        )

    def outcome(self, unfinished: tuple[Any, np.ndarray] | None = None) -> Outcome:
        """The chosen machine; where the fit ended before the choice, the supervised or the unfinished machine."""
        labeled_in = np.where(self.sign != 0, 0, -1)
        if not self.trials:
            assert unfinished is not None
            model, values = unfinished
            scores = supervised = values[self.labeled]
            point = measure(scores, self.label_sign, 0.0, target=self.target)
        else:
            supervised = self.trials[0].scores
            if self.leader is None:
                assert self.supervised is not None
                (model, values), scores = self.supervised, supervised
            else:
                model, values, scores = self.learner.model, self.values, self.leader.scores
                labeled_in = np.where(self.guess != 0, self.leader.candidate.n_rounds, labeled_in)
            point = choose_for(self.target, scores, self.label_sign, level="cross-fitted")
        return Outcome(
            model=model,
            values=values,
            point=point,
            audit=make_audit(self.target, supervised, self.label_sign, point, point.level),
            calibration_scores=scores,
            calibration_sign=self.label_sign,
            is_held_out=bool(self.trials),
            labeled_in=labeled_in,
            fair_scores=self.fair_scores(),
        )


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
        seen = {self.soft.tobytes()}
        share = np.ones(len(self.soft))
        for number in range(self.max_rounds):
            values = self.learner.train(self.soft, share, ALL_LABELS)
            d_plus, d_minus, details = self._measure(values)
            soft = self._relabel(values, d_plus, d_minus)
            stays = np.array_equal(soft, self.soft)
            self._note_labels(soft, number + 1)
            self.soft = soft
            self.learner.done(**details, **self._sizes())
            if stays or soft.tobytes() in seen:
                self.ended = None if stays else "cycle"
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

    def _relabel(self, values: np.ndarray, d_plus: float, d_minus: float) -> np.ndarray:
        guess = np.where(values > d_plus, 1, np.where(values < d_minus, -1, 0))
        may_change = self.is_unlabeled if self.pool == "rebuild" else self.is_unlabeled & (self.soft == 0)
        return np.where(may_change, guess, self.soft).astype(np.int8)

    def _note_labels(self, soft: np.ndarray, number: int) -> None:
        changed = soft != self.soft
        self.labeled_in[changed] = np.where(soft[changed] != 0, number, -1)

    def _sizes(self) -> dict[str, int]:
        soft, copies = self.soft[self.is_unlabeled], self.copies[self.is_unlabeled]
        return {"soft_positive": int(copies[soft > 0].sum()), "soft_negative": int(copies[soft < 0].sum())}


def _side_by_side(one: Counts, other: Counts) -> Counts:
    return Counts(*(np.array(cells) for cells in zip(one, other, strict=True)))
