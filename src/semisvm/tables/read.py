"""Rows of a file, some thousands at a time, so that `predict` reads ten million rows in the memory of a few chunks.

A table gives pandas frames whose columns are of three kinds, whatever the file's format:

    float64       the columns named in `numbers`, and numbers of Parquet files; NaN where a cell is empty
    datetime64    dates of Parquet files
    text          everything else, missing where a cell is empty

Files of bare numbers (LIBSVM, npz) are read whole and give matrices, with the labels that they carry.

Delimited text is parsed by Arrow. Where Arrow refuses a file, or would read it differently (spaces before quotes, a
header of several lines, ARFF), `semisvm.tables.delimited` says what is wrong and in which line, or writes the rows in a
form that Arrow reads.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from semisvm.errors import fault, suggest
from semisvm.tables.delimited import (
    MISSING_SPELLINGS,
    SHEET_ENGINES,
    DelimitedText,
    guess_delimiter,
    open_arff,
    open_delimited,
    read_sheet,
    require_different,
    sheet_columns,
)
from semisvm.tables.disk import COMPRESSIONS, FOREIGN_MARKS, file_format, open_stream
from semisvm.tables.formats import has_labels, open_parquet, read_libsvm, read_npz, read_parquet_columns

if TYPE_CHECKING:
    import pandas

ROWS_AT_A_TIME = 65_536
BYTES_AT_A_TIME = 1_000_000  # of text that Arrow parses at a time
BYTES_LOOKED_AT = 65_536  # of the beginning of a file, to decide whether Arrow reads it as it is
UNREADABLE = (OSError, EOFError, ValueError, csv.Error, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class Chunk:
    """Some rows: a frame of named columns, or a matrix X with its labels y. `start` rows of the file come before."""

    start: int
    frame: pandas.DataFrame | None = None
    X: Any = None
    y: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.frame) if self.frame is not None else self.X.shape[0]


@dataclass(frozen=True)
class RowReader:
    """A file opened for reading in chunks; `names` are its columns, None where it holds a bare matrix."""

    path: Path
    names: tuple[str, ...] | None

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows; columns in `numbers` as float64. Where `only` is given, other columns are left out."""
        raise NotImplementedError

    def guess_rows(self, chunk: Chunk) -> int | None:
        """Estimate how many rows the file has from its first chunk; None where that is not possible."""
        return None

    def place(self, row: int) -> tuple[Path, int]:
        """Return the file of a row, and the row's number in it, both counted from 0; for messages."""
        return self.path, row

    def require(self, column: str) -> str:
        """Return the column's name; a fault where there is no column of that name."""
        if self.names is None:
            raise fault(self.path, f"a file without named columns has no column {column!r}", "Leave its name out")
        if column not in self.names:
            raise fault(self.path, f"there is no column {column!r}", suggest(column, self.names))
        return column


def open_rows(path: str | Path, *, n_features: int | None = None, format: str | None = None) -> RowReader:
    """Open a file and read its header.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .arff, .parquet, .xlsx, .ods, .libsvm or .npz file; text may be compressed (.gz, .bz2, .xz). A
        folder of .csv, .tsv, .arff or .parquet files is one table.
    n_features : int, optional
        The number of features of LIBSVM text, whose rows do not tell it.
    format : str, optional
        Overrules the suffix.

    Returns
    -------
    rows : RowReader
        `rows.chunks()` yields the rows.
    """
    path = Path(path)
    if path.is_dir():
        from semisvm.tables.folders import open_folder

        return open_folder(path)
    kind = file_format(path, format)
    if kind in ("libsvm", "npz"):
        return MatrixReader(path, None, kind, n_features)
    if kind == "parquet":
        names = tuple(map(str, open_parquet(path).schema_arrow.names))
        require_different(path, names)
        return ParquetReader(path, names)
    if kind in SHEET_ENGINES:
        frame = read_sheet(path, kind)
        require_different(path, tuple(frame.columns), line=1)
        return SheetReader(path, tuple(frame.columns), frame)
    if kind == "arff":
        return TextReader(path, open_arff(path).names, is_arff=True)
    names, delimiter = _read_header(path, "\t" if kind == "tsv" else None)
    return TextReader(path, names, delimiter)


# ---- delimited text ----


