"""How fast are TransductiveSVC and ProgressiveSVC compared with loops around scikit-learn, and how
do they grow?

    adult      TSVM, 326 labeled and 4,000 unlabeled rows of Adult (RBF, C=100, gamma=0.5);
               SVMlight: 49 s
    example    TSVM on SVMlight's own example, 10 and 600 Reuters documents; SVMlight: 1.6 s
    documents  PTSVM, 10 labeled and 1,990 unlabeled Reuters documents, one pair per round and
               "auto", compared with the same loop with SVC trained from nothing in every round
    rows       TSVM, 100 labeled and 2,000 unlabeled rows (d=20, RBF), compared with the textbook
               loop with SVC
    growth     each method on 500 to 20,000 unlabeled rows (d=20, RBF), with the exponent, and a
               plot

Each run is one fit in a process of its own, after a warm-up on a few rows. The textbook loops get
the kernel matrix ready made, untimed, and scores of all rows come from one product with it. Medians
are printed. SVMlight's seconds were measured elsewhere: they only show the order of magnitude.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from studies.harness.figures import draw_growth, has_matplotlib
from studies.harness.fresh_process import measured
from studies.harness.tables import markdown_table
from studies.speed.runs import judge_goal, machine_line, make_parser, met, run_by_turns

TITLE = "Seconds against the number of unlabeled rows, both on logarithmic scales, for five methods"
SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000)
OURS = {
    "switch": ("TransductiveSVC", {}),
    "cccp": ("TransductiveSVC", {"algorithm": "cccp"}),
    "anneal": ("TransductiveSVC", {"algorithm": "anneal"}),
    "progressive": ("ProgressiveSVC", {}),
    "progressive, auto": ("ProgressiveSVC", {"pairs_per_round": "auto"}),
}
# task -> (parameters of the estimator, solvers); peers are named after their function below
TASKS = {
    "adult": ({"C": 100.0, "gamma": 0.5}, ["switch"]),
    "example": ({"kernel": "linear"}, ["switch", "anneal"]),
    "documents": (
        {"kernel": "linear"},
        ["progressive", "progressive, auto", "textbook progressive"],
    ),
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


def load_rows(task):
    """Return X, y (-1 without a label) and the true class of every training row."""
    if task.startswith("growth") or task == "rows":
        return _dense_rows(2_000 if task == "rows" else int(task.split()[1]))
    from studies.data import load

    if task == "adult":
        data = load("adult")
        rows = np.random.default_rng(0).permutation(len(data.y))[:4326]
        return data.X[rows], np.where(np.arange(4326) < 326, data.y[rows], -1), data.y[rows]
    if task == "example":
        data = load("reuters-transduction")
        return data.X, data.y, np.append(data.y[:10], load("reuters-test").y)
    return _documents(load("reuters-induction"), load("reuters-train"))


def _documents(labeled, train):
    """The ten labeled documents, then the training file without its copies of them."""
    from scipy import sparse

    copies = [0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999]
    rows = np.setdiff1d(np.arange(len(train.y)), copies)
    truth = np.append(labeled.y, train.y[rows])
    return (
        sparse.vstack([labeled.X, train.X[rows]], format="csr"),
        np.append(labeled.y, np.full(len(rows), -1)),
        truth,
    )


def _dense_rows(n_unlabeled):
    from sklearn.datasets import make_classification

    X, truth = make_classification(
        n_unlabeled + 100, 20, n_informative=10, flip_y=0.02, random_state=0
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(np.arange(len(truth)) < 100, truth, -1), truth


def fit_once(task, repeat):
    """Fit once in this process, after a warm-up, and return what it took."""
    warnings.simplefilter("ignore")  # a collapse is visible in the errors
    name = task["task"]
    solver = task["solver"]
    X, y, truth = load_rows(name)
    params = TASKS.get(name.split()[0], ({}, []))[0]
    prepare = _prepare_textbook if solver.startswith("textbook") else _prepare_ours
    fit = prepare(X, y, params, solver)
    took = {}
    with measured(took):
        labels, facts = fit()
    return took | facts | {"unlabeled_wrong": float((labels != truth)[y < 0].mean())}


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

    formula = make_formula(params.get("kernel", "rbf"), X, gamma=params.get("gamma", "scale"))
    rows = kernel_rows(X, formula, dtype=np.float64)
    rows.require(np.arange(rows.n_rows))
    K = rows.values[rows.slot]
    sign = np.where(y == 1, 1, np.where(y == 0, -1, 0))
    loop = {"textbook progressive": progressive, "textbook transductive": transductive}[solver]
    return lambda: ((loop(K, sign, params.get("C", 1.0)) > 0).astype(int), {})


def train_from_nothing(K, sign, box):
    """Train SVC on the rows with a sign and return f for all rows."""
    from sklearn.svm import SVC

    used = np.flatnonzero(sign)
    model = SVC(kernel="precomputed", cache_size=1000).fit(
        K[np.ix_(used, used)], sign[used], sample_weight=box[used]
    )
    return K[:, used[model.support_]] @ model.dual_coef_.ravel() + model.intercept_[0]


def progressive(K, sign, C=1.0):
    """PTSVM around SVC, one pair per round; `sign` is +1, -1, or 0 for an unlabeled row. Return
    f for all rows.
    """
    given, sign, box = sign != 0, sign.copy(), np.full(len(sign), C)
    f = train_from_nothing(K, sign, box)
    while True:
        inside = np.flatnonzero((sign == 0) & (np.abs(f) < 1) & (f != 0))
        if len(inside) == 0:
            return f
        best = inside[np.argmax(f[inside])]
        worst = inside[np.argmin(f[inside])]
        if f[best] > 0:
            sign[best] = 1
        if f[worst] < 0:
            sign[worst] = -1
        f = train_from_nothing(K, sign, box)
        sign[~given & (sign * f < 0)] = 0


def transductive(K, sign, C=1.0):
    """TSVM around SVC, one pair switched at a time, prices doubling from 1e-5. Return f for all
    rows.
    """
    unlabeled = np.flatnonzero(sign == 0)
    n_positive = round(len(unlabeled) * (sign > 0).sum() / (sign != 0).sum())
    f = train_from_nothing(K, sign, np.full(len(sign), C))
    guess = sign.copy()
    box = np.full(len(sign), C)
    order = unlabeled[np.argsort(-f[unlabeled], kind="stable")]
    guess[order[:n_positive]], guess[order[n_positive:]] = 1, -1
    price = {-1: 1e-5, 1: 1e-5 * n_positive / (len(unlabeled) - n_positive)}
    while True:
        box[unlabeled] = np.where(guess[unlabeled] > 0, price[1], price[-1])
        f = train_from_nothing(K, guess, box)
        while (pair := _pair_to_switch(f, guess, unlabeled)) is not None:
            guess[pair] *= -1
            box[unlabeled] = np.where(guess[unlabeled] > 0, price[1], price[-1])
            f = train_from_nothing(K, guess, box)
        if min(price.values()) >= C:
            return f
        price = {s: min(2 * p, C) for s, p in price.items()}


def _pair_to_switch(f, guess, unlabeled):
    slack = np.maximum(0, 1 - guess * f)
    ends = [unlabeled[guess[unlabeled] == s] for s in (1, -1)]
    pair = np.array([rows[np.argmax(slack[rows])] for rows in ends])
    return pair if slack[pair].min() > 0 and slack[pair].sum() > 2 + 1e-3 else None


def measure(name, solvers, options):
    """Return the medians of a task by solver."""
    tasks = [{"task": name, "solver": solver} for solver in solvers]
    # a textbook loop takes a minute, and no goal is that near
    found = run_by_turns(
        "studies.speed.transductive:fit_once",
        tasks,
        options.repeats,
        options.out,
        once=lambda task: task["solver"].startswith("textbook"),
    )
    return {solver: took for solver, took in zip(solvers, found, strict=True) if took}


def rows_of(name, found):
    """Return one row of the table per solver."""
    for solver, took in found.items():
        yield [
            name,
            solver,
            f"{took['wall_s']:.3f}",
            f"{took['cpu_s']:.3f}",
            f"{took['rss_peak_mib']:,.0f}",
            f"{100 * took['unlabeled_wrong']:.1f}%",
            _verdict(name, solver, took, found),
        ]


def _verdict(name, solver, took, found):
    goal = GOALS.get((name, solver), {})
    words = judge_goal(goal, took)
    if "times" in goal and goal["times"][0] in found:
        ratio = found[goal["times"][0]]["wall_s"] / took["wall_s"]
        words.append(
            f"{ratio:.0f} times faster, {goal['times'][1]} {met(ratio >= goal['times'][1])}"
        )
    return ", ".join(words)


def main(argv=None):
    """Measure and print; return the exit status."""
    options = parse_options(argv)
    rows = []
    curves = {solver: {} for solver in options.methods}
    for name in (name for name in options.tasks if name != "growth"):
        solvers = [s for s in TASKS[name][1] if not (options.no_peers and s.startswith("textbook"))]
        rows += rows_of(name, measure(name, solvers, options))
    for size in options.sizes if "growth" in options.tasks else ():
        found = measure(f"growth {size}", options.methods, options)
        rows += rows_of(f"growth {size}", found)
        for solver, took in found.items():
            curves[solver][size] = took["wall_s"]
    print(machine_line() + "\n")
    print(
        markdown_table(
            ["task", "solver", "seconds", "CPU-s", "peak-MiB", "wrong", "goal"], rows, n_text=2
        )
        + "\n"
    )
    for solver, curve in curves.items():
        if len(curve) > 1:
            power = np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)[0]
            print(f"- {solver}: seconds grow as n^{power:.2f}")
    if any(curves.values()) and has_matplotlib():
        options.out.with_suffix(".svg").write_bytes(
            draw_growth(curves, "unlabeled rows", "seconds", TITLE)
        )
    return 0


def parse_options(argv) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = make_parser("transductive", __doc__)
    add = parser.add_argument
    names = [*TASKS, "growth"]
    add("--tasks", nargs="+", choices=names, default=names, metavar="TASK", help=" ".join(names))
    add(
        "--methods",
        nargs="+",
        choices=OURS,
        default=list(OURS),
        metavar="METHOD",
        help=f"for growth: {' '.join(OURS)}",
    )
    add(
        "--sizes",
        nargs="+",
        type=int,
        default=list(SIZES),
        metavar="N",
        help="unlabeled rows, for growth",
    )
    add("--repeats", type=int, default=3, metavar="N")
    add(
        "--no-peers",
        action="store_true",
        help="leave out the loops around SVC, which take a minute each",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
