"""Spectra of kernels: kernel PCA of all rows, and leading eigenpairs.

    K        (n, n)  kernel matrix;  P = I - 11'/n centers: the scores have mean 0 in feature space
    P K P    = V diag(eigenvalues) V',   eigenvalues falling
    scores   (n, q)  V sqrt(eigenvalues): the rows on the leading components

Rows of weight w count as w rows. With D = diag(w) and P = I - 1w'/sum(w) the matrix is D^1/2 P K P'
D^1/2, and scores are D^-1/2 V sqrt(eigenvalues): what the rows, each repeated w times, would have.

Up to MANY_ROWS rows, Lanczos finds the few pairs that are wanted, and LAPACK where they are many.
Beyond, Nystroem knows K only through m landmark rows: it writes k(x, z) as <phi(x), phi(z)> with
phi(x) = K_mm^(-1/2) k(landmarks, x), and is then ordinary PCA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from semisvm.errors import UndefinedError
from semisvm.matrices import as_dense, is_sparse_matrix, stored_numbers

MOST_ROWS_DENSE = 150  # up to so many LAPACK is the faster one
MANY_ROWS = 4_000  # beyond, the whole kernel matrix costs more than all the rest
N_LANDMARKS, FEW_LANDMARKS = 1_000, 100  # fewer where LANDMARK_VALUES, 0.8 GB, would not hold more
LANDMARK_VALUES = 100_000_000
LANCZOS_TOL = 1e-6
FLOAT32_NOISE = 1e-6  # eigenvalues of K_mm below this share of the first are rounding
FEW_VECTORS = 20  # so few are found by Lanczos with products of the dense matrix
MOST_ROWS_EIGH = 2_000
MANY_VALUES = 100_000  # of a weighted median: to sort them takes longest

Eigenpairs = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Components:
    """Scores of the rows on the leading components, (n, q), and the eigenvalues, falling."""

    scores: np.ndarray
    eigenvalues: np.ndarray


def kernel_pca(
    kernel: Any,
    *,
    n_components: int,
    least: float,
    rng: np.random.Generator,
    weight: np.ndarray | None = None,
) -> Components:
    """Leading components: those with an eigenvalue of at least `least` of the first, at most
    `n_components`. weight says how many rows each row counts for; None: one.
    """
    n = kernel.n_rows
    weight = np.ones(n) if weight is None else weight
    wanted = min(n_components, n)
    solve = _nystroem if n > MANY_ROWS else _whole
    eigenvalues, scores = solve(kernel, wanted, rng, weight)
    first = eigenvalues.max(initial=0.0)
    if first <= 1e-12 * np.abs(kernel.diagonal).max():  # all rows are the same row
        return Components(np.zeros((n, 1)), np.zeros(1))
    kept = eigenvalues >= least * first
    scores, eigenvalues = scores[:, kept], eigenvalues[kept]
    # The sign of a component is arbitrary: the same on every machine, its largest score is
    # positive.
    largest = scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])]
    return Components(scores * np.where(largest < 0, -1.0, 1.0), eigenvalues)


def _whole(kernel: Any, wanted: int, rng: np.random.Generator, weight: np.ndarray) -> Eigenpairs:
    """From the whole kernel matrix, which stays for the solver of the SVM where it is kept."""
    n = kernel.n_rows
    K = kernel.whole()
    K = kernel.rows(np.arange(n)) if K is None else K
    _refuse_undefined(K)
    share, root = weight / weight.sum(), np.sqrt(weight)

    def centered_product(v: np.ndarray) -> np.ndarray:
        v = root * v.ravel()
        v = v - weight * (v.sum() / weight.sum())
        Kv = (K @ v.astype(K.dtype)).astype(np.float64)
        return root * (Kv - share @ Kv)

    is_few = n > MOST_ROWS_DENSE and n >= 3 * wanted
    start = rng.standard_normal(n)
    if is_few and np.linalg.norm(centered_product(start)) > 1e-12 * np.linalg.norm(start):
        operator = LinearOperator((n, n), matvec=centered_product, dtype=np.float64)
        try:
            values, vectors = eigsh(operator, wanted, which="LA", tol=LANCZOS_TOL, v0=start)
            return _falling(values, vectors, root)
        except ArpackNoConvergence:
            pass
    K = K.astype(np.float64)
    means = share @ K
    K -= means
    K -= means[:, None]
    K += share @ means
    K *= root
    K *= root[:, None]
    values, vectors = eigh(K, subset_by_index=(n - wanted, n - 1), overwrite_a=True)
    return _falling(values, vectors, root)


def _nystroem(kernel: Any, wanted: int, rng: np.random.Generator, weight: np.ndarray) -> Eigenpairs:
    n = kernel.n_rows
    m = min(N_LANDMARKS, n, max(FEW_LANDMARKS, LANDMARK_VALUES // n))
    landmarks = np.sort(rng.choice(n, m, replace=False))
    K_mn = kernel.rows(landmarks).astype(np.float64)
    _refuse_undefined(K_mn)
    spread, basis = eigh(K_mn[:, landmarks])
    known = spread > FLOAT32_NOISE * spread[-1]
    if not known.any():
        return np.zeros(1), np.zeros((n, 1))  # K = 0
    phi = K_mn.T @ (basis[:, known] / np.sqrt(spread[known]))
    phi -= weight @ phi / weight.sum()
    d = phi.shape[1]
    first = max(d - wanted, 0)
    eigenvalues, axes = eigh(phi.T @ (weight[:, None] * phi), subset_by_index=(first, d - 1))
    return eigenvalues[::-1], phi @ axes[:, ::-1]


def _falling(eigenvalues: np.ndarray, vectors: np.ndarray, root: np.ndarray) -> Eigenpairs:
    """Eigenpairs as (eigenvalues, scores), the largest first; none is negative."""
    order = np.argsort(-eigenvalues, kind="stable")
    eigenvalues = np.maximum(eigenvalues[order], 0)
    return eigenvalues, vectors[:, order] * np.sqrt(eigenvalues) / root[:, None]


def largest_eigenpairs(matrix: Any, n_vectors: int) -> Eigenpairs:
    """Eigenvalues (r,), largest first, and orthonormal vectors (n, r) of a dense or sparse
    symmetric matrix.
    """
    _refuse_undefined(stored_numbers(matrix))
    n = matrix.shape[0]
    n_vectors = min(n_vectors, n)
    is_few = n_vectors <= FEW_VECTORS and n > 10 * FEW_VECTORS
    if (is_few and not is_sparse_matrix(matrix)) or (n > MOST_ROWS_EIGH and n > 4 * n_vectors):
        start = np.random.default_rng(0).standard_normal(n)
        n_basis = min(n - 1, 2 * n_vectors + 40)
        values, vectors = eigsh(matrix, k=n_vectors, which="LA", v0=start, ncv=n_basis)
    else:
        values, vectors = eigh(as_dense(matrix), subset_by_index=(n - n_vectors, n - 1))
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The median of the values, each repeated `weight` times."""
    total, below = float(weight.sum()), 0.0
    if len(values) > MANY_VALUES:  # only those near the median of some are sorted
        low, high = np.quantile(values[:: len(values) // (MANY_VALUES // 10)], [0.4, 0.6])
        is_near = (values >= low) & (values <= high)
        before = float(weight[values < low].sum())
        if before < total / 2 < before + float(weight[is_near].sum()):
            values, weight, below = values[is_near], weight[is_near], before
    order = np.argsort(values)
    reach = below + np.cumsum(weight[order])
    middle = [np.searchsorted(reach, total / 2, side=side) for side in ("left", "right")]
    return float(values[order[np.minimum(middle, len(order) - 1)]].mean())


def _refuse_undefined(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise UndefinedError(
            "Distances between these rows are not finite in float64. Scale the features to near 1."
        )
