"""Cholesky factors of large matrices, in tiles that the team of threads takes one by one.

LAPACK's own threads would do as well on an idle machine. But what they compute depends on their
number, and on a busy machine they wait for each other. Tiles have a fixed size, and the order of
operations on each is fixed: factors are the same to the last bit for any number of threads.
"""

import numpy as np
from scipy.linalg import LinAlgError, blas, lapack

from semisvm.kernels.threads import for_each

TILE = 256  # rows and columns: half a megabyte, which stays in the cache of a core
COLUMNS_AT_ONCE = 32  # right sides that one thread solves for


def cholesky(A: np.ndarray) -> None:
    """Write the lower Cholesky factor of a symmetric matrix, of shape (n, n) in C order, over its
    lower triangle.

    LinAlgError is raised where A is not positive definite.
    """
    n = len(A)
    tiles = [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]
    for k, at in enumerate(tiles):
        root, failed = lapack.dpotrf(A[at, at], lower=True, clean=True)
        if failed or not np.isfinite(root[-1, -1]):
            raise LinAlgError("The matrix is not positive definite.")
        A[at, at] = root
        below = tiles[k + 1 :]

        def divide(rows: slice, at: slice = at, root: np.ndarray = root) -> None:
            A[rows, at] = blas.dtrsm(1.0, root, A[rows, at].T, lower=True).T

        def update(pair: tuple[slice, slice], at: slice = at) -> None:
            rows, columns = pair
            A[rows, columns] -= A[rows, at] @ A[columns, at].T

        for_each(divide, below)
        for_each(update, [(rows, below[j]) for i, rows in enumerate(below) for j in range(i + 1)])


def solve_factored(L: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(L L')^-1 right, for L of shape (n, n) in C order as `cholesky` writes it, right (n, m)."""
    answer = np.empty_like(right)

    def solve(start: int) -> None:
        some = slice(start, start + COLUMNS_AT_ONCE)
        # L.T is L in LAPACK's order, with its factor above the diagonal: nothing is copied.
        answer[:, some] = lapack.dpotrs(L.T, right[:, some], lower=False)[0]

    for_each(solve, range(0, right.shape[1], COLUMNS_AT_ONCE))
    return answer
