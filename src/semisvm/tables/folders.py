"""Folders of files with the same columns: one table, read file by file.

A folder of .csv, .tsv, .arff or .parquet files is a table whose rows are those of the files, in the order of their
names. Files without rows are passed over, and so are names that begin with "." or "_". All other files must have the
columns of the first, each with cells of the same kind. A row's number is counted through all files; messages name the
file and the row in it.

`rows_on_disk` decodes numbers once into a scratch file, from which fits read them: decoding Parquet takes six times as
long as reading the scratch file, and text much longer, so it is not done in every pass of a fit.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.errors import fault, shorten
from semisvm.labels import encode
from semisvm.primal import FileRows, ScratchWriter
from semisvm.tables.cells import open_parquet
from semisvm.tables.column_facts import DATES, KIND_OF_LETTER, NUMBERS, TEXT
from semisvm.tables.disk import open_stream
from semisvm.tables.read import Chunk, RowReader, open_rows
from semisvm.tables.read_whole import labels_from_text

if TYPE_CHECKING:
    import pandas

READABLE = (".csv", ".tsv", ".parquet", ".arff", ".gz", ".bz2", ".xz")
LARGEST_STORED = float(np.finfo(np.float32).max)
LINES_LOOKED_AT = 1 << 16  # bytes of a text file that may be a header and nothing else


def files_of(path: Path) -> list[Path]:
    """Return the tables of a folder that have rows, in the order of their names; a file is its own only table."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and _is_table(file))
    if not files:
        remedy = f"It needs files whose names end in {', '.join(READABLE[:4])}; folders in it are not searched"
        raise fault(path, "the folder holds no table", remedy)
    found = [file for file in files if not _is_empty(file)]
    if not found:
        raise fault(path, f"none of its {len(files)} files has a row", "Give a folder with rows")
    return found


def _is_table(file: Path) -> bool:
    return file.suffix.lower() in READABLE and not file.name.startswith((".", "_"))


def _is_empty(file: Path) -> bool:
    """Whether a file has no row: nothing, or a header alone."""
    if file.stat().st_size == 0:
        return True
    if file.suffix.lower() == ".parquet":
        return bool(open_parquet(file).metadata.num_rows == 0)
    if file.suffix.lower() == ".arff":
        return False
    try:
        with open_stream(file) as stream:
            beginning = stream.read(LINES_LOOKED_AT)
    except (OSError, EOFError, ValueError):
        return False  # whoever reads it says what is wrong
    return len(beginning) < LINES_LOOKED_AT and len(beginning.strip().splitlines()) <= 1


def kind_of(cells: pandas.Series) -> str | None:
    """Return what a column holds, in words; None where all cells are empty."""
    return None if bool(cells.isna().all()) else KIND_OF_LETTER.get(cells.dtype.kind, TEXT)


def require_kind(file: Path, name: str, kind: str, known: dict[str, tuple[str, Path]]) -> None:
    """Refuse a column that holds another kind of cells than in an earlier file; `known` is {column: (kind, file)}."""
    expected, first = known.setdefault(name, (kind, file))
    if kind != expected:
        reason = f"column {name!r} holds {kind} here and {expected} in {first.name}"
        raise fault(file, reason, "Write the column with one type in all files")


@dataclass(frozen=True)
class FolderReader(RowReader):
    """The files of a folder as one table; `names` are the columns of its first file."""

    files: tuple[RowReader, ...] = ()
    ends: list[int] = field(default_factory=list)  # rows up to the end of each file that was read so far

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        assert self.names is not None
        wanted = [name for name in self.names if only is None or name in only]
        known: dict[str, tuple[str, Path]] = {}
        self.ends.clear()
        start = 0
        for file in self.files:
            for name in wanted:
                require_column(file, name, self.files[0].path)
            self.ends.append(start)
            for chunk in file.chunks(numbers, frozenset(wanted)):
                assert chunk.frame is not None
                for name in wanted:
                    if (kind := kind_of(chunk.frame[name])) is not None:
                        require_kind(file.path, name, kind, known)
                frame = _with_kinds(chunk.frame[wanted], known)
                yield replace(chunk, start=start + chunk.start, frame=frame)
                self.ends[-1] = start + chunk.start + len(chunk)
            start = self.ends[-1]

    def place(self, row: int) -> tuple[Path, int]:
        """Return the file of a row, and the row's number in it, both counted from 0."""
        at = min(bisect_right(self.ends[:-1], row), len(self.files) - 1)
        return self.files[at].path, row - (self.ends[at - 1] if at else 0)


def require_column(file: RowReader, name: str, first: Path) -> None:
    """Refuse a file of a folder that lacks a column."""
    if file.names is None or name not in file.names:
        reason = f"there is no column {name!r}, which {first.name} has"
        raise fault(file.path, reason, "Write all files of a folder with the same columns")


def _with_kinds(frame: pandas.DataFrame, known: dict[str, tuple[str, Path]]) -> pandas.DataFrame:
    """Give columns that are empty here the kind that they have in other files."""
    types: dict[str, Any] = {NUMBERS: "float64", DATES: "datetime64[us]"}
    for name, (kind, _) in known.items():
        if kind in types and KIND_OF_LETTER.get(frame[name].dtype.kind, TEXT) != kind:
            frame = frame.assign(**{name: frame[name].astype(types[kind])})
    return frame


def open_folder(path: Path) -> FolderReader:
    """Open a folder of tables."""
    files = tuple(open_rows(file) for file in files_of(path))
    for file in files:
        if file.names is None:
            raise fault(file.path, "a file without named columns is read alone", "Give the path of this file")
    return FolderReader(path, files[0].names, files)


def folder_digest(path: Path) -> str:
    """Return a digest of the names and contents of a folder's tables."""
    digest = hashlib.sha256()
    for file in files_of(path):
        digest.update(file.name.encode(errors="surrogateescape") + b"\0")
        with open(file, "rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


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
