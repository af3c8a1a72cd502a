"""A kernel bent by a quadratic penalty on the values of f at the data rows, through linear solves alone.

    K         (n, n)  kernel matrix of the data rows
    penalty   (n, n)  sparse, symmetric, positive semi-definite: h' penalty h is added to |w|^2, h = <w, x_i> over all i
    columns   (m,)    the rows that a machine is trained on

The norm |w|^2 + h' penalty h belongs to another kernel (Sindhwani, Niyogi and Belkin 2005):

    k~(x, z) = k(x, z) - k_x' (I + penalty K)^-1 penalty k_z

A machine needs it between its m rows alone, and its expansion in k~ is an ordinary one over all rows: with

    (I + penalty K) Z = E        E the columns of the identity, Z of shape (n, m)

the values K~[:, columns] are K Z, and beta on the columns is the coefficients Z beta in k. So m systems are solved and
no inverse is made. Two ways:

* directly, by LU factors: 2/3 n^3 operations, two matrices of n^2 float64;
* by conjugate gradients in the inner product <a, b> = a' K b, in which I + penalty K is self-adjoint and at least I:
  one product of K with (n, m) a step, one matrix of n^2, or none where it would not fit and its rows are made again.
  The residual bounds the error: |K~ - found| <= |r|_K sqrt(k(x, x)) at any row x.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve

from semisvm.kernels.sources import Source

# Steps after which conjugate gradients have usually done: where so many products cost more than LU factors, those are
# made instead.
USUAL_STEPS = 30
MOST_STEPS = 1000
ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Deformed:
    """What a machine on some of the rows needs of the deformed kernel.

    coefficients  (n, m)  Z: coefficients beta of the m rows are coefficients Z @ beta of all rows in k itself
    values        (n, m)  K Z, the deformed kernel between all rows and the m
    residual      the largest |r|_K over the m columns, relative to that of the identity; 0 where solved directly
    """

    coefficients: np.ndarray
    values: np.ndarray
    n_steps: int
    residual: float

    def between(self, columns: np.ndarray) -> np.ndarray:
        """The deformed kernel matrix of the m rows; symmetric to the last digit."""
        K = self.values[columns]
        return (K + K.T) / 2


def deform(source: Source, penalty: sparse.csr_matrix, columns: np.ndarray, *, budget: int, tol: float) -> Deformed:
    """Solve for the columns of the deformed kernel; `budget` is in bytes, `tol` is for the residual."""
    n, m = source.n_rows, len(columns)
    fits = 16 * n * n <= budget
    if fits and n <= 3 * USUAL_STEPS * m:
        return _directly(source, penalty, columns)
    found = _by_conjugate_gradients(_Product(source, budget), penalty, columns, tol)
    return found if found.residual <= tol or not fits else _directly(source, penalty, columns)


def _directly(source: Source, penalty: sparse.csr_matrix, columns: np.ndarray) -> Deformed:
    K = _whole(source)
    system = penalty @ K
    system[np.diag_indices_from(system)] += 1
    Z = lu_solve(lu_factor(system, overwrite_a=True), _identity(len(K), columns), overwrite_b=True)
    return Deformed(Z, K @ Z, 0, 0.0)


def _by_conjugate_gradients(
    times_K: "_Product", penalty: sparse.csr_matrix, columns: np.ndarray, tol: float
) -> Deformed:
    """Conjugate gradients on all columns side by side; Kx is K times x, kept up to date without a product."""
    residual = _identity(times_K.n_rows, columns)
    K_residual = times_K(residual)
    Z, KZ = np.zeros_like(residual), np.zeros_like(residual)
    direction, K_direction = residual.copy(), K_residual.copy()
    square = first = _dots(residual, K_residual)
    n_steps = 0
    while n_steps < MOST_STEPS:
        is_open = square > tol**2 * first
        if not is_open.any():
            break
        image = direction + penalty @ K_direction
        curvature = _dots(K_direction, image)
        # A kernel that is no inner product (sigmoid, a user's own) shows here: no step would lead downhill.
        is_open &= curvature > 0
        if not is_open.any():
            break
        step = np.divide(square, curvature, out=np.zeros_like(square), where=is_open)
        Z += step * direction
        KZ += step * K_direction
        residual -= step * image
        K_residual = times_K(residual)
        before, square = square, _dots(residual, K_residual)
        keep = np.divide(square, before, out=np.zeros_like(square), where=is_open)
        direction = residual + keep * direction
        K_direction = K_residual + keep * K_direction
        n_steps += 1
    reached = np.sqrt(np.divide(np.abs(square), first, out=np.zeros_like(first), where=first > 0))
    return Deformed(Z, KZ, n_steps, float(reached.max()))


class _Product:
    """K times a block of columns: from K in memory, or from its rows made again each time."""

    def __init__(self, source: Source, budget: int):
        self.source, self.n_rows = source, source.n_rows
        fits = source.n_rows**2 * source.dtype.itemsize <= budget
        self.K = _whole(source, source.dtype) if fits else None

    def __call__(self, block: np.ndarray) -> np.ndarray:
        if self.K is not None:
            return np.asarray(self.K @ block.astype(self.K.dtype), dtype=np.float64)
        result = np.empty_like(block)
        part_of_K = np.empty((min(ROWS_AT_ONCE, self.n_rows), self.n_rows), dtype=self.source.dtype)
        for start in range(0, self.n_rows, ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, self.n_rows))
            self.source.write(rows, part_of_K[: len(rows)])
            result[rows] = part_of_K[: len(rows)] @ block.astype(part_of_K.dtype)
        return result


def _whole(source: Source, dtype=np.float64) -> np.ndarray:
    """All of K."""
    K = np.empty((source.n_rows, source.n_rows), dtype=source.dtype)
    for start in range(0, source.n_rows, ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, source.n_rows))
        source.write(rows, K[rows[0] : rows[-1] + 1])
    return K.astype(dtype, copy=False)


def _identity(n: int, columns: np.ndarray) -> np.ndarray:
    E = np.zeros((n, len(columns)))
    E[columns, np.arange(len(columns))] = 1
    return E


def _dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", left, right)
