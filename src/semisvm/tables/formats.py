"""Files of bare numbers, LIBSVM text and NumPy's .npz archives -> X, y; Parquet files and spreadsheets -> frames.

A row of LIBSVM (or SVMlight) text is a label and the features that are not zero, counted from 1, in increasing order:

    +1 3:0.5 17:1.25    # a comment

scikit-learn's compiled loader does the reading. It says what is wrong with a file, but not where. So when it fails, the
text is scanned again, slowly, for the first line that can't be right.

An .npz archive has two arrays: X, (n_rows, n_features) and numeric, and y, the labels of the n_rows rows. Pickled
objects are refused: opening a data file must never run code.

A column of a Parquet file is float64, datetime64 or text. Truth values, categories and times of day are text as well; a
column of lists, of records, or of bytes that are no text can't be a feature and is refused. Of a spreadsheet the first
sheet is read, whole; its first row names the columns.
"""

from __future__ import annotations

import os
from datetime import datetime
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from semisvm.datasets.dataset import Dataset, NumberedNames, whole_if_possible
from semisvm.disk import first_line, open_for_arrow, read_bytes, read_text, require_content
from semisvm.errors import DataError, counted, fault, shorten, suggest
from semisvm.tables.column_facts import is_missing, parse_number, without_missing
from semisvm.tables.columns import CellError, Column, as_text, typed_column
from semisvm.tables.delimited import ROWS_AT_A_TIME, require_names

if TYPE_CHECKING:
    import pandas

    from semisvm.tables.delimited import Frames

LARGEST_INDEX, LARGEST_INDEX_SETTING = 10_000_000, "SEMISVM_MOST_FEATURES"
INT32_MAX = 2**31 - 1
UTF8_MARK = b"\xef\xbb\xbf"
AS_WRITTEN = "Write it as: numpy.savez_compressed(path, X=X, y=y)"


# ---- LIBSVM text ----


def read_libsvm(path: str | Path, *, n_features: int | None = None) -> Dataset:
    """Read LIBSVM or SVMlight text, plain or compressed; ``qid:`` entries are skipped.

    The number of features is by default the largest index; give it for a file whose last features may be zero in every
    row. Without it, indices up to the environment variable SEMISVM_MOST_FEATURES, or ten million, are accepted: one
    wrong index would otherwise take gigabytes.
    """
    path = Path(path)
    words = os.environ.get(LARGEST_INDEX_SETTING, "")
    most_features = int(words) if words.isdecimal() else LARGEST_INDEX
    content = read_bytes(path).removeprefix(UTF8_MARK)
    complaint = None  # raised outside of the except clause: what `_explain` meets has no other error behind it
    try:
        X, y = _load(content, n_features, most_features)
    except (ValueError, TypeError, OverflowError) as error:
        complaint = str(error)
    if complaint is not None:
        raise _explain(path, n_features, complaint, most_features)
    if X.shape[0] == 0:
        raise fault(path, "no row in the file", "Write one row per line: label index:value ...")
    if not np.isfinite(X.data).all() or np.isinf(y).any():
        raise _explain(path, n_features, "a value is NaN or infinite", most_features)
    if n_features is None and X.nnz == 0:
        raise fault(path, "no row has a feature", "Write rows as: label index:value ...")
    names = NumberedNames(X.shape[1])
    return Dataset(path.name, X, whole_if_possible(y), names, "label", source=str(path))


