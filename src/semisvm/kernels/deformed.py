"""A kernel deformed by a graph of the data rows: a quadratic penalty on the values of f there, by linear solves alone.

    K         (n, n)  kernel matrix of the data rows
    penalty   (n, n)  sparse, symmetric, positive semi-definite: h' penalty h is added to |w|^2, where h_i = <w, x_i>
    columns   (m,)    the rows that a machine is trained on

The norm |w|^2 + h' penalty h belongs to another kernel (Sindhwani, Niyogi and Belkin 2005):

    k~(x, z) = k(x, z) - k_x' (I + penalty K)^-1 penalty k_z

A machine needs it only between its m rows, and its expansion in k~ is an ordinary one over all rows: with

    (I + penalty K) Z = E        E the columns of the identity, Z of shape (n, m)

the values K~[:, columns] are K Z, and beta on the columns corresponds to the coefficients Z beta in k. So m systems are
solved and no inverse is computed. There are three ways:

* directly, by LU factors: 2/3 n^3 operations, two matrices of n^2 float64;
* directly, by Cholesky factors of S, where a sparse root of the penalty is known (B' B = penalty): 1/3 n^3 operations,
  one matrix of n^2 float64 beside K;

      Z = E - B' S^-1 B K E        S = I + B K B'

* by conjugate gradients in the inner product <a, b> = a' K b, in which I + penalty K is self-adjoint and at least I:
  one product of K with (n, m) per step, one matrix of n^2, or none if it does not fit and its rows are made again.
  The residual bounds the error: |K~ - found| <= |r|_K sqrt(k(x, x)) at any row x.

A solution may have to be there by a *deadline* on the clock of `time.perf_counter`. It is looked at between the steps,
and a TimeoutError is raised once it has passed; conjugate gradients return how far they have come.

The penalty is the Laplacian of a graph that stands for the manifold: each node is linked to its nearest ones.

    W        (n, n)  sparse, symmetric: W_ij > 0 where i is among the nearest nodes of j, or j among those of i
    mass     (n,)    how many rows a node stands for: the sample weights of equal rows, added up
    L        (n, n)  sparse: the penalty h' L h of values h at the nodes
    L^p              (L M^-1)^(p-1) L, M the masses: the power of the Laplacian of all rows, copies included.
                     Even powers have a root, M^-1/2 L^(p/2).

    combinatorial   h' L h = 1/2 sum_ij mass_i mass_j W_ij (h_i - h_j)^2
    normalized      h' L h = 1/2 sum_ij mass_i mass_j W_ij (h_i / sqrt(d_i) - h_j / sqrt(d_j))^2
                    d_i = sum_j W_ij mass_j

With all masses 1 these are D - W and I - D^-1/2 W D^-1/2. Nodes are distinct rows: a row of weight 2 is two
rows, and ten copies of a row do not use up each other's neighbors.
"""

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, LinAlgWarning, cho_factor, cho_solve, lu_factor, lu_solve
from sklearn.neighbors import NearestNeighbors

from semisvm.kernels.rows import KernelRows

# Steps that conjugate gradients often take: if so many products cost more than factors, factors are used.
OFTEN_STEPS = 30
MOST_STEPS = 1000
# Steps after which those still needed are foretold by the rate so far; where they are so many times those allowed,
# factors are used at once.
STEPS_PER_FORECAST, FAR_TOO_MANY = 10, 1.5
FEWEST_STEPS = 10  # before the deadline: a kernel of fewer is too rough to be used
FEWEST_COLUMNS = 32  # a product of K with fewer columns takes as long: it waits for K to be read
ROWS_PER_PART = 512  # or columns, between two looks at the clock
NEVER = math.inf  # a deadline
SECONDS_TO_INVERT = 4e-11  # a matrix, times its rows to the third power, expected of one core; factors take less
LINK_WEIGHTS = ("connectivity", "heat")


@dataclass(frozen=True)
class Deformed:
    """What a machine on m of the n rows needs of the deformed kernel; symbols as in the module's docstring."""

    coefficients: np.ndarray  # (n, m), Z: beta of the m rows is Z @ beta of all rows in k itself
    values: np.ndarray  # (n, m), K Z: the deformed kernel between all rows and the m rows
    n_steps: int  # of conjugate gradients; 0 if solved directly
    residual: float  # the largest |r|_K over the m columns, relative to that of the identity; 0 if solved directly

    def between(self, columns: np.ndarray) -> np.ndarray:
        """Return the deformed kernel matrix of the m rows, shape (m, m), exactly symmetric."""
        K = self.values[columns]
        return (K + K.T) / 2


@dataclass(frozen=True)
class GraphPenalty:
    """The penalty, and a sparse root of it where one is known; a price multiplies both."""

    matrix: sparse.csr_matrix
    root: sparse.csr_matrix | None = None

    def __rmul__(self, price: float) -> "GraphPenalty":
        return GraphPenalty(price * self.matrix, None if self.root is None else np.sqrt(price) * self.root)


