"""Cells of tables as people write them, and their values.

    numbers   with thousands separators, a currency or a unit: `looks_like_numbers`,
              `plain_numbers_of`
    dates     in one of `DATE_FORMATS`
    empty     one of `MISSING_SPELLINGS`

`Cells` holds one column of any frame and turns its cells into values: numbers, dates or text. Each
of these is computed once, when it is first needed: deciding what a column is (`columns.kinds`) and
reading it share the result. `typed_column` gives the cells of a column whose type is settled:
float64, datetime64, or objects that are all text; an empty cell is NaN, NaT or "".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from semisvm.errors import shorten

if TYPE_CHECKING:
    import pandas

Type = Literal["number", "category", "date", "text"]

EXACT_IN_FLOAT = 2.0**53  # from here on a float does not hold every whole number
TRUTH_WORDS = ("true", "True", "TRUE", "false", "False", "FALSE")
LARGEST_NUMBER = 1e150  # the squares of larger ones overflow
# Most of the world writes the day before the month. Month first is tried if a column can't be read
# otherwise.
_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y")
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_MONTHS = (
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%a, %d %b %Y %H:%M:%S %z",
)
_TIMED = tuple(f"{day} {time}" for time in _TIMES for day in _DAYS)
DATE_FORMATS = (
    "ISO8601",
    *_DAYS,
    "%Y/%m/%d",
    *_MONTHS,
    *_TIMED,
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%y",
)
TWO_DIGITS = re.compile(r"\d\d\.\d\d\.\d\d")  # 01.02.24 is a date, 1.2.24 may be a version
NO_DATE = r"\D*$|0000-00-00"
_SHAPED_LIKE_A_DATE = re.compile(
    r"\w{1,9}(?:[-/. ]|, )\w{1,9}[-/., ]|(?:19|20)\d\d-(?:0[1-9]|1[0-2])$"
)
# How R, NumPy, pandas and databases write "nothing here"; an empty cell is the plainest.
MISSING_SPELLINGS = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"}
)
CODE = r"0\d+$"  # a postal code or a key: amounts are not written with a leading zero
DIGIT = re.compile(r"\d")
WANTED_NUMBER = {
    "": "finite number",
    ",": "number with a decimal comma",
    ".": "number with a decimal point",
}
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_BEFORE = (  # a currency; letters alone need a space, as codes have none
    r"(?:[^\W\d_]{0,3}[$€£¥₹]|[^\W\d_]{1,3}\s)"
)
_AFTER = r"(?:[%°$€£¥₹]|[^\W\d_]{1,3})"  # a currency or a unit


def _grouped(thousands: str, decimal: str) -> str:
    """Numbers whose thousands are separated: 1.234,5  1,234.5  1 234  1'234  12,34,567"""
    return (
        rf"(?:[1-9]\d{{0,2}}(?:[{thousands}'’\s]\d{{3}})+(?:[{decimal}]\d*)?"
        r"|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d*)?)"
    )


_LIKE_NUMBER = re.compile(  # not 10.0.0.1, and not 31.12.24
    rf"\s*{_BEFORE}?\s*[-+]?\s*{_BEFORE}?\s*(?:{_grouped('.,', '.,')}|\d+(?:[.,]\d*)?)"
    rf"\s*{_AFTER}?\s*"
)
MOST_AFFIXES = 3  # different currencies or units in a column of numbers
SHARE_LIKE_NUMBERS = 0.95
_WHOLE = r"^([-+]?\d+)\.0+$"  # a whole number as a float is written
NUMBERS, DATES, TEXT = "numbers", "dates", "text"  # what readers give
KIND_OF_LETTER = {"f": NUMBERS, "M": DATES}  # by the letter of a column's type; others are text
TEXT_WORDS = 3.0  # a column of strings with at least so many words per cell, on average, is text
_NO_SPACES = (  # Chinese and Japanese are written without spaces
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
)
WORD = (  # for counting: two such characters are about one word
    rf"[{_NO_SPACES}]{{2}}|[^\s{_NO_SPACES}]+"
)
# Each such character is a term, and so is a run of punctuation: "!!!" is typical of spam.
TERM = rf"(?u)[{_NO_SPACES}]|[^\W{_NO_SPACES}]+|[^\w\s]+"


@dataclass(frozen=True)
class Column:
    """A column in use.

    `format` is how its dates are written, or the decimal mark of its numbers where they are not
    plain; `strays` are the words that count as empty cells.
    """

    name: str
    type: Type
    format: str = ""
    strays: tuple[str, ...] = ()


