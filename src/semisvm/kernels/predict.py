"""Scores of rows never seen in training: k(new, support) @ coefficients, in blocks of bounded memory."""

import numpy as np
from scipy import sparse

from semisvm.device import resolve
from semisvm.kernels.formula import Formula
from semisvm.kernels.sources import cross_kernel
from semisvm.kernels.threads import for_each, n_threads

BLOCK_BYTES = 64_000_000
SHORT_ROW = 64  # features up to which one compiled pass beats a matrix product followed by an exponential
WORTH_COMPILING = 1_000_000  # kernel values below which loading the compiled code would take longer
WORTH_A_DEVICE = 1 << 20  # kernel values; fewer are made on the processor before the data has traveled


def scores_of_new_rows(X, support_vectors, coefficients, formula: Formula, *, device: str = "cpu") -> np.ndarray:
    """Sum the kernel values of each row of X with the support vectors, weighted.

    coefficients has shape (n_outputs, n_support); the result (n_rows, n_outputs). With a precomputed kernel X
    already holds the kernel values, its columns being the support rows.
    """
    n_rows, n_support = X.shape[0], coefficients.shape[1]
    is_large = n_rows * n_support >= WORTH_A_DEVICE and formula.name not in ("precomputed", "callable")
    if is_large and (place := resolve(device, n_rows)) != "cpu":
        from semisvm.kernels.gram import scores_on_device

        return scores_on_device(X, support_vectors, coefficients, formula, place)
    scores = np.zeros((n_rows, coefficients.shape[0]))
    if n_support == 0:
        return scores
    are_dense = not (sparse.issparse(X) or sparse.issparse(support_vectors))
    if formula.name == "rbf" and are_dense and X.shape[1] <= SHORT_ROW and n_rows * n_support >= WORTH_COMPILING:
        _score_short_rows(X, support_vectors, coefficients, formula.gamma, scores)
        return scores
    block = max(1, BLOCK_BYTES // (8 * n_support))
    for start in range(0, n_rows, block):
        part = slice(start, start + block)
        K = X[part] if formula.name == "precomputed" else cross_kernel(formula, X[part], support_vectors)
        scores[part] = np.asarray(K @ coefficients.T)
    return scores


def _score_short_rows(X, support_vectors, coefficients, gamma: float, scores: np.ndarray) -> None:
    """The same for dense rows of few features: one compiled pass, on every core."""
    from semisvm.kernels.compiled_scores import WIDTH, rbf_scores

    X, Z = (np.ascontiguousarray(part, dtype=np.float64) for part in (X, support_vectors))
    share = WIDTH * max(1, -(-len(X) // (WIDTH * n_threads())))
    parts = [slice(start, start + share) for start in range(0, len(X), share)]
    coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
    for_each(lambda part: rbf_scores(X[part], Z, coefficients, float(gamma), scores[part]), parts)
