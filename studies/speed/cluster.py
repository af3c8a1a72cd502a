"""How long does nonlinear ClusterSVC take, in how much memory, and how does that grow with the rows?

The paper's model B1 with nine labels in ten hidden: RBF kernel PCA, 20 clusters, one SVM of all rows. The paper's
time grows with the cube of the rows (a full eigendecomposition); the goals are 0.1 s at 1,000 rows, and 30 s and
4 GB at 20,000, on two cores. Each run is one fit in a process of its own, after a warm-up on 200 rows; medians are
reported, and the exponent of growth between neighboring sizes. Every run is appended as a record.
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
from studies.speed.runner import run_module
from studies.speed.turns import goal_words, machine_line

RESULTS = Path(__file__).resolve().parent / "results" / "cluster.jsonl"
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 20_000)
PARAMS = {"C": 1.0, "n_clusters": 20, "random_state": 0}
HIDDEN = 0.9
GOALS = {1_000: {"seconds": 0.1}, 20_000: {"seconds": 30, "mib": 4e9 / 2**20}}


def draw_b1(n_rows, seed):
    """Rows of the paper's model B1, with most labels hidden: y is the sign of log(2 |x|^2) - 1.02 + noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    y = (np.log(2 * (X**2).sum(axis=1)) - 1.02 + 3 * rng.standard_normal(n_rows) > 0).astype(int)
    y[rng.permutation(n_rows)[: round(HIDDEN * n_rows)]] = -1
    return X, y


def fit_once(n_rows, seed):
    """Fit once in this process, after a warm-up, and return what it took."""
    from semisvm import ClusterSVC

    ClusterSVC(**PARAMS).fit(*draw_b1(200, seed))
    X, y = draw_b1(n_rows, seed)
    footprint.reset_peak()
    before, wall, cpu = footprint.present_mib(), time.perf_counter(), time.process_time()
    model = ClusterSVC(**PARAMS).fit(X, y)
    return {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "rss_before_mib": before,
        "rss_peak_mib": footprint.peak_mib(),
        "clusters_s": model.history_[0]["seconds"],
        "svm_s": model.history_[1]["seconds"],
        "n_components": model.history_[0]["n_components"],
        "n_sv": len(model.support_),
        "n_iter": int(model.n_iter_),
    }


def measure(sizes, repeats, out, session):
    """Make all runs, appending a record for each; return the measures by size."""
    by_size = {}
    for n_rows in sizes:
        by_size[n_rows] = []
        for repeat in range(repeats):
            answer, _ = run_module("cluster", n_rows, repeat)
            cell = {"task": "b1", "size": f"{n_rows} rows"}
            what = {"cell": cell, "solver": "ours", "form": "dense64", "params": PARAMS, "repeat": repeat}
            append_record(out, session | what | answer)
            if answer["outcome"] == "done":
                by_size[n_rows].append(answer["measures"])
            else:
                print(f"{n_rows} rows: {answer['why']}", file=sys.stderr)
    return {n_rows: runs for n_rows, runs in by_size.items() if runs}


def render(by_size):
    """Return the table: a line a size."""
    header = f"{'rows':>7} {'seconds':>9} {'growth':>7} {'clusters':>9} {'SVM':>8} {'peak MiB':>9} {'SVs':>6}  goal"
    lines, last = [header], None
    for n_rows, runs in by_size.items():
        middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        growth = "" if last is None else f"n^{_exponent(last, (n_rows, middle['wall_s'])):.1f}"
        last = n_rows, middle["wall_s"]
        lines.append(
            f"{n_rows:>7,} {middle['wall_s']:>9.3f} {growth:>7} {middle['clusters_s']:>9.3f} "
            f"{middle['svm_s']:>8.3f} {middle['rss_peak_mib']:>9,.0f} {middle['n_sv']:>6,.0f}  "
            f"{_verdict(n_rows, middle)}"
        )
    return "\n".join(lines)


def _exponent(before, after):
    return math.log(after[1] / before[1]) / math.log(after[0] / before[0])


def _verdict(n_rows, middle):
    return ", ".join(goal_words(GOALS.get(n_rows, {}), middle))


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m studies.speed.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here")
    parser.add_argument("--child", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        print(json.dumps(fit_once(*options.child)))
        return 0
    session = describe_session()
    print(machine_line(session))
    print(f"model B1, RBF kernel PCA, {PARAMS['n_clusters']} clusters; medians of {options.repeats} runs\n")
    print(render(measure(options.sizes, options.repeats, options.out, session)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
