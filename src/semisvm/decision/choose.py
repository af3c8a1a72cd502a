"""Choose a threshold from scores and true signs.

    minimum precision, minimum recall, or both    -> best F-beta (or lowest cost) among those that give it
    nothing, or beta                              -> best F-beta
    costs = (missed positive, accepted negative)  -> lowest expected cost, the two constants included
    accept = a share or a number of rows          -> by rank

Among equally good thresholds the highest is taken. If no threshold gives what is asked, the nearest is returned, with
`reached` False and the reason.

`adjust` is PSVM's adjusting step (Section 4.4): the threshold above which unlabeled rows are called positive. If the
preference is not met at threshold 0, the threshold moves just far enough that the calibration rows meet it: up for
precision, down for recall. If it is met, or if there is none:

    "best"    take the threshold with the best F1 among those that meet the preference
    "paper"   raise the smaller of precision and recall to the current value of the larger, moving in the same way

The paper's rule overshoots where the curve is steep: precision .95 and recall .39 become recall .95 and precision .42
on IJCNN1. It is kept for the paper's tables; "best" reproduces all of them.
"""

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.certify import certify
from semisvm.decision.checks import Floats, check_scores
from semisvm.decision.counts import Counts, Curve, count_all, count_at, cuts_between, precision, recall
from semisvm.decision.operating_point import PROMISES, EvidenceLevel, OperatingPoint, operating_point, show
from semisvm.decision.target import Target, best_of, f_name
from semisvm.errors import counted
from semisvm.shared_docs import with_shared_docs

Rule = Literal["best", "paper"]


@with_shared_docs
def choose(
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    beta: float = 1.0,
    costs: tuple[float, float] | None = None,
    accept: float | int | None = None,
    level: EvidenceLevel = "empirical",
    confidence: float = 0.9,
    reference: ArrayLike | None = None,
    pilot: tuple[ArrayLike, ArrayLike] | None = None,
) -> OperatingPoint:
    """Return the best threshold for what is asked, with what it is expected to give.

    Parameters
    ----------
    %(scores_and_sign)s
    min_precision, min_recall : float, optional
        Lowest precision and recall that are good enough.
    beta : float, default=1.0
        Among thresholds that are good enough, F-beta is maximized.
    costs : (float, float), optional
        Cost of a missed positive and of an accepted negative; the expected cost is minimized instead of F-beta.
    accept : float or int, optional
        A share or a number of rows to accept, by rank.
    level : {"empirical", "cross-fitted", "certified"}, default="empirical"
        Where the scores come from, which only the caller knows: held out, out of fold, or from rows that were used
        for nothing else. "certified" calls `certify`; the other two differ in name only.
    confidence : float, default=0.9
        Of the intervals and of the certificate.
    reference : array-like, optional
        Scores of other rows, usually the unlabeled pool, whose ranks set the threshold: `accept` then counts these
        rows, and a certificate for precision needs no assumption.
    pilot : (scores, sign), optional
        Other labeled rows, from which a certificate for precision learns where to start (see `certify`).

    Returns
    -------
    OperatingPoint
        The threshold, and whether it gives what was asked.

    See Also
    --------
    choose_for : The same for a `Target`.
    measure : For a threshold that is given.

    Examples
    --------
    >>> from semisvm.decision import choose
    >>> point = choose([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], min_recall=0.6)
    >>> point.threshold, point.reached
    (-inf, True)
    >>> choose([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], min_precision=0.9).threshold
    2.5
    """
    target = Target(min_precision, min_recall, beta, costs, accept)
    return choose_for(target, scores, sign, level=level, confidence=confidence, reference=reference, pilot=pilot)


def choose_for(
    target: Target,
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    level: EvidenceLevel = "empirical",
    confidence: float = 0.9,
    reference: ArrayLike | None = None,
    pilot: tuple[ArrayLike, ArrayLike] | None = None,
) -> OperatingPoint:
    """Return what `choose` returns, for a target that is given as a whole.

    Parameters
    ----------
    target : Target
        What is asked for.
    scores, sign : array-like of shape (n,)
        Scores of labeled rows and their true classes, +1 or -1.
    level : {"empirical", "cross-fitted", "certified"}, default="empirical"
        Where the scores come from; see `choose`.
    confidence : float, default=0.9
        Of the intervals and of the certificate.
    reference : array-like, optional
        Scores of other rows whose ranks set the threshold; see `choose`.
    pilot : (scores, sign), optional
        Other labeled rows, for a certificate; see `choose`.

    Returns
    -------
    OperatingPoint
        The threshold, and whether it gives what was asked.

    Examples
    --------
    >>> from semisvm.decision import Target, choose_for
    >>> choose_for(Target(min_precision=0.9), [4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1]).threshold
    2.5
    """
    if level == "certified by sampling":
        raise ValueError("rows that are drawn from a pool are certified by a campaign: use semisvm.Campaign.")
    if level == "certified":
        return certify(scores, sign, target, confidence=confidence, reference=reference, pilot=pilot)
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


