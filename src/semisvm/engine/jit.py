"""The compiler, and the few operations that compiled functions have beyond Numba's own.

Only modules of compiled functions import this one, and Numba through it alone; they are imported
when a solve needs them, so that importing the library does not import Numba.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Ctrl-C waits: half an import of Numba would stay in sys.modules, and fail ever after."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


with interrupts_wait():
    import numba
    from llvmlite import ir
    from llvmlite.binding import get_host_cpu_features  # noqa: F401
    from numba import extending, njit, types
    from numba.core.cgutils import get_or_insert_function  # noqa: F401

config: Any = numba.config
intrinsic: Any = extending.intrinsic  # the types of what compiled code calls are Numba's own
overload: Any = extending.overload
# Infinite bounds are legitimate here, so "ninf" is not in the list. NaN never enters a solver.
COMPILED: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"nnan", "nsz", "arcp", "contract", "reassoc"},
    "error_model": "numpy",
    "_nrt": False,  # no array is allocated: less to compile
    "no_cfunc_wrapper": True,
}
_SAME_WIDTH = {
    types.float64: types.int64,
    types.int64: types.float64,
    types.float32: types.int32,
    types.int32: types.float32,
}


def jit(function):
    """Compile on the first call, without the interpreter lock; kept on disk where it can be."""
    try:
        return njit(cache=True, **COMPILED)(function)
    except RuntimeError:  # no folder is writable
        return njit(**COMPILED)(function)


def jit_part(function):
    """Compile a function that only compiled functions call."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, **COMPILED}
    return njit(**options)(function)


@intrinsic
def next_piece(_context, counter):
    """counter[0] += 1 by one instruction, whatever other threads do; the value before."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


def _chosen_by(comparison):
    def choose(context, a, b):
        kind = context.unify_types(a, b)

        def generate(_context, builder, _signature, args):
            compare = builder.fcmp_ordered if isinstance(kind, types.Float) else builder.icmp_signed
            return builder.select(compare(comparison, *args), *args)

        return kind(kind, kind), generate

    return choose


smaller = intrinsic(_chosen_by("<"))
larger = intrinsic(_chosen_by(">"))


@intrinsic
def bits_of(_context, value):
    """The bits of a float as an integer of its width, and the other way round."""
    to = _SAME_WIDTH[value]

    def generate(context, builder, _signature, args):
        return builder.bitcast(args[0], context.get_value_type(to))

    return to(value), generate


def _flipped(builder, bits):
    """All bits but the sign are inverted where the number is negative; its own inverse."""
    sign = builder.ashr(bits, ir.Constant(bits.type, bits.type.width - 1))
    return builder.xor(
        bits, builder.and_(sign, ir.Constant(bits.type, 2 ** (bits.type.width - 1) - 1))
    )


@intrinsic
def key_of_float(_context, value):
    """An integer as wide as the float that keeps the order of floats: LLVM vectorizes the extremes
    of integers, not those of floats.
    """
    to = _SAME_WIDTH[value]

    def generate(context, builder, _signature, args):
        return _flipped(builder, builder.bitcast(args[0], context.get_value_type(to)))

    return to(value), generate


@intrinsic
def float_of_key(_context, key):
    """The float of a key."""
    to = _SAME_WIDTH[key]

    def generate(context, builder, _signature, args):
        return builder.bitcast(_flipped(builder, args[0]), context.get_value_type(to))

    return to(key), generate
