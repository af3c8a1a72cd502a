"""The primal form against LIBLINEAR at equal objective, and how both and SGD grow with the rows.

    equal    SupervisedSVC(kernel="linear", solver="primal") to a certified gap of 1e-3; then
             LinearSVC at falling tolerances until its objective is as low, its bias replaced by the
             best one for its weights (LIBLINEAR regularizes its own, which is another problem). The
             ratio is ours over the first run that is as good.
    growth   dense rows with 50 features, 10^4 to 10^6 of them, hinge: ours, LinearSVC (40 epochs at
             most of 10^6 rows), and averaged SGD (five epochs); objectives over ours.

Rows are Gaussian, or texts made at random (60 of 20,000 words each, labels by a random direction
with 5% flipped). Each run is a process of its own, after a warm-up, on one thread; seconds are of
the processor.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from studies.harness.fresh_process import measured
from studies.harness.pool import ONE_THREAD
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line, make_parser, run_by_turns

SETS = (
    "dense 20,000 x 50",
    "dense 100,000 x 50",
    "adult",
    "reuters-train",
    "texts 20,000",
    "texts 100,000",
)
LOSSES = ("hinge", "squared_hinge")
SIZES = (10_000, 100_000, 1_000_000)
TOLERANCES = 10.0 ** np.arange(0, -6.1, -0.5)


def gaussian_rows(n, d=50, seed=0):
    """Return isotropic rows, classes by a noisy direction."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(d) / np.sqrt(d)
    X = rng.standard_normal((n, d))
    return X, (X @ direction + 0.5 * rng.standard_normal(n) > 0).astype(int)


def random_texts(n, d=20_000, words=60, seed=0):
    """Return rows of unit length with some of many words, the first words more frequent."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((d * rng.random((n, words)) ** 2).astype(np.int32), d - 1)
    rows = np.repeat(np.arange(n, dtype=np.int32), words)
    X = sparse.csr_array((rng.random(n * words) + 0.1, (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    X = sparse.csr_array(sparse.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    X.indices = X.indices.astype(np.int32)
    X.indptr = X.indptr.astype(np.int32)
    scores = X @ rng.standard_normal(d)
    y = (scores > np.median(scores) + 0.2).astype(int)
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def rows_of_set(name):
    """Return the rows and classes of a set."""
    if name.startswith("dense"):
        return gaussian_rows(int(name.split()[1].replace(",", "")))
    if name.startswith("texts"):
        return random_texts(int(name.split()[1].replace(",", "")))
    from studies.data import load

    data = load(name)
    X = data.X.toarray() if name == "adult" else sparse.csr_array(data.X)
    return X, np.asarray(data.y)


def objective_of(X, y, w, loss, C=1.0):
    """Return the objective at w with its best bias."""
    scores = X @ w
    sign = np.where(y == y.max(), 1.0, -1.0)
    power = 2 if loss == "squared_hinge" else 1

    def losses(bias):
        return C * float((np.maximum(0, 1 - sign * (scores + bias)) ** power).sum())

    edge = np.abs(scores).max() + 1
    return (
        0.5 * float(w @ w) + minimize_scalar(losses, (-edge, edge), method="golden", tol=1e-12).fun
    )


def compare_once(task, repeat):
    """Fit ours, then LIBLINEAR until it is as good; return seconds and objectives."""
    from sklearn.svm import LinearSVC

    from semisvm import SupervisedSVC

    warnings.simplefilter("ignore")
    X, y = rows_of_set(task["set"])
    loss = task["loss"]
    took = {}
    SupervisedSVC(kernel="linear", solver="primal", loss=loss).fit(X[:1500], y[:1500])
    with measured(took):
        model = SupervisedSVC(kernel="linear", solver="primal", loss=loss).fit(X, y)
    ours = objective_of(X, y, model.coef_[0], loss)
    found = {
        "ours_s": took["cpu_s"],
        "objective": ours,
        "gap": float(model.gap_.max()),
        "mib": took["rss_peak_mib"],
    }
    for tol in TOLERANCES:
        peer = LinearSVC(
            loss=loss, dual=loss == "hinge" or "auto", tol=tol, max_iter=2_000, random_state=repeat
        )
        took = {}
        with measured(took):
            peer.fit(X, y)
        theirs = objective_of(X, y, peer.coef_[0], loss)
        found |= {"theirs_s": took["cpu_s"], "theirs": theirs, "theirs_mib": took["rss_peak_mib"]}
        if theirs <= ours * (1 + 1e-6) or took["cpu_s"] > 60:
            break
    return found | {"ratio": found["ours_s"] / found["theirs_s"]}


def grow_once(task, repeat):
    """Fit one method on so many dense rows; return what it took and its objective."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    from semisvm import SupervisedSVC

    warnings.simplefilter("ignore")
    n = task["rows"]
    method = task["method"]
    took = {}
    SupervisedSVC(kernel="linear").fit(*gaussian_rows(3000))
    X, y = gaussian_rows(n)
    models = {
        "ours": SupervisedSVC(kernel="linear"),
        "LIBLINEAR": LinearSVC(loss="hinge", max_iter=1000 if n < 1_000_000 else 40),
        "SGD": SGDClassifier(
            alpha=1.0 / n, average=True, max_iter=5, tol=None, random_state=repeat
        ),
    }
    with measured(took):
        model = models[method].fit(X, y)
    return took | {"objective": objective_of(X, y, model.coef_[0].astype(np.float64), "hinge")}


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = make_parser("primal", __doc__)
    parts = ("equal", "growth")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    options = parser.parse_args(argv)
    print(f"{machine_line()}; medians of {options.repeats} runs\n")
    if "equal" in options.parts:
        tasks = [
            {"part": "equal", "set": name, "loss": loss} for name in options.sets for loss in LOSSES
        ]
        print(render_equal(tasks, _run("compare_once", tasks, options)), "\n")
    if "growth" in options.parts:
        tasks = [
            {"part": "growth", "rows": n, "method": name}
            for n in options.sizes
            for name in ("ours", "LIBLINEAR", "SGD")
        ]
        print(render_growth(tasks, _run("grow_once", tasks, options)))
    return 0


def _run(name, tasks, options):
    function = f"studies.speed.primal:{name}"
    return run_by_turns(function, tasks, options.repeats, options.out, environment=ONE_THREAD)


def render_equal(tasks, run):
    """Return the table: one line per set and loss."""
    lines = [
        [
            task["set"],
            task["loss"],
            f"{took['ours_s']:.3f}",
            f"{took['theirs_s']:.3f}",
            f"{took['ratio']:.2f}",
            f"{took['gap']:.1e}",
        ]
        for task, took in zip(tasks, run, strict=True)
        if took is not None
    ]
    return markdown_table(
        ["set", "loss", "ours", "LIBLINEAR at equal objective", "ratio", "gap"], lines, n_text=2
    )


def render_growth(tasks, run):
    """Return the table: one line per size and method."""
    done = [(task, took) for task, took in zip(tasks, run, strict=True) if took is not None]
    ours = {task["rows"]: took["objective"] for task, took in done if task["method"] == "ours"}
    lines = [
        [
            f"{task['rows']:,}",
            task["method"],
            f"{took['cpu_s']:.2f}",
            f"{took['rss_peak_mib']:,.0f}",
            f"{took['objective'] / ours[task['rows']]:.3f}",
        ]
        for task, took in done
    ]
    head = ["rows", "method", "CPU seconds", "peak MiB", "objective over ours"]
    return markdown_table(head, lines, n_text=2)


if __name__ == "__main__":
    sys.exit(main())
