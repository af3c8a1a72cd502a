"""What a study keeps.

A *journal* is a file of JSON lines, one for each finished cell, so that a run that was stopped goes
on where it stopped. Journals (`studies-out/*.jsonl`) are not kept in the repository.

A *record* is one JSON file with the means, which is:

    {"measured": ["when and where, with which versions"], "cells": [{...}, ...]}

Pages are made from records alone (`python -m studies.pages`).
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import semisvm

REPOSITORY = Path(__file__).resolve().parents[1]
OUT = Path("studies-out")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
DIGITS = 6


# ---- journals ----


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a journal; a last line that was not finished is left out."""
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


class Journal:
    """A journal open for appending; each entry is on disk before the next."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes() if self.path.exists() else b""
        self._file = self.path.open("ab")
        self._file.truncate(content.rfind(b"\n") + 1)  # of a run that was killed while it wrote
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry as one line."""
        self._file.write(json.dumps(entry, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


# ---- means ----


@dataclass(frozen=True)
class Summary:
    """Values of one number over the seeds: how many, mean, standard deviation, median, the 10% and
    the 90% quantile, and the fraction of values above 0.
    """

    n: int
    mean: float
    sd: float
    median: float
    low: float
    high: float
    above: float


def summarize(values: Sequence[float]) -> Summary:
    """Return the summary of at least one value, with six digits of each number."""
    numbers = np.asarray(values, dtype=float)
    low, median, high = np.quantile(numbers, [0.1, 0.5, 0.9])
    sd = numbers.std(ddof=1) if len(numbers) > 1 else 0.0
    found = (numbers.mean(), sd, median, low, high, np.mean(numbers > 0))
    return Summary(len(numbers), *(_rounded(float(value)) for value in found))


def store_summaries(found: Mapping[str, Summary], path: Path, what: str = "") -> None:
    """Put summaries into a record, by the name of what they summarize; see `update_record`."""
    update_record(path, ({"name": n} | asdict(one) for n, one in found.items()), ("name",), what)


def read_summaries(path: Path) -> dict[str, Summary]:
    """Return what `store_summaries` put there; nothing where there is no file."""
    if not path.exists():
        return {}
    return {cell.pop("name"): Summary(**cell) for cell in read_cells(path)}


def write_record(measured: Sequence[str], cells: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write a record, one cell per line, with six digits of every number."""
    lines = ",\n".join(
        json.dumps({name: _rounded(value) for name, value in cell.items()}) for cell in cells
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps(list(measured), indent=1)
    path.write_text(f'{{"measured": {head},\n"cells": [\n{lines}\n]}}\n', encoding="utf-8")


def update_record(
    path: Path, cells: Iterable[Mapping[str, Any]], keys: Sequence[str], what: str = ""
) -> None:
    """Put cells into a record, in place of those with equal `keys`.

    While other cells stay, so do the lines that say when they were measured; `what` names the new.
    """
    known = (
        {tuple(c.get(key) for key in keys): c for c in read_cells(path)} if path.exists() else {}
    )
    new = {tuple(cell.get(key) for key in keys): cell for cell in cells}
    measured = [describe_run()]
    if known.keys() - new.keys():
        measured = [*read_measured(path), f"{measured[0]}: {what}" if what else measured[0]]
    write_record(measured, (known | new).values(), path)


def read_cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a record."""
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def read_measured(path: Path) -> list[str]:
    """Return when and where a record was measured."""
    return json.loads(path.read_text(encoding="utf-8"))["measured"]


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


# ---- where and with what ----


def describe_run() -> str:
    """Return date, processor, versions and commit in one line; no names of people, hosts, folders."""
    found = {"semisvm": semisvm.__version__} | {one: _version(one) for one in PACKAGES}
    versions = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    return (
        f"{date.today()}: {_processor()}, {usable_cores()} cores, {platform.system()}; Python"
        f" {platform.python_version()}, {versions}; commit {_commit()}"
    )


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    if sys.platform == "linux":
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        if found:
            return found[1].strip()
    return platform.processor() or "unknown processor"


def _commit() -> str:
    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", *words]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src")
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# ---- tables ----


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars inside of cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )
