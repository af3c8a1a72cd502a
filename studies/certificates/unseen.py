"""Rows accepted unseen: how many, and how precise, after 60, 100, 200 and 300 labels?

Pools that were not used to choose how campaigns plan; confidence 90%. *One look*: a uniform sample of
one and a half times the planned set, exact hypergeometric tests of nested sets in a fixed order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from semisvm.evidence import Campaign
from semisvm.evidence.unseen_plan import look_and_bound
from studies.certificates.pools import HELD_BACK, scored
from studies.records import markdown_table

BUDGETS = (60, 100, 200, 300)
RISK = 0.1


def cells(n_seeds: int) -> list[tuple[str, int, int]]:
    """Return a cell for each pool, budget and seed."""
    return [(name, m, seed) for seed in range(n_seeds) for name in HELD_BACK for m in BUDGETS]


def run_cell(cell: tuple[str, int, int]) -> dict[str, Any]:
    """Run one campaign, and one sample at one look."""
    name, budget, seed = cell
    probabilities, truth = scored(name)
    p = HELD_BACK[name][2]
    campaign = Campaign(probabilities, min_precision=p, budget=budget, random_state=seed)
    for rows in campaign.batches(max(5, budget // 12)):
        campaign.tell(rows, truth[rows])
    found = {"pool": name, "budget": budget}
    accepted = {"": campaign.accepted(), "one look ": one_look(name, budget, seed)}
    for method, rows in accepted.items():
        n_right = int(truth[rows].sum())
        found |= {
            f"{method}rows": len(rows),
            f"{method}right": n_right,
            f"{method}share": n_right / int(truth.sum()),
            f"{method}false": bool(len(rows) and n_right < p * len(rows)),
        }
    return found


@cache
def _planned_rows(name: str, budget: int) -> int:
    """Return one and a half times the rows of the set that the same plan would prove."""
    probabilities, _ = scored(name)
    p = HELD_BACK[name][2]
    rate = np.clip(1 - np.sort(probabilities)[::-1], 0.004, 0.96)
    t, b = look_and_bound(rate, p, budget, RISK / 2)
    return min(int(1.5 * b / ((1 - p) * (1 - t))), len(rate))


def one_look(name: str, budget: int, seed: int) -> np.ndarray:
    """Return the unseen rows of the largest set that a uniform sample proves."""
    probabilities, truth = scored(name)
    p, rng = HELD_BACK[name][2], np.random.default_rng(seed)
    order = np.argsort(-probabilities, kind="stable")[: _planned_rows(name, budget)]
    is_sampled = np.zeros(len(order), dtype=bool)
    is_sampled[rng.permutation(len(order))[: min(budget, len(order))]] = True
    accepted = 0
    for size in np.unique(np.geomspace(20, len(order), 12).astype(int)):
        sampled, positive = is_sampled[:size], truth[order[:size]] == 1
        n, hits, n_unseen = (
            int(sampled.sum()),
            int((sampled & positive).sum()),
            int((~sampled).sum()),
        )
        # Totals of the set are fixed, so that a fixed order of tests is valid: those with which the
        # unseen part keeps the promise even if all sampled rows are positive.
        total = n + int(np.ceil(p * n_unseen - 1e-9)) - 1
        if n == 0 or hypergeom.sf(hits - 1, size, total, n) > RISK:
            if accepted:
                break
            continue
        accepted = size
    return order[:accepted][~is_sampled[:accepted]]


def means_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each pool and budget."""
    lines = []
    for name in HELD_BACK:
        for budget in BUDGETS:
            own = [one for one in found if (one["pool"], one["budget"]) == (name, budget)]
            if own:
                means = {
                    key: float(np.mean([one[key] for one in own]))
                    for key in own[0]
                    if key not in ("pool", "budget")
                }
                lines.append({"pool": name, "budget": budget, "n": len(own), **means})
    return lines


def table_of(lines: list[dict[str, Any]]) -> str:
    """Return a table: unseen rows of a campaign / of the sample, and the mean share of positives."""
    rows = []
    for name, (_, _, p) in HELD_BACK.items():
        own = {line["budget"]: line for line in lines if line["pool"] == name}
        if not own:
            continue
        n_rows, n_right = (sum(line[key] for line in own.values()) for key in ("rows", "right"))
        cells = [
            f"{own[m]['rows']:.0f} / {own[m]['one look rows']:.0f}" for m in BUDGETS if m in own
        ]
        n_false = sum(line["false"] * line["n"] for line in own.values())
        n_runs = sum(line["n"] for line in own.values())
        precision = f"{n_right / n_rows:.3f}" if n_rows else ""
        rows.append([name, f"{p}", *cells, precision, f"{n_false:.0f} of {n_runs}"])
    means = []
    for m in BUDGETS:
        own = [line for line in lines if line["budget"] == m]
        if own:
            ours, other = (
                np.mean([line[key] for line in own]) for key in ("share", "one look share")
            )
            means.append(f"{ours:.3f} / {other:.3f}")
    rows.append(["**mean share of all positives**", "", *means, "", ""])
    head = ["pool", "p", *(f"{m} labels" for m in BUDGETS), "true precision", "false"]
    return markdown_table(head, rows)
