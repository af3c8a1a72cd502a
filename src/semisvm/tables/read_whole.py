"""Files for Python: `read_dataset` for numbers, `read_frame` for columns of any kind, `rows_on_disk` for out of memory.

The labels of a target column become integers where all of them are whole numbers, floats where all of them are numbers,
and stay text otherwise. A row without a label is kept:

    numbers   NaN (so whole numbers become floats when a label is missing)
    text      ""

Nothing else is read into a label: "-1" is the number -1, whatever it may mean to the author of the file.

`rows_on_disk` decodes numbers once into a scratch file, from which fits read them: decoding Parquet takes six times as
long as reading the scratch file, and text much longer, so it is not done in every pass of a fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from semisvm.datasets.dataset import Dataset
from semisvm.errors import fault, shorten
from semisvm.labels import encode
from semisvm.primal import FileRows, ScratchWriter
from semisvm.tables.delimited import MISSING_SPELLINGS, parse_number
from semisvm.tables.disk import file_format
from semisvm.tables.folders import files_of
from semisvm.tables.formats import EXACT_IN_FLOAT, read_libsvm, read_npz, whole_if_possible
from semisvm.tables.read import Chunk, RowReader, TextReader, open_rows

if TYPE_CHECKING:
    import pandas

LARGEST_STORED = float(np.finfo(np.float32).max)
LONGEST_LABEL = 1000  # characters; a longer one is a text, and NumPy would reserve its length for every row


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
        return read_npz(path) if target is None else read_npz(path, target=target)
    if kind == "libsvm":
        if target is not None:
            reason = f"a target {target!r} was named, but LIBSVM rows begin with their label"
            raise fault(path, reason, "Leave the target out")
        return read_libsvm(path)
    reader = open_rows(path, format=kind)
    names = reader.names or ()
    if target is not None:
        reader.require(target)
    features = [name for name in names if name != target]
    if not features:
        raise fault(path, "no column is left for the features", "Add at least one")
    frame = _join(reader, frozenset(features))
    X = frame[features].to_numpy(dtype=np.float64)
    if not np.isfinite(X).all():
        raise _empty_cell(reader, features, X)
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


def _empty_cell(reader: RowReader, features: list[str], X: NDArray) -> Exception:
    """Describe the first cell without a value."""
    if isinstance(reader, TextReader):
        error = reader.open_lines().find_wrong_number(features, may_be_empty=False)
        if error is not None:
            return error
    row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(X)))
    reason = f"column {features[column]!r} holds {X[row, column]} in row {row + 1}, not a finite number"
    return fault(reader.path, reason, "Fill it in, or leave the row or the column out")


def _read_labels(reader: RowReader, target: str, cells: pandas.Series) -> NDArray:
    if cells.dtype.kind == "f":
        return whole_if_possible(cells.to_numpy())
    texts = [str(cell) if is_given else "" for cell, is_given in zip(cells, cells.notna(), strict=True)]
    row = next((row for row, text in enumerate(texts) if len(text) > LONGEST_LABEL), None)
    if row is not None:
        reason = f"column {target!r} holds a text of {len(texts[row])} characters, which is no class label"
        lines = reader.open_lines().rows() if isinstance(reader, TextReader) else iter(())
        line = next((line for number, (line, _) in enumerate(lines) if number == row), None)
        raise fault(reader.path, reason, "Name the column that holds the classes as target", line=line)
    return labels_from_text(texts)


def labels_from_text(cells: Sequence[str]) -> NDArray:
    """Turn the cells of a target column into y; cells such as "" and "NA" are rows without a label.

    Only the distinct spellings are interpreted, so a million rows cost a million look-ups and no more.
    """
    codes: dict[str, int] = {}
    code = np.fromiter((codes.setdefault(cell, len(codes)) for cell in cells), dtype=np.intp, count=len(cells))
    spellings = [spelling.strip() for spelling in codes]
    numbers = [np.nan if spelling in MISSING_SPELLINGS else _label_number(spelling) for spelling in spellings]
    if None not in numbers:
        return whole_if_possible(np.array(numbers, dtype=np.float64)[code])
    return np.array(["" if spelling in MISSING_SPELLINGS else spelling for spelling in spellings])[code]


def _label_number(spelling: str) -> float | None:
    """Return the number that a label spells; an identifier too long for a float stays text."""
    number = parse_number(spelling)
    return None if number is None or abs(number) >= EXACT_IN_FLOAT else number


# ---- rows that are not held in memory ----


def rows_on_disk(
    path: str | Path,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    scratch_folder: str | Path | None = None,
) -> FileRows:
    r"""Decode a table of numbers, or a folder of them, into rows for fits that do not hold them in memory.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .arff or .parquet file, or a folder of such files with the same columns.
    target : str, default=None
        The column of the classes; empty cells are rows without a label.
    features : sequence of str, default=None
        The columns to use; by default all but the target. Each cell must be a finite number.
    scratch_folder : str or Path, default=None
        Where the decoded rows go, four bytes per number; by default the folder for temporary files.

    Returns
    -------
    FileRows
        The rows, with their class codes, classes and feature names: ``SupervisedSVC(kernel="linear").fit(rows, None)``.

    Examples
    --------
    >>> import os, tempfile
    >>> from semisvm.tables import rows_on_disk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "a.csv"), "w") as file:
    ...         _ = file.write("x,y,kind\n1,2,spam\n3,4,\n5,6,ham\n")
    ...     rows = rows_on_disk(folder, target="kind")
    >>> rows.n_rows, rows.classes.tolist(), rows.codes.tolist()
    (3, ['ham', 'spam'], [1, -1, 0])
    """
    files = files_of(Path(path))
    readers = [open_rows(file) for file in files]
    names = _columns_of(readers, target, features)
    writer = ScratchWriter(len(names), scratch_folder)
    spellings: dict[str, int] = {}
    codes: list[np.ndarray] = []
    for reader in readers:
        for chunk, frame in _frames(reader, names, target):
            writer.write(_matrix_of(reader, chunk, frame, names))
            if target is not None:
                codes.append(_spelling_codes(frame[target], spellings))
    found = _classes(spellings, np.concatenate(codes)) if codes else (None, None)
    return writer.rows(codes=found[1], classes=found[0], feature_names=np.array(names, dtype=object))


def _columns_of(readers: list[RowReader], target: str | None, features: Sequence[str] | None) -> list[str]:
    """The names of the feature columns; every file must have them all."""
    first = readers[0]
    if first.names is None:
        raise fault(first.path, "a file without named columns is read whole", "Write it by numpy.save and use FileRows")
    names = [name for name in first.names if name != target] if features is None else list(features)
    for reader in readers:
        for name in [*names, *([] if target is None else [target])]:
            reader.require(name)
    return names


def _frames(reader: RowReader, names: list[str], target: str | None) -> Iterator[tuple[Chunk, pandas.DataFrame]]:
    wanted = frozenset(names) | (frozenset() if target is None else {target})
    for chunk in reader.chunks(frozenset(names), wanted):
        assert chunk.frame is not None
        yield chunk, chunk.frame


def _matrix_of(reader: RowReader, chunk: Chunk, frame: pandas.DataFrame, names: list[str]) -> np.ndarray:
    X = frame[names].to_numpy(dtype=np.float64)
    is_bad = ~(np.abs(X) <= LARGEST_STORED)
    if is_bad.any():
        row, column = (int(place[0]) for place in np.nonzero(is_bad))
        what = (
            f"the number {X[row, column]:g}, too large for float32,"
            if np.isfinite(X[row, column])
            else "no finite number"
        )
        reason = f"column {names[column]!r} has {what} in row {chunk.start + row + 1}"
        raise fault(reader.path, reason, "Fill it in, leave the row out, or leave the column out of features")
    return X


def _spelling_codes(cells: pandas.Series, spellings: dict[str, int]) -> np.ndarray:
    """An index for each cell; cells that are spelled alike have the same one in all chunks."""
    texts = np.where(cells.notna(), cells.astype(str), "")
    distinct, place = np.unique(texts.astype(str), return_inverse=True)
    own = np.array([spellings.setdefault(str(text), len(spellings)) for text in distinct], dtype=np.int32)
    return own[place]


def _classes(spellings: dict[str, int], codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the class code of each row in as few bytes as hold it."""
    labels = encode(labels_from_text(list(spellings)), unlabeled=None)
    if len(labels.classes) > 1000:
        example = shorten(next(iter(spellings)))
        raise ValueError(f"The target has {len(labels.classes)} different values, such as {example}: is it a class?")
    kind = np.int8 if len(labels.classes) <= 127 else np.int16
    return labels.classes, labels.codes.astype(kind)[codes]
