"""The type of each column of a table: number, category, date, text, or unused.

    number     every cell that is not empty is a finite number; words such as "unknown" count as
               empty
    date       every cell is a date, and all dates are written in the same way
    text       words: three or more per cell on average
    category   everything else, and what a frame calls a category

A column without any value, with only one value, or with a different word or a running number in
every row says nothing about new rows: it is left out, and so is an identifier (a different whole
number in every row, under a name such as "customer_id"). Numbers with thousands separators, a
currency or a unit are read if the user has set the decimal mark (`decimal`); otherwise they are
categories, and a remark says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np

from semisvm.columns.cells import (
    CODE,
    DATE_FORMATS,
    DATES,
    DECIMAL_COMMA,
    DIGIT,
    EXACT_IN_FLOAT,
    NUMBERS,
    TEXT,
    TEXT_WORDS,
    WORD,
    Cells,
    Column,
    Type,
    look_like_dates,
    looks_like_numbers,
    two_styles,
    units_of,
)

STRAY_SHARE = 0.5  # at most this share of a column of numbers or dates may be other words,
STRAY_SPELLINGS = 3  # in at most this many spellings
FEW_CELLS = 0.1  # the share of cells that may be typing errors in a column of numbers
_NAMED_AS_KEY = re.compile(
    r"(?i:(?:^|[\W_])(?:id|ids|uid|uuid|guid|key|nr|no|number|index)$)|[a-z](?:Id|ID|Key|Nr)$"
)
FEWEST_KEYS = 20  # rows, below which different numbers are no sign of an identifier
WORDS_LOOKED_AT = 1_000  # that decide whether a column looks like numbers or dates
LIKE_NUMBERS = "looks like numbers"
SAY_MARK = "set the decimal mark (`decimal`)"
SAME_WAY = "write all in the same way"
KEY = "is an identifier: a different whole number in every row"
LONG_KEY = "is an identifier: whole numbers of more than 15 digits"


@dataclass(frozen=True)
class Unused:
    """A column left out, and why; `remedy` is what to do where it may be of use."""

    name: str
    why: str
    remedy: str = ""


class MarkedNumbersError(ValueError):
    """A column of numbers with separators, a currency or a unit, of which it must be known which
    mark ends the whole part; `reason` is the message without that remedy.
    """

    def __init__(self, reason: str, remedy: str):
        super().__init__(f"{reason}{remedy}")
        self.reason = reason


def parse_types(pairs: Mapping[str, str]) -> dict[str, Type]:
    """Check the types that a user gives to columns."""
    for name, type in pairs.items():
        if type not in get_args(Type):
            raise ValueError(
                f"Column {name!r} can't be of type {type!r}: choose one of"
                f" {', '.join(get_args(Type))}."
            )
    return dict(pairs)  # type: ignore[arg-type]


def decide(
    name: str, cells: Cells, wanted: Type | None = None, decimal: str | None = None
) -> Column | Unused:
    """Decide what a column is; ValueError with the reason if it can't be of the `wanted` type.

    `decimal` is the decimal mark of numbers, "." or ","; None: "." in plain numbers.
    """
    given = cells.given
    if wanted is None and not len(given):
        return Unused(name, "holds no value")
    if wanted is None and (given == given.iloc[0]).all():
        return Unused(name, f"holds {str(given.iloc[0])!r} in every row")
    if cells.kind != TEXT:
        return _decide_typed(name, cells, wanted)
    if wanted is not None and (wanted in ("category", "text") or not len(given)):
        return Column(name, wanted)
    if not cells.is_category or wanted is not None:
        column = _number_or_date(name, cells, wanted, decimal)
        if column is not None:
            return column
        if given.str.count(WORD).mean() >= TEXT_WORDS:
            return Column(name, "text")
    if len(given) > 2 and given.is_unique:
        near = _nearly_numbers(cells)
        marks, remedy = ("", "") if near else _numbers_with_marks(cells, decimal)
        hints = ["is different in every row", near, marks or _dates_in_two_styles(cells)]
        return Unused(name, ", and ".join(filter(None, hints)), remedy)
    return Column(name, "category")


def _decide_typed(name: str, cells: Cells, wanted: Type | None) -> Column | Unused:
    """A column that a frame holds as numbers or dates."""
    possible: tuple[Type, ...] = ("date",) if cells.kind == DATES else ("number", "category")
    is_open = wanted is None and cells.kind == NUMBERS
    if is_open and (reason := no_measurement(name, _finite_numbers(cells))):
        return Unused(name, reason)
    if wanted not in (None, *possible):
        raise ValueError(f"column {name!r} holds {cells.kind}, which can't be read as {wanted}s")
    return Column(name, wanted or possible[0])


def _number_or_date(
    name: str, cells: Cells, wanted: Type | None, decimal: str | None
) -> Column | Unused | None:
    """What a column of words is if they spell numbers or dates; None if they do not."""
    column: Column | Unused | None = None
    if wanted in (None, "number"):
        marked = _as_marked_number(name, cells, decimal) if decimal is not None else None
        column = marked
        if marked is None or marked.strays:  # plain numbers may stand beside marked ones
            column = _as_number(name, cells, wanted, decimal) or marked
    if column is None and wanted in (None, "date"):
        column = _as_date(name, cells)
    if column is None and wanted is not None:
        reason = f"column {name!r} can't be read as {wanted}s, for example {_sample(cells)[0]!r}"
        _, remedy = _numbers_with_marks(cells, decimal) if wanted == "number" else ("", "")
        if remedy:
            raise MarkedNumbersError(reason, f" ({remedy})")
        raise ValueError(reason)
    return column


def _as_marked_number(name: str, cells: Cells, decimal: str) -> Column | None:
    if not looks_like_numbers(_sample(cells)):
        return None
    strays = _strays(cells, decimal)
    if len(strays) > STRAY_SPELLINGS or cells.given.isin(strays).mean() > STRAY_SHARE:
        return None
    return Column(name, "number", decimal, tuple(strays))


def _is_infinite(word: str) -> bool:
    """Whether a word is a number that is too large: 1e999. (pandas before 3 calls it no number.)"""
    try:
        return math.isinf(float(word))
    except ValueError:
        return False


def _as_number(
    name: str, cells: Cells, wanted: Type | None, decimal: str | None
) -> Column | Unused | None:
    if wanted is None and cells.given.str.match(CODE).any():
        return None
    strays = _strays(cells)
    if not strays:
        reason = "" if wanted is not None else no_measurement(name, _finite_numbers(cells))
        return Unused(name, reason) if reason else Column(name, "number")
    if any(map(_is_infinite, strays[:STRAY_SPELLINGS])):
        raise ValueError(f"column {name!r} holds {strays[0]!r}, which is not a finite number")
    if cells.given.astype(object).str.fullmatch(DECIMAL_COMMA).all():
        remedy = ": set `decimal` to ',' if it is a decimal comma, to '.' if it separates thousands"
        if decimal is not None:
            remedy = f", and `decimal` is {decimal!r}: correct it, or write all in the same way"
        raise MarkedNumbersError(
            f"column {name!r} holds numbers with a comma, for example {cells.given.iloc[0]!r}",
            remedy,
        )
    are_words = len(strays) <= STRAY_SPELLINGS and not any(map(DIGIT.search, strays))
    n_strays = len(cells.given) - len(_finite_numbers(cells))
    if (are_words or wanted == "number") and n_strays <= STRAY_SHARE * len(cells.given):
        return Column(name, "number", strays=tuple(strays))
    return None


def _as_date(name: str, cells: Cells) -> Column | None:
    if not look_like_dates(_sample(cells)):
        return None
    undated = cells.given[cells.is_undated]
    if undated.nunique() > STRAY_SPELLINGS or len(undated) > STRAY_SHARE * len(cells.given):
        return None
    format = next((format for format in DATE_FORMATS if cells.dates(format) is not None), None)
    return None if format is None else Column(name, "date", format, tuple(undated.unique()))


# ---- questions about cells ----


def _sample(cells: Cells) -> list[str]:
    return cells.given[:WORDS_LOOKED_AT].tolist()


def _strays(cells: Cells, decimal: str | None = None) -> list[str]:
    """The different words that are no finite numbers, plain ones or marked with a `decimal`."""
    numbers = cells.numbers if decimal is None else cells.marked_numbers(decimal)
    return cells.given[~np.isfinite(numbers)].unique().tolist()


def _finite_numbers(cells: Cells) -> np.ndarray:
    return cells.numbers[np.isfinite(cells.numbers)].to_numpy()


def _are_whole(numbers: np.ndarray) -> bool:
    return bool((numbers == np.rint(numbers)).all())


def _are_rounded(numbers: np.ndarray) -> bool:
    """Whether numbers are whole, and some too large for float64 to hold exactly."""
    return len(numbers) > 0 and _are_whole(numbers) and np.abs(numbers).max() >= EXACT_IN_FLOAT


def no_measurement(name: str, numbers: np.ndarray) -> str:
    """Why finite numbers measure nothing: they number the rows, or they are an identifier; "" where
    they may.
    """
    if len(numbers) <= FEWEST_KEYS:
        return ""
    if numbers[0] in (0, 1) and (np.diff(numbers) == 1).all():
        return "numbers the rows"
    if _NAMED_AS_KEY.search(name) is None:
        return ""
    if _are_rounded(numbers):
        return LONG_KEY
    return KEY if _are_whole(numbers) and len(np.unique(numbers)) == len(numbers) else ""


# ---- what a person should check ----


def remark_on(column: Column, cells: Cells, decimal: str | None = None) -> str:
    """Say what a person should check about a column in use; "" where there is nothing."""
    if column.strays:
        return f"{', '.join(map(repr, column.strays))} counts as an empty cell"
    if column.type in ("category", "text") and cells.kind == TEXT:
        if near := _nearly_numbers(cells):
            return f"{near}: correct these cells, or empty them, if it is a measurement"
        marks, remedy = _numbers_with_marks(cells, decimal)
        if marks:
            return f"{marks}: {remedy}"
        if styles := _dates_in_two_styles(cells):
            return f"{styles}: {SAME_WAY}"
        return ""
    if cells.kind == DATES or column.type == "date":
        return ""
    if column.format:
        return _different_units(cells)
    numbers = _finite_numbers(cells)
    if _are_rounded(numbers):
        remedy = (
            "leave it out (`drop`) if it is an identifier"
            if column.type == "number"
            else "write them as text"
        )
        return (
            "holds whole numbers of more than 15 digits, of which different ones may be rounded to"
            f" one: {remedy}"
        )
    is_plain = column.type == "number" and len(numbers) == len(cells.given) > FEWEST_KEYS
    if is_plain and _are_whole(numbers) and (np.diff(numbers) > 0).all():
        return (
            "is a different whole number in every row: leave it out (`drop`) if it is an identifier"
        )
    return ""


def _nearly_numbers(cells: Cells) -> str:
    """Say which few cells keep a column from being one of numbers, or ""."""
    strays = _strays(cells)[:STRAY_SPELLINGS]
    n_strays = len(cells.given) - len(_finite_numbers(cells))
    is_near = 0 < n_strays <= FEW_CELLS * len(cells.given)
    return f"holds numbers except for {', '.join(map(repr, strays))}" if is_near else ""


def _numbers_with_marks(cells: Cells, decimal: str | None) -> tuple[str, str]:
    """Say that words look like numbers with separators, a currency or a unit, and what to do; ""
    where they do not.
    """
    sample = _sample(cells)
    if not looks_like_numbers(sample):
        return "", ""
    example = next(iter(_strays(cells, decimal)), sample[0])
    if decimal is None:
        return f"{LIKE_NUMBERS}, for example {example!r}", SAY_MARK
    why = f"{LIKE_NUMBERS}, but {example!r} is none where {decimal!r} ends the whole part"
    return why, f"correct `decimal`, or {SAME_WAY}"


def _different_units(cells: Cells) -> str:
    """Say that numbers have different currencies or units, or ""."""
    units = units_of(cells.given)
    first = cells.given[(units != "") & ~units.duplicated()].tolist()
    if len(first) < 2:
        return ""
    pair = f"for example {first[0]!r} and {first[1]!r}"
    return (
        f"holds numbers in different units, {pair}, which are read without them: write all in the"
        " same unit"
    )


def _dates_in_two_styles(cells: Cells) -> str:
    """Say that dates are not all written in the same way; "" where that is not so."""
    pair = two_styles(_sample(cells))
    if pair is None:
        return ""
    return f"holds dates in different styles, for example {pair[0]!r} and {pair[1]!r}"
