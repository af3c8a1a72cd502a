"""Files that are written whole or not at all, by one writer at a time.

A file is written under another name in the same folder, then renamed. Whatever ends the program
half-way (an error, Ctrl-C, a killed process, a full disk) leaves the old file or none, never half
of a new one. An existing file is replaced only if the caller says so, and keeps its permissions.

    with whole_file("report.html", force=True) as stream:
        stream.write(page)

A file that programs read, change and write again is held by `one_writer` meanwhile:

    with one_writer("campaign.json"):
        ...
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from semisvm.errors import fault

ELSEWHERE = "Free some space, or choose a folder that can be written to"


def check_can_write(path: str | Path, *, force: bool = False) -> Path:
    """Return the file to write; DataError, before any work is done, if it can't be written.

    A symbolic link stays, and the file that it points to is written.
    """
    path = Path(path)
    if path.is_symlink():
        path = Path(os.path.realpath(path))
        if path.is_symlink():
            raise fault(path, "this link leads back to itself", "Give the name of a file")
    if path.is_dir():
        raise fault(path, "this is a folder", "Give the name of a file")
    if not path.parent.is_dir():
        reason = f"there is no folder {path.parent} to write to"
        raise fault(path, reason, "Create the folder, or choose another")
    if path.exists() and not path.is_file():
        raise fault(path, "this is a device, not a file", "Give the name of a file")
    if path.exists() and not force:
        raise fault(path, "the file exists", "Choose another name, or set `force` to replace it")
    if not os.access(path.parent, os.W_OK):
        raise fault(path, "its folder is read-only", "Choose another folder")
    return path


def digest_of(path: str | Path) -> str:
    """Return what identifies the content of a file."""
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()


@contextlib.contextmanager
def whole_file(path: str | Path, *, force: bool = False, mode: str = "w") -> Iterator[IO[Any]]:
    """Give a stream to write to; the file gets its name when the block ends without an error.

    Text is UTF-8, and its line ends are written as they are. With `mode="wb"` the stream takes
    bytes. `stream.name` is the path of the unfinished file, for libraries that want a path.
    """
    path = check_can_write(path, force=force)
    permissions = path.stat().st_mode & 0o777 if path.exists() else None
    unfinished = path.with_name(f".{path.name[:180]}.{secrets.token_hex(8)}.unfinished")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        with open(unfinished, mode.replace("w", "x"), **text) as stream:  # type: ignore[call-overload]
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if permissions is not None:
            unfinished.chmod(permissions)
        if force:
            os.replace(unfinished, path)
        else:
            _rename_to_new(unfinished, path)
    except OSError as error:
        raise fault(path, f"can't be written ({error.strerror or error})", ELSEWHERE) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _rename_to_new(unfinished: Path, path: Path) -> None:
    """Rename a complete file; if its name is taken meanwhile, keep it under another one."""
    try:
        os.link(unfinished, path)
    except OSError:  # there is such a file, or the file system has no links
        if not path.exists():
            os.replace(unfinished, path)
            return
        kept = path.with_name(f"{path.stem}-{secrets.token_hex(4)}{path.suffix}")
        os.replace(unfinished, kept)
        reason = f"another program wrote it meanwhile; nothing was replaced, ours is {kept.name}"
        raise fault(path, reason, "Rename that file") from None


@contextlib.contextmanager
def one_writer(path: str | Path, *, timeout: float = 10.0) -> Iterator[None]:
    """Hold the file `path` against other programs that hold it; a second one waits, then fails.

    The lock is a file beside it, and ends with the program that holds it.
    """
    from filelock import FileLock, Timeout

    path = Path(path)
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=timeout)
    try:
        lock.acquire()
    except Timeout:
        reason = "another program is writing it"
        raise fault(path, reason, "Wait until that program has ended, and try again") from None
    except OSError as error:
        raise fault(path, f"can't be locked ({error.strerror or error})", ELSEWHERE) from None
    try:
        yield
    finally:
        lock.release()
