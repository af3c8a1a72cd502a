"""Dot products of pairs of rows with a panel, in registers: of floats, or of whole numbers from 0 to 255.

Wanted rows are taken in pairs, so that a number of the panel is loaded once for both: a pair has the terms of both
rows, in the order of the features, with 0 where one of them has none. A term of 0 changes no sum. Each dot product is
summed in an order that depends on the two rows alone, never on the batch they came in, so that a row made twice is the
same row. The pairs are a tuple, filled by `pair_terms`:

    starts, stops     the terms of pair p are those from starts[p] to stops[p]
    features          of each term,
    factors           (n_terms, 2), and what it is multiplied with, for the first row and for the second
    offsets           (n_pairs, 2), what each sum begins with

Many data are whole multiples of one number: pixels, counts, percentages, columns of 0 and 1. In units of it they are
bytes, and the bytes of four adjacent features are a word. A word is then what a number is otherwise: rows in CSR form
have words in place of numbers, a panel has a word for each of its rows, and one instruction adds the four products of
a word with a word, for 16 rows of the panel. Sums are whole numbers of 32 bits, so they are exact in any order.

The instruction takes bytes without sign, those of the wanted row, and bytes with sign, those of the panel. So numbers
z of the panel are stored as z - 128, where nothing is too, and a sum begins with 128 times the sum of the wanted row.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from semisvm.kernels.compiled import PANEL_WIDTH, SCANNED_ROWS
from semisvm.kernels.intrinsics import next_piece, smaller
from semisvm.kernels.threads import jit, jit_part

VECTOR_BYTES = 64  # of one vector; where registers are shorter, the compiler splits it
PAIRS_PER_PIECE = 16  # pairs of rows whose terms are merged
NO_FEATURE = np.int32(2**31 - 1)
ROUNDING_OF_MULTIPLES = 2.0**-22  # relative: a multiple and the unit are each known to 2^-24
LOWER_BY_128 = np.uint32(0x80808080).view(np.int32)  # exclusive or with it subtracts 128 from each byte of a word


def has_products_of_bytes() -> bool:
    """Whether compiled code may use the instruction that multiplies bytes (AVX-512 VNNI)."""
    return "+avx512vnni" in cpu_target.target_context.codegen().magic_tuple()[2]


@jit
def count_words(counter, n_words, indptr, indices, data, unit):
    """n_words[i] = words of row i; -1 if one of its numbers is not a whole multiple of the unit from 1 to 255."""
    n = n_words.shape[0]
    start = SCANNED_ROWS * next_piece(counter)
    while start < n:
        for i in range(start, smaller(start + SCANNED_ROWS, n)):
            count, last, is_whole = 0, -1, True
            for k in range(indptr[i], indptr[i + 1]):
                multiple = np.float64(data[k]) / unit
                whole = np.floor(multiple + 0.5)
                is_whole &= 1.0 <= whole <= 255.0 and abs(multiple - whole) <= ROUNDING_OF_MULTIPLES * whole
                word = indices[k] >> 2
                count += 1 if word != last else 0
                last = word
            n_words[i] = count if is_whole else -1
        start = SCANNED_ROWS * next_piece(counter)


@jit
def fill_words(counter, starts, places, words, squares, indptr, indices, data, unit):
    """Write row i in words from starts[i] on, lowered for the panel, and its squared norm in units."""
    n = squares.shape[0]
    start = SCANNED_ROWS * next_piece(counter)
    while start < n:
        for i in range(start, smaller(start + SCANNED_ROWS, n)):
            at, square, k, end = starts[i], 0, indptr[i], indptr[i + 1]
            while k < end:
                place, word = indices[k] >> 2, LOWER_BY_128
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
    """Write the terms of rows[2 p] and rows[2 p + 1] from starts[p] on, and stops[p]; of an odd last row, its own."""
    starts, stops, features, factors, offsets = pairs
    indptr, indices, data = source[0], source[1], source[2]
    first = PAIRS_PER_PIECE * next_piece(counter)
    while first < starts.shape[0]:
        for p in range(first, smaller(first + PAIRS_PER_PIECE, starts.shape[0])):
            at, k, k_end = starts[p], indptr[rows[2 * p]], indptr[rows[2 * p] + 1]
            m = m_end = indptr[0]
            offsets[p, 0] = offsets[p, 1] = 0
            if 2 * p + 1 < rows.shape[0]:
                m, m_end = indptr[rows[2 * p + 1]], indptr[rows[2 * p + 1] + 1]
            while k < k_end or m < m_end:
                left = indices[k] if k < k_end else NO_FEATURE
                right = indices[m] if m < m_end else NO_FEATURE
                features[at] = smaller(left, right)
                factors[at, 0] = _factor(data[k]) if left <= right else 0
                factors[at, 1] = _factor(data[m]) if right <= left else 0
                offsets[p, 0] += _offset(factors[at, 0])
                offsets[p, 1] += _offset(factors[at, 1])
                k += 1 if left <= right else 0
                m += 1 if right <= left else 0
                at += 1
            stops[p] = at
        first = PAIRS_PER_PIECE * next_piece(counter)


def _nothing(_context, panel):
    """What a panel has where there is no number."""

    def generate(context, _builder, _signature, _args):
        return ir.Constant(context.get_value_type(panel.dtype), int(LOWER_BY_128) if _is_of_words(panel) else 0.0)

    return panel.dtype(panel), generate


def _as_factor(_context, number):
    """A number as a factor, from the form it has in a panel."""

    def generate(_context, builder, _signature, args):
        is_word = isinstance(number, types.Integer)
        return builder.xor(args[0], ir.Constant(args[0].type, int(LOWER_BY_128))) if is_word else args[0]

    return number(number), generate


def _add_offset(_context, factor):
    """What a factor adds to the number that a sum begins with."""

    def generate(_context, builder, _signature, args):
        kind = ir.IntType(32)
        total = ir.Constant(kind, 0)
        if isinstance(factor, types.Integer):
            for shift in (0, 8, 16, 24):
                byte = builder.and_(builder.lshr(args[0], ir.Constant(kind, shift)), ir.Constant(kind, 255))
                total = builder.add(total, byte)
        return builder.mul(total, ir.Constant(kind, 128))

    return types.int32(factor), generate


nothing_in: Any = intrinsic(_nothing)
_factor: Any = intrinsic(_as_factor)
_offset: Any = intrinsic(_add_offset)


def _is_of_words(array) -> bool:
    return isinstance(array.dtype, types.Integer)


@jit_part
def dots_of_pair(sums, panel, pairs, p):
    """sums[r, b] = the dot product of row r of pair p with column b of the panel."""
    starts, stops, features, factors, offsets = pairs
    _sum_terms(sums, panel, features, factors, offsets, p, starts[p], stops[p])


def _sum(_context, sums, panel, features, factors, offsets, pair, start, stop):
    """sums[r, b] = offsets[pair, r] + sum of factors[k, r] panel[features[k], b] over start <= k < stop, as floats.

    The sums stay in registers, where the compiler would not keep them: as many columns at a time as there is room for.
    Sums of floats begin with 0.
    """
    real, has_words = sums.dtype.bitwidth, _is_of_words(panel)
    lanes = VECTOR_BYTES * 8 // real
    in_registers = 1024 if get_host_cpu_features().get("avx512f") else 256  # bytes
    width = in_registers * 8 // (2 * real)

    def generate(context, builder, signature, args):
        to, table, columns, numbers, begins = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:5], args[:5], strict=True)
        )
        index, short = ir.IntType(64), ir.IntType(32)
        result = ir.VectorType(ir.FloatType() if real == 32 else ir.DoubleType(), lanes)
        vector = ir.VectorType(short, lanes) if has_words else result
        name = "llvm.x86.avx512.vpdpbusd.512" if has_words else f"llvm.fmuladd.v{lanes}f{real}"
        multiply_add = get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
        empty, first_lane = ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(short, lanes), [0] * lanes)

        def offset(base, more):
            return builder.add(base, ir.Constant(index, more))

        def address(base, at, kind):
            return builder.bitcast(builder.gep(base, [at]), kind.as_pointer())

        def of_row(base, k, r):
            """Element [k, r] of an array of two columns, in every lane."""
            value = builder.load(builder.gep(base, [offset(builder.mul(k, ir.Constant(index, 2)), r)]))
            value = builder.insert_element(empty, value, ir.Constant(short, 0))
            return builder.shuffle_vector(value, empty, first_lane)

        for first in range(0, PANEL_WIDTH, width):
            if has_words:
                begin = [of_row(begins, args[5], r) for r in range(2)]
            else:
                begin = [ir.Constant(vector, [0.0] * lanes)] * 2
            before, head = builder.block, builder.append_basic_block("terms")
            body, end = builder.append_basic_block("term"), builder.append_basic_block("summed")
            builder.branch(head)
            builder.position_at_end(head)
            k, totals = builder.phi(index), [[builder.phi(vector) for _ in range(width // lanes)] for _ in range(2)]
            k.add_incoming(args[6], before)
            for r in range(2):
                for total in totals[r]:
                    total.add_incoming(begin[r], before)
            builder.cbranch(builder.icmp_signed("<", k, args[7]), body, end)
            builder.position_at_end(body)
            column = builder.zext(builder.load(builder.gep(columns, [k])), index)
            at = offset(builder.mul(column, ir.Constant(index, PANEL_WIDTH)), first)
            terms = [
                builder.load(address(table, offset(at, v * lanes), vector), align=real // 8)
                for v in range(width // lanes)
            ]
            for r in range(2):
                factor = of_row(numbers, k, r)
                for term, total in zip(terms, totals[r], strict=True):
                    operands = [total, factor, term] if has_words else [factor, term, total]
                    total.add_incoming(builder.call(multiply_add, operands), body)
            k.add_incoming(offset(k, 1), body)
            builder.branch(head)
            builder.position_at_end(end)
            for r in range(2):
                for v, total in enumerate(totals[r]):
                    place = ir.Constant(index, r * PANEL_WIDTH + first + v * lanes)
                    dots = builder.sitofp(total, result) if has_words else total
                    builder.store(dots, address(to, place, result), align=real // 8)
        return context.get_dummy_value()

    return types.void(sums, panel, features, factors, offsets, pair, start, stop), generate


_sum_terms: Any = intrinsic(_sum)
