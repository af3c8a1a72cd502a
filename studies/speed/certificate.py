"""How good is a solution? The same three numbers for every solver, from its support vectors alone.

    objective = 1/2 beta' K beta - sum |beta|          what all solvers minimize
    gap       = max over rows that may rise of (sign - K beta)
                - min over rows that may fall of (sign - K beta)      all solvers stop when gap <
                tol
    accuracy  = share of training rows where sign (K beta + bias) is right

All three follow from K beta on all training rows, so K is computed once, in blocks of bounded size,
and in float64: float32 kernels were measured to change the objective by 2e-6, which is the size of
the differences between solvers.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits

BLOCK_ELEMENTS = 2**23  # 64 MiB of float64 kernel values at a time and core


def cuda_or_cpu():
    """Return "cuda" if torch finds such a device, else "cpu"."""
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def rbf_product(X, rows, beta, gamma, device="cpu"):
    """Return K(X, X[rows]) @ beta for the kernel exp(-gamma |x - x'|^2); X is CSR or dense,
    float64.
    """
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    if device != "cpu":
        return _torch_product(dense, rows, beta, gamma, device)
    square = np.einsum("ij,ij->i", dense, dense)
    vectors = np.ascontiguousarray(dense[rows].T)
    vectors_square = square[rows]
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


def _torch_product(dense, rows, beta, gamma, device):
    """The same by torch, in float64 too."""
    import torch

    data, weights = (
        torch.as_tensor(values, dtype=torch.float64).to(device) for values in (dense, beta)
    )
    square = (data * data).sum(dim=1)
    product = torch.empty(len(data), dtype=torch.float64, device=device)
    chosen = torch.as_tensor(rows).to(device)
    vectors = data[chosen].T
    vectors_square = square[chosen]
    step = max(1, 16 * BLOCK_ELEMENTS // max(1, len(rows)))
    for start in range(0, len(data), step):
        block = slice(start, start + step)
        exponent = (
            (data[block] @ vectors)
            .mul_(2.0)
            .sub_(square[block, None])
            .sub_(vectors_square)
            .clamp_(max=0.0)
        )
        product[block] = exponent.mul_(gamma).exp_() @ weights
    return product.cpu().numpy()


def certify(X, sign, support, beta_support, bias, C, gamma, device="cpu"):
    """Return objective, gap, training accuracy and feasibility error of a solution as a dict."""
    product = rbf_product(X, support, beta_support, gamma, device)
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
