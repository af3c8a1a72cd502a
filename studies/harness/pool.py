"""Cells spread over processes, one core and one thread each.

Every worker is a process of its own (`worker`), fed by a thread that hands it a cell and waits for the record. A
worker that dies takes one cell with it, which is recorded as failed; another takes its place. Leaving the loop over
`run_cells` early (Ctrl-C, an error) ends the workers at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from semisvm.datasets.fetch import FOLDER_VARIABLE
from studies.harness.machine import PACKAGE, REPOSITORY
from studies.harness.records import describe_cell
from studies.harness.tasks import Cell

# One thread a process, for every library that would take more.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def run_cells(cells: Sequence[Cell], *, workers: int, data_dir: Path | None = None) -> Iterator[dict[str, Any]]:
    """Run the cells and yield their records as they come."""
    waiting: queue.SimpleQueue[Cell] = queue.SimpleQueue()
    answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for cell in cells:
        waiting.put(cell)
    environment = _environment(data_dir)
    feeders = [_Feeder(waiting, answers, environment) for _ in range(min(workers, len(cells)))]
    try:
        for feeder in feeders:
            feeder.start()
        for _ in cells:
            yield _next(answers)
    finally:
        for feeder in feeders:
            feeder.stop()


class _Feeder(threading.Thread):
    """Feeds one worker from the queue of waiting cells until it is empty."""

    def __init__(self, waiting: queue.SimpleQueue, answers: queue.SimpleQueue, environment: Mapping[str, str]):
        super().__init__(daemon=True)
        self.waiting, self.answers, self.environment = waiting, answers, environment
        self.process: subprocess.Popen[str] | None = None
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                cell = self.waiting.get_nowait()
            except queue.Empty:
                break
            self.answers.put(self._ask(cell))
        self._end()

    def stop(self) -> None:
        """End the worker at once and wait until it is gone."""
        self.stopped.set()
        if self.process is not None:
            self.process.kill()
        self.join()

    def _ask(self, cell: Cell) -> dict[str, Any]:
        if self.process is None:
            self.process = _start(self.environment)
            if self.stopped.is_set():  # `stop` may have looked before there was anything to kill
                self.process.kill()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(describe_cell(cell)) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            # no whole line came back: the process is gone
            self.process.kill()
            why = _explain(self.process.wait())
            self._end()
            return describe_cell(cell) | {"outcome": "failed", "why": why}

    def _end(self) -> None:
        if self.process is not None:
            process, self.process = self.process, None
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(OSError):  # it may have died with something unread
                process.stdin.close()
            process.wait()
            process.stdout.close()


def _start(environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "studies.harness.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )


def _environment(data_dir: Path | None) -> dict[str, str]:
    """Return the workers' environment: one thread, the data folder, and this very package, installed or not."""
    environment = dict(os.environ) | dict.fromkeys(THREAD_VARIABLES, "1")
    path = [str(PACKAGE.parent), str(REPOSITORY), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    if data_dir is not None:
        environment[FOLDER_VARIABLE] = str(data_dir)
    return environment


def _next(answers: queue.SimpleQueue) -> dict[str, Any]:
    """Wait for a record, but look up now and then: a wait without a limit would not hear Ctrl-C on Windows."""
    while True:
        try:
            return answers.get(timeout=1.0)
        except queue.Empty:
            continue


def _explain(status: int) -> str:
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}"
    return f"the process ended with exit status {status}"
