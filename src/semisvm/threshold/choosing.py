"""Which threshold gives the precision or recall that I want, by the labels that I have?

    scores     (n,)  larger means "more likely positive"; by models that have not seen the label
    signs      (n,)  +1 or -1, the true class; 0 for rows without a label, which are left out
    accepted         rows with a score above the threshold
    precision        share of positives among the accepted rows
    recall           share of the positives that are accepted

Of m distinct scores only m sets of rows can be accepted, so m thresholds between them are all that
matter. Equal scores are accepted together or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.threshold.binomial import Estimate, estimate_rate

ROUNDING = 1e-12  # of sums of weights: 0.3 + 0.6 is a little less than 0.9


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold, and the precision and recall to expect of it.

    The intervals are exact for a threshold that was given. For one that was chosen on these rows
    they are a little too short, and no promise: :func:`semisvm.certify` gives one, from labels that
    were put aside.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are accepted.
    precision, recall : Estimate
        The measured rate with the ends of its interval: `value`, `low` and `high`.
    f1 : float
        The harmonic mean of precision and recall.
    n_accepted, n_labeled : int
        How many of the labeled rows are accepted, and how many there are.
    reached : bool
        Whether the measured precision and recall are as asked for.
    asked : dict {str: float}
        What was asked for, such as ``{"precision": 0.9}``.
    """

    threshold: float
    precision: Estimate
    recall: Estimate
    f1: float
    n_accepted: int
    n_labeled: int
    reached: bool
    asked: dict[str, float]

    def __str__(self) -> str:
        rates = [
            f"{name} {rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})"
            for name, rate in (("precision", self.precision), ("recall", self.recall))
        ]
        wanted = " and ".join(f"{name} {rate:g}" for name, rate in self.asked.items())
        missed = "" if self.reached else f"; no threshold gives {wanted} on these labels"
        of = f"{self.n_accepted} of {self.n_labeled} labeled rows"
        return f"threshold {self.threshold:.4g}: {', '.join(rates)}, accepts {of}{missed}"


def choose_threshold(
    scores: ArrayLike,
    signs: ArrayLike,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    weight: ArrayLike | None = None,
    confidence: float = 0.9,
) -> OperatingPoint:
    """Return the threshold with the best F1 among those that reach a precision or a recall.

    If none does, the nearest is returned, with `reached` False. Among equals the highest is taken.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Out-of-fold scores, or scores of other rows that the model has not seen the labels of.
    signs : array-like of shape (n_samples,)
        The true classes, +1 or -1; rows with 0 have no label and are left out.
    min_precision, min_recall : float, default=None
        The least precision and recall, in (0, 1]. Without either, the best F1 is all that counts.
    weight : array-like of shape (n_samples,), default=None
        One weight per row. The intervals count as many rows as would be as accurate unweighted.
    confidence : float, default=0.9
        Of the intervals.

    Returns
    -------
    point : OperatingPoint
        The threshold with what to expect of it.

    Examples
    --------
    >>> from semisvm.threshold import choose_threshold
    >>> point = choose_threshold([4.0, 3.0, 2.0, 1.0], [1, 1, -1, 1], min_precision=0.9)
    >>> point.threshold, point.precision.value, round(point.recall.value, 2)
    (2.5, 1.0, 0.67)
    """
    asked = check_targets(min_precision, min_recall)
    check_confidence(confidence)
    vector, positive, weights = _labeled_rows(scores, signs, weight)
    cuts, accepted, hits = _counts_at_cuts(vector, positive, weights[None])
    f1, shortfall = _judge(accepted, hits, asked)
    best = int(np.argmax(np.where(shortfall == shortfall.min(), f1, -np.inf)))
    threshold = float(cuts[best])
    is_accepted = vector > threshold

    def estimate(rows: np.ndarray, of: np.ndarray) -> Estimate:
        total = weights[of].sum()
        as_many_as = total**2 / (weights[of] ** 2).sum()
        return estimate_rate(weights[rows].sum() / total * as_many_as, as_many_as, confidence)

    return OperatingPoint(
        threshold=threshold,
        precision=estimate(is_accepted & positive, is_accepted),
        recall=estimate(is_accepted & positive, positive),
        f1=float(f1[0, best]),
        n_accepted=int(is_accepted.sum()),
        n_labeled=len(vector),
        reached=bool(shortfall[0, best] == 0),
        asked=asked,
    )


