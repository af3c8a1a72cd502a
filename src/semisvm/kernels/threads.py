"""The team of threads that serves every parallel part of the library.

Compiled functions release the interpreter lock, so plain threads are enough. (Numba's own parallel loops are not used:
its work queue aborts the process if two Python threads enter it, and OpenMP does not survive a fork.) The threads of
the team are started once and live as long as the process. A parallel part is a *region*: every thread calls the same
function, which takes pieces of the work from a counter until none is left.

    in_pieces(compiled, ...)

    @jit
    def compiled(counter, ...):
        piece = next_piece(counter)
        while piece < n_pieces:
            ...
            piece = next_piece(counter)

`jit` is in `kernels.compiler`, `next_piece` in `kernels.intrinsics`. Whoever finds the team busy, another thread that
solves or a region inside a region, does all pieces itself. The caller waits only for threads that have begun: on a busy
machine a region ends when its work is done, not when the last thread has woken up.

What a region computes must not depend on which thread takes which piece, so that results are the same to the last bit
for any number of threads.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

SECONDS_BETWEEN_LOOKS = 0.05  # while waiting: a lost wake-up must not stop the caller for ever


def n_threads() -> int:
    """Threads to use now.

    The cores that this process may run on (its affinity and the quota of its container), or fewer if OMP_NUM_THREADS
    or threadpoolctl's limits say so. joblib sets the former in its worker processes. A thread of joblib's works alone:
    there are as many of them as the user asked for.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and (getattr(get_active_backend()[0], "nesting_level", None) or 0) > 0:
        return 1
    allowed = [_n_cores(), *(library.num_threads for library in _libraries("openmp").lib_controllers)]
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdigit():
        allowed.append(int(asked))
    return max(1, min(allowed))


_n_cores = cache(cpu_count)  # it reads several system files, so it is asked once


@cache
def _libraries(kind: str) -> ThreadpoolController:
    """The libraries of a kind in this process, "blas" or "openmp": `threadpool_limits` changes their numbers."""
    return ThreadpoolController().select(user_api=kind)


class _BlasLimit:
    """``with one_blas_thread:`` BLAS works on the calling thread alone: its others spin on after small products.

    The limit is one of the process: whoever comes first sets it, and whoever leaves last lifts it.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: nobody is inside, and no limit is set."""
        self.lock, self.n_inside = threading.Lock(), 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.n_inside and any(library.num_threads > 1 for library in _libraries("blas").lib_controllers):
                self.limit = _libraries("blas").limit(limits=1)
            self.n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.n_inside -= 1
            if not self.n_inside and self.limit is not None:
                _let_any_thread_limit_blas()  # who lifts the limit need not be who set it
                self.limit.restore_original_limits()
                _let_any_thread_limit_blas()
                self.limit = None


def _let_any_thread_limit_blas() -> None:
    """From its version 3.8 on, threadpoolctl listens only to the first thread that set a limit."""
    for library in _libraries("blas").lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


one_blas_thread = _BlasLimit()


_here = threading.local()


@contextmanager
def on_this_thread() -> Iterator[None]:
    """Inside, regions of the calling thread run on it alone: someone else has given each thread its own work."""
    before, _here.is_alone = _is_alone(), True
    try:
        yield
    finally:
        _here.is_alone = before


def _is_alone() -> bool:
    return getattr(_here, "is_alone", False)


class Team:
    """Threads that wait for regions: `size` work on one, the caller among them. `team` returns that of the process."""

    def __init__(self, size: int):
        self.size = size
        self._waiting: SimpleQueue[_Region | None] = SimpleQueue()
        self._is_busy = threading.Lock()
        self._n_started = 0
        for _ in range(size - 1):
            try:
                threading.Thread(target=_serve, args=(self._waiting,), name="semisvm-team", daemon=True).start()
            except RuntimeError:  # no more threads for this process, or it is ending: the others do the work
                break
            self._n_started += 1

    def run(self, function: Callable[[], Any], most: int | None = None) -> None:
        """Call a function on all threads, or at most so many, and return when all calls have ended.

        It takes pieces of the work until none is left. An error in any thread is raised here.
        """
        n_others = self._n_started if most is None else min(self._n_started, most - 1)
        if n_others < 1 or _is_alone() or not self._is_busy.acquire(blocking=False):
            function()
            return
        try:
            region = _Region(function)
            for _ in range(n_others):
                self._waiting.put(region)
            region.lead()
        finally:
            self._is_busy.release()

    def close(self) -> None:
        """End the threads once they have done what they have begun."""
        for _ in range(self._n_started):
            self._waiting.put(None)


class _Region:
    """One function that several threads call at the same time; who comes after its end does nothing."""

    def __init__(self, function: Callable[[], Any]):
        self.function = function
        self.changing = threading.Lock()
        self.has_emptied = threading.Lock()
        self.has_emptied.acquire()
        self.n_inside, self.is_over = 0, False
        self.error: BaseException | None = None

    def join(self) -> None:
        """Take part, as one of the team's threads."""
        with self.changing:
            if self.is_over:
                return
            self.n_inside += 1
        try:
            self.function()
        except BaseException as error:
            self.error = error
        with self.changing:
            self.n_inside -= 1
            if self.is_over and self.n_inside == 0:
                self.has_emptied.release()

    def lead(self) -> None:
        """Take part as the caller; then wait for the others, through Ctrl-C too: they write to its arrays."""
        error: BaseException | None = None
        try:
            self.function()
        except BaseException as raised:
            error = raised
        while True:
            try:
                self.is_over = True
                with self.changing:
                    is_empty = self.n_inside == 0
                if is_empty:
                    break
                self.has_emptied.acquire(timeout=SECONDS_BETWEEN_LOOKS)
            except KeyboardInterrupt as raised:
                error = raised
        if error is not None or self.error is not None:
            raise error or self.error  # type: ignore[misc]


def _serve(waiting: "SimpleQueue[_Region | None]") -> None:
    while (region := waiting.get()) is not None:
        region.join()
        del region  # its arrays must not live until the next one comes


_team: Team | None = None
_making = threading.Lock()


def team() -> Team:
    """Return the team of this process, with as many threads as may be used now."""
    global _team
    size = n_threads()
    present = _team
    if present is not None and present.size == size:
        return present
    with _making:
        if _team is None or _team.size != size:
            if _team is not None:
                _team.close()
            _team = Team(size)
        return _team


def _forget_team() -> None:
    """In a child process: threads do not survive a fork, so it starts its own."""
    global _team, _making
    _team, _making = None, threading.Lock()
    one_blas_thread.forget()  # whoever was inside is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_team)


def new_counter() -> np.ndarray:
    """Return the counter of a region, from which its threads take the numbers of pieces."""
    return np.zeros(1, dtype=np.int64)


def in_pieces(
    function: Callable[..., Any], *arguments: Any, most: int | None = None, memory: Callable[[], Any] | None = None
) -> None:
    """Call ``function(counter, *arguments)`` on up to `most` threads, each with its own `memory()` as last argument."""
    counter = new_counter()
    team().run(lambda: function(counter, *arguments, *([] if memory is None else [memory()])), most)


def for_each(function: Callable[..., Any], pieces: Iterable[Any]) -> None:
    """Call ``function(piece)`` for every piece on the team; errors are raised here.

    Each call goes through the interpreter: for many short pieces, a compiled function should take them itself.
    """
    left = list(pieces)[::-1]

    def work() -> None:
        while True:
            try:
                piece = left.pop()  # one operation of the interpreter, whatever thread it is in
            except IndexError:
                return
            function(piece)

    if len(left) <= 1:
        work()
    else:
        team().run(work, len(left))
