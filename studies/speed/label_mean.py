"""How long does a whole fit of LabelMeanSVC take with ten labels, on one core, and where is the
time spent?

    sets    the training halves of the CS4VM paper's sets (66 to 1,598 rows), linear kernel, a
            missed positive at 2, 10 and 500 times a false alarm: the setting of its Table 3, where
            it reports 90 ms to 1 s
    rows    made-up rows (20 features), 250 to 1,600, linear and RBF

A set is one process on one core, warmed up by one fit; each number is the median of many fits,
including everything from checking the input to the last attribute. With its guard, the label-mean
SVM is fitted once more for each label, unless the costs alone decide. LaplacianSVC and
SupervisedSVC are shown as well. Goals: 5 ms up to 1,000 rows, 150 ms at 1,600; LaplacianSVC half a
second there. `--stages` shows where a fit spends its time. How time and memory grow to 20,000
unlabeled rows is the question of `studies.speed.growth`.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from studies.harness.fresh_process import call_fresh
from studies.harness.machine import describe_session
from studies.harness.pool import ONE_THREAD
from studies.harness.records import Journal
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line, make_parser

SETS = (
    *(
        "echocardiogram",
        "house",
        "heart",
        "heart-statlog",
        "liver-disorders",
        "spectf",
        "ionosphere",
        "house-votes",
    ),
    *(
        "vehicle",
        "clean1",
        "wdbc",
        "isolet",
        "australian",
        "diabetes",
        "german",
        "optdigits",
        "sat",
        "krvskp",
    ),
)
ROWS = (250, 500, 1_000, 1_600)
RATIOS = (2, 10, 500)
METHODS = ("label-mean", "label-mean, guarded", "laplacian", "supervised")
SMALL = 1_000
SMALL_GOAL_MS = 5.0
LARGE_GOAL_MS = 150.0
LAPLACIAN_GOAL_MS = 500.0


def load_rows(task):
    """Return X in [0, 1], y with five labels of each class and -1 elsewhere, and the kernel."""
    if task.startswith("rows"):
        from sklearn.datasets import make_classification

        _, n_rows, kernel = task.split()
        X, truth = make_classification(
            int(n_rows), 20, n_informative=10, flip_y=0.02, random_state=0
        )
    else:
        from studies.data import load

        data = load(task)
        kernel = "linear"
        half = np.random.default_rng(0).permutation(len(data.y))[: len(data.y) // 2]
        X = np.asarray(data.X, dtype=np.float64)[half]
        truth = data.y[half]
    spread = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(spread > 0, spread, 1)
    y = np.full(len(truth), -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:5]] = label
    return X, y, kernel


def make(method, kernel, ratio):
    """Return an estimator of the named method."""
    import semisvm

    settings = {"kernel": kernel, "costs": {0: 1, 1: ratio}}
    if method == "laplacian":
        return semisvm.LaplacianSVC(**settings)
    if method == "supervised":
        return semisvm.SupervisedSVC(**settings)
    return semisvm.LabelMeanSVC(**settings, guard=method.endswith("guarded"))


def fit_often(task, repeats, stages):
    """Fit in this process after a warm-up; return milliseconds by method and ratio, and the
    size.
    """
    X, y, kernel = load_rows(task)
    found = {}
    for method in METHODS:
        for ratio in RATIOS:
            estimator = make(method, kernel, ratio).fit(X, y)
            wall = []
            cpu = []
            for _ in range(repeats):
                began = time.perf_counter()
                began_cpu = time.process_time()
                estimator.fit(X, y)
                cpu.append(1e3 * (time.process_time() - began_cpu))
                wall.append(1e3 * (time.perf_counter() - began))
            found[f"{method}, {ratio}"] = {
                "wall": statistics.median(wall),
                "cpu": statistics.median(cpu),
            }
    if stages:
        print(profile(make(METHODS[0], kernel, RATIOS[0]), X, y, repeats), file=sys.stderr)
    return {"rows": len(y), "features": X.shape[1], "milliseconds": found}


def profile(estimator, X, y, repeats):
    """Return the functions in which a fit spends most time, including what they call; a profiler
    doubles the total.
    """
    import cProfile
    import io
    import pstats

    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(repeats):
        estimator.fit(X, y)
    profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("cumulative").print_stats(40)
    return text.getvalue()


def row_of(task, measures, clock):
    """Return the row of a task: milliseconds of each method at each ratio, and whether the goals
    are met.
    """
    n_rows = measures["rows"]
    fits = measures["milliseconds"]
    columns = [
        "/".join(f"{fits[f'{method}, {ratio}'][clock]:.1f}" for ratio in RATIOS)
        for method in METHODS
    ]
    goal = SMALL_GOAL_MS if n_rows <= SMALL else LARGE_GOAL_MS
    missed = [
        f"label-mean at {ratio}" for ratio in RATIOS if fits[f"label-mean, {ratio}"][clock] > goal
    ]
    missed += [
        f"laplacian at {ratio}"
        for ratio in RATIOS
        if fits[f"laplacian, {ratio}"][clock] > LAPLACIAN_GOAL_MS
    ]
    return [task, str(n_rows), *columns, f"missed: {', '.join(missed)}" if missed else "met"]


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = make_parser("label_mean", __doc__)
    names = [*SETS, *(f"rows {n} {kernel}" for n in ROWS for kernel in ("linear", "rbf"))]
    parser.add_argument(
        "--tasks", nargs="+", choices=names, default=names, metavar="TASK", help=", ".join(names)
    )
    parser.add_argument("--repeats", type=int, default=25, metavar="N")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="what to print; cpu on a busy machine",
    )
    parser.add_argument(
        "--stages", action="store_true", help="also print a profile of each task's fits"
    )
    options = parser.parse_args(argv)
    rows = []
    with Journal(options.out, describe_session()) as journal:
        for task in options.tasks:
            function = "studies.speed.label_mean:fit_often"
            arguments = (task, options.repeats, options.stages)
            answer = call_fresh(function, *arguments, environment=ONE_THREAD)
            record = {
                "task": {"task": task, "fits": options.repeats},
                "seed": 0,
                "outcome": answer["outcome"],
            }
            if answer["outcome"] == "done":
                journal.append(record | {"measures": answer["result"]})
                rows.append(row_of(task, answer["result"], options.clock))
                print(f"{task} done\n{answer['log'] if options.stages else ''}", file=sys.stderr)
            else:
                journal.append(record | {"why": answer["why"]})
                print(f"{task}: {answer['why']}", file=sys.stderr)
    print(f"{machine_line()}; one core")
    ratios = "/".join(map(str, RATIOS))
    print(
        f"{options.clock} milliseconds per fit at cost ratios {ratios}, medians of"
        f" {options.repeats}\n"
    )
    print(markdown_table(["task", "rows", *METHODS, "goals"], rows, n_text=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
