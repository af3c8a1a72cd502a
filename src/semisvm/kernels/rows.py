"""Rows of the kernel matrix in the memory of the host, and `kernel_rows`, which makes the rows of any kernel.

`CachedRows` are made when a solver first needs them and kept under a memory budget; the rows that were used longest ago
are evicted first. They outlive a solve: the next problem of a sequence finds them. `GivenRows` are the rows of a matrix
that is already in memory. A third kind, `device_rows.DeviceRows`, is in the memory of a device.
"""

from typing import Any

import numpy as np

from semisvm.device import resolve
from semisvm.kernels.formula import Formula
from semisvm.kernels.interface import KernelRows, documented_by
from semisvm.kernels.resources import budget_bytes
from semisvm.kernels.sources import KernelSource, make_source

LEAST_CAPACITY = 8  # with fewer rows in memory the solver would make rows again for every step
ROWS_PER_WRITE = 512  # enough for products at full speed, few enough to react to Ctrl-C
LARGEST_FLOAT32 = 1e30  # of a given matrix: the solver adds several values, which must be finite too
BYTES_PER_PRODUCT = 64_000_000  # of rows that are made for one product and not kept


@documented_by(KernelRows)
class CachedRows:
    """Kernel rows that are made on demand and kept under a memory budget.

    Parameters
    ----------
    source : KernelSource
        Makes the rows.
    budget : int
        Bytes that the rows may occupy. At least 8 rows are kept whatever the budget.
    is_frugal : bool, default=False
        Whether the rows serve a single solve. The solver may then overwrite rows it no longer needs before it takes
        more memory. Otherwise rows are kept while there is room, for the problems that follow.

    Attributes
    ----------
    n_rows : int
        Number of data rows, n.
    dtype : numpy.dtype
        Float type of the kernel values.
    diagonal : ndarray of shape (n_rows,)
        The values k(x_i, x_i).
    capacity : int
        Number of rows that fit the budget.
    values : ndarray of shape (capacity, n_rows)
        The rows in memory.
    slot : ndarray of int of shape (n_rows,)
        Where each row is in `values`, -1 if it is not in memory.
    owner : ndarray of int of shape (capacity,)
        The data row in each slot, -1 if the slot is free.
    last_used : ndarray of int of shape (capacity,)
        Clock at which each slot was last used.
    clock : int
        Advanced by the solver.
    n_made, n_evicted : int
        How many rows were made, and how many were evicted, so far.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> rows = kernel_rows(X, make_formula("linear", X))
    >>> rows.require(np.array([2]))
    >>> rows.is_present
    array([False, False,  True])
    >>> rows.fetch(np.array([1, 2]))
    array([[0., 1., 3.],
           [0., 3., 9.]], dtype=float32)
    >>> rows.times(np.array([1.0, 0.0, 1.0]))
    array([0., 3., 9.])
    """

    home = "cpu"

    def __init__(self, source: KernelSource, budget: int, *, is_frugal: bool = False):
        self.source, self.is_frugal = source, is_frugal
        self.n_rows, self.dtype, self.diagonal = source.n_rows, source.dtype, source.diagonal
        row_bytes = max(self.n_rows * self.dtype.itemsize, 1)
        self.capacity = min(self.n_rows, max(budget // row_bytes, LEAST_CAPACITY))
        # The system provides memory from np.empty page by page, as rows are written.
        self.values = np.empty((self.capacity, self.n_rows), dtype=self.dtype)
        self.slot = np.full(self.n_rows, -1, dtype=np.intp)
        self.owner = np.full(self.capacity, -1, dtype=np.intp)
        self.last_used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = 0
        self.n_made = 0
        self.n_evicted = 0
        self.device_copies: dict[str, Any] = {}

    @property
    def is_present(self) -> np.ndarray:
        """Which rows are in memory, shape (n,)."""
        return self.slot >= 0

    @property
    def is_repeatable(self) -> bool:
        """Whether a row made twice is equal to the last bit."""
        return self.source.is_repeatable

    def require(self, rows: np.ndarray) -> None:
        """Make the rows that are not in memory; if memory is full, the rows used longest ago are evicted."""
        rows = np.unique(rows)
        self.clock += 1  # so that none of these rows is among those used longest ago
        self.last_used[self.slot[rows[self.slot[rows] >= 0]]] = self.clock
        missing = rows[self.slot[rows] < 0]
        if len(missing) == 0:
            return
        if len(rows) > self.capacity:
            raise ValueError(f"{len(rows)} kernel rows are required, but memory holds only {self.capacity}.")
        slots = self._free_slots(len(missing))
        for start in range(0, len(missing), ROWS_PER_WRITE):
            part = slice(start, start + ROWS_PER_WRITE)
            self._fill(slots[part], missing[part])

    def release(self, rows: np.ndarray, count: int) -> None:
        """Evict the rows among these that were used longest ago; their memory is written next.

        Parameters
        ----------
        rows : ndarray of int
            Indices of data rows.
        count : int
            How many of them to evict.
        """
        slots = self.slot[rows[self.slot[rows] >= 0]]
        oldest = slots[np.argsort(self.last_used[slots], kind="stable")[:count]]
        self.slot[self.owner[oldest]] = -1
        self.owner[oldest] = -1
        self.n_evicted += len(oldest)

    def rows_unused_since(self, clock: int) -> np.ndarray:
        """Return the rows in memory that were last used before a time.

        Parameters
        ----------
        clock : int
            An earlier value of the attribute `clock`.

        Returns
        -------
        ndarray of int
            Indices of data rows.
        """
        unused = self.owner[self.last_used < clock]
        return unused[unused >= 0]

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return K[rows]: copied if all of them are in memory, otherwise made and not kept."""
        if (self.slot[rows] >= 0).all():
            return self.values[self.slot[rows]]
        block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
        self.source.write(rows, block)
        return block

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients in float64; rows that are not in memory are made and not kept."""
        from semisvm.kernels.compiled import add_rows

        scores = np.zeros(self.n_rows)
        used = np.flatnonzero(coefficients)
        present = used[self.slot[used] >= 0]
        add_rows(scores, self.values, self.slot[present], coefficients[present])
        absent = used[self.slot[used] < 0]
        if len(absent) and (rest := self.source.weighted_sum(absent, coefficients[absent])) is not None:
            return scores + rest
        size = max(1, min(len(absent), BYTES_PER_PRODUCT // max(self.n_rows * self.dtype.itemsize, 1)))
        for start in range(0, len(absent), size):
            rows = absent[start : start + size]
            block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
            self.source.write(rows, block)
            add_rows(scores, block, np.arange(len(rows)), coefficients[rows])
        return scores

    def times_dense(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients: by BLAS in the precision of the rows if all are in memory, else as `times`."""
        if self.capacity < self.n_rows or not self.is_present.all():
            return self.times(coefficients)
        return (self.values @ coefficients.astype(self.dtype))[self.slot]

    def _free_slots(self, count: int) -> np.ndarray:
        free = np.flatnonzero(self.owner < 0)[:count]
        lacking = count - len(free)
        if lacking > 0:
            self.release(self.owner[self.owner >= 0], lacking)
            free = np.flatnonzero(self.owner < 0)[:count]
        return free

    def _fill(self, slots: np.ndarray, rows: np.ndarray) -> None:
        """Write rows into slots; they count as present only once complete, because Ctrl-C may come at any time."""
        self.source.write_at(rows, self.values, slots)
        self.owner[slots] = rows
        self.slot[rows] = slots
        self.last_used[slots] = self.clock
        self.n_made += len(rows)


@documented_by(KernelRows)
class GivenRows:
    """The rows of a kernel matrix that is already in memory: all present, none ever evicted, nothing copied.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        The kernel matrix, C-contiguous, in float32 or float64.

    Attributes
    ----------
    n_rows, capacity : int
        Number of data rows.
    dtype : numpy.dtype
        Float type of the kernel values.
    diagonal : ndarray of shape (n_rows,)
        The values k(x_i, x_i).
    values : ndarray of shape (n_rows, n_rows)
        The matrix itself.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import GivenRows
    >>> GivenRows(np.array([[2.0, 1.0], [1.0, 3.0]])).times(np.array([1.0, -1.0]))
    array([ 1., -2.])
    """

    home = "cpu"
    is_repeatable = True
    n_made = n_evicted = 0

    def __init__(self, K: np.ndarray):
        self.values, self.dtype = K, K.dtype
        self.n_rows = self.capacity = len(K)
        self.diagonal = np.ascontiguousarray(np.diagonal(K))
        self.slot = np.arange(self.n_rows)
        self.last_used = np.zeros(self.n_rows, dtype=np.int64)
        self.clock = 0
        self.device_copies: dict[str, Any] = {}

    @property
    def is_present(self) -> np.ndarray:
        """Which rows are in memory, shape (n,): all."""
        return np.ones(self.n_rows, dtype=bool)

    def require(self, rows: np.ndarray) -> None:
        """Do nothing: all rows are in memory."""

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return K[rows], a copy."""
        return self.values[rows]

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients in float64."""
        from semisvm.kernels.compiled import add_rows

        scores, used = np.zeros(self.n_rows), np.flatnonzero(coefficients)
        add_rows(scores, self.values, used, coefficients[used])
        return scores

    def times_dense(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients by BLAS, in the precision of the matrix."""
        return self.values @ coefficients.astype(self.dtype)


def kernel_rows(
    X: Any,
    formula: Formula,
    *,
    cache_size: float | None = None,
    dtype: Any = np.float32,
    is_frugal: bool = False,
    device: str = "cpu",
) -> KernelRows:
    """Return the rows of the kernel matrix of X; none is made yet, except on a device.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The data rows; with a precomputed kernel the kernel matrix itself, of shape (n_rows, n_rows). On a device X may
        also be a torch tensor or a CuPy array.
    formula : Formula
        The kernel with its parameters, from `make_formula`.
    cache_size : float, default=None
        Memory for kernel rows in megabytes; by default half of the free memory of the host, or most of the free memory
        of the device.
    dtype : data-type, default=numpy.float32
        Float type of the kernel values. A precomputed matrix on the host keeps its own.
    is_frugal : bool, default=False
        Whether the rows serve a single solve, which may then overwrite rows it no longer needs.
    device : str, default="cpu"
        Where the rows are made and kept: "cpu", "cuda", "cuda:1", ..., or "auto", which is "cuda" if there is a device
        and the data is large enough, and the host otherwise.

    Returns
    -------
    KernelRows
        `CachedRows` or `GivenRows` on the host, `DeviceRows` on a device.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> rows = kernel_rows(X, make_formula("rbf", X, gamma=1.0), dtype=np.float64)
    >>> rows.fetch(np.array([0])).round(3)
    array([[1.   , 0.368, 0.018]])
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if formula.name == "precomputed" and (len(X.shape) != 2 or X.shape[0] != X.shape[1]):
        raise ValueError(
            "A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in fit, "
            f"got {tuple(X.shape)}."
        )
    # The user's own function runs on the host: on a device it would be called for every pair of rows at once.
    wanted = "cpu" if device == "auto" and formula.function is not None else device
    if (place := resolve(wanted, X.shape[0])) != "cpu":
        from semisvm.kernels.device_rows import device_rows

        try:
            return device_rows(X, formula, device=place, cache_size=cache_size, dtype=dtype)
        except MemoryError:
            if device != "auto":
                raise
    if formula.name == "precomputed":
        K = np.asarray(X)
        is_float32 = K.dtype == np.float32 and (K.size == 0 or np.abs(K).max() <= LARGEST_FLOAT32)
        return GivenRows(np.ascontiguousarray(K, dtype=np.float32 if is_float32 else np.float64))
    return CachedRows(make_source(X, formula, dtype), budget_bytes(cache_size), is_frugal=is_frugal)
