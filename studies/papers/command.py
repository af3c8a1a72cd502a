"""`semisvm reproduce`: the papers' tables, ours beside theirs.

Exit code 0: every cell asked for ran (in a quick run: every cell that can run here, and every verdict that held
still does). 1: not so. 130: stopped by Ctrl-C, with what was finished on record.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from studies.harness import Comparison, Ending, Paper, Table

WIDE = 180
DEFAULT_OUT = Path("reproduce-out")
STYLES = {"reproduced": "green", "close": "yellow", "differs": "red", "measured": "dim"}


@click.command(short_help="Rerun the papers' tables, ours beside theirs.")
@click.argument("paper", required=False)
@click.argument("table", required=False)
@click.option("--seeds", type=click.IntRange(min=1), help="Repetitions of each task; by default the table's own.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the papers' data; by default the environment variable SEMISVM_DATA.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of records and pages.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one a core.")
@click.option("--quick", is_flag=True, help="Few seeds, small sets; fails when a verdict that held does not.")
@click.option("--list", "only_list", is_flag=True, help="List papers and tables and what they take.")
@click.option("--store", is_flag=True, hidden=True, help="Store this quick run's verdicts as what holds.")
@click.pass_context
def reproduce(
    context: click.Context,
    paper: str | None,
    table: str | None,
    seeds: int | None,
    data: Path | None,
    out: Path | None,
    workers: int | None,
    quick: bool,
    only_list: bool,
    store: bool,
) -> None:
    """Rerun the published tables of PAPER (all papers by default) or its one TABLE.

    Every finished cell is on record in --out and never run again: a run that was stopped goes on where it was.
    Records made by an earlier version count too, and the page names every version: for a fresh start choose another
    --out. A page of results, PAPER.md, is written beside the records, with the figures of the paper where matplotlib is
    installed (pip install "semisvm[plots]"), and a front page over all papers, README.md.
    """
    from rich.console import Console

    from studies.harness.machine import source_digest, usable_cores

    chosen = _choose(paper, table)
    console = Console(highlight=False)
    if not console.is_terminal:  # a file has no width: let no column be cut
        console = Console(highlight=False, width=WIDE)
    if only_list:
        _list(console, chosen, quick)
        return
    # a quick run is a check of this very source, so it never counts another's records
    out = out or (DEFAULT_OUT / f"quick-{source_digest()}" if quick else DEFAULT_OUT)
    exit_code = 0
    for found, tables in chosen:
        ending = _run(console, found, tables, out, seeds, quick, data, workers or usable_cores())
        comparisons = _report(console, found, tables, out, quick)
        if ending.interrupted:
            console.print("Stopped. Finished cells are on record: the same command goes on from here.")
            context.exit(130)
        all_ran = ending.is_complete and all(comparison.summary for comparison in comparisons)
        if ending.failed or not (all_ran or quick):
            exit_code = 1
        if quick and seeds is None:
            exit_code = max(exit_code, _check(console, found, comparisons, data, store))
    _write_index(out, quick)
    context.exit(exit_code)


def _choose(paper: str | None, table: str | None) -> list[tuple[Paper, tuple[Table, ...]]]:
    from studies.harness import PAPERS, find_paper, find_table

    try:
        if paper is None:
            return [(found, found.tables) for found in map(find_paper, PAPERS)]
        found = find_paper(paper)
        return [(found, found.tables if table is None else (find_table(found, table),))]
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _list(console: Console, chosen: list[tuple[Paper, tuple[Table, ...]]], quick: bool) -> None:
    from studies.harness.tasks import cells_of

    for paper, tables in chosen:
        console.print(f"[bold]{paper.name}[/]  {paper.citation}")
        for table in tables:
            seeds = table.quick_seeds if quick else table.seeds
            size = f"{len(table.lines)} lines, {len(cells_of(table, quick=quick))} cells, {seeds} seeds"
            console.print(f"  {table.name:<14} {table.title}: {size}")


def _run(
    console: Console,
    paper: Paper,
    tables: tuple[Table, ...],
    out: Path,
    seeds: int | None,
    quick: bool,
    data: Path | None,
    workers: int,
) -> Ending:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from studies.harness import run_tables
    from studies.harness.records import RecordsInUseError

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(paper.name, total=None)
        try:
            return run_tables(
                paper,
                tables,
                out,
                seeds=seeds,
                quick=quick,
                data_dir=data,
                workers=workers,
                tell=lambda done, total: progress.update(bar, completed=done, total=total),
            )
        except RecordsInUseError as error:
            raise click.ClickException(str(error)) from None


def _report(console: Console, paper: Paper, tables: tuple[Table, ...], out: Path, quick: bool) -> list[Comparison]:
    """Print the tables that were asked for, and write the page of the whole paper."""
    from studies.harness import compare_table, count_verdicts, draw_figures, read_records, records_path, render

    records = read_records(records_path(out, paper))
    everything = []
    for table in tables:
        comparisons = compare_table(table, records, quick=quick)
        everything += comparisons
        if comparisons:
            _print_table(console, paper, table, comparisons)
    counts = ", ".join(f"{count} {word}" for word, count in count_verdicts(everything).items())
    page = out / f"{paper.name}.md"
    out.mkdir(parents=True, exist_ok=True)
    drawings = draw_figures(paper, records, quick=quick)
    for drawing in drawings.values():
        if drawing.svg is not None:
            (out / drawing.file).write_bytes(drawing.svg)
    page.write_text(render(paper, records, quick=quick, drawings=drawings), encoding="utf-8")
    console.print(f"{paper.name}: {counts or 'nothing to run'}. Page: {page}\n")
    return everything


def _write_index(out: Path, quick: bool) -> None:
    """Write the front page of the folder, over all papers that have records in it."""
    from studies.harness import INDEX, PAPERS, find_paper, render_index

    (out / INDEX).write_text(render_index([find_paper(name) for name in PAPERS], out, quick=quick), encoding="utf-8")


def _print_table(console: Console, paper: Paper, table: Table, comparisons: list[Comparison]) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    from studies.harness.wording import cells

    runnable = [comparison for comparison in comparisons if comparison.verdict != "not runnable"]
    if runnable:
        grid = Grid("setting", "method", "measure", "theirs", "ours", "seeds", "difference", "verdict", box=None)
        for comparison in runnable:
            style = STYLES.get(comparison.verdict, "")
            grid.add_row(*map(Text, cells(comparison)), Text(comparison.verdict, style=style))
        console.print(f"\n[bold]{paper.name}, {table.name}[/]: {table.title}")
        console.print(grid)
    for why in dict.fromkeys(c.why for c in comparisons if c.verdict == "not runnable"):
        lines = sum(c.verdict == "not runnable" and c.why == why for c in comparisons)
        console.print(Text(f"{paper.name}, {table.name}: {lines} lines not runnable: {why}."))


def _check(console: Console, paper: Paper, comparisons: list[Comparison], data: Path | None, store: bool) -> int:
    """Hold a quick run against what held before; return the exit code."""
    from studies.harness.expectation import broken, read_expectation, store_expectation

    if store:
        store_expectation(paper.name, comparisons)
    worse = broken(comparisons, read_expectation().get(paper.name, {}), data)
    for line, before, now in worse:
        console.print(f"[red]No longer holds[/]: {paper.name} | {line}: was {before}, is {now}", soft_wrap=True)
    return 1 if worse else 0
