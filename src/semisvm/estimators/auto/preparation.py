"""The rows that `AutoSVC` takes: an array, a table of columns, or texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from semisvm.columns.arrays import looks_like_a_table
from semisvm.columns.cells import Type
from semisvm.columns.table import (
    Columns,
    read_frame,
    read_numbers,
    user_frame,
    user_numbers,
    with_finite_squares,
)
from semisvm.estimators.classifier import FLOATS, read_texts, refuse_too_large, validated
from semisvm.matrices import as_dense, is_frame, is_sparse_matrix

POINTS = "points"
TEXTS = "texts"


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check what the user gives: a matrix, `Columns`, or an array of strings.

    With `reset`, what X is gets settled and kept in ``estimator._input``: "points", "texts", or the
    `Schema` of a table. Without it X must be the same.
    """
    name = type(estimator).__name__
    if not isinstance(X, Columns) and _has_no_rows(X):
        raise ValueError(
            f"Found array with 0 sample(s) while a minimum of 1 is required by {name}."
        )
    was_texts = not reset and estimator._input == TEXTS
    texts = None if isinstance(X, Columns) else read_texts(X, are_expected=was_texts)
    if texts is not None:
        if reset:
            estimator._input = TEXTS
        elif not was_texts:
            raise ValueError(f"{name} was fitted on columns, but X holds strings.")
        return texts
    if was_texts:
        raise ValueError(f"{name} was fitted on strings, but X is a {type(X).__name__}.")
    if reset:
        return _read_new_rows(estimator, X)
    if estimator._input == POINTS:
        return validated(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=False)
    if not isinstance(X, Columns):
        is_named = isinstance(estimator.columns, Mapping)
        X = as_dense(X)
        has_numbers_only = all(column.type == "number" for column in estimator._input.columns)
        if has_numbers_only and not is_named:
            numbers = user_numbers(estimator, X, reset=False)
            if numbers is not None:
                return with_finite_squares(estimator._input.read(numbers))
        X = user_frame(estimator, X, reset=False, ignores_others=is_named)
    return estimator._input.read(X)


def _has_no_rows(X: Any) -> bool:
    return not X if isinstance(X, list | tuple) else getattr(X, "shape", ())[:1] == (0,)


def _read_new_rows(estimator: Any, X: Any) -> Any:
    """Find out whether rows are an array or a table, and the kinds of its columns: inferred, or as
    the user names them.
    """
    if isinstance(X, Columns):
        X.name_features_of(estimator)
        estimator._input = X.schema
        return X
    columns = estimator.columns
    if columns == "auto" and not is_frame(X):
        finite = True if is_sparse_matrix(X) else "allow-nan"
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_all_finite": finite}
        X = validated(estimator, X, reset=True, **how)
        columns = "table" if looks_like_a_table(X) else POINTS
    if columns == POINTS:
        X = validated(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=True)
        refuse_too_large(X, getattr(estimator, "feature_names_in_", None))
        estimator._input = POINTS
        return X
    X = as_dense(X)
    is_named = isinstance(columns, Mapping)
    numbers = None if is_named else user_numbers(estimator, X, reset=True)
    frame: Any = None if numbers is not None else user_frame(estimator, X, reset=True)
    types = None
    if is_named:
        types = _named_types(frame, columns)
        frame = frame[[name for name in frame.columns if name in types]]
    try:
        table = read_frame(frame, types).columns if numbers is None else read_numbers(numbers)
    except ValueError as error:
        raise ValueError(
            f"{type(estimator).__name__}: {error}. Correct it, or say what the columns are"
            " (`columns`)."
        ) from None
    estimator._input = table.schema
    return table


def _named_types(frame: Any, columns: Mapping[str, Any]) -> dict[str, Type]:
    """What the user says about columns, by name or position: {name: type}."""
    kinds = get_args(Type)
    faults = [f"{kind!r} is not a kind of column" for kind in columns if kind not in kinds]
    types: dict[str, Type] = {}
    for kind, names in columns.items():
        if isinstance(names, str):
            faults.append(f"{names!r} is no list: write [{names!r}]")
            continue
        for name in names:
            text = str(name)
            if text not in frame.columns and isinstance(name, int) and name < frame.shape[1]:
                text = frame.columns[name]
            if text not in frame.columns:
                faults.append(f"there is no column {name!r}")
            if text in types:
                faults.append(f"column {name!r} is named twice")
            types[text] = kind  # type: ignore[assignment]
    if not types:
        faults.append("no column is named")
    if faults:
        raise ValueError(
            "columns must be 'auto', 'points', 'table', or a dictionary with the names of columns"
            f" for some of {', '.join(kinds)}; here {faults[0]}."
        )
    return types
