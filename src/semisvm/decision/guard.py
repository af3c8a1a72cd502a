"""Is the classifier worth its errors, or is it cheaper to call every row the same?

    costs = (c+, c-)   of a missed positive, of an accepted negative
    p+, p-             shares of the classes where the classifier will be used; p+ + p- = 1
    n+, n-             labeled rows of each class
    FN, FP             errors at a cut theta on scores of rows not trained on (leave-one-out or out-of-fold)

With few labels a cut that shows no error is not free of errors, so each is charged one error of each kind
more than it made, out of two rows more (Laplace's rule of succession):

    est(theta) = c+ p+ (FN + 1) / (n+ + 2) + c- p- (FP + 1) / (n- + 2)

The constants need no estimate: accepting every row costs exactly c- p-, accepting none c+ p+. If the
cheapest of all is a constant, the classifier gives way to it; else its own threshold stays (moving it on
ten leave-one-out scores was measured to do harm; the guard was not). No cut can promise a rate of missed
positives below 1 / (n+ + 2), so where c+ p+ / (n+ + 2) > c- p- the dear class is predicted whatever the
scores say.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import check_costs
from semisvm.decision.counts import Counts, count_all, count_at


@dataclass(frozen=True)
class Guard:
    """What the guard found: the threshold to use, and the expected cost a row of each alternative."""

    threshold: float
    constant: Literal["positive", "negative"] | None
    own_cost: float
    best_cut_cost: float
    all_positive_cost: float
    all_negative_cost: float
    reason: str


def guard(
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    costs: tuple[float, float],
    positive_share: float | None = None,
    threshold: float = 0.0,
) -> Guard:
    """Keep `threshold` unless a constant is expected to cost less than every cut of the scores.

    `positive_share` is p+; by default that of the labeled rows, right only if they were drawn at random.
    """
    pair = check_costs(costs)
    own = count_at(scores, sign, threshold)
    share = _check_share(positive_share, own)
    cuts = count_all(scores, sign).counts
    best_cut = float(smoothed_cost(cuts, pair, share)[1:-1].min(initial=np.inf))
    all_positive, all_negative = pair[1] * (1 - share), pair[0] * share
    constant: Literal["positive", "negative"] | None = None
    if min(all_positive, all_negative) <= best_cut:
        constant = "positive" if all_positive <= all_negative else "negative"
    return Guard(
        threshold={None: float(threshold), "positive": -np.inf, "negative": np.inf}[constant],
        constant=constant,
        own_cost=float(smoothed_cost(own, pair, share)),
        best_cut_cost=best_cut,
        all_positive_cost=all_positive,
        all_negative_cost=all_negative,
        reason="" if constant is None else _reason(constant, own, pair, share, best_cut),
    )


def smoothed_cost(counts: Counts, costs: tuple[float, float], positive_share: float) -> Any:
    """est(theta) above, a row: of scalar counts or of arrays."""
    missed = (counts.fn + 1) / (counts.positives + 2)
    false_alarm = (counts.fp + 1) / (counts.negatives + 2)
    return costs[0] * positive_share * missed + costs[1] * (1 - positive_share) * false_alarm


def _reason(constant: str, counts: Counts, costs: tuple[float, float], share: float, best_cut: float) -> str:
    other, dear, labeled, dear_cost, constant_cost = (
        ("missed positives", "positive", counts.positives, costs[0] * share, costs[1] * (1 - share))
        if constant == "positive"
        else ("accepted negatives", "negative", counts.negatives, costs[1] * (1 - share), costs[0] * share)
    )
    told = (
        f"Calling every row {dear} costs {constant_cost:.3g} a row;"
        f" the best cut of the scores is expected to cost {best_cut:.3g}."
    )
    if dear_cost / (labeled + 2) > constant_cost:
        told += (
            f" {labeled} labeled {dear}s can't promise a rate of {other} below 1/{labeled + 2},"
            " and at these costs that alone is dearer: no cut could have won."
        )
    return told


def _check_share(positive_share: float | None, counts: Counts) -> float:
    if positive_share is None:
        return float(counts.positives / counts.rows)
    if not 0 < positive_share < 1:
        raise ValueError(f"positive_share must lie strictly between 0 and 1, got {positive_share!r}.")
    return float(positive_share)
