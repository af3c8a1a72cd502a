"""What the machine offers: a compiler and memory. (Cores: `threads`.)

Compiler. Importing Numba takes as long as importing scikit-learn. Only modules of compiled functions call `jit`, and
they are imported inside the functions that need them, so that ``import semisvm`` stays light. `jit_late` compiles in
modules that hold more than that.

Memory. The user limits the memory of kernel rows in megabytes (`cache_size`, as in scikit-learn). The default is half
of what the machine, or the container it runs in, has free at that moment. Memory is taken as rows are made, not in
advance.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Infinite bounds are legitimate here, so "ninf" is not in the list. NaN never enters a solver.
FAST_MATH = {"nnan", "nsz", "arcp", "contract", "reassoc"}

MEGABYTE = 1_000_000
SHARE_OF_FREE_MEMORY = 0.5
_FREE_BYTES_IF_UNKNOWN = 2_000 * MEGABYTE


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call, without the interpreter lock, and keep the machine code on disk."""
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "fastmath": FAST_MATH, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder is writable: compile again in each process
        return njit(**options)(function)


class jit_late:
    """Like `jit`, for a module that is used without its compiled functions too: they are made when one is called."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        names = self.function.__globals__
        for name, one in list(names.items()):  # all of them, because they call each other
            if isinstance(one, jit_late):
                names[name] = jit(one.function)
        return names[self.function.__name__](*arguments)


def budget_bytes(cache_size: float | None) -> int:
    """Bytes that kernel rows may occupy: the user's megabytes, or by default a share of the free memory."""
    if cache_size is None:
        return int(SHARE_OF_FREE_MEMORY * free_bytes())
    if not 0 < cache_size < float("inf"):
        raise ValueError(f"cache_size must be a positive number of megabytes or None, got {cache_size!r}.")
    return int(cache_size * MEGABYTE)


def free_bytes() -> int:
    """Memory that can be taken without swapping: the machine's, or the control group's if that is less."""
    free = _machine_free_bytes()
    left = _control_group_bytes_left()
    return free if left is None else max(min(free, left), 0)


def _machine_free_bytes() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return _FREE_BYTES_IF_UNKNOWN


def _control_group_bytes_left() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return None if limit == "max" else int(limit) - int(used)
