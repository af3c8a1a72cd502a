"""Cross-fitted calibration: every label trains and every label calibrates.

The labeled rows are dealt into folds. The machine that decides is trained on all labels; the threshold is chosen on
out-of-fold scores, each label scored by a machine that has not seen it. Which machine decides, with soft labels or
without, is the choice of `soft_labels.settle`, made from the same scores.

A *sweep* is one candidate of that choice, trained once for every fold. The first is the supervised machine's: where the
user does not want to wait for the others, it is the answer.
"""

from typing import Any

import numpy as np

from semisvm.decision import Target, choose_for, count_at, make_audit, measure
from semisvm.estimators.preference_learner import ALL, Learner
from semisvm.estimators.preference_outcome import Outcome, measures_at
from semisvm.estimators.soft_labels import draw_folds, settle, train_many


class CrossFitted:
    """Cross-fitting of one binary problem; `run` may end early, by whatever the learner raises, and lose nothing.

    sign     (n,) the labels, 0 where there is none
    copies   (n,) how many of the user's rows each row stands for
    seed     of the folds and of the choice;  n_draws, how often folds are drawn (`soft_labels.draw_folds`)
    """

    def __init__(
        self,
        learner: Learner,
        sign: np.ndarray,
        copies: np.ndarray,
        target: Target,
        seed: int,
        n_draws: int | None = None,
    ):
        self.sign, self.target, self.seed = sign, target, seed
        self.is_labeled = sign != 0
        self.labeled_in = np.where(self.is_labeled, 0, -1)
        self.folds = draw_folds(sign, n_draws=n_draws, seed=seed)
        self.learner = learner
        self.sweeps = _Sweeps(learner, sign, copies, self.folds, target)
        self.found: tuple[Any, np.ndarray, np.ndarray] | None = None

    def run(self) -> None:
        """Let the labels choose how the unlabeled rows are used, if at all."""
        settled = settle(self.sweeps, self.sign, target=self.target, folds=self.folds, pool_size=None, seed=self.seed)
        self.found = self.learner.model, settled.values, settled.scores
        self.labeled_in = np.where(settled.guess != 0, settled.chosen.n_rounds, self.labeled_in)
        for record, facts in zip(self.sweeps.records, settled.records, strict=True):
            record |= {name: value for name, value in facts.items() if name != "steps"}

    def outcome(self, unfinished: tuple[Any, np.ndarray] | None = None) -> Outcome:
        """What was settled on; else the supervised machine; where that has no out-of-fold scores, at 0."""
        sign, supervised = self.sign[self.is_labeled], self.sweeps.supervised
        found = self.found or supervised
        if found is None or supervised is None:
            assert unfinished is not None
            model, values = unfinished
            scores = values[self.is_labeled]
            point = measure(scores, sign, 0.0, target=self.target)
            audit = make_audit(self.target, scores, sign, point, "empirical")
        else:
            model, values, scores = found
            point = choose_for(self.target, scores, sign, level="cross-fitted")
            audit = make_audit(self.target, supervised[2], sign, point, "cross-fitted")
        return Outcome(
            model=model,
            values=values,
            point=point,
            audit=audit,
            calibration_scores=scores,
            calibration_sign=sign,
            is_unlabeled=~self.is_labeled,
            labeled_in=self.labeled_in,
            ended="converged",
        )


class _Sweeps:
    """A learner that hands trainings on, and notes the out-of-fold scores that come out of each sweep."""

    def __init__(self, learner: Learner, sign: np.ndarray, copies: np.ndarray, folds: np.ndarray, target: Target):
        self.learner, self.sign, self.copies, self.folds, self.target = learner, sign, copies, folds, target
        self.supervised: tuple[Any, np.ndarray, np.ndarray] | None = None
        self.records: list[dict[str, Any]] = []
        self._in_full: tuple[Any, np.ndarray] | None = None
        self._scores = np.zeros(folds.shape)
        self._is_open = folds >= 0

    @property
    def n_iter(self) -> int:
        return self.learner.n_iter

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Any) -> np.ndarray:
        return self._note(self.learner.train(sign, share, sequence), sign, sequence)

    def train_many(self, trainings: list[tuple[np.ndarray, np.ndarray, Any]]) -> list[np.ndarray]:
        found = train_many(self.learner, trainings)
        return [self._note(values, sign, of) for values, (sign, _, of) in zip(found, trainings, strict=True)]

    def _note(self, values: np.ndarray, sign: np.ndarray, sequence: Any) -> np.ndarray:
        if sequence == ALL:
            self._in_full = self._in_full or (self.learner.model, values)
            return values
        _, draw, number = sequence
        tested = self.folds[draw] == number
        self._scores[draw, tested] = values[tested]
        self._is_open[draw, tested] = False
        if not self._is_open.any():
            self._close(sign)
        return values

    def _close(self, trained_sign: np.ndarray) -> None:
        """A sweep is complete: measure it as a round."""
        is_labeled = self.sign != 0
        scores, sign = self._scores.mean(axis=0)[is_labeled], self.sign[is_labeled]
        if self.supervised is None:
            assert self._in_full is not None
            self.supervised = *self._in_full, scores
        point = choose_for(self.target, scores, sign, level="cross-fitted")
        soft = np.where(is_labeled, 0, trained_sign)
        self._is_open = self.folds >= 0
        record = self.learner.done(
            **measures_at(count_at(scores, sign, 0.0)),
            **measures_at(point.counts, "adjusted_"),
            threshold=point.threshold,
            soft_positive=int(self.copies[soft > 0].sum()),
            soft_negative=int(self.copies[soft < 0].sum()),
        )
        self.records.append(record)
