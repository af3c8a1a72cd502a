"""Compiled loops of the kernels: the exponential of the RBF kernel, sparse products, K @ beta, scores of new rows.

Loops are written for the vectorizer: unit stride, no branch, no call. Each dot product is summed in an order that
depends on the two rows alone, never on the batch they came in, so that a row made twice is the same row.

Products work on panels: PANEL_WIDTH data rows are laid side by side, feature by feature, so that one number of another
row is multiplied with PANEL_WIDTH adjacent numbers.
"""

import math

import numpy as np
from numpy import float32

from semisvm.kernels.resources import jit

PANEL_WIDTH = 128  # a whole number of vector registers on every machine

_LOG2_E = 1.4426950408889634
_LOG2_E_FLOAT32 = float32(_LOG2_E)
# Coefficients of 2^t on [-1/2, 1/2], ln(2)^k / k!, highest first: exact to the last one or two digits of float64.
_POWERS = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(12, -1, -1))
_P12, _P11, _P10, _P9, _P8, _P7, _P6, _P5, _P4, _P3, _P2, _P1, _P0 = _POWERS


@jit
def rbf_of_dots(dots, squares, square, gamma):
    """dots[j] <- exp(-gamma (square + squares[j] - 2 dots[j])), in place, float32, to about 2e-7 relative.

    2^t = 2^round(t) * 2^(t - round(t)): the first factor is an exponent field, the second a polynomial of degree 6
    (Chebyshev interpolation on [-1/2, 1/2]). A call of ``exp`` would prevent the loop from being vectorized.
    """
    scale = -_LOG2_E_FLOAT32 * float32(gamma)
    square = float32(square)
    for j in range(dots.shape[0]):
        distance = max(square + squares[j] - float32(2) * dots[j], float32(0))
        t = max(scale * distance, float32(-126))
        whole = math.floor(t + float32(0.5))
        part = t - whole
        value = float32(1.5461445e-4)
        value = value * part + float32(1.3400428e-3)
        value = value * part + float32(9.6180567e-3)
        value = value * part + float32(5.5503272e-2)
        value = value * part + float32(2.4022651e-1)
        value = value * part + float32(6.9314721e-1)
        value = value * part + float32(1.0)
        exponent = (np.int32(whole) + np.int32(127)) << np.int32(23)
        dots[j] = value * np.int32(exponent).view(np.float32)


@jit
def rbf_of_dot_rows(dots, squares_left, squares, gamma):
    """Apply `rbf_of_dots` to each row of a block: row i belongs to the data row of squared norm squares_left[i]."""
    for i in range(dots.shape[0]):
        rbf_of_dots(dots[i], squares, squares_left[i], gamma)


@jit
def sparse_products(values, slots, wanted, data_rows, first, last):
    """values[slots[r], i] = <wanted row r, data row i> for data rows first <= i < last; both are CSR triples.

    PANEL_WIDTH data rows at a time are laid out dense, so that the results come out in the order in which they are
    stored.
    """
    n_features = _largest_index(data_rows[1], wanted[1]) + 1
    panel = np.zeros(n_features * PANEL_WIDTH, dtype=values.dtype)
    sums = np.empty(PANEL_WIDTH, dtype=values.dtype)
    for start in range(first, last, PANEL_WIDTH):
        stop = min(start + PANEL_WIDTH, last)
        _lay_out(panel, data_rows, start, stop, True)
        for r in range(slots.shape[0]):
            _dots_with_panel(sums, panel, wanted, r)
            values[slots[r], start:stop] = sums[: stop - start]
        _lay_out(panel, data_rows, start, stop, False)


@jit
def sparse_rbf(values, slots, wanted, data_rows, wanted_squares, squares, gamma, first, last):
    """As `sparse_products`, with the exponential applied to each panel's products immediately."""
    n_features = _largest_index(data_rows[1], wanted[1]) + 1
    panel = np.zeros(n_features * PANEL_WIDTH, dtype=values.dtype)
    sums = np.empty(PANEL_WIDTH, dtype=values.dtype)
    panel_squares = np.zeros(PANEL_WIDTH, dtype=values.dtype)
    for start in range(first, last, PANEL_WIDTH):
        stop = min(start + PANEL_WIDTH, last)
        _lay_out(panel, data_rows, start, stop, True)
        panel_squares[: stop - start] = squares[start:stop]
        for r in range(slots.shape[0]):
            _dots_with_panel(sums, panel, wanted, r)
            rbf_of_dots(sums, panel_squares, wanted_squares[r], gamma)
            values[slots[r], start:stop] = sums[: stop - start]
        _lay_out(panel, data_rows, start, stop, False)


