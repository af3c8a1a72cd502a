"""What a person at the terminal sees: summaries, comparisons and evaluations on stdout, progress on
stderr.

Progress is shown once something has taken a second. On a terminal it is one line that is redrawn,
and removed at the end; elsewhere, such as in a log file, it is a plain line every few seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli.options import with_flags
from semisvm.errors import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from semisvm.decision import OperatingPoint
    from semisvm.tables.evaluate import Evaluation
    from semisvm.tables.sentences import FirstScreen
    from semisvm.tables.summary import Comparison, FitSummary

PATIENCE = 1.0  # seconds before progress is shown
BETWEEN_LINES = 5.0
WIDE = 120
MOST_COLUMNS_SHOWN = 200
STYLES = {"certified": "green", "reached": "green", "missed": "red"}


class Screen:
    """Where a command prints; with `as_json`, stdout holds one JSON object and nothing else."""

    def __init__(self, as_json: bool = False):
        self.as_json = as_json
        self.began = time.monotonic()
        self.spoke = self.began - BETWEEN_LINES
        self._progress: Any = None
        self._task: Any = None
        self._what = ""

    @property
    def console(self) -> Console:
        from rich.console import Console

        is_terminal = sys.stdout.isatty()
        return Console(
            highlight=False, soft_wrap=not is_terminal, width=None if is_terminal else WIDE
        )

    def show(self, values: Any, *words: str) -> None:
        """Print what came of a command: the JSON object, or sentences for people."""
        for line in (json.dumps(values, allow_nan=False),) if self.as_json else words:
            click.echo(line)

    def say(self, words: str) -> None:
        """Print a sentence for people; to stderr if stdout is for JSON."""
        click.echo(words, err=self.as_json)

    def warn(self, words: str) -> None:
        """Print a sentence to stderr."""
        click.echo(words, err=True)

    @contextmanager
    def working(self) -> Iterator[Screen]:
        """Show progress while the block runs."""
        self.began = time.monotonic()
        try:
            yield self
        finally:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def tell(
        self, what: str, done: int | None = None, total: int | None = None, unit: str = ""
    ) -> None:
        """Show progress: the `tell` that `semisvm.tables` calls."""
        now = time.monotonic()
        if now - self.began < PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(what, done, total, unit)
        elif now - self.spoke >= BETWEEN_LINES:
            self.spoke = now
            click.echo(
                f"{what}: {_progress_count(done, total, unit)}({now - self.began:.0f} s)", err=True
            )

    def _draw(self, what: str, done: int | None, total: int | None, unit: str) -> None:
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[count]}"),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        if what != self._what:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._what = what
            self._task = self._progress.add_task(what, total=total, count="")
        count = f"{_progress_count(done, total, unit)}({time.monotonic() - self.began:.0f} s)"
        self._progress.update(self._task, completed=done or 0, total=total, count=count)


screen_option = click.option(
    "--json",
    "screen",
    is_flag=True,
    callback=lambda context, option, as_json: Screen(as_json),
    help="Print one JSON object to stdout, for programs.",
)


def _progress_count(done: int | None, total: int | None, unit: str) -> str:
    return (
        ""
        if not done
        else f"{done:,} "
        + ("" if total is None else f"of {total:,} ")
        + (f"{unit} " if unit else "")
    )


# ---- compiling ----


def is_compiled() -> bool:
    """Whether a run before this one has left machine code on disk."""
    import os
    from pathlib import Path

    import semisvm.dual

    folder = os.environ.get("NUMBA_CACHE_DIR") or Path(semisvm.dual.__file__).parent
    return next(Path(folder).rglob("*.nbi"), None) is not None


# ---- results ----


def show_first(console: Console, answer: FirstScreen) -> None:
    """Print the answer in at most 120 words."""
    from rich.markup import escape

    first, *rest = answer.lines
    style = "red" if answer.status in ("useless", "missed") else "bold"
    console.print(f"[{style}]{escape(first)}[/]")
    for line in rest:
        # A command to copy stays in one piece: the terminal breaks the line, and not the command.
        console.print(escape(with_flags(line)), soft_wrap=True if line.startswith("Next") else None)


def show_columns(console: Console, summary: FitSummary) -> None:
    """Print what each column was taken for, and which were left out and why."""
    from rich.markup import escape

    console.print("[bold]Columns[/]")
    for feature in summary.data.features[:MOST_COLUMNS_SHOWN]:
        remark = f"   ({escape(with_flags(feature.remark))})" if feature.remark else ""
        console.print(f"  {escape(feature.name)}: {feature.type}{remark}")
    if len(summary.data.features) > MOST_COLUMNS_SHOWN:
        console.print(f"  and {len(summary.data.features) - MOST_COLUMNS_SHOWN} more")
    for name, why in summary.data.left_out.items():
        console.print(f"  {escape(name)}: left out, it {escape(why)}")


def show_fit(console: Console, summary: FitSummary) -> None:
    """Print the data, the method, the audit and whether the target is reached."""
    from rich.markup import escape

    from semisvm.tables.sentences import verdict

    data = summary.data
    method = summary.method
    console.print(
        f"[bold]{escape(data.name)}[/]: {counted(data.rows, 'row')}, {data.labeled:,} labeled,"
        f" {data.unlabeled:,} not; {counted(len(data.features), 'column')}; classes"
        f" {escape(', '.join(summary.classes))}"
        + (f" (positive: {escape(summary.positive)})" if summary.positive else "")
    )
    console.print(f"[bold]Method[/]: {method.name} ({method.paper_name}). {escape(method.why)}")
    for name, steps in summary.audits.items():
        _show_audit(console, escape(name), steps)
    said, advice = "", ""
    for name, point in summary.operating_points.items():
        if not point.target.is_constrained:
            continue
        found = verdict(point)
        of = "" if summary.positive else f"{escape(name)}: "
        headline = f"[{STYLES.get(point.status, 'yellow')}]{escape(found.headline)}[/]"
        console.print(f"[bold]{of}{headline}[/] {escape(found.sentence)} {escape(found.basis)}")
        said += found.sentence
        advice = found.advice or advice
    if advice:
        console.print(f"[bold]What to do[/]: {escape(advice)}")
    for note in summary.notes:
        if note not in said:
            console.print(f"- {escape(with_flags(note))}")


def _show_audit(console: Console, name: str, steps: Mapping[str, OperatingPoint]) -> None:
    from rich.table import Table

    from semisvm.tables.sentences import format_estimate

    table = Table(
        f"held-out labels, {name}",
        "precision (90%)",
        "recall",
        "F1",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for step, point in steps.items():
        measures = (format_estimate(one) for one in (point.precision, point.recall, point.f_score))
        table.add_row(step, *measures)
    console.print(table)


def show_comparison(console: Console, found: Comparison) -> None:
    """Print every method beside the supervised one, and the verdict."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        "method", f"{found.measure} (90%)", f"gain over {found.baseline}", "seconds", "", box=None
    )
    for line in found.methods:
        merit = found.shown(line)
        gap = line.difference
        remarks = ["chosen"] if line.name == found.chosen else []
        remarks += [] if line.reaches_target else ["target not reached"]
        table.add_row(
            line.name,
            f"{merit.value:.3f} [{merit.low:.3f}, {merit.high:.3f}]",
            (
                ""
                if line.name == found.baseline
                else f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
            ),
            f"{line.seconds:.1f}",
            ", ".join(remarks),
        )
    console.print(table)
    for name, why in found.left_out.items():
        console.print(f"- {name} was left out: {escape(why)}")
    for line in found.methods:
        for complaint in line.complaints:
            console.print(f"- {line.name}: {escape(complaint)}")
    console.print(f"[bold]Verdict[/]: {escape(found.verdict)}")


