"""`semisvm evaluate`: a model held against labels it has not seen."""

from __future__ import annotations

from pathlib import Path

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

EXAMPLES = (
    "semisvm evaluate spam.skops held-out.csv",
    "semisvm evaluate spam.skops held-out.csv --json",
)


@click.command(epilog=shared.examples(*EXAMPLES), short_help="Hold a model against labeled rows.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@shared.unlabeled
@shared.as_json
@click.pass_context
def evaluate(context: click.Context, model: Path, data: Path, unlabeled: str | None, as_json: bool) -> None:
    """Measure MODEL on the labeled rows of DATA, with intervals.

    Use rows that were not used to fit: on those that were, every model looks good. The exit code is 1 where a
    precision or recall was asked for when the model was fitted and DATA does not show it.
    """
    from semisvm.cli.show import show_evaluation
    from semisvm.tables import load
    from semisvm.tables.evaluate import evaluate_file
    from semisvm.tables.facts import plain

    screen = Screen(as_json)
    with screen.working():
        found = evaluate_file(load(model), data, unlabeled=unlabeled, tell=screen.tell)
    facts = plain(found.as_dict())
    if as_json:
        screen.show_json(facts)
    else:
        show_evaluation(screen.console, facts)
    context.exit(0 if found.reached else 1)
