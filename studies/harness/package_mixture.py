"""The "generative model" column of cluster-SVM as its numbers suggest it was computed, mistake included.

A Gaussian of diagonal covariance for each class, by EM over labeled and unlabeled rows, whose density lacks the
factor 1 / prod(sd): the column fits that, and not a mixture with it. It exists to stand beside the published
column; `MixtureClassifier` is the one to use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNLABELED = -1


class PackageMixture:
    """EM with E-step weights proportional to share * exp(-|(x - mean) / sd|^2 / 2), and no determinant."""

    def __init__(self, max_iter: int = 200, tol: float = 1e-5, ridge: float = 1e-6) -> None:
        self.max_iter, self.tol, self.ridge = max_iter, tol, ridge

    def fit(self, X: NDArray, y: NDArray) -> PackageMixture:
        """Start from the labeled rows, whose classes stay fixed."""
        self.classes_ = np.unique(y[y != UNLABELED])
        known = (y[:, None] == self.classes_).astype(float)
        is_labeled = y != UNLABELED
        self._maximize(X[is_labeled], known[is_labeled], floor=X[is_labeled].var(axis=0))
        weight = known
        for _ in range(self.max_iter):
            guessed = np.where(is_labeled[:, None], known, self.predict_proba(X))
            change, weight = float(np.abs(guessed - weight).max()), guessed
            if change < self.tol:
                break
            self._maximize(X, weight, floor=X.var(axis=0))
        return self

    def _maximize(self, X: NDArray, weight: NDArray, floor: NDArray) -> None:
        total = np.maximum(weight.sum(axis=0), 1e-12)
        self.share_ = total / total.sum()
        self.mean_ = weight.T @ X / total[:, None]
        variance = weight.T @ X**2 / total[:, None] - self.mean_**2
        few = weight.sum(axis=0) < 2  # one row has no variance of its own
        self.variance_ = np.where(few[:, None], floor, variance) + self.ridge

    def predict_proba(self, X: NDArray) -> NDArray:
        """Return the weight of each class, (n, n_classes)."""
        distance = (((X[:, None] - self.mean_) ** 2) / self.variance_).sum(axis=2)
        log_weight = np.log(self.share_) - distance / 2
        log_weight -= log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight)
        return weight / weight.sum(axis=1, keepdims=True)

    def predict(self, X: NDArray) -> NDArray:
        """Return the class of the largest weight."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
