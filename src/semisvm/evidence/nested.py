"""Nested sets of the rows with the highest scores, each read in the order of its clocks.

The rows of a set by clock are a random order of it, and that of a smaller set is part of it. What
counts is the beginning, up to the first row without an answer: so it does not matter which rows
were answered, when and why. Evidence about the share of positives of a set is a mixture over
shares, whose weights are here too.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from semisvm.evidence.answers import OPEN, YES
from semisvm.evidence.order import Floats, Scan

MOST_READ = 20_000  # rows of one set; later ones are not evidence
PRIOR_STRENGTH = 8.0  # rows that the weights of a mixture are worth


def log_weights(rates: Floats, middle: float) -> Floats:
    """Return logarithms of weights that sum to 1: a beta density with this mean."""
    a, b = PRIOR_STRENGTH * middle, PRIOR_STRENGTH * (1 - middle)
    density = (a - 1) * np.log(rates) + (b - 1) * np.log1p(-rates)
    return density - logsumexp(density)


def later_counts(path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many positive and other answers were read, at each step of the later half.

    All of the path would be as valid, but a lucky beginning would stand for ever.
    """
    half = len(path) // 2
    pos = np.cumsum(path)[half:]
    return pos, np.arange(half, len(path)) + 1 - pos


class NestedSets:
    """The first `sizes[k]` rows of a scan, by clock; everything is by place in the scan."""

    def __init__(self, scan: Scan, sizes: np.ndarray):
        self.sizes = sizes
        by_clock = np.argsort(scan.clock[: sizes[-1]], kind="stable")
        self._rows = [by_clock[by_clock < size][:MOST_READ] for size in sizes]

    def read(self, codes: np.ndarray) -> list[np.ndarray]:
        """Return, for each set, whether its rows are positive, up to the first open one."""
        paths = []
        for rows in self._rows:
            answers = codes[rows]
            opened = np.flatnonzero(answers == OPEN)
            paths.append(answers[: opened[0] if len(opened) else None] == YES)
        return paths

    def open_rows(self, codes: np.ndarray, k: int) -> np.ndarray:
        """Return the open rows of a set, by clock."""
        rows = self._rows[k]
        return rows[codes[rows] == OPEN]

    def lengths(self, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how far each set is read once so many of its rows more are answered, by clock.

        The shape is (len(labels), number of sets).
        """
        columns = []
        for rows in self._rows:
            opened = np.append(np.flatnonzero(codes[rows] == OPEN), len(rows))
            columns.append(opened[np.minimum(labels, len(opened) - 1)])
        return np.column_stack(columns).astype(float)
