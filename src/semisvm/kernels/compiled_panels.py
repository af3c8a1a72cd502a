"""Compiled products of sparse rows and short dense rows, by panels, on every thread of a team.

A panel holds PANEL_WIDTH data rows side by side, feature by feature, so that one number of another
row is multiplied with PANEL_WIDTH adjacent numbers. Kernel values are finished, and used, while
they are in the first-level cache. `source` is the data (`PanelRows`), `scratch` the memory of a
thread (`PanelScratch`), `pairs` are the terms of wanted rows (`PanelPairs`).

Wanted rows are taken in pairs, so that a number of the panel is loaded once for both: a pair has
the terms of both rows, in the order of the features, with 0 where one of them has none. A term of 0
changes no sum. Each dot product is summed in an order that depends on the two rows alone, never on
the batch they came in, so that a row made twice is the same row.

Many data are whole multiples of one number: pixels, counts, percentages, columns of 0 and 1. In
units of it they are bytes, and the bytes of four adjacent features are a word. A word is then what
a number is otherwise: rows in CSR form have words in place of numbers, a panel has a word for each
of its rows, and one instruction adds the four products of a word with a word, for 16 rows of the
panel. Sums are whole numbers of 32 bits, so they are exact in any order.

The instruction takes bytes without sign, those of the wanted row, and bytes with sign, those of the
panel. So numbers z of the panel are stored as z - 128, where nothing is too, and a sum begins with
128 times the sum of the wanted row.
"""

import numpy as np

from semisvm.kernels.compiled import SCANNED_ROWS, add_stored, finish_dots
from semisvm.kernels.compiler import jit, jit_part
from semisvm.kernels.intrinsics import (
    LOWER_BY_128,
    PANEL_WIDTH,
    as_factor,
    larger,
    next_piece,
    nothing_in,
    offset_of,
    smaller,
    sum_terms,
)

# Positions per piece of a Gram matrix: fewer, and laying out their panel costs too much.
GRAM_PART = 256
# from one number in so many on, setting a whole panel to 0 is faster than its numbers one by one
WORTH_FILLING = 8
TILE_HEIGHT = 64  # of which so many at a time are written, from the first-level cache
PAIRS_PER_PIECE = 16  # pairs of rows whose terms are merged
NO_FEATURE = np.int32(2**31 - 1)
ROUNDING_OF_MULTIPLES = 2.0**-22  # relative: a multiple and the unit are each known to 2^-24


@jit
def count_words(counter, n_words, indptr, indices, data, unit):
    """n_words[i] = words of row i; -1 unless its numbers are 1 to 255 times the unit."""
    n = n_words.shape[0]
    start = SCANNED_ROWS * next_piece(counter)
    while start < n:
        for i in range(start, smaller(start + SCANNED_ROWS, n)):
            count = 0
            last = -1
            is_whole = True
            for k in range(indptr[i], indptr[i + 1]):
                multiple = np.float64(data[k]) / unit
                whole = np.floor(multiple + 0.5)
                is_whole &= (
                    1.0 <= whole <= 255.0 and abs(multiple - whole) <= ROUNDING_OF_MULTIPLES * whole
                )
                word = indices[k] >> 2
                count += 1 if word != last else 0
                last = word
            n_words[i] = count if is_whole else -1
        start = SCANNED_ROWS * next_piece(counter)


@jit
def fill_words(counter, starts, places, words, squares, indptr, indices, data, unit):
    """Write row i in words from starts[i] on, lowered for the panel; its square in units."""
    n = squares.shape[0]
    start = SCANNED_ROWS * next_piece(counter)
    while start < n:
        for i in range(start, smaller(start + SCANNED_ROWS, n)):
            at = starts[i]
            square = 0
            k = indptr[i]
            end = indptr[i + 1]
            while k < end:
                place = indices[k] >> 2
                word = LOWER_BY_128
                while k < end and indices[k] >> 2 == place:
                    whole = int(np.float64(data[k]) / unit + 0.5)
                    word ^= whole << 8 * (indices[k] & 3)
                    square += whole * whole
                    k += 1
                places[at], words[at] = place, word
                at += 1
            squares[i] = square
        start = SCANNED_ROWS * next_piece(counter)