def deform(
    kernel: KernelRows,
    penalty: GraphPenalty,
    columns: np.ndarray,
    *,
    budget: int,
    tol: float,
    deadline: float = NEVER,
) -> Deformed:
    """Solve for the columns of the deformed kernel.

    `budget` is the memory, in bytes, for matrices of n^2 numbers; conjugate gradients must reach the residual `tol`.
    """
    n, L = kernel.n_rows, penalty.matrix
    if not L.data.any():  # the kernel itself
        return Deformed(_identity(n, columns), kernel.fetch(columns).T.astype(np.float64, order="C"), 0, 0.0)
    has_root = penalty.root is not None
    # K and the factors; LU factors are made from K in float64.
    if (kernel.dtype.itemsize + 8 if has_root else 20) * n * n > budget:
        return _by_conjugate_gradients(_Product(kernel, budget, deadline), L, columns, tol, MOST_STEPS)
    steps_of_factors = n // ((6 if has_root else 3) * max(len(columns), FEWEST_COLUMNS))  # so many cost as much
    if steps_of_factors > OFTEN_STEPS:
        times_K = _Product(kernel, budget, deadline)
        found = _by_conjugate_gradients(times_K, L, columns, tol, steps_of_factors, FAR_TOO_MANY)
        if found.residual <= tol or time.perf_counter() >= deadline:
            return found
    by_root = None if penalty.root is None else _by_cholesky(kernel, penalty.root, columns, deadline)
    return _directly(kernel, L, columns, deadline) if by_root is None else by_root


def check_time(deadline: float, n_rows: int = 0) -> None:
    """Raise TimeoutError where the deadline has passed, or would before a matrix of so many rows is inverted."""
    if time.perf_counter() + SECONDS_TO_INVERT * n_rows**3 >= deadline:
        raise TimeoutError("The deadline passed before the deformed kernel was there.")


def _parts(n: int, deadline: float) -> Iterator[slice]:
    """Parts of n rows or columns, one after the other as long as there is time."""
    for start in range(0, n, ROWS_PER_PART):
        check_time(deadline)
        yield slice(start, min(start + ROWS_PER_PART, n))


