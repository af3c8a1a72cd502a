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

SMOOTHING, UNLABELED = 0.05, 0.2
SHARP_IN_EM, SHARP = 5.0, 3.0  # TF-IDF rows have length 1, and say less than counts of words do
ROUNDS = 8
N_FOLDS = 5
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
        log_p = _log_probabilities(views[self.view], self.theta, self.prior, SHARP)
        return from_shares(np.exp(log_softmax(self.power * log_p, axis=1)))


def train_naive_bayes(view: str, task: FamilyTask) -> FamilyFit:
    """Train on all texts, and cross-fit the labels."""
    began = time.perf_counter()
    target = task.target
    Z = task.views[view]
    codes = codes_of(target.Y)
    n_classes = task.settings.n_classes
    fold = target.fold % N_FOLDS
    log_p = np.empty((len(codes), n_classes))
    for number in np.unique(fold):
        kept = fold != number
        theta, prior = _expectation_maximization(
            Z, task.weight, target.position[kept], codes[kept], target.count[kept], n_classes
        )
        tested = Z[target.position[~kept]]
        log_p[~kept] = _log_probabilities(tested, theta, prior, SHARP)
    power = most_likely_slope(log_p, codes, target.count, (FLATTEST, STEEPEST))
    family = NaiveBayesFamily(
        view,
        *_expectation_maximization(Z, task.weight, target.position, codes, target.count, n_classes),
        power,
    )
    left_out = from_shares(np.exp(log_softmax(power * log_p, axis=1)))
    members = single_member(left_out, task, time.perf_counter() - began)
    return FamilyFit(family, members, family.scores(task.views))


def _expectation_maximization(
    Z: Any,
    weight: np.ndarray,
    labeled: np.ndarray,
    codes: np.ndarray,
    count: np.ndarray,
    n_classes: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Theta (C, p) and the prior (C,): see the module's docstring."""
    given = np.zeros((Z.shape[0], n_classes))
    given[labeled, codes] = count
    is_open = np.ones(Z.shape[0], dtype=bool)
    is_open[labeled] = False
    share = given.sum(axis=0) + 1
    prior = np.log(share / share.sum())
    theta = _log_shares_of_words(Z, given)
    for _ in range(ROUNDS):
        expected = np.exp(_log_probabilities(Z, theta, prior, SHARP_IN_EM))
        expected *= (UNLABELED * weight * is_open)[:, None]
        theta = _log_shares_of_words(Z, given + expected)
    return theta, prior


def _log_shares_of_words(Z: Any, R: np.ndarray) -> np.ndarray:
    total = SMOOTHING + np.asarray(Z.T @ R).T
    return np.log(total / total.sum(axis=1, keepdims=True))


def _log_probabilities(Z: Any, theta: np.ndarray, prior: np.ndarray, sharp: float) -> np.ndarray:
    return log_softmax(sharp * np.asarray(Z @ theta.T) + prior, axis=1)
