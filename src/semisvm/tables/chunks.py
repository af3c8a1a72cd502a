"""Rows of a file, some thousands at a time: what `predict` needs to read ten million in the memory of a few.

A table gives pandas frames whose columns are of three kinds, whatever the file's format:

    float64       the columns named in `numbers`, and numbers of Parquet files; NaN where a cell is empty
    datetime64    dates of Parquet files
    text          everything else, missing where a cell is empty

Files of bare numbers (LIBSVM, npz) are read whole and give matrices, with the labels they carry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semisvm.data.arff import open_arff
from semisvm.data.arrays import read_npz
from semisvm.data.formats import file_format
from semisvm.data.libsvm import read_libsvm
from semisvm.tables.chunk import ROWS_AT_A_TIME, Chunk, Rows
from semisvm.tables.chunks_parquet import ParquetRows, parquet_names
from semisvm.tables.chunks_text import TextRows, read_header


def open_rows(path: str | Path, *, n_features: int | None = None) -> Rows:
    """Open a file and read its header; `n_features` is for LIBSVM text, whose rows do not say how many there are."""
    path = Path(path)
    kind = file_format(path)
    if kind in ("libsvm", "npz"):
        return MatrixRows(path, None, kind, n_features)
    if kind == "parquet":
        return ParquetRows(path, parquet_names(path))
    if kind == "arff":
        return TextRows(path, open_arff(path).names, is_arff=True)
    names, delimiter = read_header(path, "\t" if kind == "tsv" else None)
    return TextRows(path, names, delimiter)


@dataclass(frozen=True)
class MatrixRows(Rows):
    """LIBSVM text or an npz archive."""

    kind: str = "npz"
    n_features: int | None = None

    def chunks(self, numbers: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> Iterator[Chunk]:
        if self.kind == "npz":
            table = read_npz(self.path, target=_npz_target(self.path))
        else:
            table = read_libsvm(self.path, n_features=self.n_features)
        for start in range(0, table.X.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            yield Chunk(start, X=table.X[part], y=table.y[part])


def _npz_target(path: Path) -> str | None:
    """Return "y" where the archive has it: rows to predict need no labels."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return "y" if "y" in archive.files else None
    except Exception:  # of many unrelated types: read_npz says what is wrong
        return "y"
