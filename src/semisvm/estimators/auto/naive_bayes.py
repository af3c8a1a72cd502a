"""Naive Bayes with EM: a member for texts that learns which words go with a class from all texts.

    Z         TF-IDF rows of words
    R         (n, C) the class of each row: labels as they are, the others in expectation
    theta_c = log of (SMOOTHING + sum over labeled Z R_c + UNLABELED sum over the others Z R_c),
              normalized to sum 1
    R_other = softmax(SHARP_IN_EM Z theta' + prior)         prior: log shares of the labeled classes
    p       = softmax(SHARP Z theta' + prior)

ROUNDS of these, beginning with the labels alone. Probabilities of naive Bayes are too sure: p^a,
normalized, takes their place, with the a of the largest likelihood on labels left out. Scores are
2 p - 1. Labels are left out by fold, and count as unlabeled there (K. Nigam, A. McCallum, S. Thrun
and T. Mitchell, "Text classification from labeled and unlabeled documents using EM", Machine
Learning 39, 2000).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from semisvm.estimators.auto.members import FamilyFit, FamilyTask, from_shares, single_member
from semisvm.estimators.auto.stacking import codes_of, most_likely_slope
from semisvm.estimators.least_squares import LabeledTarget

SMOOTHING, UNLABELED = 0.05, 0.2
SHARP_IN_EM, SHARP = 5.0, 3.0  # TF-IDF rows have length 1, and say less than counts of words do
ROUNDS = 8
N_FOLDS = 5
NUMBERS_AT_ONCE = 4_000_000  # of theta, in fits that are made together: 32 MB
FLATTEST, STEEPEST = 0.01, 2.0  # powers between which a is looked for


@dataclass(frozen=True)
class NaiveBayesFamily:
    """The log probabilities of words (C, p) and classes (C,), and the power of probabilities."""

    view: str
    theta: np.ndarray
    prior: np.ndarray
    power: float

    def scores(self, views: dict[str, Any]) -> np.ndarray:
        """The scores of rows, (m, c)."""
        log_p = _log_probabilities(views[self.view], self.theta[None], self.prior[None], SHARP)
        return from_shares(np.exp(log_softmax(self.power * log_p[:, 0], axis=1)))


def train_naive_bayes(view: str, task: FamilyTask) -> FamilyFit:
    """Train on all texts, and cross-fit the labels."""
    began = time.perf_counter()
    target = task.target
    Z = task.views[view]
    codes = codes_of(target.Y)
    fold = target.fold % N_FOLDS
    labeled = Z[target.position]
    log_p = np.empty((len(codes), task.settings.n_classes))
    kept = [fold != number for number in np.unique(fold)] + [np.full(len(fold), True)]
    at_once = max(1, NUMBERS_AT_ONCE // (Z.shape[1] * log_p.shape[1]))
    for start in range(0, len(kept), at_once):
        part = kept[start : start + at_once]
        theta, prior = _expectation_maximization(Z, task.weight, target, codes, np.array(part))
        for number, is_kept in enumerate(part):
            learned = theta[[number]], prior[[number]]
            tested = _log_probabilities(labeled[~is_kept], *learned, SHARP)
            log_p[~is_kept] = tested[:, 0]
    power = most_likely_slope(log_p, codes, target.count, (FLATTEST, STEEPEST))
    family = NaiveBayesFamily(view, theta[-1], prior[-1], power)
    left_out = from_shares(np.exp(log_softmax(power * log_p, axis=1)))
    members = single_member(left_out, task, time.perf_counter() - began)
    return FamilyFit(family, members, family.scores(task.views))


def _expectation_maximization(
    Z: Any, weight: np.ndarray, target: LabeledTarget, codes: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Theta (F, C, p) and the prior (F, C) of several fits, each of which keeps the labels of a
    mask, (F, l), together: most of the time goes into reading Z.
    """
    given = np.zeros((Z.shape[0], len(kept), codes.max() + 1))
    given[target.position, :, codes] = kept.T * target.count[:, None]
    is_open = np.ones((Z.shape[0], len(kept), 1))
    is_open[target.position, :, 0] = ~kept.T
    share = given.sum(axis=0) + 1
    prior = np.log(share / share.sum(axis=1, keepdims=True))
    theta = _log_shares_of_words(Z, given)
    for _ in range(ROUNDS):
        expected = np.exp(_log_probabilities(Z, theta, prior, SHARP_IN_EM))
        expected *= UNLABELED * weight[:, None, None] * is_open
        theta = _log_shares_of_words(Z, given + expected)
    return theta, prior


def _log_shares_of_words(Z: Any, R: np.ndarray) -> np.ndarray:
    total = SMOOTHING + np.asarray(Z.T @ R.reshape(len(R), -1)).T.reshape(*R.shape[1:], -1)
    return np.log(total / total.sum(axis=-1, keepdims=True))


def _log_probabilities(Z: Any, theta: np.ndarray, prior: np.ndarray, sharp: float) -> np.ndarray:
    """Of each row in each fit, (m, F, C)."""
    products = np.asarray(Z @ theta.reshape(-1, theta.shape[-1]).T)
    return log_softmax(sharp * products.reshape(-1, *prior.shape) + prior, axis=-1)
