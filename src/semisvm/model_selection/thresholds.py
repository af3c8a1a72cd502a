"""Thresholds of two classes without a minimum precision or recall, from probabilities.

    s, sign   scores of labeled rows that have not seen their labels, and their true classes
    u         scores of unlabeled rows

Platt's sigmoid of s is taken as the truth (`fit_probability`). Then the number of positives among
any rows is known in expectation, and so is F1, which is smooth in the threshold.

    expected_share   the share of u that is positive, in expectation; a threshold that accepts this
                     share (`accept_share`) calls as many rows positive as there are
    best_f1_share    the share of u that has the best expected F1
    balance          the best F1 on the labeled rows alone, as `semisvm fit` has it
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from semisvm.model_selection.calibration import fit_sigmoid

FEWEST_OF_A_CLASS = 8  # labels of each class, below which there are no probabilities and no chances
STEEPEST = 50.0  # standard deviations of the scores that a sigmoid turns from 0 to 1 in, at most


@dataclass(frozen=True)
class Probability:
    """The probability of the positive class, 1 / (1 + exp(-(slope score + offset)))."""

    slope: float
    offset: float

    def of(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of the positive class for each score."""
        return expit(self.slope * scores + self.offset)


def fit_probability(
    scores: np.ndarray, sign: np.ndarray, fewest: int = FEWEST_OF_A_CLASS
) -> Probability | None:
    """Fit Platt's sigmoid (`fit_sigmoid`) to out-of-fold scores, (m,), and true classes, +1 or -1.

    None where a class has fewer than `fewest` labels, or where the scores do not rise with the
    class: a probability that falls with the score would mislead.
    """
    if min((sign > 0).sum(), (sign < 0).sum()) < fewest or not np.std(scores) > 0:
        return None
    slope, offset = fit_sigmoid(scores, sign, steepest=STEEPEST)
    return Probability(slope, offset) if slope > 0 and np.isfinite([slope, offset]).all() else None


def balance(scores: np.ndarray, sign: np.ndarray) -> float:
    """Return the threshold of the best F1 on these rows; of several, the one of the best expected
    F1. 0 where the rows are of one class, or all scores are equal.

    It lies halfway between two scores, or as far below the lowest, so that new rows have room.
    """
    if len(np.unique(sign > 0)) < 2 or not np.std(scores) > 0:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    n_accepted = np.arange(1, len(ordered) + 1)
    f1 = 2 * np.cumsum(sign[order] > 0) / (n_accepted + (sign > 0).sum())
    f1[:-1][ordered[:-1] == ordered[1:]] = -1.0  # equal scores are accepted together
    probability = fit_probability(scores, sign, fewest=1)
    merit = -ordered if probability is None else _expected_f1(probability.of(ordered))
    best = int(np.argmax(np.where(f1 == f1.max(), merit, -np.inf)))
    if best + 1 < len(ordered):
        return float(ordered[best] + ordered[best + 1]) / 2
    gap = float(ordered[ordered > ordered[best]][-1] - ordered[best])
    return float(ordered[best]) - gap / 2


def expected_share(probability: Probability, scores: np.ndarray) -> float:
    """Return the share of rows that are positive in expectation."""
    return float(probability.of(scores).mean())


def best_f1_share(probability: Probability, scores: np.ndarray) -> float:
    """Return the share of highest scores to accept for the best expected F1."""
    expected = _expected_f1(np.sort(probability.of(scores))[::-1])
    return float((1 + np.argmax(expected)) / len(expected))


def _expected_f1(p: np.ndarray) -> np.ndarray:
    """The expected F1 of accepting the first 1, 2, ... rows, positive with probability p."""
    return 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + p.sum())


def accept_share(scores: np.ndarray, share: float) -> float:
    """Return a threshold above which this share of the rows lies, up to equal scores."""
    threshold = float(np.quantile(scores, 1 - share))
    above = float(np.mean(scores > threshold))
    with_equal = float(np.mean(scores >= threshold))
    if abs(with_equal - share) >= abs(above - share):
        return threshold
    below = scores[scores < threshold]
    return (float(below.max()) + threshold) / 2 if len(below) else threshold - 1.0
