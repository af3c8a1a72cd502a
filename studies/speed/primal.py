"""The primal form against LIBLINEAR at equal objective, and how both and SGD grow with the rows.

    equal    SupervisedSVC(kernel="linear", solver="primal") to a certified gap of 1e-3; then
             LinearSVC at falling tolerances until its objective is as low, its bias replaced by the
             best one for its weights (LIBLINEAR regularizes its own, which is another problem). The
             ratio is ours over the first run that is as good.
    growth   dense rows with 50 features, 10^4 to 10^7 of them, hinge: ours in memory, ours from a
             file (10^7 only), LinearSVC (40 epochs at most from 10^6 rows on, none at 10^7), and
             averaged SGD (five epochs) in memory; objectives over ours.
    threads  the same fits on 1, 2, 4 and 16 threads (or those of --threads): wall and processor
             seconds, peak memory
    nystroem kernel machines on 300,000 rows: the exact solver, and Nystroem's features with the
    primal form

Rows are Gaussian, or texts made at random (60 of 20,000 words each, labels by a random direction
with 5% flipped). Each run is a process of its own, after a warm-up, on one thread except for the
last two parts; seconds are of the processor.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from studies.harness.figures import draw_growth
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
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
TOLERANCES = 10.0 ** np.arange(0, -6.1, -0.5)


def gaussian_rows(n, d=50, seed=0, dtype=np.float64):
    """Return isotropic rows, classes by a noisy direction."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(d) / np.sqrt(d)
    X = rng.standard_normal((n, d), dtype=dtype)
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


def write_rows(path, n):
    """Write n dense rows into a file; return their classes as codes."""
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 50))
    codes = np.empty(n, dtype=np.int8)
    direction = np.random.default_rng(0).standard_normal(50) / np.sqrt(50)
    for start in range(0, n, 500_000):
        rng = np.random.default_rng(start + 1)
        X = rng.standard_normal((min(500_000, n - start), 50), dtype=np.float32)
        rows[start : start + len(X)] = X
        codes[start : start + len(X)] = X @ direction + 0.5 * rng.standard_normal(len(X)) > 0
    rows.flush()
    return codes


