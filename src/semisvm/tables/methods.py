"""The methods by name, from the simplest to the most involved: the one list that `fit`, `compare` and `auto` read.

A method is a class of `semisvm.estimators`. Settings that its constructor does not know are not passed to it, except
those that change what is asked for (costs, a target), without which it can't be chosen.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse

MOST_DENSE_NUMBERS = 50_000_000  # entries of a sparse matrix that may be written out for a method that needs it


@dataclass(frozen=True)
class Method:
    """A name on the command line, the class behind it, and what the papers call it."""

    name: str
    class_name: str
    paper_name: str
    about: str
    takes_sparse: bool = True
    sets_threshold: bool = False  # whether it answers a precision or recall itself, its scores being above 0 there

    @property
    def estimator_class(self) -> Any:
        """The class, None where this version does not have it."""
        return getattr(importlib.import_module("semisvm.estimators"), self.class_name, None)


# In the order of how much there is to them: of two that are as good as each other, the first is chosen.
METHODS = (
    Method("supervised", "SupervisedSVC", "SVM (SSVM)", "the labelled rows alone: the baseline"),
    Method(
        "mixture",
        "MixtureClassifier",
        "generative model (EM)",
        "a Gaussian for each class, all rows",
        takes_sparse=False,
    ),
    Method("self-training", "SelfTrainingSVC", "self-training", "retrained on its own predictions"),
    Method("cluster", "ClusterSVC", "cluster-SVM", "unlabelled rows take the label of their cluster"),
    Method("laplacian", "LaplacianSVC", "Laplacian SVM", "neighbours are given similar scores"),
    Method("cost", "LabelMeanSVC", "CS4VM (meanS3VM)", "the means of the unlabelled rows' classes"),
    Method("transductive", "TransductiveSVC", "TSVM", "the boundary where unlabelled rows are few"),
    Method("progressive", "ProgressiveSVC", "PTSVM", "pairs of rows labelled round by round"),
    Method("preference", "PreferenceSVC", "PSVM", "a precision or recall to reach", sets_threshold=True),
)
NAMES = tuple(method.name for method in METHODS)


@dataclass(frozen=True)
class Settings:
    """What every method is told; `costs` is {code: cost} or a matrix, rows true and columns predicted."""

    kernel: str | None = None  # None: linear where rows are sparse, rbf elsewhere
    C: float = 1.0
    gamma: str | float | None = None
    costs: Any = None
    min_precision: float | None = None
    min_recall: float | None = None
    certify: float | None = None  # the risk of a certificate
    seed: int = 0
    device: str = "auto"
    time_limit: float | None = None
    cache_size: float | None = None

    @property
    def has_target(self) -> bool:
        return self.min_precision is not None or self.min_recall is not None


def available() -> tuple[Method, ...]:
    """Return the methods of this version."""
    return tuple(method for method in METHODS if method.estimator_class is not None)


def find_method(name: str) -> Method:
    """Return the method of that name."""
    found = next((method for method in available() if method.name == name), None)
    if found is None:
        names = ["auto", *(method.name for method in available())]
        close = get_close_matches(name, names, n=1)
        hint = f"Perhaps {close[0]!r} is meant; there are " if close else "There are "
        raise ValueError(f"There is no method {name!r}. {hint}{', '.join(names)}.")
    return found


def make_estimator(method: Method, settings: Settings) -> Any:
    """Return the method's estimator, not yet fitted."""
    known = method.estimator_class._get_param_names()
    wanted = {
        "kernel": settings.kernel,
        "C": settings.C,
        "gamma": settings.gamma,
        "costs": settings.costs,
        "min_precision": settings.min_precision,
        "min_recall": settings.min_recall,
        "certify": settings.certify,
        "random_state": settings.seed,
        "device": settings.device,
        "time_limit": settings.time_limit,
        "cache_size": settings.cache_size,
    }
    given = {name: value for name, value in wanted.items() if value is not None and name in known}
    return method.estimator_class(**given)


def why_not(method: Method, X: Any, settings: Settings) -> str:
    """Say what keeps a method from these rows and settings; "" where nothing does."""
    known = method.estimator_class._get_param_names()
    if settings.costs is not None and "costs" not in known:
        return "knows no costs"
    if settings.certify is not None and "certify" not in known:
        return "gives no certificate"
    if not method.takes_sparse and sparse.issparse(X) and X.shape[0] * X.shape[1] > MOST_DENSE_NUMBERS:
        return f"needs {X.shape[0]} x {X.shape[1]} numbers written out"
    return ""


def shape_for(method: Method, X: Any) -> Any:
    """Return rows as the method takes them."""
    return X.toarray() if sparse.issparse(X) and not method.takes_sparse else X


def score_rows(estimator: Any, X: Any) -> np.ndarray:
    """Scores of a fitted estimator: (n,) for two classes, above 0 speaks for the second; (n, k), the largest wins."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    log_share = np.maximum(estimator.predict_log_proba(X), -1e6)  # a class without a chance is no infinity
    return log_share[:, 1] - log_share[:, 0] if log_share.shape[1] == 2 else log_share


def margins(scores: np.ndarray) -> np.ndarray:
    """One score a class, (n, k), above 0 exactly where it is the class that wins: two classes give (n, 1)."""
    if scores.ndim == 1:
        return scores[:, None]
    ordered = np.sort(scores, axis=1)
    best_other = np.where(scores == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:])
    return scores - best_other
