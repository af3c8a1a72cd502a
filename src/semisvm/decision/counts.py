"""What a threshold does to rows whose class is known: counted at one threshold, or at all of them at once.

    scores     (n,)   a row is accepted (called positive) when score > threshold
    tp, fp            positives, negatives accepted
    fn, tn            positives, negatives not accepted
    thresholds (m+1,) for m distinct scores: +inf, the m - 1 midpoints downwards, -inf

Only m + 1 different sets of rows can be accepted, so those thresholds are all there are; a sort and two
cumulative sums count them in O(n log n). Equal scores are accepted together or not at all.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Bools, Floats, check_scores_and_sign, check_threshold


class Counts(NamedTuple):
    """The four cells of a confusion table: integers, or integer arrays with an entry a candidate."""

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    @property
    def accepted(self) -> Any:
        return self.tp + self.fp

    @property
    def positives(self) -> Any:
        return self.tp + self.fn

    @property
    def negatives(self) -> Any:
        return self.fp + self.tn

    @property
    def rows(self) -> Any:
        return self.positives + self.negatives

    def at(self, index: int) -> "Counts":
        """The counts of one candidate, as plain integers."""
        return Counts(*(int(cell[index]) for cell in self))


class Curve(NamedTuple):
    """Every threshold that makes a difference, highest first, with what it does."""

    thresholds: Floats
    counts: Counts


def count_at(scores: ArrayLike, sign: ArrayLike, threshold: float) -> Counts:
    """Count at one threshold."""
    vector, positive = check_scores_and_sign(scores, sign)
    accepted = vector > check_threshold(threshold)
    return Counts(
        tp=int(np.count_nonzero(accepted & positive)),
        fp=int(np.count_nonzero(accepted & ~positive)),
        fn=int(np.count_nonzero(~accepted & positive)),
        tn=int(np.count_nonzero(~accepted & ~positive)),
    )


def count_all(scores: ArrayLike, sign: ArrayLike) -> Curve:
    """Count at every threshold that makes a difference."""
    vector, positive = check_scores_and_sign(scores, sign)
    distinct, group = np.unique(vector, return_inverse=True)
    positives = np.bincount(group, weights=positive, minlength=distinct.size).astype(np.int64)
    negatives = np.bincount(group, minlength=distinct.size) - positives
    tp = np.concatenate([[0], np.cumsum(positives[::-1])])
    fp = np.concatenate([[0], np.cumsum(negatives[::-1])])
    return Curve(cuts_between(distinct)[::-1], Counts(tp=tp, fp=fp, fn=tp[-1] - tp, tn=fp[-1] - fp))


def count_each(vector: Floats, positive: Bools, thresholds: Floats) -> Counts:
    """Count at each of the given thresholds; the input is checked already."""

    def above(values: Floats) -> Any:
        ordered = np.sort(values)
        return ordered.size - np.searchsorted(ordered, thresholds, side="right")

    tp, fp = above(vector[positive]), above(vector[~positive])
    n_positive = int(np.count_nonzero(positive))
    return Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=vector.size - n_positive - fp)


def cuts_between(distinct: Floats) -> Floats:
    """Return -inf, the midpoints of neighbors, +inf, for ascending distinct values."""
    lower, upper = distinct[:-1], distinct[1:]
    # halved before they are added, so that nothing overflows; neighboring floats have no number between
    # them, and then the lower one itself separates them, since acceptance is strict
    middle = lower / 2 + upper / 2
    middle = np.where(middle < upper, middle, lower)
    return np.concatenate([[-np.inf], middle, [np.inf]])
