"""The kernels that are made from all rows, labeled or not: ten of them, nine with the cosine
metric.

    rbf | cosine          Kc, the ordinary kernel (see `geometry`)
    linear                inner products of the centered rows; the cosine metric has it already
    components            V V', V the first C - 1 whitened kernel components: two clusters, C
                          classes
    component rbf         the Gaussian kernel in the first C + 1: several clusters per class
    graph k smooth        U diag((lam + 0.01)^-3) U', the functions of a neighbor graph (see
                          `geometry`): manifolds
    graph k first m       U_m U_m', the m smoothest; m = C + 1 and m = 8 C, and m = C with one label
                          per class

C is the number of classes. Every kernel is scaled so that its trace is the number of rows. None
depends on a label.

**How much structure the rows have**, without a look at labels: unlabeled rows can only help where
there is some.

Two ratios compare the rows with random rows that have none:

    components   the largest eigenvalue of the centered kernel, over that of rows whose columns are
                 independent (each column's values are dealt to the rows at random): 1 where no
                 direction stands out
    links        the mean distance to the k nearest rows in a Gaussian cloud, or in a uniform box
                 where that is less, of the same covariance, over that of the rows: 1 where rows
                 fill the space evenly

Kernels whose ratio is about 1 are left out; graphs of rows that are much nearer to each other than
the random ones are believed in more than the ordinary kernels. The thresholds were chosen on four
sets and on synthetic rows: docs/auto.md. The random rows follow from the covariance and each
column's values, so that the order of the rows does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.device import resolve
from semisvm.estimators.auto.geometry import (
    MOST_VECTORS,
    Geometry,
    GraphFunctions,
    KernelComponents,
    as_rows,
    make_components,
    make_geometry,
    make_graph,
    mean_link,
    nearest_rows,
    squared_distances_between,
)
from semisvm.estimators.auto.stacking import Member
from semisvm.kernels.spectrum import expected_seconds
from semisvm.matrices import is_sparse_matrix

COMPONENTS_FROM, COMPONENTS_FULLY = (
    1.1,
    1.3,
)  # ratios between which the kernels of components come into use
LINKS_FROM, LINKS_FULLY = 1.02, 1.08  # the same for graphs
LINKS_MORE_FROM, LINKS_POWER = (
    1.1,
    8,
)  # above this ratio graphs are believed in more, as a power of it


@dataclass(frozen=True)
class Structure:
    """The ratios of the module's docstring, and the beliefs that follow from them: 1 is that in an
    ordinary kernel.

    component_ratio   that of the components
    link_ratios       those of the links, by the number of neighbors asked for
    components        the belief in each kernel of components
    graphs            the belief in each kernel of a graph, by the number of neighbors asked for
    """

    component_ratio: float
    link_ratios: dict[int, float]
    components: float
    graphs: dict[int, float]


def find_structure(
    geometry: Geometry,
    products: np.ndarray,
    components: KernelComponents,
    n_neighbors: dict[int, int],
    lengths: dict[int, float],
    device: str,
    n_seen_from: int | None = None,
    n_compared: int | None = None,
) -> Structure:
    """Compare the rows of a geometry with random ones; `lengths` are the mean links of the
    graphs. The links of random rows are those of `n_seen_from` of them, or of all; the components
    are those of `n_compared` rows, or of all.
    """
    rng = np.random.default_rng(0)
    largest = float(components.values[0] / geometry.total)
    rows = geometry.rows
    if n_compared is not None and n_compared < geometry.n_rows:
        rows = rows[np.sort(rng.choice(geometry.n_rows, n_compared, replace=False))]
        largest = _largest_component(rows, geometry.is_cosine, device)
    dealt = as_rows(_with_independent_columns(rows, rng), is_cosine=geometry.is_cosine)
    expected = _largest_component(dealt, geometry.is_cosine, device)
    component_ratio = largest / expected if expected > 0 else 1.0
    covariance = _covariance_spectrum(geometry, products)
    without = _random_lengths(covariance, geometry.n_rows, n_neighbors, rng, n_seen_from)
    link_ratios = {k: without[k] / lengths[k] for k in n_neighbors}
    return Structure(
        component_ratio=component_ratio,
        link_ratios=link_ratios,
        components=_ramp(component_ratio, COMPONENTS_FROM, COMPONENTS_FULLY),
        graphs={k: _belief_in_links(ratio) for k, ratio in link_ratios.items()},
    )


def _largest_component(rows: Any, is_cosine: bool, device: str) -> float:
    """The largest eigenvalue of the centered kernel of rows, per row."""
    geometry, _ = make_geometry(rows, np.ones(rows.shape[0]), is_cosine=is_cosine)
    products = geometry.products(geometry.rows)
    distances2 = geometry.squared_distances(geometry.rows, products)
    components, _ = make_components(geometry, products, distances2, 1, device)
    return float(components.values[0] / geometry.total)


def _with_independent_columns(rows: Any, rng: np.random.Generator) -> Any:
    """Rows with the same values in each column, dealt at random; the same ones for sparse and
    for dense rows.
    """
    dealt = sparse.csc_matrix(rows, copy=True)
    dealt.eliminate_zeros()
    n, d = rows.shape
    for j in range(d):
        part = slice(dealt.indptr[j], dealt.indptr[j + 1])
        dealt.data[part] = np.sort(dealt.data[part])
        dealt.indices[part] = rng.choice(n, part.stop - part.start, replace=False)
    dealt.has_sorted_indices = False
    return sparse.csr_matrix(dealt) if is_sparse_matrix(rows) else dealt.toarray()


def _covariance_spectrum(geometry: Geometry, products: np.ndarray) -> np.ndarray:
    """The eigenvalues of the rows' covariance, each row counted by its mass, from the smaller of
    two matrices.
    """
    rows = geometry.rows
    mass = geometry.mass
    if not is_sparse_matrix(rows) and rows.shape[1] < len(mass):
        centered = rows - geometry.mean
        spectrum = np.linalg.eigvalsh((centered * mass[:, None]).T @ centered)
    else:
        root = np.sqrt(mass)
        spectrum = np.linalg.eigvalsh(products * root * root[:, None])
    return np.maximum(spectrum[::-1][: min(rows.shape)], 0) / geometry.total


def _random_lengths(
    covariance: np.ndarray,
    n_rows: int,
    n_neighbors: dict[int, int],
    rng: np.random.Generator,
    n_seen_from: int | None,
) -> dict[int, float]:
    """Mean distances to the nearest rows among random ones, the smaller of the two kinds."""
    scale = np.sqrt(covariance)
    shape = (n_rows, len(covariance))
    found = dict.fromkeys(n_neighbors, np.inf)
    for draw in (rng.standard_normal, lambda size: rng.uniform(-np.sqrt(3), np.sqrt(3), size)):
        rows = draw(shape) * scale
        distances2 = squared_distances_between(rows[:n_seen_from], rows)
        np.fill_diagonal(distances2, np.inf)
        distance = nearest_rows(distances2, max(n_neighbors.values(), default=0))[1]
        for k, count in n_neighbors.items():
            found[k] = min(found[k], float(distance[:, :count].mean()))
    return found


def _belief_in_links(ratio: float) -> float:
    return _ramp(ratio, LINKS_FROM, LINKS_FULLY) * max(1.0, ratio / LINKS_MORE_FROM) ** LINKS_POWER


def _ramp(value: float, start: float, end: float) -> float:
    return float(np.clip((value - start) / (end - start), 0, 1))


# ---- the kernels ----

POWER, FLOOR = 3, 0.01
# The ridges of ordinary kernels, as multiples of the one asked for; three are believed in as much
# as two other kernels.
RIDGES = {"": 1.0, ", strong ridge": 10.0, ", weak ridge": 0.1}
ORDINARY_BELIEF = 2 / 3
# How fast the belief in a graph falls with the share of rows that no label reaches, and in its
# first m functions where there are fewer than m labels.
BELIEF_POWER = 4
# With one label per class leaving one out says nothing: the first C functions are believed in as a
# power of the gap to the next eigenvalue, that is by how far C clusters stand apart, unless more
# clusters stand twice as far apart.
GAP_POWER, SMALLEST_EIGENVALUE, LARGEST_GAP = 4, 1e-6, 0.5


@dataclass(frozen=True)
class Coordinates:
    """Where some rows are: inner products and kernel values with the rows of the fit,
    components, functions.
    """

    products: np.ndarray
    kernel: np.ndarray
    components: np.ndarray
    functions: dict[int, np.ndarray]

    def of_rows(self, rows: np.ndarray) -> Coordinates:
        """Those of some of the rows."""
        functions = {k: values[rows] for k, values in self.functions.items()}
        return Coordinates(self.products[rows], self.kernel[rows], self.components[rows], functions)


@dataclass(frozen=True)
class KernelLibrary:
    """The kernels; `graphs` that are believed in, by the number of neighbors; without
    `structure` all are, alike.
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

    def place(self, X: Any) -> Coordinates:
        """The coordinates of any rows; a row that equals one of the fit is in its place."""
        geometry, mass = self.geometry, self.geometry.mass
        prepared = geometry.prepare(X)
        products = geometry.products(prepared)
        distances2 = geometry.squared_distances(prepared, products)
        kernel = self.components.kernel(products, distances2, mass)
        components = self.components.place(kernel, mass)
        most = max((graph.n_neighbors for graph in self.graphs.values()), default=0)
        nearest = nearest_rows(distances2, most) if most else None
        functions = (
            {k: graph.place(*nearest, mass) for k, graph in self.graphs.items()} if nearest else {}
        )
        known = geometry.find(prepared)
        is_known = known >= 0
        components[is_known] = self.components.vectors[known[is_known]]
        for k, graph in self.graphs.items():
            functions[k][is_known] = graph.vectors[known[is_known]]
        return Coordinates(products, kernel, components, functions)

    def between(self, at: Coordinates, node: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Every kernel by name, between rows at these coordinates and some rows of the library,
        given by their numbers there.
        """
        total = self.geometry.total
        yield self._plain[0], at.kernel[:, node] * _scale(total, self.components.trace)
        if not self.geometry.is_cosine:
            trace = float(self.geometry.mass @ self.geometry.squares)
            yield "linear", at.products[:, node] * _scale(total, trace)
        P = at.components
        Q = self.components.vectors[node]
        m = min(self.n_classes - 1, P.shape[1])
        yield "components", P[:, :m] @ Q[:, :m].T * (total / m)
        yield (
            "component rbf",
            np.exp(squared_distances_between(P, Q) * (-0.5 / self.components.white_median)),
        )
        for k, graph in self.graphs.items():
            U = at.functions[k]
            V = graph.vectors[node]
            spectrum = (graph.lam + FLOOR) ** -POWER
            yield f"graph {k} smooth", (U * spectrum) @ V.T * (total / spectrum.sum())
            for count in (*([self.n_classes] if self.structure else []), *self._function_counts):
                m = graph.smoothest(count)
                yield f"graph {k} first {count}", U[:, :m] @ V[:, :m].T * (total / m)

    def members(self, labeled_node: np.ndarray) -> list[Member]:
        """All members of the average, those that are not believed in included; their labels are
        not looked at.
        """
        structure = self.structure
        if structure is None:
            others = [
                "components",
                "component rbf",
                *(name for k in self.graphs for name in self._graph_names(k)),
            ]
            return [Member(name, name, 1.0, 1.0) for name in (*self._plain, *others)]
        plain = [
            Member(name + title, name, ridge, ORDINARY_BELIEF)
            for title, ridge in RIDGES.items()
            for name in self._plain
        ]
        components = [
            Member(name, name, 1.0, structure.components, True)
            for name in ("components", "component rbf")
        ]
        of_graphs = [
            member
            for k in self.n_neighbors
            for member in self._graph_members(k, labeled_node, structure)
        ]
        return plain + components + of_graphs

    def _graph_names(self, k: int) -> list[str]:
        return [
            f"graph {k} smooth",
            *(f"graph {k} first {count}" for count in self._function_counts),
        ]

    def _graph_members(
        self, k: int, labeled_node: np.ndarray, structure: Structure
    ) -> list[Member]:
        belief = 0.0
        if k in self.graphs:
            belief = (
                structure.graphs[k]
                * self.graphs[k].reached(labeled_node, self.geometry.mass) ** BELIEF_POWER
            )
        n_labeled = len(labeled_node)
        enough = [
            1.0,
            *(min(1.0, n_labeled / count) ** BELIEF_POWER for count in self._function_counts),
        ]
        shares = dict(zip(self._graph_names(k), enough, strict=True))
        if belief > 0 and n_labeled <= self.n_classes:
            shares[f"graph {k} first {self.n_classes}"] = _clusters_apart(
                self.graphs[k].lam, self.n_classes
            )
        return [Member(name, name, 1.0, belief * share, True) for name, share in shares.items()]


def _clusters_apart(lam: np.ndarray, n_classes: int) -> float:
    """How much the first C functions of a graph with these eigenvalues are believed in."""
    gaps = ((lam[1:] + SMALLEST_EIGENVALUE) / (lam[:-1] + SMALLEST_EIGENVALUE))[
        n_classes - 1 : 8 * n_classes
    ]
    return float(gaps[0] ** GAP_POWER) if len(gaps) and gaps[0] > LARGEST_GAP * gaps.max() else 1.0


def make_library(
    X: Any,
    weight: np.ndarray,
    n_classes: int,
    *,
    n_neighbors: tuple[int, ...],
    is_cosine: bool,
    is_safe: bool,
    device: str = "cpu",
    n_functions: int = MOST_VECTORS,
    n_seen_from: int | None = None,
    n_compared: int | None = None,
) -> tuple[KernelLibrary, np.ndarray, Coordinates]:
    """The library of some rows; for each the number of the distinct row that it equals, and
    those rows' coordinates.

    n_functions   most functions of a graph
    n_seen_from   from how many rows links are judged, and of how many (`n_compared`) components;
                  None: of all
    """
    geometry, node = make_geometry(X, weight, is_cosine=is_cosine)
    n = geometry.n_rows
    mass = geometry.mass
    device = resolve(device, seconds=expected_seconds(n, len(n_neighbors), 1 + is_safe))
    products = geometry.products(geometry.rows)
    distances2 = geometry.squared_distances(geometry.rows, products)
    np.fill_diagonal(distances2, 0)
    components, kernel = make_components(geometry, products, distances2, n_classes + 1, device)
    np.fill_diagonal(distances2, np.inf)
    counts = {k: min(k, n - 1) for k in n_neighbors} if n > 1 else {}
    nearest, distance = nearest_rows(distances2, max(counts.values(), default=0))
    links = {k: (nearest[:, :count], distance[:, :count]) for k, count in counts.items()}
    del distances2
    structure = None
    if is_safe:
        lengths = {k: mean_link(distance, mass) for k, (_, distance) in links.items()}
        structure = find_structure(
            geometry, products, components, counts, lengths, device, n_seen_from, n_compared
        )
        links = {k: found for k, found in links.items() if structure.graphs[k] > 0}
    graphs = {k: make_graph(*found, mass, n_functions, device) for k, found in links.items()}
    library = KernelLibrary(n_classes, n_neighbors, geometry, components, graphs, structure)
    own = Coordinates(
        products, kernel, components.vectors, {k: graph.vectors for k, graph in graphs.items()}
    )
    return library, node, own


def _scale(total: float, trace: float) -> float:
    return total / trace if trace > 0 else 0.0
