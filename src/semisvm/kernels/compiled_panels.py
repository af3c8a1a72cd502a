"""Compiled products of sparse rows and short dense rows, by panels, on every thread of a team.

A panel holds PANEL_WIDTH data rows side by side, feature by feature, so that one number of another row is multiplied
with PANEL_WIDTH adjacent numbers. Each dot product is summed in an order that depends on the two rows alone, never on
the batch they came in, so that a row made twice is the same row. Wanted rows are taken in pairs, so that a number of
the panel is loaded once for both: a pair has the terms of both rows, in the order of the features, with 0 where one of
them has none. A term of 0 changes no sum. Kernel values are finished, and used, while they are in the first-level
cache. The data, `source` below, is a tuple:

    indptr, indices, data   the rows in CSR form
    squares, diagonal       |x_i|^2 and k(x_i, x_i)
    formula                 `Formula.numbers`
    n_features              the number of columns

and the pairs of wanted rows are another, made by `pair_terms`:

    starts, stops           the terms of pair p are those from starts[p] to stops[p]
    features                of each term,
    factors                 (n_terms, 2), and what it is multiplied with, for the first row and for the second
"""

from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from semisvm.kernels.compiled import PANEL_WIDTH, add_stored, finish_dots, provide_rows
from semisvm.kernels.intrinsics import larger, next_piece, smaller
from semisvm.kernels.threads import jit, jit_allocating, jit_part

GRAM_PART = 256  # positions per piece of a Gram matrix: fewer, and laying out their panel costs too much
VECTOR_BYTES = 64  # of one vector; where registers are shorter, the compiler splits it
WORTH_FILLING = 8  # from one number in so many on, setting a whole panel to 0 is faster than its numbers one by one
PAIRS_PER_PIECE = 16  # pairs of rows whose terms are merged
NO_FEATURE = np.int32(2**31 - 1)
TILE_HEIGHT = 64  # of which so many at a time are written, from the first-level cache


@jit
def pair_terms(counter, pairs, rows, source):
    """Write the terms of rows[2 p] and rows[2 p + 1] from starts[p] on, and stops[p]; of an odd last row, its own."""
    starts, stops, features, factors = pairs
    indptr, indices, data = source[0], source[1], source[2]
    first = PAIRS_PER_PIECE * next_piece(counter)
    while first < starts.shape[0]:
        for p in range(first, smaller(first + PAIRS_PER_PIECE, starts.shape[0])):
            at, k, k_end = starts[p], indptr[rows[2 * p]], indptr[rows[2 * p] + 1]
            m = m_end = indptr[0]
            if 2 * p + 1 < rows.shape[0]:
                m, m_end = indptr[rows[2 * p + 1]], indptr[rows[2 * p + 1] + 1]
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


@jit_allocating
def make_kernel_rows(counter, values, slots, rows, pairs, source):
    """values[slots[r]] = K[rows[r]]; one piece is one panel of columns."""
    starts, stops, features, factors = pairs
    indptr, indices, data, squares, diagonal, formula, n_features = source
    n = diagonal.shape[0]
    panel, panel_squares, sums = _empty_panel(n_features, data)
    start = PANEL_WIDTH * next_piece(counter)
    while start < n:
        stop = smaller(start + PANEL_WIDTH, n)
        _lay_out(panel, panel_squares, indptr, indices, data, squares, start, stop)
        for p in range(starts.shape[0]):
            _dots_of_pair(sums, panel, features, factors, starts[p], stops[p])
            for r in range(2 * p, smaller(2 * p + 2, rows.shape[0])):
                row, own = rows[r], sums[r - 2 * p]
                finish_dots(own, panel_squares, squares[row], formula)
                if start <= row < stop:
                    own[row - start] = diagonal[row]  # rounding of |x|^2 + |x|^2 - 2<x, x> is largest there
                _store(values[slots[r]], own, start, stop - start)
        _clear(panel, indptr, indices, start, stop)
        start = PANEL_WIDTH * next_piece(counter)


