"""Every private name of scikit-learn that is used here: what a new release may break is read off
this file.

scikit-learn's own developer guide uses these names for third-party estimators, and has no public
ones.
"""

from __future__ import annotations

import sys
from importlib import import_module
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
    "import_skops_io",
    "num_samples",
    "safe_indexing",
    "safe_split",
]


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
