"""Rows to train on, and what judges a solution: its objective in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel

from studies.data import load

# C and gamma of the PSVM paper's Table 2
PAPER_SETS = {
    "adult": (100.0, 0.5),
    "ijcnn1": (10.0, 0.125),
    "mnist": (10.0, 0.125),
    "protein": (10.0, 0.25),
}


def paper_rows(name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a set, dense float32, and their signs; all labeled ones, or n at random."""
    data = load(name)
    labeled = np.flatnonzero(data.y >= 0)
    rows = np.sort(np.random.default_rng(0).permutation(labeled)[:n])
    X = data.X[rows].astype(np.float32)
    return X.toarray() if sparse.issparse(X) else X, np.where(data.y[rows] == 1, 1, -1)


def noisy_rule(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of normal numbers, float32, and signs by a linear rule, 5% turned round."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    sign = np.where(X @ rng.standard_normal(d, dtype=np.float32) > 0, 1, -1)
    return X, np.where(rng.random(n) < 0.05, -sign, sign)


def two_mixtures(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes of ten Gaussian clusters each, and their signs."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    centers = rng.normal(size=(2, 10, d)) + np.array([0.5, -0.5])[:, None, None]
    return centers[y, rng.integers(0, 10, n)] + 2.0 * rng.normal(size=(n, d)), 2 * y - 1


def random_texts(n: int, d: int = 20_000, words: int = 60) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return sparse rows of unit length, the first words more frequent, and signs."""
    rng = np.random.default_rng(0)
    columns = np.minimum((d * rng.random((n, words)) ** 2).astype(np.int32), d - 1)
    rows = np.repeat(np.arange(n, dtype=np.int32), words)
    X = sparse.csr_matrix((rng.random(n * words) + 0.1, (rows, columns.ravel())), shape=(n, d))
    X = sparse.csr_matrix(sparse.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    scores = X @ rng.standard_normal(d)
    sign = np.where(scores > np.median(scores) + 0.2, 1, -1)
    return X, np.where(rng.random(n) < 0.05, -sign, sign)


def objective(
    scores: np.ndarray, squared_norm: float, sign: np.ndarray, C: float, power: int = 1
) -> float:
    """Return 1/2 |w|^2 + C sum of hinge losses^power, with the best bias for these scores."""

    def losses(bias: float) -> float:
        return C * float((np.maximum(0, 1 - sign * (scores + bias)) ** power).sum())

    edge = np.abs(scores).max() + 1
    best = minimize_scalar(losses, (-edge, edge), method="golden", tol=1e-12)
    return 0.5 * squared_norm + best.fun


def rbf_objective(model: Any, X: np.ndarray, sign: np.ndarray, C: float, gamma: float) -> float:
    """Return the objective of a fitted SVM with an RBF kernel, from its coefficients alone."""
    coefficients = model.dual_coef_
    beta = np.ravel(coefficients.toarray() if sparse.issparse(coefficients) else coefficients)
    support = np.asarray(model.support_)
    scores = np.concatenate(
        [
            rbf_kernel(X[first : first + 1000], X[support], gamma=gamma) @ beta
            for first in range(0, len(X), 1000)
        ]
    )
    return objective(scores, float(beta @ scores[support]), sign, C)
