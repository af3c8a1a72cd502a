"""Compiled products of sparse rows and short dense rows, by panels.

A panel holds WIDTH data rows side by side, feature by feature, so that one number of another row is
multiplied with WIDTH adjacent numbers. Wanted rows are taken in pairs, so that a number of the
panel is loaded once for both: a pair has the terms of both rows, in the order of the features, with
0 where one of them has none. Each dot product is summed in an order that depends on its two rows
alone: a row made twice is the same row. Kernel values are finished, added up and stored while they
are in the first-level cache.
"""

from typing import NamedTuple

import numpy as np

from semisvm.engine.jit import (
    get_host_cpu_features,
    get_or_insert_function,
    intrinsic,
    ir,
    jit,
    next_piece,
    overload,
    smaller,
    types,
)  # fmt: skip
from semisvm.engine.kernels.loops import finish_dots, sum_stored

WIDTH = 128  # rows side by side: a whole number of vector registers on every machine
VECTOR_BYTES = 64  # of one vector; where registers are shorter, the compiler splits it
PAIRS_PER_PIECE = 16
PAIRS_OF_BLOCK = 64
WORTH_FILLING = 8  # from one number in so many on, setting a whole panel to 0 is the faster way
NO_FEATURE = np.int32(2**31 - 1)


class Data(NamedTuple):
    """Rows in CSR form, as a panel has them and as factors, and what kernel values need."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    factors: np.ndarray
    squares: np.ndarray  # |x_i|^2 of a row in a panel,
    own_squares: np.ndarray  # and of a wanted row
    diagonal: np.ndarray
    formula: np.ndarray  # `Formula.numbers`


class Pairs(NamedTuple):
    """The terms of pair p of wanted rows: from starts[p] to stops[p]."""

    starts: np.ndarray
    stops: np.ndarray
    features: np.ndarray
    factors: np.ndarray  # (n_terms, 2), what a term is multiplied with, for either row


class Scratch(NamedTuple):
    """The memory of a thread; between two pieces there is `nothing` in the panel."""

    panel: np.ndarray  # (n_features * WIDTH,)
    nothing: np.ndarray  # (1,)
    squares: np.ndarray  # (WIDTH,) of the rows in the panel
    rows: np.ndarray  # (WIDTH,) their numbers
    sums: np.ndarray  # (2, WIDTH)
    part: np.ndarray  # (WIDTH,) float64


def scratch(n_features: int, dtype: np.dtype, nothing: np.ndarray) -> Scratch:
    return Scratch(
        np.full(n_features * WIDTH, nothing[0]),
        nothing,
        np.zeros(WIDTH, dtype),
        np.empty(WIDTH, np.int64),
        np.empty((2, WIDTH), dtype),
        np.empty(WIDTH),
    )


@intrinsic
def sum_terms(_context, sums, panel, features, factors, start, stop):
    """sums[r, b] = sum of factors[k, r] panel[features[k], b] over start <= k < stop.

    The sums stay in registers, where the compiler would not keep them: as many columns at a time as
    there is room for.
    """
    real = sums.dtype.bitwidth
    lanes = VECTOR_BYTES * 8 // real
    in_registers = 1024 if get_host_cpu_features().get("avx512f") else 256  # bytes
    width = in_registers * 8 // (2 * real)

    def generate(context, builder, signature, args):
        to, table, columns, numbers = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:4], args[:4], strict=True)
        )
        index, short = ir.IntType(64), ir.IntType(32)
        vector = ir.VectorType(ir.FloatType() if real == 32 else ir.DoubleType(), lanes)
        multiply_add = get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{lanes}f{real}"
        )
        empty = ir.Constant(vector, ir.Undefined)
        first_lane = ir.Constant(ir.VectorType(short, lanes), [0] * lanes)

        def offset(base, more):
            return builder.add(base, ir.Constant(index, more))

        def address(base, at):
            return builder.bitcast(builder.gep(base, [at]), vector.as_pointer())

        def in_every_lane(k, r):
            at = offset(builder.mul(k, ir.Constant(index, 2)), r)
            value = builder.load(builder.gep(numbers, [at]))
            value = builder.insert_element(empty, value, ir.Constant(short, 0))
            return builder.shuffle_vector(value, empty, first_lane)

        for first in range(0, WIDTH, width):
            before = builder.block
            head, body, end = (
                builder.append_basic_block(name) for name in ("terms", "term", "summed")
            )
            builder.branch(head)
            builder.position_at_end(head)
            k = builder.phi(index)
            k.add_incoming(args[4], before)
            totals = [[builder.phi(vector) for _ in range(width // lanes)] for _ in range(2)]
            for total in (*totals[0], *totals[1]):
                total.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
            builder.cbranch(builder.icmp_signed("<", k, args[5]), body, end)
            builder.position_at_end(body)
            column = builder.zext(builder.load(builder.gep(columns, [k])), index)
            at = offset(builder.mul(column, ir.Constant(index, WIDTH)), first)
            terms = [
                builder.load(address(table, offset(at, v * lanes)), align=real // 8)
                for v in range(width // lanes)
            ]
            for r in range(2):
                factor = in_every_lane(k, r)
                for term, total in zip(terms, totals[r], strict=True):
                    added = builder.call(multiply_add, [factor, term, total])
                    total.add_incoming(added, body)
            k.add_incoming(offset(k, 1), body)
            builder.branch(head)
            builder.position_at_end(end)
            for r in range(2):
                for v, total in enumerate(totals[r]):
                    place = ir.Constant(index, r * WIDTH + first + v * lanes)
                    builder.store(total, address(to, place), align=real // 8)
        return context.get_dummy_value()

    return types.void(sums, panel, features, factors, start, stop), generate


@jit
def pair_terms(counter, pairs, rows, source):
    """Write the terms of rows[2 p] and rows[2 p + 1] (or of the last) from starts[p] on."""
    starts, stops, features, factors = pairs
    indptr = source.indptr
    indices = source.indices
    data = source.factors
    first = PAIRS_PER_PIECE * next_piece(counter)
    while first < starts.shape[0]:
        for p in range(first, smaller(first + PAIRS_PER_PIECE, starts.shape[0])):
            at = starts[p]
            k = indptr[rows[2 * p]]
            k_end = indptr[rows[2 * p] + 1]
            m = m_end = indptr[0]
            if 2 * p + 1 < rows.shape[0]:
                m = indptr[rows[2 * p + 1]]
                m_end = indptr[rows[2 * p + 1] + 1]
            while k < k_end or m < m_end:
                left = indices[k] if k < k_end else NO_FEATURE
                right = indices[m] if m < m_end else NO_FEATURE
                features[at] = smaller(left, right)
                factors[at, 0] = data[k] if left <= right else 0
                factors[at, 1] = data[m] if right <= left else 0
                k += 1 if left <= right else 0
                m += 1 if right <= left else 0
                at += 1
            stops[p] = at
        first = PAIRS_PER_PIECE * next_piece(counter)


def set_dots(sums, panel, pairs, p):
    """sums[r, b] = the dot product of row r of pair p with column b of the panel."""
    raise NotImplementedError


@overload(set_dots)
def _compile_set_dots(sums, panel, pairs, p):
    def of_floats(sums, panel, pairs, p):
        sum_terms(sums, panel, pairs.features, pairs.factors, pairs.starts[p], pairs.stops[p])

    return of_floats if isinstance(panel.dtype, types.Float) else None


@jit
def make_rows(
    counter, rows, columns, out, slots, moves, change, stored, stored_moves, begin, end,
    pairs, source, memory,
):  # fmt: skip
    """For the kernel values of rows[r] with `columns` (all rows in order, where that is empty):
    out[slots[r]] = values where slots[r] >= 0, and change += moves[r] * values in float64. Rows of
    `out` that are there already are added too, change += stored_moves @ out[stored]: while some
    threads wait for memory, others compute.

    One piece is one panel of columns with all pairs of rows; where nothing is added up, with
    PAIRS_OF_BLOCK of them, so that a few columns are work for many threads. Of a symmetric matrix,
    whose columns from begin to end are the rows' own, pieces above the diagonal are left out.
    """
    indptr, indices, data, _, squares, own_squares, diagonal, formula = source
    panel, nothing, panel_squares, panel_rows, sums, part = memory
    is_all = columns.shape[0] == 0
    n = squares.shape[0] if is_all else columns.shape[0]
    n_pairs = pairs.starts.shape[0]
    per_piece = n_pairs if change.shape[0] > 0 else PAIRS_OF_BLOCK
    n_parts = -(-n_pairs // per_piece)
    piece = next_piece(counter)
    while WIDTH * (piece // n_parts) < n:
        first = WIDTH * (piece // n_parts)
        start = per_piece * (piece % n_parts)
        stop = smaller(start + per_piece, n_pairs)
        size = smaller(WIDTH, n - first)
        if (
            begin <= first
            and first + size <= end
            and first > slots[smaller(2 * stop, rows.shape[0]) - 1]
        ):
            piece = next_piece(counter)
            continue
        n_numbers = 0
        sum_stored(part, out, stored, stored_moves, first, size)
        for b in range(WIDTH):
            panel_rows[b] = -1
        for b in range(size):
            i = first + b if is_all else columns[first + b]
            panel_rows[b], panel_squares[b] = i, squares[i]
            n_numbers += indptr[i + 1] - indptr[i]
            for k in range(indptr[i], indptr[i + 1]):
                panel[np.uint64(indices[k] * WIDTH + b)] = data[k]
        for p in range(start, stop):
            set_dots(sums, panel, pairs, p)
            for r in range(2 * p, smaller(2 * p + 2, rows.shape[0])):
                row = rows[r]
                move = moves[r]
                side = np.uint64(r - 2 * p)
                finish_dots(sums, side, panel_squares, own_squares[row], formula)
                # Rounding of |x|^2 + |x|^2 - 2<x, x> is largest on the diagonal.
                if is_all:
                    if first <= row < first + size:
                        sums[side, row - first] = diagonal[row]
                else:
                    value = diagonal[row]
                    for b in range(WIDTH):
                        sums[side, b] = value if panel_rows[b] == row else sums[side, b]
                if move != 0.0:
                    for b in range(WIDTH):
                        part[b] += move * np.float64(sums[side, b])
                if slots[r] >= 0:
                    slot = np.uint64(slots[r])
                    for b in range(size):
                        out[slot, np.uint64(first + b)] = sums[side, b]
        if change.shape[0] > 0:
            for b in range(size):
                change[np.uint64(first + b)] += part[b]
        if WORTH_FILLING * n_numbers > panel.shape[0]:
            for at in range(panel.shape[0]):
                panel[at] = nothing[0]
        else:
            for b in range(size):
                i = panel_rows[b]
                for k in range(indptr[i], indptr[i + 1]):
                    panel[np.uint64(indices[k] * WIDTH + b)] = nothing[0]
        piece = next_piece(counter)
