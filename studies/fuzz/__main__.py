"""Try random inputs of every category; print and keep a table of what was tried and what failed.

    python -m studies.fuzz --minutes 2 --workers 2 --seed 0
    python -m studies.fuzz --minutes 9 --workers 15 --inputs estimators=10000 command=2000
    models=1000 faults=200

It ends when the minutes are over, or when the inputs that were asked for are tried.

The exit status is 1 if anything failed. Failures, each made small, are in OUT/failures.jsonl; one
line per run is added to OUT/runs.md. A failure is tried again by `--recipe CATEGORY JSON`.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from studies.fuzz.verdict import minimize, peak_megabytes, random_of
from studies.harness.machine import describe_commit, describe_machine, usable_cores
from studies.harness.pool import run_in_pool
from studies.harness.tables import markdown_table

# Inputs in a cell, and cells in a round: about as many of each category as the docs promise of a
# long run.
CELLS = {
    "estimators": (40, 4),
    "arrays": (3, 1),
    "streams": (10, 1),
    "texts": (40, 2),
    "command": (8, 4),
    "labeling": (4, 1),
    "columns": (20, 1),
    "kept": (8, 1),
    "writers": (2, 1),
    "links": (4, 1),
    "models": (8, 2),
    "faults": (2, 1),
}
Cell = tuple[str, int, int, int]  # category, seed, first, count
SECONDS_PER_INPUT = (
    240  # of the clock, after which a process that is stuck in compiled code is ended
)
_seen: set[str] = set()  # failures that this process has made small already


def run_cell(cell: Cell) -> dict[str, Any]:
    """Try the inputs of a cell (category, seed, first, count); the record counts verdicts and
    holds failures.
    """
    category, seed, first, count = cell
    module = importlib.import_module(f"studies.fuzz.{category}")
    kinds: Counter[str] = Counter()
    failures = []
    slowest = 0.0
    for number in range(first, first + count):
        faulthandler.dump_traceback_later(SECONDS_PER_INPUT, exit=True)
        recipe = module.make(random_of(seed, category, number))
        began = time.process_time()
        verdict = module.check(recipe)
        slowest = max(slowest, time.process_time() - began)
        kinds[verdict.kind] += verdict.count
        if not verdict.is_good:
            faulthandler.dump_traceback_later(SECONDS_PER_INPUT, exit=True)
            is_new = verdict.key not in _seen
            _seen.add(verdict.key)
            small = minimize(recipe, verdict, module.check, module.simpler) if is_new else recipe
            place = {"category": category, "seed": seed, "number": number}
            failures.append(place | asdict(verdict) | {"key": verdict.key, "recipe": small})
    faulthandler.cancel_dump_traceback_later()
    return {
        "category": category,
        "kinds": dict(kinds),
        "failures": failures,
        "slowest": slowest,
        "peak_mb": peak_megabytes(),
    }


def lost_cell(cell: Cell, why: str) -> dict[str, Any]:
    """The record of a cell that ended its process."""
    category, seed, first, count = cell
    failure = {
        "category": category,
        "seed": seed,
        "number": first,
        "kind": "died",
        "told": f"inputs {first} to {first + count - 1}: {why}",
        "where": "",
        "key": f"died {category}",
        "recipe": None,
    }
    return {
        "category": category,
        "kinds": {"died": 1},
        "failures": [failure],
        "slowest": 0.0,
        "peak_mb": 0.0,
    }


def cells_of(seed: int, categories: list[str], n_rounds: int) -> list[Cell]:
    """The cells of so many rounds; each round has cells of every category."""
    cells = []
    for round in range(n_rounds):
        for category in categories:
            count, times = CELLS[category]
            cells += [(category, seed, (round * times + k) * count, count) for k in range(times)]
    return cells


def cells_for(seed: int, inputs: dict[str, int]) -> list[Cell]:
    """The cells of so many inputs per category, those of all categories spread evenly over the
    run.
    """
    cells = []
    for category, n in inputs.items():
        size = CELLS[category][0]
        cells += [
            (first / n, (category, seed, first, min(size, n - first)))
            for first in range(0, n, size)
        ]
    return [cell for _, cell in sorted(cells)]


def counted(text: str) -> tuple[str, int]:
    """Read CATEGORY=COUNT."""
    category, _, count = text.partition("=")
    if category not in CELLS or not count.isdigit() or int(count) < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not CATEGORY=COUNT with a category of {', '.join(CELLS)}"
        )
    return category, int(count)


def main(argv: list[str] | None = None) -> int:
    """Run until the time is over or everything that was asked for is tried."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.fuzz", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=2.0, help="how long to run")
    parser.add_argument(
        "--rounds", type=int, default=100_000, help="at most so many rounds of all categories"
    )
    parser.add_argument(
        "--inputs",
        nargs="+",
        type=counted,
        metavar="CATEGORY=COUNT",
        help="so many inputs, then end",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=usable_cores())
    parser.add_argument(
        "--only",
        action="append",
        choices=list(CELLS),
        help="a category; may be given more than once",
    )
    parser.add_argument("--out", type=Path, default=Path("studies-out/fuzz"))
    parser.add_argument(
        "--recipe",
        nargs=2,
        metavar=("CATEGORY", "JSON"),
        help="try one recipe and print the verdict",
    )
    options = parser.parse_args(argv)
    if options.recipe:
        verdict = importlib.import_module(f"studies.fuzz.{options.recipe[0]}").check(
            json.loads(options.recipe[1])
        )
        print(verdict)
        return 0 if verdict.is_good else 1
    os.environ.setdefault("SEMISVM_DATA", "")
    end = time.monotonic() + 60 * options.minutes
    records = []
    failures = {}
    if options.inputs:
        cells = cells_for(options.seed, dict(options.inputs))
    else:
        n_rounds = min(options.rounds, int(200 * options.minutes) + 1)
        cells = cells_of(options.seed, options.only or list(CELLS), n_rounds)
    for record in run_in_pool(run_cell, cells, workers=options.workers, failed=lost_cell):
        records.append(record)
        for failure in record["failures"]:
            if failure["key"] not in failures:
                told = "{category} {number}: {kind} {where} {told}".format(**failure)
                print(f"{told}\n    {json.dumps(failure['recipe'])}", flush=True)
            failures.setdefault(failure["key"], failure)
        if time.monotonic() >= end:
            break
    print(table := summary_table(records))
    keep(options.out, options.seed, table, records, list(failures.values()))
    return 1 if failures else 0


