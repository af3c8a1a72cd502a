"""Parameters that a task leaves to its data: chosen from the labeled rows alone, in the same way
for every method.

A parameter given as a list is chosen by five-fold cross-validation on the labels: the labels of a
fold are hidden, its rows stay as unlabeled ones, and the method is fitted and scored on the fold.
All lists of a task are searched together. Of equally good settings the first one is taken, so lists
go from the simplest value (the smallest C) up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from studies.papers.samples import UNLABELED, Sample

N_FOLDS = 5
Fit = Callable[[Any, NDArray, dict[str, Any]], Any]


def tune(fit: Fit, sample: Sample, params: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the parameters with every list replaced by its best entry; `fit(X, y, params)`
    gives a classifier.
    """
    searched = [name for name in params if isinstance(params[name], list)]
    settings = [
        params | dict(zip(searched, values, strict=True))
        for values in product(*(params[name] for name in searched))
    ]
    if len(settings) == 1:
        return settings[0]
    folds = list(_folds(sample.y, seed))
    scores = [
        np.mean([_score(fit, sample, fold, setting) for fold in folds]) for setting in settings
    ]
    return settings[int(np.argmax(scores))]


def median_gamma(sample: Sample) -> float:
    """Return 1 / (2 sigma^2), sigma the median distance between labeled rows (between all, where
    that is 0).
    """
    rows = sample.X[sample.is_labeled]
    sigma = float(np.median(pdist(rows))) if len(rows) > 1 else 0.0
    sigma = sigma or float(np.median(pdist(sample.X))) or 1.0
    return 1 / (2 * sigma**2)


def _folds(y: NDArray, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield folds with the labeled rows of each class in turn, without folds that would leave
    only one class.
    """
    rng = np.random.default_rng([seed, N_FOLDS])
    rows = rng.permutation(np.flatnonzero(y != UNLABELED))
    rows = rows[np.argsort(y[rows], kind="stable")]
    for number in range(N_FOLDS):
        fold = rows[number::N_FOLDS]
        kept = np.setdiff1d(rows, fold)
        if len(fold) and len(np.unique(y[kept])) > 1:
            yield fold


def _score(fit: Fit, sample: Sample, fold: NDArray[np.intp], params: dict[str, Any]) -> float:
    y = sample.y.copy()
    y[fold] = UNLABELED
    return float(np.mean(fit(sample.X, y, params).predict(sample.X[fold]) == sample.y[fold]))
