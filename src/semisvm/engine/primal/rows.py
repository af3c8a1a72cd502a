"""Rows, wherever they are: the primal form sees sums over parts of them, added up in a fixed order.

    rows.sum_over(function, *broadcast)   sum of function(part, *broadcast) over all parts
    rows.map_over(function, *broadcast)   the same, the results one after the other
    rows.gather(choose, *broadcast)       the rows at choose(part, *broadcast), in memory
    rows.sample(n, seed)                  random rows, in memory
    rows.solve(problems, starts, limits)  solve problems that are stated on these rows

`MemoryRows` are arrays, `StreamRows` a memory-mapped array that is read slice by slice, `DaskRows`
(in `semisvm.engine.dask_rows`) partitions on a cluster. `rows_of` chooses. `function` and
`broadcast` must be picklable, because on a cluster they travel to the rows. The order in which
parts are added up depends on the rows alone: a fit gives the same bits on any number of threads or
workers.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import iadd
from typing import Any, Literal

import numpy as np
from scipy import sparse

from semisvm.engine.parallel import for_each
from semisvm.engine.problem import Limits, Solution
from semisvm.matrices import is_sparse_matrix, stack_rows, without_duplicates

NUMBERS_PER_PART = 1 << 18  # two megabytes: they stay in the cache from one use to the next
LEAST_PART = 64  # rows
# Blocks of parts that threads take: a constant, so that sums do not depend on the threads.
MOST_BLOCKS = 8
BYTES_PER_SLICE = 1 << 24  # of a stream: enough for a disk to read at full speed


@dataclass(frozen=True)
class Part:
    """Some consecutive rows."""

    X: Any  # (m, d) features, an array or CSR
    codes: np.ndarray | None  # (m,) classes, -1 for an unlabeled row; None where none were given
    weight: np.ndarray | None  # (m,) how many rows each row counts for; None: 1
    span: slice  # which of all rows these are

    @property
    def is_unlabeled(self) -> np.ndarray:
        """Which rows have no label."""
        return np.asarray(self.codes) < 0

    @property
    def weights(self) -> np.ndarray:
        """`weight` in float64, or ones."""
        if self.weight is None:
            return np.ones(self.X.shape[0])
        return np.asarray(self.weight, dtype=np.float64)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """<w, x> of each row, (m,)."""
        if isinstance(self.X, np.ndarray):
            return self.X @ w
        from semisvm.engine.primal.compiled import csr_scores

        out = np.empty(self.X.shape[0])
        csr_scores(csr_of(self.X), w, out)
        return out

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """The sum of the rows, each times its coefficient, (d,)."""
        if isinstance(self.X, np.ndarray):
            return self.X.T @ coefficients
        from semisvm.engine.primal.compiled import csr_times

        out = np.zeros(self.X.shape[1])
        csr_times(csr_of(self.X), coefficients, out)
        return out

    def widened(self) -> Part:
        """The part with dense features in float64; sparse ones stay as they are."""
        if not isinstance(self.X, np.ndarray) or self.X.dtype == np.float64:
            return self
        return replace(self, X=self.X.astype(np.float64))


Penalties = Callable[[Part], tuple[np.ndarray, np.ndarray]]


def csr_of(X: Any) -> Any:
    """CSR rows as compiled functions take them."""
    from semisvm.engine.primal.compiled import Csr

    unsigned = (array.view(f"u{array.itemsize}") for array in (X.indices, X.indptr))
    return Csr(X.data, *unsigned)


class Rows(abc.ABC):
    """What the primal form needs of rows; see the module's docstring.

    is_sparse       whether parts are CSR
    feature_names   the names of the columns, where they are known
    """

    form: Literal["primal"] = "primal"
    n_rows: int
    n_features: int
    is_sparse: bool = False
    feature_names: np.ndarray | None = None

    @abc.abstractmethod
    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        """Add up ``function(part, *broadcast)``, arrays of one shape that may be overwritten."""

    @abc.abstractmethod
    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        """Yield ``function(part, *broadcast)`` of each part, in the order of the rows."""

    def gather(self, choose: Callable[..., np.ndarray], *broadcast: Any) -> MemoryRows:
        """Some rows, with codes and weights: those at ``choose(part, *broadcast)`` of each part."""
        taken = list(self.map_over(_take, choose, *broadcast))
        taken = [some for some in taken if len(some[-1])] or taken[:1]
        columns = zip(*taken, strict=True)
        return MemoryRows(
            *(None if arrays[0] is None else stack_rows(arrays) for arrays in columns)
        )

    def sample(self, n: int, seed: int) -> MemoryRows:
        """At most n random rows, in order."""
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(self.n_rows, min(n, self.n_rows), replace=False))
        return self.gather(_places_in, chosen)

    def solve(
        self, problems: Sequence[Any], starts: Sequence[Any], limits: Limits
    ) -> list[Solution]:
        """Solve primal problems on these rows, one after the other."""
        from semisvm.engine.primal.solver import solve_rows

        return [solve_rows(*one, limits) for one in zip(problems, starts, strict=True)]


def _take(part: Part, choose: Callable[..., np.ndarray], *broadcast: Any) -> tuple[Any, ...]:
    places = choose(part, *broadcast)
    columns = pick(part.codes, places), pick(part.weight, places)
    return part.X[places], *columns, part.span.start + places


def _places_in(part: Part, rows: np.ndarray) -> np.ndarray:
    """Where these rows, ascending, are in a part."""
    return rows[slice(*np.searchsorted(rows, [part.span.start, part.span.stop]))] - part.span.start


def pick(values: np.ndarray | None, rows: Any) -> np.ndarray | None:
    """Some of the values, None where there are none."""
    return None if values is None else values[rows]


class MemoryRows(Rows):
    """Rows in memory, dense or CSR, in float32 or float64; sums are in float64 either way.

    codes    (n,) class codes, -1 for an unlabeled row, where penalties depend on them
    weight   (n,) how many rows each row counts for
    origin   (n,) of a selection: which rows these were
    first    of a slice of more rows, over which sums are made: the number of its first row
    is_threaded   whether parts are shared among threads
    """

    def __init__(
        self,
        X: Any,
        codes: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        origin: np.ndarray | None = None,
        *,
        first: int = 0,
        is_threaded: bool = True,
    ):
        self.is_sparse = is_sparse_matrix(X)
        self.X: Any = without_duplicates(sparse.csr_array(X)) if self.is_sparse else np.asarray(X)
        self.codes, self.weight, self.origin = codes, weight, origin
        self.first, self.is_threaded = first, is_threaded
        self.n_rows, self.n_features = self.X.shape
        self.parts = [self._part(span) for span in self._spans()]

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the parts, which are views.
        arrays = self.X, self.codes, self.weight, self.origin
        return partial(type(self), first=self.first, is_threaded=self.is_threaded), arrays

    def _spans(self) -> list[slice]:
        """Consecutive rows, about NUMBERS_PER_PART numbers each."""
        per_row, worth = self.n_features, NUMBERS_PER_PART
        if self.is_sparse:
            # The sums of a part are as long as a row is wide: a part must be worth them.
            worth = max(worth, 4 * self.n_features)
            per_row = self.X.nnz / max(self.n_rows, 1)
        size = max(int(worth / max(per_row, 1)), LEAST_PART)
        starts = range(0, max(self.n_rows, 1), size)
        return [slice(start, min(start + size, self.n_rows)) for start in starts]

    def _part(self, span: slice) -> Part:
        X = self.X[span] if not self.is_sparse else _csr_slice(self.X, span)
        of_all = slice(self.first + span.start, self.first + span.stop)
        return Part(X, pick(self.codes, span), pick(self.weight, span), of_all)

    @cached_property
    def squares(self) -> np.ndarray:
        """|x|^2 of each row."""
        if not self.is_sparse:
            return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        from semisvm.engine.primal.compiled import csr_squares

        out = np.empty(self.n_rows)
        csr_squares(csr_of(self.X), out)
        return out

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        n_blocks = min(MOST_BLOCKS, len(self.parts))
        ends = np.linspace(0, len(self.parts), n_blocks + 1).astype(int)
        sums: list[Any] = [None] * n_blocks

        def add_up(block: int) -> None:
            some = self.parts[ends[block] : ends[block + 1]]
            sums[block] = reduce(iadd, (function(part.widened(), *broadcast) for part in some))

        self._for_each(add_up, n_blocks)
        return reduce(iadd, sums)

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        results: list[Any] = [None] * len(self.parts)

        def put(number: int) -> None:
            results[number] = function(self.parts[number].widened(), *broadcast)

        self._for_each(put, len(self.parts))
        return iter(results)

    def _for_each(self, function: Callable[[int], None], n: int) -> None:
        if self.is_threaded:
            for_each(function, range(n))
            return
        for number in range(n):
            function(number)

    def select(self, rows: np.ndarray) -> MemoryRows:
        """Some of the rows, with their codes and weights."""
        return MemoryRows(self.X[rows], pick(self.codes, rows), pick(self.weight, rows), rows)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """<w, x> of each row, (n,)."""
        return np.concatenate(list(self.map_over(Part.scores, w)))

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """The sum of the rows, each times its coefficient, (n_features,)."""
        return self.sum_over(lambda part: part.times(coefficients[part.span]))

    def penalties(self, penalties: Penalties) -> tuple[np.ndarray, np.ndarray]:
        """The penalties of all rows as positive and as negative."""
        p, q = zip(*(penalties(part) for part in self.parts), strict=True)
        return np.concatenate(p), np.concatenate(q)


def _csr_slice(X: Any, span: slice) -> Any:
    """Consecutive CSR rows as views: SciPy's own slices and constructor copy."""
    first, last = X.indptr[span.start], X.indptr[span.stop]
    part = sparse.csr_array((span.stop - span.start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[first:last], X.indices[first:last]
    part.indptr = X.indptr[span.start : span.stop + 1] - first
    return part


class StreamRows(Rows):
    """A memory-mapped array of rows, in float32 or float64: every pass reads it slice by slice.

    Memory does not grow with the number of features. Codes, weights and penalties, one number per
    row, are in memory.
    """

    def __init__(
        self, X: np.ndarray, codes: np.ndarray | None = None, weight: np.ndarray | None = None
    ):
        self.X, self.codes, self.weight = X, codes, weight
        self.n_rows, self.n_features = X.shape

    def _slices(self) -> Iterator[MemoryRows]:
        size = max(BYTES_PER_SLICE // max(self.n_features * self.X.itemsize, 1), LEAST_PART)
        for start in range(0, max(self.n_rows, 1), size):
            span = slice(start, min(start + size, self.n_rows))
            columns = pick(self.codes, span), pick(self.weight, span)
            yield MemoryRows(np.asarray(self.X[span]), *columns, first=start)

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        return reduce(iadd, (some.sum_over(function, *broadcast) for some in self._slices()))

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        for some in self._slices():
            yield from some.map_over(function, *broadcast)


def rows_of(X: Any, codes: Any = None, weight: Any = None) -> Rows:
    """Rows of an array, a sparse matrix, a memory-mapped array or a Dask collection.

    codes and weight, one per row, are for penalties that depend on them. An array counts as
    memory-mapped where its memory is a file's, also after `numpy.asarray`.
    """
    from semisvm.engine.dask_rows import DaskRows, is_dask

    if is_dask(X):
        return DaskRows(X, codes, weight)
    return (StreamRows if is_memory_mapped(X) else MemoryRows)(X, codes, weight)


def is_memory_mapped(X: Any) -> bool:
    """Whether an array's memory is that of a file."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False