@jit
def pair_terms(counter, pairs, rows, source):
    """Write the terms of rows[2 p] and rows[2 p + 1] (or of the last) from starts[p] on."""
    starts, stops, features, factors, offsets = pairs
    indptr = source.indptr
    indices = source.indices
    data = source.data
    first = PAIRS_PER_PIECE * next_piece(counter)
    while first < starts.shape[0]:
        for p in range(first, smaller(first + PAIRS_PER_PIECE, starts.shape[0])):
            at = starts[p]
            k = indptr[rows[2 * p]]
            k_end = indptr[rows[2 * p] + 1]
            m = m_end = indptr[0]
            offsets[p, 0] = offsets[p, 1] = 0
            if 2 * p + 1 < rows.shape[0]:
                m = indptr[rows[2 * p + 1]]
                m_end = indptr[rows[2 * p + 1] + 1]
            while k < k_end or m < m_end:
                left = indices[k] if k < k_end else NO_FEATURE
                right = indices[m] if m < m_end else NO_FEATURE
                features[at] = smaller(left, right)
                factors[at, 0] = as_factor(data[k]) if left <= right else 0
                factors[at, 1] = as_factor(data[m]) if right <= left else 0
                offsets[p, 0] += offset_of(factors[at, 0])
                offsets[p, 1] += offset_of(factors[at, 1])
                k += 1 if left <= right else 0
                m += 1 if right <= left else 0
                at += 1
            stops[p] = at
        first = PAIRS_PER_PIECE * next_piece(counter)


@jit_part
def dots_of_pair(sums, panel, pairs, p):
    """sums[r, b] = the dot product of row r of pair p with column b of the panel."""
    starts, stops, features, factors, offsets = pairs
    sum_terms(sums, panel, features, factors, offsets, p, starts[p], stops[p])


@jit
def spread_moves(
    counter, change, values, stored_slots, stored_moves, slots, rows, moves, pairs, source, scratch
):
    """change = sum_k stored_moves[k] values[stored_slots[k]] + sum_r moves[r] K[rows[r]], in
    float64.

    Rows that are made go to values[slots[r]] too where slots[r] >= 0. One piece is as many columns
    as `total` has.
    """
    starts = pairs.starts
    indptr, indices, data, squares, diagonal, formula, _ = source
    panel = scratch.panel
    panel_squares = scratch.squares
    sums = scratch.sums
    total = scratch.total
    part = scratch.part
    n = change.shape[0]
    width = total.shape[0]
    start = width * next_piece(counter)
    while start < n:
        stop = smaller(start + width, n)
        add_stored(total, values, stored_slots, stored_moves, start, stop - start)
        for first in range(start, stop if rows.shape[0] else start, PANEL_WIDTH):
            last = smaller(first + PANEL_WIDTH, stop)
            _lay_out(panel, panel_squares, indptr, indices, data, squares, first, last)
            for b in range(PANEL_WIDTH):
                part[b] = total[np.uint64(first - start + b)]
            for p in range(starts.shape[0]):
                dots_of_pair(sums, panel, pairs, p)
                for r in range(2 * p, smaller(2 * p + 2, rows.shape[0])):
                    row = rows[r]
                    move = moves[r]
                    side = np.uint64(r - 2 * p)
                    finish_dots(sums, side, panel_squares, squares[row], formula)
                    if first <= row < last:
                        # Rounding of |x|^2 + |x|^2 - 2<x, x> is largest there.
                        sums[side, row - first] = diagonal[row]
                    if move != 0.0:
                        for b in range(PANEL_WIDTH):
                            part[b] += move * np.float64(sums[side, b])
                    if slots[r] >= 0:
                        _store(values, slots[r], sums, side, first, last - first)
            for b in range(PANEL_WIDTH):
                total[np.uint64(first - start + b)] = part[b]
            _clear(panel, indptr, indices, first, last)
        for i in range(stop - start):
            change[np.uint64(start + i)] = total[i]
        start = width * next_piece(counter)


