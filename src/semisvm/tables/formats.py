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

from collections.abc import Sequence
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
    CellError,
    Cells,
    Column,
    as_text,
    is_missing,
    parse_number,
    typed_column,
    without_missing,
)
from semisvm.disk import first_line, open_for_arrow, read_bytes, read_text, require_file
from semisvm.errors import DataError, counted, fault, shorten, suggest
from semisvm.tables.delimited import ROWS_AT_A_TIME, require_names
from semisvm.tables.label_cells import whole_if_possible

if TYPE_CHECKING:
    import pandas

    from semisvm.tables.delimited import Frames

LARGEST_INDEX = 10_000_000  # one wrong index beyond it would take gigabytes
INT32_MAX = 2**31 - 1
UTF8_MARK = b"\xef\xbb\xbf"
AS_WRITTEN = "Write it as: numpy.savez_compressed(path, X=X, y=y)"


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
    """Find the first line that can't be right, and say why; `complaint` where no such line is
    found.
    """
    most = LARGEST_INDEX if n_features is None else n_features
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        label, *pairs = text.partition("#")[0].split() or ["0"]
        if parse_number(label) is None and label.lower() != "nan":
            reason = f"the label {shorten(label)} is not a finite number"
            return fault(
                path, reason, "Begin each row with a number: label index:value ...", line=line
            )
        flaw = _flaw(pairs, most)
        if flaw is not None:
            reason, remedy = flaw
            return fault(path, reason, remedy, line=line)
    return fault(path, f"can't be read as LIBSVM text ({complaint})", "Check the format")


def _flaw(pairs: list[str], most: int) -> tuple[str, str] | None:
    """Return (reason, remedy) for the first pair of a row that is not index:value, in order and
    finite.
    """
    previous = 0
    for pair in pairs:
        name, colon, value = pair.partition(":")
        if name == "qid":
            continue
        if not colon or not value:
            return (
                f"{shorten(pair)} is not index:value",
                "Write each feature as index:value, without spaces",
            )
        if not name.isdecimal():
            return (
                f"the index {shorten(name)} is not a whole number from 1 up",
                "Number the features from 1",
            )
        index = int(name) if len(name) < 20 else INT32_MAX + 1
        if index == 0:
            return (
                "the index 0, but features are counted from 1",
                "Add 1 to every index of the file",
            )
        if index > most:
            return (
                f"the index {shorten(name)} is past the last feature, {most}",
                "Correct it, or check the number of features",
            )
        if index <= previous:
            return (
                f"the index {index} comes after {previous}",
                "Sort the features of each row, each once",
            )
        if parse_number(value) is None:
            return (
                f"feature {index} is {shorten(value)}, not a finite number",
                "Replace it, or leave it out",
            )
        previous = index
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
        return fault(
            path, reason, "Save it with its labels: sklearn.datasets.dump_svmlight_file(X, y, path)"
        )
    return fault(path, "there is no array 'X'", f"{suggest('X', there)}. {AS_WRITTEN}")


def _features(path: Path, X: NDArray) -> NDArray[np.floating]:
    if X.ndim != 2 or 0 in X.shape:
        reason = f"X has shape {X.shape}"
        raise fault(path, reason, "Make it (rows, features), with at least one of each")
    if X.dtype.kind not in "fiub":
        raise fault(
            path, f"X holds {X.dtype}, not numbers", "Turn its columns into numbers before saving"
        )
    X = X.astype(np.float32 if np.can_cast(X.dtype, np.float32) else np.float64, copy=False)
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        column = int(np.argmin(np.isfinite(X[row])))
        reason = f"X[{row}, {column}] is {X[row, column]}, not a finite number"
        raise fault(path, reason, "Replace it, or leave the row out")
    return X


def _array_labels(path: Path, y: NDArray, n_rows: int) -> NDArray:
    if y.shape != (n_rows,):
        raise fault(
            path,
            f"X has {counted(n_rows, 'row')}, but y has shape {y.shape}",
            "Save one label per row",
        )
    if y.dtype.kind in "iub":
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise fault(
                path,
                f"label {int(np.argmax(np.isinf(y)))} is infinite",
                "Use NaN for a row without one",
            )
        return whole_if_possible(y.astype(np.float64))
    if y.dtype.kind == "U":
        return y
    raise fault(path, f"the labels hold {y.dtype}", "Save them as numbers or text")


# ---- Parquet ----


def open_parquet(path: Path) -> Any:
    """Open a Parquet file: a `pyarrow.parquet.ParquetFile`."""
    from pyarrow import parquet

    require_file(path)
    try:
        return parquet.ParquetFile(open_for_arrow(path))
    except Exception as error:
        raise _not_parquet(path, error) from None


def parquet_frames(
    path: Path, numbers: frozenset[str], wanted: list[str], keep: Sequence[str] = ()
) -> Frames:
    """Yield (rows that come before, `wanted` columns, columns to `keep`); those in `numbers` must
    be numbers or truth values.
    """
    import pandas

    start = 0
    # pyarrow raises many unrelated types on bad bytes: all mean the same here
    try:
        names = list(dict.fromkeys([*wanted, *keep]))
        for batch in open_parquet(path).iter_batches(batch_size=ROWS_AT_A_TIME, columns=names):
            columns = {
                name: _plain_column(path, name, batch.column(name), start, name in numbers)
                for name in wanted
            }
            if len(batch):
                frame = pandas.DataFrame(columns, index=range(len(batch)))
                yield start, frame, {name: batch.column(name) for name in keep}
            start += len(batch)
    except (DataError, MemoryError):
        raise
    except Exception as error:
        raise _not_parquet(path, error) from None
    if start == 0:
        raise fault(path, "no rows in the table", "Write a table with at least one row")


