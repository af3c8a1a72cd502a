"""A paper's cells, run: one cell from start to end, and all cells that are not on record yet."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.data import FOLDER_VARIABLE
from studies.harness.fresh_process import peak_mib, reset_peak
from studies.harness.machine import describe_session, without_paths
from studies.harness.pool import run_in_pool
from studies.harness.records import Journal, is_done, read_records, record_key
from studies.papers.methods import fit_method, missing_method
from studies.papers.samples import draw_sample, missing_data
from studies.papers.scores import DRAWN_SETS, score
from studies.papers.tasks import Cell, Paper, Table, cells_of

LONGEST_REASON = 400
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Ending:
    """How a run ended: cells requested, done now, done before, failed, and those that can't run
    here.
    """

    asked: int = 0
    done: int = 0
    before: int = 0
    failed: int = 0
    not_runnable: int = 0
    interrupted: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether every cell ran."""
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
    progress: Progress = lambda done, total: None,
) -> Ending:
    """Run every cell of the tables that has no finished record yet; each record is written when its
    cell ends.

    Parameters
    ----------
    paper, tables : Paper, sequence of Table
        What to run, and to whose records it is added.
    out : Path
        The folder of the records; `records_path` names the file in it.
    seeds : int, optional
        How often tasks are repeated; by default as often as each table says.
    quick : bool
        Only the lines of the quick run, with its fewer repetitions.
    data_dir : Path, optional
        The papers' data; by default the environment variable SEMISVM_DATA.
    workers : int
        The number of processes, of one thread each.
    progress : callable
        Called with the number of finished cells and of all cells, whenever the first changes.

    Returns
    -------
    Ending
        How many cells ran, failed and were left; Ctrl-C ends the run and is not raised.
    """
    asked = {
        cell.key: cell for table in tables for cell in cells_of(table, seeds=seeds, quick=quick)
    }
    if not asked:
        return Ending()
    path = records_path(out, paper)
    with Journal(path, describe_session()) as journal:
        records = read_records(path)
        left = left_to_run(list(asked.values()), records)
        obstacles = {cell.key: _obstacle(cell, data_dir) for cell in left}
        runnable = sorted(
            (cell for cell in left if not obstacles[cell.key]), key=lambda cell: cell.task.slow
        )
        blocked = [cell for cell in left if obstacles[cell.key]]
        _record_blocked(journal, records, blocked, obstacles)
        count = {"done": 0, "failed": 0}
        interrupted = False
        before = len(asked) - len(left)
        progress(before, len(asked) - len(blocked))
        environment = {} if data_dir is None else {FOLDER_VARIABLE: str(data_dir)}
        try:
            for record in run_in_pool(
                run_cell, runnable, workers=workers, environment=environment, failed=_failed_record
            ):
                journal.append(record)
                count[record["outcome"]] += 1
                progress(before + sum(count.values()), len(asked) - len(blocked))
        except KeyboardInterrupt:
            interrupted = True
    return Ending(len(asked), count["done"], before, count["failed"], len(blocked), interrupted)


def left_to_run(cells: Sequence[Cell], records: Sequence[dict[str, Any]]) -> list[Cell]:
    """Return the cells without a finished record; failed ones are tried again."""
    done = {record_key(record) for record in records if is_done(record)}
    return [cell for cell in cells if cell.key not in done]


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell and return its record; an exception becomes a failed record."""
    try:
        return cell.as_dict() | {"outcome": "done"} | _measure(cell)
    except Exception as error:
        return _failed_record(cell, f"{type(error).__name__}: {error}")


def _failed_record(cell: Cell, why: str) -> dict[str, Any]:
    return cell.as_dict() | {"outcome": "failed", "why": without_paths(why)[:LONGEST_REASON]}


def _measure(cell: Cell) -> dict[str, Any]:
    """Draw the sample, choose the parameters, fit (timed), and score."""
    params = dict(cell.task.params)
    repeats = params.pop(
        "repeats", 1
    )  # of the fit, for a time that is not the time of a first call
    sample = draw_sample(cell.task.data, cell.task.split, cell.seed)
    reset_peak()
    seconds = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = fit_method(cell.task.method, sample, params, cell.seed)
        for _ in range(repeats):
            start = time.perf_counter()
            model = fit()
            seconds.append(time.perf_counter() - start)
        warned = sorted(
            {without_paths(str(warning.message))[:LONGEST_REASON] for warning in caught}
        )
    measures, curves = score(model, sample, fine=cell.task.data in DRAWN_SETS)
    measures["seconds"] = min(seconds)
    _require_finite(measures)
    if (peak := peak_mib()) is not None:
        measures["peak_rss_mib"] = peak
    return (
        {"measures": measures}
        | ({"curves": curves} if curves else {})
        | ({"warnings": warned} if warned else {})
    )


def _require_finite(measures: dict[str, float]) -> None:
    strange = {name: value for name, value in measures.items() if not math.isfinite(value)}
    if strange:
        raise ValueError(f"Scores that are not finite numbers: {strange}.")


def _obstacle(cell: Cell, data_dir: Path | None) -> str:
    """Return why a cell can't run here; "" if it can."""
    return missing_method(cell.task.method) or missing_data(cell.task.data, data_dir)


def _record_blocked(
    journal: Journal,
    records: Sequence[dict[str, Any]],
    blocked: Sequence[Cell],
    obstacles: dict[str, str],
) -> None:
    """Record what can't run here and why: once per task, and not again while the reason is the
    same.
    """
    known = {record_key(record): record.get("why") for record in records}
    for cell in blocked:
        if cell.seed == 0 and known.get(cell.key) != obstacles[cell.key]:
            journal.append(cell.as_dict() | {"outcome": "not runnable", "why": obstacles[cell.key]})
