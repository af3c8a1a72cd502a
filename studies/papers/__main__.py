"""Rerun the published tables of a paper, or of all papers, and compare ours with theirs.

Every finished cell is kept in a journal and never run again: a run that was stopped goes on where it
stopped. Exit code 1: a cell failed, or in a quick run a stored verdict became worse.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path

import semisvm
from studies.papers import PAPERS
from studies.papers.cells import run_cell
from studies.papers.lines import VERDICTS, Line, Paper, Table, Task, center, is_firm
from studies.papers.samples import why_no_sample
from studies.records import (
    OUT,
    Journal,
    Summary,
    markdown_table,
    read_journal,
    read_summaries,
    store_summaries,
    summarize,
    usable_cores,
)
from studies.running import run_in_pool

HERE = Path(__file__).parent
STORED = HERE / "quick.json"


def main() -> int:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(prog="python -m studies.papers", description=__doc__)
    parser.add_argument("paper", nargs="?", choices=PAPERS, help="all papers by default")
    parser.add_argument("table", nargs="?", help="one table of the paper")
    parser.add_argument("--quick", action="store_true", help="few seeds, small sets; for CI")
    parser.add_argument("--show", action="store_true", help="print the stored record; run nothing")
    parser.add_argument("--store", action="store_true", help="keep the results in the repository")
    parser.add_argument("--workers", type=int, default=usable_cores())
    options = parser.parse_args()
    code = 0
    for name in [options.paper] if options.paper else PAPERS:
        paper = PAPERS[name]()
        tables = [table for table in paper.tables if options.table in (None, table.name)]
        if not tables:
            parser.error(f"{name} has {', '.join(table.name for table in paper.tables)}")
        if options.show:
            found, n_failed = read_summaries(record_of(name)), 0
        else:
            found, n_failed = run_tables(paper, tables, options.quick, options.workers)
        judged = [
            (line, ours, word)
            for line, ours, word in paper.judged(found, quick=options.quick)
            if options.table in (None, line.table) and word != "pending"
        ]
        print_lines(paper, judged)
        if options.store and not options.quick:
            store_summaries(found, record_of(name), ", ".join(table.name for table in tables))
        if options.quick:
            code |= check_quick(name, judged, store=options.store)
        code |= n_failed > 0
    return code


def record_of(name: str) -> Path:
    """Return the file of a paper's results."""
    return HERE / "records" / f"{name}.json"


def cells_of(table: Table, quick: bool) -> list[tuple[Task, int]]:
    """Return every cell that a table needs, seed by seed, so that a stopped run has whole
    repetitions.
    """
    repeats = table.quick_seeds if quick else table.seeds
    most: dict[str, tuple[Task, int]] = {}
    for line in table.lines:
        if line.quick or not quick:
            for task in line.tasks:
                wanted = min(repeats, line.seeds or repeats) if task.seeded else 1
                most[task.key] = (task, max(wanted, most.get(task.key, (task, 0))[1]))
    return [(task, seed) for seed in range(repeats) for task, n in most.values() if seed < n]


def run_tables(
    paper: Paper, tables: list[Table], quick: bool, workers: int
) -> tuple[dict[str, Summary], int]:
    """Run the cells that are not in the journal; return the summaries and how many cells failed."""
    # a quick run checks the present source, so it never uses the cells of another one
    folder = OUT / "papers" / (f"quick-{_digest_of_source()}" if quick else "full")
    path = folder / f"{paper.name}.jsonl"
    scores = {(entry["task"], entry["seed"]): entry["scores"] for entry in read_journal(path)}
    cells = {
        (task.key, seed): (task, seed) for table in tables for task, seed in cells_of(table, quick)
    }
    missing = {task.data: why_no_sample(task.data) for task, _ in cells.values()}
    for why in filter(None, missing.values()):
        print(f"{paper.name}: not run: {why}.")
    left = [cell for key, cell in cells.items() if key not in scores and not missing[cell[0].data]]
    failed: dict[str, list[str]] = {}
    with Journal(path) as journal:
        for (task, seed), found in run_in_pool(run_cell, left, workers=workers):
            if isinstance(found, Exception):
                why = f"{type(found).__name__}: {found}"
                failed.setdefault(why, []).append(f"{task.key}, seed {seed}")
                continue
            scores[task.key, seed] = found
            journal.append({"task": task.key, "seed": seed, "scores": found})
    for why, where in failed.items():
        print(f"{paper.name}: {len(where)} cells failed: {why}\n  the first: {where[0]}")
    n_failed = sum(map(len, failed.values()))
    lines = [line for table in tables for line in table.lines if line.quick or not quick]
    return {
        line.name: summarize(v) for line in lines if (v := _values(line, scores, cells))
    }, n_failed


def _values(line: Line, scores: dict, cells: dict) -> list[float]:
    """Return our number for each seed that was asked for and has all its cells."""
    assert line.task is not None
    seeds = sorted(seed for key, seed in cells if key == line.task.key)
    keys = [task.key for task in line.tasks]
    most = line.seeds or len(seeds)
    return [
        line.value(scores, seed)
        for seed in seeds[:most]
        if all((key, seed) in scores for key in keys)
    ]


def _digest_of_source() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(str(semisvm.__file__)).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def print_lines(paper: Paper, judged: list[tuple[Line, Summary | None, str]]) -> None:
    """Print ours beside theirs, and how often each verdict was given."""
    rows = []
    for line, ours, word in judged:
        if ours is None:
            continue
        theirs = line.reference
        label = f"{line.method} ({line.mark})" if line.mark else line.method
        shown = [f"{center(ours, theirs):.4g}", f"{ours.sd:.2g}", str(ours.n)]
        published = "" if theirs is None else f"{theirs.value:g}"
        rows.append([line.table, line.setting, label, line.measure, published, *shown, word])
    head = ["table", "setting", "method", "measure", "theirs", "ours", "sd", "seeds", "verdict"]
    print(f"\n{paper.citation}\n\n{markdown_table(head, rows)}\n\n{paper.name}: {counted(judged)}")


def counted(judged: list[tuple[Line, Summary | None, str]]) -> str:
    """Return how often each verdict was given, in words."""
    counts = Counter(word for _, _, word in judged)
    return ", ".join(f"{counts[word]:,} {word}" for word in VERDICTS if counts[word])


def check_quick(name: str, judged: list[tuple[Line, Summary | None, str]], *, store: bool) -> int:
    """Compare with the stored verdicts, or store those that will hold on another machine."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    now = {line.name: word for line, _, word in judged}
    if store:
        stored[name] = {
            line.name: word
            for line, ours, word in judged
            if word in ("reproduced", "close") and is_firm(line, ours)
        }
        text = json.dumps(stored, indent=1, sort_keys=True)
        STORED.write_text(f"{text}\n", encoding="utf-8")
    worse = [
        (line, before, now[line])
        for line, before in stored.get(name, {}).items()
        if line in now and VERDICTS.index(now[line]) > VERDICTS.index(before)
    ]
    for line, before, word in worse:
        print(f"Became worse: {name} | {line}: was {before}, is {word}")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
