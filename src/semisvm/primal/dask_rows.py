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

from semisvm.errors import RowsLostError, counted
from semisvm.kernels.threads import on_this_thread
from semisvm.labels import Labels, encode
from semisvm.matrices import is_sparse_matrix, stack_rows
from semisvm.primal.ranks import count_bad_values
from semisvm.primal.rows import MemoryRows, Rows, pick

GROUP_BYTES = 64 << 20
FAN_IN = 8
KEPT_SHARE = 0.5  # of the workers' memory: rows that need more are read again in every pass


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        X, "__dask_graph__"
    )


def is_streamed(X: Any) -> bool:
    """Whether the rows of X are not in memory."""
    return isinstance(X, Rows) or is_dask(X)


class DaskRows(Rows):
    """Rows of a Dask array or data frame, on the workers of the current client.

    Blocks may be dense or CSR; partitions of unknown length are counted first. `codes`, -1 for
    none, and `weight` are Dask's too, or arrays. Without a client the tasks run in the threads of
    this process.
    """

    def __init__(self, X: Any, codes: Any = None, weight: Any = None):
        from dask import delayed

        names = list(getattr(X, "columns", []))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names = np.asarray(names, dtype=object)
        X = as_dask_array(X)
        self.n_rows, self.n_features = (int(size) for size in X.shape)
        self.is_sparse = is_sparse_matrix(X._meta)
        self.nbytes = self.n_rows * self.n_features * X.dtype.itemsize
        heights = X.chunks[0]
        columns = [
            X.to_delayed().ravel().tolist(),
            *(_blocks_of(values, heights, self.n_rows) for values in (codes, weight)),
        ]
        ends = _group_ends(heights, self.n_features * X.dtype.itemsize)
        make = delayed(_make_group, pure=False)
        groups = [
            make(sum(heights[: span[0]]), *(pick(blocks, slice(*span)) for blocks in columns))
            for span in ends
        ]
        self._groups = self._keep(groups)

    def _keep(self, groups: list[Any]) -> list[Any]:
        """The groups, in the memory of the workers where there is room for them."""
        client = _current_client()
        if client is None:
            return groups
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        room = KEPT_SHARE * sum(worker["memory_limit"] or np.inf for worker in workers)
        return list(client.persist(groups)) if 0 < self.nbytes <= room else groups

    def sum_over(self, function: Callable[..., np.ndarray], *broadcast: Any) -> np.ndarray:
        from dask import delayed

        # One task that holds it: it is sent once, and made again.
        shared = delayed(tuple, pure=False)(broadcast)
        take = delayed(_sum_group, pure=False)
        add = delayed(sum, pure=False)
        level = [take(group, function, shared) for group in self._groups]
        while len(level) > 1:
            level = [add(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        return compute_on_cluster(level)[0]

    def map_over(self, function: Callable[..., Any], *broadcast: Any) -> Iterator[Any]:
        from dask import delayed

        take = delayed(_map_group, pure=False)
        for results in compute_on_cluster(
            [take(group, function, broadcast) for group in self._groups]
        ):
            yield from results


def as_dask_array(X: Any) -> Any:
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

    values = as_dask_array(values) if is_dask(values) else np.asarray(values)
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
    ends = []
    first = 0
    size = 0
    for place, height in enumerate(heights):
        size += height * row_bytes
        if size >= GROUP_BYTES or place == len(heights) - 1:
            ends.append((first, place + 1))
            first = place + 1
            size = 0
    return ends


def _stack(blocks: list[Any]) -> Any:
    return blocks[0] if len(blocks) == 1 else stack_rows(blocks)


def _make_group(
    start: int, X: list[Any], codes: list[Any] | None, weight: list[Any] | None
) -> MemoryRows:
    """A task: the rows of some partitions, of which the first is row `start` of all."""
    parts = (None if blocks is None else _stack(blocks) for blocks in (codes, weight))
    return MemoryRows(_stack(X), *parts, first=start)


def _sum_group(
    group: MemoryRows, function: Callable[..., np.ndarray], broadcast: tuple[Any, ...]
) -> np.ndarray:
    with on_this_thread():  # Dask has a thread per task already
        return group.sum_over(function, *broadcast)


def _map_group(
    group: MemoryRows, function: Callable[..., Any], broadcast: tuple[Any, ...]
) -> list[Any]:
    with on_this_thread():
        return list(group.map_over(function, *broadcast))


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


def compute_on_cluster(values: list[Any]) -> list[Any]:
    """The values; failures of the cluster are distinguished from failures of the program."""
    import dask

    client = _current_client()
    if client is None:
        return list(dask.compute(*values))
    from distributed import CancelledError, KilledWorker, as_completed, wait
    from distributed.comm import CommClosedError

    futures = client.compute(values)
    try:
        # An interrupted `gather` would leave tasks behind that complain when the futures are
        # canceled: wait outside it, until all are finished or the first has failed. `as_completed`
        # looks only ten times per second.
        if len(futures) == 1:
            wait(futures)
        else:
            next((future for future in as_completed(futures) if future.status != "finished"), None)
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
    except BaseException:  # Ctrl-C among them: the workers need not go on
        client.cancel(futures)
        raise


def read_dask(X: Any, y: Any, sample_weight: Any, unlabeled: Any) -> tuple[Rows, Labels]:
    """The rows of a Dask collection with class codes, checked where they are, and the classes."""
    if y is None:
        raise ValueError(
            "y is missing: pass the labels, with the marker of `unlabeled` where there is none."
        )
    labels, codes = encode_dask(y, unlabeled)
    rows = DaskRows(X, codes, sample_weight)
    bad = rows.sum_over(count_bad_values)
    if bad[:-1].any():
        column = int(np.argmax(bad[:-1]))
        called = (
            f"Column {column if rows.feature_names is None else repr(rows.feature_names[column])}"
        )
        raise ValueError(
            f"{called} has {counted(int(bad[column]), 'value')} missing or not finite. Fill or drop"
            " them first."
        )
    if bad[-1]:
        raise ValueError(
            f"sample_weight has {counted(int(bad[-1]), 'value')} negative or not finite."
        )
    return rows, Labels(labels.classes, np.arange(labels.n_classes))


def encode_dask(y: Any, unlabeled: Any) -> tuple[Labels, Any]:
    """(classes, codes): the classes are found first, one task per partition; the codes are as lazy
    as y is.

    The codes of the `Labels` are those of the distinct labels, not of the rows.
    """
    if not is_dask(y):
        labels = encode(y, unlabeled=unlabeled)
        return labels, labels.codes
    import pandas as pd
    from dask import delayed

    labels_of_parts = compute_on_cluster(
        [delayed(pd.unique, pure=False)(block) for block in np.ravel(y.to_delayed())]
    )
    distinct = pd.Index(
        pd.unique(np.concatenate([np.asarray(values) for values in labels_of_parts]))
    )
    labels = encode(distinct.to_numpy(), unlabeled=unlabeled)
    if hasattr(y, "to_dask_array"):
        return labels, y.map_partitions(_codes_of, distinct, labels.codes, meta=("codes", np.int64))
    return labels, y.map_blocks(
        _codes_of, distinct, labels.codes, dtype=np.int64, meta=np.empty(0, np.int64)
    )


def _codes_of(values: Any, distinct: Any, codes: np.ndarray) -> Any:
    import pandas as pd

    row_codes = codes[distinct.get_indexer(values)]
    return (
        row_codes
        if isinstance(values, np.ndarray)
        else pd.Series(row_codes, index=values.index, name="codes")
    )


def map_lazily(
    function: Callable[[Any], np.ndarray], X: Any, n_columns: int | None, dtype: Any
) -> Any:
    """What a function makes of each partition, (n,) or (n, n_columns), as lazy as X is."""
    if hasattr(X, "to_dask_array"):
        blank = np.empty(0 if n_columns is None else (0, n_columns), dtype)
        return X.map_partitions(_on_frame, function, meta=_on_frame(X._meta, lambda rows: blank))
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if n_columns is None:
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    return X.map_blocks(
        function,
        chunks=(X.chunks[0], (n_columns,)),
        dtype=dtype,
        meta=np.empty((0, n_columns), dtype),
    )


def _on_frame(frame: Any, function: Callable[[Any], np.ndarray]) -> Any:
    import pandas as pd

    values = function(frame)
    return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index=frame.index)