@jit_part
def _store(values, slot, sums, side, start, size):
    """values[slot, start : start + size] = sums[side]."""
    slot = np.uint64(slot)
    for b in range(size):
        values[slot, np.uint64(start + b)] = sums[side, b]


@jit
def fill_gram(counter, G, order, n_known, row, pairs, source, scratch):
    """G[i, j] = K[row[i], row[j]] for positions i, j of `order`, except where both are among its
    first `n_known`.

    One piece is a panel of new positions with GRAM_PART others. Each value is computed once and
    written twice.
    """
    indptr, indices, data, squares, diagonal, formula, _ = source
    n = order.shape[0]
    n_panels = -(-(n - n_known) // PANEL_WIDTH)
    n_parts = -(-n // GRAM_PART)
    panel = scratch.panel
    panel_squares = scratch.squares
    panel_rows = scratch.rows
    sums = scratch.sums
    tile = scratch.tile
    piece = next_piece(counter)
    while piece < n_panels * n_parts:
        first = n_known + PANEL_WIDTH * (piece // n_parts)
        begin = GRAM_PART * (piece % n_parts)
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
                    dots_of_pair(sums, panel, pairs, p)
                    for w in range(2 * p, smaller(2 * p + 2, stop)):
                        i = row[order[w]]
                        side = np.uint64(w - 2 * p)
                        to = np.uint64(w - start)
                        finish_dots(sums, side, panel_squares, squares[i], formula)
                        value = diagonal[i]
                        for b in range(PANEL_WIDTH):
                            tile[to, b] = value if panel_rows[b] == i else sums[side, b]
                _write_tile(G, tile, order, first, last, start, stop)
            for b in range(last - first):
                i = panel_rows[b]
                for k in range(indptr[i], indptr[i + 1]):
                    panel[np.uint64(indices[k] * PANEL_WIDTH + b)] = nothing_in(panel)
        piece = next_piece(counter)


@jit
def write_gram(counter, G, block, order, n_known, tile):
    """G[i, j] = G[j, i] = block[p, w] for positions i = order[n_known + p] and j = order[w]."""
    n = order.shape[0]
    first = n_known + PANEL_WIDTH * next_piece(counter)
    while first < n:
        last = smaller(first + PANEL_WIDTH, n)
        for start in range(0, last, TILE_HEIGHT):
            stop = smaller(start + TILE_HEIGHT, last)
            for b in range(last - first):
                of = np.uint64(first - n_known + b)
                for w in range(start, stop):
                    tile[w - start, b] = block[of, w]
            _write_tile(G, tile, order, first, last, start, stop)
        first = n_known + PANEL_WIDTH * next_piece(counter)


@jit_part
def _write_tile(G, tile, order, first, last, start, stop):
    """Write a tile on both sides of the diagonal; of two positions of its panel, each pair once.

    Positions are in ascending order, so ends as far apart as there are positions mean that they are
    adjacent: the usual case, in which the loops are vectorized.
    """
    height = stop - start
    width = last - first
    at = order[start]
    other = order[first]
    if (
        stop <= first
        and order[stop - 1] - at == height - 1
        and order[last - 1] - other == width - 1
    ):
        for w in range(height):
            _store(G, at + w, tile, np.uint64(w), other, width)
        for b in range(width):
            to = np.uint64(other + b)
            for w in range(height):
                G[to, np.uint64(at + w)] = tile[w, b]
        return
    for w in range(start, stop):
        for b in range(larger(0, w - first), width):
            G[order[w], order[first + b]] = tile[w - start, b]
    for b in range(width):
        for w in range(start, smaller(stop, first + b)):
            G[order[first + b], order[w]] = tile[w - start, b]


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
            panel[at] = nothing_in(panel)
        return
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            panel[np.uint64(indices[k] * PANEL_WIDTH + (i - start))] = nothing_in(panel)