@dataclass(frozen=True)
class TextReader(RowReader):
    """A CSV, TSV or ARFF file."""

    delimiter: str = ","
    is_arff: bool = False

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        n_given = 0
        if self.suits_arrow():
            try:
                for chunk in self.chunks_as_written(numbers, only):
                    yield chunk
                    n_given += len(chunk)
            except _ArrowComplaintError:
                pass
            else:
                if n_given:
                    return
        yield from self.chunks_cleaned(numbers, only, skip=n_given)

    def guess_rows(self, chunk: Chunk) -> int | None:
        if self.is_arff or self.path.suffix.lower() in COMPRESSIONS:
            return None
        size = self.path.stat().st_size
        return len(chunk) if size <= BYTES_AT_A_TIME else round(len(chunk) * size / BYTES_AT_A_TIME)

    def open_lines(self) -> DelimitedText:
        """Read the whole text, in which the line of each row is known."""
        return open_arff(self.path) if self.is_arff else open_delimited(self.path, delimiter=self.delimiter)

    def suits_arrow(self) -> bool:
        """Whether Arrow reads the file as it is: UTF-8, a header of one line, quotes only right after delimiters."""
        if self.is_arff:
            return False
        try:
            with closing(open_stream(self.path)) as stream:
                beginning = stream.read(BYTES_LOOKED_AT)
        except UNREADABLE:
            return False
        mark = re.escape(self.delimiter.encode())
        # inside a quoted cell a quote is doubled, or ends the cell; this one begins a cell, after a space
        has_spaced_quote = re.search(mark + b' +"[^"\r\n' + mark + b"]", beginning) is not None
        is_foreign = b"\0" in beginning or any(beginning.startswith(foreign) for foreign in FOREIGN_MARKS)
        header = beginning.split(b"\n", 1)[0]
        is_one_line = bool(header.strip()) and header.count(b'"') % 2 == 0 and b"\r" not in header[:-1]
        return is_one_line and not has_spaced_quote and not is_foreign

    def chunks_as_written(self, numbers: frozenset[str], only: frozenset[str] | None) -> Iterator[Chunk]:
        """Let Arrow read the file as it is."""
        try:
            with closing(open_stream(self.path)) as stream:
                yield from self._parse(stream, numbers, only, self.delimiter, skip_lines=1)
        except UNREADABLE as error:
            raise _ArrowComplaintError(str(error)) from error

    def chunks_cleaned(self, numbers: frozenset[str], only: frozenset[str] | None, skip: int) -> Iterator[Chunk]:
        """Check every row and write it in plain form, then let Arrow read that; `skip` rows were given already."""
        lines = self.open_lines()
        stream, longest = lines.clean(skip)
        try:
            yield from self._parse(
                stream, numbers, only, ",", start=skip, block_bytes=max(BYTES_AT_A_TIME, 2 * longest)
            )
        except _ArrowComplaintError as complaint:
            error = lines.find_wrong_number(numbers, may_be_empty=True)
            raise error or fault(self.path, f"can't be read as a table ({complaint})", "Check its cells") from None

    def _parse(
        self,
        stream: IO[bytes],
        numbers: frozenset[str],
        only: frozenset[str] | None,
        delimiter: str,
        *,
        start: int = 0,
        skip_lines: int = 0,
        block_bytes: int | None = None,
    ) -> Iterator[Chunk]:
        """Parse delimited text by Arrow."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        assert self.names is not None
        wanted = [name for name in self.names if only is None or name in only]
        types = {name: pyarrow.float64() if name in numbers else pyarrow.string() for name in self.names}
        block = block_bytes or BYTES_AT_A_TIME
        read = arrow_csv.ReadOptions(column_names=list(self.names), skip_rows=skip_lines, block_size=block)
        parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types=types, null_values=sorted(MISSING_SPELLINGS), strings_can_be_null=True, include_columns=wanted
        )
        try:
            with arrow_csv.open_csv(stream, read, parse, convert) as batches:
                for batch in batches:
                    frame = batch.to_pandas()
                    if any(np.isinf(frame[name].to_numpy()).any() for name in wanted if name in numbers):
                        raise _ArrowComplaintError("an infinite number")
                    if len(frame):
                        yield Chunk(start, frame=frame)
                    start += len(frame)
        except pyarrow.ArrowException as error:
            raise _ArrowComplaintError(str(error)) from error


class _ArrowComplaintError(Exception):
    """Arrow can't read on: the text has to be read line by line."""


def _read_header(path: Path, delimiter: str | None) -> tuple[tuple[str, ...], str]:
    """Return the column names and the delimiter from the first line, or from the whole text where that line is odd."""
    try:
        with io.TextIOWrapper(open_stream(path), "utf-8-sig") as lines:
            line = next((line for line in lines if line.strip()), "")
        mark = delimiter or guess_delimiter(line)
        reader = csv.reader([line], delimiter=mark, skipinitialspace=True, strict=True)
        names = tuple(name.strip() for name in next(reader, []))
        if _is_plain(names):
            return names, mark
    except UNREADABLE:
        pass
    table = open_delimited(path, delimiter=delimiter)
    return table.names, table.delimiter


def _is_plain(names: tuple[str, ...]) -> bool:
    """Whether there is nothing to object to: all different, none empty, not all of them numbers."""
    are_words = all(name and name.isprintable() for name in names) and any(name[0].isalpha() for name in names)
    return are_words and len(names) == len(set(names))


# ---- Parquet ----


@dataclass(frozen=True)
class ParquetReader(RowReader):
    """A Parquet file; about one row group is in memory at a time."""

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        import pandas

        assert self.names is not None
        wanted = [name for name in self.names if only is None or name in only]
        for start, columns in read_parquet_columns(self.path, wanted, numbers, ROWS_AT_A_TIME):
            yield Chunk(start, frame=pandas.DataFrame(columns))

    def guess_rows(self, chunk: Chunk) -> int | None:
        return int(open_parquet(self.path).metadata.num_rows)


# ---- spreadsheets ----


@dataclass(frozen=True)
class SheetReader(RowReader):
    """The first sheet of a spreadsheet, which is read whole."""

    sheet: Any = None

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        frame = self.sheet[[name for name in self.sheet.columns if only is None or name in only]]
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            part = frame.iloc[start : start + ROWS_AT_A_TIME]
            yield Chunk(start, frame=sheet_columns(self.path, part, numbers, start).reset_index(drop=True))


# ---- bare numbers ----


@dataclass(frozen=True)
class MatrixReader(RowReader):
    """LIBSVM text or an npz archive."""

    kind: str = "npz"
    n_features: int | None = None

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        if self.kind == "npz":
            data = read_npz(self.path, target="y" if has_labels(self.path) else None)
        else:
            data = read_libsvm(self.path, n_features=self.n_features)
        for start in range(0, data.X.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield Chunk(start, X=data.X[part], y=data.y[part])
