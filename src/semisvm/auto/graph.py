"""The graph of nearest rows, and its smoothest functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from semisvm.auto.geometry import largest_eigenpairs

SMALLEST_LINK = 1e-9
EXTENDED_BELOW = 0.9  # functions with a larger eigenvalue can't be continued to new rows
SAME_VALUE = 1e-8
ROWS_PER_FUNCTION = 10  # from so many rows per function on, Lanczos is faster than LAPACK


@dataclass(frozen=True)
class Graph:
    """The smoothest functions (n, r) on the graph of nearest rows, their eigenvalues (r,), the mean
    length of links, the degrees (n,) and the connected piece (n,) that each row is in.
    """

    n_neighbors: int
    width: float
    mass: np.ndarray
    degree: np.ndarray
    lam: np.ndarray
    vectors: np.ndarray
    piece: np.ndarray

    def smoothest(self, m: int) -> int:
        """How many functions to take for the smoothest m: all of those with equal eigenvalues."""
        return int(np.count_nonzero(self.lam <= self.lam[min(m, len(self.lam)) - 1] + SAME_VALUE))

    @property
    def extension(self) -> np.ndarray:
        """(n, r) what one link to each row adds to the functions at a new row."""
        is_extended = self.lam < EXTENDED_BELOW
        factor = np.divide(1, 1 - self.lam, out=np.zeros(len(self.lam)), where=is_extended)
        return self.vectors * factor / np.sqrt(self.degree)[:, None]

    def extend(self, nearest: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """The functions at new rows: sum_j w_j u_j / sqrt(d d_j) / (1 - lam) over the k nearest
        rows, d = sum_j w_j.
        """
        nearest, distance = nearest[:, : self.n_neighbors], distance[:, : self.n_neighbors]
        link = link_weight(distance, self.width) * self.mass[nearest]
        link /= np.sqrt(link.sum(axis=1, keepdims=True))
        starts = np.arange(0, link.size + 1, link.shape[1])
        shape = (len(nearest), len(self.vectors))
        return sparse.csr_matrix((link.ravel(), nearest.ravel(), starts), shape) @ self.extension


def link_weight(distance: np.ndarray, width: float) -> np.ndarray:
    return np.maximum(np.exp(-0.5 * (distance / width) ** 2), SMALLEST_LINK)


def mean_link(distance: np.ndarray, mass: np.ndarray) -> float:
    """The mean length of links, never 0."""
    return float(mass @ distance.mean(axis=1) / mass.sum()) or 1.0


def make_graph(
    nearest: np.ndarray, distance: np.ndarray, mass: np.ndarray, n_functions: int
) -> Graph:
    """The graph of rows of which one at least is among the nearest of the other."""
    n, k = nearest.shape
    width = mean_link(distance, mass)
    starts = np.arange(0, n * k + 1, k)
    weight = link_weight(distance, width).ravel()
    links = sparse.csr_matrix((weight, nearest.ravel(), starts), shape=(n, n))
    links = sparse.csr_matrix(links.maximum(links.T))
    degree = np.asarray(links @ mass)
    scale = sparse.diags(np.sqrt(mass / degree))
    matrix = sparse.csr_matrix(scale @ links @ scale)
    piece = connected_components(links, directed=False)[1]
    n_functions = min(n_functions, max(n - 2, 1))
    if n > ROWS_PER_FUNCTION * n_functions:
        values, vectors = _lanczos(matrix, piece, np.sqrt(mass * degree), n_functions)
    else:
        values, vectors = largest_eigenpairs(matrix.toarray(), n_functions)
    vectors = vectors / np.sqrt(mass)[:, None]
    return Graph(k, width, mass, degree, np.maximum(1 - values, 0), vectors, piece)


def _lanczos(
    matrix: Any, piece: np.ndarray, first: np.ndarray, n_functions: int
) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenpairs, falling. Every connected piece has the eigenvalue 1, of which Lanczos
    finds one vector: these are given, `first` on the piece, and the matrix has -1 in their place.
    """
    n = len(piece)
    order = np.argsort(-np.bincount(piece), kind="stable")[:n_functions]
    length = np.sqrt(np.bincount(piece, first**2))
    known = sparse.csr_matrix((first / length[piece], (np.arange(n), piece)))[:, order].tocsr()
    n_more = n_functions - len(order)
    if not n_more:
        return np.ones(len(order)), known.toarray()
    operator = LinearOperator(
        (n, n), matvec=lambda v: matrix @ v - 2 * (known @ (known.T @ v)), dtype=np.float64
    )
    start = np.random.default_rng(0).standard_normal(n)
    ncv = min(n - 1, 3 * n_more // 2 + 40)
    values, vectors = eigsh(operator, n_more, which="LA", v0=start, ncv=ncv, tol=1e-8)
    falling = np.argsort(-values, kind="stable")
    values = np.append(np.ones(len(order)), values[falling])
    return values, np.hstack([known.toarray(), vectors[:, falling]])
