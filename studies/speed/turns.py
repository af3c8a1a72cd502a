"""What the benchmarks share: repeated runs in fresh processes, by turns."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.records import update_record
from studies.running import call_fresh

RECORDS = Path(__file__).parent / "records"
Task = dict[str, Any]


def run_by_turns(
    function: str,
    tasks: Sequence[Task],
    repeats: int,
    environment: Callable[[Task], Mapping[str, str]] = lambda task: {},
) -> list[dict[str, Any]]:
    """Call "package.module:function"(task) for every task, `repeats` times.

    Repetitions alternate between the tasks (a, b, c, a, b, c), so that a machine that is slow for a
    while slows all of them. Return each task with the medians of its measures, or with "why".
    """
    found: list[list[dict[str, Any]]] = [[] for _ in tasks]
    why = [""] * len(tasks)
    for repeat in range(repeats):
        for number, task in enumerate(tasks):
            if not why[number]:
                answer = call_fresh(function, task, environment=environment(task))
                why[number] = answer.pop("why", "")
                found[number] += [answer] if answer else []
                words = ", ".join(map(str, task.values()))
                print(f"{words}: run {repeat + 1} {why[number]}", file=sys.stderr, flush=True)
    return [
        task | ({"why": reason} if not runs else medians(runs))
        for task, runs, reason in zip(tasks, found, why, strict=True)
    ]


def medians(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of every measure."""
    return {name: float(statistics.median(run[name] for run in runs)) for name in runs[0]}


def store(name: str, cells: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Put cells into a record; they replace those with equal `keys`."""
    ran = [cell for cell in cells if "why" not in cell]
    update_record(RECORDS / f"{name}.json", ran, keys)
