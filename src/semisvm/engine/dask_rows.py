"""Rows of a Dask collection: every sum is a tree of tasks on the workers, and only the sum travels.

    partitions   as the collection has them, in the order of the rows
    groups       consecutive partitions of together about GROUP_BYTES: one task each, because a task
                 costs milliseconds
    tree         sums of groups are added up FAN_IN at a time, on the workers, in the order of the
                 rows

Groups and tree depend on the collection alone, never on the number of workers or on which of them
are alive, so a fit gives the same coefficients, bit for bit, wherever its tasks run. Nothing is
scattered: a partition that was lost with its worker is read or computed again from its source.
Where the rows fit into half of the workers' memory they stay there between passes; otherwise each
pass reads them again, and a worker holds a few groups at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from semisvm.engine.primal.rows import MemoryRows, Part, Rows, pick
from semisvm.errors import RowsLostError, counted
from semisvm.labels import Labels, encode
from semisvm.matrices import is_sparse_matrix, stack_rows, stored_numbers

GROUP_BYTES = 64 << 20
FAN_IN = 8
KEPT_SHARE = 0.5  # of the workers' memory: rows that need more are read again in every pass


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        X, "__dask_graph__"
    )


class DaskRows(Rows):
    """Rows of a Dask array or data frame, on the workers of the current client.

    Blocks may be dense or CSR; partitions of unknown length are counted first. `codes`, -1 for an
    unlabeled row, and `weight` are Dask's too, or arrays. Without a client the tasks run in the
    threads of this process.
    """

    def __init__(self, X: Any, codes: Any = None, weight: Any = None):
        from dask import delayed

        names = list(getattr(X, "columns", []))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names = np.asarray(names, dtype=object)
        X = _as_dask_array(X)
        self.n_rows, self.n_features = (int(size) for size in X.shape)
        self.is_sparse = is_sparse_matrix(X._meta)
        self.nbytes = self.n_rows * self.n_features * X.dtype.itemsize
        heights = X.chunks[0]
        columns = [
            X.to_delayed().ravel().tolist(),
            *(_blocks_of(values, heights, self.n_rows) for values in (codes, weight)),
        ]
        make = delayed(_make_group, pure=False)
        groups = [
            make(sum(heights[:first]), *(pick(blocks, slice(first, end)) for blocks in columns))
            for first, end in _group_ends(heights, self.n_features * X.dtype.itemsize)
        ]
        client = _current_client()
        self._groups = groups if client is None else _kept(groups, self.nbytes, client)

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        from dask import delayed

        # One task that holds what is broadcast: it is sent once, and made again.
        shared = delayed(tuple, pure=False)(broadcast)
        take, add = delayed(_sum_group, pure=False), delayed(sum, pure=False)
        level = [take(group, function, shared) for group in self._groups]
        while len(level) > 1:
            level = [add(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        return _compute(level)[0]

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        from dask import delayed

        take = delayed(_map_group, pure=False)
        for results in _compute([take(group, function, broadcast) for group in self._groups]):
            yield from results


def _kept(groups: list[Any], nbytes: int, client: Any) -> list[Any]:
    """The groups, in the memory of the workers where there is room for them."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    room = KEPT_SHARE * sum(worker["memory_limit"] or np.inf for worker in workers)
    return list(client.persist(groups)) if 0 < nbytes <= room else groups


