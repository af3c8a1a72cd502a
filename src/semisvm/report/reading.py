"""The facts as they come: parts missing, None, or of another kind than agreed, read without a stumble.

The facts are plain JSON. What is not what it should be counts as missing, and the page says that it is missing; nothing
in this file raises. A number is a finite float, or None. JSON has no infinity: a threshold may be the text "inf" or
"-inf", as `OperatingPoint.as_dict` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

MINUS_INFINITY, INFINITY = float("-inf"), float("inf")


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a dictionary, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """The value where it is a list or a tuple, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def number(value: Any) -> float | None:
    """The value as a finite float, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def share(value: Any) -> float | None:
    """A number from 0 to 1, or None."""
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def threshold(value: Any) -> float | None:
    """A threshold, which may be infinite, or None."""
    if isinstance(value, str):
        return {"inf": INFINITY, "-inf": MINUS_INFINITY}.get(value)
    if isinstance(value, float) and math.isinf(value):
        return value
    return number(value)


def text(value: Any) -> str:
    """Words for a value of any kind; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{text(key)}: {text(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(text, value))
    return str(value)


def by_class(part: Any, is_single: bool, classes: Sequence[str]) -> dict[str, Any]:
    """A part of the facts for each class: {"": part} where there is only one answer."""
    if is_single:
        return {"": part}
    found = {text(name): value for name, value in mapping(part).items()}
    ordered = [name for name in classes if name in found]
    return {name: found[name] for name in [*ordered, *(name for name in found if name not in ordered)]}
