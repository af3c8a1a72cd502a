"""How does supervised training scale with the cores, next to oneDAL and to another version of this library?

Each cell is one process, pinned to its cores, that warms up and then fits several times; medians are reported, with the
gap of the solution computed in float64 from its coefficients alone, and the peak memory. Cells of few cores run side by
side on different cores, which together are at most `--busy` of the machine's. `--before FOLDER` names the `src` folder
of another version, which is measured as "before". A cell of another solver than ours ends after `--cell-seconds`: then
its median is of fewer fits, and the table says of how many. Cells that would begin after `--deadline` seconds are left
out.

`million` is a set of its own: a million rows of 50 features, a linear rule with noise, RBF kernel, C = 1.
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
from studies.speed.runs import machine_line

PARTS = {"ijcnn1": "all", "protein": "all", "adult": "all", "mnist": "10%"}
SCALED = ("ours", "onedal-f32", "onedal-f64", "before")
WARM_ROWS = 6_000  # enough for ours to take the way that it takes on all rows
WARM_ROWS_OF_OTHERS = 1_000
MOST_CERTIFIED = 60_000  # rows whose certificate takes seconds, not minutes
MILLION = {"C": 1.0, "gamma": 0.02, "features": 50, "noise": 0.05}


def main(argv: list[str] | None = None) -> int:
    """Run the cells and print their table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cores", nargs="+", type=int, default=[16, 8, 4, 2, 1])
    add("--solvers", nargs="+", choices=SCALED, default=list(SCALED))
    add("--parts", nargs="+", default=[f"{name}:{size}" for name, size in PARTS.items()], metavar="SET:SIZE")
    add("--repeats", type=int, default=5)
    add("--before", type=Path, help="src folder of another version")
    add("--cell-seconds", type=float, default=60.0, help="fits of other solvers than ours begin within so many seconds")
    add("--busy", type=float, default=0.5, help="share of the cores that may work at the same time")
    add("--deadline", type=float, default=400.0, help="seconds after which no cell begins")
    add("--rows", type=Path, help="folder where the rows of the parts stay for the next call")
    add("--out", type=Path, default=Path("cores.jsonl"))
    add("--table", action="store_true", help="print the table of the records in --out; run nothing")
    options = parser.parse_args(argv)
    if not options.table:
        _run_all(options)
    records = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    print(f"\n{time.strftime('%Y-%m-%d')}, {machine_line()}\n\n{render_cores(records)}")
    return 0


def _run_all(options: argparse.Namespace) -> None:
    began = time.perf_counter()
    solvers = [solver for solver in options.solvers if solver != "before" or options.before]
    with tempfile.TemporaryDirectory() as passing:
        folder, parts = str(options.rows or passing), [part.split(":") for part in options.parts]
        missing = [part for part in parts if not Path(_rows_file(folder, *part)).exists()]
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(lambda part: _call("write", *part, _rows_file(folder, *part)), missing))
        for n_cores in options.cores:
            # the longest cells first, so that none of them is alone at the end
            plan = [(name, size, solver) for solver in reversed(solvers) for name, size in parts]
            _run_side_by_side(plan, n_cores, folder, options, began)


