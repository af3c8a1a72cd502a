"""Export of fitted models for other systems, as ONNX graphs.

A model is exported as its formula (`graphs`), computed in float64 for rows of any type. Thresholds
(of a preference, of positives and unlabeled rows, of a campaign) and the guard's constant are in
the graph.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from semisvm.campaign import ThresholdClassifier
from semisvm.estimators import METHODS
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.preference import PreferenceClassifier
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.estimators.svc_cv import SVCCV
from semisvm.export.graphs import (
    EXPORTED,
    decision_of,
    has_probabilities,
    probabilities_of,
    winner_of,
)

__all__ = ["register_converters", "to_onnx"]

OPSET = 18
ONNX_KERNELS = ("linear", "rbf", "poly", "sigmoid")
INSTALL = 'pip install "semisvm[onnx]"'


def to_onnx(model: Any, X: Any = None, *, dtype: Any = None, opset: int = OPSET) -> Any:
    """Return a fitted model as an ONNX graph, including its thresholds.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library, a `ThresholdClassifier` around one, or a pipeline that
        ends with one and whose other steps skl2onnx knows (scalers, imputers, one-hot encoders,
        TF-IDF, ...). `PreferenceClassifier` has to wrap a classifier that skl2onnx supports.
    X : array-like of shape (n, n_features), default=None
        Some rows, from which the type of the input is inferred, as in skl2onnx.
    dtype : {numpy.float32, numpy.float64}, default=None
        Type of the input. None: that of X if it is one of these, else numpy.float32. The graph
        computes in float64.
    opset : int, default=18
        Version of ONNX's operators, 18 or newer.

    Returns
    -------
    onnx.ModelProto
        The graph, with the input "X", (n, n_features), and the outputs "label", (n,), "scores", as
        returned by `decision_function`, and if the model has `predict_proba`, "probabilities", (n,
        n_classes). Write its ``SerializeToString()`` to a file.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.
    TypeError
        If the model or its kernel can't be exported: `AutoSVC`, and callable or precomputed
        kernels.

    See Also
    --------
    register_converters : For skl2onnx's own functions.
    semisvm.save : Saves any model to a file for Python.

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
    register_converters(type(final), type(getattr(final, "estimator_", None)))
    if dtype is None:
        dtype = np.float64 if getattr(X, "dtype", None) == np.float64 else np.float32
    kinds = {np.dtype(np.float32): FloatTensorType, np.dtype(np.float64): DoubleTensorType}
    kind = kinds.get(np.dtype(dtype))
    if kind is None:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype!r}.")
    if opset < OPSET:
        raise ValueError(
            f"opset must be {OPSET} or newer, got {opset}: older operators take other arguments."
        )
    rows = kind([None, int(model.n_features_in_)])
    return convert_sklearn(
        model, initial_types=[("X", rows)], target_opset={"": opset, "ai.onnx.ml": 3}
    )


def register_converters(*more: type) -> None:
    """Register converters of this library's estimators with skl2onnx.

    After that ``skl2onnx.to_onnx(pipeline, X)`` converts pipelines that end with one of them.

    Parameters
    ----------
    *more : type
        Further estimator classes that are built from these estimators.

    See Also
    --------
    to_onnx : Registers the converters and exports a model.
    """
    from skl2onnx import update_registered_converter

    classes = [method.estimator_class for method in METHODS] + [SVCCV, PaperPreferenceSVC, *more]
    exported = {each for each in classes if issubclass(each, EXPORTED)}
    for estimator_class in (*exported, PreferenceClassifier, ThresholdClassifier):
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
    if not isinstance(inner, EXPORTED):
        names = [
            method.class_name for method in METHODS if issubclass(method.estimator_class, EXPORTED)
        ]
        raise TypeError(
            f"{name} can't be exported to ONNX: export one of {', '.join(names)}, a"
            " ThresholdClassifier around one, or a pipeline that ends with one. semisvm.save keeps"
            " any model for Python."
        )
    if isinstance(inner, PreferenceClassifier):
        for estimator in inner.estimators_:
            while isinstance(estimator, Pipeline):
                estimator = estimator.steps[-1][1]
            if isinstance(estimator, EXPORTED):
                _refuse_what_onnx_lacks(estimator)
    if not isinstance(inner, BaseSVC):
        return
    kernel = inner._formula.name
    if kernel not in ONNX_KERNELS:
        raise TypeError(
            f"ONNX has no kernel {kernel!r}: fit with one of {', '.join(ONNX_KERNELS)}, or keep the"
            " model for Python with semisvm.save."
        )


