"""Parquet files in chunks, a row group's worth in memory; every column is made one of three kinds.

Numbers become float64, dates and times datetime64, text, truth values and categories text. A column of lists, of
records or of bytes has no reading as a feature and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.data.content import read_bytes
from semisvm.data.errors import DataError, fault
from semisvm.data.table import require_different
from semisvm.tables.chunk import ROWS_AT_A_TIME, Chunk, Rows


def parquet_names(path: Path) -> tuple[str, ...]:
    """Return the names of the columns."""
    names = tuple(map(str, _open(path).schema_arrow.names))
    require_different(path, names)
    return names


@dataclass(frozen=True)
class ParquetRows(Rows):
    """A Parquet file."""

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        import pandas

        assert self.names is not None
        wanted = [name for name in self.names if only is None or name in only]
        start = 0
        for batch in self._batches(wanted):
            named = zip(batch.schema.names, batch.columns, strict=True)
            columns = {name: _plain(self.path, name, column, start, name in numbers) for name, column in named}
            if len(batch):
                yield Chunk(start, frame=pandas.DataFrame(columns))
            start += len(batch)
        if start == 0:
            raise fault(self.path, "no rows in the table", "Write a table with at least one row")

    def guess_rows(self, chunk: Chunk) -> int | None:
        return int(_open(self.path).metadata.num_rows)

    def _batches(self, wanted: list[str]) -> Iterator[Any]:
        # pyarrow raises many unrelated types on bad bytes: all mean one thing here
        try:
            yield from _open(self.path).iter_batches(batch_size=ROWS_AT_A_TIME, columns=wanted)
        except DataError:
            raise
        except Exception as error:
            raise _unreadable(self.path, error) from None


def _open(path: Path) -> Any:
    from pyarrow import parquet

    if not path.is_file() or path.stat().st_size == 0:
        read_bytes(path)  # says what is wrong with it
    try:
        return parquet.ParquetFile(path)
    except Exception as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DataError:
    complaint = (str(error).splitlines() or [type(error).__name__])[0]
    return fault(path, f"can't be read as a Parquet file ({complaint})", "Copy or write it again")


def _plain(path: Path, name: str, column: Any, start: int, is_number: bool) -> Any:
    """Return a column of an Arrow table as one of the three kinds; `start` rows of the file come before it."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
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
