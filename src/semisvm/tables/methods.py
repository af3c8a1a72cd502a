"""From settings to a fitted estimator, with progress for whoever waits.

A setting that a constructor does not know is not passed to it. The exceptions are costs and
certificates: they change the task, so a method without them can't be used (`why_not`).

Progress is reported through a function that callers pass down: `tell(what)` begins a stage, in
words, and `tell(what, done, total, unit)` says how far it is, with None for a total that is not
known.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from semisvm.columns.views import STANDARD
from semisvm.estimators import METHODS, Method
from semisvm.matrices import is_sparse_matrix
from semisvm.memory import budget_bytes
from semisvm.sklearn_private import parameter_names

# a sparse matrix with more entries, zeros included, is never made dense
MOST_DENSE_NUMBERS = 50_000_000
FOR_POSITIVES = next(method for method in METHODS if method.for_one_class)
LABEL_MISSING = ""  # never a class: empty cells of a table are unlabeled rows

Tell = Callable[..., None]


def say_nothing(
    what: str, done: int | None = None, total: int | None = None, unit: str = ""
) -> None:
    """Report nothing: the default of every `tell`."""


@dataclass(frozen=True)
class Settings:
    """Settings of all methods; None leaves a setting to the method."""

    kernel: str | None = None  # None: linear where the encoded rows are sparse, rbf elsewhere
    C: float = 1.0  # the penalty for errors on labeled rows
    gamma: str | float | None = None  # the width of the kernel
    # of errors, {class: cost}, or a matrix by true class (rows) and predicted class (columns)
    costs: Any = None
    # "balanced": errors on the rarer class count more while training
    class_weight: str | None = None
    # the target for the positive class; of more than two classes, for each
    min_precision: float | None = None
    min_recall: float | None = None
    # with a target: take the best F1 that keeps it, not the highest recall or precision
    best_f1: bool = False
    # with 0.9 the target is certified with a confidence of 90%; None: no certificate
    confidence: float | None = None
    trust_labels: bool = False  # certify even if the labeled rows do not look like a random sample
    seed: int = 0  # makes every random choice repeatable
    device: str = "auto"  # "auto", "cpu" or "cuda"
    view: str = STANDARD  # how the columns are prepared (`semisvm.columns.views`)
    # most rows that kernels are made from, for a method that bounds them
    max_rows: int | None = None
    loss: str | None = None  # "squared_hinge" for methods that know it

    @property
    def has_target(self) -> bool:
        return self.min_precision is not None or self.min_recall is not None


def make_estimator(method: Method, settings: Settings) -> Any:
    """Return the method's estimator, not yet fitted."""
    wanted = {field.name: getattr(settings, field.name) for field in fields(settings)}
    wanted |= {"unlabeled": LABEL_MISSING, "random_state": settings.seed, "threshold": "score"}
    if not sets_thresholds(method, settings):
        del wanted["min_precision"], wanted["min_recall"]
    if not method.sets_threshold:  # its threshold is chosen here, on held-out scores
        del wanted["confidence"]
    known = parameter_names(method.estimator_class)
    return method.estimator_class(
        **{k: value for k, value in wanted.items() if value is not None and k in known}
    )


def sets_thresholds(method: Method, settings: Settings) -> bool:
    """Whether the method sets its own thresholds: it can, and out-of-fold scores are not enough."""
    return method.sets_threshold and not (takes_columns(method) and settings.confidence is None)


def takes_columns(method: Method) -> bool:
    """Whether the method prepares the columns of a table itself: it is given typed columns."""
    return "columns" in parameter_names(method.estimator_class)


