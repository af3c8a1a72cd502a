"""How long does it take to train an RBF SVM? Ours beside LIBSVM (scikit-learn) and oneDAL (the
package scikit-learn-intelex), on the sets of the PSVM paper.

    make bench                                        # this machine's cores, a tenth of each set
    make bench-cores                                  # 1, 2, 4, 8, 16 cores, all rows
    python -m studies.speed.training --sets adult:all ijcnn1:6000 --cores 2 --solvers ours libsvm
    python -m studies.speed.training --before FOLDER/src    # another version by turns

A cell is a set, a solver and a number of cores: a process that is pinned to its cores warms up and
fits once; medians over the repetitions. `excess` is the objective over the least one of all solvers,
computed in float64 from the coefficients alone.
"""

from __future__ import annotations

import os
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from studies.records import REPOSITORY, markdown_table, usable_cores
from studies.running import make_parser, measured
from studies.speed.rows import PAPER_SETS, noisy_rule, paper_rows, rbf_objective
from studies.speed.turns import run_by_turns, store

# Each in the form that it is fastest on: dense, in the precision that it computes in.
SOLVERS = {
    "ours": ("semisvm", "SupervisedSVC", "float32", {"device": "cpu"}),
    "before": ("semisvm", "SupervisedSVC", "float32", {"device": "cpu"}),
    "libsvm": ("sklearn.svm", "SVC", "float64", {}),
    "onedal-f32": ("sklearnex.svm", "SVC", "float32", {}),
    "onedal-f64": ("sklearnex.svm", "SVC", "float64", {}),
}
PARTS = ("ijcnn1:all", "protein:all", "adult:all", "mnist:10%")
QUICK_PARTS = ("ijcnn1:10%", "protein:10%", "adult:10%")
MILLION = (1.0, 0.02)  # C and gamma of "million": a linear rule with noise, 50 features
KEY = ("set", "size", "cores", "solver")


def read_part(name: str, size: str) -> tuple[Any, Any, float, float]:
    """Return rows, signs, C and gamma of a set's part: "all", "10%" or a number of rows."""
    if name == "million":
        n = 1_000_000 if size == "all" else int(size)
        return *noisy_rule(n, 50), *MILLION
    X, sign = paper_rows(name)
    n = len(X)
    if size != "all":
        n = round(n * float(size[:-1]) / 100) if size.endswith("%") else int(size)
        X, sign = paper_rows(name, n)
    return X, sign, *PAPER_SETS[name]


def fit_once(task: dict[str, Any]) -> dict[str, float]:
    """Fit in this process, which is pinned to so many cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: task["cores"]])
    module, name, dtype, more = SOLVERS[task["solver"]]
    X, sign, C, gamma = read_part(task["set"], task["size"])
    estimator = getattr(import_module(module), name)
    rows, y = X.astype(dtype), (sign > 0).astype(int)  # 0 and 1: -1 is "no label"
    settings = {"C": C, "gamma": gamma, "tol": 1e-3, "cache_size": task["cache_mb"], **more}
    warm_up = slice(6000 if module == "semisvm" else 1000)
    estimator(**settings).fit(rows[warm_up], y[warm_up])
    model = estimator(**settings)
    took: dict[str, Any] = {}
    with measured(took, task["limit"]):
        model.fit(rows, y)
    found = {"rows": len(sign), "wall_s": took["wall_s"], "cpu_s": took["cpu_s"]}
    found |= {"peak_mib": took["peak_mib"] - took["before_mib"], "n_support": len(model.support_)}
    return found | {"objective": rbf_objective(model, X, sign, C, gamma)}


def table_of(cells: list[dict[str, Any]]) -> str:
    """One line per part and number of cores: seconds of each solver, and how many times ours."""
    by_line: dict[tuple, dict[str, dict[str, Any]]] = defaultdict(dict)
    for cell in cells:
        if "why" not in cell:
            by_line[cell["set"], cell["size"], int(cell["cores"])][cell["solver"]] = cell
    solvers = [name for name in SOLVERS if any(name in line for line in by_line.values())]
    rows = []
    for (name, size, cores), line in sorted(by_line.items()):
        ours = line.get("ours", {}).get("wall_s")
        row = [name, size, str(cores)]
        for solver in solvers:
            seconds = line.get(solver, {}).get("wall_s")
            times = f" ({seconds / ours:.1f}x)" if seconds and ours and solver != "ours" else ""
            row.append("" if seconds is None else f"{seconds:.3g}{times}")
        rows.append(row)
    return markdown_table(["set", "rows", "cores", *(f"{s}, s" for s in solvers)], rows)


def main() -> None:
    """Run all cells by turns and print their table."""
    parser = make_parser("studies.speed.training", __doc__)
    parser.add_argument("--sets", nargs="+", default=QUICK_PARTS, metavar="SET:SIZE")
    parser.add_argument("--all", action="store_true", help="the parts of the page")
    parser.add_argument("--cores", nargs="+", type=int, default=[usable_cores()])
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=None)
    parser.add_argument("--before", type=Path, help="src folder of another version")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of one fit")
    parser.add_argument("--cache-mb", type=float, default=4000.0)
    options = parser.parse_args()
    solvers = options.solvers or [name for name in SOLVERS if name != "before" or options.before]
    tasks = [
        {
            "set": part.partition(":")[0],
            "size": part.partition(":")[2] or "all",
            "cores": cores,
            "solver": solver,
            "limit": options.limit,
            "cache_mb": options.cache_mb,
        }
        for cores in options.cores
        for part in (PARTS if options.all else options.sets)
        for solver in solvers
    ]

    def environment(task: dict[str, Any]) -> dict[str, str]:
        source = options.before.resolve() if task["solver"] == "before" else REPOSITORY / "src"
        threads = {f"{name}_NUM_THREADS": str(task["cores"]) for name in ("OMP", "OPENBLAS")}
        return {**threads, "PYTHONPATH": f"{source}{os.pathsep}{REPOSITORY}"}

    cells = run_by_turns("studies.speed.training:fit_once", tasks, options.repeats, environment)
    for cell in cells:
        same = [
            c["objective"]
            for c in cells
            if c.get("objective") and all(c[k] == cell[k] for k in KEY[:2])
        ]
        if "objective" in cell:
            cell["excess"] = cell["objective"] / min(same) - 1
        for name in ("limit", "cache_mb"):
            cell.pop(name)
    if options.store:
        store("training", [cell for cell in cells if cell["solver"] != "before"], KEY)
    print(table_of(cells))
    worst = max(
        (cell.get("excess", 0.0) for cell in cells if cell["solver"] == "ours"), default=0.0
    )
    print(f"\nOur objective is at most {worst:.1e} above the least one of all solvers.")
    for cell in cells:
        if "why" in cell:
            print(f"{cell['solver']}, {cell['set']}, {cell['cores']} cores: {cell['why']}")


if __name__ == "__main__":
    main()
