"""PSVM's adjusting step (Section 4.4): the threshold above which unlabeled rows are taken for positive.

    scores, sign   of the calibration rows B
    start          the classifier's present threshold, 0 in the paper

The preference is not met at `start`: move just far enough that B meets it, up for precision, down for recall.
It is met, or there is none:

    "best"    the threshold with the best F1 on B among those that meet the preference
    "paper"   raise the smaller of precision and recall to the present value of the larger, moving likewise

The paper's rule overshoots where the curve is steep: precision .95, recall .39 becomes recall .95 at
precision .42 on IJCNN1. It is kept for the paper's tables; "best" reproduces all of them.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.counts import Counts, Curve, count_all, count_at
from semisvm.decision.measures import precision, recall
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
    """Return the adjusted threshold, d+ in the paper; `start` itself where nothing has to move."""
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
        # no positive accepted: neither is the smaller, the rule says nothing, and staying would help no one
    return float(curve.thresholds[best_of(curve.counts, target)[0]])


def _move(curve: Curve, now: Counts, target: Target) -> float:
    """Return the nearest threshold that meets the target, or failing that the one that misses it least.

    Near means few rows change sides. Precision is sought upwards, recall downwards, both together anywhere.
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
    """Which thresholds lie in the direction that raises what is asked for."""
    if target.min_recall is None and now.accepted > 0:  # with nothing accepted there is no precision to raise
        return counts.accepted <= now.accepted
    if target.min_precision is None:
        return counts.accepted >= now.accepted
    return np.ones(counts.tp.shape, dtype=bool)
