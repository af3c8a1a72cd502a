"""Files of rows: whole, or some thousands at a time, so that ten million rows take the memory of a few chunks.

A table gives pandas frames whose columns are of three kinds, whatever the file's format:

    float64       the columns named in `numbers`, and numbers of Parquet files; NaN where a cell is empty
    datetime64    dates of Parquet files
    text          everything else, missing where a cell is empty

Files of bare numbers (LIBSVM, npz) are read whole and give matrices, with the labels that they carry.

For Python, `read_dataset` reads a whole file of numbers, and `read_frame` one with columns of any kind. The labels of a
target column become integers where all of them are whole numbers, floats where all of them are numbers, and stay text
otherwise. A row without a label is kept, as NaN (so whole numbers become floats when a label is missing) or "". Nothing
else is read into a label: "-1" is the number -1, whatever it may mean to the author of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semisvm.datasets.dataset import EXACT_IN_FLOAT, Dataset, refuse_rounded, whole_if_possible
from semisvm.disk import file_format
from semisvm.errors import fault, suggest
from semisvm.tables.column_facts import is_missing, parse_number
from semisvm.tables.delimited import (
    ROWS_AT_A_TIME,
    DelimitedText,
    open_arff,
    open_delimited,
    require_different,
)
from semisvm.tables.formats import (
    SHEET_ENGINES,
    open_parquet,
    parquet_frames,
    read_libsvm,
    read_npz,
    read_sheet,
    sheet_frames,
)

if TYPE_CHECKING:
    import pandas

    from semisvm.tables.delimited import Frames

NO_FEATURES = ("list", "large_list", "fixed_size_list", "map", "struct", "binary", "large_binary", "fixed_size_binary")
LONGEST_LABEL = 1000  # characters; a longer one is a text, and NumPy would reserve its length for every row


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
        wanted = [name for name in self.names or () if only is None or name in only]
        for start, frame in self.frames(numbers, wanted):
            yield Chunk(start, frame=frame)

    def frames(self, numbers: frozenset[str], wanted: list[str]) -> Frames:
        """Yield the rows of a file with named columns."""
        raise NotImplementedError

    def guess_rows(self, chunk: Chunk) -> int | None:
        """Estimate how many rows the file has from its first chunk; None where that is not possible."""
        return None

    def place(self, row: int) -> tuple[Path, int]:
        """Return the file of a row, and the row's number in it, both counted from 0; for messages."""
        return self.path, row

    def may_read(self, column: str) -> bool:
        """Whether the cells of a column are numbers, text or dates, as far as the file says."""
        return True

    def require(self, column: str) -> str:
        """Return the column's name; a fault where there is no column of that name."""
        if self.names is None:
            raise fault(self.path, f"a file without named columns has no column {column!r}", "Leave its name out")
        if column not in self.names:
            raise fault(self.path, f"there is no column {column!r}", suggest(column, self.names))
        return column


@dataclass(frozen=True)
class TextReader(RowReader):
    """A CSV, TSV or ARFF file."""

    text: DelimitedText

    def frames(self, numbers: frozenset[str], wanted: list[str]) -> Frames:
        return self.text.frames(numbers, wanted)

    def guess_rows(self, chunk: Chunk) -> int | None:
        return self.text.guess_rows(len(chunk))


@dataclass(frozen=True)
class ParquetReader(RowReader):
    """A Parquet file; about one row group is in memory at a time."""

    n_rows: int
    no_features: frozenset[str]  # columns of lists, records or bytes

    def frames(self, numbers: frozenset[str], wanted: list[str]) -> Frames:
        return parquet_frames(self.path, numbers, wanted)

    def may_read(self, column: str) -> bool:
        return column not in self.no_features

    def guess_rows(self, chunk: Chunk) -> int | None:
        return self.n_rows


@dataclass(frozen=True)
class SheetReader(RowReader):
    """The first sheet of a spreadsheet, which is read whole."""

    sheet: pandas.DataFrame

    def frames(self, numbers: frozenset[str], wanted: list[str]) -> Frames:
        return sheet_frames(self.path, self.sheet, numbers, wanted)


