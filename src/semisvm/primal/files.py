"""Rows in a file of numbers: read chunk by chunk in every pass, so that memory does not grow with
the rows.

The file is a two-dimensional .npy array, float32 or float64, in the order of C. It is read, not
mapped: a chunk at a time, the next one by a thread while the last one is worked on. Other formats
are decoded once into such a file (`ScratchWriter`), because decoding takes longer than everything
else that is done with a row.

Sparse rows are in a file of their own kind (`CsrScratchRows`): one block per part that was written,
the columns of its entries, then their values. Row pointers stay in memory.
"""

from __future__ import annotations

import abc
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import fault
from semisvm.primal.rows import MemoryRows, Rows, pick

BYTES_PER_CHUNK = 16_000_000
# Neighbors that a sample takes together: as many times fewer places of the file are visited.
ROWS_PER_DRAW = 32


class ChunkedRows(Rows):
    """Rows that are read chunk by chunk in every pass; a subclass says how (`_chunks`)."""

    @abc.abstractmethod
    def _chunks(self) -> Iterator[MemoryRows]: ...

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        total: Any = None
        for chunk in self._chunks():
            value = chunk.sum_over(function, *broadcast)
            total = value if total is None else total + value
        return total

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        for chunk in self._chunks():
            yield from chunk.map_over(function, *broadcast)


def read_ahead(read: Callable[[int], MemoryRows], places: Iterable[int]) -> Iterator[MemoryRows]:
    """What is read at each place; a thread reads the next one while the last one is worked on."""
    with ThreadPoolExecutor(1, thread_name_prefix="semisvm-reader") as reader:
        pending: Future[MemoryRows] | None = None
        for place in places:
            following = reader.submit(read, place)
            if pending is not None:
                yield pending.result()
            pending = following
        if pending is not None:
            yield pending.result()


