"""How does supervised training scale with the cores, next to oneDAL and to another version of this library?

Each cell is one process, pinned to its cores, that warms up and then fits several times; medians are reported, with the
gap of the solution computed in float64 from its coefficients alone, and the peak memory. Cells of few cores run side by
side on different cores. `--before FOLDER` names the `src` folder of another version, which is measured as "before".
Cells that would begin after `--deadline` seconds are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from math import exp, log
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from studies.harness.tables import markdown_table
from studies.speed.paper_sets import PAPER_SETS

PARTS = {"ijcnn1": "all", "protein": "all", "adult": "all", "mnist": "10%"}
SCALED = ("ours", "before", "onedal-f32", "onedal-f64")
WARM_ROWS = 6_000  # enough for ours to take the way that it takes on all rows
MOST_CERTIFIED = 50_000  # rows whose certificate takes seconds, not minutes


def main(argv: list[str] | None = None) -> int:
    """Run the cells and print their table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cores", nargs="+", type=int, default=[16, 8, 4, 2, 1])
    add("--solvers", nargs="+", choices=SCALED, default=list(SCALED))
    add("--parts", nargs="+", default=[f"{name}:{size}" for name, size in PARTS.items()], metavar="SET:SIZE")
    add("--repeats", type=int, default=5)
    add("--before", type=Path, help="src folder of another version")
    add("--deadline", type=float, default=400.0, help="seconds after which no cell begins")
    add("--out", type=Path, default=Path("cores.jsonl"))
    options = parser.parse_args(argv)
    began, records = time.perf_counter(), []
    solvers = [solver for solver in options.solvers if solver != "before" or options.before]
    with tempfile.TemporaryDirectory() as folder:
        parts = [part.split(":") for part in options.parts]
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(lambda part: _call("write", *part, _rows_file(folder, *part)), parts))
        for n_cores in options.cores:
            plan = [(name, size, solver) for name, size in parts for solver in solvers]
            records += _run_side_by_side(plan, n_cores, folder, options, began)
    print(render_cores(records))
    return 0


def _run_side_by_side(plan, n_cores: int, folder: str, options: argparse.Namespace, began: float) -> list[dict]:
    """Run the cells of one number of cores, as many at a time as there are cores for."""
    n_groups = max(1, (os.cpu_count() or 1) // n_cores)
    free: SimpleQueue[int] = SimpleQueue()
    for group in range(n_groups):
        free.put(group)

    def run(cell) -> dict[str, Any] | None:
        group = free.get()
        try:
            if time.perf_counter() - began > options.deadline:
                return None
            name, size, solver = cell
            repeats = options.repeats if solver == "ours" or n_cores >= 8 else min(options.repeats, 3)
            cores = range(group * n_cores, (group + 1) * n_cores)
            before = str(options.before) if solver == "before" else ""
            found = _call(
                "fit", name, size, solver, _rows_file(folder, name, size), str(repeats), cores=cores, src=before
            )
            record = {"set": name, "size": size, "solver": solver, "cores": n_cores} | found
            with options.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
            print(f"{time.perf_counter() - began:4.0f} s ", json.dumps(record), flush=True)
            return record
        finally:
            free.put(group)

    with ThreadPoolExecutor(n_groups) as pool:
        return [record for record in pool.map(run, plan) if record is not None]


def _rows_file(folder: str, name: str, size: str) -> str:
    return str(Path(folder) / f"{name}-{size}.npz")


def _call(*arguments: str, cores: range | None = None, src: str = "") -> dict[str, Any]:
    """Run this module as another process; return what it prints last."""
    environment = dict(os.environ)
    if cores is not None:
        environment["OMP_NUM_THREADS"] = str(len(cores))
    if src:
        environment["PYTHONPATH"] = src + os.pathsep + environment.get("PYTHONPATH", "")
    pinned = (
        ["taskset", "-c", f"{cores[0]}-{cores[-1]}"] if cores is not None and hasattr(os, "sched_getaffinity") else []
    )
    command = [*pinned, sys.executable, "-m", "studies.speed.cores", "--worker", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if ended.returncode:
        return {"error": (ended.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(ended.stdout.strip().splitlines()[-1])


def work(task: str, name: str, size: str, *rest: str) -> dict[str, Any]:
    """Do what a worker is asked for: write the rows of a part, or fit them."""
    import numpy as np

    from studies.harness.fresh_process import measured
    from studies.speed.certificate import certify
    from studies.speed.paper_sets import read_part, write_part
    from studies.speed.peers import convert, make_solver, parse_solver, signed_coefficients, witnessed

    if task == "write":
        write_part(name, size, rest[0])
        return {}
    solver, rows_file, repeats = rest
    known, form = parse_solver("ours" if solver == "before" else solver)
    params = {"C": PAPER_SETS[name].C, "gamma": PAPER_SETS[name].gamma, "tol": 1e-3, "cache_mb": 12_000}
    rows = read_part(rows_file)
    X, target = convert(rows.X, form), (rows.sign > 0).astype(np.int64)
    make_solver(known, **params).fit(X[:WARM_ROWS], target[:WARM_ROWS])
    seconds, peaks = [], []
    for _ in range(int(repeats)):
        model, measures = make_solver(known, **params), {}
        with witnessed(known), measured(measures):
            model.fit(X, target)
        seconds.append(round(measures["wall_s"], 4))
        peaks.append(round((measures["rss_peak_mib"] or 0) - (measures["rss_before_mib"] or 0)))
    found = {"rows": len(target), "seconds": seconds, "median": statistics.median(seconds), "peak_mib": max(peaks)}
    if len(target) <= MOST_CERTIFIED:
        beta, support = signed_coefficients(model), np.asarray(model.support_, dtype=np.intp)
        truth = certify(rows.X, rows.sign, support, beta, 0.0, params["C"], params["gamma"])
        found |= {"gap": truth["gap"], "objective": truth["dual_objective"]}
    return found


def render_cores(records: list[dict[str, Any]]) -> str:
    """Return the tables: seconds by set, cores and solver, and the geometric means of the ratios to ours."""
    cells = {(r["set"], r["size"], r["cores"], r["solver"]): r for r in records if "median" in r}
    solvers = [solver for solver in SCALED if any(key[3] == solver for key in cells)]
    lines, ratios = [], {}
    for name, size, n_cores in dict.fromkeys(key[:3] for key in cells):
        line = [f"{name} {size}", str(n_cores)]
        ours = cells.get((name, size, n_cores, "ours"))
        for solver in solvers:
            cell = cells.get((name, size, n_cores, solver))
            line.append("" if cell is None else _cell_text(cell))
            if cell is not None and ours is not None and solver != "ours":
                ratios.setdefault((n_cores, solver), []).append(cell["median"] / ours["median"])
        lines.append(line)
    means = []
    for (n_cores, solver), found in ratios.items():
        mean = exp(sum(map(log, found)) / len(found))
        means.append(f"{n_cores} cores: {solver} takes {mean:.2f} times our seconds (least {min(found):.2f})")
    note = "Seconds (median), gap in float64 (tolerance 1e-3), MiB at the peak of the fit."
    return "\n".join([markdown_table(["set", "cores", *solvers], lines, n_text=2), "", *means, "", note])


def _cell_text(cell: dict[str, Any]) -> str:
    gap = f" {cell['gap']:.1e}" if "gap" in cell else ""
    return f"{cell['median']:.3f}{gap} {cell['peak_mib']}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(work(*sys.argv[2:])))
        sys.exit(0)
    sys.exit(main())
