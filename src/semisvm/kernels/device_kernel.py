"""Triton programs for kernel rows on a device: the exponential of the RBF kernel, and K @ coefficients."""

import triton
import triton.language as tl


@triton.jit
def rbf_on_device(
    dots, squares_left, squares_right, rows, gamma,
    first, n_columns, stride,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """dots[i, j] <- exp(-gamma |x_rows[i] - x_first+j|^2) in place; one program per segment of a row.

    k(x, x) is exactly 1, whatever the rounding of |x|^2 + |x|^2 - 2<x, x>.
    """
    i = tl.program_id(1)
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    there = j < n_columns
    at = dots + i.to(tl.int64) * stride + j
    square = tl.load(squares_left + i) + tl.load(squares_right + j, mask=there, other=0.0)
    distance = tl.maximum(square - 2.0 * tl.load(at, mask=there, other=0.0), 0.0)
    distance = tl.where(first + j == tl.load(rows + i), 0.0, distance)
    tl.store(at, tl.exp(-tl.load(gamma) * distance), mask=there)


@triton.jit
def add_rows_on_device(
    stored, place, coefficients, scores, state,
    n, stride, length,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """scores[b] += sum_k coefficients[b, k] stored[place[b, k]] in float64; rows with coefficient 0 are not read.

    One program handles a segment of the columns of one problem b; problems with state[b] != 0 are skipped.
    """
    b = tl.program_id(1).to(tl.int64)
    if tl.load(state + b) == 0:
        j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
        there = j < n
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float64)
        for start in range(0, length, ROWS):
            k = start + tl.arange(0, ROWS)
            coefficient = tl.load(coefficients + b * length + k, mask=k < length, other=0.0)
            at = tl.load(place + b * length + k, mask=k < length, other=0).to(tl.int64)
            read = (coefficient != 0)[:, None] & there[None, :]
            values = tl.load(stored + at[:, None] * stride + j[None, :], mask=read, other=0.0)
            sums += coefficient[:, None] * values.to(tl.float64)
        at = scores + b * n + j
        tl.store(at, tl.load(at, mask=there, other=0.0) + tl.sum(sums, axis=0), mask=there)
