"""In which order to test precision, learned from labels other than the certificate's.

    n                 rows of the certificate
    pilot             scores of other labeled rows, with `positive`: held out or out of fold, and free to look at
    pool              scores of unlabeled rows by the model that will decide; without them the pilot's serve
    promise    (k,)   by how many standard deviations the positives that the pilot lets expect among the rows a
                      threshold accepts exceed the fewest that pass its test

A fixed sequence is worth what its first test is. From the highest threshold down it certifies nothing where a model is
not sure of its own highest scores. Here it starts where the pilot promises most: at the highest threshold that is as
good as sure to pass, or else at the most promising one. From there it goes down, towards recall, as far as there is
hope. The expected count is beta-binomial (the pilot's own chance is in its deviation, with Jeffreys' prior), so that a
perfect record of five rows promises less than a good one of a hundred.

Pilot and pool are matched by rank, so that scores of other models, such as those of folds, need not be on one scale.
How well they match is a matter of power alone: the certificate's rows have no part in any of this.
"""

import numpy as np

from semisvm.decision.binomial import fewest_that_pass
from semisvm.decision.checks import Bools, Floats
from semisvm.decision.counts import count_each

SURE = 2.5  # a test that passes 199 times in 200
HOPELESS = -2.0  # one that fails 49 times in 50
N_RANKS = 200  # at which promises are compared


def order_by_pilot(
    n: int, pilot: Floats, positive: Bools, pool: Floats | None, target: float, risk: float, n_thresholds: int
) -> Floats:
    """Return the thresholds to test for precision, the first one first."""
    source = pilot if pool is None else pool
    ranks = np.unique(np.round(np.geomspace(1, n, N_RANKS)).astype(np.int64))
    expected = count_each(pilot, positive, _thresholds_at(pilot, ranks / n))
    ordered = np.sort(source)
    accepted = source.size - np.searchsorted(ordered, _thresholds_at(source, ranks / n), side="right")
    promise = _promise(np.round(accepted * (n / source.size)), expected.tp, expected.fp, target, risk)
    is_sure = promise >= SURE
    start = int(np.argmax(is_sure if is_sure.any() else promise))
    end = int(np.flatnonzero((promise >= HOPELESS) | (np.arange(ranks.size) == start))[-1])
    tested = np.geomspace(ranks[start], ranks[end], n_thresholds) / n
    return np.unique(_thresholds_at(source, tested))[::-1]


def _thresholds_at(scores: Floats, shares: Floats) -> Floats:
    """Return the thresholds above which these shares of the scores lie, or less where scores are equal."""
    ranks = np.maximum(1, np.round(shares * scores.size)).astype(np.int64)
    return np.append(np.sort(scores)[::-1], -np.inf)[ranks]


def _promise(trials: Floats, hits: Floats, misses: Floats, target: float, risk: float) -> Floats:
    total = hits + misses + 1.0
    rate = (hits + 0.5) / total
    variance = trials * rate * (1 - rate) * (1 + np.maximum(trials - 1, 0) / (total + 1))
    excess = trials * rate - fewest_that_pass(trials, target, risk) + 0.5  # half a row, for counts are whole
    return np.where(trials > 0, excess / np.sqrt(np.maximum(variance, 0.25)), -np.inf)
