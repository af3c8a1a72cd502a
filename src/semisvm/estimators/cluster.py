"""The cluster-SVM method: label the unlabeled rows by their clusters, then train one SVM on all
rows.

    Step 0  features: X itself (the paper's Algorithm 2) or kernel PCA of all rows (its Algorithm
            3), of which the components are kept that separate the labeled classes (see
            `kernels.spectrum`)
    Step 1  clusters: k-means, or any clusterer, on the features of all rows
    Step 2  labels: each cluster takes the majority label of its labeled members (see
            `cluster_labels`)
    Step 3  an SVM of all rows, labeled ones with their own label, the others with their cluster's

Kernel PCA and the SVM share one kernel and its rows. New rows are predicted by the SVM alone.
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from semisvm.dual import Status
from semisvm.estimators.base import BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import MethodFit
from semisvm.estimators.cluster_labels import (
    EMPTY_RULES,
    check_clusterer,
    describe,
    find_clusters,
    label_clusters,
    median_gamma,
    select_components,
)
from semisvm.estimators.equal_rows import arrange_by_content
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.rounds import Labeler
from semisvm.kernels.formula import WITH_GAMMA, Formula
from semisvm.kernels.rows import KernelRows
from semisvm.kernels.spectrum import kernel_pca
from semisvm.sklearn_private import Interval, StrOptions


class ClusterSVC(BaseSVC):
    """Support vector classifier that labels the unlabeled rows by their clusters.

    The proposed method of [1]_: Algorithm 2 with ``embed=None, kernel="linear"``, Algorithm 3 with
    the defaults. On the paper's designs it is 1 to 11 percentage points better than an SVM of the
    labeled rows if the classes are Gaussian clusters, and worse if they are not. C is the most
    important parameter: choose it and `n_clusters` by :class:`sklearn.model_selection.GridSearchCV`
    with ``cv=SemiSupervisedKFold()``.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin.
    n_clusters : int, default=None
        Number of clusters, at most the number of rows. None: 10, or the default of `clusterer`.
    embed : {"kernel_pca", None}, default="kernel_pca"
        What to cluster: the kernel principal components of the rows, or X itself (None).
    clusterer : scikit-learn clusterer, default=None
        Clusterer to use instead of k-means with ten starts. Each row that it calls noise becomes a
        cluster of its own.
    empty : {"nearest", "drop", "random"}, default="nearest"
        How to label a cluster without labeled rows: like the nearest cluster that has some; not at
        all, so that its rows are left out; or at random, as in the paper.
    components : {"statistic", "eigenvalue"}, default="statistic"
        Which principal components to keep: those with the largest Hotelling's T^2 (two classes) or
        F (more) over the labeled rows, or those with the largest eigenvalues.
    share : float, default=0.8
        Components are kept, best first, until their statistics (or eigenvalues) reach this share of
        the sum.
    n_components : int, default=30
        Maximum number of components to choose from.
    least_eigenvalue : float, default=1e-4
        Components with a smaller eigenvalue, relative to the largest, are not considered.
    eigen_solver : {"auto", "truncated", "nystroem", "exact"}, default="auto"
        How to compute the components. "auto": "truncated", which finds the leading components of
        the whole kernel matrix; beyond 4,000 rows "nystroem", with 1,000 landmark rows.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel of both kernel PCA and the SVM, as in :class:`sklearn.svm.SVC`.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"median", "scale", "auto"} or float, default="median"
        "median" is 1 / (2 sigma^2), sigma the median distance between labeled rows; others are as
        in :class:`sklearn.svm.SVC`.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors, which multiply C: {class: cost}, or a matrix of [true class, predicted
        class].
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    multi_class : {"auto", "ovr", "ovo"}, default="auto"
        One-vs-rest or one-vs-one. "auto" is "ovo" for `SupervisedSVC`, `SVCCV`, `SelfTrainingSVC`
        and `ClusterSVC`, "ovr" for the others.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    tol : float, default=1e-3
        Tolerance of the stopping criterion (`gap_`). Below 1e-5, kernels are computed in float64.
        With more than 1,000 rows and a C of 1,000 or more, this may be needed for an accurate gap.
    max_iter : int, default=None
        Maximum number of solver steps for each binary problem, over all its rounds. None: no limit.
    time_limit : float, default=None
        Time limit in seconds, after which the best model so far is kept. None: no limit.
    cache_size : float, default=None
        Size of the kernel cache in MB. None: half of the free memory. A smaller cache is slower.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda" or "cuda:1" needs an NVIDIA GPU and ``semisvm[gpu]``; "auto" uses it for many rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_, n_support_, support_vectors_ : ndarray or sparse matrix
        Support vectors: their indices, their number per class, and the rows themselves.
    dual_coef_, intercept_, coef_ : ndarray or sparse matrix
        Dual coefficients, intercepts and (linear kernel) feature weights of the binary problems.
    gap_ : ndarray of shape (n_problems,)
        The largest violation of the optimality conditions, up to the rounding of kernel values (see
        `tol`); in primal form the relative duality gap.
    transduction_ : ndarray of shape (n_samples,)
        The label of each row: its own, that of its cluster, or the prediction if the cluster has
        none.
    labeled_iter_ : ndarray of shape (n_samples,)
        0 for labels in y, 1 for labels of clusters, -1 for predictions.
    clusters_ : ndarray of shape (n_samples,)
        The cluster of each row, -1 for rows of weight 0.
    cluster_codes_ : ndarray of shape (`n_clusters_`,)
        The index in `classes_` of each cluster's label, -1 if the cluster was left out.
    n_clusters_ : int
        The number of clusters.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    SelfTrainingSVC : Labels the unlabeled rows by its own predictions.
    MixtureClassifier : A Gaussian mixture, better if the classes are Gaussian.

    Notes
    -----
    The first record of `history_` is of the clustering: ``n_clusters``, clusters without labels
    (``n_without_labels``), the share of labeled rows that agree with their cluster (``agreement``)
    and ``n_components``. Then there is one record per binary problem.

    References
    ----------
    .. [1] H. Bae, H. Kim and S. J. Shin, "The use of support vector machines in semi-supervised
       classification", Communications for Statistical Applications and Methods 29, 2022.
       :doi:`10.29220/CSAM.2022.29.2.193`

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from semisvm import ClusterSVC
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
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "embed": [StrOptions({"kernel_pca"}), None],
        "clusterer": "no_validation",
        "empty": [StrOptions(set(EMPTY_RULES))],
        "components": [StrOptions({"statistic", "eigenvalue"})],
        "share": [Interval(Real, 0, 1, closed="right")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "least_eigenvalue": [Interval(Real, 0, 1, closed="left")],
        "eigen_solver": [StrOptions({"auto", "truncated", "nystroem", "exact"})],
        "random_state": ["random_state"],
    }

    n_clusters: int | None
    embed: Literal["kernel_pca"] | None
    clusterer: Any
    empty: Literal["nearest", "drop", "random"]
    components: Literal["statistic", "eigenvalue"]
    share: float
    n_components: int
    least_eigenvalue: float
    eigen_solver: Literal["auto", "truncated", "nystroem", "exact"]
    random_state: int | np.random.RandomState | None

    def __init__(
        self,
        C: float = 1.0,
        *,
        n_clusters: int | None = None,
        embed: Literal["kernel_pca"] | None = "kernel_pca",
        clusterer: Any = None,
        empty: Literal["nearest", "drop", "random"] = "nearest",
        components: Literal["statistic", "eigenvalue"] = "statistic",
        share: float = 0.8,
        n_components: int = 30,
        least_eigenvalue: float = 1e-4,
        eigen_solver: Literal["auto", "truncated", "nystroem", "exact"] = "auto",
        kernel: Kernel = "rbf",
        degree: float = 3,
        gamma: str | float = "median",
        coef0: float = 0.0,
        costs: Any = None,
        class_weight: Any = None,
        multi_class: MultiClass = "auto",
        unlabeled: Any = -1,
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ):
        self._keep(locals())

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        self._check_parameters()
        rows, problem = arrange_by_content(problem.with_auto_scheme("ovo"))
        seed = int(check_random_state(self.random_state).randint(2**31))
        formula = self._formula_of(problem, seed)
        labels = problem.labels
        weight = problem.weight
        with problem.progress.whole_fit("cluster-SVM") as watch:
            kernel = problem.kernel_rows(formula)
            features = self._features(problem, kernel, seed)  # step 0
            clusters = find_clusters(features, weight, self.clusterer, self.n_clusters, seed)
            rng = np.random.default_rng(seed)
            cluster_codes = label_clusters(
                features, clusters, labels.codes, weight, labels.n_classes, self.empty, rng
            )
            codes = np.where(labels.is_labeled, labels.codes, cluster_codes[clusters])
            n_components = None if self.embed is None else features.shape[1]
            facts = describe(clusters, cluster_codes, labels, weight)
            record = watch.record(details=facts | {"n_components": n_components})
            is_stopped = watch.round_done(record)
            labeler = Labeler(problem, kernel, watch)
            box = self.C * weight * problem.costs.price(codes)
            labeler.solve(codes, box, max_iter=0 if is_stopped else None)  # step 3
        if is_stopped:
            labeler.end(Status.STOPPED)
        self.cluster_codes_ = cluster_codes
        self.n_clusters_ = len(cluster_codes)
        rounds = np.where(labels.is_labeled, 0, np.where(codes >= 0, 1, -1))
        fits = labeler.fits([record, *labeler.records()], rounds)
        return MethodFit(fits, formula, labeler.scheme, codes, rows, {"clusters_": clusters})

    def _formula_of(self, problem: TrainingProblem, seed: int) -> Formula:
        """The kernel; gamma="median" is computed from the labeled rows, if the kernel has a
        gamma.
        """
        if self.gamma != "median":
            return problem.formula()
        if self.kernel not in WITH_GAMMA:
            return problem.formula(gamma=1.0)
        rng = np.random.default_rng(seed)
        return problem.formula(gamma=median_gamma(problem.X, problem.labels, problem.weight, rng))

    def _features(self, problem: TrainingProblem, kernel: KernelRows, seed: int) -> Any:
        """The rows on the components that are kept, or X itself."""
        if self.embed is None:
            return problem.X
        weight = problem.weight
        components = kernel_pca(
            kernel,
            n_components=self.n_components,
            least=self.least_eigenvalue,
            solver=self.eigen_solver,
            rng=np.random.default_rng(seed),
            weight=None if (weight == 1).all() else weight,
        )
        kept = select_components(
            components, problem.labels.codes, by=self.components, share=self.share, weight=weight
        )
        return components.scores[:, kept]

    def _check_parameters(self) -> None:
        """Refuse what no fit could use, before any work."""
        if self.kernel == "precomputed" and self.embed is None:
            raise ValueError(
                "embed=None clusters the columns of X, and a precomputed kernel has none: use"
                " embed='kernel_pca'."
            )
        if self.clusterer is not None:
            check_clusterer(self.clusterer, self.n_clusters)
