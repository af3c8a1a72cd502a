"""Cross-fitting of one binary problem, for any learner: every label trains and every label
calibrates.

The final model is trained on all labels. Its threshold is chosen on out-of-fold scores:
each label is scored by a model that has not seen it. The same scores choose the model:
unlabeled rows train with guessed labels where the labels say that this helps, and not otherwise.

    sign    (n,)  +1, -1, and 0 for the unlabeled rows
    guess   (n,)  +1, -1 for *soft* rows: unlabeled rows that train with a guessed label; 0 for all
            others
    share   (n,)  the share of its own price that a row counts for: 1 for labeled rows, less for
            soft ones
    folds   (draws, n)  the fold that tests a labeled row, in each of several draws of folds
            (`draw_folds`); -1 for unlabeled rows, and for labels that are not a random sample: they
            train in every fold and measure nothing
    scores  (m,)  out-of-fold scores of the m tested rows in their order, by models that have not
            seen their labels

A candidate is a share, with all unlabeled rows of the pool or the surer half of each side, in one
round or two. A round ranks the unlabeled rows by decision value, calls as many of them positive as
the share of positives among the labels says, and trains again. The supervised model is a candidate
too: the first one, which the others have to beat.

**The comparison is fair.** Each fold makes its own guesses, from a model of its own labels. Guesses
by a model of all labels would carry the held-out labels into the fold and mislead the choice
(docs/measured/soft-labels.md).

**The choice prefers the simpler model.** The value of a candidate is that of the operating point
that its out-of-fold scores would choose for the target, averaged over resampled labels and draws of
folds (`decision.audit`). A candidate replaces the supervised model, and a second round the first,
only if its gain exceeds `CAUTION` standard errors of that gain; of several, the one that exceeds
them most is chosen.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from semisvm.decision import Counts, Evidence, OperatingPoint, Target, choose, measure
from semisvm.decision.audit import Audit, make_audit, resample, resampled_values
from semisvm.decision.counts import count_at, f_score, precision, recall
from semisvm.estimators.class_shares import guess_by_rank, rank_rows
from semisvm.estimators.preference._learner import ALL_LABELS, Learner, TrainingCall
from semisvm.estimators.progress import RoundRecord
from semisvm.model_selection.cross_fit import assign_folds, collect_scores, list_folds
from semisvm.model_selection.fair_sample import random_fold_scores

# with it no tuning task of 50 labels or more lost 0.01 of F1 in the mean
# (docs/measured/soft-labels.md)
CAUTION = 1.5
SHARES = (0.003, 0.03, 0.3)
N_RESAMPLES = 100
N_CALIBRATION_FOLDS = 5
N_DRAWS = 3  # with few labels much of the noise comes from the draw of the folds
ENOUGH_LABELS = 300  # from here on there is one draw of folds: three take three times as long


def draw_folds(sign: np.ndarray, *, n_draws: int | None = None, seed: int = 0) -> np.ndarray:
    """Deal the labeled rows out to folds several times: (draws, n), -1 for unlabeled rows.

    n_draws None: three draws with fewer than ENOUGH_LABELS labels, else one. A class with fewer
    rows than folds makes the folds fewer.
    """
    sign = np.asarray(sign)
    codes = np.where(sign > 0, 0, np.where(sign < 0, 1, -1))
    if n_draws is None:
        n_draws = N_DRAWS if np.count_nonzero(sign) < ENOUGH_LABELS else 1
    rng = np.random.default_rng(seed)
    return assign_folds(
        codes, N_CALIBRATION_FOLDS, rng=rng, n_draws=n_draws, every_class_in_every_fold=True
    )


@dataclass(frozen=True)
class Outcome:
    """What a method learned about one class against the rest.

    model                the trained classifier, as its learner keeps it
    values               (n,) its decision values of all rows, without the threshold
    point                the operating point, with the threshold
    audit                the steps that led to it (`semisvm.decision.audit`)
    calibration_scores   (m,) the scores that the threshold was chosen on
    calibration_sign     (m,) the true signs of these rows
    is_held_out          whether those scores come from models that were not trained on these rows
    labeled_in           (n,) the round that gave each row its last soft label; 0 for the user's
                         labels, -1 for none
    fair_scores          (n,) scores for the fair-sample check, of labeled and unlabeled rows by
                         models that were not trained on them; NaN for other rows. None where
                         there are none
    ended                "cycle" or "max_rounds"; None where the method converged
    chosen               the candidate whose record in the history is that of the model
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
    chosen: str | None = None

    def marked(self, history: list[RoundRecord]) -> list[RoundRecord]:
        """The records of the candidates, now that the choice is made."""
        if self.chosen is None:
            return history
        return [r.with_details(chosen=r.details["candidate"] == self.chosen) for r in history]


