"""Where kernel values come from: one class per form of the data.

    values(rows, columns)       K[rows][:, columns]: all that a new source must write
    make(rows, columns, out, slots, moves, change, stored, stored_moves)
                                out[slots[r]] = K[rows[r], columns] where slots[r] >= 0
                                change += moves @ K[rows, columns] + stored_moves @ out[stored]
    gram(rows, columns, out, slots, begin, end)
                                the first line of `make`, but what is above the diagonal may be left
                                out: columns[begin:end] are the rows

`columns` None is all rows in order. Kernel values are used while they are in the cache: nobody asks
for a whole matrix to sum it up afterwards. Work is divided by the problem's size alone, so results
are the same for any number of threads.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.engine.formula import IN_RANGE_OF_FLOAT32, Formula, far_center, squared_norms
from semisvm.engine.parallel import for_each, in_pieces
from semisvm.matrices import is_sparse_matrix

COLUMNS_PER_PIECE, ROWS_PER_PIECE = 1024, 256  # of kernel values that a thread makes at a time
VALUES_PER_THREAD = 50_000  # fewer are made before another thread has woken up
# Rows with more non-zeros than this, and than this share of the features, are left to BLAS.
PANEL_NONZEROS, PANEL_SHARE = 64, 0.5
PANEL_SHARE_WITHOUT_EXP = 0.1
FEW_VALUES = 4_000_000  # of a dense matrix: BLAS is as fast, and nothing need be compiled
ROWS_OF_BYTES = 2_000  # of fewer rows, products are made before those of bytes are compiled
LARGEST_PANEL_BYTES = 32_000_000  # a larger panel does not fit the caches

NONE, NO_MOVES = np.empty(0, dtype=np.intp), np.empty(0)


def threads_worth(n_values: int) -> int:
    """How many threads are worth waking for so many kernel values."""
    return max(1, n_values // VALUES_PER_THREAD)


def add_stored(
    change: np.ndarray,
    values: np.ndarray,
    slots: np.ndarray,
    moves: np.ndarray,
    most: int | None = None,
) -> None:
    """change += moves @ values[slots], on every core or on as many as are said."""
    from semisvm.engine.kernels.loops import COLUMNS, add_rows

    most = most or threads_worth(len(slots) * len(change) // 4)
    memory = partial(np.empty, COLUMNS)
    in_pieces(add_rows, change, values, slots, moves, most=most, memory=memory)


class Source:
    """Blocks of kernel values by `values`, and rows by blocks for the team of threads."""

    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray
    is_repeatable = False  # whether a row made twice is equal to the last bit
    is_threaded = True  # whether `values` may be called from several threads, to advantage

    def values(self, rows: np.ndarray, columns: np.ndarray | slice) -> np.ndarray:
        """K[rows][:, columns]."""
        raise NotImplementedError

    def make(
        self,
        rows: np.ndarray,
        columns: np.ndarray | None,
        out: np.ndarray,
        slots: np.ndarray,
        moves: np.ndarray,
        change: np.ndarray,
        stored: np.ndarray = NONE,
        stored_moves: np.ndarray = NO_MOVES,
    ) -> None:
        """Make rows: store those with a slot, and add them up (see the module)."""
        if len(stored):
            add_stored(change, out, stored, stored_moves)
        n = self.n_rows if columns is None else len(columns)
        width = COLUMNS_PER_PIECE if self.is_threaded else max(n, 1)

        def work(start: int) -> None:
            part = slice(start, min(start + width, n))
            for first in range(0, len(rows), ROWS_PER_PIECE):
                some = slice(first, first + ROWS_PER_PIECE)
                block = self.values(rows[some], part if columns is None else columns[part])
                kept = slots[some] >= 0
                if kept.any():
                    out[slots[some][kept], part] = block if kept.all() else block[kept]
                if len(change) and moves[some].any():
                    add_stored(change[part], block, np.arange(len(block)), moves[some], most=1)

        if self.is_threaded:
            for_each(work, range(0, n, width))
        else:
            work(0)

    def gram(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        begin: int,
        end: int,
    ) -> None:
        """Make rows of a symmetric matrix: half of it is enough."""
        self.make(rows, columns, out, slots, np.zeros(len(rows)), NO_MOVES)

    def weighted_sum(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray | None:
        """coefficients @ K[rows] where it needs no rows of K, else None."""
        return None


class MatrixSource(Source):
    """A kernel matrix that is in memory."""

    is_repeatable = True

    def __init__(self, K: np.ndarray):
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in"
                f" fit, got {K.shape}."
            )
        is_float32 = K.dtype == np.float32 and np.abs(K).max(initial=0) <= IN_RANGE_OF_FLOAT32
        self.K = np.ascontiguousarray(K, dtype=np.float32 if is_float32 else np.float64)
        self.dtype, self.n_rows = self.K.dtype, len(K)
        self.diagonal = np.ascontiguousarray(np.diagonal(self.K))

    def values(self, rows, columns):
        if isinstance(columns, slice):
            return self.K[rows, columns]
        return self.K[rows[:, None], columns]


class CallableSource(Source):
    """The user's own function of two blocks of rows."""

    is_threaded = False

    def __init__(self, X: Any, formula: Formula, dtype: Any):
        self.X, self.formula, self.dtype, self.n_rows = X, formula, np.dtype(dtype), X.shape[0]
        self.diagonal = np.empty(self.n_rows, dtype=dtype)
        for start in range(0, self.n_rows, ROWS_PER_PIECE):
            part = slice(start, start + ROWS_PER_PIECE)
            self.diagonal[part] = np.diagonal(formula.of_rows(X[part], X[part]))

    def values(self, rows, columns):
        return self.formula.of_rows(self.X[rows], self.X[columns]).astype(self.dtype, copy=False)


