"""Rows, wherever they are: solvers see sums over parts of them, added up in a fixed order.

    RowPart   X (m, d) dense float64 or CSR;  codes (m,) classes, -1 for none;  weight (m,);
              span: which rows they are

    rows.sum_over(function, *broadcast)   sum of function(part, *broadcast) over all parts
    rows.map_over(function, *broadcast)   the same, the results one after the other
    rows.gather(choose, *broadcast)       the rows at choose(part, *broadcast), in memory
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
from semisvm.matrices import as_dense, is_sparse_matrix, stack_rows, without_duplicates
from semisvm.memory import budget_bytes
from semisvm.primal.problem import GivenPrices, Prices, RowPart, csr_arrays, widen

NUMBERS_PER_PART = 1 << 18  # two megabytes: they stay in the cache from one use to the next
# Products between rows are made for this many rows at a time.
ROWS_PER_SQUARE = 256
SPARSE_ROWS_AT_ONCE = 1_000
DENSE_SHARE = 0.05  # sparse rows with more numbers than this share are multiplied as dense ones
# Products of rows are kept for up to KEPT_FACTOR times the rows that are wanted, or ALWAYS_KEPT.
KEPT_FACTOR = 1.5
ALWAYS_KEPT = 2_000
# Blocks of parts that threads take: a constant, so that sums do not depend on the threads.
MOST_BLOCKS = 8


class Rows(abc.ABC):
    """What solvers need of rows; see the module's docstring. Subclasses say where the rows are.

    is_sparse       whether parts are CSR
    classes         the class labels, where the rows bring their codes
    feature_names   the names of the columns, where they are known
    """

    n_rows: int
    n_features: int
    is_sparse: bool = False
    classes: np.ndarray | None = None
    feature_names: np.ndarray | None = None

    @abc.abstractmethod
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

    @abc.abstractmethod
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

    def gather(self, choose: Callable[..., np.ndarray], *broadcast: Any) -> MemoryRows:
        """Return some of the rows, in memory, with their codes and weights.

        Parameters
        ----------
        choose : callable
            Called as ``choose(part, *broadcast)``; returns the places of the rows in the part.
        *broadcast : object
            What the function needs beside the part.

        Returns
        -------
        MemoryRows
            The rows; their `origin` says which of all rows they are.
        """
        taken = list(self.map_over(_take_places, choose, *broadcast))
        taken = [part for part in taken if len(part[-1])] or taken[:1]
        X, codes, weight, origin = (
            None if arrays[0] is None else stack_rows(arrays) for arrays in zip(*taken, strict=True)
        )
        return MemoryRows(X, codes, weight, origin)

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
        return self.gather(_places_in, self._draw(n, seed))

    def _draw(self, n: int, seed: int) -> np.ndarray:
        """The numbers of random rows, ascending."""
        return np.sort(
            np.random.default_rng(seed).choice(self.n_rows, min(n, self.n_rows), replace=False)
        )


def _take_places(
    part: RowPart, choose: Callable[..., np.ndarray], *broadcast: Any
) -> tuple[Any, np.ndarray | None, np.ndarray | None, np.ndarray]:
    places = choose(part, *broadcast)
    columns = pick(part.codes, places), pick(part.weight, places)
    return part.X[places], *columns, part.span.start + places


def _places_in(part: RowPart, rows: np.ndarray) -> np.ndarray:
    """Where these rows, ascending, are in a part."""
    return rows[slice(*np.searchsorted(rows, [part.span.start, part.span.stop]))] - part.span.start


class MemoryRows(Rows):
    """Rows in memory, dense or CSR, in float32 or float64; sums are in float64 either way.

    codes    (n,) class codes, -1 for none, where prices depend on them
    weight   (n,) how many rows each row counts for
    origin   (n,) of a sample: which rows these are
    first    of a chunk of more rows: the number of its first row
    memory   most bytes of inner products between rows that are kept
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
            X = without_duplicates(sparse.csr_array(X))
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
        place = slice(self.first + span.start, self.first + span.stop)
        return RowPart(X, pick(self.codes, span), pick(self.weight, span), place)

    def parts(self) -> list[RowPart]:
        """The parts, in the order of the rows; nothing is copied."""
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

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        parts = self._parts
        n_blocks = min(MOST_BLOCKS, len(parts))
        ends = np.linspace(0, len(parts), n_blocks + 1).astype(int)
        sums: list[Any] = [None] * n_blocks

        def add_up(block: int) -> None:
            block_parts = parts[ends[block] : ends[block + 1]]
            sums[block] = reduce(iadd, (function(widen(part), *broadcast) for part in block_parts))

        for_each(add_up, range(n_blocks))
        return reduce(iadd, sums)

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        results: list[Any] = [None] * len(self._parts)

        def put(number: int) -> None:
            results[number] = function(widen(self._parts[number]), *broadcast)

        for_each(put, range(len(self._parts)))
        return iter(results)

    def sample(self, n: int, seed: int) -> MemoryRows:
        return self.select(self._draw(n, seed))

    def select(self, rows: np.ndarray) -> MemoryRows:
        """Some of the rows, with their codes and weights."""
        codes = pick(self.codes, rows)
        weight = pick(self.weight, rows)
        return MemoryRows(self.X[rows], codes, weight, rows, memory=self.memory)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """<w, x> of each row, (n,)."""
        return np.concatenate(list(self.map_over(RowPart.scores, w)))

    def times(self, net: np.ndarray) -> np.ndarray:
        """The sum of the rows, each times its own number of `net`, (n_features,)."""
        return self.sum_over(lambda part: part.times(net[part.span]))


