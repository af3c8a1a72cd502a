"""Tables of numbers that are larger than memory: decoded once into a scratch file, from which fits read them.

A file, or every file of a folder in the order of their names, is read by the readers of tables, part by part. The
columns are written as float32 into a scratch file of the folder for temporary files (4 bytes per number; it is deleted
with the rows), and the target column becomes class codes in memory. Decoding Parquet takes six times as long as reading
the scratch file, and text much longer, so it is done once and not in every pass of a fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semisvm.errors import fault, shorten
from semisvm.labels import encode
from semisvm.primal import FileRows, ScratchWriter
from semisvm.tables.read import Chunk, RowReader, open_rows
from semisvm.tables.read_whole import labels_from_text

if TYPE_CHECKING:
    import pandas

READABLE = (".csv", ".tsv", ".parquet", ".arff", ".gz", ".bz2", ".xz")
LARGEST_STORED = float(np.finfo(np.float32).max)


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
    files = _files_of(Path(path))
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


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix.lower() in READABLE)
    if not files:
        raise fault(path, "the folder holds no table", f"It needs files whose names end in {', '.join(READABLE[:4])}")
    return files


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
