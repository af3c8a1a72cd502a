"""The methods of the papers by name: the one place where studies of papers call estimators.

A task's parameters go to the estimator as they are, except for these:

    C = "cv"          chosen by the supervised SVM on the labels (`LINEAR_C`), whatever the method
    gamma = "median"  1 / (2 sigma^2) with sigma the median distance between labeled rows, times
                      `gamma_scale`
    a list            chosen by five-fold cross-validation on the labels with the method itself: the
                      labels of a fold are hidden, its rows stay as unlabeled ones. Of equally good
                      settings the first is taken, so lists go from the simplest value up.
    costs_on          "labeled": the task's costs are those of labeled rows alone

Several classes are taken two by two, as LIBSVM and R's e1071 do, because the papers' own programs
did.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.feature_selection import f_classif
from sklearn.metrics import pairwise_distances_argmin, precision_recall_curve
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import semisvm
from semisvm import SupervisedSVC
from studies.papers.samples import UNLABELED, Sample

LINEAR_C = [0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 10.0]
N_FOLDS = 5


class ThresholdedSupervised:
    """What a method that uses unlabeled rows has to beat: the SVM of all labels, with the threshold
    at which the out-of-fold scores of the labeled rows have the best F1. Classes are 0 and 1.
    """

    def __init__(self, seed: int, **params: Any) -> None:
        self.seed, self.params = seed, params

    def fit(self, X: Any, y: NDArray) -> ThresholdedSupervised:
        """Fit on the labeled rows, then once per fold."""
        X, y = X[y != UNLABELED], y[y != UNLABELED]
        self.svm_ = SupervisedSVC(**self.params).fit(X, y)
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=self.seed)
        svm = SupervisedSVC(**self.params)
        scores = cross_val_predict(svm, X, y, cv=folds, method="decision_function")
        precision, recall, thresholds = precision_recall_curve(y, scores)
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        best = int(np.argmax(f1[:-1]))
        below = scores[scores < thresholds[best]].max(initial=-np.inf)
        self.threshold_ = (thresholds[best] + max(below, thresholds[best] - 1)) / 2
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores minus the threshold."""
        return self.svm_.decision_function(X) - self.threshold_

    def predict(self, X: Any) -> NDArray:
        """Return class 1 above the threshold."""
        return (self.decision_function(X) > 0).astype(np.int64)


