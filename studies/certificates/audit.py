"""Do the intervals of audits hold over whole paths, and how wide are they? Confidence 90%.

Looks after 100, 200, 400 and 800 labels. *Once*: a Clopper-Pearson interval at each look, which is valid at
one of them. *Missed*: at any of the four looks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta

from semisvm.evidence import Audit
from studies.certificates.pools import HELD_BACK, scored
from studies.records import markdown_table

LOOKS = (100, 200, 400, 800)
FIGURES = ("error", "prevalence", "precision", "recall")
RISK = 0.1


def cells(n_seeds: int) -> list[tuple[str, int]]:
    """Return a cell for each pool and seed."""
    return [(name, seed) for seed in range(n_seeds) for name in HELD_BACK]


def run_cell(cell: tuple[str, int]) -> dict[str, Any]:
    """Return the widths of one audit at all looks, and which figures were ever missed."""
    name, seed = cell
    probabilities, truth = scored(name)
    threshold = min(0.5, np.quantile(probabilities, 0.9))  # some rows are predicted positive
    predicted = (probabilities > threshold).astype(int)
    audit = Audit(predicted, probabilities, pos_label=1, confidence=1 - RISK, random_state=seed)
    hits = int((truth * predicted).sum())
    wanted = {
        "error": float((truth != predicted).mean()),
        "prevalence": float(truth.mean()),
        "precision": hits / int(predicted.sum()),
        "recall": hits / int(truth.sum()),
    }
    found: dict[str, Any] = {"pool": name} | {f"{figure} missed": False for figure in FIGURES}
    found["error once missed"] = False
    n_labels = 0
    for look in LOOKS:
        rows = audit.draw(look - n_labels)
        audit.tell(rows, truth[rows])
        n_labels = look
        report = audit.report()
        for figure in FIGURES:
            interval = getattr(report, figure)
            found[f"{figure} {look}"] = interval.high - interval.low
            is_inside = interval.low - 1e-9 <= wanted[figure] <= interval.high + 1e-9
            found[f"{figure} missed"] |= not is_inside
        n_wrong = round(report.error.estimate * report.error.n_labels)
        low, high = clopper_pearson(n_wrong, report.error.n_labels)
        found[f"error once {look}"] = high - low
        found["error once missed"] |= not low <= wanted["error"] <= high
    return found


def clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    """Return the exact binomial interval of one look."""
    low = beta.ppf(RISK / 2, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - RISK / 2, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


def means_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each figure, over all pools."""
    lines = []
    for figure in ("error once", *FIGURES):
        widths = {
            str(look): float(np.mean([one[f"{figure} {look}"] for one in found])) for look in LOOKS
        }
        missed = float(np.mean([one[f"{figure} missed"] for one in found]))
        lines.append({"figure": figure, "n": len(found), "missed": missed, **widths})
    return lines


def table_of(lines: list[dict[str, Any]]) -> str:
    """Return a table of mean widths."""
    rows = [
        [
            line["figure"],
            *(f"{line[str(look)]:.3f}" for look in LOOKS),
            f"{line['missed']:.1%} of {line['n']:,}",
        ]
        for line in lines
    ]
    return markdown_table(["figure", *(f"{look} labels" for look in LOOKS), "ever missed"], rows)
