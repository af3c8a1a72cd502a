"""Compiled pairwise steps (SMO) with second-order selection, on arrays of shape (pieces, n).

Variable (k, j) is the k-th piece of data row j; nearly always there is one piece. The arrays:

    movable[k, j]   1 when the variable may rise + 2 when it may fall, 0 when it does not take part
    values[slot[j]] the kernel row of data row j, present for every variable that is movable

One step: `up` has the least gradient among variables that may rise; `down`, among those that may
fall, is the one with the largest second-order decrease (gradient[down] - gradient[up])^2 /
curvature (Fan, Chen and Lin 2005). The line search is exact and clipped to the box. One pass over
the gradient then applies the step and finds the next `up`; a second one finds its `down`.

The passes are blocked: the extreme of a block is a vectorized reduction, and its index is searched
in one block only. Floats are compared by their bits, because LLVM vectorizes the extremes of
integers but not of floats: `key_of_float` maps float64 to int64, float32 to int32, and keeps the
order. The gradient is float64, or float32 within a working set. Kernel rows are given by their
numbers, because a slice of an array is much to compile.
"""

import numpy as np
from numpy import float32

from semisvm.kernels.compiler import jit, jit_part
from semisvm.kernels.intrinsics import bits_of, float_of_key, key_of_float, larger, smaller

RISE, FALL = 1, 2
PASS_BLOCK = 256  # gradient entries per block
VIOLATION_BINS = 1024  # of violations, when a working set is chosen
# As in LIBSVM: directions of zero or negative curvature are followed to the box.
LEAST_CURVATURE = 1e-12
# in choosing a partner, so that float32 does not overflow: beyond, the largest slope is taken
MOST_CURVATURE = 1e30
_MAGNITUDE = np.int64(2**63 - 1)
# All of its bits are set in infinity and in what is no number.
_EXPONENT = np.int64(0x7FF0000000000000)


@jit
def pairwise_steps(
    values, slot, last_used, clock, diagonal, gradient, beta, lower, upper, movable, tol, max_steps
):
    """Step until the gap among movable variables is below `tol`; return the number of steps and
    that gap.

    Variables whose kernel row is not present, slot[j] < 0, do not take part. gradient, beta and
    last_used are updated in place and are consistent with each other on return; movable is written.
    """
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            movable[k, j] = _directions(beta[k, j], lower[k, j], upper[k, j]) if slot[j] >= 0 else 0
    piece, up, lowest, highest = _apply_step(
        gradient, movable, values, np.int64(0), np.int64(0), 0.0
    )
    for n_steps in range(max_steps):
        if not highest - lowest >= tol:
            return n_steps, highest - lowest
        row_up = slot[up]
        other, down = _partner(
            gradient, movable, values, row_up, diagonal, diagonal[up], lowest, highest
        )
        row_down = slot[down]
        last_used[row_up] = clock + n_steps
        last_used[row_down] = clock + n_steps

        curvature = np.float64(diagonal[up]) + diagonal[down] - 2 * np.float64(values[row_up, down])
        room_up = upper[piece, up] - beta[piece, up]
        room_down = beta[other, down] - lower[other, down]
        step = smaller(
            (gradient[other, down] - lowest) / larger(curvature, LEAST_CURVATURE), room_up
        )
        step = smaller(step, room_down)
        # A variable that reaches its bound is set on it, so that rounding can't keep it inside.
        beta[piece, up] = upper[piece, up] if step == room_up else beta[piece, up] + step
        beta[other, down] = lower[other, down] if step == room_down else beta[other, down] - step
        movable[piece, up] = _directions(beta[piece, up], lower[piece, up], upper[piece, up])
        movable[other, down] = _directions(
            beta[other, down], lower[other, down], upper[other, down]
        )
        piece, up, lowest, highest = _apply_step(gradient, movable, values, row_up, row_down, step)
    return max_steps, highest - lowest


@jit_part
def _directions(value, low, high):
    return (RISE if value < high else 0) | (FALL if value > low else 0)


