"""The columns of Parquet files, each made one of three kinds.

Numbers become float64, dates and times datetime64; text, truth values and categories become text. A column of lists, of
records or of bytes can't be a feature and is refused.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError, fault
from semisvm.tables.disk import read_bytes


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
