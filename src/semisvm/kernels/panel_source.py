"""Kernel rows of sparse data and of short dense rows: products over the non-zeros only, on every
core.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from semisvm.kernels.formula import Formula
from semisvm.kernels.sources import (
    DataSource,
    columns_per_piece,
    csr_of_dense,
    spread_rows,
    threads_worth,
)
from semisvm.kernels.threads import in_pieces
from semisvm.matrices import is_sparse_matrix

# Beyond this size the dense panel of data rows does not fit the caches, and SciPy's sparse product
# is faster.
LARGEST_PANEL_BYTES = 32_000_000
WORDS_PAY_FROM_ROWS = 2_000  # with fewer rows, the time to find out and to compile is not regained
MOST_FEATURES_OF_WORDS = 33_000  # dot products of bytes must fit 32 bits


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


def sparse_source(X, formula: Formula, dtype) -> DataSource:
    """The source of sparse rows, or of dense ones whose non-zeros are few."""
    from semisvm.kernels.intrinsics import PANEL_WIDTH

    X = X if is_sparse_matrix(X) else csr_of_dense(X, dtype)
    fits_panels = X.shape[1] * PANEL_WIDTH * np.dtype(dtype).itemsize <= LARGEST_PANEL_BYTES
    return (PanelSource if fits_panels else DataSource)(X, formula, dtype)


class PanelSource(DataSource):
    """Products over the non-zeros only, on every core, for sparse rows and short dense rows.

    A row made twice is equal to the last bit: each product is summed in an order that depends on
    its two rows alone.
    """

    is_repeatable = True

    def __init__(self, X: sparse.csr_matrix, formula: Formula, dtype):
        super().__init__(X, formula, dtype)
        # Always of the same types: compiled code is made once for each.
        self.panel_rows = PanelRows(
            self.X.indptr.astype(np.int64),
            self.X.indices.astype(np.int32, copy=False),
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

    def write(self, rows, out):
        self.write_at(rows, out, np.arange(len(rows)))

    def write_at(self, rows, values, slots):
        # What moves by 0 is made alone.
        none = np.empty(0, dtype=np.intp)
        unused = np.empty(self.n_rows)
        self.spread(unused, values, none, np.empty(0), slots, rows, np.zeros(len(rows)))

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
