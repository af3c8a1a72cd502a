"""What campaigns and other methods return for the same labels, on the same scores.

Each cell is a pool, a measure with its level and a number of labels; each method selects rows. Kept
are the recall and the precision of these rows, and how many they are: a method is right where the
measure reaches its level.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from semisvm import Campaign
from studies.certify import rivals
from studies.certify.pools import TABLES, Pool, circles, supg_pools, table_pool

Select = Callable[[Pool, float, float, int, int], np.ndarray]


def campaign_rows(measure: str, **options: Any) -> Select:
    """Return the selection of a campaign with a budget."""

    def select(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
        asked = {f"min_{measure}": level}
        campaign = Campaign(
            pool.scores, confidence=1 - risk, budget=budget, seed=f"{seed:04x}", **asked, **options
        )
        at_once = max(10, budget // rivals.BATCHES)
        while campaign.n_labels < budget and (
            rows := campaign.draw(min(at_once, budget - campaign.n_labels))
        ):
            campaign.tell(rows, pool.truth[rows])
        rows = campaign.accepted().rows
        # A recall that is not certified is kept by all rows, as the other methods return them.
        return rows if len(rows) or measure == "precision" else np.arange(len(pool.scores))

    return select


def methods(
    measure: str, supg: Path | None, bargain: Path | None, earlier: Path | None
) -> dict[str, Select]:
    """Return the methods by name; those of others only where their clone is given."""
    chosen: dict[str, Select] = {"campaign": campaign_rows(measure)}
    if measure == "recall":
        chosen["campaign, one look"] = campaign_rows(measure, one_look=True)
        chosen["random"] = rivals.random_recall
    else:
        chosen["top"] = rivals.top
        chosen["random"] = rivals.random_precision
    if supg is not None:
        chosen["SUPG"] = rivals.supg(supg, measure)
    if bargain is not None:
        chosen["BARGAIN"] = rivals.bargain(bargain, measure)
    if earlier is not None:
        chosen["0.2"] = rivals.earlier(earlier, measure)
    return chosen


@lru_cache(maxsize=2)
def pool_of(name: str, seed: int) -> Pool:
    """Return a pool; SUPG's are the same for every seed."""
    if name == "circles":
        return circles(seed)
    if name in TABLES:
        return table_pool(name, seed)
    return next(pool for pool in supg_pools() if pool.name == name)


def judge(
    select: Select, pool: Pool, measure: str, level: float, risk: float, budget: int, seed: int
) -> dict[str, Any]:
    """Return what one method gives."""
    began = time.process_time()
    rows = select(pool, level, risk, budget, seed)
    positives = int(pool.truth[rows].sum())
    recall = positives / pool.truth.sum()
    precision = positives / len(rows) if len(rows) else 1.0
    reached = precision if measure == "precision" else recall
    return {
        "recall": round(float(recall), 4),
        "precision": round(float(precision), 4),
        "share": round(len(rows) / len(pool.truth), 4),
        "missed": bool(reached < level - 1e-9),
        "positive": round(float(pool.truth.mean()), 4),
        "cpu_s": round(time.process_time() - began, 2),
    }
