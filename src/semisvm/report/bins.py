"""How the scores are spread: labeled positives, labeled negatives and unlabeled rows, counted in the same bins.

    edges                          (k + 1,) ascending, equally wide, from the lowest to the highest score (or threshold)
    positive, negative, unlabeled  (k,) rows in each bin

Unlabeled rows are counted as sampled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semisvm.report.thresholds import Scores

N_BINS = 32


def bin_scores(scores: Scores, chosen: float | None) -> dict[str, Any] | None:
    """Count the rows in each bin; None where there is no score, or no width to divide."""
    everything = np.concatenate([scores.labeled, scores.unlabeled])
    if not everything.size:
        return None
    ends = [float(everything.min()), float(everything.max())]
    if chosen is not None and math.isfinite(chosen):
        ends = [min(ends[0], chosen), max(ends[1], chosen)]
    edges = np.linspace(ends[0], ends[1], N_BINS + 1)
    if not math.isfinite(ends[1] - ends[0]) or not np.all(np.diff(edges) > 0):
        return None
    groups = {
        "positive": scores.labeled[scores.sign == 1],
        "negative": scores.labeled[scores.sign == -1],
        "unlabeled": scores.unlabeled,
    }
    counted = {name: np.histogram(values, edges)[0].tolist() for name, values in groups.items()}
    return {"edges": [float(f"{edge:.6g}") for edge in edges]} | counted
