"""Files of bare numbers, LIBSVM text and NumPy's .npz archives -> X, y; Parquet files and
spreadsheets -> frames.

A row of LIBSVM (or SVMlight) text is a label and the features that are not zero, counted from 1, in
increasing order:

    +1 3:0.5 17:1.25    # a comment

scikit-learn's compiled loader does the reading. It says what is wrong with a file, but not where.
So when it fails, the text is scanned again, slowly, for the first line that can't be right.

An .npz archive has two arrays: X, (n_rows, n_features) and numeric, and y, the labels of the n_rows
rows. Pickled objects are refused: opening a data file must never run code.

A column of a Parquet file is float64, datetime64 or text. Truth values, categories and times of day
are text as well; a column of lists, of records, or of bytes that are no text can't be a feature and
is refused. Of a spreadsheet the first sheet is read, whole; its first row names the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from semisvm.columns.cells import (
    DATES,
    NUMBERS,
    TEXT,
    as_text,
    is_missing,
    parse_number,
    without_missing,
)
from semisvm.disk import first_line, open_for_arrow, read_bytes, read_text, require_file
from semisvm.errors import DataError, counted, fault, shorten, suggest
from semisvm.tables.classes import whole_if_possible
from semisvm.tables.delimited import require_different, require_names
from semisvm.tables.read import ROWS_AT_A_TIME, Chunk, RowReader

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from semisvm.tables.read import Part

LARGEST_INDEX = 10_000_000  # one wrong index beyond it would take gigabytes
INT32_MAX = 2**31 - 1
UTF8_MARK = b"\xef\xbb\xbf"
AS_WRITTEN = "Write it as: numpy.savez_compressed(path, X=X, y=y)"
NOT_PLAIN = (
    "list",
    "large_list",
    "fixed_size_list",
    "map",
    "struct",
    "binary",
    "large_binary",
    "fixed_size_binary",
)  # types of Parquet columns that are neither numbers, text nor dates


@dataclass(frozen=True)
class MatrixReader(RowReader):
    """LIBSVM text or an npz archive."""

    n_features: int | None
    kind: str

    def chunks(
        self, only: frozenset[str] | None = None, keep: Sequence[str] = ()
    ) -> Iterator[Chunk]:
        X: Any
        if self.kind == "npz":
            X, y = read_npz(self.path)
        else:
            X, y = read_libsvm(self.path, n_features=self.n_features)
        for start in range(0, X.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield Chunk(start, X=X[part], y=y[part])


# ---- LIBSVM text ----


def read_libsvm(path: Path, *, n_features: int | None = None) -> tuple[csr_matrix, NDArray]:
    """Read LIBSVM or SVMlight text, plain or compressed; ``qid:`` entries are skipped.

    The number of features is by default the largest index; give it for a file whose last features
    may be zero in every row.
    """
    content = read_bytes(path).removeprefix(UTF8_MARK)
    # raised outside of the except clause: what `_explain` meets has no other error behind it
    complaint = None
    try:
        X, y = _load(content, n_features)
    except (ValueError, TypeError, OverflowError) as error:
        complaint = str(error)
    if complaint is not None:
        raise _explain(path, n_features, complaint)
    if X.shape[0] == 0:
        raise fault(path, "no row in the file", "Write one row per line: label index:value ...")
    if not np.isfinite(X.data).all() or np.isinf(y).any():
        raise _explain(path, n_features, "a value is NaN or infinite")
    if n_features is None and X.nnz == 0:
        raise fault(path, "no row has a feature", "Write rows as: label index:value ...")
    return X, whole_if_possible(y)


def _load(content: bytes, n_features: int | None) -> tuple[csr_matrix, NDArray[np.floating]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(BytesIO(content), n_features=n_features, zero_based=False)
    if n_features is None and X.shape[1] > LARGEST_INDEX:
        raise ValueError(f"the index {X.shape[1]} is larger than {LARGEST_INDEX}")
    if X.nnz > INT32_MAX:
        raise ValueError(
            "more than 2**31 - 1 values, too many for one sparse matrix of this library"
        )
    # the loader counts in int64, which scikit-learn's own SVC refuses
    X.indices = X.indices.astype(np.int32)
    X.indptr = X.indptr.astype(np.int32)
    return X, y


def _explain(path: Path, n_features: int | None, complaint: str) -> DataError:
    """Find the first line that can't be right, and say why; else repeat the complaint."""
    most = LARGEST_INDEX if n_features is None else n_features
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        label, *pairs = text.partition("#")[0].split() or ["0"]
        if parse_number(label) is None and label.lower() != "nan":
            reason = f"the label {shorten(label)} is not a finite number"
            remedy = "Begin each row with a number: label index:value ..."
            return fault(path, reason, remedy, line=line)
        previous = 0
        for pair in pairs:
            if pair.startswith("qid:"):
                continue
            if flaw := _flaw(pair, previous, most):
                return fault(path, *flaw, line=line)
            previous = int(pair.partition(":")[0])
    return fault(path, f"can't be read as LIBSVM text ({complaint})", "Check the format")


