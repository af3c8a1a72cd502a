"""Fitted models in other systems: ONNX graphs, and model cards.

A model is exported as the formula that it is (`graphs`), in float64 whatever the type of the rows. Thresholds (of a
preference, of positives and unlabeled rows, of a campaign) and the guard's constant are in the graph.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from semisvm.campaign import ThresholdClassifier
from semisvm.estimators import METHODS
from semisvm.estimators.auto import AutoSVC
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.preference import PreferenceClassifier
from semisvm.export.graphs import EXPORTED, decision_of, winner_of

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
        A fitted estimator of this library, a `ThresholdClassifier` around one, or a pipeline that ends with one and
        whose other steps skl2onnx knows (scalers, imputers, one-hot encoders, TF-IDF, ...). `PreferenceClassifier`
        has to stand around a classifier that skl2onnx knows, and `AutoSVC` has to be fitted on points.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Of the rows that the graph takes. It computes in float64.
    opset : int, default=18
        The version of ONNX's operators, 18 or newer.

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
        If the model, or its kernel, has no form in ONNX: `AutoSVC` of a table or of texts, and kernels that are
        functions or precomputed matrices.

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
    if opset < OPSET:
        raise ValueError(f"opset must be {OPSET} or newer, got {opset}: older operators take other arguments.")
    rows = kind([None, int(model.n_features_in_)])
    return convert_sklearn(model, initial_types=[("X", rows)], target_opset={"": opset, "ai.onnx.ml": 3})


def register_converters() -> None:
    """Tell skl2onnx how to convert the estimators of this library, so that its own functions can do it too."""
    from skl2onnx import update_registered_converter

    found = [method.estimator_class for method in METHODS if issubclass(method.estimator_class, EXPORTED)]
    for estimator_class in (*found, PreferenceClassifier, ThresholdClassifier):
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
        names = [method.class_name for method in METHODS if issubclass(method.estimator_class, EXPORTED)]
        raise TypeError(
            f"{name} has no form in ONNX here: export one of {', '.join(names)}, a ThresholdClassifier around one, or "
            "a pipeline that ends with one. semisvm.save keeps any model for Python."
        )
    if isinstance(inner, AutoSVC) and inner._groups is not None:
        raise TypeError(
            f"{name} has a form in ONNX for points only, and this one was fitted on "
            f"{'a table' if inner._groups else 'texts'}: prepare the columns in a pipeline of scikit-learn that ends "
            "with AutoSVC(columns='points'), or keep the model for Python with semisvm.save."
        )
    if isinstance(inner, PreferenceClassifier):
        for one in inner.estimators_:
            if isinstance(one, EXPORTED):
                _refuse_what_onnx_lacks(one)
    if not isinstance(inner, BaseSVC):
        return
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
    method = next((one for one in METHODS if one.class_name == type(final).__name__), None)
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

    def __init__(self, container: Any):
        self._container, self.opset = container, container.target_opset

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
        return OnnxSubEstimator(model, X, op_version=self.opset, options=options or None, input_types=[rows])

    def as_type(self, value: Any, name: str) -> Any:
        """Cast to the type of this name: "DOUBLE", "FLOAT", "INT64"."""
        from onnx import TensorProto

        return self.Cast(value, to=getattr(TensorProto, name))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model, op = operator.raw_operator, _Operators(container)
    decision = decision_of(model, op.as_type(operator.inputs[0], "DOUBLE"), op)
    names = model.classes_
    names = names.astype(np.int64) if names.dtype.kind in "iub" else names.astype(str).astype(object)
    label, scores = (output.full_name for output in operator.outputs)
    op.Gather(names, winner_of(model, decision, op), axis=0, output_names=[label]).add_to(scope, container)
    op.Identity(decision, output_names=[scores]).add_to(scope, container)
