"""Do promised precisions and recalls hold on new rows? Adult, 10% labeled, many seeds, level by
level.

    empirical      PaperPreferenceSVC, the paper's: half of the labels calibrate
    cross-fitted   PreferenceSVC
    certified      the same with a confidence of 90%: half of the labels are kept for the
                   certificate

For each target: how often it was reached according to the fit itself, and among these fits how
often the precision (recall) on the 10% test rows is at least the target, and at least the target
minus 0.03. A certificate promises the former in at least 90% of the draws, up to the chance that
the test rows themselves add. Every fit is a record.
"""

from __future__ import annotations

import math
import sys
import warnings

from studies.harness.machine import describe_session
from studies.harness.records import Journal, cell_key, done_keys, read_records
from studies.harness.tables import markdown_table
from studies.speed.paper_sets import PAPER_SETS
from studies.speed.runs import make_parser

SLACK = 0.03
CONFIDENCE = 0.9
LEVELS = {
    "empirical": {},
    "cross-fitted": {},
    "certified": {"confidence": CONFIDENCE},
}
TARGETS = [
    *({"min_precision": value} for value in (0.55, 0.6, 0.65, 0.95)),
    *({"min_recall": value} for value in (0.6, 0.8, 0.9)),
]


def fit_once(data, parts, level, target, seed):
    """Fit to one split and return what was promised and what the test rows say; None for what is
    not defined.
    """
    from semisvm import PreferenceSVC
    from semisvm.decision.counts import count_at, precision, recall
    from semisvm.estimators.preference.paper import PaperPreferenceSVC
    from semisvm.model_selection import hide

    paper_set = PAPER_SETS["adult"]
    y = hide(data.y, parts.labeled)[parts.train]
    make = PaperPreferenceSVC if level == "empirical" else PreferenceSVC
    model = make(C=paper_set.C, gamma=paper_set.gamma, random_state=seed, **LEVELS[level], **target)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # whether the target is reached is part of the record
        model.fit(data.X[parts.train], y)
    point = model.operating_point_
    counts = count_at(model.decision_function(data.X[parts.test]), 2 * data.y[parts.test] - 1, 0.0)
    return {
        "reached": bool(point.reached),
        "expected": {
            "precision": _defined(point.precision.value),
            "recall": _defined(point.recall.value),
        },
        "test": {"precision": _defined(precision(counts)), "recall": _defined(recall(counts))},
    }


def _defined(value):
    return None if math.isnan(value) else float(value)


def run(options):
    """Fit everything that is not on record yet."""
    from semisvm.model_selection import split
    from studies.data import load

    data = load("adult")
    done = done_keys(options.out)
    with Journal(options.out, describe_session()) as journal:
        for seed in range(options.seeds):
            parts = split(data.y, labeled=0.1, test=0.1, random_state=seed)
            for level in options.levels:
                for target in TARGETS:
                    task = {"level": level} | target
                    if cell_key(task, seed) not in done:
                        measures = fit_once(data, parts, level, target, seed)
                        journal.append(
                            {"task": task, "seed": seed, "outcome": "done", "measures": measures}
                        )


def rows_of(records):
    """Return one row of the table per level and target."""
    for level in LEVELS:
        for target in TARGETS:
            some = [
                record["measures"]
                for record in records
                if record["task"] == {"level": level} | target
            ]
            if not some:
                continue
            name, least = next(iter(target.items()))
            measure = name.removeprefix("min_")
            values = [found["test"][measure] for found in some if found["reached"]]
            row = [level, f"{measure} {least:g}", str(len(some)), f"{len(values) / len(some):.0%}"]
            if values:
                defined = [
                    v for v in values if v is not None
                ]  # None: no test row was accepted, nothing is kept
                kept, near = (
                    sum(v >= least - slack for v in defined) / len(values) for slack in (0, SLACK)
                )
                mean = sum(defined) / len(defined) if defined else math.nan
                row += [f"{mean:.3f}", f"{kept:.0%}", f"{near:.0%}"]
            yield row + [""] * (7 - len(row))


def main(argv=None):
    """Fit, and print the table; return the exit status."""
    parser = make_parser("preference_targets", __doc__)
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument(
        "--levels", nargs="+", choices=LEVELS, default=list(LEVELS), metavar="LEVEL"
    )
    options = parser.parse_args(argv)
    run(options)
    head = ["level", "target", "fits", "reached", "mean on test", "kept", "within 0.03"]
    print(markdown_table(head, rows_of(read_records(options.out)), n_text=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
