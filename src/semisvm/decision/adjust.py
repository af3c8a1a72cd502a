"""PSVM's adjusting step (Section 4.4): the threshold above which unlabeled rows are called positive.

    scores, sign   of the calibration rows B
    start          the classifier's current threshold, 0 in the paper

If the preference is not met at `start`, the threshold moves just far enough that B meets it: up for precision, down for
recall. If it is met, or if there is none:

    "best"    take the threshold with the best F1 on B among those that meet the preference
    "paper"   raise the smaller of precision and recall to the current value of the larger, moving in the same way

The paper's rule overshoots where the curve is steep: precision .95 and recall .39 become recall .95 and precision .42
on IJCNN1. It is kept for the paper's tables; "best" reproduces all of them.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.counts import Counts, Curve, count_all, count_at, precision, recall
from semisvm.decision.target import Target, best_of

Rule = Literal["best", "paper"]


def adjust(
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    rule: Rule = "best",
    start: float = 0.0,
) -> float:
    """Return PSVM's adjusted threshold, d+ in the paper.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of the calibration rows.
    sign : array-like of shape (n,)
        Their true classes, +1 or -1.
    min_precision, min_recall : float, optional
        The preference.
    rule : {"best", "paper"}, default="best"
        What to do where the preference is met: take the best F1, or follow the paper.
    start : float, default=0.0
        The current threshold.

    Returns
    -------
    float
        The adjusted threshold; `start` itself where nothing has to move.

    Examples
    --------
    >>> from semisvm.decision import adjust
    >>> adjust([3.0, 2.0, 1.0, -1.0], [1, 1, -1, 1], min_precision=0.9)
    1.5
    """
    if rule not in ("best", "paper"):
        raise ValueError(f'rule must be "best" or "paper", got {rule!r}.')
    target = Target(min_precision, min_recall)
    curve = count_all(scores, sign)
    now = count_at(scores, sign, start)
    if target.shortfall(now) > 0:
        return _move(curve, now, target)
    if rule == "paper":
        p, r = precision(now), recall(now)
        if now.tp > 0 and p != r:
            return _move(curve, now, Target(min_precision=r) if p < r else Target(min_recall=p))
        if now.tp > 0:
            return start
        # No positive is accepted: neither rate is the smaller, so the paper's rule does not apply.
    return float(curve.thresholds[best_of(curve.counts, target)[0]])


def _move(curve: Curve, now: Counts, target: Target) -> float:
    """Return the nearest threshold that meets the target, or else the one that misses it least.

    Near means that few rows change sides. Precision is sought upward, recall downward, both together anywhere.
    """
    ahead = _is_ahead(curve.counts, now, target)
    shortfall = target.shortfall(curve.counts)
    meets = ahead & (shortfall == 0)
    if meets.any():
        rows_moved = np.abs(curve.counts.accepted - now.accepted)
        return float(curve.thresholds[np.argmin(np.where(meets, rows_moved, np.inf))])
    thresholds, counts = curve.thresholds[ahead], Counts(*(cell[ahead] for cell in curve.counts))
    return float(thresholds[best_of(counts, target)[0]])


def _is_ahead(counts: Counts, now: Counts, target: Target) -> Any:
    """Return which thresholds lie in the direction that raises what is asked for."""
    if target.min_recall is None and now.accepted > 0:  # with nothing accepted there is no precision to raise
        return counts.accepted <= now.accepted
    if target.min_precision is None:
        return counts.accepted >= now.accepted
    return np.ones(counts.tp.shape, dtype=bool)
