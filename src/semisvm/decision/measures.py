"""Precision, recall, F-beta, accuracy and expected cost of confusion counts (scalars or arrays alike).

Nothing accepted has no precision: it is NaN, so that no comparison with a target holds by accident. All the
others are defined wherever there is at least one positive row.
"""

from typing import Any

import numpy as np

from semisvm.decision.counts import Counts


def precision(counts: Counts) -> Any:
    """Share of positives among the accepted rows; NaN where nothing is accepted."""
    accepted = np.asarray(counts.accepted)
    return np.where(accepted > 0, counts.tp / np.maximum(accepted, 1), np.nan)[()]


def recall(counts: Counts) -> Any:
    """Share of the positives that is accepted."""
    return counts.tp / counts.positives


def f_score(counts: Counts, beta: float = 1.0) -> Any:
    """Weighted harmonic mean of precision and recall; beta > 1 weighs recall more (van Rijsbergen 1979)."""
    hit = (1 + beta**2) * counts.tp
    return hit / (hit + beta**2 * counts.fn + counts.fp)


def accuracy(counts: Counts) -> Any:
    """Share of rows classified rightly."""
    return (counts.tp + counts.tn) / counts.rows


def expected_cost(counts: Counts, costs: tuple[float, float]) -> Any:
    """Mean cost a row, for costs = (a missed positive, an accepted negative)."""
    missed_positive, accepted_negative = costs
    return (missed_positive * counts.fn + accepted_negative * counts.fp) / counts.rows
