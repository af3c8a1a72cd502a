"""CPU seconds of a campaign on a million rows: the start, a draw and a verdict after 200 labels."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from semisvm import Campaign
from studies.certify.records import run_tasks
from studies.harness.tables import markdown_table

N_ROWS = 1_000_000
LABELS, AT_ONCE = 200, 20
TIMED = ("start", "draw", "tell", "verdict")
TARGETS: dict[str, dict[str, Any]] = {
    "precision .8": {"min_precision": 0.8},
    "recall .8": {"min_recall": 0.8},
    "recall .8, scores of no use": {"min_recall": 0.8},
    "precision .5 and recall .7": {"min_precision": 0.5, "min_recall": 0.7},
    "recall .8, new rows": {"min_recall": 0.8, "claim": "new rows"},
}


def one_campaign(target: str, seed: int) -> dict[str, float]:
    """Time one campaign; draw and verdict are the slowest of all."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(N_ROWS) < 0.05).astype(int)
    use = 0.0 if "no use" in target else 2.5
    scores = use * truth + rng.normal(size=N_ROWS) - 2
    began = time.process_time()
    campaign = Campaign(scores, seed=f"{seed:02x}", **TARGETS[target])
    times = dict.fromkeys(TIMED, 0.0) | {"start": time.process_time() - began}
    while campaign.n_labels < LABELS:
        began = time.process_time()
        rows = campaign.draw(AT_ONCE)
        times["draw"] = max(times["draw"], time.process_time() - began)
        if not rows:
            break
        began = time.process_time()
        campaign.tell(rows, truth[rows])
        times["tell"] = max(times["tell"], time.process_time() - began)
        began = time.process_time()
        campaign.verdict()
        times["verdict"] = max(times["verdict"], time.process_time() - began)
    return {name: round(seconds, 3) for name, seconds in times.items()}


def run(part: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Time each target once."""
    tasks = [(target, 0) for target in TARGETS]
    return run_tasks(part, tasks, one_campaign, options.out)


def show(part: str, records: dict[str, dict[str, Any]]) -> str:
    """Return one line per target."""
    lines = [
        [target, *(f"{records[target]['0'][name]:.2f}" for name in TIMED)]
        for target in TARGETS
        if target in records
    ]
    return markdown_table(["target", *TIMED], lines)
