"""Rows that are not data: weighted means of data rows, placed behind them.

Some problems have a piece of loss on a mean: the balance constraint of CCCP asks f(mean of the
unlabeled rows) = r, the label-mean SVM rewards f(mean of the rows guessed positive). In feature
space the mean with weights a is sum_i a_i phi(x_i), so its kernel values need no vector, only K.
With one mean per row of A, (m, n):

    K_extended = [   K     K A'  ]      (n + m, n + m)
                 [  A K   A K A' ]

A product with K_extended is a product with K, so there is nothing to keep but A K: rows of K stay
in the memory of their own kernel, and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.engine.kernels.kernel import WHOLE_BYTES, KernelVerbs

ROWS_AT_ONCE = 256


class KernelWithMeans(KernelVerbs):
    """The rows of a kernel, or some of them, followed by weighted means of its rows.

    weights    (m, n) or (n,), how much of each data row goes into each mean
    products   (m, n) A K, if it is known: computing it takes every row of non-zero weight
    data       (l,) the data rows before the means; all n by default. Means are of all n.
    dtype      by default that of the kernel; means of many rows may need more digits than rows
    """

    def __init__(
        self,
        kernel: Any,
        weights: np.ndarray,
        *,
        products: np.ndarray | None = None,
        data: np.ndarray | None = None,
        dtype: Any = None,
    ):
        self.kernel, self.weights = kernel, np.atleast_2d(np.asarray(weights, dtype=np.float64))
        if self.weights.shape[1] != kernel.n_rows:
            raise ValueError(
                f"weights has {self.weights.shape[1]} columns, but the kernel has {kernel.n_rows}"
                " rows."
            )
        self.data = np.arange(kernel.n_rows) if data is None else data
        if products is None:
            products = np.stack([kernel.times(a) for a in self.weights])
        self.AK, self.AKA = products, products @ self.weights.T
        self.n_data, self.n_rows = len(self.data), len(self.data) + len(self.weights)
        self.dtype = np.dtype(dtype or kernel.dtype)
        ends = np.diagonal(self.AKA)
        self.diagonal = np.append(kernel.diagonal[self.data], ends).astype(self.dtype)
        self._whole: np.ndarray | None = None

    @property
    def n_remade(self) -> int:  # type: ignore[override]
        return self.kernel.n_remade

    @property
    def is_repeatable(self) -> bool:  # type: ignore[override]
        return self.kernel.is_repeatable

    def fold(self, row_beta: np.ndarray) -> np.ndarray:
        """The coefficients of the n data rows alone, (n,), that give the same f."""
        of_data = np.zeros(self.kernel.n_rows)
        of_data[self.data] = row_beta[: self.n_data]
        return of_data + row_beta[self.n_data :] @ self.weights

    def data_scores(self, row_beta: np.ndarray) -> np.ndarray:
        """K_extended @ beta at all n data rows, before the means or not."""
        of_data = np.zeros(self.kernel.n_rows)
        of_data[self.data] = row_beta[: self.n_data]
        return self.kernel.times(of_data) + row_beta[self.n_data :] @ self.AK

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        n = self.n_data
        of_data, at_data = np.flatnonzero(rows < n), np.flatnonzero(columns < n)
        of_mean, at_mean = np.flatnonzero(rows >= n), np.flatnonzero(columns >= n)
        data, to_data = self.data[rows[of_data]], self.data[columns[at_data]]
        mean, to_mean = rows[of_mean] - n, columns[at_mean] - n
        block = np.empty((len(rows), len(columns)), dtype=self.dtype)
        if len(data) and len(to_data):
            block[np.ix_(of_data, at_data)] = self.kernel.block(data, to_data)
        block[np.ix_(of_data, at_mean)] = self.AK[np.ix_(to_mean, data)].T
        block[np.ix_(of_mean, at_data)] = self.AK[np.ix_(mean, to_data)]
        block[np.ix_(of_mean, at_mean)] = self.AKA[np.ix_(mean, to_mean)]
        return block

    def whole(self) -> np.ndarray | None:
        n_bytes = self.n_rows**2 * self.dtype.itemsize
        if self._whole is None and n_bytes <= min(WHOLE_BYTES, self.kernel.spare_bytes):
            everything = np.arange(self.n_rows)
            parts = np.split(everything, range(ROWS_AT_ONCE, self.n_rows, ROWS_AT_ONCE))
            self._whole = np.concatenate([self.block(part, everything) for part in parts])
        return self._whole

    def fill_gram(self, G: np.ndarray, row: np.ndarray, new: np.ndarray) -> None:
        block = self.block(row[new], row)
        G[new[:, None], np.arange(len(row))] = block
        G[np.arange(len(row))[:, None], new] = block.T

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        return self._extended(
            self.data_scores(coefficients),
            coefficients[: self.n_data],
            coefficients[self.n_data :],
        )

    def spread(self, rows: np.ndarray, moves: np.ndarray, keep: np.ndarray) -> np.ndarray:
        if self._whole is not None:
            return moves @ self._whole[rows]
        is_data = rows < self.n_data
        of_data, of_means = np.zeros(self.n_data), np.zeros(len(self.weights))
        of_data[rows[is_data]] = moves[is_data]
        of_means[rows[~is_data] - self.n_data] = moves[~is_data]
        change = self.kernel.spread(self.data[rows[is_data]], moves[is_data], keep[is_data])
        return self._extended(change + of_means @ self.AK, of_data, of_means)

    def _extended(
        self, scores: np.ndarray, of_data: np.ndarray, of_means: np.ndarray
    ) -> np.ndarray:
        """The scores of the data rows in use, from those of all n, and of the means."""
        at_means = self.AK[:, self.data] @ of_data + self.AKA @ of_means
        return np.append(scores[self.data], at_means)
