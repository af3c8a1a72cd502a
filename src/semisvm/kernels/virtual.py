"""Rows that are not data: weighted means of data rows, placed after them as rows n, n + 1, ...

Some problems have a piece on a mean: the balance constraint of CCCP asks f(mean of the unlabeled
rows) = r, the label-mean SVM rewards f(mean of the rows guessed positive). In feature space the
mean with weights a is sum_i a_i phi(x_i), so its kernel values need no vector, only K. With one
mean per row of A, shape (m, n):

    K_extended = [   K     K A'  ]      shape (n + m, n + m)
                 [  A K   A K A' ]

A solution on the extended rows is also one on the data rows: coefficient c on a mean is c a_i on
data row i (`fold`). A problem that uses only some of the data rows can have only those before the
means (`rows`, l of them); the means are still means of all n.
"""

from typing import Any, cast

import numpy as np

from semisvm.kernels.rows import CachedRows, KernelRows
from semisvm.kernels.sources import KernelSource


class VirtualRows(CachedRows):
    """The rows of a kernel, or some of them, followed by weighted means of its rows.

    weights    (m, n) or (n,), how much of each data row goes into each mean
    products   (m, n), weights @ K, if it is known: computing it takes every row of non-zero weight
    rows       (l,) the data rows before the means; all n by default
    dtype      by default that of `kernel`; means of many rows may need more digits than rows

    Memory holds as many data rows as that of `kernel` does, and the means. Rows that `kernel` has
    in memory are copied, none is added to it.
    """

    def __init__(
        self,
        kernel: KernelRows,
        weights: Any,
        *,
        products: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        dtype: Any = None,
    ):
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        if self.weights.shape[1] != kernel.n_rows:
            raise ValueError(
                f"weights has {self.weights.shape[1]} columns, but the kernel has {kernel.n_rows}"
                " rows."
            )
        rows = np.arange(kernel.n_rows) if rows is None else rows
        self.extended = ExtendedSource(
            kernel, self.weights, products, rows, np.dtype(dtype or kernel.dtype)
        )
        self.home = kernel.home
        capacity = min(kernel.capacity, len(rows)) + len(self.weights)
        super().__init__(
            self.extended, capacity * self.extended.n_rows * self.extended.dtype.itemsize
        )

    def fold(self, row_beta: np.ndarray) -> np.ndarray:
        """Return the coefficients of the n data rows alone, (n,), that give the same f as
        `row_beta`, (l + m,).
        """
        of_data, of_means = self._split(row_beta)
        return of_data + of_means @ self.weights

    def data_scores(self, row_beta: np.ndarray) -> np.ndarray:
        """Return the scores K_extended beta of all n data rows, (n,), before the means or not."""
        of_data, of_means = self._split(row_beta)
        return self.extended.kernel.times(of_data) + of_means @ self.extended.with_means

    def _split(self, row_beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self.extended.rows
        of_data = np.zeros(self.weights.shape[1])
        of_data[rows] = row_beta[: len(rows)]
        return of_data, row_beta[len(rows) :]


class ExtendedSource(KernelSource):
    """Makes the rows of K_extended; `with_means` is A K, `between_means` is A K A'."""

    def __init__(
        self,
        kernel: KernelRows,
        weights: np.ndarray,
        products: np.ndarray | None,
        rows: np.ndarray,
        dtype: np.dtype,
    ):
        self.kernel = kernel
        self.rows = rows
        self.dtype = dtype
        self.n_data = len(rows)
        self.n_rows = len(rows) + len(weights)
        # One pass over the rows of non-zero weight; every entry of a mean is then read from here.
        self.with_means = (
            np.stack([kernel.times(a) for a in weights]) if products is None else products
        )
        self.between_means = self.with_means @ weights.T
        self.diagonal = np.append(kernel.diagonal[rows], np.diagonal(self.between_means)).astype(
            dtype
        )

    def write(self, rows: np.ndarray, out: np.ndarray) -> None:
        is_mean = rows >= self.n_data
        means = rows[is_mean] - self.n_data
        out[is_mean] = np.hstack([self.with_means[means][:, self.rows], self.between_means[means]])
        data = self.rows[rows[~is_mean]]
        out[~is_mean] = np.hstack(
            [self._data_rows(data), self.with_means[:, data].T.astype(self.dtype)]
        )

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        block = np.empty((len(rows), len(columns)), dtype=self.dtype)
        data = np.flatnonzero(rows < self.n_data)
        mean = np.flatnonzero(rows >= self.n_data)
        data_at = np.flatnonzero(columns < self.n_data)
        mean_at = np.flatnonzero(columns >= self.n_data)
        data_rows = self.rows[rows[data]]
        data_columns = self.rows[columns[data_at]]
        means = rows[mean] - self.n_data
        mean_columns = columns[mean_at] - self.n_data
        block[data[:, None], data_at] = cast(CachedRows, self.kernel).between(
            data_rows, data_columns
        )
        block[data[:, None], mean_at] = self.with_means[mean_columns[:, None], data_rows].T
        block[mean[:, None], data_at] = self.with_means[means[:, None], data_columns]
        block[mean[:, None], mean_at] = self.between_means[means[:, None], mean_columns]
        return block

    def _data_rows(self, rows: np.ndarray) -> np.ndarray:
        """K[rows] in the columns in use."""
        block = self.kernel.fetch(rows)
        return (block if self.n_data == self.kernel.n_rows else block[:, self.rows]).astype(
            self.dtype, copy=False
        )
