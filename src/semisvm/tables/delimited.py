"""Delimited text, CSV and TSV, as frames of named columns.

The text is read once, about a megabyte at a time. As long as there is no quote in it, a row is a
line, and Arrow parses all lines of a part at once. From the first part with a quote on Python's csv
reader splits the rows, strictly: text right after a closing quote, and a quote that is never
closed, are errors. It also reads the parts that Arrow refuses, and knows the line of each row, so
that it can be said what is wrong and where.

Each row must have one cell for each name; blank lines don't count. A quoted cell may hold
delimiters and line breaks. A cell of very many lines, or of lines that look like rows, is an error:
most likely its quote was never closed, and it has swallowed rows.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.columns.cells import MISSING_SPELLINGS, is_missing, parse_number, without_missing
from semisvm.disk import COMPRESSIONS, decode_text, open_bytes, read_block, refuse_other_formats
from semisvm.errors import DataError, counted, fault, shorten

if TYPE_CHECKING:
    import pandas

    # columns as features, and columns as they came: Arrow arrays by name
    Part = tuple[pandas.DataFrame, dict[str, Any]]
    # rows of the file that come before, and the next ones
    Frames = Iterator[tuple[int, pandas.DataFrame, dict[str, Any]]]

ROWS_AT_A_TIME = 65_536
BYTES_AT_A_TIME = 1_000_000
# Cells of more lines are refused: letters and articles have fewer, and whoever has longer texts can
# write them as Parquet, which knows no quotes.
MOST_LINES_IN_CELL = 1_000
# A cell of so many lines, each with as many delimiters as a row has, has swallowed these rows.
LINES_LIKE_ROWS = 20
LONGEST_ROW = 100_000_000  # bytes: a file without line ends would fill the memory

_SEPARATOR = re.compile(r"sep=(.)\s*", re.I)
_QUOTED = re.compile(r'"[^"]*"?')
_LINE_ENDS = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class DelimitedText:
    """A file of rows under known column names.

    first_line   the line of the file where the rows begin, from 1
    start        the first bytes of the rows; where `is_whole`, all of them
    n_read       how many bytes of the (decompressed) file come before those that follow `start`
    """

    path: Path
    names: tuple[str, ...]
    first_line: int
    delimiter: str
    start: bytes
    n_read: int
    is_whole: bool

    def frames(
        self, numbers: frozenset[str], wanted: list[str], keep: Sequence[str] = ()
    ) -> Frames:
        """Yield (rows that come before, `wanted` columns, columns to `keep`): those in `numbers`
        as float64, all others as text, and those to keep as they are written.
        """
        n_rows = 0
        for frame, kept in self._frames(numbers - {*keep}, wanted, keep):
            yield n_rows, frame, kept
            n_rows += len(frame)
        if not n_rows:
            raise self.fault("a header and no rows", "Add rows below it", self.first_line - 1)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row that is not blank; a row with too few or too many
        cells, or with a quote that is not closed, is a fault.
        """
        return self._split(self._blocks(), self.first_line)

    def guess_rows(self, n_first: int) -> int | None:
        """Estimate how many rows there are, of which the first frame has `n_first`; None where
        that is not possible.
        """
        if self.is_whole:
            return n_first
        if self.path.suffix.lower() in COMPRESSIONS:
            return None
        return round(self.path.stat().st_size * _count_lines(self.start) / len(self.start))

    def fault(self, reason: str, remedy: str, line: int) -> DataError:
        """Return an error that names the file and the line."""
        return fault(self.path, reason, remedy, line=line)

    # ---- parts of the text ----

    def _blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the rows; the last ones end a line."""
        block = self.start
        stream: Any = BytesIO() if self.is_whole else open_bytes(self.path, skip=self.n_read)
        with stream:
            while following := read_block(self.path, stream, BYTES_AT_A_TIME):
                yield block
                block = following
        yield block if block.endswith(b"\n") else block + b"\n"  # after \r it is the same line end

    def _frames(
        self, numbers: frozenset[str], wanted: list[str], keep: Sequence[str]
    ) -> Iterator[Part]:
        line = self.first_line
        pending = b""
        blocks = self._blocks()
        for block in blocks:
            pending += block
            if b'"' in pending or not self.delimiter.isascii():
                rows = self._split(chain([pending], blocks), line)
                yield from self._frames_of_rows(rows, numbers, wanted, keep)
                return
            end = _end_of_lines(pending)
            part = pending[:end]
            pending = pending[end:]
            if len(pending) > LONGEST_ROW:
                reason = f"a row of more than {LONGEST_ROW:,} bytes"
                raise self.fault(reason, "Check that this is a table", line)
            if part:
                parsed = self._read_by_arrow(part, line, numbers, wanted, keep)
                if parsed is None:  # the other reader says what is wrong, if anything is
                    rows = self._split([part], line)
                    yield from self._frames_of_rows(rows, numbers, wanted, keep)
                elif len(parsed[0]):
                    yield parsed
                line += _count_lines(part)

    # ---- by Arrow ----

    def _read_by_arrow(
        self,
        part: bytes,
        line: int,
        numbers: frozenset[str],
        wanted: list[str],
        keep: Sequence[str],
    ) -> Part | None:
        """Return the rows of a part; None where Arrow refuses it."""
        import pandas
        import pyarrow
        from pyarrow import csv as arrow_csv

        decode_text(self.path, part, line)
        types = {
            name: pyarrow.float64() if name in numbers else pyarrow.string() for name in self.names
        }
        source: Any = pyarrow.BufferReader(part)
        try:
            table = arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(column_names=list(self.names), block_size=len(part) + 1),
                arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=types,
                    null_values=sorted(MISSING_SPELLINGS),
                    include_columns=list(dict.fromkeys([*wanted, *keep])),
                ),
            )
        except pyarrow.ArrowException:
            return None
        columns = {}
        for name in wanted:
            cells = table.column(name).combine_chunks()
            columns[name] = cells.to_pandas() if name in numbers else without_missing(cells)
            if name in numbers and np.isinf(columns[name].to_numpy()).any():
                return None
        frame = pandas.DataFrame(columns, index=range(table.num_rows))
        return frame, {name: table.column(name).combine_chunks() for name in keep}

    # ---- by lines ----

    def _split(self, blocks: Iterable[bytes], line: int) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row of the text that begins in a line; faults as `rows`."""
        lines = _RowLines(self, blocks, line)
        reader = _csv_reader(lines, self.delimiter)
        try:
            for cells in reader:
                n_lines = reader.line_num + line - lines.row_line
                if n_lines > LINES_LIKE_ROWS:
                    for cell in cells:
                        self._refuse_swallowed(cell, lines.row_line)
                if len(cells) == len(self.names):
                    yield lines.row_line, cells
                elif len(cells) > 1 or any(cell.strip() for cell in cells):
                    reason = (
                        f"the row has {counted(len(cells), 'cell')} where the header has"
                        f" {len(self.names)}"
                    )
                    remedy = "Add or remove cells, or quote those with a delimiter"
                    raise self.fault(reason, remedy, lines.row_line)
                lines.row_line = line + reader.line_num
        except csv.Error as error:
            raise _misquoted(self.path, lines.row_line, error) from None

    def _refuse_swallowed(self, cell: str, line: int) -> None:
        """Refuse a cell of a row that begins in a line if it holds too many lines, or rows."""
        lines = _LINE_ENDS.split(cell)
        if len(lines) > MOST_LINES_IN_CELL + 1:
            raise self._too_many_lines(line)
        n_marks = len(self.names) - 1
        inner = lines[1:-1]
        if (
            n_marks
            and len(inner) >= LINES_LIKE_ROWS
            and all(text.count(self.delimiter) == n_marks for text in inner)
        ):
            reason = (
                f"a quoted cell spans {len(lines)} lines, and each looks like a row of the table"
            )
            raise self.fault(reason, "Close the quote that opens in this row", line)

    def _too_many_lines(self, line: int) -> DataError:
        reason = f"a quote opens a cell that goes on for more than {MOST_LINES_IN_CELL:,} lines"
        remedy = "Close the quote; if the text is that long, save the table as Parquet"
        return self.fault(reason, remedy, line)

    def _frames_of_rows(
        self,
        rows: Iterator[tuple[int, list[str]]],
        numbers: frozenset[str],
        wanted: list[str],
        keep: Sequence[str],
    ) -> Iterator[Part]:
        import pandas
        import pyarrow

        while part := list(islice(rows, ROWS_AT_A_TIME)):
            columns: dict[str, Any] = {}
            kept: dict[str, Any] = {}
            for name in dict.fromkeys([*wanted, *keep]):
                place = self.names.index(name)
                if name in numbers:
                    values = [self._number(cells[place], place, line) for line, cells in part]
                    columns[name] = np.array(values, dtype=np.float64)
                else:
                    texts = pyarrow.array([cells[place] for _, cells in part], pyarrow.string())
                    if name in keep:
                        kept[name] = texts
                    if name in wanted:
                        columns[name] = without_missing(texts)
            yield pandas.DataFrame(columns, index=range(len(part))), kept

    def _number(self, cell: str, place: int, line: int) -> float:
        """Return the number in a cell, NaN where it is empty; a fault where it is neither."""
        name = self.names[place]
        if is_missing(cell):
            return nan
        value = parse_number(cell)
        if value is not None:
            return value
        remedy = "Write a number with a decimal point, or leave the cell empty"
        if parse_number(cell.replace(",", ".")) is not None:
            remedy = "Write decimals with a point, not a comma"
        reason = f"column {name!r} holds {shorten(cell)} where a finite number is expected"
        raise self.fault(reason, remedy, line)


