"""Files of rows: whole, or some thousands at a time, so that ten million rows take the memory of a
few chunks.

A table gives pandas frames whose columns are of three kinds, whatever the file's format:

    float64       the columns named in `numbers`, and numbers of Parquet files; NaN where a cell is
                  empty
    datetime64    dates of Parquet files
    text          everything else, missing where a cell is empty

Files of bare numbers (LIBSVM, npz) are read whole and give matrices, with the labels that they
carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.columns.cells import TEXT
from semisvm.disk import file_format
from semisvm.errors import fault, suggest
from semisvm.tables.delimited import (
    ROWS_AT_A_TIME,
    DelimitedText,
    open_delimited,
    require_different,
)
from semisvm.tables.formats import (
    SHEET_ENGINES,
    kind_of_type,
    open_parquet,
    parquet_frames,
    read_libsvm,
    read_npz,
    read_sheet,
    sheet_frames,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from semisvm.tables.delimited import Frames

NO_FEATURES = (
    "list",
    "large_list",
    "fixed_size_list",
    "map",
    "struct",
    "binary",
    "large_binary",
    "fixed_size_binary",
)


@dataclass(frozen=True)
class Chunk:
    """Some rows: a frame of named columns, or a matrix X with its labels y. `start` rows of the
    file come before.
    """

    start: int
    frame: pandas.DataFrame | None = None
    X: Any = None
    y: np.ndarray | None = None
    kept: Mapping[str, pyarrow.Array] = field(default_factory=dict)  # columns as they came

    def __len__(self) -> int:
        return len(self.frame) if self.frame is not None else self.X.shape[0]


@dataclass(frozen=True)
class RowReader:
    """A file opened for reading in chunks; `names` are its columns, None where it holds a bare
    matrix.
    """

    path: Path
    names: tuple[str, ...] | None

    def chunks(
        self,
        numbers: frozenset[str] = frozenset(),
        only: frozenset[str] | None = None,
        keep: Sequence[str] = (),
    ) -> Iterator[Chunk]:
        """Yield the rows; columns in `numbers` as float64. Where `only` is given, other columns
        are left out. Columns to `keep` are given as they came, too.
        """
        wanted = [name for name in self.names or () if only is None or name in only]
        for start, frame, kept in self.frames(numbers, wanted, keep):
            yield Chunk(start, frame=frame, kept=kept)

    def frames(
        self, numbers: frozenset[str], wanted: list[str], keep: Sequence[str] = ()
    ) -> Frames:
        """Yield the rows of a file with named columns."""
        raise NotImplementedError

    def guess_rows(self, chunk: Chunk) -> int | None:
        """Estimate how many rows the file has from its first chunk; None where that is not
        possible.
        """
        return None

    def place(self, row: int) -> tuple[Path, int]:
        """Return the file of a row, and the row's number in it, both counted from 0; for
        messages.
        """
        return self.path, row

    def kind_of(self, column: str) -> str | None:
        """Return what the cells of a column are, as far as the file says: numbers, dates or text;
        None where the file says that there are none.
        """
        return TEXT

    def may_read(self, column: str) -> bool:
        """Whether the cells of a column are numbers, text or dates, as far as the file says."""
        return True

    def require(self, column: str) -> str:
        """Return the column's name; a fault where there is no column of that name."""
        if self.names is None:
            raise fault(
                self.path,
                f"a file without named columns has no column {column!r}",
                "Leave its name out",
            )
        if column not in self.names:
            raise fault(self.path, f"there is no column {column!r}", suggest(column, self.names))
        return column


@dataclass(frozen=True)
class TextReader(RowReader):
    """A CSV or TSV file."""

    text: DelimitedText

    def frames(
        self, numbers: frozenset[str], wanted: list[str], keep: Sequence[str] = ()
    ) -> Frames:
        return self.text.frames(numbers, wanted, keep)

    def guess_rows(self, chunk: Chunk) -> int | None:
        return self.text.guess_rows(len(chunk))


@dataclass(frozen=True)
class ParquetReader(RowReader):
    """A Parquet file; about one row group is in memory at a time."""

    n_rows: int
    types: dict[str, pyarrow.DataType]

    def frames(
        self, numbers: frozenset[str], wanted: list[str], keep: Sequence[str] = ()
    ) -> Frames:
        return parquet_frames(self.path, numbers, wanted, keep)

    def kind_of(self, column: str) -> str | None:
        return kind_of_type(self.types[column])

    def may_read(self, column: str) -> bool:
        return not str(self.types[column]).startswith(NO_FEATURES)

    def guess_rows(self, chunk: Chunk) -> int | None:
        return self.n_rows


@dataclass(frozen=True)
class SheetReader(RowReader):
    """The first sheet of a spreadsheet, which is read whole."""

    sheet: pandas.DataFrame

    def frames(
        self, numbers: frozenset[str], wanted: list[str], keep: Sequence[str] = ()
    ) -> Frames:
        return sheet_frames(self.path, self.sheet, numbers, wanted, keep)


@dataclass(frozen=True)
class MatrixReader(RowReader):
    """LIBSVM text or an npz archive."""

    n_features: int | None
    kind: str

    def chunks(
        self,
        numbers: frozenset[str] = frozenset(),
        only: frozenset[str] | None = None,
        keep: Sequence[str] = (),
    ) -> Iterator[Chunk]:
        X: Any
        if self.kind == "npz":
            X, y = read_npz(self.path)
        else:
            X, y = read_libsvm(self.path, n_features=self.n_features)
        for start in range(0, X.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield Chunk(start, X=X[part], y=y[part])


def open_rows(path: str | Path, *, n_features: int | None = None) -> RowReader:
    """Open a file, or a folder of files that are one table, and read its header; `chunks` yields
    the rows.

    `n_features` is the number of features of LIBSVM text, whose rows do not tell it.
    """
    path = Path(path)
    if path.is_dir():
        from semisvm.tables.folders import open_folder

        return open_folder(path)
    kind = file_format(path)
    if kind in ("libsvm", "npz"):
        return MatrixReader(path, None, n_features, kind)
    if kind == "parquet":
        file = open_parquet(path)
        names = tuple(map(str, file.schema_arrow.names))
        require_different(path, names)
        types = dict(zip(names, file.schema_arrow.types, strict=True))
        return ParquetReader(path, names, int(file.metadata.num_rows), types)
    if kind in SHEET_ENGINES:
        sheet = read_sheet(path, kind)
        return SheetReader(path, tuple(sheet.columns), sheet)
    text = open_delimited(path, delimiter="\t" if kind == "tsv" else None)
    return TextReader(path, text.names, text)
