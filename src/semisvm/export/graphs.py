"""The formulas of fitted models as ONNX graphs: what `decision_function` returns, and which class wins.

    SVM                    k(X, support vectors) dual_coef' + intercept, combined over the binary problems
    MixtureClassifier      log densities of the components, their sums per class, log-odds
    PreferenceClassifier   the scores of its classifiers, which skl2onnx converts, minus thresholds
    AutoSVC of points      the average of its machines; a row that equals a row of the fit is found and has its place
    ThresholdClassifier    any of these, minus the certified threshold

Everything is computed in float64.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.pipeline import Pipeline

from semisvm.campaign import ThresholdClassifier
from semisvm.estimators.auto import AutoSVC
from semisvm.estimators.auto.geometry import EXTENDED_BELOW, SMALLEST_LINK, GraphFunctions
from semisvm.estimators.auto.library import FLOOR, POWER, KernelLibrary
from semisvm.estimators.auto.members import KernelAverage
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.mixture import MixtureClassifier
from semisvm.estimators.preference import PreferenceClassifier
from semisvm.estimators.preference._learner import SMALLEST_PROBABILITY
from semisvm.matrices import as_dense

SAME_DIRECTION = 1e-14  # between rows of length 1 that are equal: dividing by a length rounds
AXIS = np.array([1], dtype=np.int64)
EXPORTED = (BaseSVC, MixtureClassifier, PreferenceClassifier, AutoSVC)


def decision_of(model: Any, X: Any, op: Any) -> Any:
    """What `decision_function` returns, (n,) or (n, n_classes)."""
    if isinstance(model, MixtureClassifier):
        return _mixture_decision(model, X, op)
    if isinstance(model, PreferenceClassifier):
        scores = op.Concat(*(_scores_of_classifier(one, X, op) for one in model.estimators_), axis=1)
        return _one_column(model, _beyond_thresholds(model, scores, op), op)
    if isinstance(model, AutoSVC):
        family: Any = next(iter(model._average.families.values()))  # the only one: that of points
        scores = _average_decision(family.average, X, op)
        return _one_column(model, _beyond_thresholds(model, scores, op) if model._has_target else scores, op)
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
    """Scores of binary problems, (n, c), as `decision_function` returns them: (n,) with two classes."""
    return op.Reshape(scores, np.array([-1], dtype=np.int64)) if len(model.classes_) == 2 else scores


def winner_of(model: Any, decision: Any, op: Any) -> Any:
    """The index of the predicted class, (n,)."""
    if len(model.classes_) > 2:
        return op.ArgMax(decision, axis=1, keepdims=0)
    # A row exactly at a certified threshold is not accepted, whichever class is the positive one.
    is_first_positive = isinstance(model, ThresholdClassifier) and model._positive_class() == model.classes_[0]
    above = op.GreaterOrEqual if is_first_positive else op.Greater
    return op.as_type(above(decision, np.array(0.0)), "INT64")


def _svm_decision(model: BaseSVC, X: Any, op: Any) -> Any:
    formula = model._formula
    if formula.name == "linear":
        products = op.MatMul(X, np.asarray(model.coef_, dtype=np.float64).T.copy())
    elif model.support_vectors_.shape[0] == 0:  # a fit that ended before its first step; ONNX has no empty matrices
        products = op.MatMul(X, np.zeros((model.n_features_in_, len(model.intercept_))))
    else:
        vectors: Any = model.support_vectors_
        dense = np.asarray(as_dense(vectors), dtype=np.float64)
        products = op.MatMul(_kernel(formula, X, dense, op), np.asarray(model.dual_coef_, dtype=np.float64).T.copy())
    scores = _beyond_thresholds(model, op.Add(products, np.asarray(model.intercept_, dtype=np.float64)), op)
    if len(model.classes_) == 2:
        decision = _one_column(model, scores, op)
    elif model._scheme == "ovo":
        decision = _votes(scores, len(model.classes_), op)
    else:
        decision = scores if model._scheme == "ovr" else op.Neg(scores)
    return _guarded(model, decision, op)


def _kernel(formula: Any, X: Any, vectors: np.ndarray, op: Any) -> Any:
    dots = op.MatMul(X, vectors.T.copy())
    if formula.name == "rbf":
        squares = op.ReduceSumSquare(X, AXIS, keepdims=1)
        distance = op.Add(op.Add(op.Mul(dots, np.array(-2.0)), squares), (vectors**2).sum(axis=1))
        return op.Exp(op.Mul(op.Max(distance, np.array(0.0)), np.array(-formula.gamma)))
    inner = op.Add(op.Mul(dots, np.array(formula.gamma)), np.array(formula.coef0))
    return op.Tanh(inner) if formula.name == "sigmoid" else op.Pow(inner, np.array(float(formula.degree)))


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
    # An infinite threshold accepts every row, or none: s / (1 + |s|) - 1 is below 0 and ranks as s does.
    one_side = op.Sub(op.Div(scores, op.Add(op.Abs(scores), np.array(1.0))), np.sign(thresholds))
    return op.Where(is_finite, plain, one_side)


def _votes(scores: Any, n_classes: int, op: Any) -> Any:
    """Votes of the pairs of classes, and within equal votes the summed scores, as `binary.combine` gives them."""
    pairs = list(combinations(range(n_classes), 2))
    signs = np.zeros((len(pairs), n_classes))
    for k, (i, j) in enumerate(pairs):
        signs[k, i], signs[k, j] = 1.0, -1.0
    # A pair votes for its first class where it wins, else for its second: wins * signs + (second classes).
    first_wins = op.as_type(op.Greater(scores, np.array(0.0)), "DOUBLE")
    votes = op.Add(op.MatMul(first_wins, signs), (signs < 0).sum(axis=0).astype(np.float64))
    strength = op.MatMul(scores, signs)
    return op.Add(votes, op.Div(strength, op.Mul(op.Add(op.Abs(strength), np.array(1.0)), np.array(3.0))))


def _guarded(model: Any, decision: Any, op: Any) -> Any:
    """Move all scores to the side of the constant that the guard chose: s + sqrt(s^2 + 1), or s - sqrt(s^2 + 1)."""
    constant = getattr(model, "_constant", None)
    if constant is None:
        return decision
    # onnxruntime has Asinh for float32 only: ranks stay, the last digits of a constant's scores do not.
    angle = op.as_type(op.Asinh(op.as_type(decision, "FLOAT")), "DOUBLE")
    is_chosen = np.arange(len(model.classes_)) == constant
    return op.Where(is_chosen if len(is_chosen) > 2 else is_chosen[1:], op.Exp(angle), op.Neg(op.Exp(op.Neg(angle))))


# ---- other classifiers ----


def _mixture_decision(model: MixtureClassifier, X: Any, op: Any) -> Any:
    """`MixtureClassifier._decide` of the log densities of `Gaussians`."""
    gaussians, log_weights = model._gaussians, np.log(model.weights_)
    at_zero = gaussians.log_density(np.zeros((1, gaussians.means.shape[1])))[0] + log_weights
    columns = []
    for k, mean in enumerate(gaussians.means):
        whiten = _whitening(gaussians, k)
        constant = at_zero[k] + 0.5 * ((whiten.T @ mean) ** 2).sum()  # the log density at the mean
        squares = op.ReduceSumSquare(op.MatMul(op.Sub(X, mean), whiten), AXIS, keepdims=1)
        columns.append(op.Add(op.Mul(squares, np.array(-0.5)), np.array(constant)))
    log_share = op.Concat(*columns, axis=1)
    n_classes, costs = len(model.classes_), model._cost_matrix
    members = [np.flatnonzero(model.component_codes_ == c) for c in range(n_classes)]
    of_class = [op.Gather(log_share, one, axis=1) for one in members]
    joint = [op.ReduceLogSumExp(one, AXIS, keepdims=1) for one in of_class]
    if n_classes == 2:
        shift = 0.0 if costs is None else np.log(costs[1, 0]) - np.log(costs[0, 1])
        return _one_column(model, op.Add(op.Sub(joint[1], joint[0]), np.array(shift)), op)
    every = op.Concat(*joint, axis=1)
    posterior = op.Sub(every, op.ReduceLogSumExp(every, AXIS, keepdims=1))
    return posterior if costs is None else op.Neg(op.MatMul(op.Exp(posterior), costs))


def _whitening(gaussians: Any, k: int) -> np.ndarray:
    """The matrix A with (x - m)' S^-1 (x - m) = |A' (x - m)|^2 for component k."""
    n_features = gaussians.means.shape[1]
    if gaussians.kind in ("diag", "spherical"):
        return np.diag(np.broadcast_to(gaussians.covariances[k], n_features) ** -0.5)
    covariance = gaussians.covariances if gaussians.kind == "tied" else gaussians.covariances[k]
    return solve_triangular(np.linalg.cholesky(covariance), np.eye(n_features), lower=True).T.copy()


def _scores_of_classifier(model: Any, X: Any, op: Any) -> Any:
    """What `scores_of_classifier` gives, (n, 1), of a classifier of two classes that skl2onnx knows."""
    if isinstance(model, EXPORTED):
        return op.Reshape(decision_of(model, X, op), np.array([-1, 1], dtype=np.int64))
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    has_decision = hasattr(steps[-1], "decision_function")
    for step in steps[:-1]:
        X = op.of_estimator(step, X)
    X = op.of_estimator(steps[-1], X, zipmap=False, **({"raw_scores": True} if has_decision else {}))
    found = X[1]  # after the labels
    first, second = (op.as_type(op.Gather(found, np.array([k]), axis=1), "DOUBLE") for k in (0, -1))
    if has_decision:
        return second
    least = np.array(SMALLEST_PROBABILITY)
    return op.Sub(op.Log(op.Max(second, least)), op.Log(op.Max(first, least)))


# ---- the average of AutoSVC on points ----
#
# A new row is placed among the rows of the fit as `KernelLibrary.place` does; one that equals a row of the fit is
# found, and has its place. All kernels are linear in something that depends on the row: kernel values, products,
# components (`placed`), or functions on a graph. So the machines of one kernel, and of all kernels of one graph, become
# one matrix.


def _average_decision(average: KernelAverage, X: Any, op: Any) -> Any:
    """`KernelAverage.scores_of_rows`, (n, c)."""
    library = average.library
    geometry, components = library.geometry, library.components
    rows = as_dense(geometry.rows)
    X = X if geometry.unit == 1 else op.Div(X, np.array(geometry.unit))
    if geometry.is_cosine:
        length = op.Sqrt(op.ReduceSumSquare(X, AXIS, keepdims=1))
        X = op.Div(X, op.Where(op.Greater(length, np.array(0.0)), length, np.array([[1.0]])))
    centered = op.Sub(X, geometry.mean)
    products = op.MatMul(centered, (rows - geometry.mean).T.copy())
    distances2 = _squared_distances(products, centered, geometry.squares, op)
    kernel = _centered_kernel(components, products, distances2, geometry.mass, op)
    nearest = op.ArgMin(distances2, axis=1, keepdims=0)
    apart = op.ReduceMax(op.Abs(op.Sub(X, op.Gather(rows, nearest, axis=0))), AXIS, keepdims=1)
    is_known = op.LessOrEqual(apart, np.array(SAME_DIRECTION if geometry.is_cosine else 0.0))

    def in_place(of_rows: np.ndarray, of_others: Any) -> Any:
        return op.Where(is_known, op.Gather(of_rows, nearest, axis=0), of_others)

    coef, bias = _coefficients(average)
    placed = op.MatMul(kernel, geometry.mass[:, None] * components.vectors / components.values)
    placed = in_place(components.vectors, placed)
    parts = _of_ordinary_kernels(library, average.labeled, coef, centered, kernel, op)
    parts += _of_components(library, average.labeled, coef, placed, op)
    for k, graph in library.graphs.items():
        slopes = _graph_slopes(library, k, average.labeled, coef)
        if slopes is not None:
            functions = in_place(graph.vectors, _functions_at(graph, distances2, geometry.mass, op))
            parts.append(op.MatMul(functions, slopes))
    return op.Add(op.Sum(*parts), bias)


def _coefficients(average: KernelAverage) -> tuple[dict[str, np.ndarray], np.ndarray]:
    coef: dict[str, Any] = {}
    bias: Any = 0.0
    for name, machine in average.machines.items():
        kernel, weight = average.kernels[name], average.weights[name]
        coef[kernel] = coef.get(kernel, 0.0) + weight * machine.coef
        bias = bias + weight * machine.bias
    return coef, bias


def _squared_distances(products: Any, rows: Any, squares: np.ndarray, op: Any) -> Any:
    own = op.ReduceSumSquare(rows, AXIS, keepdims=1)
    return op.Max(op.Add(op.Add(op.Mul(products, np.array(-2.0)), own), squares), np.array(0.0))


def _centered_kernel(components: Any, products: Any, distances2: Any, mass: np.ndarray, op: Any) -> Any:
    """`KernelComponents.kernel`."""
    if components.median is None:
        return products
    values = op.Exp(op.Mul(distances2, np.array(-0.5 / components.median)))
    means = op.MatMul(values, (mass / mass.sum())[:, None])
    return op.Add(op.Sub(values, means), components.mean - components.column_mean)


def _of_ordinary_kernels(
    library: KernelLibrary, labeled: np.ndarray, coef: dict[str, Any], centered: Any, kernel: Any, op: Any
) -> list[Any]:
    geometry, parts = library.geometry, []
    plain = "cosine" if geometry.is_cosine else "rbf"
    if plain in coef:
        trace = library.components.trace
        full = np.zeros((geometry.n_rows, coef[plain].shape[1]))
        np.add.at(full, labeled, coef[plain] * (geometry.total / trace if trace > 0 else 0.0))
        parts.append(op.MatMul(kernel, full))
    if "linear" in coef:
        trace = float(geometry.mass @ geometry.squares)
        from_mean = np.asarray(geometry.rows[labeled] - geometry.mean)
        slopes = from_mean.T @ coef["linear"] * (geometry.total / trace if trace > 0 else 0.0)
        parts.append(op.MatMul(centered, slopes))
    return parts


def _of_components(
    library: KernelLibrary, labeled: np.ndarray, coef: dict[str, Any], placed: Any, op: Any
) -> list[Any]:
    vectors, parts = library.components.vectors, []
    Q = vectors[labeled]
    if "components" in coef:
        m = min(library.n_classes - 1, Q.shape[1])
        is_first = (np.arange(Q.shape[1]) < m)[:, None]
        parts.append(op.MatMul(placed, is_first * (Q.T @ coef["components"]) * (library.geometry.total / m)))
    if "component rbf" in coef:
        between = _squared_distances(op.MatMul(placed, Q.T.copy()), placed, (Q * Q).sum(axis=1), op)
        gaussian = op.Exp(op.Mul(between, np.array(-0.5 / library.components.white_median)))
        parts.append(op.MatMul(gaussian, coef["component rbf"]))
    return parts


def _graph_slopes(library: KernelLibrary, k: int, labeled: np.ndarray, coef: dict[str, Any]) -> np.ndarray | None:
    """What the functions of a graph are multiplied by, (r, c), all its kernels together; None if none is used."""
    graph, total = library.graphs[k], library.geometry.total
    V = graph.vectors[labeled]
    slopes = None
    for name in library._graph_names(k):
        if name not in coef:
            continue
        if name.endswith("smooth"):
            weight = (graph.lam + FLOOR) ** -POWER
        else:
            weight = (np.arange(len(graph.lam)) < graph.smoothest(int(name.rsplit(" ", 1)[1]))).astype(np.float64)
        part = weight[:, None] * (V.T @ coef[name]) * (total / weight.sum())
        slopes = part if slopes is None else slopes + part
    return slopes


def _functions_at(graph: GraphFunctions, distances2: Any, mass: np.ndarray, op: Any) -> Any:
    """`GraphFunctions.place`, (n, r)."""
    found = op.TopK(distances2, np.array([graph.n_neighbors], dtype=np.int64), axis=1, largest=0, sorted=1)
    link = op.Exp(op.Mul(found[0], np.array(-0.5 / graph.width**2)))
    link = op.Mul(op.Max(link, np.array(SMALLEST_LINK)), op.Gather(mass, found[1], axis=0))
    degree = op.ReduceSum(link, AXIS, keepdims=1)
    link = op.Div(link, op.Sqrt(op.Mul(degree, op.Gather(graph.degree, found[1], axis=0))))
    is_extended = graph.lam < EXTENDED_BELOW
    table = np.where(is_extended, graph.vectors / np.where(is_extended, 1 - graph.lam, 1.0), 0.0)
    values = op.Mul(op.Unsqueeze(link, np.array([2], dtype=np.int64)), op.Gather(table, found[1], axis=0))
    return op.ReduceSum(values, AXIS, keepdims=0)
