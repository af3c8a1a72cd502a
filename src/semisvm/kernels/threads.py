"""The team of threads that serves every parallel part of the library.

Compiled functions release the interpreter lock, so plain threads are enough. (Numba's own parallel
loops are not used: its work queue aborts the process if two Python threads enter it, and OpenMP
does not survive a fork.) The threads of the team are started when they are first needed and live
as long as the process. A parallel part is a *region*: every thread calls the same function, which
takes pieces of the work from a counter until none is left. A region costs 3 microseconds of
processor time beside its work; by `concurrent.futures` it would be 30 with two threads and 150 with
sixteen, and a solve has thousands of them.

    in_pieces(compiled, ...)

    @jit
    def compiled(counter, ...):
        piece = next_piece(counter)
        while piece < n_pieces:
            ...
            piece = next_piece(counter)

`jit` is in `kernels.compiler`, `next_piece` in `kernels.intrinsics`. Whoever finds the team busy,
another thread that solves or a region inside a region, does all pieces itself. The caller waits
only for threads that have begun: on a busy machine a region ends when its work is done, not when
the last thread has woken up.

What a region computes must not depend on which thread takes which piece, so that results are the
same to the last bit for any number of threads.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, wraps
from queue import SimpleQueue
from typing import Any, Self, TypeVar, cast

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import LibController, ThreadpoolController

SECONDS_BETWEEN_LOOKS = 0.05  # while waiting: a lost wake-up must not stop the caller for ever
# Between two measurements of the load: 20 ticks of the kernel's clock, so that one tick more or
# less does not count.
SECONDS_PER_LOOK = 0.2
# Multiplications of a matrix product from which it is cut into blocks for the team, about 10 ms of
# one core; fewer would be over before the threads are awake. An estimate, not measured by size.
PRODUCTS_WORTH_THREADS = 1e8
PRODUCTS_PER_BLOCK = 2e7  # of a product that is cut into blocks: many more blocks than threads
# A thread of OpenMP goes on to spin for some milliseconds, so its part of a loop is 100 ms or more.
PRODUCTS_PER_OPENMP_THREAD = 1e9


class _OfThread(threading.local):
    """What every thread has of its own."""

    is_alone = False  # inside `on_this_thread`
    openmp_before: "list[tuple[LibController, int]] | None" = None  # inside `limited_threads`


_here = _OfThread()


def n_threads() -> int:
    """Threads to use now.

    The cores that this process may run on (its affinity and the quota of its container), less those
    that other processes keep busy where most are free; or fewer if OMP_NUM_THREADS or
    threadpoolctl's limits say so. joblib sets the former in its worker processes. A thread of
    joblib's works alone: there are as many of them as the user asked for.
    """
    return min(_n_allowed(), _load.n_cores_to_use())


def _n_allowed() -> int:
    """What the process and its user allow, however busy the machine is."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and (getattr(get_active_backend()[0], "nesting_level", None) or 0) > 0:
        return 1
    allowed = [_n_cores()]
    if _here.openmp_before is not None:
        allowed += [number for _, number in _here.openmp_before]
    else:
        allowed += [library.num_threads for library in _libraries("openmp")]
    user_limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if user_limit.isdigit():
        allowed.append(int(user_limit))
    return max(1, min(allowed))


_n_cores = cache(cpu_count)  # it reads several system files, so it is asked once


class _Load:
    """How many cores of this process other processes keep busy, measured between two looks.

    On Linux from the times that the kernel counts for each core, less the time of this process;
    elsewhere the load average of the last minute, less this process's share of it.
    """

    def __init__(self) -> None:
        self.looked_at = time.perf_counter()
        self.busy = _busy_seconds()
        self.own = time.process_time()
        self.n_others = 0.0

    def n_cores_to_use(self) -> int:
        """The free cores; all cores where a share of the others adds more than a quarter.

        A thread has half of a core that another process keeps busy. Two busy cores of 16 are not
        worth it, because a region may wait for a thread there; those of 2 are.
        """
        n_cores = _n_visible_cores()
        n_free = self.n_free_cores()
        return n_free if n_free >= 2 * (n_cores - n_free) else n_cores

    def n_free_cores(self) -> int:
        """Cores that other processes leave to this one; 0 where none is idle."""
        now = time.perf_counter()
        seconds = now - self.looked_at
        if seconds >= SECONDS_PER_LOOK:
            busy = _busy_seconds()
            own = time.process_time()
            own_cores = (own - self.own) / seconds
            if busy is not None and self.busy is not None:
                self.n_others = max(0.0, (busy - self.busy) / seconds - own_cores)
            elif hasattr(os, "getloadavg"):
                self.n_others = max(0.0, os.getloadavg()[0] - own_cores)
            self.looked_at, self.busy, self.own = now, busy, own
        return max(0, round(_n_visible_cores() - self.n_others))


