"""How does supervised training scale with the cores, next to oneDAL and to another version of this
library?

A cell is a set, a solver and a number of cores. It warms up and then fits several times in one
process that is pinned to its cores; medians are reported, with the peak memory, and with the gap of
the last solution, computed in float64 from its coefficients alone after all fits. Cells of few
cores run side by side on different cores, which together are at most `--busy` of the machine's.
`--before FOLDER` names the `src` folder of another version, which is measured as "before". A cell
of another solver than ours ends after `--cell-seconds`: then its median is of fewer fits, and the
table says of how many. Cells that would begin after `--deadline` seconds are left out. Every cell
is recorded when it ends.

`million` is a set of its own: a million rows of 50 features, a linear rule with noise, RBF kernel,
C = 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from typing import Any

from studies.harness.means import write_cells
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line

PARTS = ("ijcnn1:all", "protein:all", "adult:all", "mnist:10%")
SCALED = ("ours", "onedal-f32", "onedal-f64", "before")
KEY = ("set", "size", "cores", "solver")
TITLES = {"ijcnn1": "IJCNN1", "protein": "Protein", "adult": "Adult", "mnist": "MNIST"}
TITLES |= {"onedal-f32": "oneDAL float32", "onedal-f64": "oneDAL float64"}


@dataclass(frozen=True)
class Part:
    """A set and how many of its rows are fitted, how often, and by whom."""

    name: str
    size: str
    repeats: int
    solvers: tuple[str, ...]

    @classmethod
    def read(cls, text: str, repeats: int, solvers: Sequence[str]) -> Part:
        """Return the part that SET:SIZE[:FITS[:SOLVER,SOLVER]] says, by default with so many
        fits, by these solvers.
        """
        name, size, own_repeats, own_solvers, *_ = [*text.split(":"), "", "", ""]
        known = [
            solver for solver in solvers if solver in (own_solvers or ",".join(solvers)).split(",")
        ]
        return cls(name, size or "all", int(own_repeats or repeats), tuple(known))


@dataclass(frozen=True)
class Run:
    """What one process does: parts that one solver fits on so many cores."""

    solver: str
    n_cores: int
    parts: tuple[Part, ...]


def main(argv: list[str] | None = None) -> int:
    """Run the cells and print their table; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--cores", nargs="+", type=int, default=[16, 8, 4, 2, 1])
    add("--solvers", nargs="+", choices=SCALED, default=list(SCALED))
    add("--parts", nargs="+", default=list(PARTS), metavar="SET:SIZE[:FITS[:SOLVER,SOLVER]]")
    add("--repeats", type=int, default=5, help="fits per cell where the part does not say")
    add("--before", type=Path, help="src folder of another version")
    add(
        "--cell-seconds",
        type=float,
        default=60.0,
        help="fits of other solvers than ours begin within so many seconds",
    )
    add("--busy", type=float, default=1.0, help="share of the cores that may work at the same time")
    add("--deadline", type=float, default=400.0, help="seconds after which no cell begins")
    add("--rows", type=Path, help="folder where the rows of the parts stay for the next call")
    add("--out", type=Path, default=Path("cores.jsonl"))
    add("--table", action="store_true", help="print the table of the --parts in --out; run nothing")
    add("--means", type=Path, help="with --table: keep the medians of all cells in --out here")
    options = parser.parse_args(argv)
    if not options.table:
        with tempfile.TemporaryDirectory() as passing:
            _run_all(options, str(options.rows or passing))
    shown = {tuple(text.split(":")[:2]) for text in options.parts}
    records = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    machines = dict.fromkeys(record["machine"] for record in records if "machine" in record)
    if options.means:
        write_cells(list(machines), cells_of(records).values(), options.means)
    records = [
        found
        for found in records
        if "error" in found or (found.get("set"), found.get("size")) in shown
    ]
    print("\n\n".join(["", *machines, render_cores(records, options.repeats)]))
    return 0


