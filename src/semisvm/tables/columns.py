"""What each column of a table is: a number, a category, a date, free text, or of no use.

    number     every cell that is not empty is a finite number; words such as "unknown" count as empty
    date       every cell is a date, and all dates are written in the same way
    text       words: three or more per cell on average
    category   everything else

A column without any value, with only one value, or with a different word or a running number in every row says nothing
about new rows: it is left out, and so is an identifier (a different whole number in every row, under a name such as
"customer_id"). Numbers with thousands separators, a currency or a unit are read where the user has said which mark ends
the whole part (`decimal`); otherwise they are categories, and a remark says so. Why not skrub: docs/tables.md.

All that is asked of a column is in its `ColumnFacts`. Once its type is settled, `typed_column` gives its cells as
values: float64, datetime64, or objects that are all text; an empty cell is NaN, NaT or "".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from semisvm.datasets.dataset import EXACT_IN_FLOAT
from semisvm.errors import DataError, fault, shorten
from semisvm.tables.column_facts import (
    DATES,
    DIGIT,
    LARGEST_NUMBER,
    NUMBERS,
    TEXT,
    ColumnFacts,
    look_like_dates,
    looks_like_numbers,
    plain_numbers_of,
    two_styles,
)

if TYPE_CHECKING:
    import pandas

Type = Literal["number", "category", "date", "text"]

STRAY_SHARE, STRAY_SPELLINGS = 0.5, 3  # at most this share of a number column is other words, in so many spellings
FEW_CELLS = 0.1  # the share of cells that may be typing errors in a column of numbers
_NAMED_AS_KEY = re.compile(r"(?i:(?:^|[\W_])(?:id|ids|uid|uuid|guid|key|nr|no|number|index)$)|[a-z](?:Id|ID|Key|Nr)$")
FEWEST_KEYS = 20  # rows, below which different numbers are no sign of an identifier
TRUTH_WORDS = ("true", "True", "TRUE", "false", "False", "FALSE")
LIKE_NUMBERS = "looks like numbers"
SAY_MARK = "say which mark ends the whole part (`decimal`)"
KEY = "is an identifier: a different whole number in every row"
LONG_KEY = "is an identifier: whole numbers of more than 15 digits"


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
    """A column left out, and why: "holds ..."; `remedy` is what a person should do where it may be of use."""

    name: str
    why: str
    remedy: str = ""


def parse_types(pairs: Mapping[str, str]) -> dict[str, Type]:
    """Check the types that a user gives to columns."""
    for name, type in pairs.items():
        if type not in get_args(Type):
            raise ValueError(f"Column {name!r} can't be of type {type!r}: choose one of {', '.join(get_args(Type))}.")
    return dict(pairs)  # type: ignore[arg-type]


def settle_columns(
    facts: Mapping[str, ColumnFacts], types: Mapping[str, Type] | None = None, decimal: str | None = None
) -> tuple[list[Column], list[Unused]]:
    """Decide what each of several columns is; return those in use and those that are left out."""
    found = [decide(name, own, (types or {}).get(name), decimal) for name, own in facts.items()]
    return [one for one in found if isinstance(one, Column)], [one for one in found if isinstance(one, Unused)]


# ---- decisions ----


def decide(name: str, facts: ColumnFacts, wanted: Type | None = None, decimal: str | None = None) -> Column | Unused:
    """Decide what a column is from the facts about it; ValueError with the reason if it can't be of the `wanted` type.

    `decimal` is the mark that ends the whole part of numbers, "." or ","; None: "." in plain numbers.
    """
    from semisvm.estimators.auto.preparation import TEXT_WORDS

    if wanted is None and not facts.n:
        return Unused(name, "holds no value")
    if wanted is None and facts.is_single:
        return Unused(name, f"holds {str(facts.first)!r} in every row")
    if facts.kind != TEXT:
        return _decide_typed(name, facts, wanted)
    if wanted is not None and (wanted in ("category", "text") or not facts.n):
        return Column(name, wanted)
    column: Column | Unused | None = None
    if wanted in (None, "number") and decimal is not None and len(facts.odd) <= STRAY_SPELLINGS:
        column = Column(name, "number", decimal, tuple(facts.odd)) if looks_like_numbers(facts.sample) else None
    if wanted in (None, "number") and column is None:
        column = _as_number(name, facts, wanted)
    if column is not None:
        return column
    are_few = len(facts.undated) <= STRAY_SPELLINGS and facts.n_undated <= STRAY_SHARE * facts.n
    if wanted in (None, "date") and facts.formats and are_few and look_like_dates(facts.sample):
        return Column(name, "date", facts.formats[0], tuple(facts.undated))
    if wanted is not None:
        hint = f" ({SAY_MARK})" if wanted == "number" and looks_like_numbers(facts.sample) else ""
        raise ValueError(f"column {name!r} can't be read as {wanted}s, for example {facts.sample[0]!r}{hint}")
    if facts.n_words >= TEXT_WORDS * facts.n:
        return Column(name, "text")
    if facts.n > 2 and not facts.repeats.found:
        marks = _numbers_with_marks(facts) if not (near := _nearly_numbers(facts)) else ""
        why = ", and ".join(filter(None, ["is different in every row", near, marks or _dates_in_two_styles(facts)]))
        return Unused(name, why, SAY_MARK if marks else "")
    return Column(name, "category")


def _decide_typed(name: str, facts: ColumnFacts, wanted: Type | None) -> Column | Unused:
    """A column that a file holds as numbers or dates."""
    own: tuple[Type, ...] = ("date",) if facts.kind == DATES else ("number", "category")
    refuse_large(name, facts)
    reason = _no_measurement(name, facts) if facts.kind == NUMBERS and wanted is None else ""
    if reason:
        return Unused(name, reason)
    if wanted not in (None, *own):
        raise ValueError(f"column {name!r} holds {facts.kind}, which can't be read as {wanted}s")
    return Column(name, wanted or own[0])


def _as_number(name: str, facts: ColumnFacts, wanted: Type | None) -> Column | Unused | None:
    if wanted is None and facts.has_code:
        return None
    refuse_large(name, facts)
    strays = list(facts.strays)
    if not strays:
        reason = "" if wanted is not None else _no_measurement(name, facts)
        return Unused(name, reason) if reason else Column(name, "number")
    if any(abs(facts.strays[stray]) == np.inf for stray in strays[:STRAY_SPELLINGS]):
        raise ValueError(f"column {name!r} holds {strays[0]!r}, which is not a finite number")
    if facts.have_commas:
        raise ValueError(
            f"column {name!r} holds numbers with a comma, for example {facts.sample[0]!r}: set `decimal` to ',' if it "
            "is a decimal comma, to '.' if it separates thousands"
        )
    are_words = len(strays) <= STRAY_SPELLINGS and not any(map(DIGIT.search, strays))
    if (are_words or wanted == "number") and facts.n - facts.n_numbers <= STRAY_SHARE * facts.n:
        return Column(name, "number", strays=tuple(strays))
    return None


def _nearly_numbers(facts: ColumnFacts) -> str:
    """Say which cells keep a column from being one of numbers, where these are few; "" where they are not."""
    is_near = facts.kind == TEXT and 0 < facts.n - facts.n_numbers <= FEW_CELLS * facts.n
    return f"holds numbers except for {', '.join(map(repr, list(facts.strays)[:STRAY_SPELLINGS]))}" if is_near else ""


def _numbers_with_marks(facts: ColumnFacts) -> str:
    """Say that words look like numbers with separators, a currency or a unit; "" where they do not."""
    if facts.kind != TEXT or not looks_like_numbers(facts.sample):
        return ""
    return f"{LIKE_NUMBERS}, for example {next(iter(facts.strays), facts.sample[0])!r}"


def _dates_in_two_styles(facts: ColumnFacts) -> str:
    """Say that dates are not all written in the same way; "" where that is not so."""
    found = two_styles(facts.sample) if facts.kind == TEXT else None
    return f"holds dates in different styles, for example {found[0]!r} and {found[1]!r}" if found else ""


def _no_measurement(name: str, facts: ColumnFacts) -> str:
    """Why numbers measure nothing: they number the rows, or they are an identifier; "" where they may."""
    if facts.n <= FEWEST_KEYS:
        return ""
    if facts.ends[0] in (0, 1) and facts.by_one:
        return "numbers the rows"
    if _NAMED_AS_KEY.search(name) is None:
        return ""
    if facts.are_rounded:
        return LONG_KEY
    return KEY if facts.are_whole and not facts.repeats.found else ""


def refuse_large(name: str, facts: ColumnFacts) -> None:
    """Refuse numbers whose squares are not finite: no column that holds one can be scaled."""
    if facts.too_large:
        row, cell = facts.too_large
        raise ValueError(
            f"row {row + 1}: column {name!r} holds {cell!r}, beyond {LARGEST_NUMBER:g}, the largest number that can be "
            "scaled"
        )


def remark_on(column: Column, facts: ColumnFacts) -> str:
    """Say what a person should check about a column in use; "" where there is nothing."""
    if column.strays:
        return f"{', '.join(map(repr, column.strays))} counts as an empty cell"
    if column.type in ("category", "text") and _nearly_numbers(facts):
        return f"{_nearly_numbers(facts)}: correct these cells, or empty them, if it is a measurement"
    if column.type in ("category", "text") and (found := _numbers_with_marks(facts)):
        return f"{found}: {SAY_MARK}"
    if column.type in ("category", "text") and (found := _dates_in_two_styles(facts)):
        return f"{found}: write all in the same way"
    if facts.are_rounded and (column.type == "number" or facts.kind == NUMBERS):
        remedy = "leave it out (`drop`) if it is an identifier" if column.type == "number" else "write them as text"
        return f"holds whole numbers of more than 15 digits, of which different ones may be rounded to one: {remedy}"
    is_plain = column.type == "number" and not column.format and facts.n_numbers == facts.n > FEWEST_KEYS
    if is_plain and facts.are_whole and facts.ascending:
        return "is a different whole number in every row: leave it out (`drop`) if it is an identifier"
    return ""


# ---- cells as values ----


class CellError(ValueError):
    """A cell that does not fit the type of its column; `row` is counted from 0 in the rows that were given."""

    def __init__(self, column: str, row: int, cell: str, wanted: str):
        super().__init__(f"column {column!r} holds {shorten(cell)} where a {wanted} is expected")
        self.row = row

    def in_file(self, path: Path, row: int) -> DataError:
        """Return the error that names the file and the row in it, counted from 0."""
        return fault(path, f"row {row + 1}: {self}", "Correct the cell, or leave it empty")


def typed_column(column: Column, cells: pandas.Series) -> Any:
    """Return a column as what it is: float64, datetime64, or objects that are all text."""
    cells = as_read(cells)
    if column.type == "number":
        return _numbers(column, cells)
    if column.type == "date":
        return _dates(column, cells)
    cells = as_text(cells)
    return cells.astype(object).where(cells.notna(), "").astype(str).str.strip().to_numpy(dtype=object)


def as_read(cells: pandas.Series) -> pandas.Series:
    """Return a column of any frame as a reader would: float64, datetime64 or text, as integers beyond float64 are."""
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype

    if cells.dtype.kind == "f" or cells.dtype == "str":
        return cells
    if is_datetime64_any_dtype(cells.dtype):
        return cells.dt.tz_convert(None) if getattr(cells.dtype, "tz", None) is not None else cells
    if is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
        numbers = cells.astype("Float64").astype("float64")
        are_exact = not is_integer_dtype(cells.dtype) or not (numbers.abs() >= EXACT_IN_FLOAT).any()
        return numbers if are_exact else as_text(cells)
    return as_text(cells.astype("object").where(cells.notna(), None))


def as_text(cells: pandas.Series) -> pandas.Series:
    """Return the cells of a reader as they would be in a text file: whole numbers without a point, all digits."""
    if cells.dtype == "str":
        return cells
    is_float = cells.dtype.kind == "f"
    if cells.dtype == "float32":  # 0.1 in float32 is written 0.1, not with the digits of float64
        cells = cells.map(lambda cell: float(str(np.float32(cell))), na_action="ignore").astype("float64")
    return cells.map(lambda cell: str(plain_cell(cell) if is_float else cell), na_action="ignore").astype("str")


def _numbers(column: Column, cells: pandas.Series) -> np.ndarray:
    import pandas

    if cells.dtype.kind == "f":
        values = cells.to_numpy(dtype=np.float64)
        large = np.flatnonzero(np.abs(values) > LARGEST_NUMBER)
        if len(large):
            raise CellError(column.name, int(large[0]), f"{values[large[0]]:g}", f"number up to {LARGEST_NUMBER:g}")
        return values
    if cells.dtype.kind == "M":
        raise CellError(column.name, 0, str(cells.iloc[0]), "number")
    words = cells.str.strip()
    words = words.mask(words.isin(column.strays))
    if column.format:
        words = plain_numbers_of(words, column.format)
    numbers = pandas.to_numeric(words, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero((np.isnan(numbers) & words.notna().to_numpy()) | (np.abs(numbers) > LARGEST_NUMBER))
    if len(wrong):
        raise CellError(column.name, int(wrong[0]), str(words.iloc[wrong[0]]), "finite number")
    return numbers


def _dates(column: Column, cells: pandas.Series) -> np.ndarray:
    import pandas

    if cells.dtype.kind == "M":
        return cells.to_numpy(dtype="datetime64[us]")
    if cells.dtype.kind == "f" and not cells.isna().all():
        raise CellError(column.name, 0, str(cells.iloc[0]), "date")
    words = cells.astype("str").str.strip()
    words = words.mask(words.isin(column.strays))
    dates = pandas.to_datetime(words, format=column.format or "ISO8601", utc=True, errors="coerce")
    wrong = np.flatnonzero((dates.isna() & words.notna()).to_numpy())
    if len(wrong):
        raise CellError(column.name, int(wrong[0]), str(cells.iloc[wrong[0]]), "date")
    return dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def plain_cell(value: Any) -> Any:
    """Return a cell as JSON can hold it; an empty one is None."""
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
