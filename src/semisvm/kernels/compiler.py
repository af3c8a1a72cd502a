"""The compiler: how a function is made into machine code, and that Ctrl-C waits meanwhile.

Importing Numba takes as long as importing scikit-learn. Only modules of compiled functions call
`jit`, and they are imported inside the functions that need them, so that ``import semisvm`` stays
light. `jit_late` compiles in modules that hold more than that.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

# Infinite bounds are legitimate here, so "ninf" is not in the list. NaN never enters a solver.
FAST_MATH = {"nnan", "nsz", "arcp", "contract", "reassoc"}
# Numba's names for: references to arrays are not counted, and only Python and compiled functions
# call. Less to compile.
COMPILED: dict[str, Any] = {
    "nogil": True,
    "fastmath": FAST_MATH,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


def jit(function: Callable[..., Any], **more: Any) -> Any:
    """Compile a function on its first call, without the interpreter lock, and keep the machine code
    on disk.

    It must not allocate arrays: what it needs is given to it.
    """
    with interrupts_wait():
        from numba import njit

    _hold_interrupts_in_numba()
    options = COMPILED | more
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder is writable: compile again in each process
        return njit(**options)(function)


def jit_part(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled functions call: it becomes part of their machine
    code.
    """
    from numba import njit

    return njit(**(COMPILED | {"no_cpython_wrapper": True}))(function)


class jit_late:
    """Like `jit`, made when it is called, for modules that are used without it too; it may
    allocate if `_nrt`.
    """

    def __init__(self, function: Callable[..., Any], **more: Any):
        self.function = function
        self.options = {"_nrt": True} | more

    def __call__(self, *arguments: Any) -> Any:
        names = self.function.__globals__
        for name, one in list(names.items()):  # all of them, because they call each other
            if isinstance(one, jit_late):
                names[name] = jit(one.function, **one.options)
        return names[self.function.__name__](*arguments)


# ---- Ctrl-C while Numba is at work ----


class LateInterrupts:
    """Lets Ctrl-C, and SIGTERM where Python handles it, wait between `hold` and `release`; pairs
    may be nested.

    Python runs the handlers of signals in the main thread, so that there is nothing to do in the
    others.
    """

    def __init__(self) -> None:
        self.n_holds = 0
        self.handlers: dict[signal.Signals, Any] = {}
        self.arrived: list[int] = []

    def hold(self) -> None:
        """Let signals wait from now on."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self.n_holds == 0:
            for number in (signal.SIGTERM, signal.SIGINT):
                handler = signal.getsignal(number)
                # It is still there if a `release` was cut off.
                if callable(handler) and handler != self._note:
                    self.handlers[number] = handler
                    signal.signal(number, self._note)
        self.n_holds += 1

    def release(self) -> None:
        """Send those that have come again, unless an outer pair still holds them."""
        if threading.current_thread() is not threading.main_thread() or self.n_holds == 0:
            return
        self.n_holds -= 1
        if self.n_holds:
            return
        arrived = self.arrived
        self.arrived = []
        while self.handlers:
            signal.signal(*self.handlers.popitem())
        for number in arrived:
            signal.raise_signal(number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.arrived.append(number)


_interrupts = LateInterrupts()


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Inside, Ctrl-C waits. Numba is imported here: half of an import stays in `sys.modules`, and
    the next one ends with "module 'numba' has no attribute 'core'".
    """
    _interrupts.hold()
    try:
        yield
    finally:
        _interrupts.release()


@cache
def _hold_interrupts_in_numba() -> None:
    """Let Ctrl-C wait while Numba compiles a function, or loads it from disk.

    An exception there leaves Numba's registries half filled, so that nothing more is compiled in
    this process ("generator raised StopIteration"), or ends it (LLVM frees the same memory twice).
    """
    from numba.core.event import Event, Listener, register

    class Waiting(Listener):  # type: ignore[misc]
        def on_start(self, event: Event) -> None:
            _interrupts.hold()

        def on_end(self, event: Event) -> None:
            _interrupts.release()

    register("numba:compiler_lock", Waiting())
