"""Single operations of compiled functions, written as machine instructions (LLVM).

Numba compiles `min`, `max` and `view` as functions of their own, once for each combination of types, and every one of
them is a few hundredths of a second of the first fit after an installation. The functions here are instructions within
their callers. They exist in compiled code only.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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


def _touch(_context, values, at):
    """Have the system provide the memory of values.ravel()[at], without changing it whatever other threads do."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        kind = ir.IntType(signature.args[0].dtype.bitwidth)
        there, nothing = builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer()), ir.Constant(kind, 0)
        builder.cmpxchg(there, nothing, nothing, "monotonic", "monotonic")  # 0 for 0: a write access all the same
        return context.get_dummy_value()

    return types.void(values, types.int64), generate


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


next_piece: Any = intrinsic(_add_one)
provide: Any = intrinsic(_touch)
smaller: Any = intrinsic(_smaller)
larger: Any = intrinsic(_larger)
bits_of: Any = intrinsic(_bits)
key_of_float: Any = intrinsic(_key)
float_of_key: Any = intrinsic(_value_of)