def _flaw(pair: str, previous: int, most: int) -> tuple[str, str] | None:
    """Return (reason, remedy) for a pair that can't follow the index `previous`, or None."""
    name, _, value = pair.partition(":")
    if not value:
        remedy = "Write each feature as index:value, without spaces"
        return f"{shorten(pair)} is not index:value", remedy
    if not name.isdecimal():
        reason = f"the index {shorten(name)} is not a whole number from 1 up"
        return reason, "Number the features from 1"
    if len(name) > 20 or int(name) > most:
        reason = f"the index {shorten(name)} is past the last feature, {most}"
        return reason, "Correct it, or check the number of features"
    if int(name) == 0:
        reason = "the index 0, but features are counted from 1"
        return reason, "Add 1 to every index of the file"
    if int(name) <= previous:
        reason = f"the index {int(name)} comes after {previous}"
        return reason, "Sort the features of each row, each once"
    if parse_number(value) is None:
        reason = f"feature {int(name)} is {shorten(value)}, not a finite number"
        return reason, "Replace it, or leave it out"
    return None


# ---- npz ----


def read_npz(path: Path) -> tuple[NDArray[np.floating], NDArray]:
    """Read the arrays X and y of an .npz file; X is float32 where that holds its numbers exactly,
    else float64. Where there is no y, every row is unlabeled.
    """
    content = read_bytes(path)
    # np.load, zipfile and zlib raise a dozen unrelated types on bad bytes: all mean the same here
    try:
        archive = np.load(BytesIO(content), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise fault(path, "one bare array, not an archive of X and y", AS_WRITTEN)
        if "X" not in archive.files:
            raise _without_rows(path, archive.files)
        X = np.asarray(archive["X"])
        y = np.asarray(archive["y"]) if "y" in archive.files else None
    except DataError:
        raise
    except Exception as error:
        reason = f"can't be read as an .npz archive of plain arrays ({error})"
        raise fault(path, reason, "Copy it again. " + AS_WRITTEN) from None
    X = _features(path, X)
    return X, np.full(len(X), np.nan) if y is None else _array_labels(path, y, len(X))


def _without_rows(path: Path, there: list[str]) -> DataError:
    if {"indptr", "indices", "data"} <= set(there):
        reason = "one sparse matrix (scipy.sparse.save_npz), without labels"
        remedy = "Save it with its labels: sklearn.datasets.dump_svmlight_file(X, y, path)"
        return fault(path, reason, remedy)
    return fault(path, "there is no array 'X'", f"{suggest('X', there)}. {AS_WRITTEN}")


def _features(path: Path, X: NDArray) -> NDArray[np.floating]:
    if X.ndim != 2 or 0 in X.shape:
        reason = f"X has shape {X.shape}"
        raise fault(path, reason, "Make it (rows, features), with at least one of each")
    if X.dtype.kind not in "fiub":
        reason = f"X holds {X.dtype}, not numbers"
        raise fault(path, reason, "Turn its columns into numbers before saving")
    X = X.astype(np.float32 if np.can_cast(X.dtype, np.float32) else np.float64, copy=False)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        reason = f"X[{row}, {column}] is {X[row, column]}, not a finite number"
        raise fault(path, reason, "Replace it, or leave the row out")
    return X


def _array_labels(path: Path, y: NDArray, n_rows: int) -> NDArray:
    if y.shape != (n_rows,):
        reason = f"X has {counted(n_rows, 'row')}, but y has shape {y.shape}"
        raise fault(path, reason, "Save one label per row")
    if y.dtype.kind not in "iubfU":
        raise fault(path, f"the labels hold {y.dtype}", "Save them as numbers or text")
    if y.dtype.kind == "f" and np.isinf(y).any():
        reason = f"label {int(np.argmax(np.isinf(y)))} is infinite"
        raise fault(path, reason, "Use NaN for a row without one")
    if y.dtype.kind == "f":
        return whole_if_possible(y.astype(np.float64))
    return y if y.dtype.kind == "U" else y.astype(np.int64)


# ---- Parquet ----


@dataclass(frozen=True)
class ParquetReader(RowReader):
    """A Parquet file; about one row group is in memory at a time."""

    n_rows: int
    types: dict[str, pyarrow.DataType]

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows, `ROWS_AT_A_TIME` of them."""
        import pandas

        names = list(dict.fromkeys([*wanted, *keep]))
        # pyarrow raises many unrelated types on bad bytes: all mean the same here
        try:
            file = _parquet_file(self.path)
            for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=names):
                columns = {name: self._plain_column(name, batch.column(name)) for name in wanted}
                frame = pandas.DataFrame(columns, index=range(len(batch)))
                yield frame, {name: batch.column(name) for name in keep}
        except (DataError, MemoryError):
            raise
        except Exception as error:
            raise _not_parquet(self.path, error) from None

    def kind_of(self, column: str) -> str | None:
        from pyarrow import types

        kind = self.types[column]
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_null(kind):
            return None
        if _are_numbers(kind) or types.is_duration(kind):
            return NUMBERS
        return DATES if types.is_timestamp(kind) or types.is_date(kind) else TEXT

    def may_read(self, column: str) -> bool:
        return not str(self.types[column]).startswith(NOT_PLAIN)

    def guess_rows(self, chunk: Chunk) -> int | None:
        return self.n_rows

    def _plain_column(self, name: str, column: Any) -> Any:
        """Return a column of Arrow as one of the three kinds, dates in microseconds."""
        import pyarrow
        from pyarrow import compute, types

        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_duration(column.type):  # in seconds
            column = compute.divide(
                column.cast("duration[us]", safe=False).cast("int64").cast("float64"), 1e6
            )
        kind = column.type
        if _are_numbers(kind):
            return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if types.is_timestamp(kind) or types.is_date(kind):
            dates = column.cast("timestamp[us]", safe=getattr(kind, "unit", "") != "ns")
            return dates.to_numpy(zero_copy_only=False)
        if types.is_time(kind):
            column = pyarrow.array(as_text(column.to_pandas()))
        try:
            return without_missing(column.cast(pyarrow.large_string()))
        except pyarrow.ArrowException:  # lists, records, bytes that are not UTF-8
            reason = f"column {name!r} holds {kind}, which is neither numbers, text nor dates"
            remedy = "Turn the column into one of these, or leave it out (`drop`)"
            raise fault(self.path, reason, remedy) from None


def open_parquet(path: Path) -> ParquetReader:
    """Open a Parquet file."""
    file = _parquet_file(path)
    names = tuple(map(str, file.schema_arrow.names))
    require_different(path, names)
    types = dict(zip(names, file.schema_arrow.types, strict=True))
    return ParquetReader(path, names, int(file.metadata.num_rows), types)


def _parquet_file(path: Path) -> Any:
    from pyarrow import parquet

    require_file(path)
    try:
        return parquet.ParquetFile(open_for_arrow(path))
    except Exception as error:
        raise _not_parquet(path, error) from None


def _not_parquet(path: Path, error: Exception) -> DataError:
    reason = f"can't be read as a Parquet file ({first_line(error)})"
    return fault(path, reason, "Copy or write it again")


def _are_numbers(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


# ---- spreadsheets ----

# pandas' engine, and its package
SHEET_ENGINES = {"xlsx": ("openpyxl", "openpyxl"), "ods": ("odf", "odfpy")}


@dataclass(frozen=True)
class SheetReader(RowReader):
    """The first sheet of a spreadsheet, which is read whole."""

    sheet: pandas.DataFrame

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows, `ROWS_AT_A_TIME` of them."""
        import pandas

        columns = {name: _sheet_column(self.sheet[name]) for name in wanted}
        frame = pandas.DataFrame(columns, index=range(len(self.sheet)))
        kept = {name: _cells_as_they_are(self.sheet[name]) for name in keep}
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield (
                frame[part].reset_index(drop=True),
                {name: column[part] for name, column in kept.items()},
            )


def open_sheet(path: Path, kind: str) -> SheetReader:
    """Read the first sheet of a spreadsheet; its first row names the columns."""
    import pandas

    require_file(path)
    engine, package = SHEET_ENGINES[kind]
    if find_spec(engine) is None:
        reason = f"reading .{kind} files needs the package {package}, which is not installed"
        raise fault(path, reason, f"Install it (pip install {package}), or save the sheet as CSV")
    try:  # cells as they are: pandas would make 1 and 0 of truth values beside an empty cell
        cells = pandas.read_excel(path, engine=engine, header=None, dtype=object, na_filter=False)  # type: ignore[call-overload]
    except Exception as error:  # the engines raise many unrelated types on bad bytes
        reason = f"can't be read as a spreadsheet ({first_line(error)})"
        raise fault(path, reason, "Copy or write it again") from None
    is_empty = cells.map(lambda cell: is_missing(str(cell)))
    cells = cells.mask(is_empty, None).dropna(axis="columns", how="all")
    if len(cells) < 2:
        raise fault(path, "no rows in the first sheet", "Add rows below the names of the columns")
    names = ["" if name is None else str(name).strip() for name in cells.iloc[0]]
    require_names(path, names, line=1)
    sheet = cells[1:].reset_index(drop=True).set_axis(names, axis="columns")
    return SheetReader(path, tuple(names), sheet)


def _sheet_column(cells: pandas.Series) -> Any:
    """Return a column of cells of any types as one of the three kinds."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return cells.astype("float64")
    if all(issubclass(kind, datetime) for kind in kinds):
        return cells.astype("datetime64[us]")
    return as_text(cells)


def _cells_as_they_are(cells: pandas.Series) -> Any:
    """Return a column as an Arrow array: of its type, or as text where it has several."""
    import pyarrow

    given = cells.tolist()
    try:
        column = pyarrow.array(given)
        if column.to_pylist() == given:
            return column
    except (pyarrow.ArrowException, OverflowError):
        pass  # numbers beside text, or beyond 64 bits
    return pyarrow.array([None if cell is None else str(cell) for cell in given], pyarrow.string())
