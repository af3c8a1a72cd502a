"""Kernel rows: the rows of a kernel matrix K between n data rows, made when they are needed and
kept.

`KernelRows` is what every user of a kernel needs. `CachedRows` are in the memory of the host, under
a memory budget; rows that were used longest ago are evicted first. They outlive a solve: the next
problem of a sequence finds them. `GivenRows` are those of a matrix that is already in memory, and
`device_rows.DeviceRows` are on a device.
"""

from typing import Any, Protocol

import numpy as np

from semisvm.kernels.sources import KernelSource, MatrixSource, spread_rows

LEAST_CAPACITY = 8  # with fewer rows in memory the solver would make rows again for every step
ROWS_PER_WRITE = 512  # enough for products at full speed, few enough to react to Ctrl-C


class KernelRows(Protocol):
    """The rows of a kernel matrix K between n data rows, wherever they are.

    diagonal   (n_rows,) the values k(x_i, x_i)
    capacity   how many rows can be in memory at the same time
    home       the name of the device that holds the rows; "cpu" for the host
    """

    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray
    capacity: int
    home: str

    def require(self, rows: np.ndarray) -> None:
        """Bring rows into memory for the solver, at most `capacity` distinct ones."""

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return K[rows], shape (len(rows), n_rows), as an array of the host."""

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients in float64; rows with coefficient 0 are not needed."""

    def times_dense(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients fast for coefficients that are mostly not 0, in the precision of
        the rows.
        """


class CachedRows:
    """Kernel rows that are made on demand by a source and kept under a budget of bytes.

    At least 8 rows are kept whatever the budget. `is_frugal` rows serve a single solve, which may
    overwrite rows it no longer needs before it takes more memory. Otherwise rows are kept while
    there is room, for the problems that follow.

    values      (capacity, n_rows) the rows in memory
    slot        (n_rows,) where each row is in `values`, -1 if it is not in memory
    owner       (capacity,) the data row in each slot, -1 if the slot is free
    last_used   (capacity,) the clock at which each slot was last used
    clock       advanced by the solver
    n_made, n_evicted   how many rows were made, and how many were evicted, so far
    """

    home = "cpu"

    def __init__(self, source: KernelSource, budget: int, *, is_frugal: bool = False):
        self.source = source
        self.is_frugal = is_frugal
        self.n_rows = source.n_rows
        self.dtype = source.dtype
        self.diagonal = source.diagonal
        row_bytes = max(self.n_rows * self.dtype.itemsize, 1)
        self.capacity = min(self.n_rows, max(budget // row_bytes, LEAST_CAPACITY))
        # The system provides memory from np.empty page by page, as rows are written.
        self.values = np.empty((self.capacity, self.n_rows), dtype=self.dtype)
        self.slot = np.full(self.n_rows, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        self.last_used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = self.n_made = self.n_evicted = 0
        self.device_copies: dict[str, Any] = {}  # of `device_rows.on_device`

    @property
    def is_present(self) -> np.ndarray:
        """Which rows are in memory, shape (n,)."""
        return self.slot >= 0

    @property
    def n_free(self) -> int:
        """How many more rows fit into memory."""
        return int((self.owner < 0).sum())

    def require(self, rows: np.ndarray) -> None:
        """Make the rows that are not in memory; evict those used longest ago if it is full."""
        rows = np.unique(rows)
        self.clock += 1  # so that none of these rows is among those used longest ago
        self.last_used[self.slot[rows[self.slot[rows] >= 0]]] = self.clock
        missing = rows[self.slot[rows] < 0]
        if len(missing) == 0:
            return
        if len(rows) > self.capacity:
            raise ValueError(
                f"{len(rows)} kernel rows are required, but memory holds only {self.capacity}."
            )
        if (lacking := len(missing) - self.n_free) > 0:
            self.release(self.owner[self.owner >= 0], lacking)
        slots = np.flatnonzero(self.owner < 0)[: len(missing)]
        for start in range(0, len(missing), ROWS_PER_WRITE):
            part = slice(start, start + ROWS_PER_WRITE)
            self.source.write_at(missing[part], self.values, slots[part])
            self._own(slots[part], missing[part])

    def release(self, rows: np.ndarray, count: int) -> None:
        """Evict the `count` of the given rows that were used longest ago."""
        slots = self.slot[rows[self.slot[rows] >= 0]]
        oldest = slots[np.argsort(self.last_used[slots], kind="stable")[:count]]
        self.slot[self.owner[oldest]] = -1
        self.owner[oldest] = -1
        self.n_evicted += len(oldest)

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return K[rows]: copied if all of them are in memory, otherwise made and not kept."""
        if (self.slot[rows] >= 0).all():
            return self.values[self.slot[rows]]
        block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
        self.source.write(rows, block)
        return block

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients in float64; rows that are not in memory are made and not kept."""
        used = np.flatnonzero(coefficients)
        present = used[self.slot[used] >= 0]
        absent = used[self.slot[used] < 0]
        scores = np.zeros(self.n_rows)
        if len(used) == 0:
            return scores
        stored = self.slot[present], coefficients[present]
        made = absent, coefficients[absent]
        rest = self.source.weighted_sum(*made) if len(absent) else None
        if rest is not None:
            spread_rows(scores, self.values, *stored)
            return scores + rest
        nowhere = np.full(len(absent), -1)
        self.source.spread(scores, self.values, *stored, nowhere, *made)
        return scores

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel values K[rows][:, columns] of a few rows and columns, made without whole rows."""
        return self.source.between(rows, columns)

    def spread(self, rows: np.ndarray, moves: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Return moves @ K[rows] in float64, on every core: the change of K @ coefficients when the
        coefficients of some rows, each given once, move.

        Rows in `is_kept` (m,) stay in memory, if they have to be made and there is room.
        """
        is_stored = self.slot[rows] >= 0
        stored = self.slot[rows[is_stored]]
        made = rows[~is_stored]
        self.last_used[stored] = self.clock
        kept = np.flatnonzero(is_kept[~is_stored])
        free = np.flatnonzero(self.owner < 0)[: len(kept)]
        slots = np.full(len(made), -1)
        slots[kept[: len(free)]] = free
        change = np.empty(self.n_rows)
        self.source.spread(
            change, self.values, stored, moves[is_stored], slots, made, moves[~is_stored]
        )
        self._own(slots[slots >= 0], made[slots >= 0])
        self.n_made += len(made) - len(free)
        self.n_evicted += len(made) - len(free)
        return change

    def times_dense(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients: by BLAS if all rows are in memory, else as `times`."""
        if self.capacity < self.n_rows or not self.is_present.all():
            return self.times(coefficients)
        return (self.values @ coefficients.astype(self.dtype))[self.slot]

    def _own(self, slots: np.ndarray, rows: np.ndarray) -> None:
        """Count rows as present, once they are complete: Ctrl-C may come at any time."""
        self.owner[slots] = rows
        self.slot[rows] = slots
        self.last_used[slots] = self.clock
        self.n_made += len(rows)


class GivenRows(CachedRows):
    """The rows of a kernel matrix that is already in memory, in float32 or float64 and C order: all
    present, none ever evicted, nothing copied.
    """

    def __init__(self, K: np.ndarray):
        super().__init__(MatrixSource(K), budget=0)
        self.values = K
        self.capacity = len(K)
        self.slot = np.arange(len(K))
        self.owner = np.arange(len(K))
        self.last_used = np.zeros(len(K), dtype=np.int64)
