"""The command line: parse, call one function, print, exit code.

`main` imports the commands itself, so that Ctrl-C during the imports ends like Ctrl-C at any other
time, and no traceback reaches a user. Exit codes: see `EXIT_CODES`.
"""

import contextlib
import errno
import gc
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from semisvm.errors import require_extra

EXIT_CODES = (
    "Exit codes: 0 done, 1 a target is not met, 2 bad input, 3 not enough"
    " memory, 4 the model is of no use, 130 stopped by Ctrl-C or SIGTERM."
)
OF_NO_USE = 4  # the exit code of a fit whose model accepts every row, or is no better than guessing
NO_MEMORY = "not enough memory"
LEAST_ADDRESS_SPACE = 5 << 28  # bytes; with less, loading OpenBLAS waits for memory forever
# New objects after which Python looks for unreachable ones. Imports make 250,000 that stay; with
# Python's own 700, looking through them takes a ninth of the processor time of a fit of 1,000 rows.
OBJECTS_PER_COLLECTION = 100_000
# What libraries say when the memory limit of the process keeps them from being loaded or from
# starting threads.
_SIGNS_OF_NO_MEMORY = (
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    "unable to allocate",
)


def main() -> NoReturn:
    """Run the `semisvm` command."""
    try:
        _prepare_process()
        _prepare_streams()
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        _check_address_space()
        require_extra("The command semisvm")
        from semisvm.cli.commands import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _fail("Stopped.", 130)
    except BrokenPipeError:  # whoever read the output is gone, as `head` is
        _print_into_nothing()
        code = 1
    except Exception as error:
        if lacks_memory(error):
            reason = f"{NO_MEMORY} to load the program: it takes more than a gigabyte"
            code = _fail(f"Error: {reason} of address space.", 3)
        elif isinstance(error, OSError | ImportError):
            _print_into_nothing()
            # A pipe whose reader has gone may also answer that it can't be searched.
            is_gone = getattr(error, "errno", None) == errno.ESPIPE
            code = 1 if is_gone else _fail(f"Error: {error}", 2)
        else:
            raise
    sys.exit(code)


def _prepare_process() -> None:
    """Save processor time before anything is imported.

    OpenBLAS starts a thread per core when NumPy loads it, and when SciPy does, and each spins at
    first: on 16 cores a fit of 1,000 rows took 7.5 processor seconds in 3.6 s. Fits and predictions
    use threads of their own.
    """
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _fail(words: str, code: int) -> int:
    """Print a sentence, if there is still a place for it, and return the exit code."""
    with contextlib.suppress(OSError):
        print(words, file=sys.stderr, flush=True)
    return code


def _prepare_streams() -> None:
    """Make printing safe: a closed stream is replaced, and what a stream can't show is escaped."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _print_into_nothing() -> None:
    """Let what is left in the buffer of stdout go nowhere: Python would complain at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_address_space() -> None:
    """Raise MemoryError under a limit (`ulimit -v`) below what loading takes."""
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
            raise MemoryError


def errors_behind(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, the one behind it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, or one behind it, says that memory is used up."""
    return any(
        isinstance(cause, MemoryError)
        or getattr(cause, "errno", None) == errno.ENOMEM
        or any(sign in str(cause).lower() for sign in _SIGNS_OF_NO_MEMORY)
        for cause in errors_behind(error)
    )
