"""`semisvm label`: answer rows of a campaign one at a time, in the terminal or on a local page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.certify import read_target, say_begun, target_options
from semisvm.cli.screen import Screen

if TYPE_CHECKING:
    from semisvm.campaign.labeling import LabelSession


@shared.command(
    "label",
    "Label rows one by one until a target is certified.",
    "semisvm label spam.skops mails.csv --min-precision 0.9",
    "semisvm label spam.skops mails.csv --web --show subject --show body",
    "semisvm label digits.skops digits.csv --web --image 8x8",
)
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@target_options
@click.option("--state", type=shared.FILE, help="File of the campaign; by default DATA.campaign.")
@click.option(
    "--web",
    is_flag=True,
    help="Answer on a page in a browser on this machine, instead of in the terminal.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=False,
    help="Port of the page; by default any free port.",
)
@click.option(
    "--show",
    multiple=True,
    metavar="COL",
    help="A column to show; may be given more than once. By default they are chosen automatically.",
)
@click.option(
    "--image",
    metavar="8x8[:NAME]",
    help="Show the numeric columns as an image of this size (32x32x3: in color); with :NAME only"
    " columns whose name begins with NAME.",
)
@shared.unlabeled_option
def label_command(
    model: Path,
    data: Path,
    state: Path | None,
    web: bool,
    port: int,
    show: tuple[str, ...],
    image: str | None,
    unlabeled: str | None,
    **asked: Any,
) -> None:
    """Ask for the labels of rows of DATA that are drawn at random, until MODEL's target is proved.

    One row at a time: its cells, a key for each class, "don't know", later, undo, quit. Cells that
    are images (paths, base64 text, pixels by --image) are shown as images, texts with their line
    breaks, the longest first. Every answer is saved at once: run the same command again to
    continue. Neither the score nor the prediction of a row is shown.

    The target is that of the model, or the one given here. It is fixed when the campaign begins.
    """
    from semisvm.campaign.labeling.server import serve_page
    from semisvm.campaign.labeling.terminal import ask_in_terminal
    from semisvm.campaign.ledger import ledger_path
    from semisvm.disk import check_can_write
    from semisvm.tables.label import open_session

    screen = Screen()
    state = data.with_suffix(".campaign") if state is None else state
    check_can_write(state, force=True, inputs=[model, ledger_path(model), data])
    is_new = not state.exists()
    asked = read_target(model, asked)
    if not web and not sys.stdin.isatty():
        raise click.UsageError(
            "Keys are read from a terminal, and stdin is not one. Use --web for a page in a"
            " browser, or semisvm certify start for a CSV file to fill in."
        )
    if not is_new:  # what is not asked for here is as it was when the campaign began
        source = click.get_current_context().get_parameter_source
        given = click.core.ParameterSource.COMMANDLINE
        asked = {name: value for name, value in asked.items() if source(name) is given}
    with screen.working():
        session = open_session(
            model,
            data,
            state,
            show=show,
            image=image,
            unlabeled=unlabeled,
            tell=screen.tell,
            **asked,
        )
    if is_new:
        say_begun(screen, session.campaign)
    if web:
        serve_page(session, port, screen.say)
    else:
        ask_in_terminal(session, screen.console, click.getchar)
    _say_end(screen, session)


def _say_end(screen: Screen, session: LabelSession) -> None:
    """Say what is proved, and how to go on."""
    verdict = session.campaign.verdict()
    state = shared.quoted(Path(session.state or ""))
    screen.say(f"\n{verdict.reason}")
    if verdict.certified:
        screen.say(
            f"Write the certified model: semisvm certify apply {state} --out certified.skops"
        )
    screen.say(
        f"Saved in {session.state}: run the same command to continue. To write the labels for"
        f" training: semisvm certify export {state} --out labels.csv"
    )
