"""Naive Bayes with EM, against a plain computation, and without the labels that it scores."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import softmax

from semisvm.estimators.auto.members import FamilyTask
from semisvm.estimators.auto.naive_bayes import _expectation_maximization, train_naive_bayes
from semisvm.estimators.auto.stacking import FamilySettings
from semisvm.estimators.least_squares import LabeledTarget


def task(seed=0, n=120, n_labeled=20):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    Z = rng.random((n, 30)) * (
        rng.random((n, 30)) < 0.15 + 0.35 * (np.arange(30) % 2 == codes[:, None])
    )
    Z /= np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-9)
    ones = np.ones(n_labeled)
    Y = 2.0 * codes[:n_labeled, None] - 1
    target = LabeledTarget(np.arange(n_labeled), Y, ones, ones, np.arange(n_labeled))
    views = {"words": sparse.csr_matrix(Z)}
    return FamilyTask(views, np.ones(n), target, FamilySettings(2), "naive Bayes"), Z, codes


def test_expectation_maximization_by_hand():
    first, Z, codes = task()
    kept = np.ones((2, 20), dtype=bool)
    kept[0, ::2] = False  # a fit with fewer labels beside it changes nothing
    theta, prior = (
        both[1]
        for both in _expectation_maximization(
            sparse.csr_matrix(Z), np.ones(120), first.target, codes[:20], kept
        )
    )
    shares = np.array([1 + (codes[:20] == 0).sum(), 1 + (codes[:20] == 1).sum()])
    assert_allclose(prior, np.log(shares / shares.sum()))
    R = np.eye(2)[codes[:20]]
    words = 0.05 + R.T @ Z[:20]
    for _ in range(8):
        log_words = np.log(words / words.sum(axis=1, keepdims=True))
        rest = softmax(5 * Z[20:] @ log_words.T + prior, axis=1)
        words = 0.05 + R.T @ Z[:20] + 0.2 * rest.T @ Z[20:]
    assert_allclose(theta, np.log(words / words.sum(axis=1, keepdims=True)))


def test_a_label_has_no_part_in_its_own_score():
    first, _, codes = task()
    found = train_naive_bayes("words", first)
    flipped = first.target.Y.copy()
    flipped[3] *= -1
    other = train_naive_bayes(
        "words",
        FamilyTask(
            first.views,
            first.weight,
            LabeledTarget(first.target.position, flipped, *(np.ones(20),) * 2, np.arange(20)),
            first.settings,
            "",
        ),
    )
    power = found.family.power, other.family.power

    def log_odds(score):
        return np.log((1 + score) / (1 - score))

    # Rows 3, 8, 13 and 18 are left out together: none of them sees the label of row 3.
    ratio = log_odds(found.members.left_out[3::5]) / log_odds(other.members.left_out[3::5])
    assert_allclose(ratio, power[0] / power[1])
    assert np.mean((found.scores[20:, 0] > 0) == codes[20:]) > 0.8
    assert_allclose(found.family.scores(first.views), found.scores)
