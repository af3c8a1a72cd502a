"""Operations of compiled functions that are written as machine instructions (LLVM). They exist in
compiled code only.

Numba compiles `min`, `max` and `view` as functions of their own, once for each combination of
types, and every one of them is a few hundredths of a second of the first fit after an installation.
The functions here are instructions within their callers. The products of panels (`compiled_panels`)
are here because the compiler would not keep sums in registers, and does not know the instruction
that multiplies bytes.
"""

from typing import Any

import numpy as np

from semisvm.kernels.compiler import interrupts_wait

with interrupts_wait():
    from llvmlite import ir
    from llvmlite.binding import get_host_cpu_features
    from numba import types
    from numba.core.cgutils import get_or_insert_function
    from numba.core.registry import cpu_target
    from numba.extending import intrinsic

PANEL_WIDTH = 128  # rows side by side: a whole number of vector registers on every machine
VECTOR_BYTES = 64  # of one vector; where registers are shorter, the compiler splits it
# Exclusive or with it subtracts 128 from each byte of a word.
LOWER_BY_128 = np.uint32(0x80808080).view(np.int32)

_SAME_WIDTH = {
    types.float64: types.int64,
    types.int64: types.float64,
    types.float32: types.int32,
    types.int32: types.float32,
}


def _add_one(_context, counter):
    """counter[0] += 1 by one instruction, whatever other threads do; the value before."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


def _smaller(context, a, b):
    """The smaller of two numbers."""
    kind = context.unify_types(a, b)
    return kind(kind, kind), _chosen_by("<", kind)


def _larger(context, a, b):
    """The larger of two numbers."""
    kind = context.unify_types(a, b)
    return kind(kind, kind), _chosen_by(">", kind)


def _chosen_by(comparison: str, kind):
    def generate(_context, builder, _signature, args):
        compare = builder.fcmp_ordered if isinstance(kind, types.Float) else builder.icmp_signed
        return builder.select(compare(comparison, *args), *args)

    return generate


def _bits(_context, value):
    """The bits of a float as an integer of its width, and the other way round."""
    to = _SAME_WIDTH[value]

    def generate(context, builder, _signature, args):
        return builder.bitcast(args[0], context.get_value_type(to))

    return to(value), generate


def _key(_context, value):
    """An integer as wide as the float that keeps the order of floats."""
    to = _SAME_WIDTH[value]

    def generate(context, builder, _signature, args):
        return _magnitude_flipped(builder, builder.bitcast(args[0], context.get_value_type(to)))

    return to(value), generate


def _value_of(_context, key):
    """The float of a key."""
    to = _SAME_WIDTH[key]

    def generate(context, builder, _signature, args):
        return builder.bitcast(_magnitude_flipped(builder, args[0]), context.get_value_type(to))

    return to(key), generate


def _magnitude_flipped(builder, bits):
    """All bits but the sign are inverted where the number is negative; its own inverse."""
    kind = bits.type
    sign = builder.ashr(bits, ir.Constant(kind, kind.width - 1))
    return builder.xor(bits, builder.and_(sign, ir.Constant(kind, 2 ** (kind.width - 1) - 1)))


# ---- products of panels ----


def has_products_of_bytes() -> bool:
    """Whether compiled code may use the instruction that multiplies bytes (AVX-512 VNNI)."""
    return "+avx512vnni" in cpu_target.target_context.codegen().magic_tuple()[2]


def _is_of_words(array) -> bool:
    return isinstance(array.dtype, types.Integer)


def _nothing(_context, panel):
    """What a panel has where there is no number."""

    def generate(context, _builder, _signature, _args):
        return ir.Constant(
            context.get_value_type(panel.dtype), int(LOWER_BY_128) if _is_of_words(panel) else 0.0
        )

    return panel.dtype(panel), generate


def _as_factor(_context, number):
    """A number as a factor, from the form it has in a panel."""

    def generate(_context, builder, _signature, args):
        is_word = isinstance(number, types.Integer)
        return (
            builder.xor(args[0], ir.Constant(args[0].type, int(LOWER_BY_128)))
            if is_word
            else args[0]
        )

    return number(number), generate


def _add_offset(_context, factor):
    """What a factor adds to the number that a sum begins with."""

    def generate(_context, builder, _signature, args):
        kind = ir.IntType(32)
        total = ir.Constant(kind, 0)
        if isinstance(factor, types.Integer):
            for shift in (0, 8, 16, 24):
                byte = builder.and_(
                    builder.lshr(args[0], ir.Constant(kind, shift)), ir.Constant(kind, 255)
                )
                total = builder.add(total, byte)
        return builder.mul(total, ir.Constant(kind, 128))

    return types.int32(factor), generate


def _sum(_context, sums, panel, features, factors, offsets, pair, start, stop):
    """sums[r, b] = offsets[pair, r] + sum of factors[k, r] panel[features[k], b] over start <= k <
    stop, as floats.

    The sums stay in registers, where the compiler would not keep them: as many columns at a time as
    there is room for. Sums of floats begin with 0.
    """
    real = sums.dtype.bitwidth
    has_words = _is_of_words(panel)
    lanes = VECTOR_BYTES * 8 // real
    in_registers = 1024 if get_host_cpu_features().get("avx512f") else 256  # bytes
    width = in_registers * 8 // (2 * real)

    def generate(context, builder, signature, args):
        to, table, columns, numbers, begins = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:5], args[:5], strict=True)
        )
        index = ir.IntType(64)
        short = ir.IntType(32)
        result = ir.VectorType(ir.FloatType() if real == 32 else ir.DoubleType(), lanes)
        vector = ir.VectorType(short, lanes) if has_words else result
        name = "llvm.x86.avx512.vpdpbusd.512" if has_words else f"llvm.fmuladd.v{lanes}f{real}"
        multiply_add = get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), name
        )
        empty = ir.Constant(vector, ir.Undefined)
        first_lane = ir.Constant(ir.VectorType(short, lanes), [0] * lanes)

        def offset(base, more):
            return builder.add(base, ir.Constant(index, more))

        def address(base, at, kind):
            return builder.bitcast(builder.gep(base, [at]), kind.as_pointer())

        def of_row(base, k, r):
            """Element [k, r] of an array of two columns, in every lane."""
            value = builder.load(
                builder.gep(base, [offset(builder.mul(k, ir.Constant(index, 2)), r)])
            )
            value = builder.insert_element(empty, value, ir.Constant(short, 0))
            return builder.shuffle_vector(value, empty, first_lane)

        for first in range(0, PANEL_WIDTH, width):
            if has_words:
                begin = [of_row(begins, args[5], r) for r in range(2)]
            else:
                begin = [ir.Constant(vector, [0.0] * lanes)] * 2
            before = builder.block
            head = builder.append_basic_block("terms")
            body = builder.append_basic_block("term")
            end = builder.append_basic_block("summed")
            builder.branch(head)
            builder.position_at_end(head)
            k = builder.phi(index)
            totals = [[builder.phi(vector) for _ in range(width // lanes)] for _ in range(2)]
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


next_piece: Any = intrinsic(_add_one)
smaller: Any = intrinsic(_smaller)
larger: Any = intrinsic(_larger)
bits_of: Any = intrinsic(_bits)
key_of_float: Any = intrinsic(_key)
float_of_key: Any = intrinsic(_value_of)
nothing_in: Any = intrinsic(_nothing)
as_factor: Any = intrinsic(_as_factor)
offset_of: Any = intrinsic(_add_offset)
sum_terms: Any = intrinsic(_sum)
