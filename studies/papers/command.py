"""`python -m studies.papers`: rerun the papers' tables and compare ours with theirs.

Exit code 0: every requested cell ran (in a quick run: every cell that can run here, and no stored
verdict became worse). 1: otherwise. 130: stopped by Ctrl-C; finished cells are on record.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid
from rich.text import Text

from studies import papers
from studies.harness.machine import source_digest, usable_cores
from studies.harness.records import RecordsInUseError, read_records
from studies.papers.compare import (
    Comparison,
    compare_table,
    count_verdicts,
    find_worse,
    read_stored,
    store_verdicts,
)
from studies.papers.drawings import draw_figures
from studies.papers.pages import INDEX, line_cells, render_index, render_page
from studies.papers.results import Results, read_results, summarize_paper, write_results
from studies.papers.run import Ending, records_path, run_tables
from studies.papers.tasks import Paper, Table, cells_of

WIDE = 180
DEFAULT_OUT = Path("studies-out") / "papers"
STYLES = {"reproduced": "green", "close": "yellow", "differs": "red", "measured": "dim"}
Chosen = list[tuple[Paper, tuple[Table, ...]]]


@click.command(short_help="Rerun the papers' tables and compare ours with theirs.")
@click.argument("paper", required=False)
@click.argument("table", required=False)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Repetitions of each task; by default the table's own.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the papers' data; by default the environment variable SEMISVM_DATA.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of records, results and pages.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes; by default one per core."
)
@click.option(
    "--quick", is_flag=True, help="Few seeds, small sets; fails if a stored verdict became worse."
)
@click.option(
    "--pages",
    "only_pages",
    is_flag=True,
    help="Run nothing; write the pages of the results in --out again.",
)
@click.option("--list", "only_list", is_flag=True, help="List papers and tables with their sizes.")
@click.option("--store", is_flag=True, hidden=True, help="Store the verdicts of this quick run.")
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
    only_pages: bool,
    only_list: bool,
    store: bool,
) -> None:
    """Rerun the published tables of PAPER (all papers by default), or one TABLE of it.

    Every finished cell is recorded in --out (PAPER.jsonl) and never run again: a run that was
    stopped goes on where it stopped. Records made by an earlier version count too, and the page
    names every version; to start from nothing, choose another --out. The results (PAPER.json), a
    page (PAPER.md), the figures if matplotlib is installed (pip install "semisvm[plots]"), and a
    front page of all papers (README.md) are written to the same folder.
    """
    chosen = _choose(paper, table)
    console = Console(highlight=False)
    if not console.is_terminal:  # a file has no width: no column is cut
        console = Console(highlight=False, width=WIDE)
    if only_list:
        _list(console, chosen, quick)
        return
    # a quick run checks the present source, so it never uses the records of another source
    out = out or (DEFAULT_OUT / f"quick-{source_digest()}" if quick else DEFAULT_OUT)
    exit_code = 0
    for found, tables in chosen:
        ending = None
        if not only_pages:
            ending = _run(
                console, found, tables, out, seeds, quick, data, workers or usable_cores()
            )
        comparisons = _report(console, found, tables, out, quick)
        if ending is None:
            continue
        if ending.interrupted:
            console.print(
                "Stopped. Finished cells are on record: the same command goes on from here."
            )
            context.exit(130)
        all_ran = ending.is_complete and all(comparison.summary for comparison in comparisons)
        if ending.failed or not (all_ran or quick):
            exit_code = 1
        if quick and seeds is None:
            exit_code = max(exit_code, _check(console, found, comparisons, data, store))
    _write_index(out, quick)
    context.exit(exit_code)


def _choose(paper: str | None, table: str | None) -> Chosen:
    try:
        if paper is None:
            return [(found, found.tables) for found in map(papers.find_paper, papers.PAPERS)]
        found = papers.find_paper(paper)
        return [(found, found.tables if table is None else (papers.find_table(found, table),))]
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _list(console: Console, chosen: Chosen, quick: bool) -> None:
    for paper, tables in chosen:
        console.print(f"[bold]{paper.name}[/]  {paper.citation}")
        for table in tables:
            seeds = table.quick_seeds if quick else table.seeds
            size = (
                f"{len(table.lines)} lines, {len(cells_of(table, quick=quick))} cells, {seeds}"
                " seeds"
            )
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
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
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
                progress=lambda done, total: progress.update(bar, completed=done, total=total),
            )
        except RecordsInUseError as error:
            raise click.ClickException(str(error)) from None


def _report(
    console: Console, paper: Paper, tables: tuple[Table, ...], out: Path, quick: bool
) -> list[Comparison]:
    """Print the chosen tables, and write the results and the page of the whole paper."""
    results = _update_results(paper, out)
    everything = []
    for table in tables:
        comparisons = compare_table(table, results, quick=quick)
        everything += comparisons
        if comparisons:
            _print_table(console, paper, table, comparisons)
    counts = ", ".join(f"{count} {word}" for word, count in count_verdicts(everything).items())
    drawings = draw_figures(paper, results, quick=quick)
    for drawing in drawings.values():
        if drawing.svg is not None:
            (out / drawing.file).write_bytes(drawing.svg)
    page = out / f"{paper.name}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_page(paper, results, quick=quick, drawings=drawings), encoding="utf-8")
    console.print(f"{paper.name}: {counts or 'nothing to run'}. Page: {page}\n")
    return everything


def _update_results(paper: Paper, out: Path) -> Results:
    """Summarize the records of the folder if it has some, and return the paper's results."""
    records = read_records(records_path(out, paper))
    if records:
        write_results(summarize_paper(paper, records), _results_path(out, paper))
    return read_results(_results_path(out, paper))


def _results_path(out: Path, paper: Paper) -> Path:
    return out / f"{paper.name}.json"


def _write_index(out: Path, quick: bool) -> None:
    """Write the front page of the folder, with all papers that have results in it."""
    found = [papers.find_paper(name) for name in papers.PAPERS]
    results = [(paper, read_results(_results_path(out, paper))) for paper in found]
    (out / INDEX).write_text(render_index(results, quick=quick), encoding="utf-8")


def _print_table(
    console: Console, paper: Paper, table: Table, comparisons: list[Comparison]
) -> None:
    runnable = [comparison for comparison in comparisons if comparison.verdict != "not runnable"]
    if runnable:
        grid = Grid(
            "setting",
            "method",
            "measure",
            "theirs",
            "ours",
            "seeds",
            "difference",
            "verdict",
            box=None,
        )
        for comparison in runnable:
            style = STYLES.get(comparison.verdict, "")
            grid.add_row(*map(Text, line_cells(comparison)), Text(comparison.verdict, style=style))
        console.print(f"\n[bold]{paper.name}, {table.name}[/]: {table.title}")
        console.print(grid)
    for why in dict.fromkeys(c.why for c in comparisons if c.verdict == "not runnable"):
        lines = sum(c.verdict == "not runnable" and c.why == why for c in comparisons)
        console.print(Text(f"{paper.name}, {table.name}: {lines} lines not runnable: {why}."))


def _check(
    console: Console, paper: Paper, comparisons: list[Comparison], data: Path | None, store: bool
) -> int:
    """Compare a quick run with the stored verdicts; return the exit code."""
    if store:
        store_verdicts(paper.name, comparisons)
    worse = find_worse(comparisons, read_stored().get(paper.name, {}), data)
    for line, before, now in worse:
        console.print(
            f"[red]Became worse[/]: {paper.name} | {line}: was {before}, is {now}", soft_wrap=True
        )
    return 1 if worse else 0
