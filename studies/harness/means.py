"""Records summarized: what is kept in the repository in place of the records.

`Summary` describes the values of one number over the seeds of a task. `write_means` summarizes any
file of records:

    python -m studies.harness.means studies-out/speed/primal.jsonl studies/speed/results/primal.json

`write_cells` keeps the cells of studies whose records have another form.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.machine import name_session
from studies.harness.records import is_done, read_records, record_key, task_key

DIGITS = 5
COLUMNS = ("n", "mean", "sd", "min", "median", "max")


@dataclass(frozen=True)
class Summary:
    """Values over the seeds of a cell.

    Attributes
    ----------
    n : int
        The number of values.
    mean, sd, median : float
        `sd` is 0 for one value.
    low, high : float
        The 10% and the 90% quantile.
    above : float
        The share of values above 0.
    """

    n: int
    mean: float
    sd: float
    median: float
    low: float
    high: float
    above: float


def summarize(values: Sequence[float]) -> Summary:
    """Return the summary of at least one value."""
    numbers = np.asarray(values, dtype=float)
    low, median, high = np.quantile(numbers, [0.1, 0.5, 0.9])
    sd = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
    above = float(np.mean(numbers > 0))
    return Summary(
        len(numbers), float(numbers.mean()), sd, float(median), float(low), float(high), above
    )


def write_means(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write the means of finished records as JSON, one task per line; the last record of a cell
    counts.
    """
    last = {record_key(record): record for record in records if is_done(record)}
    tasks: dict[str, dict[str, list[float]]] = {}
    for record in last.values():
        found = tasks.setdefault(task_key(record["task"]), {})
        for name, value in flatten(record.get("measures", {})):
            found.setdefault(name, []).append(value)
    sessions = dict.fromkeys(
        f"{record['date'][:10]}: {name_session(dict(record))}" for record in last.values()
    )
    lines = [
        f'"sessions": {json.dumps(list(sessions), indent=1)}',
        f'"columns": {json.dumps(COLUMNS)}',
    ]
    rows = [
        f'{{"task":{task},"measures":{json.dumps({n: _row(v) for n, v in found.items()}, separators=(",", ":"))}}}'
        for task, found in tasks.items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = ",\n".join(rows)
    path.write_text(
        "{\n" + ",\n".join(lines) + f',\n"cells": [\n{cells}\n]\n}}\n', encoding="utf-8"
    )


def read_means(path: Path) -> list[dict[str, Any]]:
    """Return one object per task: `task`, and `measures` with {name: {column: number}}."""
    content = json.loads(path.read_text(encoding="utf-8"))
    named = content["columns"]
    return [
        {"task": cell["task"]}
        | {
            "measures": {
                name: dict(zip(named, row, strict=True)) for name, row in cell["measures"].items()
            }
        }
        for cell in content["cells"]
    ]


def write_cells(measured: Sequence[str], cells: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write cells of any form as JSON, one per line, after lines that say when and where they
    were measured.
    """
    lines = ",\n".join(json.dumps(rounded(cell)) for cell in cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'{{"measured": {json.dumps(measured, indent=1)},\n"cells": [\n{lines}\n]}}\n',
        encoding="utf-8",
    )


def read_cells(path: Path) -> list[dict[str, Any]]:
    """Return what `write_cells` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def rounded(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cell with six digits of every number."""
    return {
        name: float(f"{value:.6g}") if isinstance(value, float) else value
        for name, value in cell.items()
    }


def _row(values: list[float]) -> list[float]:
    found = summarize(values)
    shown = (found.mean, found.sd, min(values), found.median, max(values))
    return [found.n, *(float(f"{value:.{DIGITS}g}") for value in shown)]


def flatten(measures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of nested measures with its path, "outer / inner"; texts and lists are
    left out.
    """
    for name, value in measures.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name} / ")
        elif isinstance(value, int | float):  # True and False count as 1 and 0
            yield f"{prefix}{name}", float(value)


def main() -> None:
    """Write the means of a file of records."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m studies.harness.means RECORDS.jsonl MEANS.json")
    source, target = map(Path, sys.argv[1:])
    write_means(read_records(source), target)


if __name__ == "__main__":
    main()
