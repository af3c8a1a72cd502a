"""Compiled pairwise steps (SMO) with second-order selection, on arrays of shape (pieces, n).

Variable (k, j) is the k-th piece of data row j; nearly always there is one piece.

    movable[k, j]   1 when the variable may rise + 2 when it may fall

One step: `up` has the least gradient among variables that may rise; `down`, among those that may
fall, is the one with the largest second-order decrease (gradient[down] - gradient[up])^2 /
curvature (Fan, Chen and Lin 2005). The line search is exact and clipped to the box. One pass over
the gradient then applies the step and finds the next `up`; a second one finds its `down`.

The passes are blocked: the extreme of a block is a vectorized reduction, and its index is searched
in one block only. The gradient is float64, or float32 within a working set.
"""

import numpy as np
from numpy import float32

from semisvm.engine.jit import bits_of, float_of_key, jit, jit_part, key_of_float, larger, smaller

RISE, FALL = 1, 2
PASS_BLOCK = 256  # gradient entries per block
BINS = 1024  # of violations, when a working set is chosen
LEAST_CURVATURE = 1e-12  # as in LIBSVM: directions of no curvature are followed to the box
MOST_CURVATURE = 1e30  # in choosing a partner, so that float32 does not overflow
_MAGNITUDE = np.int64(2**63 - 1)
_EXPONENT = np.int64(0x7FF0000000000000)  # set in infinity and in what is no number


@jit
def pairwise_steps(K, diagonal, gradient, beta, lower, upper, movable, tol, max_steps):
    """Step until the gap is below `tol`; return the number of steps and that gap."""
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            movable[k, j] = _directions(beta[k, j], lower[k, j], upper[k, j])
    piece, up, lowest, highest = _apply_step(gradient, movable, K, 0, 0, 0.0)
    for n_steps in range(max_steps):
        if not highest - lowest >= tol:
            return n_steps, highest - lowest
        other, down = _partner(gradient, movable, K, up, diagonal, lowest, highest)
        curvature = np.float64(diagonal[up]) + diagonal[down] - 2 * np.float64(K[up, down])
        room_up = upper[piece, up] - beta[piece, up]
        room_down = beta[other, down] - lower[other, down]
        step = (gradient[other, down] - lowest) / larger(curvature, LEAST_CURVATURE)
        step = smaller(smaller(step, room_up), room_down)
        # A variable that reaches its bound is set on it, so that rounding can't keep it inside.
        beta[piece, up] = upper[piece, up] if step == room_up else beta[piece, up] + step
        beta[other, down] = lower[other, down] if step == room_down else beta[other, down] - step
        movable[piece, up] = _directions(beta[piece, up], lower[piece, up], upper[piece, up])
        movable[other, down] = _directions(
            beta[other, down], lower[other, down], upper[other, down]
        )
        piece, up, lowest, highest = _apply_step(gradient, movable, K, up, down, step)
    return max_steps, highest - lowest


@jit_part
def _directions(value, low, high):
    return (RISE if value < high else 0) | (FALL if value > low else 0)


@jit_part
def _apply_step(gradient, movable, K, up, down, step):
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
    row_up = np.uint64(up)
    row_down = np.uint64(down)
    for k in range(gradient.shape[0]):
        own = np.uint64(k)
        for start in range(0, n, PASS_BLOCK):
            low = infinity
            high = minus_infinity
            for j in range(np.uint64(start), np.uint64(smaller(start + PASS_BLOCK, n))):
                # Differences in the gradient's type: rounding would add up over steps.
                moved = gradient[own, j] + step * (kind(K[row_up, j]) - kind(K[row_down, j]))
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
def _partner(gradient, movable, K, up, diagonal, lowest, highest):
    """The variable that may fall and, paired with `up`, decreases the objective most."""
    n = gradient.shape[1]
    row_up = np.uint64(up)
    diagonal_up = diagonal[up]
    # In units of the gap the decrease neither overflows nor underflows in float32.
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
                    gradient[own, j], K[row_up, j], diagonal[j], diagonal_up, lowest, scale
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
        key = _decrease(gradient[piece, j], K[row_up, j], diagonal[j], diagonal_up, lowest, scale)
        if movable[piece, j] & FALL and (key == best or key > found):
            down = j
            found = key
            if key == best:
                break
    return piece, down


@jit_part
def _decrease(gradient, value, diagonal, diagonal_up, lowest, scale):
    """The decrease as an integer of the same order: the bits of a float32 from 0 on."""
    slope = larger(float32((gradient - lowest) * scale), float32(0))
    # float32(2): a plain 2 would turn float32 rows into float64.
    curvature = larger(
        float32(diagonal_up + diagonal - float32(2) * value), float32(LEAST_CURVATURE)
    )
    return bits_of(float32(slope * slope / smaller(curvature, float32(MOST_CURVATURE))))


@jit
def survey_gradient(gradient, beta, lower, upper):
    """The least gradient of those that may rise, the largest of those that may fall, and the
    largest magnitude: infinity if a value is not finite, which its bits tell.
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
    """The variables outside the set that violate optimality most: half of them by rising, the
    others by falling. Of the last bin of violations, members are taken evenly from the whole range:
    at a cold start all violations are equal.
    """
    scale = (BINS - 1) / (highest - lowest)
    counts = np.zeros((2, BINS + 1), dtype=np.int64)
    # A variable that may rise is one that may fall where all signs are changed.
    sides = (-1.0, -highest, upper), (1.0, lowest, lower)
    for (sign, edge, bound), in_bin in zip(sides, counts, strict=True):
        _count(gradient, beta, bound, is_member, sign, edge, tol, scale, in_bin)
    n_rising, n_falling = counts[:, :-1].sum(axis=1).tolist()
    share = min(n_rising, max(count // 2, count - n_falling))
    is_taken = np.zeros(gradient.size, dtype=bool)
    wanted = share, min(n_falling, count - share)
    for (sign, edge, bound), in_bin, most in zip(sides, counts[:, :-1], wanted, strict=True):
        from_top = np.cumsum(in_bin[::-1])
        place = min(int(np.searchsorted(from_top, most)), BINS - 1)
        last, left = BINS - 1 - place, most - int(from_top[place - 1] if place else 0)
        least = edge + max(tol, (last - 1) / scale)  # what is below is in an earlier bin
        _mark(
            gradient, beta, bound, is_member, sign, edge, least, scale, last, left, in_bin[last],
            is_taken,
        )  # fmt: skip
    return np.flatnonzero(is_taken)[:count]


@jit
def _count(gradient, beta, bound, is_member, sign, edge, tol, scale, in_bin):
    """Add violations, sign * gradient - edge, to their bins, all others to the one after the last:
    that is faster than a branch that no processor foresees.
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
def _mark(
    gradient, beta, bound, is_member, sign, edge, least, scale, last, left, in_last, is_taken
):
    """Mark violators in bins above the last, and `left` of the `in_last` in that, evenly."""
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
                    if seen >= in_last:
                        seen -= in_last
                        at += 1
                if at > last:
                    is_taken[k * n + j] = True


@jit
def apply_moves(gradient, beta, change, variables, values):
    """gradient += change for all pieces, and beta[variables] = values: one call, so that Ctrl-C
    comes before or after.
    """
    for k in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            gradient[k, j] += change[j]
    for k in range(variables.shape[0]):
        beta[variables[k]] = values[k]
