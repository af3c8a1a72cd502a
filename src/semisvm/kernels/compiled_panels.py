"""Compiled products of sparse rows and short dense rows, by panels, on every thread of a team.

A panel holds PANEL_WIDTH data rows side by side, feature by feature, so that one number of another row is multiplied
with PANEL_WIDTH adjacent numbers. Each dot product is summed in an order that depends on the two rows alone, never on
the batch they came in, so that a row made twice is the same row. Kernel values are finished, and used, while they are
in the first-level cache. The data, `source` below, is a tuple:

    indptr, indices, data   the rows in CSR form
    squares, diagonal       |x_i|^2 and k(x_i, x_i)
    formula                 `Formula.numbers`
    n_features              the number of columns
"""

from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from semisvm.kernels.compiled import PANEL_WIDTH, finish_dots, next_piece
from semisvm.kernels.resources import jit

GRAM_PART = 256  # positions per piece of a Gram matrix: fewer, and laying out their panel costs too much
VECTOR_BYTES = 64  # of one vector; where registers are shorter, the compiler splits it
WORTH_FILLING = 8  # from one number in so many on, setting a whole panel to 0 is faster than its numbers one by one
TILE_HEIGHT = 64  # of which so many at a time are written, from the first-level cache


@jit
def make_kernel_rows(counter, values, slots, rows, source):
    """values[slots[r]] = K[rows[r]]; one piece is one panel of columns."""
    indptr, indices, data, squares, diagonal, formula, n_features = source
    n = diagonal.shape[0]
    panel, panel_squares, sums = _empty_panel(n_features, data)
    start = PANEL_WIDTH * next_piece(counter)
    while start < n:
        stop = min(start + PANEL_WIDTH, n)
        _lay_out(panel, panel_squares, indptr, indices, data, squares, start, stop)
        for r in range(rows.shape[0]):
            row = rows[r]
            _dots_with_panel(sums, panel, indptr, indices, data, row)
            finish_dots(sums, panel_squares, squares[row], formula)
            if start <= row < stop:
                sums[row - start] = diagonal[row]  # rounding of |x|^2 + |x|^2 - 2<x, x> is largest there
            _store(values[slots[r]], sums, start, stop - start)
        _clear(panel, indptr, indices, start, stop)
        start = PANEL_WIDTH * next_piece(counter)


@jit
def spread_moves(counter, change, values, stored_slots, stored_moves, slots, rows, moves, width, source):
    """change = sum_k stored_moves[k] values[stored_slots[k]] + sum_r moves[r] K[rows[r]], in float64.

    Rows that are made go to values[slots[r]] too where slots[r] >= 0. One piece is `width` columns.
    """
    indptr, indices, data, squares, diagonal, formula, n_features = source
    n, total, part = change.shape[0], np.zeros(width), np.empty(PANEL_WIDTH)
    panel, panel_squares, sums = _empty_panel(n_features, data)
    start = width * next_piece(counter)
    while start < n:
        stop = min(start + width, n)
        _add_stored(total, values, stored_slots, stored_moves, start, stop - start)
        for first in range(start, stop if rows.shape[0] else start, PANEL_WIDTH):
            last = min(first + PANEL_WIDTH, stop)
            _lay_out(panel, panel_squares, indptr, indices, data, squares, first, last)
            for b in range(PANEL_WIDTH):
                part[b] = total[np.uint64(first - start + b)]
            for r in range(rows.shape[0]):
                row, move = rows[r], moves[r]
                _dots_with_panel(sums, panel, indptr, indices, data, row)
                finish_dots(sums, panel_squares, squares[row], formula)
                if first <= row < last:
                    sums[row - first] = diagonal[row]
                for b in range(PANEL_WIDTH):
                    part[b] += move * np.float64(sums[b])
                if slots[r] >= 0:
                    _store(values[slots[r]], sums, first, last - first)
            for b in range(PANEL_WIDTH):
                total[np.uint64(first - start + b)] = part[b]
            _clear(panel, indptr, indices, first, last)
        for i in range(stop - start):
            change[np.uint64(start + i)] = total[i]
        start = width * next_piece(counter)


@jit
def _store(row, sums, start, size):
    """row[start : start + size] = sums."""
    for b in range(size):
        row[np.uint64(start + b)] = sums[b]


