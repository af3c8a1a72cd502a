"""The formulas of fitted models as ONNX graphs: what `decision_function` returns, which class
wins, and what `predict_proba` returns.

    SVM                    k(X, support vectors) dual_coef' + intercept, combined over the binary
                           problems
    MixtureClassifier      log densities of the components, their sums per class, log-odds
    PreferenceClassifier   the scores of its classifiers, which skl2onnx converts, minus thresholds
    ThresholdClassifier    any of these, minus the certified threshold

Everything is computed in float64.
"""

from __future__ import annotations

from copy import copy
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

from semisvm.campaign import ThresholdClassifier
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.mixture import MixtureClassifier
from semisvm.estimators.preference import PreferenceClassifier
from semisvm.estimators.preference._decision import PreferenceMixin
from semisvm.estimators.preference._learner import SMALLEST_PROBABILITY
from semisvm.kernels.formula import far_center
from semisvm.matrices import as_dense

AXIS = np.array([1], dtype=np.int64)
EXPORTED = (BaseSVC, MixtureClassifier, PreferenceClassifier)


def decision_of(model: Any, X: Any, op: Any) -> Any:
    """What `decision_function` returns, (n,) or (n, n_classes)."""
    if isinstance(model, MixtureClassifier):
        return _mixture_decision(model, X, op)
    if isinstance(model, PreferenceClassifier):
        scores = _scores_of_classifiers(model, X, op)
        return _one_column(model, _beyond_thresholds(model, scores, op), op)
    if not isinstance(model, ThresholdClassifier):
        return _svm_decision(model, X, op)
    is_positive = model.classes_ == model._positive_class()
    if len(model.classes_) == 2:
        # Of the first class a row is accepted where minus the score is above the threshold.
        shift = np.array(model.threshold if is_positive[1] else -model.threshold)
    else:
        shift = np.where(is_positive, model.threshold, 0.0)
    return op.Sub(decision_of(model.estimator_, X, op), shift)


def _one_column(model: Any, scores: Any, op: Any) -> Any:
    """Scores of binary problems, (n, c), as `decision_function` returns them."""
    return (
        op.Reshape(scores, np.array([-1], dtype=np.int64)) if len(model.classes_) == 2 else scores
    )


def winner_of(model: Any, decision: Any, op: Any) -> Any:
    """The index of the predicted class, (n,)."""
    if len(model.classes_) > 2:
        return op.ArgMax(decision, axis=1, keepdims=0)
    # A row exactly at a certified threshold is not accepted, whichever class is the positive one.
    is_first_positive = (
        isinstance(model, ThresholdClassifier) and model._positive_class() == model.classes_[0]
    )
    above = op.GreaterOrEqual if is_first_positive else op.Greater
    return op.as_type(above(decision, np.array(0.0)), "INT64")


def probabilities_of(model: Any, X: Any, op: Any) -> Any:
    """What `predict_proba` returns, (n, n_classes); None where a model has none in ONNX."""
    if isinstance(model, ThresholdClassifier):
        return probabilities_of(model.estimator_, X, op)
    if isinstance(model, MixtureClassifier):
        joint = _log_joint(model, X, op)
        return op.Exp(op.Sub(joint, op.ReduceLogSumExp(joint, AXIS, keepdims=1)))
    if not has_probabilities(model):
        return None
    if isinstance(model, PreferenceClassifier):
        scores = _scores_of_classifiers(model, X, op)
    else:
        scores = _svm_scores(model, X, op)
        if len(model.classes_) > 2 and not isinstance(model, PreferenceMixin):
            scores = _combined(model, scores, op)
    sigmoids = model._fit_sigmoids() if model._sigmoids is None else model._sigmoids
    return _sigmoid_probabilities(scores, sigmoids, op)


def has_probabilities(model: Any) -> bool:
    """Whether a model has probabilities in ONNX: by sigmoids, or of a mixture."""
    if isinstance(model, ThresholdClassifier):
        return has_probabilities(model.estimator_)
    if isinstance(model, MixtureClassifier):
        return True
    has_sigmoids = getattr(model, "_sigmoids", None) is not None
    return (has_sigmoids or isinstance(model, PreferenceMixin)) and hasattr(model, "predict_proba")


def _sigmoid_probabilities(scores: Any, sigmoids: np.ndarray, op: Any) -> Any:
    """`semisvm.model_selection.calibration.probabilities_of`."""
    positive = op.Sigmoid(op.Add(op.Mul(scores, sigmoids[:, 0]), sigmoids[:, 1]))
    if len(sigmoids) == 1:
        return op.Concat(op.Sub(np.array(1.0), positive), positive, axis=1)
    total = op.ReduceSum(positive, AXIS, keepdims=1)
    is_some = op.Greater(total, np.array(0.0))
    share = op.Div(positive, op.Where(is_some, total, np.array(1.0)))
    return op.Where(is_some, share, np.array(1 / len(sigmoids)))


