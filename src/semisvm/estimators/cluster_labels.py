"""From clusters to labels: each cluster takes the majority label of its labelled members (Eq. 3.1 of the paper).

    clusters  (n,)  the cluster of each row, 0 to k - 1, or -1 for a row that a clusterer left outside (noise)
    codes     (n,)  the class of each labelled row, -1 for the others
    votes     (k, n_classes)  weight of the labelled rows of each class in each cluster

Equal votes are settled at random, as in the paper. A cluster without a labelled row is a tie of all classes, and the
paper's rule would label it at random, which ruins the method once there are many clusters; so there are three rules:

    "nearest"   the label of the nearest cluster that has one
    "drop"      its rows stay unlabelled and take no part
    "random"    the paper's
"""

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

EMPTY_RULES = ("nearest", "drop", "random")


def label_clusters(features, clusters, codes, weight, n_classes: int, empty: str, rng) -> np.ndarray:
    """The class of each cluster, shape (k,); -1 for a cluster whose rows are left out."""
    votes = count_votes(clusters, codes, weight, n_classes)
    has_votes = votes.any(axis=1)
    if not has_votes.any():
        raise ValueError("No cluster holds a labelled row: the clusterer left every labelled row outside.")
    majority = _argmax_at_random(votes, rng)
    if empty == "drop":
        return np.where(has_votes, majority, -1)
    if empty == "nearest" and not has_votes.all():
        centres = cluster_centres(features, clusters, len(votes))
        nearest = pairwise_distances_argmin(centres[~has_votes], centres[has_votes])
        majority[~has_votes] = majority[has_votes][nearest]
    return majority


def settle_noise(clusters) -> np.ndarray:
    """Rows that a clusterer calls noise (-1) become clusters of one row, for which the rules above then hold."""
    clusters = np.maximum(clusters, -1)
    clusters = np.unique(clusters, return_inverse=True)[1].ravel() - int((clusters < 0).any())
    noise = np.flatnonzero(clusters < 0)
    clusters[noise] = clusters.max() + 1 + np.arange(len(noise))
    return clusters


def count_votes(clusters, codes, weight, n_classes: int) -> np.ndarray:
    """Weight of the labelled rows of each class in each cluster, shape (k, n_classes)."""
    votes = np.zeros((clusters.max() + 1, n_classes))
    labeled = codes >= 0
    np.add.at(votes, (clusters[labeled], codes[labeled]), weight[labeled])
    return votes


def cluster_centres(features, clusters, n_clusters: int):
    """Means of the clusters' rows, shape (k, q), dense or sparse as the features are."""
    n = len(clusters)
    member = sparse.csr_array((np.ones(n), (clusters, np.arange(n))), shape=(n_clusters, n))
    sizes = np.maximum(member.sum(axis=1), 1)
    return sparse.diags_array(1 / sizes) @ member @ features


def _argmax_at_random(votes, rng) -> np.ndarray:
    """The class with most votes in each row; among equals (up to the rounding of weights) one at random."""
    most = votes.max(axis=1, keepdims=True)
    is_among = votes >= most * (1 - 1e-12)
    return np.where(is_among, rng.random(votes.shape), -1.0).argmax(axis=1)