@jit_allocating
def spread_moves(counter, change, values, stored_slots, stored_moves, slots, rows, moves, width, pairs, source):
    """change = sum_k stored_moves[k] values[stored_slots[k]] + sum_r moves[r] K[rows[r]], in float64.

    Rows that are made go to values[slots[r]] too where slots[r] >= 0. One piece is `width` columns.
    """
    starts, stops, features, factors = pairs
    indptr, indices, data, squares, diagonal, formula, n_features = source
    n, total, part = change.shape[0], np.zeros(width), np.empty(PANEL_WIDTH)
    panel, panel_squares, sums = _empty_panel(n_features, data)
    piece, n_pages = provide_rows(counter, values, slots)
    start = width * (piece - n_pages)
    while start < n:
        stop = smaller(start + width, n)
        add_stored(total, values, stored_slots, stored_moves, start, stop - start)
        for first in range(start, stop if rows.shape[0] else start, PANEL_WIDTH):
            last = smaller(first + PANEL_WIDTH, stop)
            _lay_out(panel, panel_squares, indptr, indices, data, squares, first, last)
            for b in range(PANEL_WIDTH):
                part[b] = total[np.uint64(first - start + b)]
            for p in range(starts.shape[0]):
                _dots_of_pair(sums, panel, features, factors, starts[p], stops[p])
                for r in range(2 * p, smaller(2 * p + 2, rows.shape[0])):
                    row, move, own = rows[r], moves[r], sums[r - 2 * p]
                    finish_dots(own, panel_squares, squares[row], formula)
                    if first <= row < last:
                        own[row - first] = diagonal[row]
                    for b in range(PANEL_WIDTH):
                        part[b] += move * np.float64(own[b])
                    if slots[r] >= 0:
                        _store(values[slots[r]], own, first, last - first)
            for b in range(PANEL_WIDTH):
                total[np.uint64(first - start + b)] = part[b]
            _clear(panel, indptr, indices, first, last)
        for i in range(stop - start):
            change[np.uint64(start + i)] = total[i]
        start = width * (next_piece(counter) - n_pages)


@jit_part
def _store(row, sums, start, size):
    """row[start : start + size] = sums."""
    for b in range(size):
        row[np.uint64(start + b)] = sums[b]


