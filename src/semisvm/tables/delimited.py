"""Tables under a header: delimited text (CSV, TSV, ARFF) line by line, and spreadsheets.

Python's csv reader splits the rows of text, so quoted cells may hold delimiters and line breaks, and the line of each
row in the file is known. Each row must have one cell for each name; blank lines don't count. This is slow and holds the
whole text in memory. `semisvm.tables.read` uses it only for files that Arrow can't read as they are: to say what is
wrong and in which line, or to write the rows again in the plain form that Arrow reads (`clean`).

ARFF is Weka's format: a header that declares the columns, then rows of cells.

    @relation weather
    @attribute temperature numeric
    @attribute play {yes, no}
    @data
    21.5, yes
    18.0, ?

A "?" is a missing cell. What a declared type promises is not checked.

Of a spreadsheet the first sheet is read, whole; its first row names the columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO, StringIO
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semisvm.errors import DataError, fault, shorten
from semisvm.tables.columns import as_read
from semisvm.tables.disk import read_bytes, read_text

if TYPE_CHECKING:
    import pandas

# How R, NumPy, pandas and databases write "nothing here"; an empty cell is the plainest.
MISSING_SPELLINGS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"})

# a name in quotes may hold spaces
_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^\s{]+))\s*(\S.*)""", re.I)
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class DelimitedText:
    """Text of rows under known column names; `first_line` is the line of the file where that text begins."""

    path: Path
    names: tuple[str, ...]
    body: str
    first_line: int
    delimiter: str
    quote: str = '"'
    escape: str | None = None
    missing: frozenset[str] = MISSING_SPELLINGS

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row that is not blank; a row with too few or too many cells is a fault."""
        _allow_long_cells(len(self.body))
        reader = csv.reader(
            StringIO(self.body),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            skipinitialspace=True,
            strict=True,  # otherwise a quote that is never closed swallows the rest of the file without an error
        )
        line = self.first_line
        try:
            for cells in reader:
                if len(cells) == len(self.names):
                    yield line, cells
                elif len(cells) > 1 or any(cell.strip() for cell in cells):
                    raise self._ragged(line, cells)
                line = self.first_line + reader.line_num
        except csv.Error as error:
            raise _misquoted(self.path, line, error) from None

    def clean(self, skip: int = 0) -> tuple[BytesIO, int]:
        """Write the rows after the first `skip` ones in the plainest form: comma, double quotes, empty where missing.

        Returns the text and the number of characters in its longest row.
        """
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        n_rows = longest = 0
        for n_rows, (_, cells) in enumerate(self.rows(), start=1):
            if n_rows > skip:
                written = writer.writerow(["" if cell.strip() in self.missing else cell for cell in cells])
                longest = max(longest, written)
        if n_rows == 0:
            reason, remedy = "a header and no rows", "Add rows below the header"
            raise fault(self.path, reason, remedy, line=self.first_line - 1)
        return BytesIO(text.getvalue().encode()), longest

    def find_wrong_number(self, columns: Collection[str], *, may_be_empty: bool) -> DataError | None:
        """Describe the first cell of these columns that is not a finite number; None where all of them are."""
        places = [i for i, name in enumerate(self.names) if name in columns]
        for line, cells in self.rows():
            for i in places:
                is_empty = cells[i].strip() in self.missing
                if not (is_empty and may_be_empty) and (is_empty or parse_number(cells[i]) is None):
                    return self._wrong_number(line, self.names[i], cells[i], may_be_empty)
        return None

    def _wrong_number(self, line: int, name: str, cell: str, may_be_empty: bool) -> DataError:
        if cell.strip() in self.missing:
            reason = f"column {name!r} has no value ({shorten(cell)})"
            return fault(self.path, reason, "Fill it in, or leave the row or the column out", line=line)
        reason = f"column {name!r} holds {shorten(cell)} where a finite number is expected"
        if parse_number(cell.replace(",", ".")) is not None:
            remedy = "Write decimals with a point, not a comma"
        elif may_be_empty:
            remedy = "Write a number with a decimal point, or leave the cell empty"
        else:
            remedy = "Write a number, or leave the row or the column out"
        return fault(self.path, reason, remedy, line=line)

    def _ragged(self, line: int, cells: list[str]) -> DataError:
        reason = f"the row has {len(cells)} cells where the header has {len(self.names)}"
        return fault(self.path, reason, "Add or remove cells, or quote those with a delimiter", line=line)


def parse_number(text: str) -> float | None:
    """Return the finite number that a text spells; Python's "1_000" is not accepted."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def open_delimited(path: str | Path, *, delimiter: str | None = None) -> DelimitedText:
    """Read a file's text and the names in its header line.

    Without a `delimiter` the header tells: a comma if it has one, else a semicolon, else a tab.
    """
    path = Path(path)
    text = read_text(path)
    stream = StringIO(text)
    blank = 0
    for opening in stream:
        if opening.strip():
            break
        blank += 1
    else:
        raise fault(path, "nothing but blank lines", "Write the table again, or point to another file")
    delimiter = delimiter or guess_delimiter(opening)
    _allow_long_cells(len(text))
    reader = csv.reader(chain([opening], stream), delimiter=delimiter, skipinitialspace=True, strict=True)
    names = _header(path, reader, blank + 1)
    return DelimitedText(path, names, stream.read(), blank + reader.line_num + 1, delimiter)


