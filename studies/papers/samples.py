"""From the name of a set, a split and a seed to the rows that a method sees and the rows that it is
judged on.

A `Sample` is one draw. Everything random about it comes from its seed, and methods that are
compared see the same draw: the seed of a cell determines rows, split and hidden labels, whatever
the method.

    simulated (A1, A2, B1, B2)   {"hidden": share, "n": 500, "variance": ..., "noise": ...}; 1000
                                 test rows
    iris                         {"hidden": share, "train": rows}
    wdbc                         {"hidden": share, "train": rows, "standardize": bool}
    reuters                      {"draw": "random" | "file", "positive": n, "negative": n}, or
                                 {"draw": "example"}
    tutorial                     {}: comes with its split
    psvm's sets                  {"labeled": share, "test": share}
    cs4vm's sets                 {"positive": n, "cost": number or "uniform"}

The CS4VM paper does not say how its sets were prepared; each choice is the one that its own numbers
fit:

    features   min-max to [0, 1] over all rows; Wdbc is first standardized and projected on 14
               principal components
    halves     drawn at random, not by class: the training half has the odd row
    labels     ten of the training half, `positive` of them from class 1: the first ones in random
               order
    cost       of a missed row of class 1, where an accepted row of class 0 costs 1; "uniform":
               drawn from U[0, 1000] for every seed and set
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from semisvm.model_selection import hide, split
from studies.data import NamedSet, find_missing, load
from studies.papers.simulate import simulate

REUTERS = ("reuters-train", "reuters-test", "reuters-induction")
SIMULATED = {"A1": 1, "A2": 2, "B1": 3, "B2": 4}  # the number keeps equal seeds of two sets apart
N_TEST = 1000
UNLABELED = -1
EACH_LABELED = 5  # documents of each class that Reuters starts from
N_LABELED = 10  # of CS4VM's sets
HIGHEST_COST = 1000.0
WDBC_COMPONENTS = 14
# The rows of reuters-train that are the ten labeled documents of SVMlight's example (notes,
# "deterministic runs").
KNOWN_ROWS = (0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999)


@dataclass(frozen=True, eq=False)
class Sample:
    """One draw: training rows with the labels that a method may see (-1: none), their true labels,
    and test rows.

    costs   of a missed row of class 1 and of an accepted row of class 0, where the task is about
            costs
    """

    X: Any
    y: NDArray
    truth: NDArray
    X_test: Any
    y_test: NDArray
    costs: tuple[float, float] | None = None

    @property
    def is_labeled(self) -> NDArray[np.bool_]:
        """Which training rows show their label."""
        return self.y != UNLABELED


def draw_sample(data: str, how: dict[str, Any], seed: int) -> Sample:
    """Draw a sample; data that is not there raises the `DataError` that says how to get it."""
    if data in SIMULATED:
        return _simulated(data, seed, **how)
    if data == "tutorial":
        return _published_split(_load("tutorial"))
    if data == "reuters":
        return _reuters(seed, **how)
    if "cost" in how:
        return _costed(data, seed, **how)
    if data in ("iris", "wdbc"):
        return _bundled(_load(data), seed, **how)
    return _plain(_load(data), seed, **how)


def missing_data(data: str, data_dir: Path | None = None) -> str:
    """Return which file of a set is missing here and how to get it; "" if the set can be drawn
    from.
    """
    if data in SIMULATED:
        return ""
    for name in REUTERS if data == "reuters" else (data,):
        remedy = find_missing(name, data_dir)
        if remedy:
            return f"{name!r} is not in the data folder. {remedy}"
    return ""


@lru_cache(maxsize=8)
def _load(name: str) -> NamedSet:
    return load(name)


def _simulated(
    name: str,
    seed: int,
    hidden: float,
    n: int = 500,
    variance: float | None = None,
    noise: float | None = None,
) -> Sample:
    rng = np.random.default_rng([seed, SIMULATED[name]])
    X, truth = simulate(name, n, rng, variance=variance, noise=noise)
    X_test, y_test = simulate(name, N_TEST, rng, variance=variance, noise=noise)
    return Sample(X, _hide(truth, hidden, rng), truth, X_test, y_test)


def _bundled(
    data: NamedSet, seed: int, hidden: float, train: int, standardize: bool = False
) -> Sample:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    X = np.asarray(data.X, dtype=float)
    if standardize:
        seen = X[order[:train]]
        X = (X - seen.mean(axis=0)) / seen.std(axis=0)
    truth = data.y[order[:train]]
    rest = order[train:]
    return Sample(X[order[:train]], _hide(truth, hidden, rng), truth, X[rest], data.y[rest])


def _hide(truth: NDArray, hidden: float, rng: np.random.Generator) -> NDArray:
    """Hide a share of the labels at random, drawn again until every class shows one."""
    n_labeled = round(len(truth) * (1 - hidden))
    classes = np.unique(truth)
    while True:
        shown = rng.permutation(len(truth))[:n_labeled]
        if len(np.unique(truth[shown])) == len(classes):
            return hide(truth, shown)


def _published_split(data: NamedSet) -> Sample:
    parts = data.split
    assert parts is not None, "a set without a published split"
    train = parts.train
    shown = np.isin(train, parts.labeled)
    return Sample(
        data.X[train],
        hide(data.y[train], shown),
        data.y[train],
        data.X[parts.test],
        data.y[parts.test],
    )


def _plain(data: NamedSet, seed: int, labeled: float, test: float) -> Sample:
    parts = split(data.y, labeled=labeled, test=test, random_state=seed)
    train = parts.train
    shown = hide(data.y, parts.labeled)[train]
    return Sample(data.X[train], shown, data.y[train], data.X[parts.test], data.y[parts.test])


def _costed(name: str, seed: int, positive: int, cost: float | str) -> Sample:
    X, y = _prepared(name)
    drawn = draw_costed(name, y, seed, positive, cost)
    train = drawn.train
    test = drawn.test
    shown = hide(y[train], np.isin(train, drawn.labeled))
    return Sample(X[train], shown, y[train], X[test], y[test], drawn.costs)


def _reuters(seed: int, draw: str, positive: int = 0, negative: int = 0) -> Sample:
    test = _load("reuters-test")
    if draw == "random":
        X, truth, n_labeled = _random_documents(seed, positive, negative)
    else:
        X, truth, n_labeled = _known_documents(draw, positive, negative)
    y = truth.copy()
    y[n_labeled:] = UNLABELED
    return Sample(X, y, truth, test.X, test.y)


def _random_documents(seed: int, positive: int, negative: int) -> tuple[csr_matrix, NDArray, int]:
    """Return five labeled documents per class, and as many unlabeled ones as requested or left."""
    pool = _load("reuters-train")
    order = np.random.default_rng(seed).permutation(len(pool.y))
    of_class = [order[pool.y[order] == label] for label in (1, 0)]
    labeled = np.concatenate([rows[:EACH_LABELED] for rows in of_class])
    rest = [
        rows[EACH_LABELED : EACH_LABELED + n]
        for rows, n in zip(of_class, (positive, negative), strict=True)
    ]
    rows = np.concatenate([labeled, *rest])
    return pool.X[rows], pool.y[rows], len(labeled)


def _known_documents(draw: str, positive: int, negative: int) -> tuple[csr_matrix, NDArray, int]:
    """SVMlight's ten labeled documents, then the first of each class in file order, or the
    test's own.
    """
    known = _load("reuters-induction")
    if draw == "example":
        others = _load("reuters-test")
        rows = np.arange(len(others.y))
    else:
        others = _load("reuters-train")
        fresh = np.setdiff1d(np.arange(len(others.y)), KNOWN_ROWS)
        rows = np.concatenate(
            [fresh[others.y[fresh] == 1][:positive], fresh[others.y[fresh] == 0][:negative]]
        )
    X = vstack([known.X, others.X[np.sort(rows)]], format="csr")
    truth = np.concatenate([known.y, others.y[np.sort(rows)]])
    return csr_matrix(X), truth, len(known.y)


@dataclass(frozen=True, eq=False)
class CostedDraw:
    """One draw: row numbers of the two halves and of the labeled rows, and the two costs."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    labeled: NDArray[np.intp]
    costs: tuple[float, float]


