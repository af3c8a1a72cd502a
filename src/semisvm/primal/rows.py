"""Rows, wherever they are: solvers see sums over parts of them, added up in a fixed order.

    RowPart   X (m, d) dense float64 or CSR;  codes (m,) classes, -1 for none;  weight (m,);  span:
              which rows they are

    rows.sum_over(function, *broadcast)   function(part, *broadcast) -> array, added up over all
    parts
    rows.map_over(function, *broadcast)   the same, the results one after the other
    rows.sample(n, seed)                  random rows, in memory

`function` and `broadcast` are picklable, because on a cluster they travel to the rows. The order in
which parts are added up depends on the rows alone, never on threads or workers: a fit gives the
same bits on any number of them.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from functools import cached_property, partial, reduce
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.kernels.threads import for_each
from semisvm.matrices import as_dense, is_sparse_matrix
from semisvm.memory import budget_bytes
from semisvm.primal.problem import GivenPrices, Prices, RowPart, csr_arrays, widen

NUMBERS_PER_PART = (
    1 << 18
)  # two megabytes: they stay in the processor's cache from one use to the next
ROWS_PER_SQUARE, SPARSE_ROWS_AT_ONCE = (
    256,
    1_000,
)  # of products between rows, which are made so many at a time
DENSE_SHARE = 0.05  # sparse rows with more numbers than this share are multiplied as dense ones
KEPT_FACTOR, ALWAYS_KEPT = (
    1.5,
    2_000,
)  # rows whose products are kept: times those asked for, and any so many
MOST_BLOCKS = (
    8  # of parts that threads take; a constant, so that sums do not depend on the number of threads
)


class Rows(abc.ABC):
    """What solvers need of rows; see the module's docstring. Subclasses say where the rows are.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_features : int
        Number of features.
    is_sparse : bool
        Whether parts are CSR.
    classes : ndarray or None
        The class labels, where the rows bring their codes.
    feature_names : ndarray or None
        The names of the columns, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.primal.rows import MemoryRows
    >>> MemoryRows(np.eye(3)).sum_over(lambda part: part.X.sum(axis=0))
    array([1., 1., 1.])
    """

    n_rows: int
    n_features: int
    is_sparse: bool = False
    classes: np.ndarray | None = None
    feature_names: np.ndarray | None = None

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        """Add up what a function makes of each part, in an order that depends on the rows alone.

        Parameters
        ----------
        function : callable
            Called as ``function(part, *broadcast)``; returns an array of one shape, which may be
            overwritten.
        *broadcast : object
            What the function needs beside the part.

        Returns
        -------
        ndarray
            The sum.
        """
        return self._sum_over(function, *broadcast)

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        """Return what a function makes of each part, in the order of the rows.

        Parameters
        ----------
        function : callable
            Called as ``function(part, *broadcast)``.
        *broadcast : object
            What the function needs beside the part.

        Returns
        -------
        iterator
            One result per part.
        """
        return self._map_over(function, *broadcast)

    def sample(self, n: int, seed: int) -> MemoryRows:
        """Return random rows, in memory, with their codes and weights.

        Parameters
        ----------
        n : int
            How many rows.
        seed : int
            Of the random draw.

        Returns
        -------
        MemoryRows
            The rows; their `origin` says which of all rows they are.
        """
        return self._sample(n, seed)

    @abc.abstractmethod
    def _sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray: ...

    @abc.abstractmethod
    def _map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]: ...

    @abc.abstractmethod
    def _sample(self, n: int, seed: int) -> MemoryRows: ...

    def _draw(self, n: int, seed: int) -> np.ndarray:
        """The numbers of random rows, ascending."""
        return np.sort(
            np.random.default_rng(seed).choice(self.n_rows, min(n, self.n_rows), replace=False)
        )


class MemoryRows(Rows):
    """Rows in memory, dense or CSR.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_rows, n_features)
        The rows, float32 or float64; sums are in float64 either way.
    codes : ndarray of int of shape (n_rows,), default=None
        Class codes, -1 for none, where prices depend on them.
    weight : ndarray of shape (n_rows,), default=None
        How many rows each row counts for.
    origin : ndarray of int of shape (n_rows,), default=None
        Of a sample: which rows these are.
    first : int, default=0
        Of a chunk of more rows: the number of its first row.
    memory : int, default=None
        Most bytes of inner products between rows that are kept; by default half of the free memory.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.primal.rows import MemoryRows
    >>> MemoryRows(np.eye(3)).n_rows
    3
    """

    def __init__(
        self,
        X: Any,
        codes: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        origin: np.ndarray | None = None,
        *,
        first: int = 0,
        memory: int | None = None,
    ):
        self.is_sparse = is_sparse_matrix(X)
        if self.is_sparse:
            X = sparse.csr_array(X)
            if not X.has_canonical_format:
                X = X.copy()  # the user's array is not changed
                X.sum_duplicates()
        self.X = X
        self.codes = codes
        self.weight = weight
        self.origin = origin
        self.first = first
        self.n_rows, self.n_features = X.shape
        self._parts = [self._part(span) for span in self._spans()]
        self.memory = budget_bytes(None) if memory is None else memory
        self.products = np.empty(0, dtype=np.intp), np.empty((0, 0))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), first=self.first), (
            self.X,
            self.codes,
            self.weight,
            self.origin,
        )  # parts are views

    def _spans(self) -> list[slice]:
        """Consecutive rows, about NUMBERS_PER_PART numbers each."""
        if self.is_sparse:
            per_row = self.X.nnz / max(self.n_rows, 1)
            # The sums of a part are as long as a row is wide: a part must be worth them.
            height = max(NUMBERS_PER_PART, 4 * self.n_features) / max(per_row, 1.0)
        else:
            height = NUMBERS_PER_PART / max(self.n_features, 1)
        size = max(int(height), 64)
        return [
            slice(start, min(start + size, self.n_rows)) for start in range(0, self.n_rows, size)
        ]

    def _part(self, span: slice) -> RowPart:
        if self.is_sparse:
            first = self.X.indptr[span.start]
            last = self.X.indptr[span.stop]
            X = sparse.csr_array((span.stop - span.start, self.n_features), dtype=self.X.dtype)
            # Set one by one: SciPy's constructor copies what is a small part of a larger array.
            X.data = self.X.data[first:last]
            X.indices = self.X.indices[first:last]
            X.indptr = self.X.indptr[span.start : span.stop + 1] - first
        else:
            X = self.X[span]
        codes = None if self.codes is None else self.codes[span]
        place = slice(self.first + span.start, self.first + span.stop)
        return RowPart(X, codes, None if self.weight is None else self.weight[span], place)

    def parts(self) -> list[RowPart]:
        """Return the parts, without copying the rows.

        Returns
        -------
        list of RowPart
            The parts, in the order of the rows.
        """
        return self._parts

    @cached_property
    def square_norms(self) -> np.ndarray:
        """|x|^2 of each row."""
        if not self.is_sparse:
            return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        from semisvm.primal.compiled import csr_squares

        (data, _, starts), out = csr_arrays(self.X), np.empty(self.n_rows)
        csr_squares(data, starts, out)
        return out

    def _sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        parts = self._parts
        n_blocks = min(MOST_BLOCKS, len(parts))
        ends = np.linspace(0, len(parts), n_blocks + 1).astype(int)
        sums: list[Any] = [None] * n_blocks

        def add_up(block: int) -> None:
            own = parts[ends[block] : ends[block + 1]]
            sums[block] = reduce(iadd, (function(widen(part), *broadcast) for part in own))

        for_each(add_up, range(n_blocks))
        return reduce(iadd, sums)

    def _map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        results: list[Any] = [None] * len(self._parts)

        def put(number: int) -> None:
            results[number] = function(widen(self._parts[number]), *broadcast)

        for_each(put, range(len(self._parts)))
        return iter(results)

    def _sample(self, n: int, seed: int) -> MemoryRows:
        return self.select(self._draw(n, seed))

    def select(self, rows: np.ndarray) -> MemoryRows:
        """Return some of the rows.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        MemoryRows
            Those rows, with their codes and weights.
        """
        codes, weight = (None if one is None else one[rows] for one in (self.codes, self.weight))
        return MemoryRows(self.X[rows], codes, weight, rows, memory=self.memory)

    def scores(self, w: np.ndarray) -> np.ndarray:
        return np.concatenate(list(self.map_over(RowPart.scores, w)))

    def times(self, net: np.ndarray) -> np.ndarray:
        return self.sum_over(lambda part: part.times(net[part.span]))

    scores.__doc__, times.__doc__ = RowPart.scores.__doc__, RowPart.times.__doc__


def prices_of_rows(rows: MemoryRows, prices: Prices) -> tuple[np.ndarray, np.ndarray]:
    """The prices of all rows in memory as positive and as negative."""
    if isinstance(prices, GivenPrices) and not rows.first and len(prices.positive) == rows.n_rows:
        return prices.positive, prices.negative
    found = [prices(part) for part in rows.parts()]
    return np.concatenate([p for p, _ in found]), np.concatenate([q for _, q in found])


def gram(rows: MemoryRows, numbers: np.ndarray) -> np.ndarray:
    """The inner products of some of the rows, (m, m) in float64; they are kept, for calls with
    nearly the same rows.
    """
    known, K = rows.products
    place = np.full(rows.n_rows, -1)
    place[known] = np.arange(len(known))
    is_new = place[numbers] < 0
    if is_new.any():
        n_new = np.count_nonzero(is_new)
        total = len(known) + n_new
        most = max(KEPT_FACTOR * len(numbers), ALWAYS_KEPT)
        n_bytes = (
            K.nbytes + K.itemsize * total**2
        )  # those that are kept are copied to where there is room for all
        if (
            total > most or n_bytes > rows.memory or n_new * total > len(numbers) ** 2
        ):  # more than all again
            rows.products = known, K = known[:0], np.empty((0, 0))
            is_new[:] = True
        n_old = len(known)
        known = np.append(known, numbers[is_new])
        old = K
        K = np.empty(2 * (len(known),))
        K[:n_old, :n_old] = old
        _multiply(rows, known, n_old, K)
        if K.nbytes > rows.memory:
            return K
        rows.products = known, K
        place[known] = np.arange(len(known))
    own = place[numbers]
    found = np.empty(2 * (len(numbers),))
    for i in range(0, len(own), ROWS_PER_SQUARE):  # "clip" writes to `out` itself
        np.take(
            K[own[i : i + ROWS_PER_SQUARE]],
            own,
            axis=1,
            out=found[i : i + ROWS_PER_SQUARE],
            mode="clip",
        )
    return found


def _multiply(rows: MemoryRows, numbers: np.ndarray, n_old: int, K: np.ndarray) -> None:
    """Fill in the products of rows from the n_old-th on: of dense rows in squares, of sparse
    ones with all before.
    """
    is_dense = not rows.is_sparse or rows.X.nnz > DENSE_SHARE * np.prod(rows.X.shape)
    size = ROWS_PER_SQUARE if is_dense else SPARSE_ROWS_AT_ONCE

    def take(start: int, end: int) -> Any:
        X = rows.X[numbers[start:end]].astype(np.float64, copy=False)
        return as_dense(X) if is_dense else X

    def fill(block: tuple[int, int]) -> None:
        i, j = block
        last = min(i + size, len(K))
        end = min(j + size, i) if is_dense and j < i else last
        own = take(i, last)
        K[i:last, j:end] = as_dense(own @ (own if j == i else take(j, end)).T)
        K[j:end, i:last] = K[i:last, j:end].T

    firsts = range(n_old, len(K), size)
    for_each(
        fill, [(i, j) for i in firsts for j in ((*range(0, i, size), i) if is_dense else (0,))]
    )