def _as_dask_array(X: Any) -> Any:
    """A Dask array of one block per row of blocks, with known lengths."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if np.isnan(sum(X.chunks[0])):
        X = X.compute_chunk_sizes()
    if X.ndim == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return X


def _blocks_of(values: Any, heights: tuple[int, ...], n_rows: int) -> Any:
    """A list with a delayed block of values for each block of rows; None where there are none."""
    if values is None:
        return None
    import dask.array as da

    values = _as_dask_array(values) if is_dask(values) else np.asarray(values)
    if values.shape != (n_rows,):
        raise ValueError(
            f"There are {n_rows:,} rows, but {values.shape[0]:,} codes or weights; give one per"
            " row."
        )
    if not is_dask(values):
        values = da.from_array(values, chunks=(heights,))
    elif values.chunks[0] != heights:
        values = values.rechunk((heights,))
    return values.to_delayed().tolist()


def _group_ends(heights: tuple[int, ...], row_bytes: int) -> list[tuple[int, int]]:
    """(first, end) of the partitions of each group; it ends when it is large enough."""
    ends, first, size = [], 0, 0
    for place, height in enumerate(heights):
        size += height * row_bytes
        if size >= GROUP_BYTES or place == len(heights) - 1:
            ends.append((first, place + 1))
            first, size = place + 1, 0
    return ends


# ---- tasks; Dask has a thread for each, so they use no others ----


def _make_group(start: int, *columns: list[Any] | None) -> MemoryRows:
    """The rows, codes and weights of some partitions, of which the first is row `start` of all."""
    arrays = (None if blocks is None else stack_rows(blocks) for blocks in columns)
    return MemoryRows(*arrays, first=start, is_threaded=False)


def _sum_group(
    group: MemoryRows, function: Callable[..., np.ndarray], broadcast: tuple[Any, ...]
) -> np.ndarray:
    return group.sum_over(function, *broadcast)


def _map_group(
    group: MemoryRows, function: Callable[..., Any], broadcast: tuple[Any, ...]
) -> list[Any]:
    return list(group.map_over(function, *broadcast))


# ---- the cluster ----


def _current_client() -> Any:
    """The client that Dask would use, None without one or where another scheduler is set."""
    import dask

    if dask.config.get("scheduler", None) not in (None, "distributed", "dask.distributed"):
        return None
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _compute(values: list[Any]) -> list[Any]:
    """The values; failures of the cluster are distinguished from failures of the program."""
    import dask

    client = _current_client()
    if client is None:
        return list(dask.compute(*values))
    from distributed import CancelledError, KilledWorker, wait
    from distributed.comm import CommClosedError

    futures = client.compute(values)
    try:
        # An interrupted `gather` would leave tasks behind that complain when they are canceled.
        wait(futures)
        return client.gather(futures)
    except KilledWorker as error:
        raise RowsLostError(
            "A task was given up after several workers died on it, most likely for lack of memory."
            " Use smaller partitions (100 MB or less each), more memory per worker, or fewer"
            " threads per worker."
        ) from error
    except (CommClosedError, CancelledError, OSError) as error:
        raise RowsLostError(
            f"The connection to the Dask scheduler was lost ({type(error).__name__}). Start the"
            " cluster again, and fit again."
        ) from error
    except BaseException:  # KeyboardInterrupt among them: the workers need not go on
        client.cancel(futures)
        raise


# ---- labels beside the rows ----


def read_dask(X: Any, y: Any, sample_weight: Any, unlabeled: Any) -> tuple[DaskRows, Labels]:
    """The rows of a Dask collection with class codes, checked where they are, and the classes.

    The codes of the `Labels` are those of the distinct labels, not of the rows.
    """
    if y is None:
        raise ValueError(
            "y is missing: pass the labels, with the marker of `unlabeled` where there is none."
        )
    labels, codes = _encode(y, unlabeled)
    rows = DaskRows(X, codes, sample_weight)
    *bad, bad_weights = rows.sum_over(_count_undefined).astype(int).tolist()
    if any(bad):
        column = int(np.argmax(bad))
        names = rows.feature_names
        called = f"Column {column if names is None else repr(names[column])}"
        raise ValueError(
            f"{called} has {counted(bad[column], 'value')} missing or not finite. Fill or drop"
            " them first."
        )
    if bad_weights:
        raise ValueError(
            f"sample_weight has {counted(bad_weights, 'value')} negative or not finite."
        )
    return rows, Labels(labels.classes, np.arange(labels.n_classes))


def _count_undefined(part: Part) -> np.ndarray:
    """How many values of each column are not finite, and last how many weights are no weights."""
    is_bad = ~np.isfinite(stored_numbers(part.X))
    d = part.X.shape[1]
    columns = part.X.indices[is_bad] if is_sparse_matrix(part.X) else np.nonzero(is_bad)[1]
    is_weight = np.isfinite(part.weights) & (part.weights >= 0)
    return np.append(np.bincount(columns, minlength=d), np.count_nonzero(~is_weight))


def _encode(y: Any, unlabeled: Any) -> tuple[Labels, Any]:
    """(labels, codes): the classes are found first, one task per partition; the codes are as lazy
    as y is.
    """
    if not is_dask(y):
        labels = encode(y, unlabeled=unlabeled)
        return labels, labels.codes
    import pandas as pd
    from dask import delayed

    unique = delayed(pd.unique, pure=False)
    of_parts = _compute([unique(block) for block in np.ravel(y.to_delayed())])
    distinct = pd.Index(pd.unique(np.concatenate([np.asarray(values) for values in of_parts])))
    labels = encode(distinct.to_numpy(), unlabeled=unlabeled)
    known = distinct, labels.codes
    if hasattr(y, "to_dask_array"):
        return labels, y.map_partitions(_codes_of, *known, meta=("codes", np.int64))
    return labels, y.map_blocks(_codes_of, *known, dtype=np.int64, meta=np.empty(0, np.int64))


def _codes_of(values: Any, distinct: Any, codes: np.ndarray) -> Any:
    import pandas as pd

    found = codes[distinct.get_indexer(values)]
    is_array = isinstance(values, np.ndarray)
    return found if is_array else pd.Series(found, index=values.index, name="codes")


# ---- predictions ----


def map_lazily(
    function: Callable[[Any], np.ndarray], X: Any, n_columns: int | None, dtype: Any
) -> Any:
    """What a function makes of each partition, (n,) or (n, n_columns), as lazy as X is."""
    blank = np.empty(0 if n_columns is None else (0, n_columns), dtype)
    if hasattr(X, "to_dask_array"):
        return X.map_partitions(_on_frame, function, meta=_on_frame(X._meta, lambda rows: blank))
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if n_columns is None:
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=blank)
    return X.map_blocks(function, chunks=(X.chunks[0], (n_columns,)), dtype=dtype, meta=blank)


def _on_frame(frame: Any, function: Callable[[Any], np.ndarray]) -> Any:
    import pandas as pd

    values = function(frame)
    return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index=frame.index)