def _busy_seconds() -> float | None:
    """Time for which the cores of this process have been at work, whoever used them; None where
    the system does not tell.
    """
    try:
        with open("/proc/stat") as lines:
            of_core = {line.split()[0]: line.split()[1:] for line in lines if line[:3] == "cpu"}
        cores = [f"cpu{number}" for number in os.sched_getaffinity(0)]
        # user, nice, system, idle, waiting for a disk, ...
        ticks = sum(
            sum(map(int, of_core[core])) - int(of_core[core][3]) - int(of_core[core][4])
            for core in cores
        )
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, KeyError, ValueError, IndexError):
        return None


@cache
def _n_visible_cores() -> int:
    """The cores that the load is measured on: a quota of a container does not change them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _libraries(kind: str) -> Sequence[LibController]:
    """The libraries of a kind in this process, "blas" or "openmp"."""
    return _libraries_among(kind, len(sys.modules))


@lru_cache(maxsize=4)
def _libraries_among(kind: str, n_modules: int) -> Sequence[LibController]:
    """Looked for again when modules were imported, which may bring libraries."""
    return ThreadpoolController().select(user_api=kind).lib_controllers


def _set_threads(library: LibController, number: int) -> None:
    # From its version 3.8 on, threadpoolctl listens only to the first thread that set a limit.
    # Here whoever lifts a limit need not be who set it.
    let_go = getattr(library, "clear_controlling_thread", lambda force: None)
    let_go(force=True)
    library.set_num_threads(number)
    let_go(force=True)


class _BlasLimit:
    """One BLAS thread for the process as long as anybody is inside.

    The number is one of the process: whoever comes first sets it, and whoever leaves last restores
    what was there. Both may be cut off by Ctrl-C anywhere and called again.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # of a thread that is inside, `__del__` may come in between
        self.inside: set[int] = set()
        self.before: list[tuple[LibController, int]] = []

    def enter(self, who: int) -> None:
        with self.lock:
            self.inside.add(who)
            if self.before:
                return
            for library in _libraries("blas"):
                number = library.get_num_threads()
                if number is not None and number > 1:
                    self.before.append((library, number))
                    _set_threads(library, 1)

    def leave(self, who: int) -> None:
        with self.lock:
            self.inside.discard(who)
            if self.inside:
                return
            for library, number in self.before:
                _set_threads(library, number)
            self.before.clear()

    def forget(self) -> None:
        """In a child process: nobody is inside; who enters and leaves restores what was there."""
        self.lock = threading.RLock()
        self.inside = set()


_blas_limit = _BlasLimit()


class limited_threads:
    """``with limited_threads():`` BLAS and OpenMP work on the calling thread alone.

    Their threads pay for large operations only. After small ones they spin, waiting for the next:
    beside two busy loops fits took ten times as long. And what BLAS computes depends on the number
    of its threads. So every fit runs inside; large products are cut into blocks of fixed size for
    the team (`times`), and large loops of OpenMP are let loose one by one (`openmp_threads`).
    """

    def __init__(self) -> None:
        self._is_inside = False
        self._thread = 0
        self._openmp_before: list[tuple[LibController, int]] | None = None

    def __enter__(self) -> Self:
        self._is_inside = True
        self._thread = threading.get_ident()
        _blas_limit.enter(id(self))
        if _here.openmp_before is None:
            libraries = [library for library in _libraries("openmp") if library.num_threads]
            self._openmp_before = [(library, library.num_threads) for library in libraries]
            _here.openmp_before = self._openmp_before
            for library in libraries:
                _set_threads(library, 1)
        return self

    def __del__(self) -> None:
        if self._is_inside:
            self.__exit__()

    def __exit__(self, *_: object) -> None:
        before = self._openmp_before
        if before is not None and self._thread == threading.get_ident():
            for library, number in before:
                _set_threads(library, number)
            _here.openmp_before = None
            self._openmp_before = None
        _blas_limit.leave(id(self))
        self._is_inside = False


Function = TypeVar("Function", bound=Callable[..., Any])


def with_limited_threads(function: Function) -> Function:
    """A function whose calls run inside `limited_threads`."""

    @wraps(function)
    def limited(*arguments: Any, **options: Any) -> Any:
        with limited_threads():
            return function(*arguments, **options)

    return cast(Function, limited)


