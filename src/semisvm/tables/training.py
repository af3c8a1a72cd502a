"""Files -> the rows to learn from: features as they are, a class for each labeled row, and notes on the way.

Several files are one table: rows of the later ones follow those of the first and must have its columns. An unlabeled
row whose features come again with a label (rows that `suggest` gave out and a person filled in) counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import fault
from semisvm.tables.classes import Classes, label_texts, settle_classes, unmark
from semisvm.tables.columns import Column, Unused, parse_types, settle_column
from semisvm.tables.encode import MatrixEncoder, TableEncoder
from semisvm.tables.read import RowReader, open_rows

LIBSVM_MARK = "0"


@dataclass
class Training:
    """What a model is fitted to: `rows` is a frame of features or a matrix, `codes` (n,) has -1 where none is given."""

    name: str
    target: str
    rows: Any
    codes: np.ndarray
    classes: Classes
    columns: list[Column] | None
    notes: list[str] = field(default_factory=list)

    @property
    def n_labeled(self) -> int:
        return int((self.codes >= 0).sum())

    @property
    def n_unlabeled(self) -> int:
        return int((self.codes < 0).sum())

    def features(self) -> list[dict[str, str]]:
        """Name and type of each feature, for the reader."""
        if self.columns is not None:
            return [{"name": column.name, "type": column.type} for column in self.columns]
        n_features = self.rows.shape[1]
        return [{"name": "x1" if n_features == 1 else f"x1 to x{n_features}", "type": "number"}]

    def encoder(self) -> TableEncoder | MatrixEncoder:
        """Return what turns these rows into a matrix, fitted to them."""
        encoder = MatrixEncoder() if self.columns is None else TableEncoder(self.columns)
        return encoder.fit(self.rows)


def read_training(
    paths: Sequence[str | Path],
    target: str | None,
    *,
    unlabeled: str | None = None,
    unlabeled_data: Sequence[str | Path] = (),
    positive: str | None = None,
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
) -> Training:
    """Read the rows to learn from; `unlabeled` is the marker of rows without a label, beside empty cells."""
    files = [open_rows(path) for path in paths]
    first = files[0]
    if first.names is None:
        return _read_matrices(files, [open_rows(path) for path in unlabeled_data], target, unlabeled, positive)
    if target is None:
        raise fault(first.path, "the column of the labels is not named", "Say which it is: --target COLUMN")
    first.require(target)
    for column in drop:
        first.require(column)
    read = [_read_table(file, first, target) for file in files]
    read += [_read_table(open_rows(path), first, target, is_unlabeled=True) for path in unlabeled_data]
    return _table(read, target, unlabeled, positive, set(drop), parse_types(types or {}), first)


def _read_table(file: RowReader, first: RowReader, target: str, is_unlabeled: bool = False) -> tuple[Any, list[str]]:
    """Return the features of one file as a frame, and its labels as texts."""
    import pandas

    assert first.names is not None
    for name in first.names:
        if name != target or not is_unlabeled:
            file.require(name)
    frames: list[Any] = [chunk.frame for chunk in file.chunks(only=frozenset(first.names))]
    frame = pandas.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    texts = [""] * len(frame) if is_unlabeled else label_texts(frame[target])
    return frame[[name for name in first.names if name != target]], texts


def _table(
    read: list[tuple[Any, list[str]]],
    target: str,
    unlabeled: str | None,
    positive: str | None,
    drop: set[str],
    types: Mapping[str, Any],
    first: RowReader,
) -> Training:
    import pandas

    frame = pandas.concat([frame for frame, _ in read], ignore_index=True) if len(read) > 1 else read[0][0]
    texts = unmark([text for _, texts in read for text in texts], unlabeled)
    classes = settle_classes(texts, first.path, target, positive=positive, mark=unlabeled)
    codes = classes.codes_of(texts)
    notes: list[str] = []
    if len(read) > 1:
        again = frame.duplicated(keep=False).to_numpy() & (codes < 0)
        again &= _is_like(frame, codes >= 0)
        if again.any():
            notes.append(f"{int(again.sum())} unlabeled rows come again with a label and count once.")
            frame, codes = frame[~again].reset_index(drop=True), codes[~again]
    columns = _settle_columns(frame.drop(columns=sorted(drop)), types, first, notes)
    rows = frame[[column.name for column in columns]]
    return Training(first.path.name, target, rows, codes, classes, columns, notes)


def _is_like(frame: Any, these: np.ndarray) -> np.ndarray:
    """Which rows have the features of one of `these` rows."""
    import pandas

    keys = pandas.util.hash_pandas_object(frame, index=False).to_numpy()
    return np.isin(keys, keys[these])


def _settle_columns(frame: Any, types: Mapping[str, Any], first: RowReader, notes: list[str]) -> list[Column]:
    for name in types:
        first.require(name)
    columns = []
    for name in frame.columns:
        try:
            column = settle_column(str(name), frame[name], types.get(name))
        except ValueError as error:
            remedy = f"Mend the column, leave it out (--drop {name}), or say what it is (--type {name}=category)"
            raise fault(first.path, str(error), remedy) from None
        if isinstance(column, Unused):
            notes.append(f"Column {column.name!r} {column.why}: it is left out.")
            continue
        if column.strays:
            spelled = ", ".join(map(repr, column.strays))
            notes.append(f"Column {column.name!r} holds numbers; {spelled} counts as an empty cell.")
        columns.append(column)
    if not columns:
        raise fault(first.path, "no column is left to learn from", "Add columns that say something about the rows")
    return columns


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
            if parts and not sparse.issparse(chunk.X) and chunk.X.shape[1] != parts[0].shape[1]:
                reason = f"{chunk.X.shape[1]} features where {first.path.name} has {parts[0].shape[1]}"
                raise fault(file.path, reason, "Give rows of the same features")
            parts.append(chunk.X)
            has_labels = chunk.y is not None and file not in unlabeled_files
            texts += label_texts(chunk.y) if has_labels else [""] * len(chunk)
    is_sparse = any(sparse.issparse(part) for part in parts)
    X = _stack_sparse(parts) if is_sparse else np.vstack(parts)
    # In SVMlight's own files a label of 0 marks a row without one
    mark = LIBSVM_MARK if unlabeled is None and is_sparse else unlabeled
    texts = unmark(texts, mark)
    name = target or ("y" if not is_sparse else "label")
    classes = settle_classes(texts, first.path, name, positive=positive, mark=mark)
    return Training(first.path.name, name, X, classes.codes_of(texts), classes, None)


def _stack_sparse(parts: list[Any]) -> Any:
    """Put rows below each other; LIBSVM rows do not say how many features there are, so the widest part does."""
    parts = [sparse.csr_matrix(part) for part in parts]
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], width)
    return sparse.vstack(parts, format="csr")
