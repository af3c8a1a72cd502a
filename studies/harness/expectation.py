"""The verdicts that held: a quick run fails when one of them no longer does.

`quick.json` holds {paper: {line: verdict}} for a quick run with its own numbers of seeds. A line whose data is not
here is passed over; one that failed, or whose verdict is further down the vocabulary than it was, is broken. Only
verdicts that another machine's rounding can't undo are stored: lines that are steady, with a verdict that is firm.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from studies.harness.compare import Comparison
from studies.harness.sources import missing_data
from studies.harness.verdicts import VERDICTS, is_firm

STORED = Path(__file__).with_name("quick.json")
JUDGED = ("reproduced", "close")
ORDER: dict[str, int] = {verdict: rank for rank, verdict in enumerate(VERDICTS)}


def read_expectation(path: Path = STORED) -> dict[str, dict[str, str]]:
    """Return what held when it was last stored; nothing where it never was."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def store_expectation(paper: str, comparisons: Iterable[Comparison], path: Path = STORED) -> None:
    """Store the verdicts of a paper that hold now and will hold on another machine, in place of those before."""
    held = {c.line.name: c.verdict for c in comparisons if c.verdict in JUDGED and is_enforced(c)}
    everything = read_expectation(path) | {paper: held}
    path.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def broken(
    comparisons: Iterable[Comparison], expected: dict[str, str], data_dir: Path | None = None
) -> list[tuple[str, str, str]]:
    """Return (line, verdict that held, verdict now) wherever it became worse."""
    worse: list[tuple[str, str, str]] = []
    for comparison in comparisons:
        name = comparison.line.name
        before = expected.get(name)
        if before is None or _lacks_data(comparison, data_dir):
            continue
        if ORDER[comparison.verdict] > ORDER[before]:
            worse.append((name, before, comparison.verdict))
    return worse


def is_enforced(comparison: Comparison) -> bool:
    """Is it a verdict to insist on? Not where rounding decides it, nor where a printed design had luck."""
    line, summary = comparison.line, comparison.summary
    if not line.steady or summary is None or (line.mark == "as printed" and line.note):
        return False
    return is_firm(summary, line.reference, line.bound)


def _lacks_data(comparison: Comparison, data_dir: Path | None) -> bool:
    if comparison.verdict != "not runnable":
        return False
    return any(missing_data(task.data, data_dir) for task in comparison.line.tasks)
