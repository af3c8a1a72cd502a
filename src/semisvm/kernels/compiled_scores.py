"""Compiled scores of new rows under the RBF kernel: distances, exponential and weighted sum in one pass, in float64.

    scores[i, q] = sum_j coefficients[q, j] exp(-gamma |x_i - z_j|^2)

WIDTH rows are laid side by side, feature by feature; each support vector meets them all while they are in the
first-level cache, and no kernel value is ever stored. A row's score does not depend on the rows beside it.
"""

import math

import numpy as np

from semisvm.kernels.jit import compiled

WIDTH = 128

_LOG2_E = 1.4426950408889634
# Coefficients of 2^t on [-1/2, 1/2], ln(2)^k / k!, the highest first: good to the last digit or two.
_POWERS = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(12, -1, -1))
_P12, _P11, _P10, _P9, _P8, _P7, _P6, _P5, _P4, _P3, _P2, _P1, _P0 = _POWERS


@compiled
def rbf_scores(X, support_vectors, coefficients, gamma, scores):
    """Write the scores of all rows of X, (n, n_outputs)."""
    n_rows, n_features = X.shape
    n_outputs = coefficients.shape[0]
    panel = np.zeros((n_features, WIDTH))
    value = np.empty(WIDTH)
    sums = np.empty((n_outputs, WIDTH))
    for start in range(0, n_rows, WIDTH):
        stop = min(start + WIDTH, n_rows)
        for i in range(start, stop):
            for k in range(n_features):
                panel[k, i - start] = X[i, k]
        sums[:] = 0.0
        for j in range(support_vectors.shape[0]):
            _rbf_with_panel(value, panel, support_vectors[j], gamma)
            for q in range(n_outputs):
                coefficient = coefficients[q, j]
                for b in range(WIDTH):
                    sums[q, b] += coefficient * value[b]
        for q in range(n_outputs):
            for i in range(start, stop):
                scores[i, q] = sums[q, i - start]


@compiled
def _rbf_with_panel(value, panel, z, gamma):
    """value[b] = exp(-gamma |column b of the panel - z|^2)."""
    for b in range(WIDTH):
        value[b] = 0.0
    for k in range(panel.shape[0]):
        at = z[k]
        column = panel[k]
        for b in range(WIDTH):
            difference = column[b] - at
            value[b] += difference * difference
    scale = -_LOG2_E * gamma
    for b in range(WIDTH):
        t = max(scale * value[b], -1022.0)
        whole = math.floor(t + 0.5)
        part = t - whole
        power = _P12
        power = power * part + _P11
        power = power * part + _P10
        power = power * part + _P9
        power = power * part + _P8
        power = power * part + _P7
        power = power * part + _P6
        power = power * part + _P5
        power = power * part + _P4
        power = power * part + _P3
        power = power * part + _P2
        power = power * part + _P1
        power = power * part + _P0
        exponent = (np.int64(whole) + np.int64(1023)) << np.int64(52)
        value[b] = power * np.int64(exponent).view(np.float64)
