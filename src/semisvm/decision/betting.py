"""Evidence that a share, a recall, an F-score or a cost is as good as claimed, from rows drawn one
by one at random.

    claim     a share, or a mean gain, is at least as large as the target
    null      it is smaller: the claim is false
    evidence  a betting wealth that starts at 1 and, under the null, never grows on average

Under the null the chance that the evidence *ever* reaches 1 / a is at most a (Ville 1939). So one
may look after every label and stop at any time.

`linear_claims` has the general bet, for weighted draws and any linear claim. Here are the two
special cases with equal draws, and the test of several claims in a row.

**Precision in closed form.** With equal draws the bet is a likelihood ratio. Experts are totals M >
K of positives among n accepted rows, with weights w_M; after `pos` positive and `neg` negative
answers

    E = sum_M w_M [M]_pos [n - M]_neg / ([K]_pos [n - K]_neg),     [a]_k = a (a - 1) ... (a - k + 1)

It does not depend on the order of the answers. About new rows from the same source the null is
Bernoulli(p) and the falling factorials become powers.

`SamplingEvidence` says what a promise certified in this way is about, and on which labels it is
based.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Bools, Floats
from semisvm.decision.logarithms import log_gamma, log_sum_exp

MOST_TOTALS = 48  # experts of the precision mixture, equally spaced above the null's total
PRIOR_STRENGTH = 8.0  # rows that the prior of the experts is worth
CLAIM_ROUNDING = 1e-9

SamplingClaim = Literal["pool", "new rows"]


@dataclass(frozen=True)
class SamplingEvidence:
    """What a promise certified by sampling is about, and on which labels it is based.

    Parameters
    ----------
    claim : {"pool", "new rows"}
        Whether the promise is about the rows of the pool, or about new rows from the same source.
    n_labels : int
        Number of labels given in the campaign.
    n_rows : int
        Number of rows in the pool.
    n_accepted : int
        Number of rows of the pool that the threshold accepts.
    campaign : int
        The number of the campaign, from 1; the risks of all campaigns add up.
    total_risk : float
        Upper bound of the probability that any of the campaigns so far is wrong.
    is_known : bool
        Whether so many rows were labeled that the claim is known to be true, not only proved with
        some confidence.
    is_set : bool
        Whether the promise is about a set of rows: those above the threshold that have no answer,
        and all rows found positive. Otherwise it is about all rows above the threshold.
    digest : str
        Digest of the rows of the pool that the threshold accepts; the promise holds only for these.
    """

    claim: SamplingClaim
    n_labels: int
    n_rows: int
    n_accepted: int
    campaign: int = 1
    total_risk: float = 0.1
    is_known: bool = False
    is_set: bool = False
    digest: str = ""

    def caution(self, confidence: float) -> str:
        """Return what the promise is about and how certain it is, in words.

        Parameters
        ----------
        confidence : float
            The probability of the promise.

        Returns
        -------
        words : str
            A sentence or two.
        """
        about = (
            f"these {self.n_rows:,} rows"
            if self.claim == "pool"
            else "new rows from the source of this pool"
        )
        if self.is_known:
            return f"Known for certain for {about}."
        words = (
            f"This is about {about}. At most {1 - confidence:.0%} of campaigns like this one are"
            " wrong."
        )
        if self.is_set:
            words += (
                " It holds for the unlabeled rows above the threshold and the rows found positive."
            )
        if self.campaign > 1:
            words += (
                f" This is campaign {self.campaign}: the probability that any of the"
                f" {self.campaign} is wrong is at most {self.total_risk:.0%}."
            )
        return words


# ---- precision, equal draws ----


def null_total(n: int, level: float) -> int:
    """Return the largest number of positives among n rows with which the share is still below
    `level`.
    """
    return math.ceil(level * n - CLAIM_ROUNDING) - 1


def mixture_log_evidence(
    n: int, level: float, positives: ArrayLike, negatives: ArrayLike, *, new_rows: bool = False
) -> Floats:
    """Return the logarithm of the evidence that at least a share `level` of n accepted rows is
    positive.

    With `new_rows` the share is that of the source which the n rows were drawn from. There is one
    value per pair of positive and negative answers: infinite where they prove the share, -infinite
    where they refute it.

    Examples
    --------
    >>> from semisvm.decision.betting import mixture_log_evidence
    >>> round(float(mixture_log_evidence(300, 0.7, 20, 2)), 6)
    2.533408
    """
    pos, neg = np.broadcast_arrays(np.asarray(positives, float), np.asarray(negatives, float))
    pos = pos[..., None]
    neg = neg[..., None]
    if new_rows:
        if level == 1:  # no record proves a share of 1 among rows without end
            return np.where(neg[..., 0] > 0, -np.inf, 0.0)
        rate = level + (1 - level) * (np.arange(MOST_TOTALS) + 0.5) / MOST_TOTALS
        ratio = pos * np.log(rate / level) + neg * np.log1p((level - rate) / (1 - level))
        return log_sum_exp(log_prior(rate, (1 + level) / 2) + ratio, axis=-1)
    K = null_total(n, level)
    totals, log_weights = share_experts(n, level)
    log_ratio = log_weights + log_falling(totals, pos) + log_falling(n - totals, neg)
    with np.errstate(invalid="ignore"):
        log_ratio = log_ratio - log_falling(K, pos) - log_falling(n - K, neg)
    evidence = log_sum_exp(np.where(np.isnan(log_ratio), -np.inf, log_ratio), axis=-1)
    evidence = np.where(neg[..., 0] > n - K, -np.inf, evidence)
    return np.where(pos[..., 0] > K, np.inf, evidence)


def share_experts(n: int, level: float) -> tuple[Floats, Floats]:
    """Return the experts that bet on a share of at least `level` among n rows: totals of positives
    above the null's, and the logarithms of their weights.
    """
    K = null_total(n, level)
    totals = np.unique(np.round(np.linspace(K + 1, n, min(MOST_TOTALS, n - K))))
    return totals, log_prior((totals - 0.5) / n, (1 + level) / 2)


def log_prior(rates: Floats, middle: float) -> Floats:
    """Return the logarithms of weights that sum to 1: a beta density with this mean."""
    a = PRIOR_STRENGTH * middle
    b = PRIOR_STRENGTH * (1 - middle)
    log_density = (a - 1) * np.log(rates) + (b - 1) * np.log1p(-rates)
    return log_density - log_sum_exp(log_density)


def log_falling(a: ArrayLike, k: ArrayLike) -> Floats:
    """Return log a (a - 1) ... (a - k + 1); -infinite where a factor is 0."""
    a = np.asarray(a, float)
    left = a - np.asarray(k, float)
    arguments = np.concatenate([a.ravel(), np.maximum(left, 0).ravel()])
    log_factorials = log_gamma(arguments + 1)
    log_a = log_factorials[: a.size].reshape(a.shape)
    return np.where(left < 0, -np.inf, log_a - log_factorials[a.size :].reshape(left.shape))


@lru_cache(maxsize=4096)
def perfect_record(n: int, level: float, risk: float, *, new_rows: bool = False) -> int | None:
    """Return how many positive answers in a row give evidence of 1 / risk; None where no number of
    rows does.

    The parameters are those of `mixture_log_evidence`. More labels are needed as soon as one answer
    is negative.

    Examples
    --------
    >>> from semisvm.decision.betting import perfect_record
    >>> perfect_record(1000, 0.9, 0.1)
    26
    """
    needed = log_evidence_needed(risk)

    def is_enough(positives: int) -> bool:  # the evidence grows with every positive answer
        evidence = mixture_log_evidence(n, level, positives, 0, new_rows=new_rows)
        return bool(evidence >= needed)

    fewest = bisect_left(range(n + 1), True, key=is_enough)
    return fewest if fewest <= n else None


# ---- new rows, equal draws ----

FRACTIONS = np.linspace(0.02, 0.98, 25)  # of the largest bet that can't lose everything


def new_rows_log_evidence(gains: ArrayLike, worst: float) -> Floats:
    """Return the log evidence that the mean gain of new rows is at least 0, after each of some
    independent draws.

    `gains` are those of the rows drawn, with equal chances, from the pool; `worst`, below 0, is the
    smallest that is possible. The evidence is the mean wealth of bets 1 + bet * gain.
    """
    path = np.cumsum(new_rows_log_wealths(gains, worst), axis=0)
    return log_sum_exp(path, axis=1) - math.log(len(FRACTIONS))


def new_rows_log_wealths(gains: ArrayLike, worst: float) -> Floats:
    """Return by how much each row changes the logarithm of the wealth of each bet, (n_rows,
    n_bets).
    """
    return np.log1p(FRACTIONS / -worst * np.asarray(gains, float)[:, None])


# ---- several thresholds ----


def log_evidence_needed(risk: float) -> float:
    """Return the logarithm of 1 / risk, less the rounding error of 1 - confidence."""
    return -math.log(risk) - CLAIM_ROUNDING


def fallback(log_evidence: ArrayLike, shares: ArrayLike, risk: float) -> tuple[Bools, Floats]:
    """Test claims in a fixed order, so that the chance of any false one among all that pass is at
    most `risk`.

    Claim k has the level risk * (share k + the level share of claim k - 1 if that passed): the
    fallback procedure. It may be looked at any time if the evidence is the highest so far. The
    shares of the risk that claims have from the start sum to 1. Return which claims are proved, all
    of which hold together, and the share that each claim has now.

    References
    ----------
    B. L. Wiens, "A fixed sequence Bonferroni procedure for testing multiple endpoints",
    Pharmaceutical Statistics 2, 2003. :doi:`10.1002/pst.64`

    Examples
    --------
    >>> from semisvm.decision.betting import fallback
    >>> passed, levels = fallback([3.0, 2.5, 0.1], [0.8, 0.2, 0.0], risk=0.1)
    >>> passed.tolist(), levels.tolist()
    ([True, True, False], [0.8, 1.0, 1.0])
    """
    passed = []
    levels = []
    carried = 0.0
    for evidence, share in zip(
        np.asarray(log_evidence, float), np.asarray(shares, float), strict=True
    ):
        level = float(share + carried)
        # Infinite evidence is knowledge: nothing is risked.
        passes = bool(
            evidence == np.inf or (level > 0 and evidence >= log_evidence_needed(risk * level))
        )
        carried = level if passes else 0.0
        passed.append(passes)
        levels.append(level)
    return np.array(passed, dtype=bool), np.array(levels)
