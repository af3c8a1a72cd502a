"""Parameters that a task leaves to its data: chosen from the labeled rows alone, the same way for every method.

A parameter given as a list is chosen by five-fold cross-validation on the labels: a fold's labels are hidden, its
rows stay as unlabeled ones, the method is fitted and scored on the fold. All lists of a task are searched
together; of equally good settings the first wins, so lists run from the simplest (the smallest C) up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from studies.harness.sources import UNLABELED, Sample

N_FOLDS = 5
Fit = Callable[[Any, NDArray, dict[str, Any]], Any]


def tune(fit: Fit, part: Sample, params: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the parameters with every list replaced by its best entry; `fit(X, y, params)` gives a classifier."""
    searched = [name for name in params if isinstance(params[name], list)]
    settings = [
        params | dict(zip(searched, values, strict=True)) for values in product(*(params[name] for name in searched))
    ]
    if len(settings) == 1:
        return settings[0]
    folds = list(_folds(part.y, seed))
    scores = [np.mean([_score(fit, part, fold, setting) for fold in folds]) for setting in settings]
    return settings[int(np.argmax(scores))]


def median_gamma(part: Sample) -> float:
    """Return 1 / (2 sigma^2), sigma the median distance between labeled rows (between all, where that is 0)."""
    rows = part.X[part.is_labeled]
    sigma = float(np.median(pdist(rows))) if len(rows) > 1 else 0.0
    sigma = sigma or float(np.median(pdist(part.X))) or 1.0
    return 1 / (2 * sigma**2)


def _folds(y: NDArray, seed: int) -> Iterator[NDArray[np.intp]]:
    """Deal the labeled rows of each class out to the folds in turn; a fold whose loss leaves one class is left out."""
    rng = np.random.default_rng([seed, N_FOLDS])
    rows = rng.permutation(np.flatnonzero(y != UNLABELED))
    rows = rows[np.argsort(y[rows], kind="stable")]
    for number in range(N_FOLDS):
        fold = rows[number::N_FOLDS]
        kept = np.setdiff1d(rows, fold)
        if len(fold) and len(np.unique(y[kept])) > 1:
            yield fold


def _score(fit: Fit, part: Sample, fold: NDArray[np.intp], params: dict[str, Any]) -> float:
    y = part.y.copy()
    y[fold] = UNLABELED
    return float(np.mean(fit(part.X, y, params).predict(part.X[fold]) == part.y[fold]))