@with_shared_docs
def measure(
    scores: ArrayLike,
    sign: ArrayLike,
    threshold: float = 0.0,
    *,
    target: Target | None = None,
    level: EvidenceLevel = "empirical",
    confidence: float = 0.9,
) -> OperatingPoint:
    """Return the operating point of a given threshold.

    Parameters
    ----------
    %(scores_and_sign)s
    threshold : float, default=0.0
        The threshold to measure. It may be infinite.
    target : Target, optional
        What it is judged by; by default F1.
    level : {"empirical", "cross-fitted"}, default="empirical"
        Where the scores come from.
    confidence : float, default=0.9
        Of the intervals.

    Returns
    -------
    OperatingPoint
        What the threshold gives, and whether it meets the target.

    Examples
    --------
    >>> from semisvm.decision import measure
    >>> point = measure([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], 1.5)
    >>> round(point.precision.value, 3), round(point.recall.value, 3)
    (0.667, 0.667)
    """
    if level in PROMISES:
        raise ValueError("a given threshold is measured, not certified: use certify.")
    target = target or Target()
    counts = count_at(scores, sign, threshold)
    reached = bool(target.shortfall(counts) == 0)
    point = operating_point(threshold, counts, target, level=level, confidence=confidence, reached=reached)
    return point if reached else _with_reason(point, "This threshold does not give", "It gives")


def _choose_by_rank(
    scores: ArrayLike,
    sign: ArrayLike,
    pool: Floats,
    target: Target,
    level: EvidenceLevel,
    confidence: float,
) -> OperatingPoint:
    """Accept as many rows of the pool as asked, or fewer where equal scores would otherwise make them more."""
    asked = target.accept
    assert asked is not None
    if isinstance(asked, int):
        number = asked
        if number > pool.size:
            raise ValueError(f"accept asks for {number} rows of {pool.size}.")
    else:
        number = max(1, math.floor(asked * pool.size + 1e-9))  # 0.29 * 100 is 28.999...
    distinct, sizes = np.unique(pool, return_counts=True)
    accepted = np.concatenate([np.cumsum(sizes[::-1])[::-1], [0]])
    cut = int(np.flatnonzero(accepted <= number)[0])
    reached = bool(accepted[cut] == number)
    instead = f"{counted(int(accepted[cut]), 'row')} instead of {number:,}"
    reason = "" if reached else f"Equal scores stay together: it accepts {instead}."
    threshold = float(cuts_between(distinct)[cut])
    counts = count_at(scores, sign, threshold)
    return operating_point(
        threshold, counts, target, level=level, confidence=confidence, reached=reached, reason=reason
    )


def _with_reason(
    point: OperatingPoint, subject: str = "No threshold gives", rest: str = "The nearest gives"
) -> OperatingPoint:
    """Add what is missing, and what there is instead."""
    asked = [
        ("precision", point.target.min_precision, point.precision),
        ("recall", point.target.min_recall, point.recall),
    ]
    if point.target.min_f is not None:
        asked.append((f_name(point.target.beta), point.target.min_f, point.f_score))
    if point.target.max_cost is not None and point.cost is not None:
        asked.append(("cost", point.target.max_cost, point.cost))
    wanted = " and ".join(f"{name} {least:.3g}" for name, least, _ in asked if least is not None)
    seen = " and ".join(f"{name} {show(value)}" for name, _, value in asked)
    return replace(point, reason=f"{subject} {wanted} on these {point.counts.rows} labels. {rest} {seen}.")


def adjust(
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    rule: Rule = "best",
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

    Returns
    -------
    float
        The adjusted threshold; 0 where nothing has to move.

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
    now = count_at(scores, sign, 0.0)
    if target.shortfall(now) > 0:
        return _move(curve, now, target)
    if rule == "paper":
        p, r = precision(now), recall(now)
        if now.tp > 0 and p != r:
            return _move(curve, now, Target(min_precision=r) if p < r else Target(min_recall=p))
        if now.tp > 0:
            return 0.0
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
