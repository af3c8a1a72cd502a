"""Where kernel rows on the host come from: one class per form of the data.

A source knows n data rows and writes rows of the kernel matrix K between all of them:

    n_rows, dtype, diagonal         the size, the float type of the rows, k(x_i, x_i) as an array of shape (n,)
    write(rows, out)                out[j] = K[rows[j]], shape (len(rows), n)
    write_at(rows, values, slots)   values[slots[j]] = K[rows[j]], for ascending slots
    between(rows, columns)          K[rows][:, columns], a few rows and columns
    is_repeatable                   whether a row made twice is equal to the last bit
"""

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from semisvm.kernels.formula import Formula
from semisvm.kernels.threads import new_counter, team

# The panel product works on the non-zeros only and applies the exponential immediately. BLAS multiplies up to twice as
# fast once rows have many non-zeros, so long and dense rows are left to BLAS.
PANEL_PAYS_BELOW_NONZEROS = 64
PANEL_PAYS_BELOW_SHARE = 0.5
HARDLY_A_ZERO = 0.9  # share of non-zeros above which the panel saves no work at all, however short the rows
# Without an exponential, BLAS makes rows of up to 64 features three to seven times as fast: the panel is used only for
# rows that are nearly empty.
PANEL_PAYS_BELOW_SHARE_UNFUSED = 0.1
# Beyond this size the dense panel of data rows does not fit the caches, and SciPy's sparse product is faster.
LARGEST_PANEL_BYTES = 32_000_000
FAR_FROM_ORIGIN = 4.0  # squared distance of the mean from the origin, in units of the total variance
TILE_BYTES = 8_000_000  # dense rows made at a time, so that the exponential finds the products in the cache
SCIPY_ROWS = 64  # rows per sparse product of SciPy
VALUES_PER_THREAD = 50_000  # kernel values: fewer are made before another thread has woken up
DIAGONAL_ROWS = 256  # rows per call of the user's function for the diagonal


