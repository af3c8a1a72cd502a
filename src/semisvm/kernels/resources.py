"""What the machine offers: a compiler, cores and memory.

Compiler. Importing Numba takes as long as importing scikit-learn. Only modules of compiled functions call `jit`, and
they are imported inside the functions that need them, so that ``import semisvm`` stays light.

Cores. Compiled functions release the interpreter lock, so plain threads are enough. They are created for each call and
end with it: a pool kept in the module would not survive a fork.

Memory. The user limits the memory of kernel rows in megabytes (`cache_size`, as in scikit-learn). The default is half
of what the machine, or the container it runs in, has free at that moment. Memory is taken as rows are made, not in
advance.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from joblib import cpu_count

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


def n_threads() -> int:
    """Threads to use: the cores this process may run on, or fewer if OMP_NUM_THREADS says so (joblib sets it)."""
    cores = _n_cores()
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(asked))) if asked.isdigit() else cores


@cache
def _n_cores() -> int:
    return cpu_count()  # reads several system files, so it is asked once


def for_each(function: Callable[..., Any], pieces: Iterable[Any]) -> None:
    """Call ``function(piece)`` for every piece, on as many threads as there are cores; errors are raised here."""
    pieces = list(pieces)
    workers = min(n_threads(), len(pieces))
    if workers <= 1:
        for piece in pieces:
            function(piece)
        return
    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(function, piece) for piece in pieces[1:]]
        function(pieces[0])  # the calling thread works too
        for other in others:
            other.result()


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