class _RowLines:
    """The lines of some blocks, with their ends; ends in a fault where one row takes too many.

    `row_line` is the line where the present row begins; whoever splits rows keeps it up to date.
    """

    def __init__(self, text: DelimitedText, blocks: Iterable[bytes], line: int):
        self.row_line = line
        self._text = text
        self._lines = self._decoded(blocks, line)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _decoded(self, blocks: Iterable[bytes], line: int) -> Iterator[str]:
        pending = b""
        for block in blocks:
            pending += block
            end = _end_of_lines(pending)
            for text in StringIO(decode_text(self._text.path, pending[:end], line), newline=""):
                if line - self.row_line > len(self._text.names) * MOST_LINES_IN_CELL:
                    raise self._text._too_many_lines(self.row_line)
                yield text
                line += 1
            pending = pending[end:]
        yield from StringIO(decode_text(self._text.path, pending, line), newline="")


def _end_of_lines(text: bytes) -> int:
    r"""Return where the last complete line ends. A line end may be cut in two by the end of a
    block: "\r" here, "\n" in the next one.
    """
    last = len(text) - text.endswith(b"\r")
    return max(text.rfind(b"\n", 0, last), text.rfind(b"\r", 0, last)) + 1


def _count_lines(text: bytes) -> int:
    r"""Return the number of line ends: "\n", "\r\n" or "\r"."""
    n = text.count(b"\n")
    return n + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else n


