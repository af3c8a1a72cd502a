"""The nouns of a reproduction, and the one rule for verdicts.

A *task* is something to run: a data set, how it is split, a method and its parameters. A *cell* is a
task with a seed. A *line* compares our number, a score of a task over its seeds or the difference
between two tasks seed by seed, with a *reference*: what a paper prints, or what our notes expect.
Lines make a table, tables make a paper; several lines may use the same cells, which run once.

    reproduced    within the tolerance of the reference
    close         within twice the tolerance
    differs       further away, or above a hard bound
    measured      run, with nothing to judge it against
    pending       not run yet

The tolerance depends on the reference's kind:

    mean        the published standard deviation, or 0.02 where that is smaller or missing
    tolerance   the reference's own, around our mean; median: around our median
    sampled     three standard errors of the difference between two means, theirs and ours
    draw        a single published draw has no spread, but ours has. Reproduced: the draw lies
                inside our 10-90% range, or within 0.02 of our median. Close: within 0.02 of the
                range, or within 0.04 of the median.
    above       a claim "ours is above the value". Reproduced: by more than two standard errors.
                Close: within two standard errors on either side, so undecided.
    at least, at most   reproduced inside the bound, else differs
    shown       not judged (times on another machine)

Counts of errors are judged as fractions of the rows they were counted on (`scale`): 0.02 of 600
test rows is 12 errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from studies.records import Summary

VERDICTS = ("reproduced", "close", "differs", "measured", "pending")
NEAR = 0.02
STANDARD_ERRORS = 3
FIRM = 2 / 3
ROUNDING = 1e-9  # published numbers are decimal: 0.52 - 0.50 must count as 0.02
BY_MEDIAN = ("draw", "median", "at least", "at most")


@dataclass(frozen=True)
class Task:
    """What to run, in plain JSON values: `samples` knows the data and the split, `methods` the
    method and its parameters. One that is not seeded has a single cell.
    """

    data: str
    method: str
    split: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    seeded: bool = True

    @property
    def key(self) -> str:
        """One string for equal tasks."""
        return json.dumps([self.data, self.method, self.split, self.params], sort_keys=True)


@dataclass(frozen=True)
class Reference:
    """A number to compare ours with, and how near counts as the same: see the module's text.

    `spread` is the published standard deviation or the tolerance, `repeats` the number of draws of
    a "sampled" one, whose tolerance is at least `least`.
    """

    value: float
    spread: float | None = None
    kind: Literal[
        "mean", "draw", "tolerance", "median", "sampled", "above", "at least", "at most", "shown"
    ] = "mean"
    scale: float = 1.0
    repeats: int = 0
    least: float = 0.0


@dataclass(frozen=True)
class Line:
    """One number of ours compared with one of theirs.

    table, setting, method   the table, its row, its column
    measure    which score of the task
    against    if given, our number is the difference to this task's score, seed by seed
    bound      no honest mean can be above it (a Bayes rate)
    mark       whether the setting is the paper's own: "as printed", "as reproduced"
    note       what is known where the numbers differ
    quick      part of the quick run
    steady     false where rounding decides the result, so that machines differ
    seeds      at most so many repetitions
    """

    table: str
    setting: str
    method: str
    measure: str
    task: Task | None
    reference: Reference | None = None
    against: Task | None = None
    against_measure: str = ""
    bound: float | None = None
    mark: str = ""
    note: str = ""
    quick: bool = False
    steady: bool = True
    seeds: int | None = None

    @property
    def name(self) -> str:
        """The line's address within its paper."""
        parts = (self.table, self.setting, self.method, self.mark, self.measure)
        return " | ".join(part for part in parts if part)

    @property
    def tasks(self) -> list[Task]:
        """What has to run before the line can be read."""
        return [task for task in (self.task, self.against) if task is not None]

    def value(self, scores: Mapping[tuple[str, int], Mapping[str, float]], seed: int) -> float:
        """Return our number for one seed; KeyError where a cell has not run."""
        assert self.task is not None
        ours = scores[self.task.key, seed][self.measure]
        if self.against is None:
            return ours
        return ours - scores[self.against.key, seed][self.against_measure or self.measure]


