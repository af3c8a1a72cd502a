"""Delimited text, CSV, TSV and ARFF, as frames of named columns.

Arrow parses text, some thousands of rows at a time. Where it refuses a file, or would read it differently (spaces
before quotes, a header of several lines, ARFF), Python's csv reader splits the rows: quoted cells may hold delimiters
and line breaks, and the line of each row in the file is known, so it can be said what is wrong and where. Each row must
have one cell for each name; blank lines don't count. This is slow and holds the whole text in memory.

ARFF is Weka's format: a header that declares the columns, then rows of cells.

    @relation weather
    @attribute temperature numeric
    @attribute play {yes, no}
    @data
    18.0, ?

A "?" is a missing cell. What a declared type promises is not checked.
"""

from __future__ import annotations

import csv
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import StringIO, TextIOWrapper
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.disk import COMPRESSIONS, FOREIGN_MARKS, open_for_arrow, open_stream, read_text
from semisvm.errors import DataError, counted, fault, shorten
from semisvm.tables.column_facts import MISSING_SPELLINGS, is_missing, parse_number, without_missing

if TYPE_CHECKING:
    import pandas

    Frames = Iterator[tuple[int, pandas.DataFrame]]  # rows of the file that come before, and columns of the next ones

ROWS_AT_A_TIME = 65_536
BYTES_AT_A_TIME = 1_000_000  # of text that Arrow parses at a time
BYTES_LOOKED_AT = 65_536  # of the beginning of a file, to decide whether Arrow reads it as it is, and to guess rows
UNREADABLE = (OSError, EOFError, ValueError, csv.Error, zlib.error, lzma.LZMAError)

