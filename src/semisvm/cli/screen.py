"""What the command prints: the first screen of a fit, its details, JSON, and progress."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from semisvm.errors import counted

if TYPE_CHECKING:
    from semisvm.tables.summary import Interval, Summary


def command(*words: Any) -> str:
    """A command to type, with words in quotes where the shell needs them."""
    return " ".join(["semisvm", *(shlex.quote(str(word)) for word in words)])


def print_json(record: Any) -> None:
    """Print a record; what is no number is null."""
    click.echo(json.dumps(_finite(record), ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    value = value.item() if hasattr(value, "item") else value  # of NumPy
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- a fit ----


def first_screen(s: Summary, out: str) -> str:
    """A fit in eight lines or fewer."""
    labels = ", ".join(f"{n:,} {name}" for name, n in s.labels.items())
    columns = ", ".join(f"{n} {kind}" for kind, n in s.n_columns().items())
    lines = [
        f"{s.data}: {counted(sum(s.labels.values()), 'label')} ({labels}),"
        f" {counted(s.n_unlabeled, 'row')} without; columns: {columns}"
    ]
    if s.left_out:
        name, why = next(iter(s.left_out.items()))
        lines.append(f"Left out: {name!r} {why}{_more(len(s.left_out))}")
    if s.remarks:
        name, remark = next(iter(s.remarks.items()))
        lines.append(f"Read: {name!r}: {remark}{_more(len(s.remarks))}")
    if s.figures:
        lines.append(figures_line(s))
    if s.gain:
        lines.append(gain_line(s.gain))
    lines.append(f"Model: {out} ({s.seconds:.0f} s)")
    then = [command("predict", out, "NEW.csv", "--out", "PREDICTED.csv")]
    if s.n_unlabeled and s.positive:
        then.insert(0, command("label", out, s.data, "--min-precision", 0.9))
    lines.append("Next: " + "     or: ".join(then))
    return "\n".join(lines)


def _more(n: int) -> str:
    return f"; and {n - 1} more (--details)" if n > 1 else ""


def figures_line(s: Summary) -> str:
    """What the threshold is for, and what it gives on labels left out of the fit."""
    figures = ", ".join(f"{name} {each}" for name, each in s.figures.items())
    accepted = f"rows accepted as {s.positive!r}: " if s.positive else ""
    nearest = "" if s.is_reached else " (no threshold reaches it: the nearest)"
    return f"Threshold for {s.wants}{nearest}; on labels left out of the fit, {accepted}{figures}"


def gain_line(gain: Interval) -> str:
    """What the labels say about the gain over a supervised model."""
    clear = "better" if gain.low > 0 else "worse" if gain.high < 0 else "no clear difference"
    return (
        f"Against a supervised SVM of the same labels: {clear} (ROC AUC {gain.value:+.3f},"
        f" {gain.low:+.3f} to {gain.high:+.3f})"
    )


def details(s: Summary) -> str:
    """All columns, what was read how, and the parts of an average."""
    lines = [f"{kind + ':':10} {name}" for name, kind in s.columns.items()]
    lines += [f"left out:  {name!r} {why}" for name, why in s.left_out.items()]
    lines += [f"read:      {name!r}: {remark}" for name, remark in s.remarks.items()]
    lines += [f"weight {weight:.2f}: {name}" for name, weight in s.weights.items()]
    return "\n".join(lines)


# ---- progress: only where a person looks on ----


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Show what is being done; gives a function that is called with it."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda stage: status.update(stage)


@contextmanager
def counting(path: str) -> Iterator[Callable[[int], None]]:
    """Show how many rows of a file are done; gives a function that is called with new ones."""
    if not sys.stderr.isatty():
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} rows", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path, total=None)
        yield lambda n: bar.advance(task, n)
