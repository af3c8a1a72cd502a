"""Folders of files with the same columns: one table, read file by file; and what one pass over the
files finds.

A folder of .csv, .tsv or .parquet files is a table whose rows are those of the files, in the
order of their names. Files without rows are passed over, and so are names that begin with "." or
"_". All other files must have the columns of the first, each with cells of the same kind. A row's
number is counted through all files; messages name the file and the row in it.

A survey is made of each file, on any machine, and merged: the labels, and a random sample of
labeled and of unlabeled rows, from which types and encoders are learned. The order of merging does
not matter. Rows are drawn by a hash of the file's name and the row's number, so the sample does not
depend on who reads which file.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.columns.cells import DATES, KIND_OF_LETTER, NUMBERS, TEXT, as_text, text_type
from semisvm.disk import open_bytes, read_block
from semisvm.errors import DataError, counted, fault
from semisvm.tables.classes import label_texts, unmark
from semisvm.tables.formats import open_parquet
from semisvm.tables.read import Chunk, RowReader, open_rows

if TYPE_CHECKING:
    import pandas

    from semisvm.tables.read import Part

READABLE = (".csv", ".tsv", ".parquet", ".gz", ".bz2", ".xz")
LINES_LOOKED_AT = 1 << 16  # bytes of a text file that may be a header and nothing else
# A target with more different labels than this is no class: only the most frequent ones are
# counted, so that the counts of a folder of any size fit into memory.
MOST_LABELS_COUNTED = 500_000
TYPE_OF_NUMBERS: dict[str, Any] = {NUMBERS: "float64", DATES: "datetime64[us]"}


def files_of(path: Path) -> list[Path]:
    """Return the tables of a folder that have rows, by name; a file is its only table."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and _is_table(file))
    if not files:
        remedy = (
            f"It needs files whose names end in {', '.join(READABLE[:3])}; folders in it are not"
            " searched"
        )
        raise fault(path, "the folder holds no table", remedy)
    with_rows = [file for file in files if not _is_empty(file)]
    if not with_rows:
        reason = f"none of its files has a row ({counted(len(files), 'file')})"
        raise fault(path, reason, "Give a folder with rows")
    return with_rows


def _is_table(file: Path) -> bool:
    return file.suffix.lower() in READABLE and not file.name.startswith((".", "_"))


def _is_empty(file: Path) -> bool:
    """Whether a file has no row: nothing, or a header alone."""
    if file.stat().st_size == 0:
        return True
    if file.suffix.lower() == ".parquet":
        return open_parquet(file).n_rows == 0
    try:
        with open_bytes(file) as stream:
            beginning = read_block(file, stream, LINES_LOOKED_AT)
    except DataError:
        return False  # whoever reads it says what is wrong
    return len(beginning) < LINES_LOOKED_AT and len(beginning.strip().splitlines()) <= 1


@dataclass(frozen=True)
class FolderReader(RowReader):
    """The files of a folder as one table; `names` are the columns of its first file."""

    files: tuple[RowReader, ...] = ()
    # rows up to the end of each file that was read so far
    ends: list[int] = field(default_factory=list)

    def parts(self, wanted: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Part]:
        """Yield the rows of one file after the other."""
        kinds = kinds_of_columns(self.files, wanted)
        kinds_of_columns(self.files, keep)
        self.ends.clear()
        for file in self.files:
            self.ends.append(self.ends[-1] if self.ends else 0)
            for frame, kept in file.parts(wanted, keep):
                self.ends[-1] += len(frame)
                yield with_kinds(frame[wanted], kinds), kept

    def fault_at(self, row: int, reason: str, remedy: str) -> DataError:
        at = min(bisect_right(self.ends[:-1], row), len(self.files) - 1)
        before = self.ends[at - 1] if at else 0
        return self.files[at].fault_at(row - before, reason, remedy)


def open_folder(path: Path) -> FolderReader:
    """Open a folder of tables."""
    files = tuple(open_rows(file) for file in files_of(path))
    return FolderReader(path, files[0].names, files)


def kinds_of_columns(
    files: Sequence[RowReader], names: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, str]:
    """Return {column: kind}; a fault where files differ, or lack one that is not `optional`."""
    first = files[0].path
    kinds: dict[str, str] = {}
    told_by: dict[str, Path] = {}
    for file in files:
        for name in names:
            if name not in file.names:
                if name in optional:
                    continue
                reason = f"there is no column {name!r}, which {first.name} has"
                raise fault(file.path, reason, "Write all files of a folder with the same columns")
            kind = file.kind_of(name)
            if kind is None:
                continue
            if kind != kinds.setdefault(name, kind):
                other = told_by[name]
                is_mixed = file.path.suffix.lower() != other.suffix.lower()
                raise fault(
                    file.path,
                    f"column {name!r} holds {kind} here and {kinds[name]} in {other.name}",
                    "Write all files in one format"
                    if is_mixed  # the cells of a text file are all text
                    else "Write it with one type in all files",
                )
            told_by.setdefault(name, file.path)
    return kinds


