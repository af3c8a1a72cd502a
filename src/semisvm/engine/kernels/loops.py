"""Compiled loops of kernel rows: dot products to kernel values, and sums of rows.

Loops are written for the vectorizer: unit stride, no branch, no call. Functions that take a counter
are called by every thread of a team: each takes pieces until none is left.
"""

import math

import numpy as np
from numpy import float32

from semisvm.engine.formula import DOT_FORMULAS
from semisvm.engine.jit import bits_of, jit, jit_part, larger, next_piece, overload, smaller, types

COLUMNS = 128  # of a sum of rows, per piece
TILE = 64
_RBF, _POLY, _SIGMOID = (DOT_FORMULAS.index(name) for name in ("rbf", "poly", "sigmoid"))
_LOG2_E = 1.4426950408889634
_LOG2_E_FLOAT32 = float32(_LOG2_E)
# ln(2)^k / k!, highest first: 2^t on [-1/2, 1/2], exact to the last one or two digits of float64
_POWERS = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(12, -1, -1))
_P12, _P11, _P10, _P9, _P8, _P7, _P6, _P5, _P4, _P3, _P2, _P1, _P0 = _POWERS


@jit_part
def finish_dots(dots, i, squares, square, formula):
    """Turn dot products, row i of `dots`, into kernel values in place; i is unsigned."""
    kind = formula[0]
    gamma = formula[1]
    if kind == _RBF:
        _finish_rbf(dots, i, squares, square, gamma)
    elif kind == _POLY:
        for j in range(dots.shape[1]):
            dots[i, j] = (gamma * dots[i, j] + formula[2]) ** formula[3]
    elif kind == _SIGMOID:
        for j in range(dots.shape[1]):
            dots[i, j] = math.tanh(gamma * dots[i, j] + formula[2])


def _finish_rbf(dots, i, squares, square, gamma):
    raise NotImplementedError


@overload(_finish_rbf)
def _compile_finish_rbf(dots, i, squares, square, gamma):
    """2^t = 2^round(t) * 2^(t - round(t)): an exponent field times a polynomial, because a call of
    exp would keep the loop from being vectorized.
    """

    def in_float32(dots, i, squares, square, gamma):
        scale = -_LOG2_E_FLOAT32 * float32(gamma)
        square = float32(square)
        for j in range(np.uint64(dots.shape[1])):
            distance = larger(square + squares[j] - float32(2) * dots[i, j], float32(0))
            t = larger(scale * distance, float32(-126))
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
            dots[i, j] = value * bits_of(np.int32(exponent))

    def in_float64(dots, i, squares, square, gamma):
        scale = -_LOG2_E * gamma
        for j in range(np.uint64(dots.shape[1])):
            t = larger(scale * larger(square + squares[j] - 2 * dots[i, j], 0.0), -1022.0)
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
            dots[i, j] = power * bits_of(exponent)

    return in_float32 if dots.dtype == types.float32 else in_float64


@jit
def finish_block(dots, squares_left, squares, formula):
    """Dot products of a block to kernel values in place."""
    for i in range(dots.shape[0]):
        finish_dots(dots, np.uint64(i), squares, squares_left[i], formula)


@jit
def add_rows(counter, change, values, slots, moves, part):
    """change += moves @ values[slots] in float64; `part` is the memory of a thread, one piece."""
    n = change.shape[0]
    width = part.shape[0]
    start = width * next_piece(counter)
    while start < n:
        size = smaller(width, n - start)
        sum_stored(part, values, slots, moves, start, size)
        for i in range(size):
            change[np.uint64(start + i)] += part[i]
        start = width * next_piece(counter)


@jit_part
def sum_stored(part, values, slots, moves, start, size):
    """part = moves @ values[slots, start : start + size], four rows at a time."""
    n_rows = slots.shape[0]
    for i in range(part.shape[0]):
        part[i] = 0.0
    k = 0
    # Signed numbers might be negative, and the loops would not be vectorized.
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
            part[i] += (
                move0 * np.float64(values[row0, j]) + move1 * np.float64(values[row1, j])
            ) + (move2 * np.float64(values[row2, j]) + move3 * np.float64(values[row3, j]))
        k += 4
    while k < n_rows:
        row = np.uint64(slots[k])
        move = moves[k]
        for i in range(size):
            part[i] += move * np.float64(values[row, np.uint64(start + i)])
        k += 1


@jit
def mirror(counter, G, at, size, begin, end):
    """G[j, at[k]] = G[at[k], j] for j < size, in tiles; of two positions from begin to end, which
    are all in `at`, what is above the diagonal is taken from below.
    """
    n = at.shape[0]
    start = TILE * next_piece(counter)
    while start < size:
        for first in range(0, n, TILE):
            last = smaller(first + TILE, n)
            for j in range(start, smaller(start + TILE, size)):
                to = np.uint64(j)
                for k in range(larger(first, j - begin + 1) if begin <= j < end else first, last):
                    G[to, np.uint64(at[k])] = G[np.uint64(at[k]), to]
        start = TILE * next_piece(counter)
