"""Whether an array is a table, by three statistics of its columns, without labels.

v_j is the variance of column j of d columns, those that never vary left out:

    evenness     (sum_j v_j)^2 / (d sum_j v_j^2), the share of the columns that distances depend on
    few_values   the share of the columns with at most 10 different values
    tail         the median over the columns of the kurtosis, the mean of (x - mean)^4 / v_j^2
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# On 36 tables and 17 sets of images, spectra and generated clouds, these limits make a table of
# most of what gains by it.
LEAST_EVENNESS, MOST_OF_FEW_VALUES, LONGEST_TAIL = 0.25, 0.3, 15.0
FEW_VALUES = 10
FEWEST_ROWS_JUDGED = 50  # of fewer rows, every column has few values
# From this ratio of ranges on, distances between rows depend on the wide columns only. Pixels,
# whose ranges differ by up to 255, stay below it; raw measurements are often above (wine: 2,600).
VERY_DIFFERENT_RANGES = 1_000.0
MOST_ROWS_LOOKED_AT = 1_000  # for ranges: a look at all rows would be felt in a fit on a GPU


class ColumnStatistics(NamedTuple):
    """See the module's docstring."""

    evenness: float
    few_values: float
    tail: float


def column_statistics(X: np.ndarray) -> ColumnStatistics:
    """The statistics of the columns of an array without missing values."""
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    if not X.shape[1]:
        return ColumnStatistics(1.0, 0.0, 0.0)
    X = np.asarray(X, dtype=np.float64) / np.abs(X).max()
    X = X - X.mean(axis=0)
    variance = (X**2).mean(axis=0)
    n_values = 1 + (np.diff(np.sort(X, axis=0), axis=0) > 0).sum(axis=0)
    X = X / np.abs(X).max(axis=0)
    kurtosis = (X**4).mean(axis=0) / (X**2).mean(axis=0) ** 2
    return ColumnStatistics(
        float(variance.sum() ** 2 / (variance**2).sum() / len(variance)),
        float((n_values <= FEW_VALUES).mean()),
        float(np.median(kurtosis)),
    )


@np.errstate(all="ignore")  # numbers that are too large are refused later
def looks_like_a_table(X: Any) -> bool:
    """Whether the columns of an array need preparation: cells are missing, or by the statistics
    of the module's docstring; of so few columns that the evenness is above its limit, by their
    ranges. A sparse matrix is no table.
    """
    if not isinstance(X, np.ndarray):
        return False
    if np.isnan(X).any():
        return True
    if len(X) < FEWEST_ROWS_JUDGED:
        return False
    evenness, few_values, tail = column_statistics(X)
    is_uneven = evenness < LEAST_EVENNESS
    if np.count_nonzero(X.max(axis=0) > X.min(axis=0)) <= 1 / LEAST_EVENNESS:
        # Where distances rest on one column of d, the evenness is 1 / d.
        is_uneven = very_different_ranges(X) is not None
    return is_uneven or few_values > MOST_OF_FEW_VALUES or tail > LONGEST_TAIL


@np.errstate(all="ignore")
def very_different_ranges(X: Any) -> tuple[int, int, float] | None:
    """The columns of an array with the narrowest and the widest range, and the ratio of the two;
    None unless it is above VERY_DIFFERENT_RANGES. Columns that never vary do not count, and of a
    sparse matrix, whose zeros are no measurements, none do.
    """
    if not isinstance(X, np.ndarray) or len(X) < FEWEST_ROWS_JUDGED:
        return None
    some = X[:: -(-len(X) // MOST_ROWS_LOOKED_AT)]
    spread = np.ptp(some, axis=0)
    varying = np.flatnonzero(spread > 0)
    if not len(varying):
        return None
    narrow = varying[np.argmin(spread[varying])]
    wide = np.argmax(spread)
    ratio = float(spread[wide] / spread[narrow])
    return (int(narrow), int(wide), ratio) if ratio >= VERY_DIFFERENT_RANGES else None
