"""A paper's tables, run: what is left to do is done, recorded as it comes, and can be stopped at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.harness.machine import describe_session
from studies.harness.methods import missing
from studies.harness.pool import run_cells
from studies.harness.records import Journal, cell_key, describe_cell, left_to_run, read_records
from studies.harness.sources import missing_data
from studies.harness.tasks import Cell, Paper, Table, cells_of

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Ending:
    """How a run ended: cells asked for, done now, done before, failed, and those that can't run here."""

    asked: int = 0
    done: int = 0
    before: int = 0
    failed: int = 0
    not_runnable: int = 0
    interrupted: bool = False

    @property
    def is_complete(self) -> bool:
        """Did every cell run?"""
        return self.done + self.before == self.asked


def records_path(out: Path, paper: Paper) -> Path:
    """Return the file of a paper's records."""
    return out / f"{paper.name}.jsonl"


def run_tables(
    paper: Paper,
    tables: Sequence[Table],
    out: Path,
    *,
    seeds: int | None = None,
    quick: bool = False,
    data_dir: Path | None = None,
    workers: int = 1,
    tell: Tell = lambda done, total: None,
) -> Ending:
    """Run every cell of the tables that has no finished record yet.

    Parameters
    ----------
    paper, tables : Paper, sequence of Table
        What to run, and whose records it becomes.
    out : Path
        The folder of the records; `records_path` names the file in it.
    seeds : int, optional
        How often tasks are repeated; by default as often as each table says.
    quick : bool
        Only the lines of the quick run, with its fewer repetitions.
    data_dir : Path, optional
        The papers' data; by default the environment variable SEMISVM_DATA.
    workers : int
        Processes, of one thread each.
    tell : callable
        Told the cells finished and the cells in all, as often as that changes.
    """
    asked = {cell.key: cell for table in tables for cell in cells_of(table, seeds=seeds, quick=quick)}
    if not asked:
        return Ending()
    path = records_path(out, paper)
    with Journal(path, describe_session()) as journal:
        records = read_records(path)
        left = left_to_run(asked.values(), records)
        reasons = {cell.key: _hindrance(cell, data_dir) for cell in left}
        runnable = sorted((cell for cell in left if not reasons[cell.key]), key=lambda cell: cell.task.slow)
        hindered = [cell for cell in left if reasons[cell.key]]
        _record_hindered(journal, records, hindered, reasons)
        count = {"done": 0, "failed": 0}
        interrupted = False
        before = len(asked) - len(left)
        tell(before, len(asked) - len(hindered))
        try:
            for record in run_cells(runnable, workers=workers, data_dir=data_dir):
                journal.append(record)
                count[record["outcome"]] += 1
                tell(before + sum(count.values()), len(asked) - len(hindered))
        except KeyboardInterrupt:
            interrupted = True
    return Ending(len(asked), count["done"], before, count["failed"], len(hindered), interrupted)


def _hindrance(cell: Cell, data_dir: Path | None) -> str:
    """Return why a cell can't run here; "" where it can."""
    return missing(cell.task.method) or missing_data(cell.task.data, data_dir)


def _record_hindered(
    journal: Journal,
    records: Sequence[dict[str, Any]],
    hindered: Sequence[Cell],
    reasons: dict[str, str],
) -> None:
    """Record once a task, and not again while the reason is the same, what can't run here and why."""
    known = {cell_key(record): record.get("why") for record in records}
    for cell in hindered:
        if cell.seed == 0 and known.get(cell.key) != reasons[cell.key]:
            journal.append(describe_cell(cell) | {"outcome": "not runnable", "why": reasons[cell.key]})