def summary_table(records: list[dict[str, Any]]) -> str:
    """One line per category."""
    rows = []
    for category in CELLS:
        own = [record for record in records if record["category"] == category]
        kinds: Counter[str] = Counter()
        for record in own:
            kinds.update(record["kinds"])
        failed = {
            kind: n for kind, n in kinds.items() if kind not in ("done", "refused", "skipped")
        }
        told = ", ".join(f"{n} {kind}" for kind, n in failed.items()) or "none"
        numbers = (kinds.total(), kinds["done"], kinds["refused"], kinds["skipped"])
        slowest = max((record["slowest"] for record in own), default=0)
        peak = max((record["peak_mb"] for record in own), default=0)
        rows.append(
            [
                category,
                *(f"{number:,}" for number in numbers),
                told,
                f"{slowest:.1f}",
                f"{peak:.0f}",
            ]
        )
    head = [
        "category",
        "inputs",
        "done",
        "refused",
        "skipped",
        "failed",
        "slowest, CPU s",
        "peak, MB",
    ]
    return markdown_table(head, rows)


def keep(
    out: Path, seed: int, table: str, records: list[dict[str, Any]], failures: list[dict[str, Any]]
) -> None:
    """Add the run to the table of runs, and its failures to theirs."""
    out.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    title = (
        f"{time.strftime('%Y-%m-%d')}, seed {seed}, {describe_commit()}, {machine['cpu']},"
        f" {machine['cores']} cores"
    )
    with open(out / "runs.md", "a") as runs:
        runs.write(f"\n## {title}\n\n{table}\n")
    with open(out / "failures.jsonl", "a") as lines:
        lines.writelines(json.dumps(failure) + "\n" for failure in failures)


if __name__ == "__main__":
    sys.exit(main())
