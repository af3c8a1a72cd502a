"""Dask collections as the estimators take them: labels to class codes, rows checked where they are, lazy results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semisvm.labels import Labels, encode
from semisvm.primal.dask_rows import DaskRows, compute_on_cluster, is_dask
from semisvm.primal.ranks import count_bad_values
from semisvm.primal.rows import Rows


def read_dask(X: Any, y: Any, sample_weight: Any, unlabeled: Any) -> tuple[Rows, Labels]:
    """The rows of a Dask collection with class codes, checked where they are, and the classes."""
    if y is None:
        raise ValueError("y is missing: pass the labels, with the marker of `unlabeled` where there is none.")
    labels, codes = encode_dask(y, unlabeled)
    rows = DaskRows(X, codes, sample_weight)
    bad = rows.sum_over(count_bad_values)
    if bad[:-1].any():
        column = int(np.argmax(bad[:-1]))
        called = f"Column {column if rows.feature_names is None else repr(rows.feature_names[column])}"
        raise ValueError(
            f"{called} has {int(bad[column]):,} values that are missing or not finite. Fill or drop them first."
        )
    if bad[-1]:
        raise ValueError(f"sample_weight has {int(bad[-1]):,} values that are negative or not finite.")
    return rows, Labels(labels.classes, np.arange(labels.n_classes))


def encode_dask(y: Any, unlabeled: Any) -> tuple[Labels, Any]:
    """(classes, codes): the classes are found first, one task per partition; the codes are as lazy as y is.

    The codes of the `Labels` are those of the distinct labels, not of the rows.
    """
    if not is_dask(y):
        labels = encode(y, unlabeled=unlabeled)
        return labels, labels.codes
    import pandas as pd
    from dask import delayed

    found = compute_on_cluster([delayed(pd.unique, pure=False)(block) for block in np.ravel(y.to_delayed())])
    distinct = pd.Index(pd.unique(np.concatenate([np.asarray(values) for values in found])))
    labels = encode(distinct.to_numpy(), unlabeled=unlabeled)
    if hasattr(y, "to_dask_array"):
        return labels, y.map_partitions(_codes_of, distinct, labels.codes, meta=("codes", np.int64))
    return labels, y.map_blocks(_codes_of, distinct, labels.codes, dtype=np.int64, meta=np.empty(0, np.int64))


def _codes_of(values: Any, distinct: Any, codes: np.ndarray) -> Any:
    import pandas as pd

    found = codes[distinct.get_indexer(values)]
    return found if isinstance(values, np.ndarray) else pd.Series(found, index=values.index, name="codes")


def map_lazily(function: Callable[[Any], np.ndarray], X: Any, n_columns: int | None, dtype: Any) -> Any:
    """What a function makes of the rows of each partition, (n,) or (n, n_columns), as lazy as X is."""
    if hasattr(X, "to_dask_array"):
        return X.map_partitions(_on_frame, function, meta=_on_frame(X._meta, lambda rows: _blank(n_columns, dtype)))
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if n_columns is None:
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    return X.map_blocks(function, chunks=(X.chunks[0], (n_columns,)), dtype=dtype, meta=np.empty((0, n_columns), dtype))


def _blank(n_columns: int | None, dtype: Any) -> np.ndarray:
    return np.empty(0 if n_columns is None else (0, n_columns), dtype)


def _on_frame(frame: Any, function: Callable[[Any], np.ndarray]) -> Any:
    import pandas as pd

    values = function(frame)
    return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index=frame.index)
