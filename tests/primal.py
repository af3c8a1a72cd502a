"""Machines solved as they are written on paper: in w, bias and slacks, by a general-purpose solver.

    minimize  1/2 |w|^2 + 1/2 h' P h + sum_j price_j slack_j        h = <w, x_i> over all rows
    slack_j >= 0,   slack_j >= side_j (target_j - f(x_row_j)),      f = h + bias

side +1 charges for f below the target, -1 for f above it. Rows are given by their kernel matrix, w
by coordinates in which it is the matrix of dot products. Nothing here knows of duals, deformed
kernels or boxes.
"""

import clarabel
import numpy as np
from scipy import sparse

from oracles import solve_convex


def solve_primal(K, row, side, target, price, P=None):
    """(f at every row, the objective)."""
    values, vectors = np.linalg.eigh(K)
    coordinates = vectors * np.sqrt(np.maximum(values, 0))  # rows whose dot products are K
    n = len(K)
    m = len(row)
    quadratic = np.eye(n) if P is None else np.eye(n) + coordinates.T @ P @ coordinates
    H = sparse.block_diag([quadratic, sparse.csc_matrix((1 + m, 1 + m))], format="csc")
    linear = np.concatenate([np.zeros(n + 1), price])
    with_bias = np.hstack([coordinates, np.ones((n, 1))])[row]
    A = sparse.vstack(
        [
            sparse.hstack([-side[:, None] * with_bias, -sparse.identity(m)]),
            sparse.hstack([sparse.csc_matrix((m, n + 1)), -sparse.identity(m)]),
        ],
        format="csc",
    )
    b = np.concatenate([-side * target, np.zeros(m)])
    x, objective = solve_convex(
        H, linear, A, b, [clarabel.NonnegativeConeT(2 * m)], tol=1e-12, reduced_tol=1e-9
    )
    return coordinates @ x[:n] + x[n], objective


def primal_objective(K, coefficients, bias, row, side, target, price, P=None):
    """The objective above at f = K coefficients + bias."""
    h = K @ coefficients
    smooth = coefficients @ h + (0.0 if P is None else h @ P @ h)
    slack = np.maximum(0, side * (target - (h + bias)[row]))
    return 0.5 * smooth + float(price @ slack)
