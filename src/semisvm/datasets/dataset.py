"""A data set in memory: rows X, labels y, and the names of both; and how it is read from the files of the named sets.

    X   (n_rows, n_features)  float array, or CSR matrix with int32 indices
    y   (n_rows,)             labels

Rows without a label are kept: their y is -1 in the named sets. In a file of a user it is NaN (numbers) or "" (text).

Layouts of files:

svmlight         LIBSVM text, indices counted from 0 or from 1
csv              a header line, then numbers; the label comes last
csv with roles   the same, with a last column that says labeled, unlabeled or test
npz              the arrays X and y
ssl-book         X (or a CSR matrix in parts: data, indices, indptr, shape), y, and the splits: labeled10, ...
secstr           the same, with T instead of X: 15 residue codes per row, from 0 to 20
keel             a ZIP archive with a file of numbers, the class last, as a number or as a word
idx              a tar archive with the images and the labels of MNIST in its own binary format
"""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix

from semisvm.datasets.splits import Split
from semisvm.errors import DataError
from semisvm.matrices import is_sparse_matrix


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and labels, ready to learn from.

    Attributes
    ----------
    name : str
        The name of a named set, or of the file.
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite numbers.
    y : ndarray of shape (n_rows,)
        Labels, with NaN, "" or -1 where a row has none.
    feature_names : sequence of str of length n_features
        The names of the columns of X.
    target_name : str or None
        The column that y comes from; None where a file was read without one.
    source : str
        Where the rows come from, in words.
    split : Split or None
        The split that the set was published with, if there is exactly one.
    splits : dict of int to tuple of Split
        The splits that the set was published with, if there are several, by the number of labeled rows. The sets of the
        SSL book have them; they have no test rows, since the book scores the unlabeled rows.
    """

    name: str
    X: NDArray[np.floating] | csr_matrix
    y: NDArray
    feature_names: Sequence[str]
    target_name: str | None
    source: str = ""
    split: Split | None = None
    splits: Mapping[int, tuple[Split, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_rows, n_features = self.X.shape
        if self.y.shape != (n_rows,):
            raise ValueError(f"{self.name}: {n_rows} rows in X, but y has shape {self.y.shape}.")
        if len(self.feature_names) != n_features:
            raise ValueError(f"{self.name}: {n_features} features, {len(self.feature_names)} names for them.")

    def __repr__(self) -> str:
        n_rows, n_features = self.X.shape
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return f"Dataset({self.name!r}: {n_rows} rows x {n_features} features, {kind} {self.X.dtype})"


class NumberedNames(Sequence[str]):
    """Names for columns that have none: x1, x2, ..., counted from 1 as in LIBSVM files.

    A name is made when it is asked for, because a sparse row may have its only value at feature two billion.
    """

    def __init__(self, n_features: int) -> None:
        self._numbers = range(1, n_features + 1)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice):
            return tuple(f"x{number}" for number in self._numbers[i])
        return f"x{self._numbers[i]}"


def refuse_rounded(labels: NDArray[np.floating]) -> None:
    """Refuse labels that a file held as whole numbers which a float does not tell from their neighbors."""
    if (np.abs(labels) >= EXACT_IN_FLOAT).any():
        raise DataError("Labels are numbers of more than 15 digits, which are not exact. Write them as text.")


def whole_if_possible(y: NDArray[np.floating]) -> NDArray:
    """Return y as integers where that loses nothing: no NaN, no fraction, no rounding."""
    if len(y) and np.all(np.abs(y) < EXACT_IN_FLOAT) and np.all(y == np.rint(y)):
        return y.astype(np.int64)
    return y


EXACT_IN_FLOAT = 2.0**53  # from here on a float does not hold every whole number
N_RESIDUES = 21
MNIST_PIXELS = 780  # the last four are zero in every image, and are not in the LIBSVM file
ROWS_HASHED_AT_ONCE = 4096


@dataclass(frozen=True)
class RawSet:
    """X and y as a file has them, before the labels become those of the task."""

    X: Any
    y: NDArray
    split: Split | None = None
    splits: Mapping[int, tuple[Split, ...]] = field(default_factory=dict)


def read_layout(path: Path, layout: str, *, n_features: int, member: str, classes: tuple[str, ...]) -> RawSet:
    """Read a file of a known layout; `member` and `classes` are for archives."""
    match layout:
        case "svmlight":
            return _read_svmlight(path, n_features)
        case "keel":
            return _read_keel(path, member, classes)
        case "idx":
            return _read_idx(path, member)
        case "csv":
            return _read_csv(path)
        case "csv with roles":
            return _read_csv_with_roles(path)
        case "npz":
            return _read_npz(path)
    return _read_ssl_book(path)


def hash_contents(raw: RawSet) -> str:
    """Return the SHA-256 of the numbers in X and y, whatever the file format and the data types."""
    digest = hashlib.sha256(repr(raw.X.shape).encode())
    is_sparse = is_sparse_matrix(raw.X)
    if is_sparse:
        for part, dtype in ((raw.X.indptr, "<i8"), (raw.X.indices, "<i8"), (raw.X.data, "<f8")):
            digest.update(part.astype(dtype).tobytes())
    else:
        for start in range(0, len(raw.X), ROWS_HASHED_AT_ONCE):
            rows = raw.X[start : start + ROWS_HASHED_AT_ONCE].astype("<f8")
            digest.update((rows + 0.0).tobytes())  # -0 becomes 0
    digest.update(raw.y.astype("<i8").tobytes())
    for n_labeled, splits in sorted(raw.splits.items()):
        digest.update(repr((n_labeled, [split.labeled.tolist() for split in splits])).encode())
    return digest.hexdigest()


def _read_svmlight(path: Path, n_features: int) -> RawSet:
    from sklearn.datasets import load_svmlight_file

    # "auto": some copies count the features from 0. The last features of a file may be zero in every row.
    X, y = load_svmlight_file(str(path), n_features=n_features, zero_based="auto")
    X.eliminate_zeros()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # SVC of scikit-learn refuses int64
    return RawSet(X, y.astype(np.int64))


def _read_csv(path: Path) -> RawSet:
    rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return RawSet(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int64))


def _read_csv_with_roles(path: Path) -> RawSet:
    cells = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2, dtype=str)
    rows, role = cells[:, :-1].astype(np.float64), cells[:, -1]
    labeled, unlabeled, test = (np.flatnonzero(role == part) for part in ("labeled", "unlabeled", "test"))
    y = rows[:, -1].astype(np.int64)
    return RawSet(np.ascontiguousarray(rows[:, :-1]), y, split=Split(labeled, unlabeled, test))


def _read_npz(path: Path) -> RawSet:
    with np.load(path, allow_pickle=False) as arrays:
        return RawSet(arrays["X"].astype(np.float32), arrays["y"].astype(np.int64))


def _read_ssl_book(path: Path) -> RawSet:
    with np.load(path, allow_pickle=False) as arrays:
        y = arrays["y"].astype(np.int64)
        if "T" in arrays:
            X = _one_hot(arrays["T"].astype(np.intp))
        elif "indptr" in arrays:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(arrays["shape"].tolist()))
        else:
            X = arrays["X"]
        named = {name: arrays[name].astype(np.intp) for name in arrays.files if name.startswith("labeled")}
    everything = np.arange(len(y))
    splits = {
        int(name.removeprefix("labeled")): tuple(
            Split(np.sort(labeled), np.setdiff1d(everything, labeled), np.empty(0, dtype=np.intp)) for labeled in rows
        )
        for name, rows in named.items()
    }
    return RawSet(X, y, splits=splits)


def _one_hot(codes: NDArray[np.intp]) -> sparse.csr_matrix:
    """Return one column per place and residue: place p with code c is column 21 p + c."""
    n_rows, n_places = codes.shape
    columns = (codes + N_RESIDUES * np.arange(n_places)).astype(np.int32).ravel()
    starts = np.arange(0, n_rows * n_places + 1, n_places, dtype=np.int32)
    ones = np.ones(n_rows * n_places, dtype=np.float32)
    return sparse.csr_matrix((ones, columns, starts), shape=(n_rows, N_RESIDUES * n_places))


def _read_keel(path: Path, member: str, classes: tuple[str, ...]) -> RawSet:
    with zipfile.ZipFile(path) as archive:
        text = archive.read(member).decode()
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    label = np.array([row[-1] for row in rows])
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    if classes:
        kept = np.isin(label, classes)
        return RawSet(X[kept], np.where(label[kept] == classes[0], 1, -1))
    names = sorted(set(label.tolist()))
    if all(name.isdigit() for name in names):
        return RawSet(X, label.astype(np.int64))
    return RawSet(X, 1 + np.searchsorted(names, label))


def _read_idx(path: Path, member: str) -> RawSet:
    with tarfile.open(path) as archive:
        contents = []
        for name in (f"{member}-images-idx3-ubyte", f"{member}-labels-idx1-ubyte"):
            stream = archive.extractfile(name)
            if stream is None:
                raise ValueError(f"{name} is not a file")
            contents.append(np.frombuffer(stream.read(), dtype=np.uint8))
    images, labels = contents[0][16:], contents[1][8:]  # after the headers
    X = images.reshape(len(labels), -1)[:, :MNIST_PIXELS].astype(np.float32)
    return RawSet(X, labels.astype(np.int64))
