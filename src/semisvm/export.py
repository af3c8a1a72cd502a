"""Fitted models in other systems: ONNX graphs, and model cards.

An SVM is exported as the formula that it is, in float64 whatever the type of the rows:

    scores (n, n_problems) = k(X, support vectors) dual_coef' + intercept
    decision               = scores combined over the binary problems, minus thresholds
    label                  = the class of the largest decision; of two, the second where it is above 0

Thresholds (of a preference, of positives and unlabeled rows, of a campaign) and the guard's constant are in the graph.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from semisvm.campaign import ThresholdClassifier
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.registry import available

__all__ = ["model_card", "to_onnx"]

OPSET = 18
ONNX_KERNELS = ("linear", "rbf", "poly", "sigmoid")
INSTALL = 'pip install "semisvm[onnx]"'
EVIDENCE = (
    "Intervals and held-out certificates assume that the labels are a random sample. A certificate by sampling is "
    "about the rows of its pool. Neither says anything about rows from another source, or about a model that was "
    "fitted again."
)


def to_onnx(model: Any, *, dtype: Any = np.float32, opset: int = OPSET) -> Any:
    """Return a fitted model as an ONNX graph, its thresholds included.

    Parameters
    ----------
    model : estimator
        A fitted SVM of this library, a `ThresholdClassifier` around one, or a pipeline that ends with one and whose
        other steps skl2onnx knows (scalers, imputers, one-hot encoders, TF-IDF, ...).
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Of the rows that the graph takes. It computes in float64.
    opset : int, default=18
        The version of ONNX's operators.

    Returns
    -------
    onnx.ModelProto
        With the input "X", (n, n_features), and the outputs "label", (n,), and "scores": what `decision_function`
        returns. Write its ``SerializeToString()`` to a file.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.
    TypeError
        If the model, or its kernel, has no form in ONNX: `AutoSVC`, `MixtureClassifier`, `PreferenceClassifier`, and
        kernels that are functions or precomputed matrices.

    See Also
    --------
    semisvm.save : A file for Python, of any model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import SupervisedSVC
    >>> from semisvm.export import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> graph = to_onnx(SupervisedSVC().fit(X[:100], y[:100]))  # doctest: +SKIP
    >>> with open("model.onnx", "wb") as file:  # doctest: +SKIP
    ...     file.write(graph.SerializeToString())
    """
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    except ImportError as error:
        raise ImportError(f"to_onnx needs skl2onnx: {INSTALL}.") from error
    check_is_fitted(model)
    final = model.steps[-1][1] if isinstance(model, Pipeline) else model
    _refuse_what_onnx_lacks(final)
    register_converters()
    kinds = {np.dtype(np.float32): FloatTensorType, np.dtype(np.float64): DoubleTensorType}
    kind = kinds.get(np.dtype(dtype))
    if kind is None:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype!r}.")
    rows = kind([None, int(model.n_features_in_)])
    return convert_sklearn(model, initial_types=[("X", rows)], target_opset={"": opset, "ai.onnx.ml": 3})


def register_converters() -> None:
    """Tell skl2onnx how to convert the SVMs of this library, so that its own functions can do it too."""
    from skl2onnx import update_registered_converter

    found = [method.estimator_class for method in available() if issubclass(method.estimator_class, BaseSVC)]
    for estimator_class in (*found, ThresholdClassifier):
        update_registered_converter(
            estimator_class,
            f"Semisvm{estimator_class.__name__}",
            _set_shapes,
            _convert,
            parser=_declare_outputs,
            overwrite=True,
        )


def _refuse_what_onnx_lacks(model: Any) -> None:
    inner = model.estimator_ if isinstance(model, ThresholdClassifier) else model
    name = type(inner).__name__
    if not isinstance(inner, BaseSVC):
        names = [method.class_name for method in available() if issubclass(method.estimator_class, BaseSVC)]
        raise TypeError(
            f"{name} has no form in ONNX here: export one of {', '.join(names)}, a ThresholdClassifier around one, or "
            "a pipeline that ends with one. semisvm.save keeps any model for Python."
        )
    kernel = inner._formula.name
    if kernel not in ONNX_KERNELS:
        raise TypeError(
            f"ONNX has no kernel {kernel!r}: fit with one of {', '.join(ONNX_KERNELS)}, or keep the model for Python "
            "with semisvm.save."
        )


def model_card(model: Any, *, description: str = "", limitations: str = "", **sections: str) -> Any:
    """Return a model card: what the model is, what is known of its errors, and what that rests on.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library, or a pipeline that ends with one.
    description : str, default=""
        What the model is for.
    limitations : str, default=""
        What it must not be used for; what is known of the evidence is added.
    **sections : str
        Further sections: their titles and texts, in Markdown.

    Returns
    -------
    skops.card.Card
        With `save`, `render` and `add`; its operating points are those of the model.

    See Also
    --------
    semisvm.report.write_report : A page about a model of a table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import PreferenceSVC
    >>> from semisvm.export import model_card
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[::2] = -1  # every second label is hidden
    >>> model = PreferenceSVC(min_recall=0.9, random_state=0).fit(X, y)
    >>> "Recall at least 0.9" in model_card(model, description="Tumors.").render()
    True
    """
    from skops.card import Card

    check_is_fitted(model)
    final = model.steps[-1][1] if isinstance(model, Pipeline) else model
    card = Card(model, template=None)
    method = next((one for one in available() if one.class_name == type(final).__name__), None)
    known = "" if method is None else f" ({method.paper_name}: {method.about})"
    made_by = f"`{type(final).__name__}`{known}, semisvm {import_module('semisvm').__version__}."
    card.add(
        Model=f"{description}\n\n{made_by}".strip(),
        Classes=", ".join(f"`{name}`" for name in final.classes_),
    )
    points = getattr(final, "operating_points_", None) or {}
    said = [f"Class `{name}`:\n\n```\n{point}\n```" for name, point in points.items() if point is not None]
    nothing = "No precision or recall was asked for, so nothing is promised. Measure the model on labels of its own."
    card.add(**{"Operating points": "\n\n".join(said) or nothing})
    ledger = getattr(final, "campaigns_", None) or getattr(getattr(final, "estimator_", None), "campaigns_", [])
    if ledger:
        lines = [
            f"{entry['campaign']}. {entry['target']} ({entry['claim']}), risk {entry['risk']:.2g}" for entry in ledger
        ]
        card.add(Campaigns="\n".join(lines) + "\n\nThe risks add up.")
    card.add(Limitations=f"{limitations}\n\n{EVIDENCE}".strip())
    card.add_hyperparams(section="Parameters")
    card.add(**sections)
    return card


# ---- the converter, in the three functions that skl2onnx asks for ----


def _declare_outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(f"Semisvm{type(model).__name__}", model)
    operator.inputs = inputs
    label = Int64TensorType() if model.classes_.dtype.kind in "iub" else StringTensorType()
    operator.outputs.append(scope.declare_local_variable("label", label))
    operator.outputs.append(scope.declare_local_variable("scores", DoubleTensorType()))
    return operator.outputs


def _set_shapes(operator: Any) -> None:
    model = operator.raw_operator
    n_rows = operator.inputs[0].type.shape[0]
    operator.outputs[0].type.shape = [n_rows]
    operator.outputs[1].type.shape = [n_rows] if len(model.classes_) == 2 else [n_rows, len(model.classes_)]


class _Operators:
    """ONNX's operators of one version: ``op.MatMul(a, b)``."""

    def __init__(self, opset: int):
        self._opset = opset

    def __getattr__(self, name: str) -> Any:
        from skl2onnx.algebra import onnx_ops

        return partial(getattr(onnx_ops, f"Onnx{name}"), op_version=self._opset)

    def as_type(self, value: Any, name: str) -> Any:
        """Cast to the type of this name: "DOUBLE", "FLOAT", "INT64"."""
        from onnx import TensorProto

        return self.Cast(value, to=getattr(TensorProto, name))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model, op = operator.raw_operator, _Operators(container.target_opset)
    decision = _decision(model, op.as_type(operator.inputs[0], "DOUBLE"), op)
    names = model.classes_
    names = names.astype(np.int64) if names.dtype.kind in "iub" else names.astype(str).astype(object)
    label, scores = (output.full_name for output in operator.outputs)
    op.Gather(names, _winner(model, decision, op), axis=0, output_names=[label]).add_to(scope, container)
    op.Identity(decision, output_names=[scores]).add_to(scope, container)