@jit
def spread_stored(counter, change, values, slots, moves, width):
    """change = sum_k moves[k] values[slots[k]] in float64; one piece is `width` columns."""
    n, total = change.shape[0], np.empty(width)
    start = width * next_piece(counter)
    while start < n:
        size = min(width, n - start)
        _add_stored(total, values, slots, moves, start, size)
        for i in range(size):
            change[np.uint64(start + i)] = total[i]
        start = width * next_piece(counter)


@jit
def _add_stored(total, values, slots, moves, start, size):
    """total = sum_k moves[k] values[slots[k], start : start + size]; four rows at a time use each sum once."""
    k, n_rows = 0, slots.shape[0]
    for i in range(size):
        total[i] = 0.0
    while k + 4 <= n_rows:
        row0, row1, row2, row3 = values[slots[k]], values[slots[k + 1]], values[slots[k + 2]], values[slots[k + 3]]
        move0, move1, move2, move3 = moves[k], moves[k + 1], moves[k + 2], moves[k + 3]
        for i in range(size):
            j = np.uint64(start + i)  # a signed index might be negative, and the loop would not be vectorized
            total[i] += (move0 * np.float64(row0[j]) + move1 * np.float64(row1[j])) + (
                move2 * np.float64(row2[j]) + move3 * np.float64(row3[j])
            )
        k += 4
    while k < n_rows:
        row, move = values[slots[k]], moves[k]
        for i in range(size):
            total[i] += move * np.float64(row[np.uint64(start + i)])
        k += 1


