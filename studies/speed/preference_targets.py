"""Do promised precisions and recalls hold on rows nobody has seen? Adult, 10% labeled, many seeds, level by level.

    empirical      calibration="part", the paper's: half of the labels calibrate
    cross-fitted   calibration="cross", the default
    certified      the same with certify=0.1: half of the labels are kept for the certificate

For each target: how often it was reached by the fit's own account, how often the precision (recall) on the 10% test
rows is at least the target, and at least the target minus 0.03, among the fits that reached it. A certificate promises
the first in at least 90% of the draws, up to the chance that the test rows themselves add. Every fit is a record.

The fits of a seed and level differ in their target alone, and many of their trainings not even in that: equal problems
are solved once (`SolvedOnce`), to the same tolerance as ever.
"""

import argparse
import hashlib
import math
import sys
import warnings
from pathlib import Path

from studies.speed.records import append_record, describe_session, read_records
from studies.speed.tasks import TASKS, data_dir

RESULTS = Path(__file__).resolve().parent / "results" / "preference_targets.jsonl"
SLACK = 0.03
RISK = 0.1
LEVELS = {
    "empirical": {"calibration": "part"},
    "cross-fitted": {"calibration": "cross"},
    "certified": {"calibration": "cross", "certify": RISK},
}
TARGETS = [
    *({"min_precision": value} for value in (0.55, 0.6, 0.65, 0.95)),
    *({"min_recall": value} for value in (0.6, 0.8, 0.9)),
]


class SolvedOnce:
    """Solutions by problem, for fits to the same rows; a `semisvm.dual.SolveStore`."""

    def __init__(self):
        self.solutions = {}

    def recall(self, problem, settings):
        return self.solutions.get(_digest(problem))

    def keep(self, problem, found):
        self.solutions[_digest(problem)] = found


def _digest(problem):
    parts = (problem.linear, problem.lower, problem.upper)
    return hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).digest()


def fit_once(data, parts, level, target, seed):
    """Fit to one split and return what was promised and what the test rows say."""
    from semisvm import PreferenceSVC
    from semisvm.datasets import hide
    from semisvm.decision import count_at, precision, recall

    task = TASKS["adult"]
    y = hide(data.y, parts.labeled)[parts.train]
    model = PreferenceSVC(C=task.C, gamma=task.gamma, random_state=seed, **LEVELS[level], **target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is not reached is told in the record
        model.fit(data.X[parts.train], y)
    point = model.operating_point_
    counts = count_at(model.decision_function(data.X[parts.test]), 2 * data.y[parts.test] - 1, 0.0)
    return {
        "reached": point.reached,
        "reason": point.reason,
        "expected": {"precision": point.precision.value, "recall": point.recall.value},
        "test": {"precision": float(precision(counts)), "recall": float(recall(counts))},
    }


def run(options):
    """Fit all that is not in the records yet."""
    from semisvm.datasets import load, split
    from semisvm.dual.memo import remembering

    session = describe_session()
    data = load("adult", data_home=data_dir())
    done = {_key(record) for record in read_records(options.out)}
    for seed in range(options.seeds):
        parts = split(data.y, labeled=0.1, test=0.1, random_state=seed)
        for level in options.levels:
            with remembering(SolvedOnce()):
                for target in TARGETS:
                    what = {"level": level, "target": target, "seed": seed}
                    if _key(what) not in done:
                        append_record(options.out, session | what | fit_once(data, parts, level, target, seed))


def _key(record):
    return record["level"], *next(iter(record["target"].items())), record["seed"]


def table(records):
    """Return the lines: one a level and target."""
    yield f"{'level':13} {'asked':20} {'fits':>4} {'reached':>8} {'mean on test':>12} {'kept':>6} {'within 0.03':>12}"
    for level in LEVELS:
        for target in TARGETS:
            some = [r for r in records if r["level"] == level and r["target"] == target]
            if not some:
                continue
            name, least = next(iter(target.items()))
            measure = name.removeprefix("min_")
            values = [r["test"][measure] for r in some if r["reached"]]
            told = f"{level:13} {measure:9} {least:<10g} {len(some):>4} {len(values) / len(some):>8.0%} "
            if values:
                defined = [v for v in values if not math.isnan(v)]  # NaN: no test row was accepted, and nothing is kept
                kept, near = (sum(v >= least - slack for v in defined) / len(values) for slack in (0, SLACK))
                mean = sum(defined) / len(defined) if defined else math.nan
                told += f"{mean:>12.3f} {kept:>6.0%} {near:>12.0%}"
            yield told


def main(argv=None):
    """Fit, and print the table; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.preference_targets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=list(LEVELS), metavar="LEVEL")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="records; fits found there are kept")
    options = parser.parse_args(argv)
    run(options)
    for line in table(read_records(options.out)):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