def value_by_resample(
    scores: np.ndarray, positive: np.ndarray, copies: np.ndarray, asked: dict[str, float]
) -> np.ndarray:
    """What scores are worth for a target, were each row drawn `copies` times, (n_resamples, n).

    It is the F1 at the threshold that would be chosen, or where no threshold reaches the target, by
    how much the nearest falls short, as a negative number.
    """
    _, accepted, hits = _counts_at_cuts(scores, positive, copies)
    f1, shortfall = _judge(accepted, hits, asked)
    least = shortfall.min(axis=1, keepdims=True)
    best = np.where(shortfall == least, f1, -np.inf).max(axis=1)
    return np.where(least[:, 0] > 0, -least[:, 0], best)


def _counts_at_cuts(
    scores: np.ndarray, positive: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds from high to low, and for each the weight accepted and that of positives in it."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.append(ordered[:-1] != ordered[1:], True))  # of equal scores
    accepted = np.cumsum(weights[:, order], axis=1)[:, last]
    hits = np.cumsum(weights[:, order] * positive[order], axis=1)[:, last]
    below = just_below(ordered[-1], np.ptp(scores))
    return between(np.append(ordered[last[1:]], below), ordered[last]), accepted, hits


def _judge(
    accepted: np.ndarray, hits: np.ndarray, asked: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """F1 at each threshold, and by how much it falls short of what is asked for."""
    positives = hits[:, -1:]
    f1 = 2 * hits / np.maximum(accepted + positives, 1e-300)
    shortfall = np.zeros_like(f1)
    for name, least in asked.items():
        rate = hits / np.maximum(accepted if name == "precision" else positives, 1e-300)
        shortfall += np.where(rate >= least - ROUNDING, 0.0, least - rate)
    return f1, shortfall


def between(lower: Any, upper: Any) -> Any:
    """The middle of two scores; strictly below the upper one, since acceptance is strict."""
    middle = lower / 2 + upper / 2  # halved before adding, so that nothing overflows
    return np.where(middle < upper, middle, lower)


def just_below(lowest: float, spread: float) -> float:
    """A threshold that accepts all rows, also most new ones, and is finite: ranks stay ranks."""
    return float(lowest - max(spread, 1e-3 * (1 + abs(lowest))))


def check_targets(min_precision: float | None, min_recall: float | None) -> dict[str, float]:
    """What is asked for, by name."""
    asked = {"precision": min_precision, "recall": min_recall}
    for name, least in asked.items():
        if least is not None and not 0 < least <= 1:
            raise ValueError(f"min_{name} must lie in (0, 1], got {least!r}.")
    return {name: float(least) for name, least in asked.items() if least is not None}


def check_confidence(confidence: float) -> float:
    """A confidence in the open interval (0, 1)."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
    return float(confidence)


def _labeled_rows(
    scores: ArrayLike, signs: ArrayLike, weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of the rows with a sign and a weight, which of them are positive, and the weights."""
    vector, sign = np.asarray(scores, dtype=np.float64), np.asarray(signs)
    weights = np.ones(len(sign)) if weight is None else np.asarray(weight, dtype=np.float64)
    if vector.ndim != 1 or vector.shape != sign.shape or vector.shape != weights.shape:
        raise ValueError(
            "scores, signs and weight must have one number per row, got the shapes"
            f" {vector.shape}, {sign.shape} and {weights.shape}."
        )
    if not np.isin(sign, (-1, 0, 1)).all():
        strange = sign[~np.isin(sign, (-1, 0, 1))].tolist()[0]
        raise ValueError(f"signs must be +1, -1, or 0 for no label, found {strange!r}.")
    used = (sign != 0) & (weights > 0)
    vector, positive, weights = vector[used], sign[used] > 0, weights[used]
    if not np.isfinite(vector).all():
        raise ValueError("The scores of labeled rows must be finite, and some are not.")
    for name, there in (("positive", positive.any()), ("negative", not positive.all())):
        if len(vector) == 0 or not there:
            raise ValueError(f"A threshold needs a {name} row with a label, and there is none.")
    return vector, positive, weights
