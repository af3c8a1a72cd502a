"""The rows that the kernels are made from, and how far other rows are from them.

    rows      (n, d)  the distinct rows; scaled to length 1 with the cosine metric
    mass      (n,)    how many rows each of them stands for: the sample weights of equal rows, added up
    mean      (d,)    the mean row, each counted by its mass
    squares   (n,)    squared lengths after the mean is subtracted

Inner products are taken after the mean is subtracted; squared distances follow from them, and sparse rows stay sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from semisvm.errors import UndefinedError
from semisvm.estimators.equal_rows import find_equal_rows

CHUNK_NUMBERS = 4_000_000  # of the distances that are held at a time while new rows are scored: 32 MB
FEW_VECTORS = 20  # so few are found by Lanczos with products of the dense matrix
MOST_ROWS_EIGH = 2000


@dataclass(frozen=True)
class Geometry:
    """See the module's docstring; `is_cosine` says which metric it is."""

    rows: Any
    mass: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    is_cosine: bool

    @property
    def n_rows(self) -> int:
        return len(self.mass)

    @property
    def total(self) -> float:
        """How many rows there are, each counted by its mass."""
        return float(self.mass.sum())

    def prepare(self, X: Any) -> Any:
        """Rows of the user as this geometry measures them: sparse where its own are."""
        if sparse.issparse(self.rows):
            X = sparse.csr_matrix(X)
        elif sparse.issparse(X):
            X = X.toarray()
        return as_rows(X, is_cosine=self.is_cosine)

    def products(self, prepared: Any) -> np.ndarray:
        """Inner products with the rows, (m, n), the mean subtracted on both sides."""
        return _centered_products(prepared, self.rows, self.mean)

    def squared_distances(self, prepared: Any, products: np.ndarray) -> np.ndarray:
        """Squared distances to the rows, (m, n), from the inner products."""
        return squared_distances_from(products, _centered_squares(prepared, self.mean), self.squares)

    def find(self, prepared: Any) -> np.ndarray:
        """For each row the number of the row here that it equals, -1 where there is none."""
        stack = sparse.vstack([self.rows, prepared], format="csr") if sparse.issparse(prepared) else None
        together = np.concatenate([self.rows, prepared]) if stack is None else stack
        found = find_equal_rows(together).group[self.n_rows :]
        return np.where(found < self.n_rows, found, -1)


def make_geometry(X: Any, weight: np.ndarray, *, is_cosine: bool) -> tuple[Geometry, np.ndarray]:
    """The geometry of some rows, and for each of them the number of the distinct row that it equals."""
    prepared = as_rows(X, is_cosine=is_cosine)
    equal = find_equal_rows(prepared)
    rows, mass = prepared[equal.first], equal.total(weight)
    mean = np.asarray(mass @ rows).ravel() / mass.sum()
    return Geometry(rows, mass, mean, _centered_squares(rows, mean), is_cosine), equal.group


def as_rows(X: Any, *, is_cosine: bool) -> Any:
    """Dense or CSR rows of float64; of length 1 where the metric is the cosine, but for rows of zeros."""
    X = sparse.csr_matrix(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if not is_cosine:
        return X
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else (X * X).sum(axis=1)
    length = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    length[length == 0] = 1
    return sparse.csr_matrix(sparse.diags(1 / length) @ X) if sparse.issparse(X) else X / length[:, None]


def squared_distances_from(products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """|a|^2 + |b|^2 - 2 a'b, never negative."""
    distances = products * -2
    distances += left[:, None]
    distances += right
    return np.maximum(distances, 0, out=distances)


def squared_distances_between(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances between dense rows."""
    return squared_distances_from(A @ B.T, (A * A).sum(axis=1), (B * B).sum(axis=1))


def nearest_rows(distances2: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest columns of each line, nearest first: their numbers and distances, (m, n_neighbors)."""
    nearest = np.argpartition(distances2, n_neighbors - 1, axis=1)[:, :n_neighbors]
    squared = np.take_along_axis(distances2, nearest, axis=1)
    order = np.argsort(squared, axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1), np.sqrt(np.take_along_axis(squared, order, axis=1))


def median_distance2(distances2: np.ndarray, mass: np.ndarray) -> float:
    """The median over all pairs of rows, copies of a row included; never 0."""
    upper = np.triu_indices(len(mass), 1)
    values = distances2[upper]
    if (mass == 1).all():
        found = float(np.median(values)) if len(values) else 0.0
    else:
        copies = np.maximum(mass * (mass - 1) / 2, 0).sum()
        found = _weighted_median(np.append(values, 0.0), np.append(mass[upper[0]] * mass[upper[1]], copies))
    if found > 0:
        return found
    mean = float(mass @ distances2 @ mass) / float(mass.sum()) ** 2  # most rows are equal
    return mean if mean > 0 else 1.0


def chunks_of(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Parts of `n_rows` rows whose distances to `n_columns` others fit in the memory meant for them."""
    height = max(1, CHUNK_NUMBERS // max(n_columns, 1))
    return (slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height))


def _weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    half = below[-1] / 2
    at = int(np.searchsorted(below, half * (1 - 1e-12)))
    is_between = at + 1 < len(values) and abs(below[at] - half) <= 1e-12 * half
    return float(values[order[at]] + values[order[at + 1]]) / 2 if is_between else float(values[order[at]])


def _centered_squares(rows: Any, mean: np.ndarray) -> np.ndarray:
    if not sparse.issparse(rows):
        centered = rows - mean
        return np.einsum("ij,ij->i", centered, centered)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.maximum(squares - 2 * (rows @ mean) + mean @ mean, 0)


def _centered_products(A: Any, B: Any, mean: np.ndarray) -> np.ndarray:
    if not sparse.issparse(A):
        return (A - mean) @ (B - mean).T
    products = (A @ B.T).toarray()
    products -= (A @ mean)[:, None]
    products -= B @ mean
    products += mean @ mean
    return products


def largest_eigenpairs(matrix: Any, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,), largest first, and orthonormal vectors (n, r) of a dense or sparse symmetric matrix."""
    if not np.isfinite(matrix.data if sparse.issparse(matrix) else matrix).all():
        raise UndefinedError("Distances between these rows are not finite in float64. Scale the features to near 1.")
    n = matrix.shape[0]
    n_vectors = min(n_vectors, n)
    is_few = n_vectors <= FEW_VECTORS and n > 10 * FEW_VECTORS
    if (is_few and not sparse.issparse(matrix)) or (n > MOST_ROWS_EIGH and n > 4 * n_vectors):
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(matrix, k=n_vectors, which="LA", v0=start, ncv=min(n - 1, 2 * n_vectors + 40))
    else:
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        values, vectors = eigh(dense, subset_by_index=(n - n_vectors, n - 1))
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
