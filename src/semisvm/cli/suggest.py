"""`semisvm suggest`: the rows worth labeling next."""

from __future__ import annotations

from pathlib import Path

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

EXAMPLES = (
    "semisvm suggest spam.skops mails.csv -n 50 --out to-label.csv",
    "semisvm fit mails.csv to-label.csv --target spam --out spam-2.skops",
)


@click.command(epilog=shared.examples(*EXAMPLES), short_help="Which rows to label next.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@click.option("-n", "n", type=click.IntRange(min=1), default=50, show_default=True, help="How many rows.")
@click.option("--out", required=True, type=shared.FILE, metavar="FILE", help="The CSV to fill in.")
@shared.unlabeled
@shared.force
@shared.as_json
def suggest(model: Path, data: Path, n: int, out: Path, unlabeled: str | None, force: bool, as_json: bool) -> None:
    """Write the rows of DATA that MODEL is least sure of, spread out so that no two tell the same.

    The CSV has the columns of DATA and an empty target. Fill it in and give it to fit beside DATA: a row that comes
    again with a label counts once.
    """
    from semisvm.tables import load
    from semisvm.tables.suggest import suggest_rows, write_suggestions
    from semisvm.tables.writing import check_can_write

    screen = Screen(as_json)
    check_can_write(out, force=force)
    with screen.working():
        loaded = load(model)
        found = suggest_rows(loaded, data, n, unlabeled=unlabeled, tell=screen.tell)
        write_suggestions(loaded, found, out, force=force)
    if as_json:
        screen.show_json({"out": str(out), "rows": [one.as_dict() for one in found]})
        return
    screen.say(f"{len(found)} rows to label: {out} (fill in the column {loaded.target!r})")
