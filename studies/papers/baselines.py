"""Classifiers that exist only to be compared with: a better supervised baseline, and one that
repeats a mistake.

`ThresholdedSupervised` is what a method that uses unlabeled rows has to beat: the SVM of all
labels, with the threshold at which the out-of-fold scores of the labeled rows have the best F1. It
uses no unlabeled row. Classes are 0 and 1.

`PackageMixture` computes the "generative model" column of the cluster-SVM paper as its numbers
suggest it was computed: one Gaussian of diagonal covariance per class, by EM over labeled and
unlabeled rows, whose density lacks the factor 1 / prod(sd). The column fits that, and not a mixture
with the factor. `MixtureClassifier` is the one to use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm import SupervisedSVC
from semisvm.decision import choose
from semisvm.model_selection import SemiSupervisedKFold, cross_fit_scores
from studies.papers.samples import UNLABELED

N_FOLDS = 5


class ThresholdedSupervised:
    """`SupervisedSVC(**params)` with a threshold by five-fold cross-fitting; `seed` determines
    the folds.
    """

    def __init__(self, seed: int, **params: Any) -> None:
        self.seed = seed
        self.params = params

    def fit(self, X: Any, y: NDArray) -> ThresholdedSupervised:
        """Fit on the labeled rows, then once per fold."""
        labeled = y != UNLABELED
        X = X[labeled]
        y = y[labeled]
        self.svm_ = SupervisedSVC(**self.params).fit(X, y)
        folds = SemiSupervisedKFold(N_FOLDS, shuffle=True, random_state=self.seed)
        scores = cross_fit_scores(SupervisedSVC(**self.params), X, y, cv=folds)
        self.threshold_ = choose(scores, 2 * y - 1, level="cross-fitted").threshold
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores minus the threshold."""
        return self.svm_.decision_function(X) - self.threshold_

    def predict(self, X: Any) -> NDArray:
        """Return class 1 above the threshold."""
        return (self.decision_function(X) > 0).astype(np.int64)


class PackageMixture:
    """EM with E-step weights proportional to share * exp(-|(x - mean) / sd|^2 / 2), and no
    determinant.
    """

    def __init__(self, max_iter: int = 200, tol: float = 1e-5, ridge: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.ridge = ridge

    def fit(self, X: NDArray, y: NDArray) -> PackageMixture:
        """Start from the labeled rows, whose classes stay fixed."""
        self.classes_ = np.unique(y[y != UNLABELED])
        known = (y[:, None] == self.classes_).astype(float)
        is_labeled = y != UNLABELED
        self._maximize(X[is_labeled], known[is_labeled], floor=X[is_labeled].var(axis=0))
        weight = known
        for _ in range(self.max_iter):
            guessed = np.where(is_labeled[:, None], known, self.predict_proba(X))
            change = float(np.abs(guessed - weight).max())
            weight = guessed
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
