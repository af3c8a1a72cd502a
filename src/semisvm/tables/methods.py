"""From settings to an estimator: settings that a constructor does not know are not passed to it, except those that
change what is asked for (costs, a target), without which the method can't be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.estimators.registry import Method

MOST_DENSE_NUMBERS = 50_000_000  # entries of a sparse matrix that may be written out for a method that needs it


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
