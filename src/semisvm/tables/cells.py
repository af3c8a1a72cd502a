"""Cells as values: numbers as people write them, dates, text; and the columns of Parquet files and spreadsheets.

A column of numbers is float64, of dates datetime64, and everything else is text; an empty cell is NaN, NaT or "". In a
Parquet file truth values and categories are text as well; a column of lists, of records or of bytes can't be a feature
and is refused.

Numbers may have thousands separators, a currency or a unit: "1.234,56", "NT$ 3,913", "12%". Which of "." and "," ends
the whole part is not guessed from single cells, because "3,913" may be either: the user says it (`--decimal`), and a
column keeps it as its format.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.errors import DataError, fault
from semisvm.tables.column_facts import LARGEST_NUMBER, plain_numbers_of
from semisvm.tables.columns import Column
from semisvm.tables.disk import read_bytes

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
    words = cells.astype(object).where(cells.notna(), None)
    dates = pandas.to_datetime(words, format=column.format or "ISO8601", utc=True, errors="coerce")
    wrong = np.flatnonzero((dates.isna() & cells.notna()).to_numpy())
    if len(wrong):
        raise CellError(column.name, int(wrong[0]), str(cells.iloc[wrong[0]]), "date")
    return dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


# ---- spreadsheets ----

SHEET_ENGINES = {"xlsx": ("openpyxl", "openpyxl"), "ods": ("odf", "odfpy")}  # pandas' engine, and its package


def read_sheet(path: Path, kind: str) -> pandas.DataFrame:
    """Read the first sheet of a spreadsheet; its first row names the columns."""
    import pandas

    if not path.is_file() or path.stat().st_size == 0:
        read_bytes(path)  # says what is wrong with it
    engine, package = SHEET_ENGINES[kind]
    if find_spec(engine) is None:
        reason = f"reading .{kind} files needs the package {package}, which is not installed"
        raise fault(path, reason, f"Install it (pip install {package}), or save the sheet as CSV")
    try:
        frame = pandas.read_excel(path, engine=engine, sheet_name=0)  # type: ignore[call-overload]
    except Exception as error:  # the engines raise many unrelated types on bad bytes
        complaint = (str(error).splitlines() or [type(error).__name__])[0]
        raise fault(path, f"can't be read as a spreadsheet ({complaint})", "Copy or write it again") from None
    unnamed = [number for number, name in enumerate(frame.columns, 1) if str(name).startswith("Unnamed:")]
    if unnamed:
        raise fault(path, f"column {unnamed[0]} has no name", "Name it in the first row, or delete the column", line=1)
    if not len(frame):
        raise fault(path, "no rows in the first sheet", "Add rows below the names of the columns")
    return frame.rename(columns=lambda name: str(name).strip())


def sheet_columns(path: Path, frame: pandas.DataFrame, numbers: frozenset[str], start: int) -> pandas.DataFrame:
    """Return the columns of a sheet, each of one kind; columns in `numbers` must be numbers."""
    import pandas

    found = {}
    for name in frame.columns:
        cells = as_read(frame[name])
        if name in numbers and cells.dtype.kind != "f":
            plain = pandas.to_numeric(cells, errors="coerce")
            wrong = np.flatnonzero((plain.isna() & cells.notna()).to_numpy())
            if len(wrong):
                reason = f"column {name!r} holds {str(cells.iloc[wrong[0]])!r} in row {start + int(wrong[0]) + 1}"
                raise fault(path, f"{reason}, where numbers are expected", "Correct the cell, or leave it empty")
            cells = plain.astype("float64")
        found[name] = cells
    return pandas.DataFrame(found)


# ---- Parquet ----


def open_parquet(path: Path) -> Any:
    """Open a Parquet file: a `pyarrow.parquet.ParquetFile`."""
    from pyarrow import parquet

    if not path.is_file() or path.stat().st_size == 0:
        read_bytes(path)  # says what is wrong with it
    try:
        return parquet.ParquetFile(path if _is_utf8(path) else io.BytesIO(path.read_bytes()))
    except Exception as error:
        raise _not_parquet(path, error) from None


def _is_utf8(path: Path) -> bool:
    """Whether Arrow itself can open a file of this name."""
    try:
        return bool(os.fsencode(path).decode())
    except UnicodeDecodeError:
        return False


def read_parquet_columns(
    path: Path, wanted: list[str], numbers: frozenset[str], rows_at_a_time: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (rows of the file that come before, columns); columns in `numbers` must be numbers or truth values."""
    start = 0
    for batch in _batches(path, wanted, rows_at_a_time):
        named = zip(batch.schema.names, batch.columns, strict=True)
        columns = {name: _plain_column(path, name, column, start, name in numbers) for name, column in named}
        if len(batch):
            yield start, columns
        start += len(batch)
    if start == 0:
        raise fault(path, "no rows in the table", "Write a table with at least one row")


def _batches(path: Path, wanted: list[str], rows_at_a_time: int) -> Iterator[Any]:
    # pyarrow raises many unrelated types on bad bytes: all mean the same here
    try:
        yield from open_parquet(path).iter_batches(batch_size=rows_at_a_time, columns=wanted)
    except DataError:
        raise
    except Exception as error:
        raise _not_parquet(path, error) from None


def _not_parquet(path: Path, error: Exception) -> DataError:
    complaint = (str(error).splitlines() or [type(error).__name__])[0]
    return fault(path, f"can't be read as a Parquet file ({complaint})", "Copy or write it again")


def _plain_column(path: Path, name: str, column: Any, start: int, is_number: bool) -> Any:
    """Return a column of an Arrow table as one of the three kinds; `start` rows of the file come before it."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_boolean(kind) and is_number:
        column, kind = column.cast(pyarrow.int8()), pyarrow.int8()
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if np.isinf(numbers).any():
            row = start + int(np.argmax(np.isinf(numbers))) + 1
            raise fault(path, f"column {name!r} holds an infinite number in row {row}", "Replace it, or leave it empty")
        return numbers
    if is_number and not types.is_null(kind):
        raise fault(path, f"column {name!r} holds {kind} where numbers are expected", "Write the column as numbers")
    if types.is_timestamp(kind) or types.is_date(kind):
        return column.cast(pyarrow.timestamp("us")).to_numpy(zero_copy_only=False)
    if types.is_boolean(kind) or types.is_null(kind):
        column = column.cast(pyarrow.string())
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        reason = f"column {name!r} holds {kind}, which is neither numbers, text nor dates"
        raise fault(path, reason, "Turn the column into one of these, or leave it out")
    return column.to_pandas()


def plain_cell(value: Any) -> Any:
    """Return a cell as JSON can hold it; an empty one is None."""
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
