"""The command line: parse, call one function, print, exit code.

`main` imports the commands itself, so that Ctrl-C during the imports ends like Ctrl-C at any other time, and no
traceback reaches a user. Exit codes: see `EXIT_CODES`.
"""

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

EXIT_CODES = (
    "Exit codes: 0 done, 1 a target that was asked for is not met, 2 bad input, 3 not enough memory, "
    "130 stopped by Ctrl-C or SIGTERM."
)


def main() -> NoReturn:
    """Run the `semisvm` command."""
    code = 130
    try:
        _prepare_streams()
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, _stop)
        from semisvm.cli.commands import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        with contextlib.suppress(OSError, ValueError):
            print("Stopped.", file=sys.stderr)
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the work is done: only the end is left
    _flush_streams()
    sys.exit(code)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """End like Ctrl-C."""
    raise KeyboardInterrupt


def _prepare_streams() -> None:
    """Make printing safe: a stream that is closed is replaced, and a character that it can't show is escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flush_streams() -> None:
    """Write what is left; a reader that is gone, as `head` is, must not change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
