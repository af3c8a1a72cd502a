"""Kernel rows of sparse data and of short dense rows: products over the non-zeros only, on every
core.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from semisvm.kernels.formula import Formula
from semisvm.kernels.sources import (
    KernelSource,
    apply_formula,
    columns_per_piece,
    finished,
    linear_sum,
    spread_rows,
    threads_worth,
)
from semisvm.kernels.threads import in_pieces

# Beyond this size the dense panel of data rows does not fit the caches, and SciPy's sparse product
# is faster.
LARGEST_PANEL_BYTES = 32_000_000
FEW_NUMBERS = 1_000_000  # so many are scanned by NumPy before compiled code is loaded
WORDS_PAY_FROM_ROWS = 2_000  # with fewer rows, the time to find out and to compile is not regained
MOST_FEATURES_OF_WORDS = 33_000  # dot products of bytes must fit 32 bits
SCIPY_ROWS = 64  # rows per sparse product of SciPy


class PanelRows(NamedTuple):
    """The data of compiled products.

    indptr, indices, data   the rows in CSR form: of numbers, or of words of four features' bytes
    squares, diagonal       |x_i|^2 and k(x_i, x_i)
    formula                 `Formula.numbers`
    n_features              the number of columns
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    squares: np.ndarray
    diagonal: np.ndarray
    formula: np.ndarray
    n_features: int


class PanelPairs(NamedTuple):
    """Wanted rows, two and two (`compiled_panels` says why); filled by `pair_terms`.

    starts, stops   the terms of pair p are those from starts[p] to stops[p]
    features        of each term
    factors         (n_terms, 2), what it is multiplied with, for the first and the second row
    offsets         (n_pairs, 2), what each sum begins with
    """

    starts: np.ndarray
    stops: np.ndarray
    features: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray


class PanelScratch(NamedTuple):
    """The memory of a thread.

    panel         PANEL_WIDTH rows in columns, with nothing in it between two pieces
    squares       (PANEL_WIDTH,) their squared norms
    rows          (PANEL_WIDTH,) their numbers
    sums          (2, PANEL_WIDTH), of a pair of rows
    total, part   (width,) and (PANEL_WIDTH,) in float64, the change of some columns
    tile          (TILE_HEIGHT, PANEL_WIDTH), a part of a Gram matrix
    """

    panel: np.ndarray
    squares: np.ndarray
    rows: np.ndarray
    sums: np.ndarray
    total: np.ndarray
    part: np.ndarray
    tile: np.ndarray


def sparse_source(X, formula: Formula, dtype, counts: np.ndarray | None = None) -> "SparseSource":
    """The source of sparse rows, or of dense ones with so many non-zeros each."""
    from semisvm.kernels.intrinsics import PANEL_WIDTH

    fits_panels = X.shape[1] * PANEL_WIDTH * np.dtype(dtype).itemsize <= LARGEST_PANEL_BYTES
    return (PanelSource if fits_panels else SparseSource)(X, formula, dtype, counts)


class SparseSource(KernelSource):
    """Products of SciPy over the non-zeros only, for rows of very many features."""

    def __init__(self, X, formula: Formula, dtype, counts: np.ndarray | None = None):
        self.formula = formula
        self.dtype = np.dtype(dtype)
        self.n_rows = X.shape[0]
        self.X = _csr_of_sparse(X, dtype) if counts is None else _csr_of_dense(X, dtype, counts)
        self.squares = _squares(self.X.indptr.astype(np.int64), self.X.data)
        self.diagonal = formula.diagonal(self.squares)

    def weighted_sum(self, rows, coefficients):
        return linear_sum(self.X, rows, coefficients) if self.formula.name == "linear" else None

    def write(self, rows, out):
        for start in range(0, len(rows), SCIPY_ROWS):
            part = slice(start, start + SCIPY_ROWS)
            out[part] = (self.X[rows[part]] @ self.X.T).toarray()
            apply_formula(self.formula, out[part], self.squares[rows[part]], self.squares)
        out[np.arange(len(rows)), rows] = self.diagonal[rows]

    def between(self, rows, columns):
        dots = np.asarray((self.X[rows] @ self.X[columns].T).toarray(), dtype=self.dtype)
        return finished(self, dots, rows, columns)


