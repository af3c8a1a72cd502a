"""The methods on one split. The kernels of `AutoSVC` do not depend on labels: here they are made
once for all splits.

Methods with one kernel take the RBF at the median distance, or for sparse rows the linear kernel of
rows of length 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import semisvm
from semisvm import SupervisedSVC
from semisvm.estimators.auto.geometry import as_rows, median_distance2, squared_distances_between
from semisvm.estimators.auto.library import Coordinates, KernelLibrary, make_library
from semisvm.estimators.auto.members import FamilyTask, KernelFamily, fit_kernels
from semisvm.estimators.auto.stacking import FamilySettings
from semisvm.estimators.least_squares import labeled_target
from semisvm.estimators.problem import Costs
from semisvm.labels import Labels


class KernelsOfSet:
    """The kernels of a set, on which `AutoSVC` with its defaults is fitted for any choice of
    labeled rows.
    """

    def __init__(self, X: Any, codes: np.ndarray, *, is_safe: bool = True):
        self.X, self.codes, self.n_classes = X, codes, int(codes.max()) + 1
        self.weight = np.ones(len(codes))
        self.library: KernelLibrary
        self.at: Coordinates
        self.library, self.node, self.at = make_library(
            X,
            self.weight,
            self.n_classes,
            n_neighbors=(3, 15),
            is_cosine=sparse.issparse(X),
            is_safe=is_safe,
        )

    def fit(self, labeled: np.ndarray) -> KernelFamily:
        """What `AutoSVC` learns from these labels."""
        hidden = np.full(len(self.codes), -1)
        hidden[labeled] = self.codes[labeled]
        labels = Labels(np.arange(self.n_classes), hidden)
        costs = Costs(np.ones(self.n_classes))
        target = labeled_target(self.X, labels, costs, self.weight, np.arange(len(self.codes)))
        task = FamilyTask({}, self.weight, target, FamilySettings(self.n_classes))
        return fit_kernels(self.library, self.at, self.node, "rows", task).family

    def predict(self, labeled: np.ndarray) -> np.ndarray:
        """The class codes that `AutoSVC` gives to all rows."""
        scores = self.fit(labeled).scores_at(self.at)[self.node]
        return scores.argmax(axis=1) if self.n_classes > 2 else (scores[:, 0] > 0).astype(int)

    def predict_by_svm(self, labeled: np.ndarray) -> np.ndarray:
        """The class codes that an SVM on `UnlabeledKernel` gives to all rows."""
        K = self.fit(labeled).kernel(self.at, self.node[labeled])[self.node]
        return (
            SupervisedSVC(C=10, kernel="precomputed")
            .fit(K[labeled], self.codes[labeled])
            .predict(K)
        )


# What each method is told beside the kernel; C=10 is for deformed kernels of the size of the kernel
# itself.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "SupervisedSVC": ("SupervisedSVC", {"C": 100}),
    "MixtureClassifier": ("MixtureClassifier", {}),
    "SelfTrainingSVC": ("SelfTrainingSVC", {"C": 100}),
    "ClusterSVC": ("ClusterSVC", {"C": 100, "random_state": 0}),
    "LaplacianSVC": ("LaplacianSVC", {"C": 10}),
    "LaplacianSVC(power=2)": ("LaplacianSVC", {"C": 10, "power": 2}),
    "LabelMeanSVC": ("LabelMeanSVC", {"C": 100}),
    "TransductiveSVC": ("TransductiveSVC", {"C": 100}),
    "TransductiveSVC(C_unlabeled=C/10)": ("TransductiveSVC", {"C": 100, "C_unlabeled": 10}),
    'TransductiveSVC(algorithm="cccp")': ("TransductiveSVC", {"C": 100, "algorithm": "cccp"}),
    'TransductiveSVC(algorithm="anneal")': ("TransductiveSVC", {"C": 100, "algorithm": "anneal"}),
    'TransductiveSVC(algorithm="anneal", C_unlabeled=C/100)': (
        "TransductiveSVC",
        {"C": 100, "C_unlabeled": 1, "algorithm": "anneal"},
    ),
    "ProgressiveSVC": ("ProgressiveSVC", {"C": 100}),
    "PreferenceSVC": ("PreferenceSVC", {"C": 100, "random_state": 0}),
}
IN_COORDINATES = (
    "MixtureClassifier",
    "ClusterSVC",
    "LabelMeanSVC",
)  # sparse rows are too wide for them
SECONDS = 600.0  # for a fit, far more than any takes on an idle core: what is there then counts


def codes_of_all_rows(method: str, X: Any, codes: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """The class codes that a method of `SETTINGS` gives to all rows."""
    rows = as_rows(X, is_cosine=sparse.issparse(X))
    is_sparse = sparse.issparse(X)
    class_name, told = SETTINGS[method]
    settings: dict[str, Any] = dict(told)
    if class_name != "MixtureClassifier":
        settings["time_limit"] = SECONDS
        if is_sparse:
            settings.setdefault("kernel", "linear")
        else:
            settings["gamma"] = 0.5 / median_distance2(
                squared_distances_between(rows, rows), np.ones(len(rows))
            )
    if is_sparse and class_name in IN_COORDINATES:
        rows = same_products(rows)
    hidden = np.full(len(codes), -1)
    hidden[labeled] = codes[labeled]
    return getattr(semisvm, class_name)(**settings).fit(rows, hidden).transduction_


def same_products(rows: Any) -> np.ndarray:
    """Dense rows, at most as many columns as rows, with the same inner products and distances."""
    values, vectors = np.linalg.eigh((rows @ rows.T).toarray())
    is_real = values > 1e-12 * values[-1]
    return vectors[:, is_real] * np.sqrt(values[is_real])


SECSTR_SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "SupervisedSVC(C=0.1), linear": ("SupervisedSVC", {"C": 0.1}),
    "MixtureClassifier()": ("MixtureClassifier", {}),
    "SelfTrainingSVC(C=0.1), linear": ("SelfTrainingSVC", {"C": 0.1}),
    "TransductiveSVC(C=0.1), linear": ("TransductiveSVC", {"C": 0.1}),
    'TransductiveSVC(C=0.1, algorithm="anneal"), linear': (
        "TransductiveSVC",
        {"C": 0.1, "algorithm": "anneal"},
    ),
    'TransductiveSVC(C=0.1, C_unlabeled=C/100, algorithm="anneal"), linear': (
        "TransductiveSVC",
        {"C": 0.1, "C_unlabeled": 0.001, "algorithm": "anneal"},
    ),
    "LabelMeanSVC(C=0.1), linear": ("LabelMeanSVC", {"C": 0.1}),
    "PreferenceSVC(C=0.1), linear": ("PreferenceSVC", {"C": 0.1, "random_state": 0}),
    "AutoSVC()": ("AutoSVC", {"random_state": 0}),
}


def secstr_codes(method: str, X: Any, codes: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """The class codes of all rows of SecStr by a method of `SECSTR_SETTINGS`."""
    class_name, told = SECSTR_SETTINGS[method]
    hidden = np.full(len(codes), -1)
    hidden[labeled] = codes[labeled]
    if class_name == "AutoSVC":
        return semisvm.AutoSVC(**told).fit(X, hidden).transduction_
    if class_name == "MixtureClassifier":
        return semisvm.MixtureClassifier(**told).fit(X.toarray(), hidden).transduction_
    model = getattr(semisvm, class_name)(**told, kernel="linear", time_limit=SECONDS)
    if class_name == "SupervisedSVC":
        return model.fit(X[labeled], codes[labeled]).predict(X)
    return model.fit(X, hidden).transduction_


def supervised_codes(
    X: Any, codes: np.ndarray, labeled: np.ndarray, median: float | None
) -> np.ndarray:
    """The classes that an SVM of the labeled rows predicts: RBF at the median distance, or
    linear for sparse rows.
    """
    model = (
        SupervisedSVC(C=100, kernel="linear")
        if median is None
        else SupervisedSVC(C=100, gamma=0.5 / median)
    )
    rows = as_rows(X, is_cosine=median is None)
    return model.fit(rows[labeled], codes[labeled]).predict(rows)


def error_on_unlabeled(predicted: np.ndarray, codes: np.ndarray, labeled: np.ndarray) -> float:
    """The error on all rows but the labeled ones, in %."""
    is_test = np.ones(len(codes), dtype=bool)
    is_test[labeled] = False
    return 100 * float(np.mean(predicted[is_test] != codes[is_test]))
