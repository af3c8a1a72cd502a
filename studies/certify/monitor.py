"""How soon a monitor notices a broken promise, and how often it raises a false alarm.

    python -m studies.certify.monitor [--worlds 1000] [--out studies/certify/results/monitor.json]

Each world is a monitor with batches of 400 new rows, of which 30% are accepted, and 20 labels per
batch. In the first table the promise holds with nothing to spare, in 40 batches (800 labels). In
the second the precision falls after some batches.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from semisvm import Monitor

PER_BATCH = 20
N_ROWS = 400
SHARE = 0.3
BATCHES_THAT_HOLD = 40
# All hold exactly where precision is .8 and recall .7: .24 / .7 of all rows are positive then.
BOUNDARY: dict[str, dict[str, Any]] = {
    "precision 0.8": {"min_precision": 0.8},
    "recall 0.7": {"min_recall": 0.7},
    "F1 0.747": {"min_f": 2 * 0.8 * 0.7 / 1.5},
    "cost 0.163": {"max_cost": 0.3 * 0.2 + 0.24 / 0.7 * 0.3, "costs": (1.0, 1.0)},
    "precision 0.8 and recall 0.7": {"min_precision": 0.8, "min_recall": 0.7},
}
FALLS = ((0.95, 0.95, 0.8), (0.95, 0.97, 0.8), (0.9, 0.95, 0.8), (0.9, 0.9, 0.7))
BATCHES_BEFORE = (0, 3, 10)
MOST_BATCHES_AFTER = 25


def labels_until_alarm(
    target: dict[str, Any], precisions: list[float], recall: float, seed: int
) -> float:
    """The number of labels until an alarm, in batches with these precisions; infinite without
    one.
    """
    rng = np.random.default_rng(seed)
    monitor = Monitor(0.0, **target, seed=f"{seed:032x}")
    for precision in precisions:
        is_accepted = rng.random(N_ROWS) < SHARE
        rate_rejected = precision * SHARE * (1 - recall) / recall / (1 - SHARE)
        truth = rng.random(N_ROWS) < np.where(is_accepted, precision, rate_rejected)
        rows = monitor.draw(np.where(is_accepted, 1.0, -1.0), PER_BATCH)
        monitor.tell(rows, truth[rows].astype(int))
    # One may look after every label.
    alarms = np.flatnonzero(monitor.evidence_path() >= 1 / monitor.risk)
    return alarms[0] + 1 if len(alarms) else math.inf


def main() -> None:
    """Print two tables, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    began = time.process_time()
    record: dict[str, Any] = {"worlds": options.worlds, "false alarms": {}, "labels": {}}
    print("| the promise, exactly kept | false alarms |\n|---|---|")
    for name, target in BOUNDARY.items():
        ends = [
            labels_until_alarm(target, [0.8] * BATCHES_THAT_HOLD, 0.7, seed)
            for seed in range(options.worlds)
        ]
        share = float(np.mean(np.isfinite(ends)))
        record["false alarms"][name] = share
        print(f"| {name} | {share:.3f} |", flush=True)
    print("\n| promise | precision falls | batches before | median | 90% within | noticed |")
    print("|---|---|---|---|---|---|")
    for promise, before, after in FALLS:
        for n_before in BATCHES_BEFORE:
            precisions = [before] * n_before + [after] * MOST_BATCHES_AFTER
            needed = []
            for seed in range(options.worlds):
                end = labels_until_alarm({"min_precision": promise}, precisions, 0.7, seed)
                n_labels = end - n_before * PER_BATCH
                if n_labels > 0:  # otherwise a false alarm before the fall
                    needed.append(n_labels)
            median, most = np.quantile(needed, [0.5, 0.9], method="higher")
            noticed = float(np.mean(np.isfinite(needed)))
            record["labels"][f"{promise}: {before} to {after} after {n_before}"] = {
                "median": float(median),
                "within": float(most) if math.isfinite(most) else None,
                "noticed": noticed,
            }
            line = f"| {promise} | {before} to {after} | {n_before} | {median:.0f} | {most:.0f} |"
            print(f"{line} {noticed:.3f} |", flush=True)
    print(f"\n{options.worlds} worlds per line, {time.process_time() - began:.0f} s of CPU")
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
