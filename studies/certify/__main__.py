"""python -m studies.certify [PART ...]: the study of campaigns, as Markdown tables.

    supg        SUPG's pools, precision .95 at 95%: what is returned with 300 and 1,000 labels
    circles     MAPIE's circles, precision .8 at 90%: recall kept with 100 and 500 labels
    precision   public tables, precision .8, .9 and .95 at 90%, with 100 and 300 labels
    recall      the same for recall .7, .8 and .9
    violations  campaigns at the boundary that are ever wrong, with an adversary who stops there
    forecasts   labels that were forecast before the first one, and labels that it took
    speed       a pool of a million rows

`--supg CLONE` and `--bargain CLONE` name clones of stanford-futuredata/supg and ucbepic/BARGAIN,
`--earlier CLONE` one of version 0.2 of this project; without them these columns stay empty. `--seeds N` runs per cell (blocks of ten for violations),
`--jobs N` processes. SEMISVM_DATA names the
data folder. Finished cells are kept in studies/certify/results (or `--out`) and are not run again;
`--show` prints the tables without running anything. docs/measured/certify.md has them with date and
machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from studies.certify import beside, forecasts, speed, violations
from studies.certify.pools import SUPG_POOLS, TABLES
from studies.certify.records import RESULTS, run_tasks
from studies.harness.tables import markdown_table

Records = dict[str, dict[str, Any]]
# Part: measure, pools, levels, risk, numbers of labels, runs per cell.
BESIDE: dict[str, tuple[str, tuple[str, ...], tuple[float, ...], float, tuple[int, ...], int]] = {
    "supg": ("precision", SUPG_POOLS, (0.95,), 0.05, (300, 1000), 5),
    "circles": ("precision", ("circles",), (0.8,), 0.1, (100, 500), 10),
    "precision": ("precision", tuple(TABLES), (0.8, 0.9, 0.95), 0.1, (100, 300), 3),
    "recall": ("recall", tuple(TABLES), (0.7, 0.8, 0.9), 0.1, (100, 300), 3),
}
METHODS = ("campaign", "campaign, one look", "0.2", "BARGAIN", "SUPG", "top", "random")
GROUPS = ((0.05, "below 5%"), (0.15, "5 to 15%"), (1.0, "above 15%"))


# ---- beside others ----


def run_beside(part: str, options: argparse.Namespace) -> Records:
    """Run the methods of a part, all of them on one pool before the next."""
    measure, pools, levels, risk, budgets, n_seeds = BESIDE[part]
    chosen = beside.methods(measure, options.supg, options.bargain, options.earlier)
    tasks = [
        (f"{pool}|{level:g}|{budget}|{method}", seed)
        for seed in range(options.seeds or n_seeds)
        for pool in pools
        for budget in budgets
        for level in levels
        for method in chosen
    ]

    def run(cell: str, seed: int) -> dict[str, Any]:
        pool, level, budget, method = cell.split("|")
        return beside.judge(
            chosen[method],
            beside.pool_of(pool, seed),
            measure,
            float(level),
            risk,
            int(budget),
            seed,
        )

    return run_tasks(part, tasks, run, options.out, options.jobs)


def show_beside(part: str, records: Records) -> str:
    """Return one line per group of pools and number of labels, one column per method."""
    measure, _, levels, _, budgets, _ = BESIDE[part]
    known = {cell.split("|")[3] for cell in records}
    names = [name for name in METHODS if name in known]
    lines = []
    groups = pool_groups(part, records)
    for group, pools in groups.items():
        for budget in budgets:
            cells: list[str] = [group, f"{budget:,}"]
            for name in names:
                means = [
                    _mean_text(
                        records, measure, [f"{pool}|{level:g}|{budget}|{name}" for pool in pools]
                    )
                    for level in levels
                ]
                cells.append(" / ".join(means))
            lines.append(cells)
    n_missed = {
        name: [
            run["missed"]
            for cell, runs in records.items()
            for run in runs.values()
            if cell.split("|")[3] == name
        ]
        for name in names
    }
    missed = ", ".join(f"{name} {sum(runs)} of {len(runs)}" for name, runs in n_missed.items())
    return markdown_table(["pools", "labels", *names], lines) + f"\n\nMissed the level: {missed}."


def pool_groups(part: str, records: Records) -> dict[str, list[str]]:
    """Return the pools of each line: by name, or by the share of positives."""
    shares: dict[str, float] = {}
    for cell, runs in records.items():
        for run in runs.values():
            shares[cell.split("|")[0]] = run["positive"]
    if part in ("supg", "circles"):
        return {pool: [pool] for pool in shares}
    groups: dict[str, list[str]] = {name: [] for _, name in GROUPS}
    for pool, share in shares.items():
        groups[next(name for most, name in GROUPS if share < most)].append(pool)
    return {f"{name} ({len(pools)})": pools for name, pools in groups.items() if pools}


def _mean_text(records: Records, measure: str, cells: list[str]) -> str:
    """The mean recall of the sets for a precision; for a recall their mean precision, and the share
    of rows that they have.
    """
    runs = [run for cell in cells for run in records.get(cell, {}).values()]
    if not runs:
        return "-"
    if measure == "precision":
        return f"{np.mean([run['recall'] for run in runs]):.3f}"
    shares = np.mean([run["share"] for run in runs])
    return f"{np.mean([run['precision'] for run in runs]):.2f} ({shares:.2f})"


# ---- the other parts ----


def run_violations(part: str, options: argparse.Namespace) -> Records:
    """Run blocks of campaigns at the boundary, one of each cell before the next of any."""
    by_key = {cell.key: cell for cell in violations.CELLS}
    tasks = [
        (key, block)
        for block in range(options.seeds or max(map(violations.n_blocks, violations.CELLS)))
        for key, cell in by_key.items()
        if block < violations.n_blocks(cell)
    ]
    return run_tasks(
        part,
        tasks,
        lambda key, block: violations.count_wrong(by_key[key], block),
        options.out,
        options.jobs,
    )


def show_violations(part: str, records: Records) -> str:
    """Return one line per target and kind of world, and one per target."""
    lines = []
    sums: dict[str, np.ndarray] = {}
    for cell in violations.CELLS:
        if not (blocks := list(records.get(cell.key, {}).values())):
            continue
        counted = np.array([len(blocks) * violations.BLOCK, sum(blocks)])
        sums[cell.target] = sums.get(cell.target, 0) + counted
        lines.append([cell.key, *_counts(*counted)])
    lines += [[f"**{target}, in all**", *_counts(*counted)] for target, counted in sums.items()]
    table = markdown_table(["target, worlds", "campaigns", "ever wrong", "share"], lines)
    n, wrong = sum(sums.values(), np.zeros(2, dtype=int))
    return f"{table}\n\nIn all {wrong:,} of {n:,}; {violations.RISK:.0%} are allowed in each line."


def _counts(n: int, n_wrong: int) -> list[str]:
    return [f"{n:,}", str(n_wrong), f"{n_wrong / n:.3f}"]


PARTS: dict[str, tuple[Callable[..., Records], Callable[[str, Records], str]]] = {
    **dict.fromkeys(BESIDE, (run_beside, show_beside)),
    "violations": (run_violations, show_violations),
    "forecasts": (forecasts.run, forecasts.show),
    "speed": (speed.run, speed.show),
}


def main() -> None:
    """Run the parts that are named, or all of them, and print their tables."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.certify",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="Which; all by default.")
    parser.add_argument("--supg", type=Path, metavar="CLONE")
    parser.add_argument("--bargain", type=Path, metavar="CLONE")
    parser.add_argument("--earlier", type=Path, metavar="CLONE")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int, default=1, help="Processes.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"There is no part {unknown[0]!r}; there are {', '.join(PARTS)}.")
    for part in options.parts or PARTS:
        run, show = PARTS[part]
        path = options.out / f"{part}.json"
        if options.show:
            records = json.loads(path.read_text())["cells"] if path.is_file() else {}
        else:
            records = run(part, options)
        print(f"## {part}\n\n{show(part, records)}\n", flush=True)


if __name__ == "__main__":
    main()
