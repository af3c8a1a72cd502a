"""`semisvm compare`: every method beside the supervised baseline."""

from __future__ import annotations

from typing import Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

EXAMPLES = (
    "semisvm compare mails.csv --target spam",
    "semisvm compare mails.csv --target spam --method transductive --method cluster --tune",
    "semisvm compare mails.csv --target spam --costs spam=1,ham=20 --json",
)


@click.command(
    epilog=shared.examples(*EXAMPLES), short_help="Do the unlabeled rows help? Every method on the same folds."
)
@shared.training
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Only these methods; may be given again.")
@shared.as_json
@click.pass_context
def compare(context: click.Context, methods: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Compare methods on the labeled rows of DATA, each row predicted by fits that have not seen its label.

    The measure is balanced accuracy (the mean of the classes' recalls), or with --costs the expected cost of a row.
    Intervals are of 90%. "chosen" is what `semisvm fit --method auto` takes: the simplest method within one standard
    error of the best.

    Ctrl-C shows the methods that are done (exit code 130).
    """
    from semisvm.cli.show import show_comparison
    from semisvm.tables.facts import plain
    from semisvm.tables.fit import compare_on

    screen = Screen(as_json)
    with screen.working():
        screen.tell("Reading the rows")
        training, settings = shared.read_training(options)
        found = compare_on(
            training,
            settings,
            methods,
            most_unlabeled=options["max_unlabeled"],
            tune_kernel=options["tune"],
            tell=screen.tell,
        )
    facts = plain(found.as_dict())
    if as_json:
        screen.show_json(facts | {"notes": training.notes})
    else:
        show_comparison(screen.console, facts)
        for note in training.notes:
            screen.say(f"- {note}")
    context.exit(130 if found.was_stopped else 0)
