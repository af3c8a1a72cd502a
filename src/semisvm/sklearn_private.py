"""Every private name of scikit-learn that is used here: what a new release may break is read off this file.

scikit-learn's own developer guide uses these names for third-party estimators, and has no public ones.
"""

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "num_samples",
    "parameter_names",
    "safe_indexing",
    "safe_split",
    "start_callbacks",
]


def parameter_names(estimator_class: Any) -> list[str]:
    """The names of the parameters of an estimator, sorted."""
    return estimator_class._get_param_names()


def start_callbacks(estimator: Any, max_subtasks: int | None) -> Any:
    """The root of the tasks of a fit, which calls the estimator's callbacks."""
    return estimator._init_callback_context(max_subtasks=max_subtasks)
