"""Every private name of scikit-learn that is used here: what a new release may break is read off this file.

scikit-learn's own developer guide uses these names for third-party estimators, and has no public ones.
"""

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
    "safe_indexing",
    "safe_split",
]
