"""Ours compared with theirs, and the verdicts of the quick run that must not become worse.

`quick.json` holds {paper: {line: verdict}} of a quick run with its own numbers of seeds. A line
whose data is not here is skipped; one that failed, or whose verdict is further down the vocabulary
than before, is worse. Only verdicts that the rounding of another machine can't change are stored:
of lines that are steady, and only firm ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.harness.means import Summary
from studies.papers.results import Results
from studies.papers.samples import missing_data
from studies.papers.tasks import Line, Table
from studies.papers.verdicts import VERDICTS, Verdict, center, is_firm, judge

STORED = Path(__file__).with_name("quick.json")
JUDGED = ("reproduced", "close")
ORDER: dict[str, int] = {verdict: rank for rank, verdict in enumerate(VERDICTS)}


@dataclass(frozen=True)
class Comparison:
    """A line with its result; `why` is the reason for the verdict, if there is one to give."""

    line: Line
    summary: Summary | None
    verdict: Verdict
    why: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus theirs, where there are both."""
        if self.summary is None or self.line.reference is None:
            return None
        return center(self.summary, self.line.reference) - self.line.reference.value


def compare(lines: Iterable[Line], results: Results) -> list[Comparison]:
    """Compare every line with its reference."""
    return [_compare_line(line, results) for line in lines]


def compare_table(table: Table, results: Results, *, quick: bool = False) -> list[Comparison]:
    """Compare a table's lines, or those of its quick run, with their references; then what is
    made from many cells.
    """
    found = compare([line for line in table.lines if line.quick or not quick], results)
    return found + (table.derive(results, quick) if table.derive else [])


def count_verdicts(comparisons: Sequence[Comparison]) -> dict[Verdict, int]:
    """Return how often each verdict was given, in the order of the vocabulary, without those
    never given.
    """
    counts = Counter(comparison.verdict for comparison in comparisons)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _compare_line(line: Line, results: Results) -> Comparison:
    if line.task is None:
        return Comparison(line, None, "not runnable", line.why)
    summary = results.summary(line.number)
    if summary is None:
        why = results.reason(line)
        return Comparison(line, None, "not runnable" if why else "pending", why)
    verdict, why = judge(summary, line.reference, line.bound)
    return Comparison(line, summary, verdict, why or results.reason(line))


def read_stored(path: Path = STORED) -> dict[str, dict[str, str]]:
    """Return the stored verdicts of all papers; nothing if there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def store_verdicts(paper: str, comparisons: Iterable[Comparison], path: Path = STORED) -> None:
    """Replace the stored verdicts of a paper by those that hold now and will hold on another
    machine.
    """
    held = {c.line.name: c.verdict for c in comparisons if c.verdict in JUDGED and is_enforced(c)}
    everything = read_stored(path) | {paper: held}
    path.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def find_worse(
    comparisons: Iterable[Comparison], stored: dict[str, str], data_dir: Path | None = None
) -> list[tuple[str, str, str]]:
    """Return (line, stored verdict, verdict now) wherever it became worse."""
    worse: list[tuple[str, str, str]] = []
    for comparison in comparisons:
        name = comparison.line.name
        before = stored.get(name)
        if before is None or _lacks_data(comparison, data_dir):
            continue
        if ORDER[comparison.verdict] > ORDER[before]:
            worse.append((name, before, comparison.verdict))
    return worse


def is_enforced(comparison: Comparison) -> bool:
    """Return whether to insist on a verdict: not where rounding decides it, nor where a printed
    design had luck.
    """
    line = comparison.line
    summary = comparison.summary
    if not line.steady or summary is None or (line.mark == "as printed" and line.note):
        return False
    return is_firm(summary, line.reference, line.bound)


def _lacks_data(comparison: Comparison, data_dir: Path | None) -> bool:
    if comparison.verdict != "not runnable":
        return False
    return any(missing_data(task.data, data_dir) for task in comparison.line.tasks)
