"""How many labels a claim is expected to take: campaigns that are simulated from what is known now.

    left    (n_bands,)  rows of each band without an answer
    speeds  (n_bands,)  how fast they are drawn
    rates   (n_bands,)  the share of them that is expected to be positive

A row of speed w is drawn before time t with the chance 1 - exp(-w t), whatever happens to the
others. So numbers of draws are binomial in every band, and a simulated campaign is a few steps in
time instead of one per label. What is reported is the median: most draws gain a little and few lose
much, so that the mean is far from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semisvm.decision.betting import CLAIM_ROUNDING
from semisvm.decision.checks import Floats
from semisvm.decision.linear_claims import BettingState, StratifiedClaim, solve_bets
from semisvm.decision.logarithms import log_sum_exp

N_SIMULATED = 101  # campaigns
N_STEPS = 40  # of each, from the first label to the last row
TINY = 1e-300  # in place of 0, for logarithms


@dataclass(frozen=True)
class SimulatedDraws:
    """Rows that each step of each campaign draws, by answer: (n_campaigns, n_steps, n_bands)."""

    positive: np.ndarray
    negative: np.ndarray
    unknown: np.ndarray

    @property
    def n_campaigns(self) -> int:
        """How many campaigns were simulated."""
        return len(self.positive)

    def n_labels(self, bands: np.ndarray) -> np.ndarray:
        """Return the labels of some bands after each step, (n_campaigns, n_steps)."""
        drawn = (self.positive + self.negative + self.unknown)[:, :, bands]
        return np.cumsum(drawn.sum(axis=2), axis=1)

    def outcomes(
        self, bands: np.ndarray, n_accepting: int, leaves_out: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how many rows of some bands are decided right and how many are not, where the
        first `n_accepting` bands are accepted; "don't know" is not right, or left out.
        """
        is_accepted = bands < n_accepting
        positive = self.positive[:, :, bands]
        negative = self.negative[:, :, bands]
        good = np.where(is_accepted, positive, negative)
        bad = np.where(is_accepted, negative, positive)
        return good, bad if leaves_out else bad + self.unknown[:, :, bands]


def simulate_draws(
    left: Floats, speeds: Floats, rates: Floats, unknown: float = 0.0
) -> SimulatedDraws:
    """Simulate campaigns that draw every row that is left; a share `unknown` of the answers is
    "don't know".
    """
    rng = np.random.default_rng(0)
    n_left = np.tile(np.where(speeds > 0, left, 0).astype(int), (N_SIMULATED, 1))
    counts = []
    for step in _time_steps(n_left[0], speeds):
        chances = np.where(speeds > 0, -np.expm1(-speeds * step), 0.0)
        drawn = rng.binomial(n_left, chances)
        known = rng.binomial(drawn, 1 - unknown) if unknown else drawn
        positive = rng.binomial(known, rates)
        counts.append((positive, known - positive, drawn - known))
        n_left -= drawn
    return SimulatedDraws(*(np.stack(answers, axis=1) for answers in zip(*counts, strict=True)))


def _time_steps(left: np.ndarray, speeds: Floats) -> Floats:
    """Return steps in time after which 1 row, about a fifth more and so on are drawn, until nearly
    none is left.
    """
    wanted = np.geomspace(1, max(left.sum() - 0.5, 1.0), N_STEPS)
    drawn_from = speeds[(left > 0) & (speeds > 0)]
    if not len(drawn_from):
        return np.zeros(1)
    times = np.geomspace(1e-3 / (left * speeds).sum(), 50 / drawn_from.min(), 1_000)
    expected = (left * -np.expm1(-times[:, None] * speeds)).sum(axis=1)
    return np.diff(np.interp(wanted, expected, times), prepend=0.0)


