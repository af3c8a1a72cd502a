"""Certified sets for a recall: evidence for many nested thresholds from draws in phases.

    claim   the rows above the threshold, and the f rows found positive below it, hold at least a
            share r of all positives
    c       what a good row is worth: 1 - r above the threshold (a positive is good), r below it
            (a negative is good)
    K       what the null allows: the claim is sum c g >= r n_below - f

Draws come in phases. At the start of a phase the answers so far set new beliefs and speeds, and the
rows that were not drawn get new clocks, which are independent of those answers: every bet is
predictable and fair, and the wealth goes on across phases. One bet is that of `linear_claims`.

**Rows found positive.** Keep rho as it was computed for f = 0 and replace D by D - f in every past
bet: this is fair for the null with total K - f, and decreasing in K.

**Many thresholds.** They are tested from loose to strict, each with the full risk: the first false
one must be passed first. The pass that holds only thanks to rows found positive is used for the
first threshold that has not passed without them, and hands nothing on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semisvm.decision.betting import CLAIM_ROUNDING
from semisvm.decision.checks import Floats
from semisvm.decision.linear_claims import (
    LEAST_DOUBT,
    Bets,
    best_draws,
    median_labels,
    next_gains,
    place_bets,
)
from semisvm.decision.logarithms import expit, log_sum_exp, logit
from semisvm.decision.precision_sets import decreasing

# Log-odds below the threshold are shifted by these, one expert each. Eight experts instead of three
# cost log 8 of the evidence and certified less.
SHIFTS_BELOW = (-2.5, -1.0, 0.0)
# Predicted recalls, from the target (0) to 1, of the thresholds that the draws are made for. With
# the early ones, which pass first, seven pools with about 10% positive returned .66 of their rows
# after 100 labels instead of .80 (recall .8). To begin the tests at a threshold predicted to do,
# with all or part of the risk, returned .77 to .79.
EARLY_ROOMS = (0.95, 0.75, 0.5, 0.3)
ROOMS = (0.75, 0.5, 0.3, 0.15)
N_EARLY = 100  # draws
UNIFORM_SHARE = 0.2  # of the draws, by what rows are worth, whatever is believed
PRIOR_ROWS = 4.0  # that the predictions of a band are worth


@dataclass(frozen=True)
class Phase:
    """How rows are drawn in a phase, and what is believed then; both per band."""

    speeds: Floats
    beliefs: Floats


def band_rates(predicted: Floats, seen: Floats, hits: Floats) -> Floats:
    """Return the share of positives per band, decreasing, from predictions and answers."""
    weights = seen + PRIOR_ROWS
    rates = decreasing((hits + PRIOR_ROWS * predicted) / weights, weights)
    return np.clip(rates, LEAST_DOUBT, 1 - LEAST_DOUBT)


def plan_phase(sizes: Floats, predicted: Floats, seen: Floats, hits: Floats, level: float) -> Phase:
    """Return the next phase, from the predictions and the rows seen and found positive per band."""
    beliefs = band_rates(predicted, seen, hits)
    share_above = np.cumsum(sizes * beliefs) / (sizes * beliefs).sum()
    speeds = np.zeros(len(sizes))
    for room in EARLY_ROOMS if seen.sum() < N_EARLY else ROOMS:
        k = int(np.searchsorted(share_above, level + (1 - level) * room))
        is_above = np.arange(len(sizes)) <= min(k, len(sizes) - 2)
        values = np.where(is_above, 1 - level, level)
        good = np.where(is_above, beliefs, 1 - beliefs)
        chances, _ = best_draws(sizes, values, level * sizes[~is_above].sum(), good)
        speeds += (1 - UNIFORM_SHARE) * chances + UNIFORM_SHARE * values / (sizes * values).sum()
    return Phase(speeds / (speeds * sizes).sum(), beliefs)


class RecallEvidence:
    """The evidence at one threshold, which accepts the first `n_accepting` bands."""

    def __init__(self, sizes: Floats, level: float, n_accepting: int):
        self.is_above = np.arange(len(sizes)) < n_accepting
        self.values = np.where(self.is_above, 1 - level, level)
        self.left = sizes.astype(float)
        self.total = level * float(sizes[~self.is_above].sum()) - CLAIM_ROUNDING
        nothing = np.empty((0, len(SHIFTS_BELOW)))
        self._bets = Bets(nothing, nothing)

    @property
    def n_read(self) -> int:
        """Draws that were read."""
        return len(self._bets.D)

    def read(self, phases: list[Phase], bands: np.ndarray, is_good: np.ndarray) -> None:
        """Bet on more draws: the phase and the band of each, and whether it was good: positive
        above the threshold, negative below it.
        """
        drawn = np.zeros((len(bands) + 1, len(self.left)))
        drawn[np.arange(1, len(bands) + 1), bands] = 1
        sizes = self.left - np.cumsum(drawn, axis=0)
        gone = np.cumsum(self.values[bands] * is_good)
        totals = self.total - np.concatenate([[0.0], gone])
        bets = place_bets(
            self.values,
            sizes[:-1],
            totals[:-1],
            np.array([phase.speeds for phase in phases]),
            self._experts(np.array([phase.beliefs for phase in phases])),
            bands,
            is_good.astype(float),
        )
        self._bets = Bets(*(np.concatenate(pair) for pair in zip(self._bets, bets, strict=True)))
        self.left = sizes[-1]
        self.total = float(totals[-1])

    def _experts(self, beliefs: Floats) -> Floats:
        """The chances that a row is good, (..., n_experts, n_bands), from shares of positives."""
        log_odds = logit(beliefs)[..., None, :]
        shifts = np.array(SHIFTS_BELOW)[:, None]
        return np.where(self.is_above, expit(log_odds), 1 - expit(log_odds + shifts))

    def log_wealths(self, found: int = 0) -> Floats:
        """Return the log wealth of each expert (columns) after each draw (rows), with so many rows
        found positive below the threshold.
        """
        return np.cumsum(self._bets.log_factors(found), axis=0)

    def _path(self, found: int = 0) -> Floats:
        """The log evidence after each draw."""
        return log_sum_exp(self.log_wealths(found), axis=1) - math.log(len(SHIFTS_BELOW))

    def highest(self, found: int = 0) -> float:
        """Return the highest log evidence so far: infinite where the answers prove the claim."""
        if self.total - found < -CLAIM_ROUNDING / 10:
            return math.inf
        return float(self._path(found).max(initial=0.0))

    def first_passage(self, log_needed: float) -> tuple[int, float]:
        """Return after how many draws the evidence was enough, and its logarithm then."""
        path = self._path()
        passages = np.flatnonzero(path >= log_needed)
        return (int(passages[0]) + 1, float(path[passages[0]])) if len(passages) else (0, math.inf)

    def labels_needed(self, log_needed: float, phase: Phase, rates: Floats) -> int | None:
        """Return after how many more labels half of all campaigns have enough evidence, if rows are
        positive at these rates; None where the evidence is not expected to grow.
        """
        if self.total <= CLAIM_ROUNDING:
            return 0
        if not self.left.any():
            return None
        gains, chances = next_gains(
            self.values, self.left, self.total, phase.speeds, self._experts(phase.beliefs)
        )
        true = np.where(self.is_above, rates, 1 - rates)
        draws = np.stack([true, 1 - true]) * chances
        last = self.log_wealths()[-1] if self.n_read else np.zeros(len(SHIFTS_BELOW))
        n_labels = median_labels(gains, draws, last - math.log(len(SHIFTS_BELOW)), log_needed)
        return None if math.isinf(n_labels) else math.ceil(min(n_labels, self.left.sum()))
