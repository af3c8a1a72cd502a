"""What is known about a fit, as plain JSON: all that the report draws, and nothing that it would have to compute.

Scores are those that the operating point's threshold is on. Classes are named as the user names them; with more than
two, `operating_point`, `audit` and `scores` have an entry a class.
"""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from semisvm.decision import OperatingPoint

MOST_SCORES = 5_000
PACKAGES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "skops")
_PROBLEM = re.compile(r"(\d+) vs (\d+|rest)")


def describe_machine() -> dict[str, Any]:
    """What the fit ran on."""
    from semisvm.kernels.resources import n_threads

    system = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    return system | {"processor": platform.machine(), "cores": os.cpu_count() or 1, "threads": n_threads()}


def versions() -> dict[str, str]:
    """What is installed of the packages that matter."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def now() -> str:
    """The time, for people."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def describe_data(training: Any) -> dict[str, Any]:
    """Name, size and columns of the rows learned from."""
    return {
        "name": training.name,
        "rows": len(training.codes),
        "labeled": training.n_labeled,
        "unlabeled": training.n_unlabeled,
        "target": training.target,
        "features": training.features(),
    }


def by_class(values: Mapping[int, Any], names: tuple[str, ...]) -> Any:
    """{code: value} as the one value there is for two classes, {name: value} for more."""
    return values.get(1) if len(names) == 2 else {names[code]: value for code, value in values.items()}


def audit_lines(steps: Mapping[str, OperatingPoint]) -> list[dict[str, Any]]:
    """One line a step of the audit."""
    wanted = ("precision", "recall", "f_score", "threshold", "cost")
    return [{"step": step} | {name: point.as_dict()[name] for name in wanted} for step, point in steps.items()]


def describe_scores(
    labeled: np.ndarray, sign: np.ndarray, level: str, unlabeled: np.ndarray, seed: int = 0
) -> dict[str, Any]:
    """Scores of labeled rows with their signs, and of unlabeled rows, a sample where they are many."""
    sample = unlabeled
    if len(unlabeled) > MOST_SCORES:
        sample = np.random.default_rng(seed).choice(unlabeled, MOST_SCORES, replace=False)
    return {
        "labeled": [float(score) for score in labeled],
        "sign": [int(one) for one in sign],
        "level": level,
        "unlabeled": [float(score) for score in np.sort(sample)],
        "n_unlabeled": len(unlabeled),
    }


def describe_rounds(estimator: Any, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The records of `history_`, with classes named as the user names them."""
    return [plain(record | _named(record, names)) for record in getattr(estimator, "history_", [])]


def _named(record: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    found = _PROBLEM.fullmatch(str(record.get("problem", "")))
    if found is None:
        return {}
    first, second = found.groups()
    return {"problem": f"{names[int(first)]} vs {second if second == 'rest' else names[int(second)]}"}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN and infinities, which it has not, become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    return value if isinstance(value, bool | int | str | None) else str(value)