@jit
def fill_gram(counter, G, order, n_known, row, source):
    """G[i, j] = K[row[i], row[j]] for positions i, j of `order`, except where both are among its first `n_known`.

    One piece is a panel of new positions with GRAM_PART others. Each pair is computed once and written twice.
    """
    indptr, indices, data, squares, diagonal, formula, n_features = source
    n = order.shape[0]
    n_panels, n_parts = -(-(n - n_known) // PANEL_WIDTH), -(-n // GRAM_PART)
    panel, panel_squares, sums = _empty_panel(n_features, data)
    panel_rows = np.empty(PANEL_WIDTH, dtype=row.dtype)
    tile = np.empty((TILE_HEIGHT, PANEL_WIDTH), dtype=data.dtype)
    piece = next_piece(counter)
    while piece < n_panels * n_parts:
        first, begin = n_known + PANEL_WIDTH * (piece // n_parts), GRAM_PART * (piece % n_parts)
        last = min(first + PANEL_WIDTH, n)
        end = min(begin + GRAM_PART, last)  # the rest is computed with the panels that follow
        if begin < end:
            for b in range(last - first, PANEL_WIDTH):
                panel_rows[b] = -1
            for b in range(last - first):
                i = row[order[first + b]]
                panel_rows[b], panel_squares[b] = i, squares[i]
                for k in range(indptr[i], indptr[i + 1]):
                    panel[np.uint64(indices[k] * PANEL_WIDTH + b)] = data[k]
            for start in range(begin, end, TILE_HEIGHT):
                stop = min(start + TILE_HEIGHT, end)
                for w in range(start, stop):
                    i = row[order[w]]
                    value, to = diagonal[i], tile[w - start]
                    _dots_with_panel(sums, panel, indptr, indices, data, i)
                    finish_dots(sums, panel_squares, squares[i], formula)
                    for b in range(PANEL_WIDTH):
                        to[b] = value if panel_rows[b] == i else sums[b]
                _write_tile(G, tile, order, first, last, start, stop)
            for b in range(last - first):
                i = panel_rows[b]
                for k in range(indptr[i], indptr[i + 1]):
                    panel[np.uint64(indices[k] * PANEL_WIDTH + b)] = 0
        piece = next_piece(counter)


@jit
def write_gram(counter, G, block, order, n_known):
    """G[i, j] = G[j, i] = block[p, w] for positions i = order[n_known + p] and j = order[w]."""
    n = order.shape[0]
    tile = np.empty((TILE_HEIGHT, PANEL_WIDTH), dtype=block.dtype)
    first = n_known + PANEL_WIDTH * next_piece(counter)
    while first < n:
        last = min(first + PANEL_WIDTH, n)
        for start in range(0, last, TILE_HEIGHT):
            stop = min(start + TILE_HEIGHT, last)
            for b in range(last - first):
                of = block[first - n_known + b]
                for w in range(start, stop):
                    tile[w - start, b] = of[w]
            _write_tile(G, tile, order, first, last, start, stop)
        first = n_known + PANEL_WIDTH * next_piece(counter)


@jit
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
        for b in range(max(0, w - first), width):
            to[order[first + b]] = tile[w - start, b]
    for b in range(width):
        to = G[order[first + b]]
        for w in range(start, min(stop, first + b)):
            to[order[w]] = tile[w - start, b]


@jit
def _empty_panel(n_features, data):
    """A panel of zeros, the squared norms of the rows in it, and their sums with another row."""
    panel = np.zeros(n_features * PANEL_WIDTH, dtype=data.dtype)
    return panel, np.zeros(PANEL_WIDTH, dtype=data.dtype), np.empty(PANEL_WIDTH, dtype=data.dtype)


@jit
def _lay_out(panel, panel_squares, indptr, indices, data, squares, start, stop):
    """Put data rows start..stop into the columns of the panel."""
    for i in range(start, stop):
        panel_squares[i - start] = squares[i]
        for k in range(indptr[i], indptr[i + 1]):
            panel[np.uint64(indices[k] * PANEL_WIDTH + (i - start))] = data[k]


@jit
def _clear(panel, indptr, indices, start, stop):
    """Set what data rows start..stop have put into the panel to 0 again."""
    if WORTH_FILLING * (indptr[stop] - indptr[start]) > panel.shape[0]:
        for at in range(panel.shape[0]):
            panel[at] = 0
        return
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            panel[np.uint64(indices[k] * PANEL_WIDTH + (i - start))] = 0


def _dots(_context, sums, panel, indices, data, start, stop):
    """sums[b] = sum of data[k] panel[indices[k], b] over start <= k < stop, in the order of k.

    The sums stay in registers, as the compiler would not keep them: with AVX-512 all of them, elsewhere half at a time.
    """
    real = sums.dtype.bitwidth
    lanes = VECTOR_BYTES * 8 // real
    width = (PANEL_WIDTH * 32 // real) // (1 if get_host_cpu_features().get("avx512f") else 2)

    def generate(context, builder, signature, args):
        to, table, columns, factors = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:4], args[:4], strict=True)
        )
        number = ir.FloatType() if real == 32 else ir.DoubleType()
        vector, index, short = ir.VectorType(number, lanes), ir.IntType(64), ir.IntType(32)
        name = f"llvm.fmuladd.v{lanes}f{real}"
        multiply_add = get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)

        def address(base, offset):
            return builder.bitcast(builder.gep(base, [offset]), vector.as_pointer())

        for first in range(0, PANEL_WIDTH, width):
            before, head = builder.block, builder.append_basic_block("terms")
            body, end = builder.append_basic_block("term"), builder.append_basic_block("summed")
            builder.branch(head)
            builder.position_at_end(head)
            k, totals = builder.phi(index), [builder.phi(vector) for _ in range(width // lanes)]
            k.add_incoming(args[4], before)
            for total in totals:
                total.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
            builder.cbranch(builder.icmp_signed("<", k, args[5]), body, end)
            builder.position_at_end(body)
            column = builder.zext(builder.load(builder.gep(columns, [k])), index)
            at = builder.add(builder.mul(column, ir.Constant(index, PANEL_WIDTH)), ir.Constant(index, first))
            empty = ir.Constant(vector, ir.Undefined)
            factor = builder.insert_element(empty, builder.load(builder.gep(factors, [k])), ir.Constant(short, 0))
            factor = builder.shuffle_vector(factor, empty, ir.Constant(ir.VectorType(short, lanes), [0] * lanes))
            for v, total in enumerate(totals):
                term = builder.load(address(table, builder.add(at, ir.Constant(index, v * lanes))), align=real // 8)
                total.add_incoming(builder.call(multiply_add, [factor, term, total]), body)
            k.add_incoming(builder.add(k, ir.Constant(index, 1)), body)
            builder.branch(head)
            builder.position_at_end(end)
            for v, total in enumerate(totals):
                builder.store(total, address(to, ir.Constant(index, first + v * lanes)), align=real // 8)
        return context.get_dummy_value()

    return types.void(sums, panel, indices, data, start, stop), generate


_dots_of_terms: Any = intrinsic(_dots)


@jit
def _dots_with_panel(sums, panel, indptr, indices, data, row):
    """sums[b] = <data row `row`, column b of the panel>."""
    _dots_of_terms(sums, panel, indices, data, indptr[row], indptr[row + 1])
