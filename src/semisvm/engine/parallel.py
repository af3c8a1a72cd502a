"""Threads: a team that serves every parallel part, and one thread for BLAS and OpenMP.

Compiled functions release the interpreter lock, so plain threads are enough. A *region* calls one
function on several threads; it takes pieces of the work from a counter until none is left. What a
piece computes must not depend on the thread: results are the same to the last bit for any number of
threads.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from queue import SimpleQueue
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

_n_cores = cache(cpu_count)  # affinity and the quota of a container


def n_threads() -> int:
    """The cores of this process, or OMP_NUM_THREADS; 1 in a thread of joblib's."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and (getattr(get_active_backend()[0], "nesting_level", None) or 0) > 0:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(_n_cores(), int(limit) if limit.isdigit() else _n_cores()))


def n_workers() -> int:
    """How many workers of joblib share the machine with this one, itself included."""
    is_worker = (getattr(get_active_backend()[0], "nesting_level", None) or 0) > 0
    return max(1, _n_cores() // n_threads()) if is_worker else 1


class _Region:
    """One function that several threads call at the same time."""

    def __init__(self, function: Callable[[], Any]):
        self.function = function
        self.changing = threading.Condition()
        self.n_inside, self.is_over = 0, False
        self.error: BaseException | None = None

    def join(self) -> None:
        with self.changing:
            if self.is_over:  # who comes after its end does nothing
                return
            self.n_inside += 1
        try:
            self.function()
        except BaseException as error:
            self.error = error
        with self.changing:
            self.n_inside -= 1
            self.changing.notify()

    def lead(self) -> None:
        try:
            self.function()
        finally:  # Ctrl-C too: the others still write to the arrays of the caller
            with self.changing:
                self.is_over = True
                while self.n_inside:
                    self.changing.wait()
        if self.error is not None:
            raise self.error


class Team:
    """Threads that wait for regions; started when first needed.

    Whoever finds the team busy, another thread that solves or a region inside a region, does the
    work alone.
    """

    def __init__(self) -> None:
        self.waiting: SimpleQueue[_Region] = SimpleQueue()
        self.is_busy = threading.Lock()
        self.n_started = 0

    def run(self, function: Callable[[], Any], most: int) -> None:
        most = min(most, n_threads()) if most > 1 else 1
        if most < 2 or not self.is_busy.acquire(blocking=False):
            function()
            return
        try:
            with suppress(RuntimeError):  # the process can start no more threads
                while self.n_started < most - 1:
                    threading.Thread(target=_serve, args=(self.waiting,), daemon=True).start()
                    self.n_started += 1
            region = _Region(function)
            for _ in range(most - 1):
                self.waiting.put(region)
            region.lead()
        finally:
            self.is_busy.release()


def _serve(waiting: "SimpleQueue[_Region]") -> None:
    while True:
        region = waiting.get()
        region.join()
        del region  # its arrays must not live until the next one comes


_team: Any = Team()


def _start_anew() -> None:
    """In a child process: threads do not survive a fork."""
    global _team
    _team = Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def in_pieces(function: Callable[..., Any], *arguments: Any, most: int, memory: Any = None) -> None:
    """Call ``function(counter, *arguments)`` on up to `most` threads, each with its own `memory()`
    as last argument.
    """
    counter = np.zeros(1, dtype=np.int64)
    _team.run(lambda: function(counter, *arguments, *([] if memory is None else [memory()])), most)


def for_each(function: Callable[..., Any], pieces: Iterable[Any]) -> None:
    """Call ``function(piece)`` for every piece on the team."""
    left = list(pieces)[::-1]

    def work() -> None:
        while True:
            try:
                piece = left.pop()
            except IndexError:
                return
            function(piece)

    _team.run(work, len(left))


@lru_cache(maxsize=2)
def _libraries(n_modules: int) -> tuple[ThreadpoolController, ThreadpoolController]:
    """BLAS and OpenMP. Looked for again when modules were imported, which may bring libraries: it
    takes 3 ms.
    """
    found = ThreadpoolController()
    return found.select(user_api="blas"), found.select(user_api="openmp")


_limits: list[Any] = []  # of BLAS: they hold for the process
_limiting = threading.Lock()
_of_thread = threading.local()  # those of OpenMP hold for a thread


@contextmanager
def libraries_on_one_thread():
    """BLAS and OpenMP work on the calling thread alone.

    Their threads spin after small products, and what they compute depends on their number. Of BLAS,
    whoever comes first sets the limit, and whoever leaves last lifts it.
    """
    blas, openmp = _libraries(len(sys.modules))
    is_outermost = not getattr(_of_thread, "is_limited", False)
    with _limiting:
        _limits.append(blas.limit(limits=1) if not _limits else None)
    own = openmp.limit(limits=1) if is_outermost else None
    _of_thread.is_limited = True
    try:
        yield
    finally:
        if own is not None:
            _of_thread.is_limited = False
            own.restore_original_limits()
        with _limiting:
            if len(_limits) > 1:
                _limits.pop()
            else:
                _limits.pop().restore_original_limits()
