"""Ours beside theirs: records and lines in, comparisons out. A pure function of the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studies.harness.records import cell_key, is_done, task_key
from studies.harness.tasks import Line, Table
from studies.harness.verdicts import VERDICTS, Summary, Verdict, center, judge, summarize

Record = Mapping[str, Any]
Scores = dict[int, Mapping[str, float]]  # the scores of a task, by seed


@dataclass(frozen=True)
class Comparison:
    """A line with what became of it; `why` is the reason where there is one to give."""

    line: Line
    summary: Summary | None
    verdict: Verdict
    why: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less theirs, where there are both."""
        if self.summary is None or self.line.reference is None:
            return None
        return center(self.summary, self.line.reference) - self.line.reference.value


class Results:
    """Records, arranged for lines to look into: the last record of a cell counts."""

    def __init__(self, records: Iterable[Record]) -> None:
        last = {cell_key(record): record for record in records}
        self.scores: dict[str, Scores] = {}
        self.reasons: dict[str, str] = {}
        self.curves: dict[str, dict[int, Mapping[str, Any]]] = {}
        for record in last.values():
            key = task_key(record)
            if is_done(record):
                self.scores.setdefault(key, {})[record["seed"]] = record["scores"]
                self.curves.setdefault(key, {})[record["seed"]] = record.get("curves") or {}
            else:
                self.reasons[key] = record["why"]

    def values(self, line: Line) -> list[float]:
        """Return the line's number for each seed that has it."""
        if line.task is None:
            return []
        ours = self._measured(line.task.key, line.measure)
        if line.against is None:
            return list(ours.values())
        theirs = self._measured(line.against.key, line.measure)
        return [ours[seed] - theirs[seed] for seed in ours if seed in theirs]

    def reason(self, line: Line) -> str:
        """Return why a task of the line has no result; "" where nobody tried."""
        return next((self.reasons[task.key] for task in line.tasks if task.key in self.reasons), "")

    def _measured(self, key: str, measure: str) -> dict[int, float]:
        return {s: scores[measure] for s, scores in self.scores.get(key, {}).items() if measure in scores}


def compare(lines: Iterable[Line], records: Iterable[Record] | Results) -> list[Comparison]:
    """Set every line beside its reference."""
    results = records if isinstance(records, Results) else Results(records)
    return [_compare_line(line, results) for line in lines]


def compare_table(table: Table, records: Iterable[Record] | Results, *, quick: bool = False) -> list[Comparison]:
    """Set a table's lines, or those of its quick run, beside their references; then what is made from many cells."""
    results = records if isinstance(records, Results) else Results(records)
    found = compare([line for line in table.lines if line.quick or not quick], results)
    return found + (table.derive(results, quick) if table.derive else [])


def count_verdicts(comparisons: Sequence[Comparison]) -> dict[Verdict, int]:
    """Return how often each verdict was given, in the vocabulary's order, without those never given."""
    counts = Counter(comparison.verdict for comparison in comparisons)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _compare_line(line: Line, results: Results) -> Comparison:
    if line.task is None:
        return Comparison(line, None, "not runnable", line.why)
    values = results.values(line)
    if not values:
        why = results.reason(line)
        return Comparison(line, None, "not runnable" if why else "pending", why)
    summary = summarize(values)
    verdict, why = judge(summary, line.reference, line.bound)
    return Comparison(line, summary, verdict, why or results.reason(line))
