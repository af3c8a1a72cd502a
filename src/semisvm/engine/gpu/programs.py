"""Triton programs of one outer step for B problems on one set of kernel rows: choose the block,
gather it, solve it, add what changed to the scores.

Variable v = 0..m-1 of a problem belongs to data row row[v]; Q variables at a time form the block.
A step within the block is that of `dual.steps`: `up` has the least gradient of those that may rise,
`down` the largest second-order decrease, the line search is clipped to the box. It is a chain of
three reductions, and their latency is its cost. So the index is put into the low bits of the number
that is reduced, and one reduction gives both; and the last reduction, the length of the step, runs
while the row of `down` is loaded. The gradient within the block has the precision of the kernel
values; coefficients, and the scores that the block starts from, are float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

SOLVING, CONVERGED, MAX_ITER, STALLED = 0, 1, 2, 3  # states of a problem

_CONVERGED = tl.constexpr(CONVERGED)
_MAX_ITER = tl.constexpr(MAX_ITER)
_LARGEST = tl.constexpr(0x7FFFFFFFFFFFFFFF)
_STEPS_BETWEEN_LOOKS = tl.constexpr(4)
# In units of the diagonal: such directions are followed to the box.
_LEAST_CURVATURE = tl.constexpr(1e-12)


class Settings(NamedTuple):
    """Numbers that all problems share; tensors of one float64, which Triton would make float32."""

    tol: Any
    share: Any  # the gap of a block is closed to this share of the problem's gap
    unit: Any  # 1 / the mean of the diagonal
    max_iter: Any
    steps_per_block: Any  # at most


class Problems(NamedTuple):
    """B problems of m variables on n data rows."""

    row: Any  # (m,) int32
    beta: Any  # (B, m) float64, and so are the next three
    lower: Any
    upper: Any
    linear: Any  # gradient[v] = scores[row[v]] + linear[v]
    scores: Any  # (B, n) float64, K beta for every data row
    state: Any  # (B,) int32, SOLVING, or why a problem has ended


class Choice(NamedTuple):
    """What is found in S segments of the variables, side by side."""

    stamp: Any  # (B, m) int32, the outer step that last chose the variable
    chosen: Any  # (B, Q) int32, the block, -1 for none: steps write its halves in turn
    lowest: Any  # (B, S) float64, least gradient of those of a segment that may rise
    highest: Any  # (B, S) float64, largest gradient of those that may fall
    largest: Any  # (B, S) float64, largest magnitude of a gradient
    energy: Any  # (B, S) float64, sum of beta (gradient + linear): twice the objective's part


class Block(NamedTuple):
    """The chosen variables, and what solving them needs and gives."""

    gram: Any  # (B, Q, Q), kernel values between them
    place: Any  # (B, Q) int32, which of the stored kernel rows is that of chosen[i]
    diagonal: Any  # (n,) float64
    delta: Any  # (B, Q) float64, by how much a coefficient was changed
    n_iter: Any  # (B,) int64, steps taken
    facts: Any  # (B, 5) float64, for the host: see `Facts`
    settings: Settings


class Facts(NamedTuple):
    """What the host reads of each problem: before the last outer step, but for n_iter and state."""

    gap: Any
    objective: Any
    largest: Any
    n_iter: Any
    state: Any


@triton.jit
def _key_with_lane(value, lane, WIDTH: tl.constexpr):
    """Numbers as int64 in the same order, with the lane in the low bits."""
    if value.dtype == tl.float32:
        bits = value.to(tl.int32, bitcast=True)
        key = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.int64) << 32
    else:
        bits = value.to(tl.int64, bitcast=True)
        key = (bits ^ ((bits >> 63) & _LARGEST)) & -WIDTH
    return key | lane


@triton.jit
def _value_of_key(key, REAL: tl.constexpr, WIDTH: tl.constexpr):
    """The number of a key, without the bits that the lane took."""
    if REAL == tl.float32:
        bits = (key >> 32).to(tl.int32)
        value = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    else:
        bits = key & -WIDTH
        value = (bits ^ ((bits >> 63) & _LARGEST)).to(tl.float64, bitcast=True)
    return value


@triton.jit(do_not_specialize=["step", "n_tiles"])
def choose_blocks(
    p, c, m, n, step, n_tiles, S: tl.constexpr, WIDTH: tl.constexpr, PICKS: tl.constexpr,
    Q: tl.constexpr,
):  # fmt: skip
    """Store the extremes of a segment, and pick the PICKS variables of either side that violate
    optimality most.

    A lane reads every WIDTH-th variable of the segment and keeps the worst. Variables that the
    previous step chose are in the block already and are not picked. PICKS = 0: only the extremes.
    """
    b = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1)
    if tl.load(p.state + b) == 0:
        lane = tl.arange(0, WIDTH)
        least = tl.full((WIDTH,), float("inf"), tl.float64)
        most = tl.full((WIDTH,), float("-inf"), tl.float64)
        rising = least
        falling = most
        total = tl.zeros((WIDTH,), tl.float64)
        size = tl.zeros((WIDTH,), tl.float64)
        v_rising = tl.full((WIDTH,), -1, tl.int32)
        v_falling = tl.full((WIDTH,), -1, tl.int32)
        for tile in range(n_tiles):
            v = s + S * (tile * WIDTH + lane)
            there = v < m
            at = b * m + v
            value = tl.load(p.beta + at, mask=there, other=0.0)
            row = tl.load(p.row + v, mask=there, other=0)
            own = tl.load(p.linear + at, mask=there, other=0.0)
            gradient = tl.load(p.scores + b * n + row, mask=there, other=0.0) + own
            total += value * (gradient + own)  # not finite where a gradient is not, for beta 0 too
            size = tl.maximum(size, tl.abs(gradient))
            may_rise = there & (value < tl.load(p.upper + at, mask=there, other=0.0))
            may_fall = there & (value > tl.load(p.lower + at, mask=there, other=0.0))
            least = tl.where(may_rise & (gradient < least), gradient, least)
            # written so that a gradient that is NaN makes the gap NaN
            most = tl.where(may_fall & ~(gradient <= most), gradient, most)
            if PICKS > 0:
                is_new = tl.load(c.stamp + at, mask=there, other=0) != step - 1
                better = may_rise & is_new & (gradient < rising)
                rising = tl.where(better, gradient, rising)
                v_rising = tl.where(better, v, v_rising)
                better = may_fall & is_new & (gradient > falling)
                falling = tl.where(better, gradient, falling)
                v_falling = tl.where(better, v, v_falling)
        tl.store(c.lowest + b * S + s, tl.min(least, axis=0))
        tl.store(c.highest + b * S + s, tl.max(most, axis=0))
        tl.store(c.largest + b * S + s, tl.max(size, axis=0))
        tl.store(c.energy + b * S + s, tl.sum(total, axis=0))
        if PICKS > 0:
            up_key = _key_with_lane(rising, lane, WIDTH)
            down_key = _key_with_lane(falling, lane, WIDTH)
            out = c.chosen + b * Q + (step % 2) * (Q // 2) + s * PICKS
            for pick in range(PICKS):
                picked = lane == (tl.min(up_key, axis=0) & (WIDTH - 1))
                v_up = tl.sum(tl.where(picked, v_rising, 0), axis=0)
                up_key = tl.where(picked, _LARGEST, up_key)
                v_rising = tl.where(picked, -1, v_rising)
                same = (v_falling == v_up) & (v_up >= 0)
                down_key = tl.where(same, -_LARGEST, down_key)
                v_falling = tl.where(same, -1, v_falling)

                picked = lane == (tl.max(down_key, axis=0) & (WIDTH - 1))
                v_down = tl.sum(tl.where(picked, v_falling, 0), axis=0)
                down_key = tl.where(picked, -_LARGEST, down_key)
                v_falling = tl.where(picked, -1, v_falling)
                same = (v_rising == v_down) & (v_down >= 0)
                up_key = tl.where(same, _LARGEST, up_key)
                v_rising = tl.where(same, -1, v_rising)

                tl.store(out + pick, v_up)
                tl.store(out + Q // 4 + pick, v_down)
                tl.store(c.stamp + b * m + v_up, step, mask=v_up >= 0)
                tl.store(c.stamp + b * m + v_down, step, mask=v_down >= 0)


@triton.jit(do_not_specialize=["step"])
def gather(
    row, chosen, state, place, gram, stored, stride, step, WHOLE: tl.constexpr,
    HALVES: tl.constexpr, Q: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Copy the kernel values between the chosen variables.

    WHOLE: row r of K is stored[r]; otherwise the row of chosen[i] of problem b is stored[b Q + i].
    HALVES: this step chose one half of the block; the values within the other half are there.
    """
    b = tl.program_id(0).to(tl.int64)
    if tl.load(state + b) == 0:
        i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
        v = tl.load(chosen + b * Q + i)
        at = tl.load(row + v, mask=v >= 0, other=0) if WHOLE else (b * Q + i).to(tl.int32)
        tl.store(place + b * Q + i, at)
        new_half = (step % 2) * (Q // 2)
        is_old = HALVES and (tl.program_id(1) * ROWS // (Q // 2) != step % 2)
        first = tl.where(is_old, new_half, 0)
        last = tl.where(is_old, new_half + Q // 2, Q)
        for start in range(first, last, COLUMNS):
            j = start + tl.arange(0, COLUMNS)
            w = tl.load(chosen + b * Q + j)
            column = tl.load(row + w, mask=w >= 0, other=0)
            there = (v >= 0)[:, None] & (w >= 0)[None, :]
            values = tl.load(
                stored + at.to(tl.int64)[:, None] * stride + column[None, :], mask=there, other=0.0
            )
            tl.store(gram + b * Q * Q + i[:, None] * Q + j[None, :], values)


@triton.jit
def solve_blocks(p, c, block, m, n, Q: tl.constexpr, S: tl.constexpr):
    """Step among the chosen variables of one problem until their gap is below `share` of its gap,
    or half of tol.
    """
    b = tl.program_id(0).to(tl.int64)
    if tl.load(p.state + b) == 0:
        segment = b * S + tl.arange(0, S)
        bottom = tl.min(tl.load(c.lowest + segment), axis=0)
        whole_gap = tl.max(tl.load(c.highest + segment), axis=0) - bottom
        facts = block.facts + b * 5
        tl.store(facts, whole_gap)
        tl.store(facts + 1, 0.5 * tl.sum(tl.load(c.energy + segment), axis=0))
        tl.store(facts + 2, tl.max(tl.load(c.largest + segment), axis=0))
        taken = tl.load(block.n_iter + b)
        max_iter = tl.load(block.settings.max_iter)
        tol = tl.load(block.settings.tol)
        if not whole_gap >= tol:
            tl.store(p.state + b, _CONVERGED)
            tl.store(facts + 4, _CONVERGED)
        elif taken >= max_iter:
            tl.store(p.state + b, _MAX_ITER)
            tl.store(facts + 4, _MAX_ITER)
        else:
            lane = tl.arange(0, Q)
            v = tl.load(c.chosen + b * Q + lane)
            there = v >= 0
            row = tl.load(p.row + v, mask=there, other=0)
            x = tl.load(p.beta + b * m + v, mask=there, other=0.0)
            low = tl.load(p.lower + b * m + v, mask=there, other=0.0)
            high = tl.load(p.upper + b * m + v, mask=there, other=0.0)
            gradient = tl.load(p.scores + b * n + row, mask=there, other=0.0)
            gradient += tl.load(p.linear + b * m + v, mask=there, other=0.0)
            own = tl.load(block.diagonal + row, mask=there, other=1.0)
            REAL: tl.constexpr = block.gram.dtype.element_ty
            K = block.gram + b * Q * Q
            unit = tl.load(block.settings.unit)
            # In units of the gap (from its middle) and of the diagonal, float32 is enough, whatever
            # the scale.
            per_gap = 1.0 / whole_gap
            gradient = ((gradient - bottom) * per_gap - 0.5).to(REAL)
            own = (own * unit).to(REAL)
            minus_two = (-2.0 * unit).to(REAL)
            rise = high - x
            fall = x - low
            moved = tl.zeros((Q,), tl.float64)
            enough = tl.maximum(0.5 * tol * per_gap, tl.load(block.settings.share))
            budget = tl.minimum(max_iter - taken, tl.load(block.settings.steps_per_block)).to(
                tl.int32
            )
            n_steps = 0
            n_before = -1
            inner_gap = enough + 1.0
            while (inner_gap >= enough) & (n_steps < budget) & (n_steps > n_before):
                n_before = n_steps
                for _ in tl.static_range(_STEPS_BETWEEN_LOOKS):
                    least = tl.min(
                        _key_with_lane(tl.where(rise > 0, gradient, float("inf")), lane, Q), axis=0
                    )
                    up = (least & (Q - 1)).to(tl.int32)
                    row_up = tl.load(K + up * Q + lane)
                    own_up = tl.load(K + up * Q + up) * unit.to(REAL)
                    is_up = lane == up
                    slope = tl.where(
                        (fall > 0) & (lane != up), gradient - _value_of_key(least, REAL, Q), 0.0
                    )
                    slope = tl.maximum(slope, 0.0)
                    length = slope / tl.maximum(own_up + own + minus_two * row_up, _LEAST_CURVATURE)
                    decrease = (length * slope).to(tl.float32).to(tl.int32, bitcast=True)
                    best = tl.max((decrease & -Q) | lane, axis=0)
                    down = best & (Q - 1)
                    row_down = tl.load(K + down * Q + lane)
                    is_down = lane == down
                    reach = tl.where(
                        is_down, tl.minimum(length.to(tl.float64) * (unit * whole_gap), fall), rise
                    )
                    step = tl.min(tl.where(is_up | is_down, reach, float("inf")), axis=0)
                    # There is nothing to gain if `best` is only an index, without a decrease.
                    step = tl.where(
                        (best >= Q) & (n_steps < budget) & (step < float("inf")), step, 0.0
                    )
                    gradient += (step * per_gap).to(REAL) * (row_up - row_down)
                    # A variable that reaches its bound has exactly no room left, so that rounding
                    # can't keep it inside.
                    change = tl.where(is_up, step, tl.where(is_down, -step, 0.0))
                    rise = rise - change
                    fall = fall + change
                    moved = moved + change
                    n_steps += tl.where(step > 0, 1, 0)
                falling = tl.max(tl.where(fall > 0, gradient, float("-inf")), axis=0)
                inner_gap = (
                    falling - tl.min(tl.where(rise > 0, gradient, float("inf")), axis=0)
                ).to(tl.float64)
            inside = tl.minimum(tl.maximum(x + moved, low), high)
            after = tl.where(rise == 0, high, tl.where(fall == 0, low, inside))
            after = tl.where(moved == 0, x, after)
            tl.store(p.beta + b * m + v, after, mask=there)
            tl.store(block.delta + b * Q + lane, tl.where(there, after - x, 0.0))
            tl.store(block.n_iter + b, taken + n_steps)
            tl.store(facts + 3, taken + n_steps)


@triton.jit(do_not_specialize=["n_problems"])
def add_rows(
    stored, place, coefficients, scores, state, n_problems, n, stride, length, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """scores[b] += sum_k coefficients[b, k] stored[place[b, k]] in float64, for each problem b in
    state SOLVING; rows with coefficient 0 are not read.

    Programs of one segment of the columns are neighbors, so that rows which several problems add
    are still in the device's cache.
    """
    b = (tl.program_id(0) % n_problems).to(tl.int64)
    if tl.load(state + b) == 0:
        j = tl.program_id(0) // n_problems * COLUMNS + tl.arange(0, COLUMNS)
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