def pick(values: np.ndarray | None, rows: Any) -> np.ndarray | None:
    """Some of the values, None where there are none."""
    return None if values is None else values[rows]


def prices_of_rows(rows: MemoryRows, prices: Prices) -> tuple[np.ndarray, np.ndarray]:
    """The prices of all rows in memory as positive and as negative."""
    if isinstance(prices, GivenPrices) and not rows.first and len(prices.positive) == rows.n_rows:
        return prices.positive, prices.negative
    pairs = [prices(part) for part in rows.parts()]
    return np.concatenate([p for p, _ in pairs]), np.concatenate([q for _, q in pairs])


def gram(rows: MemoryRows, numbers: np.ndarray) -> np.ndarray:
    """Inner products of some rows, (m, m) in float64; kept for nearly the same rows."""
    known, K = rows.products
    place = np.full(rows.n_rows, -1)
    place[known] = np.arange(len(known))
    is_new = place[numbers] < 0
    if is_new.any():
        n_new = np.count_nonzero(is_new)
        total = len(known) + n_new
        most = max(KEPT_FACTOR * len(numbers), ALWAYS_KEPT)
        n_bytes = K.nbytes + K.itemsize * total**2  # the known products are copied
        # Without room for all, or where fewer products make all again, begin anew.
        if total > most or n_bytes > rows.memory or n_new * total > len(numbers) ** 2:
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
    places = place[numbers]
    products = np.empty(2 * (len(numbers),))
    for i in range(0, len(places), ROWS_PER_SQUARE):  # "clip" writes to `out` itself
        np.take(
            K[places[i : i + ROWS_PER_SQUARE]],
            places,
            axis=1,
            out=products[i : i + ROWS_PER_SQUARE],
            mode="clip",
        )
    return products


def _multiply(rows: MemoryRows, numbers: np.ndarray, n_old: int, K: np.ndarray) -> None:
    """Fill in products of rows from the n_old-th on: dense in squares, sparse with all before."""
    is_dense = not rows.is_sparse or rows.X.nnz > DENSE_SHARE * np.prod(rows.X.shape)
    size = ROWS_PER_SQUARE if is_dense else SPARSE_ROWS_AT_ONCE

    def take(start: int, end: int) -> Any:
        X = rows.X[numbers[start:end]].astype(np.float64, copy=False)
        return as_dense(X) if is_dense else X

    def fill(block: tuple[int, int]) -> None:
        i, j = block
        last = min(i + size, len(K))
        end = min(j + size, i) if is_dense and j < i else last
        left = take(i, last)
        K[i:last, j:end] = as_dense(left @ (left if j == i else take(j, end)).T)
        K[j:end, i:last] = K[i:last, j:end].T

    firsts = range(n_old, len(K), size)
    for_each(
        fill, [(i, j) for i in firsts for j in ((*range(0, i, size), i) if is_dense else (0,))]
    )