class FileRows(ChunkedRows):
    """Rows in a .npy file, of which only two chunks at a time are in memory.

    Parameters
    ----------
    path : str or Path
        File with a two-dimensional array of float32 or float64 numbers, as `numpy.save` writes it.
    codes : ndarray of int of shape (n_rows,), default=None
        The class of each row as an index into `classes`, -1 for unlabeled rows; int8 takes the
        least memory.
    weight : ndarray of shape (n_rows,), default=None
        Sample weights.
    classes : ndarray of shape (n_classes,), default=None
        The class labels.
    feature_names : ndarray of str of shape (n_features,), default=None
        The names of the columns.

    See Also
    --------
    MemoryRows : Rows in memory.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from semisvm.primal import FileRows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.npy")
    ...     np.save(path, np.eye(3, dtype=np.float32))
    ...     FileRows(path).sum_over(lambda part: part.X.sum(axis=0))
    array([1., 1., 1.])
    """

    def __init__(
        self,
        path: str | Path,
        codes: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        feature_names: np.ndarray | None = None,
    ):
        self.path = Path(path)
        self.n_rows, self.n_features, self.dtype, self._offset = _read_header(self.path)
        for name, values in (("codes", codes), ("weight", weight)):
            if values is not None and np.shape(values) != (self.n_rows,):
                raise ValueError(
                    f"{name} must have one entry for each of the {self.n_rows} rows of {self.path}."
                )
        self.codes = codes
        self.weight = weight
        self.classes = classes
        self.feature_names = feature_names
        self._is_checked = False
        self.scratch: ScratchFile | None = None  # set where the file is one
        # It depends on the file alone, as sums do.
        self._chunk_rows = max(BYTES_PER_CHUNK // max(self.n_features * self.dtype.itemsize, 1), 1)

    def _chunks(self) -> Iterator[MemoryRows]:
        with self.path.open("rb") as file:
            starts = range(0, self.n_rows, self._chunk_rows)
            yield from read_ahead(lambda start: self._read(file, start, self._chunk_rows), starts)

    def _read(self, file: Any, start: int, n: int) -> MemoryRows:
        n = min(n, self.n_rows - start)
        file.seek(self._offset + start * self.n_features * self.dtype.itemsize)
        X = np.fromfile(file, dtype=self.dtype, count=n * self.n_features)
        if X.size < n * self.n_features:
            raise fault(self.path, "the file ends before its last row", "Write it again")
        if not self._is_checked and not np.isfinite(X).all():
            row = start + int(np.flatnonzero(~np.isfinite(X))[0]) // self.n_features
            raise fault(
                self.path,
                f"row {row} holds a number that is not finite",
                "Fill it in, or leave it out",
            )
        span = slice(start, start + n)
        return MemoryRows(
            X.reshape(n, self.n_features),
            pick(self.codes, span),
            pick(self.weight, span),
            first=start,
        )

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        total = super().sum_over(function, *broadcast)
        self._is_checked = True  # that all numbers are finite: the first pass looks at each
        return total

    def sample(self, n: int, seed: int) -> MemoryRows:
        # Short runs of neighbors from random places, in the order of the file.
        n_runs = max(self.n_rows // ROWS_PER_DRAW, 1)
        rng = np.random.default_rng(seed)
        runs = np.sort(rng.choice(n_runs, min(max(n // ROWS_PER_DRAW, 1), n_runs), replace=False))
        with self.path.open("rb") as file:
            read = [self._read(file, int(run) * ROWS_PER_DRAW, ROWS_PER_DRAW) for run in runs]
        rows = np.concatenate([np.arange(part.first, part.first + part.n_rows) for part in read])
        X = np.concatenate([part.X for part in read])
        return MemoryRows(X, pick(self.codes, rows), pick(self.weight, rows), origin=rows)


class ScratchFile:
    """A temporary file that is deleted with this object, which its writer and its rows share."""

    def __init__(self, suffix: str, folder: str | Path | None = None):
        number, name = tempfile.mkstemp(prefix="semisvm-", suffix=suffix, dir=folder)
        os.close(number)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


class ScratchWriter:
    """Writes rows, part by part, into a file that is deleted with the `FileRows` that read it."""

    def __init__(self, n_features: int, folder: str | Path | None = None):
        self._scratch = ScratchFile(".npy", folder)
        self.n_features = n_features
        self.n_rows = 0
        self._write_header()

    def _write_header(self) -> None:
        # The number of rows is not known at first: numpy leaves room for it to grow.
        header = {"descr": "<f4", "fortran_order": False, "shape": (self.n_rows, self.n_features)}
        with self._scratch.path.open("r+b") as file:
            np.lib.format.write_array_header_1_0(file, header)

    def write(self, X: Any) -> None:
        """Append rows, (m, n_features), as float32."""
        with np.errstate(over="ignore"):  # what is not finite in float32 is refused when it is read
            rows = np.ascontiguousarray(X, dtype="<f4")
        with self._scratch.path.open("ab") as file:
            rows.tofile(file)
        self.n_rows += len(rows)

    def rows(self, **attributes: Any) -> FileRows:
        """End writing and return the rows, with `codes`, `weight`, `classes` and `feature_names` as
        given; the file lives as long as they do.
        """
        self._write_header()
        rows = FileRows(self._scratch.path, **attributes)
        rows.scratch = self._scratch
        return rows


class CsrScratchRows(ChunkedRows):
    """Sparse rows that are written part by part into a file, which is deleted with them, and then
    read block by block: memory holds 8 bytes per row, and two blocks.
    """

    is_sparse = True

    def __init__(self, n_features: int):
        self.scratch = ScratchFile(".csr")
        self.path = self.scratch.path
        self.n_features = n_features
        self.n_rows = 0
        self.codes: np.ndarray | None = None
        # Of each block: its first row, its place in the file, its CSR row pointers.
        self._blocks: list[tuple[int, int, np.ndarray]] = []

    def write(self, X: Any) -> None:
        """Append rows of a CSR matrix: their columns, then their values as float32."""
        with self.path.open("ab") as file:
            indptr = np.asarray(X.indptr, dtype=np.int64)
            self._blocks.append((self.n_rows, file.tell(), indptr))
            np.asarray(X.indices, dtype="<i4").tofile(file)
            np.asarray(X.data, dtype="<f4").tofile(file)
        self.n_rows += X.shape[0]

    def rows(self, *, codes: np.ndarray, classes: np.ndarray) -> CsrScratchRows:
        """End writing and return the rows, with their class codes."""
        self.codes = codes
        self.classes = classes
        return self

    def _chunks(self) -> Iterator[MemoryRows]:
        return read_ahead(self._read, range(len(self._blocks)))

    def _read(self, number: int) -> MemoryRows:
        start, offset, indptr = self._blocks[number]
        with self.path.open("rb") as file:
            file.seek(offset)
            indices = np.fromfile(file, dtype="<i4", count=int(indptr[-1]))
            data = np.fromfile(file, dtype="<f4", count=int(indptr[-1]))
        if data.size < indptr[-1]:
            raise fault(self.path, "the file ends before its last row", "Fit again")
        X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, self.n_features))
        return MemoryRows(X, pick(self.codes, slice(start, start + X.shape[0])), first=start)


def _read_header(path: Path) -> tuple[int, int, np.dtype, int]:
    """(n_rows, n_features, dtype, offset of the first number) of a .npy file."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, is_fortran, dtype = read(file)
            offset = file.tell()
    except (ValueError, SyntaxError, TokenError) as error:  # numpy parses the header as Python
        reason = f"this is not a .npy file ({error})"
        raise fault(path, reason, "Write it with numpy.save") from None
    if len(shape) != 2 or dtype.kind != "f" or dtype.itemsize not in (4, 8) or is_fortran:
        content = (
            f"an array of shape {shape} and type {dtype}{' in Fortran order' if is_fortran else ''}"
        )
        remedy = (
            "Write float32 numbers in two dimensions: np.save(path, np.ascontiguousarray(X,"
            " np.float32))"
        )
        raise fault(path, f"it holds {content}", remedy)
    return shape[0], shape[1], dtype, offset
