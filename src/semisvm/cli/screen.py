"""What a person at the terminal sees: results on stdout, progress on stderr.

Progress is shown once something has taken a second. On a terminal it is one line that is redrawn, and removed at the
end; elsewhere, such as in a log file, it is a plain line every few seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 1.0  # seconds before progress is shown
BETWEEN_LINES = 5.0
WIDE = 120


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
        return Console(highlight=False, soft_wrap=not is_terminal, width=None if is_terminal else WIDE)

    def show_json(self, values: Any) -> None:
        """Print the JSON object."""
        click.echo(json.dumps(values, allow_nan=False))

    def say(self, words: str) -> None:
        """Print a sentence for people; to stderr if stdout is for JSON."""
        click.echo(words, err=self.as_json)

    def warn(self, words: str) -> None:
        """Print a sentence to stderr."""
        click.echo(words, err=True)

    @contextmanager
    def working(self) -> Iterator[Screen]:
        """Show progress while the block runs."""
        try:
            yield self
        finally:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def tell(self, what: str, done: int | None = None, total: int | None = None, unit: str = "") -> None:
        """Show progress: the `tell` that `semisvm.tables` calls."""
        now = time.monotonic()
        if now - self.began < PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(what, done, total, unit)
        elif now - self.spoke >= BETWEEN_LINES:
            self.spoke = now
            click.echo(f"{what}: {_progress_count(done, total, unit)}({now - self.began:.0f} s)", err=True)

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
            self._what, self._task = what, self._progress.add_task(what, total=total, count="")
        count = f"{_progress_count(done, total, unit)}({time.monotonic() - self.began:.0f} s)"
        self._progress.update(self._task, completed=done or 0, total=total, count=count)


def _progress_count(done: int | None, total: int | None, unit: str) -> str:
    return "" if not done else f"{done:,} " + ("" if total is None else f"of {total:,} ") + (f"{unit} " if unit else "")
