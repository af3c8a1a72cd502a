"""Choose a threshold from scores and true signs.

    minimum precision, minimum recall, or both    -> best F-beta (or lowest cost) among those that
    give it
    nothing, or beta                              -> best F-beta
    costs = (missed positive, accepted negative)  -> lowest expected cost, the two constants
    included
    accept = a share or a number of rows          -> by rank

Among equally good thresholds the highest is taken. If no threshold gives what is asked, the nearest
is returned, with `reached` False and the reason.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Floats, check_scores
from semisvm.decision.counts import (
    count_all,
    count_at,
    cuts_between,
)
from semisvm.decision.operating_point import (
    Evidence,
    OperatingPoint,
    operating_point,
    show,
)
from semisvm.decision.target import Target, best_of
from semisvm.errors import counted


def choose(
    scores: ArrayLike,
    sign: ArrayLike,
    target: Target | None = None,
    *,
    level: Evidence | str = Evidence.EMPIRICAL,
    confidence: float = 0.9,
    reference: ArrayLike | None = None,
) -> OperatingPoint:
    """Return the best threshold for a target, with its expected precision and recall.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of labeled rows.
    sign : array-like of shape (n,)
        Their true classes, +1 or -1.
    target : Target, optional
        The target; by default the best F1.
    level : {"empirical", "cross-fitted"}, default="empirical"
        Whether the scores are of held-out rows ("empirical") or out-of-fold scores
        ("cross-fitted").
    confidence : float, default=0.9
        Of the intervals.
    reference : array-like, optional
        Scores of other rows, usually the unlabeled pool. With a target of `accept`, these rows are
        counted.

    Returns
    -------
    OperatingPoint
        The threshold, its measures, and whether it reaches the target.

    See Also
    --------
    measure : The operating point of a given threshold.
    certify : A threshold with a guarantee, from labels that were used for nothing else.

    Examples
    --------
    >>> from semisvm.decision import Target, choose
    >>> point = choose([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], Target(min_recall=0.6))
    >>> point.threshold, point.reached
    (-inf, True)
    >>> choose([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], Target(min_precision=0.9)).threshold
    2.5
    """
    target = target or Target()
    if Evidence(level).is_promise:
        raise ValueError(
            f"choose can't certify, got level={str(level)!r}: use certify with held-out labels, or"
            " semisvm.Campaign with rows drawn from a pool."
        )
    if target.accept is not None:
        pool = check_scores(scores) if reference is None else check_scores(reference, "reference")
        return _choose_by_rank(scores, sign, pool, target, level, confidence)
    curve = count_all(scores, sign)
    index, reached = best_of(curve.counts, target)
    counts = curve.counts.at(index)
    point = operating_point(
        curve.thresholds[index], counts, target, level=level, confidence=confidence, reached=reached
    )
    return point if reached else _with_reason(point)


def measure(
    scores: ArrayLike,
    sign: ArrayLike,
    threshold: float = 0.0,
    *,
    target: Target | None = None,
    level: Evidence | str = Evidence.EMPIRICAL,
    confidence: float = 0.9,
) -> OperatingPoint:
    """Return the operating point of a given threshold.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of labeled rows.
    sign : array-like of shape (n,)
        Their true classes, +1 or -1.
    threshold : float, default=0.0
        The threshold to measure. It may be infinite.
    target : Target, optional
        The target to compare with; by default the best F1.
    level : {"empirical", "cross-fitted"}, default="empirical"
        As in `choose`.
    confidence : float, default=0.9
        Of the intervals.

    Returns
    -------
    OperatingPoint
        The measures of the threshold, and whether it reaches the target.

    Examples
    --------
    >>> from semisvm.decision import measure
    >>> point = measure([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], 1.5)
    >>> round(point.precision.value, 3), round(point.recall.value, 3)
    (0.667, 0.667)
    """
    if Evidence(level).is_promise:
        raise ValueError("a given threshold is measured, not certified: use certify.")
    target = target or Target()
    counts = count_at(scores, sign, threshold)
    reached = bool(target.shortfall(counts) == 0)
    point = operating_point(
        threshold, counts, target, level=level, confidence=confidence, reached=reached
    )
    return point if reached else _with_reason(point, "This threshold does not give", "It gives")


def _choose_by_rank(
    scores: ArrayLike,
    sign: ArrayLike,
    pool: Floats,
    target: Target,
    level: Evidence | str,
    confidence: float,
) -> OperatingPoint:
    """Accept this many rows of the pool, or fewer if equal scores would make them more."""
    accept = target.accept
    assert accept is not None
    if isinstance(accept, int):
        number = accept
        if number > pool.size:
            raise ValueError(f"accept asks for {number} rows of {pool.size}.")
    else:
        number = max(1, math.floor(accept * pool.size + 1e-9))  # 0.29 * 100 is 28.999...
    distinct, sizes = np.unique(pool, return_counts=True)
    accepted = np.concatenate([np.cumsum(sizes[::-1])[::-1], [0]])
    cut = int(np.flatnonzero(accepted <= number)[0])
    reached = bool(accepted[cut] == number)
    instead = f"{counted(int(accepted[cut]), 'row')} instead of {number:,}"
    reason = "" if reached else f"Equal scores stay together: it accepts {instead}."
    threshold = float(cuts_between(distinct)[cut])
    counts = count_at(scores, sign, threshold)
    return operating_point(
        threshold,
        counts,
        target,
        level=level,
        confidence=confidence,
        reached=reached,
        reason=reason,
    )


def _with_reason(
    point: OperatingPoint, subject: str = "No threshold gives", rest: str = "The nearest gives"
) -> OperatingPoint:
    """Add what is missing, and what there is instead."""
    measures = [m for m in point.measures if m[0] in ("precision", "recall") or m[2] is not None]
    wanted = " and ".join(f"{name} {least:.3g}" for name, _, least in measures if least is not None)
    seen = " and ".join(f"{name} {show(value)}" for name, value, _ in measures)
    return replace(
        point, reason=f"{subject} {wanted} on these {point.counts.rows} labels. {rest} {seen}."
    )
