"""Where kernel rows come from: one class for each form the data can have.

A source knows n data rows and writes rows of K between all of them:

    n_rows, dtype, diagonal         the size, the float type of the rows, k(x_i, x_i) as an array of shape (n,)
    write(rows, out)                out[j] = K[rows[j]], shape (len(rows), n)
    write_at(rows, values, slots)   values[slots[j]] = K[rows[j]], wherever the slots are
    is_repeatable                   whether a row made twice is the same row to the last bit
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from semisvm.kernels.formula import Formula
from semisvm.kernels.threads import for_each, n_threads

# The panel product does only the non-zero work and takes the exponential on the spot. BLAS multiplies up to twice
# as fast once rows have many non-zeros, so it is left the long and dense ones.
PANEL_PAYS_BELOW_NONZEROS = 64
PANEL_PAYS_BELOW_SHARE = 0.5
HARDLY_A_ZERO = 0.9  # share of non-zeros above which the panel saves no work at all, however short the rows
# Where there is no exponential to take on the spot, BLAS makes rows of up to 64 features three to seven times as fast:
# the panel is left what is nearly empty.
PANEL_PAYS_BELOW_SHARE_UNFUSED = 0.1
# Beyond this the dense panel of data rows leaves the processor's caches and SciPy's sparse product is the better one.
LARGEST_PANEL_BYTES = 32_000_000
FAR_FROM_ORIGIN = 4.0  # squared distance of the mean from the origin, in units of the total variance
_TILE_BYTES = 8_000_000  # dense rows made at a time, so that the exponential finds the products still in cache


class Source:
    """Rows of K between n data rows, made on demand."""

    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray

    @property
    def is_repeatable(self) -> bool:
        return False

    def write(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Make K[rows] in `out`."""
        raise NotImplementedError

    def weighted_sum(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray | None:
        """sum_j coefficients[j] K[rows[j]], where it can be had without the rows themselves: else None."""
        return None

    def write_at(self, rows: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
        """Make K[rows] in the slots (ascending) of `values`: by way of a block, unless the slots are neighbors."""
        first, last = slots[0], slots[-1]
        if last - first + 1 == len(slots):
            self.write(rows, values[first : last + 1])
        else:
            block = np.empty((len(rows), self.n_rows), dtype=self.dtype)
            self.write(rows, block)
            values[slots] = block


def make_source(X, formula: Formula, dtype) -> Source:
    """Choose the source by which product is faster for the data at hand, whatever the user's form."""
    if formula.function is not None:
        return CallableSource(X, formula, dtype)
    if sparse.issparse(X):
        return PanelSource(X, formula, dtype)
    if formula.name == "rbf":
        X = _centered_if_far(X)
    n_nonzeros = np.count_nonzero(X) / max(len(X), 1)
    if formula.name == "rbf" and np.dtype(dtype) == np.float32:
        is_short = n_nonzeros <= min(PANEL_PAYS_BELOW_NONZEROS, HARDLY_A_ZERO * X.shape[1])
        is_panel_work = is_short or n_nonzeros <= PANEL_PAYS_BELOW_SHARE * X.shape[1]
    else:
        is_panel_work = n_nonzeros <= PANEL_PAYS_BELOW_SHARE_UNFUSED * X.shape[1]
    return (PanelSource if is_panel_work else BlasSource)(X, formula, dtype)


def _centered_if_far(X):
    """Move the rows to the origin when they lie far from it for their spread.

    |x - z|^2 = |x|^2 + |z|^2 - 2<x, z> loses the digits that the norms have in common. Rows that are near the origin
    already stay where they are, and keep their zeros.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    return X - mean if mean @ mean > FAR_FROM_ORIGIN * X.var(axis=0, dtype=np.float64).sum() else X


class BlasSource(Source):
    """Products by BLAS: long rows with few zeros."""

    def __init__(self, X, formula: Formula, dtype):
        self.X = np.ascontiguousarray(X, dtype=dtype)
        self.formula, self.dtype, self.n_rows = formula, np.dtype(dtype), len(X)
        self.squares = np.einsum("ij,ij->i", self.X, self.X)
        self.diagonal = formula.diagonal(self.squares)

    def weighted_sum(self, rows, coefficients):
        return _linear_sum(self.X, rows, coefficients) if self.formula.name == "linear" else None

    def write(self, rows, out):
        tile = max(64, _TILE_BYTES // max(out.itemsize * self.n_rows, 1))
        for start in range(0, len(rows), tile):
            part = slice(start, start + tile)
            np.dot(self.X[rows[part]], self.X.T, out=out[part])
            _finish(self.formula, out[part], self.squares[rows[part]], self.squares)
        # k(x, x) from its own formula: rounding in |x|^2 + |x|^2 - 2<x, x> would show there first.
        out[np.arange(len(rows)), rows] = self.diagonal[rows]


class PanelSource(Source):
    """Products over the non-zeros only, on every core: sparse rows, and dense ones that are short."""

    def __init__(self, X, formula: Formula, dtype):
        self.X = sparse.csr_matrix(X, dtype=dtype)
        if not self.X.has_canonical_format:
            self.X = self.X.copy()  # the arrays may be the user's
            self.X.sum_duplicates()
        self.formula, self.dtype, self.n_rows = formula, np.dtype(dtype), self.X.shape[0]
        self.squares = np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=dtype).ravel()
        self.diagonal = formula.diagonal(self.squares)

    def weighted_sum(self, rows, coefficients):
        return _linear_sum(self.X, rows, coefficients) if self.formula.name == "linear" else None

    @property
    def is_repeatable(self):
        """Each product of the panels is summed in an order that depends on its two rows alone."""
        return self._fits_panels

    @property
    def _fits_panels(self):
        from semisvm.kernels.compiled import WIDTH

        return self.X.shape[1] * WIDTH * self.dtype.itemsize <= LARGEST_PANEL_BYTES

    def write(self, rows, out):
        self.write_at(rows, out, np.arange(len(rows)))

    def write_at(self, rows, values, slots):
        if not self._fits_panels:
            self._write_by_scipy(rows, values, slots)
        else:
            from semisvm.kernels.compiled import WIDTH

            n_panels = -(-self.n_rows // WIDTH)
            edges = WIDTH * np.linspace(0, n_panels, min(n_threads(), n_panels) + 1).astype(int)
            for_each(lambda span: self._write_columns(rows, values, slots, *span), pairwise(edges.tolist()))
        values[slots, rows] = self.diagonal[rows]

    def _write_columns(self, rows, values, slots, first, last):
        """Columns first to last: the rbf kernel in float32 at once, other kernels by way of their dot products."""
        from semisvm.kernels.compiled import sparse_products, sparse_rbf

        wanted, data, last = _triple(self.X[rows]), _triple(self.X), min(last, self.n_rows)
        if self.formula.name == "rbf" and self.dtype == np.float32:
            squares = self.squares[rows], self.squares
            sparse_rbf(values, slots, wanted, data, *squares, self.formula.gamma, first, last)
            return
        sparse_products(values, slots, wanted, data, first, last)
        for row, slot in zip(rows, slots, strict=True):
            self.formula.finish(values[slot : slot + 1, first:last], self.squares[[row]], self.squares[first:last])

    def _write_by_scipy(self, rows, values, slots):
        for start in range(0, len(rows), 64):
            part = slice(start, start + 64)
            block = np.asarray((self.X[rows[part]] @ self.X.T).toarray(), dtype=self.dtype)
            _finish(self.formula, block, self.squares[rows[part]], self.squares)
            values[slots[part]] = block


def _linear_sum(X, rows, coefficients) -> np.ndarray:
    """X X[rows]' c by way of the features: two products with X, in float64 as sums of kernel rows are."""
    return np.asarray(X @ (coefficients @ X[rows]))


def _triple(X):
    return X.indptr, X.indices, X.data


class CallableSource(Source):
    """The user's own function of two blocks of rows, as scikit-learn's SVC takes it."""

    def __init__(self, X, formula: Formula, dtype):
        self.X, self.formula, self.dtype, self.n_rows = X, formula, np.dtype(dtype), X.shape[0]
        self.diagonal = np.empty(self.n_rows, dtype=dtype)
        for start in range(0, self.n_rows, 256):
            part = slice(start, start + 256)
            self.diagonal[part] = np.diagonal(cross_kernel(formula, X[part], X[part]))

    def write(self, rows, out):
        out[:] = cross_kernel(self.formula, self.X[rows], self.X)


@dataclass
class GivenMatrix(Source):
    """A kernel matrix the user brought: nothing to make, nothing to copy."""

    K: np.ndarray

    def __post_init__(self):
        self.n_rows, self.dtype = len(self.K), self.K.dtype
        self.diagonal = np.ascontiguousarray(np.diagonal(self.K))

    def write(self, rows, out):
        out[:] = self.K[rows]


def cross_kernel(formula: Formula, left, right) -> np.ndarray:
    """Kernel values between two blocks of rows, in the precision of the data."""
    if formula.function is None:
        return pairwise_kernels(left, right, **formula.as_pairwise())
    values = np.asarray(formula.function(left, right))
    wanted = (left.shape[0], right.shape[0])
    if values.shape != wanted:
        raise ValueError(
            f"The kernel function returned an array of shape {values.shape} for blocks of {wanted[0]} and "
            f"{wanted[1]} rows; it must return one value for each pair, shape {wanted}."
        )
    return values


def _finish(formula, dots, squares_left, squares):
    """`Formula.finish`, with the compiled exponential and every core for the common case."""
    if formula.name != "rbf" or dots.dtype != np.float32:
        formula.finish(dots, squares_left, squares)
        return
    from semisvm.kernels.compiled import rbf_of_dot_rows

    share = -(-len(dots) // n_threads())
    parts = [slice(start, start + share) for start in range(0, len(dots), share)]
    for_each(lambda part: rbf_of_dot_rows(dots[part], squares_left[part], squares, formula.gamma), parts)