@jit_part
def _apply_step(gradient, movable, values, row_up, row_down, step):
    """gradient += step (K_up - K_down); then find the least gradient of those that may rise."""
    n = gradient.shape[1]
    kind = gradient.dtype.type
    infinity = key_of_float(kind(np.inf))
    minus_infinity = key_of_float(kind(-np.inf))
    least = infinity
    most = minus_infinity
    where = 0
    piece = 0
    step = kind(step)
    # Signed numbers of rows and columns might be negative, and the loop would not be vectorized.
    row_up = np.uint64(row_up)
    row_down = np.uint64(row_down)
    for k in range(gradient.shape[0]):
        own = np.uint64(k)
        for start in range(0, n, PASS_BLOCK):
            low = infinity
            high = minus_infinity
            for j in range(np.uint64(start), np.uint64(smaller(start + PASS_BLOCK, n))):
                # Differences in the gradient's float64: rounding would add up over steps, and
                # problems of a sequence.
                moved = gradient[own, j] + step * (
                    kind(values[row_up, j]) - kind(values[row_down, j])
                )
                gradient[own, j] = moved
                key = key_of_float(moved)
                low = smaller(low, key if movable[own, j] & RISE else infinity)
                high = larger(high, key if movable[own, j] & FALL else minus_infinity)
            if low < least:
                least = low
                where = start
                piece = k
            most = larger(most, high)
    lowest = float_of_key(least)
    up = where
    for j in range(where, smaller(where + PASS_BLOCK, n)):
        if movable[piece, j] & RISE and gradient[piece, j] == lowest:
            up = j
            break
    return piece, up, np.float64(lowest), np.float64(float_of_key(most))


@jit_part
def _partner(gradient, movable, values, row_up, diagonal, diagonal_up, lowest, highest):
    """The variable that may fall and, paired with `up`, decreases the objective most."""
    n = gradient.shape[1]
    row_up = np.uint64(row_up)
    # In units of the gap the decrease neither overflows nor underflows in float32, whatever the
    # scale of the problem.
    scale = 1.0 / (highest - lowest)
    best = np.int32(-1)
    where = 0
    piece = 0
    for k in range(gradient.shape[0]):
        own = np.uint64(k)
        for start in range(0, n, PASS_BLOCK):
            found = np.int32(-1)
            for j in range(np.uint64(start), np.uint64(smaller(start + PASS_BLOCK, n))):
                key = _decrease(
                    gradient[own, j], values[row_up, j], diagonal[j], diagonal_up, lowest, scale
                )
                found = larger(found, key if movable[own, j] & FALL else np.int32(-1))
            if found > best:
                best = found
                where = start
                piece = k
    # Compiled for one variable at a time, the same formula may round differently: if none equals
    # `best`, the largest.
    down = where
    found = np.int32(-1)
    for j in range(where, smaller(where + PASS_BLOCK, n)):
        key = _decrease(
            gradient[piece, j], values[row_up, j], diagonal[j], diagonal_up, lowest, scale
        )
        if movable[piece, j] & FALL and (key == best or key > found):
            down = j
            found = key
            if key == best:
                break
    return piece, down


@jit_part
def _decrease(gradient, kernel_value, diagonal, diagonal_up, lowest, scale):
    """The decrease as an integer of the same order: the bits of a float32 from 0 on."""
    slope = larger(float32((gradient - lowest) * scale), float32(0))
    # float32(2): a plain 2 would turn float32 rows into float64 and halve the width of the vectors.
    curvature = larger(
        float32(diagonal_up + diagonal - float32(2) * kernel_value), float32(LEAST_CURVATURE)
    )
    return bits_of(float32(slope * slope / smaller(curvature, float32(MOST_CURVATURE))))


@jit
def survey_gradient(gradient, beta, lower, upper):
    """The least gradient of those that may rise, the largest of those that may fall, and the
    largest magnitude.

    The last is infinity if a value is not finite, which its bits tell: fast math may take anything
    for finite.
    """
    infinity = key_of_float(np.inf)
    minus_infinity = key_of_float(-np.inf)
    least = infinity
    most = minus_infinity
    largest = np.int64(0)
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            value = gradient[k, j]
            key = key_of_float(value)
            least = smaller(least, key if beta[k, j] < upper[k, j] else infinity)
            most = larger(most, key if beta[k, j] > lower[k, j] else minus_infinity)
            largest = larger(largest, bits_of(value) & _MAGNITUDE)
    return float_of_key(least), float_of_key(most), bits_of(smaller(largest, _EXPONENT))


