"""How good is a solution? The same three numbers for every solver, from its support vectors alone.

    objective = 1/2 beta' K beta - sum |beta|          what all solvers minimize
    gap       = max over rows that may rise of (sign - K beta)
                - min over rows that may fall of (sign - K beta)      all solvers stop when gap < tol
    accuracy  = share of training rows where sign (K beta + bias) is right

All three follow from K beta on all training rows, so K is computed once, in blocks of bounded size, and in
float64: float32 kernels were measured to change the objective by 2e-6, which is the size of the differences
between solvers.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits

BLOCK_ELEMENTS = 2**23  # 64 MiB of float64 kernel values at a time and core


def rbf_product(X, rows, beta, gamma):
    """Return K(X, X[rows]) @ beta for the kernel exp(-gamma |x - x'|^2); X is CSR or dense, float64."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    square = np.einsum("ij,ij->i", dense, dense)
    vectors, vectors_square = np.ascontiguousarray(dense[rows].T), square[rows]
    product = np.empty(len(dense))
    step = max(1, BLOCK_ELEMENTS // max(1, len(rows)))

    def fill(start):
        block = slice(start, start + step)
        exponent = dense[block] @ vectors
        exponent *= 2.0
        exponent -= square[block, None]
        exponent -= vectors_square
        np.minimum(exponent, 0.0, out=exponent)  # rounding may put a distance just below zero
        exponent *= gamma
        product[block] = np.exp(exponent, out=exponent) @ beta

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(fill, range(0, len(dense), step)))
    return product


def certify(X, sign, support, beta_support, bias, C, gamma):
    """Return objective, gap, training accuracy and feasibility error of a solution as a dict."""
    product = rbf_product(X, support, beta_support, gamma)
    beta = np.zeros(len(sign))
    beta[support] = beta_support
    size = sign * beta  # alpha, in [0, C] where the solution is feasible
    slack = sign - product
    # Single precision stores C to 7 digits: a bound counts as reached within that.
    near = 1e-6 * C
    may_rise = np.where(sign > 0, size < C - near, size > near)
    may_fall = np.where(sign > 0, size > near, size < C - near)
    return {
        "dual_objective": float(0.5 * beta @ product - np.abs(beta).sum()),
        "gap": float(slack[may_rise].max() - slack[may_fall].min()),
        "training_accuracy": float(np.mean(np.where(product + bias > 0, 1.0, -1.0) == sign)),
        "constraint_error": float(max(abs(beta.sum()), -size.min(), (size - C).max(), 0.0)),
    }