class KernelSource:
    """Rows of K between n data rows, made on demand."""

    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray

    @property
    def is_repeatable(self) -> bool:
        """Whether a row made twice is equal to the last bit."""
        return False

    def write(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write K[rows] into `out`."""
        raise NotImplementedError

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K[rows][:, columns]: from whole rows, unless there is a shorter way."""
        block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
        self.write(rows, block)
        return block[:, columns]

    def weighted_sum(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray | None:
        """Return sum_j coefficients[j] K[rows[j]] if it can be computed without the rows themselves, else None."""
        return None

    def write_at(self, rows: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
        """Write K[rows] into the slots (ascending) of `values`: through a block, unless the slots are adjacent."""
        first, last = slots[0], slots[-1]
        if last - first + 1 == len(slots):
            self.write(rows, values[first : last + 1])
        else:
            block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
            self.write(rows, block)
            values[slots] = block


def make_source(X, formula: Formula, dtype) -> KernelSource:
    """Return the source whose product is fastest for these data, whether they are dense or sparse."""
    if formula.function is not None:
        return CallableSource(X, formula, dtype)
    if sparse.issparse(X):
        return PanelSource(X, formula, dtype)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    counts, mean, square = _scan(X)
    # |x - z|^2 = |x|^2 + |z|^2 - 2<x, z> loses the digits that the norms have in common. So rows that are far from the
    # origin for their spread are moved there; others are not moved and keep their zeros.
    if formula.name == "rbf" and mean @ mean > FAR_FROM_ORIGIN * (square - mean @ mean):
        X = X - mean
        counts, _, _ = _scan(X)
    n_nonzeros = counts.sum() / max(len(X), 1)
    if formula.name == "rbf" and np.dtype(dtype) == np.float32:
        is_short = n_nonzeros <= min(PANEL_PAYS_BELOW_NONZEROS, HARDLY_A_ZERO * X.shape[1])
        is_panel_work = is_short or n_nonzeros <= PANEL_PAYS_BELOW_SHARE * X.shape[1]
    else:
        is_panel_work = n_nonzeros <= PANEL_PAYS_BELOW_SHARE_UNFUSED * X.shape[1]
    return PanelSource(X, formula, dtype, counts) if is_panel_work else BlasSource(X, formula, dtype)


def _scan(X) -> tuple[np.ndarray, np.ndarray, float]:
    """The number of non-zeros of each dense row, the mean row, and the mean squared norm."""
    from semisvm.kernels.compiled_panels import SCANNED_ROWS, scan_rows

    n, n_pieces = len(X), -(-len(X) // SCANNED_ROWS)
    counts, sums, squares = np.empty(n, dtype=np.int64), np.zeros((n_pieces, X.shape[1])), np.zeros(n_pieces)
    X, counter = np.ascontiguousarray(X), new_counter()
    team().run(lambda: scan_rows(counter, X, counts, sums, squares), n_pieces)
    return counts, sums.sum(axis=0) / max(n, 1), float(squares.sum()) / max(n, 1)


class BlasSource(KernelSource):
    """Products by BLAS, for long rows with few zeros."""

    def __init__(self, X, formula: Formula, dtype):
        self.X = np.ascontiguousarray(X, dtype=dtype)
        self.formula, self.dtype, self.n_rows = formula, np.dtype(dtype), len(X)
        self.squares = np.einsum("ij,ij->i", self.X, self.X)
        self.diagonal = formula.diagonal(self.squares)

    def weighted_sum(self, rows, coefficients):
        return _linear_sum(self.X, rows, coefficients) if self.formula.name == "linear" else None

    def between(self, rows, columns):
        return _finished(self, self.X[rows] @ self.X[columns].T, rows, columns)

    def write(self, rows, out):
        tile = max(64, TILE_BYTES // max(out.itemsize * self.n_rows, 1))
        for start in range(0, len(rows), tile):
            part = slice(start, start + tile)
            np.dot(self.X[rows[part]], self.X.T, out=out[part])
            _apply_formula(self.formula, out[part], self.squares[rows[part]], self.squares)
        # k(x, x) from its own formula: rounding in |x|^2 + |x|^2 - 2<x, x> is largest there.
        out[np.arange(len(rows)), rows] = self.diagonal[rows]


class PanelSource(KernelSource):
    """Products over the non-zeros only, on every core, for sparse rows and short dense rows."""

    def __init__(self, X, formula: Formula, dtype, counts: np.ndarray | None = None):
        self.formula, self.dtype, self.n_rows = formula, np.dtype(dtype), X.shape[0]
        self.X = _csr_of_sparse(X, dtype) if counts is None else _csr_of_dense(X, dtype, counts)
        # Always of the same types: compiled code is made once for each.
        indptr, indices = self.X.indptr.astype(np.int64), self.X.indices.astype(np.int32, copy=False)
        self.squares = _squares(indptr, self.X.data)
        self.diagonal = formula.diagonal(self.squares)
        numbers = formula.numbers, self.X.shape[1]
        self.arrays = indptr, indices, self.X.data, self.squares, self.diagonal, *numbers

    def weighted_sum(self, rows, coefficients):
        return _linear_sum(self.X, rows, coefficients) if self.formula.name == "linear" else None

    @property
    def is_repeatable(self):
        """Panels repeat: each product is summed in an order that depends on its two rows alone."""
        return self.fits_panels

    @property
    def fits_panels(self):
        """Whether there are few enough features for panels."""
        from semisvm.kernels.compiled import PANEL_WIDTH

        return self.X.shape[1] * PANEL_WIDTH * self.dtype.itemsize <= LARGEST_PANEL_BYTES

    def write(self, rows, out):
        self.write_at(rows, out, np.arange(len(rows)))

    def write_at(self, rows, values, slots):
        if not self.fits_panels:
            self._write_by_scipy(rows, values, slots)
            values[slots, rows] = self.diagonal[rows]
            return
        from semisvm.kernels.compiled_panels import make_kernel_rows

        counter, n_values = new_counter(), len(rows) * self.n_rows
        team().run(lambda: make_kernel_rows(counter, values, slots, rows, self.arrays), threads_worth(n_values))

    def between(self, rows, columns):
        dots = np.asarray((self.X[rows] @ self.X[columns].T).toarray(), dtype=self.dtype)
        return _finished(self, dots, rows, columns)

    def _write_by_scipy(self, rows, values, slots):
        for start in range(0, len(rows), SCIPY_ROWS):
            part = slice(start, start + SCIPY_ROWS)
            block = np.asarray((self.X[rows[part]] @ self.X.T).toarray(), dtype=self.dtype)
            _apply_formula(self.formula, block, self.squares[rows[part]], self.squares)
            values[slots[part]] = block


def _linear_sum(X, rows, coefficients) -> np.ndarray:
    """X X[rows]' c through the features: two products with X, in float64 like sums of kernel rows."""
    return np.asarray(X @ (coefficients @ X[rows]))


def _csr_of_sparse(X, dtype):
    X = sparse.csr_matrix(X, dtype=dtype)
    if not X.has_canonical_format:
        X = X.copy()  # the arrays may be the user's
        X.sum_duplicates()
    return X


def _csr_of_dense(X, dtype, counts: np.ndarray):
    """CSR form of dense rows with the given numbers of non-zeros, on every core."""
    from semisvm.kernels.compiled_panels import SCANNED_ROWS, fill_csr

    indptr = np.append(0, np.cumsum(counts))
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=dtype)
    X, counter = np.ascontiguousarray(X), new_counter()
    team().run(lambda: fill_csr(counter, X, indptr, indices, data), -(-len(X) // SCANNED_ROWS))
    return sparse.csr_matrix((data, indices, indptr), shape=X.shape)


def _squares(indptr: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Squared norms of the rows of a CSR matrix, in its float type."""
    from semisvm.kernels.compiled_panels import SCANNED_ROWS, fill_squares

    squares, counter = np.empty(len(indptr) - 1, dtype=data.dtype), new_counter()
    team().run(lambda: fill_squares(counter, squares, indptr, data), -(-len(squares) // SCANNED_ROWS))
    return squares


def threads_worth(n_values: int) -> int:
    """How many threads are worth waking for so many kernel values."""
    return max(1, n_values // VALUES_PER_THREAD)


def _finished(source, dots: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Kernel values from the dot products between some rows and some columns of a source."""
    source.formula.finish(dots, source.squares[rows], source.squares[columns])
    same = np.equal.outer(rows, columns)
    dots[same] = np.broadcast_to(source.diagonal[rows][:, None], dots.shape)[same]
    return dots


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
        return np.asarray(cross_kernel(self.formula, self.X[rows], self.X[columns]), dtype=self.dtype)


def cross_kernel(formula: Formula, left, right) -> np.ndarray:
    """Return the kernel values between two blocks of rows, in the precision of the data."""
    if formula.function is None:
        return pairwise_kernels(left, right, **formula.as_pairwise())
    values = np.asarray(formula.function(left, right))
    wanted = (left.shape[0], right.shape[0])
    if values.shape != wanted:
        raise ValueError(
            f"The kernel function returned an array of shape {values.shape} for blocks of {wanted[0]} and "
            f"{wanted[1]} rows; it must return one value per pair, shape {wanted}."
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"The kernel function returned values of type {values.dtype}; it must return real numbers.")
    return values


def _apply_formula(formula, dots, squares_left, squares):
    """`Formula.finish`, with the compiled exponential on every core for the rbf kernel in float32."""
    if formula.name != "rbf" or dots.dtype != np.float32:
        formula.finish(dots, squares_left, squares)
        return
    from semisvm.kernels.compiled import rbf_of_dot_rows

    counter = new_counter()
    team().run(lambda: rbf_of_dot_rows(counter, dots, squares_left, squares, formula.gamma), threads_worth(dots.size))
