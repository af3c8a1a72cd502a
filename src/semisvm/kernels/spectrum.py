"""Spectra of kernels: kernel PCA of all rows, and leading eigenpairs.

    K        (n, n)  kernel matrix;  P = I - 11'/n centers: the scores have mean 0 in feature space
    P K P    = V diag(eigenvalues) V',   eigenvalues falling
    scores   (n, q)  V sqrt(eigenvalues): the rows on the leading components

Rows of weight w count as w rows. With D = diag(w) and P = I - 1w'/sum(w) the matrix is D^1/2 P K P'
D^1/2, and scores are D^-1/2 V sqrt(eigenvalues): what the rows, each repeated w times, would have.

Three ways to the leading eigenpairs: the exact dense solver, O(n^3); Lanczos on products with P K
P, which needs only the few that are wanted; and Nystroem, which knows K only through m landmark
rows. Nystroem writes k(x, z) as <phi(x), phi(z)> with phi(x) = K_mm^(-1/2) k(landmarks, x) and is
then ordinary PCA; with m = n it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from semisvm.errors import UndefinedError
from semisvm.kernels.rows import KernelRows
from semisvm.kernels.threads import n_threads, times
from semisvm.matrices import as_dense, is_sparse_matrix, stored_numbers

MOST_ROWS_DENSE = 150  # below this the dense solver is the faster one
MANY_ROWS = 4000  # beyond this the whole kernel matrix costs more than all the rest: Nystroem
N_LANDMARKS = 1000
FEW_LANDMARKS = 100  # where there are so many rows
LANDMARK_ENTRIES = 100_000_000  # that this many kernel values, 0.8 GB, would not hold more
LANCZOS_TOL = 1e-6
FLOAT32_NOISE = 1e-6  # eigenvalues of K_mm below this share of the first are rounding
# Expected of the CPU: seconds per row for 200 vectors of a sparse matrix, per entry for a few of a
# dense one.
SECONDS_PER_ROW, SECONDS_PER_ENTRY = 5e-4, 2e-8
FEW_VECTORS = 20  # so few are found by Lanczos with products of the dense matrix
MOST_ROWS_EIGH = 2000
MANY_VALUES = 100_000  # of a weighted median: to sort them takes longest


@dataclass(frozen=True)
class Components:
    """Scores of the rows on the leading components, (n, q), and the eigenvalues, falling."""

    scores: np.ndarray
    eigenvalues: np.ndarray


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The median of the values, each repeated `weight` times."""
    total = float(weight.sum())
    below = 0.0
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


def kernel_pca(
    kernel: KernelRows,
    *,
    n_components: int,
    least: float,
    solver: str,
    rng: np.random.Generator,
    weight: np.ndarray | None = None,
) -> Components:
    """Leading components: those with an eigenvalue of at least `least` of the first, at most
    `n_components`.

    solver   "exact", "truncated", "nystroem", or "auto": whichever of them suits the number of rows
    weight   (n,) how many rows each row counts for; None: one
    """
    wanted = min(n_components, kernel.n_rows)
    if solver == "auto":
        fits = kernel.n_rows <= min(MANY_ROWS, kernel.capacity)
        solver = "truncated" if fits else "nystroem"
    if solver == "truncated" and (kernel.n_rows <= MOST_ROWS_DENSE or kernel.n_rows < 3 * wanted):
        solver = "exact"
    solve = {"exact": _exact, "truncated": _truncated, "nystroem": _nystroem}[solver]
    eigenvalues, scores = solve(kernel, wanted, rng, weight)
    first = eigenvalues.max(initial=0.0)
    if first <= 1e-12 * np.abs(kernel.diagonal).max():  # all rows are the same row
        return Components(np.zeros((kernel.n_rows, 1)), np.zeros(1))
    kept = eigenvalues >= least * first
    scores = scores[:, kept]
    eigenvalues = eigenvalues[kept]
    # The sign of a component is arbitrary: the same on every machine, its largest score is
    # positive.
    largest = scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])]
    return Components(scores * np.where(largest < 0, -1.0, 1.0), eigenvalues)


