"""Files that are complete or not there: they are written under another name in the same folder, then renamed.

Whatever ends the program half-way (an error, Ctrl-C, kill -9, a full disk) leaves the old file or none, never half of a
new one. An existing file is replaced only if the caller says so. The unfinished file of a killed run is deleted by the
next run that writes the same file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from semisvm.errors import DataError, fault

_UNFINISHED = ".unfinished"


def check_can_write(path: str | Path, *, force: bool, inputs: Iterable[str | Path] = ()) -> Path:
    """Return the file to write; DataError, before any work is done, if it could not be written.

    A symbolic link stays, and the file that it points to is written. A file in `inputs` (what the same command reads,
    or writes elsewhere) is never replaced, whatever `force` says.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    for other in inputs:
        if _is_same_file(path, Path(other)):
            raise fault(path, "this file is read or written by the same command", "Choose another name for the output")
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
        if force:
            os.replace(unfinished, path)
        else:
            _move_to_new(unfinished, path)
    except OSError as error:
        raise _not_written(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return one.resolve() == other.resolve()


def _move_to_new(unfinished: Path, path: Path) -> None:
    """Rename a complete file, unless a file of that name has appeared: then it is kept under a name of its own."""
    try:
        _link(unfinished, path)
    except FileExistsError:
        kept = path.with_name(f"{path.stem}-{os.getpid()}{path.suffix}")
        _link(unfinished, kept)
        reason = f"another program wrote a file of this name; nothing was replaced, and the result is in {kept.name}"
        raise fault(path, reason, "Rename that file") from None


def _link(unfinished: Path, path: Path) -> None:
    """Rename a file; FileExistsError where there is one of the new name, even if it appears at the same moment."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        os.replace(unfinished, path)


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


def lock_file(folder: Path, name: str) -> int | None:
    """Hold the folder until this process ends, however it ends; another fit in the same folder is an error."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        lock = os.open(folder / name, os.O_CREAT | os.O_RDWR)
    except OSError as error:
        raise fault(folder, f"can't be written to ({error.strerror})", "Choose another folder") from None
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(lock)
        reason = "another fit that is running uses this checkpoint"
        raise fault(folder, reason, "Wait until it ends, or use another folder") from None
    except OSError:  # a file system without locks
        pass
    return lock
