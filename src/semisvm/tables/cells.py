"""Cells as values: numbers as people write them, dates, text.

A column of numbers is float64, of dates datetime64, and everything else is text; an empty cell is NaN, NaT or "".

Numbers may have thousands separators, a currency or a unit: "1.234,56", "NT$ 3,913", "12%". Which of "." and "," ends
the whole part is not guessed from single cells, because "3,913" may be either: the user says it (`--decimal`), and a
column keeps it as its format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.tables.columns import LARGEST_NUMBER, Column, plain_numbers_of

if TYPE_CHECKING:
    import pandas


class CellError(ValueError):
    """A cell that does not fit the type of its column; `row` is counted from 0 in the rows that were given."""

    def __init__(self, column: str, row: int, cell: str, wanted: str):
        super().__init__(f"column {column!r} holds {cell!r} where a {wanted} is expected")
        self.column, self.row = column, row


def typed_column(column: Column, cells: pandas.Series) -> Any:
    """Return a column as what it is: float64, datetime64, or objects that are all text."""
    cells = as_read(cells)
    if column.type == "number":
        return _numbers(column, cells)
    if column.type == "date":
        return _dates(column, cells)
    if cells.dtype.kind == "f":  # numbers that are categories
        return np.array(["" if np.isnan(cell) else f"{cell:g}" for cell in cells.to_numpy()], dtype=object)
    return cells.astype(object).where(cells.notna(), "").astype(str).str.strip().to_numpy(dtype=object)


def as_read(cells: pandas.Series) -> pandas.Series:
    """Return a column of any frame as a reader would have given it: float64, datetime64 or text."""
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if cells.dtype.kind == "f" or cells.dtype == "str":
        return cells
    if is_datetime64_any_dtype(cells.dtype):
        return cells.dt.tz_convert(None) if getattr(cells.dtype, "tz", None) is not None else cells
    if is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
        return cells.astype("Float64").astype("float64")
    return cells.astype("object").where(cells.notna(), None).map(str, na_action="ignore").astype("str")


def _numbers(column: Column, cells: pandas.Series) -> np.ndarray:
    import pandas

    if cells.dtype.kind == "f":
        values = cells.to_numpy()
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
    words = cells.astype(object).where(cells.notna(), None)
    dates = pandas.to_datetime(words, format=column.format or "ISO8601", utc=True, errors="coerce")
    wrong = np.flatnonzero((dates.isna() & cells.notna()).to_numpy())
    if len(wrong):
        raise CellError(column.name, int(wrong[0]), str(cells.iloc[wrong[0]]), "date")
    return dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