def with_kinds(frame: pandas.DataFrame, kinds: Mapping[str, str]) -> pandas.DataFrame:
    """Give columns the kind that they have in other files, as they may be empty here."""
    changed = {}
    for name, kind in kinds.items():
        wanted = text_type() if kind == TEXT else TYPE_OF_NUMBERS[kind]
        if name in frame.columns and frame[name].dtype != wanted:
            cells = frame[name]
            changed[name] = as_text(cells) if kind == TEXT else cells.astype(wanted)
    return frame.assign(**changed) if changed else frame


def join_frames(frames: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    """Return rows as one table; columns of different kinds become text."""
    import pandas

    kinds: dict[str, str] = {}
    if len(frames) > 1:
        types = pandas.DataFrame([frame.dtypes for frame in frames])
        for name in types.columns[types.nunique() > 1]:
            filled = [frame[name] for frame in frames if not frame[name].isna().all()]
            present = {KIND_OF_LETTER.get(cells.dtype.kind, TEXT) for cells in filled}
            kinds[name] = present.pop() if len(present) == 1 else TEXT
    return pandas.concat([with_kinds(frame, kinds) for frame in frames], ignore_index=True)


def folder_digest(path: Path) -> str:
    """Return a digest of the names and contents of a folder's tables."""
    digest = hashlib.sha256()
    for file in files_of(path):
        digest.update(file.name.encode(errors="surrogateescape") + b"\0")
        with open(file, "rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


# ---- the survey ----

KEY, LABEL = 0, 1  # columns of a sample beside the features, whose names are text


@dataclass(frozen=True)
class SurveyPlan:
    """What to look for: the target and the mark of unlabeled rows, the features, sizes of the
    samples. `optional` columns are empty in files that do not have them.
    """

    target: str
    unlabeled: str | None
    names: tuple[str, ...]
    most_labeled: int
    most_unlabeled: int
    optional: tuple[str, ...] = ()


@dataclass
class Survey:
    """What one pass finds of some files: {file: rows}, how many rows have each label, files
    without the target, and the rows with the smallest keys, in the order of the files: their
    features, their `KEY`, and their `LABEL` as text, "" for none.
    """

    plan: SurveyPlan
    n_rows: Counter[str]
    labels: Counter[str]
    sample: pandas.DataFrame
    n_without_target: int = 0

    @property
    def n_labeled(self) -> int:
        return self.labels.total()

    def merged(self, other: Survey) -> Survey:
        """Return what was found of both, of which the other has the later rows."""
        labels = self.labels + other.labels
        if len(labels) > MOST_LABELS_COUNTED:
            labels = Counter(dict(labels.most_common(MOST_LABELS_COUNTED // 2)))
        return Survey(
            self.plan,
            self.n_rows + other.n_rows,
            labels,
            _smallest_keys(join_frames([self.sample, other.sample]), self.plan),
            self.n_without_target + other.n_without_target,
        )


def _smallest_keys(sample: pandas.DataFrame, plan: SurveyPlan) -> pandas.DataFrame:
    """Keep as many labeled and unlabeled rows as the plan says, in their order."""
    is_labeled = sample[LABEL] != ""
    kept = [
        sample.loc[rows, KEY].nsmallest(most).index
        for rows, most in ((is_labeled, plan.most_labeled), (~is_labeled, plan.most_unlabeled))
    ]
    return sample.loc[kept[0].append(kept[1]).sort_values()].reset_index(drop=True)


def survey_file(path: Path, plan: SurveyPlan) -> Survey:
    """Look through one file."""
    rows = open_rows(path)
    chunks = rows.chunks(only=frozenset({*plan.names, plan.target}))
    survey = reduce(Survey.merged, (_survey_chunk(path, chunk, plan) for chunk in chunks))
    survey.n_without_target = int(plan.target not in rows.names)
    return survey


def _survey_chunk(path: Path, chunk: Chunk, plan: SurveyPlan) -> Survey:
    import pandas

    empty = pandas.Series(None, index=chunk.frame.index, dtype=text_type())
    absent = {name: empty for name in plan.optional if name not in chunk.frame.columns}
    texts = texts_of_labels(chunk.frame, plan.target, plan.unlabeled)
    sample = chunk.frame.assign(**absent)[list(plan.names)].copy()
    sample[KEY] = _row_keys(path.name, chunk.start, len(chunk))
    sample[LABEL] = texts
    labels = Counter(filter(None, texts))
    return Survey(plan, Counter({path.name: len(chunk)}), labels, _smallest_keys(sample, plan))


def texts_of_labels(frame: pandas.DataFrame, target: str, unlabeled: str | None) -> list[str]:
    """Return the labels as texts, "" for unlabeled rows, as all are without the target."""
    if target not in frame.columns:
        return [""] * len(frame)
    return unmark(label_texts(frame[target]), unlabeled)


def _row_keys(name: str, start: int, n: int) -> np.ndarray:
    """Return a random-looking number per row, the same wherever the file is read."""
    from pandas.util import hash_array

    digest = hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest()
    numbers = np.arange(start, start + n, dtype=np.uint64)
    return hash_array(numbers + np.frombuffer(digest, dtype=np.uint64))