def mean_of_rows(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """The mean of the rows."""
    if weight is None:
        return values.mean(axis=0, dtype=np.float64)
    return weight @ values.astype(np.float64) / weight.sum()


def _refuse_undefined(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise UndefinedError(
            "Distances between these rows are not finite in float64. Scale the features to near 1."
        )


Eigenpairs = tuple[np.ndarray, np.ndarray]


def _exact(
    kernel: KernelRows, wanted: int, rng: np.random.Generator, weight: np.ndarray | None
) -> Eigenpairs:
    n = kernel.n_rows
    K = kernel.fetch(np.arange(n)).astype(np.float64, copy=False)
    _refuse_undefined(K)
    column_means = mean_of_rows(K, weight)
    K = K - column_means - column_means[:, None] + mean_of_rows(column_means, weight)
    if weight is not None:
        K *= np.sqrt(weight) * np.sqrt(weight)[:, None]
    eigenvalues, vectors = eigh(K, subset_by_index=(n - wanted, n - 1), overwrite_a=True)
    return _falling(eigenvalues, vectors, weight)


def _truncated(
    kernel: KernelRows, wanted: int, rng: np.random.Generator, weight: np.ndarray | None
) -> Eigenpairs:
    """Lanczos on P K P, product by product; the rows of K stay for the solver of the SVM."""
    n = kernel.n_rows
    root = None if weight is None else np.sqrt(weight)
    if kernel.capacity >= n:
        kernel.require(np.arange(n))

    def centered_product(v: np.ndarray) -> np.ndarray:
        v = v.ravel() if weight is None else root * v.ravel()
        v = v - v.mean() if weight is None else v - weight * (v.sum() / weight.sum())
        Kv = kernel.times_dense(v)
        centered = Kv.astype(np.float64) - mean_of_rows(Kv, weight)
        return centered if weight is None else root * centered

    operator = LinearOperator((n, n), matvec=centered_product, dtype=np.float64)
    start = rng.standard_normal(n)
    if np.linalg.norm(centered_product(start)) <= 1e-12 * np.linalg.norm(start):
        return np.zeros(1), np.zeros((n, 1))  # P K P = 0, on which Lanczos has no first step
    try:
        eigenvalues, vectors = eigsh(operator, wanted, which="LA", tol=LANCZOS_TOL, v0=start)
    except ArpackNoConvergence:
        return _exact(kernel, wanted, rng, weight)
    return _falling(eigenvalues, vectors, weight)


def _nystroem(
    kernel: KernelRows, wanted: int, rng: np.random.Generator, weight: np.ndarray | None
) -> Eigenpairs:
    n = kernel.n_rows
    m = min(N_LANDMARKS, n, kernel.capacity, max(FEW_LANDMARKS, LANDMARK_ENTRIES // n))
    landmarks = np.sort(rng.choice(n, m, replace=False))
    kernel.require(landmarks)
    K_mn = kernel.fetch(landmarks).astype(np.float64)
    _refuse_undefined(K_mn)
    spread, basis = eigh(K_mn[:, landmarks])
    known = spread > FLOAT32_NOISE * spread[-1]
    if not known.any():
        return np.zeros(1), np.zeros((n, 1))  # K = 0
    phi = times(K_mn.T, basis[:, known] / np.sqrt(spread[known]))
    phi -= mean_of_rows(phi, weight)
    wanted = min(wanted, phi.shape[1])
    counted = phi if weight is None else weight[:, None] * phi
    eigenvalues, axes = eigh(
        phi.T @ counted, subset_by_index=(phi.shape[1] - wanted, phi.shape[1] - 1)
    )
    return eigenvalues[::-1], phi @ axes[:, ::-1]


def _falling(eigenvalues: np.ndarray, vectors: np.ndarray, weight: np.ndarray | None) -> Eigenpairs:
    """Eigenpairs as (eigenvalues, scores), the largest first; none is negative."""
    order = np.argsort(-eigenvalues, kind="stable")
    eigenvalues = np.maximum(eigenvalues[order], 0)
    scores = vectors[:, order] * np.sqrt(eigenvalues)
    return eigenvalues, scores if weight is None else scores / np.sqrt(weight)[:, None]


def expected_seconds(n_rows: int, n_sparse: int, n_dense: int) -> float:
    """What the CPU is expected to take for so many sparse and dense matrices of so many rows.

    Two threads or more halve it; sixteen took half as long as one.
    """
    seconds = n_sparse * SECONDS_PER_ROW * n_rows + n_dense * SECONDS_PER_ENTRY * n_rows**2
    return seconds / min(n_threads(), 2)


def largest_eigenpairs(
    matrix: Any, n_vectors: int, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,), largest first, and orthonormal vectors (n, r) of a dense or sparse
    symmetric matrix.

    `device` is a name that `semisvm.device.resolve` has returned. Where a device does not get
    there, the CPU does.
    """
    _refuse_undefined(stored_numbers(matrix))
    n = matrix.shape[0]
    n_vectors = min(n_vectors, n)
    if device != "cpu":
        from semisvm.kernels.torch_source import eigenpairs_on_device

        pairs = eigenpairs_on_device(matrix, n_vectors, device)
        if pairs is not None:
            return pairs
    is_few = n_vectors <= FEW_VECTORS and n > 10 * FEW_VECTORS
    if (is_few and not is_sparse_matrix(matrix)) or (n > MOST_ROWS_EIGH and n > 4 * n_vectors):
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(
            matrix, k=n_vectors, which="LA", v0=start, ncv=min(n - 1, 2 * n_vectors + 40)
        )
    else:
        dense = as_dense(matrix)
        values, vectors = eigh(dense, subset_by_index=(n - n_vectors, n - 1))
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
