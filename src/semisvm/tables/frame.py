"""Files of rows: read a table as it was written, in one piece or in chunks.

    read(path)       the whole table, every cell as text (Parquet: as it is typed)
    chunks(path)     the same table in frames of some rows: memory does not grow with the file
    row_ids(frame)   what identifies a row: a digest of its cells, and which copy it is

pandas and PyArrow read; the guards here refuse the files that they would read wrongly in silence.
"""

from __future__ import annotations

import csv
import hashlib
import lzma
import zlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.io.common import get_handle  # type: ignore[import-not-found]

from semisvm.errors import DataError

ROWS_AT_ONCE = 20_000
LONGEST_CELL = 1_000_000  # characters,
MOST_LINES = 1_000  # and lines in one cell: more is a quote that was never closed
SPREADSHEETS = (".xlsx", ".xls", ".ods")
PARQUET = (".parquet", ".pq")
SEPARATORS = ",;\t|"
NO_LABEL = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")


def read(path: str | Path) -> pd.DataFrame:
    """Return the whole table."""
    return pd.concat(list(chunks(path)), ignore_index=True)


def chunks(path: str | Path, n_rows: int = ROWS_AT_ONCE) -> Iterator[pd.DataFrame]:
    """Iterate over the table in frames of at most `n_rows` rows; an empty table is one frame."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: there is no such file.")
    if path.is_dir():
        raise DataError(f"{path}: is a folder. Name its files: {path}/*.csv")
    try:
        if path.suffix.lower() in PARQUET:
            yield from _parquet(path, n_rows)
        elif path.suffix.lower() in SPREADSHEETS:
            yield _spreadsheet(path)
        else:
            yield from _delimited(path, n_rows)
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: byte {error.start:,} (0x{error.object[error.start]:02x}) is not UTF-8. Save"
            f" the file as UTF-8 (from Latin-1: iconv -f latin1 -t utf-8 {path})."
        ) from None
    except pd.errors.ParserError as error:
        if "Calling read" in str(error):  # pandas' words for Ctrl-C while it reads
            raise KeyboardInterrupt from None
        raise DataError(f"{path}: {error}") from None
    except (ValueError, OSError, EOFError, ImportError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path}: {error}") from None  # a library's good error, with the file


def _spreadsheet(path: Path) -> pd.DataFrame:
    frame = pd.read_excel(path, header=None, dtype=str, keep_default_na=False)
    if frame.empty:
        raise DataError(f"{path}: is empty.")
    header = [str(name) for name in frame.iloc[0]]
    _check_names(header, path)
    frame.columns = pd.Index(header)
    return frame.iloc[1:].reset_index(drop=True)


def _parquet(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        _check_names(schema.names, path)
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested:
            raise DataError(
                f"{path}: column {nested[0]!r} holds lists or records. Write their parts as columns"
                " of their own."
            )
        for batch in file.iter_batches(batch_size=n_rows):
            frame = batch.to_pandas(integer_object_nulls=True)  # decimals stay decimal.Decimal
            yield frame.reset_index(drop=True)
        if not file.metadata.num_rows:
            yield schema.empty_table().to_pandas()


def _delimited(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    separator = _separator(path)
    header = _check_lines(path, separator)
    n_read, last_given = 0, False
    with pd.read_csv(
        path,
        sep=separator,
        dtype=str,
        na_filter=False,
        index_col=False,
        encoding="utf-8-sig",
        encoding_errors="strict",
        chunksize=n_rows,
    ) as parts:
        for frame in parts:
            frame.columns = pd.Index(header)
            n_read += len(frame)
            last_given = last_given or bool((frame.iloc[:, -1] != "").any())
            yield frame.reset_index(drop=True)
    if n_read > 1 and len(header) > 1 and not header[-1].strip() and not last_given:
        raise DataError(f"{path}: every line ends with {separator!r}. Remove the last separator.")


# ---- guards: what pandas would read wrongly in silence ----


def _separator(path: Path) -> str:
    """The mark between cells: the most frequent one of the first line."""
    with open(path, "rb") as file:
        start = file.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f'{path}: is UTF-16 (Excel\'s "Unicode text"). Save it as CSV UTF-8.')
    if start == b"PK\x03\x04" and path.suffix.lower() != ".zip":
        raise DataError(f"{path}: is a zip archive or a spreadsheet. Name it .xlsx or .zip.")
    with _text(path) as handle:
        line = handle.handle.readline()
    if not line.strip():
        raise DataError(f"{path}: is empty, or its first line is.")
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    return max(SEPARATORS, key=line.count)


def _text(path: Path) -> Any:
    """Open text that may be compressed, as pandas does."""
    return get_handle(path, "r", encoding="utf-8-sig", compression="infer")


def _check_lines(path: Path, separator: str) -> list[str]:
    """Go through all lines once, and return the names of the columns.

    pandas would fill a short row with empty cells, glue text behind a quote to its cell, and give a
    line number of its own for an open quote. This pass takes 0.4 s per 100,000 rows.
    """
    header: list[str] = []
    line = 0
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        with _text(path) as handle:
            rows = csv.reader(_without_zeros(handle.handle), delimiter=separator, strict=True)
            for row in rows:
                first, line = line + 1, rows.line_num
                if line - first > MOST_LINES:
                    raise DataError(f"{path}: line {first:,}: {OPEN_QUOTE}")
                if not header:
                    header = row
                    _check_names(header, path)
                elif row and len(row) != len(header):
                    few = "few" if len(row) < len(header) else "many"
                    raise DataError(
                        f"{path}: line {first:,} has {len(row)} cells, the header has"
                        f" {len(header)}: too {few}. Is a {separator!r} inside a cell without"
                        " quotes?"
                    )
    except csv.Error as error:
        why = OPEN_QUOTE
        if "zero byte" in str(error):
            why = "holds a zero byte: the file is no text."
        elif "expected after" in str(error):
            why = "text after a closing quote. Double the quotes inside a cell."
        raise DataError(f"{path}: line {line + 1:,}: {why}") from None
    finally:
        csv.field_size_limit(limit)
    return header


OPEN_QUOTE = "a quote that opens here is not closed."


def _without_zeros(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if "\0" in line:
            raise csv.Error("zero byte")
        yield line


def _check_names(names: list[str], path: Path) -> None:
    """Refuse columns without a name (the last may be all empty, which is told later) or of one."""
    for place, name in enumerate(names):
        if not name.strip() and place < len(names) - 1:
            raise DataError(f"{path}: column {place + 1} has no name.")
        if name in names[:place]:
            raise DataError(f"{path}: two columns are called {name!r}. Rename one.")


def require_columns(frame: pd.DataFrame, names: Iterable[str], source: str | Path) -> None:
    """Refuse a table that lacks a column, and name the one that was meant."""
    there = [str(name) for name in frame.columns]
    for name in names:
        if name in there:
            continue
        same = [each for each in there if each.strip().casefold() == name.strip().casefold()]
        near = same or get_close_matches(name, there, 1, 0.5)
        some = ", ".join(there[:8]) + (" ..." if len(there) > 8 else "")
        hint = f"Did you mean {near[0]!r}?" if near else f"It has {some}."
        raise DataError(f"{source}: there is no column {name!r}. {hint}")


# ---- cells and rows as they were written ----


def as_written(cells: pd.Series) -> list[str]:
    """Cells as text: as they came, "" where there is nothing."""
    values = cells.astype(object)
    return ["" if value is None or value != value else str(value) for value in values]


def has_no_label(cells: pd.Series, mark: str = "") -> pd.Series:
    """Whether each cell has no label: it is empty, NA or NaN, or holds the user's own mark."""
    text = pd.Series(as_written(cells), index=cells.index, dtype=object).str.strip()
    return text.isin([*NO_LABEL, mark])


def row_ids(frame: pd.DataFrame) -> list[str]:
    """Identify rows by their cells: a digest of 12 digits, and "-2" for a second equal row.

    Equal rows are interchangeable, so the order of the file does not matter.
    """
    columns = [as_written(frame[name]) for name in frame.columns]
    names = "\x1e".join(map(str, frame.columns)).encode("utf-8", "surrogatepass")
    key = hashlib.blake2b(names).digest()
    seen: dict[str, int] = {}
    ids = []
    for cells in zip(*columns, strict=True):
        text = "\x1f".join(cells).encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(text, digest_size=6, key=key).hexdigest()
        seen[name] = seen.get(name, 0) + 1
        ids.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return ids
