"""Labels by a machine: how many rows need no human label, if at most 5% of all are wrong?

Confidence 95%. *Oracle*: the longest beginning, by confidence, with at most 5% errors of all rows.
*PAC labeling* (Candès, Ilyas and Zrnic, 2025): the best of 150 to 1,000 labels, in our port.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.evidence import Campaign
from studies.certificates.pools import machine_labels
from studies.records import markdown_table

MAX_ERROR = CONFIDENCE = 0.05
BUDGETS = (150, 300, 500, None)
POOLS = {"stance": 0.275, "misinfo": 0.178, "imagenetv2": 0.392}  # and PAC labeling at its best
AT_ONCE = {"stance": 10, "misinfo": 10, "imagenetv2": 25}


def cells(n_seeds: int) -> list[tuple[str, int, int]]:
    """Return a cell for each pool, budget and seed; a budget of 0 is none."""
    return [
        (name, budget or 0, seed) for seed in range(n_seeds) for name in POOLS for budget in BUDGETS
    ]


def run_cell(cell: tuple[str, int, int]) -> dict[str, Any]:
    """Finish one pool; return the share kept, the labels, and whether the promise was missed."""
    name, budget, seed = cell
    given, sure, truth = machine_labels(name)
    campaign = Campaign.for_labels(
        given,
        sure,
        max_error=MAX_ERROR,
        confidence=1 - CONFIDENCE,
        budget=budget or None,
        random_state=seed,
    )
    for rows in campaign.batches(AT_ONCE[name]):
        campaign.tell(rows, truth[rows])
    kept = campaign.accepted()
    n_wrong = int((given[kept] != truth[kept]).sum())
    return {
        "pool": name,
        "budget": budget,
        "kept": len(kept) / len(given),
        "labels": campaign.n_labels,
        "missed": n_wrong > MAX_ERROR * len(given),
    }


def means_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each pool and budget."""
    lines = []
    for name in POOLS:
        for budget in BUDGETS:
            own = [o for o in found if (o["pool"], o["budget"]) == (name, budget or 0)]
            if own:
                means = {
                    key: float(np.mean([o[key] for o in own]))
                    for key in ("kept", "labels", "missed")
                }
                key = {"pool": name, "budget": budget or 0, "n": len(own)}
                lines.append({**key, **means, "oracle": oracle(name)})
    return lines


def oracle(name: str) -> float:
    """Return the share of rows that could be kept by confidence, if errors were known."""
    given, sure, truth = machine_labels(name)
    order = np.argsort(-sure, kind="stable")
    n_wrong = np.cumsum((given != truth)[order])
    return float((n_wrong <= MAX_ERROR * len(given)).sum() / len(given))


def table_of(lines: list[dict[str, Any]]) -> str:
    """Return a table: share without a human label (labels used; promises missed)."""
    head = [
        "pool",
        *(f"budget {b}" if b else "no budget" for b in BUDGETS),
        "PAC labeling",
        "oracle",
    ]
    rows = []
    for name, pac in POOLS.items():
        by_budget = {line["budget"]: line for line in lines if line["pool"] == name}
        cells = [
            f"{one['kept']:.3f} ({one['labels']:.0f}; {one['missed']:.1%})" if one else ""
            for one in (by_budget.get(budget or 0) for budget in BUDGETS)
        ]
        best = next(iter(by_budget.values()))["oracle"]
        rows.append([name, *cells, f"{pac:.3f}", f"{best:.3f}"])
    return markdown_table(head, rows)
