"""From left-out scores to decisions: a threshold of two classes, offsets of more, probabilities.

Two classes: the threshold is half of the way from 0 to the one above which as many unlabeled rows
lie as are expected to be positive; where a class is rare, half of the way to the share that the
labels allow is added. More classes: half of the offsets at which each class wins the share that its
probabilities promise. Both shares are estimates from few labels, and 0 is another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax
from scipy.stats import beta

FARTHEST_SCORE = 2.0  # scores should be +1 or -1: one of 18 says no more than this
FEWEST_UNLABELED, FEWEST_OF_A_CLASS = 50, 2  # of fewer a share follows single rows
STEEPEST = 50.0  # slope of a sigmoid per standard deviation of the scores
COMMON, RARE = 0.2, 0.1  # shares of the smaller class: from the first on it becomes a rare one
LEVEL = 0.5  # of the interval of the labels' share
ROUNDS, STEP, SMALLEST_SHARE = 100, 0.05, 0.01  # of the search for offsets


def clipped(scores: np.ndarray) -> np.ndarray:
    return np.clip(scores, -FARTHEST_SCORE, FARTHEST_SCORE)


def most_likely_slope(
    scores: np.ndarray, codes: np.ndarray, weight: np.ndarray, bounds: tuple[float, float | None]
) -> float:
    """The slope at which softmax(slope * scores), (l, C), gives the classes the largest likelihood.
    Targets are smoothed: (n + 1) / (n + 2) for the class of a label, with n labels, the rest shared
    by the others.
    """
    total = float(weight.sum())
    goal = np.full(scores.shape, 1 / (total + 2) / (scores.shape[1] - 1))
    goal[np.arange(len(codes)), codes] = (total + 1) / (total + 2)
    share = weight / total

    def loss(slope: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_softmax(slope[0] * scores, axis=1)
        gradient = share @ ((np.exp(log_p) - goal) * scores).sum(axis=1)
        return -float(share @ (goal * log_p).sum(axis=1)), np.array([gradient])

    return float(_minimize(loss, [1.0], [bounds])[0])


def fit_sigmoid(scores: np.ndarray, is_positive: np.ndarray) -> tuple[float, float]:
    """Slope (not negative) and offset of the sigmoid of scores with the largest likelihood of
    smoothed targets, (n + 1) / (n + 2) and 1 / (n + 2) by the number n of each class.

    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", Advances in Large Margin Classifiers, 1999.
    """
    a, b = np.count_nonzero(is_positive), np.count_nonzero(~is_positive)
    goal = np.where(is_positive, (a + 1) / (a + 2), 1 / (b + 2))
    center, scale = scores.mean(), scores.std()
    z = (scores - center) / scale

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        u = at[0] * z + at[1]
        rest = (expit(u) - goal) / len(z)
        return float(np.mean(np.logaddexp(0, u) - goal * u)), np.array([rest @ z, rest.sum()])

    slope, offset = _minimize(loss, [0.0, logit(goal.mean())], [(0, STEEPEST), (None, None)])
    return slope / scale, offset - slope / scale * center


def _minimize(loss: Any, start: list[float], bounds: list) -> np.ndarray:
    options: Any = {"ftol": 1e-12, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def place_threshold(scores: np.ndarray, is_positive: np.ndarray, pool: np.ndarray) -> float:
    """The threshold of two classes, from out-of-fold scores of the labeled rows and the scores
    of unlabeled ones; 0 where these are too few.
    """
    a, b = np.count_nonzero(is_positive), np.count_nonzero(~is_positive)
    are_few = len(pool) < FEWEST_UNLABELED or min(a, b) < FEWEST_OF_A_CLASS
    if are_few or not np.std(scores) > 0:
        return 0.0
    smaller = (min(a, b) + 0.5) / (a + b + 1)
    rarity = float(np.clip((COMMON - smaller) / (COMMON - RARE), 0, 1))
    by_interval = interval_threshold(int(a), int(b), pool) if rarity else 0.0
    return (share_threshold(scores, is_positive, pool) + rarity * by_interval) / 2


def share_threshold(scores: np.ndarray, is_positive: np.ndarray, pool: np.ndarray) -> float:
    """The threshold above which as many unlabeled rows lie as the sigmoid expects to be positive; 0
    where the share above 0 is that share within what the targets are smoothed by; the share among
    the labels where their scores do not rise with the class.
    """
    a, b = np.count_nonzero(is_positive), np.count_nonzero(~is_positive)
    slope, offset = fit_sigmoid(clipped(scores), is_positive)
    if not (slope > 0 and np.isfinite([slope, offset]).all()):
        return accept_share(pool, a / (a + b))
    share = float(expit(slope * clipped(pool) + offset).mean())
    smoothed = share / (a + 2) + (1 - share) / (b + 2)
    return 0.0 if abs(share - np.mean(pool > 0)) <= smoothed else accept_share(pool, share)


def interval_threshold(a: int, b: int, pool: np.ndarray) -> float:
    """0 where the share of unlabeled rows above 0 is in the interval (Jeffreys) of the share of a
    positive and b negative labels; else the threshold at its nearer end.
    """
    low, high = np.asarray(beta.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], a + 0.5, b + 0.5))
    share = float(np.mean(pool > 0))
    return 0.0 if low <= share <= high else accept_share(pool, float(np.clip(share, low, high)))


def accept_share(scores: np.ndarray, share: float) -> float:
    """A threshold above which this share of the rows lies, up to equal scores."""
    threshold = float(np.quantile(scores, 1 - share))
    if abs(np.mean(scores >= threshold) - share) >= abs(np.mean(scores > threshold) - share):
        return threshold
    below = scores[scores < threshold]
    return (float(below.max()) + threshold) / 2 if len(below) else threshold - 1.0


def place_offsets(pool: np.ndarray, slope: float) -> np.ndarray:
    """Per class what is added to its scores, (C,), sum 0; 0 where unlabeled rows are too few."""
    offset = np.zeros(pool.shape[1])
    if len(pool) < FEWEST_UNLABELED:
        return offset
    goal = softmax(slope * clipped(pool), axis=1).mean(axis=0)
    for k in range(ROUNDS):
        won = np.bincount((pool + offset).argmax(axis=1), minlength=len(offset)) / len(pool)
        step = np.log(goal + SMALLEST_SHARE) - np.log(won + SMALLEST_SHARE)
        offset += STEP * (1 - k / ROUNDS) * step
    return (offset - offset.mean()) / 2
