"""Clusters, and labels from them: each takes the majority label of its labeled members (Eq. 3.1 of the paper).

    clusters  (n,)  the cluster of each row, 0 to k - 1, or -1 for a row that a clusterer left outside (noise)
    codes     (n,)  the class of each labeled row, -1 for the others
    votes     (k, n_classes)  weight of the labeled rows of each class in each cluster

Equal votes are settled at random, as in the paper. A cluster without a labeled row is a tie of all classes, and the
paper's rule would label it at random, which ruins the method once there are many clusters; so there are three rules:

    "nearest"   the label of the nearest cluster that has one
    "drop"      its rows stay unlabeled and take no part
    "random"    the paper's
"""

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from semisvm.estimators.embed import kernel_pca, select_components
from semisvm.kernels import KernelRows
from semisvm.labels import Labels

EMPTY_RULES = ("nearest", "drop", "random")
DEFAULT_N_CLUSTERS = 10
N_INIT = 10
ROWS_FOR_ONE_THREAD = 20_000  # up to here kernel PCA and k-means take a second or less on one thread


def label_clusters(features, clusters, codes, weight, n_classes: int, empty: str, rng) -> np.ndarray:
    """The class of each cluster, shape (k,); -1 for a cluster whose rows are left out."""
    votes = count_votes(clusters, codes, weight, n_classes)
    has_votes = votes.any(axis=1)
    if not has_votes.any():
        raise ValueError("No cluster holds a labeled row: the clusterer left every labeled row outside.")
    majority = _argmax_at_random(votes, rng)
    if empty == "drop":
        return np.where(has_votes, majority, -1)
    if empty == "nearest" and not has_votes.all():
        centers = cluster_centers(features, clusters, len(votes))
        nearest = pairwise_distances_argmin(centers[~has_votes], centers[has_votes])
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
    """Weight of the labeled rows of each class in each cluster, shape (k, n_classes)."""
    votes = np.zeros((clusters.max() + 1, n_classes))
    labeled = codes >= 0
    np.add.at(votes, (clusters[labeled], codes[labeled]), weight[labeled])
    return votes


def cluster_centers(features, clusters, n_clusters: int):
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


class ClusterLabeler:
    """Steps 0 to 2 of the method: features, clusters, labels; each made once for what it depends on.

    Of a ClusterSVC it reads the parameters that say how. After `label`, `clusters` and `cluster_codes` are those of
    the last labeling.
    """

    def __init__(self, estimator, X, kernel: KernelRows, labels: Labels, weight, seed: int):
        self.how, self.X, self.kernel = estimator, X, kernel
        self.labels, self.weight, self.seed = labels, weight, seed
        self._found: dict[tuple[Any, ...], np.ndarray] = {}
        self.components = None
        if estimator.embed == "kernel_pca":
            with _few_threads(X.shape[0]):
                self.components = kernel_pca(
                    kernel,
                    n_components=estimator.n_components,
                    least=estimator.least_eigenvalue,
                    solver=estimator.eigen_solver,
                    rng=np.random.default_rng(seed),
                )

    def label(self, codes, n_clusters: int | None) -> np.ndarray:
        """A class for every row from the labels in `codes`: their own, or their cluster's, or -1 (left out)."""
        kept, features = self._features(codes)
        if (kept, n_clusters) not in self._found:
            with _few_threads(features.shape[0]):
                self._found[kept, n_clusters] = self._cluster(features, n_clusters)
        self.kept, self.clusters = kept, self._found[kept, n_clusters]
        self.cluster_codes = label_clusters(
            features, self.clusters, codes, self.weight, self.labels.n_classes, self.how.empty,
            np.random.default_rng(self.seed),
        )  # fmt: skip
        return np.where(codes >= 0, codes, self.cluster_codes[self.clusters])

    def describe(self) -> dict[str, Any]:
        """A record of the last labeling; `agreement` is the share of labeled rows that have their cluster's label."""
        codes, labeled = self.labels.codes, self.labels.is_labeled
        votes = count_votes(self.clusters, codes, self.weight, self.labels.n_classes)
        return {
            "n_clusters": len(votes),
            "n_without_labels": int((~votes.any(axis=1)).sum()),
            "agreement": float((self.cluster_codes[self.clusters] == codes)[labeled].mean()),
            "n_components": None if self.components is None else len(self.kept),
        }

    def _features(self, codes) -> tuple[tuple[int, ...], Any]:
        """Step 0: which components are kept, and the rows on them; X itself where nothing is embedded."""
        if self.components is None:
            return (), self.X
        kept = select_components(self.components, codes, by=self.how.components, share=self.how.share)
        return tuple(kept.tolist()), self.components.scores[:, kept]

    def _cluster(self, features, n_clusters: int | None) -> np.ndarray:
        """Step 1: the cluster of each row."""
        n_rows, seed = features.shape[0], self.seed
        if self.how.clusterer is not None:
            return settle_noise(prepare(self.how.clusterer, n_clusters, n_rows, seed).fit_predict(features))
        k = min(n_clusters or DEFAULT_N_CLUSTERS, n_rows)
        with warnings.catch_warnings():
            # Fewer distinct rows than clusters: the clusters that stay empty do no harm.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return settle_noise(KMeans(k, n_init=N_INIT, random_state=seed).fit_predict(features))


def _few_threads(n_rows: int):
    """One thread for few rows: on a busy machine tiny parallel loops wait for each other longer than they work."""
    return ThreadpoolController().limit(limits=1) if n_rows <= ROWS_FOR_ONE_THREAD else nullcontext()


def check_clusterer(clusterer, n_clusters) -> None:
    """Refuse what is no clusterer, and a number of clusters for one that finds it by itself."""
    if not (hasattr(clusterer, "fit_predict") and hasattr(clusterer, "get_params")):
        raise ValueError(f"clusterer must be a scikit-learn clusterer with fit_predict, got {clusterer!r}.")
    if n_clusters is not None and "n_clusters" not in clusterer.get_params():
        raise ValueError(
            f"{type(clusterer).__name__} has no parameter n_clusters to set to {n_clusters!r}: use n_clusters=None."
        )


def prepare(clusterer, n_clusters: int | None, n_rows: int, seed: int):
    """A clone of the user's clusterer, with our number of clusters, and our seed where it has none of its own."""
    clusterer = clone(clusterer)
    parameters = clusterer.get_params()
    if n_clusters is not None:
        clusterer.set_params(n_clusters=min(n_clusters, n_rows))
    if "random_state" in parameters and parameters["random_state"] is None:
        clusterer.set_params(random_state=seed)
    return clusterer
