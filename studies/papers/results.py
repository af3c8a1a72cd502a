"""The results of a paper: its records summarized. Pages, verdicts and figures are made from these
alone.

Records (`PAPER.jsonl`, megabytes, not in the repository) are summarized by `summarize_paper`; the
summaries are written to `PAPER.json`, which is. Numbers are rounded to seven significant digits
when they are summarized, so a page made right after a run equals one made from the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.machine import name_session
from studies.harness.means import Summary, summarize
from studies.harness.records import is_done, record_key, task_key
from studies.papers.tasks import Line, Number, Paper, Table, Task

VERSION = 1
DIGITS = 7
CURVE_DECIMALS = 6  # of the curves in tables
DRAWN_DECIMALS = 4  # of the curves in figures
NOT_DRAWN = "self-training"  # so near the supervised curve that it would hide it

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Runs:
    """Where the records come from: finished cells, failed attempts, minutes of fitting, dates,
    and the sessions.
    """

    cells: int = 0
    failed: int = 0
    minutes: float = 0.0
    first: str = ""
    last: str = ""
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True)
class RocCurve:
    """A mean ROC curve with its 10-90% band over `FINE_GRID`, and the mean area under it."""

    area: float
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class RocPanel:
    """The curves of one setting by method, over the `n` splits that all of them have."""

    n: int
    curves: dict[str, RocCurve]


@dataclass(frozen=True)
class Results:
    """What is known of a paper's numbers.

    summaries   by the key of the number
    reasons     why a task has no result, by the key of the task
    curves      mean ROC curve over `ROC_GRID`, by the key of the task
    panels      what a ROC figure draws, by setting
    runs        where all this comes from
    """

    summaries: dict[str, Summary] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    panels: dict[str, RocPanel] = field(default_factory=dict)
    runs: Runs = field(default_factory=Runs)

    def summary(self, number: Number | None) -> Summary | None:
        """Return the summary of a number; None if it has none."""
        return None if number is None else self.summaries.get(number.key)

    def reason(self, line: Line) -> str:
        """Return why a task of the line has no result; "" where nothing was tried."""
        return next((self.reasons[task.key] for task in line.tasks if task.key in self.reasons), "")


def summarize_paper(paper: Paper, records: Iterable[Record]) -> Results:
    """Summarize the records of a paper: every number that one of its tables needs."""
    return summarize_tables(paper.tables, records)


def summarize_tables(tables: Sequence[Table], records: Iterable[Record]) -> Results:
    """Summarize the records of some tables."""
    records = list(records)
    scores = _Scores(records)
    lines = [line for table in tables for line in table.lines]
    numbers = [line.number for line in lines if line.number] + [
        n for table in tables for n in table.numbers
    ]
    found = {number.key: scores.values(number) for number in numbers}
    drawn = [
        line
        for table in tables
        if table.figure and table.figure.kind == "roc"
        for line in table.lines
    ]
    return Results(
        {key: _rounded(summarize(values)) for key, values in found.items() if values},
        scores.reasons,
        scores.mean_curves([line.task for line in lines if line.measure == "auc" and line.task]),
        _roc_panels(drawn, scores),
        _describe_runs(records),
    )


class _Scores:
    """Records arranged by task and seed; the last record of a cell counts."""

    def __init__(self, records: Iterable[Record]) -> None:
        last = {record_key(record): record for record in records}
        self.measures: dict[str, dict[int, Mapping[str, float]]] = {}
        self.curves: dict[str, dict[int, Mapping[str, list[float]]]] = {}
        self.reasons: dict[str, str] = {}
        for record in last.values():
            key = task_key(record["task"])
            if is_done(record):
                self.measures.setdefault(key, {})[record["seed"]] = record["measures"]
                self.curves.setdefault(key, {})[record["seed"]] = record.get("curves") or {}
            else:
                self.reasons[key] = record["why"]

    def values(self, number: Number) -> list[float]:
        """Return the number for each seed that has it."""
        ours = self._of(number.task, number.measure)
        if number.against is None:
            return list(ours.values())
        theirs = self._of(number.against, number.against_measure or number.measure)
        return [ours[seed] - theirs[seed] for seed in ours if seed in theirs]

    def mean_curves(self, tasks: Iterable[Task]) -> dict[str, list[float]]:
        found = {}
        for key in dict.fromkeys(task.key for task in tasks):
            curves = [curve["roc"] for curve in self.curves.get(key, {}).values() if "roc" in curve]
            if curves:
                found[key] = np.mean(curves, axis=0).round(CURVE_DECIMALS).tolist()
        return found

    def _of(self, task: Task, measure: str) -> dict[int, float]:
        return {
            seed: found[measure]
            for seed, found in self.measures.get(task.key, {}).items()
            if measure in found
        }


def _roc_panels(lines: Sequence[Line], scores: _Scores) -> dict[str, RocPanel]:
    """Return a panel for each setting whose methods all have curves, over the splits that all of
    them have.
    """
    panels = {}
    for setting in dict.fromkeys(line.setting for line in lines):
        tasks = {
            line.method: line.task.key
            for line in lines
            if line.setting == setting
            and line.task
            and not line.against
            and line.method != NOT_DRAWN
        }
        curves = {method: scores.curves.get(key, {}) for method, key in tasks.items()}
        seeds = sorted(
            set.intersection(
                *({s for s in found if "roc_fine" in found[s]} for found in curves.values())
            )
        )
        if seeds:
            panels[setting] = RocPanel(
                len(seeds),
                {
                    method: _roc_curve(
                        [scores.measures[tasks[method]][seed]["auc"] for seed in seeds],
                        [curves[method][seed]["roc_fine"] for seed in seeds],
                    )
                    for method in tasks
                },
            )
    return panels


def _roc_curve(areas: list[float], curves: list[list[float]]) -> RocCurve:
    low, high = np.quantile(curves, [0.1, 0.9], axis=0).round(DRAWN_DECIMALS).tolist()
    mean = np.mean(curves, axis=0).round(DRAWN_DECIMALS).tolist()
    return RocCurve(_round(float(np.mean(areas))), mean, low, high)


def _describe_runs(records: Sequence[Record]) -> Runs:
    done = [record for record in records if is_done(record)]
    failed = sum(record["outcome"] == "failed" for record in records)
    if not done:
        return Runs(failed=failed)
    minutes = sum(record["measures"].get("seconds", 0.0) for record in done) / 60
    dates = sorted(record["date"][:10] for record in done)
    sessions = tuple(sorted({name_session(dict(record)) for record in done}))
    return Runs(len(done), failed, _round(minutes), dates[0], dates[-1], sessions)


def _rounded(summary: Summary) -> Summary:
    return Summary(summary.n, *(_round(value) for value in astuple(summary)[1:]))


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def write_results(results: Results, path: Path) -> None:
    """Write the results as JSON, one number per line; tasks are listed once and referred to by
    their position.
    """
    parts = [json.loads(key) for key in results.summaries]
    keys = [key for part in parts for key in part[::2]] + [*results.reasons, *results.curves]
    place = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    numbers = [
        [
            place[part[0]],
            part[1],
            *([place[part[2]], part[3]] if len(part) > 2 else [None, None]),
            *astuple(summary),
        ]
        for part, summary in zip(parts, results.summaries.values(), strict=True)
    ]
    content = {
        "tasks": [json.loads(key) for key in place],
        "numbers": numbers,
        "reasons": [[place[key], why] for key, why in results.reasons.items()],
        "curves": [[place[key], curve] for key, curve in results.curves.items()],
        "panels": [[setting, asdict(panel)] for setting, panel in results.panels.items()],
    }
    lines = [f'"version": {VERSION}', f'"runs": {json.dumps(asdict(results.runs))}']
    for name, entries in content.items():
        rows = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        lines.append(f'"{name}": [\n{rows}\n]' if entries else f'"{name}": []')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_results(path: Path) -> Results:
    """Read what `write_results` wrote; results without any number where there is no file."""
    if not path.exists():
        return Results()
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["version"] != VERSION:
        raise ValueError(
            f"{path.name} has version {content['version']}; this code reads version {VERSION}."
        )
    tasks = [task_key(task) for task in content["tasks"]]
    summaries = {}
    for task, measure, against, against_measure, *values in content["numbers"]:
        other = [] if against is None else [tasks[against], against_measure]
        summaries[json.dumps([tasks[task], measure, *other])] = Summary(*values)
    runs = content["runs"]
    return Results(
        summaries,
        {tasks[at]: why for at, why in content["reasons"]},
        {tasks[at]: curve for at, curve in content["curves"]},
        {
            setting: RocPanel(
                panel["n"], {name: RocCurve(**curve) for name, curve in panel["curves"].items()}
            )
            for setting, panel in content["panels"]
        },
        Runs(**runs | {"sessions": tuple(runs["sessions"])}),
    )
