"""Clusters, and labels from them.

Rows are clustered on those principal components of the kernel that separate the classes, and each
cluster takes the majority label of its labeled members (Eq. 3.1 of the paper).

    clusters  (n,)  the cluster of each row, 0 to k - 1, or -1 for a row that a clusterer left
              outside (noise)
    codes     (n,)  the class of each labeled row, -1 for the others
    weight    (n,)  how many rows each row counts for, in the clusters and in the votes
    votes     (k, n_classes)  weight of the labeled rows of each class in each cluster

Equal votes are settled at random, as in the paper. A cluster without a labeled row is a tie of all
classes, and a random label ruins the method once there are many clusters: `empty` has other rules.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.utils.validation import has_fit_parameter

from semisvm.estimators.equal_rows import find_equal_rows
from semisvm.kernels.spectrum import Components, weighted_median
from semisvm.kernels.threads import openmp_threads
from semisvm.labels import Labels

EMPTY_RULES = ("nearest", "drop", "random")
DEFAULT_N_CLUSTERS = 10
N_INIT = 10
# Rows from which k-means has threads: fewer take a second or less on one.
ROWS_WORTH_THREADS = 20_000
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
    weight = np.ones(len(group)) if weight is None else weight[labeled]
    k = len(classes)
    # Weights below 1 say which rows count for less, not that there are fewer rows than classes.
    n = max(len(group), weight.sum())
    if n <= k:
        return np.zeros(scores.shape[1])
    sizes = np.bincount(group, weight)
    means = (weight * (group == np.arange(k)[:, None])) @ scores / sizes[:, None]
    between = sizes @ (means - np.average(scores, axis=0, weights=weight)) ** 2 / (k - 1)
    within = weight @ (scores - means[group]) ** 2 / (n - k)
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


def label_clusters(
    features: Any,
    clusters: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    empty: str,
    rng: np.random.Generator,
) -> np.ndarray:
    """The class of each cluster, shape (k,); -1 for a cluster whose rows are left out."""
    votes = count_votes(clusters, codes, weight, n_classes)
    has_votes = votes.any(axis=1)
    if not has_votes.any():
        raise ValueError(
            "No cluster holds a labeled row: the clusterer left every labeled row outside."
        )
    majority = _argmax_at_random(votes, rng, order_of_appearance(codes, n_classes))
    if empty == "drop":
        return np.where(has_votes, majority, -1)
    if empty == "nearest" and not has_votes.all():
        centers = cluster_centers(features, clusters, weight, len(votes))
        nearest = pairwise_distances_argmin(centers[~has_votes], centers[has_votes])
        majority[~has_votes] = majority[has_votes][nearest]
    return majority


def settle_noise(clusters: np.ndarray) -> np.ndarray:
    """Rows that a clusterer calls noise (-1) become clusters of one row."""
    clusters = np.maximum(clusters, -1)
    clusters = np.unique(clusters, return_inverse=True)[1].ravel() - int((clusters < 0).any())
    noise = np.flatnonzero(clusters < 0)
    clusters[noise] = clusters.max() + 1 + np.arange(len(noise))
    return clusters


def count_votes(
    clusters: np.ndarray, codes: np.ndarray, weight: np.ndarray, n_classes: int
) -> np.ndarray:
    """Weight of the labeled rows of each class in each cluster, shape (k, n_classes)."""
    votes = np.zeros((clusters.max() + 1, n_classes))
    labeled = codes >= 0
    np.add.at(votes, (clusters[labeled], codes[labeled]), weight[labeled])
    return votes


def cluster_centers(
    features: Any, clusters: np.ndarray, weight: np.ndarray, n_clusters: int
) -> Any:
    """Means of the clusters' rows, shape (k, q), dense or sparse as the features are."""
    n = len(clusters)
    member = sparse.csr_array((weight, (clusters, np.arange(n))), shape=(n_clusters, n))
    sizes = member.sum(axis=1)
    return sparse.diags_array(1 / np.where(sizes > 0, sizes, 1)) @ member @ features


def order_of_appearance(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """The classes by their first labeled rows: draws in this order do not depend on names."""
    first = np.full(n_classes, len(codes))
    rows = np.flatnonzero(codes >= 0)[::-1]
    first[codes[rows]] = rows
    return np.argsort(first, kind="stable")


def _argmax_at_random(
    votes: np.ndarray, rng: np.random.Generator, classes: np.ndarray
) -> np.ndarray:
    """The class with most votes in each row; among equals, up to rounding, one at random."""
    most = votes.max(axis=1, keepdims=True)
    is_among = (votes >= most * (1 - 1e-12))[:, classes]
    return classes[np.where(is_among, rng.random(votes.shape), -1.0).argmax(axis=1)]


def describe(
    clusters: np.ndarray, cluster_codes: np.ndarray, labels: Labels, weight: np.ndarray
) -> dict[str, Any]:
    """What to record of a clustering; `agreement` is that of labels and clusters."""
    labeled = labels.is_labeled
    votes = count_votes(clusters, labels.codes, weight, labels.n_classes)
    agrees = cluster_codes[clusters] == labels.codes
    return {
        "n_clusters": len(votes),
        "n_without_labels": int((~votes.any(axis=1)).sum()),
        "agreement": float(np.average(agrees[labeled], weights=weight[labeled])),
    }


def find_clusters(
    features: Any, weight: np.ndarray, clusterer: Any, n_clusters: int | None, seed: int
) -> np.ndarray:
    """The cluster of each row, by a clusterer of the user's, or by k-means."""
    n_rows = features.shape[0]
    weights = {} if (weight == 1).all() else {"sample_weight": weight}
    if clusterer is not None:
        clusterer = clone(clusterer)
        if n_clusters is not None:
            clusterer.set_params(n_clusters=min(n_clusters, n_rows))
        if clusterer.get_params().get("random_state", 0) is None:
            clusterer.set_params(random_state=seed)
        if not has_fit_parameter(clusterer, "sample_weight"):
            weights = {}
        return settle_noise(clusterer.fit_predict(features, **weights))
    # More clusters than distinct rows would stay empty, and scikit-learn would warn of them.
    k = _n_distinct(features, min(n_clusters or DEFAULT_N_CLUSTERS, n_rows))
    k_means = KMeans(k, n_init=N_INIT, random_state=seed)
    with openmp_threads(np.inf if n_rows > ROWS_WORTH_THREADS else 0):
        return settle_noise(k_means.fit_predict(features, **weights))


def _n_distinct(features: Any, most: int) -> int:
    """How many distinct rows there are, at most this number; mostly the first few rows decide."""
    n_looked_at = 4 * most
    while True:
        some = features[:n_looked_at]
        if isinstance(some, np.ndarray):  # components of equal rows differ by rounding
            some = np.round(some / (np.abs(some).max() or 1.0), 9)
        n_distinct = len(find_equal_rows(some).first)
        if n_distinct >= most or n_looked_at >= features.shape[0]:
            return min(n_distinct, most)
        n_looked_at *= 4


def check_clusterer(clusterer: Any, n_clusters: Any) -> None:
    """Refuse what is no clusterer, and a number of clusters for one that finds it by itself."""
    if not (hasattr(clusterer, "fit_predict") and hasattr(clusterer, "get_params")):
        raise ValueError(
            f"clusterer must be a scikit-learn clusterer with fit_predict, got {clusterer!r}."
        )
    if n_clusters is not None and "n_clusters" not in clusterer.get_params():
        raise ValueError(
            f"{type(clusterer).__name__} has no parameter n_clusters to set to {n_clusters!r}: use"
            " n_clusters=None."
        )
