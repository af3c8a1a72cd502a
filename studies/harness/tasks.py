"""The nouns of a reproduction: tasks, cells, references, lines, tables, papers.

A *task* is something to run: a set, how it is split, a method and its parameters. A *cell* is a task with
a seed: the unit of work, of resumption and of record. A *line* sets one score of a task (the mean or median
over its cells) beside a *reference*, the number a paper prints or our notes expect. Lines make a table,
tables a paper. Several lines may look at the same cells; a cell is run once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["mean", "draw", "tolerance", "median", "sampled", "above", "at least", "at most", "shown"]


@dataclass(frozen=True)
class Task:
    """What to run; all parts are plain JSON values, for a task travels in records and between processes.

    data     a name known to `sources`
    split    how rows are drawn and which labels are hidden
    method   a name known to `methods`
    params   the method's parameters
    seeded   false where nothing is random: such a task has one cell, whatever the number of seeds
    slow     minutes a cell: runs when all others have
    """

    data: str
    method: str
    split: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    seeded: bool = True
    slow: bool = False

    @property
    def key(self) -> str:
        """One string for equal tasks."""
        parts = [self.data, self.split, self.method, self.params]
        return json.dumps(parts, sort_keys=True)


@dataclass(frozen=True)
class Cell:
    """A task with its seed."""

    task: Task
    seed: int

    @property
    def key(self) -> str:
        """What makes a cell: two records with equal keys ran the same thing."""
        return f"{self.task.key}#{self.seed}"


@dataclass(frozen=True)
class Reference:
    """A number to stand beside ours, and how near counts as the same; `verdicts` has the arithmetic.

    kind     "mean"       a published mean; spread is the published standard deviation
             "draw"       a published single draw, without spread: ours is a range over draws
             "tolerance"  an expectation with its own tolerance, in `spread`
             "median"     the same, for the median over the seeds
             "sampled"    an expectation that is a mean itself, over `repeats` draws with standard deviation `spread`
             "above"      a claim that our number (a difference, seed by seed) is above this value
             "at least", "at most"   a bound on one number made from many cells
             "shown"      stands beside ours and is not judged (times on another machine)
    scale    1 for shares; for counts the number of rows counted, so that 0.02 means two in a hundred
    least    a "sampled" expectation's tolerance is at least this
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
    """One number of ours beside one of theirs.

    table, setting, method   where it stands: the table, its row, its column
    measure    which score of the records
    task       what gives our number; None where no version of this library can, and `why` says so
    against    where given, our number is the difference to this task's score, seed by seed
    bound      no mean can honestly be above it (a Bayes rate): above, something is wrong
    mark       "as printed", "as reproduced", "beside": whether the setting is the paper's own
    note       a sentence for the reader: what was tried where the numbers differ
    quick      part of the quick run
    steady     false where rounding decides the result, so that machines differ: shown, never enforced
    seeds      at most so many repetitions, where one takes minutes
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
        return " | ".join(part for part in (self.table, self.setting, self.method, self.mark, self.measure) if part)

    @property
    def tasks(self) -> list[Task]:
        """What has to run before the line can be read."""
        return [task for task in (self.task, self.against) if task is not None]


@dataclass(frozen=True)
class Figure:
    """How a table is drawn as well.

    kind   which drawing of `draw`
    alt    what is to be seen, for a reader who can't see it
    say    from the table's comparisons and `Results` to a sentence: what speaks for the paper's claim, and against
    """

    kind: Literal["roc", "seconds", "bars", "gains"]
    alt: str
    say: Callable[[Any, Any], str]


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper: its lines, and how often the full and the quick run repeat a task.

    derive   from `Results` and whether the run is a quick one to more comparisons, each made from many cells; the
             cells are those of other tables
    tell     from the same to text in Markdown below the title, "" for none
    """

    name: str
    title: str
    lines: tuple[Line, ...]
    seeds: int = 1
    quick_seeds: int = 1
    figure: Figure | None = None
    derive: Callable[[Any, bool], list[Any]] | None = None
    tell: Callable[[Any, bool], str] | None = None


@dataclass(frozen=True)
class Paper:
    """A paper: its tables, and what can honestly be said of them.

    holds, fails, silent   sentences: what holds, what does not, what the paper left out
    """

    name: str
    citation: str
    tables: tuple[Table, ...]
    holds: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def cells_of(table: Table, *, seeds: int | None = None, quick: bool = False) -> list[Cell]:
    """Return every cell the table needs, each once, seed by seed so that a stopped run has whole repetitions."""
    lines = [line for line in table.lines if line.quick or not quick]
    repeats = seeds if seeds is not None else table.quick_seeds if quick else table.seeds
    tasks: dict[str, Task] = {}
    most: dict[str, int] = {}
    for line in lines:
        for task in line.tasks:
            tasks[task.key] = task
            most[task.key] = max(most.get(task.key, 1), min(repeats, line.seeds or repeats) if task.seeded else 1)
    return [Cell(task, seed) for seed in range(repeats) for key, task in tasks.items() if seed < most[key]]
