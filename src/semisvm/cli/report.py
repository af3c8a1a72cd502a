"""`semisvm report`: a model's report, one HTML file that works offline."""

from __future__ import annotations

from pathlib import Path

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

EXAMPLES = (
    "semisvm report spam.skops",
    "semisvm report spam.skops held-out.csv --out held-out.html",
)


@click.command(epilog=shared.examples(*EXAMPLES), short_help="Write the report of a model.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE, required=False)
@click.option("--out", type=shared.FILE, metavar="FILE", help="By default MODEL with the suffix .html.")
@shared.unlabeled
@shared.force
@shared.as_json
def report(model: Path, data: Path | None, out: Path | None, unlabeled: str | None, force: bool, as_json: bool) -> None:
    """Write what is known about MODEL as one HTML file that works offline.

    With DATA the operating point and the scores are measured on its labeled rows, and the rows of it that are worth
    labeling next are listed.
    """
    from semisvm.report import write_report
    from semisvm.tables import load
    from semisvm.tables.summary import FitSummary
    from semisvm.tables.update import facts_on
    from semisvm.tables.writing import check_can_write

    screen = Screen(as_json)
    out = check_can_write(model.with_suffix(".html") if out is None else out, force=force)
    with screen.working():
        facts = facts_on(load(model), data, unlabeled=unlabeled, tell=screen.tell)
        write_report(FitSummary.from_dict(facts), out, force=force)
    if as_json:
        screen.show_json({"report": str(out)})
        return
    screen.say(f"Report: {out}")
