"""The graph that stands for the manifold: each node linked to its nearest ones, and the Laplacian of the links.

    W        (n, n)  sparse, symmetric: W_ij > 0 where i is among the nearest nodes of j, or j among those of i
    mass     (n,)    how many rows a node stands for: the sample weights of equal rows, added up
    L        (n, n)  sparse: the penalty h' L h of values h at the nodes
    L^p              (L M^-1)^(p-1) L, M the masses: the power of the Laplacian of all rows, copies included

    combinatorial   h' L h = 1/2 sum_ij mass_i mass_j W_ij (h_i - h_j)^2
    normalized      h' L h = 1/2 sum_ij mass_i mass_j W_ij (h_i / sqrt(d_i) - h_j / sqrt(d_j))^2
                    d_i = sum_j W_ij mass_j

With all masses 1 these are D - W and I - D^-1/2 W D^-1/2. Nodes are the distinct rows (`equal_rows`): a row of
weight 2 is two rows, and ten copies of a row do not use up each other's neighbors.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

LINK_WEIGHTS = ("connectivity", "heat")


def graph_laplacian(
    links: sparse.csr_matrix, mass: np.ndarray, *, is_normalized: bool, power: int = 1
) -> sparse.csr_matrix:
    """L^power above from W."""
    degree = np.asarray(links @ mass)
    weighted = sparse.csr_matrix(links.multiply(mass[:, None]).multiply(mass))
    L = sparse.diags(np.asarray(weighted.sum(axis=1)).ravel()) - weighted
    if is_normalized:
        scale = sparse.diags(np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
        L = scale @ L @ scale
    first, per_row = L, sparse.diags(1 / mass)
    for _ in range(power - 1):
        L = L @ per_row @ first
    return sparse.csr_matrix(L)


def link_nearest(X: Any, n_neighbors: int, weights: str) -> sparse.csr_matrix:
    """W for rows of features, by Euclidean distance."""
    return _linked(NearestNeighbors(), X, n_neighbors, weights)


def link_nearest_by_kernel(K: np.ndarray, n_neighbors: int, weights: str) -> sparse.csr_matrix:
    """W for a kernel matrix, by distance in feature space: |x - z|^2 = k(x, x) + k(z, z) - 2 k(x, z)."""
    squares = np.diagonal(K)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * K, 0))
    return _linked(NearestNeighbors(metric="precomputed"), distances, n_neighbors, weights)


def _linked(search: NearestNeighbors, X: Any, n_neighbors: int, weights: str) -> sparse.csr_matrix:
    n_rows = X.shape[0]
    if n_rows == 1:  # there is no other node
        return sparse.csr_matrix((1, 1))
    search.fit(X)
    distances = search.kneighbors_graph(n_neighbors=min(n_neighbors, n_rows - 1), mode="distance")
    return _symmetric(distances, weights)


def _symmetric(distances: sparse.csr_matrix, weights: str) -> sparse.csr_matrix:
    """Weights from the distances of linked nodes; a link that one side asked for holds for both."""
    links = distances.copy()
    if weights == "connectivity":
        links.data[:] = 1.0
    else:
        width = distances.data.mean()
        links.data = np.exp(-0.5 * (distances.data / width) ** 2) if width > 0 else np.ones_like(links.data)
    return sparse.csr_matrix(links.maximum(links.T))
