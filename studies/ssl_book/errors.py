"""The methods on one split. The kernels of `AutoSVC` do not depend on labels: here they are made once for all splits.

Methods with one kernel take the RBF at the median distance, or for sparse rows the linear kernel of rows of length 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

import semisvm
from semisvm import SupervisedSVC
from semisvm.estimators.auto.average import KernelAverage, fit_average, labeled_target
from semisvm.estimators.auto.geometry import as_rows, median_distance2, squared_distances_between
from semisvm.estimators.auto.library import Coordinates, KernelLibrary, make_library
from semisvm.estimators.costs import Costs
from semisvm.labels import Labels


class KernelsOfSet:
    """The kernels of a set, on which `AutoSVC` with its defaults is fitted for any choice of labeled rows."""

    def __init__(self, X: Any, codes: np.ndarray, *, is_safe: bool = True):
        self.codes, self.n_classes = codes, int(codes.max()) + 1
        self.weight = np.ones(len(codes))
        self.library: KernelLibrary
        self.at: Coordinates
        self.library, self.node, self.at = make_library(
            X, self.weight, self.n_classes, n_neighbors=(3, 15), is_cosine=sparse.issparse(X), is_safe=is_safe
        )

    def fit(self, labeled: np.ndarray) -> KernelAverage:
        """What `AutoSVC` learns from these labels."""
        hidden = np.full(len(self.codes), -1)
        hidden[labeled] = self.codes[labeled]
        labels = Labels(np.arange(self.n_classes), hidden)
        costs = Costs(np.ones(self.n_classes))
        target = labeled_target(labels, costs, self.weight, np.arange(len(self.codes)))
        target = replace(target, labeled=self.node[target.labeled])
        return fit_average(self.library, self.at, target, ridge=0.1, strength=0.5, tell=lambda record: False)[0]

    def predict(self, labeled: np.ndarray) -> np.ndarray:
        """The class codes that `AutoSVC` gives to all rows."""
        scores = self.fit(labeled).scores(self.at)[self.node]
        return scores.argmax(axis=1) if self.n_classes > 2 else (scores[:, 0] > 0).astype(int)

    def predict_by_svm(self, labeled: np.ndarray) -> np.ndarray:
        """The class codes that an SVM on `UnlabeledKernel` gives to all rows."""
        K = self.fit(labeled).kernel(self.at, self.node[labeled])[self.node]
        return SupervisedSVC(C=10, kernel="precomputed").fit(K[labeled], self.codes[labeled]).predict(K)


# What each method is told beside the kernel; C=10 is for deformed kernels of the size of the kernel itself.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "SupervisedSVC": ("SupervisedSVC", {"C": 100}),
    "TransductiveSVC(C_unlabeled=C)": ("TransductiveSVC", {"C": 100, "C_unlabeled": 100}),
    "TransductiveSVC(C_unlabeled=C/10)": ("TransductiveSVC", {"C": 100, "C_unlabeled": 10}),
    "TransductiveSVC, annealed, C_unlabeled=1": (
        "TransductiveSVC",
        {"C": 100, "C_unlabeled": 1, "algorithm": "anneal"},
    ),
    "LaplacianSVC": ("LaplacianSVC", {"C": 10}),
    "LaplacianSVC(power=2)": ("LaplacianSVC", {"C": 10, "power": 2}),
    "ProgressiveSVC": ("ProgressiveSVC", {"C": 100}),
    "SelfTrainingSVC": ("SelfTrainingSVC", {"C": 100}),
    "ClusterSVC": ("ClusterSVC", {"C": 100, "random_state": 0}),
    "LabelMeanSVC": ("LabelMeanSVC", {"C": 100}),
}
SECONDS = 90.0  # for a fit: what is there then counts


def codes_of_all_rows(method: str, X: Any, codes: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """The class codes that a method of `SETTINGS` gives to all rows."""
    rows, is_sparse = as_rows(X, is_cosine=sparse.issparse(X)), sparse.issparse(X)
    kernel: dict[str, Any] = {"kernel": "linear"}
    if not is_sparse:
        kernel = {"gamma": 0.5 / median_distance2(squared_distances_between(rows, rows), np.ones(len(rows)))}
    class_name, told = SETTINGS[method]
    hidden = np.full(len(codes), -1)
    hidden[labeled] = codes[labeled]
    model = getattr(semisvm, class_name)(**kernel, **told, time_limit=SECONDS)
    return model.fit(rows, hidden).transduction_


def secstr_codes(method: str, X: Any, codes: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """The class codes of all rows of SecStr, by `AutoSVC` or a linear SVM of the labeled rows."""
    hidden = np.full(len(codes), -1)
    hidden[labeled] = codes[labeled]
    if method == "AutoSVC()":
        return semisvm.AutoSVC(random_state=0).fit(X, hidden).transduction_
    return SupervisedSVC(C=0.1, kernel="linear").fit(X[labeled], codes[labeled]).predict(X)


def supervised_codes(X: Any, codes: np.ndarray, labeled: np.ndarray, median: float | None) -> np.ndarray:
    """The classes that an SVM of the labeled rows predicts: RBF at the median distance, or linear for sparse rows."""
    model = SupervisedSVC(C=100, kernel="linear") if median is None else SupervisedSVC(C=100, gamma=0.5 / median)
    rows = as_rows(X, is_cosine=median is None)
    return model.fit(rows[labeled], codes[labeled]).predict(rows)


def error_on_unlabeled(predicted: np.ndarray, codes: np.ndarray, labeled: np.ndarray) -> float:
    """The error on all rows but the labeled ones, in %."""
    is_test = np.ones(len(codes), dtype=bool)
    is_test[labeled] = False
    return 100 * float(np.mean(predicted[is_test] != codes[is_test]))
