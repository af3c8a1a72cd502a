"""What a threshold does to rows whose class is known: counted at one threshold or at all of them, and measured.

    scores     (n,)   real and finite; larger means "more likely positive"
    sign       (n,)   +1 or -1, the true class of each row; unlabeled rows are left out
    thresholds (m+1,) for m distinct scores: +inf, the m - 1 midpoints in descending order, -inf
    tp, fp            positives and negatives that are accepted (called positive): score > threshold
    fn, tn            positives and negatives that are not accepted

Only m + 1 different sets of rows can be accepted, so these thresholds are all that matter; one sort and two
cumulative sums count them in O(n log n). Equal scores are accepted together or not at all.

A measure whose denominator is 0 is undefined and therefore NaN (the precision of a threshold that accepts nothing,
the recall where there are no positives), so that no comparison with a target holds by accident.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Bools, Floats, check_scores_and_sign, check_threshold
from semisvm.shared_docs import with_shared_docs


class Counts(NamedTuple):
    """The four cells of a confusion table.

    Parameters
    ----------
    tp, fp, fn, tn : int or ndarray of int
        True positives, false positives, false negatives and true negatives. Arrays have one entry per candidate.

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
        """Number of rows called positive."""
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
    """Every threshold that makes a difference, highest first, with its counts.

    Parameters
    ----------
    thresholds : ndarray of shape (m + 1,)
        In descending order, from +inf (accept no row) to -inf (accept every row).
    counts : Counts
        Arrays of the same length.

    Examples
    --------
    >>> from semisvm.decision import count_all
    >>> curve = count_all([3.0, 2.0, 1.0], [1, -1, 1])
    >>> curve.thresholds.tolist()
    [inf, 2.5, 1.5, -inf]
    """

    thresholds: Floats
    counts: Counts


@with_shared_docs
def count_at(scores: ArrayLike, sign: ArrayLike, threshold: float) -> Counts:
    """Count at one threshold.

    Parameters
    ----------
    %(scores_and_sign)s
    threshold : float
        Rows with a higher score are accepted. It may be infinite.

    Returns
    -------
    Counts
        Plain integers.

    Examples
    --------
    >>> from semisvm.decision import count_at
    >>> count_at([3.0, 2.0, 1.0], [1, -1, 1], 1.5)
    Counts(tp=1, fp=1, fn=1, tn=0)
    """
    vector, positive = check_scores_and_sign(scores, sign)
    accepted = vector > check_threshold(threshold)
    return Counts(
        tp=int(np.count_nonzero(accepted & positive)),
        fp=int(np.count_nonzero(accepted & ~positive)),
        fn=int(np.count_nonzero(~accepted & positive)),
        tn=int(np.count_nonzero(~accepted & ~positive)),
    )


@with_shared_docs
def count_all(scores: ArrayLike, sign: ArrayLike) -> Curve:
    """Count at every threshold that makes a difference.

    Parameters
    ----------
    %(scores_and_sign)s

    Returns
    -------
    Curve
        The thresholds in descending order and their counts.

    Examples
    --------
    >>> from semisvm.decision import count_all
    >>> count_all([3.0, 2.0, 1.0], [1, -1, 1]).counts.tp.tolist()
    [0, 1, 1, 2]
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

    tp, fp = above(vector[positive]), above(vector[~positive])
    n_positive = int(np.count_nonzero(positive))
    return Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=vector.size - n_positive - fp)


def cuts_between(distinct: Floats) -> Floats:
    """Return -inf, the midpoints of neighbors, and +inf, for distinct values in ascending order."""
    lower, upper = distinct[:-1], distinct[1:]
    # Halve before adding, so that nothing overflows. Between neighboring floats there is no other number; then the
    # lower one itself separates them, since acceptance is strict.
    middle = lower / 2 + upper / 2
    middle = np.where(middle < upper, middle, lower)
    return np.concatenate([[-np.inf], middle, [np.inf]])


@with_shared_docs
def precision(counts: Counts) -> Any:
    """Return the share of positives among the accepted rows.

    Parameters
    ----------
    %(counts)s

    Returns
    -------
    float or ndarray
        NaN where no row is accepted.

    Examples
    --------
    >>> from semisvm.decision import Counts, precision
    >>> float(precision(Counts(tp=8, fp=2, fn=1, tn=9)))
    0.8
    """
    return _share(counts.tp, counts.accepted)


@with_shared_docs
def recall(counts: Counts) -> Any:
    """Return the share of the positives that are accepted.

    Parameters
    ----------
    %(counts)s

    Returns
    -------
    float or ndarray
        NaN where there are no positives.

    Examples
    --------
    >>> from semisvm.decision import Counts, recall
    >>> float(recall(Counts(tp=8, fp=2, fn=2, tn=8)))
    0.8
    """
    return _share(counts.tp, counts.positives)


@with_shared_docs
def f_score(counts: Counts, beta: float = 1.0) -> Any:
    """Return F-beta, the weighted harmonic mean of precision and recall.

    Parameters
    ----------
    %(counts)s
    beta : float, default=1.0
        Weight of recall: above 1 it counts more than precision.

    Returns
    -------
    float or ndarray
        NaN where there are no positives and no row is accepted.

    References
    ----------
    C. J. van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths, 1979.

    Examples
    --------
    >>> from semisvm.decision import Counts, f_score
    >>> float(f_score(Counts(tp=8, fp=2, fn=2, tn=8)))
    0.8
    """
    hit = (1 + beta**2) * counts.tp
    return _share(hit, hit + beta**2 * counts.fn + counts.fp)


@with_shared_docs
def accuracy(counts: Counts) -> Any:
    """Return the share of rows that are classified correctly.

    Parameters
    ----------
    %(counts)s

    Returns
    -------
    float or ndarray
        NaN where there are no rows.

    Examples
    --------
    >>> from semisvm.decision import Counts, accuracy
    >>> float(accuracy(Counts(tp=8, fp=2, fn=1, tn=9)))
    0.85
    """
    return _share(counts.tp + counts.tn, counts.rows)


@with_shared_docs
def expected_cost(counts: Counts, costs: tuple[float, float]) -> Any:
    """Return the mean cost per row.

    Parameters
    ----------
    %(counts)s
    costs : (float, float)
        Cost of a missed positive and of an accepted negative.

    Returns
    -------
    float or ndarray
        NaN where there are no rows.

    Examples
    --------
    >>> from semisvm.decision import Counts, expected_cost
    >>> float(expected_cost(Counts(tp=8, fp=2, fn=1, tn=9), costs=(10, 1)))
    0.6
    """
    missed_positive, accepted_negative = costs
    return _share(missed_positive * counts.fn + accepted_negative * counts.fp, counts.rows)


def _share(part: Any, whole: Any) -> Any:
    """Return part / whole, NaN where the whole is 0."""
    top, bottom = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    undefined = np.full(np.broadcast(top, bottom).shape, np.nan)
    return np.divide(top, bottom, out=undefined, where=bottom != 0)[()]
