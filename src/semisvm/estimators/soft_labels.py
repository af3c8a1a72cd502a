"""Unlabeled rows that earn their place: guessed labels join the training where labels say they help, else not.

    sign    (n,)  +1, -1, and 0 for the unlabeled rows
    guess   (n,)  +1, -1 for *soft* rows: unlabeled rows that train with a guessed label
    share   (n,)  of its own price that a row pays: 1 for labeled rows, less for soft ones
    fold    (draws, n)  the fold that tests a labeled row, in each of several draws of folds; -1 for the others
    scores  (m,)  out of fold, of the m labeled rows in their order: each by models that did not see its label

A candidate is a share, all of the pool or the surer half of each side, and one round or two. A round ranks the
unlabeled rows by decision value, calls as many of them positive as the share of positives among the labels says, and
trains again. The supervised model is a candidate too, the first, and the one to beat.

**The choice is honest.** Candidates are compared by out-of-fold scores, and what a fold's model does not know must not
reach it through the soft rows: each fold makes its own guesses, from a model of its own labels. Guesses made once, by
a model of all labels, would carry the held-out labels into the fold, save no time, and mislead the choice
(docs/soft-labels.md has the figures).

**It is biased to the simpler.** The value of a candidate is that of the operating point that its out-of-fold scores
would choose for the target, averaged over resampled labels and draws of folds (`decision.resample`). A candidate
replaces the supervised model only where its gain exceeds `CAUTION` standard errors of that gain; among those that do,
the one that exceeds it most. A second round of the winner must beat the first in the same way.

Nothing here knows what is trained: `learner.train` does, an SVM or any other classifier.
"""

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from semisvm.decision import Target
from semisvm.decision.resample import resample, resampled_values

CAUTION = 1.5  # with it no tuning task of 50 labels or more lost 0.01 of F1 in the mean: docs/soft-labels.md
SHARES = (0.003, 0.03, 0.3)
N_RESAMPLES = 100
POOL_SIZE = 10_000  # a bound on the time
ENOUGH_LABELS = 300  # from here on one draw of folds has to do: three take three times as long


class Learner(Protocol):
    """What trains: a linear or kernel SVM, or any classifier that takes weights."""

    def train(self, sign: np.ndarray, share: np.ndarray, sequence: Hashable) -> np.ndarray:
        """Train on rows with sign != 0, each at its share of its price; return the decision values of all n rows.

        `sequence` names the line of fits that this one continues, for learners that can start from the last.
        """


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


SUPERVISED = Candidate()
CANDIDATES = tuple(Candidate(share, is_half, 1) for is_half in (False, True) for share in SHARES)


@dataclass(frozen=True)
class Settled:
    """What was chosen, and all that the choice was made from.

    values, scores                          of the chosen candidate: decision values (n,), out-of-fold scores (m,)
    supervised_values, supervised_scores    the same of the supervised model
    guess, share                            (n,) what the chosen candidate was trained with beside the labels
    pool                                    unlabeled rows that could become soft
    out_of_fold                             the out-of-fold scores of every candidate
    records                                 a dictionary a candidate: its name, settings, value, gain over what it
                                            was to beat with its standard error, trainings and steps
    """

    chosen: Candidate
    values: np.ndarray
    scores: np.ndarray
    supervised_values: np.ndarray
    supervised_scores: np.ndarray
    guess: np.ndarray
    share: np.ndarray
    pool: np.ndarray
    out_of_fold: dict[Candidate, np.ndarray]
    records: list[dict[str, Any]]


