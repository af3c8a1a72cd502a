"""The state of a session on disk: a log of lines, each there before the next question.

    first line     the job, the seed, and the digest, scores and probabilities of the pool
    other lines    {"id": row, "label": class or null, "time": ...}, or "undo" in place of "label"

A line that a crash has cut is dropped at the next start. One program at a time holds the file.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from semisvm.errors import DataError
from semisvm.files import whole_file

FORMAT = 1


class StateFile:
    """An open log; `close` lets other programs have it."""

    def __init__(self, path: Path, header: dict[str, Any], lines: list[dict], lock: FileLock):
        self.path, self.header, self.lines = path, header, lines
        self._lock = lock
        self._file = open(path, "r+b")  # noqa: SIM115
        self._file.truncate(path.read_bytes().rfind(b"\n") + 1)  # a line that a crash has cut
        self._file.seek(0, os.SEEK_END)

    @classmethod
    def begin(cls, path: str | Path, header: dict[str, Any]) -> StateFile:
        """Write the first line of a new log."""
        path = Path(path)
        lock = _hold(path)
        try:
            header = {"semisvm": "label", "format": FORMAT, **header}
            with whole_file(path) as file:
                file.write(json.dumps(header) + "\n")
            return cls(path, header, [], lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: str | Path) -> StateFile:
        """Go on with a log."""
        path = Path(path)
        if not path.is_file():
            raise DataError(f"{path}: there is no such file.")
        lock = _hold(path)
        try:
            return cls(path, *_read(path), lock)
        except BaseException:
            lock.release()
            raise

    def append(self, lines: list[dict[str, Any]]) -> None:
        """Add lines, on the disk before this returns; a log that others changed is left alone."""
        here = os.fstat(self._file.fileno())
        there = self.path.stat() if self.path.exists() else None
        is_same = there is not None and os.path.samestat(here, there)
        if not is_same or here.st_size != self._file.tell():
            raise DataError(
                f"{self.path}: was replaced or changed by another program. Nothing more is saved;"
                " begin again from the file that is there."
            )
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = "".join(json.dumps({**line, "time": now}) + "\n" for line in lines)
        self._file.write(text.encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let other programs have the log."""
        self._file.close()
        self._lock.release()


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        first, *lines = path.read_bytes().split(b"\n")[:-1]
        header = json.loads(first)
        if header["semisvm"] != "label":
            raise KeyError
        if header["format"] > FORMAT:
            raise DataError(f"{path}: was written by a newer semisvm.")
        return header, [_answer(line) for line in lines]
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{path}: is no state of semisvm label, or is damaged.") from None


def _answer(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found["id"], str) or not isinstance(found.get("label"), str | None):
        raise TypeError
    return found


def _hold(path: Path) -> FileLock:
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.absolute().parent}.")
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise DataError(
            f"{path}: another program is labeling with it. Stop that one first."
        ) from None
    return lock