@jit_allocating
def fill_gram(counter, G, order, n_known, row, pairs, source):
    """G[i, j] = K[row[i], row[j]] for positions i, j of `order`, except where both are among its first `n_known`.

    One piece is a panel of new positions with GRAM_PART others. Each value is computed once and written twice.
    """
    starts, stops, features, factors = pairs
    indptr, indices, data, squares, diagonal, formula, n_features = source
    n = order.shape[0]
    n_panels, n_parts = -(-(n - n_known) // PANEL_WIDTH), -(-n // GRAM_PART)
    panel, panel_squares, sums = _empty_panel(n_features, data)
    panel_rows = np.empty(PANEL_WIDTH, dtype=row.dtype)
    tile = np.empty((TILE_HEIGHT, PANEL_WIDTH), dtype=data.dtype)
    piece = next_piece(counter)
    while piece < n_panels * n_parts:
        first, begin = n_known + PANEL_WIDTH * (piece // n_parts), GRAM_PART * (piece % n_parts)
        last = smaller(first + PANEL_WIDTH, n)
        end = smaller(begin + GRAM_PART, last)  # the rest is computed with the panels that follow
        if begin < end:
            for b in range(last - first, PANEL_WIDTH):
                panel_rows[b] = -1
            for b in range(last - first):
                i = row[order[first + b]]
                panel_rows[b], panel_squares[b] = i, squares[i]
                for k in range(indptr[i], indptr[i + 1]):
                    panel[np.uint64(indices[k] * PANEL_WIDTH + b)] = data[k]
            for start in range(begin, end, TILE_HEIGHT):
                stop = smaller(start + TILE_HEIGHT, end)
                for p in range(start // 2, -(-stop // 2)):  # parts and tiles have even heights
                    _dots_of_pair(sums, panel, features, factors, starts[p], stops[p])
                    for w in range(2 * p, smaller(2 * p + 2, stop)):
                        i, own, to = row[order[w]], sums[w - 2 * p], tile[w - start]
                        finish_dots(own, panel_squares, squares[i], formula)
                        value = diagonal[i]
                        for b in range(PANEL_WIDTH):
                            to[b] = value if panel_rows[b] == i else own[b]
                _write_tile(G, tile, order, first, last, start, stop)
            for b in range(last - first):
                i = panel_rows[b]
                for k in range(indptr[i], indptr[i + 1]):
                    panel[np.uint64(indices[k] * PANEL_WIDTH + b)] = 0
        piece = next_piece(counter)


@jit_allocating
def write_gram(counter, G, block, order, n_known):
    """G[i, j] = G[j, i] = block[p, w] for positions i = order[n_known + p] and j = order[w]."""
    n = order.shape[0]
    tile = np.empty((TILE_HEIGHT, PANEL_WIDTH), dtype=block.dtype)
    first = n_known + PANEL_WIDTH * next_piece(counter)
    while first < n:
        last = smaller(first + PANEL_WIDTH, n)
        for start in range(0, last, TILE_HEIGHT):
            stop = smaller(start + TILE_HEIGHT, last)
            for b in range(last - first):
                of = block[first - n_known + b]
                for w in range(start, stop):
                    tile[w - start, b] = of[w]
            _write_tile(G, tile, order, first, last, start, stop)
        first = n_known + PANEL_WIDTH * next_piece(counter)


@jit_part
def _write_tile(G, tile, order, first, last, start, stop):
    """Write a tile on both sides of the diagonal; of two positions of its panel, each pair once.

    Positions are in ascending order, so ends as far apart as there are positions mean that they are adjacent: the
    usual case, in which the loops are vectorized.
    """
    height, width = stop - start, last - first
    at, other = order[start], order[first]
    if stop <= first and order[stop - 1] - at == height - 1 and order[last - 1] - other == width - 1:
        for w in range(height):
            _store(G[at + w], tile[w], other, width)
        for b in range(width):
            to = G[other + b]
            for w in range(height):
                to[np.uint64(at + w)] = tile[w, b]
        return
    for w in range(start, stop):
        to = G[order[w]]
        for b in range(larger(0, w - first), width):
            to[order[first + b]] = tile[w - start, b]
    for b in range(width):
        to = G[order[first + b]]
        for w in range(start, smaller(stop, first + b)):
            to[order[w]] = tile[w - start, b]


@jit_allocating
def _empty_panel(n_features, data):
    """A panel of zeros, the squared norms of the rows in it, and their sums with a pair of rows."""
    panel = np.zeros(n_features * PANEL_WIDTH, dtype=data.dtype)
    return panel, np.zeros(PANEL_WIDTH, dtype=data.dtype), np.empty((2, PANEL_WIDTH), dtype=data.dtype)


@jit_part
def _lay_out(panel, panel_squares, indptr, indices, data, squares, start, stop):
    """Put data rows start..stop into the columns of the panel."""
    for i in range(start, stop):
        panel_squares[i - start] = squares[i]
        for k in range(indptr[i], indptr[i + 1]):
            panel[np.uint64(indices[k] * PANEL_WIDTH + (i - start))] = data[k]


@jit_part
def _clear(panel, indptr, indices, start, stop):
    """Set what data rows start..stop have put into the panel to 0 again."""
    if WORTH_FILLING * (indptr[stop] - indptr[start]) > panel.shape[0]:
        for at in range(panel.shape[0]):
            panel[at] = 0
        return
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            panel[np.uint64(indices[k] * PANEL_WIDTH + (i - start))] = 0


def _dots(_context, sums, panel, features, factors, start, stop):
    """sums[r, b] = sum of factors[k, r] panel[features[k], b] over start <= k < stop, in the order of k.

    The sums stay in registers, where the compiler would not keep them: as many columns at a time as there is room for.
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
        number = ir.FloatType() if real == 32 else ir.DoubleType()
        vector, index, short = ir.VectorType(number, lanes), ir.IntType(64), ir.IntType(32)
        name = f"llvm.fmuladd.v{lanes}f{real}"
        multiply_add = get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
        empty, first_lane = ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(short, lanes), [0] * lanes)

        def offset(base, more):
            return builder.add(base, ir.Constant(index, more))

        def address(base, at):
            return builder.bitcast(builder.gep(base, [at]), vector.as_pointer())

        for first in range(0, PANEL_WIDTH, width):
            before, head = builder.block, builder.append_basic_block("terms")
            body, end = builder.append_basic_block("term"), builder.append_basic_block("summed")
            builder.branch(head)
            builder.position_at_end(head)
            k, totals = builder.phi(index), [[builder.phi(vector) for _ in range(width // lanes)] for _ in range(2)]
            k.add_incoming(args[4], before)
            for total in (*totals[0], *totals[1]):
                total.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
            builder.cbranch(builder.icmp_signed("<", k, args[5]), body, end)
            builder.position_at_end(body)
            column = builder.zext(builder.load(builder.gep(columns, [k])), index)
            at = offset(builder.mul(column, ir.Constant(index, PANEL_WIDTH)), first)
            terms = [
                builder.load(address(table, offset(at, v * lanes)), align=real // 8) for v in range(width // lanes)
            ]
            for r in range(2):
                factor = builder.load(builder.gep(numbers, [offset(builder.mul(k, ir.Constant(index, 2)), r)]))
                factor = builder.insert_element(empty, factor, ir.Constant(short, 0))
                factor = builder.shuffle_vector(factor, empty, first_lane)
                for term, total in zip(terms, totals[r], strict=True):
                    total.add_incoming(builder.call(multiply_add, [factor, term, total]), body)
            k.add_incoming(offset(k, 1), body)
            builder.branch(head)
            builder.position_at_end(end)
            for r in range(2):
                for v, total in enumerate(totals[r]):
                    place = ir.Constant(index, r * PANEL_WIDTH + first + v * lanes)
                    builder.store(total, address(to, place), align=real // 8)
        return context.get_dummy_value()

    return types.void(sums, panel, features, factors, start, stop), generate


_dots_of_pair: Any = intrinsic(_dots)