# ---- the converter, in the three functions that skl2onnx asks for ----


def _declare_outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(f"Semisvm{type(model).__name__}", model)
    operator.inputs = inputs
    label = Int64TensorType() if model.classes_.dtype.kind in "iub" else StringTensorType()
    operator.outputs.append(scope.declare_local_variable("label", label))
    operator.outputs.append(scope.declare_local_variable("scores", DoubleTensorType()))
    if has_probabilities(model):
        operator.outputs.append(scope.declare_local_variable("probabilities", DoubleTensorType()))
    return operator.outputs


def _set_shapes(operator: Any) -> None:
    model = operator.raw_operator
    n_rows = operator.inputs[0].type.shape[0]
    operator.outputs[0].type.shape = [n_rows]
    operator.outputs[1].type.shape = (
        [n_rows] if len(model.classes_) == 2 else [n_rows, len(model.classes_)]
    )
    for output in operator.outputs[2:]:
        output.type.shape = [n_rows, len(model.classes_)]


class _Operators:
    """ONNX's operators of one version: ``op.MatMul(a, b)``."""

    def __init__(self, container: Any):
        self._container = container
        self.opset = container.target_opset

    def __getattr__(self, name: str) -> Any:
        from skl2onnx.algebra import onnx_ops

        return partial(getattr(onnx_ops, f"Onnx{name}"), op_version=self.opset)

    def of_estimator(self, model: Any, X: Any, **options: Any) -> Any:
        """The outputs of skl2onnx's graph of a fitted estimator; options as skl2onnx has them."""
        from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

        # Trees of scikit-learn round their rows to float32.
        is_tree = hasattr(model, "tree_") or hasattr(model, "estimators_")
        rows = (FloatTensorType if is_tree else DoubleTensorType)([None, int(model.n_features_in_)])
        X = self.as_type(X, "FLOAT" if is_tree else "DOUBLE")
        # Parsers ask the scope for options, converters the container.
        self._container.options = {**(self._container.options or {}), id(model): options}
        return OnnxSubEstimator(
            model, X, op_version=self.opset, options=options or None, input_types=[rows]
        )

    def has_option(self, model: Any, name: str) -> bool:
        """Whether skl2onnx has this option for an estimator."""
        return self._container.has_options(model, name)

    def as_type(self, value: Any, name: str) -> Any:
        """Cast to the type of this name: "DOUBLE", "FLOAT", "INT64"."""
        from onnx import TensorProto

        return self.Cast(value, to=getattr(TensorProto, name))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model = operator.raw_operator
    op = _Operators(container)
    X = op.as_type(operator.inputs[0], "DOUBLE")
    decision = decision_of(model, X, op)
    names = model.classes_
    names = (
        names.astype(np.int64) if names.dtype.kind in "iub" else names.astype(str).astype(object)
    )
    label, scores, *probabilities = (output.full_name for output in operator.outputs)
    op.Gather(names, winner_of(model, decision, op), axis=0, output_names=[label]).add_to(
        scope, container
    )
    op.Identity(decision, output_names=[scores]).add_to(scope, container)
    if probabilities:
        chance = probabilities_of(model, X, op)
        op.Identity(chance, output_names=probabilities).add_to(scope, container)
