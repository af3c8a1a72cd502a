"""Records of cells: one JSON object a line, appended, never changed.

    task, seed   what ran: {"data", "split", "method", "params"} and the seed
    outcome      "done", "failed" (it raised or died) or "not runnable" (the method or its data is missing)
    why          the reason, where the outcome is not "done"
    scores       numbers by name; curves, lists of numbers by name
    seconds      of the fit alone; peak_rss_mib, the most memory held while it ran
    session      which run made it; a line {"session", "machine", "versions", "commit", "source"} before the first
                 record of a run says where and with what, and `read_records` puts that into each of its records
    date         when

A process killed while it wrote leaves a last line cut short. It is tolerated when read, and cut away before
anything is appended, so that the file stays one of whole lines.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from studies.harness.tasks import Cell, Task


class RecordsInUseError(RuntimeError):
    """Another process is appending to the same file."""


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, oldest first; none where there is no file. A torn last line is left out."""
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


def task_key(record: Mapping[str, Any]) -> str:
    """Return the key of the record's task, equal to `Task.key`."""
    return Task(**record["task"]).key


def cell_key(record: Mapping[str, Any]) -> str:
    """Return the key of the record's cell, equal to `Cell.key`."""
    return Cell(Task(**record["task"]), record["seed"]).key


def is_done(record: Mapping[str, Any]) -> bool:
    """Tell whether the cell need never run again."""
    return record["outcome"] == "done"


def left_to_run(cells: Iterable[Cell], records: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return the cells without a finished record; failed ones are tried again."""
    done = {cell_key(record) for record in records if is_done(record)}
    return [cell for cell in cells if cell.key not in done]


class Journal:
    """A file of records open for appending, by one process at a time; each record is on disk before the next.

    session   what all its records share; written once, before the first of them
    """

    def __init__(self, path: Path, session: Mapping[str, Any]) -> None:
        self.path, self.session = path, dict(session)
        told = json.dumps([self.session, datetime.now(UTC).isoformat()], sort_keys=True)
        self._id = hashlib.sha256(told.encode()).hexdigest()[:8]
        self._is_told = False

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab+")
        try:
            _lock(self._file, self.path.name)
            _mend(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: Mapping[str, Any]) -> None:
        """Date a record and write it as one line."""
        if not self._is_told:
            self._write({"session": self._id} | self.session)
            self._is_told = True
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self._write({"session": self._id, "date": date} | dict(record))

    def _write(self, entry: Mapping[str, Any]) -> None:
        text = json.dumps(_rounded(entry), sort_keys=True, allow_nan=False, separators=(",", ":"))
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def describe_cell(cell: Cell) -> dict[str, Any]:
    """Return the part of a record that says what ran."""
    task = cell.task
    told = {"data": task.data, "split": task.split, "method": task.method, "params": task.params}
    return {"task": told, "seed": cell.seed}


def _rounded(value: Any) -> Any:
    """Return scores and curves with six significant digits, parameters as they are: keys must not change."""
    if isinstance(value, dict):
        return {name: entry if name == "task" else _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _mend(file: IO[bytes]) -> None:
    """Cut a torn last line away, or end a whole one that only lacks its newline."""
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
    except ImportError:  # Windows: two runs on one folder are the user's own affair
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RecordsInUseError(
            f"Another run is writing to {name}. Let it finish, stop it, or choose another --out."
        ) from None
