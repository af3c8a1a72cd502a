"""NumPy's .npz archives -> X, y: two arrays by name.

    numpy.savez_compressed("rows.npz", X=X, y=y)

X is (n_rows, n_features) and numeric, y has n_rows labels. Pickled objects are refused: opening a data
file must never run code.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semisvm.data.content import read_bytes
from semisvm.data.dataset import Dataset, NumberedNames
from semisvm.data.errors import DataError, fault, suggest
from semisvm.data.target import no_labels, whole_if_possible

AS_WRITTEN = "Write it as: numpy.savez_compressed(path, X=X, y=y)"


def read_npz(path: str | Path, *, target: str | None = "y") -> Dataset:
    """Read the arrays X and `target` of an .npz file; target=None reads X alone."""
    path = Path(path)
    wanted = ["X"] if target is None else ["X", target]
    members = _members(path, wanted)
    X = _features(path, members["X"])
    y = no_labels(len(X)) if target is None else _labels(path, members[target], len(X))
    return Dataset(path.name, X, y, NumberedNames(X.shape[1]), target, source=str(path))


def _members(path: Path, wanted: list[str]) -> dict[str, NDArray]:
    content = read_bytes(path)
    # np.load, zipfile and zlib raise a dozen unrelated types on bad bytes: all mean one thing here
    try:
        archive = np.load(BytesIO(content), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise fault(path, "one bare array, not an archive of X and y", AS_WRITTEN)
        for name in wanted:
            if name not in archive.files:
                raise _absent(path, name, archive.files)
        return {name: np.asarray(archive[name]) for name in wanted}
    except DataError:
        raise
    except Exception as error:
        reason = f"can't be read as an .npz archive of plain arrays ({error})"
        raise fault(path, reason, "Copy it again. " + AS_WRITTEN) from None


def _absent(path: Path, name: str, there: list[str]) -> DataError:
    if {"indptr", "indices", "data"} <= set(there):
        reason = "one sparse matrix (scipy.sparse.save_npz), without labels"
        return fault(path, reason, "Save it with its labels: sklearn.datasets.dump_svmlight_file(X, y, path)")
    return fault(path, f"there is no array {name!r}", f"{suggest(name, there)}. {AS_WRITTEN}")


def _features(path: Path, X: NDArray) -> NDArray[np.floating]:
    if X.ndim != 2 or 0 in X.shape:
        reason = f"X has shape {X.shape}"
        raise fault(path, reason, "Make it (rows, features), with at least one of each")
    if X.dtype.kind not in "fiub":
        raise fault(path, f"X holds {X.dtype}, not numbers", "Turn its columns into numbers before saving")
    X = X.astype(_float_type(X.dtype), copy=False)
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        column = int(np.argmin(np.isfinite(X[row])))
        reason = f"X[{row}, {column}] is {X[row, column]}, not a finite number"
        raise fault(path, reason, "Replace it, or leave the row out")
    return X


def _float_type(dtype: np.dtype) -> type[np.floating]:
    """Return float32 for what it holds exactly, bytes of images above all, and float64 for the rest."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


def _labels(path: Path, y: NDArray, n_rows: int) -> NDArray:
    if y.shape != (n_rows,):
        raise fault(path, f"X has {n_rows} rows, but the labels have shape {y.shape}", "Save one label a row")
    if y.dtype.kind in "iub":
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise fault(path, f"label {int(np.argmax(np.isinf(y)))} is infinite", "Use NaN for a row without one")
        return whole_if_possible(y.astype(np.float64))
    if y.dtype.kind == "U":
        return y
    raise fault(path, f"the labels hold {y.dtype}", "Save them as numbers or text")
