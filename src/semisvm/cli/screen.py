"""What a person at the terminal sees: summaries, comparisons and evaluations on stdout, progress on
stderr.

Progress is shown once something has taken a second. On a terminal it is one line that is redrawn,
and removed at the end; elsewhere, such as in a log file, it is a plain line every few seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli.options import with_flags
from semisvm.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

    from semisvm.tables.evaluate import Evaluation
    from semisvm.tables.sentences import FirstScreen
    from semisvm.tables.summary import Comparison, FitSummary

PATIENCE = 1.0  # seconds before progress is shown
BETWEEN_LINES = 5.0
WIDE = 120
STYLES = {"certified": "green", "reached": "green", "missed": "red"}


class Screen:
    """Where a command prints; with `as_json`, stdout holds one JSON object and nothing else."""

    def __init__(self, as_json: bool = False):
        self.as_json = as_json
        self.began = time.monotonic()
        self.spoke = self.began - BETWEEN_LINES
        self._status: Any = None

    @property
    def console(self) -> Console:
        from rich.console import Console

        is_terminal = sys.stdout.isatty()
        return Console(
            highlight=False, soft_wrap=not is_terminal, width=None if is_terminal else WIDE
        )

    def show(self, values: Any, *words: str) -> None:
        """Print the result of a command: the JSON object, or sentences for people."""
        for line in (json.dumps(values, allow_nan=False),) if self.as_json else words:
            click.echo(line if self.as_json else with_flags(line))

    def say(self, words: str) -> None:
        """Print a sentence for people; to stderr if stdout is for JSON."""
        if self.as_json:
            self.warn(words)
        else:
            click.echo(words)

    def warn(self, words: str) -> None:
        """Print a sentence to stderr; one that can't be printed, on a full disk, stops nothing."""
        with suppress(OSError):
            click.echo(words, err=True)

    @contextmanager
    def working(self) -> Iterator[Screen]:
        """Show progress while the block runs."""
        self.began = time.monotonic()
        try:
            yield self
        finally:
            if self._status is not None:
                self._status.stop()
                self._status = None

    def tell(
        self, what: str, done: int | None = None, total: int | None = None, unit: str = ""
    ) -> None:
        """Show progress: the `tell` that `semisvm.tables` calls."""
        now = time.monotonic()
        if now - self.began < PATIENCE:
            return
        count = f": {done:,}" if done else ""
        count += f" of {total:,}" if done and total is not None else ""
        count += f" {unit}" if done and unit else ""
        line = f"{what}{count} ({now - self.began:.0f} s)"
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.markup import escape

            if self._status is None:
                self._status = Console(stderr=True).status("")
                self._status.start()
            self._status.update(escape(line))
        elif now - self.spoke >= BETWEEN_LINES:
            self.spoke = now
            self.warn(line)


screen_option = click.option(
    "--json",
    "screen",
    is_flag=True,
    callback=lambda context, option, as_json: Screen(as_json),
    help="Print one JSON object to stdout, for programs.",
)


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


def show_details(console: Console, summary: FitSummary) -> None:
    """Print columns, data, method, audit, and whether the target is reached."""
    from rich.markup import escape

    from semisvm.tables.sentences import verdict, with_interval

    data = summary.data
    method = summary.method
    console.print("\n[bold]Columns[/]")
    for feature in data.features:
        remark = f"   ({escape(with_flags(feature.remark))})" if feature.remark else ""
        console.print(f"  {escape(feature.name)}: {feature.type}{remark}")
    for name, why in data.left_out.items():
        console.print(f"  {escape(name)}: left out, because it {escape(why)}")
    console.print(
        f"[bold]{escape(data.name)}[/]: {counted(data.rows, 'row')}, {data.labeled:,} labeled,"
        f" {data.unlabeled:,} not; {counted(len(data.features), 'column')}; classes"
        f" {escape(', '.join(summary.classes))}"
        + (f" (positive: {escape(summary.positive)})" if summary.positive else "")
    )
    console.print(f"[bold]Method[/]: {method.name} ({method.paper_name}). {escape(method.why)}")
    for name, steps in summary.audits.items():
        titles = [f"held-out labels, {name}", "precision (90% interval)", "recall", "F1"]
        rows = [
            [step, *map(with_interval, (point.precision, point.recall, point.f_score))]
            for step, point in steps.items()
        ]
        _show_table(console, titles, rows)
    said = ""
    advice = ""
    for name, point in summary.operating_points.items():
        if not point.target.is_constrained or point is summary.positives_only:
            continue
        words = verdict(point)
        label = "" if summary.positive else f"{escape(name)}: "
        headline = f"[{STYLES.get(point.status, 'yellow')}]{escape(words.headline)}[/]"
        console.print(f"[bold]{label}{headline}[/] {escape(words.sentence)} {escape(words.basis)}")
        said += words.sentence
        advice = words.advice or advice
    if advice:
        console.print(f"[bold]What to do[/]: {escape(advice)}")
    for note in summary.notes:
        if note not in said:
            console.print(f"- {escape(with_flags(note))}")


def _show_table(console: Console, titles: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(*map(escape, titles), box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Print every method beside the supervised one, and the verdict."""
    from rich.markup import escape

    from semisvm.tables.sentences import comparison_table, left_out_of

    _show_table(console, *comparison_table(comparison))
    for sentence in left_out_of(comparison):
        console.print(f"- {escape(with_flags(sentence))}")
    for method in comparison.methods:
        for complaint in method.complaints:
            console.print(f"- {method.name}: {escape(with_flags(complaint))}")
    console.print(f"[bold]Verdict[/]: {escape(comparison.verdict)}")


def show_evaluation(console: Console, evaluation: Evaluation) -> None:
    """Print what the model gives on labels it has not seen."""
    from rich.markup import escape

    from semisvm.tables.evaluate import say_as_negative
    from semisvm.tables.sentences import with_interval

    unlabeled = ""
    if len(evaluation.pool):
        unlabeled = f" (not counted: {counted(len(evaluation.pool), 'unlabeled row')})"
    rows = counted(len(evaluation.codes), "labeled row")
    console.print(f"{rows}{unlabeled}. Accuracy {evaluation.accuracy:.3f}.")
    for line in say_as_negative(evaluation.classes, evaluation.as_negative):
        console.print(escape(line))
    if evaluation.not_at_random:
        console.print(
            f"Not drawn at random: {counted(evaluation.not_at_random, 'labeled row')}. Nothing is"
            " measured on them, because they are not representative."
        )
    if evaluation.below_all:
        console.print(
            f"Below the operating point of every class: {counted(evaluation.below_all, 'row')},"
            " which get the label of the nearest class. Precision and recall of a class are those"
            " of the rows above its own operating point."
        )
    has_costs = any(point.cost is not None for point in evaluation.points.values())
    titles = ["class", "precision (90% interval)", "recall", "F1"]
    titles += ["cost per row"] if has_costs else []
    lines = []
    for name, point in evaluation.points.items():
        estimates = [point.precision, point.recall, point.f_score]
        estimates += [] if point.cost is None else [point.cost]
        asked = ["", ""]
        if point.target.is_constrained:
            asked = [str(point.target), "reached" if point.reached else "not reached"]
        lines.append([name, *map(with_interval, estimates), *asked])
    _show_table(console, [*titles, "target", ""], lines)
    confusion = [
        [name, *(f"{count:,}" for count in counts)]
        for name, counts in zip(evaluation.classes, evaluation.confusion, strict=True)
    ]
    _show_table(console, ["true \\ predicted", *evaluation.classes], confusion)
