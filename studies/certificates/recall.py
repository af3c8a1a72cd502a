"""How many rows are read in all, until a recall is proved? Confidence 90%.

*Few labels*: with a budget of 300 labels accepted rows are not read; rows that are accepted or labeled.
*Oracle*: rows from the top that hold the recall.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.evidence import Campaign
from studies.certificates.pools import HELD_BACK, scored
from studies.records import markdown_table

LEVELS = (0.8, 0.9)
BUDGET = 300


def cells(n_seeds: int) -> list[tuple[str, float, int]]:
    """Return a cell for each pool, recall and seed."""
    return [(name, r, seed) for seed in range(n_seeds) for name in HELD_BACK for r in LEVELS]


def run_cell(cell: tuple[str, float, int]) -> dict[str, Any]:
    """Run a campaign that reads, and one with few labels."""
    name, r, seed = cell
    scores, truth = scored(name)
    found: dict[str, Any] = {"pool": name, "recall": r}
    for kind, budget in (("read", None), ("few", BUDGET)):
        campaign = Campaign(scores, min_recall=r, budget=budget, random_state=seed)
        for rows in campaign.batches(max(20, len(scores) // 50) if budget is None else 20):
            campaign.tell(rows, truth[rows])
        returned = np.union1d(campaign.accepted(), campaign.found())
        n_taken = len(np.union1d(campaign.accepted(), list(campaign.labels)))
        found[kind] = n_taken / len(scores)
        found[f"{kind} false"] = bool(truth[returned].sum() < r * truth.sum() - 1e-9)
    by_score = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    found["oracle"] = float((np.searchsorted(by_score, r * truth.sum()) + 1) / len(scores))
    return found


def means_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each pool and recall."""
    lines = []
    for name in HELD_BACK:
        for r in LEVELS:
            own = [one for one in found if (one["pool"], one["recall"]) == (name, r)]
            if own:
                keys = ("read", "few", "oracle", "read false", "few false")
                means = {key: float(np.mean([one[key] for one in own])) for key in keys}
                lines.append({"pool": name, "recall": r, "n": len(own), **means})
    return lines


def table_of(lines: list[dict[str, Any]]) -> str:
    """Return a table of shares of rows."""
    rows = [
        [
            line["pool"],
            f"{line['recall']}",
            *(f"{line[key]:.2f}" for key in ("read", "few", "oracle")),
            f"{(line['read false'] + line['few false']) * line['n']:.0f} of {2 * line['n']}",
        ]
        for line in lines
    ]
    mean = [f"{np.mean([line[key] for line in lines]):.3f}" for key in ("read", "few", "oracle")]
    rows.append(["**mean**", "", *mean, ""])
    head = [
        "pool",
        "recall",
        "read in all",
        f"accepted or labeled, {BUDGET} labels",
        "oracle",
        "false",
    ]
    return markdown_table(head, rows)
