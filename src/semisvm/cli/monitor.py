"""`semisvm monitor`: an alarm when a model in use no longer keeps its promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen, screen_option
from semisvm.errors import counted

MONITOR_EXAMPLES = (
    "semisvm monitor draw spam-certified.skops june.csv --state spam.monitor --out june-20.csv",
    "semisvm monitor tell spam.monitor june-20.csv",
    "semisvm monitor show spam.monitor",
)


@click.group(
    "monitor", epilog=shared.list_examples(*MONITOR_EXAMPLES), short_help="Watch a model in use."
)
def monitor_command() -> None:
    """Watch a model in use: label a few rows of each new file, and get an alarm when the promise no
    longer holds.

    Monitors raise a false alarm in at most 5% of all cases (--risk), however long they run. The
    exit code is 1 after an alarm.
    """


@monitor_command.command("draw", short_help="Score new rows and write some of them to label.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@shared.state_option
@shared.out_option
@click.option("--positive", metavar="CLASS", help="The class that the promise is about.")
@shared.min_precision_option
@shared.min_recall_option
@click.option("--risk", type=shared.SHARE, help="Probability of a false alarm.  [default: 0.05]")
@shared.batch_size_option
@shared.unlabeled_option
@shared.force_option
@screen_option
def draw_command(
    model: Path,
    data: Path,
    state: Path,
    out: Path,
    positive: str | None,
    n: int,
    unlabeled: str | None,
    force: bool,
    screen: Screen,
    **options: Any,
) -> int:
    """Score the rows of DATA by MODEL, say what has changed since the fit, and write rows to label.

    The first call starts the monitor in --state; later calls continue it. The promise is that of
    the model, unless it is given here. Fill in the file as for certify: class names, "?" for "don't
    know".
    """
    from semisvm.disk import check_can_write
    from semisvm.tables.column_checks import say_moved
    from semisvm.tables.monitor import draw_batch, open_monitor

    check_can_write(out, force=force, inputs=[model, data, state])
    given = {name: value for name, value in options.items() if value is not None}
    with screen.working():
        monitor = open_monitor(model, state, positive=positive, **given)
        moved = draw_batch(
            monitor, data, n, out, unlabeled=unlabeled, force=force, tell=screen.tell
        )
        monitor.save(state)
    verdict = monitor.verdict()
    n_rows = len(monitor.batches[-1].drawn)
    said = [f"{verdict}{say_moved(moved)}"]
    if n_rows:
        said.append(f"{counted(n_rows, 'row')} to label: {out}")
        said.append(f"Then: semisvm monitor tell {shared.quoted(state)} {shared.quoted(out)}")
    else:
        said.append("No row was drawn, so there is nothing to label.")
    values = {"columns_moved": moved, "out": str(out) if n_rows else None, "rows": n_rows}
    screen.show(verdict.as_dict() | values, *said)
    return 1 if verdict.alarm else 0


@monitor_command.command("tell", short_help="Read answers and say whether there is an alarm.")
@shared.state_argument
@click.argument("answers", nargs=-1, required=True, type=shared.FILE, metavar="ANSWERS...")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="K",
    help="Number of the batch that was answered, from 1; by default the last one.",
)
@screen_option
def tell_command(state: Path, answers: tuple[Path, ...], batch: int | None, screen: Screen) -> int:
    """Read the filled-in files ANSWERS, and say whether the promise still holds."""
    from semisvm.tables.monitor import load_monitor, read_monitor_answers

    monitor = load_monitor(state)
    n_answers = sum(read_monitor_answers(monitor, path, batch) for path in answers)
    monitor.save(state)
    verdict = monitor.verdict()
    screen.show(
        verdict.as_dict() | {"n_answers": n_answers},
        f"{counted(n_answers, 'answer')}.",
        str(verdict),
    )
    return 1 if verdict.alarm else 0


@monitor_command.command("show", short_help="Say what is known so far.")
@shared.state_argument
@screen_option
def show_command(state: Path, screen: Screen) -> int:
    """Say whether there is an alarm, and what has changed."""
    from semisvm.tables.monitor import load_monitor

    verdict = load_monitor(state).verdict()
    screen.show(verdict.as_dict(), str(verdict))
    return 1 if verdict.alarm else 0
