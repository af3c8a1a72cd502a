"""A kernel deformed by a graph of the data rows: a quadratic penalty on the values of f there, by
linear solves alone.

    K         (n, n)  kernel matrix of the data rows
    penalty   (n, n)  sparse, positive semi-definite: |w|^2 + h' penalty h, h_i = <w, x_i>
    columns   (m,)    the rows that an SVM is trained on

The norm |w|^2 + h' penalty h belongs to another kernel (Sindhwani, Niyogi and Belkin 2005):

    k~(x, z) = k(x, z) - k_x' (I + penalty K)^-1 penalty k_z

An SVM needs it only between its m rows, and its expansion in k~ is an ordinary one over all
rows: with

    (I + penalty K) Z = E        E the columns of the identity, Z of shape (n, m)

the values K~[:, columns] are K Z, and beta on the columns corresponds to the coefficients Z beta in
k. So m systems are solved and no inverse is computed. There are three ways:

* directly, by LU factors: 2/3 n^3 operations, two matrices of n^2 float64;
* directly, by Cholesky factors of S, where a sparse root of the penalty is known (B' B = penalty):
  1/3 n^3 operations, one matrix of n^2 float64 beside K;

      Z = E - B' S^-1 B K E        S = I + B K B'

* by conjugate gradients in the inner product <a, b> = a' K b, in which I + penalty K is
  self-adjoint and at least I: one product of K with (n, m) per step, one matrix of n^2, or none if
  it does not fit and its rows are made again. The residual bounds the error: |K~ - found| <= |r|_K
  sqrt(k(x, x)) at any row x.

A solution may have to be there by a *deadline* on the clock of `time.perf_counter`. It is looked at
between the steps, and a TimeoutError is raised once it has passed; conjugate gradients return how
far they have come.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, lapack

from semisvm.kernels.factors import cholesky, solve_factored
from semisvm.kernels.graphs import GraphPenalty
from semisvm.kernels.rows import KernelRows
from semisvm.kernels.threads import for_each, times

# Steps that conjugate gradients often take: if so many products cost more than factors, factors are
# used.
OFTEN_STEPS = 30
MOST_STEPS = 1000
# Steps after which those still needed are foretold by the rate so far; where they are so many times
# those allowed, factors are used at once.
STEPS_PER_FORECAST, FAR_TOO_MANY = 10, 1.5
FEWEST_STEPS = 10  # before the deadline: a kernel of fewer is too rough to be used
FEWEST_COLUMNS = 32  # a product of K with fewer columns takes as long: it waits for K to be read
ROWS_PER_PART = 512  # or columns, between two looks at the clock
NEVER = math.inf  # a deadline
# Expected of one core to invert a matrix, times its rows cubed; factors take less.
SECONDS_TO_INVERT = 4e-11


@dataclass(frozen=True)
class Deformed:
    """The deformed kernel for an SVM on m of the n rows; symbols as above."""

    coefficients: np.ndarray  # (n, m), Z: beta of the m rows is Z @ beta of all rows in k itself
    values: np.ndarray  # (n, m), K Z: the deformed kernel between all rows and the m rows
    n_steps: int  # of conjugate gradients; 0 if solved directly
    # the largest |r|_K over the m columns, relative to that of the identity; 0 if solved directly
    residual: float

    def between(self, columns: np.ndarray) -> np.ndarray:
        """Return the deformed kernel matrix of the m rows, shape (m, m), exactly symmetric."""
        K = self.values[columns]
        return (K + K.T) / 2


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

    `budget` is the memory, in bytes, for matrices of n^2 numbers; conjugate gradients must reach
    the residual `tol`.
    """
    n = kernel.n_rows
    L = penalty.matrix
    if not L.data.any():  # the kernel itself
        return Deformed(
            _identity(n, columns), kernel.fetch(columns).T.astype(np.float64, order="C"), 0, 0.0
        )
    has_root = penalty.root is not None
    # K and the factors; LU factors are made from K in float64.
    if (kernel.dtype.itemsize + 8 if has_root else 20) * n * n > budget:
        return _by_conjugate_gradients(
            _Product(kernel, budget, deadline), L, columns, tol, MOST_STEPS
        )
    # Steps of conjugate gradients that cost as much as the factors.
    steps_of_factors = n // ((6 if has_root else 3) * max(len(columns), FEWEST_COLUMNS))
    if steps_of_factors > OFTEN_STEPS:
        times_K = _Product(kernel, budget, deadline)
        solution = _by_conjugate_gradients(times_K, L, columns, tol, steps_of_factors, FAR_TOO_MANY)
        if solution.residual <= tol or time.perf_counter() >= deadline:
            return solution
    by_root = (
        None if penalty.root is None else _by_cholesky(kernel, penalty.root, columns, deadline)
    )
    return _directly(kernel, L, columns, deadline) if by_root is None else by_root


