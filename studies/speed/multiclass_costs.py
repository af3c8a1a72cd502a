"""Does knowing what each mistake costs pay, with few labels and more than two classes?

Vehicle (4 classes) and Satimage (6), columns scaled to [0, 1]. For each seed: half of the rows for training, half for
the test; a few of the former keep their label, at least one of each class; a cost matrix with entries drawn from
U[1, 10] off the diagonal, divided by their mean. Every machine has the RBF kernel with gamma="scale" and the same C,
shown for two values; none is tuned. What is reported is the expected cost of a test row:

    aware      costs=matrix: one-sided regression of the labeled rows (SupervisedSVC), with the unlabeled rows as
               well (LabelMeanSVC, LaplacianSVC)
    blind      the same without costs; for SupervisedSVC pairwise ("ovo"), as it is by default, and one-vs-rest ("ovr")
    SVC        scikit-learn's, each class weighted by the mean cost of mistaking it
    constant   the class of least expected cost by the labeled shares, for every row

Differences are paired by seed: mean over seeds and 95% interval by Student's t. A seed draws its split, its labels
and its costs anew; the splits overlap, so the intervals are somewhat too narrow.
"""

import argparse
import itertools
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from sklearn.svm import SVC

from semisvm import LabelMeanSVC, LaplacianSVC, SupervisedSVC
from semisvm.datasets import load
from studies.speed.records import append_record, describe_session, read_records
from studies.speed.tasks import data_dir

RESULTS = Path(__file__).resolve().parent / "results" / "multiclass_costs.jsonl"
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
    """Return training rows, their target with most labels hidden, test rows, their labels, and the costs."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    n_classes = len(np.unique(y))
    kept = [int(np.flatnonzero(y[train] == k)[0]) for k in range(n_classes)]
    others = np.setdiff1d(np.arange(len(train)), kept)
    kept += rng.permutation(others)[: n_labels - n_classes].tolist()
    hidden = np.full(len(train), -1)
    hidden[kept] = y[train[kept]]
    costs = rng.uniform(1, 10, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    return X[train], hidden, X[test], y[test], costs / costs.sum() * n_classes * (n_classes - 1)


def models(C, costs):
    """Return every machine that sees the training rows, labeled or not."""
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
    """Return the expected cost of a test row under each method, its error rate, and the seconds of each fit."""
    X_train, hidden, X_test, y_test, costs = draw(X, y, n_labels, seed)
    labeled, n_classes = hidden >= 0, len(costs)
    predicted, seconds = {}, {}
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
    data = load(name, data_home=data_dir())
    X = np.asarray(data.X, dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1), np.unique(np.asarray(data.y), return_inverse=True)[1]


def interval(differences):
    """Return the mean and half the width of its 95% interval."""
    n = len(differences)
    half = student.ppf(0.975, n - 1) * statistics.stdev(differences) / n**0.5 if n > 1 else float("nan")
    return statistics.fmean(differences), half


def render(records):
    """Return the tables: mean costs, then what each aware machine saves."""
    by_cell = {}
    for record in records:
        cell = record["cell"]["task"], record["params"]["C"], record["params"]["n_labels"]
        by_cell.setdefault(cell, []).append(record["measures"]["cost"])
    lines = []
    for (task, C), cells in itertools.groupby(sorted(by_cell), key=lambda cell: cell[:2]):
        cells = list(cells)
        lines += [f"{task}, C = {C:g}: expected cost of a test row, mean over seeds", ""]
        lines += ["| method | " + " | ".join(f"{cell[2]} labels" for cell in cells) + " |"]
        lines += ["|---|" + "---|" * len(cells)]
        for name in by_cell[cells[0]][0]:
            means = [statistics.fmean(run[name] for run in by_cell[cell]) for cell in cells]
            lines.append(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
        lines += ["", "aware minus rival, with 95% interval; * where the interval is all below 0, ! all above", ""]
        for name in AWARE:
            for rival in (TWIN[name], *RIVALS):
                shown = [_shown([run[name] - run[rival] for run in by_cell[cell]]) for cell in cells]
                lines.append(f"| {name} - {rival} | " + " | ".join(shown) + " |")
        lines.append("")
    return "\n".join(lines)


def _shown(differences):
    mean, half = interval(differences)
    mark = "*" if mean + half < 0 else "!" if mean - half > 0 else ""
    return f"{mean:+.3f} ± {half:.3f}{mark}"


def main(argv=None):
    """Measure what is not in the records yet, print the tables; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.multiclass_costs", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--labels", nargs="+", type=int, default=list(N_LABELS), metavar="N")
    parser.add_argument("--C", nargs="+", type=float, default=list(VALUES_OF_C), metavar="C")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, metavar="N")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here")
    options = parser.parse_args(argv)
    session = describe_session()
    done = {_key(record) for record in read_records(options.out)}
    for name in options.data:
        X, y = read(name)
        for C, n_labels, seed in itertools.product(options.C, options.labels, range(options.seeds)):
            what = {"cell": {"task": name, "size": f"{n_labels} labels"}, "params": {"C": C, "n_labels": n_labels}}
            record = session | what | {"solver": "all", "form": "dense64", "repeat": seed, "outcome": "done"}
            if _key(record) not in done:
                append_record(options.out, record | {"measures": measure(X, y, n_labels, C, seed)})
    print(render(read_records(options.out)))
    return 0


def _key(record):
    return record["cell"]["task"], record["params"]["C"], record["params"]["n_labels"], record["repeat"]


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.exit(main())
