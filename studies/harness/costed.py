"""The sets of CS4VM as its tables have them: scaled, halved, ten labels, and a price for a missed positive.

The paper says none of this; each choice is the one that its own numbers fit.

    features   min-max to [0, 1] over all rows; Wdbc is first standardized and projected on 14 principal components
    halves     drawn at random, not by class: the training half has the odd row
    labels     ten of the training half, `positive` of them from class 1: the first in random order
    cost       of a missed row of class 1, an accepted row of class 0 costing 1; "uniform": from U[0, 1000], anew
               for every seed and set
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from semisvm.datasets import Dataset

N_LABELED = 10
DEAREST = 1000.0
WDBC_COMPONENTS = 14
Rows = tuple[NDArray[np.float64], NDArray]


@dataclass(frozen=True, eq=False)
class CostedDraw:
    """One draw: row numbers of the two halves and of the labeled rows, and the two costs."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    labeled: NDArray[np.intp]
    costs: tuple[float, float]


@lru_cache(maxsize=32)
def prepared(name: str, load: Callable[[str], Dataset]) -> Rows:
    """Return the rows of a set, scaled, and their classes."""
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64)
    if name == "wdbc":
        X = principal_components((X - X.mean(axis=0)) / X.std(axis=0), WDBC_COMPONENTS)
    return to_unit_range(X), data.y


def to_unit_range(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return every column moved and scaled to [0, 1]; a constant one becomes 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def principal_components(X: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Return the rows in the coordinates of the first principal components; columns are centered already."""
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
        cost = np.random.default_rng([seed, number, 1]).uniform(0, DEAREST)
    return CostedDraw(train, order[n_train:], np.concatenate(of_class), (float(cost), 1.0))
