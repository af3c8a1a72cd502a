"""The special functions that a campaign needs, in NumPy alone.

Importing `scipy.special` takes longer than a campaign takes to begin. The functions are as exact as
SciPy's for the arguments that occur, and `tests/decision/test_logarithms.py` compares them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.checks import Floats

# Of 1 / y, 1 / y^3, ... in log(gamma(y)): Bernoulli numbers B_2k / (2k (2k - 1)). For y >= 7 the
# first term that is left out is below 1e-13.
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def log_gamma(x: ArrayLike) -> Floats:
    """Return log(gamma(x)) for x >= 1: Stirling's series six steps higher."""
    x = np.asarray(x, float)
    y = x + 6
    inverse = 1 / y
    square = inverse * inverse
    series = SERIES[-1] * square
    for coefficient in SERIES[-2:0:-1]:
        series += coefficient
        series *= square
    series += SERIES[0]
    ends = x * (x + 5)  # x (x + 1) ... (x + 5) = ends (ends + 4) (ends + 6)
    result = np.log(y) * (y - 0.5)
    result -= y
    result += 0.5 * math.log(2 * math.pi)
    result += series * inverse
    result -= np.log(ends * (ends + 4) * (ends + 6))
    return result


def log_sum_exp(values: ArrayLike, axis: int | None = None) -> Floats:
    """Return log(sum(exp(values))) along an axis, or of all values; -infinite where all are."""
    values = np.asarray(values, float)
    highest = values.max(axis=axis, keepdims=True)
    center = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        total = np.log(np.exp(values - center).sum(axis=axis, keepdims=True)) + center
    return total.reshape(()) if axis is None else total.squeeze(axis)


def expit(x: ArrayLike) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(x, float)))


def logit(p: ArrayLike) -> Floats:
    """Return log(p / (1 - p)) for 0 < p < 1."""
    p = np.asarray(p, float)
    return np.log(p) - np.log1p(-p)
