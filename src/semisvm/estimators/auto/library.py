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

**How much structure the rows have**, regardless of the labels: unlabeled rows can only help if
there is some.

Two ratios compare the rows with random rows that have none:

    components   the largest eigenvalue of the centered kernel, over that of rows whose columns are
                 independent (each column's values are dealt to the rows at random): 1 where no
                 direction stands out
    links        the mean distance to the k nearest rows in a Gaussian cloud, or in a uniform box
                 where that is less, of the same covariance, over that of the rows: 1 where rows
                 fill the space evenly

Kernels whose ratio is about 1 are left out; graphs of rows that are much nearer to each other than
the random ones have more prior weight than the ordinary kernels. The thresholds were chosen on four
sets and on synthetic rows. The random rows follow from the covariance and each
column's values, so that the order of the rows does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from semisvm.device import resolve
from semisvm.estimators.auto.geometry import (
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

# Ratios between which the kernels of components come into use, and graphs.
COMPONENTS_FROM, COMPONENTS_FULLY = 1.1, 1.3
LINKS_FROM, LINKS_FULLY = 1.02, 1.08
# Random rows are seen from so many of them, and sparse rows, as those of texts, compared with
# shuffled ones by so many, and by their largest eigenvalues.
SEEN_FROM, COMPARED_ROWS, LARGEST_EIGENVALUES = 300, 600, 50
LINKS_MORE_FROM, LINKS_POWER = 1.1, 8  # above it the prior weight of graphs grows with this power


@dataclass(frozen=True)
class Structure:
    """The ratios of the module's docstring, those of links by number of neighbors, and the beliefs
    (prior weights) that follow from them: an ordinary kernel has 1.
    """

    component_ratio: float
    link_ratios: dict[int, float]

    @property
    def belief_in_components(self) -> float:
        return _ramp(self.component_ratio, COMPONENTS_FROM, COMPONENTS_FULLY)

    def belief_in_graph(self, k: int) -> float:
        """The prior weight of each kernel of the graph of k neighbors."""
        ratio = self.link_ratios[k]
        more = max(1.0, ratio / LINKS_MORE_FROM) ** LINKS_POWER
        return _ramp(ratio, LINKS_FROM, LINKS_FULLY) * more


def _ramp(value: float, start: float, end: float) -> float:
    return float(np.clip((value - start) / (end - start), 0, 1))


def find_structure(
    geometry: Geometry,
    products: np.ndarray,
    components: KernelComponents,
    n_neighbors: dict[int, int],
    lengths: dict[int, float],
    device: str,
) -> Structure:
    """Compare the rows of a geometry with random ones; `lengths` are the mean links of the
    graphs.
    """
    rng = np.random.default_rng(0)
    largest = float(components.values[0] / geometry.total)
    rows = geometry.rows
    if is_sparse_matrix(rows) and geometry.n_rows > COMPARED_ROWS:
        rows = rows[np.sort(rng.choice(geometry.n_rows, COMPARED_ROWS, replace=False))]
        largest = _largest_component(rows, geometry.is_cosine, device)
    dealt = as_rows(_with_independent_columns(rows, rng), is_cosine=geometry.is_cosine)
    expected = _largest_component(dealt, geometry.is_cosine, device)
    component_ratio = largest / expected if expected > 0 else 1.0
    covariance = _covariance_spectrum(geometry, products)
    without = _random_lengths(covariance, geometry.n_rows, n_neighbors, rng)
    return Structure(component_ratio, {k: without[k] / lengths[k] for k in n_neighbors})


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
    n = rows.shape[0]
    size = np.diff(dealt.indptr)
    column = np.repeat(np.arange(len(size)), size)
    dealt.data = dealt.data[np.lexsort((dealt.data, column))]
    for j in np.flatnonzero(size > n / 2):
        dealt.indices[dealt.indptr[j] : dealt.indptr[j + 1]] = rng.choice(n, size[j], replace=False)
    # The emptier columns are dealt together, and again where two values of one have met.
    waiting = np.flatnonzero(size[column] <= n / 2)
    place = column * n + dealt.indices
    while len(waiting):
        place[waiting] = column[waiting] * n + rng.integers(0, n, len(waiting))
        first = np.zeros(len(place), dtype=bool)
        first[np.unique(place, return_index=True)[1]] = True
        waiting = np.flatnonzero(~first)
    dealt.indices[:] = place - column * n
    dealt.has_sorted_indices = False
    return sparse.csr_matrix(dealt) if is_sparse_matrix(rows) else dealt.toarray()


def _covariance_spectrum(geometry: Geometry, products: np.ndarray) -> np.ndarray:
    """The eigenvalues of the rows' covariance, each row counted by its mass, from the smaller of
    two matrices; of many sparse rows the largest, and equal ones instead of the others.
    """
    rows = geometry.rows
    mass = geometry.mass
    if not is_sparse_matrix(rows) and rows.shape[1] < len(mass):
        centered = rows - geometry.mean
        spectrum = np.linalg.eigvalsh((centered * mass[:, None]).T @ centered)
    else:
        root = np.sqrt(mass)
        weighted = products * root * root[:, None]
        if is_sparse_matrix(rows) and len(mass) > COMPARED_ROWS:
            return _brief_spectrum(weighted) / geometry.total
        spectrum = np.linalg.eigvalsh(weighted)
    return np.maximum(spectrum[::-1][: min(rows.shape)], 0) / geometry.total


def _brief_spectrum(matrix: np.ndarray) -> np.ndarray:
    """The largest eigenvalues of a matrix, and as many equal ones as keep the sums of all and of
    all squares: the mean and the variance of distances between random rows follow from these.
    """
    largest = randomized_svd(matrix, LARGEST_EIGENVALUES, n_iter=2, random_state=0)[1]
    rest = max(float(np.trace(matrix) - largest.sum()), 0.0)
    rest_of_squares = float(np.vdot(matrix, matrix) - largest @ largest)
    if rest_of_squares <= 0:
        return largest
    n_equal = min(max(1, round(rest**2 / rest_of_squares)), len(matrix) - len(largest))
    return np.append(largest, np.full(n_equal, rest / n_equal))


def _random_lengths(
    covariance: np.ndarray,
    n_rows: int,
    n_neighbors: dict[int, int],
    rng: np.random.Generator,
) -> dict[int, float]:
    """Mean distances to the nearest rows among random ones, the smaller of the two kinds."""
    scale = np.sqrt(covariance)
    shape = (n_rows, len(covariance))
    shortest = dict.fromkeys(n_neighbors, np.inf)
    for draw in (rng.standard_normal, lambda size: rng.uniform(-np.sqrt(3), np.sqrt(3), size)):
        rows = draw(shape) * scale
        distances2 = squared_distances_between(rows[:SEEN_FROM], rows)
        np.fill_diagonal(distances2, np.inf)
        distance = nearest_rows(distances2, max(n_neighbors.values(), default=0))[1]
        for k, count in n_neighbors.items():
            shortest[k] = min(shortest[k], float(distance[:, :count].mean()))
    return shortest


# ---- the kernels ----

POWER, FLOOR = 3, 0.01
# Most functions of a graph of points: with 64, average precision on LetterRecognition as an array
# (100 labels) falls from .78 to .73. Graphs of prepared columns and texts have fewer.
MOST_FUNCTIONS = 200
# The ridges of ordinary kernels, as multiples of the user's; three together have the prior weight
# of two other kernels.
RIDGES = {"": 1.0, ", strong ridge": 10.0, ", weak ridge": 0.1}
ORDINARY_BELIEF = 2 / 3
# How fast the prior weight of a graph falls with the share of rows that no label reaches, and that
# of its first m functions if there are fewer than m labels.
BELIEF_POWER = 4
# With one label per class leaving one out says nothing: the prior weight of the first C functions
# is a power of the gap to the next eigenvalue, that is, of how far C clusters are apart, unless
# more clusters are twice as far apart.
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
    """The kernels; `graphs` with a positive prior weight, by number of neighbors. Without
    `structure` all have equal prior weights.
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
    def _function_counts(self) -> tuple[int, ...]:
        return self.n_classes + 1, 8 * self.n_classes

    def place(self, X: Any) -> Coordinates:
        """The coordinates of any rows; a row that equals one of the fit is in its place."""
        geometry, mass = self.geometry, self.geometry.mass
        prepared = geometry.prepare(X)
        products = geometry.products(prepared)
        distances2 = geometry.squared_distances(prepared, products)
        kernel = self.components.kernel(products, distances2, mass)
        components = self.components.place(kernel, mass)
        known = geometry.find(prepared)
        is_known = known >= 0
        known = known[is_known]
        components[is_known] = self.components.vectors[known]
        functions = {}
        if self.graphs:
            most = max(graph.n_neighbors for graph in self.graphs.values())
            nearest = nearest_rows(distances2, most)
            for k, graph in self.graphs.items():
                functions[k] = graph.place(*nearest, mass)
                functions[k][is_known] = graph.vectors[known]
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
        distances2 = squared_distances_between(P, Q)
        yield "component rbf", np.exp(distances2 * (-0.5 / self.components.white_median))
        counts = self._function_counts
        if self.structure is not None:
            counts = (self.n_classes, *counts)
        for k, graph in self.graphs.items():
            U = at.functions[k]
            V = graph.vectors[node]
            spectrum = (graph.lam + FLOOR) ** -POWER
            yield f"graph {k} smooth", (U * spectrum) @ V.T * (total / spectrum.sum())
            for count in counts:
                m = graph.smoothest(count)
                yield f"graph {k} first {count}", U[:, :m] @ V[:, :m].T * (total / m)

    def members(self, labeled_node: np.ndarray) -> list[Member]:
        """All members of the average, including those with prior weight 0; labels are not used."""
        structure = self.structure
        if structure is None:
            names = [name for k in self.graphs for name in self._graph_names(k)]
            names = [*self._plain, "components", "component rbf", *names]
            return [Member(name, name, 1.0, 1.0) for name in names]
        members = [
            Member(name + title, name, ridge, ORDINARY_BELIEF)
            for title, ridge in RIDGES.items()
            for name in self._plain
        ]
        beliefs = dict.fromkeys(("components", "component rbf"), structure.belief_in_components)
        for k in self.n_neighbors:
            beliefs |= self._beliefs_in_graph(k, labeled_node, structure)
        return members + [Member(name, name, 1.0, beliefs[name], True) for name in beliefs]

    def _graph_names(self, k: int) -> list[str]:
        firsts = [f"graph {k} first {count}" for count in self._function_counts]
        return [f"graph {k} smooth", *firsts]

    def _beliefs_in_graph(
        self, k: int, labeled_node: np.ndarray, structure: Structure
    ) -> dict[str, float]:
        """The prior weights of the kernels of a graph, by name."""
        if k not in self.graphs:
            return dict.fromkeys(self._graph_names(k), 0.0)
        graph = self.graphs[k]
        reached = graph.reached(labeled_node, self.geometry.mass)
        belief = structure.belief_in_graph(k) * reached**BELIEF_POWER
        n_labeled = len(labeled_node)
        enough = [min(1.0, n_labeled / count) ** BELIEF_POWER for count in self._function_counts]
        shares = dict(zip(self._graph_names(k), [1.0, *enough], strict=True))
        if belief > 0 and n_labeled <= self.n_classes:
            apart = _clusters_apart(graph.lam, self.n_classes)
            shares[f"graph {k} first {self.n_classes}"] = apart
        return {name: belief * share for name, share in shares.items()}


def _clusters_apart(lam: np.ndarray, n_classes: int) -> float:
    """The prior weight of the first C functions of a graph with these eigenvalues."""
    lam = lam + SMALLEST_EIGENVALUE
    gaps = (lam[1:] / lam[:-1])[n_classes - 1 : 8 * n_classes]
    stands_out = len(gaps) > 0 and gaps[0] > LARGEST_GAP * gaps.max()
    return float(gaps[0] ** GAP_POWER) if stands_out else 1.0


def make_library(
    X: Any,
    weight: np.ndarray,
    n_classes: int,
    *,
    n_neighbors: tuple[int, ...],
    is_cosine: bool,
    is_safe: bool,
    device: str = "cpu",
    n_functions: int = MOST_FUNCTIONS,
) -> tuple[KernelLibrary, np.ndarray, Coordinates]:
    """The library of some rows; for each the number of the distinct row that it equals, and
    those rows' coordinates.
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
        structure = find_structure(geometry, products, components, counts, lengths, device)
        links = {k: nearest for k, nearest in links.items() if structure.belief_in_graph(k) > 0}
    graphs = {k: make_graph(*nearest, mass, n_functions, device) for k, nearest in links.items()}
    library = KernelLibrary(n_classes, n_neighbors, geometry, components, graphs, structure)
    functions = {k: graph.vectors for k, graph in graphs.items()}
    return library, node, Coordinates(products, kernel, components.vectors, functions)


def _scale(total: float, trace: float) -> float:
    return total / trace if trace > 0 else 0.0
