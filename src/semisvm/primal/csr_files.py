"""Sparse rows in a scratch file: written part by part, and read block by block in every pass.

A block is what was written at a time: the columns of its entries, then their values. Its row pointers stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import fault
from semisvm.primal.files import ChunkedRows, ScratchFile, read_ahead
from semisvm.primal.rows import MemoryRows


class CsrScratchWriter(ScratchFile):
    """Writes sparse rows, part by part, into a scratch file that is deleted with the `CsrFileRows` that read it.

    Parameters
    ----------
    n_features : int
        Number of columns.
    folder : str or Path, default=None
        Where the file is; by default the folder for temporary files.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from semisvm.primal.csr_files import CsrScratchWriter
    >>> writer = CsrScratchWriter(3)
    >>> writer.write(sparse.eye_array(3, format="csr"))
    >>> writer.rows().sum_over(lambda part: part.X.sum(axis=0))
    array([1., 1., 1.], dtype=float32)
    """

    def __init__(self, n_features: int, folder: str | Path | None = None):
        super().__init__(".csr", folder)
        self.n_features = n_features
        self._blocks: list[tuple[int, np.ndarray]] = []

    def write(self, X: Any) -> None:
        """Append rows: their columns, then their values as float32.

        Parameters
        ----------
        X : CSR matrix or array of shape (m, n_features)
            The rows.
        """
        self._blocks.append((self._file.tell(), np.asarray(X.indptr, dtype=np.int64)))
        np.asarray(X.indices, dtype="<i4").tofile(self._file)
        np.asarray(X.data, dtype="<f4").tofile(self._file)

    def rows(self, **attributes: Any) -> CsrFileRows:
        """End writing and return the rows; the file lives as long as they do.

        Parameters
        ----------
        **attributes : object
            `codes` and `classes` of the rows.

        Returns
        -------
        CsrFileRows
            The rows.
        """
        self._file.close()
        found = CsrFileRows(self.path, self.n_features, self._blocks, **attributes)
        self._hand_over(found)
        return found


class CsrFileRows(ChunkedRows):
    """Sparse rows in a scratch file, read block by block; memory holds 8 bytes per row, and two blocks.

    Parameters
    ----------
    path : Path
        What `CsrScratchWriter` wrote.
    n_features : int
        Number of columns.
    blocks : list of (int, ndarray)
        Where each block begins in the file, and its CSR row pointers.
    codes : ndarray of int of shape (n_rows,), default=None
        Class codes, -1 for none.
    classes : ndarray, default=None
        The class labels.
    """

    is_sparse = True

    def __init__(
        self,
        path: Path,
        n_features: int,
        blocks: list[tuple[int, np.ndarray]],
        codes: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ):
        self.path, self.n_features, self._blocks, self.codes, self.classes = path, n_features, blocks, codes, classes
        self._starts = np.cumsum([0, *(len(indptr) - 1 for _, indptr in blocks)])
        self.n_rows = int(self._starts[-1])

    def _chunks(self) -> Iterator[MemoryRows]:
        return read_ahead(self._read, range(len(self._blocks)))

    def _read(self, number: int) -> MemoryRows:
        offset, indptr = self._blocks[number]
        with self.path.open("rb") as file:
            file.seek(offset)
            indices = np.fromfile(file, dtype="<i4", count=int(indptr[-1]))
            data = np.fromfile(file, dtype="<f4", count=int(indptr[-1]))
        if data.size < indptr[-1]:
            raise fault(self.path, "the file ends before its last row", "Fit again")
        X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, self.n_features))
        start, stop = (int(place) for place in self._starts[number : number + 2])
        return MemoryRows(X, None if self.codes is None else self.codes[start:stop], first=start)

    def _sample(self, n: int, seed: int) -> MemoryRows:
        rows = np.sort(np.random.default_rng(seed).choice(self.n_rows, min(n, self.n_rows), replace=False))
        places = np.searchsorted(rows, self._starts)
        found = [
            self._read(number).X[rows[first:last] - self._starts[number]]
            for number, (first, last) in enumerate(pairwise(places))
            if last > first
        ]
        codes = None if self.codes is None else self.codes[rows]
        return MemoryRows(sparse.vstack(found, format="csr"), codes, origin=rows)