@dataclass(frozen=True)
class MatrixReader(RowReader):
    """LIBSVM text or an npz archive."""

    n_features: int | None
    kind: str

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        is_npz = self.kind == "npz"
        data = read_npz(self.path, needs_labels=False) if is_npz else read_libsvm(self.path, n_features=self.n_features)
        for start in range(0, data.X.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield Chunk(start, X=data.X[part], y=data.y[part])


def open_rows(path: str | Path, *, n_features: int | None = None, format: str | None = None) -> RowReader:
    """Open a file, or a folder of files that are one table, and read its header; `chunks` yields the rows.

    n_features   the number of features of LIBSVM text, whose rows do not tell it
    format       overrules the suffix
    """
    path = Path(path)
    if path.is_dir():
        from semisvm.tables.folders import open_folder

        return open_folder(path)
    kind = file_format(path, format)
    if kind in ("libsvm", "npz"):
        return MatrixReader(path, None, n_features, kind)
    if kind == "parquet":
        file = open_parquet(path)
        names = tuple(map(str, file.schema_arrow.names))
        require_different(path, names)
        kinds = zip(names, map(str, file.schema_arrow.types), strict=True)
        no_features = frozenset(name for name, kind in kinds if kind.startswith(NO_FEATURES))
        return ParquetReader(path, names, int(file.metadata.num_rows), no_features)
    if kind in SHEET_ENGINES:
        sheet = read_sheet(path, kind)
        return SheetReader(path, tuple(sheet.columns), sheet)
    text = open_arff(path) if kind == "arff" else open_delimited(path, delimiter="\t" if kind == "tsv" else None)
    return TextReader(path, text.names, text)


# ---- whole files ----


def read_dataset(path: str | Path, *, target: str | None = None, format: str | None = None) -> Dataset:
    """Read a file of numbers into X and y.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, .libsvm/.svmlight/.dat, .npz, .parquet or .arff; text also as .gz, .bz2 or .xz.
    target : str, optional
        The column (in .npz: the array, "y" by default) that holds the labels. Without it a table has features only and
        every row is unlabeled; LIBSVM rows carry their label.
    format : {"csv", "tsv", "libsvm", "npz", "parquet", "arff"}, optional
        Overrules the suffix.

    Returns
    -------
    data : Dataset
        X holds finite numbers. Columns that are not numbers are refused.

    Raises
    ------
    DataError
        With the file, the line, the reason and the remedy.
    """
    path = Path(path)
    kind = file_format(path, format)
    if kind == "npz":
        return read_npz(path, target=target or "y")
    if kind == "libsvm":
        if target is not None:
            reason = f"a target {target!r} was named, but LIBSVM rows begin with their label"
            raise fault(path, reason, "Leave the target out")
        return read_libsvm(path)
    reader = open_rows(path, format=kind)
    if target is not None:
        reader.require(target)
    features = [name for name in reader.names or () if name != target]
    if not features:
        raise fault(path, "no column is left for the features", "Add at least one")
    frame = _join(reader, frozenset(features))
    X = frame[features].to_numpy(dtype=np.float64)
    _refuse_empty_cells(reader, features, X)
    y = np.full(len(X), np.nan) if target is None else _read_labels(reader, target, frame[target])
    return Dataset(path.name, X, y, tuple(features), target, source=str(path))


def read_frame(path: str | Path, *, format: str | None = None) -> pandas.DataFrame:
    """Read a table with columns of any kind into a pandas DataFrame.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, .parquet or .arff; text also as .gz, .bz2 or .xz.
    format : {"csv", "tsv", "parquet", "arff"}, optional
        Overrules the suffix.

    Returns
    -------
    frame : DataFrame
        Columns of numbers are float64, dates of Parquet files datetime64, all others text; empty cells are missing.
        Whole numbers from 2**53 on are rounded: write identifiers as text, with a letter.

    Raises
    ------
    DataError
        With the file, the line, the reason and the remedy.
    """
    import pandas

    path = Path(path)
    reader = open_rows(path, format=format)
    if reader.names is None:
        reason = f"a {file_format(path, format)} file has no named columns"
        raise fault(path, reason, "Read it with semisvm.tables.read_dataset")
    frame = _join(reader, frozenset())
    for name in frame.columns:
        if frame[name].dtype.kind not in "fM":
            try:
                frame[name] = pandas.to_numeric(frame[name]).astype(np.float64)
            except (ValueError, TypeError, OverflowError):
                continue
    return frame


def _join(reader: RowReader, numbers: frozenset[str]) -> pandas.DataFrame:
    import pandas

    return pandas.concat([chunk.frame for chunk in reader.chunks(numbers)], ignore_index=True)


def _refuse_empty_cells(reader: RowReader, features: list[str], X: NDArray) -> None:
    """Name the first cell without a value, if there is one."""
    if np.isfinite(X).all():
        return
    if isinstance(reader, TextReader):
        reader.text.refuse_wrong_number(features, may_be_empty=False)
    row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(X)))
    reason = f"column {features[column]!r} holds {X[row, column]} in row {row + 1}, not a finite number"
    raise fault(reader.path, reason, "Fill it in, or leave the row or the column out")


def _read_labels(reader: RowReader, target: str, cells: pandas.Series) -> NDArray:
    if cells.dtype.kind == "f":
        refuse_rounded(cells.to_numpy())
        return whole_if_possible(cells.to_numpy())
    texts = label_spellings(cells)
    long = np.flatnonzero(texts.str.len() > LONGEST_LABEL)
    if len(long):
        row = int(long[0])
        reason = f"column {target!r} holds a text of {len(texts[row])} characters, which is no class label"
        lines = reader.text.rows() if isinstance(reader, TextReader) else iter(())
        line = next((line for line, _ in islice(lines, row, None)), None)
        raise fault(reader.path, reason, "Name the column that holds the classes as target", line=line)
    return labels_from_text(texts)


def label_spellings(cells: pandas.Series) -> pandas.Series:
    """Return the cells of a target column as text, "" where they are missing."""
    if cells.dtype.kind == "f":
        refuse_rounded(cells.to_numpy())
    return cells.map(str, na_action="ignore").astype("str").fillna("")


def labels_from_text(cells: Any) -> NDArray:
    """Turn the cells of a target column into y; cells such as "" and "NA" are rows without a label.

    Only the distinct spellings are interpreted, so a million rows cost a million look-ups and no more.
    """
    import pandas

    code, distinct = pandas.factorize(np.asarray(cells, dtype=object))
    spellings = ["" if is_missing(cell) else cell.strip() for cell in distinct]
    numbers = [parse_number(text) if text else np.nan for text in spellings]
    # an identifier too long for a float stays text
    if all(number is not None and not abs(number) >= EXACT_IN_FLOAT for number in numbers):
        return whole_if_possible(np.array(numbers, dtype=np.float64)[code])
    return np.array(spellings)[code]
