"""Laplacian SVM (Belkin, Niyogi and Sindhwani 2006): a classifier that is smooth along the graph of all the rows.

    minimize  1/2 |w|^2 + C_intrinsic/2 h' L h + C sum_labeled weight_i max(0, 1 - y_i f(x_i))

    f(x) = h(x) + bias,  h(x) = <w, x>,  h the values at all n rows, L the Laplacian of their nearest-neighbor graph

Unlabeled rows take part in L alone. The two quadratic terms are one norm, that of the deformed kernel

    k~(x, z) = k(x, z) - k_x' (I + C_intrinsic L K)^-1 C_intrinsic L k_z

in which this is the supervised machine of the labeled rows (`kernels.deformed` says how no inverse is needed). In the
literature's symbols, with l labeled rows of n: C = 1 / (2 gamma_A l) and C_intrinsic = gamma_I / (gamma_A n^2).
"""

import time
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from semisvm.dual import Status
from semisvm.estimators.base import BaseSVC
from semisvm.estimators.binary import BinaryFit
from semisvm.estimators.costs import MATRIX, SAMPLE_COST
from semisvm.estimators.labeling import as_fits, limits_of, record_of, solve_labeling
from semisvm.estimators.neighbor_graph import (
    WEIGHTS,
    Nodes,
    find_nodes,
    laplacian,
    link_nearest,
    link_nearest_by_kernel,
)
from semisvm.estimators.watch import Watch
from semisvm.kernels import Formula, kernel_rows
from semisvm.kernels.deformed import Deformed, deform
from semisvm.kernels.resources import budget_bytes
from semisvm.labels import Labels
from semisvm.sklearn_private import Interval, StrOptions

# The deformed kernel is made this much more exactly than the machine on it is solved; float32 rows allow no more.
EXACTER_THAN_TOL = 1e-4
FLOAT32_ALLOWS = 1e-6


