"""The methods of the papers by name: the one place where studies of papers call the library's
estimators.

A task's parameters go to the estimator as they are, except for these:

    C = "cv"          chosen by the supervised SVM on the labels (`LINEAR_C`), whatever the method
    gamma = "median"  1 / (2 sigma^2) with sigma the median distance between labeled rows, times
                      `gamma_scale`
    starts            of k-means; one is a random start, several are k-means++
    a list            chosen by cross-validation on the labels with the method itself (`tuning`)
    costs_on          "labeled": the task's costs are those of labeled rows alone (`sample_cost`);
                      else they are `costs`

Several classes are taken two by two, as LIBSVM and R's e1071 do, because the papers' own programs
did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import semisvm
from studies.papers.baselines import PackageMixture, ThresholdedSupervised
from studies.papers.samples import Sample
from studies.papers.tuning import median_gamma, tune

LINEAR_C = [0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 10.0]
Build = Callable[[dict[str, Any], int], Any]


@dataclass(frozen=True)
class PaperMethod:
    """How to make an unfitted classifier from parameters and a seed; `needs` names its class in
    `estimators`.
    """

    needs: str
    build: Build
    learns_from: str = "y"  # "truth" for an oracle, which sees every label


def missing_method(method: str) -> str:
    """Return why a method can't run in this version; "" if it can."""
    needs = PAPER_METHODS[method].needs
    return "" if not needs or hasattr(semisvm, needs) else f"{needs} is not in this version"


def fit_method(name: str, sample: Sample, params: dict[str, Any], seed: int) -> Callable[[], Any]:
    """Choose the parameters that the task leaves open and return the fit itself, to be called
    and timed.
    """
    method = PAPER_METHODS[name]
    shown = getattr(sample, method.learns_from)
    settled = _settle(name, sample, params, seed)
    priced, row_costs = _price(settled, shown, sample.costs)
    return lambda: _fit(method, sample.X, shown, priced, seed, row_costs)


def _price(
    params: dict[str, Any], y: NDArray, costs: tuple[float, float] | None
) -> tuple[dict[str, Any], NDArray | None]:
    """Put the costs of the task where the method takes them: among its parameters, or into costs
    of rows.
    """
    priced = dict(params)
    only_labeled = priced.pop("costs_on", "all") == "labeled"
    if costs is None:
        return priced, None
    if only_labeled:
        return priced, np.select([y == 1, y == 0], costs, 1.0)
    return priced | {"costs": {1: costs[0], 0: costs[1]}}, None


def _settle(name: str, sample: Sample, params: dict[str, Any], seed: int) -> dict[str, Any]:
    """Replace every parameter that is left to the data by its value."""
    settled = dict(params)
    if settled.get("C") == "cv":
        linear = {"kernel": "linear", "C": LINEAR_C}
        settled["C"] = _settle("supervised", sample, linear, seed)["C"]
    if settled.get("gamma") == "median":
        gamma = median_gamma(sample)
        scale = settled.pop("gamma_scale", 1.0)
        settled["gamma"] = [gamma * s for s in scale] if isinstance(scale, list) else gamma * scale
    method = PAPER_METHODS[name]
    return tune(lambda X, y, chosen: _fit(method, X, y, chosen, seed), sample, settled, seed)


def _fit(
    method: PaperMethod,
    X: Any,
    y: NDArray,
    params: dict[str, Any],
    seed: int,
    row_costs: NDArray | None = None,
) -> Any:
    more = {} if row_costs is None else {"sample_cost": row_costs}
    return method.build(params, seed).fit(X, y, **more)


def _svc(needs: str, *, random: bool = False, pairwise: bool = True) -> Build:
    """Return a builder for one of the library's SVMs."""

    def build(params: dict[str, Any], seed: int) -> Any:
        estimator = getattr(semisvm, needs)
        chance = {"random_state": np.random.RandomState(seed).randint(2**31)} if random else {}
        classes = {"multi_class": "ovo"} if pairwise else {}
        return estimator(**classes | params | chance)

    return build


def _cluster(params: dict[str, Any], seed: int) -> Any:
    settled = dict(params)
    starts = settled.pop("starts", None)
    if starts is not None:
        init = "random" if starts == 1 else "k-means++"
        settled["clusterer"] = KMeans(settled["n_clusters"], init=init, n_init=starts)
    return _svc("ClusterSVC", random=True)(settled, seed)


def _preference(params: dict[str, Any], seed: int) -> Any:
    """PSVM as published: its rounds are a class of their own."""
    from semisvm.estimators.preference.paper import PaperPreferenceSVC

    return PaperPreferenceSVC(**params, random_state=np.random.RandomState(seed).randint(2**31))


def _mixture(params: dict[str, Any], seed: int) -> Any:
    return semisvm.MixtureClassifier(**params)


def _package_mixture(params: dict[str, Any], seed: int) -> Any:
    return PackageMixture(**params)


def _thresholded(params: dict[str, Any], seed: int) -> Any:
    return ThresholdedSupervised(seed, **params)


PAPER_METHODS = {
    "supervised": PaperMethod("SupervisedSVC", _svc("SupervisedSVC")),
    "oracle": PaperMethod("SupervisedSVC", _svc("SupervisedSVC"), learns_from="truth"),
    "thresholded": PaperMethod("SupervisedSVC", _thresholded),
    "self-training": PaperMethod("SelfTrainingSVC", _svc("SelfTrainingSVC")),
    "cluster": PaperMethod("ClusterSVC", _cluster),
    "mixture": PaperMethod("MixtureClassifier", _mixture),
    "package mixture": PaperMethod("", _package_mixture),
    "transductive": PaperMethod("TransductiveSVC", _svc("TransductiveSVC")),
    "progressive": PaperMethod("ProgressiveSVC", _svc("ProgressiveSVC")),
    "preference": PaperMethod("PreferenceSVC", _preference),
    "label-mean": PaperMethod("LabelMeanSVC", _svc("LabelMeanSVC")),
    "laplacian": PaperMethod("LaplacianSVC", _svc("LaplacianSVC")),
}
