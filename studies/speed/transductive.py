"""How fast are TransductiveSVC and ProgressiveSVC beside loops around scikit-learn, and how do they grow?

    adult      TSVM, 326 labeled and 4,000 unlabeled rows of Adult (RBF, C=100, gamma=0.5); SVMlight: 49 s
    example    TSVM on SVMlight's own example, 10 and 600 Reuters documents; SVMlight: 1.6 s
    documents  PTSVM, 10 labeled and 1,990 unlabeled Reuters documents, one pair a round and "auto", beside the
               same loop with SVC trained from nothing in every round
    rows       TSVM, 100 labeled and 2,000 unlabeled rows (d=20, RBF), beside the textbook loop with SVC
    growth     each method on 500 to 20,000 unlabeled rows (d=20, RBF), with the exponent, and a plot

Each run is one fit in a process of its own, after a warm-up on a few rows. Peers get the kernel matrix ready made,
untimed. Every run is appended as a record; medians are printed. SVMlight's seconds were measured elsewhere: they
stand for the order of magnitude.
"""

import argparse
import json
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from studies.speed import footprint
from studies.speed.loglog import draw
from studies.speed.records import describe_session
from studies.speed.turns import goal_words, machine_line, measure, met

RESULTS = Path(__file__).resolve().parent / "results" / "transductive.jsonl"
SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000)
OURS = {
    "switch": ("TransductiveSVC", {}),
    "cccp": ("TransductiveSVC", {"algorithm": "cccp"}),
    "anneal": ("TransductiveSVC", {"algorithm": "anneal"}),
    "progressive": ("ProgressiveSVC", {}),
    "progressive, auto": ("ProgressiveSVC", {"pairs_per_round": "auto"}),
}
# task -> (parameters of the estimator, solvers); peers are named after their function in `textbook`
TASKS = {
    "adult": ({"C": 100.0, "gamma": 0.5}, ["switch"]),
    "example": ({"kernel": "linear"}, ["switch", "anneal"]),
    "documents": ({"kernel": "linear"}, ["progressive", "progressive, auto", "textbook progressive"]),
    "rows": ({}, ["switch", "textbook transductive"]),
}
GOALS = {
    ("adult", "switch"): {"seconds": 1.0},
    ("example", "switch"): {"seconds": 0.1},
    ("documents", "progressive"): {"times": ("textbook progressive", 25)},
    ("documents", "progressive, auto"): {"times": ("textbook progressive", 80)},
    ("rows", "switch"): {"times": ("textbook transductive", 100)},
    ("growth 20000", "switch"): {"seconds": 120.0, "mib": 4e9 / 2**20},
}


def load_task(task):
    """Return X, y (-1 without a label) and the truth of every training row."""
    if task.startswith("growth") or task == "rows":
        return _dense_rows(2_000 if task == "rows" else int(task.split()[1]))
    from semisvm.datasets import load
    from studies.speed.tasks import data_dir

    folder = data_dir()
    if task == "adult":
        data = load("adult", data_home=folder)
        rows = np.random.default_rng(0).permutation(len(data.y))[:4326]
        return data.X[rows], np.where(np.arange(4326) < 326, data.y[rows], -1), data.y[rows]
    if task == "example":
        data = load("reuters-transduction", data_home=folder)
        return data.X, data.y, np.append(data.y[:10], load("reuters-test", data_home=folder).y)
    return _documents(load("reuters-induction", data_home=folder), load("reuters-train", data_home=folder))


def _documents(labeled, train):
    """The ten labeled documents, then the training file without its copies of them."""
    from scipy import sparse

    copies = [0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999]
    rows = np.setdiff1d(np.arange(len(train.y)), copies)
    truth = np.append(labeled.y, train.y[rows])
    return sparse.vstack([labeled.X, train.X[rows]], format="csr"), np.append(labeled.y, np.full(len(rows), -1)), truth


