"""Laplacian SVM (Belkin, Niyogi and Sindhwani 2006): a classifier that is smooth along a graph of
all rows.

    minimize  1/2 |w|^2 + C_intrinsic/2 h' L^p h + C sum_labeled weight_i max(0, 1 - y_i f(x_i))

    f(x) = h(x) + bias,  h(x) = <w, x>,  h the values at all n rows, L the normalized Laplacian of
                         their nearest-neighbor graph

Unlabeled rows take part in L only. The two quadratic terms are one norm, that of the deformed
kernel

    k~(x, z) = k(x, z) - k_x' (I + C_intrinsic L^p K)^-1 C_intrinsic L^p k_z

in which this is the supervised SVM of the labeled rows (`kernels.deformed` says why no inverse is
needed). In the literature's symbols, with l labeled rows of n: C = 1 / (2 gamma_A l) and
C_intrinsic = gamma_I / (gamma_A n^2).

    1  Link every row with its nearest neighbors; equal rows are one node of the graph.
    2  C_intrinsic="auto" tries a few values, and takes the one in whose kernel a least-squares SVM
       has the least leave-one-out error, which is known in closed form. Large values shrink the
       deformed kernel: it is scaled to the mean diagonal that the kernel itself has at the labeled
       rows, so that C keeps its meaning.
    3  Train the SVM of the labeled rows in the deformed kernel.
    4  Write it as a function of k and all nodes, which has values at new rows too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from semisvm.engine import Formula
from semisvm.engine.kernels.deformed import Deformed, deform, most_nodes
from semisvm.engine.kernels.graphs import (
    GraphPenalty,
    graph_penalty,
    link_nearest,
    link_nearest_by_kernel,
    sample_nodes,
)
from semisvm.engine.kernels.memory import budget_bytes
from semisvm.sklearn_private import Interval, StrOptions

from ._base import BaseSVC
from ._binary import AllPairs, BinaryFit, TrainingSet
from ._copies import distinct_rows, over_copies
from ._estimator import estimator

AUTO_PENALTIES, AUTO_POWERS, AUTO_RIDGE = (10.0, 1e3, 1e4), (2, 1), 0.1  # and no penalty
# The second power is taken if its error is below this share of the error of the first.
CLEARLY_LESS = 2 / 3
SMALLEST_PRICE = 1e-9  # of the largest: a class whose errors cost nothing still has rows
# With fewer labels of some class there is nothing to choose by: a fixed penalty. Of 0 to 10,000, on
# eleven sets with one label per class, it had the best mean accuracy.
FEWEST_LABELS, FIXED_PENALTY = 3, 10.0
# The penalty is chosen on a graph of at most so many rows, so many of them labeled: the time of
# each try grows with the cube.
MOST_CHOSEN_ON, MOST_LABELED_CHOSEN_ON = 4000, 1000


@estimator
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
        leave-one-out on at most 1,000 labeled rows in a graph of at most 4,000 rows, and 10 where a
        class has fewer than three labels. The deformed kernel is then scaled to the size of the
        original kernel, so that C keeps its meaning.
    power : int or "auto", default="auto"
        The power of the Laplacian: 1 is the penalty of the original paper; 2 also penalizes
        differences that change quickly along the graph. "auto" is 1; with ``C_intrinsic="auto"`` it
        is 2, or 1 if that lowers the leave-one-out error by a third.
    n_neighbors : int, default=6
        Number of nearest neighbors that each row is linked to. Links are symmetric, and equal rows
        are one node of the graph. A link at distance d weighs exp(-d^2 / (2 s^2)), where s is the
        mean distance of linked rows; a precomputed kernel has distances of its own.

    Attributes
    ----------
    C_intrinsic_, power_ : float, int
        The penalty and the power that were used.

    See Also
    --------
    SupervisedSVC : The same SVM without the graph; ``C_intrinsic=0``.
    sklearn.semi_supervised.LabelSpreading : Spreads labels along such a graph, without an SVM for
        new rows.

    Notes
    -----
    Unlabeled rows have coefficients too, so the model keeps nearly all rows. If matrices of all
    pairs of rows do not fit into `cache_size`, the graph is one of a random sample of the rows.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework
       for learning from labeled and unlabeled examples", Journal of Machine Learning Research 7,
       2006.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
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
    }

    C_intrinsic: float | Literal["auto"] = "auto"
    power: int | Literal["auto"] = "auto"
    n_neighbors: int = 6

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        labeled = data.take(data.labels.is_labeled)
        nodes = node_of = np.arange(data.n_rows)
        if self.kernel != "precomputed":
            nodes, node_of = distinct_rows(data.X)
        distinct = replace(data.take(nodes), weight=np.bincount(node_of, data.weight))
        node_of_labeled = node_of[data.labels.is_labeled]
        most = most_nodes(budget_bytes(self.cache_size))
        sampled, graph, labeled = self._graph(distinct, node_of_labeled, labeled, most, most)  # 1
        if self.C_intrinsic != "auto":  # 2
            found = graph.penalized(self.C_intrinsic, next(iter(graph.L)))
        elif np.bincount(labeled.labels.codes, labeled.weight).min() < FEWEST_LABELS:
            found = fixed_penalty(graph, labeled)
        else:
            some, few_nodes, few_labeled = self._graph(
                distinct.take(sampled), graph.node, labeled, MOST_CHOSEN_ON, MOST_LABELED_CHOSEN_ON
            )
            found = least_error(few_nodes, few_labeled)
            if len(some) < len(sampled):
                found = graph.penalized(found.C_intrinsic, found.power, found.size, labeled.weight)
        self.C_intrinsic_, self.power_ = float(found.C_intrinsic), found.power
        K = found.scale * graph.between_labeled(found.deformed)
        svms = AllPairs(replace(labeled, X=K, formula=Formula("precomputed")))
        svms.train(labeled.labels.codes, self.C)  # 3
        svms.done(nodes=len(sampled), C_intrinsic=self.C_intrinsic_)
        fits = [graph.over_nodes(fit, found, sampled, distinct.rows) for fit in svms.fits()]  # 4
        return [over_copies(fit, nodes, node_of) for fit in fits]

    def _graph(
        self,
        distinct: TrainingSet,
        node: np.ndarray,
        labeled: TrainingSet,
        most: int,
        most_labeled: int,
    ) -> tuple[np.ndarray, Graph, TrainingSet]:
        """The nodes that are in use, at most so many; their graph; the labeled rows among them.

        node  (l,) which of the distinct rows each labeled row is
        """
        nodes = np.arange(distinct.n_rows)
        if distinct.n_rows > most or len(np.unique(node)) > most_labeled:
            nodes, columns = sample_nodes(distinct.n_rows, np.unique(node), most, most_labeled)
            rows = np.flatnonzero(np.isin(node, columns))
            distinct, labeled = distinct.take(nodes), labeled.take(rows)
            node = np.searchsorted(nodes, node[rows])
        link = link_nearest_by_kernel if self.kernel == "precomputed" else link_nearest
        links = link(distinct.X, self.n_neighbors)
        powers: tuple[int, ...] = (1,) if self.power == "auto" else (self.power,)
        if self.power == self.C_intrinsic == "auto":
            powers = AUTO_POWERS
        L = {p: graph_penalty(links, distinct.weight, power=p) for p in powers}
        columns, column = np.unique(node, return_inverse=True)
        return nodes, Graph(distinct.rows, L, columns, column), labeled


@dataclass(frozen=True)
class Penalized:
    """A penalty and its kernel, which is scaled to a mean diagonal of `size` at labeled rows."""

    C_intrinsic: float
    power: int
    deformed: Deformed
    scale: float = 1.0
    size: float = 1.0


@dataclass(frozen=True)
class Graph:
    """A graph of nodes: the kernel between them, and powers of the Laplacian.

    columns   (m,) the labeled nodes
    column    (l,) which of them each labeled row is
    """

    kernel: Any
    L: dict[int, GraphPenalty]
    columns: np.ndarray
    column: np.ndarray

    @property
    def node(self) -> np.ndarray:
        """(l,) the node of each labeled row."""
        return self.columns[self.column]

    def penalized(
        self,
        C_intrinsic: float,
        power: int,
        size: float | None = None,
        weight: np.ndarray | None = None,
    ) -> Penalized:
        """The columns of the labeled nodes in the deformed kernel, scaled to `size` if given."""
        deformed = deform(self.kernel, C_intrinsic * self.L[power], self.columns)
        if size is None:
            return Penalized(C_intrinsic, power, deformed)
        own = self.size_of(deformed, weight)
        return Penalized(C_intrinsic, power, deformed, size / own if own > 0 else 1.0, size)

    def between_labeled(self, deformed: Deformed) -> np.ndarray:
        """The deformed kernel between the labeled rows, (l, l)."""
        return deformed.between(self.columns)[np.ix_(self.column, self.column)]

    def size_of(self, deformed: Deformed, weight: np.ndarray | None) -> float:
        """The mean of its diagonal over the labeled rows."""
        diagonal = deformed.values[self.node, self.column]
        return float(np.average(diagonal, weights=weight))

    def over_nodes(
        self, fit: BinaryFit, found: Penalized, nodes: np.ndarray, kernel: Any
    ) -> BinaryFit:
        """A fit on the labeled rows in the deformed kernel, as one on all nodes in the kernel, of
        which the graph has these.
        """
        beta = found.scale * np.bincount(self.column, fit.row_beta, minlength=len(self.columns))
        row_beta = np.zeros(kernel.n_rows)
        row_beta[nodes] = found.deformed.coefficients @ beta
        if len(nodes) == kernel.n_rows:
            scores = found.deformed.values @ beta
        else:
            scores = kernel.times(row_beta)
        return replace(fit, row_beta=row_beta, scores=scores + fit.bias)


def without_penalty(graph: Graph, labeled: TrainingSet) -> Penalized:
    """The kernel itself, and the mean of its diagonal, which penalized ones are scaled to."""
    found = graph.penalized(0.0, next(iter(graph.L)))
    size = graph.size_of(found.deformed, labeled.weight)
    return replace(found, size=size if size > 0 else 1.0)


def fixed_penalty(graph: Graph, labeled: TrainingSet) -> Penalized:
    """The penalty of few labels."""
    size = without_penalty(graph, labeled).size
    return graph.penalized(FIXED_PENALTY / size, next(iter(graph.L)), size, labeled.weight)


def least_error(graph: Graph, labeled: TrainingSet) -> Penalized:
    """No penalty, or the penalty and power of least leave-one-out error."""
    best = without_penalty(graph, labeled)
    size = best.size
    least = left_out_error(graph.between_labeled(best.deformed), labeled)
    for power, share in zip(graph.L, (1.0, CLEARLY_LESS), strict=False):
        least *= share
        for value in AUTO_PENALTIES:
            found = graph.penalized(value / size, power, size, labeled.weight)
            if not np.isfinite(found.scale):
                continue
            K = found.scale * graph.between_labeled(found.deformed)
            if (error := left_out_error(K, labeled)) < least:
                least, best = error, found
    return best


def left_out_error(K: np.ndarray, labeled: TrainingSet) -> float:
    """Squared leave-one-out error of a least-squares SVM; inf where K is no inner product."""
    codes = labeled.labels.codes
    Y = 2.0 * (codes[:, None] == np.arange(labeled.labels.n_classes)) - 1
    Y = Y[:, 1:] if labeled.labels.n_classes == 2 else Y
    price = labeled.class_cost[codes]
    price = np.maximum(price, SMALLEST_PRICE * price.max())
    price = price / np.average(price, weights=labeled.weight)
    try:
        left_out = left_out_scores(K, Y, labeled.weight, price)
    except np.linalg.LinAlgError:
        return np.inf
    return float(labeled.weight * price @ ((Y - left_out) ** 2).sum(axis=1))


def left_out_scores(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray
) -> np.ndarray:
    """The score that a least-squares SVM would give each row, had the row been left out: (l, c).

        minimize  sum_i weight_i price_i |Y_i - f(x_i)|^2 + r |w|^2,     f(x) = K(x, .) a + bias

        [[K + diag(r / (weight price)), 1], [1', 0]] [a; bias] = [Y; 0],     H its inverse

    Without row i, of weight 1, its score is Y_i - a_i / H_ii. A row of weight w > 1 stands for w
    rows, of which one is left out: in the larger system a and H at each of them are a_i / w and
    H_ii / w^2 + (1 - 1 / w) price_i / r.
    """
    diagonal = float(np.average(np.diagonal(K), weights=weight))
    r = AUTO_RIDGE * (diagonal if diagonal > 0 else 1.0)
    system = (K + K.T) / 2
    system[np.diag_indices_from(system)] += r / (weight * price)
    inverse = cho_solve(cho_factor(system, overwrite_a=True), np.eye(len(K)))
    sums = inverse.sum(axis=1)
    a = inverse @ (Y - sums @ Y / sums.sum())
    h = np.diagonal(inverse) - sums**2 / sums.sum()
    h = np.maximum(h, np.finfo(np.float64).eps * np.diagonal(inverse))  # above 0 but for rounding
    copies = np.maximum(weight, 1)
    h_of_copy = h / copies**2 + (1 - 1 / copies) * price / r
    return Y - a / copies[:, None] / h_of_copy[:, None]
