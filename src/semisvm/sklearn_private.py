"""Every private name of scikit-learn that is used here, and what older releases lack: what a new
release may break is read off this file.

scikit-learn's own developer guide uses the private names for third-party estimators, and has no
public ones. `sklearn.callback` is new in 1.9; before it, `set_callbacks` has the same meaning for
our own estimators, and scikit-learn's meta-estimators pass no callbacks on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import update_wrapper, wraps
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata
from inspect import signature
from types import MethodType
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection._univariate_selection import _BaseFilter as BaseFilter
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import _get_output_config as output_config
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock

    class DiagramMixin:
        """Estimators whose diagram in notebooks is made by `_html_repr`: all of them are."""
except ImportError:  # scikit-learn before 1.7
    from sklearn.utils import estimator_html_repr
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

    class DiagramMixin:  # type: ignore[no-redef]
        """Estimators whose diagram in notebooks is made by `_html_repr`."""

        def _html_repr(self) -> str:
            return estimator_html_repr(self)

        def _repr_html_inner(self) -> str:
            return self._html_repr()

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
            bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
            return bundle | ({"text/html": self._html_repr()} if "text/html" in bundle else {})


try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Estimators that report their progress to callbacks."""

        def set_callbacks(self, *callbacks: Any) -> Any:
            """Set the callbacks that the next fits call.

            Parameters
            ----------
            *callbacks : callback instances
                Objects with the methods of scikit-learn's `FitCallback`.

            Returns
            -------
            self : estimator instance
                The estimator itself.
            """
            hooks = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")
            for callback in callbacks:
                if isinstance(callback, type) or not all(hasattr(callback, h) for h in hooks):
                    raise TypeError(
                        "callbacks must be instances following the FitCallback protocol."
                    )
            vars(self).pop("_skl_callbacks", None)
            if callbacks:
                vars(self)["_skl_callbacks"] = callbacks
            return self

        def _init_callback_context(self, max_subtasks: int | None = 0) -> _Task:
            task = _Task(getattr(self, "_skl_callbacks", ()), "fit")
            for callback in task.callbacks:
                callback.setup(estimator=self, context=task)
            return task

    class _Task:
        """A task of a fit, with the methods of scikit-learn's `CallbackContext` that are used."""

        def __init__(self, callbacks: tuple, task_name: str, parent: _Task | None = None):
            self.callbacks = callbacks
            self.task_name = task_name
            self.parent = parent

        def subcontext(self, task_name: str = "", max_subtasks: int | None = 0) -> _Task:
            return _Task(self.callbacks, task_name, self)

        def call_on_fit_task_begin(self, *, estimator: Any) -> None:
            for callback in self.callbacks:
                callback.on_fit_task_begin(estimator, self)

        def call_on_fit_task_end(self, *, estimator: Any) -> bool:
            wishes = [callback.on_fit_task_end(estimator, self) for callback in self.callbacks]
            return any(wishes)

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:  # type: ignore[no-redef]
        """Return a method after which callbacks are notified that the fit is over."""

        @wraps(method)
        def fit(estimator: Any, *arguments: Any, **options: Any) -> Any:
            try:
                return method(estimator, *arguments, **options)
            finally:
                for callback in getattr(estimator, "_skl_callbacks", ()):
                    callback.teardown(estimator=estimator, context=None)

        return fit


__all__ = [
    "CallbackSupportMixin",
    "DiagramMixin",
    "DocumentationLinkMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "VisualBlock",
    "available_unless",
    "check_sample_weight",
    "fit_context",
    "num_samples",
    "output_container",
    "parameter_names",
    "safe_indexing",
    "safe_split",
    "start_callbacks",
    "takes_sample_weight",
    "targets_of_callers",
    "with_callbacks",
]

# Packages whose functions may stand between a tool of scikit-learn and an estimator; a function of
# anybody else ends the search, since it has its own reasons for what it passes on.
_BETWEEN = {"sklearn", "semisvm", "joblib", "contextlib", "threadpoolctl"}


class DocumentationLinkMixin:
    """Mixin for estimators: the diagram links to the page of the class, if the installed package
    names the address of its documentation (``Project-URL: Documentation``).

    It must come before scikit-learn's `BaseEstimator` among the base classes.
    """

    def _get_doc_link(self) -> str:
        package, _, _ = type(self).__module__.partition(".")
        try:
            links = metadata("semisvm").get_all("Project-URL", [])
        except PackageNotFoundError:
            links = []
        address = dict(link.split(", ", 1) for link in links).get("Documentation")
        if address is None or package != "semisvm":
            return ""
        page = f"reference/generated/semisvm.{type(self).__name__}.html"
        return f"{address.rstrip('/')}/{page}"


