"""Records summarized: what is kept in the repository in place of the records.

`Summary` describes the values of one number over the seeds of a cell. `table_of_means` makes a CSV table of any file of
records, with one row per cell and measure:

    python -m studies.harness.means studies-out/speed/cluster.jsonl studies/speed/results/cluster.csv
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.machine import name_session
from studies.harness.records import is_done, read_records, task_key

DIGITS = 6
COLUMNS = ("task", "measure", "n", "mean", "sd", "min", "median", "max")


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
    return Summary(len(numbers), float(numbers.mean()), sd, float(median), float(low), float(high), above)


def table_of_means(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the finished records as CSV, one row per cell and measure, after one comment line per session."""
    done = [record for record in records if is_done(record)]
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in done:
        for name, value in flatten(record.get("measures", {})):
            values[task_key(record["task"]), name].append(value)
    text = io.StringIO()
    for session in dict.fromkeys(f"{record['date'][:10]}: {name_session(dict(record))}" for record in done):
        text.write(f"# {session}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for (task, name), found in values.items():
        numbers = summarize(found)
        shown = (numbers.mean, numbers.sd, min(found), numbers.median, max(found))
        writer.writerow([task, name, numbers.n, *(f"{value:.{DIGITS}g}" for value in shown)])
    return text.getvalue()


def read_means(path: Path) -> list[dict[str, Any]]:
    """Return the rows of such a table; `task` is an object again, and numbers are numbers."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [
        {name: value if name == "measure" else json.loads(value) for name, value in row.items()}
        for row in csv.DictReader(lines)
    ]


def flatten(measures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of nested measures with its path, "outer / inner"; texts and lists are left out."""
    for name, value in measures.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name} / ")
        elif isinstance(value, int | float):  # True and False count as 1 and 0
            yield f"{prefix}{name}", float(value)


def main() -> None:
    """Write the means of a file of records."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m studies.harness.means RECORDS.jsonl MEANS.csv")
    source, target = map(Path, sys.argv[1:])
    target.write_text(table_of_means(read_records(source)), encoding="utf-8")


if __name__ == "__main__":
    main()
