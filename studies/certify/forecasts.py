"""Labels that a campaign forecasts before the first one, beside the labels that its first certificate
took.

Synthetic pools with calibrated probabilities: 5,000 rows, normal scores that are two or three
standard deviations apart. A campaign that has no certificate after so many labels counts as taking
more than all others.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from semisvm import Campaign
from studies.certify.records import run_tasks
from studies.harness.tables import markdown_table

N_ROWS = 5000
# Labels of a campaign, and between two looks: for a precision or a recall, and for other targets.
MOST, AT_ONCE = 400, 4
MOST_OF_OTHERS, AT_ONCE_OF_OTHERS = 2500, 20
RUNS = 12
TARGETS: dict[str, dict[str, Any]] = {
    "precision .8": {"min_precision": 0.8},
    "precision .9": {"min_precision": 0.9},
    "recall .7": {"min_recall": 0.7},
    "recall .8": {"min_recall": 0.8},
    "F1": {},
    "cost": {},
    "both": {},
}
PREVALENCES = (0.03, 0.1, 0.3)


def pool(prevalence: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and labels."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(N_ROWS) < prevalence).astype(int)
    apart = 2.5
    scores = apart * truth + rng.normal(size=N_ROWS)
    log_odds = apart * scores - apart**2 / 2 + math.log(prevalence / (1 - prevalence))
    return 1 / (1 + np.exp(-log_odds)), truth


def asked_of(target: str, probabilities: np.ndarray) -> dict[str, Any]:
    """Return the target; F1, cost and both are somewhat less than what the best threshold reaches."""
    if TARGETS[target]:
        return TARGETS[target]
    ordered = np.sort(probabilities)[::-1]
    tp = np.cumsum(ordered)
    accepted = np.arange(1, len(ordered) + 1)
    if target == "F1":
        return {"min_f": round(0.85 * float((2 * tp / (accepted + tp[-1])).max()), 3)}
    costs = (accepted - tp + 2 * (tp[-1] - tp)) / len(ordered)
    if target == "cost":
        return {"max_cost": round(1.3 * float(costs.min()), 4), "costs": (2, 1)}
    best = int(np.argmax(2 * tp / (accepted + tp[-1])))
    return {
        "min_precision": round(0.8 * float(tp[best] / accepted[best]), 3),
        "min_recall": round(0.8 * float(tp[best] / tp[-1]), 3),
    }


def one_campaign(target: str, prevalence: float, seed: int) -> dict[str, Any]:
    """Return the forecast, after how many labels there was a certificate, and what was told on the
    way.
    """
    probabilities, truth = pool(prevalence, seed)
    campaign = Campaign(probabilities, seed=f"{seed:04x}", **asked_of(target, probabilities))
    told = campaign.verdict().forecast
    at_once = AT_ONCE if TARGETS[target] else AT_ONCE_OF_OTHERS
    while campaign.n_labels < _most(target) and (rows := campaign.draw(at_once)):
        campaign.tell(rows, truth[rows])
        if campaign.standing(with_forecasts=False).is_certified:
            return {"told": told, "took": campaign.n_labels}
    return {"told": told, "took": None}


def _most(target: str) -> int:
    return MOST if TARGETS[target] else MOST_OF_OTHERS


def run(part: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Run the campaigns that have no record."""
    tasks = [
        (f"{target}|{prevalence:g}", seed)
        for seed in range(options.seeds or RUNS)
        for target in TARGETS
        for prevalence in PREVALENCES
    ]
    return run_tasks(
        part,
        tasks,
        lambda cell, seed: one_campaign(cell.split("|")[0], float(cell.split("|")[1]), seed),
        options.out,
        options.jobs,
    )


def show(part: str, records: dict[str, dict[str, Any]]) -> str:
    """Return one line per target and prevalence; medians without an end are "above"."""
    lines = []
    for target in TARGETS:
        for prevalence in PREVALENCES:
            runs = list(records.get(f"{target}|{prevalence:g}", {}).values())
            told = [run["told"] for run in runs if run["told"] is not None]
            took = [run["took"] if run["took"] is not None else math.inf for run in runs]
            median_told = float(np.median(told)) if told else math.nan
            median_took = float(np.median(took)) if took else math.nan
            is_known = np.isfinite(median_told) and np.isfinite(median_took)
            lines.append(
                [
                    target,
                    f"{prevalence:.0%}",
                    str(len(runs)),
                    f"{median_told:.0f}" if told else "none in sight",
                    f"{median_took:.0f}" if np.isfinite(median_took) else f"above {_most(target)}",
                    f"{median_told / median_took:.2f}" if is_known else "-",
                ]
            )
    titles = ["target", "positive", "campaigns", "told, median", "took, median", "told / took"]
    return markdown_table(titles, lines)
