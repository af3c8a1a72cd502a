"""A recall from a simple random sample of fixed size, tested once when all of it is answered.

Looking at any time has a price: evidence that may be read after every label is weaker than a
p-value that is computed once. Who knows the number of labels beforehand and can wait for the last
of them need not pay it.

    P, T    positives of the pool, and those of them above the threshold; both unknown
    n, x    positives in the sample, and those of them above the threshold
    f       positives found below the threshold, which are returned as well

Given n, the positives of the sample are a simple random sample of all P. The null is T + f < r P,
so that T is at most K = ceil(r P) - 1 - f, and its p-value is the largest over P of

    P(X >= x),  X hypergeometric: n draws from P rows of which K are good.

For f = 0 the null is fixed, and thresholds may be tested from loose to strict at the full risk
each. f = n - x depends on the sample. At one threshold an error needs K(x) >= T and a p-value of at
most the risk; let x0 be the smallest such x. Then P(X >= x0) with T good rows is at most that with
K(x0), which is the p-value of x0: at most the risk. So f is used for the first threshold that does
not pass without it, and hands nothing on.
"""

from __future__ import annotations

import numpy as np

from semisvm.decision.betting import CLAIM_ROUNDING, log_falling
from semisvm.decision.binomial import tail
from semisvm.decision.logarithms import log_gamma, log_sum_exp

# Numbers of positives that are tried one by one. Beyond them, sampling without replacement is as
# good as with it, and the binomial law is an upper bound.
MOST_EXACT = 1000


def recall_p_value(
    n_above: int, n_positive: int, most_positive: int, level: float, found: int = 0
) -> float:
    """Return the p-value of "the recall is below the level".

    n_above        x, positives of the sample above the threshold
    n_positive     n, positives of the sample
    most_positive  the largest number of positives that the pool may have
    found          f

    Examples
    --------
    >>> from semisvm.decision.one_look import recall_p_value
    >>> round(recall_p_value(20, 20, 10**6, 0.9), 4)
    0.1216
    >>> round(recall_p_value(20, 20, 40, 0.9), 4)
    0.0471
    """
    if n_above == 0:
        return 1.0
    totals = np.arange(n_positive, min(most_positive, n_positive + MOST_EXACT) + 1, dtype=float)
    good = np.ceil(level * totals - CLAIM_ROUNDING) - 1 - found
    p_value = 0.0
    is_possible = good >= n_above
    if is_possible.any():
        log_tails = _log_tails(totals[is_possible], good[is_possible], n_positive, n_above)
        p_value = float(np.exp(log_tails.max()))
    if most_positive > n_positive + MOST_EXACT:
        p_value = max(p_value, float(tail(n_above, n_positive, level)))
    return min(p_value, 1.0)


def _log_tails(totals: np.ndarray, good: np.ndarray, n: int, x: int) -> np.ndarray:
    """log P(X >= x) for n draws from `totals` rows of which `good` are good, element by element."""
    hits = np.arange(x, n + 1, dtype=float)
    ways = _log_binomial(good[:, None], hits) + _log_binomial((totals - good)[:, None], n - hits)
    return log_sum_exp(ways, axis=1) - _log_binomial(totals, n)


def _log_binomial(n, k) -> np.ndarray:
    """log of n over k; -infinite where k is above n."""
    return log_falling(n, k) - log_gamma(np.asarray(k, float) + 1)
