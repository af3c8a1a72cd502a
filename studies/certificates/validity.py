"""How often is a promise ever false, if somebody looks after every answer and stops then?

Worlds of 60 and 120 rows; 10% are allowed. Answers come as they are drawn, or in an order that
somebody else chooses.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from semisvm.evidence.new_rows import NewRows
from semisvm.evidence.recall import Recall
from semisvm.evidence.recall_sets import RecallSets
from semisvm.evidence.returned import Returned
from semisvm.evidence.total_error import TotalError
from semisvm.evidence.unseen import Unseen
from studies.certificates import worlds
from studies.records import markdown_table

RISK = 0.1
WORLDS = ("all wrong", "just false", "usual", "half", "the surest are wrong")
PROMISES = {
    "unseen": "min_precision, unseen rows",
    "returned": "min_precision, returned rows",
    "new rows": "min_precision, new rows",
    "max_error": "max_error",
    "pilot": "max_error, order learned first",
    "recall": "min_recall, all accepted rows read",
    "recall sets": "min_recall, few labels",
}
AT_ONCE = 25  # campaigns of one cell
# Answers between looks; fewer looks where a look takes long.
BATCHES = {"returned": (5, 10), "new rows": (5, 10), "recall sets": (3, 8), "unseen": (2, 5)}


def cells(n_seeds: int) -> list[tuple[str, str, int, str, int]]:
    """Return a cell for each promise, world, size, order and group of campaigns."""
    return [
        (promise, world, n, order, seed)
        for seed in range(n_seeds)
        for promise in PROMISES
        for world in WORLDS
        for n, order in ((60, "drawn"), (60, "at random"), (120, "at random"))
    ]


def run_cell(cell: tuple[str, str, int, str, int]) -> dict[str, Any]:
    """Run some campaigns of one kind; return how many were ever false."""
    promise, world, n, order, seed = cell
    rng = np.random.default_rng([seed, n, len(promise), len(world)])
    rows, scores, likely = np.arange(n), np.linspace(1, 0, n), np.linspace(0.95, 0.2, n)
    n_false = 0
    for _ in range(AT_ONCE):
        level = float(rng.choice([0.7, 0.8, 0.9]))
        budget = int(rng.integers(n // 3, n))
        state = int(rng.integers(2**62))
        common = {"risk": RISK, "budget": budget, "random_state": state}
        share = 1 - level if promise not in ("max_error", "pilot") else (1 - level) / 2
        wrong = worlds.truths(n, share, rng)[world]
        truth, how = (
            ~wrong,
            {"budget": budget, "n_at_once": int(rng.choice(BATCHES.get(promise, (1, 3, 8))))},
        )
        if promise in ("unseen", "returned"):
            kind = Unseen if promise == "unseen" else Returned
            procedure = kind(rows, scores, likely, min_precision=level, **common)
            is_false = (
                worlds.too_imprecise if promise == "unseen" else worlds.too_imprecise_with_found
            )(level)
        elif promise == "new rows":
            scores = rng.random(n)  # every threshold has just too few positive rows, in all worlds
            procedure = NewRows(rows, scores, (1 + scores) / 2, min_precision=level, **common)
            truth, is_false = rng.random(n) < level - 0.005, lambda *_: True
        elif promise in ("max_error", "pilot"):
            labels = np.zeros(n) if promise == "max_error" else rows * 2 // n
            b = int(np.floor(share * n + 1e-9))
            procedure = TotalError(
                rows, scores, labels, max_error=share, **common | {"budget": None}
            )
            is_false, how["budget"] = worlds.too_many_left(b), None
        else:
            truth, is_false = wrong, worlds.too_few_found(level)
            kind = Recall if promise == "recall" else RecallSets
            procedure = kind(rows, scores, likely, min_recall=level, **common)
            how["budget"] = None if promise == "recall" else budget
        n_false += worlds.first_false(procedure, truth, is_false, rng, order=order, **how)
    return {"promise": promise, "world": world, "campaigns": AT_ONCE, "false": n_false}


def means_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each promise and world."""
    counts: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(2, dtype=int))
    for one in found:
        counts[one["promise"], one["world"]] += [one["campaigns"], one["false"]]
    return [
        {"promise": promise, "world": world, "campaigns": int(n), "false": int(k)}
        for (promise, world), (n, k) in counts.items()
    ]


def table_of(lines: list[dict[str, Any]]) -> str:
    """Return a table: a line for each promise."""
    rows = []
    for promise, title in PROMISES.items():
        own = [line for line in lines if line["promise"] == promise]
        if own:
            n, k = (sum(line[name] for line in own) for name in ("campaigns", "false"))
            worst = max(own, key=lambda line: line["false"] / line["campaigns"])
            share = worst["false"] / worst["campaigns"]
            rows.append([title, f"{n:,}", f"{k / n:.1%}", f"{share:.1%} ({worst['world']})"])
    return markdown_table(["promise", "campaigns", "ever false", "worst world"], rows)