@jit
def _largest_index(some, others):
    largest = -1
    for index in some:
        largest = max(largest, index)
    for index in others:
        largest = max(largest, index)
    return largest


@jit
def _lay_out(panel, data_rows, start, stop, write):
    """Put data rows start..stop into the columns of the panel, or (write=False) set them to 0 again."""
    indptr, indices, data = data_rows
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            panel[indices[k] * PANEL_WIDTH + (i - start)] = data[k] if write else 0


@jit
def _dots_with_panel(sums, panel, wanted, r):
    """sums[b] = <wanted row r, column b of the panel>."""
    indptr, indices, data = wanted
    for b in range(PANEL_WIDTH):
        sums[b] = 0
    width = np.uint64(PANEL_WIDTH)
    k, end = indptr[r], indptr[r + 1]
    # Four terms per pass: the running sums are loaded and stored once for four products.
    while k + 4 <= end:
        x0, x1, x2, x3 = data[k], data[k + 1], data[k + 2], data[k + 3]
        p0, p1 = np.uint64(indices[k]) * width, np.uint64(indices[k + 1]) * width
        p2, p3 = np.uint64(indices[k + 2]) * width, np.uint64(indices[k + 3]) * width
        for b in range(PANEL_WIDTH):
            q = np.uint64(b)
            sums[b] += (x0 * panel[p0 + q] + x1 * panel[p1 + q]) + (x2 * panel[p2 + q] + x3 * panel[p3 + q])
        k += 4
    while k < end:
        x0, p0 = data[k], np.uint64(indices[k]) * width
        for b in range(PANEL_WIDTH):
            sums[b] += x0 * panel[p0 + np.uint64(b)]
        k += 1


@jit
def add_rows(scores, values, slots, coefficients):
    """scores += sum_k coefficients[k] * values[slots[k]], accumulated in float64."""
    for k in range(slots.shape[0]):
        row = values[slots[k]]
        coefficient = coefficients[k]
        for j in range(scores.shape[0]):
            scores[j] += coefficient * np.float64(row[j])


@jit
def rbf_scores(X, support_vectors, coefficients, gamma, scores):
    """scores[i, q] = sum_j coefficients[q, j] exp(-gamma |x_i - z_j|^2), shape (n, n_outputs), in float64.

    Distances, exponential and weighted sum in one pass: each support vector meets a panel of rows while the panel is
    in the first-level cache, and no kernel value is ever stored. A row's score does not depend on the other rows.
    """
    n_rows, n_features = X.shape
    n_outputs = coefficients.shape[0]
    panel = np.zeros((n_features, PANEL_WIDTH))
    value = np.empty(PANEL_WIDTH)
    sums = np.empty((n_outputs, PANEL_WIDTH))
    for start in range(0, n_rows, PANEL_WIDTH):
        stop = min(start + PANEL_WIDTH, n_rows)
        for i in range(start, stop):
            for k in range(n_features):
                panel[k, i - start] = X[i, k]
        sums[:] = 0.0
        for j in range(support_vectors.shape[0]):
            _rbf_with_panel(value, panel, support_vectors[j], gamma)
            for q in range(n_outputs):
                coefficient = coefficients[q, j]
                for b in range(PANEL_WIDTH):
                    sums[q, b] += coefficient * value[b]
        for q in range(n_outputs):
            for i in range(start, stop):
                scores[i, q] = sums[q, i - start]


@jit
def _rbf_with_panel(value, panel, z, gamma):
    """value[b] = exp(-gamma |column b of the panel - z|^2)."""
    for b in range(PANEL_WIDTH):
        value[b] = 0.0
    for k in range(panel.shape[0]):
        at = z[k]
        column = panel[k]
        for b in range(PANEL_WIDTH):
            difference = column[b] - at
            value[b] += difference * difference
    scale = -_LOG2_E * gamma
    for b in range(PANEL_WIDTH):
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
