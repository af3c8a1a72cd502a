"""CSV and TSV text -> X, y.

The target column may hold anything; every other cell must be a finite number. `float` reads the
numbers: with the csv reader that is within a third of NumPy's compiled `loadtxt`, which can't say where
it failed.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semisvm.data.dataset import Dataset
from semisvm.data.errors import DataError, fault, shorten
from semisvm.data.table import Table, open_table
from semisvm.data.target import labels_from_text, no_labels

# longer than this, a "label" is a text; NumPy would reserve its length for every row
LONGEST_LABEL = 1000


def read_delimited(path: str | Path, *, target: str | None = None, delimiter: str | None = None) -> Dataset:
    """Read a CSV or TSV file with a header line.

    Parameters
    ----------
    path : path
        Plain, or compressed as .gz, .bz2 or .xz.
    target : str, optional
        The column that holds the labels; empty cells in it are rows without a label.
    delimiter : str, optional
        What separates cells; by default the header line tells (comma, else semicolon, else tab).
    """
    return read_columns(open_table(path, delimiter=delimiter), target)


def read_columns(table: Table, target: str | None, *, ignore: Sequence[str] = ()) -> Dataset:
    """Turn a table's rows into X and y; the columns to `ignore` are neither."""
    at = None if target is None else table.position(target)
    apart = {table.position(column) for column in ignore} | ({at} if at is not None else set())
    features = [i for i in range(len(table.names)) if i not in apart]
    if not features:
        raise fault(table.path, "no column is left for the features", "Add at least one")
    numbers, labels = _collect(table, features, at)
    if not numbers:
        raise table.without_rows()
    X = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(features))
    _require_finite(table, features, X)
    y = no_labels(len(X)) if at is None else labels_from_text(labels, table.missing)
    names = tuple(table.names[i] for i in features)
    return Dataset(table.path.name, X, y, names, target, source=str(table.path))


def _collect(table: Table, features: list[int], at: int | None) -> tuple[array, list[str]]:
    """Read all rows: feature cells as numbers, row after row, and target cells as they stand."""
    numbers, labels = array("d"), []
    underscored = "_" in table.body  # float() reads "1_000"; a table should not
    for line, row in table.rows():
        if at is not None:
            if len(row[at]) > LONGEST_LABEL:
                raise _no_label(table, line, at, row[at])
            labels.append(row[at])
        cells = [row[i] for i in features]
        try:
            numbers.extend(map(float, cells))
        except ValueError:
            raise _no_number(table, line, features, row) from None
        if underscored and any("_" in cell for cell in cells):
            raise _no_number(table, line, features, row)
    return numbers, labels


def _require_finite(table: Table, features: list[int], X: NDArray) -> None:
    finite = np.isfinite(X).all(axis=1)
    if finite.all():
        return
    first = int(np.argmin(finite))
    line, row = next(entry for i, entry in enumerate(table.rows()) if i == first)
    raise _no_number(table, line, features, row)


def _no_number(table: Table, line: int, features: list[int], row: list[str]) -> DataError:
    """Describe the first feature cell of a row that is not a finite number."""
    i = next(i for i in features if not _is_finite(row[i]))
    cell, column = row[i], f"column {table.names[i]!r}"
    if cell.strip() in table.missing:
        reason = f"{column} has no value ({shorten(cell)})"
        return fault(table.path, reason, "Fill it in, or leave the row or the column out", line=line)
    if cell.strip().lstrip("+-").lower() in {"inf", "infinity", "nan"}:
        reason = f"{column} holds {shorten(cell)}, not a finite number"
        return fault(table.path, reason, "Replace it by a number, or leave the row out", line=line)
    reason = f"{column} holds {shorten(cell)} where a number is expected"
    if _is_finite(cell.replace(",", ".")):
        return fault(table.path, reason, "Write decimals with a point, not a comma", line=line)
    return fault(table.path, reason, "Turn the column into numbers, or leave it out", line=line)


def _no_label(table: Table, line: int, at: int, label: str) -> DataError:
    reason = f"column {table.names[at]!r} holds a text of {len(label)} characters, which is no class label"
    return fault(table.path, reason, "Name the column that holds the classes as target", line=line)


def _is_finite(cell: str) -> bool:
    try:
        return "_" not in cell and bool(np.isfinite(float(cell)))
    except ValueError:
        return False
