"""`semisvm certify`: label rows drawn at random from a file until a threshold of a model is certified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

CERTIFY_EXAMPLES = (
    "semisvm certify start spam.skops mails.csv --min-precision 0.9 --state mails.campaign --out to-label.csv",
    "semisvm certify tell mails.campaign to-label.csv --out to-label-2.csv",
    "semisvm certify show mails.campaign",
    "semisvm certify apply mails.campaign --out spam-certified.skops",
)

state_argument = click.argument("state", type=shared.FILE)
batch_size_option = click.option(
    "-n", "n", type=click.IntRange(min=1), default=20, show_default=True, help="How many rows to ask for."
)


@click.group("certify", epilog=shared.list_examples(*CERTIFY_EXAMPLES), short_help="Label rows until certified.")
def certify_command() -> None:
    """Certify a model: label rows that are drawn at random from a pool, and stop as soon as they prove the target.

    One may look at any time and stop at any time. The promise is about the rows of the pool, and holds with the
    probability that is asked for over the program's own random draws.
    """


@certify_command.command("start", short_help="Begin a campaign and write the first rows to label.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@click.option("--min-precision", type=float, metavar="P", help="The precision to certify, above 0, at most 1.")
@click.option("--min-recall", type=float, metavar="R", help="The recall to certify, above 0, at most 1.")
@click.option("--min-f", type=float, metavar="F", help="The F-score to certify, above 0, at most 1.")
@click.option("--beta", type=float, default=1.0, show_default=True, help="Of the F-score: above 1 recall counts more.")
@click.option("--max-cost", type=float, metavar="COST", help="The cost per row to certify; it needs --costs.")
@click.option("--costs", metavar="CLASS=COST,...", help="What it costs to take a row of each class for the other.")
@click.option("--confidence", type=float, default=0.9, show_default=True, help="The probability of the promise.")
@click.option(
    "--claim",
    type=click.Choice(["pool", "new rows"]),
    default="pool",
    show_default=True,
    help='What the promise is about. "new rows" needs a pool that took no part in training.',
)
@click.option(
    "--dont-know",
    type=click.Choice(["bad", "leave out"]),
    default="bad",
    show_default=True,
    help='What "?" means: an error of the model, or a row that the promise is not about.',
)
@click.option("--after", multiple=True, type=shared.FILE, metavar="STATE", help="An earlier campaign on this task.")
@click.option("--state", required=True, type=shared.FILE, metavar="FILE", help="Where the campaign is kept.")
@click.option("--out", required=True, type=shared.FILE, metavar="FILE", help="The CSV file to fill in.")
@batch_size_option
@shared.unlabeled_option
@shared.force_option
@shared.json_option
def start_command(
    model: Path,
    data: Path,
    costs: str | None,
    state: Path,
    out: Path,
    n: int,
    after: tuple[Path, ...],
    unlabeled: str | None,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Freeze MODEL, draw rows of DATA that have no label, and write the first ones to label.

    The CSV has the row's number, its cells and an empty label. Fill in class names, "?" for "don't know", and leave
    empty what is to be asked again.
    """
    from semisvm.decision import Target
    from semisvm.tables import load
    from semisvm.tables.batches import write_batch
    from semisvm.tables.certify import keep_campaign, start_campaign
    from semisvm.tables.classes import parse_costs
    from semisvm.tables.disk import check_can_write
    from semisvm.tables.held_out import pair_of_costs

    screen = Screen(as_json)
    for path in (state, out):
        check_can_write(path, force=force)
    pair = None
    if costs is not None:
        classes = load(model).classes
        pair = pair_of_costs(parse_costs(costs, classes), classes.names)
    Target(asked["min_precision"], asked["min_recall"], asked["beta"], pair, None, asked["min_f"], asked["max_cost"])
    with screen.working():
        campaign = start_campaign(model, data, unlabeled=unlabeled, after=after, costs=pair, tell=screen.tell, **asked)
        keep_campaign(campaign, state, force=force)
        n_rows = write_batch(campaign, n, out, force=force)
    if as_json:
        screen.show_json(campaign.prices().as_dict() | {"state": str(state), "out": str(out), "rows": n_rows})
        return
    screen.say(f"Campaign {len(campaign.ledger)}: {campaign.target}, {campaign.n_rows:,} rows without a label.")
    if len(campaign.ledger) > 1:
        screen.say(
            f"The chance that any of these {len(campaign.ledger)} campaigns is wrong is at most "
            f"{campaign.total_risk:.0%}."
        )
    screen.say(f"What it may take:\n{campaign.prices()}")
    screen.say(f"{n_rows} rows to label: {out} (fill in the column {campaign.about['target']!r})")