class PanelSource(SparseSource):
    """Products over the non-zeros only, on every core, for sparse rows and short dense rows.

    A row made twice is equal to the last bit: each product is summed in an order that depends on
    its two rows alone.
    """

    def __init__(self, X, formula: Formula, dtype, counts: np.ndarray | None = None):
        super().__init__(X, formula, dtype, counts)
        # Always of the same types: compiled code is made once for each.
        indptr = self.X.indptr.astype(np.int64)
        indices = self.X.indices.astype(np.int32, copy=False)
        self.panel_rows = PanelRows(
            indptr,
            indices,
            self.X.data,
            self.squares,
            self.diagonal,
            formula.numbers,
            self.X.shape[1],
        )
        if (
            formula.name == "rbf"
            and self.dtype == np.float32
            and self.n_rows >= WORDS_PAY_FROM_ROWS
        ):
            self.panel_rows = _in_words(self.panel_rows) or self.panel_rows

    @property
    def is_repeatable(self):
        return True

    def write(self, rows, out):
        self.write_at(rows, out, np.arange(len(rows)))

    def write_at(self, rows, values, slots):
        from semisvm.kernels.compiled_panels import make_kernel_rows

        wanted = (rows, self._pairs(rows))
        most = threads_worth(len(rows) * self.n_rows)
        in_pieces(
            make_kernel_rows,
            values,
            slots,
            *wanted,
            self.panel_rows,
            most=most,
            memory=self._scratch,
        )

    def _pairs(self, rows: np.ndarray) -> PanelPairs:
        """The terms of wanted rows, two and two, as compiled products take them."""
        from semisvm.kernels.compiled_panels import pair_terms

        indptr = self.panel_rows.indptr
        data = self.panel_rows.data
        n_terms = indptr[rows + 1] - indptr[rows]
        most = (
            np.add.reduceat(n_terms, np.arange(0, len(rows), 2))
            if len(rows)
            else np.empty(0, np.int64)
        )
        starts = np.append(0, np.cumsum(most))
        features = np.empty(starts[-1], dtype=np.int32)
        factors = np.empty((starts[-1], 2), dtype=data.dtype)
        offsets = np.empty((len(most), 2), dtype=np.int32)
        stops = np.empty(len(most), dtype=np.int64)
        pairs = PanelPairs(starts[:-1], stops, features, factors, offsets)
        in_pieces(pair_terms, pairs, rows, self.panel_rows, most=threads_worth(4 * len(features)))
        return pairs

    def _scratch(self) -> PanelScratch:
        """The memory that a thread needs for compiled products."""
        from semisvm.kernels.compiled_panels import TILE_HEIGHT
        from semisvm.kernels.intrinsics import LOWER_BY_128, PANEL_WIDTH

        data = self.panel_rows.data
        n_features = self.panel_rows.n_features
        nothing = LOWER_BY_128 if data.dtype == np.int32 else 0
        panel = np.full(n_features * PANEL_WIDTH, nothing, data.dtype)
        return PanelScratch(
            panel,
            squares=np.zeros(PANEL_WIDTH, self.dtype),
            rows=np.empty(PANEL_WIDTH, np.int64),
            sums=np.empty((2, PANEL_WIDTH), self.dtype),
            total=np.zeros(columns_per_piece(self.n_rows)),
            part=np.empty(PANEL_WIDTH),
            tile=np.empty((TILE_HEIGHT, PANEL_WIDTH), self.dtype),
        )

    def fill_gram(self, G, order, n_known, row):
        from semisvm.kernels.compiled_panels import fill_gram

        wanted = (row, self._pairs(row[order]))
        most = threads_worth(len(order) * (len(order) - n_known))
        in_pieces(
            fill_gram, G, order, n_known, *wanted, self.panel_rows, most=most, memory=self._scratch
        )

    def spread(self, change, values, stored, stored_moves, slots, rows, moves):
        if len(rows) == 0:  # a warm start whose rows are all in memory: nothing to prepare
            spread_rows(change, values, stored, stored_moves)
            return
        from semisvm.kernels.compiled_panels import spread_moves

        most = threads_worth((len(stored) // 4 + len(rows)) * self.n_rows)
        moved = (stored, stored_moves)
        made = (slots, rows, moves, self._pairs(rows))
        in_pieces(
            spread_moves,
            change,
            values,
            *moved,
            *made,
            self.panel_rows,
            most=most,
            memory=self._scratch,
        )


def _csr_of_sparse(X, dtype):
    X = sparse.csr_matrix(X, dtype=dtype)
    if not X.has_canonical_format:
        X = X.copy()  # the arrays may be the user's
        X.sum_duplicates()
    return X


def _csr_of_dense(X, dtype, counts: np.ndarray):
    """CSR form of dense rows with the given numbers of non-zeros, on every core."""
    indptr = np.append(0, np.cumsum(counts))
    if X.size <= FEW_NUMBERS:
        at = np.nonzero(X)
        return sparse.csr_matrix(
            (X[at].astype(dtype), at[1].astype(np.int32), indptr), shape=X.shape
        )
    from semisvm.kernels.compiled import SCANNED_ROWS, fill_csr

    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=dtype)
    in_pieces(
        fill_csr, np.ascontiguousarray(X), indptr, indices, data, most=-(-len(X) // SCANNED_ROWS)
    )
    return sparse.csr_matrix((data, indices, indptr), shape=X.shape)


def _in_words(rows: PanelRows) -> PanelRows | None:
    """The same data in words of four bytes, if each number is a whole multiple, up to 255, of the
    least one.

    Squared norms are in units of that number, and so is gamma: distances are the same.
    """
    data = rows.data
    unit = float(data.min(initial=np.inf))
    is_narrow = rows.n_features <= MOST_FEATURES_OF_WORDS
    if not (0 < unit and data.max(initial=0) < 256 * unit and is_narrow):
        return None
    from semisvm.kernels.compiled import SCANNED_ROWS
    from semisvm.kernels.compiled_panels import count_words, fill_words
    from semisvm.kernels.intrinsics import has_products_of_bytes

    if not has_products_of_bytes():
        return None
    numbers = (rows.indptr, rows.indices, data, unit)
    n_pieces = -(-len(rows.squares) // SCANNED_ROWS)
    n_words = np.empty_like(rows.indptr[1:])
    in_pieces(count_words, n_words, *numbers, most=n_pieces)
    if n_words.min(initial=0) < 0:
        return None
    starts = np.append(0, np.cumsum(n_words))
    in_units = np.empty_like(rows.squares)
    places, words = (np.empty(starts[-1], dtype=np.int32) for _ in range(2))
    in_pieces(fill_words, starts, places, words, in_units, *numbers, most=n_pieces)
    kind, gamma, *others = rows.formula
    return PanelRows(
        starts,
        places,
        words,
        in_units,
        rows.diagonal,
        np.array([kind, gamma * unit**2, *others]),
        -(-rows.n_features // 4),
    )


def _squares(indptr: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Squared norms of the rows of a CSR matrix, in its float type."""
    n_rows = len(indptr) - 1
    if len(data) <= FEW_NUMBERS:
        row = np.repeat(np.arange(n_rows), np.diff(indptr))
        return np.bincount(row, np.square(data, dtype=np.float64), n_rows).astype(data.dtype)
    from semisvm.kernels.compiled import SCANNED_ROWS, fill_squares

    squares = np.empty(n_rows, dtype=data.dtype)
    in_pieces(fill_squares, squares, indptr, data, most=-(-len(squares) // SCANNED_ROWS))
    return squares


def scan_dense(X) -> tuple[np.ndarray, np.ndarray, float]:
    """The number of non-zeros of each dense row, the mean row, and the mean squared norm."""
    if X.size <= FEW_NUMBERS:
        mean = X.mean(axis=0, dtype=np.float64) if len(X) else np.zeros(X.shape[1])
        return (
            np.count_nonzero(X, axis=1),
            mean,
            float(np.square(X, dtype=np.float64).sum()) / max(len(X), 1),
        )
    from semisvm.kernels.compiled import SCANNED_ROWS, scan_rows

    n = len(X)
    n_pieces = -(-len(X) // SCANNED_ROWS)
    counts = np.empty(n, dtype=np.int64)
    sums = np.zeros((n_pieces, X.shape[1]))
    squares = np.zeros(n_pieces)
    in_pieces(scan_rows, np.ascontiguousarray(X), counts, sums, squares, most=n_pieces)
    return counts, sums.sum(axis=0) / max(n, 1), float(squares.sum()) / max(n, 1)
