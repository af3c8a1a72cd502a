"""semisvm fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from semisvm.cli import options
from semisvm.cli.options import FILE, PAIRS, SHARE, option

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("data", nargs=-1, required=True, type=FILE)
@option("--target COL", "The column of labels; some are empty.", required=True)
@option("--out MODEL", "The model file to write (.skops).", required=True)
@option("--positive CLASS", "The class that precision and recall are about.")
@option("--min-precision P", "Least share of accepted rows that are right.", type=SHARE)
@option("--min-recall P", "Least share of positive rows that are accepted.", type=SHARE)
@option("--costs CLASS=COST", "What an error costs on rows of a class.", **PAIRS)
@option("--unlabeled MARK", "What marks rows without a label.", default="")
@option("--unlabeled-data FILE", "More rows, without labels.", multiple=True, type=FILE)
@option("--drop COL", "A column to leave out.", multiple=True)
@option("--type COL=TYPE", "number, category, date or text.", **PAIRS)
@option("--decimal", "The mark before decimals.", type=click.Choice([".", ","]))
@option("--text-encoder NAME", "A sentence encoder for columns of text.")
@option("--method NAME", "A method by name.", default="autosvc")
@options.report
@option("--seed N", "Of what is drawn at random.", type=int, default=0)
@option("--details", "Print all columns and what was read how.", is_flag=True)
@options.with_options(options.force, options.as_json)
def fit(
    data: tuple[str, ...],
    target: str,
    out: str,
    costs: dict[str, str],
    type: dict[str, str],
    unlabeled: str,
    unlabeled_data: tuple[str, ...],
    report: str | None,
    details: bool,
    force: bool,
    json: bool,
    **how: Any,
) -> None:
    """Fit a model to a table with few labels.

    \b
    semisvm fit loans.csv --target default --out loans.skops
    semisvm fit loans.csv labeled.csv --target default --min-precision 0.8 --out loans.skops
    """  # noqa: D301
    from semisvm.cli import screen
    from semisvm.tables.model import TableModel

    options.at_most_one(min_precision=how["min_precision"], min_recall=how["min_recall"])
    options.check_outputs(force, out, report)
    options.check_not_replaced((*data, *unlabeled_data), (out, report))
    with screen.working() as say:
        say("reading")
        rows = _read_all(data, unlabeled_data, target, unlabeled)
        how |= {"types": type, "costs": _numbers(costs), "unlabeled": unlabeled}
        model = TableModel.fit(rows, target, source=data[0], say=say, **how)
    model.save(out, force=force)
    if report:
        from semisvm.report import page_of_fit, write_page

        write_page(report, page_of_fit(model.summary), force=force)
    if json:
        screen.print_json(model.summary.as_dict())
        return
    click.echo(screen.first_screen(model.summary, out))
    if details:
        click.echo(screen.details(model.summary))


def _numbers(costs: dict[str, str]) -> dict[str, float] | None:
    try:
        return {name: float(cost) for name, cost in costs.items()} or None
    except ValueError:
        raise click.UsageError("--costs: write CLASS=NUMBER, for example yes=5.") from None


def _read_all(
    data: tuple[str, ...], unlabeled_data: tuple[str, ...], target: str, mark: str
) -> pd.DataFrame:
    """All files as one table; those without labels need no column for them."""
    import pandas as pd

    from semisvm.errors import DataError
    from semisvm.tables.frame import read

    frames = [read(path) for path in data]
    for path in unlabeled_data:
        frames.append(read(path).assign(**{target: mark}))
    first = list(frames[0].columns)
    for path, frame in zip([*data, *unlabeled_data], frames, strict=True):
        lacks = [name for name in first if name not in frame.columns]
        if lacks:
            raise DataError(f"{path}: there is no column {lacks[0]!r}, which {data[0]} has.")
    return pd.concat([frame[first] for frame in frames], ignore_index=True)