@certify_command.command("tell", short_help="Read answers and write the next rows to label.")
@state_argument
@click.argument("answers", nargs=-1, type=shared.FILE, metavar="[ANSWERS]...")
@click.option("--out", type=shared.FILE, metavar="FILE", help="The next CSV file to fill in.")
@click.option("--data", type=shared.FILE, metavar="FILE", help="Where the data file is now, if it was moved.")
@batch_size_option
@shared.force_option
@shared.json_option
def tell_command(
    state: Path, answers: tuple[Path, ...], out: Path | None, data: Path | None, n: int, force: bool, as_json: bool
) -> None:
    """Read the filled-in files ANSWERS, and say what is proved; with --out, write the next rows to label.

    An answer that differs from one given before is a correction: it is counted and shown.
    """
    from semisvm.tables.batches import read_answers, write_batch
    from semisvm.tables.certify import load_campaign
    from semisvm.tables.disk import check_can_write

    screen = Screen(as_json)
    if out is not None:
        check_can_write(out, force=force)
    campaign = load_campaign(state)
    told = [read_answers(campaign, path) for path in answers]
    campaign.save(state)
    n_rows = 0 if out is None else write_batch(campaign, n, out, data=data, force=force)
    verdict = campaign.verdict()
    counts = {name: sum(getattr(one, name) for one in told) for name in ("n_new", "n_corrected", "n_empty")}
    if as_json:
        screen.show_json(verdict.as_dict() | counts | {"out": str(out) if n_rows else None, "rows": n_rows})
        return
    said = [f"{counts['n_new']} new answers"]
    said += [f"{counts['n_corrected']} corrected"] if counts["n_corrected"] else []
    said += [f"{counts['n_empty']} left empty, to be asked again"] if counts["n_empty"] else []
    screen.say(", ".join(said) + ".")
    screen.say(str(verdict))
    if n_rows:
        screen.say(f"{n_rows} rows to label: {out}")
    elif out is not None:
        screen.say("There is nothing left to ask.")


@certify_command.command("show", short_help="Say what is proved so far.")
@state_argument
@shared.json_option
@click.pass_context
def show_command(context: click.Context, state: Path, as_json: bool) -> None:
    """Say what is proved so far, for every threshold, and what the next step takes.

    The exit code is 1 while nothing is certified.
    """
    from semisvm.tables.certify import load_campaign

    screen = Screen(as_json)
    verdict = load_campaign(state).verdict()
    if as_json:
        screen.show_json(verdict.as_dict())
    else:
        screen.say(str(verdict))
    context.exit(0 if verdict.certified else 1)


@certify_command.command("apply", short_help="Write the model with the certified threshold.")
@state_argument
@click.option("--out", required=True, type=shared.FILE, metavar="FILE", help="The model file to write.")
@click.option("--model", type=shared.FILE, metavar="FILE", help="Where the model is now, if it was moved.")
@shared.force_option
@shared.json_option
def apply_command(state: Path, out: Path, model: Path | None, force: bool, as_json: bool) -> None:
    """Write the model with the certified threshold: a model file as any other, for predict and evaluate."""
    from semisvm.tables.certify import load_campaign, save_certified_model

    screen = Screen(as_json)
    campaign = load_campaign(state)
    save_certified_model(campaign, out, model_path=model, force=force)
    verdict = campaign.verdict()
    if as_json:
        screen.show_json(verdict.as_dict() | {"out": str(out)})
        return
    screen.say(f"{verdict.reason}\nModel: {out}")
