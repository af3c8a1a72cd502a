"""Labels that a campaign forecasts before the first one, beside the labels that its first certificate
took.

Synthetic pools with calibrated probabilities: 5,000 rows, normal scores that are 2.5 standard
deviations apart. The forecasts were developed on other pools, with classes 2 standard deviations
apart. A campaign that has no certificate after so many labels counts as taking more than all
others, and one without a forecast as being told more.
"""

from __future__ import annotations

import argparse
import math
from statistics import median
from typing import Any

import numpy as np

from semisvm import Campaign
from studies.certify.records import run_tasks
from studies.harness.tables import markdown_table

N_ROWS = 5000
# Labels of a campaign, and between two looks: for a precision or a recall, and for other targets.
MOST, AT_ONCE = 400, 4
MOST_OF_OTHERS, AT_ONCE_OF_OTHERS = 2500, 20
RUNS = 40
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
NEAR = 1.3  # a forecast's median is to be within this factor of the labels that it takes


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
    """Return one line per target and prevalence, and how many lines are within a factor of 1.3."""
    lines = []
    n_near = 0
    for target in TARGETS:
        for prevalence in PREVALENCES:
            runs = list(records.get(f"{target}|{prevalence:g}", {}).values())
            if not runs:
                continue
            told = median([_or_infinite(run["told"]) for run in runs])
            taken = [_or_infinite(run["took"]) for run in runs]
            took = median(taken)
            is_known = math.isfinite(told) and math.isfinite(took)
            n_near += is_known and 1 / NEAR <= told / took <= NEAR
            ends = np.quantile(taken, [0.25, 0.75], method="nearest")
            lines.append(
                [
                    target,
                    f"{prevalence:.0%}",
                    str(len(runs)),
                    f"{told:.0f}" if math.isfinite(told) else "none in sight",
                    _labels(took, target),
                    " to ".join(_labels(end, target) for end in ends),
                    f"{told / took:.2f}" if is_known else "-",
                ]
            )
    titles = ["target", "positive", "campaigns", "forecast", "taken", "half of them took", "ratio"]
    near = f"Within a factor of {NEAR}: {n_near} of {len(lines)} lines."
    return f"{markdown_table(titles, lines)}\n\n{near}"


def _or_infinite(n_labels: int | None) -> float:
    return math.inf if n_labels is None else n_labels


def _labels(n: float, target: str) -> str:
    return f"{n:.0f}" if math.isfinite(n) else f"above {_most(target)}"
