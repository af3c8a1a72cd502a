"""Rows of one view: inner products, distances, nearest neighbors, and whitened components."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import squareform
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from semisvm.matrices import is_sparse_matrix

FEW_COMPONENTS = 50  # more of them are found by a randomized method
SMALLEST_VALUE = 1e-10  # of the largest eigenvalue
SAME_DISTANCE = 1e-9  # of the mean squared length: distances that differ by less are equal
MOST_ROWS_LAPACK, FEW_VECTORS = 200, 20  # above and below these, Lanczos is the faster one


def as_rows(X: Any) -> Any:
    """Dense rows, or sparse rows of length 1 (the cosine metric)."""
    if is_sparse_matrix(X):
        return normalize(sparse.csr_matrix(X, dtype=np.float64))
    return np.asarray(X, dtype=np.float64) + 0.0  # no -0.0


def keys_of(rows: Any) -> list[bytes]:
    """What each row holds, to find equal ones."""
    if is_sparse_matrix(rows):
        rows.sort_indices()
        return [
            rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in pairwise(rows.indptr)
        ]
    return [row.tobytes() for row in np.ascontiguousarray(rows)]


def centered_products(A: Any, B: Any, mean: np.ndarray) -> np.ndarray:
    """Inner products (m, n), the mean subtracted on both sides."""
    if not is_sparse_matrix(A):
        return (A - mean) @ (B - mean).T
    products = np.zeros((A.shape[0], B.shape[0]))
    columns = B.T.tocsr()
    _add_products(
        *(A.data, A.indices.astype(np.int32), A.indptr.astype(np.int64)),
        *(columns.data, columns.indices.astype(np.int32), columns.indptr.astype(np.int64)),
        products,
    )
    return products - (A @ mean)[:, None] - B @ mean + mean @ mean


@njit(nogil=True, cache=True)
def _add_products(data, indices, starts, of_columns, rows, column_starts, out):  # type: ignore[no-untyped-def]
    """Sparse rows times sparse columns, added to a dense matrix: SciPy's product is sparse, which
    takes twice as long where few numbers of it are 0.
    """
    for i in range(len(starts) - 1):
        for p in range(starts[i], starts[i + 1]):
            k = indices[p]
            for q in range(column_starts[k], column_starts[k + 1]):
                out[i, rows[q]] += data[p] * of_columns[q]


def centered_squares(rows: Any, mean: np.ndarray) -> np.ndarray:
    """Squared distances from the mean, (n,)."""
    if not is_sparse_matrix(rows):
        return ((rows - mean) ** 2).sum(axis=1)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.maximum(squares - 2 * (rows @ mean) + mean @ mean, 0)


def squared_distances(products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """|a|^2 + |b|^2 - 2 a'b, never negative."""
    distances2 = products * -2
    distances2 += left[:, None]
    distances2 += right
    return np.maximum(distances2, 0, out=distances2)


def between(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances between dense rows."""
    return squared_distances(A @ B.T, (A * A).sum(axis=1), (B * B).sum(axis=1))


def nearest_rows(distances2: np.ndarray, k: int, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest columns of each line, nearest first, and their distances. Of columns that are
    equally near, up to a `unit` of the squared distance, the first come first.
    """
    n = distances2.shape[1]
    place = np.minimum(distances2 / unit, 2.0**40)  # 2^40 units: no neighbor
    place = np.rint(place, out=place).astype(np.int64) * n + np.arange(n)
    nearest = np.argpartition(place, k - 1, axis=1)[:, :k] if k < n else np.argsort(place, axis=1)
    order = np.argsort(np.take_along_axis(place, nearest, axis=1), axis=1)
    nearest = np.take_along_axis(nearest, order, axis=1)
    return nearest, np.sqrt(np.take_along_axis(distances2, nearest, axis=1))


def median_of(distances2: np.ndarray) -> float:
    """The median over all pairs; the mean where most rows are equal, never 0."""
    pairs = squareform(distances2, checks=False)
    return float(np.median(pairs) if len(pairs) else 0) or float(distances2.mean()) or 1.0


def largest_eigenpairs(matrix: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,), falling, and orthonormal vectors (n, r) of a symmetric matrix."""
    n = len(matrix)
    n_vectors = min(n_vectors, n)
    if n > MOST_ROWS_LAPACK and n_vectors <= FEW_VECTORS:
        start: Any = np.random.default_rng(0).standard_normal(n)
        ncv = int(min(n - 1, 2 * n_vectors + 40))
        values, vectors = eigsh(matrix, n_vectors, which="LA", v0=start, ncv=ncv)
        falling = np.argsort(-values, kind="stable")
    else:
        values, vectors = eigh(matrix, subset_by_index=(n - n_vectors, n - 1))
        falling = np.arange(n_vectors)[::-1]
    return values[falling], vectors[:, falling]


@dataclass(frozen=True)
class Components:
    """The whitened components of the centered kernel Kc: eigenvalues (r,) and vectors (n, r)."""

    median: float | None  # the width of the Gaussian kernel; None with the cosine metric
    mass: np.ndarray
    column_mean: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    def kernel(self, products: np.ndarray, distances2: np.ndarray) -> np.ndarray:
        """Kc between any rows and those of the fit."""
        if self.median is None:
            return products
        K = np.exp(distances2 * (-0.5 / self.median))
        share = self.mass / self.mass.sum()
        return K - (K @ share)[:, None] - self.column_mean + self.column_mean @ share


def find_components(
    products: np.ndarray,
    distances2: np.ndarray,
    mass: np.ndarray,
    median: float | None,
    wanted: int,
) -> tuple[Components, np.ndarray]:
    """The components, and Kc between the rows of the fit."""
    column_mean = np.zeros(len(mass))
    if median is not None:
        column_mean = mass @ np.exp(distances2 * (-0.5 / median)) / mass.sum()
    none = np.empty(0)
    kernel = Components(median, mass, column_mean, none, none).kernel(products, distances2)
    root = np.sqrt(mass)
    weighted = kernel * root * root[:, None]
    if wanted > FEW_COMPONENTS:
        n_vectors = min(wanted, len(kernel))
        vectors, values, _ = randomized_svd(weighted, n_vectors, n_iter=4, random_state=0)
    else:
        values, vectors = largest_eigenpairs(weighted, wanted)
    is_real = values > SMALLEST_VALUE * max(values[0], 0)
    is_real[0] = True
    values = np.maximum(values[is_real], np.finfo(float).tiny)
    vectors = vectors[:, is_real] / root[:, None]
    return Components(median, mass, column_mean, values, vectors), kernel