def why_not(method: Method, X: Any, settings: Settings) -> str:
    """Return why a method can't be used for these rows and settings; "" where it can."""
    known = parameter_names(method.estimator_class)
    if settings.costs is not None and "costs" not in known:
        return "does not support costs"
    if settings.confidence is not None and not method.sets_threshold:
        return "does not give certificates"
    if takes_columns(method):  # it bounds its own memory
        return ""
    if (
        not method.takes_sparse
        and is_sparse_matrix(X)
        and X.shape[0] * X.shape[1] > MOST_DENSE_NUMBERS
    ):
        return f"would need a dense matrix of {X.shape[0]} x {X.shape[1]} numbers"
    needed = 8 * method.n_squares * X.shape[0] ** 2
    there = budget_bytes(None)
    if needed > there:
        return (
            f"would need {needed / 1e9:.1f} GB of memory for {X.shape[0]} rows, where"
            f" {there / 1e9:.1f} GB may be used"
        )
    return ""


def shape_for(method: Method, X: Any) -> Any:
    """Return rows as the method takes them, dense where it takes no sparse ones."""
    return X.toarray() if is_sparse_matrix(X) and not method.takes_sparse else X


def with_usual_kernel(settings: Settings, X: Any) -> Settings:
    """Return the settings with a kernel: by default linear for sparse rows, rbf for others."""
    if settings.kernel is not None:
        return settings
    return replace(settings, kernel="linear" if is_sparse_matrix(X) else "rbf")


class StoppedError(KeyboardInterrupt):
    """Ctrl-C, after which the estimator kept what it had."""


def fit_quietly(
    estimator: Any,
    X: Any,
    labels: Any,
    tell: Tell,
    what: str,
    random_sample: np.ndarray | None = None,
) -> list[str]:
    """Fit, report its rounds, and return its warnings as sentences; StoppedError if Ctrl-C ended
    it.

    `labels` is a pandas Categorical of class names, in the order that the classes are to have,
    missing where a row is unlabeled.
    `random_sample` says which labels are a random sample, for methods that set thresholds; None:
    all of them.
    """
    sample: dict[str, Any] = {}
    # A mask is taken at its word: a table's labels are checked once, before anything is fitted
    # (`tables.held_out`).
    if has_fit_parameter(estimator, "random_sample"):
        sample["random_sample"] = (
            np.ones(len(labels), dtype=bool) if random_sample is None else random_sample
        )
    estimator.set_callbacks(RoundProgress(tell, what))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, labels, **sample)
        finally:
            estimator.set_callbacks()
    if getattr(estimator, "termination_condition_", "") == "interrupted":
        raise StoppedError
    return [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]


class RoundProgress:
    """A scikit-learn callback that reports the rounds of a fit."""

    def __init__(self, tell: Tell, what: str):
        self.tell = tell
        self.what = what
        self.n_rounds = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """End."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **values: Any) -> None:
        """Do nothing: only finished tasks are reported."""

    def on_fit_task_end(self, estimator: Any, context: Any, **values: Any) -> bool:
        """Report the number of finished rounds; never ask the fit to stop."""
        if context.task_name == "round":
            self.n_rounds += 1
        self.tell(self.what, self.n_rounds, None, "round" if self.n_rounds == 1 else "rounds")
        return False


def score_rows(estimator: Any, X: Any) -> np.ndarray:
    """Return scores: (n,) for two classes, above 0 for the second; (n, k) for more."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    log_share = np.maximum(
        estimator.predict_log_proba(X), -1e6
    )  # finite even for a class of probability 0
    return log_share[:, 1] - log_share[:, 0] if log_share.shape[1] == 2 else log_share


def lead_per_class(scores: np.ndarray) -> np.ndarray:
    """Return one score per class, above 0 where that class wins; (n, 1) for two classes."""
    if scores.ndim == 1:
        return scores[:, None]
    ordered = np.sort(scores, axis=1)
    best_other = np.where(scores == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:])
    return scores - best_other


def say_weights(estimator: Any) -> list[str]:
    """Say which members have the weight of an average."""
    if not hasattr(estimator, "families_"):
        return []
    from semisvm.estimators.auto.families import explain_weights

    return [explain_weights(estimator.weights_, estimator.families_)]
