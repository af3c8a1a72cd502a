"""Rows that are not data: weighted means of data rows, put behind them as rows n, n + 1, ...

Some problems have a piece on a mean: the balance constraint of CCCP asks f(mean of the unlabeled rows) = r, the
label-mean machine rewards f(mean of the guessed positives). In feature space the mean with weights a is
sum_i a_i phi(x_i), so its kernel values need no vector, only K. With A of shape (m, n), a row a mean:

    K_extended = [   K     K A'  ]      shape (n + m, n + m)
                 [  A K   A K A' ]

A solution on the extended rows is one on the data rows: coefficient c on a mean is c a_i on data row i (`fold`). A
problem that uses only some of the data rows can have those alone in front of the means (`rows`, l of them); the means
are still those of all n.
"""

import numpy as np

from semisvm.kernels.rows import KernelRows
from semisvm.kernels.sources import Source


class VirtualRows(KernelRows):
    """The rows of a kernel, or some of them, with means behind them: in memory as many as of the kernel, and the means.

    kernel    rows between the n data rows; those it has in memory are copied, none is added to it
    weights   (m, n), or (n,) for one mean: how much of each data row goes into each mean
    products  (m, n) weights @ K, where it is known already: to make it takes every row of positive weight
    rows      (l,) the data rows in front, all n where it is left out
    dtype     of the rows, the kernel's where it is left out: means of many rows deserve more digits than a row
    """

    def __init__(
        self,
        kernel: KernelRows,
        weights: np.ndarray,
        *,
        products: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        dtype=None,
    ):
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        if self.weights.shape[1] != kernel.n_rows:
            raise ValueError(f"weights of {self.weights.shape[1]} rows were given for {kernel.n_rows} data rows.")
        rows = np.arange(kernel.n_rows) if rows is None else rows
        self.extended = _ExtendedSource(kernel, self.weights, products, rows, np.dtype(dtype or kernel.dtype))
        capacity = min(kernel.capacity, len(rows)) + len(self.weights)
        super().__init__(self.extended, capacity * self.extended.n_rows * self.extended.dtype.itemsize)

    def fold(self, row_beta: np.ndarray) -> np.ndarray:
        """Coefficients of data rows and means, as coefficients of the n data rows alone: the same f."""
        of_data, of_means = self._split(row_beta)
        return of_data + of_means @ self.weights

    def data_scores(self, row_beta: np.ndarray) -> np.ndarray:
        """What the coefficients of data rows and means give on each of the n data rows."""
        of_data, of_means = self._split(row_beta)
        return self.extended.kernel.times(of_data) + of_means @ self.extended.with_means

    def _split(self, row_beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self.extended.rows
        of_data = np.zeros(self.weights.shape[1])
        of_data[rows] = row_beta[: len(rows)]
        return of_data, row_beta[len(rows) :]


class _ExtendedSource(Source):
    def __init__(self, kernel: KernelRows, weights: np.ndarray, products: np.ndarray | None, rows, dtype):
        self.kernel, self.rows, self.dtype = kernel, rows, dtype
        self.n_data, self.n_rows = len(rows), len(rows) + len(weights)
        # One pass over the rows of positive weight; every entry of a mean is then read from here.
        self.with_means = np.stack([kernel.times(a) for a in weights]) if products is None else products  # A K
        self.between_means = self.with_means @ weights.T  # A K A'
        self.diagonal = np.append(kernel.diagonal[rows], np.diagonal(self.between_means)).astype(dtype)

    def write(self, rows, out):
        is_mean = rows >= self.n_data
        means = rows[is_mean] - self.n_data
        out[is_mean] = np.hstack([self.with_means[means][:, self.rows], self.between_means[means]])
        data = self.rows[rows[~is_mean]]
        out[~is_mean] = np.hstack([self._data_rows(data), self.with_means[:, data].T.astype(self.dtype)])

    def _data_rows(self, rows) -> np.ndarray:
        """K[rows] in the columns in use, from the memory of the data's own rows where they are there."""
        kernel = self.kernel
        present = kernel.slot[rows] >= 0
        if present.all():
            block = kernel.values[kernel.slot[rows]]
        else:
            block = np.empty((len(rows), kernel.n_rows), dtype=kernel.dtype)
            kernel.source.write(rows, block)
        return (block if self.n_data == kernel.n_rows else block[:, self.rows]).astype(self.dtype, copy=False)
