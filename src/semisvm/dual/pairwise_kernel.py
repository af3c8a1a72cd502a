"""Compiled pairwise steps (SMO) with second-order selection, on arrays of shape (pieces, n).

Variable (k, j) is the k-th piece of data row j; nearly always there is one piece. The arrays:

    movable[k, j]   1 when the variable may rise + 2 when it may fall, 0 when it does not take part
    values[slot[j]] the kernel row of data row j, present for every variable that is movable

One step: `up` has the least gradient among variables that may rise; `down`, among those that may fall, is the one
with the largest second-order decrease (gradient[down] - gradient[up])^2 / curvature (Fan, Chen and Lin 2005). The
line search is exact and clipped to the box. One pass over the gradient then applies the step and finds the next
`up`; a second one finds its `down`.

The passes are blocked: the extreme of a block is a vectorized reduction, and its index is searched in one block only.
Floats are compared by their bits, because LLVM vectorizes the extremes of integers but not of floats: `_key` maps
float64 to int64 and keeps the order.
"""

import numpy as np
from numpy import float32

from semisvm.kernels.resources import jit

RISE, FALL = 1, 2
PASS_BLOCK = 256  # gradient entries per block
LEAST_CURVATURE = 1e-12  # as in LIBSVM: directions of zero or negative curvature are followed to the box

_SHIFT, _MAGNITUDE = np.int64(63), np.int64(2**63 - 1)
_KEY_OF_INFINITY = np.int64(0x7FF0000000000000)
_KEY_OF_MINUS_INFINITY = np.int64(-0x7FF0000000000001)


@jit
def pairwise_steps(values, slot, last_used, clock, diagonal, gradient, beta, lower, upper, movable, tol, max_steps):
    """Step until the gap among movable variables is below `tol`; return the number of steps and that gap.

    gradient, beta, movable and last_used are updated in place and are consistent with each other on return.
    """
    unmoved = values[0]
    piece, up, lowest, highest = _apply_step(gradient, movable, unmoved, unmoved, 0.0)
    for n_steps in range(max_steps):
        if not highest - lowest >= tol:
            return n_steps, highest - lowest
        row_up = values[slot[up]]
        other, down = _partner(gradient, movable, row_up, diagonal, diagonal[up], lowest, highest)
        row_down = values[slot[down]]
        last_used[slot[up]] = clock + n_steps
        last_used[slot[down]] = clock + n_steps

        curvature = max(np.float64(diagonal[up]) + diagonal[down] - 2 * np.float64(row_up[down]), LEAST_CURVATURE)
        room_up = upper[piece, up] - beta[piece, up]
        room_down = beta[other, down] - lower[other, down]
        step = min((gradient[other, down] - lowest) / curvature, room_up, room_down)
        # A variable that reaches its bound is set on it, so that rounding can't keep it inside.
        beta[piece, up] = upper[piece, up] if step == room_up else beta[piece, up] + step
        beta[other, down] = lower[other, down] if step == room_down else beta[other, down] - step
        movable[piece, up] = _directions(beta[piece, up], lower[piece, up], upper[piece, up])
        movable[other, down] = _directions(beta[other, down], lower[other, down], upper[other, down])
        piece, up, lowest, highest = _apply_step(gradient, movable, row_up, row_down, step)
    return max_steps, highest - lowest


@jit
def mark_movable(movable, beta, lower, upper, slot):
    """Set which variables may rise and fall; those whose kernel row is not present do not take part."""
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            movable[k, j] = _directions(beta[k, j], lower[k, j], upper[k, j]) if slot[j] >= 0 else 0


@jit
def _directions(value, low, high):
    return (RISE if value < high else 0) | (FALL if value > low else 0)


@jit
def _key(value):
    bits = np.float64(value).view(np.int64)
    return bits ^ ((bits >> _SHIFT) & _MAGNITUDE)


@jit
def _value_of(key):
    return np.int64(key ^ ((key >> _SHIFT) & _MAGNITUDE)).view(np.float64)


