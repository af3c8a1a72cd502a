"""Where kernel rows on the host come from: one class per form of the data.

A source knows n data rows and writes rows of the kernel matrix K between all of them:

    n_rows, dtype, diagonal         the size, the float type of the rows, k(x_i, x_i), (n,)
    write(rows, out)                out[j] = K[rows[j]], shape (len(rows), n)
    write_at(rows, values, slots)   values[slots[j]] = K[rows[j]], for ascending slots
    between(rows, columns)          K[rows][:, columns], a few rows and columns
    fill_gram(G, order, n_known, row)   G[i, j] = K[row[i], row[j]] for i, j in `order`, unless both
                                    are among its first `n_known`, on every core
    spread(...)                     as `CachedRows` has it, with the place of each row that is made
    is_repeatable                   whether a row made twice is equal to the last bit
"""

import sys
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from semisvm.kernels.formula import Formula, far_center
from semisvm.kernels.threads import for_each, in_pieces
from semisvm.matrices import as_dense, is_sparse_matrix, without_duplicates

# Of rows made at a time, so that the exponential finds the products in the cache.
TILE_BYTES = 8_000_000
BYTES_PER_PRODUCT = 64_000_000  # of rows that are made for one product and not kept
# Multiplications of a sparse product, half a second of SciPy's: fewer are over before compiled code
# is loaded; a tenth is worth it where it is.
WORTH_OWN_PRODUCT = 300_000_000
VALUES_PER_THREAD = 50_000  # kernel values: fewer are made before another thread has woken up
DIAGONAL_ROWS = 256  # rows per call of the user's function for the diagonal
ROWS_PER_PART = 256  # of dense rows that one thread looks through at a time


