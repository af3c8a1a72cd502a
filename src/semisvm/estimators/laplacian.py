"""Laplacian SVM (Belkin, Niyogi and Sindhwani 2006): a classifier that is smooth along the graph of all the rows.

    minimize  1/2 |w|^2 + C_intrinsic/2 h' L h + C sum_labeled weight_i max(0, 1 - y_i f(x_i))

    f(x) = h(x) + bias,  h(x) = <w, x>,  h the values at all n rows, L the Laplacian of their nearest-neighbor graph

Unlabeled rows take part in L only. The two quadratic terms are one norm, that of the deformed kernel

    k~(x, z) = k(x, z) - k_x' (I + C_intrinsic L K)^-1 C_intrinsic L k_z

in which this is the supervised machine of the labeled rows (`kernels.deformed` says why no inverse is needed). In the
literature's symbols, with l labeled rows of n: C = 1 / (2 gamma_A l) and C_intrinsic = gamma_I / (gamma_A n^2).
"""

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from semisvm.dual import Status
from semisvm.estimators.base import BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import BinaryFit, MethodFit
from semisvm.estimators.equal_rows import EqualRows, arrange_by_content, find_equal_rows
from semisvm.estimators.labeling import Labeler
from semisvm.estimators.neighbor_graph import LINK_WEIGHTS, graph_laplacian, link_nearest, link_nearest_by_kernel
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import RoundRecord
from semisvm.kernels import Formula, kernel_rows
from semisvm.kernels.deformed import Deformed, deform
from semisvm.kernels.resources import budget_bytes
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import Interval, StrOptions

# The deformed kernel is made this much more exactly than the machine on it is solved; float32 rows allow no more.
EXACTER_THAN_TOL = 1e-4
FLOAT32_ALLOWS = 1e-6