class available_unless:
    """`available_if` of scikit-learn with a reason: a method is an attribute of an estimator unless
    ``reason(estimator)`` is a sentence, with which the AttributeError ends. scikit-learn's own
    replaces what the check says.
    """

    def __init__(self, reason: Callable[[Any], str]):
        self.reason = reason

    def __call__(self, method: Callable[..., Any]) -> Any:
        self.method = method
        return update_wrapper(self, method)

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self.method
        if reason := self.reason(estimator):
            name = self.method.__name__
            raise AttributeError(f"This {owner.__name__!r} has no attribute {name!r}. {reason}")
        return MethodType(self.method, estimator)


def output_container(estimator: Any) -> str:
    """What a transformer returns: "default", "pandas" or "polars"."""
    return output_config("transform", estimator)["dense"]


def parameter_names(estimator_class: Any) -> list[str]:
    """The names of the parameters of an estimator, sorted."""
    return estimator_class._get_param_names()


def start_callbacks(estimator: Any, max_subtasks: int | None) -> Any:
    """The root of the tasks of a fit, which calls the estimator's callbacks."""
    return estimator._init_callback_context(max_subtasks=max_subtasks)


def takes_sample_weight(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer, or the metric that it is made of, has a parameter sample_weight."""
    return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters


def targets_of_callers() -> Iterator[tuple[str, Any]]:
    """The targets and classes of the functions of scikit-learn that called: (tool, values).

    Tools such as `VotingClassifier` number the classes of y before they fit, and scorers hand an
    estimator the rows alone. No argument, tag or metadata tells an estimator what the tool takes
    for classes, and a wrong score without an error is worse than reading the frames of the calling
    functions; nothing else here depends on its caller. Where a release keeps its classes elsewhere,
    nothing is yielded; ``tests/test_sklearn_tools.py`` notices.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in _BETWEEN:
            return
        if module.startswith("sklearn.") and module != "sklearn.base":
            yield from _targets_of(module, frame.f_locals)
        frame = frame.f_back


def _targets_of(module: str, local: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a function of scikit-learn with these local variables takes for classes."""
    tool = local.get("ensemble", local.get("self"))
    if module == "sklearn.metrics._scorer":
        yield "scoring", local.get("y_true", ())
    elif module.startswith("sklearn.metrics."):  # pictures of an estimator's predictions
        yield getattr(local.get("cls"), "__name__", "scoring"), local.get("y", ())
    elif module == "sklearn.calibration":  # a worker process has no frame of the calibrator
        yield "CalibratedClassifierCV", local.get("classes", ())
    elif module == "sklearn.ensemble._weight_boosting":  # counts errors on all rows
        yield "AdaBoostClassifier", local.get("y", ())
    elif module == "sklearn.model_selection._validation":  # labels as numbers, of probabilities
        yield "cross_val_predict", getattr(local.get("le"), "classes_", ())
    elif isinstance(tool, Pipeline) and "y" in local:
        for step in _flattened([step for _, step in tool.steps[:-1]]):
            if isinstance(step, BaseFilter) or get_tags(step).target_tags.required:
                yield type(step).__name__, local["y"]
    if type(tool).__module__.startswith("sklearn."):
        yield type(tool).__name__, getattr(tool, "classes_", ())


def _flattened(steps: list[Any]) -> Iterator[Any]:
    """The transformers among these, and those inside a `ColumnTransformer`, except those that know
    the marker: our own, and those with a model inside, such as `RFE`.
    """
    for step in steps:
        if isinstance(step, ColumnTransformer):
            yield from _flattened([part[1] for part in step.transformers])
        elif hasattr(step, "transform") and not (
            hasattr(step, "estimator") or type(step).__module__.startswith("semisvm.")
        ):
            yield step


def import_skops_io() -> Any:
    """Import `skops.io` without PyTorch, CuPy and Dask.

    skops lists the estimators of scikit-learn when it is imported, and for that every package of
    scikit-learn is imported, its adapters to these libraries too. Where they are installed that
    takes up to ten seconds. The adapters hold no estimators: they are not looked through here.
    """
    adapters = sys.modules.get("sklearn.externals.array_api_compat")  # scikit-learn 1.6 has none
    path = getattr(adapters, "__path__", [])
    try:
        if adapters is not None:
            adapters.__path__ = []
        return import_module("skops.io")
    finally:
        if adapters is not None:
            adapters.__path__ = path