class DataSource(Source):
    """Products of rows by BLAS, or by SciPy over the non-zeros of very wide sparse rows."""

    def __init__(self, X: Any, formula: Formula, dtype: Any):
        self.formula, self.dtype, self.n_rows = formula, np.dtype(dtype), X.shape[0]
        self.X: Any
        if is_sparse_matrix(X):
            self.is_threaded = False  # SciPy holds the interpreter
            self.X = sparse.csr_matrix(X, dtype=dtype)
            if not self.X.has_canonical_format:
                self.X = self.X.copy()  # the arrays may be the user's
                self.X.sum_duplicates()
            self.transposed = self.X.T.tocsr() if type(self) is DataSource else None
        else:
            self.X = np.ascontiguousarray(X, dtype=dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # the solver refuses what is not finite
            self.squares = squared_norms(self.X).astype(dtype)
            self.diagonal = formula.diagonal(self.squares)

    def values(self, rows, columns):
        is_range = isinstance(columns, slice)
        with np.errstate(over="ignore", invalid="ignore"):
            if not is_sparse_matrix(self.X):
                dots = self.X[rows] @ self.X[columns].T
            elif is_range and columns == slice(0, self.n_rows):
                dots = (self.X[rows] @ self.transposed).toarray()
            else:
                dots = (self.X[rows] @ self.X[columns].T).toarray()
            if self.formula.name != "rbf":
                self.formula.finish(dots, None, None)
        if self.formula.name == "rbf":
            from semisvm.engine.kernels.loops import finish_block

            finish_block(dots, self.squares[rows], self.squares[columns], self.formula.numbers)
        # k(x, x) from its own formula: rounding in |x|^2 + |x|^2 - 2<x, x> is largest there.
        if is_range:
            here = np.flatnonzero((rows >= columns.start) & (rows < columns.stop))
            dots[here, rows[here] - columns.start] = self.diagonal[rows[here]]
        else:
            at, to = np.nonzero(rows[:, None] == columns)
            dots[at, to] = self.diagonal[rows[at]]
        return dots

    def weighted_sum(self, rows, coefficients):
        if self.formula.name != "linear":
            return None
        return np.asarray(self.X @ (coefficients @ self.X[rows]))


class PanelSource(DataSource):
    """Products over the non-zeros only: sparse rows and short dense rows."""

    is_repeatable = True

    def __init__(self, X: sparse.csr_matrix, formula: Formula, dtype: Any):
        from semisvm.engine.kernels.panels import Data

        super().__init__(X, formula, dtype)
        indptr = self.X.indptr.astype(np.int64)
        indices = self.X.indices.astype(np.int32, copy=False)
        self.n_columns, self.nothing = self.X.shape[1], np.zeros(1, self.dtype)
        self.data = Data(
            indptr,
            indices,
            data=self.X.data,
            factors=self.X.data,
            squares=self.squares,
            own_squares=self.squares,
            diagonal=self.diagonal,
            formula=formula.numbers,
        )

    def gram(self, rows, columns, out, slots, begin, end):
        self._make(
            rows, columns, out, slots, np.zeros(len(rows)), NO_MOVES, NONE, NO_MOVES, begin, end
        )

    def make(self, rows, columns, out, slots, moves, change, stored=NONE, stored_moves=NO_MOVES):
        if len(rows):
            self._make(rows, columns, out, slots, moves, change, stored, stored_moves, 0, 0)
        elif len(stored):
            add_stored(change, out, stored, stored_moves)

    def _make(
        self, rows, columns, out, slots, moves, change, stored, stored_moves, begin, end
    ) -> None:
        from semisvm.engine.kernels.panels import make_rows, scratch

        n = self.n_rows if columns is None else len(columns)
        columns = NONE if columns is None else columns
        in_pieces(
            make_rows, rows, columns, out, slots, moves, change, stored, stored_moves, begin, end,
            self._pairs(rows), self.data,
            most=threads_worth((len(rows) + len(stored) // 4) * n),
            memory=lambda: scratch(self.n_columns, self.dtype, self.nothing),
        )  # fmt: skip

    def values(self, rows, columns):
        columns = np.arange(self.n_rows)[columns] if isinstance(columns, slice) else columns
        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        if out.size:
            self.make(rows, columns, out, np.arange(len(rows)), np.zeros(len(rows)), NO_MOVES)
        return out

    def _pairs(self, rows: np.ndarray) -> Any:
        """The terms of wanted rows, two and two."""
        from semisvm.engine.kernels.panels import Pairs, pair_terms

        n_terms = self.data.indptr[rows + 1] - self.data.indptr[rows]
        most = np.add.reduceat(n_terms, np.arange(0, len(rows), 2))
        starts = np.append(0, np.cumsum(most))
        features = np.empty(starts[-1], dtype=np.int32)
        factors = np.empty((starts[-1], 2), dtype=self.data.factors.dtype)
        pairs = Pairs(starts[:-1], np.empty(len(most), np.int64), features, factors)
        in_pieces(pair_terms, pairs, rows, self.data, most=threads_worth(4 * len(features)))
        return pairs


def csr_of_dense(X: np.ndarray, dtype: Any) -> sparse.csr_matrix:
    """CSR rows; SciPy's own constructor takes three times as long."""
    flat = np.flatnonzero(X)
    indptr = np.append(0, np.cumsum(np.count_nonzero(X, axis=1)))
    values = X.ravel()[flat].astype(dtype, copy=False)
    return sparse.csr_matrix((values, (flat % X.shape[1]).astype(np.int32), indptr), X.shape)


def make_source(X: Any, formula: Formula, dtype: Any) -> Source:
    """The source whose product is fastest for these rows."""
    if formula.name == "precomputed":
        return MatrixSource(np.asarray(X))
    if formula.function is not None:
        return CallableSource(X, formula, dtype)
    if not is_sparse_matrix(X):
        if formula.name == "rbf" and (center := far_center(X)) is not None:
            X = X - center
        per_row = np.count_nonzero(X) / max(len(X), 1)
        most = PANEL_SHARE_WITHOUT_EXP * X.shape[1]
        if formula.name == "rbf" and np.dtype(dtype) == np.float32:
            most = max(PANEL_NONZEROS, PANEL_SHARE * X.shape[1])
        if len(X) ** 2 <= FEW_VALUES or per_row > most:
            return DataSource(X, formula, dtype)
        X = csr_of_dense(X, dtype)
    from semisvm.engine.kernels.panels import WIDTH

    fits = X.shape[1] * WIDTH * np.dtype(dtype).itemsize <= LARGEST_PANEL_BYTES
    if not fits:
        return DataSource(X, formula, dtype)
    if formula.name == "rbf" and np.dtype(dtype) == np.float32 and X.shape[0] >= ROWS_OF_BYTES:
        from semisvm.engine.kernels.bytes import ByteSource, has_products_of_bytes, unit_of_bytes

        if has_products_of_bytes() and (unit := unit_of_bytes(X)):
            return ByteSource(X, formula, dtype, unit)
    return PanelSource(X, formula, dtype)