# ---- cells as values ----


class Cells:
    """The cells of one column, of any frame.

    cells         all cells, as a reader gives them: float64, datetime64 or text
    given         those that are not empty
    kind          what the frame holds: NUMBERS, DATES or TEXT
    is_category   whether the frame calls the column a category
    """

    def __init__(self, cells: pandas.Series):
        self.is_category = cells.dtype.name == "category"
        self.cells = as_read(cells).reset_index(drop=True)
        self.given = self.cells.dropna()
        self.kind = KIND_OF_LETTER.get(self.cells.dtype.kind, TEXT)
        if self.kind == TEXT:
            words = self.given.str.strip()
            self.given = words[~words.isin(MISSING_SPELLINGS)]
        self._dates: dict[str, pandas.Series] = {}
        self._marked: dict[str, pandas.Series] = {}

    def __len__(self) -> int:
        return len(self.cells)

    def error(self, column: Column, place: Any, wanted: str) -> CellError:
        """The error about one of the given cells."""
        cell = self.given.iloc[int(place)]
        row = int(self.given.index.to_numpy()[int(place)])
        return CellError(
            column.name, row, f"{cell:g}" if self.kind == NUMBERS else str(cell), wanted
        )

    @cached_property
    def numbers(self) -> pandas.Series:
        """The given cells as numbers, NaN where they are none."""
        return self.given.astype("float64") if self.kind == NUMBERS else _spelled(self.given)

    def marked_numbers(self, decimal: str) -> pandas.Series:
        """The given words as marked numbers, NaN for others; `decimal` is the decimal mark."""
        if decimal not in self._marked:
            self._marked[decimal] = _spelled(plain_numbers_of(self.given, decimal))
        return self._marked[decimal]

    @cached_property
    def is_undated(self) -> pandas.Series:
        """Whether each given word can't be a date: it holds no digit, or only zeros."""
        return self.given.str.match(NO_DATE)

    def dates(self, format: str) -> pandas.Series | None:
        """The given words that may be dates; None unless all are written in this format."""
        import pandas

        if format not in self._dates:
            words = self.given[~self.is_undated]
            if format == "%d.%m.%y" and not words.astype(object).str.fullmatch(TWO_DIGITS).all():
                return None
            try:
                dates = pandas.to_datetime(words, format=format, utc=True)
            except (ValueError, OverflowError):
                return None
            self._dates[format] = dates.dt.tz_localize(None)
        return self._dates[format]


def _spelled(words: pandas.Series) -> pandas.Series:
    """The numbers that words spell, NaN for other words."""
    import pandas

    numbers = pandas.to_numeric(words, errors="coerce").astype("float64")
    if int(pandas.__version__.split(".")[0]) < 3:  # there it loses the last digit of many numbers
        is_number = numbers.notna()
        numbers[is_number] = words[is_number].to_numpy(dtype=object).astype("float64")
    return numbers


def typed_column(column: Column, cells: Cells) -> np.ndarray:
    """Return a column as what it is: float64, datetime64, or objects that are all text."""
    if column.type == "number":
        return _numbers(column, cells)
    if column.type == "date":
        return _dates(column, cells)
    words = cells.given if cells.kind == TEXT else as_text(cells.given)
    if column.type == "category":
        words = _spelled_by_value(words)
    values = np.full(len(cells), "", dtype=object)
    values[words.index] = words.to_numpy(dtype=object)
    return values


def _numbers(column: Column, cells: Cells) -> np.ndarray:
    values = np.full(len(cells), np.nan)
    if not len(cells.given):
        return values
    if cells.kind == DATES:
        raise cells.error(column, 0, "number")
    if cells.kind == TEXT and column.format != "":
        numbers = cells.marked_numbers(column.format)
    elif cells.given.iloc[0] in TRUTH_WORDS and cells.given.isin(TRUTH_WORDS).all():
        numbers = (cells.given.str.lower() == "true").astype("float64")
    else:
        numbers = cells.numbers
    is_stray = cells.given.isin(column.strays)
    is_wrong = ~(numbers.abs() <= LARGEST_NUMBER) & ~is_stray
    if is_wrong.any():
        place = is_wrong.to_numpy().argmax()
        is_large = cells.kind == NUMBERS or np.isfinite(numbers.iloc[place])
        wanted = f"number up to {LARGEST_NUMBER:g}" if is_large else WANTED_NUMBER[column.format]
        raise cells.error(column, place, wanted)
    values[numbers.index] = numbers.mask(is_stray)
    return values


