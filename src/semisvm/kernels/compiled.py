"""Compiled inner loops of the kernels: the exponential of the RBF kernel, sparse products, and K @ beta.

Loops are written for the vectoriser: unit stride, no branch, no call. Each dot product is summed in an order that
depends on the two rows alone, never on the batch they came in, so that a row made twice is the same row.
"""

import math

import numpy as np

from semisvm.kernels.jit import compiled

BATCH = 128  # kernel rows made together by the sparse product: their columns fill whole vector registers
TILE = 32  # data rows finished before a tile is turned over: 32 floats are two cache lines of the output

_F = np.float32
_LOG2_E = _F(1.4426950408889634)


@compiled
def rbf_of_dots(dots, squares, square, gamma):
    """dots[j] <- exp(-gamma (square + squares[j] - 2 dots[j])), in place, float32, to about 2e-7 relative.

    2^t = 2^round(t) * 2^(t - round(t)): the first factor is an exponent field, the second a polynomial of degree 6
    (Chebyshev interpolation on [-1/2, 1/2]). Plain ``exp`` is a call that keeps the loop from being vectorised.
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
def _dots_with_batch(sums, batch, indices, data, begin, end):
    """sums[b] = <one sparse row, batch row b>; `batch` is dense, flattened from (n_features, BATCH)."""
    for b in range(BATCH):
        sums[b] = 0
    width = np.uint64(BATCH)
    k = begin
    # Four terms a pass: the running sums are loaded and stored once for four products.
    while k + 4 <= end:
        x0, x1, x2, x3 = data[k], data[k + 1], data[k + 2], data[k + 3]
        p0, p1 = np.uint64(indices[k]) * width, np.uint64(indices[k + 1]) * width
        p2, p3 = np.uint64(indices[k + 2]) * width, np.uint64(indices[k + 3]) * width
        for b in range(BATCH):
            q = np.uint64(b)
            sums[b] += (x0 * batch[p0 + q] + x1 * batch[p1 + q]) + (x2 * batch[p2 + q] + x3 * batch[p3 + q])
        k += 4
    while k < end:
        x0, p0 = data[k], np.uint64(indices[k]) * width
        for b in range(BATCH):
            sums[b] += x0 * batch[p0 + np.uint64(b)]
        k += 1


@compiled
def sparse_dots(out, batch, indptr, indices, data):
    """out[b, i] = <batch row b, sparse row i> for the first len(out) rows of the batch."""
    n_rows = indptr.shape[0] - 1
    tile = np.empty((TILE, BATCH), dtype=out.dtype)
    for start in range(0, n_rows, TILE):
        stop = min(start + TILE, n_rows)
        for i in range(start, stop):
            _dots_with_batch(tile[i - start], batch, indices, data, indptr[i], indptr[i + 1])
        _turn_over(out, tile, start, stop)


@compiled
def sparse_rbf(out, batch, batch_squares, indptr, indices, data, squares, gamma):
    """out[b, i] = exp(-gamma |batch row b - sparse row i|^2): `sparse_dots` with the exponential taken in the tile."""
    n_rows = indptr.shape[0] - 1
    tile = np.empty((TILE, BATCH), dtype=out.dtype)
    for start in range(0, n_rows, TILE):
        stop = min(start + TILE, n_rows)
        for i in range(start, stop):
            sums = tile[i - start]
            _dots_with_batch(sums, batch, indices, data, indptr[i], indptr[i + 1])
            rbf_of_dots(sums, batch_squares, squares[i], gamma)
        _turn_over(out, tile, start, stop)


@compiled
def _turn_over(out, tile, start, stop):
    """Write the transposed tile, a cache line or two at a time for each row of the output."""
    for b in range(out.shape[0]):
        target = out[b, start:stop]
        for t in range(stop - start):
            target[t] = tile[t, b]


@compiled
def add_rows(scores, values, slots, coefficients):
    """scores += sum_k coefficients[k] * values[slots[k]], accumulated in float64."""
    for k in range(slots.shape[0]):
        row = values[slots[k]]
        coefficient = coefficients[k]
        for j in range(scores.shape[0]):
            scores[j] += coefficient * np.float64(row[j])
