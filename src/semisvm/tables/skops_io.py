"""`skops.io`, imported without PyTorch, CuPy and Dask.

skops lists the estimators of scikit-learn when it is imported, and for that every package of
scikit-learn is imported, its adapters to these libraries too. Where they are installed that takes
up to ten seconds. The adapters hold no estimators: they are not looked through here.
"""

import sys

import sklearn.base  # noqa: F401 - loads the adapters that are needed

_adapters = sys.modules.get("sklearn.externals.array_api_compat")  # scikit-learn 1.6 has none
_path = getattr(_adapters, "__path__", [])
try:
    if _adapters is not None:
        _adapters.__path__ = []
    from skops import io as skops_io
finally:
    if _adapters is not None:
        _adapters.__path__ = _path

__all__ = ["skops_io"]
