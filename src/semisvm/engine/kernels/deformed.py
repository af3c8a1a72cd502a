"""A kernel deformed by a graph of the data rows: a quadratic penalty on the values of f there, by
linear solves alone.

    K         (n, n)  kernel matrix of the data rows
    penalty   (n, n)  sparse, positive semi-definite: |w|^2 + h' penalty h, h_i = <w, x_i>
    columns   (m,)    the rows that an SVM is trained on

The norm |w|^2 + h' penalty h belongs to another kernel (Sindhwani, Niyogi and Belkin 2005):

    k~(x, z) = k(x, z) - k_x' (I + penalty K)^-1 penalty k_z

An SVM needs it only between its m rows, and its expansion in k~ is an ordinary one over all rows:
with

    (I + penalty K) Z = E        E the columns of the identity, Z of shape (n, m)

the values K~[:, columns] are K Z, and beta on the columns corresponds to the coefficients Z beta in
k. So m systems are solved and no inverse is computed: by Cholesky factors of S where a sparse root
of the penalty is known (B' B = penalty),

    Z = E - B' S^-1 B K E        S = I + B K B'        n^3 / 3 operations

and by LU factors where it is not, or where the kernel is no inner product (2/3 n^3). Both hold K
and one or two more matrices of n^2 numbers; `most_nodes` says how many rows fit, and a graph of
more is one of a sample of them (`graphs.sample_nodes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

from semisvm.engine.kernels.graphs import GraphPenalty
from semisvm.engine.parallel import for_each

BYTES_PER_VALUE = 20  # of K in float32 and in float64, and of its factors, at once
ROWS_PER_PIECE = 512


@dataclass(frozen=True)
class Deformed:
    """The deformed kernel for an SVM on m of the n rows; symbols as above."""

    coefficients: np.ndarray  # (n, m), Z: beta of the m rows is Z @ beta of all rows in k itself
    values: np.ndarray  # (n, m), K Z: the deformed kernel between all rows and the m rows

    def between(self, columns: np.ndarray) -> np.ndarray:
        """The deformed kernel matrix of the m rows, (m, m), exactly symmetric."""
        K = self.values[columns]
        return (K + K.T) / 2


def most_nodes(budget: int) -> int:
    """How many rows a graph may have whose deformed kernel takes at most so many bytes."""
    return math.isqrt(budget // BYTES_PER_VALUE)


def deform(kernel: Any, penalty: GraphPenalty, columns: np.ndarray) -> Deformed:
    """Solve for the columns of the deformed kernel."""
    n = kernel.n_rows
    if not penalty.matrix.data.any():  # the kernel itself
        return Deformed(_identity(n, columns), kernel.rows(columns).T.astype(np.float64, order="C"))
    K = kernel.rows(np.arange(n))
    Z = None if penalty.root is None else _by_cholesky(K, penalty.root, columns)
    Z = _by_lu(K, penalty.matrix, columns) if Z is None else Z
    values = np.empty(Z.shape)

    def multiply(start: int) -> None:
        part = slice(start, start + ROWS_PER_PIECE)
        values[part] = K[part].astype(np.float64, copy=False) @ Z

    for_each(multiply, range(0, n, ROWS_PER_PIECE))
    return Deformed(Z, values)


def _by_cholesky(K: np.ndarray, root: sparse.csr_matrix, columns: np.ndarray) -> np.ndarray | None:
    """Z; None where S is not positive definite."""
    S = np.empty((len(K), len(K)))

    def multiply_rows(start: int) -> None:
        part = slice(start, start + ROWS_PER_PIECE)
        S[:, part] = root @ K[part].T.astype(np.float64)

    def multiply_columns(start: int) -> None:
        part = slice(start, start + ROWS_PER_PIECE)
        S[part] = (root @ S[part].T).T

    for multiply in (multiply_rows, multiply_columns):
        for_each(multiply, range(0, len(K), ROWS_PER_PIECE))
    S[np.diag_indices_from(S)] += 1
    try:  # S' is S, in LAPACK's order: nothing is copied
        factor = cho_factor(S.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    right = root @ K[columns].T.astype(np.float64)
    return _identity(len(K), columns) - root.T @ cho_solve(factor, right, check_finite=False)


def _by_lu(K: np.ndarray, penalty: sparse.csr_matrix, columns: np.ndarray) -> np.ndarray:
    system = penalty @ K.astype(np.float64, copy=False)
    system[np.diag_indices_from(system)] += 1
    # What is singular gives no finite fit, which is refused there.
    factors, pivots, _ = lapack.dgetrf(system.T, overwrite_a=True)
    return lapack.dgetrs(factors, pivots, _identity(len(K), columns), trans=1)[0]


def _identity(n: int, columns: np.ndarray) -> np.ndarray:
    E = np.zeros((n, len(columns)))
    E[columns, np.arange(len(columns))] = 1
    return E