@lru_cache(maxsize=32)
def _prepared(name: str) -> tuple[NDArray[np.float64], NDArray]:
    """Return the rows of a set of CS4VM, scaled, and their classes."""
    data = _load(name)
    X = np.asarray(data.X, dtype=np.float64)
    if name == "wdbc":
        X = principal_components((X - X.mean(axis=0)) / X.std(axis=0), WDBC_COMPONENTS)
    return to_unit_range(X), data.y


def to_unit_range(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return every column moved and scaled to [0, 1]; a constant one becomes 0."""
    low = X.min(axis=0)
    high = X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def principal_components(X: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Return the rows in the coordinates of the first principal components; columns are centered
    already.
    """
    _, _, directions = np.linalg.svd(X, full_matrices=False)
    return X @ directions[:number].T


def draw_costed(name: str, y: NDArray, seed: int, positive: int, cost: float | str) -> CostedDraw:
    """Draw halves, labels and cost; the halves and the labels do not depend on the cost."""
    number = crc32(name.encode())  # keeps equal seeds of two sets apart
    order = np.random.default_rng([seed, number]).permutation(len(y))
    n_train = (len(y) + 1) // 2
    train = order[:n_train]
    of_class = [train[y[train] == 1][:positive], train[y[train] == 0][: N_LABELED - positive]]
    if cost == "uniform":
        cost = np.random.default_rng([seed, number, 1]).uniform(0, HIGHEST_COST)
    return CostedDraw(train, order[n_train:], np.concatenate(of_class), (float(cost), 1.0))