def settle(
    learner: Learner,
    sign: np.ndarray,
    *,
    target: Target | None = None,
    folds: np.ndarray,
    candidates: Sequence[Candidate] = CANDIDATES,
    caution: float = CAUTION,
    pool_size: int | None = POOL_SIZE,
    seed: int = 0,
) -> Settled:
    """Choose how the unlabeled rows are used, if at all, and train accordingly.

    Parameters
    ----------
    learner : Learner
        Its last training in the sequence "all" is the chosen model; sequences ("fold", draw, k) serve the choice.
    sign : ndarray of shape (n,)
        +1, -1 or 0.
    target : Target, optional
        What the operating point is chosen for; best F1 by default.
    folds : ndarray of shape (n,) or (draws, n)
        From `draw_folds`, or of one's own: the fold that tests each labeled row, -1 for unlabeled rows.
    candidates : sequence of Candidate
        One-round candidates; the winner is tried with a second round too.
    caution : float
        Standard errors by which a gain must exceed zero.
    pool_size : int or None
        At most so many unlabeled rows, drawn at random, become soft: a bound on the time. None: all.
    seed : int
        Of the resamples and of that draw.
    """
    sign = np.asarray(sign, dtype=np.float64)
    rng = np.random.default_rng(seed)
    pool = np.flatnonzero(sign == 0)
    if pool_size is not None and len(pool) > pool_size:
        pool = np.sort(rng.choice(pool, pool_size, replace=False))
    contest = _Contest(learner, sign, target or Target(), np.atleast_2d(folds), pool, rng)
    best = contest.enter(SUPERVISED)
    if len(pool) >= 2:
        tried = [contest.enter(candidate) for candidate in candidates]
        best = contest.pick(tried, best, caution)
    if best is not SUPERVISED:
        best = contest.pick([contest.enter(replace(best, n_rounds=2))], best, caution)
    values, guess = train_in_full(learner, sign, best, pool, contest.supervised_values)
    return Settled(
        chosen=best,
        values=values,
        scores=contest.scores(best),
        supervised_values=contest.supervised_values,
        supervised_scores=contest.scores(SUPERVISED),
        guess=guess,
        share=np.where(guess != 0, best.share, np.abs(sign)),
        pool=pool,
        out_of_fold={candidate: contest.scores(candidate) for candidate in contest.entered},
        records=[record | {"chosen": record["candidate"] == str(best)} for record in contest.records],
    )


def draw_folds(sign: np.ndarray, *, n_folds: int = 5, n_draws: int | None = None, seed: int = 0) -> np.ndarray:
    """Deal the labeled rows out to folds, class by class, several times over: (draws, n), -1 for unlabeled rows.

    With few labels a single draw of folds is much of the noise: there are three below ENOUGH_LABELS labels, then one.
    A class with fewer rows than folds makes the folds fewer; one with a single row can't be judged.
    """
    sign = np.asarray(sign)
    classes = [np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)]
    fewest = min(len(rows) for rows in classes)
    if fewest < 2:
        raise ValueError(
            "Out-of-fold scores need at least 2 labeled rows of each class, got "
            f"{len(classes[0])} positive and {len(classes[1])} negative ones. Label more rows."
        )
    if n_draws is None:
        n_draws = 3 if len(classes[0]) + len(classes[1]) < ENOUGH_LABELS else 1
    n_folds = min(n_folds, fewest)
    rng = np.random.default_rng(seed)
    folds = np.full((n_draws, len(sign)), -1)
    for draw in folds:
        dealt = itertools.count()  # goes on from class to class, so that no fold gets all the remainders
        for rows in classes:
            draw[rng.permutation(rows)] = [next(dealt) % n_folds for _ in rows]
    return folds


def guess_by_rank(values: np.ndarray, pool: np.ndarray, rate: float, is_half: bool) -> np.ndarray:
    """Call the top `rate` of the pool positive and the rest negative, or only the surer half of each: (n,) signs."""
    n_positive = min(max(round(rate * len(pool)), 1), len(pool) - 1)
    n_negative = len(pool) - n_positive
    if is_half:
        n_positive, n_negative = math.ceil(n_positive / 2), math.ceil(n_negative / 2)
    ranked = pool[np.argsort(-values[pool], kind="stable")]
    guess = np.zeros(len(values))
    guess[ranked[:n_positive]], guess[ranked[-n_negative:]] = 1.0, -1.0
    return guess


