"""Compiled loops of the kernels: dot products to kernel values, scores, sums of kernel rows.

Loops are written for the vectorizer: unit stride, no branch, no call. Functions that take a counter
are called by every thread of a team (`threads`): each takes pieces from the counter until none is
left. Pieces do not depend on the number of threads, and every number is computed within one piece.
"""

import math
from functools import partial

import numpy as np
from numpy import float32

from semisvm.kernels.compiler import interrupts_wait, jit, jit_part
from semisvm.kernels.formula import DOT_FORMULAS
from semisvm.kernels.intrinsics import PANEL_WIDTH, bits_of, larger, next_piece, smaller

with interrupts_wait():
    from numba import types
    from numba.extending import overload

SCANNED_ROWS = 256  # rows per piece of a pass over the data
MULTIPLIED_ROWS = 16  # rows per piece of a product of sparse matrices
_RBF, _POLY, _SIGMOID = (DOT_FORMULAS.index(name) for name in ("rbf", "poly", "sigmoid"))

_LOG2_E = 1.4426950408889634
_LOG2_E_FLOAT32 = float32(_LOG2_E)
# Coefficients of 2^t on [-1/2, 1/2], ln(2)^k / k!, highest first: exact to the last one or two
# digits of float64.
_POWERS = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(12, -1, -1))
_P12, _P11, _P10, _P9, _P8, _P7, _P6, _P5, _P4, _P3, _P2, _P1, _P0 = _POWERS


