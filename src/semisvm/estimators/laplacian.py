"""Laplacian SVM (Belkin, Niyogi and Sindhwani 2006): a classifier that is smooth along a graph of
all rows.

    minimize  1/2 |w|^2 + C_intrinsic/2 h' L^p h + C sum_labeled weight_i max(0, 1 - y_i f(x_i))

    f(x) = h(x) + bias,  h(x) = <w, x>,  h the values at all n rows, L the Laplacian of their
                         nearest-neighbor graph

Unlabeled rows take part in L only. The two quadratic terms are one norm, that of the deformed
kernel

    k~(x, z) = k(x, z) - k_x' (I + C_intrinsic L^p K)^-1 C_intrinsic L^p k_z

in which this is the supervised SVM of the labeled rows (`kernels.deformed` says why no inverse
is needed). In the literature's symbols, with l labeled rows of n: C = 1 / (2 gamma_A l) and
C_intrinsic = gamma_I / (gamma_A n^2).

C_intrinsic="auto" tries a few values, and takes the one in whose kernel a least-squares SVM has the
least leave-one-out error, which is known in closed form (`auto.stacking`). Large values shrink the
deformed kernel: it is then scaled to the mean diagonal that the kernel itself has at the labeled
rows, so that C keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from semisvm.dual import Status
from semisvm.errors import UndefinedError
from semisvm.estimators.base import BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import BinaryFit, MethodFit
from semisvm.estimators.equal_rows import EqualRows, arrange_by_content, find_equal_rows
from semisvm.estimators.least_squares import LabeledTarget, fit_least_squares, labeled_target
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.rounds import Labeler
from semisvm.kernels import kernel_rows
from semisvm.kernels.deformed import Deformed, check_time, deform
from semisvm.kernels.formula import Formula
from semisvm.kernels.graphs import (
    LINK_WEIGHTS,
    GraphPenalty,
    graph_penalty,
    link_nearest,
    link_nearest_by_kernel,
    sample_nodes,
)
from semisvm.kernels.rows import KernelRows
from semisvm.memory import budget_bytes
from semisvm.sklearn_private import Interval, StrOptions

# The deformed kernel is made this much more exactly than the SVM on it is solved; float32 rows
# allow no more.
EXACTER_THAN_TOL = 1e-4
FLOAT32_ALLOWS = 1e-6
AUTO_PENALTIES, AUTO_POWERS, AUTO_RIDGE = (10.0, 1e3, 1e4), (2, 1), 0.1  # and no penalty
# Another power is taken if its error is below this share of the error of the first.
CLEARLY_LESS = 2 / 3
TIME_FOR_KERNEL = 3 / 4  # of the time limit: the rest is for the machine
# The penalty is chosen on a graph of at most so many rows, so many of them labeled: the time of
# each try grows with the cube. 1,000 labels choose about as well as 3,000.
MOST_CHOSEN_ON, MOST_LABELED_CHOSEN_ON = 4000, 1000


class LaplacianSVC(BaseSVC):
    """Laplacian support vector classifier (LapSVM): neighbors in a graph of all rows get similar
    scores.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled row on the wrong side of its margin.
    C_intrinsic : float or "auto", default="auto"
        Penalty for differences in score between linked rows, labeled or not. 0 is `SupervisedSVC`.
        "auto" takes the best of 0, 10, 1,000 and 10,000, for a kernel of mean diagonal 1, by
        leave-one-out on at most 1,000 labeled rows in a graph of at most 4,000 rows. The deformed
        kernel is then scaled to the size of the original kernel, so that C keeps its meaning.
    power : int or "auto", default="auto"
        The power of the Laplacian: 1 is the penalty of the original paper; 2 also penalizes
        differences that change quickly along the graph. "auto" is 1; with ``C_intrinsic="auto"`` it
        is 2, or 1 if that lowers the leave-one-out error by a third.
    n_neighbors : int, default=6
        Number of nearest neighbors that each row is linked to. Links are symmetric, and equal rows
        are one node of the graph.
    graph_weights : {"connectivity", "heat"}, default="heat"
        Weight of a link: 1, or exp(-d^2 / (2 s^2)) at distance d, where s is the mean distance of
        linked rows. With ``kernel="precomputed"`` distances are those in feature space.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 W D^-1/2, or D - W, whose size grows with the links and their weights.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; the variance in "scale" is weighted by `sample_weight`.
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
    C_intrinsic_ : float
        The penalty that was used.
    power_ : int
        The power of the Laplacian that was used.
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        Label of each training row, and the round that assigned it: 0 if in y, -1 if predicted.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    SupervisedSVC : The same SVM without the graph; ``C_intrinsic=0``.
    sklearn.semi_supervised.LabelSpreading : Spreads labels along such a graph, without an SVM for
        new rows.

    Notes
    -----
    Unlabeled rows have coefficients too, so the model keeps nearly all rows. If two n by n matrices
    do not fit into `cache_size`, the deformed kernel is computed by conjugate gradients. Computing
    it and choosing the penalty may take three quarters of `time_limit`; then the best penalty so
    far is used, or none.

    The first record in `history_` is for the graph and the deformed kernel: ``nodes``, ``links``,
    ``components``, steps of conjugate gradients (``n_iter``) and their ``residual``. The others are
    for the binary problems.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework
       for learning from labeled and unlabeled examples", Journal of Machine Learning Research 7,
       2006.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LaplacianSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> hidden = y.copy()
    >>> hidden[10:] = -1  # ten labels are left
    >>> model = LaplacianSVC(C=10, gamma=5).fit(X, hidden)
    >>> model.C_intrinsic_, model.score(X, y)
    (10000.0, 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "C_intrinsic": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "power": [Interval(Integral, 1, 4, closed="both"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph_weights": [StrOptions(set(LINK_WEIGHTS))],
        "laplacian": [StrOptions({"normalized", "combinatorial"})],
    }

    C_intrinsic: float | Literal["auto"]
    power: int | Literal["auto"]
    n_neighbors: int
    graph_weights: Literal["connectivity", "heat"]
    laplacian: Literal["normalized", "combinatorial"]

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_intrinsic: float | Literal["auto"] = "auto",
        power: int | Literal["auto"] = "auto",
        n_neighbors: int = 6,
        graph_weights: Literal["connectivity", "heat"] = "heat",
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
        self._keep(locals())

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        rows, problem = arrange_by_content(problem.with_auto_scheme("ovr"))
        formula = problem.formula()
        labeled = problem.select(problem.labels.is_labeled)
        codes = labeled.labels.codes
        with problem.progress.whole_fit("Laplacian SVM") as watch:
            nodes = find_equal_rows(problem.X)
            columns, column = np.unique(nodes.group[problem.labels.is_labeled], return_inverse=True)
            distinct = nodes.merge(problem)
            deadline = problem.limits.share_of_time(TIME_FOR_KERNEL)
            places = columns, column, labeled.weight
            graph = self._make_graph(distinct, formula, deadline, *places)
            found: _Penalized | None = None
            ended_by: Status | None = None
            try:
                for better in self._penalized(graph, distinct, formula, labeled):
                    found = better
            except TimeoutError:
                ended_by = Status.TIME_LIMIT
            except KeyboardInterrupt:
                if found is None:
                    raise
                ended_by = Status.INTERRUPTED
            found = found or graph.penalize(0.0, next(iter(graph.L)))
            self.C_intrinsic_ = found.C_intrinsic
            self.power_ = found.power
            chosen = {"C_intrinsic": found.C_intrinsic, "power": found.power}
            details = graph.facts | {"residual": found.deformed.residual} | chosen
            record = watch.record(n_iter=found.deformed.n_steps, details=details)
            is_stopped = watch.round_done(record)
            K = found.scale * graph.between_labeled(found)
            labeler = Labeler(labeled, kernel_rows(K, Formula("precomputed")), watch)
            box = self.C * labeled.weight * labeled.costs.price(codes)
            labeler.solve(codes, box, max_iter=0 if is_stopped else None)
            if (ended_by := Status.STOPPED if is_stopped else ended_by) is not None:
                labeler.end(ended_by)
        fits = labeler.fits([record, *labeler.records()])
        fits = [_over_all_rows(fit, found, column, nodes, problem.weight) for fit in fits]
        warnings = graph.warnings(found.deformed)
        return MethodFit(fits, formula, labeler.scheme, rows=rows, warnings=warnings)

    def _penalized(
        self, graph: _Graph, distinct: TrainingProblem, formula: Formula, labeled: TrainingProblem
    ) -> Iterator[_Penalized]:
        """Kernels over all nodes, each better than the last; the last is the one to use."""
        if self.C_intrinsic == "auto":
            nodes, columns = sample_nodes(
                distinct.n_rows, graph.columns, MOST_CHOSEN_ON, MOST_LABELED_CHOSEN_ON
            )
            node = graph.columns[graph.column]
            rows = np.flatnonzero(np.isin(node, columns))
            target = labeled_target(labeled.X, labeled.labels, labeled.costs, labeled.weight, rows)
            if len(nodes) == distinct.n_rows:
                yield from _choose(graph, target)
                return
            column = np.searchsorted(columns, node[rows])
            places = np.searchsorted(nodes, columns), column, graph.weight[rows]
            few = self._make_graph(distinct.take(nodes), formula, graph.deadline, *places)
            *_, best = _choose(few, target)
            asked = best.C_intrinsic, best.power, best.size
        else:
            asked = float(self.C_intrinsic), next(iter(graph.L)), None
        yield (found := graph.penalize(*asked))
        if found.deformed.residual > graph.tol:  # then time may have been what was missing
            check_time(graph.deadline)

    def _make_graph(
        self, distinct: TrainingProblem, formula: Formula, deadline: float, *places: np.ndarray
    ) -> _Graph:
        """The graph of the distinct rows; places: the last fields of `_Graph`."""
        link = link_nearest_by_kernel if distinct.kernel.is_precomputed else link_nearest
        links = link(distinct.X, self.n_neighbors, self.graph_weights)
        power = 1 if self.power == "auto" else int(self.power)
        powers = AUTO_POWERS if self.power == self.C_intrinsic == "auto" else (power,)
        is_normalized = self.laplacian == "normalized"
        L = {
            p: graph_penalty(links, distinct.weight, is_normalized=is_normalized, power=p)
            for p in powers
        }
        kernel = distinct.kernel_rows(formula)
        least_tol = FLOAT32_ALLOWS if kernel.dtype == np.float32 else 0.0
        tol = max(EXACTER_THAN_TOL * self.tol, least_tol)
        facts = {
            "nodes": distinct.n_rows,
            "links": links.nnz // 2,
            "components": int(connected_components(links)[0]),
        }
        return _Graph(kernel, L, budget_bytes(self.cache_size), tol, deadline, facts, *places)


@dataclass(frozen=True)
class _Graph:
    """The kernel between the distinct rows, powers of the Laplacian, and facts of the graph.

    columns   (m,) the distinct rows that are labeled
    column    (n_labeled,) which of them each labeled row is; weight, (n_labeled,)
    """

    kernel: KernelRows
    L: dict[int, GraphPenalty]
    budget: int
    tol: float
    deadline: float
    facts: dict[str, Any]
    columns: np.ndarray
    column: np.ndarray
    weight: np.ndarray

    def penalize(self, C_intrinsic: float, power: int, size: float | None = None) -> _Penalized:
        """The kernel with this penalty."""
        limits: dict[str, Any] = {"tol": self.tol, "deadline": self.deadline}
        penalty = C_intrinsic * self.L[power]
        deformed = deform(self.kernel, penalty, self.columns, budget=self.budget, **limits)
        diagonal = deformed.values[self.columns[self.column], self.column]
        own_size = float(np.average(diagonal, weights=self.weight))
        return _Penalized(C_intrinsic, power, deformed, size, own_size)

    def between_labeled(self, found: _Penalized) -> np.ndarray:
        """The deformed kernel between the labeled rows."""
        return found.deformed.between(self.columns)[np.ix_(self.column, self.column)]

    def warnings(self, deformed: Deformed) -> tuple[Warning, ...]:
        """A warning where the deformed kernel is rough."""
        message = (
            f"The deformed kernel is not accurate: its residual is {deformed.residual:.2g}, above"
            f" {self.tol:.2g}. Raise cache_size or time_limit, or lower C_intrinsic."
        )
        return (ConvergenceWarning(message),) if deformed.residual > self.tol else ()


@dataclass(frozen=True)
class _Penalized:
    """A penalty of the graph and its kernel, which `scale` multiplies."""

    C_intrinsic: float
    power: int
    deformed: Deformed
    # That the kernel is scaled to: the mean of its diagonal over the labeled rows.
    size: float | None = None
    own_size: float = 1.0

    @property
    def scale(self) -> float:
        return self.size / self.own_size if self.size and self.own_size > 0 else 1.0


def _choose(graph: _Graph, target: LabeledTarget) -> Iterator[_Penalized]:
    """No penalty of the graph, then penalties and powers of ever lower leave-one-out error."""

    def error_of(found: _Penalized) -> float:
        """Rows counted by weight and price; inf where the kernel can't be used."""
        check_time(graph.deadline, len(graph.column))
        if found.size and (found.deformed.residual > graph.tol or not 0 < found.own_size < np.inf):
            return np.inf
        K = graph.between_labeled(found)
        if not np.isfinite(K).all():
            raise UndefinedError("The deformed kernel is not finite in float64.")
        try:
            left_out = fit_least_squares(
                K, target.Y, target.weight, target.price, ridge=AUTO_RIDGE
            ).left_out
        except np.linalg.LinAlgError:  # a kernel that is no inner product, such as the sigmoid
            return np.inf
        return float(target.count @ ((target.Y - left_out) ** 2).sum(axis=1))

    yield (found := graph.penalize(0.0, next(iter(graph.L))))
    size = found.own_size if found.own_size > 0 else 1.0
    least = error_of(found)
    for power, share in zip(graph.L, (1.0, CLEARLY_LESS), strict=False):
        least *= share
        for value in AUTO_PENALTIES:
            found = graph.penalize(value / size, power, size)
            if (error := error_of(found)) < least:
                least = error
                yield found


def _over_all_rows(
    fit: BinaryFit, found: _Penalized, column: np.ndarray, nodes: EqualRows, weight: np.ndarray
) -> BinaryFit:
    """A fit on labeled rows in the deformed kernel, as one on all rows in the kernel itself."""
    deformed = found.deformed
    beta = found.scale * np.bincount(column, fit.row_beta, minlength=deformed.values.shape[1])
    of_nodes = replace(
        fit, row_beta=deformed.coefficients @ beta, scores=deformed.values @ beta + fit.bias
    )
    return nodes.expand(of_nodes, weight)
