"""Files that are complete or not there: they are written under another name in the same folder, then renamed.

Whatever ends the program half-way (an error, Ctrl-C, kill -9, a full disk) leaves the old file or none, never half of a
new one. An existing file is replaced only if the caller says so. The unfinished file of a killed run is deleted by the
next run that writes the same file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from semisvm.errors import DataError, fault

_UNFINISHED = ".unfinished"


def check_can_write(path: str | Path, *, force: bool) -> Path:
    """Raise a DataError before any work is done if a file could not be written."""
    path = Path(path)
    if path.is_dir():
        raise fault(path, "this is a folder", "Give the name of a file")
    if not path.parent.is_dir():
        raise fault(path, f"there is no folder {path.parent} to write to", "Create the folder, or choose another")
    if path.exists() and not path.is_file():
        raise fault(path, "this is a device, not a file", "Give the name of a file")
    if path.exists() and not force:
        raise fault(path, "the file exists", "Choose another name, or set `force` to replace it")
    if not os.access(path.parent, os.W_OK):
        raise fault(path, "its folder is read-only", "Choose another folder")
    return path


@contextlib.contextmanager
def whole_file(path: str | Path, *, force: bool) -> Iterator[Path]:
    """Give a path to write to; when the block ends without an error, the file is renamed to `path`."""
    path = check_can_write(path, force=force)
    _clear_left_behind(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{_UNFINISHED}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        raise _not_written(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _not_written(path: Path, error: OSError) -> DataError:
    if isinstance(error, DataError):
        return error
    reason = f"can't be written ({error.strerror or error})"
    return fault(path, reason, "Free some space, or choose a folder that can be written to")


def _clear_left_behind(path: Path) -> None:
    """Delete unfinished files of processes that are no longer alive."""
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f".{path.name}.*{_UNFINISHED}"):
            process = left.name.removesuffix(_UNFINISHED).rpartition(".")[2]
            if process.isdigit() and not _is_alive(int(process)):
                left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