@contextmanager
def openmp_threads(n_products: float) -> Iterator[None]:
    """Inside, OpenMP uses one thread per PRODUCTS_PER_OPENMP_THREAD multiplications of the loop,
    where no other process is at work: its threads wait for each other in a loop.
    """
    number = int(min(n_products / PRODUCTS_PER_OPENMP_THREAD, _n_allowed(), _load.n_free_cores()))
    changed = []
    try:
        for library in _libraries("openmp") if number > 1 else ():
            changed.append((library, library.num_threads))
            _set_threads(library, number)
        yield
    finally:
        for library, before in changed:
            _set_threads(library, before)


@contextmanager
def on_this_thread() -> Iterator[None]:
    """Inside, regions of the calling thread run on it alone: someone else has given each thread
    its own work.
    """
    before = _here.is_alone
    _here.is_alone = True
    try:
        yield
    finally:
        _here.is_alone = before


class Team:
    """Threads that wait for regions. They are started when a region first needs them."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Region] = SimpleQueue()
        self._is_busy = threading.Lock()
        self._n_started = 0

    def run(self, function: Callable[[], Any], most: int) -> None:
        """Call a function on at most so many threads, the caller's among them, and return when all
        calls have ended.

        It takes pieces of the work until none is left. An error in any thread is raised here.
        """
        if most < 2 or _here.is_alone or not self._is_busy.acquire(blocking=False):
            function()
            return
        try:
            region = _Region(function)
            for _ in range(self._start(most - 1)):
                self._waiting.put(region)
            region.lead()
        finally:
            self._is_busy.release()

    def _start(self, wanted: int) -> int:
        """How many of so many threads there are, once those that are missing are started."""
        while self._n_started < wanted:
            try:
                threading.Thread(
                    target=_serve, args=(self._waiting,), name="semisvm-team", daemon=True
                ).start()
            except RuntimeError:
                # No more threads for this process, or it is ending: the others do the work.
                break
            self._n_started += 1
        return min(wanted, self._n_started)


class _Region:
    """One function that several threads call at the same time; who comes after its end does
    nothing.
    """

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
        """Take part as the caller; then wait for the others, through Ctrl-C too: they write to
        its arrays.
        """
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


def _serve(waiting: "SimpleQueue[_Region]") -> None:
    while True:
        region = waiting.get()
        region.join()
        del region  # its arrays must not live until the next one comes


_load = _Load()
_team = Team()


def _start_anew() -> None:
    """In a child process: threads do not survive a fork, so it starts its own."""
    global _team, _load
    _team = Team()
    _load = _Load()
    _blas_limit.forget()  # whoever was inside is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def in_pieces(
    function: Callable[..., Any],
    *arguments: Any,
    most: int,
    memory: Callable[[], Any] | None = None,
) -> None:
    """Call ``function(counter, *arguments)`` on up to `most` threads, each with its own
    `memory()` as last argument.
    """
    counter = np.zeros(1, dtype=np.int64)
    _team.run(
        lambda: function(counter, *arguments, *([] if memory is None else [memory()])),
        _at_most(most),
    )


def _at_most(most: int) -> int:
    return min(most, n_threads()) if most > 1 else 1


def for_each(function: Callable[..., Any], pieces: Iterable[Any]) -> None:
    """Call ``function(piece)`` for every piece on the team; errors are raised here.

    Each call goes through the interpreter: for many short pieces, a compiled function should take
    them itself.
    """
    left = list(pieces)[::-1]

    def work() -> None:
        while True:
            try:
                piece = left.pop()  # one operation of the interpreter, whatever thread it is in
            except IndexError:
                return
            function(piece)

    _team.run(work, _at_most(len(left)))


def times(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left @ right of two dense matrices; a large product is cut into blocks of rows for the team.

    The blocks depend on the sizes alone, so that the result is the same to the last bit for any
    number of threads.
    """
    n_products = left.shape[0] * left.shape[1] * right.shape[1]
    if n_products < PRODUCTS_WORTH_THREADS:
        return left @ right
    height = max(1, int(left.shape[0] * PRODUCTS_PER_BLOCK / n_products))
    product = np.empty(
        (left.shape[0], right.shape[1]), dtype=np.result_type(left.dtype, right.dtype)
    )

    def multiply(start: int) -> None:
        block = slice(start, start + height)
        np.matmul(left[block], right, out=product[block])

    with limited_threads():
        for_each(multiply, range(0, left.shape[0], height))
    return product
