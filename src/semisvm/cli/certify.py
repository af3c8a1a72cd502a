"""`semisvm certify`: label rows drawn at random from a file until a threshold of a model is
certified.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen, screen_option
from semisvm.errors import counted

if TYPE_CHECKING:
    from semisvm.campaign import Campaign

CERTIFY_EXAMPLES = (
    (
        "semisvm certify start spam.skops mails.csv --min-precision 0.9 --state mails.campaign"
        " --out to-label.csv"
    ),
    "semisvm certify tell mails.campaign to-label.csv --out to-label-2.csv",
    "semisvm certify show mails.campaign",
    "semisvm certify rows mails.campaign --out certified.csv",
    "semisvm certify apply mails.campaign --out spam-certified.skops",
)

target_options = shared.several(
    click.option(
        "--positive",
        metavar="CLASS",
        help="The class that the target is about; of two, the positive one.",
    ),
    shared.min_precision_option,
    shared.min_recall_option,
    click.option("--min-f", type=shared.SHARE, help="Minimum F-score: 0.8 or 80%."),
    click.option(
        "--beta",
        type=shared.NUMBER,
        default=1.0,
        help="Beta of the F-score: above 1 recall counts more.",
    ),
    click.option(
        "--max-cost",
        type=shared.NUMBER,
        metavar="COST",
        help="Maximum cost per row; it needs --costs.",
    ),
    shared.costs_option,
    click.option(
        "--confidence", type=shared.SHARE, default=0.9, help="Probability of the promise."
    ),
    click.option(
        "--claim",
        type=click.Choice(["pool", "new rows"]),
        default="pool",
        help='What the promise is about. "new rows" needs a pool that was not used in training.',
    ),
    click.option(
        "--dont-know",
        type=click.Choice(["bad", "leave out"]),
        default="bad",
        help='What "?" means: an error of the model, or a row that is left out of the promise.',
    ),
    click.option(
        "--error-rate",
        type=shared.SHARE,
        help="Maximum share of the negatives that people label as positive; for --min-precision.",
    ),
    click.option(
        "--budget",
        type=click.IntRange(min=1),
        metavar="LABELS",
        help="Approximate number of labels: draws are planned for the best set after that many.",
    ),
    click.option(
        "--one-look",
        is_flag=True,
        help="With --min-recall and --budget: give a verdict only after the last label. It proves"
        " more.",
    ),
    click.option(
        "--after",
        multiple=True,
        type=shared.FILE,
        metavar="STATE",
        help="An earlier campaign on this task.",
    ),
)
moved_option = click.option(
    "--data", type=shared.FILE, help="New path of the data file, if it was moved."
)


def read_target(model: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a campaign, costs as a pair; refuse a target without sense."""
    from semisvm.decision import Target
    from semisvm.tables.classes import parse_costs
    from semisvm.tables.files import load_table_model
    from semisvm.tables.operating import pair_of_costs

    pair = None
    if asked["costs"] is not None:
        classes = load_table_model(model).classes
        pair = pair_of_costs(parse_costs(asked["costs"], classes), classes.names)
    limits = ("min_precision", "min_recall", "beta", "min_f", "max_cost")
    Target(costs=pair, **{name: asked[name] for name in limits})
    error_rate = asked.pop("error_rate")
    return asked | {"costs": pair} | ({"error_rate": error_rate} if error_rate else {})


def say_begun(screen: Screen, campaign: Campaign) -> None:
    """Say what a campaign is about, how many labels it may take, and the risk of all campaigns."""
    from semisvm.campaign.ledger import ledger_path

    asked = f"{campaign.target} for {campaign.pos_label!r}"
    screen.say(
        f"Campaign {len(campaign.ledger)}: {asked}, {counted(campaign.n_rows, 'row')} without a"
        " label."
    )
    if len(campaign.ledger) > 1:
        screen.say(
            f"The probability that any of the {len(campaign.ledger)} campaigns on this task is"
            f" wrong is at most {campaign.total_risk:.0%}."
        )
    else:
        ledger = ledger_path(campaign.about["model"]).name
        screen.say(
            "No earlier campaign is known. After its first answer, this one is recorded in"
            f" {ledger}, a file beside the model: copy it with the model, or name earlier campaigns"
            " by --after."
        )
    screen.say(f"Expected labels:\n{campaign.prices()}\n")


def _open_campaign(
    state: Path, out: Path | None, force: bool, moved: Path | None = None, answers: Any = ()
) -> Campaign:
    """Load a campaign, none of whose files, moved ones included, `out` may replace."""
    from semisvm.campaign.ledger import ledger_path
    from semisvm.disk import check_can_write
    from semisvm.tables.certify import load_campaign

    campaign = load_campaign(state)
    if out is not None:
        model = Path(campaign.about["model"])
        files = [state, model, ledger_path(model), Path(campaign.about["data"]), *answers]
        check_can_write(out, force=force, inputs=files if moved is None else [*files, moved])
    return campaign