def show_evaluation(console: Console, found: Evaluation) -> None:
    """Print what the model gives on labels it has not seen."""
    from rich.markup import escape
    from rich.table import Table

    from semisvm.tables.evaluate import SEEN, say_as_negative
    from semisvm.tables.sentences import format_estimate

    unlabeled = (
        f" (not judged: {counted(found.unlabeled, 'unlabeled row')})" if found.unlabeled else ""
    )
    console.print(
        f"{counted(found.rows, 'labeled row')}{unlabeled}. Accuracy {found.accuracy:.3f}."
    )
    for line in say_as_negative(found.classes, found.as_negative):
        console.print(escape(line))
    if found.was_seen:
        console.print(SEEN)
    if found.not_at_random:
        console.print(
            f"Not drawn at random: {counted(found.not_at_random, 'labeled row')}. Nothing is"
            " measured on them, because they do not stand for the others."
        )
    if found.below_all:
        console.print(
            f"Below the operating point of every class: {counted(found.below_all, 'row')}, which"
            " get the label of the nearest class. Precision and recall of a class are those of the"
            " rows above its own operating point."
        )
    has_costs = any(point.cost is not None for point in found.points.values())
    titles = ["precision (90%)", "recall", "F1", *(["cost per row"] if has_costs else [])]
    table = Table("class", *titles, "asked", "", box=None)
    for name, point in found.points.items():
        measured = [
            point.precision,
            point.recall,
            point.f_score,
            *([point.cost] if has_costs else []),
        ]
        cells = ["" if one is None else format_estimate(one) for one in measured]
        asked = ["", ""]
        if point.target.is_constrained:
            asked = [str(point.target), "reached" if point.reached else "not reached"]
        table.add_row(escape(name), *cells, *asked)
    console.print(table)
    grid = Table("true \\ predicted", *map(escape, found.classes), box=None)
    for name, counts in zip(found.classes, found.confusion, strict=True):
        grid.add_row(escape(name), *(f"{count:,}" for count in counts))
    console.print(grid)
