"""Parquet files and spreadsheets -> frames.

A column of a Parquet file is float64, datetime64 or text. Truth values, categories and times of day
are text as well; a column of lists, of records, or of bytes that are no text can't be a feature and
is refused. Of a spreadsheet the first sheet is read, whole; its first row names the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semisvm.columns.cells import DATES, NUMBERS, TEXT, as_text, is_missing, without_missing
from semisvm.disk import first_line, open_for_arrow, require_file
from semisvm.errors import DataError, fault
from semisvm.tables.delimited import require_different, require_names
from semisvm.tables.read import ROWS_AT_A_TIME, Chunk, RowReader

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from semisvm.tables.read import Part

# ---- Parquet ----


@dataclass(frozen=True)
class ParquetReader(RowReader):
    """A Parquet file; about one row group is in memory at a time."""

    n_rows: int
    types: dict[str, pyarrow.DataType]

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows, `ROWS_AT_A_TIME` of them."""
        import pandas

        names = list(dict.fromkeys([*wanted, *keep]))
        # pyarrow raises many unrelated types on bad bytes: all mean the same here
        try:
            file = _parquet_file(self.path)
            for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=names):
                columns = {name: self._plain_column(name, batch.column(name)) for name in wanted}
                frame = pandas.DataFrame(columns, index=range(len(batch)))
                yield frame, {name: batch.column(name) for name in keep}
        except (DataError, MemoryError):
            raise
        except Exception as error:
            raise _not_parquet(self.path, error) from None

    def kind_of(self, column: str) -> str | None:
        from pyarrow import types

        kind = self.types[column]
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_null(kind):
            return None
        if _are_numbers(kind) or types.is_duration(kind):
            return NUMBERS
        return DATES if types.is_timestamp(kind) or types.is_date(kind) else TEXT

    def may_read(self, column: str) -> bool:
        from pyarrow import types

        kind = self.types[column]
        return not types.is_nested(kind) and "binary" not in str(kind)

    def guess_rows(self, chunk: Chunk) -> int | None:
        return self.n_rows

    def _plain_column(self, name: str, column: Any) -> Any:
        """Return a column of Arrow as one of the three kinds, dates in microseconds."""
        import pyarrow
        from pyarrow import compute, types

        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_duration(column.type):  # in seconds
            column = compute.divide(
                column.cast("duration[us]", safe=False).cast("int64").cast("float64"), 1e6
            )
        kind = column.type
        if _are_numbers(kind):
            return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if types.is_timestamp(kind) or types.is_date(kind):
            dates = column.cast("timestamp[us]", safe=getattr(kind, "unit", "") != "ns")
            return dates.to_numpy(zero_copy_only=False)
        if types.is_time(kind):
            column = pyarrow.array(as_text(column.to_pandas()))
        try:
            return without_missing(column.cast(pyarrow.large_string()))
        except pyarrow.ArrowException:  # lists, records, bytes that are not UTF-8
            reason = f"column {name!r} holds {kind}, which is neither numbers, text nor dates"
            remedy = "Turn the column into one of these, or leave it out (`drop`)"
            raise fault(self.path, reason, remedy) from None


def open_parquet(path: Path) -> ParquetReader:
    """Open a Parquet file."""
    file = _parquet_file(path)
    names = tuple(map(str, file.schema_arrow.names))
    require_different(path, names)
    types = dict(zip(names, file.schema_arrow.types, strict=True))
    return ParquetReader(path, names, int(file.metadata.num_rows), types)


def _parquet_file(path: Path) -> Any:
    from pyarrow import parquet

    require_file(path)
    try:
        return parquet.ParquetFile(open_for_arrow(path))
    except Exception as error:
        raise _not_parquet(path, error) from None


def _not_parquet(path: Path, error: Exception) -> DataError:
    reason = f"can't be read as a Parquet file ({first_line(error)})"
    return fault(path, reason, "Copy or write it again")


def _are_numbers(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


# ---- spreadsheets ----

# pandas' engine, and its package
SHEET_ENGINES = {"xlsx": ("openpyxl", "openpyxl"), "ods": ("odf", "odfpy")}


@dataclass(frozen=True)
class SheetReader(RowReader):
    """The first sheet of a spreadsheet, which is read whole."""

    sheet: pandas.DataFrame

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows, `ROWS_AT_A_TIME` of them."""
        import pandas

        columns = {name: _sheet_column(self.sheet[name]) for name in wanted}
        frame = pandas.DataFrame(columns, index=range(len(self.sheet)))
        kept = {name: _cells_as_they_are(self.sheet[name]) for name in keep}
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield (
                frame[part].reset_index(drop=True),
                {name: column[part] for name, column in kept.items()},
            )


def open_sheet(path: Path, kind: str) -> SheetReader:
    """Read the first sheet of a spreadsheet; its first row names the columns."""
    import pandas

    require_file(path)
    engine, package = SHEET_ENGINES[kind]
    if find_spec(engine) is None:
        reason = f"reading .{kind} files needs the package {package}, which is not installed"
        raise fault(path, reason, f"Install it (pip install {package}), or save the sheet as CSV")
    try:  # cells as they are: pandas would make 1 and 0 of truth values beside an empty cell
        cells = pandas.read_excel(path, engine=engine, header=None, dtype=object, na_filter=False)  # type: ignore[call-overload]
    except Exception as error:  # the engines raise many unrelated types on bad bytes
        reason = f"can't be read as a spreadsheet ({first_line(error)})"
        raise fault(path, reason, "Copy or write it again") from None
    is_empty = cells.map(lambda cell: is_missing(str(cell)))
    cells = cells.mask(is_empty, None).dropna(axis="columns", how="all")
    if len(cells) < 2:
        raise fault(path, "no rows in the first sheet", "Add rows below the names of the columns")
    names = ["" if name is None else str(name).strip() for name in cells.iloc[0]]
    require_names(path, names, line=1)
    sheet = cells[1:].reset_index(drop=True).set_axis(names, axis="columns")
    return SheetReader(path, tuple(names), sheet)


def _sheet_column(cells: pandas.Series) -> Any:
    """Return a column of cells of any types as one of the three kinds."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return cells.astype("float64")
    if all(issubclass(kind, datetime) for kind in kinds):
        return cells.astype("datetime64[us]")
    return as_text(cells)


def _cells_as_they_are(cells: pandas.Series) -> Any:
    """Return a column as an Arrow array: of its type, or as text where it has several."""
    import pyarrow

    given = cells.tolist()
    try:
        column = pyarrow.array(given)
        if column.to_pylist() == given:
            return column
    except (pyarrow.ArrowException, OverflowError):
        pass  # numbers beside text, or beyond 64 bits
    return pyarrow.array([None if cell is None else str(cell) for cell in given], pyarrow.string())
