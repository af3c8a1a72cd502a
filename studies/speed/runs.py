"""What the benchmarks share: repeated runs in fresh processes, medians, and a command line.

A run is a call `function(task, repeat)` in a process of its own that returns measures; `task` is a
JSON object that says what is run, and becomes part of the record. Repetitions alternate between the
tasks (a, b, c, a, b, c, ...), so that a machine that is slow for a while slows all of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.harness.fresh_process import call_fresh
from studies.harness.machine import describe_session
from studies.harness.records import Journal

OUT = Path("studies-out") / "speed"
Task = dict[str, Any]
Measures = dict[str, Any]


def make_parser(name: str, doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark's command line, with the option --out."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.speed.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT / f"{name}.jsonl",
        metavar="FILE",
        help="records are appended here",
    )
    return parser


def run_by_turns(
    function: str,
    tasks: Sequence[Task],
    repeats: int,
    out: Path,
    *,
    environment: Mapping[str, str] | Callable[[Task], Mapping[str, str]] | None = None,
) -> list[Measures | None]:
    """Run every task `repeats` times and record each run.

    Parameters
    ----------
    function : str
        "package.module:function", called with a task and the number of the repetition.
    tasks : sequence of dict
        What to run.
    repeats : int
        How often.
    out : Path
        The file of the records.
    environment : mapping or callable, optional
        Environment variables of the runs, or a function that returns those of a task.

    Returns
    -------
    list
        The medians of each task's measures; None for a task without a finished run.
    """
    found: list[list[Measures]] = [[] for _ in tasks]
    with Journal(out, describe_session()) as journal:
        for repeat in range(repeats):
            for task, done in zip(tasks, found, strict=True):
                variables = environment(task) if callable(environment) else environment
                answer = call_fresh(function, task, repeat, environment=variables)
                named = ", ".join(map(str, task.values()))
                record = {"task": task, "seed": repeat, "outcome": answer["outcome"]}
                if answer["outcome"] == "done":
                    done.append(answer["result"])
                    journal.append(record | {"measures": answer["result"]})
                    print(f"{named}: run {repeat + 1} of {repeats} done", file=sys.stderr)
                else:
                    journal.append(record | {"why": answer["why"]})
                    print(f"{named}: {answer['outcome']}: {answer['why']}", file=sys.stderr)
    return [medians(done) if done else None for done in found]


def medians(runs: Sequence[Measures]) -> Measures:
    """Return the median of every measure that is a number."""
    return {
        name: statistics.median(run[name] for run in runs)
        for name, value in runs[0].items()
        if isinstance(value, int | float)
    }


def machine_line() -> str:
    """Return the machine and, in a checkout, the commit in one line."""
    session = describe_session()
    machine = session["machine"]
    commit = session["commit"]
    words = f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB"
    return f"{words}; commit {commit}" if commit else words
