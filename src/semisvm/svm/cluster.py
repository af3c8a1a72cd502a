"""The cluster-SVM method: label the unlabeled rows by their clusters, then train one SVM on all
rows.

    0  features: X itself (the paper's Algorithm 2) or kernel PCA of all rows (its Algorithm 3), of
       which the components are kept that separate the labeled classes
    1  clusters: k-means on the features of all rows
    2  labels: each cluster takes the majority label of its labeled members (Eq. 3.1); equal votes
       are settled at random, and a cluster without labels is like the nearest one that has some
    3  an SVM of all rows, labeled ones with their own label, the others with their cluster's

Kernel PCA and the SVM share one kernel and its rows. New rows are predicted by the SVM alone.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.utils import check_random_state

from semisvm.engine import Formula
from semisvm.engine.formula import WITH_GAMMA
from semisvm.engine.kernels.spectrum import Components, kernel_pca, weighted_median
from semisvm.labels import Labels
from semisvm.sklearn_private import Interval, StrOptions

from ._base import BaseSVC
from ._binary import AllPairs, BinaryFit, TrainingSet
from ._estimator import estimator

N_COMPONENTS, LEAST_EIGENVALUE = 30, 1e-4  # at most so many components, none below the first times
SHARE_OF_STATISTICS = 0.8  # components are kept, best first, until they have so much of the sum
LEAST_WITHIN = 1e-15  # a variance within classes; rounding leaves less of equal scores
N_INIT = 10  # starts of k-means
ROWS_FOR_MEDIAN = 1000  # half a million distances settle a median to a fraction of a percent


@estimator
class ClusterSVC(BaseSVC):
    """Support vector classifier that labels the unlabeled rows by their clusters.

    The proposed method of [1]_: Algorithm 2 with ``embed=None, kernel="linear"``, Algorithm 3 with
    the defaults. On the paper's designs it is 1 to 11 percentage points better than an SVM of the
    labeled rows if the classes are Gaussian clusters, and worse if they are not. C is the most
    important parameter: choose it and `n_clusters` by :class:`sklearn.model_selection.GridSearchCV`
    with ``cv=SemiSupervisedSplit(5)``.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin.
    n_clusters : int, default=10
        Number of clusters, at most the number of rows.
    embed : {"kernel_pca", None}, default="kernel_pca"
        What to cluster: those kernel principal components, of the first 30, that differ most
        between the labeled classes by Hotelling's T^2 (two classes) or F; or X itself (None).
    gamma : {"median", "scale", "auto"} or float, default="median"
        "median" is 1 / (2 sigma^2), sigma the median distance between labeled rows; others are as
        in :class:`sklearn.svm.SVC`.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one or one-vs-rest.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.

    Attributes
    ----------
    clusters_ : ndarray of shape (n_samples,)
        The cluster of each row, -1 for rows of weight 0.
    cluster_codes_ : ndarray of shape (n_clusters,)
        The index in `classes_` of each cluster's label.

    See Also
    --------
    SelfTrainingSVC : Labels the unlabeled rows by its own predictions.
    MixtureClassifier : A Gaussian mixture, better if the classes are Gaussian.

    References
    ----------
    .. [1] H. Bae, H. Kim and S. J. Shin, "The use of support vector machines in semi-supervised
       classification", Communications for Statistical Applications and Methods 29, 2022.
       :doi:`10.29220/CSAM.2022.29.2.193`

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> hidden = y.copy()
    >>> hidden[10:] = -1  # ten labels are left
    >>> ClusterSVC(n_clusters=2, random_state=0).fit(X, hidden).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "gamma": [
            StrOptions({"median", "scale", "auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "embed": [StrOptions({"kernel_pca"}), None],
        "random_state": ["random_state"],
    }

    n_clusters: int = 10
    embed: Literal["kernel_pca"] | None = "kernel_pca"
    gamma: str | float = "median"
    multi_class: Literal["ovr", "ovo"] = "ovo"
    random_state: int | np.random.RandomState | None = None

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        seed = int(check_random_state(self.random_state).randint(2**31))
        features = self._features(data, seed)  # 0
        k_means = KMeans(min(self.n_clusters, data.n_rows), n_init=N_INIT, random_state=seed)
        clusters = k_means.fit_predict(features, sample_weight=data.weight)  # 1
        clusters = np.unique(clusters, return_inverse=True)[1]
        votes = count_votes(clusters, data.labels, data.weight)
        rng = np.random.default_rng(seed)
        of_cluster = label_clusters(features, clusters, votes, data.weight, rng)  # 2
        codes = np.where(data.labels.is_labeled, data.labels.codes, of_cluster[clusters])
        svms = AllPairs(data)
        svms.train(codes, self.C)  # 3
        svms.done(n_clusters=len(votes), n_without_labels=int((~votes.any(axis=1)).sum()))
        self.clusters_ = data.spread(clusters, blank=-1)
        self.cluster_codes_ = of_cluster
        return svms.fits(codes)

    def _formula_of(self, X: Any, labels: Labels, weight: np.ndarray, **parameters: Any) -> Formula:
        if self.gamma == "median":
            has_gamma = self.kernel in WITH_GAMMA
            parameters["gamma"] = median_gamma(X, labels, weight) if has_gamma else 1.0
        return super()._formula_of(X, labels, weight, **parameters)

    def _features(self, data: TrainingSet, seed: int) -> Any:
        """The rows on the components that are kept, or X itself."""
        if self.embed is None and self.kernel == "precomputed":
            raise ValueError("embed=None clusters the columns of X, and a kernel matrix has none.")
        if self.embed is None:
            return data.X
        components = kernel_pca(
            data.rows,
            n_components=N_COMPONENTS,
            least=LEAST_EIGENVALUE,
            rng=np.random.default_rng(seed),
            weight=None if (data.weight == 1).all() else data.weight,
        )
        return components.scores[:, separating_components(components, data.labels, data.weight)]


def median_gamma(X: Any, labels: Labels, weight: np.ndarray) -> float:
    """1 / (2 sigma^2), sigma the median distance between labeled rows, or else between all."""
    rows = np.flatnonzero(labels.is_labeled)
    sigma = _median_distance(X, weight, rows) or _median_distance(X, weight, np.arange(len(weight)))
    return 1 / (2 * sigma**2) if sigma > 0 else 0.5


def _median_distance(X: Any, weight: np.ndarray, rows: np.ndarray) -> float:
    """Median over the pairs of rows that differ, by the products of weights; 0 where none do."""
    if len(rows) > ROWS_FOR_MEDIAN:
        rows = np.random.default_rng(0).choice(rows, ROWS_FOR_MEDIAN, replace=False)
    left, right = np.triu_indices(len(rows), k=1)
    is_dense = isinstance(X, np.ndarray)
    distances = pdist(X[rows]) if is_dense else pairwise_distances(X[rows])[left, right]
    differ = distances > 1e-9 * distances.max(initial=0)
    if not differ.any():
        return 0.0
    return weighted_median(distances[differ], (weight[rows[left]] * weight[rows[right]])[differ])


def separating_components(components: Components, labels: Labels, weight: np.ndarray) -> np.ndarray:
    """Columns, best first: the fewest whose statistics sum to the share of all that is kept."""
    worth = f_statistic(components.scores, labels.codes, weight)
    if not worth.any():  # as many classes as labeled rows
        worth = components.eigenvalues
    order = np.argsort(-worth, kind="stable")
    reach = np.cumsum(worth[order])
    return order[: int(np.searchsorted(reach, SHARE_OF_STATISTICS * reach[-1])) + 1]


def f_statistic(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """F of each column over the labeled rows: variance between classes over variance within.

    For two classes it is Hotelling's T^2 of the column. Classes with one row count in the means
    only; all zeros where no column could be tested.
    """
    labeled = codes >= 0
    classes, group = np.unique(codes[labeled], return_inverse=True)
    scores, weight, k = scores[labeled], weight[labeled], len(classes)
    n = max(len(group), weight.sum())  # weights below 1 do not mean that there are fewer rows
    if n <= k:
        return np.zeros(scores.shape[1])
    sizes = np.bincount(group, weight)
    means = (weight * (group == np.arange(k)[:, None])) @ scores / sizes[:, None]
    between = sizes @ (means - np.average(scores, axis=0, weights=weight)) ** 2 / (k - 1)
    within = weight @ (scores - means[group]) ** 2 / (n - k)
    return between / np.maximum(within, LEAST_WITHIN)


def count_votes(clusters: np.ndarray, labels: Labels, weight: np.ndarray) -> np.ndarray:
    """Weight of the labeled rows of each class in each cluster, (n_clusters, n_classes)."""
    votes = np.zeros((clusters.max() + 1, labels.n_classes))
    labeled = labels.is_labeled
    np.add.at(votes, (clusters[labeled], labels.codes[labeled]), weight[labeled])
    return votes


def label_clusters(
    features: Any,
    clusters: np.ndarray,
    votes: np.ndarray,
    weight: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """The class of each cluster, (n_clusters,)."""
    most = votes.max(axis=1, keepdims=True)
    is_among = votes >= most * (1 - 1e-12)  # equal votes, up to rounding
    majority = np.where(is_among, rng.random(votes.shape), -1.0).argmax(axis=1)
    has_votes = votes.any(axis=1)
    if not has_votes.all():
        member = sparse.csr_array((weight, (clusters, np.arange(len(clusters)))))
        centers = sparse.diags_array(1 / member.sum(axis=1)) @ member @ features
        nearest = pairwise_distances_argmin(centers[~has_votes], centers[has_votes])
        majority[~has_votes] = majority[has_votes][nearest]
    return majority
