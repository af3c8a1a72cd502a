"""The choice of `PreferenceSVC` among ways to use unlabeled rows, for any learner, with all that it was based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.decision import Target
from semisvm.estimators.preference._common import POOL_SIZE
from semisvm.estimators.preference._learner import Learner
from semisvm.estimators.preference._unlabeled import CANDIDATES, CAUTION, Candidate, CandidateChoice, Trial


@dataclass(frozen=True)
class Settled:
    """What was chosen, and everything that the choice was based on.

    values              (n,) decision values of the chosen candidate
    guess, share        (n,) what it was trained with beside the labels
    supervised_values   (n,) decision values of the supervised model
    pool                unlabeled rows that could become soft
    trials              one per candidate
    """

    chosen: Candidate
    values: np.ndarray
    guess: np.ndarray
    share: np.ndarray
    supervised_values: np.ndarray
    pool: np.ndarray
    trials: list[Trial]

    @property
    def out_of_fold(self) -> dict[Candidate, np.ndarray]:
        """The out-of-fold scores of every candidate, (m,) each."""
        return {trial.candidate: trial.scores for trial in self.trials}

    @property
    def records(self) -> list[dict[str, Any]]:
        """One dictionary per candidate, for tables."""
        return [
            trial.details | {"n_iter": trial.n_iter, "chosen": trial.candidate == self.chosen} for trial in self.trials
        ]


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
        What is trained.
    sign : ndarray of shape (n,)
        +1, -1 or 0.
    target : Target, default=None
        What the operating point is chosen for; None: the best F1.
    folds : ndarray of shape (n,) or (draws, n)
        The fold that tests each labeled row, -1 for unlabeled rows; see `draw_folds`.
    candidates : sequence of Candidate
        Candidates with one round; the best one is also tried with a second round.
    caution : float
        Standard errors that a gain must exceed.
    pool_size : int or None
        At most so many unlabeled rows, drawn at random, become soft: a bound on the time. None: all.
    seed : int, default=0
        The seed of the resamples and of that draw.

    Returns
    -------
    settled : Settled
        The choice and its trials.
    """
    sign = np.asarray(sign, dtype=np.float64)
    rng = np.random.default_rng(seed)
    pool = np.flatnonzero(sign == 0)
    if pool_size is not None and len(pool) > pool_size:
        pool = np.sort(rng.choice(pool, pool_size, replace=False))
    choice = CandidateChoice(
        learner,
        sign,
        target or Target(),
        np.atleast_2d(folds),
        candidates=candidates,
        caution=caution,
        pool=pool,
        rng=rng,
    )
    choice.run()
    assert choice.leader is not None
    assert choice.supervised is not None
    chosen, guess = choice.leader.candidate, choice.guess
    share = np.where(guess != 0, chosen.share, np.abs(sign))
    return Settled(chosen, choice.values, guess, share, choice.supervised[1], pool, choice.trials)
