"""Records of finished cells: one JSON object per line, appended and never changed.

A cell is a task with a seed. A record holds

    task       what ran: a JSON object; two records with equal tasks and seeds ran the same thing
    seed       the seed, or the number of the repetition
    outcome    "done"; "failed" (it raised or its process died); "not runnable" (the method or its
               data is missing); benchmarks also have "over limit" and "iteration limit"
    why        the reason, where the outcome is not "done"
    measures   numbers by name, among them "seconds" or "wall_s"; nested objects of numbers are
               allowed
    curves     lists of numbers by name, where there are any
    session    the run that made it. A line {"session", "machine", "versions", "commit", "source"}
               before the first record of a run says where and with what it ran; `read_records` puts
               these into each of its records
    date       when it was written

A process that is killed while it writes leaves an incomplete last line. It is ignored when the file
is read and removed before anything is appended, so that the file consists of whole lines.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any


class RecordsInUseError(RuntimeError):
    """Another process is appending to the same file."""


def cell_key(task: Mapping[str, Any], seed: int) -> str:
    """Return one string for equal tasks and seeds."""
    return f"{task_key(task)}#{seed}"


def task_key(task: Mapping[str, Any]) -> str:
    """Return one string for equal tasks, whatever the order of their parts."""
    return json.dumps(task, sort_keys=True)


def record_key(record: Mapping[str, Any]) -> str:
    """Return the key of the record's cell."""
    return cell_key(record["task"], record["seed"])


def is_done(record: Mapping[str, Any]) -> bool:
    """Return whether the cell need never run again."""
    return record["outcome"] == "done"


def done_keys(path: Path) -> set[str]:
    """Return the keys of all cells that have a finished record in the file."""
    return {record_key(record) for record in read_records(path) if is_done(record)}


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, oldest first; none if there is no file. An incomplete last
    line is ignored.
    """
    sessions: dict[str, dict[str, Any]] = {}
    records = []
    for entry in _entries(path):
        if "task" in entry:
            records.append(sessions.get(entry.get("session", ""), {}) | entry)
        else:
            sessions[entry["session"]] = entry
    return records


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except ValueError:
            if number < len(lines):
                raise ValueError(f"{path.name}, line {number}, is not a record.") from None


class Journal:
    """A file of records open for appending, by one process at a time; each record is on disk before
    the next.

    Parameters
    ----------
    path : Path
        The file; its folder is created.
    session : mapping
        What all its records share; written once, before the first of them.
    """

    def __init__(self, path: Path, session: Mapping[str, Any]) -> None:
        self.path = path
        self.session = dict(session)
        named = json.dumps([self.session, datetime.now(UTC).isoformat()], sort_keys=True)
        self._id = hashlib.sha256(named.encode()).hexdigest()[:8]
        self._has_session_line = False

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab+")
        try:
            _lock(self._file, self.path.name)
            _repair(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: Mapping[str, Any]) -> None:
        """Add the date to a record and write it as one line."""
        if not self._has_session_line:
            self._write({"session": self._id} | self.session)
            self._has_session_line = True
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self._write({"session": self._id, "date": date} | dict(record))

    def _write(self, entry: Mapping[str, Any]) -> None:
        text = json.dumps(_rounded(entry), sort_keys=True, allow_nan=False, separators=(",", ":"))
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _rounded(value: Any) -> Any:
    """Return numbers with ten digits, enough to compare objectives; tasks as they are: their
    keys must not change.
    """
    if isinstance(value, Mapping):
        return {name: entry if name == "task" else _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _repair(file: IO[bytes]) -> None:
    """Remove an incomplete last line, or complete one that only lacks its newline."""
    file.seek(0)
    content = file.read()
    last = content.rpartition(b"\n")[2]
    if not last:
        return
    try:
        json.loads(last)
    except ValueError:
        file.truncate(len(content) - len(last))
    else:
        file.write(b"\n")
    file.seek(0, os.SEEK_END)


def _lock(file: IO[bytes], name: str) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: nothing stops two runs from using one folder
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RecordsInUseError(
            f"Another run is writing to {name}. Wait until it ends, stop it, or choose another"
            " --out."
        ) from None
