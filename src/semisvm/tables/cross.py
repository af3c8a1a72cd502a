"""Every labeled row scored by a fit that has not seen its label: what methods are compared by and thresholds set by.

    rows    (m,)           the labeled rows
    scores  (m,) or (m,k)  out-of-fold scores of these rows, by `methods.score_rows`

Folds are `SemiSupervisedKFold`'s: they deal out the labeled rows and give the unlabeled ones to every training part,
at most MOST_UNLABELED of them, drawn at random, so that comparing nine methods on a large pool takes minutes.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from semisvm.estimators.registry import Method
from semisvm.model_selection import SemiSupervisedKFold
from semisvm.tables.methods import Settings, make_estimator, score_rows, shape_for
from semisvm.tables.progress import RoundsTold, Tell, say_nothing

N_FOLDS = 5
MOST_UNLABELED = 5_000
UNLABELED = -1


class StoppedError(Exception):
    """Someone pressed Ctrl-C, and the estimator kept what it had."""


@dataclass(frozen=True)
class CrossFit:
    """Out-of-fold scores of one method; `complaints` are its warnings, each once."""

    rows: np.ndarray
    scores: np.ndarray
    seconds: float
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bench:
    """The rows that methods are compared on: encoded, with codes, and the folds that all of them share."""

    X: Any
    codes: np.ndarray
    n_classes: int
    folds: tuple[tuple[np.ndarray, np.ndarray], ...]

    @property
    def labeled(self) -> np.ndarray:
        return np.flatnonzero(self.codes >= 0)


def make_bench(X: Any, codes: np.ndarray, n_classes: int, *, seed: int = 0, most: int = MOST_UNLABELED) -> Bench:
    """Draw the unlabeled rows and the folds; ValueError where a class has fewer than two labeled rows."""
    unlabeled = np.flatnonzero(codes < 0)
    if len(unlabeled) > most:
        kept = np.random.default_rng(seed).choice(unlabeled, most, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(codes >= 0), kept]))
        X, codes = X[rows], codes[rows]
    rarest = int(np.bincount(codes[codes >= 0], minlength=n_classes).min())
    if rarest < 2:
        raise ValueError("a class has a single labeled row, so no fold can hold one out")
    splitter = SemiSupervisedKFold(min(N_FOLDS, rarest), shuffle=True, random_state=seed)
    return Bench(X, codes, n_classes, tuple(splitter.split(X, codes)))


def cross_fit(method: Method, settings: Settings, bench: Bench, tell: Tell = say_nothing) -> CrossFit:
    """Fit a method once a fold and score the rows held out."""
    began = time.perf_counter()
    estimator, X = make_estimator(method, settings), shape_for(method, bench.X)
    scores = np.zeros((len(bench.codes), bench.n_classes) if bench.n_classes > 2 else len(bench.codes))
    complaints: list[str] = []
    for k, (train, test) in enumerate(bench.folds):
        what = f"{method.name}, fold {k + 1} of {len(bench.folds)}"
        tell(f"Comparing: {what}")
        fold = clone(estimator)
        complaints += fit_quietly(fold, X[train], bench.codes[train], tell, f"Comparing: {what}")
        scores[test] = score_rows(fold, X[test])
    seconds = time.perf_counter() - began
    return CrossFit(bench.labeled, scores[bench.labeled], seconds, tuple(dict.fromkeys(complaints)))


def fit_quietly(estimator: Any, X: Any, codes: np.ndarray, tell: Tell, what: str) -> list[str]:
    """Fit, tell of its rounds, and return its warnings as sentences; StoppedError where Ctrl-C ended it."""
    estimator.set_callbacks(RoundsTold(tell, what))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, codes)
        finally:
            estimator.set_callbacks()
    if getattr(estimator, "termination_condition_", "") == "interrupted":
        raise StoppedError
    return [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
