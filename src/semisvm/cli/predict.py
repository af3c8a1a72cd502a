"""`semisvm predict`: rows -> labels, in constant memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

EXAMPLES = (
    "semisvm predict spam.skops new.csv --out labels.csv",
    "semisvm predict spam.skops new.parquet --out labels.parquet --keep id",
)


@click.command(epilog=shared.examples(*EXAMPLES), short_help="Label the rows of a file by a model.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@click.option("--out", required=True, type=shared.FILE, metavar="FILE", help="Where to write: .csv, .tsv or .parquet.")
@click.option("--keep", multiple=True, metavar="COL", help="Copy a column of DATA (a key); may be given again.")
@shared.force
@shared.as_json
def predict(model: Path, data: Path, out: Path, keep: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Write a label, a score and whether it is above the operating point for every row of DATA.

    DATA has the columns that MODEL was fitted to, raw as they were then; other columns are ignored. It is read in
    parts: a file of ten million rows takes the memory of a few thousand.
    """
    from semisvm.tables import load
    from semisvm.tables.predict import predict_file

    screen = Screen(as_json)
    with screen.working():
        found = predict_file(load(model), data, out, keep=keep, force=force, tell=screen.tell)
    if as_json:
        screen.show_json(asdict(found) | {"out": str(out)})
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in found.by_class.items())
    speed = found.rows / max(found.seconds, 1e-9)
    screen.say(f"{found.rows:,} rows: {counts}. {found.seconds:.1f} s, {speed:,.0f} rows a second. Written to {out}")
