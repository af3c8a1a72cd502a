"""How do ClusterSVC, LabelMeanSVC and LaplacianSVC grow with the number of rows, in time and in
memory?

    cluster     nonlinear ClusterSVC on model B1 of its paper with nine labels in ten hidden: RBF
                kernel PCA, 20
    clusters, one
                SVM of all rows. The paper's time grows with the cube of the rows (a full
                eigendecomposition). Goals: 0.1 s at 1,000 rows, and 30 s and 4 GB at 20,000, on two
                cores.
    unlabeled   LabelMeanSVC (with its guard, which takes eleven fits, and without) and LaplacianSVC
                on ten labels and
    n - 10
                unlabeled rows of IJCNN1 (22 features; five rows of each class keep their label),
                RBF kernel with gamma="scale", C = 1, C_unlabeled = 0.1, C_intrinsic = 0.1; a missed
                positive costs five times as much as a false alarm; one core.

Each run is one fit in a process of its own, after a warm-up on a few rows. Medians are printed,
with the exponent of growth between neighboring sizes.
"""

from __future__ import annotations

import sys

import numpy as np

from studies.harness.fresh_process import measured
from studies.harness.pool import ONE_THREAD
from studies.harness.tables import markdown_table
from studies.speed.runs import exponent, judge_goal, machine_line, make_parser, run_by_turns

SIZES = {
    "cluster": (500, 1_000, 2_000, 4_000, 8_000, 20_000),
    "unlabeled": (500, 1_000, 1_600, 4_000, 8_000, 20_000),
}
CLUSTER = {"C": 1.0, "n_clusters": 20, "random_state": 0}
METHODS = {
    "cluster": {"ClusterSVC": CLUSTER},
    "unlabeled": {
        "LabelMeanSVC": {"guard": False},
        "LabelMeanSVC, guarded": {"guard": True},
        "LaplacianSVC": {},
    },
}
COSTS = {0: 1.0, 1: 5.0}
HIDDEN = 0.9
GOALS = {
    ("ClusterSVC", 1_000): {"seconds": 0.1},
    ("ClusterSVC", 20_000): {"seconds": 30, "mib": 4e9 / 2**20},
    ("LabelMeanSVC", 1_000): {"seconds": 0.005},
    ("LabelMeanSVC", 1_600): {"seconds": 0.15},
    ("LaplacianSVC", 1_600): {"seconds": 0.5},
}


def draw_b1(n_rows, seed):
    """Return rows of model B1 with most labels hidden: y is the sign of log(2 |x|^2) - 1.02 +
    noise.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    y = (np.log(2 * (X**2).sum(axis=1)) - 1.02 + 3 * rng.standard_normal(n_rows) > 0).astype(int)
    y[rng.permutation(n_rows)[: round(HIDDEN * n_rows)]] = -1
    return X, y


def draw_ijcnn1(n_rows, seed):
    """Return rows of IJCNN1, and a target in which five rows of each class are labeled."""
    from studies.data import load

    data = load("ijcnn1")
    rows = np.random.default_rng(seed).permutation(data.X.shape[0])[:n_rows]
    X = data.X[rows].toarray()
    y = np.asarray(data.y)[rows]
    hidden = np.full(n_rows, -1)
    for k in (0, 1):
        hidden[np.flatnonzero(y == k)[:5]] = k
    return X, hidden


def fit_once(task, repeat):
    """Fit once in this process, after a warm-up, and return what it took."""
    import semisvm

    method = task["method"]
    is_cluster = task["part"] == "cluster"
    params = METHODS[task["part"]][method] | ({} if is_cluster else {"costs": COSTS})
    draw = draw_b1 if is_cluster else draw_ijcnn1
    estimator = getattr(semisvm, method.split(",")[0])
    estimator(**params).fit(*draw(200 if is_cluster else 300, repeat))
    X, y = draw(task["rows"], repeat)
    took = {}
    with measured(took):
        model = estimator(**params).fit(X, y)
    took |= {"n_sv": len(model.support_), "n_iter": int(model.n_iter_)}
    if is_cluster:
        clusters, svm = (record.seconds for record in model.history_)
        took |= {"clusters_s": clusters, "svm_s": svm}
    return took


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = make_parser("growth", __doc__)
    parser.add_argument(
        "--parts", nargs="+", choices=METHODS, default=list(METHODS), metavar="PART"
    )
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="numbers of rows")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    options = parser.parse_args(argv)
    rows = []
    for part in options.parts:
        for method in METHODS[part]:
            tasks = [
                {"part": part, "method": method, "rows": n} for n in options.sizes or SIZES[part]
            ]
            environment = {} if part == "cluster" else ONE_THREAD
            function = "studies.speed.growth:fit_once"
            rows += rows_of(
                tasks,
                run_by_turns(
                    function, tasks, options.repeats, options.out, environment=environment
                ),
            )
    head = [
        "method",
        "rows",
        "seconds",
        "CPU-s",
        "growth",
        "peak-MiB",
        "before-MiB",
        "SVs",
        "clusters + SVM",
        "goal",
    ]
    print(
        f"{machine_line()}; medians of {options.repeats}"
        f" runs\n\n{markdown_table(head, rows, n_text=1)}"
    )
    return 0


def rows_of(tasks, found):
    """Return one row of the table per size."""
    last = None
    for task, took in zip(tasks, found, strict=True):
        if took is None:
            continue
        now = task["rows"], took["wall_s"]
        yield [
            task["method"],
            f"{task['rows']:,}",
            f"{took['wall_s']:.4f}",
            f"{took['cpu_s']:.4f}",
            "" if last is None else f"n^{exponent(last, now):.1f}",
            f"{took['rss_peak_mib']:,.0f}",
            f"{took['rss_before_mib']:,.0f}",
            f"{took['n_sv']:,.0f}",
            f"{took['clusters_s']:.3f} + {took['svm_s']:.3f}" if "svm_s" in took else "",
            ", ".join(judge_goal(GOALS.get((task["method"], task["rows"]), {}), took)),
        ]
        last = now


if __name__ == "__main__":
    sys.exit(main())
