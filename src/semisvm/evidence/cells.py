"""Sums over the rows of a scan by place and by clock, for plans; no promise depends on them."""

from __future__ import annotations

import numpy as np

from semisvm.evidence.order import Floats, Scan

MOST_BINS = 1000


class Cells:
    """The rows of a scan in bins of places and intervals between looks.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        The place at which each bin begins; the last is the number of rows.
    """

    def __init__(self, scan: Scan, looks: Floats):
        n = len(scan.rows)
        n_bins = max(1, min(n, MOST_BINS))
        self.edges = np.arange(n_bins + 1) * n // n_bins
        self._shape = (n_bins, len(looks) + 1)
        bin_of = np.searchsorted(self.edges[1:], np.arange(n), side="right")
        self._cell = bin_of * self._shape[1] + np.searchsorted(looks, scan.clock)

    def up_to(self, values: Floats) -> Floats:
        """Sum values over the rows below each edge with clocks up to each look.

        The last column is the sum over all clocks: (n_bins + 1, n_looks + 1).
        """
        cells = np.bincount(self._cell, weights=values, minlength=self._shape[0] * self._shape[1])
        sums = np.cumsum(np.cumsum(cells.reshape(self._shape), axis=0), axis=1)
        return np.vstack([np.zeros(self._shape[1]), sums])
