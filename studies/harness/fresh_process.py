"""One function call in a new process, with the time and memory that it takes.

The parent calls `call_fresh("package.module:function", *arguments)`. The new process imports the
module, calls the function, and prints what it returns as one line of JSON. Inside the function,
`measured` times a block:

    took = {}
    with measured(took, limit_s=600):
        model.fit(X, y)

A block that takes longer than its limit is ended by the system's alarm signal, which also stops
compiled code; the parent sees it in the exit status. Peak memory is the system's high-water mark of
resident memory. On Linux the mark is reset when the block starts, so that what came before (reading
and converting data) is not part of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from studies.harness.machine import PACKAGE, REPOSITORY, without_paths


class NotAvailableError(Exception):
    """What was to be measured can't be imported here."""


@contextlib.contextmanager
def measured(took: dict[str, Any], limit_s: float = 0.0) -> Iterator[None]:
    """Add wall_s, cpu_s, rss_before_mib and rss_peak_mib of a block to `took`; past a limit, end
    the process.
    """
    reset_peak()
    took["rss_before_mib"] = present_mib()
    if limit_s:
        signal.setitimer(signal.ITIMER_REAL, limit_s)
    cpu = time.process_time()
    wall = time.perf_counter()
    yield
    took["wall_s"], took["cpu_s"] = time.perf_counter() - wall, time.process_time() - cpu
    if limit_s:
        signal.setitimer(signal.ITIMER_REAL, 0)
    took["rss_peak_mib"] = peak_mib()


def reset_peak() -> None:
    """Reset the high-water mark of memory to the present use, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float | None:
    """Return the most memory that this process has held since the last reset, in MiB; None if
    unknown.
    """
    try:
        found = re.search(
            r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE
        )
    except OSError:
        found = None
    if found:
        return round(int(found.group(1)) / 2**10, 1)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(
        peak / (2**20 if sys.platform == "darwin" else 2**10), 1
    )  # bytes on macOS, KiB elsewhere


def present_mib() -> float | None:
    """Return the memory that this process holds now, in MiB; the peak where the system does not
    say.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_mib()
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def call_fresh(
    function: str, *arguments: Any, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Call a function in a new process and return how it ended.

    Parameters
    ----------
    function : str
        "package.module:function".
    *arguments
        JSON values.
    environment : mapping, optional
        Environment variables to add.

    Returns
    -------
    dict
        `outcome`: "done", "over limit", "not available" or "failed"; `result`: what the function
        returned, if it is "done", else `why`; `log`: what was written to standard error.
    """
    command = [
        sys.executable,
        "-m",
        "studies.harness.fresh_process",
        function,
        json.dumps(arguments),
    ]
    path = [str(PACKAGE.parent), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    variables = (
        dict(os.environ)
        | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
        | dict(environment or {})
    )
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, log = process.communicate()
        except BaseException:  # for example Ctrl-C: no process outlives its parent
            process.kill()
            raise
    answer = _read_answer(out) if process.returncode == 0 else None
    return (answer or _explain(process.returncode, log)) | {"log": log}


def _read_answer(out: str) -> dict[str, Any] | None:
    """Return the object on the last line; libraries may print before it."""
    lines = out.strip().splitlines()
    try:
        return json.loads(lines[-1]) if lines else None
    except ValueError:
        return None


def _explain(status: int, log: str) -> dict[str, Any]:
    """Return the answer of a process that gave none."""
    if hasattr(signal, "SIGALRM") and status == -signal.SIGALRM:
        return {"outcome": "over limit", "why": "it took longer than its limit"}
    if status < 0:
        return {
            "outcome": "failed",
            "why": f"the process was ended by {signal.Signals(-status).name}",
        }
    lines = log.strip().splitlines()
    return {
        "outcome": "failed",
        "why": without_paths(lines[-1]) if lines else f"exit status {status}",
    }


def main() -> None:
    """Call the function that the command line names and print the answer."""
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # Ctrl-C also ends compiled code; the parent reports it
    module, _, name = sys.argv[1].partition(":")
    try:
        result = getattr(import_module(module), name)(*json.loads(sys.argv[2]))
        answer = {"outcome": "done", "result": result}
    except (Exception, SystemExit) as error:
        # by name: this module is `__main__` here and has another copy under its own name
        if type(error).__name__ == NotAvailableError.__name__:
            answer = {"outcome": "not available", "why": str(error)}
        else:
            answer = {"outcome": "failed", "why": without_paths(f"{type(error).__name__}: {error}")}
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
