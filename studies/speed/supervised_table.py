"""The table of the benchmark of supervised training, from its records alone.

There is one row per part and solver: medians over the runs, the time of the solver over ours, and
how good its solution is. Below each size is the geometric mean of the ratios over the sets where
both ended.

    excess     (objective - lowest objective of the part) / |lowest|
    gap        violation of the optimality conditions; the tolerance is 1e-3
    as libsvm  share of the compared rows with the same prediction as LIBSVM's
"""

from __future__ import annotations

import argparse
import base64
import statistics
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from studies.harness.machine import is_same_session
from studies.harness.records import read_records
from studies.harness.tables import markdown_table

OURS, REFERENCE = "ours", "libsvm"
HEADER = [
    *(
        "set",
        "rows",
        "solver",
        "runs",
        "seconds",
        "min–max",
        "ratio",
        "CPU-s",
        "peak-MiB",
        "before-MiB",
    ),
    *("SVs", "steps", "excess", "gap", "train", "as-libsvm"),
]
N_TEXT_COLUMNS = 3  # set, rows and solver
LEGEND = (
    "Medians of fits in fresh processes after a warm-up; ratio: seconds over ours; before: memory"
    " held when the fit began; steps: the solver's own count (oneDAL's are blocks of many); excess:"
    " relative distance of the dual objective from the lowest of the part; gap: the largest"
    " violation of optimality (tolerance: 1e-3); as-libsvm: same predictions."
)
TITLES = {"all": "All rows", "10%": "10% of the rows"}
Record = dict[str, Any]


def render(records: list[Record]) -> str:
    """Return the table of the records as Markdown that also reads well as plain text."""
    if not records:
        return "No records."
    sizes = _group(records, lambda record: record["task"]["size"])
    parts = [_section(size, of_size) for size, of_size in sizes.items()]
    return "\n\n".join([_provenance(records), *parts, LEGEND])


def _section(size: str, records: list[Record]) -> str:
    """Return the table of one size with its means and remarks."""
    lines = []
    ratios = defaultdict(dict)
    remarks = []
    # a different cache makes different rows of the table
    for of_part in _group(
        records, lambda record: (record["task"]["set"], str(record["task"]["params"]))
    ).values():
        name = of_part[0]["task"]["set"]
        by_solver = _group(of_part, lambda record: record["task"]["solver"])
        by_solver = {solver: _best_ended(runs) for solver, runs in by_solver.items()}
        ended = {
            solver: [run for run in runs if "measures" in run] for solver, runs in by_solver.items()
        }
        ended = {solver: runs for solver, runs in ended.items() if runs}
        solved = {solver for solver, runs in by_solver.items() if runs[0]["outcome"] == "done"}
        for solver, runs in by_solver.items():
            lines.append(_line(runs, ended))
            remarks += _remarks(name, solver, runs)
        for solver in solved - {OURS} if OURS in solved else ():
            ratios[solver][name] = _ratio(ended, solver)
    means = [_mean_line(solver, ratios[solver]) for solver in sorted(ratios)]
    table = markdown_table(HEADER, lines, n_text=N_TEXT_COLUMNS)
    return "\n\n".join(
        filter(None, [f"### {TITLES.get(size, size)}", table, "\n".join(means + remarks)])
    )


def _best_ended(runs: list[Record]) -> list[Record]:
    """Return the runs that are done, or if there is none the last one: a higher limit may have
    helped.
    """
    return [record for record in runs if record["outcome"] == "done"] or runs[-1:]


def _line(runs: list[Record], ended: dict[str, list[Record]]) -> list[str]:
    """Return the cells of one solver's row; only its name if it did not end."""
    task = runs[0]["task"]
    lead = [task["set"], f"{runs[0]['rows']:,}", task["solver"]]
    return lead + (
        _numbers(ended, task["solver"])
        if task["solver"] in ended
        else [""] * (len(HEADER) - len(lead))
    )