class PackageMixture:
    """The "generative model" column of the cluster-SVM paper as its numbers suggest it was computed:
    EM with one Gaussian of diagonal covariance per class whose density lacks the factor 1/prod(sd).
    """

    def fit(self, X: NDArray, y: NDArray) -> PackageMixture:
        """Start from the labeled rows, whose classes stay fixed."""
        is_labeled = y != UNLABELED
        self.classes_ = np.unique(y[is_labeled])
        known = (y[:, None] == self.classes_).astype(float)
        self._maximize(X[is_labeled], known[is_labeled], floor=X[is_labeled].var(axis=0))
        weight = known
        for _ in range(200):
            before, weight = weight, np.where(is_labeled[:, None], known, self.predict_proba(X))
            if np.abs(weight - before).max() < 1e-5:
                break
            self._maximize(X, weight, floor=X.var(axis=0))
        return self

    def _maximize(self, X: NDArray, weight: NDArray, floor: NDArray) -> None:
        total = np.maximum(weight.sum(axis=0), 1e-12)
        self.share_ = total / total.sum()
        self.mean_ = weight.T @ X / total[:, None]
        variance = weight.T @ X**2 / total[:, None] - self.mean_**2
        few = weight.sum(axis=0) < 2  # one row has no variance of its own
        self.variance_ = np.where(few[:, None], floor, variance) + 1e-6

    def predict_proba(self, X: NDArray) -> NDArray:
        """Return the weight of each class, (n, n_classes)."""
        distance = ((X[:, None] - self.mean_) ** 2 / self.variance_).sum(axis=2)
        log_weight = np.log(self.share_) - distance / 2
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    def predict(self, X: NDArray) -> NDArray:
        """Return the class of the largest weight."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class PrintedClusterSVC:
    """cluster-SVM with every choice that its tables need: `ClusterSVC` has the better ones.

    embed        "kernel_pca" (Algorithm 3) or None (Algorithm 2: k-means on the rows themselves)
    components   principal components are taken by their "statistic" F or by their "eigenvalue",
                 of the first `n_components` above `least` of the first
    starts       of k-means; one is a random start, several are k-means++
    empty        the class of a cluster without labels: "random", or that of the "nearest" cluster
    """

    def __init__(
        self,
        n_clusters: int,
        seed: int,
        embed: str | None = None,
        empty: str = "random",
        starts: int = 1,
        components: str = "statistic",
        n_components: int = 30,
        least: float = 1e-4,
        **svm: Any,
    ) -> None:
        self.n_clusters, self.seed, self.svm = n_clusters, seed, svm
        self.embed, self.empty, self.starts = embed, empty, starts
        self.components, self.n_components, self.least = components, n_components, least

    def fit(self, X: NDArray, y: NDArray) -> PrintedClusterSVC:
        """Label the unlabeled rows by their clusters, and train on all rows."""
        rng = np.random.default_rng(self.seed)
        features = X if self.embed is None else self._principal_components(X, y)
        init = "random" if self.starts == 1 else "k-means++"
        k_means = KMeans(self.n_clusters, init=init, n_init=self.starts, random_state=self.seed)
        clusters = k_means.fit_predict(features)
        classes, codes = np.unique(y[y != UNLABELED], return_inverse=True)
        votes = np.zeros((self.n_clusters, len(classes)))
        np.add.at(votes, (clusters[y != UNLABELED], codes), 1)
        is_among = votes == votes.max(axis=1, keepdims=True)
        majority = np.where(is_among, rng.random(votes.shape), -1.0).argmax(axis=1)
        has_votes = votes.any(axis=1)
        if self.empty == "nearest" and not has_votes.all():
            centers = k_means.cluster_centers_
            nearest = pairwise_distances_argmin(centers[~has_votes], centers[has_votes])
            majority[~has_votes] = majority[has_votes][nearest]
        self.transduction_ = np.where(y == UNLABELED, classes[majority[clusters]], y)
        self.svm_ = SupervisedSVC(multi_class="ovo", **self.svm).fit(X, self.transduction_)
        return self

    def _principal_components(self, X: NDArray, y: NDArray) -> NDArray:
        """The components, best first, whose statistics sum to 80% of all."""
        K = rbf_kernel(X, gamma=self.svm["gamma"])
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        values, vectors = np.linalg.eigh(K)
        values, vectors = values[::-1][: self.n_components], vectors[:, ::-1]
        values = values[values > self.least * values[0]]
        scores = vectors[:, : len(values)] * np.sqrt(values)
        is_labeled = y != UNLABELED
        statistic = values
        if self.components == "statistic" and is_labeled.sum() > len(np.unique(y[is_labeled])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of columns that are constant
                statistic = np.nan_to_num(f_classif(scores[is_labeled], y[is_labeled])[0])
        order = np.argsort(-statistic, kind="stable")
        reach = np.cumsum(statistic[order])
        return scores[:, order[: int(np.searchsorted(reach, 0.8 * reach[-1])) + 1]]

    def decision_function(self, X: NDArray) -> NDArray[np.float64]:
        """Return the scores of the SVM."""
        return self.svm_.decision_function(X)

    def predict(self, X: NDArray) -> NDArray:
        """Return the classes of the SVM."""
        return self.svm_.predict(X)


def _svc(name: str) -> Callable[..., Any]:
    """Return a builder for one of the library's classifiers."""

    def build(seed: int, **params: Any) -> Any:
        estimator = getattr(semisvm, name)
        known = inspect.signature(estimator).parameters
        chance = {"random_state": seed} if "random_state" in known else {}
        classes = {"multi_class": "ovo"} if "multi_class" in known else {}
        return estimator(**classes | params | chance)

    return build


