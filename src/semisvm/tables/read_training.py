"""Files -> the rows to learn from: the features as they are, the class of each labeled row, and
notes.

Several files make one table: the rows of later files follow those of the first and must have its
columns. An unlabeled row that occurs again with a label (a row that `suggest` wrote and a person
labeled) is used once, with its label. A column "drawn" says which labels are a random sample
(`semisvm.tables.training`); it is never a feature.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.columns.cells import TRUTH_WORDS, CellError, Type, text_type
from semisvm.columns.kinds import parse_types
from semisvm.columns.table import Columns, NothingLeftError, read_table
from semisvm.errors import DataError, counted, fault
from semisvm.tables.classes import label_texts, settle_classes, unmark
from semisvm.tables.folders import join_frames
from semisvm.tables.read import RowReader, open_rows
from semisvm.tables.training import DRAWN_COLUMNS, Training, find_ways, say_chosen


def read_training(
    paths: Sequence[str | Path],
    target: str | None,
    *,
    unlabeled: str | None = None,
    unlabeled_data: Sequence[str | Path] = (),
    positive: str | None = None,
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    drawn: str | None = None,
    decimal: str | None = None,
    spelling: str = "ask",
) -> Training:
    """Read the rows to learn from; all files make one table.

    target           the column of the labels
    unlabeled        the marker of unlabeled rows, besides empty cells
    unlabeled_data   files of further rows, all unlabeled
    positive         of two classes, the positive one; by default the one with fewer labels
    drop, types      columns to leave out; what columns are: "number", "category", "date" or "text"
    drawn            the column that says how labeled rows were drawn: "at random" (or empty), "by
                     doubt" or "by campaign"; by default a column called "drawn" that has only these
                     words
    decimal          the decimal mark of numbers such as "1.234,56" or "NT$ 3,913"
    spelling         whether labels that differ only by case or spaces are one class: "same",
                     "exact", or "ask", which is an error where there are such labels

    A file that can't be read as asked is a DataError; the message says where, why, and what to do.
    """
    import pandas

    files = [open_rows(path) for path in paths]
    more = [open_rows(path) for path in unlabeled_data]
    first = files[0]
    if target is not None:
        first.require(target)
    target, wanted = check_request(first, first.path, target, drop, types or {}, decimal)
    ways = columns_of_ways(files, drawn, {target, *drop, *wanted}, target)
    # Columns that are dropped are read: they tell different rows of two files from equal ones.
    unread = {name for name in drop if not first.may_read(name)}
    parts = [_read_table(first, None, target, ways, unread, must_be=drawn is not None)]
    features = list(parts[0][0].columns)
    parts += [
        _read_table(file, features, target, ways, must_be=drawn is not None) for file in files[1:]
    ]
    parts += [_read_table(file, features, target, [], is_unlabeled=True) for file in more]
    frames, all_texts, masks = zip(*parts, strict=True)
    frame = _with_one_truth(join_frames(frames))
    at_random = np.concatenate(masks)
    texts = unmark(list(chain(*all_texts)), unlabeled)
    classes = settle_classes(
        Counter(texts),
        first.path,
        target,
        spelling=spelling,
        positive=positive,
        mark=unlabeled,
        at_random=compress(texts, at_random),
    )
    codes = classes.codes_of(texts)
    features = frame.drop(columns=list(drop), errors="ignore")
    is_blank = (codes < 0) & features.isna().all(axis=1).to_numpy()
    n_blank = counted(int(is_blank.sum()), "row")
    notes = [f"Left out: {n_blank} without any value."] if is_blank.any() else []
    is_left_out = is_blank
    if len(parts) > 1:
        keys = pandas.util.hash_pandas_object(frame, index=False).to_numpy()
        again = ~is_blank & (codes < 0) & np.isin(keys, keys[codes >= 0])
        if again.any():
            n_again = counted(int(again.sum()), "unlabeled row")
            notes.append(f"Used once: {n_again} that occur again with a label.")
        is_left_out = is_blank | again
    codes = codes[~is_left_out]
    at_random = at_random[~is_left_out]
    notes += say_chosen(codes, at_random)
    features = features[~is_left_out].reset_index(drop=True)
    try:
        rows, about = settle_features(first.path, features, wanted, decimal, drop)
    except CellError as error:
        place = int(np.flatnonzero(~is_left_out)[error.row])
        ends = np.cumsum([len(part) for part in frames])
        at = int(np.searchsorted(ends, place, side="right"))
        row = place - int(ends[at]) + len(frames[at])
        raise [*files, *more][at].fault_at(row, error.reason, error.remedy) from None
    return Training(
        name=printable_name(first.path),
        target=target,
        rows=rows,
        codes=codes,
        classes=classes,
        at_random=None if at_random[codes >= 0].all() else at_random,
        **about | {"notes": notes + about["notes"]},
    )


def check_request(
    first: RowReader,
    path: Path,
    target: str | None,
    drop: Collection[str],
    types: Mapping[str, str],
    decimal: str | None,
) -> tuple[str, dict[str, Type]]:
    """Return the target and the types; a fault where they make no sense for a file or folder."""
    if decimal not in (None, ".", ","):
        raise DataError(f"`decimal` is the decimal mark of numbers, '.' or ','; got {decimal!r}.")
    if target is None:
        raise fault(path, "the column of the labels is not named", "Set `target` to its name")
    for column in (*drop, *types):
        first.require(column)
    if target in drop:
        reason = f"the column {target!r} is the target and can't be left out"
        raise fault(path, reason, "Drop another column")
    return target, parse_types(types)


def columns_of_ways(
    files: Sequence[RowReader], drawn: str | None, taken: Collection[str], target: str
) -> list[str]:
    """Return the columns that may say how rows were drawn, unless they are `taken`."""
    there = {name for file in files for name in file.names}
    if drawn is None:
        return [name for name in DRAWN_COLUMNS if name in there and name not in taken]
    if drawn not in there:
        files[0].require(drawn)
    if drawn == target:
        raise fault(
            files[0].path, f"the column {target!r} is the target", "Name another column in `drawn`"
        )
    return [drawn]


def _read_table(
    file: RowReader,
    features: list[str] | None,
    target: str,
    ways: list[str],
    unread: Collection[str] = (),
    *,
    must_be: bool = False,
    is_unlabeled: bool = False,
) -> tuple[Any, list[str], np.ndarray]:
    """Return the features of one file, its labels as texts, and which rows, if labeled, were drawn
    at random.

    features   those of the first file, None for the first file itself
    ways       columns that may say how rows were drawn
    unread     columns of the first file to leave where they are
    must_be    whether such a column with other words is an error
    """
    names = features
    if names is None:
        names = [name for name in file.names if name not in {target, *unread}]
    for name in (*names, *(() if is_unlabeled else (target,))):
        file.require(name)
    ways = [name for name in ways if name in file.names and name not in (features or ())]
    chunks = file.chunks(frozenset({*names, target, *ways}))
    frame = join_frames([chunk.frame for chunk in chunks])
    texts = [""] * len(frame) if is_unlabeled else label_texts(frame[target])
    way, at_random = find_ways(file.path, frame, ways, must_be=must_be)
    if at_random is None:
        at_random = np.ones(len(frame), dtype=bool)
    return frame[[name for name in names if name != way]], texts, at_random


def _with_one_truth(frame: Any) -> Any:
    """Spell truth values in one way: "true" (Parquet), "True" (pandas), "TRUE" (R)."""
    for name in frame.columns:
        cells = frame[name]
        if cells.dtype == text_type() and cells.dropna().isin(TRUTH_WORDS).all():
            frame[name] = cells.str.lower()
    return frame


def printable_name(path: Path) -> str:
    """Return the name of a file, whatever bytes it is made of, as printable text."""
    return os.fsencode(path.name).decode("utf-8", errors="replace")


def settle_features(
    path: Path, frame: Any, types: Mapping[str, Type], decimal: str | None, drop: Collection[str]
) -> tuple[Columns, dict[str, Any]]:
    """Return the columns in use, and what a `Training` says of them and of the others; CellError
    where a cell is too large.
    """
    try:
        reading = read_table(frame, types, decimal)
    except CellError:
        raise
    except NothingLeftError as error:
        raise fault(path, str(error), "Add columns that tell rows apart") from None
    except ValueError as error:
        remedy = "Correct the column, leave it out (`drop`), or set its type to category (`types`)"
        raise fault(path, str(error), remedy) from None
    notes = [
        f"Column {column.name!r} {column.why}: it is left out"
        f"{column.remedy and f'; {column.remedy}'}."
        for column in reading.left_out
    ]
    notes += [f"Column {name!r}: {remark}." for name, remark in reading.remarks.items()]
    left_out = {column.name: column.why for column in reading.left_out}
    left_out |= dict.fromkeys(sorted(drop), "was dropped by request")
    return reading.columns, {"left_out": left_out, "remarks": reading.remarks, "notes": notes}
