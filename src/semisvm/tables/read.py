"""Files of rows: whole, or some thousands at a time, so that ten million rows take the memory of a
few chunks.

A table gives pandas frames whose columns are of three kinds, whatever the file's format:

    float64       numbers of Parquet files and spreadsheets; NaN where a cell is empty
    datetime64    dates of Parquet files and spreadsheets
    text          everything else, missing where a cell is empty
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from semisvm.columns.cells import TEXT
from semisvm.disk import file_format
from semisvm.errors import DataError, fault, suggest

if TYPE_CHECKING:
    import pandas
    import pyarrow

    # columns as features, and columns as they came: Arrow arrays by name
    Part = tuple[pandas.DataFrame, Mapping[str, pyarrow.Array]]

ROWS_AT_A_TIME = 65_536


@dataclass(frozen=True)
class Chunk:
    """Some rows; `start` rows of the file come before, `kept` are columns as they came."""

    reader: RowReader
    start: int
    frame: pandas.DataFrame
    kept: Mapping[str, pyarrow.Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    def fault_at(self, row: int, reason: str, remedy: str) -> DataError:
        """Return an error about a row of the chunk, from 0, that names the place in the file."""
        return self.reader.fault_at(self.start + row, reason, remedy)


@dataclass(frozen=True)
class RowReader:
    """A file opened for reading; `names` are its columns."""

    path: Path
    names: tuple[str, ...]

    def chunks(
        self, only: frozenset[str] | None = None, keep: Sequence[str] = ()
    ) -> Iterator[Chunk]:
        """Yield the rows, with all columns or `only` some; those to `keep` as they came, too."""
        wanted = [name for name in self.names if only is None or name in only]
        start = 0
        for frame, kept in self.parts(wanted, keep):
            if len(frame):
                yield Chunk(self, start, frame, kept)
            start += len(frame)
        if not start:
            raise fault(self.path, "a header and no rows", "Add rows below it")

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows."""
        raise NotImplementedError

    def guess_rows(self, chunk: Chunk) -> int | None:
        """Estimate how many rows the file has from its first chunk, or None."""
        return None

    def fault_at(self, row: int, reason: str, remedy: str) -> DataError:
        """Return an error about a row, counted from 0, that names the place in the file."""
        return fault(self.path, f"row {row + 1}: {reason}", remedy)

    def kind_of(self, column: str) -> str | None:
        """Return what the file says that a column holds: numbers, dates, text, or None: nothing."""
        return TEXT

    def may_read(self, column: str) -> bool:
        """Whether the cells of a column are numbers, text or dates, as far as the file says."""
        return True

    def require(self, column: str) -> str:
        """Return the column's name; a fault where there is no column of that name."""
        if column not in self.names:
            raise fault(self.path, f"there is no column {column!r}", suggest(column, self.names))
        return column


def open_rows(path: str | Path) -> RowReader:
    """Open a file, or a folder of files that are one table, and read its header."""
    from semisvm.tables import delimited, formats

    path = Path(path)
    if path.is_dir():
        from semisvm.tables.folders import open_folder

        return open_folder(path)
    kind = file_format(path)
    if kind == "parquet":
        return formats.open_parquet(path)
    if kind in formats.SHEET_ENGINES:
        return formats.open_sheet(path, kind)
    return delimited.open_delimited(path, delimiter="\t" if kind == "tsv" else None)