def _decision(model: Any, X: Any, op: _Operators) -> Any:
    """What `decision_function` returns, (n,) or (n, n_classes)."""
    if not isinstance(model, ThresholdClassifier):
        return _svm_decision(model, X, op)
    is_positive = model.classes_ == model._positive_class()
    if len(model.classes_) == 2:
        # Of the first class a row is accepted where minus the score is above the threshold.
        shift = np.array(model.threshold if is_positive[1] else -model.threshold)
    else:
        shift = np.where(is_positive, model.threshold, 0.0)
    return op.Sub(_svm_decision(model.estimator_, X, op), shift)


def _winner(model: Any, decision: Any, op: _Operators) -> Any:
    """The index of the predicted class, (n,)."""
    if len(model.classes_) > 2:
        return op.ArgMax(decision, axis=1, keepdims=0)
    # A row exactly at a certified threshold is not accepted, whichever class is the positive one.
    is_first_positive = isinstance(model, ThresholdClassifier) and model._positive_class() == model.classes_[0]
    above = op.GreaterOrEqual if is_first_positive else op.Greater
    return op.as_type(above(decision, np.array(0.0)), "INT64")


def _svm_decision(model: BaseSVC, X: Any, op: _Operators) -> Any:
    formula = model._formula
    if formula.name == "linear":
        products = op.MatMul(X, np.asarray(model.coef_, dtype=np.float64).T.copy())
    else:
        vectors: Any = model.support_vectors_
        dense = np.asarray(vectors.toarray() if sparse.issparse(vectors) else vectors, dtype=np.float64)
        products = op.MatMul(_kernel(formula, X, dense, op), np.asarray(model.dual_coef_, dtype=np.float64).T.copy())
    scores = _beyond_thresholds(model, op.Add(products, np.asarray(model.intercept_, dtype=np.float64)), op)
    if len(model.classes_) == 2:
        decision = op.Reshape(scores, np.array([-1], dtype=np.int64))
    elif model._scheme == "ovo":
        decision = _votes(scores, len(model.classes_), op)
    else:
        decision = scores if model._scheme == "ovr" else op.Neg(scores)
    return _guarded(model, decision, op)


