"""Compiled inner loops of the kernels: the exponential of the RBF kernel, sparse products, and K @ beta.

Loops are written for the vectorizer: unit stride, no branch, no call. Each dot product is summed in an order that
depends on the two rows alone, never on the batch they came in, so that a row made twice is the same row.
"""

import math

import numpy as np

from semisvm.kernels.jit import compiled

WIDTH = 128  # data rows laid side by side: a whole number of vector registers, whatever the machine

_F = np.float32
_LOG2_E = _F(1.4426950408889634)


@compiled
def rbf_of_dots(dots, squares, square, gamma):
    """dots[j] <- exp(-gamma (square + squares[j] - 2 dots[j])), in place, float32, to about 2e-7 relative.

    2^t = 2^round(t) * 2^(t - round(t)): the first factor is an exponent field, the second a polynomial of degree 6
    (Chebyshev interpolation on [-1/2, 1/2]). Plain ``exp`` is a call that keeps the loop from being vectorized.
    """
    scale = -_LOG2_E * _F(gamma)
    square = _F(square)
    for j in range(dots.shape[0]):
        distance = max(square + squares[j] - _F(2) * dots[j], _F(0))
        t = max(scale * distance, _F(-126))
        whole = math.floor(t + _F(0.5))
        part = t - whole
        value = _F(1.5461445e-4)
        value = value * part + _F(1.3400428e-3)
        value = value * part + _F(9.6180567e-3)
        value = value * part + _F(5.5503272e-2)
        value = value * part + _F(2.4022651e-1)
        value = value * part + _F(6.9314721e-1)
        value = value * part + _F(1.0)
        exponent = (np.int32(whole) + np.int32(127)) << np.int32(23)
        dots[j] = value * np.int32(exponent).view(np.float32)


@compiled
def rbf_of_dot_rows(dots, squares_left, squares, gamma):
    """Apply `rbf_of_dots` to each row of a block: row i belongs to the data row of squared norm squares_left[i]."""
    for i in range(dots.shape[0]):
        rbf_of_dots(dots[i], squares, squares_left[i], gamma)


@compiled
def sparse_products(values, slots, wanted, data_rows, first, last):
    """values[slots[r], i] = <wanted row r, data row i> for data rows first <= i < last; both are CSR triples.

    WIDTH data rows at a time are laid out dense, feature by feature, so that a non-zero of a wanted row meets WIDTH
    neighboring numbers and the results come out in the order in which they are stored.
    """
    n_features = _largest(data_rows[1], wanted[1]) + 1
    panel = np.zeros(n_features * WIDTH, dtype=values.dtype)
    sums = np.empty(WIDTH, dtype=values.dtype)
    for start in range(first, last, WIDTH):
        stop = min(start + WIDTH, last)
        _lay_out(panel, data_rows, start, stop, True)
        for r in range(slots.shape[0]):
            _dots_with_panel(sums, panel, wanted, r)
            values[slots[r], start:stop] = sums[: stop - start]
        _lay_out(panel, data_rows, start, stop, False)


@compiled
def sparse_rbf(values, slots, wanted, data_rows, wanted_squares, squares, gamma, first, last):
    """As `sparse_products`, with the exponential taken while the products are at hand."""
    n_features = _largest(data_rows[1], wanted[1]) + 1
    panel = np.zeros(n_features * WIDTH, dtype=values.dtype)
    sums = np.empty(WIDTH, dtype=values.dtype)
    panel_squares = np.zeros(WIDTH, dtype=values.dtype)
    for start in range(first, last, WIDTH):
        stop = min(start + WIDTH, last)
        _lay_out(panel, data_rows, start, stop, True)
        panel_squares[: stop - start] = squares[start:stop]
        for r in range(slots.shape[0]):
            _dots_with_panel(sums, panel, wanted, r)
            rbf_of_dots(sums, panel_squares, wanted_squares[r], gamma)
            values[slots[r], start:stop] = sums[: stop - start]
        _lay_out(panel, data_rows, start, stop, False)


@compiled
def _largest(some, others):
    largest = -1
    for index in some:
        largest = max(largest, index)
    for index in others:
        largest = max(largest, index)
    return largest


@compiled
def _lay_out(panel, data_rows, start, stop, write):
    """Put data rows start..stop into the columns of the panel, or (write=False) take them out again."""
    indptr, indices, data = data_rows
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            panel[indices[k] * WIDTH + (i - start)] = data[k] if write else 0


@compiled
def _dots_with_panel(sums, panel, wanted, r):
    """sums[b] = <wanted row r, column b of the panel>."""
    indptr, indices, data = wanted
    for b in range(WIDTH):
        sums[b] = 0
    width = np.uint64(WIDTH)
    k, end = indptr[r], indptr[r + 1]
    # Four terms a pass: the running sums are loaded and stored once for four products.
    while k + 4 <= end:
        x0, x1, x2, x3 = data[k], data[k + 1], data[k + 2], data[k + 3]
        p0, p1 = np.uint64(indices[k]) * width, np.uint64(indices[k + 1]) * width
        p2, p3 = np.uint64(indices[k + 2]) * width, np.uint64(indices[k + 3]) * width
        for b in range(WIDTH):
            q = np.uint64(b)
            sums[b] += (x0 * panel[p0 + q] + x1 * panel[p1 + q]) + (x2 * panel[p2 + q] + x3 * panel[p3 + q])
        k += 4
    while k < end:
        x0, p0 = data[k], np.uint64(indices[k]) * width
        for b in range(WIDTH):
            sums[b] += x0 * panel[p0 + np.uint64(b)]
        k += 1


@compiled
def add_rows(scores, values, slots, coefficients):
    """scores += sum_k coefficients[k] * values[slots[k]], accumulated in float64."""
    for k in range(slots.shape[0]):
        row = values[slots[k]]
        coefficient = coefficients[k]
        for j in range(scores.shape[0]):
            scores[j] += coefficient * np.float64(row[j])
