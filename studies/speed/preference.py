"""How fast is a complete PSVM fit, beside the same algorithm written around scikit-learn's SVC?

    adult, ijcnn1, protein   the paper's setting: 10% labeled, half of them calibrating, soft labels that grow
    mnist                    the same, ours alone: within 10 minutes and 8 GB

Both do the same rounds on the same split with the same C, gamma and tolerance: train on labels and soft labels,
measure on the calibration rows, adjust, label more rows, until the labels stay. `refits` trains SVC from nothing in
each round, with 1,000 MB for its kernel cache, and scores the calibration and unlabeled rows once a round; the
adjusting step is this library's. Each run is one fit in a process of its own, after a warm-up on a few rows. Every run
is appended as a record. `cross` is this library's default (calibration="cross"), which has no counterpart.
"""

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path

from studies.speed import footprint
from studies.speed.records import describe_session
from studies.speed.tasks import SEED, TASKS, data_dir
from studies.speed.turns import goal_words, machine_line, measure, met

RESULTS = Path(__file__).resolve().parent / "results" / "preference.jsonl"
COMPARED = ("adult", "ijcnn1", "protein")
GOALS = {"adult": {"seconds": 10.0}, "mnist": {"seconds": 600.0, "mib": 8e9 / 2**20}}
RATIO = 20.0  # in geometric mean over the tasks compared
MOST_ROUNDS = 20
CACHE_MB = 6_000  # for kernel rows, so that MNIST stays below its 8 GB wherever there is more
WARM_UP_ROWS = 1_500


def load_rows(name):
    """Return X, y with -1 on unlabeled rows, and the test rows with their labels."""
    from semisvm.datasets import hide, load, split

    data = load(name, data_home=data_dir())
    parts = split(data.y, labeled=0.1, test=0.1, random_state=SEED)
    y = hide(data.y, parts.labeled)
    return data.X[parts.train], y[parts.train], data.X[parts.test], data.y[parts.test]


def fit_ours(X, y, task, calibration):
    """Return (predict, facts) of PreferenceSVC."""
    from semisvm import PreferenceSVC

    model = PreferenceSVC(
        C=task.C,
        gamma=task.gamma,
        calibration=calibration,
        max_rounds=MOST_ROUNDS,
        cache_size=CACHE_MB,
        random_state=SEED,
    ).fit(X, y)
    return model.predict, {"rounds": len(model.history_), "n_iter": int(model.n_iter_)}


def fit_refits(X, y, task, _):
    """Return (predict, facts) of the paper's rounds around SVC."""
    import numpy as np
    from sklearn.svm import SVC
    from sklearn.utils import check_random_state

    from semisvm.decision import Target, adjust, best_of, count_at
    from semisvm.decision.counts import Counts
    from semisvm.estimators.preference_target import split_labels

    sign = np.where(y == 1, 1, np.where(y == 0, -1, 0))
    trains, calibrates = split_labels(sign, 0.5, check_random_state(SEED).randint(2**31))
    unlabeled, held_out = sign == 0, np.flatnonzero(sign == 0)
    calibration_rows, truth = np.flatnonzero(calibrates), sign[calibrates]
    soft, candidates, n_iter = np.where(trains, sign, 0), [], 0
    while len(candidates) < 2 * MOST_ROUNDS:
        used = np.flatnonzero(soft)
        model = SVC(C=task.C, gamma=task.gamma, cache_size=1000).fit(X[used], soft[used])
        n_iter += int(model.n_iter_[0])
        scores = model.decision_function(X[calibration_rows])
        d_plus, d_minus = adjust(scores, truth), scores[truth < 0].mean()
        candidates += [(model, t, count_at(scores, truth, t)) for t in (0.0, d_plus)]
        guess = np.zeros(len(sign))
        values = model.decision_function(X[held_out])
        guess[held_out] = np.where(values > d_plus, 1, np.where(values < d_minus, -1, 0))
        grown = np.where(unlabeled & (soft == 0), guess, soft)
        if (grown == soft).all():
            break
        soft = grown
    counts = Counts(*(np.array(cells) for cells in zip(*(c[2] for c in candidates), strict=True)))
    model, threshold, _ = candidates[best_of(counts, Target())[0]]
    return lambda rows: (model.decision_function(rows) > threshold).astype(int), {
        "rounds": len(candidates) // 2,
        "n_iter": n_iter,
    }


SOLVERS = {"ours": (fit_ours, "part"), "refits": (fit_refits, None), "cross": (fit_ours, "cross")}


def fit_once(name, solver):
    """Fit once in this process, after a warm-up, and return what it took."""
    from sklearn.metrics import f1_score

    X, y, X_test, y_test = load_rows(name)
    fit, argument = SOLVERS[solver]
    fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS], TASKS[name], argument)
    footprint.reset_peak()
    before, wall, cpu = footprint.present_mib(), time.perf_counter(), time.process_time()
    predict, facts = fit(X, y, TASKS[name], argument)
    took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    took |= {"rss_before_mib": before, "rss_peak_mib": footprint.peak_mib()}
    return took | facts | {"f1": float(f1_score(y_test, predict(X_test)))}


def render(name, found):
    """Return the lines of a task: one a solver."""
    for solver, took in found.items():
        yield (
            f"{name:8} {solver:7} {took['wall_s']:>9.2f} {took['cpu_s']:>9.2f} {took['rss_peak_mib']:>9,.0f} "
            f"{took['rounds']:>7.0f} {took['n_iter']:>9,.0f} {took['f1']:>6.3f}  {_verdict(name, solver, took, found)}"
        )


def _verdict(name, solver, took, found):
    words = goal_words(GOALS.get(name, {}) if solver == "ours" else {}, took)
    if solver == "ours" and "refits" in found:
        words.append(f"{found['refits']['wall_s'] / took['wall_s']:.1f} times faster")
    return ", ".join(words)


def main(argv=None):
    """Measure and print; return the exit status."""
    options = parse_options(argv)
    if options.child:
        print(json.dumps(fit_once(*options.child)))
        return 0
    session = describe_session()
    print(machine_line(session))
    print(
        f"{'task':8} {'solver':7} {'seconds':>9} {'CPU s':>9} {'peak MiB':>9} {'rounds':>7} {'steps':>9} {'F1':>6}  "
        "goal"
    )
    ratios = []
    for name in options.tasks:
        solvers = [s for s in options.solvers if s != "refits" or name in COMPARED]
        params = {"C": TASKS[name].C, "gamma": TASKS[name].gamma, "labeled": 0.1, "test": 0.1}
        # refits take minutes each, and no goal is that near
        found = measure(
            "preference", name, solvers, options.repeats, params, options.out, session, once=lambda s: s == "refits"
        )
        for line in render(name, found):
            print(line, flush=True)
        if "refits" in found and "ours" in found:
            ratios.append(found["refits"]["wall_s"] / found["ours"]["wall_s"])
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{mean:.1f} times faster in geometric mean over {len(ratios)} tasks; {RATIO:g} {met(mean >= RATIO)}")
    return 0


def parse_options(argv):
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.preference",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    names = [*COMPARED, "mnist"]
    add("--tasks", nargs="+", choices=names, default=names, metavar="TASK", help=" ".join(names))
    add("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS), metavar="SOLVER", help=" ".join(SOLVERS))
    add("--repeats", type=int, default=3, metavar="N")
    add("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here")
    add("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
