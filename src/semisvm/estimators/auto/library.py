"""The kernels that are made from all rows, labeled or not: ten of them, nine with the cosine metric.

    rbf | cosine          Kc, the ordinary kernel (see `components`)
    linear                inner products of the centered rows; the cosine metric has it already
    components            V V', V the first C - 1 whitened kernel components: two clusters, C classes
    component rbf         the Gaussian kernel in the first C + 1: several clusters per class
    graph k smooth        U diag((lam + 0.01)^-3) U', the functions of a neighbor graph (see `graph`): manifolds
    graph k first m       U_m U_m', the m smoothest of them; m = C + 1 and m = 8 C

C is the number of classes. Every kernel is scaled so that its trace is the number of rows. None depends on a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.estimators.auto.embedding import GraphFunctions, KernelComponents, make_components, make_graph, mean_link
from semisvm.estimators.auto.geometry import Geometry, make_geometry, nearest_rows, squared_distances_between
from semisvm.estimators.auto.structure import Structure, find_structure

POWER, FLOOR = 3, 0.01
STRONG_RIDGE = 10.0
# How fast the belief in a graph falls with the share of rows that no label reaches, and in its first m functions where
# there are fewer than m labels.
BELIEF_POWER = 4


@dataclass(frozen=True)
class Coordinates:
    """Where some rows are: inner products and kernel values with the rows of the fit, components, functions."""

    products: np.ndarray
    kernel: np.ndarray
    components: np.ndarray
    functions: dict[int, np.ndarray]


@dataclass(frozen=True)
class Member:
    """One kernel with a ridge, a multiple of the one asked for, and how much it is believed in before labels speak."""

    name: str
    kernel: str
    ridge: float
    belief: float


@dataclass(frozen=True)
class KernelLibrary:
    """The kernels; `graphs` by the number of neighbors as asked for, without those that are not believed in.

    structure is what the rows look like, None where all kernels are to be believed in alike.
    """

    n_classes: int
    n_neighbors: tuple[int, ...]
    geometry: Geometry
    components: KernelComponents
    graphs: dict[int, GraphFunctions]
    structure: Structure | None

    @property
    def _plain(self) -> list[str]:
        return ["cosine"] if self.geometry.is_cosine else ["rbf", "linear"]

    @property
    def _function_counts(self) -> tuple[int, int]:
        return self.n_classes + 1, 8 * self.n_classes

    def own(self, products: np.ndarray, kernel: np.ndarray) -> Coordinates:
        """The coordinates of the rows of the fit themselves."""
        functions = {k: graph.vectors for k, graph in self.graphs.items()}
        return Coordinates(products, kernel, self.components.vectors, functions)

    def place(self, X: Any) -> Coordinates:
        """The coordinates of any rows; a row that equals one of the fit is in its place."""
        geometry, mass = self.geometry, self.geometry.mass
        prepared = geometry.prepare(X)
        products = geometry.products(prepared)
        distances2 = geometry.squared_distances(prepared, products)
        kernel = self.components.kernel(products, distances2, mass)
        components = self.components.place(kernel, mass)
        functions = {k: graph.place(distances2, mass) for k, graph in self.graphs.items()}
        known = geometry.find(prepared)
        is_known = known >= 0
        components[is_known] = self.components.vectors[known[is_known]]
        for k, graph in self.graphs.items():
            functions[k][is_known] = graph.vectors[known[is_known]]
        return Coordinates(products, kernel, components, functions)

    def between(self, at: Coordinates, labeled: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Every kernel by name, between rows at these coordinates and some rows of the fit, given by number."""
        total = self.geometry.total
        yield self._plain[0], at.kernel[:, labeled] * _scale(total, self.components.trace)
        if not self.geometry.is_cosine:
            trace = float(self.geometry.mass @ self.geometry.squares)
            yield "linear", at.products[:, labeled] * _scale(total, trace)
        P, Q = at.components, self.components.vectors[labeled]
        m = min(self.n_classes - 1, P.shape[1])
        yield "components", P[:, :m] @ Q[:, :m].T * (total / m)
        yield "component rbf", np.exp(squared_distances_between(P, Q) * (-0.5 / self.components.white_median))
        for k, graph in self.graphs.items():
            U, V = at.functions[k], graph.vectors[labeled]
            spectrum = (graph.lam + FLOOR) ** -POWER
            yield f"graph {k} smooth", (U * spectrum) @ V.T * (total / spectrum.sum())
            for count in self._function_counts:
                m = graph.smoothest(count)
                yield f"graph {k} first {count}", U[:, :m] @ V[:, :m].T * (total / m)

    def members(self, labeled: np.ndarray) -> list[Member]:
        """All members of the average, those that are not believed in included; their labels are not looked at."""
        structure = self.structure
        plain = [Member(name, name, 1.0, 1.0) for name in self._plain]
        if structure is None:
            others = ["components", "component rbf", *(name for k in self.graphs for name in self._graph_names(k))]
            return plain + [Member(name, name, 1.0, 1.0) for name in others]
        strong = [Member(f"{name}, strong ridge", name, STRONG_RIDGE, 1.0) for name in self._plain]
        components = [Member(name, name, 1.0, structure.components) for name in ("components", "component rbf")]
        of_graphs = [member for k in self.n_neighbors for member in self._graph_members(k, labeled, structure)]
        return plain + strong + components + of_graphs

    def _graph_names(self, k: int) -> list[str]:
        return [f"graph {k} smooth", *(f"graph {k} first {count}" for count in self._function_counts)]

    def _graph_members(self, k: int, labeled: np.ndarray, structure: Structure) -> list[Member]:
        belief = 0.0
        if k in self.graphs:
            belief = structure.graphs[k] * self.graphs[k].reached(labeled, self.geometry.mass) ** BELIEF_POWER
        enough = [1.0, *(min(1.0, len(labeled) / count) ** BELIEF_POWER for count in self._function_counts)]
        names = self._graph_names(k)
        return [Member(name, name, 1.0, belief * share) for name, share in zip(names, enough, strict=True)]


def make_library(
    X: Any, weight: np.ndarray, n_classes: int, *, n_neighbors: tuple[int, ...], is_cosine: bool, is_safe: bool
) -> tuple[KernelLibrary, np.ndarray, Coordinates]:
    """The library of some rows; for each the number of the distinct row that it equals, and those rows' coordinates."""
    geometry, node = make_geometry(X, weight, is_cosine=is_cosine)
    n, mass = geometry.n_rows, geometry.mass
    products = geometry.products(geometry.rows)
    distances2 = geometry.squared_distances(geometry.rows, products)
    np.fill_diagonal(distances2, 0)
    components, kernel = make_components(geometry, products, distances2, n_classes + 1)
    np.fill_diagonal(distances2, np.inf)
    counts = {k: min(k, n - 1) for k in n_neighbors} if n > 1 else {}
    links = {k: nearest_rows(distances2, count) for k, count in counts.items()}
    del distances2
    structure = None
    if is_safe:
        lengths = {k: mean_link(distance, mass) for k, (_, distance) in links.items()}
        structure = find_structure(geometry, products, components, counts, lengths)
        links = {k: found for k, found in links.items() if structure.graphs[k] > 0}
    graphs = {k: make_graph(*found, mass) for k, found in links.items()}
    library = KernelLibrary(n_classes, n_neighbors, geometry, components, graphs, structure)
    return library, node, library.own(products, kernel)


def _scale(total: float, trace: float) -> float:
    return total / trace if trace > 0 else 0.0