# a name in quotes may hold spaces
_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^\s{]+))\s*(\S.*)""", re.I)
_SEPARATOR = re.compile(r"sep=(.)\s*", re.I)
_QUOTED = re.compile(r'"[^"]*"?')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class DelimitedText:
    """A file of rows under known column names; `first_line` is the line of the file where the rows begin."""

    path: Path
    names: tuple[str, ...]
    first_line: int
    delimiter: str
    is_arff: bool = False
    quote: str = '"'

    # ---- columns ----

    def frames(self, numbers: frozenset[str], wanted: list[str]) -> Frames:
        """Yield (rows that come before, `wanted` columns): those in `numbers` as float64, all others as text."""
        import pyarrow

        n_given = 0
        if self.suits_arrow():
            try:
                for frame in self.frames_by_arrow(numbers, wanted):
                    yield n_given, frame
                    n_given += len(frame)
            except (pyarrow.ArrowException, *UNREADABLE):
                pass  # the other reader goes on, or says what is wrong
            else:
                if n_given:
                    return
        for frame in self.frames_by_line(numbers, wanted, skip=n_given):
            yield n_given, frame
            n_given += len(frame)

    def guess_rows(self, n_first: int) -> int | None:
        """Estimate how many rows there are, of which the first frame has `n_first`; None where that is not possible."""
        if self.is_arff or self.path.suffix.lower() in COMPRESSIONS:
            return None
        size = self.path.stat().st_size
        if size <= BYTES_LOOKED_AT:
            return n_first
        with open(self.path, "rb") as stream:
            return round(size * stream.read(BYTES_LOOKED_AT).count(b"\n") / BYTES_LOOKED_AT)

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
        return is_one_line and self.first_line == 2 and not has_spaced_quote and not is_foreign

    def frames_by_arrow(self, numbers: frozenset[str], wanted: list[str]) -> Iterator[pandas.DataFrame]:
        """Let Arrow read the file as it is; an error of Arrow's, or a ValueError, where it can't."""
        import pandas
        import pyarrow
        from pyarrow import csv as arrow_csv

        types = {name: pyarrow.float64() if name in numbers else pyarrow.string() for name in self.names}
        read = arrow_csv.ReadOptions(column_names=list(self.names), skip_rows=1, block_size=BYTES_AT_A_TIME)
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types=types, null_values=sorted(MISSING_SPELLINGS), strings_can_be_null=True, include_columns=wanted
        )
        with arrow_csv.open_csv(open_for_arrow(self.path), read, parse, convert) as batches:
            for batch in batches:
                named = zip(batch.schema.names, batch.columns, strict=True)
                frame = pandas.DataFrame({n: c.to_pandas() if n in numbers else without_missing(c) for n, c in named})
                if any(np.isinf(frame[name].to_numpy()).any() for name in wanted if name in numbers):
                    raise ValueError("an infinite number")
                if len(frame):
                    yield frame

    def frames_by_line(self, numbers: frozenset[str], wanted: list[str], skip: int = 0) -> Iterator[pandas.DataFrame]:
        """Check every row, and yield those after the first `skip`."""
        import pandas

        rows = self.rows()
        n_rows = sum(1 for _ in islice(rows, skip))
        places = {name: i for i, name in enumerate(self.names) if name in wanted}
        while part := [cells for _, cells in islice(rows, ROWS_AT_A_TIME)]:
            n_rows += len(part)
            columns = {name: self._column([row[i] for row in part], name, numbers) for name, i in places.items()}
            yield pandas.DataFrame(columns, index=range(len(part)))
        if not n_rows:
            raise fault(self.path, "a header and no rows", "Add rows below the header", line=self.first_line - 1)

    def _column(self, cells: list[str], name: str, numbers: frozenset[str]) -> Any:
        import pyarrow

        if name not in numbers:
            given = [None if self._is_missing(cell) else cell for cell in cells]
            return pyarrow.array(given, pyarrow.string()).to_pandas().astype("str")
        values = [nan if self._is_missing(cell) else parse_number(cell) for cell in cells]
        if None in values:
            self.refuse_wrong_number(numbers, may_be_empty=True)
        return np.array(values, dtype=np.float64)

    def _is_missing(self, cell: str) -> bool:
        return is_missing(cell) or (self.is_arff and cell.strip() == "?")

    # ---- lines ----

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row that is not blank; a row with too few or too many cells is a fault."""
        text = read_text(self.path)
        lines: Iterable[str] = islice(StringIO(text), self.first_line - 1, None)
        escape = "\\" if self.is_arff else None
        reader = _split(
            self._without_comments(lines) if self.is_arff else lines, len(text), self.delimiter, self.quote, escape
        )
        line = self.first_line
        try:
            for cells in reader:
                if len(cells) == len(self.names):
                    yield line, cells
                elif len(cells) > 1 or any(cell.strip() for cell in cells):
                    reason = f"the row has {counted(len(cells), 'cell')} where the header has {len(self.names)}"
                    remedy = "Add or remove cells, or quote those with a delimiter"
                    raise fault(self.path, reason, remedy, line=line)
                line = self.first_line + reader.line_num
        except csv.Error as error:
            raise _misquoted(self.path, line, error) from None

    def _without_comments(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines of ARFF rows, with blank ones for comments, so that lines keep their numbers."""
        for number, line in enumerate(lines, self.first_line):
            if line.lstrip().startswith("{"):
                reason = "a sparse row ({index value, ...})"
                raise fault(self.path, reason, "Save the file as dense ARFF, CSV or LIBSVM text", line=number)
            yield "\n" if line.lstrip().startswith("%") else line

    def refuse_wrong_number(self, columns: Collection[str], *, may_be_empty: bool) -> None:
        """Raise a fault that names the first cell of these columns that is not a finite number, if there is one."""
        places = [i for i, name in enumerate(self.names) if name in columns]
        for line, cells in self.rows():
            for i in places:
                reason, remedy = self._wrong_number(cells[i], may_be_empty)
                if reason:
                    raise fault(self.path, f"column {self.names[i]!r} {reason}", remedy, line=line)

    def _wrong_number(self, cell: str, may_be_empty: bool) -> tuple[str, str]:
        """What is wrong with a cell that should be a number, and the remedy; "" where it is one."""
        is_empty = self._is_missing(cell)
        if is_empty and not may_be_empty:
            return f"has no value ({shorten(cell)})", "Fill it in, or leave the row or the column out"
        if is_empty or parse_number(cell) is not None:
            return "", ""
        remedy = "Write a number, or leave the row or the column out"
        if parse_number(cell.replace(",", ".")) is not None:
            remedy = "Write decimals with a point, not a comma"
        elif may_be_empty:
            remedy = "Write a number with a decimal point, or leave the cell empty"
        return f"holds {shorten(cell)} where a finite number is expected", remedy


def open_delimited(path: str | Path, *, delimiter: str | None = None) -> DelimitedText:
    """Read the names in the header of a file.

    Without a `delimiter` the header and the first row tell it, or a line "sep=;" before them, which Excel writes.
    """
    path = Path(path)
    try:
        with TextIOWrapper(open_stream(path), "utf-8-sig") as lines:
            found = _read_header(path, lines, 0, delimiter)
        if all(name.isprintable() for name in found.names):
            return found
    except UNREADABLE:
        pass  # the whole text tells what is wrong, and where
    text = read_text(path)
    return _read_header(path, StringIO(text), len(text), delimiter)


def _read_header(path: Path, lines: Iterator[str], size: int, delimiter: str | None) -> DelimitedText:
    """Read the first line that is not blank: names that are all different, and not all of them numbers."""
    given = ((line, text) for line, text in enumerate(lines, start=1) if text.strip())
    line, opening = next(given, (0, ""))
    if said := _SEPARATOR.fullmatch(opening):
        delimiter, (line, opening) = delimiter or said[1], next(given, (0, ""))
    if not line:
        raise fault(path, "nothing but blank lines", "Write the table again, or point to another file")
    row = next(lines, "")
    delimiter = delimiter or _find_delimiter(opening, row)
    reader = _split(chain([opening, row], lines), size, delimiter)
    try:
        names = tuple(name.strip() for name in next(reader))
    except csv.Error as error:
        raise _misquoted(path, line, error) from None
    require_names(path, names, line)
    return DelimitedText(path, names, line + reader.line_num, delimiter)


def _find_delimiter(header: str, row: str) -> str:
    """The mark that header and first row have equally often, the most frequent one; else a comma, semicolon or tab."""
    in_header, in_row = (_QUOTED.sub("", line) for line in (header, row))
    there = [mark for mark in ",;\t|" if mark in in_header]
    alike = [mark for mark in there if in_header.count(mark) == in_row.count(mark)]
    return max(alike, key=in_header.count) if alike else next((mark for mark in there if mark != "|"), ",")


def open_arff(path: str | Path) -> DelimitedText:
    """Read the declarations of an ARFF file."""
    path = Path(path)
    lines = read_text(path).split("\n")
    names: list[str] = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        keyword = line.split(maxsplit=1)[0].lower() if line else ""
        if keyword == "@data":
            break
        if keyword == "@attribute":
            names.append(_declared_name(path, line, number))
        elif line and not line.startswith("%") and keyword != "@relation":
            reason = "neither @relation, @attribute, @data nor a comment (%) in the header"
            raise fault(path, reason, "Check that this is an ARFF file", line=number)
    else:
        raise fault(path, "there is no @data line", "Check that this is a whole ARFF file")
    if not names:
        raise fault(path, "no @attribute is declared before @data", "Declare one for each column", line=number)
    require_different(path, names)
    # ARFF allows both quotes and Weka writes the single one: that one, if there is any
    has_single = any("'" in line and not line.lstrip().startswith("%") for line in lines[number:])
    return DelimitedText(path, tuple(names), number + 1, ",", is_arff=True, quote="'" if has_single else '"')


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


def _declared_name(path: Path, line: str, number: int) -> str:
    declaration = _ATTRIBUTE.fullmatch(line)
    if declaration is None:
        reason = "an @attribute without a name or a type"
        raise fault(path, reason, "Write it as: @attribute name numeric", line=number)
    single, double, bare = declaration.group(1, 2, 3)
    return bare if bare is not None else _ESCAPED.sub(r"\1", single if single is not None else double)


def _split(lines: Iterable[str], size: int, delimiter: str, quote: str = '"', escape: str | None = None) -> Any:
    """Split lines of text into cells; none of them is longer than `size`, if that is beyond what csv allows."""
    csv.field_size_limit(max(csv.field_size_limit(), size))
    # strict: otherwise a quote that is never closed swallows the rest of the file without an error
    return csv.reader(
        lines, delimiter=delimiter, quotechar=quote, escapechar=escape, skipinitialspace=True, strict=True
    )


def _misquoted(path: Path, line: int, error: csv.Error) -> DataError:
    remedy = "Look for a quote that is never closed, or for text right after a closing quote"
    return fault(path, f"the row can't be split into cells ({error})", remedy, line=line)