def _numbers(ended: dict[str, list[Record]], solver: str) -> list[str]:
    """Return the columns after the solver's name."""
    runs = ended[solver]
    seconds = [run["measures"]["wall_s"] for run in runs]
    best = min(_median(others, "dual_objective") for others in ended.values())
    ratio = _ratio(ended, solver)
    agreement = _agreement(ended.get(REFERENCE), runs[0])
    return [
        str(len(runs)),
        _seconds(_median(runs, "wall_s")),
        f"{_seconds(min(seconds))}–{_seconds(max(seconds))}",
        "" if ratio is None else f"{ratio:.2f}",
        _seconds(_median(runs, "cpu_s")),
        f"{_median(runs, 'rss_peak_mib'):,.0f}",
        f"{_median(runs, 'rss_before_mib'):,.0f}",
        f"{_median(runs, 'n_sv'):,.0f}",
        f"{_median(runs, 'n_iter'):,.0f}",
        f"{(_median(runs, 'dual_objective') - best) / abs(best):.0e}",
        f"{max(run['measures']['gap'] for run in runs):.1e}",
        f"{100 * _median(runs, 'training_accuracy'):.2f}%",
        "" if agreement is None else f"{100 * agreement:.2f}%",
    ]


def _ratio(ended: dict[str, list[Record]], solver: str) -> float | None:
    """Return the solver's median time over ours; None if ours did not end."""
    if OURS not in ended:
        return None
    return _median(ended[solver], "wall_s") / _median(ended[OURS], "wall_s")


def _agreement(reference_runs: list[Record] | None, run: Record) -> float | None:
    """Return the share of rows where a run predicts the same as the reference's first run."""
    if not reference_runs:
        return None
    theirs, ours = (
        zlib.decompress(base64.b64decode(r["predictions"]["signs"]))
        for r in (reference_runs[0], run)
    )
    differ = sum((a ^ b).bit_count() for a, b in zip(theirs, ours, strict=True))
    return 1 - differ / run["predictions"]["n"]


def _mean_line(solver: str, by_set: dict[str, float]) -> str:
    mean = statistics.geometric_mean(by_set.values())
    return f"- {solver} / ours, geometric mean over {', '.join(by_set)}: **{mean:.2f}**"


def _remarks(name: str, solver: str, runs: list[Record]) -> Iterator[str]:
    """Say how a solver ended where it is not done."""
    for record in runs:
        if record["outcome"] == "over limit":
            yield f"- {name}, {solver}: over the limit of {record['limit_s']:g} s"
        elif record["outcome"] == "iteration limit":
            yield f"- {name}, {solver}: stopped at its own iteration limit, unsolved"
        elif record["outcome"] != "done":
            yield f"- {name}, {solver}: {record['outcome']}: {record.get('why', 'no reason given')}"


def _provenance(records: list[Record]) -> str:
    last = records[-1]
    machine = last["machine"]
    versions = last["versions"]
    named = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    caches = sorted({f"{record['task']['params']['cache_mb']:g}" for record in records})
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB. {named}. Commit"
        f" {last['commit']}, {last['date'][:10]}. Kernel cache {' or '.join(caches)} MiB for all."
    )


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _median(runs: list[Record], name: str) -> float:
    return statistics.median(run["measures"][name] for run in runs)


def _group(items: Iterable[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Return items by key, in the order in which the keys first appear."""
    groups = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def main(argv: list[str] | None = None) -> int:
    """Print the table of a file of records."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.supervised_table", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("records", type=Path, help="a .jsonl file of records")
    parser.add_argument(
        "--commit", help="the records of this commit (default: those of the last session)"
    )
    options = parser.parse_args(argv)
    records = read_records(options.records)
    if options.commit:
        records = [record for record in records if record["commit"] == options.commit]
    elif records:
        records = [record for record in records if is_same_session(record, records[-1])]
    print(render(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
