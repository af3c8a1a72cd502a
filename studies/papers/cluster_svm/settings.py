"""The tasks of cluster-SVM: which parameters give which column, as printed and as they reproduce.

The paper says little about its parameters. Those below were found by search afterward: evidence of
what its authors did, not proof. `hidden` is its alpha, the share of hidden labels.
"""

from __future__ import annotations

from typing import Any

from studies.papers.methods import LINEAR_C
from studies.papers.tasks import Task

HIDDEN = (0.80, 0.90, 0.95)
LINEAR = {"kernel": "linear", "C": "cv"}
RBF = {"kernel": "rbf", "gamma": "median", "C": 10.0}
PLAIN = {"kernel": "linear", "C": 1.0}
N_CLASSES = {"A1": 2, "A2": 3, "B1": 2, "B2": 3}
# What reproduces the tables: one random start of k-means, and every component above 1e-8 of the
# first is tested.
ONE_START = {"starts": 1}
ALL_COMPONENTS = {"least_eigenvalue": 1e-8, "n_components": 200, "eigen_solver": "exact"}


def split(hidden: float, **design: Any) -> dict[str, Any]:
    """Return the split of a simulated set; a design parameter that is None is the printed one."""
    return {"hidden": hidden} | {name: value for name, value in design.items() if value is not None}


def linear_cluster(
    k: int | list[int], C: Any = "cv", empty: str = "random", **more: Any
) -> dict[str, Any]:
    """Return the parameters of Algorithm 2: k-means on the rows, then a linear SVM."""
    return (
        {"embed": None, "kernel": "linear", "n_clusters": k, "C": C, "empty": empty}
        | ONE_START
        | more
    )


def kernel_cluster(
    k: int | list[int], C: Any = 1.0, empty: str = "random", **more: Any
) -> dict[str, Any]:
    """Return the parameters of Algorithm 3: kernel PCA, k-means on the chosen components, then
    an RBF SVM.
    """
    how = {
        "embed": "kernel_pca",
        "kernel": "rbf",
        "gamma": "median",
        "n_clusters": k,
        "C": C,
        "empty": empty,
    }
    return how | ONE_START | more


def tuned(name: str) -> dict[str, dict[str, Any]]:
    """Return supervised and proposed parameters searched over the same grid, the proposed method
    over k as well.
    """
    n_classes = N_CLASSES[name]
    if name.startswith("A"):
        clusters = linear_cluster([n_classes, 5, 10], C=LINEAR_C, empty="nearest", starts=3)
        return {"supervised": {"kernel": "linear", "C": LINEAR_C}, "cluster": clusters}
    grid = {"C": [1.0, 10.0, 100.0], "gamma": "median", "gamma_scale": [0.25, 1.0, 4.0]}
    clusters = kernel_cluster([n_classes, 20, 50], empty="nearest", starts=3) | grid
    return {"supervised": {"kernel": "rbf"} | grid, "cluster": clusters}


def simulated(name: str, hidden: float, method: str, params: dict[str, Any], **design: Any) -> Task:
    """Return a task on A1, A2, B1 or B2."""
    return Task(name, method, split(hidden, **design), params)


def iris(train: int, hidden: float, method: str, params: dict[str, Any]) -> Task:
    """Return a task on iris."""
    return Task("iris", method, {"train": train, "hidden": hidden}, params)


def wdbc(method: str, params: dict[str, Any], *, standardize: bool) -> Task:
    """Return a task on WDBC: half of the rows to train on, nine labels in ten hidden."""
    return Task("wdbc", method, {"train": 284, "hidden": 0.9, "standardize": standardize}, params)
