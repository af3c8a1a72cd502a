"""Fitted models in other systems: ONNX graphs, and model cards.

An SVM is exported as the formula that it is, in float64 whatever the type of the rows:

    scores (n, n_problems) = k(X, support vectors) dual_coef' + intercept
    decision               = scores combined over the binary problems, minus thresholds
    label                  = the class of the largest decision; of two, the second where it is above 0

Thresholds (of a preference, of positives and unlabeled rows, of a campaign) and the guard's constant are in the graph.
"""

from __future__ import annotations

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
    >>> y[200:] = -1
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


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto
    from skl2onnx.algebra.onnx_ops import OnnxCast, OnnxGather, OnnxIdentity

    model = operator.raw_operator
    opset = container.target_opset
    X = OnnxCast(operator.inputs[0], to=TensorProto.DOUBLE, op_version=opset)
    decision = _decision(model, X, opset)
    code = _winner(model, decision, opset)
    names = model.classes_
    names = names.astype(np.int64) if names.dtype.kind in "iub" else names.astype(str).astype(object)
    label = OnnxGather(names, code, axis=0, op_version=opset, output_names=[operator.outputs[0].full_name])
    scores = OnnxIdentity(decision, op_version=opset, output_names=[operator.outputs[1].full_name])
    label.add_to(scope, container)
    scores.add_to(scope, container)


def _decision(model: Any, X: Any, opset: int) -> Any:
    """What `decision_function` returns, (n,) or (n, n_classes)."""
    from skl2onnx.algebra.onnx_ops import OnnxSub

    if not isinstance(model, ThresholdClassifier):
        return _svm_decision(model, X, opset)
    inner = _svm_decision(model.estimator_, X, opset)
    place = list(model.classes_).index(model._positive_class())
    if len(model.classes_) == 2:
        # Of the first class a row is accepted where minus the score is above the threshold.
        shift = np.array(model.threshold if place == 1 else -model.threshold)
        return OnnxSub(inner, shift, op_version=opset)
    return OnnxSub(inner, np.where(np.arange(len(model.classes_)) == place, model.threshold, 0.0), op_version=opset)


def _winner(model: Any, decision: Any, opset: int) -> Any:
    """The index of the predicted class, (n,)."""
    from onnx import TensorProto
    from skl2onnx.algebra.onnx_ops import OnnxArgMax, OnnxCast, OnnxGreater, OnnxGreaterOrEqual

    if len(model.classes_) > 2:
        return OnnxArgMax(decision, axis=1, keepdims=0, op_version=opset)
    # A row exactly at a certified threshold is not accepted, whichever class is the positive one.
    is_first_positive = isinstance(model, ThresholdClassifier) and model._positive_class() == model.classes_[0]
    above = OnnxGreaterOrEqual if is_first_positive else OnnxGreater
    return OnnxCast(above(decision, np.array(0.0), op_version=opset), to=TensorProto.INT64, op_version=opset)


def _svm_decision(model: BaseSVC, X: Any, opset: int) -> Any:
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxMatMul, OnnxNeg, OnnxReshape

    vectors, formula = model.support_vectors_, model._formula
    dense: Any = vectors.toarray() if sparse.issparse(vectors) else vectors  # type: ignore[union-attr]
    vectors = np.asarray(dense, dtype=np.float64)
    coefficients = np.asarray(model.dual_coef_, dtype=np.float64).T
    if formula.name == "linear":
        products = OnnxMatMul(X, vectors.T @ coefficients, op_version=opset)
    else:
        products = OnnxMatMul(_kernel(formula, X, vectors, opset), coefficients, op_version=opset)
    scores = OnnxAdd(products, np.asarray(model.intercept_, dtype=np.float64), op_version=opset)
    scores = _beyond_thresholds(model, scores, opset)
    n_classes = len(model.classes_)
    if n_classes == 2:
        decision = OnnxReshape(scores, np.array([-1], dtype=np.int64), op_version=opset)
    elif model._scheme == "ovo":
        decision = _votes(scores, n_classes, opset)
    else:
        decision = scores if model._scheme == "ovr" else OnnxNeg(scores, op_version=opset)
    return _guarded(model, decision, opset)


