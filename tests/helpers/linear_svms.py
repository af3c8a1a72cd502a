"""Linear SVMs as they are written on paper: an objective, and its optimum by a general-purpose
solver. Nothing here shares code with the library.

    minimize  1/2 |w|^2 + sum_i [ p_i h(f_i) + q_i h(-f_i) ]      f_i = <w, x_i> + bias

h(t) is max(0, 1 - t), or its square.
"""

import clarabel
import numpy as np
from scipy import sparse


class NoAnswerError(Exception):
    """The general-purpose solver found no optimum."""


def objective(X, p, q, w, bias, loss):
    """The objective, written out."""
    power = 2 if loss == "squared_hinge" else 1
    f = X @ w + bias
    losses = p * np.maximum(0, 1 - f) ** power + q * np.maximum(0, 1 + f) ** power
    return 0.5 * w @ w + losses.sum()


def optimum(X, p, q, loss):
    """(w, bias, objective there) by Clarabel, in w, bias and one slack per piece."""
    n, d = X.shape
    positive, negative = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    row, price = np.append(positive, negative), np.append(p[positive], q[negative])
    side = np.repeat([1.0, -1.0], [len(positive), len(negative)])
    m = len(row)
    is_squared = loss == "squared_hinge"
    scale = price.max()  # so that its tolerances fit any price
    H = sparse.diags_array(np.concatenate([np.ones(d), [0.0], 2 * price * is_squared])).tocsc()
    linear = np.append(np.zeros(d + 1), np.zeros(m) if is_squared else price)
    H, linear = H / scale, linear / scale
    with_bias = np.hstack([X, np.ones((n, 1))])[row]
    A = sparse.block_array(
        [[-side[:, None] * with_bias, -sparse.identity(m)], [None, -sparse.identity(m)]],
        format="csc",
    )
    b = np.append(-np.ones(m), np.zeros(m))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(2 * m)]
    found = clarabel.DefaultSolver(
        sparse.triu(H, format="csc"), linear, A, b, cones, settings
    ).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise NoAnswerError(found.status)
    x = np.asarray(found.x)
    return x[:d], x[d], objective(X, p, q, x[:d], x[d], loss)