# ---- headers ----


def open_delimited(path: str | Path, *, delimiter: str | None = None) -> DelimitedText:
    """Read the names in the header of a file: the first line that is not blank.

    Without a `delimiter` the header and the first row tell it, or a line "sep=;" before them, which
    Excel writes.
    """
    path = Path(path)
    with open_bytes(path) as stream:
        start = read_block(path, stream, BYTES_AT_A_TIME)
        start += (following := read_block(path, stream, 1))
    refuse_other_formats(path, start)
    body = start.removeprefix(codecs.BOM_UTF8)
    # the bytes after the last line end may stop in the middle of a letter
    end = 0 if not following else max(body.rfind(b"\n"), body.rfind(b"\r")) + 1
    lines = list(StringIO(decode_text(path, body[: end or len(body)], 1), newline=""))
    given = [place for place, line in enumerate(lines) if line.strip()]
    if given and (separator := _SEPARATOR.fullmatch(lines[given[0]])):
        delimiter = delimiter or separator[1]
        del given[0]
    if not given:
        raise fault(
            path, "nothing but blank lines", "Write the table again, or point to another file"
        )
    place = given[0]
    first_row = lines[place + 1] if len(lines) > place + 1 else ""
    delimiter = delimiter or _find_delimiter(lines[place], first_row)
    reader = _csv_reader(lines[place:], delimiter)
    try:
        names = tuple(name.strip() for name in next(reader))
    except csv.Error as error:
        raise _misquoted(path, place + 1, error) from None
    require_names(path, names, place + 1)
    n_lines = place + reader.line_num
    n_bytes = len("".join(lines[:n_lines]).encode())
    return DelimitedText(
        path, names, n_lines + 1, delimiter, body[n_bytes:], len(start), not following
    )


def _find_delimiter(header: str, row: str) -> str:
    """The mark that header and first row have equally often, the most frequent one; else a
    comma, semicolon or tab.
    """
    in_header, in_row = (_QUOTED.sub("", line) for line in (header, row))
    there = [mark for mark in ",;\t|" if mark in in_header]
    alike = [mark for mark in there if in_header.count(mark) == in_row.count(mark)]
    return (
        max(alike, key=in_header.count)
        if alike
        else next((mark for mark in there if mark != "|"), ",")
    )


def require_names(path: Path, names: Sequence[str], line: int) -> None:
    """Refuse a header that names not all columns, or none of them, or two in the same way."""
    if all(parse_number(name) is not None for name in names):
        remedy = "Add a header line that names the columns"
        raise fault(path, "numbers where the column names belong", remedy, line=line)
    if "" in names:
        remedy = "Name it, or leave the column out (in pandas: index=False)"
        raise fault(path, f"column {names.index('') + 1} has no name", remedy, line=line)
    require_different(path, names, line)


def require_different(path: Path, names: Sequence[str], line: int | None = None) -> None:
    """Refuse a table in which two columns have the same name."""
    for name, n in Counter(names).items():
        if n > 1:
            raise fault(path, f"two columns are called {name!r}", "Rename one of them", line=line)


def _csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    """Split lines of text into cells, strictly: otherwise a quote that is never closed swallows
    the rest of the file without an error.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_ROW))
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _misquoted(path: Path, line: int, error: csv.Error) -> DataError:
    remedy = "Look for a quote that is never closed, or for text right after a closing quote"
    return fault(path, f"the row can't be split into cells ({error})", remedy, line=line)
