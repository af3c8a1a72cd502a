"""Out-of-fold scores for a threshold, and whether unlabeled rows with guessed labels improve them.

    sign     (n,)  +1, -1, and 0 for the unlabeled rows
    share    (n,)  how much a row counts: 1 with a label, SHARE with a *soft* one, 0 if left out
    draws          lists of (train, test): every list tests each labeled row once
    scores   (n,)  out-of-fold scores of the labeled rows, the mean over draws; NaN for other rows

There are two candidates: the labels alone, and the labels with soft labels. For the second, the
unlabeled rows are ranked by their decision values. As many are called positive as the share of
positives among the labels says, and the surer half of each side trains, at a small share.

**The comparison is fair.** Each fold makes its own guesses, from a model of its own labels. Guesses
by a model of all labels would carry the held-out labels into the fold.

**The choice prefers the labels alone.** The value of a candidate is that of the threshold that its
scores would choose for the target, in each of many resamples of the labels. Soft labels are used if
their mean gain exceeds CAUTION standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from semisvm.threshold.choosing import value_by_resample

SHARE = 0.03
CAUTION = 1.5
N_RESAMPLES = 100
FEWEST_UNLABELED = 2
MOST_UNLABELED = 10_000  # that are considered for training: a bound on the time

Fold = tuple[np.ndarray, np.ndarray]  # train, test
Training = tuple[
    np.ndarray, np.ndarray
]  # sign and share of every row; those of share 0 are left out
TrainMany = Callable[
    [list[Training]], list[np.ndarray]
]  # the decision values of all rows, for each


@dataclass(frozen=True)
class CrossFit:
    """The out-of-fold scores of the better candidate.

    gain         how much soft labels are worth more than the labels alone, by resamples, or NaN
    gain_error   the standard error of that
    uses_soft    whether they are used
    """

    scores: np.ndarray
    gain: float = math.nan
    gain_error: float = math.nan
    uses_soft: bool = False


def cross_fit_candidates(
    train_many: TrainMany,
    sign: np.ndarray,
    pool: np.ndarray,
    draws: Sequence[Sequence[Fold]],
    asked: dict[str, float],
    *,
    seed: int,
) -> CrossFit:
    """Score the labeled rows out of fold by both candidates, and choose one.

    pool   the unlabeled rows that may have a soft label, by number; fewer than two: none has
    """
    tests = [(draw, test) for draw, folds in enumerate(draws) for _, test in folds]
    alone = []
    for _, test in tests:
        learned = sign.copy()
        learned[test] = 0
        alone.append((learned, np.abs(learned)))
    values = train_many(alone)
    scores = _collect(values, tests, len(draws))
    if len(pool) < FEWEST_UNLABELED:
        return CrossFit(scores)
    soft = [
        with_soft_labels(learned, found, pool)
        for (learned, _), found in zip(alone, values, strict=True)
    ]
    soft_scores = _collect(train_many(soft), tests, len(draws))
    known = ~np.isnan(scores)
    positive = sign[known] > 0
    copies = _resample(positive, np.random.default_rng(seed))
    before, after = (
        value_by_resample(found[known], positive, copies, asked) for found in (scores, soft_scores)
    )
    gain, error = float((after - before).mean()), float((after - before).std())
    if gain > CAUTION * error:
        return CrossFit(soft_scores, gain, error, uses_soft=True)
    return CrossFit(scores, gain, error)


def with_soft_labels(sign: np.ndarray, values: np.ndarray, pool: np.ndarray) -> Training:
    """The training with the surer half of the unlabeled rows on either side, by their rank."""
    ranked = pool[np.argsort(-values[pool], kind="stable")]
    rate = np.count_nonzero(sign > 0) / np.count_nonzero(sign)
    n_positive = min(max(round(rate * len(pool)), 1), len(pool) - 1)
    learned, share = sign.copy(), np.abs(sign).astype(np.float64)
    for rows, side in (
        (ranked[: math.ceil(n_positive / 2)], +1),
        (ranked[len(pool) - math.ceil((len(pool) - n_positive) / 2) :], -1),
    ):
        learned[rows], share[rows] = side, SHARE
    return learned, share


def draw_pool(is_unlabeled: np.ndarray, seed: int) -> np.ndarray:
    """The unlabeled rows that may have a soft label, so many that the time is bounded."""
    rows = np.flatnonzero(is_unlabeled)
    if len(rows) <= MOST_UNLABELED:
        return rows
    return np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_UNLABELED])


def _collect(
    values: list[np.ndarray], tests: list[tuple[int, np.ndarray]], n_draws: int
) -> np.ndarray:
    """The values of the rows that were tested, their mean over draws."""
    scores = np.full((n_draws, len(values[0])), np.nan)
    for found, (draw, test) in zip(values, tests, strict=True):
        scores[draw, test] = found[test]
    return scores.mean(axis=0)


def _resample(positive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How often each row is drawn, class by class, (N_RESAMPLES, n)."""
    copies = np.zeros((N_RESAMPLES, len(positive)))
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        copies[:, rows] = rng.multinomial(
            len(rows), np.full(len(rows), 1 / len(rows)), size=N_RESAMPLES
        )
    return copies
