"""Named sets: `load("adult")` gives X and y of a published task.

Four come with scikit-learn. The papers' own sets are read in place from a data folder, which the
environment variable SEMISVM_DATA or the argument `data_dir` names; nothing is downloaded.

In a binary task y is 1 for the positive class and 0 for the rest, since -1 means unlabeled here; the
rows of a set that have no label are -1. Multi-class sets keep their own class numbers.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semisvm.data.dataset import Dataset
from semisvm.data.delimited import read_columns
from semisvm.data.errors import DataError, fault, suggest
from semisvm.data.formats import read
from semisvm.data.libsvm import read_libsvm
from semisvm.data.partition import MARKER, Split
from semisvm.data.registry import REGISTRY, Entry
from semisvm.data.table import open_table

FOLDER_VARIABLE = "SEMISVM_DATA"


def names() -> tuple[str, ...]:
    """Return the names that `load` knows."""
    return tuple(REGISTRY)


def load(name: str, *, data_dir: str | Path | None = None) -> Dataset:
    """Load a named set.

    Parameters
    ----------
    name : str
        One of `names()`.
    data_dir : path, optional
        The folder of the papers' data; by default the environment variable SEMISVM_DATA.

    Returns
    -------
    Dataset
        y is 0 or 1 (1 the positive class) in a binary task, -1 where a row has no label. `split` is the
        published split where the set has one.
    """
    if name not in REGISTRY:
        raise DataError(f"There is no set called {name!r}. {suggest(name, REGISTRY)}.")
    entry = REGISTRY[name]
    if entry.bundled:
        return _from_sklearn(entry)
    path = _locate(entry, data_dir)
    return _from_file(entry, path)


def _from_sklearn(entry: Entry) -> Dataset:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, entry.bundled)()
    y = bunch.target.astype(np.int64)
    features = tuple(str(name) for name in bunch.feature_names)
    return Dataset(entry.name, bunch.data, y, features, "target", source=_source(entry))


def _locate(entry: Entry, data_dir: str | Path | None) -> Path:
    given = data_dir if data_dir is not None else os.environ.get(FOLDER_VARIABLE)
    expected = f"expected there is {entry.file}, from {entry.origin}"
    if not given:
        raise DataError(
            f"{entry.name!r} is read from a data folder, and none is set. "
            f"Set {FOLDER_VARIABLE} to the folder, or pass data_dir; {expected}."
        )
    folder = Path(given).expanduser()
    remedy = f"Set {FOLDER_VARIABLE} (or data_dir) to the data folder; {expected}"
    if not folder.is_dir():
        raise fault(folder, f"no such folder to read {entry.name!r} from", remedy)
    if not (folder / entry.file).is_file():
        raise fault(folder / entry.file, f"no such file to read {entry.name!r} from", remedy)
    return folder / entry.file


def _from_file(entry: Entry, path: Path) -> Dataset:
    raw, published = _read(entry, path)
    if raw.X.shape != (entry.rows, entry.features):
        reason = f"{raw.X.shape[0]} rows x {raw.X.shape[1]} features, but {entry.name!r} has "
        reason += f"{entry.rows} x {entry.features}"
        raise fault(path, reason, f"This is another file of that name; get it from {entry.origin}")
    X = raw.X
    if entry.scale != 1.0:
        X /= X.dtype.type(entry.scale)
    y = _task(entry, raw.y)
    return Dataset(entry.name, X, y, raw.feature_names, raw.target_name, _source(entry), published)


def _read(entry: Entry, path: Path) -> tuple[Dataset, Split | None]:
    if entry.role is not None:
        return _read_with_roles(path, entry.target, entry.role)
    if entry.target is None:
        # the last features of a sparse file may be zero everywhere: the table knows how many there are
        return read_libsvm(path, n_features=entry.features), None
    return read(path, target=entry.target), None


def _read_with_roles(path: Path, target: str | None, role: str) -> tuple[Dataset, Split]:
    """Read a table of which one column, apart from the labels, says which part of the split a row is in."""
    table = open_table(path)
    at = table.position(role)
    parts = np.array([cells[at] for _, cells in table.rows()])
    raw = read_columns(table, target, ignore=[role])
    labeled, unlabeled, test = (np.flatnonzero(parts == part) for part in ("labeled", "unlabeled", "test"))
    return raw, Split(labeled, unlabeled, test)


def _task(entry: Entry, y: NDArray) -> NDArray[np.int64]:
    """Return the labels of the task: 1 for positive ones, 0 for others, -1 for none."""
    if not entry.positive:
        return y.astype(np.int64)
    task = np.isin(y, entry.positive).astype(np.int64)
    if entry.unlabeled is not None:
        task[y == entry.unlabeled] = MARKER
    return task


def _source(entry: Entry) -> str:
    return f"{entry.about}; from {entry.origin}"
