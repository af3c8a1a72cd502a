"""The supervised machine with a better threshold: what a method that uses unlabeled rows has to beat.

The machine of all labels is cut where the out-of-fold scores of the labeled rows have the best F1. It looks at no
unlabeled row. Classes are 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.decision import choose
from semisvm.estimators import SupervisedSVC
from semisvm.model_selection import SemiSupervisedKFold, cross_fit_scores
from studies.harness.sources import UNLABELED

N_FOLDS = 5


class ThresholdedSupervised:
    """`SupervisedSVC(**params)` with a threshold by five-fold cross-fitting; `seed` deals out the folds."""

    def __init__(self, seed: int, **params: Any) -> None:
        self.seed, self.params = seed, params

    def fit(self, X: Any, y: NDArray) -> ThresholdedSupervised:
        """Fit on the labeled rows, then once a fold."""
        labeled = y != UNLABELED
        X, y = X[labeled], y[labeled]
        self.machine_ = SupervisedSVC(**self.params).fit(X, y)
        folds = SemiSupervisedKFold(N_FOLDS, shuffle=True, random_state=self.seed)
        scores = cross_fit_scores(SupervisedSVC(**self.params), X, y, cv=folds)
        self.threshold_ = choose(scores, 2 * y - 1, level="cross-fitted").threshold
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores less the threshold."""
        return self.machine_.decision_function(X) - self.threshold_

    def predict(self, X: Any) -> NDArray:
        """Return class 1 above the threshold."""
        return (self.decision_function(X) > 0).astype(np.int64)