def grow_once(task, repeat):
    """Fit one method on so many dense rows; return what it took and its objective."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    from semisvm import SupervisedSVC
    from semisvm.primal import FileRows

    warnings.simplefilter("ignore")
    n = task["rows"]
    method = task["method"]
    took = {}
    SupervisedSVC(kernel="linear").fit(*gaussian_rows(3000))
    if method == "ours, from a file":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            codes = write_rows(path, n)
            rows = FileRows(path, codes, classes=np.array([0, 1]))
            with measured(took):
                model = SupervisedSVC(kernel="linear").fit(rows, None)
        return took | {"gap": float(model.gap_[0])}
    X, y = gaussian_rows(n, dtype=np.float32 if n > 1_000_000 else np.float64)
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


def clustered_texts(n, d=20_000, words=60, seed=0):
    """Return rows of unit length, float32, whose words are drawn with other frequencies in each
    of two classes.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    tilt = rng.standard_normal(d)
    columns = np.empty((n, words), np.int32)
    for k in (0, 1):
        frequency = np.exp((2 * k - 1) * 0.325 * tilt) / (np.arange(d) + 10.0)
        edges = np.cumsum(frequency / frequency.sum())
        rows = np.flatnonzero(y == k)
        for part in np.array_split(rows, max(len(rows) // 50_000, 1)):
            columns[part] = np.minimum(
                np.searchsorted(edges, rng.random((len(part), words))), d - 1
            )
    starts = np.arange(0, n * words + 1, words, dtype=np.int32)
    X = sparse.csr_array((np.ones(n * words, np.float32), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    n_words = np.diff(X.indptr)
    X.data[:] = 1 / np.sqrt(np.repeat(n_words, n_words))
    return X, y


def keep_texts(folder, n):
    """Write clustered texts into a folder, for processes that measure nothing else; return the
    folder.
    """
    place = Path(folder) / f"texts-{n}"
    if not place.exists():
        X, y = clustered_texts(n + 200)
        place.mkdir()
        for name, values in {
            "data": X.data,
            "indices": X.indices,
            "indptr": X.indptr,
            "y": y,
        }.items():
            np.save(place / f"{name}.npy", values)
    return str(place)


def keep_dense(folder, n):
    """Write dense rows and their codes into a folder; return the path of the rows."""
    path = Path(folder) / f"dense-{n}.npy"
    if not path.exists():
        np.save(path.with_suffix(".codes.npy"), write_rows(path, n))
    return str(path)


def fit_from_file(task, repeat):
    """Fit the hinge machine on dense rows of a file."""
    from semisvm import SupervisedSVC
    from semisvm.primal import FileRows

    SupervisedSVC(kernel="linear").fit(*gaussian_rows(3000))
    path = Path(task["path"])
    took = {}
    rows = FileRows(path, np.load(path.with_suffix(".codes.npy")), classes=np.array([0, 1]))
    with measured(took):
        model = SupervisedSVC(kernel="linear").fit(rows, None)
    return took | {"gap": float(model.gap_[0]), "score": 0.0}


def fit_in_memory(task, repeat):
    """Fit the hinge machine on a million dense rows in memory."""
    from semisvm import SupervisedSVC

    (X, y), took = gaussian_rows(1_000_000), {}
    SupervisedSVC(kernel="linear").fit(X[:3000], y[:3000])
    with measured(took):
        model = SupervisedSVC(kernel="linear").fit(X, y)
    return took | {
        "gap": float(model.gap_[0]),
        "score": float((model.predict(X[:50_000]) == y[:50_000]).mean()),
    }


def fit_texts(task, repeat):
    """Fit TransductiveSVC with 200 labeled texts and all others unlabeled."""
    from semisvm import TransductiveSVC

    data, indices, indptr, truth = (
        np.load(Path(task["path"]) / f"{name}.npy") for name in ("data", "indices", "indptr", "y")
    )
    X = sparse.csr_array((data, indices, indptr), shape=(len(truth), 20_000))
    took = {}
    y = np.where(np.arange(len(truth)) < 200, truth, -1)
    model = TransductiveSVC(
        kernel="linear", solver="primal", loss=task["loss"], C_unlabeled=0.1, positive_fraction=0.5
    )
    model.fit(X[:6000], y[:6000])
    with measured(took):
        model.fit(X, y)
    right = float((model.transduction_ == truth)[200:].mean())
    return took | {"gap": float(model.gap_[0]), "score": right, "rounds": len(model.history_)}


def fit_kernel(task, repeat):
    """Fit a Gaussian kernel machine on 300,000 rows, exactly or after Nystroem; the score is of
    30,000 others.
    """
    from sklearn.datasets import make_gaussian_quantiles
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    from semisvm import SupervisedSVC

    warnings.simplefilter("ignore")
    X, y = make_gaussian_quantiles(n_samples=330_000, n_features=10, n_classes=2, random_state=0)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.05, 1 - y, y)
    if task["components"]:
        features = Nystroem(gamma=0.1, n_components=task["components"], random_state=0)
        model = make_pipeline(features, SupervisedSVC(C=10.0, kernel="linear"))
    else:
        model = SupervisedSVC(C=10.0, gamma=0.1, device="cpu", time_limit=task["limit_s"])
    model.fit(X[:3000], y[:3000])
    took = {}
    with measured(took):
        model.fit(X[30_000:], y[30_000:])
    machine = model[-1] if task["components"] else model
    return took | {
        "gap": float(machine.gap_[0]),
        "score": float((model.predict(X[:30_000]) == y[:30_000]).mean()),
    }


def thread_tasks(folder):
    """(function, task) of each fit that is timed on several numbers of threads."""
    million = keep_texts(folder, 1_000_000)
    ten_millions = keep_dense(folder, 10_000_000)
    squared = {
        "what": "TSVM, 200 + 10^6 texts, squared hinge",
        "path": million,
        "loss": "squared_hinge",
    }
    hinge = squared | {
        "what": "TSVM, 200 + 10^5 texts, hinge",
        "path": keep_texts(folder, 100_000),
        "loss": "hinge",
    }
    return [
        ("fit_in_memory", {"what": "dense 10^6 x 50 in memory, hinge"}),
        ("fit_from_file", {"what": "dense 10^7 x 50 from a file, hinge", "path": ten_millions}),
        ("fit_texts", squared),
        ("fit_texts", hinge),
    ]


def run_threads(options, folder):
    """Yield the lines of the table of threads, and one of twice as many rows on the most
    threads.
    """
    work = [(k, *one) for one in thread_tasks(folder) for k in options.threads]
    twice = {"what": "dense 2x10^7 x 50 from a file, hinge", "path": keep_dense(folder, 20_000_000)}
    for threads, function, task in [*work, (options.threads[-1], "fit_from_file", twice)]:
        took = _timed(function, task, threads, options)
        if took is not None:
            yield [task["what"], str(threads), *_cells_of(took)]


def run_nystroem(options):
    """Yield the lines of the table of kernel machines."""
    for components in (0, 500, 2_000):
        task = {"what": "nystroem", "components": components, "limit_s": 150.0}
        took = _timed("fit_kernel", task, options.threads[-1], options)
        if took is not None:
            yield [
                f"Nystroem, {components}" if components else "exact",
                str(options.threads[-1]),
                *_cells_of(took),
            ]


def _timed(function, task, threads, options):
    environment = {name: str(threads) for name in ONE_THREAD}
    name = f"studies.speed.primal:{function}"
    return run_by_turns(
        name, [task | {"threads": threads}], options.repeats, options.out, environment=environment
    )[0]


def _cells_of(took):
    words = [f"{took['wall_s']:.2f}", f"{took['cpu_s']:.2f}", f"{took['rss_peak_mib']:,.0f}"]
    return [*words, f"{took['gap']:.1e}", f"{took['score']:.4f}"]


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = make_parser("primal", __doc__)
    parts = ("equal", "growth", "threads", "nystroem")
    parser.add_argument("--parts", nargs="+", choices=parts, default=["equal", "growth"])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 16], metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="SVG of seconds by rows; that of memory beside it",
    )
    parser.add_argument(
        "--scratch", type=Path, metavar="FOLDER", help="where generated rows are kept"
    )
    options = parser.parse_args(argv)
    print(f"{machine_line()}; medians of {options.repeats} runs\n")
    if "equal" in options.parts:
        tasks = [
            {"part": "equal", "set": name, "loss": loss} for name in options.sets for loss in LOSSES
        ]
        head = [
            "set",
            "loss",
            "ours s",
            "LIBLINEAR s",
            "ratio",
            "objective",
            "LIBLINEAR's",
            "gap",
            "MiB",
            "its MiB",
        ]
        print(
            markdown_table(
                head, list(equal_lines(tasks, _run("compare_once", tasks, options))), n_text=2
            ),
            "\n",
        )
    if "growth" in options.parts:
        tasks = [
            {"part": "growth", "rows": n, "method": name}
            for n in options.sizes
            for name in methods_at(n)
        ]
        run = _run("grow_once", tasks, options)
        head = [
            "rows",
            "method",
            "CPU-s",
            "wall s",
            "peak MiB",
            "before MiB",
            "objective over ours",
        ]
        print(markdown_table(head, list(growth_lines(tasks, run)), n_text=2))
        if options.figure is not None:
            options.figure.write_bytes(draw_measure(tasks, run, "cpu_s", "processor seconds"))
            memory = options.figure.with_stem(options.figure.stem + "-memory")
            memory.write_bytes(
                draw_measure(tasks, run, "rss_peak_mib", "MiB of the process at its peak")
            )
    head = ["what", "threads", "wall s", "CPU-s", "peak MiB", "gap", "accuracy"]
    if "threads" in options.parts:
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            print(markdown_table(head, list(run_threads(options, folder)), n_text=1), "\n")
    if "nystroem" in options.parts:
        print(markdown_table(head, list(run_nystroem(options)), n_text=1))
    return 0


def _run(name, tasks, options):
    function = f"studies.speed.primal:{name}"
    return run_by_turns(function, tasks, options.repeats, options.out, environment=ONE_THREAD)


def methods_at(n):
    """What is run at so many rows: from ten million on ours reads them from a file, and
    LIBLINEAR would not end.
    """
    return ["ours, from a file", "SGD"] if n >= 10_000_000 else ["ours", "LIBLINEAR", "SGD"]


def equal_lines(tasks, run):
    """One line of the table per set and loss."""
    for task, took in zip(tasks, run, strict=True):
        if took is not None:
            yield [
                *(
                    task["set"],
                    task["loss"],
                    f"{took['ours_s']:.3f}",
                    f"{took['theirs_s']:.3f}",
                    f"{took['ratio']:.2f}",
                ),
                *(f"{took['objective']:.2f}", f"{took['theirs']:.2f}", f"{took['gap']:.1e}"),
                *(f"{took['mib']:,.0f}", f"{took['theirs_mib']:,.0f}"),
            ]


def growth_lines(tasks, run):
    """One line of the table per size and method."""
    ours = {
        task["rows"]: took["objective"]
        for task, took in zip(tasks, run, strict=True)
        if took is not None and task["method"] == "ours"
    }
    for task, took in zip(tasks, run, strict=True):
        if took is None:
            continue
        best = ours.get(task["rows"])
        over = (
            f"gap {took['gap']:.1e}"
            if "gap" in took
            else f"{took['objective'] / best - 1:.1e}"
            if best
            else ""
        )
        seconds = f"{took['cpu_s']:.2f}", f"{took['wall_s']:.2f}"
        memory = f"{took['rss_peak_mib']:,.0f}", f"{took['rss_before_mib']:,.0f}"
        yield [f"{task['rows']:,}", task["method"], *seconds, *memory, over]


def draw_measure(tasks, run, measure, label):
    """The picture of one measure by rows."""
    values: dict[str, dict[int, float]] = {}
    for task, took in zip(tasks, run, strict=True):
        if took is not None:
            values.setdefault(task["method"], {})[task["rows"]] = took[measure]
    return draw_growth(values, "rows", label, "Hinge machines on rows with 50 features")


if __name__ == "__main__":
    sys.exit(main())
