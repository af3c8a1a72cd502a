"""`semisvm label`: answer the rows of a campaign one at a time, in the terminal or on a local page."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.certify import read_target, say_begun, target_options
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    from rich.console import Console

    from semisvm.tables.label import LabelSession, RowToLabel

LABEL_EXAMPLES = (
    "semisvm label spam.skops mails.csv --min-precision 0.9",
    "semisvm label spam.skops mails.csv --web",
)
LONGEST_CELL = 2_000  # characters that are shown of one cell
UNSURE, LATER, UNDO, QUIT = "?", "l", "u", "q"
ENDS = (QUIT, "\x03", "\x04", "")  # Ctrl-C, Ctrl-D, no more input
UNDOES = (UNDO, "\x08", "\x7f")  # backspace


@click.command(
    "label", epilog=shared.list_examples(*LABEL_EXAMPLES), short_help="Label rows one by one, until certified."
)
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@target_options
@click.option("--state", type=shared.FILE, metavar="FILE", help="Where the campaign is kept; by default DATA.campaign.")
@click.option("--web", is_flag=True, help="Answer on a page in a browser on this machine, instead of in the terminal.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the page; by default any that is free.")
@shared.unlabeled_option
@click.pass_context
def label_command(
    context: click.Context,
    model: Path,
    data: Path,
    state: Path | None,
    web: bool,
    port: int,
    unlabeled: str | None,
    **asked: Any,
) -> None:
    """Ask for the labels of rows of DATA that are drawn at random, until MODEL's target is proved.

    One row at a time: its cells, a key for each class, "don't know", later, undo, quit. Every answer is saved at once:
    the same command goes on where it ended. Neither the score nor the prediction of a row is shown.

    The target is the one that the model was fitted for, or the one given here. It is fixed when the campaign begins.
    """
    from semisvm.tables.disk import check_can_write
    from semisvm.tables.label import open_session

    screen = Screen()
    state = data.with_suffix(".campaign") if state is None else state
    check_can_write(state, force=True, inputs=[model, data])
    is_new = not state.exists()
    asked = read_target(model, asked)
    if not web:
        _require_terminal()
    if not is_new:  # what is not asked for here is as it was when the campaign began
        asked = {name: value for name, value in asked.items() if _is_given(context, name)}
    with screen.working():
        session = open_session(model, data, state, unlabeled=unlabeled, tell=screen.tell, **asked)
    if is_new:
        say_begun(screen, session.campaign)
    if web:
        from semisvm.cli.label_page import serve_page

        serve_page(session, port, screen.say)
    else:
        ask_in_terminal(session, screen.console, click.getchar)
    _say_end(screen, session)


def ask_in_terminal(session: LabelSession, console: Console, read_key: Callable[[], str]) -> None:
    """Ask for one row after the other until the person quits or there is nothing left to ask.

    `read_key` returns the next key that was pressed.
    """
    hint = ""
    while (row := session.row()) is not None:
        _show_row(session, console, row, hint)
        key = _next_key(read_key)
        hint = ""
        if key in ENDS:
            return
        if key in session.keys:
            session.answer(row.place, session.keys[key])
        elif key == UNSURE:
            session.answer(row.place, None)
        elif key == LATER:
            session.postpone(row.place)
        elif key in UNDOES:
            hint = "" if session.undo() else "There is no answer to take back."
        else:
            hint = "This key has no meaning here."
    console.print("There is nothing left to ask.")


def _show_row(session: LabelSession, console: Console, row: RowToLabel, hint: str) -> None:
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    progress = session.progress()
    console.clear()
    console.print(Text(progress.sentence, style="bold green" if progress.is_certified else "bold"))
    console.print(Rule(Text(f"row {row.number:,} of {session.data.name}"), align="left"))
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True, max_width=30)
    grid.add_column(overflow="fold")
    for name, cell in row.cells.items():
        grid.add_row(Text(printable(name)), Text("" if cell is None else printable(str(cell))))
    console.print(grid if row.cells else Text("The file has no named columns: look the row up by its number."))
    console.print(Rule())
    keys = [f"[{key}] {printable(name)}" for key, name in session.keys.items()]
    keys += [f"[{UNSURE}] don't know", f"[{LATER}] later"]
    keys += [f"[{UNDO}] undo"] if progress.can_undo else []
    console.print(Text("   ".join([*keys, f"[{QUIT}] quit"])))
    if hint:
        console.print(Text(hint, style="yellow"))


def printable(text: str) -> str:
    """Return a text without characters that would move the cursor or change colors; a long one is cut."""
    shown = text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + " ..."
    return "".join(
        char if char in "\n\t" or unicodedata.category(char)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for char in shown
    )


def _next_key(read_key: Callable[[], str]) -> str:
    try:
        return read_key().lower()
    except (EOFError, KeyboardInterrupt):
        return QUIT


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _require_terminal() -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "Keys are read from a terminal, and stdin is none. Use --web for a page in a browser, or semisvm certify "
            "start for a CSV file to fill in."
        )


def _say_end(screen: Screen, session: LabelSession) -> None:
    """Say what is proved, and how to go on."""
    verdict = session.campaign.verdict()
    screen.say(f"\n{verdict.reason}")
    if verdict.certified:
        screen.say(f"Write the certified model: semisvm certify apply {session.state} --out certified.skops")
    screen.say(
        f"Saved in {session.state}: the same command goes on. For training the labels are written by: "
        f"semisvm certify export {session.state} --out labels.csv"
    )
