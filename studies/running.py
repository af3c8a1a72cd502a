"""How cells are run: many in a pool of processes, or one in a fresh process that is measured."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor, as_completed

from studies.records import REPOSITORY, Journal, read_journal, usable_cores

# For every library that would use more threads than the one that a process of a pool has.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def run_in_pool(
    run: Callable[[Any], Any], cells: Sequence[Any], *, workers: int
) -> Iterator[tuple[Any, Any]]:
    """Yield (cell, what `run` returned for it) as cells finish; one thread for each process.

    A cell that raises is reported as (cell, the exception). Ctrl-C ends the workers. One worker is
    this process.
    """
    if workers == 1:
        yield from ((cell, _result(run, cell)) for cell in cells)
        return
    executor = ProcessPoolExecutor(workers, env=ONE_THREAD)
    try:
        running = {executor.submit(run, cell): cell for cell in cells}
        for future in as_completed(running):
            error = future.exception()
            yield running[future], future.result() if error is None else error
    finally:
        executor.shutdown(kill_workers=True)


def _result(run: Callable[[Any], Any], cell: Any) -> Any:
    try:
        return run(cell)
    except Exception as error:
        return error


@contextlib.contextmanager
def measured(took: dict[str, Any], limit_s: float = 0.0) -> Iterator[None]:
    """Add wall_s, cpu_s, before_mib and peak_mib of a block to `took`.

    A block that takes longer than its limit ends the process by the system's alarm, which also
    stops compiled code.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    took["before_mib"] = _status_mib("VmRSS")
    if limit_s:
        signal.setitimer(signal.ITIMER_REAL, limit_s)
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    took["wall_s"], took["cpu_s"] = time.perf_counter() - wall, time.process_time() - cpu
    if limit_s:
        signal.setitimer(signal.ITIMER_REAL, 0)
    took["peak_mib"] = _status_mib("VmHWM")


def _status_mib(name: str) -> float:
    """Return a number of /proc/self/status in MiB; NaN where there is none."""
    try:
        found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    except OSError:
        found = None
    return int(found[1]) / 2**10 if found else float("nan")


def call_fresh(
    function: str, *arguments: Any, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Call "package.module:function" with JSON values in a new process; return what it returned.

    Where it returned nothing, the answer is {"why": the reason}.
    """
    path = [str(REPOSITORY / "src"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **(environment or {})}
    done = subprocess.run(
        [sys.executable, "-m", "studies.running", function, json.dumps(arguments)],
        cwd=REPOSITORY,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])  # libraries may print before
    if hasattr(signal, "SIGALRM") and done.returncode == -signal.SIGALRM:
        return {"why": "over its time limit"}
    return {"why": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}


def run_study(
    run: Callable[[Any], dict[str, Any]], cells: Sequence[Any], journal: Path, workers: int
) -> list[dict[str, Any]]:
    """Run the cells that are not in the journal yet, and return the results of all that are.

    A cell is a tuple of strings and numbers; one that fails is named, and left out.
    """
    entries = read_journal(journal)
    done = {tuple(entry["cell"]) for entry in entries}
    with Journal(journal) as file:
        left = [cell for cell in cells if cell not in done]
        for cell, found in run_in_pool(run, left, workers=workers):
            if isinstance(found, Exception):
                print(f"{cell} failed: {type(found).__name__}: {found}", flush=True)
            else:
                entries.append({"cell": cell, "found": found})
                file.append(entries[-1])
    asked = set(cells)
    return [entry["found"] for entry in entries if tuple(entry["cell"]) in asked]


def make_parser(module: str, doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a study's command line, with the options that all have."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(f"python -m {module}", None, doc, formatter_class=raw)
    parser.add_argument("--workers", type=int, default=usable_cores(), help="processes")
    parser.add_argument("--store", action="store_true", help="keep the means in the repository")
    return parser


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    print("\n" + json.dumps(getattr(import_module(module), name)(*json.loads(sys.argv[2]))))
