"""Does it pay to know what each mistake costs, with few labels and more than two classes?

Vehicle (4 classes) and Satimage (6), columns scaled to [0, 1]. For each seed: half of the rows for
training, half for the test; a few of the former keep their label, at least one of each class; a
cost matrix with entries drawn from U[1, 10] off the diagonal, divided by their mean. Every SVM has
the RBF kernel with gamma="scale" and the same C, for two values of C; none is tuned. The result is
the expected cost per test row:

    aware      costs=matrix: one-sided regression of the labeled rows (SupervisedSVC), with the
               unlabeled rows as well (LabelMeanSVC, LaplacianSVC)
    blind      the same without costs; for SupervisedSVC pairwise ("ovo"), which is its default, and
               one-vs-rest ("ovr")
    SVC        scikit-learn's, each class weighted by the mean cost of its errors
    constant   the class of least expected cost by the labeled shares, for every row

Differences are paired by seed: mean over seeds and 95% interval by Student's t. Each seed draws its
own split, labels and costs; the splits overlap, so the intervals are somewhat too narrow.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.svm import SVC

from semisvm import LabelMeanSVC, LaplacianSVC, SupervisedSVC
from studies.data import load
from studies.harness.machine import describe_session
from studies.harness.records import Journal, cell_key, done_keys, read_records
from studies.harness.tables import markdown_table
from studies.speed.runs import make_parser

NAMES = ("vehicle_full", "sat_full")
N_LABELS = (10, 20, 30, 50)
VALUES_OF_C = (1.0, 10.0)
N_SEEDS = 20
AWARE = ("SupervisedSVC", "LabelMeanSVC", "LabelMeanSVC, guarded", "LaplacianSVC")
TWIN = {
    "SupervisedSVC": "SupervisedSVC, blind ovr",
    "LabelMeanSVC": "LabelMeanSVC, blind",
    "LabelMeanSVC, guarded": "LabelMeanSVC, blind",
    "LaplacianSVC": "LaplacianSVC, blind",
}
RIVALS = ("SupervisedSVC, blind ovo", "SVC, class weights", "constant")


def draw(X, y, n_labels, seed):
    """Return training rows, their target with most labels hidden, test rows, their labels, and
    the costs.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train = order[: len(y) // 2]
    test = order[len(y) // 2 :]
    n_classes = len(np.unique(y))
    kept = [int(np.flatnonzero(y[train] == k)[0]) for k in range(n_classes)]
    others = np.setdiff1d(np.arange(len(train)), kept)
    kept += rng.permutation(others)[: n_labels - n_classes].tolist()
    hidden = np.full(len(train), -1)
    hidden[kept] = y[train[kept]]
    costs = rng.uniform(1, 10, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    return X[train], hidden, X[test], y[test], costs / costs.sum() * n_classes * (n_classes - 1)


def models(C, costs):
    """Return every estimator that is fitted to the training rows, labeled or not."""
    return {
        "SupervisedSVC": SupervisedSVC(C, costs=costs),
        "SupervisedSVC, blind ovo": SupervisedSVC(C),
        "SupervisedSVC, blind ovr": SupervisedSVC(C, multi_class="ovr"),
        "LabelMeanSVC": LabelMeanSVC(C, costs=costs, guard=False),
        "LabelMeanSVC, guarded": LabelMeanSVC(C, costs=costs),
        "LabelMeanSVC, blind": LabelMeanSVC(C),
        "LaplacianSVC": LaplacianSVC(C, costs=costs),
        "LaplacianSVC, blind": LaplacianSVC(C),
    }


def measure(X, y, n_labels, C, seed):
    """Return the expected cost per test row under each method, its error rate, and the seconds
    of each fit.
    """
    X_train, hidden, X_test, y_test, costs = draw(X, y, n_labels, seed)
    labeled = hidden >= 0
    n_classes = len(costs)
    predicted = {}
    seconds = {}
    for name, model in models(C, costs).items():
        began = time.perf_counter()
        predicted[name] = model.fit(X_train, hidden).predict(X_test)
        seconds[name] = time.perf_counter() - began
    weights = dict(enumerate(costs.sum(axis=1) / (n_classes - 1)))
    svc = SVC(C=C, class_weight=weights).fit(X_train[labeled], hidden[labeled])
    predicted["SVC, class weights"] = svc.predict(X_test)
    share = np.bincount(hidden[labeled], minlength=n_classes) / n_labels
    predicted["constant"] = np.full(len(y_test), (share @ costs).argmin())
    return {
        "cost": {name: float(costs[y_test, guess].mean()) for name, guess in predicted.items()},
        "error": {name: float((guess != y_test).mean()) for name, guess in predicted.items()},
        "seconds": seconds,
    }


def read(name):
    """Return the scaled columns and the classes as 0, 1, ..."""
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64)
    low = X.min(axis=0)
    high = X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1), np.unique(
        np.asarray(data.y), return_inverse=True
    )[1]


def interval(differences):
    """Return the mean and half the width of its 95% interval."""
    n = len(differences)
    half = (
        student.ppf(0.975, n - 1) * statistics.stdev(differences) / n**0.5
        if n > 1
        else float("nan")
    )
    return statistics.fmean(differences), half


def render(records):
    """Return the tables: mean costs, then what each aware method saves."""
    by_cell = {}
    for record in records:
        task = record["task"]
        by_cell.setdefault((task["set"], task["C"], task["labels"]), []).append(
            record["measures"]["cost"]
        )
    parts = []
    for (name, C), cells in itertools.groupby(sorted(by_cell), key=lambda cell: cell[:2]):
        cells = list(cells)
        counts = [f"{cell[2]} labels" for cell in cells]
        means = [
            [
                method,
                *(
                    f"{statistics.fmean(run[method] for run in by_cell[cell]):.3f}"
                    for cell in cells
                ),
            ]
            for method in by_cell[cells[0]][0]
        ]
        savings = [
            [
                method,
                rival,
                *(_shown([run[method] - run[rival] for run in by_cell[cell]]) for cell in cells),
            ]
            for method in AWARE
            for rival in (TWIN[method], *RIVALS)
        ]
        parts += [f"{name}, C = {C:g}: expected cost per test row, mean over seeds"]
        parts += [markdown_table(["method", *counts], means)]
        parts += [
            "Aware minus rival, with 95% interval; * if the interval is all below 0, ! if all above"
        ]
        parts += [markdown_table(["aware", "rival", *counts], savings)]
    return "\n\n".join(parts)


def _shown(differences):
    mean, half = interval(differences)
    mark = "*" if mean + half < 0 else "!" if mean - half > 0 else ""
    return f"{mean:+.3f} ± {half:.3f}{mark}"


def main(argv=None):
    """Measure what is not on record yet and print the tables; return the exit status."""
    parser = make_parser("multiclass_costs", __doc__)
    parser.add_argument("--data", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--labels", nargs="+", type=int, default=list(N_LABELS), metavar="N")
    parser.add_argument("--C", nargs="+", type=float, default=list(VALUES_OF_C), metavar="C")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, metavar="N")
    options = parser.parse_args(argv)
    done = done_keys(options.out)
    with Journal(options.out, describe_session()) as journal:
        for name in options.data:
            X, y = read(name)
            for C, n_labels, seed in itertools.product(
                options.C, options.labels, range(options.seeds)
            ):
                task = {"set": name, "C": C, "labels": n_labels}
                if cell_key(task, seed) not in done:
                    measures = measure(X, y, n_labels, C, seed)
                    journal.append(
                        {"task": task, "seed": seed, "outcome": "done", "measures": measures}
                    )
    print(render(read_records(options.out)))
    return 0


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.exit(main())
