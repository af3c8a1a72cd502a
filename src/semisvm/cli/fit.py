"""`semisvm fit`: a table with few labels -> a model file, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from semisvm.cli import options as shared
from semisvm.cli.screen import Screen

N_SUGGESTED = 10
EXAMPLES = (
    "semisvm fit mails.csv --target spam --out spam.skops",
    "semisvm fit mails.csv --target spam --min-precision 0.9 --out spam.skops --report spam.html",
    "semisvm fit patients.parquet --target ill --positive yes --costs yes=10,no=1 --out ill.skops",
    "semisvm fit labeled.csv --unlabeled-data pool.csv --target topic --method transductive --out topic.skops",
    "semisvm fit big.csv --target y --out y.skops --checkpoint y.parts --resume",
)


@click.command(epilog=shared.examples(*EXAMPLES), short_help="Learn from a table in which few rows have labels.")
@shared.training
@click.option(
    "--method",
    metavar="NAME",
    help="auto, supervised, mixture, self-training, cluster, laplacian, cost, transductive, progressive or preference. "
    "By default preference where a precision or recall is asked for, else auto.",
)
@click.option("--out", required=True, type=shared.FILE, metavar="MODEL", help="The model file to write (.skops).")
@click.option("--report", type=shared.FILE, metavar="FILE", help="Write a report of the fit, one HTML file.")
@click.option("--checkpoint", type=shared.FILE, metavar="DIR", help="Keep every finished solve in a folder.")
@click.option("--resume", is_flag=True, help="Go on with the fit in --checkpoint; begins where there is none.")
@shared.force
@shared.as_json
@click.pass_context
def fit(
    context: click.Context,
    method: str | None,
    out: Path,
    report: Path | None,
    checkpoint: Path | None,
    resume: bool,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from the rows of DATA and write a model file.

    DATA is CSV or TSV (also .gz, .bz2, .xz), Parquet, ARFF, LIBSVM/SVMlight text or npz; several files are one table.
    A row whose target cell is empty is unlabeled. Columns may hold numbers, categories, dates, free text and empty
    cells; what each is, is found out, and can be said by --type.

    Ctrl-C keeps the best so far: the model is written, and the exit code is 130. The exit code is 1 where a precision
    or recall was asked for and the labels say that it is not reached; the model is written then too.
    """
    from semisvm.report import write_report
    from semisvm.tables import save
    from semisvm.tables.fit import fit_model
    from semisvm.tables.suggest import suggest_training_rows
    from semisvm.tables.summary import FitSummary
    from semisvm.tables.writing import check_can_write

    screen = Screen(as_json)
    check_can_write(out, force=force)
    if report is not None:
        check_can_write(report, force=force)
    if resume and checkpoint is None:
        raise click.UsageError("--resume goes on with a checkpoint: say which by --checkpoint DIR.")
    with screen.working():
        screen.tell("Reading the rows")
        training, settings = shared.read_training(options)
        fitted = fit_model(
            training,
            settings,
            method=method,
            tune_kernel=options["tune"],
            most_unlabeled=options["max_unlabeled"],
            checkpoint=checkpoint,
            resume=resume,
            tell=screen.tell,
        )
        save(fitted.model, out, force=force)
        if report is not None:
            suggested = [one.as_dict() for one in suggest_training_rows(fitted.model, training, N_SUGGESTED)]
            write_report(FitSummary.from_dict(fitted.model.facts | {"suggest": suggested}), report, force=force)
    if fitted.checkpoint is not None and not fitted.was_stopped:
        fitted.checkpoint.remove()
    _show(screen, fitted, out, report)
    context.exit(130 if fitted.was_stopped else 0 if fitted.reached else 1)


def _show(screen: Screen, fitted: Any, out: Path, report: Path | None) -> None:
    from semisvm.cli.show import show_fit

    if screen.as_json:
        written = {"model": str(out), "report": None if report is None else str(report)}
        screen.show_json(
            written | {"reached": fitted.reached, "stopped": fitted.was_stopped, "facts": fitted.model.facts}
        )
        return
    show_fit(screen.console, fitted.model.facts)
    if fitted.was_stopped:
        screen.warn("Stopped by Ctrl-C: this is the best so far.")
    screen.say(f"Model: {out}" + (f"   Report: {report}" if report is not None else ""))
