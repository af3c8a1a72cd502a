"""What a fit starts from: which rows the kernels are made from, and what the labeled ones among them say."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from semisvm.estimators.auto.average import LabeledTarget
from semisvm.estimators.costs import Costs
from semisvm.estimators.progress import warn_caller
from semisvm.labels import Labels

SMALLEST_PRICE = 1e-9  # of the largest: a class that is free still has rows


def check_neighbors(n_neighbors: Any) -> tuple[int, ...]:
    """Refuse anything but different positive integers."""
    numbers = tuple(n_neighbors)
    is_number = all(isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in numbers)
    if not (is_number and len(set(numbers)) == len(numbers)):
        raise ValueError(
            f"n_neighbors must hold different integers of at least 1, such as (3, 15), got {n_neighbors!r}: "
            "one graph is made for each."
        )
    return tuple(int(k) for k in numbers)


def choose_rows(labels: Labels, in_use: np.ndarray, max_rows: int, random_state: Any) -> np.ndarray:
    """The rows that kernels are made from, ascending: the labeled ones and a sample of the others."""
    rows = np.flatnonzero(in_use)
    if len(rows) <= max_rows:
        return rows
    rng = check_random_state(random_state)
    is_labeled = labels.is_labeled[rows]
    labeled, others = rng.permutation(rows[is_labeled]), rng.permutation(rows[~is_labeled])
    most = max(max_rows // 2, max_rows - len(others), labels.n_classes)
    if len(labeled) > most:
        first = np.unique(labels.codes[labeled], return_index=True)[1]  # one row of each class, whatever is drawn
        labeled = np.concatenate([labeled[first], np.delete(labeled, first)])
        message = (
            f"AutoSVC learns from a sample of {most} of the {len(labeled)} labeled rows: raise max_rows, at the price "
            "of time and memory, or use SupervisedSVC, which takes them all."
        )
        warn_caller(UserWarning(message))
        labeled = labeled[:most]
    return np.sort(np.concatenate([labeled, others[: max(max_rows - len(labeled), 0)]]))


def labeled_target(
    labels: Labels, costs: Costs, weight: np.ndarray, rows: np.ndarray, node: np.ndarray
) -> LabeledTarget:
    """What the labeled ones of these rows say; `node` holds the rows of the library that they are."""
    is_labeled = labels.is_labeled[rows]
    labeled = rows[is_labeled]
    codes = labels.codes[labeled]
    Y = 2.0 * (codes[:, None] == np.arange(labels.n_classes)) - 1
    price = costs.select(labeled).price(codes)
    price = np.maximum(price, SMALLEST_PRICE * price.max())
    price = price * (weight[labeled].sum() / (weight[labeled] @ price))
    return LabeledTarget(node[is_labeled], Y[:, 1:] if labels.n_classes == 2 else Y, weight[labeled], price)