@with_shared_docs
class LaplacianSVC(BaseSVC):
    """Laplacian support vector classifier (LapSVM): rows that are near each other along the data get near scores.

    Parameters
    ----------
    C : float, default=1.0
        The price of a labeled row on the wrong side of its margin.
    C_intrinsic : float, default=0.1
        The price of scores that differ between linked rows, labeled or not. 0 is `SupervisedSVC`.
    n_neighbors : int, default=6
        How many nearest rows each row is linked to. A link holds for both rows, whichever asked for it. Equal rows
        are one node of the graph, and a row of weight 2 counts as two rows there too.
    graph_weights : {"connectivity", "heat"}, default="connectivity"
        Every link counts 1, or exp(-d^2 / (2 s^2)) at distance d, s the mean distance of linked rows. With
        ``kernel="precomputed"`` distances are those in feature space.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 W D^-1/2, or D - W, whose size grows with the links and their weights.
    %(kernel_parameters)s
    %(costs)s
    %(class_weight)s
    %(multi_class)s
    %(unlabeled)s
    %(solver_parameters)s
    %(verbose)s

    Attributes
    ----------
    %(classes)s
    %(machine)s
    %(transduction)s
    %(course)s

    See Also
    --------
    SupervisedSVC : The same machine without the graph; ``C_intrinsic=0``.
    sklearn.semi_supervised.LabelSpreading : Labels spread along such a graph, without a machine for new rows.

    Notes
    -----
    Coefficients are those in the kernel itself. Unlabeled rows have them too: the model keeps nearly all rows, and a
    score takes one kernel value per training row.

    `cache_size` bounds the kernel matrix: where two of n^2 numbers do not fit, or would take longer, the columns of the
    deformed kernel come from conjugate gradients, which keep one matrix, or compute its rows again in every step.

    The first record of `history_` is of the graph and the deformed kernel: ``nodes``, ``links``, connected
    ``components``, steps of conjugate gradients (``n_iter``) and the ``residual`` they left, both 0 where the systems
    were solved directly. Then there is one record per binary problem.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework for learning from
       labeled and unlabeled examples", Journal of Machine Learning Research 7, 2006.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "C_intrinsic": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph_weights": [StrOptions(set(LINK_WEIGHTS))],
        "laplacian": [StrOptions({"normalized", "combinatorial"})],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_intrinsic: float = 0.1,
        n_neighbors: int = 6,
        graph_weights: Literal["connectivity", "heat"] = "connectivity",
        laplacian: Literal["normalized", "combinatorial"] = "normalized",
        kernel: Kernel = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
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
        verbose: bool = False,
    ):
        super().__init__(
            C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            costs=costs,
            class_weight=class_weight,
            multi_class=multi_class,
            unlabeled=unlabeled,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            cache_size=cache_size,
            device=device,
            verbose=verbose,
        )
        self.C_intrinsic = C_intrinsic
        self.n_neighbors = n_neighbors
        self.graph_weights = graph_weights
        self.laplacian = laplacian

    def _arranged(self, whole: TrainingProblem, rows: np.ndarray) -> tuple[np.ndarray, TrainingProblem]:
        return arrange_by_content(whole, rows)

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        problem, formula = problem.with_auto_scheme("ovr"), problem.formula()
        is_labeled = problem.labels.is_labeled
        codes, costs = problem.labels.codes[is_labeled], problem.costs.select(is_labeled)
        with problem.progress.whole_fit("Laplacian SVM") as watch:
            began = time.perf_counter()
            nodes = find_equal_rows(problem.X)
            columns, column = np.unique(nodes.group[is_labeled], return_inverse=True)
            deformed, warnings, facts = self._deform(problem, formula, nodes, columns)
            record = RoundRecord(
                watch.name, n_iter=deformed.n_steps, seconds=time.perf_counter() - began, details=facts
            )
            is_stopped = watch.round_done(record)
            K = deformed.between(columns)[np.ix_(column, column)]
            labeler = Labeler(problem, kernel_rows(K, Formula("precomputed")), watch, is_labeled)
            box = self.C * problem.weight[is_labeled] * costs.price(codes)
            labeler.solve(codes, box, max_iter=0 if is_stopped else None)
            if is_stopped:
                labeler.end(Status.STOPPED)
        fits = labeler.fits([record, *labeler.records()], np.where(is_labeled, 0, -1))
        fits = [_over_all_rows(fit, deformed, column, nodes, problem.weight) for fit in fits]
        return MethodFit(fits, formula, labeler.scheme, warnings=warnings)

    def _deform(
        self, problem: TrainingProblem, formula: Formula, nodes: EqualRows, columns: np.ndarray
    ) -> tuple[Deformed, tuple[Warning, ...], dict[str, Any]]:
        """The columns of the deformed kernel between the nodes, a warning where it is rough, and facts to record."""
        distinct = nodes.merge(problem)
        link = link_nearest_by_kernel if problem.kernel.is_precomputed else link_nearest
        links = link(distinct.X, self.n_neighbors, self.graph_weights)
        L = graph_laplacian(links, distinct.weight, is_normalized=self.laplacian == "normalized")
        kernel = distinct.kernel_rows(formula)
        tol = max(EXACTER_THAN_TOL * self.tol, FLOAT32_ALLOWS if kernel.dtype == np.float32 else 0.0)
        deformed = deform(kernel, self.C_intrinsic * L, columns, budget=budget_bytes(self.cache_size), tol=tol)
        is_rough = ConvergenceWarning(
            f"The deformed kernel is known to a residual of {deformed.residual:.2g} where {tol:.2g} was asked: its "
            "systems are too ill-conditioned for the memory there is. Raise cache_size or lower C_intrinsic."
        )
        facts = {
            "nodes": distinct.n_rows,
            "links": links.nnz // 2,
            "components": int(connected_components(links)[0]),
            "residual": deformed.residual,
        }
        return deformed, (is_rough,) if deformed.residual > tol else (), facts


def _over_all_rows(
    fit: BinaryFit, deformed: Deformed, column: np.ndarray, nodes: EqualRows, weight: np.ndarray
) -> BinaryFit:
    """A fit on the labeled rows in the deformed kernel, as a fit on all rows in the kernel itself.

    The coefficient of a node is divided among its rows by their weights.
    """
    beta = np.bincount(column, fit.row_beta, minlength=deformed.values.shape[1])
    share = weight / nodes.total(weight)[nodes.group]
    row_beta = share * (deformed.coefficients @ beta)[nodes.group]
    return replace(fit, row_beta=row_beta, scores=(deformed.values @ beta)[nodes.group] + fit.bias)
