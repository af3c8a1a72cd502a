"""The total of a share that is not known, from rows drawn at random: evidence that holds at any
time.

n rows hold M positives. They are read in random order without replacement, up to the first row
without an answer: `pos` positive and `neg` other ones, outcomes y_1, y_2, ... Two wealths are fair
bets against every total M that is false, so that each of them, and their mean, ever reaches
1 / risk with a chance of `risk` at most if M is true (Ville 1939):

    ratio  beta-binomial mixture (all totals equally likely) / likelihood of M; with falling
           factorials [a]_j the likelihood is [M]_pos [n - M]_neg
    bets   for predictions q_i of all rows, the residual y - q of the next row has the mean
           m = (M - sum of q of all rows - residuals read) / rows left.
           Products of 1 + s (y - q - m) / R and of 1 - s (y - q - m) / R, mean over stakes s and
           sides; |y - q - m| < R = 1 + max q - min q for every M that is possible

The first falls and then rises with M; of the bets one side falls and the other rises. So the
evidence against all totals of a cell a ... b has a lower bound from its ends, and cells need not be
narrow to be valid.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from semisvm.evidence.order import Floats

STAKES = np.geomspace(0.01, 0.6, 8)
N_CELLS = 300


def log_likelihood(totals: Floats, n: int, pos: int, neg: int) -> Floats:
    """Return log [M]_pos [n - M]_neg; -infinite for totals that the answers exclude."""
    left, right = totals - pos, n - totals - neg
    value = gammaln(totals + 1) - gammaln(np.maximum(left, 0) + 1)
    value = value + gammaln(n - totals + 1) - gammaln(np.maximum(right, 0) + 1)
    return np.where((left < 0) | (right < 0), -np.inf, value)


def log_mixture(n: int, pos: int, neg: int) -> float:
    """Return the logarithm of the mean likelihood over all n + 1 totals."""
    read = pos + neg
    # Sum over M of [M]_pos [n - M]_neg = pos! neg! C(n + 1, read + 1).
    log_sum = gammaln(pos + 1) + gammaln(neg + 1)
    log_sum += gammaln(n + 2) - gammaln(read + 2) - gammaln(n - read + 1)
    return float(log_sum - np.log(n + 1))


def cells_of(n: int, pos: int, read: int) -> np.ndarray:
    """Return the ends of cells of totals: even ones, and narrow ones around the estimate."""
    even = np.linspace(0, n, N_CELLS)
    rate = (pos + 1) / (read + 2)
    spread = n * np.sqrt(rate * (1 - rate) / (read + 2))
    near = rate * n + spread * np.linspace(-5, 5, N_CELLS)
    return np.unique(np.clip(np.round(np.concatenate([even, near])), 0, n))


def log_evidence(
    n: int, outcomes: np.ndarray, rows: np.ndarray, predicted: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the ends of cells of totals, and a lower bound of the evidence against each cell.

    `rows` are those that were read, among the n; `predicted` are the predictions of all, from 0
    to 1.
    """
    y = outcomes.astype(float)
    pos, read = int(y.sum()), len(y)
    ends = cells_of(n, pos, read)
    a, b = ends[:-1], ends[1:]
    mode = np.floor((n + 1) * pos / read) if read else 0.0
    nearest = np.clip(mode, a, b)
    best = np.maximum(log_likelihood(a, n, pos, read - pos), log_likelihood(b, n, pos, read - pos))
    best = np.maximum(best, log_likelihood(np.clip(nearest, pos, None), n, pos, read - pos))
    ratio = log_mixture(n, pos, read - pos) - best if read else np.zeros(len(a))
    if predicted is None or not read:
        return ends, ratio
    rising, falling = _bets(y, rows, predicted, a, b)
    bets = np.logaddexp(rising, falling) - np.log(2)
    # The bets need totals that are possible; the ratio is infinite for the others.
    return ends, np.logaddexp(ratio, np.where(np.isnan(bets), -np.inf, bets)) - np.log(2)


def _bets(
    y: Floats, rows: np.ndarray, predicted: Floats, a: Floats, b: Floats
) -> tuple[Floats, Floats]:
    """Return the log wealth of the bets that M is higher, at b, and that M is lower, at a."""
    low, high = float(predicted.min()), float(predicted.max())
    residual = y - predicted[rows]
    before = np.cumsum(residual) - residual
    left = len(predicted) - np.arange(len(y))
    log_wealths = []
    for totals, side in ((b, 1.0), (a, -1.0)):
        mean = (totals[:, None] - predicted.sum() - before) / left
        surprise = side * (residual - np.clip(mean, -high, 1 - low)) / (1 + high - low)
        steps = [np.log1p(stake * surprise).sum(axis=1) for stake in STAKES]
        log_wealths.append(logsumexp(steps, axis=0) - np.log(len(STAKES)))
    return log_wealths[0], log_wealths[1]