def measures_at(counts: Counts, prefix: str = "") -> dict[str, float]:
    """Precision, recall and F1, for the record of a round."""
    found = {"precision": precision(counts), "recall": recall(counts), "f_score": f_score(counts)}
    return {prefix + name: float(value) for name, value in found.items()}


@dataclass(frozen=True)
class Candidate:
    """A way to use the unlabeled rows; share 0 is the supervised model."""

    share: float = 0.0
    is_half: bool = False
    n_rounds: int = 0

    def __str__(self) -> str:
        if not self.share:
            return "supervised"
        rounds = "" if self.n_rounds == 1 else f", {self.n_rounds} rounds"
        return f"{'surer half' if self.is_half else 'all'} at {self.share:g}{rounds}"

    @property
    def one_round_less(self) -> Candidate:
        """The candidate whose decision values the last round ranks."""
        if self.n_rounds == 1:
            return SUPERVISED_CANDIDATE
        return replace(self, n_rounds=self.n_rounds - 1)


SUPERVISED_CANDIDATE = Candidate()
CANDIDATES = tuple(Candidate(share, is_half, 1) for is_half in (False, True) for share in SHARES)
# Where a training may be expensive.
FEW_CANDIDATES = (Candidate(SHARES[len(SHARES) // 2], True, 1),)


@dataclass(frozen=True)
class Trial:
    """A candidate, trained once per fold.

    scores       (m,) out-of-fold scores, the mean over the draws of folds
    worth        (resamples,) the value of the candidate in each resample
    gain         the mean gain in value over the trial that it has to beat; 0 for the supervised
                 model
    gain_error   the standard error of the gain
    trainings    how many trainings it took
    n_iter       how many solver steps, where the learner counts them
    """

    candidate: Candidate
    scores: np.ndarray
    worth: np.ndarray
    gain: float
    gain_error: float
    trainings: int
    n_iter: int

    @property
    def details(self) -> dict[str, Any]:
        """What the record of a round says about the candidate."""
        return vars(self.candidate) | {
            "candidate": str(self.candidate),
            "value": float(self.worth.mean()),
            "gain": self.gain,
            "gain_error": self.gain_error,
            "trainings": self.trainings,
        }


class CrossFitted:
    """Cross-fitting of one binary problem, and the choice among candidates, one per round.

    sign, folds   see the module's docstring
    target        what the operating point is chosen for
    candidates    those with one round; the best one is also tried with a second round
    caution       standard errors that a gain must exceed
    seed          of the resamples

    `run` does the work and sets

    trials        one per candidate tried, the supervised model first
    supervised    the model of the labels alone, and its decision values, (n,)
    leader        the trial that was chosen
    values        (n,) decision values of the chosen candidate, trained on all labels last in the
                  sequence "all"
    guess         (n,) the labels that its soft rows were trained with

    If the learner raises an exception during `run`, the trials so far and the supervised model stay
    available.
    """

    def __init__(
        self,
        learner: Learner,
        sign: np.ndarray,
        folds: np.ndarray,
        target: Target | None = None,
        *,
        candidates: Sequence[Candidate] = CANDIDATES,
        caution: float = CAUTION,
        seed: int | np.random.Generator = 0,
    ):
        self.learner = learner
        self.sign = np.asarray(sign, dtype=np.float64)
        self.target = target or Target()
        self.candidates = candidates
        self.caution = caution
        self.pool = np.flatnonzero(self.sign == 0)
        self.labeled = np.flatnonzero(folds[0] >= 0)
        self.label_sign = self.sign[self.labeled]
        self.splits = [list_folds(fold) for fold in folds]
        drawing = ThreadPoolExecutor(1)  # goes on while the first models are trained
        self.copies = drawing.submit(
            resample, self.label_sign > 0, N_RESAMPLES, np.random.default_rng(seed)
        )
        drawing.shutdown(wait=False)
        self.trials: list[Trial] = []
        self.supervised: tuple[Any, np.ndarray] | None = None
        self.leader: Trial | None = None
        self.values = self.guess = np.empty(0)
        self._fold_values: dict[Candidate, list[np.ndarray]] = {}

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate; the supervised model before the choice is made."""
        return SUPERVISED_CANDIDATE if self.leader is None else self.leader.candidate

    def run(self) -> None:
        """Try the candidates, choose, and train the chosen one on all labels."""
        first: TrainingCall = (self.sign, np.abs(self.sign), ALL_LABELS)
        trainings = self._trainings(SUPERVISED_CANDIDATE)
        at_once = self.learner.trains_at_once
        if at_once:
            found = iter(self.learner.train_many([first, *trainings]))
        else:
            found = chain([self.learner.train(*first)], self.learner.train_many(trainings))
        values = next(found)
        self.supervised = self.learner.model, values
        self._n_iter = self.learner.n_iter
        self._value(SUPERVISED_CANDIDATE, trainings, list(found), None)
        best = first_trial = self.trials[0]
        if len(self.pool) >= 2:
            # Candidates do not wait for each other: they are tried together where the learner
            # trains them at once.
            for group in [self.candidates] if at_once else [[one] for one in self.candidates]:
                calls = [self._trainings(candidate) for candidate in group]
                found = iter(self.learner.train_many([*chain(*calls)]))
                for candidate, own in zip(group, calls, strict=True):
                    self._value(candidate, own, list(islice(found, len(own))), first_trial)
            best = self._best_of(self.trials[1:], first_trial)
        if best is not first_trial:
            again = replace(best.candidate, n_rounds=2)
            trainings = self._trainings(again)
            self._value(again, trainings, list(self.learner.train_many(trainings)), best)
            best = self._best_of(self.trials[-1:], best)
        trained_sign = self.sign
        for _ in range(best.candidate.n_rounds):
            ranked = rank_rows(values, self.pool)
            training = self.soft_training(best.candidate, ranked, self.sign, ALL_LABELS)
            values = self.learner.train(*training)
            trained_sign = training[0]
        self.values = values
        self.guess = np.where(self.sign != 0, 0.0, trained_sign)
        self.leader = best

    def _value(
        self,
        candidate: Candidate,
        trainings: list[TrainingCall],
        values: list[np.ndarray],
        to_beat: Trial | None,
    ) -> None:
        """Value a candidate by the decision values of its trainings, and close its round."""
        self._fold_values[candidate] = values
        values_of_fold = iter(values)
        draws = []
        for splits in self.splits:
            held_out = [next(values_of_fold)[test] for _, test in splits]
            draws.append(collect_scores(splits, held_out, len(self.sign))[self.labeled])
        copies = self.copies.result()
        is_positive = self.label_sign > 0
        worth = np.mean(
            [resampled_values(s, is_positive, copies, self.target) for s in draws], axis=0
        )
        gains = worth - (worth if to_beat is None else to_beat.worth)
        soft = np.where(self.sign != 0, 0, trainings[-1][0])
        trial = Trial(
            candidate,
            scores=np.mean(draws, axis=0),
            worth=worth,
            gain=float(gains.mean()),
            gain_error=float(gains.std()),
            trainings=len(trainings),
            n_iter=self.learner.n_iter - self._n_iter,
        )
        self._n_iter = self.learner.n_iter
        self.trials.append(trial)
        point = choose(trial.scores, self.label_sign, self.target, level=Evidence.CROSS_FITTED)
        self.learner.done(
            **measures_at(count_at(trial.scores, self.label_sign, 0.0)),
            **measures_at(point.counts, "adjusted_"),
            threshold=point.threshold,
            soft_positive=int((soft > 0).sum()),
            soft_negative=int((soft < 0).sum()),
            **trial.details,
        )

    def _trainings(self, candidate: Candidate) -> list[TrainingCall]:
        """The last round of a candidate in each fold, from the ranks of the round before."""
        is_supervised = candidate is SUPERVISED_CANDIDATE
        before = [] if is_supervised else self._fold_values[candidate.one_round_less]
        trainings: list[TrainingCall] = []
        for draw, splits in enumerate(self.splits):
            for number, (_, test) in enumerate(splits):
                sign = self.sign.copy()
                sign[test] = 0.0
                sequence = ("fold", draw, number)
                training: TrainingCall = (sign, np.abs(sign), sequence)
                if not is_supervised:
                    ranked = rank_rows(before[len(trainings)], self.pool)
                    training = self.soft_training(candidate, ranked, sign, sequence)
                trainings.append(training)
        return trainings

    def soft_training(
        self, candidate: Candidate, ranked: np.ndarray, sign: np.ndarray, sequence: Hashable
    ) -> TrainingCall:
        """One round: as large a share of the ranked pool is positive as of the labels."""
        labels = sign[self.labeled]
        rate = float(np.mean(labels[labels != 0] > 0))
        guess = guess_by_rank(ranked, len(sign), rate, candidate.is_half)
        share = np.where(guess != 0, candidate.share, np.abs(sign))
        return np.where(guess != 0, guess, sign), share, sequence

    def _fair_scores(self) -> np.ndarray | None:
        """Scores for the fair-sample check, (n,), by the supervised models of the first draw of
        folds: of tested rows out of fold, and of each unlabeled row by one random fold; NaN for
        other rows. None before there are any.
        """
        if not self.trials:
            return None
        values = iter(self._fold_values[SUPERVISED_CANDIDATE])
        folds = self.splits[0]
        return random_fold_scores(
            lambda _, rows: next(values)[rows], folds, self.pool, len(self.sign), random_state=0
        )

    def _best_of(self, tried: Sequence[Trial], to_beat: Trial) -> Trial:
        """The trial whose gain exceeds its standard errors by most; `to_beat` where none does."""

        def lead(trial: Trial) -> float:
            return trial.gain - self.caution * trial.gain_error

        best = max(tried, key=lead, default=to_beat)
        return best if best is not to_beat and lead(best) > 0 else to_beat

    def outcome(self, unfinished: tuple[Any, np.ndarray] | None = None) -> Outcome:
        """The chosen model, or where the fit ended before, the supervised or unfinished one."""
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
                model = self.learner.model
                values = self.values
                scores = self.leader.scores
                labeled_in = np.where(self.guess != 0, self.leader.candidate.n_rounds, labeled_in)
            point = choose(scores, self.label_sign, self.target, level=Evidence.CROSS_FITTED)
        return Outcome(
            model=model,
            values=values,
            point=point,
            audit=make_audit(self.target, supervised, self.label_sign, point, point.level),
            calibration_scores=scores,
            calibration_sign=self.label_sign,
            is_held_out=bool(self.trials),
            labeled_in=labeled_in,
            fair_scores=self._fair_scores(),
            chosen=str(self.chosen),
        )
