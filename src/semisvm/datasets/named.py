"""Named sets: `load("adult")` gives X and y of a published task.

In a binary task y is 1 for the positive class and 0 for the other one, because -1 means "unlabeled" in this library.
Rows that have no label in the file get -1. Sets of several classes keep their class numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semisvm.datasets.catalog import CATALOG, NamedSet
from semisvm.datasets.dataset import Dataset, NumberedNames
from semisvm.datasets.fetch import find_in_folder, how_to_get, read_set
from semisvm.datasets.splits import MARKER
from semisvm.errors import DataError, suggest


def available() -> tuple[str, ...]:
    """List the named sets.

    Returns
    -------
    names : tuple of str
        The names that `load` and `describe` know.
    """
    return tuple(CATALOG)


def describe(name: str) -> NamedSet:
    """Say what a set is, where to get it and on which terms.

    Parameters
    ----------
    name : str
        One of `available()`.

    Returns
    -------
    description : NamedSet
        Print it to read it; its attributes are for programs.

    Examples
    --------
    >>> print(describe("iris"))
    iris: Iris, 3 species
    Rows x features: 150 x 4
    File: comes with scikit-learn
    Source: scikit-learn, sklearn.datasets.load_iris
    Terms: As scikit-learn's: UCI data, cite UCI.
    """
    if name not in CATALOG:
        raise DataError(f"There is no set called {name!r}. {suggest(name, CATALOG)}.")
    return CATALOG[name]


def load(name: str, data_home: str | Path | None = None, download: bool = False) -> Dataset:
    """Load a named set.

    The file is looked for in the data folder, then among earlier downloads. A file with a wrong checksum is refused.

    Parameters
    ----------
    name : str
        One of `available()`.
    data_home : str or Path, default=None
        The data folder. None: the environment variable SEMISVM_DATA, if it is set.
    download : bool, default=False
        Whether the set may be downloaded if it is not on this machine (needs ``semisvm[datasets]``). `describe` tells
        which sets can be downloaded, and on which terms.

    Returns
    -------
    data : Dataset
        In a binary task y is 0 or 1 (1 is the positive class); -1 where a row has no label. `split` and `splits` are
        the published splits, if there are any.

    Raises
    ------
    DataError
        If the set can't be found, downloaded or read, or is not the recorded one.

    Examples
    --------
    >>> load("wdbc")
    Dataset('wdbc': 569 rows x 30 features, dense float64)
    """
    one = describe(name)
    if not one.file:
        return _load_from_sklearn(one)
    raw = read_set(one, data_home, download=download)
    X = raw.X
    if one.scale != 1.0:
        X /= X.dtype.type(one.scale)
    names, source = NumberedNames(X.shape[1])[:], f"{one.about}; from {one.source}"
    return Dataset(one.name, X, _task(one, raw.y), names, "label", source, raw.split, raw.splits)


def find_missing(name: str, data_home: str | Path | None = None) -> str:
    """Return what to do to have a set on this machine; "" where it is in the data folder or comes with scikit-learn."""
    one = describe(name)
    try:
        is_here = not one.file or find_in_folder(one, data_home) is not None
    except DataError:  # no such folder
        is_here = False
    return "" if is_here else how_to_get(one)


def _load_from_sklearn(one: NamedSet) -> Dataset:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, one.layout)()
    features = tuple(str(name) for name in bunch.feature_names)
    source = f"{one.about}; from {one.source}"
    return Dataset(one.name, bunch.data, bunch.target.astype(np.int64), features, "target", source)


def _task(one: NamedSet, y: NDArray) -> NDArray[np.int64]:
    """Return the labels of the task: 1 for positive ones, 0 for others, -1 for rows without a label."""
    if not one.positive:
        return y
    task = np.isin(y, one.positive).astype(np.int64)
    if one.unlabeled is not None:
        task[y == one.unlabeled] = MARKER
    return task