def _run_side_by_side(plan, n_cores: int, folder: str, options: argparse.Namespace, began: float) -> None:
    """Run the cells of one number of cores, as many at a time as may be."""
    n_all = os.cpu_count() or 1
    n_groups = max(1, int(options.busy * n_all) // n_cores)
    free: SimpleQueue[int] = SimpleQueue()
    for group in range(n_groups):
        free.put(group)

    def run(cell) -> None:
        group = free.get()
        try:
            if time.perf_counter() - began > options.deadline:
                return
            name, size, solver = cell
            seconds = 1e9 if solver == "ours" else options.cell_seconds
            before = str(options.before) if solver == "before" else ""
            limits = str(options.repeats), str(seconds)
            cores = range(group * n_cores, min((group + 1) * n_cores, n_all))
            found = _call("fit", name, size, solver, _rows_file(folder, name, size), *limits, cores=cores, src=before)
            record = {"set": name, "size": size, "solver": solver, "cores": n_cores} | found
            with options.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
            print(f"{time.perf_counter() - began:4.0f} s ", json.dumps(record), flush=True)
        finally:
            free.put(group)

    with ThreadPoolExecutor(n_groups) as pool:
        list(pool.map(run, plan))


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
        if name != "million":
            write_part(name, size, rest[0])
        return {}
    solver, rows_file, repeats, most_seconds = rest
    known, form = parse_solver("ours" if solver == "before" else solver)
    if name == "million":
        params, (X, sign) = {key: MILLION[key] for key in ("C", "gamma")}, million_rows(count_of(size))
        checked = X
    else:
        rows = read_part(rows_file)
        params, X, sign = {"C": PAPER_SETS[name].C, "gamma": PAPER_SETS[name].gamma}, convert(rows.X, form), rows.sign
        checked = rows.X
    params |= {"tol": 1e-3, "cache_mb": 12_000 if name != "million" else 40_000}
    target = (sign > 0).astype(np.int64)
    some = slice(WARM_ROWS if known == "ours" else WARM_ROWS_OF_OTHERS)
    make_solver(known, **params).fit(X[some], target[some])
    seconds, peaks, spent = [], [], 0.0
    for _ in range(int(repeats)):
        model, measures = make_solver(known, **params), {}
        with witnessed(known), measured(measures):
            model.fit(X, target)
        seconds.append(round(measures["wall_s"], 4))
        peaks.append(round((measures["rss_peak_mib"] or 0) - (measures["rss_before_mib"] or 0)))
        spent += measures["wall_s"]
        if spent + measures["wall_s"] > float(most_seconds):
            break
    beta, support = signed_coefficients(model), np.asarray(model.support_, dtype=np.intp)
    found = {"rows": len(target), "seconds": seconds, "median": statistics.median(seconds), "peak_mib": max(peaks)}
    found |= {"n_support": len(support), "n_iter": int(np.max(model.n_iter_)), "beta_sum": float(np.abs(beta).sum())}
    if len(target) <= MOST_CERTIFIED:
        truth = certify(checked, sign, support, beta, 0.0, params["C"], params["gamma"])
        found |= {"gap": truth["gap"], "objective": truth["dual_objective"]}
    return found


def count_of(size: str) -> int:
    """Return how many rows of a million a size is: "all", or "200000 rows"."""
    return 1_000_000 if size == "all" else int(size.split()[0])


def million_rows(n: int) -> tuple[Any, Any]:
    """Return rows of normal numbers, float32, and signs by a linear rule of which a share is turned round."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, MILLION["features"]), dtype=np.float32)
    sign = np.where(X @ rng.standard_normal(MILLION["features"], dtype=np.float32) > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < MILLION["noise"], -sign, sign)


def render_cores(records: list[dict[str, Any]]) -> str:
    """Return the tables: seconds by set, cores and solver, and the geometric means of the ratios to ours."""
    cells = {(r["set"], r["size"], r["cores"], r["solver"]): r for r in records if "median" in r}
    solvers = [solver for solver in SCALED if any(key[3] == solver for key in cells)]
    lines, ratios = [], {}
    for name, size, n_cores in sorted(dict.fromkeys(key[:3] for key in cells)):
        line = [f"{name} {size}", str(n_cores)]
        ours = cells.get((name, size, n_cores, "ours"))
        for solver in solvers:
            cell = cells.get((name, size, n_cores, solver))
            line.append("" if cell is None else _cell_text(cell))
            if cell is not None and ours is not None and solver != "ours":
                ratios.setdefault((n_cores, solver), []).append(cell["median"] / ours["median"])
        lines.append(line)
    means = [
        [str(n_cores), solver, f"{exp(sum(map(log, found)) / len(found)):.2f}", f"{min(found):.2f}", str(len(found))]
        for (n_cores, solver), found in sorted(ratios.items())
    ]
    errors = [
        f"{r['set']} {r['size']}, {r['cores']} cores, {r['solver']}: {r['error']}" for r in records if "error" in r
    ]
    note = (
        "Seconds (median), gap in float64 (tolerance 1e-3), MiB at the peak of the fit; in brackets the number of fits "
        "where it is not the usual one."
    )
    return "\n".join(
        [
            markdown_table(["set", "cores", *solvers], lines, n_text=2),
            "",
            note,
            "",
            markdown_table(["cores", "solver", "times our seconds, geometric mean", "least", "sets"], means, n_text=2),
            *errors,
        ]
    )


def _cell_text(cell: dict[str, Any], usual: int = 5) -> str:
    gap = f" {cell['gap']:.1e}" if "gap" in cell else ""
    n_fits = len(cell["seconds"])
    return f"{cell['median']:.3f}{gap} {cell['peak_mib']}" + (f" ({n_fits})" if n_fits != usual else "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(work(*sys.argv[2:])))
        sys.exit(0)
    sys.exit(main())
