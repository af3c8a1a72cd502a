"""How do LabelMeanSVC and LaplacianSVC grow with the unlabeled rows, in time and in memory?

Ten labels and n - 10 unlabeled rows of IJCNN1 (22 features; the first five rows of each class in a random order keep
their label), RBF kernel with gamma="scale", C = 1, C_unlabeled = 0.1, C_intrinsic = 0.1, a missed positive costs five
times a false alarm. Each run is one fit in a process of its own, after a warm-up on 300 rows, on one core; medians are
reported, and the exponent of growth between neighboring sizes. The label-mean machine is shown with its guard (eleven
fits) and without. Goals: LaplacianSVC at 1,600 rows in half a second, LabelMeanSVC in 150 ms, and in 5 ms at 1,000.
"""

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from studies.speed import footprint
from studies.speed.records import append_record, describe_session
from studies.speed.runner import ONE_CORE, run_module
from studies.speed.tasks import data_dir

RESULTS = Path(__file__).resolve().parent / "results" / "unlabeled_growth.jsonl"
SIZES = (500, 1_000, 1_600, 4_000, 8_000, 20_000)
METHODS = {
    "LabelMeanSVC": {"guard": False},
    "LabelMeanSVC, guarded": {"guard": True},
    "LaplacianSVC": {},
}
COSTS = {0: 1.0, 1: 5.0}


def draw(data, n_rows, seed):
    """Return n rows, and a target in which five rows of each class are labeled."""
    rows = np.random.default_rng(seed).permutation(data.X.shape[0])[:n_rows]
    X, y = data.X[rows].toarray(), np.asarray(data.y)[rows]
    hidden = np.full(n_rows, -1)
    for k in (0, 1):
        hidden[np.flatnonzero(y == k)[:5]] = k
    return X, hidden


def fit_once(method, n_rows, seed):
    """Fit once in this process, after a warm-up, and return what it took."""
    import semisvm
    from semisvm.datasets import load

    data = load("ijcnn1", data_home=data_dir())

    def model():
        return getattr(semisvm, method.split(",")[0])(costs=COSTS, **METHODS[method])

    model().fit(*draw(data, 300, seed))
    X, y = draw(data, n_rows, seed)
    footprint.reset_peak()
    before, wall, cpu = footprint.present_mib(), time.perf_counter(), time.process_time()
    fitted = model().fit(X, y)
    return {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "rss_before_mib": before,
        "rss_peak_mib": footprint.peak_mib(),
        "n_sv": len(fitted.support_),
        "n_iter": int(fitted.n_iter_),
    }


def measure(methods, sizes, repeats, out, session):
    """Make all runs, appending a record for each; return the measures by method and size."""
    found = {}
    for method in methods:
        for n_rows in sizes:
            for repeat in range(repeats):
                answer, _ = run_module("unlabeled_growth", method, n_rows, repeat, environment=ONE_CORE)
                cell = {"task": "ijcnn1", "size": f"{n_rows} rows"}
                what = {"cell": cell, "solver": method, "form": "dense64", "params": {"costs": [1, 5]}}
                append_record(out, session | what | {"repeat": repeat} | answer)
                if answer["outcome"] == "done":
                    found.setdefault(method, {}).setdefault(n_rows, []).append(answer["measures"])
                else:
                    print(f"{method}, {n_rows} rows: {answer['why']}", file=sys.stderr)
    return found


def render(found):
    """Return the table: a line a method and size."""
    names = f"{'seconds':>9} {'cpu':>8} {'growth':>7} {'peak MiB':>9} {'data MiB':>9} {'SVs':>7}"
    lines = [f"{'method':<22} {'rows':>7} {names}"]
    for method, by_size in found.items():
        last = None
        for n_rows, runs in by_size.items():
            middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
            growth = (
                "" if last is None else f"n^{math.log(middle['wall_s'] / last[1]) / math.log(n_rows / last[0]):.1f}"
            )
            last = n_rows, middle["wall_s"]
            lines.append(
                f"{method:<22} {n_rows:>7,} {middle['wall_s']:>9.4f} {middle['cpu_s']:>8.4f} {growth:>7} "
                f"{middle['rss_peak_mib']:>9,.0f} {middle['rss_before_mib']:>9,.0f} {middle['n_sv']:>7,.0f}"
            )
    return "\n".join(lines)


def _exponent(before, after):
    return math.log(after[1] / before[1]) / math.log(after[0] / before[0])


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.unlabeled_growth", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        method, n_rows, seed = options.child
        print(json.dumps(fit_once(method, int(n_rows), int(seed))))
        return 0
    session = describe_session()
    machine = session["machine"]
    print(f"{machine['cpu']}, one core; commit {session['commit']}; medians of {options.repeats} runs\n")
    print(render(measure(options.methods, options.sizes, options.repeats, options.out, session)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
