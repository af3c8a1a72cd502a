"""Text of rows under column names: what CSV, TSV and ARFF have in common once a header is read.

Python's own csv reader splits the rows, so quoted cells may hold delimiters and line breaks, and every
row still has its line in the file. Each row must have one cell for each name; blank lines don't count.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path

from semisvm.data.content import read_text
from semisvm.data.errors import DataError, fault, suggest
from semisvm.data.target import MISSING_SPELLINGS


@dataclass(frozen=True)
class Table:
    """Text of rows under known column names; `first_line` is where in the file that text begins."""

    path: Path
    names: tuple[str, ...]
    body: str
    first_line: int
    delimiter: str
    quote: str = '"'
    escape: str | None = None
    missing: frozenset[str] = MISSING_SPELLINGS

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, cells) of each row that is not blank; a row without its every cell is a fault."""
        _allow_cells_of(len(self.body))
        reader = csv.reader(
            StringIO(self.body),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            skipinitialspace=True,
            strict=True,  # a quote that is never closed would swallow the rest of the file in silence
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

    def position(self, column: str) -> int:
        """Return which column has this name."""
        if column not in self.names:
            raise fault(self.path, f"there is no column {column!r}", suggest(column, self.names))
        return self.names.index(column)

    def without_rows(self) -> DataError:
        """Describe a table that has a header and nothing below it."""
        return fault(self.path, "a header and no rows", "Add rows below the header", line=self.first_line - 1)

    def _ragged(self, line: int, cells: list[str]) -> DataError:
        reason = f"the row has {len(cells)} cells where the header has {len(self.names)}"
        return fault(self.path, reason, "Add or remove cells, or quote those with a delimiter", line=line)


def open_table(path: str | Path, *, delimiter: str | None = None) -> Table:
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
    if delimiter is None:
        delimiter = next((mark for mark in ",;\t" if mark in opening), ",")
    _allow_cells_of(len(text))
    reader = csv.reader(chain([opening], stream), delimiter=delimiter, skipinitialspace=True, strict=True)
    names = _header(path, reader, blank + 1)
    return Table(path, names, stream.read(), blank + reader.line_num + 1, delimiter)


def require_different(path: Path, names: Sequence[str], line: int | None = None) -> None:
    """Refuse a table in which two columns have one name."""
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
    if all(_is_number(name) for name in names):
        remedy = "Add a header line that names the columns"
        raise fault(path, "numbers where the column names belong", remedy, line=line)
    if "" in names:
        reason = f"column {names.index('') + 1} has no name"
        remedy = "Name it, or leave the column out (in pandas: to_csv(..., index=False))"
        raise fault(path, reason, remedy, line=line)
    require_different(path, names, line)
    return names


def _misquoted(path: Path, line: int, error: csv.Error) -> DataError:
    remedy = "Look for a quote that is never closed, or for text right after one that is"
    return fault(path, f"the row can't be split into cells ({error})", remedy, line=line)


def _allow_cells_of(size: int) -> None:
    """Raise the csv module's limit to cells, which guards memory; but here the whole text is in memory."""
    csv.field_size_limit(max(csv.field_size_limit(), size))


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
