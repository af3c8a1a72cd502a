"""Panel products of bytes, where the processor has an instruction for them (AVX-512 VNNI).

Many data are whole multiples of one number: pixels, counts, percentages, columns of 0 and 1. In
units of it they are bytes, and the bytes of four adjacent features are a word. A word is then what
a number is in `panels`: rows in CSR form have words in place of numbers, a panel has a word for
each of its rows, and one instruction adds the four products of a word with a word, for 16 rows of
the panel. Sums are whole numbers of 32 bits, so they are exact in any order.

The instruction takes bytes without sign, those of the wanted row x, and bytes with sign, those of
the panel. So the panel has z - 128 for z, and for nothing too: the sum lacks 128 times the bytes of
x, which are taken from |x|^2 in advance, because |x - z|^2 = |x|^2 + |z|^2 - 2<x, z>.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from semisvm.engine.formula import Formula
from semisvm.engine.jit import (
    config,
    get_host_cpu_features,
    get_or_insert_function,
    intrinsic,
    ir,
    jit,
    overload,
    types,
)
from semisvm.engine.kernels.panels import WIDTH, set_dots
from semisvm.engine.kernels.sources import PanelSource

MOST_FEATURES = 33_000  # dot products of bytes must fit 32 bits
ROUNDING_OF_MULTIPLES = 2.0**-22  # relative: a multiple and the unit are each known to 2^-24
LOWER_BY_128 = np.uint32(0x80808080).view(np.int32)  # by exclusive or, each byte of a word
LANES = 16  # words of a vector
ROWS_AT_ONCE = 4096


def has_products_of_bytes() -> bool:
    """Whether compiled code may use the instruction: unless Numba compiles for other processors."""
    is_own = not (config.CPU_NAME or config.CPU_FEATURES)
    return is_own and bool(get_host_cpu_features().get("avx512vnni"))


def unit_of_bytes(X: sparse.csr_matrix) -> float | None:
    """The number of which all others are whole multiples, up to 255; None where there is none."""
    if not X.has_canonical_format:
        return None
    unit = float(X.data.min(initial=np.inf))
    if not (0 < unit and X.data.max(initial=0) < 256 * unit and X.shape[1] <= MOST_FEATURES):
        return None
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, X.shape[0])
        multiples = X.data[X.indptr[start] : X.indptr[stop]].astype(np.float64) / unit
        whole = np.rint(multiples)
        if not (np.abs(multiples - whole) <= ROUNDING_OF_MULTIPLES * whole).all():
            return None
    return unit


@jit
def fill_words(indptr, indices, data, unit, starts, place, words, squares, sums):
    """Write rows in words, where each of them starts, and the square and the sum of its bytes."""
    at = 0
    for i in range(squares.shape[0]):
        last = -1
        for k in range(indptr[i], indptr[i + 1]):
            whole = int(np.float64(data[k]) / unit + 0.5)
            if indices[k] >> 2 != last:
                last = indices[k] >> 2
                place[at], words[at] = last, 0
                at += 1
            words[at - 1] |= whole << 8 * (indices[k] & 3)
            squares[i] += whole * whole
            sums[i] += whole
        starts[i + 1] = at
    return at


class ByteSource(PanelSource):
    """Rows of the rbf kernel in float32, by words in place of numbers."""

    def __init__(self, X: sparse.csr_matrix, formula: Formula, dtype: Any, unit: float):
        super().__init__(X, formula, dtype)
        n, most = self.n_rows, self.X.nnz
        indptr, squares, sums = np.zeros(n + 1, np.int64), np.zeros(n), np.zeros(n)
        place, words = np.empty(most, np.int32), np.empty(most, np.int32)
        n_words = fill_words(
            self.X.indptr, self.X.indices, self.X.data, unit, indptr, place, words, squares, sums
        )
        place, words = place[:n_words], words[:n_words]
        kind, gamma, *others = formula.numbers
        self.n_columns, self.nothing = -(-X.shape[1] // 4), np.array([LOWER_BY_128])
        self.data = self.data._replace(
            indptr=indptr,
            indices=place,
            data=words ^ LOWER_BY_128,
            factors=words,
            squares=squares.astype(np.float32),
            own_squares=(squares - 256 * sums).astype(np.float32),
            formula=np.array([kind, gamma * unit**2, *others]),
        )


@intrinsic
def sum_words(_context, sums, panel, features, factors, start, stop):
    """sums[r, b] = sum of the products of factors[k, r] and panel[features[k], b], as floats.

    As `panels.sum_terms`, with one instruction for four bytes; all WIDTH columns are in registers.
    """

    def generate(context, builder, signature, args):
        to, table, columns, numbers = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:4], args[:4], strict=True)
        )
        index, short = ir.IntType(64), ir.IntType(32)
        vector, result = ir.VectorType(short, LANES), ir.VectorType(ir.FloatType(), LANES)
        multiply_add = get_or_insert_function(
            builder.module,
            ir.FunctionType(vector, [vector] * 3),
            "llvm.x86.avx512.vpdpbusd.512",
        )
        empty, lanes = ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0] * LANES)

        def offset(base, more):
            return builder.add(base, ir.Constant(index, more))

        def address(base, at, kind):
            return builder.bitcast(builder.gep(base, [at]), kind.as_pointer())

        before = builder.block
        head, body, end = (builder.append_basic_block(n) for n in ("terms", "term", "summed"))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.phi(index)
        k.add_incoming(args[4], before)
        totals = [[builder.phi(vector) for _ in range(WIDTH // LANES)] for _ in range(2)]
        for total in (*totals[0], *totals[1]):
            total.add_incoming(ir.Constant(vector, [0] * LANES), before)
        builder.cbranch(builder.icmp_signed("<", k, args[5]), body, end)
        builder.position_at_end(body)
        column = builder.zext(builder.load(builder.gep(columns, [k])), index)
        at = builder.mul(column, ir.Constant(index, WIDTH))
        terms = [
            builder.load(address(table, offset(at, v * LANES), vector), align=4)
            for v in range(WIDTH // LANES)
        ]
        for r in range(2):
            where = offset(builder.mul(k, ir.Constant(index, 2)), r)
            word = builder.load(builder.gep(numbers, [where]))
            word = builder.insert_element(empty, word, ir.Constant(short, 0))
            factor = builder.shuffle_vector(word, empty, lanes)
            for term, total in zip(terms, totals[r], strict=True):
                total.add_incoming(builder.call(multiply_add, [total, factor, term]), body)
        k.add_incoming(offset(k, 1), body)
        builder.branch(head)
        builder.position_at_end(end)
        for r in range(2):
            for v, total in enumerate(totals[r]):
                place = ir.Constant(index, r * WIDTH + v * LANES)
                builder.store(builder.sitofp(total, result), address(to, place, result), align=4)
        return context.get_dummy_value()

    return types.void(sums, panel, features, factors, start, stop), generate


@overload(set_dots)
def _compile_set_dots(sums, panel, pairs, p):
    def of_words(sums, panel, pairs, p):
        sum_words(sums, panel, pairs.features, pairs.factors, pairs.starts[p], pairs.stops[p])

    return of_words if isinstance(panel.dtype, types.Integer) else None
