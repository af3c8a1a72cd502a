"""Files for tests of readers: written, and made in memory."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd

from semisvm.columns.cells import CellError, Column
from semisvm.columns.table import Schema
from semisvm.tables.classes import label_texts, labels_of
from semisvm.tables.read import open_rows


def write(folder, name, content):
    """Write bytes or text and return the path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npz_bytes(**arrays):
    """The bytes of an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def parquet_bytes(**columns):
    """The bytes of a Parquet file."""
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()


def read_frame(path):
    """All rows of a file with named columns."""
    return pd.concat([chunk.frame for chunk in open_rows(path).chunks()], ignore_index=True)


def read_as_numbers(reader, names):
    """Columns of a file as numbers, an array; a cell that is none is named as `predict` does."""
    if not names:  # the target is the only column
        return np.empty((len(read_frame(reader.path)), 0))
    schema = Schema(tuple(Column(name, "number") for name in names))
    parts = []
    for chunk in reader.chunks(frozenset(names)):
        try:
            parts.append(schema.read(chunk.frame).numbers)
        except CellError as error:
            raise chunk.fault_at(error.row, error.reason, error.remedy) from None
    return np.vstack(parts)


def read_numbers(path, target=None):
    """All rows of a file of numbers: X, y, and the names of the columns of X."""
    reader = open_rows(path)
    names = tuple(name for name in reader.names if name != target)
    if target is not None:
        reader.require(target)
    y = None if target is None else labels_of(label_texts(read_frame(path)[target]))
    return SimpleNamespace(X=read_as_numbers(reader, names), y=y, names=names)