def _kernel(formula: Any, X: Any, vectors: np.ndarray, op: _Operators) -> Any:
    dots = op.MatMul(X, vectors.T.copy())
    if formula.name == "rbf":
        squares = op.ReduceSumSquare(X, np.array([1], dtype=np.int64), keepdims=1)
        distance = op.Add(op.Add(op.Mul(dots, np.array(-2.0)), squares), (vectors**2).sum(axis=1))
        return op.Exp(op.Mul(op.Max(distance, np.array(0.0)), np.array(-formula.gamma)))
    inner = op.Add(op.Mul(dots, np.array(formula.gamma)), np.array(formula.coef0))
    return op.Tanh(inner) if formula.name == "sigmoid" else op.Pow(inner, np.array(float(formula.degree)))


def _beyond_thresholds(model: Any, scores: Any, op: _Operators) -> Any:
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


def _votes(scores: Any, n_classes: int, op: _Operators) -> Any:
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


def _guarded(model: Any, decision: Any, op: _Operators) -> Any:
    """Move all scores to the side of the constant that the guard chose: s + sqrt(s^2 + 1), or s - sqrt(s^2 + 1)."""
    constant = getattr(model, "_constant", None)
    if constant is None:
        return decision
    # onnxruntime has Asinh for float32 only: ranks stay, the last digits of a constant's scores do not.
    angle = op.as_type(op.Asinh(op.as_type(decision, "FLOAT")), "DOUBLE")
    is_chosen = np.arange(len(model.classes_)) == constant
    return op.Where(is_chosen if len(is_chosen) > 2 else is_chosen[1:], op.Exp(angle), op.Neg(op.Exp(op.Neg(angle))))
