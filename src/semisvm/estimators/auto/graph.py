"""The smoothest functions on a graph of nearest rows.

    W        (n, n)  sparse: W_ij = exp(-D2_ij / (2 s^2)) where j is one of the k nearest rows of i, or i of j
    s                the mean length of the links, those of a row counted by its mass
    degree   (n,)    d_i = sum_j W_ij mass_j
    lam      (r,)    the smallest eigenvalues of I - M^1/2 D^-1/2 W D^-1/2 M^1/2, ascending; M the masses
    vectors  (n, r)  its eigenvectors divided by M^1/2: functions of the rows, sum_i mass_i u_i^2 = 1

With all masses 1 this is the normalized Laplacian. A new row x is linked to its k nearest rows, and

    u(x) = sum_j w(x, j) mass_j u_j / sqrt(d(x) d_j) / (1 - lam)        where lam < 0.9; other functions are 0 there
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from semisvm.estimators.auto.eigen import largest_eigenpairs
from semisvm.estimators.auto.geometry import nearest_rows

MOST_VECTORS = 200
SMALLEST_LINK = 1e-9  # rows far from all others are still linked, however weakly
EXTENDED_BELOW = 0.9  # functions with a larger eigenvalue can't be continued to new rows
SAME_VALUE = 1e-8


@dataclass(frozen=True)
class GraphFunctions:
    """See the module's docstring; `piece` (n,) is the connected part of the graph that each row is in."""

    n_neighbors: int
    width: float
    degree: np.ndarray
    lam: np.ndarray
    vectors: np.ndarray
    piece: np.ndarray

    def smoothest(self, n_functions: int) -> int:
        """How many functions to take for the smoothest so many: never only some of those with equal eigenvalues."""
        last = self.lam[min(n_functions, len(self.lam)) - 1]
        return int(np.count_nonzero(self.lam <= last + SAME_VALUE))

    def reached(self, labeled: np.ndarray, mass: np.ndarray) -> float:
        """The share of the rows that are connected with a labeled one."""
        is_reached = np.isin(self.piece, self.piece[labeled])
        return float(mass[is_reached].sum() / mass.sum())

    def place(self, distances2: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The values of the functions at new rows, from their distances to the rows of the fit."""
        nearest, distance = nearest_rows(distances2, self.n_neighbors)
        link = _link_weight(distance, self.width) * mass[nearest]
        link /= np.sqrt(link.sum(axis=1, keepdims=True) * self.degree[nearest])
        is_extended = self.lam < EXTENDED_BELOW
        values = np.zeros((len(nearest), len(self.lam)))
        vectors = self.vectors[:, is_extended]
        found = sum(link[:, [j]] * vectors[nearest[:, j]] for j in range(self.n_neighbors))
        values[:, is_extended] = found / (1 - self.lam[is_extended])
        return values


def make_graph(nearest: np.ndarray, distance: np.ndarray, mass: np.ndarray) -> GraphFunctions:
    """The functions, from the nearest rows of each row and their distances, (n, k) both."""
    n, k = nearest.shape
    width = mean_link(distance, mass)
    starts = np.arange(0, n * k + 1, k)
    links = sparse.csr_matrix((_link_weight(distance, width).ravel(), nearest.ravel(), starts), shape=(n, n))
    links = sparse.csr_matrix(links.maximum(links.T))
    degree = np.asarray(links @ mass)
    scale = sparse.diags(np.sqrt(mass / degree))
    values, vectors = largest_eigenpairs(sparse.csr_matrix(scale @ links @ scale), min(MOST_VECTORS, max(n - 2, 1)))
    return GraphFunctions(
        n_neighbors=k,
        width=width,
        degree=degree,
        lam=np.maximum(1 - values, 0),
        vectors=vectors / np.sqrt(mass)[:, None],
        piece=connected_components(links, directed=False)[1],
    )


def mean_link(distance: np.ndarray, mass: np.ndarray) -> float:
    """The mean length of the links, those of a row counted by its mass; 1 where all lengths are 0."""
    width = float(mass @ distance.mean(axis=1) / mass.sum())
    return width if width > 0 else 1.0


def _link_weight(distance: np.ndarray, width: float) -> np.ndarray:
    return np.maximum(np.exp(-0.5 * (distance / width) ** 2), SMALLEST_LINK)