class LaplacianSVC(BaseSVC):
    """Laplacian support vector classifier (LapSVM): rows that are near each other along the data get near scores.

    Parameters
    ----------
    C : float, default=1.0
        The price of a labeled row on the wrong side of its margin.
    C_intrinsic : float, default=0.1
        The price of scores that differ between linked rows, labeled or not. 0 is `SupervisedSVC`.
    n_neighbors : int, default=6
        How many nearest rows each row is linked to. A link holds for both rows, whichever asked for it.
    graph_weights : {"connectivity", "heat"}, default="connectivity"
        Every link counts 1, or exp(-d^2 / (2 s^2)) at distance d, s the mean distance of linked rows.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 W D^-1/2, or D - W, whose size grows with the links and their weights.
    kernel, degree, gamma, coef0, costs, class_weight, multi_class, unlabeled, tol, max_iter, time_limit, cache_size, \
device, verbose
        As in `SupervisedSVC`; ``gamma="scale"`` looks at all rows. Costs, class weights and `sample_weight` multiply
        C; a row of weight 2 is two rows in the graph too. With ``kernel="precomputed"`` the nearest rows are those
        at the least distance in feature space. `cache_size` bounds the kernel matrix: where two of n^2 numbers do
        not fit, or would take longer, the columns of the deformed kernel come from conjugate gradients, which keep
        one matrix, or make its rows again in every step.

    Attributes
    ----------
    classes_, n_iter_, termination_condition_, transduction_, labeled_iter_
        As in `SupervisedSVC`.
    support_, support_vectors_, dual_coef_, intercept_
        The machine as coefficients in the kernel itself. Unlabeled rows have them too: the model keeps nearly all
        rows, and a score costs a kernel value for each.
    history_ : a record of the graph and the deformed kernel (nodes, links, connected components, steps of conjugate
        gradients and the residual they left; none where it was solved directly), then one a binary problem.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LaplacianSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> hidden = y.copy()
    >>> hidden[2:] = -1  # one label of each class is left
    >>> LaplacianSVC(C_intrinsic=100, gamma=5).fit(X, hidden).score(X, y)
    1.0
    """

    _honors = frozenset({MATRIX, SAMPLE_COST})
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "C_intrinsic": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph_weights": [StrOptions(set(WEIGHTS))],
        "laplacian": [StrOptions({"normalized", "combinatorial"})],
    }

    def __init__(
        self,
        C=1.0,
        *,
        C_intrinsic=0.1,
        n_neighbors=6,
        graph_weights="connectivity",
        laplacian="normalized",
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        costs=None,
        class_weight=None,
        multi_class="ovr",
        unlabeled=-1,
        tol=1e-3,
        max_iter=None,
        time_limit=None,
        cache_size=None,
        device="auto",
        verbose=False,
    ):
        self.C = C
        self.C_intrinsic = C_intrinsic
        self.n_neighbors = n_neighbors
        self.graph_weights = graph_weights
        self.laplacian = laplacian
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.costs = costs
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.device = device
        self.verbose = verbose

    def _fit_pairs(self, X, labels: Labels, weight) -> list[BinaryFit]:
        root = self._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=self)
        watch = Watch(self, root, "Laplacian SVM")
        began = time.perf_counter()
        nodes = find_nodes(X, weight)
        columns, column = np.unique(nodes.node[labels.is_labeled], return_inverse=True)
        deformed, record = self._deform(X, nodes, columns)
        record["seconds"] = time.perf_counter() - began
        stop = watch.round_done(record)

        is_labeled = labels.is_labeled
        codes, costs = labels.codes[is_labeled], self._costs.select(is_labeled)
        tasks = [task.of_rows(is_labeled) for task in self._tasks(labels)]
        box = self.C * weight[is_labeled] * costs.price(codes)
        K = deformed.between(columns)[np.ix_(column, column)]
        limits = limits_of(self, watch) | ({"max_iter": 0} if stop else {})
        found = solve_labeling(kernel_rows(K, Formula("precomputed")), tasks, codes, box, **limits)
        root.call_on_fit_task_end(estimator=self)

        if stop:
            found = [replace(solution, status=Status.STOPPED) for solution in found]
        history = [record, *(record_of(task.name(labels.classes), s) for task, s in zip(tasks, found, strict=True))]
        fits = as_fits(found, np.where(is_labeled, 0, -1), history, sum(solution.n_iter for solution in found))
        return [_over_all_rows(fit, deformed, column, nodes, weight) for fit in fits]

    def _deform(self, X, nodes: Nodes, columns: np.ndarray) -> tuple[Deformed, dict[str, Any]]:
        """The columns of the deformed kernel between the distinct rows, and what the history says of them."""
        if self.kernel == "precomputed":
            X = X[np.ix_(nodes.first, nodes.first)]
            links = link_nearest_by_kernel(X, self.n_neighbors, self.graph_weights)
        else:
            X = X[nodes.first]
            links = link_nearest(X, self.n_neighbors, self.graph_weights)
        L = laplacian(links, nodes.mass, is_normalized=self.laplacian == "normalized")
        kernel = self._kernel_rows(X)
        tol = max(EXACTER_THAN_TOL * self.tol, FLOAT32_ALLOWS if kernel.dtype == np.float32 else 0.0)
        deformed = deform(kernel, self.C_intrinsic * L, columns, budget=budget_bytes(self.cache_size), tol=tol)
        if deformed.residual > tol:
            warnings.warn(
                f"The deformed kernel is known to a residual of {deformed.residual:.2g} where {tol:.2g} was asked: its "
                "systems are too ill-conditioned for the memory there is. Raise cache_size or lower C_intrinsic.",
                ConvergenceWarning,
                stacklevel=6,
            )
        record = {"nodes": len(nodes.first), "links": links.nnz // 2, "components": connected_components(links)[0]}
        return deformed, record | {"steps": deformed.n_steps, "residual": deformed.residual}


def _over_all_rows(fit: BinaryFit, deformed: Deformed, column, nodes: Nodes, weight) -> BinaryFit:
    """A fit on the labeled rows in the deformed kernel, as one on all rows in the kernel; copies share a node's."""
    beta = np.bincount(column, fit.row_beta, minlength=deformed.values.shape[1])
    share = weight / nodes.mass[nodes.node]
    row_beta = share * (deformed.coefficients @ beta)[nodes.node]
    return replace(fit, row_beta=row_beta, scores=(deformed.values @ beta)[nodes.node] + fit.bias)
