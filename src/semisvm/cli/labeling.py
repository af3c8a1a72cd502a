"""semisvm label and finish."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options
from semisvm.cli.options import CHANCE, FILE, SHARE, option
from semisvm.errors import counted

if TYPE_CHECKING:
    from semisvm.label import LabelSession

ROWS_PER_BUDGET = 5  # files of rows in a budget, by default: larger ones prove less
SMALL = 20  # rows


@click.command()
@click.argument("model_and_data", nargs=-1, required=True, metavar="[MODEL] DATA")
@option("--scores COL", "No model: a column of scores, higher = positive.")
@option("--given COL", "No model: a column of labels by a machine.")
@option("--confidence-column COL", "How sure each given label is.")
@option("--positive CLASS", "The class that the promise is about.")
@option("--min-precision P", "Promise: so many accepted rows are right.", type=SHARE)
@option("--min-recall P", "Promise: so many positive rows are found.", type=SHARE)
@option("--max-error P", "Promise: at most so many of all labels are wrong.", type=SHARE)
@option("--to-improve", "Rows that would teach the model; no promise.", is_flag=True)
@option("--budget N", "How many rows you can label.", type=int)
@option("--confidence P", "The probability that the promise holds.  [default: 0.95]", type=CHANCE)
@option("--rows N", "Files: write N rows to --out.", type=click.IntRange(1))
@option("--out FILE", "Files: the rows to label (.csv).")
@option("--answers FILE", "Files: read the answers.", type=FILE)
@option("--show COL", "Columns to show; by default all.", multiple=True)
@option("--image WxH", "Columns are the pixels of a picture.")
@option("--state FILE", "Where answers are kept.  [default: DATA.label]")
@options.with_options(options.report, options.force, options.as_json)
def label(
    model_and_data: tuple[str, ...],
    rows: int | None,
    out: str | None,
    answers: str | None,
    show: tuple[str, ...],
    image: str | None,
    state: str | None,
    report: str | None,
    force: bool,
    json: bool,
    **wanted: Any,
) -> None:
    """Label rows until a promise is proved: on a page, or with files.

    \b
    semisvm label loans.skops loans.csv --min-precision 0.9
    semisvm label tweets.csv --given ai --confidence-column sure --max-error 0.05
    semisvm label loans.skops loans.csv --min-precision 0.9 --budget 100 --rows 20 --out ask.csv
    semisvm label loans.csv --answers ask.csv
    """  # noqa: D301
    from semisvm.cli import screen
    from semisvm.cli.begin import begin
    from semisvm.label import LabelSession, words
    from semisvm.label.page import Page
    from semisvm.label.server import LabelServer

    *models, data = model_and_data
    if len(models) > 1:
        raise click.UsageError("Name a MODEL and DATA; or only DATA, with --scores or --given.")
    if rows and not out:
        raise click.UsageError("--rows needs --out: the file to write.")
    state = state or str(Path(data).with_suffix(".label"))
    options.check_outputs(force, out, report)
    options.check_not_replaced((*model_and_data, state), (out, report))
    with ExitStack() as stack:
        server = None
        if not (out or answers):
            server = stack.enter_context(LabelServer(lambda text: click.echo(text, err=json)))
        if Path(state).exists():
            session = stack.enter_context(LabelSession.open(state, data))
            _refuse_other_model(session, models)
            _refuse_other_job(session, wanted)
        else:
            session = stack.enter_context(begin(models, data, state, wanted, server))
        if server:
            page = Page(session, show, image)
            server.show(page)
            if page.failure:
                raise page.failure
        _by_files(session, data, answers, rows, out, show, force, json)
        verdict, job = session.verdict(), session.job
        if report:
            from semisvm.report import page_of_session, write_page

            write_page(report, page_of_session(session), force=force)
    if json:
        screen.print_json(verdict.as_dict())
        return
    click.echo(words.verdict_line(verdict))
    if verdict.is_worth_it:
        click.echo(words.promise_line(verdict, job))
    if verdict.is_worth_it or verdict.promise == "none":
        click.echo("Next: " + screen.command("finish", state, "--out", "FINISHED.csv"))


def _by_files(
    session: LabelSession,
    data: str,
    answers: str | None,
    rows: int | None,
    out: str | None,
    show: tuple[str, ...],
    force: bool,
    json: bool,
) -> None:
    """Read a file of answers, write a file of rows, or both."""
    from semisvm.cli import screen

    if answers:
        n_new, n_blank, remarks = session.read_answers(answers)
        for remark in remarks:
            click.echo(remark, err=True)
        blank = f", {counted(n_blank, 'row')} not answered yet" if n_blank else ""
        click.echo(f"{answers}: {counted(n_new, 'new answer')}{blank}.", err=json)
    if not out:
        return
    budget = session.job.budget or 0
    small = max(SMALL, budget // ROWS_PER_BUDGET)
    n = session.write_rows(out, rows or small, show, force=force)
    classes = " or ".join(filter(None, [", ".join(session.classes[:-1]), session.classes[-1]]))
    then = screen.command("label", data, "--state", session.state, "--answers", out)
    click.echo(
        f"{out}: {counted(n, 'row')} to label. Fill in the column your_label ({classes}; ? for"
        f' "don\'t know"), then:\n  {then}'
        if n
        else f"{out}: nothing more to label.",
        err=json,
    )
    if budget and n > small:
        click.echo(
            "Smaller files prove more: which rows are asked depends on earlier answers"
            f" (--rows {small}).",
            err=True,
        )


def _refuse_other_model(session: LabelSession, models: list[str]) -> None:
    """Refuse another model than the one that a session was begun with."""
    from semisvm.errors import DataError
    from semisvm.files import digest_of

    if models and not session.is_of_model(digest_of(models[0])):
        raise DataError(
            f"{session.state}: was not begun with the model {models[0]}. Leave it out to go on, or"
            " begin again with another --state."
        )


def _refuse_other_job(session: LabelSession, wanted: dict[str, Any]) -> None:
    """Refuse options of another job than the one that a session was begun with."""
    from semisvm.errors import DataError
    from semisvm.label import words

    job = session.job
    begun = {name: getattr(job, name) for name in ("budget", "confidence", "positive", "given")}
    begun[job.name] = job.level or True
    for name in ("scores", "confidence_column"):
        if wanted[name] and session.has_scores_of(wanted[name]):
            begun[name] = wanted[name]
    for name, value in wanted.items():
        if value and value != begun.get(name):
            raise DataError(
                f"{session.state}: was begun with: {words.wanted(job)}. Leave"
                f" --{name.replace('_', '-')} out to go on, or begin again with another --state."
            )


@click.command()
@click.argument("state", type=FILE)
@option("--out FILE", "The finished table (.csv).", required=True)
@option("--data FILE", "The data, if it was moved.", type=FILE)
@options.with_options(options.report, options.force, options.as_json)
def finish(
    state: str, out: str, data: str | None, report: str | None, force: bool, json: bool
) -> None:
    """Write every row with its label, and who gave it.

    The new columns are `label` and `labeled_by`: person, machine (proved), file (it had a label
    before), nobody.

    \b
    semisvm finish loans.label --out finished.csv
    """  # noqa: D301
    from semisvm.cli import screen
    from semisvm.label import LabelSession, words
    from semisvm.label.finish import finish as write_finished

    options.check_outputs(force, out, report)
    options.check_not_replaced((state, data), (out, report))
    with LabelSession.open(state, data) as session:
        options.check_not_replaced((str(session.pool.path),), (out, report))
        counts = write_finished(session, out, force=force)
        verdict, job = session.verdict(), session.job
        if report:
            from semisvm.report import page_of_session, write_page

            write_page(report, page_of_session(session), force=force)
    if json:
        screen.print_json(verdict.as_dict() | {"labeled_by": counts})
        return
    click.echo(words.finished(counts, verdict, job, out))
