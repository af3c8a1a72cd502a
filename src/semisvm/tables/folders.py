"""Folders of files with the same columns: one table, read file by file; and what one pass over the files finds.

A folder of .csv, .tsv, .arff or .parquet files is a table whose rows are those of the files, in the order of their
names. Files without rows are passed over, and so are names that begin with "." or "_". All other files must have the
columns of the first, each with cells of the same kind. A row's number is counted through all files; messages name the
file and the row in it.

A survey is made of each file, on any machine, and merged in the order of the files: what the columns are, the labels, a
random sample of labeled and of unlabeled rows. The order of merging, in pairs or in a tree, does not matter. Rows are
drawn by a hash of the file's name and the row's number: the sample does not depend on who reads which file.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.disk import open_stream
from semisvm.errors import counted, fault
from semisvm.tables.classes import label_texts, unmark
from semisvm.tables.column_facts import DATES, KIND_OF_LETTER, NUMBERS, TEXT, ColumnFacts, facts_of
from semisvm.tables.columns import as_text, refuse_large
from semisvm.tables.formats import open_parquet
from semisvm.tables.read import Chunk, RowReader, open_rows

if TYPE_CHECKING:
    import pandas

    from semisvm.tables.delimited import Frames

READABLE = (".csv", ".tsv", ".parquet", ".arff", ".gz", ".bz2", ".xz")
LINES_LOOKED_AT = 1 << 16  # bytes of a text file that may be a header and nothing else
MOST_COUNTED = 500_000  # labels, categories or words of a column: beyond, the rarest are forgotten


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
        raise fault(path, f"none of its files has a row ({counted(len(files), 'file')})", "Give a folder with rows")
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
        is_mixed = file.suffix.lower() != first.suffix.lower()  # the cells of a text file are all text
        raise fault(file, reason, f"Write {'all files in one format' if is_mixed else 'it with one type in all files'}")


@dataclass(frozen=True)
class FolderReader(RowReader):
    """The files of a folder as one table; `names` are the columns of its first file."""

    files: tuple[RowReader, ...] = ()
    ends: list[int] = field(default_factory=list)  # rows up to the end of each file that was read so far

    def frames(self, numbers: frozenset[str], wanted: list[str]) -> Frames:
        known: dict[str, tuple[str, Path]] = {}
        self.ends.clear()
        for file in self.files:  # before the first of them is read
            for name in wanted:
                require_column(file, name, self.files[0].path)
        for file in self.files:
            start = self.ends[-1] if self.ends else 0
            self.ends.append(start)
            for before, frame in file.frames(numbers, wanted):
                for name in wanted:
                    if (kind := kind_of(frame[name])) is not None:
                        require_kind(file.path, name, kind, known)
                yield start + before, with_kinds(frame[wanted], {name: kind for name, (kind, _) in known.items()})
                self.ends[-1] = start + before + len(frame)

    def place(self, row: int) -> tuple[Path, int]:
        at = min(bisect_right(self.ends[:-1], row), len(self.files) - 1)
        return self.files[at].path, row - (self.ends[at - 1] if at else 0)


def require_column(file: RowReader, name: str, first: Path) -> None:
    """Refuse a file of a folder that lacks a column."""
    if file.names is None or name not in file.names:
        reason = f"there is no column {name!r}, which {first.name} has"
        raise fault(file.path, reason, "Write all files of a folder with the same columns")


def with_kinds(frame: pandas.DataFrame, known: Mapping[str, str]) -> pandas.DataFrame:
    """Give columns the kind {column: kind} that they have in other files: where they are empty here, or as text."""
    types: dict[str, Any] = {NUMBERS: "float64", DATES: "datetime64[us]", TEXT: "str"}
    other = {name: types[kind] for name, kind in known.items() if frame[name].dtype != types[kind]}
    found = {name: as_text(frame[name]) if type == "str" else frame[name].astype(type) for name, type in other.items()}
    return frame.assign(**found) if found else frame


def join_frames(frames: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    """Return rows as one table; columns that are text in one place, and numbers or dates in another, become text."""
    import pandas

    known: dict[str, str] = {}
    if len(frames) > 1:
        types = pandas.DataFrame([frame.dtypes for frame in frames])
        for name in types.columns[types.nunique() > 1]:
            kinds = {kind for frame in frames if (kind := kind_of(frame[name])) is not None}
            known[name] = kinds.pop() if len(kinds) == 1 else TEXT
    return pandas.concat([with_kinds(frame, known) for frame in frames], ignore_index=True)


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


# ---- the survey ----


@dataclass(frozen=True)
class SurveyPlan:
    """What to look for: the target and the mark of unlabeled rows, the features, sizes of the samples.

    `optional` are columns that not all files need to have; where one is missing, its cells are empty.
    """

    target: str
    unlabeled: str | None
    names: tuple[str, ...]
    first: Path
    decimal: str | None
    most_labeled: int
    most_unlabeled: int
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """Rows drawn at random from `n`: the `most` with the smallest keys.

    about   per row its key, its place (file, row), and its label as text
    """

    most: int
    n: int
    frame: pandas.DataFrame
    about: pandas.DataFrame

    def merged(self, other: Sample) -> Sample:
        """Return a sample of the rows of both."""
        import pandas

        parts = [one for one in (self, other) if len(one.about)] or [self]
        frame = join_frames([one.frame for one in parts])
        about = pandas.concat([one.about for one in parts], ignore_index=True)
        if len(about) > self.most:
            kept = np.sort(np.argsort(about["key"].to_numpy(), kind="stable")[: self.most])
            frame, about = (one.iloc[kept].reset_index(drop=True) for one in (frame, about))
        return Sample(self.most, self.n + other.n, frame, about)


@dataclass
class Survey:
    """What one pass finds of some files.

    files   name and number of rows of each file; rows without a label and without any feature are not counted
    blank   {file: the numbers of these rows, from 0}
    """

    files: list[tuple[str, int]]
    blank: dict[str, np.ndarray]
    labels: Counter[str]
    facts: dict[str, ColumnFacts]
    kinds: dict[str, tuple[str, Path]]
    labeled: Sample
    unlabeled: Sample
    n_without_target: int = 0

    @property
    def n_rows(self) -> int:
        return self.labeled.n + self.unlabeled.n

    def merged(self, other: Survey) -> Survey:
        """Return what was found of these files and of those that follow."""
        kinds = dict(self.kinds)
        for name, (kind, file) in other.kinds.items():
            require_kind(file, name, kind, kinds)
        return Survey(
            self.files + other.files,
            {
                name: np.concatenate([one.blank[name] for one in (self, other) if name in one.blank])
                for name in self.blank | other.blank
            },
            most_frequent(self.labels + other.labels),
            {name: own.merged(other.facts[name]) for name, own in self.facts.items()},
            kinds,
            self.labeled.merged(other.labeled),
            self.unlabeled.merged(other.unlabeled),
            self.n_without_target + other.n_without_target,
        )


def survey_file(path: Path, plan: SurveyPlan) -> Survey:
    """Look through one file."""
    rows = open_rows(path)
    for name in plan.names:
        if name not in plan.optional:
            require_column(rows, name, plan.first)
    chunks = rows.chunks(only=frozenset({*plan.names, plan.target}))
    found = reduce(Survey.merged, (_survey_chunk(path, chunk, plan) for chunk in chunks))
    has_target = plan.target in (rows.names or ())
    return replace(found, files=[(path.name, found.n_rows)], n_without_target=int(not has_target))


def _survey_chunk(path: Path, chunk: Chunk, plan: SurveyPlan) -> Survey:
    import pandas

    assert chunk.frame is not None
    empty = pandas.Series(None, index=chunk.frame.index, dtype="str")
    frame = chunk.frame.assign(**{name: empty for name in plan.optional if name not in chunk.frame.columns})
    texts = np.array(texts_of_labels(frame, plan.target, plan.unlabeled), dtype=object)
    facts = {name: ColumnFacts() for name in plan.names}
    kinds: dict[str, tuple[str, Path]] = {}
    for name in plan.names:
        if (kind := kind_of(frame[name])) is None:
            continue
        kinds[name] = kind, path
        cells = frame[name].set_axis(range(chunk.start, chunk.start + len(frame)))
        facts[name] = facts_of(cells, plan.decimal)
        try:
            refuse_large(name, facts[name])
        except ValueError as error:
            raise fault(path, str(error), "Correct the cell, or leave the column out (`drop`)") from None
    key, features = _row_keys(path.name, chunk.start, len(frame)), frame[list(plan.names)]

    def draw(most: int, rows: np.ndarray) -> Sample:
        n = len(rows)
        if n > most:
            rows = np.sort(rows[np.argpartition(key[rows], most)[:most]])
        about = {"key": key[rows], "file": path.name, "row": chunk.start + rows, "text": texts[rows]}
        return Sample(most, n, features.iloc[rows].reset_index(drop=True), pandas.DataFrame(about))

    features_only = [name for name in plan.names if name not in plan.optional]
    is_labeled, is_blank = texts != "", frame[features_only].isna().all(axis=1).to_numpy()
    return Survey(
        files=[],
        blank={path.name: chunk.start + np.flatnonzero(is_blank & ~is_labeled)},
        labels=Counter(filter(None, texts)),
        facts=facts,
        kinds=kinds,
        labeled=draw(plan.most_labeled, np.flatnonzero(is_labeled)),
        unlabeled=draw(plan.most_unlabeled, np.flatnonzero(~is_labeled & ~is_blank)),
    )


def rows_kept(chunk: Chunk, blank: np.ndarray) -> np.ndarray:
    """Return which rows of a chunk are none of the `blank` ones of its file (`Survey`)."""
    return ~np.isin(np.arange(chunk.start, chunk.start + len(chunk)), blank)


def texts_of_labels(frame: pandas.DataFrame, target: str, unlabeled: str | None) -> list[str]:
    """Return the labels as texts, "" for unlabeled rows; a file without the target has only such rows."""
    return unmark(label_texts(frame[target]), unlabeled) if target in frame.columns else [""] * len(frame)


def _row_keys(name: str, start: int, n: int) -> np.ndarray:
    """A random-looking number per row, the same wherever the file is read."""
    seed = int.from_bytes(hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest(), "big")
    with np.errstate(over="ignore"):
        x = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def most_frequent(counts: Counter[str]) -> Counter[str]:
    """Return the counts, or the most frequent of them where they are too many."""
    return counts if len(counts) <= MOST_COUNTED else Counter(dict(counts.most_common(MOST_COUNTED // 2)))
