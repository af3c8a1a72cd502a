"""Certificates of a precision where people take some of the negatives for positive.

    python -m studies.certify.wrong_answers [--worlds 1000] [--out RECORD.json]

A pool of 600 rows that are all accepted, one row below a precision of 0.8. People say yes to a
share of the negative rows. Every certificate is false; 10% are allowed. With `error_rate` the
campaign accounts for the share; without, it takes the answers for true.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from semisvm import Campaign

N_ROWS = 600
N_POSITIVE = 479
SHARES = (0.02, 0.1, 0.3)
MOST_LABELS = 200


def is_certified(share: float, error_rate: float, seed: int) -> bool:
    """Whether a campaign certifies the pool, which misses its precision."""
    rng = np.random.default_rng(seed)
    is_positive = rng.permutation(N_ROWS) < N_POSITIVE
    negatives = np.flatnonzero(~is_positive)
    answers = is_positive.astype(int)
    wrong = rng.choice(negatives, int(share * len(negatives)), replace=False)
    answers[wrong] = 1
    campaign = Campaign(
        -np.arange(N_ROWS, dtype=float),
        min_precision=0.8,
        error_rate=error_rate,
        thresholds=[-float(N_ROWS)],
        seed=f"{seed:032x}",
    )
    while campaign.n_labels < MOST_LABELS and (rows := campaign.draw(20)):
        campaign.tell(rows, answers[rows])
    # The table has the highest evidence so far, as if one had looked after every label.
    return bool(campaign.standing(with_forecasts=False).is_certified)


def main() -> None:
    """Print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    began = time.process_time()
    record: dict[str, Any] = {"worlds": options.worlds, "false": {}}
    print("| yes to the negatives | with `error_rate` | without |\n|---|---|---|")
    for share in SHARES:
        false = {
            name: float(
                np.mean([is_certified(share, rate, seed) for seed in range(options.worlds)])
            )
            for name, rate in (("with", share), ("without", 0.0))
        }
        record["false"][str(share)] = false
        print(f"| {share:.0%} | {false['with']:.3f} | {false['without']:.3f} |", flush=True)
    print(f"\n{options.worlds} campaigns per cell, {time.process_time() - began:.0f} s of CPU")
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
