"""Where kernel rows on the host come from: one class per form of the data.

A source knows n data rows and writes rows of the kernel matrix K between all of them:

    n_rows, dtype, diagonal         the size, the float type of the rows, k(x_i, x_i) as an array of shape (n,)
    write(rows, out)                out[j] = K[rows[j]], shape (len(rows), n)
    write_at(rows, values, slots)   values[slots[j]] = K[rows[j]], for ascending slots
    is_repeatable                   whether a row made twice is equal to the last bit
"""

from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from semisvm.kernels.formula import Formula
from semisvm.kernels.resources import for_each, n_threads

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
    """Move the rows to the origin if their distance from it is large compared to their spread.

    |x - z|^2 = |x|^2 + |z|^2 - 2<x, z> loses the digits that the norms have in common. Rows near the origin are not
    moved and keep their zeros.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    return X - mean if mean @ mean > FAR_FROM_ORIGIN * X.var(axis=0, dtype=np.float64).sum() else X


class BlasSource(KernelSource):
    """Products by BLAS, for long rows with few zeros."""

    def __init__(self, X, formula: Formula, dtype):
        self.X = np.ascontiguousarray(X, dtype=dtype)
        self.formula, self.dtype, self.n_rows = formula, np.dtype(dtype), len(X)
        self.squares = np.einsum("ij,ij->i", self.X, self.X)
        self.diagonal = formula.diagonal(self.squares)

    def weighted_sum(self, rows, coefficients):
        return _linear_sum(self.X, rows, coefficients) if self.formula.name == "linear" else None

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
        """Panels repeat: each product is summed in an order that depends on its two rows alone."""
        return self._fits_panels

    @property
    def _fits_panels(self):
        from semisvm.kernels.compiled import PANEL_WIDTH

        return self.X.shape[1] * PANEL_WIDTH * self.dtype.itemsize <= LARGEST_PANEL_BYTES

    def write(self, rows, out):
        self.write_at(rows, out, np.arange(len(rows)))

    def write_at(self, rows, values, slots):
        if not self._fits_panels:
            self._write_by_scipy(rows, values, slots)
        else:
            from semisvm.kernels.compiled import PANEL_WIDTH

            n_panels = -(-self.n_rows // PANEL_WIDTH)
            edges = PANEL_WIDTH * np.linspace(0, n_panels, min(n_threads(), n_panels) + 1).astype(int)
            for_each(lambda span: self._write_columns(rows, values, slots, *span), pairwise(edges.tolist()))
        values[slots, rows] = self.diagonal[rows]

    def _write_columns(self, rows, values, slots, first, last):
        """Write columns first to last: the rbf kernel in float32 in one pass, other kernels through dot products."""
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
        for start in range(0, len(rows), SCIPY_ROWS):
            part = slice(start, start + SCIPY_ROWS)
            block = np.asarray((self.X[rows[part]] @ self.X.T).toarray(), dtype=self.dtype)
            _apply_formula(self.formula, block, self.squares[rows[part]], self.squares)
            values[slots[part]] = block


def _linear_sum(X, rows, coefficients) -> np.ndarray:
    """X X[rows]' c through the features: two products with X, in float64 like sums of kernel rows."""
    return np.asarray(X @ (coefficients @ X[rows]))


def _triple(X):
    return X.indptr, X.indices, X.data


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

    share = -(-len(dots) // n_threads())
    parts = [slice(start, start + share) for start in range(0, len(dots), share)]
    for_each(lambda part: rbf_of_dot_rows(dots[part], squares_left[part], squares, formula.gamma), parts)