@jit
def _apply_step(gradient, movable, row_up, row_down, step):
    """gradient += step (K_up - K_down) for all pieces; then find the least gradient of those that may rise."""
    n = gradient.shape[1]
    least, most, where, piece = _KEY_OF_INFINITY, _KEY_OF_MINUS_INFINITY, 0, 0
    for k in range(gradient.shape[0]):
        for start in range(0, n, PASS_BLOCK):
            part = slice(start, min(start + PASS_BLOCK, n))
            low, high = _apply_step_to_block(gradient[k, part], movable[k, part], row_up[part], row_down[part], step)
            if low < least:
                least, where, piece = low, start, k
            most = max(most, high)
    lowest = _value_of(least)
    up = where
    for j in range(where, min(where + PASS_BLOCK, n)):
        if movable[piece, j] & RISE and gradient[piece, j] == lowest:
            up = j
            break
    return piece, up, lowest, _value_of(most)


@jit
def _apply_step_to_block(gradient, movable, row_up, row_down, step):
    least, most = _KEY_OF_INFINITY, _KEY_OF_MINUS_INFINITY
    for j in range(gradient.shape[0]):
        # Differences in float64: rounding errors would add up over the steps, and over the problems of a sequence.
        moved = gradient[j] + step * (np.float64(row_up[j]) - np.float64(row_down[j]))
        gradient[j] = moved
        key = _key(moved)
        least = min(least, key if movable[j] & RISE else _KEY_OF_INFINITY)
        most = max(most, key if movable[j] & FALL else _KEY_OF_MINUS_INFINITY)
    return least, most


@jit
def _partner(gradient, movable, row_up, diagonal, diagonal_up, lowest, highest):
    """The variable that may fall and gives, paired with `up`, the largest decrease of the objective."""
    n = gradient.shape[1]
    # In units of the gap the decrease neither overflows nor underflows in float32, whatever the scale of the problem.
    scale = 1.0 / (highest - lowest)
    best, where, piece = np.int32(-1), 0, 0
    for k in range(gradient.shape[0]):
        for start in range(0, n, PASS_BLOCK):
            part = slice(start, min(start + PASS_BLOCK, n))
            found = _best_decrease(
                gradient[k, part], movable[k, part], row_up[part], diagonal[part], diagonal_up, lowest, scale
            )
            if found > best:
                best, where, piece = found, start, k
    stop = min(where + PASS_BLOCK, n)
    for j in range(where, stop):
        key = _decrease(gradient[piece, j], row_up[j], diagonal[j], diagonal_up, lowest, scale)
        if movable[piece, j] & FALL and key == best:
            return piece, j
    # Compiled for one variable at a time, the same formula may round differently, and none equals `best`.
    down, best = where, np.int32(-1)
    for j in range(where, stop):
        key = _decrease(gradient[piece, j], row_up[j], diagonal[j], diagonal_up, lowest, scale)
        if movable[piece, j] & FALL and key > best:
            down, best = j, key
    return piece, down


@jit
def _best_decrease(gradient, movable, row_up, diagonal, diagonal_up, lowest, scale):
    best = np.int32(-1)
    for j in range(gradient.shape[0]):
        key = _decrease(gradient[j], row_up[j], diagonal[j], diagonal_up, lowest, scale)
        best = max(best, key if movable[j] & FALL else np.int32(-1))
    return best


@jit
def _decrease(gradient, kernel_value, diagonal, diagonal_up, lowest, scale):
    """The decrease as an integer that keeps the order: the bits of a float32 that is not negative."""
    slope = max(float32((gradient - lowest) * scale), float32(0))
    # float32(2): a plain 2 would turn float32 rows into float64 and halve the width of the vectors.
    curvature = max(float32(diagonal_up + diagonal - float32(2) * kernel_value), float32(LEAST_CURVATURE))
    return float32(slope * slope / curvature).view(np.int32)