@partial(jit, fastmath={"reassoc", "contract"})  # NaN is a number to look for here
def project_rows(counter, X, rows, direction, sums):
    """sums[i] = X[rows[i]] . direction, in an order of addition that all rows share."""
    n = rows.shape[0]
    n_pieces = -(-rows.shape[0] // SCANNED_ROWS)
    piece = next_piece(counter)
    while piece < n_pieces:
        for i in range(piece * SCANNED_ROWS, smaller((piece + 1) * SCANNED_ROWS, n)):
            row = np.uint64(rows[i])
            total = 0.0
            for j in range(X.shape[1]):
                total += X[row, j] * direction[j]
            sums[i] = total
        piece = next_piece(counter)


@jit
def rbf_of_dot_rows(counter, dots, squares_left, squares, gamma):
    """dots[i, j] <- exp(-gamma (squares_left[i] + squares[j] - 2 dots[i, j])) by rows."""
    i = next_piece(counter)
    while i < dots.shape[0]:
        _finish_rbf(dots, np.uint64(i), squares, squares_left[i], gamma)
        i = next_piece(counter)


@jit_part
def finish_dots(dots, i, squares, square, formula):
    """Turn dot products, row i of `dots`, into kernel values in place, as `Formula.finish` does.

    `formula` is `Formula.numbers`, and i is an unsigned number.
    """
    kind = formula[0]
    gamma = formula[1]
    coef0 = formula[2]
    degree = formula[3]
    if kind == _RBF:
        _finish_rbf(dots, i, squares, square, gamma)
    elif kind == _POLY:
        for j in range(dots.shape[1]):
            dots[i, j] = (gamma * dots[i, j] + coef0) ** degree
    elif kind == _SIGMOID:
        for j in range(dots.shape[1]):
            dots[i, j] = math.tanh(gamma * dots[i, j] + coef0)


def _finish_rbf(dots, i, squares, square, gamma):
    """Kernel values of the rbf kernel in the type of the dot products; compiled code only."""
    raise NotImplementedError


@overload(_finish_rbf)
def _compile_finish_rbf(dots, i, squares, square, gamma):
    """To about 2e-7 relative in float32.

    2^t = 2^round(t) * 2^(t - round(t)): the first factor is an exponent field, the second a
    polynomial of degree 6 (Chebyshev interpolation on [-1/2, 1/2]). A call of ``exp`` would prevent
    the loop from being vectorized.
    """

    def in_float32(dots, i, squares, square, gamma):
        scale = -_LOG2_E_FLOAT32 * float32(gamma)
        square = float32(square)
        for j in range(np.uint64(dots.shape[1])):
            distance = larger(square + squares[j] - float32(2) * dots[i, j], float32(0))
            t = larger(scale * distance, float32(-126))
            # A float32: math.floor would give an integer of 64 bits.
            whole = np.floor(t + float32(0.5))
            part = t - whole
            value = float32(1.5461445e-4)
            value = value * part + float32(1.3400428e-3)
            value = value * part + float32(9.6180567e-3)
            value = value * part + float32(5.5503272e-2)
            value = value * part + float32(2.4022651e-1)
            value = value * part + float32(6.9314721e-1)
            value = value * part + float32(1.0)
            exponent = (np.int32(whole) + np.int32(127)) << np.int32(23)
            dots[i, j] = value * bits_of(np.int32(exponent))  # a shift makes it wider

    def in_float64(dots, i, squares, square, gamma):
        for j in range(np.uint64(dots.shape[1])):
            dots[i, j] = larger(square + squares[j] - 2 * dots[i, j], 0.0)
        _powers_of_e(dots, i, -gamma)

    return in_float32 if dots.dtype == types.float32 else in_float64


@jit
def rbf_scores(X, support_vectors, coefficients, gamma, scores, panel, sums):
    """scores[i, q] = sum_j coefficients[q, j] exp(-gamma |x_i - z_j|^2), shape (n, n_outputs), in
    float64.

    Distances, exponential and weighted sum in one pass: each support vector meets a panel of rows
    while the panel is in the first-level cache, and no kernel value is ever stored. A row's score
    does not depend on the other rows. `panel` (n_features, PANEL_WIDTH) and `sums` (1 + n_outputs,
    PANEL_WIDTH) are the memory for it, both set to 0.
    """
    n_rows, n_features = X.shape
    n_outputs = coefficients.shape[0]
    for start in range(0, n_rows, PANEL_WIDTH):
        stop = smaller(start + PANEL_WIDTH, n_rows)
        for i in range(start, stop):
            for k in range(n_features):
                panel[k, i - start] = X[i, k]
        for q in range(n_outputs):
            for b in range(PANEL_WIDTH):
                sums[1 + q, b] = 0.0
        for j in range(support_vectors.shape[0]):
            for b in range(PANEL_WIDTH):
                sums[0, b] = 0.0
            for k in range(n_features):
                at = support_vectors[j, k]
                own = np.uint64(k)
                for b in range(PANEL_WIDTH):
                    difference = panel[own, b] - at
                    sums[0, b] += difference * difference
            _powers_of_e(sums, np.uint64(0), -gamma)
            for q in range(n_outputs):
                coefficient = coefficients[q, j]
                to = np.uint64(1 + q)
                for b in range(PANEL_WIDTH):
                    sums[to, b] += coefficient * sums[0, b]
        for q in range(n_outputs):
            for i in range(start, stop):
                scores[i, q] = sums[1 + q, i - start]


@jit_part
def _powers_of_e(values, i, scale):
    """values[i, b] <- exp(scale * values[i, b]), float64, for exponents up to 0."""
    scale = _LOG2_E * scale
    for b in range(np.uint64(values.shape[1])):
        t = larger(scale * values[i, b], -1022.0)
        whole = np.floor(t + 0.5)
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
        values[i, b] = power * bits_of(exponent)


@partial(jit, fastmath=False)  # the sums of SciPy to the last bit
def multiply_sparse(
    counter, data, indices, indptr, data_T, indices_T, indptr_T, products, is_lower
):
    """products[i, j] += <x_i, z_j>, of rows x in CSR form and of rows z in CSC form, "_T"; with
    `is_lower` only for j <= i.
    """
    n = products.shape[0]
    start = MULTIPLIED_ROWS * next_piece(counter)
    while start < n:
        for i in range(start, smaller(start + MULTIPLIED_ROWS, n)):
            row = np.uint64(i)
            for k in range(indptr[i], indptr[i + 1]):
                x = data[k]
                feature = indices[k]
                for m in range(indptr_T[feature], indptr_T[feature + 1]):
                    if is_lower and indices_T[m] > i:
                        break
                    products[row, np.uint64(indices_T[m])] += x * data_T[m]
        start = MULTIPLIED_ROWS * next_piece(counter)


@jit
def spread_stored(counter, change, values, slots, moves, total):
    """change = sum_k moves[k] values[slots[k]] in float64, in pieces of len(total) columns."""
    n = change.shape[0]
    width = total.shape[0]
    start = width * next_piece(counter)
    while start < n:
        size = smaller(width, n - start)
        add_stored(total, values, slots, moves, start, size)
        for i in range(size):
            change[np.uint64(start + i)] = total[i]
        start = width * next_piece(counter)


@jit_part
def add_stored(total, values, slots, moves, start, size):
    """total = sum_k moves[k] values[slots[k], start : start + size], four rows at a time."""
    k = 0
    n_rows = slots.shape[0]
    for i in range(size):
        total[i] = 0.0
    # Signed numbers of rows and columns might be negative, and the loops would not be vectorized.
    while k + 4 <= n_rows:
        row0 = np.uint64(slots[k])
        row1 = np.uint64(slots[k + 1])
        row2 = np.uint64(slots[k + 2])
        row3 = np.uint64(slots[k + 3])
        move0 = moves[k]
        move1 = moves[k + 1]
        move2 = moves[k + 2]
        move3 = moves[k + 3]
        for i in range(size):
            j = np.uint64(start + i)
            total[i] += (
                move0 * np.float64(values[row0, j]) + move1 * np.float64(values[row1, j])
            ) + (move2 * np.float64(values[row2, j]) + move3 * np.float64(values[row3, j]))
        k += 4
    while k < n_rows:
        row = np.uint64(slots[k])
        move = moves[k]
        for i in range(size):
            total[i] += move * np.float64(values[row, np.uint64(start + i)])
        k += 1