def _by_cholesky(
    kernel: KernelRows, root: sparse.csr_matrix, columns: np.ndarray, deadline: float = NEVER
) -> Deformed | None:
    """None where S is not positive definite: the kernel is no inner product."""
    n = kernel.n_rows
    K = _whole_matrix(kernel, kernel.dtype, deadline)
    S = np.empty((n, n))
    for part in _parts(n, deadline):
        S[:, part] = root @ K[part].T.astype(np.float64)
    for part in _parts(n, deadline):
        S[part] = (root @ S[part].T).T
    S[np.diag_indices_from(S)] += 1
    check_time(deadline, n)
    try:
        # In LAPACK's order: nothing is copied.
        factor = cho_factor(S.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    Z = _identity(n, columns)
    for part in _parts(len(columns), deadline):
        K_columns = K[columns[part]].T.astype(np.float64)
        Z[:, part] -= root.T @ cho_solve(factor, root @ K_columns, overwrite_b=True, check_finite=False)
    return Deformed(Z, _times(K, Z, deadline), 0, 0.0)


def _directly(kernel: KernelRows, penalty: sparse.csr_matrix, columns: np.ndarray, deadline: float = NEVER) -> Deformed:
    K = _whole_matrix(kernel, np.float64, deadline)
    system = penalty @ K
    system[np.diag_indices_from(system)] += 1
    Z = _identity(len(K), columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # what is not finite is refused
        check_time(deadline, len(K))
        factors = lu_factor(system.T, overwrite_a=True)  # in LAPACK's order: nothing is copied
        for part in _parts(len(columns), deadline):
            Z[:, part] = lu_solve(factors, Z[:, part], trans=1)
    return Deformed(Z, _times(K, Z, deadline), 0, 0.0)


def _by_conjugate_gradients(
    times_K: "_Product",
    penalty: sparse.csr_matrix,
    columns: np.ndarray,
    tol: float,
    most_steps: int,
    too_many: float = np.inf,
) -> Deformed:
    """Conjugate gradients on all columns together; K_x is K times x, kept up to date without a product.

    They end early where `too_many` times the most steps are needed at the present rate, and at the deadline; there
    they need to have taken a few steps.
    """
    residual = _identity(times_K.n_rows, columns)
    K_residual = times_K(residual)
    Z, KZ = np.zeros_like(residual), np.zeros_like(residual)
    direction, K_direction = residual.copy(), K_residual.copy()
    square = first = _columnwise_dots(residual, K_residual)
    n_steps = 0
    while n_steps < most_steps:
        is_unsolved = square > tol**2 * first
        if not is_unsolved.any():
            break
        if n_steps and n_steps % STEPS_PER_FORECAST == 0:
            rate = np.log(max(float((first / square)[is_unsolved].min()), 1.0)) / n_steps
            if -2 * np.log(tol) > rate * too_many * most_steps:
                break
        image = direction + penalty @ K_direction
        curvature = _columnwise_dots(K_direction, image)
        # A kernel that is not an inner product (sigmoid, a user's own) is noticed here: no step would lead downhill.
        is_unsolved &= curvature > 0
        if not is_unsolved.any():
            break
        step = np.divide(square, curvature, out=np.zeros_like(square), where=is_unsolved)
        Z += step * direction
        KZ += step * K_direction
        residual -= step * image
        n_steps += 1
        try:
            K_residual = times_K(residual)
        except TimeoutError:
            if n_steps < FEWEST_STEPS:
                raise
            break  # the residual that is told is that of the step before
        before, square = square, _columnwise_dots(residual, K_residual)
        keep = np.divide(square, before, out=np.zeros_like(square), where=is_unsolved)
        direction = residual + keep * direction
        K_direction = K_residual + keep * K_direction
    reached = np.sqrt(np.divide(np.abs(square), first, out=np.zeros_like(first), where=first > 0))
    return Deformed(Z, KZ, n_steps, float(reached.max()))


class _Product:
    """K times a block of columns: from K in memory, or from its rows, made again each time."""

    def __init__(self, kernel: KernelRows, budget: int, deadline: float = NEVER):
        self.kernel, self.n_rows, self.deadline = kernel, kernel.n_rows, deadline
        fits = kernel.n_rows**2 * kernel.dtype.itemsize <= budget
        self.K = _whole_matrix(kernel, kernel.dtype, deadline) if fits else None

    def __call__(self, block: np.ndarray) -> np.ndarray:
        block = block.astype(self.kernel.dtype)
        if self.K is not None:
            check_time(self.deadline)
            return np.asarray(self.K @ block, dtype=np.float64)
        result = np.empty(block.shape)
        for part in _parts(self.n_rows, self.deadline):
            result[part] = self.kernel.fetch(np.arange(part.start, part.stop)) @ block
        return result


def _whole_matrix(kernel: KernelRows, dtype: Any = np.float64, deadline: float = NEVER) -> np.ndarray:
    K = np.empty((kernel.n_rows, kernel.n_rows), dtype=kernel.dtype)
    for part in _parts(kernel.n_rows, deadline):
        K[part] = kernel.fetch(np.arange(part.start, part.stop))
    return K.astype(dtype, copy=False)


def _times(K: np.ndarray, Z: np.ndarray, deadline: float) -> np.ndarray:
    """K Z in float64."""
    return np.concatenate([K[part].astype(np.float64, copy=False) @ Z for part in _parts(len(K), deadline)])


def _identity(n: int, columns: np.ndarray) -> np.ndarray:
    E = np.zeros((n, len(columns)))
    E[columns, np.arange(len(columns))] = 1
    return E


def _columnwise_dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", left, right)


def graph_laplacian(
    links: sparse.csr_matrix, mass: np.ndarray, *, is_normalized: bool, power: int = 1
) -> sparse.csr_matrix:
    """L^power above from W."""
    degree = np.asarray(links @ mass)
    weighted = sparse.csr_matrix(links.multiply(mass[:, None]).multiply(mass))
    L: Any = sparse.diags(np.asarray(weighted.sum(axis=1)).ravel()) - weighted
    if is_normalized:
        scale = sparse.diags(np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
        L = scale @ L @ scale
    first, per_row = L, sparse.diags(1 / mass)
    for _ in range(power - 1):
        L = L @ per_row @ first
    return sparse.csr_matrix(L)


def graph_penalty(links: sparse.csr_matrix, mass: np.ndarray, *, is_normalized: bool, power: int) -> GraphPenalty:
    """L^power, with the root that even powers have."""
    L, root = graph_laplacian(links, mass, is_normalized=is_normalized, power=power), None
    if power % 2 == 0:
        half = graph_laplacian(links, mass, is_normalized=is_normalized, power=power // 2)
        root = sparse.csr_matrix(sparse.diags(1 / np.sqrt(mass)) @ half)
    return GraphPenalty(L, root)


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
    links = search.fit(X).kneighbors_graph(n_neighbors=min(n_neighbors, n_rows - 1), mode="distance")
    width = links.data.mean()
    if weights == "connectivity" or width == 0:
        links.data[:] = 1.0
    else:
        links.data = np.exp(-0.5 * (links.data / width) ** 2)
    return sparse.csr_matrix(links.maximum(links.T))  # a link that one side asked for holds for both


def sample_nodes(n_nodes: int, columns: np.ndarray, most: int) -> np.ndarray:
    """The nodes `columns` and a sample of the others: `most` in all, or as many again where that is more."""
    others = np.delete(np.arange(n_nodes), columns)
    n_sampled = min(len(others), max(most - len(columns), len(columns)))
    return np.sort(np.append(columns, np.random.default_rng(0).choice(others, n_sampled, replace=False)))
