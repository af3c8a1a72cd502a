"""What each column of a table is: a number, a category, a date, free text, or of no use.

    number     every cell that is not empty is a finite number; words such as "unknown" count as empty
    date       every cell is a date, and all dates are written in the same way
    text       words: three or more per cell on average
    category   everything else

A column without any value, with only one value, or with a different word or a running number in every row says nothing
about new rows: it is left out, and a note says so. Why this is not left to skrub: docs/tables.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    import pandas

Type = Literal["number", "category", "date", "text"]

STRAY_SHARE, STRAY_SPELLINGS = 0.5, 3  # at most this share of a number column is other words, in so many spellings
LARGEST_NUMBER = 1e150  # the squares of larger ones overflow
WORDS_OF_TEXT = 3.0  # a column with at least so many words per cell, on average, is text
# Most of the world writes the day before the month. Month first is tried if a column can't be read otherwise.
DATE_FORMATS = (
    "ISO8601",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
)
_SHAPED_LIKE_A_DATE = re.compile(r"\s*\w{1,9}[-/. ]\w{1,9}[-/., ]")
_CODE = r"0\d+$"  # a postal code or a key: amounts are not written with a leading zero
_DIGIT = re.compile(r"\d")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


@dataclass(frozen=True)
class Column:
    """A column in use: `format` is how its dates are written; `strays` are the words that count as empty cells."""

    name: str
    type: Type
    format: str = ""
    strays: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unused:
    """A column left out, and why: "holds ..."."""

    name: str
    why: str


def parse_types(pairs: Mapping[str, str]) -> dict[str, Type]:
    """Check the types that a user gives to columns."""
    for name, type in pairs.items():
        if type not in get_args(Type):
            raise ValueError(f"Column {name!r} can't be of type {type!r}: choose one of {', '.join(get_args(Type))}.")
    return dict(pairs)  # type: ignore[arg-type]


def settle_column(name: str, cells: pandas.Series, wanted: Type | None = None) -> Column | Unused:
    """Decide what a column is; ValueError with the reason if it can't be of the `wanted` type."""
    given = cells.dropna()
    if wanted is None and len(given) == 0:
        return Unused(name, "holds no value")
    if wanted is None and given.nunique() == 1:
        return Unused(name, f"holds {str(given.iloc[0])!r} in every row")
    if cells.dtype.kind == "M":
        return _settle_date(name, wanted)
    if cells.dtype.kind == "f":
        _refuse_large(name, given, given)
        return Unused(name, "numbers the rows") if wanted is None and _counts(given) else _typed(name, wanted)
    words = given.str.strip()
    if wanted in ("category", "text"):
        return Column(name, wanted)
    if wanted in (None, "number") and (column := _as_number(name, words, wanted)) is not None:
        return column
    if wanted in (None, "date") and (column := _as_date(name, words)) is not None:
        return column
    if wanted is not None:
        raise ValueError(f"column {name!r} can't be read as {wanted}s, for example {words.iloc[0]!r}")
    return _settle_words(name, words)


def _typed(name: str, wanted: Type | None) -> Column:
    if wanted not in (None, "number", "category"):
        raise ValueError(f"column {name!r} holds numbers, which can't be read as {wanted}s")
    return Column(name, wanted or "number")


def _settle_date(name: str, wanted: Type | None) -> Column:
    if wanted not in (None, "date"):
        raise ValueError(f"column {name!r} holds dates, which can't be read as {wanted}s")
    return Column(name, "date")


def _as_number(name: str, words: pandas.Series, wanted: Type | None) -> Column | Unused | None:
    import pandas

    if wanted is None and words.str.match(_CODE).any():
        return None
    numbers = pandas.to_numeric(words, errors="coerce")
    is_number = np.isfinite(numbers.to_numpy(dtype=np.float64))
    strays = words[~is_number].unique().tolist()
    _refuse_large(name, numbers[is_number], words[is_number])
    if not strays:
        return Unused(name, "numbers the rows") if wanted is None and _counts(numbers) else Column(name, "number")
    if any(abs(float(numbers[words == stray].iloc[0])) == np.inf for stray in strays[:STRAY_SPELLINGS]):
        raise ValueError(f"column {name!r} holds {strays[0]!r}, which is not a finite number")
    if all(_DECIMAL_COMMA.fullmatch(word) for word in words):
        raise ValueError(f"column {name!r} holds numbers with a decimal comma, for example {words.iloc[0]!r}")
    are_words = len(strays) <= STRAY_SPELLINGS and not any(map(_DIGIT.search, strays))
    if (are_words or wanted == "number") and np.mean(~is_number) <= STRAY_SHARE:
        return Column(name, "number", strays=tuple(strays))
    return None


def _refuse_large(name: str, numbers: pandas.Series, cells: pandas.Series) -> None:
    """Refuse numbers whose squares are not finite: no column that holds one can be scaled."""
    large = np.flatnonzero(np.abs(numbers.to_numpy(dtype=np.float64)) > LARGEST_NUMBER)
    if len(large):
        raise ValueError(
            f"row {int(numbers.index[large[0]]) + 1}: column {name!r} holds {str(cells.iloc[large[0]])!r}, beyond "
            f"{LARGEST_NUMBER:g}, the largest number that can be scaled"
        )


def _as_date(name: str, words: pandas.Series) -> Column | None:
    import pandas

    if not _SHAPED_LIKE_A_DATE.match(words.iloc[0]):
        return None
    for format in DATE_FORMATS:
        try:
            pandas.to_datetime(words, format=format, utc=True)
        except (ValueError, OverflowError):
            continue
        return Column(name, "date", format=format)
    return None


def _settle_words(name: str, words: pandas.Series) -> Column | Unused:
    n_words = words.str.count(r"\S+").mean()
    if n_words >= WORDS_OF_TEXT:
        return Column(name, "text")
    if len(words) > 2 and words.nunique() == len(words):
        return Unused(name, "is different in every row")
    return Column(name, "category")


def _counts(numbers: pandas.Series) -> bool:
    """Whether a column is 1, 2, 3, ... or 0, 1, 2, ...: it numbers the rows and measures nothing."""
    values = numbers.to_numpy(dtype=np.float64)
    return len(values) > 20 and values[0] in (0, 1) and bool((np.diff(values) == 1).all())