def kind_of_type(kind: Any) -> str | None:
    """Return what a column of an Arrow type is read as; None for a type without values."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return None
    if (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_duration(kind)
    ):
        return NUMBERS
    return DATES if types.is_timestamp(kind) or types.is_date(kind) else TEXT


def _not_parquet(path: Path, error: Exception) -> DataError:
    return fault(
        path, f"can't be read as a Parquet file ({first_line(error)})", "Copy or write it again"
    )


def _plain_column(path: Path, name: str, column: Any, start: int, is_number: bool) -> Any:
    """Return a column of Arrow as one of the three kinds, dates in microseconds; `start` rows
    come before it.
    """
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_boolean(column.type) and is_number:
        column = column.cast(pyarrow.int8())
    if types.is_duration(column.type):  # in seconds
        column = compute.divide(
            column.cast("duration[us]", safe=False).cast("int64").cast("float64"), 1e6
        )
    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if np.isinf(numbers).any():
            row = start + int(np.argmax(np.isinf(numbers))) + 1
            raise fault(
                path,
                f"column {name!r} holds an infinite number in row {row}",
                "Replace it, or leave it empty",
            )
        return numbers
    if types.is_timestamp(kind) or types.is_date(kind):
        dates = column.cast("timestamp[us]", safe=getattr(kind, "unit", "") != "ns")
        return (
            _numbers_in(path, name, dates.to_pandas(), start)
            if is_number
            else dates.to_numpy(zero_copy_only=False)
        )
    if types.is_time(kind):
        column = pyarrow.array(as_text(column.to_pandas()))
    try:
        text = without_missing(column.cast(pyarrow.large_string()))
    except pyarrow.ArrowException:  # lists, records, bytes that are not UTF-8
        reason = f"column {name!r} holds {kind}, which is neither numbers, text nor dates"
        raise fault(
            path, reason, "Turn the column into one of these, or leave it out (`drop`)"
        ) from None
    return _numbers_in(path, name, text, start) if is_number else text


def _numbers_in(path: Path, name: str, cells: pandas.Series, start: int = 0) -> Any:
    """Return cells of text as numbers; `start` rows come before them."""
    try:
        return typed_column(Column(name, "number"), Cells(cells))
    except CellError as error:
        raise error.in_file(path, start + error.row) from None


# ---- spreadsheets ----

SHEET_ENGINES = {
    "xlsx": ("openpyxl", "openpyxl"),
    "ods": ("odf", "odfpy"),
}  # pandas' engine, and its package


def read_sheet(path: Path, kind: str) -> pandas.DataFrame:
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
        raise fault(
            path, f"can't be read as a spreadsheet ({first_line(error)})", "Copy or write it again"
        ) from None
    cells = cells.mask(cells.map(lambda cell: is_missing(str(cell))), None).dropna(
        axis="columns", how="all"
    )
    if len(cells) < 2:
        raise fault(path, "no rows in the first sheet", "Add rows below the names of the columns")
    names = ["" if name is None else str(name).strip() for name in cells.iloc[0]]
    require_names(path, names, line=1)
    return cells[1:].reset_index(drop=True).set_axis(names, axis="columns")


def sheet_frames(
    path: Path,
    sheet: pandas.DataFrame,
    numbers: frozenset[str],
    wanted: list[str],
    keep: Sequence[str] = (),
) -> Frames:
    """Yield (rows that come before, `wanted` columns, columns to `keep`), each of one kind; those
    in `numbers` must be numbers.
    """
    import pandas

    frame = pandas.DataFrame(
        {name: _sheet_column(path, sheet[name], name in numbers) for name in wanted},
        index=range(len(sheet)),
    )
    kept = {name: _cells_as_they_are(sheet[name]) for name in keep}
    for start in range(0, len(sheet), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        kept_part = {name: column[part] for name, column in kept.items()}
        yield start, frame[part].reset_index(drop=True), kept_part


def _sheet_column(path: Path, cells: pandas.Series, is_number: bool) -> Any:
    """Return the cells of a column, numbers, dates, truth values and text in any order, as one
    of the three kinds.
    """
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} or (is_number and kinds <= {int, float, bool}):
        return cells.astype("float64")
    if is_number:
        return _numbers_in(path, str(cells.name), cells)
    return (
        cells.astype("datetime64[us]")
        if all(issubclass(kind, datetime) for kind in kinds)
        else as_text(cells)
    )


def _cells_as_they_are(cells: pandas.Series) -> Any:
    """Return the cells of a column as an Arrow array: of their type, or as text where they are of
    several.
    """
    import pyarrow

    given = [None if cell is None else cell for cell in cells]
    try:
        column = pyarrow.array(given)
        if column.to_pylist() == given:
            return column
    except (pyarrow.ArrowException, OverflowError):
        pass  # numbers beside text, or beyond 64 bits
    return pyarrow.array([None if cell is None else str(cell) for cell in given], pyarrow.string())