@click.group(
    "certify",
    epilog=shared.list_examples(*CERTIFY_EXAMPLES),
    short_help="Label rows drawn at random until a target is certified.",
)
def certify_command() -> None:
    """Certify a model: label rows that are drawn at random from a pool, and stop as soon as they
    prove the target.

    You may look at the verdict and stop at any time. The promise is about the rows of the pool, and
    holds with probability --confidence over the random draws of rows.
    """


@certify_command.command("start", short_help="Begin a campaign and write the first rows to label.")
@click.argument("model", type=shared.FILE)
@click.argument("data", type=shared.FILE)
@target_options
@shared.state_option
@shared.out_option
@shared.batch_size_option
@shared.unlabeled_option
@shared.force_option
@screen_option
def start_command(
    model: Path,
    data: Path,
    state: Path,
    out: Path,
    n: int,
    after: tuple[Path, ...],
    unlabeled: str | None,
    force: bool,
    screen: Screen,
    **asked: Any,
) -> None:
    """Freeze MODEL, draw rows of DATA that have no label, and write the first ones to label.

    The CSV has the row's number, its cells and an empty label. Fill in class names, "?" for "don't
    know", and leave empty what stays open.
    """
    from semisvm.campaign.ledger import ledger_path
    from semisvm.disk import check_can_write
    from semisvm.tables.batches import write_batch
    from semisvm.tables.certify import start_campaign

    inputs = [model, ledger_path(model), data, *after]
    check_can_write(state, force=force, inputs=[*inputs, out])
    check_can_write(out, force=force, inputs=[*inputs, state])
    asked = read_target(model, asked)
    with screen.working():
        campaign = start_campaign(
            model, data, unlabeled=unlabeled, after=after, tell=screen.tell, **asked
        )
        check_can_write(state, force=force)  # scoring may have taken long
        campaign.save(state, force=force)
        n_rows = write_batch(campaign, n, out, force=force)
    if screen.as_json:
        written = {"state": str(state), "out": str(out) if n_rows else None, "rows": n_rows}
        screen.show(campaign.prices().as_dict() | written)
        return
    say_begun(screen, campaign)
    if n_rows == 0:
        screen.say(f"There is nothing to label. {campaign.verdict().reason}")
    else:
        screen.say(
            f"{counted(n_rows, 'row')} to label: {out} (fill in the column"
            f" {campaign.about['target']!r})"
        )
        screen.say(
            f"Then: semisvm certify tell {shared.quoted(state)} {shared.quoted(out)} --out NEXT.csv"
        )


@certify_command.command("tell", short_help="Read answers and write the next rows to label.")
@shared.state_argument
@click.argument("answers", nargs=-1, type=shared.FILE, metavar="[ANSWERS]...")
@click.option("--out", type=shared.FILE, help="The next file to fill in.")
@click.option(
    "--annotator",
    metavar="NAME",
    help=(
        "Who answered. The first answer to a row counts; others are used to measure agreement. A"
        " tenth of the rows in --out are then rows that others have answered."
    ),
)
@click.option(
    "--for",
    "next_annotator",
    metavar="NAME",
    help="Who is going to answer --out, if not --annotator.",
)
@moved_option
@shared.batch_size_option
@shared.force_option
@screen_option
def tell_command(
    state: Path,
    answers: tuple[Path, ...],
    out: Path | None,
    annotator: str | None,
    next_annotator: str | None,
    data: Path | None,
    n: int,
    force: bool,
    screen: Screen,
) -> None:
    """Read the filled-in files ANSWERS, and say what is proved; with --out, write the next rows to
    label.

    An answer that differs from one given before is a correction: it is counted and shown.
    """
    from semisvm.tables.batches import read_answers, write_batch

    campaign = _open_campaign(state, out, force, data, answers)
    counts = sum((read_answers(campaign, path, annotator) for path in answers), Counter[str]())
    campaign.save(state)
    n_rows = 0
    next_steps = []
    if out is not None:
        n_rows = write_batch(
            campaign,
            n,
            out,
            data=data,
            annotator=next_annotator or annotator,
            force=force,
        )
        next_steps.append(
            f"{counted(n_rows, 'row')} to label: {out}"
            if n_rows
            else "There is nothing left to label."
        )
    verdict = campaign.verdict()
    values = verdict.as_dict() | {"out": str(out) if n_rows else None, "rows": n_rows}
    values |= {name: counts[name] for name in ("n_new", "n_corrected", "n_empty")}
    said = [counted(counts["n_new"], "new answer")]
    said += [f"{counts['n_corrected']} corrected"] if counts["n_corrected"] else []
    said += [f"{counts['n_empty']} left empty, still open"] if counts["n_empty"] else []
    if verdict.certified:
        next_steps.append(
            f"The certified rows: semisvm certify rows {shared.quoted(state)} --out ROWS.csv. The"
            f" model with this threshold: semisvm certify apply {shared.quoted(state)} --out"
            " CERTIFIED.skops"
        )
    screen.show(values, ", ".join(said) + ".", str(verdict), *next_steps)


