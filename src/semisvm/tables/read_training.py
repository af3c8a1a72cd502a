"""Files -> the rows to learn from: the features as they are, the class of each labeled row, and notes.

Several files make one table: the rows of later files follow those of the first and must have its columns. An unlabeled
row that occurs again with a label (a row that `suggest` wrote and a person labeled) is used once, with its label. A
column "drawn" says which labels are a random sample (`semisvm.tables.training`); it is never a feature.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import DataError, fault
from semisvm.matrices import is_sparse_matrix
from semisvm.tables.classes import label_texts, settle_classes, settle_spelling, unmark
from semisvm.tables.column_facts import ColumnFacts, facts_of
from semisvm.tables.columns import Column, parse_types, remark_on, settle_columns
from semisvm.tables.read import RowReader, open_rows
from semisvm.tables.training import DRAWN_COLUMNS, Training, read_ways

LIBSVM_MARK = "0"


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
    """Read the rows to learn from.

    Parameters
    ----------
    paths : sequence of path
        The files; all of them make one table.
    target : str or None
        The column of the labels; LIBSVM and npz files need none.
    unlabeled : str, optional
        The marker of unlabeled rows, besides empty cells.
    unlabeled_data : sequence of path
        Files of further rows, all unlabeled.
    positive : str, optional
        Of two classes, the positive one; by default the one with fewer labels.
    drop : sequence of str
        Columns to leave out.
    types : mapping of {str: str}, optional
        What columns are: "number", "category", "date" or "text".
    drawn : str, optional
        The column that says how labeled rows were drawn: "at random" (or empty), "by doubt" or "by campaign". By
        default a column called "drawn" that has only these words.
    decimal : {".", ","}, optional
        The mark that ends the whole part of numbers such as "1.234,56" or "NT$ 3,913".
    spelling : {"ask", "same", "exact"}, default="ask"
        Whether labels that differ only by case or spaces are one class. "ask" is an error where there are such labels.

    Returns
    -------
    Training
        The rows, their classes and what the columns are.

    Raises
    ------
    DataError
        If a file can't be read as asked; the message says where, why, and what to do.
    """
    files = [open_rows(path) for path in paths]
    first = files[0]
    if decimal not in (None, ".", ","):
        raise DataError(f"`decimal` is the mark that ends the whole part of numbers, '.' or ','; got {decimal!r}.")
    if first.names is None:
        return _read_matrices(files, [open_rows(path) for path in unlabeled_data], target, unlabeled, positive)
    if target is None:
        raise fault(first.path, "the column of the labels is not named", "Set `target` to its name")
    first.require(target)
    for column in drop:
        first.require(column)
        if column == target:
            raise fault(first.path, f"the column {target!r} is the target and can't be left out", "Drop another column")
    if drawn is not None and not any(file.names is not None and drawn in file.names for file in files):
        first.require(drawn)
    if drawn == target:
        raise fault(first.path, f"the column {target!r} is the target", "Name another column in `drawn`")
    # A column that the user drops or gives a type is not one that says how rows were drawn.
    ways = [name for name in DRAWN_COLUMNS if name not in {target, *drop, *(types or {})}] if drawn is None else [drawn]
    read = [_read_table(first, None, target, ways, must_be=drawn is not None)]
    features = list(read[0].frame.columns)
    read += [_read_table(file, features, target, ways, must_be=drawn is not None) for file in files[1:]]
    read += [_read_table(open_rows(path), features, target, [], is_unlabeled=True) for path in unlabeled_data]
    wanted = _Wanted(target, unlabeled, positive, set(drop), parse_types(types or {}), decimal, spelling)
    return _table(read, wanted, first)


@dataclass(frozen=True)
class _Wanted:
    """What the user has said about a table; see `read_training`."""

    target: str
    unlabeled: str | None
    positive: str | None
    drop: set[str]
    types: Mapping[str, Any]
    decimal: str | None
    spelling: str


@dataclass
class _Part:
    """One file: its features, its labels as texts, and which rows were drawn at random; None: all."""

    frame: Any
    texts: list[str]
    at_random: np.ndarray | None


def _read_table(
    file: RowReader,
    features: list[str] | None,
    target: str,
    ways: list[str],
    *,
    must_be: bool = False,
    is_unlabeled: bool = False,
) -> _Part:
    """Read one file; `features` are those of the first file, None for the first file itself.

    ways      columns that may say how rows were drawn
    must_be   whether such a column with other words is an error
    """
    import pandas

    assert file.names is not None
    names = features if features is not None else [name for name in file.names if name != target]
    for name in (*names, *(() if is_unlabeled else (target,))):
        file.require(name)
    ways = [name for name in ways if name in file.names and (features is None or name not in features)]
    frames: list[Any] = [chunk.frame for chunk in file.chunks(only=frozenset({*names, target, *ways}))]
    frame = pandas.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    texts = [""] * len(frame) if is_unlabeled else label_texts(frame[target])
    at_random = None
    for name in ways:
        cells = label_texts(frame[name])
        at_random = read_ways(file.path, name, cells, must_be=must_be) if any(cells) or must_be else None
        if at_random is not None:
            names = [one for one in names if one != name]
            break
    return _Part(frame[names], texts, at_random)


def _table(read: list[_Part], wanted: _Wanted, first: RowReader) -> Training:
    import pandas

    frame = pandas.concat([part.frame for part in read], ignore_index=True) if len(read) > 1 else read[0].frame
    texts = unmark([text for part in read for text in part.texts], wanted.unlabeled)
    texts = settle_spelling(texts, first.path, wanted.target, wanted.spelling)
    at_random = np.concatenate(
        [np.ones(len(part.texts), dtype=bool) if part.at_random is None else part.at_random for part in read]
    )
    classes = settle_classes(
        texts, first.path, wanted.target, positive=wanted.positive, mark=wanted.unlabeled, may_be_one_class=True
    )
    codes = classes.codes_of(texts)
    notes: list[str] = []
    if len(read) > 1:
        again = frame.duplicated(keep=False).to_numpy() & (codes < 0)
        again &= _is_like(frame, codes >= 0)
        if again.any():
            notes.append(f"{int(again.sum())} unlabeled rows occur again with a label and are used once.")
            frame, codes, at_random = frame[~again].reset_index(drop=True), codes[~again], at_random[~again]
    n_chosen = int(((codes >= 0) & ~at_random).sum())
    if n_chosen:
        notes.append(
            f"{n_chosen} labeled rows were not drawn at random: they train, but no threshold is set on them and "
            "nothing is measured on them."
        )
    for name in wanted.types:
        first.require(name)
    facts = {str(name): facts_of(frame[name], wanted.decimal) for name in frame.columns if name not in wanted.drop}
    columns, about = settle_features(first.path, facts, wanted.types, wanted.decimal, wanted.drop)
    return Training(
        name=_printable_name(first.path),
        target=wanted.target,
        rows=frame[[column.name for column in columns]],
        codes=codes,
        classes=classes,
        columns=columns,
        at_random=at_random if n_chosen else None,
        **about | {"notes": notes + about["notes"]},
    )


def _printable_name(path: Path) -> str:
    """The name of a file, whatever bytes it is made of, as text that can be written to files."""
    return os.fsencode(path.name).decode("utf-8", errors="replace")


def _is_like(frame: Any, these: np.ndarray) -> np.ndarray:
    """Which rows have the features of one of `these` rows."""
    import pandas

    keys = pandas.util.hash_pandas_object(frame, index=False).to_numpy()
    return np.isin(keys, keys[these])


def settle_features(
    path: Path, facts: Mapping[str, ColumnFacts], types: Mapping[str, Any], decimal: str | None, drop: Collection[str]
) -> tuple[list[Column], dict[str, Any]]:
    """Decide what the columns of a file or folder are, from facts about those that are not dropped.

    Returns the columns in use, and what a `Training` says of them: `left_out`, `remarks` and `notes`.
    """
    try:
        columns, unused = settle_columns(facts, types, decimal)
    except ValueError as error:
        remedy = "Correct the column, leave it out (`drop`), or set its type to category (`types`)"
        raise fault(path, str(error), remedy) from None
    if not columns:
        raise fault(path, "no column is left to learn from", "Add columns that carry information about the rows")
    remarks = {one.name: remark for one in columns if (remark := remark_on(one, facts[one.name]))}
    notes = [f"Column {one.name!r} {one.why}: it is left out." for one in unused]
    notes += [f"Column {name!r}: {remark}." for name, remark in remarks.items()]
    left_out = {one.name: one.why for one in unused} | dict.fromkeys(sorted(drop), "was dropped by request")
    return columns, {"left_out": left_out, "remarks": remarks, "notes": notes}


def _read_matrices(
    files: list[RowReader],
    unlabeled_files: list[RowReader],
    target: str | None,
    unlabeled: str | None,
    positive: str | None,
) -> Training:
    first = files[0]
    parts, texts = list[Any](), list[str]()
    for file in files + unlabeled_files:
        if file.names is not None:
            raise fault(file.path, f"a table, where {first.path.name} is a file of bare numbers", "Convert one of them")
        for chunk in file.chunks():
            if parts and not is_sparse_matrix(chunk.X) and chunk.X.shape[1] != parts[0].shape[1]:
                reason = f"{chunk.X.shape[1]} features where {first.path.name} has {parts[0].shape[1]}"
                raise fault(file.path, reason, "Give rows of the same features")
            parts.append(chunk.X)
            has_labels = chunk.y is not None and file not in unlabeled_files
            texts += label_texts(chunk.y) if has_labels else [""] * len(chunk)
    is_sparse = any(is_sparse_matrix(part) for part in parts)
    X = _stack_sparse(parts) if is_sparse else np.vstack(parts)
    # In SVMlight's own files a label of 0 marks a row without one
    mark = LIBSVM_MARK if unlabeled is None and is_sparse else unlabeled
    texts = unmark(texts, mark)
    name = target or ("y" if not is_sparse else "label")
    classes = settle_classes(texts, first.path, name, positive=positive, mark=mark)
    return Training(_printable_name(first.path), name, X, classes.codes_of(texts), classes, None)


def _stack_sparse(parts: list[Any]) -> Any:
    """Put rows below each other; LIBSVM rows do not say how many features there are, so the widest part does."""
    parts = [sparse.csr_matrix(part) for part in parts]
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], width)
    return sparse.vstack(parts, format="csr")
