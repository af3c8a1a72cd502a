"""How often a campaign certifies what is not true, in worlds that are made to mislead it.

    python -m studies.certify.false_certificates [--worlds 4000] [--campaigns 200] [--jobs 1]

Precision: twelve nested sets with the default shares of the risk; the highest evidence over the *whole* order, so that
no rule of stopping or of choosing rows could do worse. Other targets: 1,200 rows, 250 labels, one threshold just below
its target, beliefs that expect a third of the missed positives; the missed positives lie as predicted, deep below or
just below the threshold.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from joblib import Parallel, delayed

from semisvm import Campaign
from semisvm.decision.betting import fallback, mixture_log_evidence, null_total

RISK = 0.1
SHARES = (0.6, 0.2, 0.2)
LEVELS = (0.6, 0.7, 0.85, 0.9, 0.95)
RANGES = ((25, 250), (80, 600))
WORLDS = ("every set just below", "first set false, rest true", "three true, rest just below")


def nested(kind: str, sizes: np.ndarray, level: float) -> np.ndarray:
    """Positives in each nested set: as many as the null allows, or clearly more."""
    below = np.array([null_total(int(n), level) for n in sizes])
    clear = np.minimum(sizes, np.ceil(sizes * (level + 1) / 2).astype(int))
    if kind == WORLDS[0]:
        totals = below
    elif kind == WORLDS[1]:
        totals = np.concatenate([below[:1], clear[1:]])
    else:
        totals = np.concatenate([clear[:3], below[3:]])
    for k in range(1, len(sizes)):  # a band can't have fewer positives than none, nor more than rows
        totals[k] = np.clip(totals[k], totals[k - 1], totals[k - 1] + sizes[k] - sizes[k - 1])
    return totals


def precision_worlds(kind: str, level: float, sizes: np.ndarray, n_worlds: int, seed: int) -> tuple[float, float]:
    """The share of worlds with a false certificate: by the fallback procedure, and without any correction."""
    rng = np.random.default_rng(seed)
    totals = nested(kind, sizes, level)
    is_false = totals <= [null_total(int(n), level) for n in sizes]
    shares = np.zeros(len(sizes))
    shares[[0, len(sizes) // 3, 2 * len(sizes) // 3]] = SHARES
    positive = np.zeros(sizes[-1], dtype=bool)
    starts = np.concatenate([[0], sizes[:-1]])
    for start, more in zip(starts, np.diff(totals, prepend=0), strict=True):
        positive[start : start + more] = True
    tables = []
    for n, total in zip(sizes, totals, strict=True):
        pos, neg = np.meshgrid(np.arange(total + 1), np.arange(n - total + 1), indexing="ij")
        tables.append(mixture_log_evidence(int(n), level, pos, neg))
    wrong = wrong_uncorrected = 0
    for _ in range(n_worlds):
        order = rng.permutation(sizes[-1])
        highest = np.empty(len(sizes))
        for k, (n, table) in enumerate(zip(sizes, tables, strict=True)):
            good = positive[order[order < n]]
            highest[k] = table[np.cumsum(good), np.cumsum(~good)].max()
        wrong += bool((fallback(highest, shares, RISK)[0] & is_false).any())
        wrong_uncorrected += bool(((highest >= -math.log(RISK)) & is_false).any())
    return wrong / n_worlds, wrong_uncorrected / n_worlds


def new_rows_worlds(level: float, n_worlds: int, seed: int, n_rows: int = 400) -> float:
    """The share of runs of independent rows, exactly at the level, with evidence of 1 / risk at any time."""
    rng = np.random.default_rng(seed)
    pos, neg = np.meshgrid(np.arange(n_rows + 1), np.arange(n_rows + 1), indexing="ij")
    table = mixture_log_evidence(n_rows, level, pos, neg, new_rows=True)
    good = rng.random((n_worlds, n_rows)) < level
    return float((table[np.cumsum(good, 1), np.cumsum(~good, 1)].max(1) >= -math.log(RISK)).mean())


TARGETS = (
    ("recall 0.8", {"min_recall": 0.8}, lambda tp, fp: math.floor(tp * 0.2 / 0.8) + 1),
    ("recall 0.9", {"min_recall": 0.9}, lambda tp, fp: math.floor(tp * 0.1 / 0.9 + 1e-9) + 1),
    ("F1 0.6", {"min_f": 0.6}, lambda tp, fp: math.floor(2 * tp / 0.6 - 2 * tp - fp + 1e-9) + 1),
    ("cost 0.1", {"max_cost": 0.1, "costs": (1, 1)}, lambda tp, fp: math.floor(0.1 * 1200 - fp + 1e-9) + 1),
)
PLACES = ("as predicted", "deep below", "just below")
CAMPAIGNS_AT_ONCE = 50  # of a cell, each part with its own seed


def other_worlds(asked: dict, missed: int, place: str, claim: str, n_campaigns: int, seed: int) -> float:
    """The share of campaigns that certify a threshold just below its target."""
    rng = np.random.default_rng(seed)
    n_rows, n_accepted, tp = 1200, 200, 150
    scores = np.linspace(1, -5, n_rows) - 1e-6
    scores += -scores[n_accepted : n_accepted + 1]  # the first rejected row is at 0
    depth = np.arange(n_rows - n_accepted)
    fading = np.exp(-depth / 300)
    beliefs = np.concatenate([np.full(n_accepted, tp / n_accepted), missed / 3 * fading / fading.sum()])
    n_wrong = 0
    for _ in range(n_campaigns):
        truth = np.zeros(n_rows, dtype=int)
        truth[rng.choice(n_accepted, tp, replace=False)] = 1
        weights = {"as predicted": fading, "deep below": (depth > 600) * 1.0, "just below": (depth < 300) * 1.0}[place]
        truth[n_accepted + rng.choice(len(depth), missed, replace=False, p=weights / weights.sum())] = 1
        campaign = Campaign(scores, probabilities=beliefs, thresholds=[1e-9], claim=claim, **asked)
        while campaign.n_labels < 250 and (rows := campaign.draw(250 - campaign.n_labels)):
            campaign.tell(rows, truth[rows])
        n_wrong += campaign.verdict().table[0].evidence >= 1 / RISK
    return n_wrong / n_campaigns


def other_cells(n_campaigns: int, n_jobs: int) -> list[tuple[str, list[float]]]:
    """The rows of the table of other targets: their name, and a share per place of the missed positives."""
    n_parts = max(1, round(n_campaigns / CAMPAIGNS_AT_ONCE))
    rows = [(claim, *target) for claim in ("pool", "new rows") for target in TARGETS]
    found = Parallel(n_jobs)(
        delayed(other_worlds)(asked, missed(150, 50), place, claim, n_campaigns // n_parts, seed=7 + 1000 * part)
        for claim, _, asked, missed in rows
        for place in PLACES
        for part in range(n_parts)
    )
    shares = np.reshape(found, (len(rows), len(PLACES), n_parts)).mean(axis=2)
    return [(f"{name}, {claim}", list(own)) for (claim, name, *_), own in zip(rows, shares, strict=True)]


def main() -> None:
    """Print the tables of docs/certify-measured.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=4000)
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="Processes for the campaigns.")
    options = parser.parse_args()
    if min(options.worlds, options.campaigns, options.jobs) < 1:
        parser.error("--worlds, --campaigns and --jobs must be at least 1.")
    began = time.process_time()
    print("| worlds | sizes | " + " | ".join(f"p = {level:g}" for level in LEVELS) + " |")
    print("|---|---|" + "---|" * len(LEVELS))
    for kind in WORLDS:
        for low, high in RANGES:
            sizes = np.unique(np.round(np.geomspace(low, high, 12)).astype(int))
            found = [precision_worlds(kind, p, sizes, options.worlds, seed=i) for i, p in enumerate(LEVELS)]
            cells = " | ".join(f"{share:.3f} ({plain:.3f})" for share, plain in found)
            print(f"| {kind} | {low} to {high} | {cells} |", flush=True)
    found = [new_rows_worlds(p, options.worlds, seed=i) for i, p in enumerate(LEVELS)]
    print("| new rows, exactly at p | one set of 400 | " + " | ".join(f"{share:.3f}" for share in found) + " |")
    print(f"\n{options.worlds} worlds per cell, {time.process_time() - began:.0f} s of CPU\n")
    began = time.process_time()
    print("| target, claim | " + " | ".join(PLACES) + " |\n|---|" + "---|" * len(PLACES))
    for name, shares in other_cells(options.campaigns, options.jobs):
        print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    print(f"\n{options.campaigns} campaigns per cell, {time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
