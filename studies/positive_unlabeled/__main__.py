"""python -m studies.positive_unlabeled PART [--jobs N]: one part of the study, as Markdown tables.

    worlds    1,000 simulated worlds with known densities
    groups    worlds in which every customer has several rows
    bias      labeled positives that are not a random sample
    draws     27 draws of three data sets, beside simple methods (needs SEMISVM_DATA)
    beside    six sets in their own units, three draws, beside NNPU and Elkan-Noto of pulearn
              (pip install pulearn)
    prior     breast cancer, 20 further draws, with the true prior and without
    rare      the sets of draws with priors of 0.1 to 2%
    text      two sets of documents

``--record`` writes the tables to results/PART.md; docs/measured/positive-unlabeled.md shows them.
``--limit N`` runs the first N cells only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.machine import describe_machine, describe_versions
from studies.harness.pool import run_in_pool
from studies.harness.tables import markdown_table
from studies.positive_unlabeled import beside, real, simulated

PER_WORLD = 250
METHODS = ("ours", "SVC C=1", "SVC tuned", "logistic")
RESULTS = Path(__file__).parent / "results"
PARTS: dict[str, tuple[Callable, list[tuple]]] = {
    "worlds": (
        simulated.judge_world,
        [(number, seed) for number in range(len(simulated.WORLDS)) for seed in range(PER_WORLD)],
    ),
    "groups": (
        simulated.judge_groups,
        [(size, seed) for seed in range(PER_WORLD) for size in simulated.GROUP_SIZES],
    ),
    "draws": (
        real.judge_draw,
        [
            (name, n, seed, None, True)
            for n in (1000, 200, 50)
            for name in real.SETS
            for seed in real.SEEDS
        ],
    ),
    "beside": (
        beside.judge,
        [(name, n, seed) for name in beside.SETS for n in beside.COUNTS for seed in beside.SEEDS],
    ),
    "prior": (
        partial(beside.judge, methods=beside.METHODS[:2]),
        [("breast cancer", n, seed) for n in beside.COUNTS for seed in beside.FURTHER_SEEDS],
    ),
    "rare": (
        real.judge_draw,
        [
            (name, n, seed, prior, False)
            for prior in real.RARE_PRIORS
            for name in real.SETS
            for n in (50, 200)
            for seed in real.SEEDS[:2]
        ],
    ),
    "text": (
        real.judge_draw,
        [
            (name, n, seed, None, True)
            for name in real.TEXTS
            for n in (20, 50, 200)
            for seed in real.SEEDS
        ],
    ),
}


def main() -> None:
    """Run one part and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "bias"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.part == "bias":
        head = ["slope", "certificate broken", "mean true recall"]
        tables = [markdown_table(head, simulated.tabulate_bias())]
    else:
        tables = run_part(options.part, options.limit, options.jobs)
    print(*tables, sep="\n\n")
    if options.record:
        RESULTS.mkdir(exist_ok=True)
        about = [f"python -m studies.positive_unlabeled {options.part}", str(date.today())]
        about += [str(describe_machine()), str(describe_versions())]
        text = "\n\n".join(["\n".join(about), *tables]) + "\n"
        (RESULTS / f"{options.part}.md").write_text(text, encoding="utf-8")


def run_part(part: str, limit: int | None, n_jobs: int) -> list[str]:
    """Run the cells of a part, and return its tables."""
    run, cells = PARTS[part]
    records = list(
        run_in_pool(run, cells[:limit], workers=n_jobs, failed=lambda cell, why: {"failed": why})
    )
    failures = [record["failed"] for record in records if "failed" in record]
    print(f"{len(records)} cells, {len(failures)} failed.", *failures)
    return _TABLES[part](group_records([record for record in records if "line" in record]))


def group_records(records: Sequence[dict[str, Any]]) -> dict[Any, dict[str, float]]:
    """Means per line; a value that some cells lack is the mean over the others."""
    lines: dict[Any, dict[str, list[float]]] = {}
    for record in records:
        values = lines.setdefault(record["line"], {})
        for name, value in record.items():
            if name != "line":
                values.setdefault(name, []).append(float(value))
    return {
        line: {name: float(np.mean(v)) for name, v in values.items()}
        for line, values in sorted(lines.items())
    }


def _tables_of_worlds(lines: dict) -> list[str]:
    rows = [
        [*map(str, simulated.WORLDS[n]), *(f"{v:.3f}" for v in means.values())]
        for n, means in lines.items()
    ]
    head = ["positives", "unlabeled", "prior", "gap", "recall asked", *next(iter(lines.values()))]
    return [markdown_table(head, rows)]


def _tables_of_groups(lines: dict) -> list[str]:
    head = ["rows per customer", *next(iter(lines.values()))]
    return [
        markdown_table(
            head,
            [[str(size), *(f"{v:.3f}" for v in means.values())] for size, means in lines.items()],
        )
    ]


def _tables_of_draws(lines: dict) -> list[str]:
    about = [
        "data",
        "positives",
        "true prior",
        "estimate",
        "bound",
        "bound held",
        "recall said",
        "true",
        "CPU s",
    ]
    names = ["prior", "estimate", "bound", "bound held", "recall said", "recall true", "seconds"]
    first = [
        [name, str(n), *(f"{m[key]:.3g}" for key in names)] for (name, n, _), m in lines.items()
    ]
    second = [
        [name, str(n), f"{m['prior']:.3g}", *(_cell(m, one) for one in METHODS)]
        for (name, n, _), m in lines.items()
    ]
    return [
        markdown_table(about, first),
        markdown_table(["data", "positives", "true prior", *METHODS], second),
    ]


def _tables_of_beside(lines: dict) -> list[str]:
    """F1 as predicted, AUC and CPU seconds, by method."""
    rows = []
    of_first = next(iter(lines.values()))
    methods = [method for method in beside.METHODS if f"{method}: F1" in of_first]
    for (name, n_positive), means in lines.items():
        cells = [
            " / ".join(
                f"{means[f'{method}: {measure}']:.{digits}f}"
                for measure, digits in (("F1", 3), ("AUC", 3), ("seconds", 1))
            )
            for method in methods
        ]
        rows.append([name, str(n_positive), f"{means['prior']:.2f}", *cells])
    return [markdown_table(["data", "positives", "prior", *methods], rows)]


def _cell(means: dict[str, float], method: str) -> str:
    """AUC / AP / F1 as predicted (best F1)."""
    if f"{method}: AUC" not in means:
        return "-"
    auc, ap, f1, best = (
        means[f"{method}: {measure}"] for measure in ("AUC", "AP", "F1", "best F1")
    )
    return f"{auc:.3f} / {ap:.3f} / {f1:.3f} ({best:.3f})"


_TABLES: dict[str, Callable[[dict], list[str]]] = {
    "worlds": _tables_of_worlds,
    "groups": _tables_of_groups,
    "draws": _tables_of_draws,
    "beside": _tables_of_beside,
    "prior": _tables_of_beside,
    "rare": _tables_of_draws,
    "text": _tables_of_draws,
}


if __name__ == "__main__":
    main()