def cells_of(records: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what was found about each cell that ended; its gap comes in a record of its own."""
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in records:
        if "set" in record and "error" not in record:
            key = tuple(record[name] for name in KEY)
            cells[key] = cells.get(key, {}) | record
    return {key: cell for key, cell in cells.items() if "median" in cell}


def _run_all(options: argparse.Namespace, folder: str) -> None:
    began = time.perf_counter()
    _record({"machine": f"{time.strftime('%Y-%m-%d')}, {machine_line()}"}, options.out, began)
    solvers = [solver for solver in options.solvers if solver != "before" or options.before]
    parts = [Part.read(text, options.repeats, solvers) for text in options.parts]
    Path(folder).mkdir(parents=True, exist_ok=True)
    wanted = {(part.name, part.size) for part in parts}
    with ThreadPoolExecutor(len(wanted)) as pool:
        for answers in pool.map(lambda part: list(_call("write", *part, folder)), wanted):
            assert not answers, answers
    cpus = sibling_order()
    free = set(cpus)
    waiting = plan_runs(parts, solvers, options.cores, len(cpus))
    running: dict[Future[None], list[int]] = {}
    with ThreadPoolExecutor(len(cpus)) as pool:
        while waiting or running:
            for run in list(waiting):
                n_most = max(run.n_cores, int(options.busy * len(cpus)))
                block = free_block(cpus, free, run.n_cores, n_most)
                if block and time.perf_counter() - began <= options.deadline:
                    free -= set(block)
                    waiting.remove(run)
                    running[pool.submit(_run_cells, run, block, folder, options, began)] = block
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                free |= set(running.pop(done))
                done.result()
    for found in _call("certify", folder):
        _record(found, options.out, began)


def plan_runs(
    parts: Sequence[Part], solvers: Sequence[str], cores: Sequence[int], n_all: int
) -> list[Run]:
    """Return the processes in the order in which they begin if there is room.

    They are in the order of `cores`; ours come first among them, then the slowest. Where at most
    two processes fit side by side, a solver fits all parts in one process, which saves the time of
    starting; with fewer cores, each part has its own.
    """
    runs = []
    for n_cores in cores:
        for solver in sorted(solvers, key=lambda solver: (solver != "ours", -SCALED.index(solver))):
            wanted = tuple(replace(part, solvers=()) for part in parts if solver in part.solvers)
            chains = [wanted] if 2 * n_cores >= n_all else [(part,) for part in wanted]
            runs += [Run(solver, n_cores, chain) for chain in chains if chain]
    return runs


def sibling_order() -> list[int]:
    """Return the processors that this process may use, those that share a core next to each
    other.
    """
    allowed = (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )

    def core_of(cpu: int) -> tuple[int, int]:
        shared = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        first = shared.read_text().replace("-", ",").split(",")[0] if shared.exists() else cpu
        return int(first), cpu

    return sorted(allowed, key=core_of)


def free_block(cpus: Sequence[int], free: set[int], n_cores: int, n_most: int) -> list[int] | None:
    """Return adjacent free processors, or None; at most `n_most` are used at the same time."""
    if len(cpus) - len(free) + n_cores > n_most:
        return None
    blocks = (
        list(cpus[start : start + n_cores]) for start in range(0, len(cpus) - n_cores + 1, n_cores)
    )
    return next((block for block in blocks if free.issuperset(block)), None)


def _run_cells(
    run: Run, cpus: list[int], folder: str, options: argparse.Namespace, began: float
) -> None:
    seconds = 1e9 if run.solver == "ours" else options.cell_seconds
    cells = [[part.name, part.size, part.repeats] for part in run.parts]
    src = str(options.before) if run.solver == "before" else ""
    asked = ("fit", run.solver, json.dumps(cells), folder, str(seconds), str(run.n_cores))
    for found in _call(*asked, cpus=cpus, src=src):
        _record({"solver": run.solver, "cores": run.n_cores} | found, options.out, began)


def _record(found: dict[str, Any], out: Path, began: float) -> None:
    with out.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(found) + "\n")
    print(f"{time.perf_counter() - began:4.0f} s ", json.dumps(found), flush=True)


def _call(*arguments: str, cpus: Sequence[int] = (), src: str = "") -> Iterator[dict[str, Any]]:
    """Run `cores_worker` in another process; yield what it says, line by line, and its error if
    it ends with one.
    """
    environment = dict(os.environ)
    if cpus:
        environment["OMP_NUM_THREADS"] = str(len(cpus))
    if src:
        environment["PYTHONPATH"] = src + os.pathsep + environment.get("PYTHONPATH", "")
    pinned = (
        ["taskset", "-c", ",".join(map(str, cpus))]
        if cpus and hasattr(os, "sched_getaffinity")
        else []
    )
    command = [*pinned, sys.executable, "-m", "studies.speed.cores_worker", *arguments]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):  # libraries may print too
                yield json.loads(line)
        if process.wait():
            log.seek(0)
            yield {
                "error": (log.read().strip().splitlines() or ["no message"])[-1],
                "call": " ".join(arguments[:3]),
            }


def render_cores(records: Sequence[dict[str, Any]], usual: int = 5) -> str:
    """Return the tables: seconds by set, cores and solver, and the geometric means of the ratios
    to ours.
    """
    cells = cells_of(records)
    solvers = [solver for solver in SCALED if any(key[3] == solver for key in cells)]
    cores = sorted({key[2] for key in cells})
    lines = []
    ratios = {}
    for name, size in dict.fromkeys(key[:2] for key in sorted(cells)):
        for n_cores in cores:
            found = [cells.get((name, size, n_cores, solver)) for solver in solvers]
            if any(found):
                n_rows = next(cell["rows"] for cell in found if cell)
                title = f"{TITLES.get(name, name)}, {n_rows:,}"
                lines.append([title, str(n_cores), *(_cell_text(cell, usual) for cell in found)])
            ours = cells.get((name, size, n_cores, "ours"))
            for solver, cell in zip(solvers, found, strict=True):
                if cell and ours and solver != "ours" and not is_wrong(cell):
                    ratios.setdefault((solver, n_cores), []).append(cell["median"] / ours["median"])
    means = [
        [
            TITLES.get(solver, solver),
            *(_ratio_text(ratios.get((solver, n_cores), [])) for n_cores in cores),
        ]
        for solver in solvers
        if solver != "ours"
    ]
    failed = [record for record in records if "error" in record]
    note = (
        "Each cell has the median of the seconds, the gap in float64 (tolerance 1e-3; a gap in"
        " italics means a wrong solution, which is not counted below), and the MiB that the fit"
        f" added at its peak. The number of fits is in brackets if it is not {usual}."
    )
    head = [
        "geometric mean of seconds over ours (least), sets",
        *(f"{n_cores} core{'s' * (n_cores > 1)}" for n_cores in cores),
    ]
    columns = ["set, rows", "cores", *(TITLES.get(solver, solver) for solver in solvers)]
    tables = markdown_table(columns, lines), note, markdown_table(head, means)
    return "\n\n".join(
        [
            *tables,
            *(
                f"{record.get('solver', '')} {record['call']}: {record['error']}"
                for record in failed
            ),
        ]
    )


def is_wrong(cell: dict[str, Any]) -> bool:
    """Return whether a solution is far from the tolerance of 1e-3."""
    return cell.get("gap", 0.0) > 1e-2


def _cell_text(cell: dict[str, Any] | None, usual: int) -> str:
    if cell is None:
        return ""
    seconds = f"{cell['median']:.3f}" if cell["median"] < 10 else f"{cell['median']:.1f}"
    gap = f", {cell['gap']:.1e}".replace("e-0", "e-") if "gap" in cell else ""
    n_fits = len(cell["seconds"])
    fits = f" ({n_fits})" if n_fits != usual else ""
    gap = f", *{cell['gap']:.2g}*" if is_wrong(cell) else gap
    return (
        f"**{seconds}**" if cell["solver"] == "ours" else seconds
    ) + f"{gap}, {cell['peak_mib']:,}{fits}"


def _ratio_text(found: Sequence[float]) -> str:
    return (
        f"{exp(sum(map(log, found)) / len(found)):.2f} ({min(found):.2f}), {len(found)}"
        if found
        else ""
    )


if __name__ == "__main__":
    sys.exit(main())
