"""Scores of rows never seen in training: k(new, support) @ coefficients, in blocks of bounded memory."""

import numpy as np

from semisvm.kernels.formula import Formula
from semisvm.kernels.sources import cross_kernel

BLOCK_BYTES = 64_000_000


def scores_of_new_rows(X, support_vectors, coefficients, formula: Formula) -> np.ndarray:
    """Sum the kernel values of each row of X with the support vectors, weighted.

    coefficients has shape (n_outputs, n_support); the result (n_rows, n_outputs). With a precomputed kernel X
    already holds the kernel values, its columns being the support rows.
    """
    n_rows, n_support = X.shape[0], coefficients.shape[1]
    scores = np.zeros((n_rows, coefficients.shape[0]))
    if n_support == 0:
        return scores
    block = max(1, BLOCK_BYTES // (8 * n_support))
    for start in range(0, n_rows, block):
        part = slice(start, start + block)
        K = X[part] if formula.name == "precomputed" else cross_kernel(formula, X[part], support_vectors)
        scores[part] = np.asarray(K @ coefficients.T)
    return scores
