"""Are the methods of this version as fast as those of another one?

The same fits with the same parameters, by this version and by the one whose `src` folder `--before`
names, at sizes that take up to some seconds (`method_rows` draws the rows); re-solves after one
label flips, as in the sequences of semi-supervised methods; and starts of the command. A run is one
process: it fits once to warm up, then once (small fits: many times) timed. Runs alternate between
the versions. Printed are medians: processor seconds, which count on a busy machine, wall seconds
and peak memory of both, and the share of unlabeled rows that get the wrong class, which shows a fit
that is fast because it is another one.

Make the folder of the last commit before version 0.2 by

    git worktree add --detach FOLDER 58a1e59
    python -m studies.speed.methods --before FOLDER/src
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.fresh_process import call_fresh, measured
from studies.harness.machine import PACKAGE, REPOSITORY
from studies.harness.tables import markdown_table
from studies.speed.paper_sets import PAPER_SETS, load_signed
from studies.speed.runs import machine_line, make_parser, run_by_turns

VERSIONS = ("before", "now")
N_JUDGED = 2_000  # unlabeled rows that are predicted after the fit
SHOWN = (("cpu_s", "CPU-s"), ("wall_s", "seconds"), ("rss_peak_mib", "MiB"))


@dataclass(frozen=True)
class Fit:
    """One fit: the rows, the estimator, its parameters, and how many fits are timed together."""

    rows: str
    estimator: str
    params: dict[str, Any] = field(default_factory=dict)
    repeats: int = 1


def of_paper_set(name: str) -> dict[str, float]:
    """Return C and gamma of a set."""
    return {"C": PAPER_SETS[name].C, "gamma": PAPER_SETS[name].gamma}


COSTS = {"costs": {0: 1.0, 1: 5.0}}
# what version 0.1 did by default
PLAIN_LAPLACIAN = {"C_intrinsic": 0.1, "power": 1, "graph_weights": "connectivity"} | COSTS
LABEL_MEAN = {"C_unlabeled": 0.1, "guard": False} | COSTS
FITS = {
    "switch, adult 4,326": Fit("adult", "TransductiveSVC", of_paper_set("adult")),
    "cccp, adult 4,326": Fit(
        "adult", "TransductiveSVC", of_paper_set("adult") | {"algorithm": "cccp"}
    ),
    "anneal, adult 4,326": Fit(
        "adult", "TransductiveSVC", of_paper_set("adult") | {"algorithm": "anneal"}
    ),
    "switch, documents 610": Fit("example", "TransductiveSVC", {"kernel": "linear"}, 5),
    "switch, dense 10,100": Fit("dense 10000", "TransductiveSVC"),
    "cccp, dense 10,100": Fit("dense 10000", "TransductiveSVC", {"algorithm": "cccp"}),
    "anneal, dense 10,100": Fit("dense 10000", "TransductiveSVC", {"algorithm": "anneal"}),
    "progressive, documents 2,000": Fit("documents", "ProgressiveSVC", {"kernel": "linear"}),
    "progressive, dense 5,100": Fit("dense 5000", "ProgressiveSVC"),
    "progressive auto, dense 10,100": Fit(
        "dense 10000", "ProgressiveSVC", {"pairs_per_round": "auto"}
    ),
    "self-training, dense 5,100": Fit("dense 5000", "SelfTrainingSVC"),
    "preference, adult": Fit(
        "tenth adult", "PreferenceSVC", of_paper_set("adult") | {"random_state": 0}
    ),
    "preference, ijcnn1": Fit(
        "tenth ijcnn1", "PreferenceSVC", of_paper_set("ijcnn1") | {"random_state": 0}
    ),
    "preference, protein": Fit(
        "tenth protein", "PreferenceSVC", of_paper_set("protein") | {"random_state": 0}
    ),
    "cluster, B1 4,000": Fit("b1 4000", "ClusterSVC", {"n_clusters": 20, "random_state": 0}),
    "cluster, B1 20,000": Fit("b1 20000", "ClusterSVC", {"n_clusters": 20, "random_state": 0}),
    "label-mean, krvskp 1,598": Fit(
        "labels krvskp", "LabelMeanSVC", LABEL_MEAN | {"kernel": "linear"}, 25
    ),
    "label-mean, ijcnn1 20,000": Fit("unlabeled 20000", "LabelMeanSVC", LABEL_MEAN),
    "label-mean guarded, ijcnn1 4,000": Fit(
        "unlabeled 4000", "LabelMeanSVC", LABEL_MEAN | {"guard": True}
    ),
    "laplacian, krvskp 1,598": Fit(
        "labels krvskp", "LaplacianSVC", PLAIN_LAPLACIAN | {"kernel": "linear"}, 3
    ),
    "laplacian, ijcnn1 8,000": Fit("unlabeled 8000", "LaplacianSVC", PLAIN_LAPLACIAN),
    "supervised, adult 3,256": Fit(
        "supervised adult 0.1", "SupervisedSVC", of_paper_set("adult"), 5
    ),
    "supervised, ijcnn1 49,990": Fit(
        "supervised ijcnn1 1", "SupervisedSVC", of_paper_set("ijcnn1")
    ),
    "supervised, small cache, mnist 6,000": Fit(
        "supervised mnist 0.1", "SupervisedSVC", of_paper_set("mnist") | {"cache_size": 40}
    ),
}
FLIPS = "30 flips of one label, dense 3,000"
COMMANDS = ("command --help", "command predict")
TASKS = (*FITS, FLIPS, *COMMANDS)
FOLDER = "SEMISVM_STUDY_ROWS"  # the variable that names the folder of the rows


def _rows_file(folder: str, rows: str) -> str:
    return str(Path(folder) / f"{rows}.npz")


def write_rows(name: str, path: str) -> None:
    """Write X, y (-1 without a label) and the true classes of a task's rows to an .npz file."""
    from scipy import sparse

    from studies.speed import method_rows

    kind, *words = name.split()
    truth = None
    if kind == "supervised":
        X, sign = load_signed(words[0])
        rows = np.sort(
            np.random.default_rng(0).permutation(len(sign))[: round(len(sign) * float(words[1]))]
        )
        X = X[rows].toarray().astype(np.float32)
        y = (sign[rows] > 0).astype(int)
    else:
        X, y, truth = method_rows.load_rows(name)
    arrays = {"y": y} | ({} if truth is None else {"truth": truth})
    if sparse.issparse(X):
        X = X.tocsr()
        arrays |= {
            "data": X.data,
            "indices": X.indices,
            "indptr": X.indptr,
            "shape": np.array(X.shape),
        }
    else:
        arrays["X"] = X
    np.savez(path, **arrays)


