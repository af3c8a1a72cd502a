"""Slow, obvious answers that the engine is checked against.

Nothing here shares code with the library: kernels by a double loop, the quadratic problem by a
general-purpose interior-point solver (Clarabel), optimality by looking at every variable, a warm
start carried over one coefficient at a time. `row` maps variables to data rows as in `DualProblem`;
None means that variable i is data row i.
"""

import math

import clarabel
import numpy as np
from scipy import sparse


def naive_kernel(name, X, Z=None, *, gamma=1.0, coef0=0.0, degree=3):
    """K[i, j] = k(X[i], Z[j]) in float64, one pair at a time."""
    X = as_dense(X)
    Z = X if Z is None else as_dense(Z)
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            K[i, j] = naive_kernel_value(name, x, z, gamma, coef0, degree)
    return K


def naive_kernel_value(name, x, z, gamma, coef0, degree):
    if name == "linear":
        return float(x @ z)
    if name == "rbf":
        return math.exp(-gamma * float((x - z) @ (x - z)))
    if name == "poly":
        return (gamma * float(x @ z) + coef0) ** degree
    assert name == "sigmoid"
    return math.tanh(gamma * float(x @ z) + coef0)


def as_dense(X):
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


def scores_by_definition(K, beta, row=None):
    """K @ beta for every data row, each variable adding its share."""
    scores = np.zeros(len(K))
    for v, coefficient in enumerate(beta):
        scores += K[:, v if row is None else row[v]] * coefficient
    return scores


def gradient_by_definition(K, linear, beta, row=None):
    scores = scores_by_definition(K, beta, row)
    return (scores if row is None else scores[row]) + linear


def objective_by_definition(K, linear, beta, row=None):
    scores = scores_by_definition(K, beta, row)
    return float(0.5 * beta @ (scores if row is None else scores[row]) + linear @ beta)


def multiplier_interval(gradient, beta, lower, upper):
    """(least gradient of those that may rise, largest of those that may fall): the second is at
    most the first at an optimum, and minus the bias lies between.
    """
    least_rising = math.inf
    most_falling = -math.inf
    for g, b, low, high in zip(gradient, beta, lower, upper, strict=True):
        if b < high:
            least_rising = min(least_rising, g)
        if b > low:
            most_falling = max(most_falling, g)
    return least_rising, most_falling


def gap_by_definition(K, linear, lower, upper, beta, row=None):
    least_rising, most_falling = multiplier_interval(
        gradient_by_definition(K, linear, beta, row), beta, lower, upper
    )
    return most_falling - least_rising


def optimum(K, linear, lower, upper, total=0.0, row=None):
    """(beta, objective) of the convex problem by an interior-point method.

    Variables in a box of zero width are put into the constants, since interior points need an
    interior.
    """
    Q = K if row is None else K[np.ix_(row, row)]
    beta = lower.copy()
    free = np.flatnonzero(lower < upper)
    if len(free):
        held = np.where(lower < upper, 0.0, lower)
        beta[free] = _interior_point(
            Q[np.ix_(free, free)],
            (linear + Q @ held)[free],
            lower[free],
            upper[free],
            total - held.sum(),
        )
    return beta, float(0.5 * beta @ Q @ beta + linear @ beta)


def _interior_point(Q, linear, lower, upper, total):
    n = len(linear)
    below = np.flatnonzero(np.isfinite(lower))
    above = np.flatnonzero(np.isfinite(upper))
    one = sparse.identity(n, format="csc")
    A = sparse.vstack([np.ones((1, n)), one[above], -one[below]], format="csc")
    b = np.concatenate([[total], upper[above], -lower[below]])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(above) + len(below))]
    return solve_convex(Q, linear, A, b, cones[: 1 + (len(b) > 1)])[0]


def solve_convex(Q, linear, A, b, cones, *, tol=1e-11, reduced_tol=1e-8):
    """(x, objective) of: minimize 1/2 x' Q x + linear' x with b - A x in the cones, by Clarabel.

    Where the last digits can't be had (no interior at all, say), it may end with `reduced_tol`.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = reduced_tol
    settings.reduced_tol_feas = reduced_tol
    upper = sparse.triu(sparse.csc_matrix(Q), format="csc")
    answer = clarabel.DefaultSolver(upper, linear, sparse.csc_matrix(A), b, cones, settings).solve()
    failed = f"the oracle itself failed: {answer.status}"
    assert str(answer.status) in ("Solved", "AlmostSolved"), failed
    return np.asarray(answer.x), float(answer.obj_val)


def repair_one_by_one(beta, lower, upper, total, gradient):
    """Clip; then, while the sum is wrong, move the most downhill coefficient that has room as
    far as is needed.
    """
    beta = [min(max(b, low), high) for b, low, high in zip(beta, lower, upper, strict=True)]
    lacking = total - math.fsum(beta)
    direction = 1 if lacking > 0 else -1
    for v in sorted(range(len(beta)), key=lambda v: direction * gradient[v]):
        if lacking * direction <= 0:
            break
        room = upper[v] - beta[v] if direction > 0 else beta[v] - lower[v]
        move = min(room, lacking * direction)
        beta[v] += direction * move
        lacking -= direction * move
    return np.array(beta)
