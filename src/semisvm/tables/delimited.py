"""Delimited text, CSV and TSV, as frames of named columns.

The text is read once, a few megabytes at a time. As long as there is no quote in it, a row is a
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semisvm.columns.cells import parse_number, without_missing
from semisvm.disk import COMPRESSIONS, decode_text, open_bytes, read_block, refuse_other_formats
from semisvm.errors import DataError, counted, fault
from semisvm.tables.read import ROWS_AT_A_TIME, Chunk, RowReader

if TYPE_CHECKING:
    from semisvm.tables.read import Part

BYTES_AT_A_TIME = 4_000_000
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
class DelimitedText(RowReader):
    """A file of rows under known column names.

    first_line   the line of the file where the rows begin, from 1
    start        the first bytes of the rows; where `is_whole`, all of them
    n_read       how many bytes of the (decompressed) file come before those that follow `start`
    """

    first_line: int
    delimiter: str
    start: bytes
    n_read: int
    is_whole: bool

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows; all cells are text."""
        line = self.first_line
        pending = b""
        blocks = self._blocks()
        for block in blocks:
            pending += block
            if b'"' in pending or not self.delimiter.isascii():
                yield from self._parts_by_lines(chain([pending], blocks), line, wanted, keep)
                return
            end = _end_of_lines(pending)
            part = pending[:end]
            pending = pending[end:]
            if len(pending) > LONGEST_ROW:
                reason = f"a row of more than {LONGEST_ROW:,} bytes"
                raise self.fault(reason, "Check that this is a table", line)
            if part:
                table = self._read_by_arrow(part, line, [*wanted, *keep])
                if table is None:  # the other reader says what is wrong, if anything is
                    yield from self._parts_by_lines([part], line, wanted, keep)
                else:
                    yield _make_part(table, wanted, keep)
                line += _count_lines(part)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row that is not blank; a fault where it can't be split."""
        return self._split(self._blocks(), self.first_line)

    def guess_rows(self, chunk: Chunk) -> int | None:
        if self.is_whole:
            return len(chunk)
        if self.path.suffix.lower() in COMPRESSIONS:
            return None
        return round(self.path.stat().st_size * _count_lines(self.start) / len(self.start))

    def fault(self, reason: str, remedy: str, line: int) -> DataError:
        """Return an error that names the file and the line."""
        return fault(self.path, reason, remedy, line=line)

    def fault_at(self, row: int, reason: str, remedy: str) -> DataError:
        line, _ = next(islice(self.rows(), row, None))
        return self.fault(reason, remedy, line)

    def _blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the rows; the last ones end a line."""
        block = self.start
        stream: Any = BytesIO() if self.is_whole else open_bytes(self.path, skip=self.n_read)
        with stream:
            while following := read_block(self.path, stream, BYTES_AT_A_TIME):
                yield block
                block = following
        yield block if block.endswith(b"\n") else block + b"\n"  # after \r it is the same line end

    def _read_by_arrow(self, part: bytes, line: int, names: list[str]) -> Any:
        """Return columns of a part, which begins in a line; None where Arrow refuses it."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        decode_text(self.path, part, line)
        source: Any = pyarrow.BufferReader(part)
        try:
            return arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(column_names=list(self.names), block_size=len(part) + 1),
                arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(self.names, pyarrow.string()),
                    include_columns=list(dict.fromkeys(names)),
                ),
            )
        except pyarrow.ArrowException:
            return None

    # ---- by lines ----

    def _split(self, blocks: Iterable[bytes], first: int) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row of the text that begins in line `first`."""
        row_line = first  # where the present row begins

        def lines() -> Iterator[str]:
            for number, text in enumerate(self._lines(blocks, first), first):
                if number - row_line > len(self.names) * MOST_LINES_IN_CELL:
                    raise self._too_many_lines(row_line)
                yield text

        reader = _csv_reader(lines(), self.delimiter)
        try:
            for cells in reader:
                if first + reader.line_num - row_line > LINES_LIKE_ROWS:
                    for cell in cells:
                        self._refuse_swallowed(cell, row_line)
                if len(cells) == len(self.names):
                    yield row_line, cells
                elif len(cells) > 1 or any(cell.strip() for cell in cells):
                    n_cells = counted(len(cells), "cell")
                    reason = f"the row has {n_cells} where the header has {len(self.names)}"
                    remedy = "Add or remove cells, or quote those with a delimiter"
                    raise self.fault(reason, remedy, row_line)
                row_line = first + reader.line_num
        except csv.Error as error:
            raise _misquoted(self.path, row_line, error) from None

    def _lines(self, blocks: Iterable[bytes], line: int) -> Iterator[str]:
        """Yield the lines of some blocks, which begin in a line, with their ends."""
        pending = b""
        for block in blocks:
            pending += block
            end = _end_of_lines(pending)
            for text in StringIO(decode_text(self.path, pending[:end], line), newline=""):
                yield text
                line += 1
            pending = pending[end:]
        yield from StringIO(decode_text(self.path, pending, line), newline="")

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

    def _parts_by_lines(
        self, blocks: Iterable[bytes], line: int, wanted: Sequence[str], keep: Sequence[str]
    ) -> Iterator[Part]:
        import pyarrow

        rows = self._split(blocks, line)
        while part := [cells for _, cells in islice(rows, ROWS_AT_A_TIME)]:
            columns = {}
            for name in (*wanted, *keep):
                place = self.names.index(name)
                columns[name] = pyarrow.array([cells[place] for cells in part], pyarrow.string())
            yield _make_part(pyarrow.table(columns), wanted, keep)


def _make_part(table: Any, wanted: Sequence[str], keep: Sequence[str]) -> Part:
    import pandas

    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    texts = {name: without_missing(columns[name]) for name in wanted}
    frame = pandas.DataFrame(texts, index=range(table.num_rows))
    return frame, {name: columns[name] for name in keep}


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

    Without a `delimiter` it is inferred from the header and the first row, or from a line "sep=;"
    before them, which Excel writes.
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
            path, "the file has only blank lines", "Write the table again, or point to another file"
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
    """The mark that header and first row share most often; else a comma, semicolon or tab."""
    in_header, in_row = (_QUOTED.sub("", line) for line in (header, row))
    there = [mark for mark in ",;\t|" if mark in in_header]
    alike = [mark for mark in there if in_header.count(mark) == in_row.count(mark)]
    if alike:
        return max(alike, key=in_header.count)
    return next((mark for mark in there if mark != "|"), ",")


def require_names(path: Path, names: Sequence[str], line: int) -> None:
    """Refuse a header that names not all columns, or none of them, or two in the same way."""
    if all(parse_number(name) is not None for name in names):
        remedy = "Add a header line that names the columns"
        raise fault(path, "there are numbers in place of column names", remedy, line=line)
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
