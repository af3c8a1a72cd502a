"""Which rows to draw for `recall_sets`, and what to believe; no promise depends on it.

Weights are the mean of those with which the evidence grows fastest at a few thresholds, of which
some pass early and some late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semisvm.evidence.order import Floats
from semisvm.evidence.returned_plan import decreasing

N_BANDS = 50
LEAST_DOUBT = 5e-4
# Predicted recalls, from the target (0) to 1, of the thresholds that the draws are made for.
EARLY_ROOMS, ROOMS = (0.95, 0.75, 0.5, 0.3), (0.75, 0.5, 0.3, 0.15)
N_EARLY_PHASES = 3
UNIFORM_SHARE = 0.2  # of the draws, by what rows are worth, whatever is believed
PRIOR_ROWS = 4.0  # that the predictions of a band are worth
N_BISECTIONS, N_NEWTON = 50, 60


@dataclass(frozen=True)
class Phase:
    """How rows are drawn in a phase, and the share of positives that is believed; per band."""

    weights: Floats
    beliefs: Floats


def band_edges(n: int) -> np.ndarray:
    """Return the places at which bands begin: half geometric from the top, half equal."""
    half = N_BANDS // 2
    top = np.geomspace(max(1, n / 1000), n, half + 1)[:-1]
    ends = np.concatenate([top, np.linspace(n / half, n, half)])
    return np.unique(np.append(0, np.clip(np.round(ends), 1, n))).astype(int)


def plan_phase(
    sizes: np.ndarray, predicted: Floats, seen: np.ndarray, hits: np.ndarray, r: float, number: int
) -> Phase:
    """Return the next phase, from the predictions and the rows seen and found positive per band."""
    worth = seen + PRIOR_ROWS
    rates = decreasing((hits + PRIOR_ROWS * predicted) / worth, worth)
    beliefs = np.clip(rates, LEAST_DOUBT, 1 - LEAST_DOUBT)
    share_above = np.cumsum(sizes * beliefs) / (sizes * beliefs).sum()
    weights = np.zeros(len(sizes))
    for room in EARLY_ROOMS if number < N_EARLY_PHASES else ROOMS:
        k = min(int(np.searchsorted(share_above, r + (1 - r) * room)), len(sizes) - 2)
        is_above = np.arange(len(sizes)) <= k
        values = np.where(is_above, 1 - r, r)
        good = np.where(is_above, beliefs, 1 - beliefs)
        chances = best_draws(sizes, values, r * sizes[~is_above].sum(), good)
        weights += (1 - UNIFORM_SHARE) * chances + UNIFORM_SHARE * values / (sizes * values).sum()
    return Phase(weights / (weights * sizes).sum(), beliefs)


def best_draws(sizes: np.ndarray, values: Floats, total: float, good: Floats) -> Floats:
    """Return the chance of drawing a row of each band with which evidence grows fastest."""
    worth = sizes * values
    if not (worth * good).sum() > total > 0:
        return values / worth.sum()
    good = np.clip(good, 1e-9, 1 - 1e-9)

    def surplus(log_growth: float) -> float:
        growth = math.exp(log_growth)
        rho = _rho_of(growth, good)
        power = rho * np.expm1(good * np.log1p(1 / rho))
        left = (worth * power).sum() - math.expm1(growth) * (worth * rho).sum()
        return float(left - math.exp(growth) * total)

    low, high = math.log(1e-12), math.log(50.0)
    for _ in range(N_BISECTIONS if surplus(low) > 0 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    rho = _rho_of(math.exp(low), good)
    chances = values * np.exp(good * np.log1p(rho) + (1 - good) * np.log(rho))
    return chances / (sizes * chances).sum()


def _rho_of(growth: float, good: Floats) -> Floats:
    """Solve log of (1 + rho)^(pi - 1) rho^(-pi) (rho + 1 - pi) = growth, by Newton's method."""
    u = np.zeros(len(good))  # log rho
    for _ in range(N_NEWTON):
        s = 1 / (1 + np.exp(u))
        curve = good * (1 - good) * s**2
        slack = np.log1p(-good * s) + good * np.log1p(np.exp(-u))
        slack = np.maximum(slack, curve / 2)
        before = u
        u = np.clip(u + slack * (1 - good * s) / curve * np.log(slack / growth), -40.0, 20.0)
        if np.abs(u - before).max() < 1e-8:
            break
    return np.exp(u)
