"""Cross-fitted calibration: every label trains and every label calibrates.

The labeled rows are dealt out to folds. The machine that decides is trained on all labels. The threshold is chosen on
out-of-fold scores: each label is scored by a machine that has not seen it. `_unlabeled.CandidateChoice` uses the same
scores to choose the machine, with soft labels or without.

Each candidate of that choice is a round. The first is the supervised machine. It is the answer where the fit ends
before the choice is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.decision import Target, choose_for, count_at, measure
from semisvm.decision.audit import make_audit
from semisvm.estimators.history import RoundRecord
from semisvm.estimators.preference._common import Outcome, measures_at
from semisvm.estimators.preference._learner import Learner
from semisvm.estimators.preference._unlabeled import CandidateChoice, Trial, draw_folds


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
        )