def _svm_scores(model: BaseSVC, X: Any, op: Any) -> Any:
    """Scores of the binary problems without thresholds, (n, n_problems)."""
    formula = model._formula
    if formula.name == "linear":
        products = op.MatMul(X, np.asarray(as_dense(model.coef_), dtype=np.float64).T.copy())
    elif (
        model.support_vectors_.shape[0] == 0
    ):  # a fit that ended before its first step; ONNX has no empty matrices
        products = op.MatMul(X, np.zeros((model.n_features_in_, len(model.intercept_))))
    else:
        vectors: Any = model.support_vectors_
        dense = np.asarray(as_dense(vectors), dtype=np.float64)
        scale = getattr(model, "scale_", None)
        if scale is not None:  # of `PositiveUnlabeledSVC`
            X = op.Div(X, np.asarray(scale, dtype=np.float64))
        products = op.MatMul(
            _kernel(formula, X, dense, op),
            np.asarray(as_dense(model.dual_coef_), dtype=np.float64).T.copy(),
        )
    return op.Add(products, np.asarray(model.intercept_, dtype=np.float64))


def _svm_decision(model: BaseSVC, X: Any, op: Any) -> Any:
    scores = _beyond_thresholds(model, _svm_scores(model, X, op), op)
    return _guarded(model, _combined(model, scores, op), op)


def _combined(model: BaseSVC, scores: Any, op: Any) -> Any:
    """What `binary.combine` makes of the scores of the binary problems."""
    if len(model.classes_) == 2:
        return _one_column(model, scores, op)
    if model._scheme == "ovo":
        return _votes(scores, len(model.classes_), op)
    return scores if model._scheme == "ovr" else op.Neg(scores)


def _kernel(formula: Any, X: Any, vectors: np.ndarray, op: Any) -> Any:
    if formula.name == "rbf" and (center := far_center(vectors)) is not None:
        X, vectors = op.Sub(X, center), vectors - center
    dots = op.MatMul(X, vectors.T.copy())
    if formula.name == "rbf":
        squares = op.ReduceSumSquare(X, AXIS, keepdims=1)
        distance = op.Add(op.Add(op.Mul(dots, np.array(-2.0)), squares), (vectors**2).sum(axis=1))
        return op.Exp(op.Mul(op.Max(distance, np.array(0.0)), np.array(-formula.gamma)))
    inner = op.Add(op.Mul(dots, np.array(formula.gamma)), np.array(formula.coef0))
    return (
        op.Tanh(inner)
        if formula.name == "sigmoid"
        else op.Pow(inner, np.array(float(formula.degree)))
    )


def _beyond_thresholds(model: Any, scores: Any, op: Any) -> Any:
    """Subtract the thresholds of the binary problems, where the model has some."""
    thresholds = getattr(model, "threshold_", None)
    if thresholds is None:
        return scores
    thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    is_finite = np.isfinite(thresholds)
    plain = op.Sub(scores, np.where(is_finite, thresholds, 0.0))
    if is_finite.all():
        return plain
    # An infinite threshold accepts every row, or none: s / (1 + |s|) - 1 is below 0 and ranks as s
    # does.
    one_side = op.Sub(op.Div(scores, op.Add(op.Abs(scores), np.array(1.0))), np.sign(thresholds))
    return op.Where(is_finite, plain, one_side)


def _votes(scores: Any, n_classes: int, op: Any) -> Any:
    """Votes of pairs of classes, then the summed scores, as `binary.combine` gives them."""
    pairs = list(combinations(range(n_classes), 2))
    signs = np.zeros((len(pairs), n_classes))
    for k, (i, j) in enumerate(pairs):
        signs[k, i], signs[k, j] = 1.0, -1.0
    # A pair votes for its first class where it wins, else for its second: wins * signs + (second
    # classes).
    first_wins = op.as_type(op.Greater(scores, np.array(0.0)), "DOUBLE")
    votes = op.Add(op.MatMul(first_wins, signs), (signs < 0).sum(axis=0).astype(np.float64))
    strength = op.MatMul(scores, signs)
    return op.Add(
        votes, op.Div(strength, op.Mul(op.Add(op.Abs(strength), np.array(1.0)), np.array(3.0)))
    )