def _dense_rows(n_unlabeled):
    from sklearn.datasets import make_classification

    X, truth = make_classification(n_unlabeled + 100, 20, n_informative=10, flip_y=0.02, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(np.arange(len(truth)) < 100, truth, -1), truth


def fit_once(task, solver):
    """Fit once in this process, after a warm-up, and return what it took."""
    warnings.simplefilter("ignore")  # a collapse is told in the errors here
    X, y, truth = load_task(task)
    params = TASKS.get(task.split()[0], ({}, []))[0]
    run = _prepare_textbook if solver.startswith("textbook") else _prepare_ours
    fit = run(X, y, params, solver)
    footprint.reset_peak()
    before, wall, cpu = footprint.present_mib(), time.perf_counter(), time.process_time()
    labels, facts = fit()
    took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    wrong = float((labels != truth)[y < 0].mean())
    return took | facts | {"rss_before_mib": before, "rss_peak_mib": footprint.peak_mib(), "unlabeled_wrong": wrong}


def _prepare_ours(X, y, params, solver):
    import semisvm

    name, more = OURS[solver]
    estimator = getattr(semisvm, name)
    some = np.concatenate([np.flatnonzero(y == c)[:20] for c in (0, 1, -1)])
    estimator(**params, **more).fit(X[some], y[some])

    def fit():
        model = estimator(**params, **more).fit(X, y)
        return model.transduction_, {"rounds": len(model.history_), "n_iter": int(model.n_iter_)}

    return fit


def _prepare_textbook(X, y, params, solver):
    from semisvm.kernels import kernel_rows, make_formula
    from studies.speed import textbook

    formula = make_formula(params.get("kernel", "rbf"), X, gamma=params.get("gamma", "scale"))
    rows = kernel_rows(X, formula, dtype=np.float64)
    rows.require(np.arange(rows.n_rows))
    K, sign = rows.values[rows.slot], np.where(y == 1, 1, np.where(y == 0, -1, 0))
    loop = getattr(textbook, solver.split()[1])
    return lambda: ((loop(K, sign, params.get("C", 1.0)) > 0).astype(int), {})


def _measure(task, solvers, options, session):
    params = TASKS.get(task.split()[0], ({}, []))[0]
    # a textbook loop takes a minute, and no goal is that near
    return measure(
        "transductive",
        task,
        solvers,
        options.repeats,
        params,
        options.out,
        session,
        once=lambda solver: solver.startswith("textbook"),
    )


def render(task, found):
    """Return the lines of a task: one a solver."""
    for solver, took in found.items():
        yield (
            f"{task:13} {solver:22} {took['wall_s']:>9.3f} {took['cpu_s']:>9.3f} {took['rss_peak_mib']:>9,.0f} "
            f"{100 * took['unlabeled_wrong']:>7.1f}%  {_verdict(task, solver, took, found)}"
        )


def _verdict(task, solver, took, found):
    goal = GOALS.get((task, solver), {})
    words = goal_words(goal, took)
    if "times" in goal and goal["times"][0] in found:
        ratio = found[goal["times"][0]]["wall_s"] / took["wall_s"]
        words.append(f"{ratio:.0f} times faster, {goal['times'][1]} {met(ratio >= goal['times'][1])}")
    return ", ".join(words)


def exponent(seconds_by_size):
    """Return the slope of log seconds over log size, least squares; NaN for a single size."""
    if len(seconds_by_size) < 2:
        return math.nan
    return float(np.polyfit(np.log(list(seconds_by_size)), np.log(list(seconds_by_size.values())), 1)[0])


def main(argv=None):
    """Measure and print; return the exit status."""
    options = parse_options(argv)
    if options.child:
        print(json.dumps(fit_once(*options.child)))
        return 0
    session = describe_session()
    print(machine_line(session))
    print(f"{'task':13} {'solver':22} {'seconds':>9} {'CPU s':>9} {'peak MiB':>9} {'wrong':>8}  goal")
    for task in (task for task in options.tasks if task != "growth"):
        solvers = [s for s in TASKS[task][1] if not (options.no_peers and s.startswith("textbook"))]
        for line in render(task, _measure(task, solvers, options, session)):
            print(line, flush=True)
    if "growth" in options.tasks:
        _measure_growth(options, session)
    return 0


def _measure_growth(options, session):
    curves = {solver: {} for solver in options.methods}
    for size in options.sizes:
        found = _measure(f"growth {size}", options.methods, options, session)
        for solver, took in found.items():
            curves[solver][size] = took["wall_s"]
        for line in render(f"growth {size}", found):
            print(line, flush=True)
    for solver, curve in curves.items():
        print(f"{solver:22} seconds grow as n^{exponent(curve):.2f}")
    plot = options.out.with_suffix(".svg")
    plot.write_text(draw(curves, "unlabeled rows", "seconds"), encoding="utf-8")


def parse_options(argv):
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.transductive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    names = [*TASKS, "growth"]
    add("--tasks", nargs="+", choices=names, default=names, metavar="TASK", help=" ".join(names))
    add(
        "--methods", nargs="+", choices=OURS, default=list(OURS), metavar="METHOD", help=f"for growth: {' '.join(OURS)}"
    )
    add("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N", help="unlabeled rows, for growth")
    add("--repeats", type=int, default=3, metavar="N")
    add("--no-peers", action="store_true", help="leave out the loops around SVC, a minute each")
    add("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here, the plot beside them")
    add("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
