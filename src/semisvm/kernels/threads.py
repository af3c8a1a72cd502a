"""Spread compiled work over the cores.

Compiled functions release the interpreter lock, so plain threads serve. Threads are made for each call and end with
it: a pool kept in the module would not survive a fork.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from joblib import cpu_count


def n_threads() -> int:
    """Threads to use: the cores this process may run on, or fewer where OMP_NUM_THREADS says so (joblib sets it)."""
    cores = _cores()
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(asked))) if asked.isdigit() else cores


@cache
def _cores() -> int:
    return cpu_count()  # reads several files of the system: worth asking once


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
        function(pieces[0])  # the calling thread has nothing better to do
        for other in others:
            other.result()
