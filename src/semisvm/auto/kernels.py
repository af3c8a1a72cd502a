"""Ten kernels that are made from all rows of a view, labeled or not (nine with the cosine metric).

    rbf | cosine          Kc, the centered kernel exp(-D2 / (2 median D2)), or inner products of
                          rows of length 1
    linear                inner products of the centered rows; the cosine metric has it already
    components            V V', V the first C - 1 whitened components of Kc: two clusters, C classes
    component rbf         the Gaussian kernel in the first C + 1: several clusters per class
    graph k smooth        U diag((lam + 0.01)^-3) U', U the smoothest functions on the graph of k
                          neighbors, lam the eigenvalues of its normalized Laplacian: classes along
                          curves and surfaces
    graph k first m       U_m U_m', the m smoothest; m = C + 1 and m = 8 C, and m = C with one label
                          per class
    latent                sparse rows only: inner products in the first 100 components, scaled to
                          length 1

C is the number of classes. Every kernel is scaled so that its trace is the number of rows. None
depends on a label. Rows that are equal are one node. New rows are placed by Nystroem's extension;
those that equal a node are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from semisvm.auto.geometry import (
    SAME_DISTANCE,
    as_rows,
    between,
    centered_products,
    centered_squares,
    find_components,
    keys_of,
    median_of,
    nearest_rows,
    squared_distances,
)
from semisvm.auto.graph import Graph, make_graph, mean_link
from semisvm.auto.structure import find_structure
from semisvm.matrices import is_sparse_matrix

NEIGHBORS = (3, 15)
POWER, FLOOR = 3, 0.01
N_LATENT, LATENT_PRIOR = 100, 2.0
PRIOR_POWER = 4  # of the share of rows that labels reach, in the prior weight of a graph
GAP_POWER, SMALLEST_EIGENVALUE, LARGEST_GAP = 4, 1e-6, 0.5


@dataclass(frozen=True)
class Places:
    """Where some rows are: inner products and Kc with the rows of the fit, components, functions by
    graph.
    """

    products: np.ndarray
    kernel: np.ndarray
    components: np.ndarray
    functions: dict[int, np.ndarray]

    def of(self, rows: np.ndarray) -> Places:
        functions = {k: U[rows] for k, U in self.functions.items()}
        return Places(self.products[rows], self.kernel[rows], self.components[rows], functions)


class ViewKernels:
    """The kernels of one view; see the module's docstring.

    rows   the distinct rows;  mass  (n,) how many rows equal each
    node   (n,) the number of the distinct row that each row of the fit equals
    own    where the distinct rows are
    """

    def __init__(self, X: Any, n_classes: int, n_functions: int):
        self.n_classes, self.is_cosine = n_classes, is_sparse_matrix(X)
        rows = as_rows(X)
        keys = keys_of(rows)
        self.number = {key: j for j, key in enumerate(dict.fromkeys(keys))}
        self.node = np.array([self.number[key] for key in keys])
        self.rows = rows[np.unique(self.node, return_index=True)[1]]
        self.mass = np.bincount(self.node).astype(float)
        self.mean = np.asarray(self.mass @ self.rows).ravel() / self.mass.sum()
        self.squares = centered_squares(self.rows, self.mean)
        self.unit = SAME_DISTANCE * float(self.mass @ self.squares / self.mass.sum()) or 1.0
        n = self.rows.shape[0]
        products = centered_products(self.rows, self.rows, self.mean)
        distances2 = squared_distances(products, self.squares, self.squares)
        np.fill_diagonal(distances2, 0)
        median = None if self.is_cosine else median_of(self._of_all(distances2))
        wanted = max(n_classes + 1, N_LATENT if self.is_cosine else 0)
        self.components, kernel = find_components(products, distances2, self.mass, median, wanted)
        V = self.components.vectors[:, : n_classes + 1]
        self.component_width = median_of(self._of_all(between(V, V) * self.mass.sum()))
        np.fill_diagonal(distances2, np.inf)
        counts = {k: min(k, n - 1) for k in NEIGHBORS} if n > 1 else {}
        nearest, distance = nearest_rows(distances2, max(counts.values(), default=1), self.unit)
        lengths = {k: mean_link(distance[:, :c], self.mass) for k, c in counts.items()}
        largest = self.components.values
        self.structure = find_structure(
            self.rows, self.mass, self.mean, products, largest, counts, lengths
        )
        self.graphs: dict[int, Graph] = {
            k: make_graph(nearest[:, :c], distance[:, :c], self.mass, n_functions)
            for k, c in counts.items()
            if self.structure.prior_of_graph(k) > 0
        }
        functions = {k: graph.vectors for k, graph in self.graphs.items()}
        self.own = Places(products, kernel, self.components.vectors, functions)
        diagonals = {"kernel": np.diagonal(kernel), "linear": self.squares}
        traces = {name: float(self.mass @ values) for name, values in diagonals.items()}
        total = self.mass.sum()
        self.scale = {name: total / trace if trace > 0 else 0.0 for name, trace in traces.items()}

    def _of_all(self, matrix: np.ndarray) -> np.ndarray:
        """A matrix of distinct rows as one of all rows."""
        has_copies = len(self.node) > len(matrix)
        return matrix[np.ix_(self.node, self.node)] if has_copies else matrix

    def release(self) -> None:
        """Forget the matrices of all pairs of rows, which new rows do not need."""
        del self.own

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("own", "number")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.number = {key: j for j, key in enumerate(keys_of(self.rows))}

    def place(self, X: Any) -> Places:
        """Where any rows are."""
        rows = as_rows(X)
        products = centered_products(rows, self.rows, self.mean)
        distances2 = squared_distances(products, centered_squares(rows, self.mean), self.squares)
        kernel = self.components.kernel(products, distances2)
        components = kernel @ (
            self.mass[:, None] * self.components.vectors / self.components.values
        )
        known = np.array([self.number.get(key, -1) for key in keys_of(rows)], dtype=np.intp)
        is_known = known >= 0
        components[is_known] = self.components.vectors[known[is_known]]
        functions = {}
        if self.graphs:
            most = max(graph.n_neighbors for graph in self.graphs.values())
            nearest = nearest_rows(distances2, most, self.unit)
            for k, graph in self.graphs.items():
                functions[k] = graph.extend(*nearest)
                functions[k][is_known] = graph.vectors[known[is_known]]
        return Places(products, kernel, components, functions)

    def spectra(self) -> Iterator[tuple[str, int, np.ndarray]]:
        """The kernels of graphs: name, number of neighbors, and the factor of each function."""
        n, C = self.mass.sum(), self.n_classes
        for k, graph in self.graphs.items():
            smooth = (graph.lam + FLOOR) ** -POWER
            yield f"graph {k} smooth", k, smooth * (n / smooth.sum())
            for count in (C, C + 1, 8 * C):
                m = graph.smoothest(count)
                yield f"graph {k} first {count}", k, (np.arange(len(smooth)) < m) * (n / m)

    def matrices(self, at: Places, node: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Every kernel by name, between rows at these places and some distinct rows of the fit."""
        n, C = self.mass.sum(), self.n_classes
        yield ("cosine" if self.is_cosine else "rbf"), at.kernel[:, node] * self.scale["kernel"]
        if not self.is_cosine:
            yield "linear", at.products[:, node] * self.scale["linear"]
        P, Q = at.components, self.components.vectors[node]
        m = min(C - 1, P.shape[1])
        yield "components", P[:, :m] @ Q[:, :m].T * (n / m)
        distances2 = between(P[:, : C + 1], Q[:, : C + 1])
        yield "component rbf", np.exp(distances2 * (-0.5 * n / self.component_width))
        if self.is_cosine:
            long = np.sqrt(self.components.values)
            yield "latent", normalize(P * long) @ normalize(Q * long).T
        for name, k, factor in self.spectra():
            used = factor > 0
            U, V = at.functions[k][:, used], self.graphs[k].vectors[node][:, used]
            yield name, (U * factor[used]) @ V.T

    def priors(self, node: np.ndarray) -> dict[str, float]:
        """The prior weight of each kernel, for labels at these nodes: 1 for an ordinary one."""
        priors = dict.fromkeys(["cosine"] if self.is_cosine else ["rbf", "linear"], 1.0)
        if self.is_cosine:
            priors["latent"] = LATENT_PRIOR
        priors |= dict.fromkeys(("components", "component rbf"), self.structure.prior_of_components)
        C = self.n_classes
        for k, graph in self.graphs.items():
            is_reached = np.isin(graph.piece, graph.piece[node])
            reached = float(self.mass[is_reached].sum() / self.mass.sum())
            prior = self.structure.prior_of_graph(k) * reached**PRIOR_POWER
            for kernel in ("smooth", f"first {C + 1}", f"first {8 * C}"):
                priors[f"graph {k} {kernel}"] = prior
            if len(node) <= C:
                priors[f"graph {k} first {C}"] = prior * _clusters_apart(graph.lam, C)
        return {name: prior for name, prior in priors.items() if prior > 0}


def _clusters_apart(lam: np.ndarray, C: int) -> float:
    """The prior weight of the first C functions with one label per class, where leaving one out
    says nothing: a power of the gap to the next eigenvalue, unless more clusters are twice as far
    apart.
    """
    lam = lam + SMALLEST_EIGENVALUE
    gaps = (lam[1:] / lam[:-1])[C - 1 : 8 * C]
    return float(gaps[0] ** GAP_POWER) if len(gaps) and gaps[0] > LARGEST_GAP * gaps.max() else 1.0