def _guarded(model: Any, decision: Any, op: Any) -> Any:
    """Move all scores to the side of the guard's constant: s + sqrt(s^2 + 1), or minus it."""
    constant = getattr(model, "_constant", None)
    if constant is None:
        return decision
    # onnxruntime has Asinh for float32 only: ranks stay, the last digits of a constant's scores do
    # not.
    angle = op.as_type(op.Asinh(op.as_type(decision, "FLOAT")), "DOUBLE")
    is_chosen = np.arange(len(model.classes_)) == constant
    return op.Where(
        is_chosen if len(is_chosen) > 2 else is_chosen[1:],
        op.Exp(angle),
        op.Neg(op.Exp(op.Neg(angle))),
    )


# ---- other classifiers ----


def _log_joint(model: MixtureClassifier, X: Any, op: Any) -> Any:
    """log p(x, y) by the log densities of `Gaussians`, (n, n_classes)."""
    gaussians = model._gaussians
    log_weights = np.log(model.weights_)
    at_zero = gaussians.log_density(np.zeros((1, gaussians.means.shape[1])))[0] + log_weights
    columns = []
    for k, mean in enumerate(gaussians.means):
        whiten = _whitening(gaussians, k)
        constant = at_zero[k] + 0.5 * ((whiten.T @ mean) ** 2).sum()  # the log density at the mean
        squares = op.ReduceSumSquare(op.MatMul(op.Sub(X, mean), whiten), AXIS, keepdims=1)
        columns.append(op.Add(op.Mul(squares, np.array(-0.5)), np.array(constant)))
    log_share = op.Concat(*columns, axis=1)
    members = [
        np.flatnonzero(model.component_codes_ == code) for code in range(len(model.classes_))
    ]
    of_class = [op.Gather(log_share, columns_of_class, axis=1) for columns_of_class in members]
    return op.Concat(*(op.ReduceLogSumExp(part, AXIS, keepdims=1) for part in of_class), axis=1)


def _mixture_decision(model: MixtureClassifier, X: Any, op: Any) -> Any:
    """`MixtureClassifier._decide`."""
    joint = _log_joint(model, X, op)
    costs = model._cost_matrix
    if len(model.classes_) == 2:
        first, second = (op.Gather(joint, np.array([code]), axis=1) for code in (0, 1))
        shift = 0.0 if costs is None else np.log(costs[1, 0]) - np.log(costs[0, 1])
        return _one_column(model, op.Add(op.Sub(second, first), np.array(shift)), op)
    posterior = op.Sub(joint, op.ReduceLogSumExp(joint, AXIS, keepdims=1))
    return posterior if costs is None else op.Neg(op.MatMul(op.Exp(posterior), costs))


def _whitening(gaussians: Any, k: int) -> np.ndarray:
    """The matrix A with (x - m)' S^-1 (x - m) = |A' (x - m)|^2 for component k."""
    n_features = gaussians.means.shape[1]
    if gaussians.kind in ("diag", "spherical"):
        return np.diag(np.broadcast_to(gaussians.covariances[k], n_features) ** -0.5)
    covariance = gaussians.covariances if gaussians.kind == "tied" else gaussians.covariances[k]
    return solve_triangular(np.linalg.cholesky(covariance), np.eye(n_features), lower=True).T.copy()


def _scores_of_classifiers(model: PreferenceClassifier, X: Any, op: Any) -> Any:
    """Scores of the binary problems without thresholds, (n, n_problems)."""
    return op.Concat(*(_scores_of_classifier(each, X, op) for each in model.estimators_), axis=1)


def _scores_of_classifier(model: Any, X: Any, op: Any) -> Any:
    """What `scores_of_classifier` gives, (n, 1), of two classes, where skl2onnx knows it."""
    if isinstance(model, EXPORTED):
        return op.Reshape(decision_of(model, X, op), np.array([-1, 1], dtype=np.int64))
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            X = op.of_estimator(step, X)
        return _scores_of_classifier(model.steps[-1][1], X, op)
    has_decision = hasattr(model, "decision_function")
    if has_decision and not op.has_option(model, "raw_scores"):
        raise TypeError(
            f"skl2onnx has no scores of {type(model).__name__}: use a classifier whose"
            " decision_function it exports, or keep the model for Python with semisvm.save."
        )
    if isinstance(model, SVC | NuSVC):  # probabilities would take the place of their scores
        model = copy(model)
        model._probA = model._probB = np.empty(0)
    options = {"raw_scores": True} if has_decision else {}
    if op.has_option(model, "zipmap"):
        options["zipmap"] = False
    X = op.of_estimator(model, X, **options)
    scores = X[1]  # after the labels
    first, second = (
        op.as_type(op.Gather(scores, np.array([k]), axis=1), "DOUBLE") for k in (0, -1)
    )
    if has_decision:
        return second
    least = np.array(SMALLEST_PROBABILITY)
    return op.Sub(op.Log(op.Max(second, least)), op.Log(op.Max(first, least)))