BUILD: dict[str, Callable[..., Any]] = {
    "supervised": _svc("SupervisedSVC"),
    "oracle": _svc("SupervisedSVC"),  # which sees every label
    "thresholded": ThresholdedSupervised,
    "self-training": _svc("SelfTrainingSVC"),
    "cluster": PrintedClusterSVC,
    "mixture": _svc("MixtureClassifier"),
    "package mixture": lambda seed: PackageMixture(),
    "transductive": _svc("TransductiveSVC"),
    "progressive": _svc("ProgressiveSVC"),
    "preference": _svc("PaperPreferenceSVC"),
    "label-mean": _svc("LabelMeanSVC"),
    "laplacian": _svc("LaplacianSVC"),
}


def fit_method(name: str, sample: Sample, params: dict[str, Any], seed: int) -> Callable[[], Any]:
    """Choose the parameters that the task leaves open and return the fit, to be called and timed."""
    settled = _settle(name, sample, params, seed)
    y = sample.truth if name == "oracle" else sample.y
    weight = None
    only_labeled = settled.pop("costs_on", "all") == "labeled"
    if sample.costs is not None and only_labeled:
        weight = np.select([y == 1, y == 0], sample.costs, 1.0)
        settled["positive_fraction"] = float(np.mean(y[sample.is_labeled] == 1))
    elif sample.costs is not None:
        settled["costs"] = {1: sample.costs[0], 0: sample.costs[1]}
    return lambda: _fit(name, sample.X, y, settled, seed, weight)


def _fit(
    name: str, X: Any, y: NDArray, params: dict[str, Any], seed: int, weight: NDArray | None = None
) -> Any:
    model = BUILD[name](seed=seed, **params)
    return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)


def _settle(name: str, sample: Sample, params: dict[str, Any], seed: int) -> dict[str, Any]:
    """Replace every parameter that is left to the data by its value."""
    settled = dict(params)
    if settled.get("C") == "cv":
        linear = {"kernel": "linear", "C": LINEAR_C}
        settled["C"] = _settle("supervised", sample, linear, seed)["C"]
    if settled.get("gamma") == "median":
        gamma, scale = _median_gamma(sample), settled.pop("gamma_scale", 1.0)
        settled["gamma"] = [gamma * s for s in scale] if isinstance(scale, list) else gamma * scale
    searched = [key for key in settled if isinstance(settled[key], list)]
    settings = [
        settled | dict(zip(searched, values, strict=True))
        for values in product(*(settled[key] for key in searched))
    ]
    if len(settings) == 1:
        return settings[0]
    y = sample.truth if name == "oracle" else sample.y
    folds = list(_folds(y, seed))

    def accuracy(fold: NDArray[np.intp], setting: dict[str, Any]) -> float:
        hidden = y.copy()
        hidden[fold] = UNLABELED
        model = _fit(name, sample.X, hidden, setting, seed)
        return float(np.mean(model.predict(sample.X[fold]) == y[fold]))

    means = [np.mean([accuracy(fold, setting) for fold in folds]) for setting in settings]
    return settings[int(np.argmax(means))]


def _median_gamma(sample: Sample) -> float:
    """1 / (2 sigma^2), sigma the median distance between labeled rows, or where it is 0 all rows."""
    rows = sample.X[sample.is_labeled]
    sigma = float(np.median(pdist(rows))) if len(rows) > 1 else 0.0
    sigma = sigma or float(np.median(pdist(sample.X))) or 1.0
    return 1 / (2 * sigma**2)


def _folds(y: NDArray, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield folds with the labeled rows of each class in turn, without folds that would leave only
    one class.
    """
    rows = np.random.default_rng([seed, N_FOLDS]).permutation(np.flatnonzero(y != UNLABELED))
    rows = rows[np.argsort(y[rows], kind="stable")]
    for number in range(N_FOLDS):
        fold = rows[number::N_FOLDS]
        if len(fold) and len(np.unique(y[np.setdiff1d(rows, fold)])) > 1:
            yield fold