def _load(content: bytes, n_features: int | None, most: int) -> tuple[csr_matrix, NDArray[np.floating]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(BytesIO(content), n_features=n_features, zero_based=False)
    if n_features is None and X.shape[1] > most:
        raise ValueError(f"the index {X.shape[1]} is larger than {most}")
    if X.nnz > INT32_MAX:
        raise ValueError("more than 2**31 - 1 values, too many for one sparse matrix of this library")
    # the loader counts in int64, which scikit-learn's own SVC refuses
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def _explain(path: Path, n_features: int | None, complaint: str, most_features: int) -> DataError:
    """Find the first line that can't be right, and say why; `complaint` where no such line is found."""
    most = min(most_features, INT32_MAX) if n_features is None else n_features
    if_larger = "Check the number of features"
    if n_features is None:
        if_larger = f"Correct it, or set {LARGEST_INDEX_SETTING} to allow more features"
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        label, *pairs = text.partition("#")[0].split() or ["0"]
        if parse_number(label) is None and label.lower() != "nan":
            reason = f"the label {shorten(label)} is not a finite number"
            return fault(path, reason, "Begin each row with a number: label index:value ...", line=line)
        flaw = _flaw(pairs, most, if_larger)
        if flaw is not None:
            reason, remedy = flaw
            return fault(path, reason, remedy, line=line)
    return fault(path, f"can't be read as LIBSVM text ({complaint})", "Check the format")


def _flaw(pairs: list[str], most: int, if_larger: str) -> tuple[str, str] | None:
    """Return (reason, remedy) for the first pair of a row that is not index:value, in order and finite."""
    previous = 0
    for pair in pairs:
        name, colon, value = pair.partition(":")
        if name == "qid":
            continue
        if not colon or not value:
            return f"{shorten(pair)} is not index:value", "Write each feature as index:value, without spaces"
        if not name.isdecimal():
            return f"the index {shorten(name)} is not a whole number from 1 up", "Number the features from 1"
        index = int(name) if len(name) < 20 else INT32_MAX + 1
        if index == 0:
            return "the index 0, but features are counted from 1", "Add 1 to every index of the file"
        if index > most:
            return f"the index {shorten(name)} is past the last feature, {most}", if_larger
        if index <= previous:
            return f"the index {index} comes after {previous}", "Sort the features of each row, each once"
        if parse_number(value) is None:
            return f"feature {index} is {shorten(value)}, not a finite number", "Replace it, or leave it out"
        previous = index
    return None


# ---- npz ----


def read_npz(path: str | Path, *, target: str = "y", needs_labels: bool = True) -> Dataset:
    """Read the arrays X and `target` of an .npz file; X is float32 where that holds its numbers exactly, else float64.

    Where labels are not needed and there are none, every row is unlabeled.
    """
    path = Path(path)
    content = read_bytes(path)
    # np.load, zipfile and zlib raise a dozen unrelated types on bad bytes: all mean the same here
    try:
        archive = np.load(BytesIO(content), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise fault(path, "one bare array, not an archive of X and y", AS_WRITTEN)
        has_labels = needs_labels or target in archive.files
        for name in ["X", target] if has_labels else ["X"]:
            if name not in archive.files:
                raise _absent(path, name, archive.files)
        X, y = np.asarray(archive["X"]), np.asarray(archive[target]) if has_labels else None
    except DataError:
        raise
    except Exception as error:
        reason = f"can't be read as an .npz archive of plain arrays ({error})"
        raise fault(path, reason, "Copy it again. " + AS_WRITTEN) from None
    X = _features(path, X)
    y = np.full(len(X), np.nan) if y is None else _array_labels(path, y, len(X))
    return Dataset(path.name, X, y, NumberedNames(X.shape[1]), target, source=str(path))


def _absent(path: Path, name: str, there: list[str]) -> DataError:
    if {"indptr", "indices", "data"} <= set(there):
        reason = "one sparse matrix (scipy.sparse.save_npz), without labels"
        return fault(path, reason, "Save it with its labels: sklearn.datasets.dump_svmlight_file(X, y, path)")
    return fault(path, f"there is no array {name!r}", f"{suggest(name, there)}. {AS_WRITTEN}")


def _features(path: Path, X: NDArray) -> NDArray[np.floating]:
    if X.ndim != 2 or 0 in X.shape:
        reason = f"X has shape {X.shape}"
        raise fault(path, reason, "Make it (rows, features), with at least one of each")
    if X.dtype.kind not in "fiub":
        raise fault(path, f"X holds {X.dtype}, not numbers", "Turn its columns into numbers before saving")
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
        raise fault(path, f"X has {counted(n_rows, 'row')}, but y has shape {y.shape}", "Save one label per row")
    if y.dtype.kind in "iub":
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise fault(path, f"label {int(np.argmax(np.isinf(y)))} is infinite", "Use NaN for a row without one")
        return whole_if_possible(y.astype(np.float64))
    if y.dtype.kind == "U":
        return y
    raise fault(path, f"the labels hold {y.dtype}", "Save them as numbers or text")


# ---- Parquet ----


def open_parquet(path: Path) -> Any:
    """Open a Parquet file: a `pyarrow.parquet.ParquetFile`."""
    from pyarrow import parquet

    require_content(path)
    try:
        return parquet.ParquetFile(open_for_arrow(path))
    except Exception as error:
        raise _not_parquet(path, error) from None


def parquet_frames(path: Path, numbers: frozenset[str], wanted: list[str]) -> Frames:
    """Yield (rows that come before, `wanted` columns); those in `numbers` must be numbers or truth values."""
    import pandas

    start = 0
    # pyarrow raises many unrelated types on bad bytes: all mean the same here
    try:
        for batch in open_parquet(path).iter_batches(batch_size=ROWS_AT_A_TIME, columns=wanted):
            named = zip(batch.schema.names, batch.columns, strict=True)
            columns = {name: _plain_column(path, name, column, start, name in numbers) for name, column in named}
            if len(batch):
                yield start, pandas.DataFrame(columns)
            start += len(batch)
    except (DataError, MemoryError):
        raise
    except Exception as error:
        raise _not_parquet(path, error) from None
    if start == 0:
        raise fault(path, "no rows in the table", "Write a table with at least one row")


def _not_parquet(path: Path, error: Exception) -> DataError:
    return fault(path, f"can't be read as a Parquet file ({first_line(error)})", "Copy or write it again")


def _plain_column(path: Path, name: str, column: Any, start: int, is_number: bool) -> Any:
    """Return a column of Arrow as one of the three kinds, dates in microseconds; `start` rows come before it."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_boolean(column.type) and is_number:
        column = column.cast(pyarrow.int8())
    if types.is_duration(column.type):  # in seconds
        column = compute.divide(column.cast("duration[us]", safe=False).cast("int64").cast("float64"), 1e6)
    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if np.isinf(numbers).any():
            row = start + int(np.argmax(np.isinf(numbers))) + 1
            raise fault(path, f"column {name!r} holds an infinite number in row {row}", "Replace it, or leave it empty")
        return numbers
    if types.is_timestamp(kind) or types.is_date(kind):
        dates = column.cast("timestamp[us]", safe=getattr(kind, "unit", "") != "ns")
        return _numbers_in(path, name, dates.to_pandas(), start) if is_number else dates.to_numpy(zero_copy_only=False)
    if types.is_time(kind):
        column = pyarrow.array(as_text(column.to_pandas()))
    try:
        text = without_missing(column.cast(pyarrow.large_string()))
    except pyarrow.ArrowException:  # lists, records, bytes that are not UTF-8
        reason = f"column {name!r} holds {kind}, which is neither numbers, text nor dates"
        raise fault(path, reason, "Turn the column into one of these, or leave it out (`drop`)") from None
    return _numbers_in(path, name, text, start) if is_number else text


def _numbers_in(path: Path, name: str, cells: pandas.Series, start: int = 0) -> Any:
    """Return cells of text as numbers; `start` rows come before them."""
    try:
        return typed_column(Column(name, "number"), cells)
    except CellError as error:
        raise error.in_file(path, start + error.row) from None


# ---- spreadsheets ----

SHEET_ENGINES = {"xlsx": ("openpyxl", "openpyxl"), "ods": ("odf", "odfpy")}  # pandas' engine, and its package


def read_sheet(path: Path, kind: str) -> pandas.DataFrame:
    """Read the first sheet of a spreadsheet; its first row names the columns."""
    import pandas

    require_content(path)
    engine, package = SHEET_ENGINES[kind]
    if find_spec(engine) is None:
        reason = f"reading .{kind} files needs the package {package}, which is not installed"
        raise fault(path, reason, f"Install it (pip install {package}), or save the sheet as CSV")
    try:  # cells as they are: pandas would make 1 and 0 of truth values beside an empty cell
        cells = pandas.read_excel(path, engine=engine, header=None, dtype=object, na_filter=False)  # type: ignore[call-overload]
    except Exception as error:  # the engines raise many unrelated types on bad bytes
        raise fault(path, f"can't be read as a spreadsheet ({first_line(error)})", "Copy or write it again") from None
    cells = cells.mask(cells.map(lambda cell: is_missing(str(cell))), None).dropna(axis="columns", how="all")
    if len(cells) < 2:
        raise fault(path, "no rows in the first sheet", "Add rows below the names of the columns")
    names = ["" if name is None else str(name).strip() for name in cells.iloc[0]]
    require_names(path, names, line=1)
    return cells[1:].reset_index(drop=True).set_axis(names, axis="columns")


def sheet_frames(path: Path, sheet: pandas.DataFrame, numbers: frozenset[str], wanted: list[str]) -> Frames:
    """Yield (rows that come before, `wanted` columns), each of one kind; those in `numbers` must be numbers."""
    import pandas

    frame = pandas.DataFrame({name: _sheet_column(path, sheet[name], name in numbers) for name in wanted})
    for start in range(0, len(sheet), ROWS_AT_A_TIME):
        yield start, frame[start : start + ROWS_AT_A_TIME].reset_index(drop=True)


def _sheet_column(path: Path, cells: pandas.Series, is_number: bool) -> Any:
    """Return the cells of a column, numbers, dates, truth values and text in any order, as one of the three kinds."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} or (is_number and kinds <= {int, float, bool}):
        return cells.astype("float64")
    if is_number:
        return _numbers_in(path, str(cells.name), cells)
    return cells.astype("datetime64[us]") if all(issubclass(kind, datetime) for kind in kinds) else as_text(cells)
