"""How likely each row is to be wrong, for plans and forecasts; no promise depends on it."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from semisvm.evidence.order import Floats

N_STEPS = 25


def normal(z: Floats) -> Floats:
    """Return the normal distribution function, to .01."""
    return expit(1.702 * z)


def ridge_logistic(
    features: Floats, outcome: Floats, start: Floats, penalty: Floats | float = 1.0
) -> Floats:
    """Return the coefficients of a logistic regression around the log-odds `start`."""
    penalties = np.broadcast_to(np.asarray(penalty, dtype=float), features.shape[1:])
    w = np.zeros(features.shape[1])
    for _ in range(N_STEPS):
        p = expit(start + features @ w)
        curvature = (features * (p * (1 - p))[:, None]).T @ features + np.diag(penalties)
        step = np.linalg.solve(curvature, features.T @ (outcome - p) - penalties * w)
        w += step
        if np.abs(step).max() < 1e-10:
            break
    return w


def band_correction(band: np.ndarray, outcome: Floats, rate: Floats, n_bands: int, weight: float):
    """Return by how much the answers of each band exceed what was expected: a factor per band.

    `weight` is what the expectation is worth, in errors.
    """
    wrong = np.bincount(band, weights=outcome, minlength=n_bands)
    expected = np.bincount(band, weights=rate, minlength=n_bands)
    return (wrong + weight) / (expected + weight)


class Predicted:
    """Predicted chances of an outcome, corrected by answers: all rows together, then in bands.

    Bands are narrow at the beginning of the scan, and wide at its end.
    """

    PENALTY = np.array([0.3, 4.0])  # of the shift and the stretch of the predicted log-odds
    WORTH = 2.0  # errors that a prediction for a band is worth

    def __init__(self, chance: Floats, place: np.ndarray, limits: tuple[float, float]):
        self.prior = chance
        self._limits = limits
        self._band = (2 * np.log1p(place)).astype(int)
        self._n_bands = int(self._band.max()) + 1

    def given(self, seen: np.ndarray, outcome: Floats) -> Floats:
        """Return the chance of each row, from the outcomes (0 or 1) of some rows."""
        if not len(seen):
            return self.prior
        x = logit(self.prior)
        middle = x[seen].mean()
        features = np.column_stack([np.ones(len(seen)), x[seen] - middle])
        w = ridge_logistic(features, outcome, x[seen], self.PENALTY)
        rate = expit(x + w[0] + w[1] * (x - middle))
        band = self._band
        factor = band_correction(band[seen], outcome, rate[seen], self._n_bands, self.WORTH)
        return np.clip(rate * factor[band], *self._limits)


def rows_as_probabilities(scores: Floats) -> Floats:
    """Guess the probability that each row is positive from any scores.

    Scores from 0 to 1 are taken as they are; those on both sides of 0 as scores of an SVM; of all
    others only the order counts.
    """
    low, high = float(scores.min()), float(scores.max())
    if low >= 0 and high <= 1:
        return scores
    if low < 0 < high:
        return expit(2 * scores / float(scores.std()))
    guess = np.empty(len(scores))
    guess[np.argsort(scores, kind="stable")] = np.linspace(0.05, 0.95, len(scores))
    return guess
