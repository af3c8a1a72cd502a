"""Draws of real sets: our estimator beside balanced SVMs and logistic regression.

A draw: `order = default_rng(seed).permutation(n)`; the first min(5000, 0.3 n) rows are the test
rows, the next min(3000, 0.55 of the rest) are unlabeled, and the first positives of what is left
are labeled. Where a prior is asked for, positives are left out of the unlabeled and of the test
rows until they have that share.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, roc_auc_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from semisvm import PositiveUnlabeledSVC
from semisvm.model_selection import PositiveUnlabeledKFold, pu_auc
from studies.data import load

SETS = ("mnist", "adult", "ijcnn1")
TEXTS = ("reuters", "ssl-text")
SEEDS = (10, 11, 12)
PRICES = (0.001, 0.01, 0.1, 0.3, 1.0, 10.0, 100.0)
RARE_PRIORS = (0.001, 0.005, 0.02)
RARE_UNLABELED = 10_000


@cache
def rows_of(name: str) -> tuple[Any, np.ndarray]:
    """Rows, and which of them are positive."""
    if name == "reuters":
        parts = [load("reuters-train"), load("reuters-test")]
        X = sparse.vstack([part.X for part in parts]).tocsr()
        return X, np.concatenate([np.asarray(part.y) == 1 for part in parts])
    data = load(name)
    X = data.X / 255 if name == "mnist" and data.X.max() > 1 else data.X
    return X, np.asarray(data.y) == 1


def draw(name: str, n_positive: int, seed: int, prior: float | None = None):
    """Training rows, target, test rows, their truth, and the true prior."""
    X, truth = rows_of(name)
    order = np.random.default_rng(seed).permutation(len(truth))
    n_test = min(5000, int(0.3 * len(truth)))
    n_unlabeled = min(3000, int(0.55 * (len(truth) - n_test)))
    if prior is not None:
        n_test = n_unlabeled = min(RARE_UNLABELED, int(0.4 * len(truth)))
    test, unlabeled, rest = np.split(order, [n_test, n_test + n_unlabeled])
    if prior is not None:
        test, unlabeled = (_thin(rows, truth, prior) for rows in (test, unlabeled))
    train = np.concatenate([rest[truth[rest]][:n_positive], unlabeled])
    y = np.where(np.arange(len(train)) < len(train) - len(unlabeled), 1, -1)
    is_text = name in TEXTS
    parts = [
        X[rows] if is_text or not sparse.issparse(X) else X[rows].toarray()
        for rows in (train, test)
    ]
    return (
        parts[0].astype(np.float64),
        y,
        parts[1].astype(np.float64),
        truth[test],
        truth[unlabeled].mean(),
    )


def _thin(rows: np.ndarray, truth: np.ndarray, prior: float) -> np.ndarray:
    """All negatives among the rows, and the first positives up to this share."""
    negatives = rows[~truth[rows]]
    n_positive = max(1, round(prior / (1 - prior) * len(negatives)))
    return np.concatenate([negatives, rows[truth[rows]][:n_positive]])


def best_f1(truth: np.ndarray, scores: np.ndarray) -> float:
    """The F1 of the best threshold, by the truth."""
    precision, recall, _ = precision_recall_curve(truth, scores)
    return float(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12)))


def simple_methods(seed: int) -> dict[str, Any]:
    """Balanced machines on "unlabeled rows are negative", on kernel matrices."""
    folds = PositiveUnlabeledKFold(5, shuffle=True, random_state=seed)
    machine = SVC(class_weight="balanced", kernel="precomputed")
    return {
        "SVC C=1": machine,
        "SVC tuned": GridSearchCV(machine, {"C": PRICES}, scoring=pu_auc, cv=folds),
    }


def scores_by(model: Any, X: Any) -> np.ndarray:
    """Scores by which the model ranks rows."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    probabilities = np.asarray(model.predict_proba(X))
    return probabilities[:, 1] if probabilities.ndim == 2 else probabilities


def judge_draw(cell: tuple) -> dict[str, Any]:
    """Everything that the tables say of one draw: set, positives, seed, prior or None, and whether
    the tuned SVM takes part.
    """
    name, n_positive, seed, asked_prior, is_tuned = cell
    X, y, X_test, truth, prior = draw(name, n_positive, seed, asked_prior)
    is_text = name in TEXTS
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PositiveUnlabeledSVC(kernel="linear" if is_text else "rbf", random_state=seed).fit(
            X, y
        )
        seconds = time.process_time() - began
        point = model.operating_point_
        found = {
            "line": (name, n_positive, asked_prior),
            "prior": prior,
            "estimate": model.prior_,
            "bound": model.prior_bound_,
            "bound held": model.prior_bound_ >= prior,
            "seconds": seconds,
            "recall said": point.recall.value,
            "recall true": float(np.mean(model.decision_function(X_test)[truth] > 0)),
        } | _measures("ours", truth, model.decision_function(X_test), model.predict(X_test) == 1)
        variance = X.multiply(X).mean() - X.mean() ** 2 if sparse.issparse(X) else X.var()
        gamma = 1 / (X.shape[1] * variance)
        kernels = [
            linear_kernel(rows, X) if is_text else rbf_kernel(rows, X, gamma=gamma)
            for rows in (X, X_test)
        ]
        for method, fitted in simple_methods(seed).items():
            if method == "SVC tuned" and not is_tuned:  # hours, with 10,000 unlabeled rows
                continue
            fitted.fit(kernels[0], y)
            found |= _measures(
                method, truth, scores_by(fitted, kernels[1]), fitted.predict(kernels[1]) == 1
            )
        del kernels
        linear = LogisticRegression(class_weight="balanced", max_iter=1000)
        linear = (linear if is_text else make_pipeline(StandardScaler(), linear)).fit(X, y)
        found |= _measures(
            "logistic", truth, scores_by(linear, X_test), linear.predict(X_test) == 1
        )
    return found


def _measures(
    method: str, truth: np.ndarray, scores: np.ndarray, accepted: np.ndarray
) -> dict[str, float]:
    return {
        f"{method}: AUC": float(roc_auc_score(truth, scores)),
        f"{method}: AP": float(average_precision_score(truth, scores)),
        f"{method}: F1": float(f1_score(truth, accepted, zero_division=0)),
        f"{method}: best F1": best_f1(truth, scores),
    }
