"""The nouns of a reproduction: tasks, cells, numbers, references, lines, tables, papers.

A *task* is something to run: a data set, how it is split, a method and its parameters. A *cell* is
a task with a seed: the unit of work, of resumption and of record. A *number* is a score of a task
over its seeds, or the difference between two tasks, seed by seed. A *line* compares a number with a
*reference*, which is what a paper prints or what our notes expect. Lines make a table, tables make
a paper. Several lines may use the same cells; a cell runs once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from studies.harness.records import cell_key, task_key

Kind = Literal[
    "mean", "draw", "tolerance", "median", "sampled", "above", "at least", "at most", "shown"
]


@dataclass(frozen=True)
class Task:
    """What to run. All parts are plain JSON values, because a task is stored in records and sent
    between processes.

    data     a name that `samples` knows
    split    how rows are drawn and which labels are hidden
    method   a name that `methods` knows
    params   the method's parameters
    seeded   false if nothing is random: such a task has one cell, whatever the number of seeds
    slow     a cell takes minutes: it runs after all others
    """

    data: str
    method: str
    split: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    seeded: bool = True
    slow: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the part that is stored in records."""
        return {
            "data": self.data,
            "split": self.split,
            "method": self.method,
            "params": self.params,
        }

    @property
    def key(self) -> str:
        """One string for equal tasks."""
        return task_key(self.as_dict())


@dataclass(frozen=True)
class Cell:
    """A task with its seed."""

    task: Task
    seed: int

    @property
    def key(self) -> str:
        """Two records with equal keys ran the same thing."""
        return cell_key(self.task.as_dict(), self.seed)

    def as_dict(self) -> dict[str, Any]:
        """Return the part of a record that says what ran."""
        return {"task": self.task.as_dict(), "seed": self.seed}


@dataclass(frozen=True)
class Number:
    """A score of a task; with `against`, this score minus a score of that task, seed by seed."""

    task: Task
    measure: str
    against: Task | None = None
    against_measure: str = ""

    @property
    def key(self) -> str:
        """One string for equal numbers."""
        if self.against is None:
            return json.dumps([self.task.key, self.measure])
        return json.dumps(
            [self.task.key, self.measure, self.against.key, self.against_measure or self.measure]
        )


@dataclass(frozen=True)
class Reference:
    """A number to compare ours with, and how near counts as the same; `verdicts` has the
    arithmetic.

    kind     "mean"       a published mean; spread is the published standard deviation
             "draw"       a published single draw without spread: ours is a range over draws
             "tolerance"  an expectation with its own tolerance, in `spread`
             "median"     the same, for the median over the seeds
             "sampled"    an expectation that is itself a mean, over `repeats` draws with standard
                          deviation `spread`
             "above"      a claim that our number (a difference, seed by seed) is above this value
             "at least", "at most"   a bound on one number that is made from many cells
             "shown"      is shown next to ours and not judged (times on another machine)
    scale    1 for shares; for counts the number of rows counted, so that 0.02 means two in a
             hundred
    least    the tolerance of a "sampled" expectation is at least this
    """

    value: float
    spread: float | None = None
    kind: Kind = "mean"
    source: str = ""
    scale: float = 1.0
    repeats: int = 0
    least: float = 0.0


@dataclass(frozen=True)
class Line:
    """One number of ours compared with one of theirs.

    table, setting, method   where the line stands: the table, its row, its column
    measure    which score of the task
    task       what gives our number; None if no version of this library can, and `why` says so
    against    if given, our number is the difference to this task's score, seed by seed
    bound      no honest mean can be above it (a Bayes rate): above it, something is wrong
    mark       "as printed", "as reproduced", "for comparison": whether the setting is the paper's
               own
    note       a sentence for the reader: what was tried where the numbers differ
    quick      part of the quick run
    steady     false if rounding decides the result, so that machines differ: shown, never enforced
    seeds      at most this many repetitions, where one takes minutes
    """

    table: str
    setting: str
    method: str
    measure: str
    task: Task | None
    reference: Reference | None = None
    against: Task | None = None
    bound: float | None = None
    mark: str = ""
    note: str = ""
    why: str = ""
    quick: bool = False
    steady: bool = True
    seeds: int | None = None

    @property
    def name(self) -> str:
        """The line's address within its paper."""
        return " | ".join(
            part
            for part in (self.table, self.setting, self.method, self.mark, self.measure)
            if part
        )

    @property
    def tasks(self) -> list[Task]:
        """What has to run before the line can be read."""
        return [task for task in (self.task, self.against) if task is not None]

    @property
    def number(self) -> Number | None:
        """Our number; None where nothing can give it."""
        return None if self.task is None else Number(self.task, self.measure, self.against)


@dataclass(frozen=True)
class Figure:
    """How a table is drawn.

    kind   which drawing of `drawings`
    alt    what there is to see, for readers who can't see it
    say    from the table's comparisons to one sentence: what supports the paper's claim, and what
           contradicts it
    """

    kind: Literal["roc", "seconds", "bars", "gains"]
    alt: str
    say: Callable[[Any], str]


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper: its lines, and how often the full and the quick run repeat a
    task.

    derive    from `Results` and whether the run is a quick one to more comparisons, each made from
              many cells; the cells are those of other tables
    explain   from the same to a text in Markdown below the title, "" for none
    numbers   what these two need, besides the numbers of lines
    """

    name: str
    title: str
    lines: tuple[Line, ...]
    seeds: int = 1
    quick_seeds: int = 1
    figure: Figure | None = None
    derive: Callable[[Any, bool], list[Any]] | None = None
    explain: Callable[[Any, bool], str] | None = None
    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper: its tables, and what can honestly be said about them.

    holds, fails, silent   sentences: what holds, what does not, what the paper left out
    """

    name: str
    citation: str
    tables: tuple[Table, ...]
    holds: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def cells_of(table: Table, *, seeds: int | None = None, quick: bool = False) -> list[Cell]:
    """Return every cell that the table needs, once each, seed by seed, so that a stopped run has
    whole repetitions.
    """
    lines = [line for line in table.lines if line.quick or not quick]
    repeats = seeds if seeds is not None else table.quick_seeds if quick else table.seeds
    tasks: dict[str, Task] = {}
    most: dict[str, int] = {}
    for line in lines:
        for task in line.tasks:
            tasks[task.key] = task
            most[task.key] = max(
                most.get(task.key, 1), min(repeats, line.seeds or repeats) if task.seeded else 1
            )
    return [
        Cell(task, seed)
        for seed in range(repeats)
        for key, task in tasks.items()
        if seed < most[key]
    ]