def worst_violators(gradient, beta, lower, upper, is_member, lowest, highest, tol, count):
    """Variables outside the set that violate optimality most: half of them by rising, the others by
    falling.

    Violations are sorted into bins of equal width. Of the bin that is the last to be needed,
    members are taken evenly from the whole range of variables: at a cold start all violations are
    equal.
    """
    scale = (VIOLATION_BINS - 1) / (highest - lowest)
    counts = np.zeros((2, VIOLATION_BINS + 1), dtype=np.int64)
    rising, falling = counts[:, :-1]
    # A variable that may rise is one that may fall where all signs are changed.
    sides = (-1.0, -highest, upper, rising), (1.0, lowest, lower, falling)
    for (sign, edge, bound, _), in_bin in zip(sides, counts, strict=True):
        count_violations(gradient, beta, bound, is_member, sign, edge, tol, scale, in_bin)
    n_rising = int(rising.sum())
    n_falling = int(falling.sum())
    share = min(n_rising, max(count // 2, count - n_falling))
    is_taken = np.zeros(gradient.size, dtype=bool)
    for (sign, edge, bound, in_bin), wanted in zip(
        sides, (share, min(n_falling, count - share)), strict=True
    ):
        last, left = _last_bin(in_bin, wanted)
        # What is below is in an earlier bin, however it is rounded.
        least = edge + max(tol, (last - 1) / scale)
        mark_violators(
            gradient,
            beta,
            bound,
            is_member,
            sign,
            edge,
            least,
            scale,
            last,
            left,
            in_bin[last],
            is_taken,
        )
    return np.flatnonzero(is_taken)[:count]


def _last_bin(in_bin, wanted: int) -> tuple[int, int]:
    """The last bin needed for so many of the largest violations, and how many to take of it."""
    from_top = np.cumsum(in_bin[::-1])
    place = min(int(np.searchsorted(from_top, wanted)), len(in_bin) - 1)
    return len(in_bin) - 1 - place, wanted - int(from_top[place - 1] if place else 0)


@jit
def count_violations(gradient, beta, bound, is_member, sign, edge, tol, scale, in_bin):
    """Add the violations of one side, sign * gradient - edge, to their bins, and all others to the
    bin after the last.

    Half of the variables are others, in no order: to count them is faster than a branch that no
    processor foresees.
    """
    n = gradient.shape[1]
    others = np.int64(in_bin.shape[0] - 1)
    for k in range(gradient.shape[0]):
        for j in range(n):
            value = sign * gradient[k, j]
            may_move = sign * beta[k, j] > sign * bound[k, j]
            is_violated = (value > edge + tol) & may_move & (not is_member[k * n + j])
            in_bin[np.int64((value - edge) * scale) if is_violated else others] += 1


@jit
def mark_violators(
    gradient, beta, bound, is_member, sign, edge, least, scale, last, left, in_last, is_taken
):
    """Mark violators of one side in bins above the last, and `left` of the `in_last` in that."""
    n = gradient.shape[1]
    seen = 0
    for k in range(gradient.shape[0]):
        for j in range(n):
            value = sign * gradient[k, j]
            if (
                value > least
                and sign * beta[k, j] > sign * bound[k, j]
                and not is_member[k * n + j]
            ):
                at = np.int64((value - edge) * scale)
                if at == last:
                    seen += left
                    if seen >= in_last:  # `left` of `in_last`, evenly
                        seen -= in_last
                        at += 1
                if at > last:
                    is_taken[k * n + j] = True


@jit
def apply_moves(gradient, beta, change, variables, values):
    """gradient += change for all pieces, and beta[variables] = values."""
    for k in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            gradient[k, j] += change[j]
    for k in range(variables.shape[0]):
        beta[variables[k]] = values[k]
