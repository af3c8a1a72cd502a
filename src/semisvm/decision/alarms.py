"""Evidence that a promise has stopped holding, from labels of rows that arrive in batches.

    gain      what a labeled row adds to a promise: positive where it speaks for it, negative where
              it speaks against it (a precision of p: 1 - p for an accepted positive, -p for an
              accepted negative)
    null      the promise holds: whatever came before, the mean gain of the next row is at least 0
    evidence  a betting wealth that starts at 1 and, under the null, never grows on average

Under the null the chance that the evidence *ever* reaches 1 / a is at most a (Ville 1939), so an
alarm at 1 / a is false at most once in 1 / a monitors, however long they run.

A promise that held for years would have cost a single bet all its wealth by the time it is broken.
So a bet begins with every batch: bet k has the share 1 / (k (k + 1)) of the first wealth, which it
keeps until its batch begins. The shares sum to 1, and the sum of all bets is again a bet.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Floats
from semisvm.decision.logarithms import log_sum_exp

# Parts of the largest stake that can't lose everything. With a precision of p, the part s is the
# best stake where the precision has fallen to p (1 - s): here, by 2% to 64%.
STAKES = np.array([0.02, 0.04, 0.08, 0.16, 0.32, 0.64])


def alarm_log_evidence(gains: ArrayLike, batches: ArrayLike, n_batches: int) -> Floats:
    """Return the logarithm of the evidence that a promise is broken, after each label.

    `gains` are those of the labeled rows in the order in which they became known, divided by the
    largest gain that is possible: at most 1. `batches` are the numbers of their batches, from 0 to
    `n_batches - 1`.

    Examples
    --------
    >>> from semisvm.decision.alarms import alarm_log_evidence
    >>> precision = 0.9
    >>> answers = [1, 1, 0, 0, 0, 1, 0, 0]  # of one batch
    >>> gains = [(answer - precision) / (1 - precision) for answer in answers]
    >>> bool(alarm_log_evidence(gains, [0] * 8, 1)[-1] > 3)  # exp(3): an alarm at 1 in 20
    True
    """
    gain = np.asarray(gains, dtype=np.float64)
    batch = np.asarray(batches, dtype=np.intp)
    factors = np.log1p(-STAKES * gain[:, None])
    total = np.full(len(gain), -math.log(n_batches + 1))  # bets on batches that are still to come
    for k in range(n_batches):
        wealth = np.cumsum(np.where(batch[:, None] >= k, factors, 0.0), axis=0)
        share = -math.log((k + 1) * (k + 2) * len(STAKES))
        total = np.logaddexp(total, log_sum_exp(wealth, axis=1) + share)
    return total
