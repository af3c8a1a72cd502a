"""Delimited text in chunks: Arrow for speed, the strict reader of `semisvm.data` where Arrow finds a fault.

The strict reader knows the line of every row: it says what is wrong and where, or it reads a file that Arrow is too
strict for. It holds the whole text in memory, which Arrow does not.
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
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.data.arff import open_arff
from semisvm.data.content import COMPRESSIONS, FOREIGN_MARKS
from semisvm.data.errors import fault, shorten
from semisvm.data.table import Table, open_table
from semisvm.data.target import MISSING_SPELLINGS
from semisvm.tables.chunk import ROWS_AT_A_TIME, Chunk, Rows

BLOCK_BYTES = 1_000_000  # of text that Arrow parses at a time
LOOKED_AT = 65_536  # bytes of the beginning, which tell whether Arrow reads the file as the strict reader does
UNREADABLE = (OSError, EOFError, ValueError, csv.Error, zlib.error, lzma.LZMAError)


def read_header(path: Path, delimiter: str | None) -> tuple[tuple[str, ...], str]:
    """Return the column names and the delimiter from the first line; where it is odd, what the strict reader says."""
    try:
        with io.TextIOWrapper(_open(path), "utf-8-sig") as lines:
            line = next((line for line in lines if line.strip()), "")
        if delimiter is None:
            delimiter = next((mark for mark in ",;\t" if mark in line), ",")
        reader = csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)
        names = tuple(name.strip() for name in next(reader, []))
        if _is_plain(names):
            return names, delimiter
    except UNREADABLE:
        pass
    table = open_table(path, delimiter=delimiter)
    return table.names, table.delimiter


def _is_plain(names: tuple[str, ...]) -> bool:
    """Whether there is nothing to object to: all different, none empty, not all of them numbers."""
    are_words = all(name and name.isprintable() for name in names) and any(name[0].isalpha() for name in names)
    return are_words and len(names) == len(set(names))


@dataclass(frozen=True)
class TextRows(Rows):
    """A CSV, TSV or ARFF file."""

    delimiter: str = ","
    is_arff: bool = False

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        n_given = 0
        if not self.is_arff and self._suits_arrow():
            try:
                for chunk in self._arrow_chunks(numbers, only):
                    yield chunk
                    n_given += len(chunk)
            except _ArrowComplaintError:
                pass
            else:
                if n_given:
                    return
        yield from self._strict_chunks(numbers, only, skip=n_given)

    def guess_rows(self, chunk: Chunk) -> int | None:
        if self.is_arff or self.path.suffix.lower() in COMPRESSIONS:
            return None
        size = self.path.stat().st_size
        return len(chunk) if size <= BLOCK_BYTES else round(len(chunk) * size / BLOCK_BYTES)

    def _suits_arrow(self) -> bool:
        """Whether Arrow reads it as the strict reader does: UTF-8, a header of one line, quotes after delimiters."""
        try:
            with closing(_open(self.path)) as stream:
                beginning = stream.read(LOOKED_AT)
        except UNREADABLE:
            return False
        mark = re.escape(self.delimiter.encode())
        # inside a quoted cell a quote is doubled, or ends the cell: this one begins a cell, after a space
        has_spaced_quote = re.search(mark + b' +"[^"\r\n' + mark + b"]", beginning) is not None
        is_foreign = b"\0" in beginning or any(beginning.startswith(foreign) for foreign in FOREIGN_MARKS)
        header = beginning.split(b"\n", 1)[0]
        is_one_line = bool(header.strip()) and header.count(b'"') % 2 == 0 and b"\r" not in header[:-1]
        return is_one_line and not has_spaced_quote and not is_foreign

    def _arrow_chunks(self, numbers: frozenset[str], only: frozenset[str] | None) -> Iterator[Chunk]:
        import pyarrow
        from pyarrow import csv as arrow_csv

        assert self.names is not None
        wanted = [name for name in self.names if only is None or name in only]
        types = {name: pyarrow.float64() if name in numbers else pyarrow.string() for name in self.names}
        start = 0
        try:
            with (
                closing(_open(self.path)) as stream,
                arrow_csv.open_csv(
                    stream,
                    arrow_csv.ReadOptions(column_names=list(self.names), skip_rows=1, block_size=BLOCK_BYTES),
                    arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                    arrow_csv.ConvertOptions(
                        column_types=types,
                        null_values=sorted(MISSING_SPELLINGS),
                        strings_can_be_null=True,
                        include_columns=wanted,
                    ),
                ) as batches,
            ):
                for batch in batches:
                    frame = batch.to_pandas()
                    if any(np.isinf(frame[name].to_numpy()).any() for name in wanted if name in numbers):
                        raise _ArrowComplaintError
                    if len(frame):
                        yield Chunk(start, frame=frame)
                    start += len(frame)
        except (pyarrow.ArrowException, *UNREADABLE) as error:
            raise _ArrowComplaintError from error

    def _strict_chunks(self, numbers: frozenset[str], only: frozenset[str] | None, skip: int) -> Iterator[Chunk]:
        """Read by Python's csv module, with the line of every row at hand."""
        table = open_arff(self.path) if self.is_arff else open_table(self.path, delimiter=self.delimiter)
        wanted = [(i, name) for i, name in enumerate(table.names) if only is None or name in only]
        start, rows, lines = skip, list[list[str]](), list[int]()
        for number, (line, cells) in enumerate(table.rows()):
            if number < skip:
                continue
            rows.append(cells)
            lines.append(line)
            if len(rows) == ROWS_AT_A_TIME:
                yield Chunk(start, frame=_frame(table, rows, lines, wanted, numbers))
                start, rows, lines = start + len(rows), [], []
        if rows:
            yield Chunk(start, frame=_frame(table, rows, lines, wanted, numbers))
        elif start == 0:
            raise table.without_rows()


class _ArrowComplaintError(Exception):
    """Arrow can't read on: the strict reader has to look."""


def _frame(table: Table, rows: list[list[str]], lines: list[int], wanted: list[tuple[int, str]], numbers) -> Any:
    import pandas

    columns = {}
    for i, name in wanted:
        cells = [None if row[i].strip() in table.missing else row[i] for row in rows]
        columns[name] = _numbers(table, name, cells, lines) if name in numbers else pandas.array(cells, dtype="str")
    return pandas.DataFrame(columns)


def _numbers(table: Table, name: str, cells: list[str | None], lines: list[int]) -> np.ndarray:
    numbers = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            numbers[k] = np.nan if cell is None else float(cell)
        except ValueError:
            numbers[k] = np.inf
        if np.isinf(numbers[k]):
            reason = f"column {name!r} holds {shorten(cell or '')} where a finite number is expected"
            remedy = "Write a number with a decimal point, or leave the cell empty"
            raise fault(table.path, reason, remedy, line=lines[k])
    return numbers


def _open(path: Path) -> Any:
    """Open a file for reading bytes, decompressed on the way."""
    module = COMPRESSIONS.get(path.suffix.lower())
    return open(path, "rb") if module is None else import_module(module).open(path, "rb")