@dataclass(frozen=True)
class Table:
    """A table of a paper: its lines, and how often the full and the quick run repeat a task."""

    name: str
    title: str
    lines: tuple[Line, ...]
    seeds: int = 1
    quick_seeds: int = 1


Found = Mapping[str, Summary]  # by the name of a line


@dataclass(frozen=True)
class Paper:
    """A paper: its tables, and sentences on what holds, what does not, and what it left out.

    `derive` makes more numbers from those of many lines: {a line without a task: its summary}.
    """

    name: str
    citation: str
    tables: tuple[Table, ...]
    holds: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    derive: Callable[[Found, bool], dict[Line, Summary]] | None = None

    def judged(
        self, found: Found, *, quick: bool = False
    ) -> list[tuple[Line, Summary | None, str]]:
        """Return every line, or those of the quick run, with our number and the verdict."""
        lines = [line for table in self.tables for line in table.lines if line.quick or not quick]
        pairs = [(line, found.get(line.name)) for line in lines]
        if self.derive is not None:
            pairs += self.derive(found, quick).items()
        return [(line, ours, verdict(line, ours)) for line, ours in pairs]


def read_table(text: str) -> list[list[str]]:
    """Return the words of each line that has some, without the bars between columns."""
    rows = [line.replace("|", " ").split() for line in text.strip().splitlines()]
    return [row for row in rows if row]


# ---- verdicts ----


def verdict(line: Line, ours: Summary | None, strictness: float = 1.0) -> str:
    """Return the verdict on a line; `strictness` multiplies tolerances."""
    theirs = line.reference
    if ours is None:
        return "pending"
    if line.bound is not None and ours.mean > line.bound:
        return "differs"
    if theirs is None or theirs.kind == "shown":
        return "measured"
    if theirs.kind == "above":
        margin = 2 * ours.sd / np.sqrt(ours.n) / strictness
        lead = ours.mean - theirs.value
        return "reproduced" if lead > margin else "close" if lead >= -margin else "differs"
    if theirs.kind in ("at least", "at most"):
        short = theirs.value - ours.median
        short = short if theirs.kind == "at least" else -short
        return "reproduced" if short <= ROUNDING else "differs"
    if theirs.kind == "draw":
        return _of_draw(ours, theirs, strictness)
    return _graded(abs(center(ours, theirs) - theirs.value), strictness * _tolerance(ours, theirs))


def is_firm(line: Line, ours: Summary | None) -> bool:
    """Return whether to insist on a verdict on any machine: it would be the same with a tolerance
    that is a third smaller, and neither rounding nor luck decides it.
    """
    if not line.steady or (line.mark == "as printed" and line.note):
        return False
    return verdict(line, ours) == verdict(line, ours, FIRM)


def center(ours: Summary, theirs: Reference | None) -> float:
    """Return the number that represents ours: the median or the mean."""
    return ours.median if theirs is not None and theirs.kind in BY_MEDIAN else ours.mean


def _tolerance(ours: Summary, theirs: Reference) -> float:
    if theirs.kind == "mean":
        return max(theirs.spread or 0.0, NEAR * theirs.scale)
    assert theirs.spread is not None, f"a reference without its tolerance: {theirs}"
    if theirs.kind != "sampled":
        return theirs.spread
    error = np.sqrt(theirs.spread**2 / theirs.repeats + ours.sd**2 / ours.n)
    return max(STANDARD_ERRORS * float(error), theirs.least)


def _of_draw(ours: Summary, theirs: Reference, strictness: float) -> str:
    near = strictness * NEAR * theirs.scale
    low, high = (ours.median + strictness * (end - ours.median) for end in (ours.low, ours.high))
    outside = max(low - theirs.value, theirs.value - high, 0.0)
    by_range = "differs" if outside > near + ROUNDING else "close"
    by_range = "reproduced" if outside <= ROUNDING else by_range
    return min(by_range, _graded(abs(ours.median - theirs.value), near), key=VERDICTS.index)


def _graded(distance: float, tolerance: float) -> str:
    if distance <= tolerance + ROUNDING:
        return "reproduced"
    return "close" if distance <= 2 * tolerance + ROUNDING else "differs"
