"""semisvm predict, evaluate and monitor."""

from __future__ import annotations

import time

import click

from semisvm.cli import options
from semisvm.cli.options import FILE, SHARE, option
from semisvm.errors import counted

ROWS_OF_A_MONTH = 20


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@option("--out FILE", "The predictions (.csv).", required=True)
@option("--keep COL", "Columns to keep; by default all.", multiple=True)
@options.with_options(options.force, options.as_json)
def predict(
    model: str, data: str, out: str, keep: tuple[str, ...], force: bool, json: bool
) -> None:
    """Predict new rows.

    The new columns are `predicted` (the class) and `score` (above 0: accepted).

    \b
    semisvm predict loans.skops june.csv --out june-predicted.csv --keep id
    """  # noqa: D301
    from semisvm.cli import screen
    from semisvm.tables.model import TableModel

    options.check_outputs(force, out)
    options.check_not_replaced((model, data), (out,))
    start = time.perf_counter()
    fitted = TableModel.load(model)
    with screen.counting(data) as progress:
        result = fitted.predict_file(data, out, keep, force=force, progress=progress)
    if json:
        screen.print_json(result)
        return
    counts = ", ".join(f"{n:,} {name}" for name, n in result["predicted"].items())
    took = time.perf_counter() - start
    click.echo(f"{out}: {counted(result['rows'], 'row')} ({counts}) in {took:.0f} s")
    for remark in result["remarks"]:
        click.echo(remark, err=True)


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@options.as_json
def evaluate(model: str, data: str, json: bool) -> None:
    """Compare predictions with labels that were put aside.

    \b
    semisvm evaluate loans.skops held-out.csv
    """  # noqa: D301
    from semisvm.cli import screen
    from semisvm.tables.frame import read
    from semisvm.tables.model import TableModel

    result = TableModel.load(model).evaluate(read(data), data)
    figures = result.pop("figures")
    if json:
        screen.print_json(result | {name: vars(each) for name, each in figures.items()})
        return
    shown = ", ".join(f"{name} {each}" for name, each in figures.items())
    rows = counted(result["rows"], "labeled row")
    click.echo(f"{data}: {rows}: {shown} (95% intervals)")
    if result["used in the fit"]:
        click.echo(f"Left out: {counted(result['used in the fit'], 'row')} that the fit used.")


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@option("--state FILE", "Where the answers are kept.", required=True)
@option("--min-precision P", "What was promised.", type=SHARE, required=True)
@option("--rows N", "Write N accepted rows to --out.", type=click.IntRange(1))
@option("--out FILE", "The rows to label (.csv).")
@option("--answers FILE", "Read the answers.", type=FILE)
@options.with_options(options.force, options.as_json)
@click.pass_context
def monitor(
    context: click.Context,
    model: str,
    data: str,
    state: str,
    min_precision: float,
    rows: int | None,
    out: str | None,
    answers: str | None,
    force: bool,
    json: bool,
) -> None:
    """Watch a promise on new rows: label a few each month.

    \b
    semisvm monitor loans.skops june.csv --state watch --min-precision 0.8 --rows 20 --out ask.csv
    semisvm monitor loans.skops june.csv --state watch --min-precision 0.8 --answers ask.csv
    """  # noqa: D301
    from semisvm.cli import screen
    from semisvm.files import one_writer
    from semisvm.label.watch import Watch
    from semisvm.tables.model import TableModel

    if rows and not out:
        raise click.UsageError("--rows needs --out: the file to write.")
    options.check_outputs(force, out)
    options.check_not_replaced((model, data, state), (out,))
    with one_writer(state):
        watch = Watch(TableModel.load(model), data, state, min_precision)
        if answers:
            n_new, n_blank, remarks = watch.read_answers(answers)
            for remark in remarks:
                click.echo(remark, err=True)
            blank = f", {counted(n_blank, 'row')} not answered yet" if n_blank else ""
            click.echo(f"{answers}: {counted(n_new, 'answer')}{blank}.", err=json)
        if out:
            n = watch.write_rows(out, rows or ROWS_OF_A_MONTH, force=force)
            click.echo(f"{out}: {counted(n, 'row')} to label.", err=json)
        verdict = watch.verdict()
    if json:
        screen.print_json(verdict.as_dict())
    else:
        click.echo(str(verdict))
    context.exit(int(verdict.alarm))
