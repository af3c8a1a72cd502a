"""Many cells over several processes (loky), one thread each.

A worker that dies breaks a loky pool, and all cells that were running are lost. They are then run
again one at a time, so that only a cell that ends its own process is reported as failed. Leaving
the loop over `run_in_pool` early (Ctrl-C, an error) ends the workers at once, and so does the end
of the time that is given. A worker whose parent was killed ends itself.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from joblib.externals.loky import FIRST_COMPLETED, ProcessPoolExecutor, wait
from joblib.externals.loky.process_executor import BrokenProcessPool

# one thread per process, for every library that would use more
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
} | {"VECLIB_MAXIMUM_THREADS": "1"}
DIED = "its process ended unexpectedly"


def run_in_pool(
    run: Callable[[Any], dict[str, Any]],
    cells: Sequence[Any],
    *,
    workers: int,
    environment: Mapping[str, str] | None = None,
    failed: Callable[[Any, str], dict[str, Any]],
    seconds: float | None = None,
) -> Iterator[dict[str, Any]]:
    """Run all cells and yield their records as they finish.

    Parameters
    ----------
    run : callable
        From a cell to its record; a function that another process can import.
    cells : sequence
        What to run.
    workers : int
        The number of processes.
    environment : mapping, optional
        Environment variables of the workers, besides those that limit threads.
    failed : callable
        From a cell and a reason to the record of a cell that ended its process.
    seconds : float, optional
        After so long no more cells are run, and those that are running are given up.
    """
    waiting = deque(cells)
    suspects = deque[Any]()
    end = None if seconds is None else time.monotonic() + seconds
    variables = ONE_THREAD | dict(environment or {})
    while (waiting or suspects) and (end is None or time.monotonic() < end):
        alone = bool(suspects)
        queue = suspects if alone else waiting
        n_workers = 1 if alone else min(workers, len(queue))
        lost = yield from _run_until_broken(
            run, queue, n_workers, variables, only_one=alone, end=end
        )
        if alone:
            for cell in lost:
                yield failed(cell, DIED)
        else:
            suspects.extend(lost)


def _run_until_broken(
    run: Callable[[Any], dict[str, Any]],
    queue: deque[Any],
    workers: int,
    variables: Mapping[str, str],
    *,
    only_one: bool,
    end: float | None,
) -> Iterator[dict[str, Any]]:
    """Run the cells of a queue (or its first) in one pool; return those that were running when
    the pool broke.
    """
    executor = ProcessPoolExecutor(
        workers, env=variables, initializer=_begin, initargs=(os.getpid(),)
    )
    running: dict[Any, Any] = {}
    try:
        while queue or running:
            while queue and len(running) < workers:
                future = executor.submit(
                    run, queue[0]
                )  # raises in a broken pool: the cell stays in the queue
                running[future] = queue.popleft()
            left = None if end is None else max(0.0, end - time.monotonic())
            finished = wait(running, timeout=left, return_when=FIRST_COMPLETED).done
            if not finished:
                queue.clear()
                return []
            for future in finished:
                record = future.result()
                del running[future]
                yield record
            if only_one:
                break
    except BrokenProcessPool:
        return list(running.values())
    finally:
        executor.shutdown(kill_workers=True)
    return []


def _begin(parent: int) -> None:
    """Make a new process a quiet worker that leaves Ctrl-C to its parent and does not outlive
    it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