def _dates(column: Column, cells: Cells) -> np.ndarray:
    import pandas

    values = np.full(len(cells), np.datetime64("NaT", "us"), dtype="datetime64[us]")
    if cells.kind == NUMBERS and len(cells.given):
        raise cells.error(column, 0, "date")
    if cells.kind != TEXT:
        values[cells.given.index] = cells.given.to_numpy(dtype="datetime64[us]")
        return values
    format = column.format or "ISO8601"
    dates = cells.dates(format)
    is_wrong = cells.is_undated & ~cells.given.isin(column.strays)
    if dates is None:
        parsed = pandas.to_datetime(cells.given, format=format, utc=True, errors="coerce")
        is_wrong |= parsed.isna() & ~cells.is_undated
    if dates is None or is_wrong.any():
        raise cells.error(column, is_wrong.to_numpy().argmax(), "date")
    values[dates.index] = dates.to_numpy(dtype="datetime64[us]")
    return values


def _spelled_by_value(words: pandas.Series) -> pandas.Series:
    """Spell categories by their value: 1 and 1.0, True and TRUE are the same."""
    words = words.mask(words.isin(TRUTH_WORDS), words.str.lower())
    return words.str.replace(_WHOLE, r"\1", regex=True)


def as_read(cells: pandas.Series) -> pandas.Series:
    """Return a column of any frame as a reader would: float64, datetime64 or text, as integers
    beyond float64 are. Times with a zone are those of UTC, periods begin when they do, and time
    spans are seconds.
    """
    from pandas import StringDtype, to_datetime
    from pandas.api.types import infer_dtype, is_bool_dtype, is_integer_dtype, is_numeric_dtype

    if isinstance(cells.dtype, StringDtype):
        return cells if cells.dtype == text_type() else cells.astype(text_type())
    kind = cells.dtype.kind if cells.dtype.name != "category" else "O"
    if kind == "f":
        return cells
    if kind == "M":
        return cells.dt.tz_convert(None) if getattr(cells.dtype, "tz", None) is not None else cells
    if kind == "m":
        return cells.dt.total_seconds()
    if is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
        numbers = cells.astype("Float64").astype("float64")
        are_exact = not is_integer_dtype(cells.dtype) or not (numbers.abs() >= EXACT_IN_FLOAT).any()
        return numbers if are_exact else as_text(cells)
    objects = cells.astype("object").where(cells.notna(), None)
    content = infer_dtype(objects, skipna=True)
    if content == "period":
        objects = objects.map(lambda period: period.start_time, na_action="ignore")
    if content in ("date", "datetime", "datetime64", "period"):
        return to_datetime(objects, utc=True).dt.tz_localize(None)
    return as_text(objects)


def as_text(cells: pandas.Series) -> pandas.Series:
    """Return cells as in a text file: whole numbers without a point, all digits."""
    if cells.dtype == text_type():
        return cells
    is_float = cells.dtype.kind == "f"
    if cells.dtype == "float32":  # 0.1 in float32 is written 0.1, not with the digits of float64
        cells = cells.map(lambda cell: float(str(np.float32(cell))), na_action="ignore").astype(
            "float64"
        )
    return cells.map(
        lambda cell: str(plain_cell(cell) if is_float else cell), na_action="ignore"
    ).astype(text_type())


def plain_cell(value: Any) -> Any:
    """Return a cell as JSON can hold it; an empty one is None."""
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


class CellError(ValueError):
    """A cell that does not fit the type of its column; `row` is counted from 0."""

    def __init__(self, column: str, row: int, cell: str, wanted: str):
        self.row = row
        is_decimal_comma = parse_number(cell.replace(",", ".")) is not None and "," in cell
        self.remedy = (
            "Write decimals with a point, not a comma"
            if is_decimal_comma
            else "Correct the cell, or leave it empty"
        )
        self.reason = f"column {column!r} holds {shorten(cell)} where a {wanted} is expected"
        super().__init__(f"row {row}: {self.reason}")


# ---- dates as people write them ----


def look_like_dates(words: Sequence[str]) -> bool:
    """Whether the first word with a digit has the parts of a date."""
    first = next((word for word in words if not re.match(NO_DATE, word)), "")
    return _SHAPED_LIKE_A_DATE.match(first) is not None


