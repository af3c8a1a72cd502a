"""Scores of rows that were not used in training: k(new, support) @ coefficients, in blocks of bounded memory."""

from typing import Any

import numpy as np
from scipy import sparse

from semisvm.device import resolve
from semisvm.kernels.formula import Formula
from semisvm.kernels.sources import cross_kernel
from semisvm.kernels.threads import for_each, n_threads

SCORED_BYTES = 64_000_000  # of kernel values per block
SHORT_ROW = 64  # features up to which one compiled pass is faster than a matrix product followed by an exponential
WORTH_COMPILING = 1_000_000  # kernel values; for fewer, loading the compiled code would take longer
DEVICE_PAYS_FROM_VALUES = 1 << 20  # kernel values; fewer are computed on the host before the data has been transferred


def scores_of_new_rows(
    X: Any, support_vectors: Any, coefficients: np.ndarray, formula: Formula, *, device: str = "cpu"
) -> np.ndarray:
    """Return the sum of each row's kernel values with the support vectors, weighted by the coefficients.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        The new rows; with a precomputed kernel their kernel values with the support vectors, of shape
        (n_rows, n_support).
    support_vectors : array or sparse matrix of shape (n_support, n_features)
        The support vectors; not used with a precomputed kernel.
    coefficients : ndarray of shape (n_outputs, n_support)
        One row of coefficients per machine.
    formula : Formula
        The kernel, as it was settled in training.
    device : str, default="cpu"
        Where to compute large products: "cpu", "cuda", "cuda:1", ... or "auto".

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
        The scores, without bias.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import make_formula, scores_of_new_rows
    >>> support = np.array([[0.0], [1.0]])
    >>> scores_of_new_rows(np.array([[2.0], [3.0]]), support, np.array([[1.0, -1.0]]), make_formula("linear", support))
    array([[-2.],
           [-3.]])
    """
    n_rows, n_support = X.shape[0], coefficients.shape[1]
    is_large = n_rows * n_support >= DEVICE_PAYS_FROM_VALUES and formula.name not in ("precomputed", "callable")
    if is_large and (place := resolve(device, n_rows)) != "cpu":
        from semisvm.kernels.torch_source import scores_on_device

        return scores_on_device(X, support_vectors, coefficients, formula, place)
    scores = np.zeros((n_rows, coefficients.shape[0]))
    if n_support == 0:
        return scores
    are_dense = not (sparse.issparse(X) or sparse.issparse(support_vectors))
    if formula.name == "rbf" and are_dense and X.shape[1] <= SHORT_ROW and n_rows * n_support >= WORTH_COMPILING:
        _score_short_rows(X, support_vectors, coefficients, formula.gamma, scores)
        return scores
    block = max(1, SCORED_BYTES // (8 * n_support))
    for start in range(0, n_rows, block):
        part = slice(start, start + block)
        K = X[part] if formula.name == "precomputed" else cross_kernel(formula, X[part], support_vectors)
        scores[part] = np.asarray(K @ coefficients.T)
    return scores


def _score_short_rows(X, support_vectors, coefficients, gamma: float, scores: np.ndarray) -> None:
    """Score dense rows of few features in one compiled pass, on every core."""
    from semisvm.kernels.compiled import PANEL_WIDTH, rbf_scores

    X, Z = (np.ascontiguousarray(part, dtype=np.float64) for part in (X, support_vectors))
    share = PANEL_WIDTH * max(1, -(-len(X) // (PANEL_WIDTH * n_threads())))
    parts = [slice(start, start + share) for start in range(0, len(X), share)]
    coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
    for_each(lambda part: rbf_scores(X[part], Z, coefficients, float(gamma), scores[part]), parts)
