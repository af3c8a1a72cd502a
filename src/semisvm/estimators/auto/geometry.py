"""The rows that the kernels are made from, and how far other rows are from them.

    rows      (n, d)  the distinct rows; scaled to length 1 with the cosine metric
    mass      (n,)    how many rows each of them stands for: the sample weights of equal rows, added
              up
    mean      (d,)    the mean row, each counted by its mass
    squares   (n,)    squared lengths after the mean is subtracted

Inner products are taken after the mean is subtracted; squared distances follow from them, and
sparse rows stay sparse.

**Components**, each row counted by its mass:

    K0        (n, n)  exp(-D2 / (2 median D2)), or the inner products with the cosine metric
    Kc        (n, n)  K0 with the mean of the mapped rows subtracted
    values    (r,)    the largest eigenvalues of M^1/2 Kc M^1/2, M the diagonal matrix of masses
    vectors   (n, r)  its eigenvectors divided by M^1/2: the whitened components of the rows, sum_i
              mass_i v_i^2 = 1

A new row x has the components Kc(x, .) M v / value.

**The smoothest functions on a graph of nearest rows**:

    W        (n, n)  sparse: W_ij = exp(-D2_ij / (2 s^2)) where j is one of the k nearest rows of i,
             or i of j
    s                the mean length of the links, those of a row counted by its mass
    degree   (n,)    d_i = sum_j W_ij mass_j
    lam      (r,)    the smallest eigenvalues of I - M^1/2 D^-1/2 W D^-1/2 M^1/2, ascending; M the
             masses
    vectors  (n, r)  its eigenvectors divided by M^1/2: functions of the rows, sum_i mass_i u_i^2 =
             1

With all masses 1 this is the normalized Laplacian. A new row x is linked to its k nearest rows, and

    u(x) = sum_j w(x, j) mass_j u_j / sqrt(d(x) d_j) / (1 - lam)        where lam < 0.9; other
    functions are 0 there
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.spatial.distance import squareform
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from semisvm.estimators.equal_rows import find_equal_rows
from semisvm.kernels.sources import sparse_products
from semisvm.kernels.spectrum import largest_eigenpairs, weighted_median
from semisvm.matrices import as_dense, is_sparse_matrix, stack_rows

# Where the largest number of all rows is less, it is the unit: squares would be lost.
LEAST_NUMBER = 1e-100
CHUNK_NUMBERS = 4_000_000  # distances held at a time while new rows are scored: 32 MB
# Columns that more than this share of sparse rows fill are multiplied as dense ones, where a
# product has so many terms: 2,000 texts by groups of characters in 0.45 instead of 0.9 s.
FILLED_SHARE, WORTH_SPLITTING = 0.2, 30_000_000


@dataclass(frozen=True)
class Geometry:
    """See the module's docstring; `is_cosine` says which metric it is, and rows are multiples of
    a `unit`.
    """

    rows: Any
    mass: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    is_cosine: bool
    unit: float = 1.0

    @property
    def n_rows(self) -> int:
        return len(self.mass)

    @property
    def total(self) -> float:
        """How many rows there are, each counted by its mass."""
        return float(self.mass.sum())

    def prepare(self, X: Any) -> Any:
        """Rows of the user as this geometry measures them: sparse where its own are."""
        X = sparse.csr_matrix(X) if is_sparse_matrix(self.rows) else as_dense(X)
        return as_rows(X, is_cosine=self.is_cosine, unit=self.unit)

    def products(self, prepared: Any) -> np.ndarray:
        """Inner products with the rows, (m, n), the mean subtracted on both sides."""
        return _centered_products(prepared, self.rows, self.mean)

    def uncentered(self, products: np.ndarray) -> np.ndarray:
        """Inner products between the rows themselves from those after the mean is subtracted."""
        of_mean = self.rows @ self.mean
        return products + of_mean + of_mean[:, None] - self.mean @ self.mean

    def squared_distances(self, prepared: Any, products: np.ndarray) -> np.ndarray:
        """Squared distances to the rows, (m, n), from the inner products."""
        return squared_distances_from(
            products, _centered_squares(prepared, self.mean), self.squares
        )

    def find(self, prepared: Any) -> np.ndarray:
        """For each row the number of the row here that it equals, -1 where there is none."""
        number = find_equal_rows(stack_rows([self.rows, prepared])).group[self.n_rows :]
        return np.where(number < self.n_rows, number, -1)


def make_geometry(X: Any, weight: np.ndarray, *, is_cosine: bool) -> tuple[Geometry, np.ndarray]:
    """The geometry of some rows, and for each of them the number of the distinct row that it
    equals.
    """
    largest = float(abs(X).max()) if 0 not in X.shape else 0.0
    unit = 2.0 ** max(int(np.frexp(largest)[1]), -1000) if 0 < largest < LEAST_NUMBER else 1.0
    prepared = as_rows(X, is_cosine=is_cosine, unit=unit)
    equal = find_equal_rows(prepared)
    rows = prepared[equal.first]
    mass = equal.total(weight)
    mean = np.asarray(mass @ rows).ravel() / mass.sum()
    return Geometry(rows, mass, mean, _centered_squares(rows, mean), is_cosine, unit), equal.group


def as_rows(X: Any, *, is_cosine: bool, unit: float = 1.0) -> Any:
    """Dense or CSR rows of float64; of length 1 where the metric is the cosine, except for rows
    of zeros.
    """
    kind = sparse.csr_matrix if is_sparse_matrix(X) else np.asarray
    X = kind(X, dtype=np.float64)
    X = X if unit == 1 else X / unit
    return normalize(X) if is_cosine else X


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
    """The nearest columns of each line, nearest first: their numbers and distances, (m,
    n_neighbors).
    """
    nearest = np.argpartition(distances2, n_neighbors - 1, axis=1)[:, :n_neighbors]
    squared = np.take_along_axis(distances2, nearest, axis=1)
    order = np.argsort(squared, axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1), np.sqrt(
        np.take_along_axis(squared, order, axis=1)
    )


def median_distance2(distances2: np.ndarray, mass: np.ndarray) -> float:
    """The median over all pairs of rows, copies of a row included; never 0."""
    values = squareform(distances2, checks=False)
    if (mass == 1).all():
        median = float(np.median(values)) if len(values) else 0.0
    else:
        copies = np.maximum(mass * (mass - 1) / 2, 0).sum()
        pairs = squareform(np.outer(mass, mass), checks=False)
        median = weighted_median(np.append(values, 0.0), np.append(pairs, copies))
    if median > 0:
        return median
    mean = float(mass @ distances2 @ mass) / float(mass.sum()) ** 2  # most rows are equal
    return mean if mean > 0 else 1.0


def chunks_of(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Parts of `n_rows` rows whose distances to `n_columns` others fit in the memory meant for
    them.
    """
    return gen_batches(n_rows, max(1, CHUNK_NUMBERS // max(n_columns, 1)))


def _centered_squares(rows: Any, mean: np.ndarray) -> np.ndarray:
    if not is_sparse_matrix(rows):
        centered = rows - mean
        return np.einsum("ij,ij->i", centered, centered)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.maximum(squares - 2 * (rows @ mean) + mean @ mean, 0)


def _centered_products(A: Any, B: Any, mean: np.ndarray) -> np.ndarray:
    if not is_sparse_matrix(A):
        return (A - mean) @ (B - mean).T
    products = _products_of_texts(A, B)
    products -= (A @ mean)[:, None]
    products -= B @ mean
    products += mean @ mean
    return products


def _products_of_texts(A: Any, B: Any) -> np.ndarray:
    """A B' of sparse rows, by a dense product in the columns that many rows fill: these have most
    of the terms, and a dense product takes a tenth of the time per term.
    """
    both = [A] if A is B else [A, B]
    filled = [np.bincount(rows.indices, minlength=rows.shape[1]) for rows in both]
    n_terms = filled[0] * filled[-1]
    is_filled = n_terms > FILLED_SHARE**2 * A.shape[0] * B.shape[0]
    if n_terms.sum() < WORTH_SPLITTING:
        return sparse_products(A, B)
    columns = [sparse.csc_matrix(rows) for rows in both]
    rest = [sparse.csr_matrix(rows[:, ~is_filled]) for rows in columns]
    products = sparse_products(rest[0], rest[-1])
    dense = [rows[:, is_filled].toarray() for rows in columns]
    products += dense[0] @ dense[-1].T
    return products


# ---- components and functions on a graph ----

SMALLEST_VALUE = 1e-10  # of the largest eigenvalue: below it, components are rounding errors
SMALLEST_LINK = 1e-9  # rows far from all others are still linked, however weakly
EXTENDED_BELOW = 0.9  # functions with a larger eigenvalue can't be continued to new rows
SAME_VALUE = 1e-8
# From so many rows per function on, Lanczos finds them faster than LAPACK: 64 functions of 1,000
# rows in 0.05 instead of 0.10 s, of 2,000 rows in 0.14 instead of 0.69 s.
ROWS_PER_FUNCTION = 10
LANCZOS_TOL = 1e-8  # relative, of eigenvalues; those of eight graphs of texts differed by 1e-14


@dataclass(frozen=True)
class KernelComponents:
    """See the module's docstring.

    median        the median squared distance, the width of K0; None with the cosine metric
    column_mean   (n,) mean of each column of K0; `mean` is that of all its entries
    trace         of Kc, each row counted by its mass
    white_median  the median squared distance between rows in the whitened components
    """

    median: float | None
    column_mean: np.ndarray
    mean: float
    trace: float
    values: np.ndarray
    vectors: np.ndarray
    white_median: float

    def kernel(self, products: np.ndarray, distances2: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Kc between some rows and those of the fit."""
        if self.median is None:
            return products
        K = _gaussian(distances2, self.median)
        K -= (K @ mass / mass.sum())[:, None]
        K -= self.column_mean
        K += self.mean
        return K

    def place(self, kernel: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The components of rows from their lines of Kc."""
        return kernel @ (mass[:, None] * self.vectors / self.values)


def make_components(
    geometry: Geometry,
    products: np.ndarray,
    distances2: np.ndarray,
    n_components: int,
    device: str = "cpu",
) -> tuple[KernelComponents, np.ndarray]:
    """The components, and Kc between the rows of the fit."""
    mass = geometry.mass
    total = geometry.total
    if geometry.is_cosine:
        median = None
        column_mean = np.zeros(len(mass))
        mean = 0.0
        kernel = products
    else:
        median = median_distance2(distances2, mass)
        kernel = _gaussian(distances2, median)
        column_mean = mass @ kernel / total
        mean = float(mass @ column_mean / total)
        kernel -= column_mean
        kernel -= column_mean[:, None]
        kernel += mean
    values, vectors = whitened_components(kernel, mass, n_components, device)
    white_median = median_distance2(squared_distances_between(vectors, vectors), mass)
    trace = float(mass @ np.diagonal(kernel))
    return KernelComponents(median, column_mean, mean, trace, values, vectors, white_median), kernel


def whitened_components(
    kernel: np.ndarray, mass: np.ndarray, n_components: int, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues and vectors of the module's docstring; at least one."""
    root = np.sqrt(mass)
    weighted: Any = kernel if (mass == 1).all() else kernel * root * root[:, None]
    values, vectors = largest_eigenpairs(weighted, n_components, device)
    if not len(values):  # what LAPACK returns where rounding leaves nothing
        raise ValueError(
            f"sample_weight ranges from {mass.min():.3g} to {mass.max():.3g}, which is too wide to"
            " compute with. Use weights that differ less."
        )
    is_real = values > SMALLEST_VALUE * max(float(values[0]), 0.0)
    is_real[0] = True
    values = np.maximum(values[is_real], np.finfo(float).tiny)
    vectors = vectors[:, is_real]
    return values, vectors / root[:, None]


def _gaussian(distances2: np.ndarray, median: float) -> np.ndarray:
    kernel = distances2 * (-0.5 / median)
    return np.exp(kernel, out=kernel)


@dataclass(frozen=True)
class GraphFunctions:
    """See the module's docstring; `piece` (n,) is the connected part of the graph that each row
    is in.
    """

    n_neighbors: int
    width: float
    degree: np.ndarray
    lam: np.ndarray
    vectors: np.ndarray
    piece: np.ndarray

    def smoothest(self, n_functions: int) -> int:
        """How many functions to take for the smoothest so many: never only some of those with
        equal eigenvalues.
        """
        last = self.lam[min(n_functions, len(self.lam)) - 1]
        return int(np.count_nonzero(self.lam <= last + SAME_VALUE))

    def reached(self, labeled_node: np.ndarray, mass: np.ndarray) -> float:
        """The share of the rows that are connected with a labeled one."""
        is_reached = np.isin(self.piece, self.piece[labeled_node])
        return float(mass[is_reached].sum() / mass.sum())

    def place(self, nearest: np.ndarray, distance: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The values of the functions at new rows, from their nearest rows of the fit and their
        distances.
        """
        nearest = nearest[:, : self.n_neighbors]
        distance = distance[:, : self.n_neighbors]
        link = _link_weight(distance, self.width) * mass[nearest]
        link /= np.sqrt(link.sum(axis=1, keepdims=True) * self.degree[nearest])
        is_extended = self.lam < EXTENDED_BELOW
        values = np.zeros((len(nearest), len(self.lam)))
        vectors = self.vectors[:, is_extended]
        sums = sum(link[:, [j]] * vectors[nearest[:, j]] for j in range(self.n_neighbors))
        values[:, is_extended] = sums / (1 - self.lam[is_extended])
        return values


def make_graph(
    nearest: np.ndarray,
    distance: np.ndarray,
    mass: np.ndarray,
    n_functions: int,
    device: str = "cpu",
) -> GraphFunctions:
    """The smoothest functions, from the nearest rows of each row and their distances, (n, k)
    both; found on a device.

    scikit-learn's `kneighbors_graph` would compute the distances a second time, and SciPy's
    `laplacian` is no shorter, with masses in the weights, than the four lines below.
    """
    n, k = nearest.shape
    width = mean_link(distance, mass)
    starts = np.arange(0, n * k + 1, k)
    links = sparse.csr_matrix(
        (_link_weight(distance, width).ravel(), nearest.ravel(), starts), shape=(n, n)
    )
    links = sparse.csr_matrix(links.maximum(links.T))
    degree = np.asarray(links @ mass)
    scale = sparse.diags(np.sqrt(mass / degree))
    matrix = sparse.csr_matrix(scale @ links @ scale)
    piece = connected_components(links, directed=False)[1]
    n_functions = min(n_functions, max(n - 2, 1))
    if device == "cpu" and n > ROWS_PER_FUNCTION * n_functions and np.isfinite(matrix.data).all():
        values, vectors = _lanczos(matrix, piece, np.sqrt(mass * degree), n_functions)
    else:
        values, vectors = largest_eigenpairs(matrix, n_functions, device)
    return GraphFunctions(
        n_neighbors=k,
        width=width,
        degree=degree,
        lam=np.maximum(1 - values, 0),
        vectors=vectors / np.sqrt(mass)[:, None],
        piece=piece,
    )


def _lanczos(
    matrix: Any, piece: np.ndarray, first: np.ndarray, n_functions: int
) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of the matrix of a graph, falling, and their vectors.

    The eigenvalue 1 belongs to every connected piece of the graph, with `first` there and 0
    elsewhere as its vector. Lanczos finds one vector of a repeated eigenvalue, not all of them, so
    these are given: the matrix has -1 in their place. Of more pieces than functions the largest
    are taken.
    """
    n = len(piece)
    size = np.bincount(piece)
    order = np.argsort(-size, kind="stable")[:n_functions]
    length = np.sqrt(np.bincount(piece, first**2))
    indicators = sparse.csc_matrix((first / length[piece], (np.arange(n), piece)))[:, order]
    n_more = n_functions - len(order)
    values = np.ones(len(order))
    vectors = indicators.toarray()
    if n_more:
        by_row = sparse.csr_matrix(indicators)
        by_piece = sparse.csr_matrix(indicators.T)

        def times(v: np.ndarray) -> np.ndarray:
            return matrix @ v - 2 * (by_row @ (by_piece @ v))

        operator = LinearOperator((n, n), matvec=times, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        n_basis = min(n - 1, 3 * n_more // 2 + 40)
        more, vectors_of_more = eigsh(
            operator, n_more, which="LA", v0=start, ncv=n_basis, tol=LANCZOS_TOL
        )
        falling = np.argsort(-more, kind="stable")
        values = np.append(values, more[falling])
        vectors = np.hstack([vectors, vectors_of_more[:, falling]])
    return values, vectors


def mean_link(distance: np.ndarray, mass: np.ndarray) -> float:
    """The mean length of the links, those of a row counted by its mass; 1 where all lengths are
    0.
    """
    width = float(mass @ distance.mean(axis=1) / mass.sum())
    return width if width > 0 else 1.0


def _link_weight(distance: np.ndarray, width: float) -> np.ndarray:
    return np.maximum(np.exp(-0.5 * (distance / width) ** 2), SMALLEST_LINK)
