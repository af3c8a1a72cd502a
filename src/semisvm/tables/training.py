"""Files -> the rows to learn from: the features as they are, the class of each labeled row, and notes.

Several files make one table: the rows of later files follow those of the first and must have its columns. An unlabeled
row that occurs again with a label (a row that `suggest` wrote and a person labeled) is used once, with its label.
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
    """What a model is fitted to.

    Attributes
    ----------
    name, target : str
        Names of the file and of the label column.
    rows : DataFrame or matrix
        The features, not yet encoded.
    codes : ndarray of shape (n,)
        The class of each row as an index into `classes.names`, -1 for unlabeled rows.
    classes : Classes
        The class names; of two, the second is the positive class.
    columns : list of Column or None
        What the columns of a table are; None for files of bare numbers.
    notes : list of str
        What was noticed while reading.
    """

    name: str
    target: str
    rows: Any
    codes: np.ndarray
    classes: Classes
    columns: list[Column] | None
    notes: list[str] = field(default_factory=list)

    @property
    def labels(self) -> Any:
        """The class name of each row as a pandas Categorical, missing for unlabeled rows.

        Estimators are fitted on it. Its categories are all classes in their order, so the positive class is the last.
        """
        return self.classes.categorical(self.codes)

    @property
    def n_labeled(self) -> int:
        return int((self.codes >= 0).sum())

    @property
    def n_unlabeled(self) -> int:
        return int((self.codes < 0).sum())

    @property
    def has_positives_only(self) -> bool:
        """Whether all labels are of one class, the second of two; the other rows are unlabeled."""
        return len(self.classes.names) == 2 and not (self.codes == 0).any()

    def features(self) -> list[tuple[str, str]]:
        """Return name and type of each feature."""
        if self.columns is not None:
            return [(column.name, column.type) for column in self.columns]
        n_features = self.rows.shape[1]
        return [("x1" if n_features == 1 else f"x1 to x{n_features}", "number")]

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
        Of two classes, the positive one; by default the second in order.
    drop : sequence of str
        Columns to leave out.
    types : mapping of {str: str}, optional
        What columns are: "number", "category", "date" or "text".

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
    if first.names is None:
        return _read_matrices(files, [open_rows(path) for path in unlabeled_data], target, unlabeled, positive)
    if target is None:
        raise fault(first.path, "the column of the labels is not named", "Set `target` to its name")
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
    classes = settle_classes(texts, first.path, target, positive=positive, mark=unlabeled, may_be_one_class=True)
    codes = classes.codes_of(texts)
    notes: list[str] = []
    if len(read) > 1:
        again = frame.duplicated(keep=False).to_numpy() & (codes < 0)
        again &= _is_like(frame, codes >= 0)
        if again.any():
            notes.append(f"{int(again.sum())} unlabeled rows occur again with a label and are used once.")
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
            remedy = "Correct the column, leave it out (`drop`), or set its type to category (`types`)"
            raise fault(first.path, str(error), remedy) from None
        if isinstance(column, Unused):
            notes.append(f"Column {column.name!r} {column.why}: it is left out.")
            continue
        if column.strays:
            spelled = ", ".join(map(repr, column.strays))
            notes.append(f"Column {column.name!r} holds numbers; {spelled} counts as an empty cell.")
        columns.append(column)
    if not columns:
        raise fault(first.path, "no column is left to learn from", "Add columns that carry information about the rows")
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