def _kernel(formula: Any, X: Any, vectors: np.ndarray, opset: int) -> Any:
    from skl2onnx.algebra.onnx_ops import (
        OnnxAdd,
        OnnxExp,
        OnnxMatMul,
        OnnxMax,
        OnnxMul,
        OnnxPow,
        OnnxReduceSumSquare,
        OnnxTanh,
    )

    dots = OnnxMatMul(X, vectors.T.copy(), op_version=opset)
    if formula.name == "rbf":
        squares = OnnxReduceSumSquare(X, np.array([1], dtype=np.int64), keepdims=1, op_version=opset)
        far = OnnxAdd(OnnxMul(dots, np.array(-2.0), op_version=opset), squares, op_version=opset)
        far = OnnxAdd(far, (vectors**2).sum(axis=1), op_version=opset)
        far = OnnxMax(far, np.array(0.0), op_version=opset)
        return OnnxExp(OnnxMul(far, np.array(-formula.gamma), op_version=opset), op_version=opset)
    inner = OnnxAdd(OnnxMul(dots, np.array(formula.gamma), op_version=opset), np.array(formula.coef0), op_version=opset)
    if formula.name == "sigmoid":
        return OnnxTanh(inner, op_version=opset)
    return OnnxPow(inner, np.array(float(formula.degree)), op_version=opset)


def _beyond_thresholds(model: Any, scores: Any, opset: int) -> Any:
    """Subtract the thresholds of the binary problems, where the model has some."""
    from skl2onnx.algebra.onnx_ops import OnnxAbs, OnnxAdd, OnnxDiv, OnnxSub

    thresholds = getattr(model, "threshold_", None)
    if thresholds is None:
        return scores
    thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    if np.isfinite(thresholds).all():
        return OnnxSub(scores, thresholds, op_version=opset)
    # An infinite threshold accepts every row, or none: s / (1 + |s|) - 1 is below 0 and ranks as s does.
    size = OnnxAdd(OnnxAbs(scores, op_version=opset), np.array(1.0), op_version=opset)
    is_finite = np.isfinite(thresholds)
    one_side = OnnxSub(OnnxDiv(scores, size, op_version=opset), np.sign(thresholds), op_version=opset)
    plain = OnnxSub(scores, np.where(is_finite, thresholds, 0.0), op_version=opset)
    return _where(is_finite, plain, one_side, opset)


def _votes(scores: Any, n_classes: int, opset: int) -> Any:
    """Votes of the pairs of classes, and within equal votes the summed scores, as `binary.combine` gives them."""
    from onnx import TensorProto
    from skl2onnx.algebra.onnx_ops import OnnxAbs, OnnxAdd, OnnxCast, OnnxDiv, OnnxGreater, OnnxMatMul, OnnxMul

    pairs = list(combinations(range(n_classes), 2))
    signs = np.zeros((len(pairs), n_classes))
    for k, (i, j) in enumerate(pairs):
        signs[k, i], signs[k, j] = 1.0, -1.0
    first_wins = OnnxGreater(scores, np.array(0.0), op_version=opset)
    first_wins = OnnxCast(first_wins, to=TensorProto.DOUBLE, op_version=opset)
    # A pair votes for its first class where it wins, else for its second: wins * signs + (second classes).
    votes = OnnxMatMul(first_wins, signs, op_version=opset)
    votes = OnnxAdd(votes, (signs < 0).sum(axis=0).astype(np.float64), op_version=opset)
    strength = OnnxMatMul(scores, signs, op_version=opset)
    size = OnnxAdd(OnnxAbs(strength, op_version=opset), np.array(1.0), op_version=opset)
    squeezed = OnnxDiv(strength, OnnxMul(size, np.array(3.0), op_version=opset), op_version=opset)
    return OnnxAdd(votes, squeezed, op_version=opset)


def _guarded(model: Any, decision: Any, opset: int) -> Any:
    """Move all scores to the side of the constant that the guard chose: s + sqrt(s^2 + 1), or s - sqrt(s^2 + 1)."""
    from skl2onnx.algebra.onnx_ops import OnnxAsinh, OnnxCast, OnnxExp, OnnxNeg

    constant = getattr(model, "_constant", None)
    if constant is None:
        return decision
    from onnx import TensorProto

    chosen = np.arange(len(model.classes_)) == constant
    # onnxruntime has Asinh for float32 only: ranks stay, the last digits of a constant's scores do not.
    single = OnnxAsinh(OnnxCast(decision, to=TensorProto.FLOAT, op_version=opset), op_version=opset)
    angle = OnnxCast(single, to=TensorProto.DOUBLE, op_version=opset)
    up = OnnxExp(angle, op_version=opset)
    down = OnnxNeg(OnnxExp(OnnxNeg(angle, op_version=opset), op_version=opset), op_version=opset)
    return _where(chosen if len(model.classes_) > 2 else chosen[1:], up, down, opset)


def _where(mask: np.ndarray, yes: Any, no: Any, opset: int) -> Any:
    from skl2onnx.algebra.onnx_ops import OnnxWhere

    return OnnxWhere(mask, yes, no, op_version=opset)
