"""What each column of a table is: a number, a category, a date, free text, or of no use.

    number     every cell that is not empty is a finite number; words such as "unknown" count as empty
    date       every cell is a date, and all dates are written in the same way
    text       words: three or more per cell on average
    category   everything else

A column without any value, with only one value, or with a different word or a running number in every row says nothing
about new rows: it is left out, and so is an identifier (a different whole number in every row, under a name such as
"customer_id"). Numbers with thousands separators, a currency or a unit are read where the user has said which mark ends
the whole part (`decimal`); otherwise they are categories, and a remark says so. Why not skrub: docs/tables.md.
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
_BEFORE = r"(?:[^\W\d_]{0,3}[$€£¥₹]|[^\W\d_]{1,3}\s)"  # a currency; letters alone need a space, as codes have none
_AFTER = r"(?:[%°$€£¥₹]|[^\W\d_]{1,3})"  # a currency or a unit
_LIKE_NUMBER = re.compile(rf"\s*{_BEFORE}?\s*[-+]?\s*{_BEFORE}?\s*\d[\d.,'’\s]*{_AFTER}?\s*")
_NAMED_AS_KEY = re.compile(r"(?i:(?:^|[\W_])(?:id|ids|uid|uuid|guid|key|nr|no|number|index)$)|[a-z](?:Id|ID|Key|Nr)$")
MOST_AFFIXES = 3  # different currencies or units in a column of numbers
FEWEST_KEYS = 20  # rows, below which different numbers are no sign of an identifier
SHARE_LIKE_NUMBERS = 0.95
KEY = "is an identifier: a different whole number in every row"


@dataclass(frozen=True)
class Column:
    """A column in use.

    `format` is how its dates are written, or the decimal mark of its numbers where they are not plain; `strays` are the
    words that count as empty cells.
    """

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


def settle_columns(
    cells: Mapping[str, pandas.Series], types: Mapping[str, Type] | None = None, decimal: str | None = None
) -> tuple[list[Column], list[Unused]]:
    """Decide what each of several columns is; return those in use and those that are left out."""
    found = [settle_column(name, own, (types or {}).get(name), decimal) for name, own in cells.items()]
    return [one for one in found if isinstance(one, Column)], [one for one in found if isinstance(one, Unused)]


def remark_on(column: Column, cells: pandas.Series) -> str:
    """Say what a person should check about a column in use; "" where there is nothing."""
    if column.strays:
        return f"{', '.join(map(repr, column.strays))} counts as an empty cell"
    if column.type in ("category", "text") and cells.dtype.kind not in "fM":
        words = cells.dropna().str.strip()
        if looks_like_numbers(words):
            return f"looks like numbers, for example {words.iloc[0]!r}: say which mark ends the whole part (`decimal`)"
    if column.type == "number" and not column.format and _is_key(cells.dropna()):
        return "is a different whole number in every row: leave it out (`drop`) if it is an identifier"
    return ""


def looks_like_numbers(words: pandas.Series) -> bool:
    """Whether nearly all words are digits with separators, a currency or a unit, and not codes."""
    sample = words.head(1000)
    has_mark = sample.str.contains(r"[^\d\s+-]", regex=True)
    return len(sample) > 0 and bool(
        sample.str.fullmatch(_LIKE_NUMBER).mean() >= SHARE_LIKE_NUMBERS
        and has_mark.mean() >= 0.5
        and sample.str.replace(r"[\d\s.,'’+-]", "", regex=True).nunique() <= MOST_AFFIXES
        and not sample.str.match(_CODE).any()
    )


def plain_numbers_of(words: pandas.Series, decimal: str) -> pandas.Series:
    """Return numbers without separators, currency and unit, with a decimal point: "NT$ 3,913" is "3913"."""
    plain = words.str.replace(rf"^\s*{_BEFORE}?\s*([-+]?)\s*{_BEFORE}?\s*|\s*{_AFTER}?\s*$", r"\1", regex=True)
    plain = plain.str.replace(rf"[{'.' if decimal == ',' else ','}'’\s]", "", regex=True)
    return plain.str.replace(",", ".", regex=False) if decimal == "," else plain


def settle_column(
    name: str, cells: pandas.Series, wanted: Type | None = None, decimal: str | None = None
) -> Column | Unused:
    """Decide what a column is; ValueError with the reason if it can't be of the `wanted` type.

    `decimal` is the mark that ends the whole part of numbers, "." or ","; None: "." in plain numbers.
    """
    given = cells.dropna()
    if wanted is None and len(given) == 0:
        return Unused(name, "holds no value")
    if wanted is None and given.nunique() == 1:
        return Unused(name, f"holds {str(given.iloc[0])!r} in every row")
    if cells.dtype.kind == "M":
        return _settle_date(name, wanted)
    if cells.dtype.kind == "f":
        _refuse_large(name, given, given)
        if wanted is None and _counts(given):
            return Unused(name, "numbers the rows")
        return Unused(name, KEY) if wanted is None and _is_named_key(name, given) else _typed(name, wanted)
    words = given.str.strip()
    if wanted in ("category", "text"):
        return Column(name, wanted)
    column: Column | Unused | None = None
    if wanted in (None, "number") and decimal is not None:
        column = _as_written(name, words, decimal)
    if wanted in (None, "number") and column is None:
        column = _as_number(name, words, wanted)
    if column is not None:
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
    if not strays and wanted is None and _counts(numbers):
        return Unused(name, "numbers the rows")
    if not strays:
        return Unused(name, KEY) if wanted is None and _is_named_key(name, numbers) else Column(name, "number")
    if any(abs(float(numbers[words == stray].iloc[0])) == np.inf for stray in strays[:STRAY_SPELLINGS]):
        raise ValueError(f"column {name!r} holds {strays[0]!r}, which is not a finite number")
    if all(_DECIMAL_COMMA.fullmatch(word) for word in words):
        raise ValueError(
            f"column {name!r} holds numbers with a comma, for example {words.iloc[0]!r}: set `decimal` to ',' if it is "
            "a decimal comma, to '.' if it separates thousands"
        )
    are_words = len(strays) <= STRAY_SPELLINGS and not any(map(_DIGIT.search, strays))
    if (are_words or wanted == "number") and np.mean(~is_number) <= STRAY_SHARE:
        return Column(name, "number", strays=tuple(strays))
    return None


def _as_written(name: str, words: pandas.Series, decimal: str) -> Column | None:
    """Numbers with separators, a currency or a unit, whose decimal mark is known."""
    import pandas

    if not looks_like_numbers(words):
        return None
    numbers = pandas.to_numeric(plain_numbers_of(words, decimal), errors="coerce")
    strays = words[~np.isfinite(numbers.to_numpy(dtype=np.float64))].unique().tolist()
    if len(strays) > STRAY_SPELLINGS:
        return None
    return Column(name, "number", format=decimal, strays=tuple(strays))


def _is_key(numbers: pandas.Series) -> bool:
    """Whether a column is a different whole number in every row, in ascending order."""
    import pandas

    values = pandas.to_numeric(numbers, errors="coerce").to_numpy(dtype=np.float64)
    return len(values) > FEWEST_KEYS and bool((values == np.rint(values)).all() and (np.diff(values) > 0).all())


def _is_named_key(name: str, numbers: pandas.Series) -> bool:
    """Whether a column has a different whole number in every row, and the name of an identifier."""
    import pandas

    values = pandas.to_numeric(numbers, errors="coerce").to_numpy(dtype=np.float64)
    is_whole = len(values) > FEWEST_KEYS and bool((values == np.rint(values)).all())
    return is_whole and _NAMED_AS_KEY.search(name) is not None and len(np.unique(values)) == len(values)


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
