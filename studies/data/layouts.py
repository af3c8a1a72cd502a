"""How the files of the named sets are written, and how they are read.

svmlight         LIBSVM text, indices counted from 0 or from 1
csv              a header line, then numbers; the label comes last
csv with roles   the same, with a last column that says labeled, unlabeled or test
npz              the arrays X and y
ssl-book         X (or a CSR matrix in parts: data, indices, indptr, shape), y, and the splits:
                 labeled10, ...
secstr           the same, with T instead of X: 15 residue codes per row, from 0 to 20
keel             a ZIP archive with a file of numbers, the class last, as a number or as a word
idx              a tar archive with the images and the labels of MNIST in its own binary format
"""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

N_RESIDUES = 21
MNIST_PIXELS = 780  # the last four are zero in every image, and are not in the LIBSVM file
ROWS_HASHED_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the labeled, the unlabeled and the test rows."""

    labeled: NDArray[np.intp]
    unlabeled: NDArray[np.intp]
    test: NDArray[np.intp]

    @property
    def train(self) -> NDArray[np.intp]:
        """All rows but the test rows, in order."""
        return np.union1d(self.labeled, self.unlabeled)


@dataclass(frozen=True)
class RawSet:
    """X and y as a file has them, before the labels become those of the task."""

    X: Any
    y: NDArray
    split: Split | None = None
    splits: Mapping[int, tuple[Split, ...]] = field(default_factory=dict)


def read_layout(
    path: Path, layout: str, *, n_features: int, member: str, classes: tuple[str, ...]
) -> RawSet:
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
    is_sparse = sparse.issparse(raw.X)
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
    # "auto": some copies count the features from 0. The last features of a file may be zero in
    # every row.
    X, y = load_svmlight_file(str(path), n_features=n_features, zero_based="auto")
    X.eliminate_zeros()
    X.indices, X.indptr = (
        X.indices.astype(np.int32),
        X.indptr.astype(np.int32),
    )  # SVC of scikit-learn refuses int64
    return RawSet(X, y.astype(np.int64))


def _read_csv(path: Path) -> RawSet:
    rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return RawSet(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int64))


def _read_csv_with_roles(path: Path) -> RawSet:
    cells = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2, dtype=str)
    rows = cells[:, :-1].astype(np.float64)
    role = cells[:, -1]
    labeled, unlabeled, test = (
        np.flatnonzero(role == part) for part in ("labeled", "unlabeled", "test")
    )
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
        named = {
            name: arrays[name].astype(np.intp)
            for name in arrays.files
            if name.startswith("labeled")
        }
    everything = np.arange(len(y))
    splits = {
        int(name.removeprefix("labeled")): tuple(
            Split(np.sort(labeled), np.setdiff1d(everything, labeled), np.empty(0, dtype=np.intp))
            for labeled in rows
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
    rows = [
        [cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()
    ]
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