def check_time(deadline: float, n_rows: int = 0) -> None:
    """Raise TimeoutError if the deadline would pass before so many rows are inverted."""
    if time.perf_counter() + SECONDS_TO_INVERT * n_rows**3 >= deadline:
        raise TimeoutError("The deadline passed before the deformed kernel was computed.")


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

    def multiply_rows(part: slice) -> None:
        S[:, part] = root @ K[part].T.astype(np.float64)

    def multiply_columns(part: slice) -> None:
        S[part] = (root @ S[part].T).T

    for_each(multiply_rows, _parts(n, deadline))
    for_each(multiply_columns, _parts(n, deadline))
    S[np.diag_indices_from(S)] += 1
    check_time(deadline, n)
    try:
        cholesky(S)
    except LinAlgError:
        return None
    Z = _identity(n, columns)
    for part in _parts(len(columns), deadline):
        K_columns = K[columns[part]].T.astype(np.float64)
        Z[:, part] -= root.T @ solve_factored(S, root @ K_columns)
    return Deformed(Z, _times(K, Z, deadline), 0, 0.0)


def _directly(
    kernel: KernelRows, penalty: sparse.csr_matrix, columns: np.ndarray, deadline: float = NEVER
) -> Deformed:
    K = _whole_matrix(kernel, np.float64, deadline)
    system = penalty @ K
    system[np.diag_indices_from(system)] += 1
    Z = _identity(len(K), columns)
    check_time(deadline, len(K))
    # In LAPACK's order: nothing is copied. What is singular gives no finite fit, which is refused.
    factors, pivots, _ = lapack.dgetrf(system.T, overwrite_a=True)
    for part in _parts(len(columns), deadline):
        Z[:, part], _ = lapack.dgetrs(factors, pivots, Z[:, part], trans=1)
    return Deformed(Z, _times(K, Z, deadline), 0, 0.0)


def _by_conjugate_gradients(
    times_K: "_Product",
    penalty: sparse.csr_matrix,
    columns: np.ndarray,
    tol: float,
    most_steps: int,
    too_many: float = np.inf,
) -> Deformed:
    """Conjugate gradients on all columns together; K_x is K times x, kept up to date without a
    product.

    They end early where `too_many` times the most steps are needed at the present rate, and at the
    deadline; there they need to have taken a few steps.
    """
    residual = _identity(times_K.n_rows, columns)
    K_residual = times_K(residual)
    Z = np.zeros_like(residual)
    KZ = np.zeros_like(residual)
    direction = residual.copy()
    K_direction = K_residual.copy()
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
        # A kernel that is not an inner product (sigmoid, a user's own) is noticed here: no step
        # would lead downhill.
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
            break  # the residual that is reported is that of the step before
        before = square
        square = _columnwise_dots(residual, K_residual)
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
            return np.asarray(times(self.K, block), dtype=np.float64)
        result = np.empty(block.shape)
        for part in _parts(self.n_rows, self.deadline):
            result[part] = times(self.kernel.fetch(np.arange(part.start, part.stop)), block)
        return result


def _whole_matrix(
    kernel: KernelRows, dtype: Any = np.float64, deadline: float = NEVER
) -> np.ndarray:
    K = np.empty((kernel.n_rows, kernel.n_rows), dtype=kernel.dtype)
    for part in _parts(kernel.n_rows, deadline):
        K[part] = kernel.fetch(np.arange(part.start, part.stop))
    return K.astype(dtype, copy=False)


def _times(K: np.ndarray, Z: np.ndarray, deadline: float) -> np.ndarray:
    """K Z in float64."""
    product = np.empty((len(K), Z.shape[1]))

    def multiply(part: slice) -> None:
        check_time(deadline)
        product[part] = K[part].astype(np.float64, copy=False) @ Z

    for_each(multiply, _parts(len(K), deadline))
    return product


def _identity(n: int, columns: np.ndarray) -> np.ndarray:
    E = np.zeros((n, len(columns)))
    E[columns, np.arange(len(columns))] = 1
    return E


def _columnwise_dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", left, right)