def _read_rows(path: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    from scipy import sparse

    with np.load(path) as arrays:
        if "X" in arrays:
            X = arrays["X"]
        else:
            csr = arrays["data"], arrays["indices"], arrays["indptr"]
            X = sparse.csr_matrix(csr, shape=tuple(arrays["shape"]))
        return X, arrays["y"], arrays.get("truth")


def run_once(task: dict[str, str], repeat: int) -> dict[str, float]:
    """Run a task in this process, whose path leads to one of the versions, and return what it
    took.
    """
    import semisvm

    src = os.environ["PYTHONPATH"].split(os.pathsep)[0]
    if Path(str(semisvm.__file__)).parents[1] != Path(src):
        raise RuntimeError(f"Another version than {task['version']} was imported.")
    warnings.simplefilter("ignore")  # parts of so few rows may be hard to split
    if task["task"] in COMMANDS:
        return _run_command(task["task"], src)
    if task["task"] == FLIPS:
        return _flip_labels()
    fit = FITS[task["task"]]
    estimator = getattr(semisvm, fit.estimator)
    known = estimator().get_params()
    params = {name: value for name, value in fit.params.items() if name in known}  # "power" is new
    X, y, truth = _read_rows(_rows_file(os.environ[FOLDER], fit.rows))
    estimator(**params, device="cpu").fit(X, y)
    took: dict[str, float] = {}
    with measured(took):
        for _ in range(fit.repeats):
            model = estimator(**params, device="cpu").fit(X, y)
    took |= {name: took[name] / fit.repeats for name in ("wall_s", "cpu_s")}
    if truth is not None:
        judged = np.flatnonzero(y < 0)[:N_JUDGED]
        took["wrong"] = float((model.predict(X[judged]) != truth[judged]).mean())
    return took


def _flip_labels(n_flips: int = 30) -> dict[str, float]:
    """Flip labels of a solved problem, one at a time."""
    from sklearn.datasets import make_classification

    from semisvm.dual import DualProblem, solve
    from semisvm.kernels import kernel_rows, make_formula

    X, y = make_classification(3_000, 20, n_informative=10, flip_y=0.05, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = kernel_rows(X, make_formula("rbf", X, gamma=1 / 20), cache_size=1000)

    def solve_for(sign: np.ndarray, start: Any = None) -> Any:
        problem = DualProblem(
            kernel, linear=-sign, lower=np.minimum(0.0, sign), upper=np.maximum(0.0, sign)
        )
        return solve(problem, start=start, tol=1e-3)

    sign = np.where(y == 1, 1.0, -1.0)
    solved = solve_for(sign)
    rows = np.random.default_rng(0).choice(len(y), size=2 * n_flips, replace=False)
    took: dict[str, float] = {}
    for part in (rows[:n_flips], rows[n_flips:]):  # the first to warm up
        with measured(took):
            for row in part:
                flipped = sign.copy()
                flipped[row] *= -1
                solve_for(flipped, start=solved)
    return took


def _run_command(name: str, src: str) -> dict[str, float]:
    """Run the command, whole, with a model of its own version."""
    from studies.speed import start_time

    words = [name.split()[-1]]
    with tempfile.TemporaryDirectory() as folder:
        if words == ["predict"]:
            start_time.write_rows(Path(folder))
            model = f"{folder}/model.skops"
            new = f"{folder}/new numbers.csv"
            fit = [
                "fit",
                f"{folder}/numbers.csv",
                "--target",
                "label",
                "--method",
                "supervised",
                "--out",
                model,
            ]
            start_time.run_once(fit, src)
            words += [model, new, "--out", f"{folder}/out.csv", "--force"]
        took = start_time.run_once(words, src)
    return {
        "wall_s": took["seconds"],
        "cpu_s": took["cpu"],
        "rss_peak_mib": took["megabytes"] * 1e6 / 2**20,
    }


def render_versions(found: dict[tuple[str, str], dict[str, float] | None]) -> str:
    """Return the table of both versions, and the geometric means of the ratios; `found` is by
    task and version.
    """
    lines: list[list[str]] = []
    ratios: dict[str, list[float]] = {name: [] for name, _ in SHOWN}
    for task in dict.fromkeys(name for name, _ in found):
        both = [found.get((task, version)) for version in VERSIONS]
        line = [task]
        for name, _ in SHOWN:
            values = [took[name] if took else None for took in both]
            line += ["" if value is None else _number(value) for value in values]
            if None not in values:
                ratios[name].append(values[1] / values[0])  # type: ignore[operator]
            line.append("" if None in values else f"{ratios[name][-1]:.2f}")
        lines.append(
            [*line, *(f"{took['wrong']:.1%}" if took and "wrong" in took else "" for took in both)]
        )
    head = [words for _, shown in SHOWN for words in (f"{shown} before", "now", "ratio")]
    table = markdown_table(["task", *head, "wrong before", "now"], lines, n_text=1)
    means = [
        f"{shown} {exp(sum(map(log, ratios[name])) / len(ratios[name])):.2f} (most"
        f" {max(ratios[name]):.2f})"
        for name, shown in SHOWN
        if ratios[name]
    ]
    return f"{table}\n\nNow over before, geometric mean: {', '.join(means)}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = make_parser("methods", __doc__)
    add = parser.add_argument
    add(
        "--before",
        type=Path,
        required=True,
        metavar="SRC",
        help="the source folder of another version",
    )
    add(
        "--tasks",
        nargs="+",
        choices=TASKS,
        default=list(TASKS),
        metavar="TASK",
        help="; ".join(TASKS),
    )
    add("--repeats", type=int, default=3, metavar="N")
    options = parser.parse_args(argv)
    sources = dict(zip(VERSIONS, (str(options.before.resolve()), str(PACKAGE.parent)), strict=True))
    began = time.perf_counter()
    tasks = [{"task": name, "version": version} for name in options.tasks for version in VERSIONS]
    with tempfile.TemporaryDirectory() as folder:
        for rows in dict.fromkeys(FITS[name].rows for name in options.tasks if name in FITS):
            prepared = call_fresh(
                "studies.speed.methods:write_rows", rows, _rows_file(folder, rows)
            )
            if prepared["outcome"] != "done":
                print(f"{rows}: {prepared['why']}", file=sys.stderr)
                return 1
        medians = run_by_turns(
            "studies.speed.methods:run_once",
            tasks,
            options.repeats,
            options.out,
            environment=lambda task: {
                "PYTHONPATH": os.pathsep.join([sources[task["version"]], str(REPOSITORY)]),
                FOLDER: folder,
            },
        )
    found = {
        (task["task"], task["version"]): took for task, took in zip(tasks, medians, strict=True)
    }
    print(f"{machine_line()}; {time.perf_counter() - began:.0f} s\n\n{render_versions(found)}")
    return 0 if None not in medians else 1


if __name__ == "__main__":
    sys.exit(main())