def two_styles(words: Sequence[str]) -> tuple[str, str] | None:
    """Return two dates in different styles, where nearly all words are dates; else None."""
    import pandas

    if not look_like_dates(words):
        return None
    sample = pandas.Series(words, dtype=text_type())
    sample = sample[~sample.str.match(NO_DATE)]
    parsed = [
        pandas.to_datetime(sample, format=one, utc=True, errors="coerce").notna()
        for one in DATE_FORMATS
    ]
    best = max(parsed, key=lambda own: int(own.sum()))
    are_dates = pandas.concat(parsed, axis=1).any(axis=1)
    if best.all() or not best.any() or are_dates.mean() < SHARE_LIKE_NUMBERS:
        return None
    return str(sample[best].iloc[0]), str(sample[~best].iloc[0])


# ---- cells as people write them ----


def is_missing(text: str) -> bool:
    """Whether a cell says that there is nothing in it."""
    return text.strip() in MISSING_SPELLINGS


@cache
def text_type() -> Any:
    """Return pandas' type of text that knows empty cells, whatever its version calls it."""
    import pandas

    major, minor = (int(part) for part in pandas.__version__.split(".")[:2])
    if major >= 3:
        return "str"
    if (major, minor) < (2, 3):
        return pandas.StringDtype("pyarrow_numpy")
    return pandas.StringDtype("pyarrow", na_value=np.nan)


def without_missing(column: Any) -> Any:
    """Return an Arrow column of text as pandas' text, missing where a cell says so."""
    import pyarrow
    from pyarrow import compute

    words = pyarrow.array(sorted(MISSING_SPELLINGS), column.type)
    says_nothing = compute.is_in(compute.utf8_trim_whitespace(column), value_set=words)
    # Not by Arrow's if_else, which reads a slice from a wrong place in some releases (20.0).
    return column.to_pandas().astype(text_type()).mask(says_nothing.to_pandas())


def parse_number(text: str) -> float | None:
    """Return the finite number that a text spells; Python's "1_000" is not accepted."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def looks_like_numbers(words: Sequence[str]) -> bool:
    """Whether nearly all words are digits with separators, a currency or a unit, and not codes."""
    import pandas

    sample = _with_minus_first(pandas.Series(words, dtype=text_type()))
    has_mark = sample.str.contains(r"[^\d\s+-]|\d\s\d", regex=True)
    return len(sample) > 0 and bool(
        sample.astype(object).str.fullmatch(_LIKE_NUMBER).mean() >= SHARE_LIKE_NUMBERS
        and has_mark.mean() >= 0.5
        and units_of(sample).nunique() <= MOST_AFFIXES
        and not sample.str.match(CODE).any()
    )


def units_of(words: pandas.Series) -> pandas.Series:
    """Return what is beside the number in each word: a currency, a unit, or ""."""
    return _with_minus_first(words).str.replace(r"[\d\s.,'’+-]", "", regex=True)


def _with_minus_first(words: pandas.Series) -> pandas.Series:
    """Write numbers below zero with a minus before them: "(5)", "5-", and typeset ones."""
    # as objects: Arrow's patterns, which some versions of pandas take for text, know no spaces
    # beyond ASCII
    words = words.astype(object).str.replace("−", "-", regex=False)
    return words.str.replace(r"^\s*(?:\((.*\d.*)\)|(.*\d\s?)-)\s*$", r"-\1\2", regex=True)


def plain_numbers_of(words: pandas.Series, decimal: str) -> pandas.Series:
    """Return numbers without separators, currency and unit: "NT$ 3,913" is "3913"; "" where a mark
    separates no thousands, as in "0.51" with a decimal comma.
    """
    thousands = "." if decimal == "," else ","
    plain = _with_minus_first(words).str.replace(
        rf"^\s*{_BEFORE}?\s*([-+]?)\s*{_BEFORE}?\s*|\s*{_AFTER}?\s*$", r"\1", regex=True
    )
    separator = rf"[{thousands}'’\s]"
    is_wrong = plain.str.contains(separator, regex=True).astype(bool) & ~plain.str.fullmatch(
        rf"[-+]?{_grouped(thousands, decimal)}"
    ).astype(bool)
    plain = plain.mask(is_wrong, "").str.replace(separator, "", regex=True)
    return plain.str.replace(",", ".", regex=False) if decimal == "," else plain
