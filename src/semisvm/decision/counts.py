"""Confusion counts of labeled rows at one threshold or at all thresholds, and measures of them.

    scores     (n,)   real and finite; larger means "more likely positive"
    sign       (n,)   +1 or -1, the true class of each row; unlabeled rows are left out
    thresholds (m+1,) for m distinct scores: +inf, the m - 1 midpoints in descending order, -inf
    tp, fp            positives and negatives that are accepted (called positive): score > threshold
    fn, tn            positives and negatives that are not accepted

Only m + 1 different sets of rows can be accepted, so these thresholds are all that matter; one sort
and two cumulative sums count them in O(n log n). Equal scores are accepted together or not at all.

A measure whose denominator is 0 is undefined and therefore NaN (the precision of a threshold that
accepts nothing, the recall where there are no positives), so that no comparison with a target holds
by accident.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Bools, Floats, check_number, check_scores_and_sign


class Counts(NamedTuple):
    """The four counts of a confusion matrix.

    Parameters
    ----------
    tp, fp, fn, tn : int or ndarray of int
        True positives, false positives, false negatives and true negatives. Arrays have one entry
        per candidate.

    Examples
    --------
    >>> from semisvm.decision import Counts
    >>> counts = Counts(tp=8, fp=2, fn=1, tn=9)
    >>> counts.accepted, counts.positives, counts.negatives, counts.rows
    (10, 9, 11, 20)
    """

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    @property
    def accepted(self) -> Any:
        """Number of rows predicted as positive."""
        return self.tp + self.fp

    @property
    def positives(self) -> Any:
        """Number of rows that are positive."""
        return self.tp + self.fn

    @property
    def negatives(self) -> Any:
        """Number of rows that are negative."""
        return self.fp + self.tn

    @property
    def rows(self) -> Any:
        """Number of rows."""
        return self.positives + self.negatives

    def at(self, index: int) -> "Counts":
        """Return the counts of one candidate as plain integers.

        Parameters
        ----------
        index : int
            The candidate.

        Returns
        -------
        Counts
            Its counts.
        """
        return Counts(*(int(cell[index]) for cell in self))


class Curve(NamedTuple):
    """Every threshold that makes a difference, (m + 1,), from +inf (accept no row) to -inf (accept
    every row), with its counts: arrays of the same length.
    """

    thresholds: Floats
    counts: Counts


def count_at(scores: ArrayLike, sign: ArrayLike, threshold: float) -> Counts:
    """Count at one threshold, which may be infinite; rows with a higher score are accepted.

    >>> count_at([3.0, 2.0, 1.0], [1, -1, 1], 1.5)
    Counts(tp=1, fp=1, fn=1, tn=0)
    """
    vector, positive = check_scores_and_sign(scores, sign)
    accepted = vector > check_number(threshold, "threshold", "be a number", lambda t: t == t)
    return Counts(
        tp=int(np.count_nonzero(accepted & positive)),
        fp=int(np.count_nonzero(accepted & ~positive)),
        fn=int(np.count_nonzero(~accepted & positive)),
        tn=int(np.count_nonzero(~accepted & ~positive)),
    )


def count_all(scores: ArrayLike, sign: ArrayLike) -> Curve:
    """Count at every threshold that makes a difference.

    >>> curve = count_all([3.0, 2.0, 1.0], [1, -1, 1])
    >>> curve.thresholds.tolist(), curve.counts.tp.tolist()
    ([inf, 2.5, 1.5, -inf], [0, 1, 1, 2])
    """
    vector, positive = check_scores_and_sign(scores, sign)
    distinct, group = np.unique(vector, return_inverse=True)
    positives = np.bincount(group, weights=positive, minlength=distinct.size).astype(np.int64)
    negatives = np.bincount(group, minlength=distinct.size) - positives
    tp = np.concatenate([[0], np.cumsum(positives[::-1])])
    fp = np.concatenate([[0], np.cumsum(negatives[::-1])])
    return Curve(cuts_between(distinct)[::-1], Counts(tp=tp, fp=fp, fn=tp[-1] - tp, tn=fp[-1] - fp))


def count_each(vector: Floats, positive: Bools, thresholds: Floats) -> Counts:
    """Count at each of the given thresholds; the input is already checked."""

    def above(values: Floats) -> Any:
        ordered = np.sort(values)
        return ordered.size - np.searchsorted(ordered, thresholds, side="right")

    tp = above(vector[positive])
    fp = above(vector[~positive])
    n_positive = int(np.count_nonzero(positive))
    return Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=vector.size - n_positive - fp)


def cuts_between(distinct: Floats) -> Floats:
    """Return -inf, the midpoints of neighbors, and +inf, for distinct values in ascending order."""
    lower = distinct[:-1]
    upper = distinct[1:]
    # Halve before adding, so that nothing overflows. Between neighboring floats there is no other
    # number; then the lower one itself separates them, since acceptance is strict.
    middle = lower / 2 + upper / 2
    middle = np.where(middle < upper, middle, lower)
    return np.concatenate([[-np.inf], middle, [np.inf]])


# Measures of counts: numbers for scalars, arrays for arrays; NaN where the denominator is 0.


def precision(counts: Counts) -> Any:
    """Return the share of positives among the accepted rows."""
    return _share(counts.tp, counts.accepted)


def recall(counts: Counts) -> Any:
    """Return the share of the positives that are accepted."""
    return _share(counts.tp, counts.positives)


def f_score(counts: Counts, beta: float = 1.0) -> Any:
    """Return F-beta, the weighted harmonic mean of precision and recall; with beta above 1 recall
    counts more (C. J. van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths, 1979).
    """
    hit = (1 + beta**2) * counts.tp
    return _share(hit, hit + beta**2 * counts.fn + counts.fp)


def expected_cost(counts: Counts, costs: tuple[float, float]) -> Any:
    """Return the mean cost per row; `costs` are those of a missed positive and of an accepted
    negative.
    """
    missed_positive, accepted_negative = costs
    return _share(missed_positive * counts.fn + accepted_negative * counts.fp, counts.rows)


def _share(part: Any, whole: Any) -> Any:
    """Return part / whole, NaN where the whole is 0."""
    top = np.asarray(part, dtype=np.float64)
    bottom = np.asarray(whole, dtype=np.float64)
    undefined = np.full(np.broadcast(top, bottom).shape, np.nan)
    return np.divide(top, bottom, out=undefined, where=bottom != 0)[()]
