"""Graphs of data rows: each node is linked to its nearest ones, and the Laplacian of the graph
penalizes functions that change along its links.

    W        (n, n)  sparse, symmetric: W_ij > 0 where i is near j or j near i
    mass     (n,)    how many rows a node stands for: the sample weights of equal rows, added up
    L        (n, n)  sparse: the penalty h' L h of values h at the nodes
    L^p              (L M^-1)^(p-1) L, M the masses: the power of the Laplacian of all rows, copies
                     included. Even powers have a root, M^-1/2 L^(p/2).

    h' L h = 1/2 sum_ij mass_i mass_j W_ij (h_i / sqrt(d_i) - h_j / sqrt(d_j))^2
    d_i = sum_j W_ij mass_j

With all masses 1 this is I - D^-1/2 W D^-1/2, the normalized Laplacian. Nodes are distinct rows: a
row of weight 2 is two rows, and ten copies of a row do not use up each other's neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import laplacian
from sklearn.neighbors import kneighbors_graph

from semisvm.engine.parallel import libraries_on_one_thread


@dataclass(frozen=True)
class GraphPenalty:
    """The penalty, and a sparse root of it where one is known; a factor multiplies both."""

    matrix: sparse.csr_matrix
    root: sparse.csr_matrix | None = None

    def __rmul__(self, factor: float) -> GraphPenalty:
        root = None if self.root is None else np.sqrt(factor) * self.root
        return GraphPenalty(factor * self.matrix, root)


def graph_penalty(links: sparse.csr_matrix, mass: np.ndarray, *, power: int) -> GraphPenalty:
    """L^power from W, with the root that even powers have."""
    root = None
    if power % 2 == 0:
        half = _power_of_laplacian(links, mass, power // 2)
        root = sparse.csr_matrix(sparse.diags(1 / np.sqrt(mass)) @ half)
    return GraphPenalty(_power_of_laplacian(links, mass, power), root)


def _power_of_laplacian(
    links: sparse.csr_matrix, mass: np.ndarray, power: int
) -> sparse.csr_matrix:
    degree = np.asarray(links @ mass)
    root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    weighted = sparse.csr_matrix(links.multiply(mass[:, None]).multiply(mass))
    scale: Any = sparse.diags(root)
    first = L = scale @ laplacian(weighted) @ scale
    for _ in range(power - 1):
        L = L @ sparse.diags(1 / mass) @ first
    return sparse.csr_matrix(L)


def link_nearest(X: Any, n_neighbors: int) -> sparse.csr_matrix:
    """W for rows of features, by Euclidean distance."""
    return _linked(X, n_neighbors, "minkowski")


def link_nearest_by_kernel(K: np.ndarray, n_neighbors: int) -> sparse.csr_matrix:
    """W by distance in feature space: |x - z|^2 = k(x, x) + k(z, z) - 2 k(x, z)."""
    squares = np.diagonal(K)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * K, 0))
    return _linked(distances, n_neighbors, "precomputed")


def _linked(X: Any, n_neighbors: int, metric: str) -> sparse.csr_matrix:
    """Links of nearest rows that weigh exp(-d^2 / (2 s^2)), s the mean distance of linked rows."""
    n_rows = X.shape[0]
    if n_rows == 1:  # there is no other node
        return sparse.csr_matrix((1, 1))
    with libraries_on_one_thread():
        links = kneighbors_graph(X, min(n_neighbors, n_rows - 1), mode="distance", metric=metric)
    width = links.data.mean()
    links.data = np.exp(-0.5 * (links.data / width) ** 2) if width > 0 else np.ones(links.nnz)
    # A link that one side asked for holds for both.
    return sparse.csr_matrix(links.maximum(links.T))


def sample_nodes(
    n_nodes: int, columns: np.ndarray, most: int, most_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` nodes, and which of them are of `columns`: as many as are allowed."""

    def sample(nodes: np.ndarray, most: int) -> np.ndarray:
        rng = np.random.default_rng(0)
        return np.sort(rng.choice(nodes, min(len(nodes), most), replace=False))

    others = np.delete(np.arange(n_nodes), columns)
    columns = sample(columns, most_columns)
    return np.sort(np.append(columns, sample(others, most - len(columns)))), columns