def guess_delimiter(header: str) -> str:
    """Return what separates the cells of a header line."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def open_arff(path: str | Path) -> DelimitedText:
    """Read the declarations of an ARFF file, and the text of the rows below them."""
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
    body = _arff_body(path, lines[number:], number + 1)
    # ARFF allows both quotes and Weka writes the single one: that one, if there is any
    quote = "'" if "'" in body else '"'
    return DelimitedText(path, tuple(names), body, number + 1, ",", quote, "\\", MISSING_SPELLINGS | {"?"})


def require_different(path: Path, names: Sequence[str], line: int | None = None) -> None:
    """Refuse a table in which two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise fault(path, f"two columns are called {name!r}", "Rename one of them", line=line)
        seen.add(name)


def _header(path: Path, reader: Iterator[list[str]], line: int) -> tuple[str, ...]:
    """Return the names in a header row, which must be there, all different, and not numbers."""
    try:
        names = tuple(name.strip() for name in next(reader))
    except csv.Error as error:
        raise _misquoted(path, line, error) from None
    if all(_spells_float(name) for name in names):
        remedy = "Add a header line that names the columns"
        raise fault(path, "numbers where the column names belong", remedy, line=line)
    if "" in names:
        reason = f"column {names.index('') + 1} has no name"
        remedy = "Name it, or leave the column out (in pandas: to_csv(..., index=False))"
        raise fault(path, reason, remedy, line=line)
    require_different(path, names, line)
    return names


def _declared_name(path: Path, line: str, number: int) -> str:
    declaration = _ATTRIBUTE.fullmatch(line)
    if declaration is None:
        reason = "an @attribute without a name or a type"
        raise fault(path, reason, "Write it as: @attribute name numeric", line=number)
    single, double, bare = declaration.group(1, 2, 3)
    return bare if bare is not None else _ESCAPED.sub(r"\1", single if single is not None else double)


def _arff_body(path: Path, lines: list[str], first_line: int) -> str:
    """Return the rows as delimited text; comments become blank lines, so that lines keep their numbers."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith("{"):
            reason = "a sparse row ({index value, ...})"
            raise fault(path, reason, "Save the file as dense ARFF, CSV or LIBSVM text", line=first_line + i)
        if line.lstrip().startswith("%"):
            lines[i] = ""
    return "\n".join(lines)


def _misquoted(path: Path, line: int, error: csv.Error) -> DataError:
    remedy = "Look for a quote that is never closed, or for text right after a closing quote"
    return fault(path, f"the row can't be split into cells ({error})", remedy, line=line)


def _allow_long_cells(size: int) -> None:
    """Raise the csv module's limit on cells; it protects memory, but here the whole text is in memory already."""
    csv.field_size_limit(max(csv.field_size_limit(), size))


def _spells_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- spreadsheets ----

SHEET_ENGINES = {"xlsx": ("openpyxl", "openpyxl"), "ods": ("odf", "odfpy")}  # pandas' engine, and its package


def read_sheet(path: Path, kind: str) -> pandas.DataFrame:
    """Read the first sheet of a spreadsheet; its first row names the columns."""
    import pandas

    if not path.is_file() or path.stat().st_size == 0:
        read_bytes(path)  # says what is wrong with it
    engine, package = SHEET_ENGINES[kind]
    if find_spec(engine) is None:
        reason = f"reading .{kind} files needs the package {package}, which is not installed"
        raise fault(path, reason, f"Install it (pip install {package}), or save the sheet as CSV")
    try:
        frame = pandas.read_excel(path, engine=engine, sheet_name=0)  # type: ignore[call-overload]
    except Exception as error:  # the engines raise many unrelated types on bad bytes
        complaint = (str(error).splitlines() or [type(error).__name__])[0]
        raise fault(path, f"can't be read as a spreadsheet ({complaint})", "Copy or write it again") from None
    unnamed = [number for number, name in enumerate(frame.columns, 1) if str(name).startswith("Unnamed:")]
    if unnamed:
        raise fault(path, f"column {unnamed[0]} has no name", "Name it in the first row, or delete the column", line=1)
    if not len(frame):
        raise fault(path, "no rows in the first sheet", "Add rows below the names of the columns")
    return frame.rename(columns=lambda name: str(name).strip())


def sheet_columns(path: Path, frame: pandas.DataFrame, numbers: frozenset[str], start: int) -> pandas.DataFrame:
    """Return the columns of a sheet, each of one kind; columns in `numbers` must be numbers."""
    import pandas

    found = {}
    for name in frame.columns:
        cells = as_read(frame[name])
        if name in numbers and cells.dtype.kind != "f":
            plain = pandas.to_numeric(cells, errors="coerce")
            wrong = np.flatnonzero((plain.isna() & cells.notna()).to_numpy())
            if len(wrong):
                reason = f"column {name!r} holds {str(cells.iloc[wrong[0]])!r} in row {start + int(wrong[0]) + 1}"
                raise fault(path, f"{reason}, where numbers are expected", "Correct the cell, or leave it empty")
            cells = plain.astype("float64")
        found[name] = cells
    return pandas.DataFrame(found)
