"""The kernel of cluster-SVM, and which of its principal components tell the classes apart.

The paper keeps the components with the largest Hotelling's T^2 (two classes) or F statistic (more)
over the labeled rows, up to 80% of their sum. T^2 of one column is the squared two-sample t
statistic, which is F for two classes: one formula serves both. The width of the Gaussian kernel is
the median distance between labeled rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise_distances

from semisvm.kernels.spectrum import Components, mean_of_rows, weighted_median
from semisvm.labels import Labels

ROWS_FOR_MEDIAN = 1000  # half a million distances settle a median to a fraction of a percent
LEAST_WITHIN = 1e-15  # a variance within classes; rounding leaves less of equal scores


def median_gamma(X: Any, labels: Labels, weight: np.ndarray, rng: np.random.Generator) -> float:
    """1 / (2 sigma^2), sigma the median distance between labeled rows, or else between all."""
    labeled = np.flatnonzero(labels.is_labeled)
    sigma = _median_distance(X, weight, labeled, rng) or _median_distance(
        X, weight, np.arange(X.shape[0]), rng
    )
    return 1 / (2 * sigma**2) if sigma > 0 else 0.5


def _median_distance(
    X: Any, weight: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> float:
    """Median over the pairs of rows that differ, by the products of weights; 0 where none do."""
    if len(rows) > ROWS_FOR_MEDIAN:
        rows = rng.choice(rows, ROWS_FOR_MEDIAN, replace=False)
    left, right = np.triu_indices(len(rows), k=1)
    distances = (
        pdist(X[rows]) if isinstance(X, np.ndarray) else pairwise_distances(X[rows])[left, right]
    )
    # A row that is there twice is the same as a row of weight 2: the distance 0 between copies does
    # not count.
    differ = distances > 1e-9 * distances.max(initial=0)
    if not differ.any():
        return 0.0
    return weighted_median(distances[differ], (weight[rows[left]] * weight[rows[right]])[differ])


def f_statistic(
    scores: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """F of each column over the labeled rows: variance between classes over variance within.

    For two classes it is Hotelling's T^2 of the column. Classes with one row count in the means
    only; all zeros where no column could be tested (as many classes as labeled rows).
    """
    labeled = codes >= 0
    classes, group = np.unique(codes[labeled], return_inverse=True)
    scores = scores[labeled]
    weight = None if weight is None else weight[labeled]
    k = len(classes)
    # Weights below 1 say which rows count for less, not that there are fewer rows than classes.
    n = len(group) if weight is None else max(len(group), weight.sum())
    if n <= k:
        return np.zeros(scores.shape[1])
    members = [group == g for g in range(k)]
    sizes = np.bincount(group, weight)
    means = np.stack(
        [
            mean_of_rows(scores[member], None if weight is None else weight[member])
            for member in members
        ]
    )
    between = sizes @ (means - mean_of_rows(scores, weight)) ** 2 / (k - 1)
    squares = (scores - means[group]) ** 2
    within = (squares if weight is None else weight[:, None] * squares).sum(axis=0) / (n - k)
    return between / np.maximum(within, LEAST_WITHIN)


def select_components(
    components: Components,
    codes: np.ndarray,
    *,
    by: str,
    share: float,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Columns, best first: the fewest whose statistics (eigenvalues) sum to `share` of all."""
    worth = (
        f_statistic(components.scores, codes, weight)
        if by == "statistic"
        else components.eigenvalues
    )
    if not worth.any():
        worth = components.eigenvalues
    order = np.argsort(-worth, kind="stable")
    reach = np.cumsum(worth[order])
    n_kept = int(np.searchsorted(reach, share * reach[-1])) + 1
    return order[:n_kept]
