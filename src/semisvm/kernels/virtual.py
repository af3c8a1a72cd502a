"""Rows that are not data: weighted means of data rows, put behind them as rows n, n + 1, ...

Some problems have a piece on a mean: the balance constraint of CCCP asks f(mean of the unlabelled rows) = r, the
label-mean machine rewards f(mean of the guessed positives). In feature space the mean with weights a is
sum_i a_i phi(x_i), so its kernel values need no vector, only K. With A of shape (m, n), a row a mean:

    K_extended = [   K     K A'  ]      shape (n + m, n + m)
                 [  A K   A K A' ]

A solution on the extended rows is one on the data rows: coefficient c on a mean is c a_i on data row i (`fold`).
"""

import numpy as np

from semisvm.kernels.rows import KernelRows
from semisvm.kernels.sources import Source


class VirtualRows(KernelRows):
    """The rows of a kernel with means behind them, as many in memory as of the kernel alone.

    kernel   rows between the n data rows; those it has in memory are copied, none is added to it
    weights  (m, n), or (n,) for one mean: how much of each data row goes into each mean
    """

    def __init__(self, kernel: KernelRows, weights: np.ndarray):
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        if self.weights.shape[1] != kernel.n_rows:
            raise ValueError(f"weights of {self.weights.shape[1]} rows were given for {kernel.n_rows} data rows.")
        extended = _ExtendedSource(kernel, self.weights)
        super().__init__(extended, (kernel.capacity + len(self.weights)) * extended.n_rows * extended.dtype.itemsize)

    def fold(self, row_beta: np.ndarray) -> np.ndarray:
        """Coefficients of data rows and means, as coefficients of the data rows alone: the same f."""
        n_data = self.weights.shape[1]
        return row_beta[:n_data] + row_beta[n_data:] @ self.weights


class _ExtendedSource(Source):
    def __init__(self, kernel: KernelRows, weights: np.ndarray):
        self.kernel = kernel
        self.n_data, self.n_rows, self.dtype = kernel.n_rows, kernel.n_rows + len(weights), kernel.dtype
        # One pass over the rows of positive weight; every entry of a mean is then read from here.
        self.with_means = np.stack([kernel.times(a) for a in weights])  # A K, shape (m, n)
        self.between_means = self.with_means @ weights.T  # A K A'
        self.diagonal = np.append(kernel.diagonal, np.diagonal(self.between_means)).astype(self.dtype)

    def write(self, rows, out):
        is_mean = rows >= self.n_data
        means = rows[is_mean] - self.n_data
        out[is_mean] = np.hstack([self.with_means[means], self.between_means[means]])
        data = rows[~is_mean]
        out[~is_mean] = np.hstack([self._data_rows(data), self.with_means[:, data].T.astype(self.dtype)])

    def _data_rows(self, rows) -> np.ndarray:
        """K[rows], from the memory of the data's own rows where they are there."""
        kernel = self.kernel
        block = np.empty((len(rows), self.n_data), dtype=self.dtype)
        present = kernel.slot[rows] >= 0
        if present.all():
            block[:] = kernel.values[kernel.slot[rows]]
        else:
            kernel.source.write(rows, block)
        return block
