"""Whether a loaded model can predict: what scores are computed from must be finite numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

# What scores are computed from. Thresholds may be infinite, and what is known about a fit may be missing.
MUST_BE_FINITE = frozenset(
    [
        "dual_coef_",
        "intercept_",
        "support_vectors_",
        "means_",
        "covariances_",
        "weights_",
        "means",
        "covariances",
        "ridge",
        "gamma",
        "coef0",
        "degree",
        "mean_",
        "scale_",
        "idf_",
    ]
)


def undefined_number(loaded: Any) -> str | None:
    """The name of a fitted array, or of the threshold, that holds NaN or an infinity where prediction needs numbers."""
    pending = list(loaded.values()) if isinstance(loaded, dict) else [loaded]
    if isinstance(loaded, dict) and math.isnan(loaded.get("threshold", 0.0)):
        return "threshold"
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if id(one) in seen or not hasattr(one, "__dict__"):
            continue
        seen.add(id(one))
        for name, value in vars(one).items():
            values = getattr(value, "data", None) if sparse.issparse(value) else value
            if name in MUST_BE_FINITE and isinstance(values, np.ndarray | float):
                array = np.asarray(values)
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    return name
            elif isinstance(value, list | tuple):
                pending += [part for entry in value for part in (entry if isinstance(entry, tuple) else (entry,))]
            elif isinstance(value, dict):
                pending += value.values()
            else:
                pending.append(value)
    return None
