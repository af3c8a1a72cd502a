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
float64 to int64, float32 to int32, and keeps the order. The gradient is float64, or float32 within a working set.
"""

import numpy as np
from numba import types
from numba.extending import overload
from numpy import float32

from semisvm.kernels.threads import jit

RISE, FALL = 1, 2
PASS_BLOCK = 256  # gradient entries per block
VIOLATION_BINS = 1024  # of violations, when a working set is chosen
LEAST_CURVATURE = 1e-12  # as in LIBSVM: directions of zero or negative curvature are followed to the box
MOST_CURVATURE = 1e30  # in choosing a partner, so that float32 does not overflow: beyond, the largest slope is taken
_SHIFT, _MAGNITUDE = np.int64(63), np.int64(2**63 - 1)
_EXPONENT = np.int64(0x7FF0000000000000)  # all of its bits are set in infinity and in what is no number
_SHIFT_FLOAT32, _MAGNITUDE_FLOAT32 = np.int32(31), np.int32(2**31 - 1)


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
def survey_gradient(gradient, beta, lower, upper):
    """The least gradient of those that may rise, the largest of those that may fall, and the largest magnitude.

    The last is infinity if a value is not finite, which its bits tell: fast math may take anything for finite.
    """
    infinity, minus_infinity = _key(np.inf), _key(-np.inf)
    least, most, largest = infinity, minus_infinity, np.int64(0)
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            value = gradient[k, j]
            key = _key(value)
            least = min(least, key if beta[k, j] < upper[k, j] else infinity)
            most = max(most, key if beta[k, j] > lower[k, j] else minus_infinity)
            largest = max(largest, np.float64(value).view(np.int64) & _MAGNITUDE)
    return _value_of(least), _value_of(most), np.int64(min(largest, _EXPONENT)).view(np.float64)


@jit
def mark_movable(movable, beta, lower, upper, slot):
    """Set which variables may rise and fall; those whose kernel row is not present do not take part."""
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            movable[k, j] = _directions(beta[k, j], lower[k, j], upper[k, j]) if slot[j] >= 0 else 0


@jit
def _directions(value, low, high):
    return (RISE if value < high else 0) | (FALL if value > low else 0)


def _key(value):
    """An integer as wide as the float that keeps the order of floats; compiled code only."""
    raise NotImplementedError


@overload(_key)
def _compile_key(value):
    def key(value):
        bits = np.float64(value).view(np.int64)
        return bits ^ ((bits >> _SHIFT) & _MAGNITUDE)

    def key_of_float32(value):
        bits = np.float32(value).view(np.int32)
        return np.int32(bits ^ ((bits >> _SHIFT_FLOAT32) & _MAGNITUDE_FLOAT32))

    return key_of_float32 if value == types.float32 else key


def _value_of(key):
    """The float of a key; compiled code only."""
    raise NotImplementedError


@overload(_value_of)
def _compile_value_of(key):
    def value(key):
        return np.int64(key ^ ((key >> _SHIFT) & _MAGNITUDE)).view(np.float64)

    def value_of_float32(key):
        return np.int32(key ^ ((key >> _SHIFT_FLOAT32) & _MAGNITUDE_FLOAT32)).view(np.float32)

    return value_of_float32 if key == types.int32 else value


@jit
def _apply_step(gradient, movable, row_up, row_down, step):
    """gradient += step (K_up - K_down) for all pieces; then find the least gradient of those that may rise."""
    n, kind = gradient.shape[1], gradient.dtype.type
    least, most, where, piece = _key(kind(np.inf)), _key(kind(-np.inf)), 0, 0
    for k in range(gradient.shape[0]):
        for start in range(0, n, PASS_BLOCK):
            size = min(PASS_BLOCK, n - start)
            low, high = _apply_step_to_block(gradient[k], movable[k], row_up, row_down, step, start, size)
            if low < least:
                least, where, piece = low, start, k
            most = max(most, high)
    lowest = np.float64(_value_of(least))
    up = where
    for j in range(where, min(where + PASS_BLOCK, n)):
        if movable[piece, j] & RISE and gradient[piece, j] == lowest:
            up = j
            break
    return piece, up, lowest, np.float64(_value_of(most))


@jit
def _apply_step_to_block(gradient, movable, row_up, row_down, step, start, size):
    kind = gradient.dtype.type
    infinity, minus_infinity = _key(kind(np.inf)), _key(kind(-np.inf))
    least, most, step = infinity, minus_infinity, kind(step)
    for i in range(size):
        j = np.uint64(start + i)  # a signed index might be negative, and the loop would not be vectorized
        # Differences in the gradient's float64: rounding would add up over the steps, and the problems of a sequence.
        moved = gradient[j] + step * (kind(row_up[j]) - kind(row_down[j]))
        gradient[j] = moved
        key = _key(moved)
        least = min(least, key if movable[j] & RISE else infinity)
        most = max(most, key if movable[j] & FALL else minus_infinity)
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
            size = min(PASS_BLOCK, n - start)
            found = _best_decrease(gradient[k], movable[k], row_up, diagonal, diagonal_up, lowest, scale, start, size)
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
def _best_decrease(gradient, movable, row_up, diagonal, diagonal_up, lowest, scale, start, size):
    best = np.int32(-1)
    for i in range(size):
        j = np.uint64(start + i)
        key = _decrease(gradient[j], row_up[j], diagonal[j], diagonal_up, lowest, scale)
        best = max(best, key if movable[j] & FALL else np.int32(-1))
    return best


@jit
def _decrease(gradient, kernel_value, diagonal, diagonal_up, lowest, scale):
    """The decrease as an integer that keeps the order: the bits of a float32 that is not negative."""
    slope = max(float32((gradient - lowest) * scale), float32(0))
    # float32(2): a plain 2 would turn float32 rows into float64 and halve the width of the vectors.
    curvature = max(float32(diagonal_up + diagonal - float32(2) * kernel_value), float32(LEAST_CURVATURE))
    curvature = min(curvature, float32(MOST_CURVATURE))
    return float32(slope * slope / curvature).view(np.int32)


@jit
def worst_violators(gradient, beta, lower, upper, is_member, lowest, highest, tol, count):
    """Variables outside the set that violate optimality most: half of them by rising, the others by falling.

    Violations are sorted into bins of equal width. Of the bin that is the last to be needed, members are taken evenly
    from the whole range of variables: at a cold start all violations are equal.
    """
    n = gradient.shape[1]
    scale = (VIOLATION_BINS - 1) / (highest - lowest)
    rising, falling = np.zeros(VIOLATION_BINS, dtype=np.int64), np.zeros(VIOLATION_BINS, dtype=np.int64)
    n_rising, n_falling = 0, 0
    for k in range(gradient.shape[0]):
        for j in range(n):
            value = gradient[k, j]
            if value < highest - tol and beta[k, j] < upper[k, j] and not is_member[k * n + j]:
                rising[int((highest - value) * scale)] += 1
                n_rising += 1
            if value > lowest + tol and beta[k, j] > lower[k, j] and not is_member[k * n + j]:
                falling[int((value - lowest) * scale)] += 1
                n_falling += 1
    share = min(n_rising, max(count // 2, count - n_falling))
    last_rising, left_rising = _last_bin(rising, share)
    last_falling, left_falling = _last_bin(falling, min(n_falling, count - share))
    found, n_found, seen_rising, seen_falling = np.empty(count, dtype=np.int64), 0, 0, 0
    for k in range(gradient.shape[0]):
        for j in range(n):
            value, is_taken = gradient[k, j], False
            if value < highest - tol and beta[k, j] < upper[k, j] and not is_member[k * n + j]:
                at = int((highest - value) * scale)
                is_taken = at > last_rising
                if at == last_rising:
                    is_taken = _is_drawn(seen_rising, left_rising, rising[at])
                    seen_rising += 1
            if value > lowest + tol and beta[k, j] > lower[k, j] and not is_member[k * n + j]:
                at = int((value - lowest) * scale)
                is_taken |= at > last_falling
                if at == last_falling:
                    is_taken |= _is_drawn(seen_falling, left_falling, falling[at])
                    seen_falling += 1
            if is_taken and n_found < count:
                found[n_found] = k * n + j
                n_found += 1
    return found[:n_found]


@jit
def _last_bin(in_bin, count):
    """The bin that is the last to be needed for the `count` largest violations, and how many to take of it."""
    at = VIOLATION_BINS - 1
    while at > 0 and in_bin[at] < count:
        count -= in_bin[at]
        at -= 1
    return at, count


@jit
def _is_drawn(seen, wanted, total):
    """Whether to take the next one, to draw `wanted` of `total` evenly."""
    return (seen + 1) * wanted // total > seen * wanted // total


@jit
def apply_moves(gradient, beta, change, variables, values):
    """gradient += change for all pieces, and beta[variables] = values."""
    for k in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            gradient[k, j] += change[j]
    for k in range(variables.shape[0]):
        beta[variables[k]] = values[k]
