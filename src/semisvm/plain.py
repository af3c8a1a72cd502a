"""Results as plain JSON values, and back, by the type hints of their fields.

JSON has neither NaN nor infinity: NaN is null, and an infinite number is the text "inf" or "-inf".
A class with `as_dict` and `from_dict` writes and reads itself.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from semisvm.errors import shorten


def to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it; what it does not know becomes text."""
    if hasattr(value, "as_dict"):
        return to_plain(value.as_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
    if hasattr(value, "_asdict"):
        return to_plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, bool | int | float | None) else str(value)


def read_fields(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    """Return a dataclass or named tuple of plain values; TypeError where one is missing, ValueError
    where one is not of its type. Other entries are left out.
    """
    hints = get_type_hints(kind)
    return kind(
        **{
            name: _read_as(hints[name], value, f"{where}.{name}")
            for name, value in values.items()
            if name in hints
        }
    )


def _read_as(hint: Any, value: Any, where: str) -> Any:
    """Return a plain value as its type hint says, null as NaN."""
    outer = get_origin(hint) or hint
    inner = get_args(hint)
    if outer in (Any, Literal):
        return value
    if outer is UnionType:  # something, or None
        return None if value is None else _read_as(inner[0], value, where)
    if outer is tuple and isinstance(value, list | tuple):
        return tuple(_read_as(inner[0], part, where) for part in value)
    if isinstance(value, dict) and hasattr(outer, "from_dict"):
        return outer.from_dict(value)
    if isinstance(value, dict) and (is_dataclass(outer) or hasattr(outer, "_fields")):
        return read_fields(outer, value, where)
    if outer is dict and isinstance(value, dict):
        return {name: _read_as(inner[1], part, where) for name, part in value.items()}
    if outer is float and (value in (None, "inf", "-inf") or type(value) in (int, float)):
        return math.nan if value is None else float(value)
    if isinstance(outer, type) and issubclass(outer, Enum):
        return outer(value)
    if outer in (str, bool) and type(value) is outer:
        return value
    if outer is int and type(value) is int and abs(value) < 2**62:
        return value
    raise ValueError(f"{where} is {shorten(str(value))}, which is not of its type")
