"""Rows of the kernel matrix: made when a solver first needs them, kept under a memory budget.

    values[slot[i]]  is K[i], shape (n,), where slot[i] >= 0;  slot[i] = -1 where row i is not there
    owner[s]         is the data row that slot s holds, -1 while it is free
    last_used[s]     is a clock the solver advances; the rows used longest ago are the first to go

A solver reads these arrays directly. The rows outlive a solve: the next problem of a sequence finds them there.
"""

import numpy as np

from semisvm.kernels.sources import Source

FEWEST_ROWS = 8  # below this no pair of rows could be improved without making rows again and again
WRITTEN_AT_ONCE = 512  # enough for the products to run at full speed, few enough to answer Ctrl-C


class KernelRows:
    """The rows of K between the n rows of a source, under a budget of bytes.

    `is_frugal` rows serve one solve: a solver may overwrite those it has done with before it takes more memory. Others
    are kept while there is room, for the problems that follow.
    """

    def __init__(self, source: Source, budget: int, *, is_frugal: bool = False):
        self.source, self.is_frugal = source, is_frugal
        self.n_rows, self.dtype, self.diagonal = source.n_rows, source.dtype, source.diagonal
        row_bytes = max(self.n_rows * self.dtype.itemsize, 1)
        self.capacity = min(self.n_rows, max(budget // row_bytes, FEWEST_ROWS))
        # Memory from np.empty is only taken page by page as rows are written.
        self.values = np.empty((self.capacity, self.n_rows), dtype=self.dtype)
        self.slot = np.full(self.n_rows, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        self.last_used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = 0
        self.n_made = 0
        self.n_evicted = 0

    @property
    def is_present(self) -> np.ndarray:
        """Which rows are in memory, shape (n,)."""
        return self.slot >= 0

    def require(self, rows: np.ndarray) -> None:
        """Make the rows that are not there yet; where memory is full, the rows used longest ago give way."""
        rows = np.unique(rows)
        self.clock += 1  # so that none of the rows asked for is among those used longest ago
        self.last_used[self.slot[rows[self.slot[rows] >= 0]]] = self.clock
        missing = rows[self.slot[rows] < 0]
        if len(missing) == 0:
            return
        if len(rows) > self.capacity:
            raise ValueError(f"{len(rows)} kernel rows were asked for where memory holds {self.capacity}.")
        slots = self._free_slots(len(missing))
        for start in range(0, len(missing), WRITTEN_AT_ONCE):
            part = slice(start, start + WRITTEN_AT_ONCE)
            self._fill(slots[part], missing[part])

    def release(self, rows: np.ndarray, count: int) -> None:
        """Give up the `count` of these rows that were used longest ago: their memory is the next to be written."""
        slots = self.slot[rows[self.slot[rows] >= 0]]
        oldest = slots[np.argsort(self.last_used[slots], kind="stable")[:count]]
        self.slot[self.owner[oldest]] = -1
        self.owner[oldest] = -1
        self.n_evicted += len(oldest)

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """K @ coefficients in float64, from the rows in memory and, in passing, from those that are not."""
        from semisvm.kernels.compiled import add_rows

        scores = np.zeros(self.n_rows)
        used = np.flatnonzero(coefficients)
        present = used[self.slot[used] >= 0]
        add_rows(scores, self.values, self.slot[present], coefficients[present])
        absent = used[self.slot[used] < 0]
        if len(absent) and (rest := self.source.weighted_sum(absent, coefficients[absent])) is not None:
            return scores + rest
        size = max(1, min(len(absent), 64_000_000 // max(self.n_rows * self.dtype.itemsize, 1)))
        for start in range(0, len(absent), size):
            rows = absent[start : start + size]
            block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
            self.source.write(rows, block)
            add_rows(scores, block, np.arange(len(rows)), coefficients[rows])
        return scores

    def _free_slots(self, count: int) -> np.ndarray:
        free = np.flatnonzero(self.owner < 0)[:count]
        wanted = count - len(free)
        if wanted > 0:
            self.release(self.owner[self.owner >= 0], wanted)
            free = np.flatnonzero(self.owner < 0)[:count]
        return free

    def _fill(self, slots: np.ndarray, rows: np.ndarray) -> None:
        """Write rows into slots; they count as present only once they are whole (Ctrl-C may come at any time)."""
        self.source.write_at(rows, self.values, slots)
        self.owner[slots] = rows
        self.slot[rows] = slots
        self.last_used[slots] = self.clock
        self.n_made += len(rows)


class GivenRows(KernelRows):
    """The rows of a kernel matrix that is already in memory: all present, none ever evicted."""

    def __init__(self, source):
        self.source, self.is_frugal = source, False
        self.n_rows = self.capacity = source.n_rows
        self.dtype, self.diagonal, self.values = source.dtype, source.diagonal, source.K
        self.slot = self.owner = np.arange(self.n_rows)
        self.last_used = np.zeros(self.n_rows, dtype=np.int64)
        self.clock = self.n_made = self.n_evicted = 0