class _Contest:
    """The candidates that were trained so far, out of fold."""

    def __init__(self, learner, sign, target, folds, pool, rng):
        self.learner, self.sign, self.target, self.folds, self.pool = learner, sign, target, folds, pool
        self.labeled = np.flatnonzero(sign)
        self.is_positive = sign[self.labeled] > 0
        self.copies = resample(self.is_positive, N_RESAMPLES, rng)
        self.records: list[dict[str, Any]] = []
        self._scores: dict[Candidate, np.ndarray] = {}
        self._worth: dict[Candidate, np.ndarray] = {}
        self._fold_values: dict[tuple[Candidate, int, int], np.ndarray] = {}
        self.supervised_values = learner.train(*self._training(SUPERVISED, sign, None, "all"))

    def enter(self, candidate: Candidate) -> Candidate:
        """Train a candidate once a fold, each time without the fold's labels, and value its scores."""
        steps = _steps(self.learner)
        scores = np.full((len(self.folds), len(self.sign)), np.nan)
        parts = [(d, k) for d, fold in enumerate(self.folds) for k in range(fold.max() + 1)]
        trainings = []
        for d, k in parts:
            sign = np.where(self.folds[d] == k, 0.0, self.sign)
            before = self._fold_values.get((_before(candidate), d, k))
            trainings.append(self._training(candidate, sign, before, ("fold", d, k)))
        for (d, k), values in zip(parts, train_many(self.learner, trainings), strict=True):
            tested = self.folds[d] == k
            self._fold_values[candidate, d, k] = values
            scores[d, tested] = values[tested]
        out_of_fold = scores[:, self.labeled]
        self._scores[candidate] = out_of_fold
        each = [resampled_values(draw, self.is_positive, self.copies, self.target) for draw in out_of_fold]
        self._worth[candidate] = np.mean(each, axis=0)
        self.records.append(
            {"candidate": str(candidate)}
            | {"share": candidate.share, "is_half": candidate.is_half, "n_rounds": candidate.n_rounds}
            | {"value": float(self._worth[candidate].mean()), "gain": 0.0, "gain_error": 0.0}
            | {"trainings": len(parts), "steps": _steps(self.learner) - steps}
        )
        return candidate

    def pick(self, tried: Sequence[Candidate], to_beat: Candidate, caution: float) -> Candidate:
        """The candidate whose gain exceeds its standard errors by most; `to_beat` where none does."""
        best, most = to_beat, 0.0
        for candidate in tried:
            gains = self._worth[candidate] - self._worth[to_beat]
            gain, error = float(gains.mean()), float(gains.std())
            record = next(record for record in self.records if record["candidate"] == str(candidate))
            record |= {"gain": gain, "gain_error": error}
            if gain - caution * error > most:
                best, most = candidate, gain - caution * error
        return best

    @property
    def entered(self) -> list[Candidate]:
        """All so far, the supervised model first."""
        return list(self._scores)

    def scores(self, candidate: Candidate) -> np.ndarray:
        """Out-of-fold scores of the labeled rows, averaged over the draws of folds."""
        return self._scores[candidate].mean(axis=0)

    def _training(self, candidate, sign, before, sequence) -> tuple[np.ndarray, np.ndarray, Hashable]:
        """The last round of a candidate; `before` holds the decision values of the round before it."""
        if candidate is SUPERVISED:
            return sign, np.abs(sign), sequence
        guess = guess_by_rank(before, self.pool, _rate(sign), candidate.is_half)
        return *_joined(sign, guess, candidate.share), sequence


def train_many(learner: Learner, trainings: list[tuple[np.ndarray, np.ndarray, Hashable]]) -> list[np.ndarray]:
    """Trainings that do not wait for each other: at once by a learner that can, else one after the other."""
    if hasattr(learner, "train_many"):
        return learner.train_many(trainings)
    return [learner.train(*training) for training in trainings]


def train_in_full(
    learner: Learner, sign: np.ndarray, candidate: Candidate, pool: np.ndarray, supervised_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Train a candidate on all labels, round after round, in the sequence "all"; return its values and its guess."""
    values, guess = supervised_values, np.zeros(len(sign))
    for _ in range(candidate.n_rounds):
        guess = guess_by_rank(values, pool, _rate(sign), candidate.is_half)
        values = learner.train(*_joined(sign, guess, candidate.share), "all")
    return values, guess


def _joined(sign, guess, share) -> tuple[np.ndarray, np.ndarray]:
    """Signs and shares of labeled and soft rows together."""
    return np.where(guess != 0, guess, sign), np.where(guess != 0, share, np.abs(sign))


def _rate(sign) -> float:
    """The share of positives among the labels."""
    return float(np.mean(sign[sign != 0] > 0))


def _before(candidate: Candidate) -> Candidate:
    return SUPERVISED if candidate.n_rounds == 1 else replace(candidate, n_rounds=candidate.n_rounds - 1)


def _steps(learner: Learner) -> int:
    """Solver steps so far; 0 for a learner that does not count them."""
    return int(getattr(learner, "n_iter", 0))