@certify_command.command("show", short_help="Say what is proved so far.")
@shared.state_argument
@click.option(
    "--report", type=shared.FILE, help="Write the model's report with the campaign in it."
)
@shared.force_option
@screen_option
def show_command(state: Path, report: Path | None, force: bool, screen: Screen) -> int:
    """Say what is proved so far, for every threshold, and what the next step takes.

    The exit code is 1 while nothing is certified.
    """
    from dataclasses import replace

    from semisvm.campaign import claim_in_words, summarize_campaign
    from semisvm.report import write_page
    from semisvm.tables.files import load_table_model

    campaign = _open_campaign(state, report, force)
    verdict = campaign.verdict()
    if report is not None:
        model = Path(campaign.about["model"])
        summary = load_table_model(model).summary
        summary = replace(summary, campaign=summarize_campaign(campaign))
        write_page(summary, report, force=force, model=model.name, reword=shared.with_flags)
    claim = claim_in_words(campaign)
    screen.show(verdict.as_dict() | {"claim_in_words": claim}, f"{claim}\n\n{verdict}")
    if report is not None:
        screen.say(f"Report: {report}")
    return 0 if verdict.certified else 1


@certify_command.command("export", short_help="Write the answered rows with their labels.")
@shared.state_argument
@shared.out_option
@moved_option
@shared.force_option
@screen_option
def export_command(state: Path, out: Path, data: Path | None, force: bool, screen: Screen) -> None:
    """Write the answered rows with their labels: a CSV file to fit the next model with.

    The rows are marked as drawn "by campaign": fit uses them for training, but not for
    measurements.
    """
    from semisvm.tables.batches import write_answers

    campaign = _open_campaign(state, out, force, data)
    n_rows = write_answers(campaign, out, data=data, force=force)
    said = "Nothing is answered yet."
    if n_rows:
        said = f"{counted(n_rows, 'row')} with their labels: {out}"
    screen.show({"out": str(out) if n_rows else None, "rows": n_rows}, said)


@certify_command.command("rows", short_help="Write the certified rows, and why each is accepted.")
@shared.state_argument
@shared.out_option
@moved_option
@shared.force_option
@screen_option
def rows_command(state: Path, out: Path, data: Path | None, force: bool, screen: Screen) -> int:
    """Write the rows of the pool that are certified, as a CSV file: the row's number, why it is
    accepted ("above the threshold" or "found positive"), and its cells.

    The exit code is 1, and no file is written, while nothing is certified.
    """
    from semisvm.campaign import claim_in_words
    from semisvm.campaign.verdict import say_next_step
    from semisvm.tables.batches import write_accepted

    campaign = _open_campaign(state, out, force, data)
    n_rows = write_accepted(campaign, out, data=data, force=force)
    verdict = campaign.verdict()
    values = verdict.as_dict() | {"out": str(out) if n_rows else None, "rows": n_rows}
    if not n_rows:
        screen.show(values, verdict.reason)
        return 1
    said = f"{counted(n_rows, 'row')}, {verdict.n_found:,} of them found positive: {out}"
    next_step = [] if verdict.forecast is None else [say_next_step(verdict)]
    screen.show(values, claim_in_words(campaign), said, *next_step)
    return 0


@certify_command.command("apply", short_help="Write the model with the certified threshold.")
@shared.state_argument
@shared.out_option
@click.option("--model", type=shared.FILE, help="New path of the model, if it was moved.")
@shared.force_option
@screen_option
def apply_command(state: Path, out: Path, model: Path | None, force: bool, screen: Screen) -> None:
    """Write the model with the certified threshold: a model file as any other, for predict and
    evaluate.

    A model has a threshold but no list of rows; the output says which rows the promise is about.
    `semisvm certify rows` writes the certified rows of the pool.
    """
    from semisvm.campaign.record import where_it_holds
    from semisvm.tables import save
    from semisvm.tables.certify import certified_model
    from semisvm.tables.files import check_model_name

    campaign = _open_campaign(state, out, force, model)
    check_model_name(out)
    save(certified_model(campaign, model_path=model), out, force=force)
    verdict = campaign.verdict()
    where = shared.with_flags(where_it_holds(campaign))
    screen.show(
        verdict.as_dict() | {"out": str(out), "where_it_holds": where},
        f"{verdict.reason}\n{where}\nModel: {out}",
    )