def simulated_bets(
    claim: StratifiedClaim, state: BettingState, good: np.ndarray, bad: np.ndarray
) -> Floats:
    """Return the log evidence of a claim after each step of simulated campaigns, from its `state`
    now: (n_campaigns, n_steps).

    good, bad  (n_campaigns, n_steps, n_strata) rows drawn in each step

    Bets are those of the mean campaign, which are as fair as any; what the null allows, and with it
    D, is that of each campaign.
    """
    drawn = good + bad
    n = drawn.sum(axis=2)
    left = state.sizes - np.cumsum(drawn, axis=1) + drawn / 2  # in the middle of the step
    totals = state.total - (np.cumsum(good, axis=1) - good / 2) @ claim.values
    weight_left = np.maximum(left @ claim.weights, TINY)
    log_chances = drawn @ np.log(claim.weights) - n * np.log(weight_left)
    mean_left = left.mean(axis=0)
    mean_total = totals.mean(axis=0)
    chances = claim.weights / np.maximum(mean_left @ claim.weights, TINY)[:, None]
    believed = (mean_left * claim.values) @ claim.experts.T  # (n_steps, n_experts)
    bets = (believed > mean_total[:, None]) & (mean_total[:, None] > CLAIM_ROUNDING)
    step, expert = np.nonzero(bets)
    rho = np.ones((*bets.shape, len(claim.values)))
    _, rho[step, expert] = solve_bets(
        claim.values, mean_left[step], mean_total[step], chances[step], claim.experts[expert]
    )

    def by_step(counts: np.ndarray, of_bets: Floats) -> Floats:
        """Sum over strata, for each campaign, step and expert."""
        return np.matmul(counts.swapaxes(0, 1), of_bets.swapaxes(1, 2)).swapaxes(0, 1)

    paid = by_step(good, np.log(claim.values * (1 + rho)))
    paid += by_step(bad, np.log(claim.values * np.maximum(rho, TINY)))
    D = totals[:, :, None] + by_step(left, claim.values * rho)
    gains = paid - log_chances[:, :, None] - n[:, :, None] * np.log(np.maximum(D, TINY))
    log_wealths = state.log_wealths + np.cumsum(np.where(bets, gains, 0.0), axis=1)
    is_certain = state.total - np.cumsum(good, axis=1) @ claim.values < -CLAIM_ROUNDING
    return np.where(is_certain, np.inf, log_sum_exp(log_wealths, axis=2))


def passages(
    log_evidence: Floats, log_now: float, log_wanted: float, n_labels: np.ndarray
) -> Floats:
    """Return after how many labels each simulated campaign has the evidence that is wanted, if only
    for a moment; infinite where it never has.

    Between two steps the evidence moves like a Brownian bridge: from a to b, both too small by
    themselves, it reaches w on its way with the chance exp(-2 (w - a) (w - b) / variance).
    """
    before = np.column_stack([np.full(len(log_evidence), log_now), log_evidence[:, :-1]])
    is_finite = np.isfinite(log_evidence) & np.isfinite(before)
    changes = np.subtract(log_evidence, before, out=np.zeros(before.shape), where=is_finite)
    ahead = [np.where(is_finite, log_wanted - path, 0.0) for path in (before, log_evidence)]
    short_of = np.maximum(ahead[0], 0) * np.maximum(ahead[1], 0)
    with np.errstate(over="ignore"):
        exponents = -2 * short_of / np.maximum(changes.var(axis=0), TINY)
    is_reached = np.random.default_rng(0).random(before.shape) < np.exp(exponents)
    has_enough = (log_evidence >= log_wanted) | (is_finite & is_reached)
    first = has_enough.argmax(axis=1)
    at = np.arange(len(first))
    n_before = np.where(first > 0, n_labels[at, first - 1], 0)
    n_passed = (n_before + n_labels[at, first]) / 2
    return np.where(has_enough.any(axis=1), np.maximum(n_passed, 1.0), np.inf)


def median_or_none(n_labels: Floats) -> int | None:
    """Return the median of numbers of labels; None where it is infinite."""
    median = float(np.median(n_labels))
    return None if math.isinf(median) else math.ceil(median)
