"""How good is the operating point that labels would choose, and how much of that is chance?

    scores, is_positive  (m,)    scores of labeled rows, and whether each is positive
    copies               (B, m)  how often each row is drawn in each of B resamples, with replacement within each class
    value                (B,)    of the best operating point of each resample: the target's objective (F-beta, or minus
                                 the expected cost) if some threshold meets its constraints, otherwise minus the
                                 smallest shortfall; so meeting the constraints comes first

The best F1 of one small sample jumps with single rows; its mean over resamples is smoother. Two models are compared by
the difference of their values on the *same* resamples, so that rows that are hard for both cancel out; the spread of
the difference is its standard error (Efron 1979). The classes are drawn separately, so that every resample has the
positives it needs.
"""

import numpy as np

from semisvm.decision.checks import Bools, Floats
from semisvm.decision.counts import Counts
from semisvm.decision.target import Target

_NUMBERS_AT_ONCE = 1 << 20  # in one table of resamples x thresholds


def resample(is_positive: Bools, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw how often each row counts in each resample: integers of shape (B, m)."""
    copies = np.zeros((n_resamples, len(is_positive)), dtype=np.int64)
    for rows in (np.flatnonzero(is_positive), np.flatnonzero(~is_positive)):
        copies[:, rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=n_resamples)
    return copies


def resampled_values(scores: Floats, is_positive: Bools, copies: np.ndarray, target: Target) -> Floats:
    """Return the value of the best operating point of each resample."""
    if target.accept is not None:
        raise ValueError("accept fixes the threshold by rank alone: the labels have nothing to choose.")
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    is_cut = np.append(ordered[:-1] != ordered[1:], True)  # equal scores are accepted together
    positive = is_positive[order]
    height = max(1, _NUMBERS_AT_ONCE // len(scores))
    parts = [
        _values(copies[start : start + height, order], positive, is_cut, target)
        for start in range(0, len(copies), height)
    ]
    return np.concatenate(parts)


def _values(copies: np.ndarray, positive: Bools, is_cut: Bools, target: Target) -> Floats:
    """Return the same for rows that are in descending order of score."""
    hits, accepted = np.cumsum(copies * positive, axis=1), np.cumsum(copies, axis=1)
    n_positive, n_rows = hits[:, -1:], accepted[:, -1:]
    tp, fp = (_with_none_accepted(part[:, is_cut]) for part in (hits, accepted - hits))
    counts = Counts(tp=tp, fp=fp, fn=n_positive - tp, tn=n_rows - n_positive - fp)
    shortfall = target.shortfall(counts)
    least = shortfall.min(axis=1)
    best = np.where(shortfall == least[:, None], target.objective(counts), -np.inf).max(axis=1)
    return np.where(least > 0, -least, best)


def _with_none_accepted(counts: np.ndarray) -> np.ndarray:
    return np.hstack([np.zeros((len(counts), 1), dtype=counts.dtype), counts])