class KernelSource:
    """Rows of K between n data rows, made on demand."""

    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray
    is_repeatable = False

    def write(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write K[rows] into `out`."""
        raise NotImplementedError

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K[rows][:, columns]: from whole rows, unless there is a shorter way."""
        block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
        self.write(rows, block)
        return block[:, columns]

    def fill_gram(self, G: np.ndarray, order: np.ndarray, n_known: int, row: np.ndarray) -> None:
        """G[i, j] = K[row[i], row[j]] for i, j in `order`, unless both are before `n_known`."""
        from semisvm.kernels.compiled_panels import TILE_HEIGHT, write_gram
        from semisvm.kernels.intrinsics import PANEL_WIDTH

        block = np.asarray(self.between(row[order[n_known:]], row[order]), dtype=G.dtype)
        tile = partial(np.empty, (TILE_HEIGHT, PANEL_WIDTH), G.dtype)
        in_pieces(write_gram, G, block, order, n_known, most=threads_worth(block.size), memory=tile)

    def spread(
        self,
        change: np.ndarray,
        values: np.ndarray,
        stored: np.ndarray,
        stored_moves: np.ndarray,
        slots: np.ndarray,
        rows: np.ndarray,
        moves: np.ndarray,
    ) -> None:
        """change = stored_moves @ values[stored] + moves @ K[rows]; keep rows with a slot."""
        kept = np.flatnonzero(slots >= 0)
        others = np.flatnonzero(slots < 0)
        size = max(1, BYTES_PER_PRODUCT // max(self.n_rows * self.dtype.itemsize, 1))
        for start in range(0, len(kept), size):
            part = kept[start : start + size]
            self.write_at(rows[part], values, slots[part])
        all_moves = np.concatenate([stored_moves, moves[kept]])
        spread_rows(change, values, np.concatenate([stored, slots[kept]]), all_moves)
        block = np.empty((min(size, len(others)), self.n_rows), dtype=self.dtype)
        more = np.empty(self.n_rows)
        for start in range(0, len(others), size):
            part = others[start : start + size]
            self.write(rows[part], block[: len(part)])
            spread_rows(more, block, np.arange(len(part)), moves[part])
            change += more

    def weighted_sum(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray | None:
        """Return coefficients @ K[rows] if it can be computed without the rows, else None."""
        return None

    def write_at(self, rows: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
        """Write K[rows] into the slots (ascending) of `values`."""
        first = slots[0]
        last = slots[-1]
        if last - first + 1 == len(slots):
            self.write(rows, values[first : last + 1])
        else:
            block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
            self.write(rows, block)
            values[slots] = block


def spread_rows(
    change: np.ndarray, values: np.ndarray, slots: np.ndarray, moves: np.ndarray
) -> None:
    """change = moves @ values[slots] in float64, on every core."""
    if len(slots) == 0:  # a cold start: nothing to compile
        change[:] = 0.0
        return
    from semisvm.kernels.compiled import spread_stored

    most = threads_worth(len(slots) * len(change) // 4)
    total = partial(np.empty, columns_per_piece(len(change)))
    in_pieces(spread_stored, change, values, slots, moves, most=most, memory=total)


def columns_per_piece(n_rows: int) -> int:
    """Columns per thread and piece: by the rows alone, so that sums do not depend on threads."""
    return 128 if n_rows < 32_768 else 256 if n_rows < 131_072 else 512


class MatrixSource(KernelSource):
    """A kernel matrix that is in memory."""

    is_repeatable = True

    def __init__(self, K: np.ndarray):
        self.K, self.dtype, self.n_rows = K, K.dtype, len(K)
        self.diagonal = np.ascontiguousarray(np.diagonal(K))

    def write(self, rows, out):
        out[:] = self.K[rows]

    def between(self, rows, columns):
        return self.K[rows[:, None], columns]


class DataSource(KernelSource):
    """Products of rows by BLAS, or by SciPy over the non-zeros of sparse rows."""

    def __init__(self, X, formula: Formula, dtype):
        self.formula = formula
        self.dtype = np.dtype(dtype)
        self.n_rows = X.shape[0]
        self.X: Any
        if is_sparse_matrix(X):
            self.X = without_duplicates(sparse.csr_matrix(X, dtype=dtype))
            self.squares = _squares_of_sparse(self.X)
        else:
            self.X = np.ascontiguousarray(X, dtype=dtype)
            self.squares = np.einsum("ij,ij->i", self.X, self.X)
        self.diagonal = formula.diagonal(self.squares)

    def weighted_sum(self, rows, coefficients):
        """X X[rows]' c through the features: two products with X, in float64."""
        if self.formula.name != "linear":
            return None
        return np.asarray(self.X @ (coefficients @ self.X[rows]))

    def between(self, rows, columns):
        return self._finished(as_dense(self.X[rows] @ self.X[columns].T), rows, columns)

    def write(self, rows, out):
        tile = max(64, TILE_BYTES // max(out.itemsize * self.n_rows, 1))
        for start in range(0, len(rows), tile):
            part = slice(start, start + tile)
            if is_sparse_matrix(self.X):
                out[part] = (self.X[rows[part]] @ self.X.T).toarray()
            else:
                np.dot(self.X[rows[part]], self.X.T, out=out[part])
            apply_formula(self.formula, out[part], self.squares[rows[part]], self.squares)
        # k(x, x) from its own formula: rounding in |x|^2 + |x|^2 - 2<x, x> is largest there.
        out[np.arange(len(rows)), rows] = self.diagonal[rows]

    def _finished(self, dots: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel values from the dot products between some rows and some columns."""
        apply_formula(self.formula, dots, self.squares[rows], self.squares[columns])
        by_row = np.argsort(columns, kind="stable")
        first, last = (
            np.searchsorted(columns, rows, side, sorter=by_row) for side in ("left", "right")
        )
        for i in np.flatnonzero(first < last):
            dots[i, by_row[first[i] : last[i]]] = self.diagonal[rows[i]]
        return dots


def csr_of_dense(X: np.ndarray, dtype) -> sparse.csr_matrix:
    """The non-zeros of dense rows, found by all threads, three times faster than by SciPy."""
    n_columns = X.shape[1]
    parts: list[Any] = [None] * max(1, -(-len(X) // ROWS_PER_PART))

    def find(number: int) -> None:
        part = X[ROWS_PER_PART * number : ROWS_PER_PART * (number + 1)]
        at = np.flatnonzero(part)
        starts = np.arange(0, part.size + 1, n_columns)
        counts = np.diff(np.searchsorted(at, starts))
        columns = (at - np.repeat(starts[:-1], counts)).astype(np.int32)
        parts[number] = counts, columns, part.ravel()[at].astype(dtype)

    for_each(find, range(len(parts)))
    counts, columns, values = map(np.concatenate, zip(*parts, strict=True))
    return sparse.csr_matrix((values, columns, np.append(0, np.cumsum(counts))), shape=X.shape)


def _squares_of_sparse(X: sparse.csr_matrix) -> np.ndarray:
    """|x|^2 of each row, summed in float64."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(row, np.square(X.data, dtype=np.float64), X.shape[0]).astype(X.dtype)


def sparse_products(X: sparse.csr_matrix, Z: sparse.csr_matrix) -> np.ndarray:
    """Return X Z' of sparse rows as a dense array, on every core where it is large.

    SciPy's product is sparse, which takes twice as long where few numbers of it are 0. Both add up
    in the same order: they are equal to the last bit. Where X is Z, one half is the other's mirror.
    """
    columns = sparse.csc_matrix(Z)
    n_products = int(np.diff(columns.indptr)[X.indices].sum(dtype=np.int64))
    is_loaded = "semisvm.kernels.compiled" in sys.modules
    worth = WORTH_OWN_PRODUCT / 10 if is_loaded else WORTH_OWN_PRODUCT
    if n_products < worth or X.dtype != np.float64 or Z.dtype != np.float64:
        return (X @ columns.T).toarray()
    from semisvm.kernels.compiled import MULTIPLIED_ROWS, multiply_sparse

    products = np.zeros((X.shape[0], Z.shape[0]))
    # Always of the same types: compiled code is made once for each.
    arrays = (
        array
        for rows in (X, columns)
        for array in (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64))
    )
    is_symmetric = X is Z and bool(X.has_sorted_indices)
    most = -(-X.shape[0] // MULTIPLIED_ROWS)
    in_pieces(multiply_sparse, *arrays, products, is_symmetric, most=most)
    if is_symmetric:
        products += np.tril(products, -1).T
    return products


def threads_worth(n_values: int) -> int:
    """How many threads are worth waking for so many kernel values."""
    return max(1, n_values // VALUES_PER_THREAD)


class CallableSource(KernelSource):
    """The user's own function of two blocks of rows, with the interface of scikit-learn's SVC."""

    def __init__(self, X, formula: Formula, dtype):
        self.X, self.formula, self.dtype, self.n_rows = X, formula, np.dtype(dtype), X.shape[0]
        self.diagonal = np.empty(self.n_rows, dtype=dtype)
        for start in range(0, self.n_rows, DIAGONAL_ROWS):
            part = slice(start, start + DIAGONAL_ROWS)
            self.diagonal[part] = np.diagonal(cross_kernel(formula, X[part], X[part]))

    def write(self, rows, out):
        out[:] = cross_kernel(self.formula, self.X[rows], self.X)

    def between(self, rows, columns):
        return np.asarray(
            cross_kernel(self.formula, self.X[rows], self.X[columns]), dtype=self.dtype
        )


def cross_kernel(formula: Formula, left, right) -> np.ndarray:
    """Return the kernel values between two blocks of rows."""
    if formula.function is None:
        if formula.name != "rbf":
            return formula.finish(safe_sparse_dot(left, right.T, dense_output=True), None, None)
        # In float64: squared distances are small differences of large numbers.
        left = left.astype(np.float64, copy=False)
        right = right.astype(np.float64, copy=False)
        is_dense = not is_sparse_matrix(left) and not is_sparse_matrix(right)
        if is_dense and (center := far_center(right)) is not None:
            left, right = left - center, right - center
        dots = safe_sparse_dot(left, right.T, dense_output=True)
        return formula.finish(dots, row_norms(left, squared=True), row_norms(right, squared=True))
    values = np.asarray(as_dense(formula.function(left, right)))
    wanted = (left.shape[0], right.shape[0])
    if values.shape != wanted:
        raise ValueError(
            f"The kernel function returned an array of shape {values.shape} for blocks of"
            f" {wanted[0]} and {wanted[1]} rows; it must return one value per pair, shape {wanted}."
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"The kernel function returned values of type {values.dtype}; it must return real"
            " numbers."
        )
    return values


def apply_formula(formula, dots, squares_left, squares):
    """`Formula.finish`, with the compiled exponential for the rbf kernel in float32."""
    if formula.name != "rbf" or dots.dtype != np.float32:
        formula.finish(dots, squares_left, squares)
        return
    from semisvm.kernels.compiled import rbf_of_dot_rows

    in_pieces(
        rbf_of_dot_rows, dots, squares_left, squares, formula.gamma, most=threads_worth(dots.size)
    )
