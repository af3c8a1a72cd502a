"""A table whose cells are values: decided and read once, then sliced for folds and fits.

    frame --read_table--> Columns, with the columns that are left out and remarks    (a fit)
    frame --Schema.read--> Columns                                                   (new rows)

A frame is a DataFrame of pandas or of another library that converts to it; its cells may be text,
as in a CSV file, or typed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from semisvm.columns.cells import LARGEST_NUMBER, CellError, Cells, Column, Type, typed_column
from semisvm.columns.kinds import (
    MarkedNumbersError,
    Unused,
    decide,
    no_measurement,
    remark_on,
)
from semisvm.errors import counted, suggest
from semisvm.matrices import is_frame

if TYPE_CHECKING:
    import pandas

DAYS_PER_YEAR = 365.25
DAY = np.timedelta64(1, "D")
MICROSECONDS_PER_DAY = 86_400_000_000
FIRST_DAY = np.datetime64("2000-01-01", "D")
DATE_PARTS = ("day", "year sin", "year cos", "week sin", "week cos", "time sin", "time cos")
MOST_NAMED = 3  # columns in a message


@dataclass(frozen=True)
class Schema:
    """What the columns of a table are."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in use."""
        return tuple(column.name for column in self.columns)

    def read(self, rows: pandas.DataFrame | Columns) -> Columns:
        """Turn the cells of new rows into values; other columns of the frame are ignored."""
        there = rows.schema.names if isinstance(rows, Columns) else list(map(str, rows.columns))
        missing = [name for name in self.names if name not in set(there)]
        if missing:
            are = "are no columns" if len(missing) > 1 else "is no column"
            raise ValueError(f"there {are} {listed(missing)}: {suggest(missing[0], there)}")
        if isinstance(rows, Columns):
            return rows.select(self)
        values = [typed_column(column, Cells(rows[column.name])) for column in self.columns]
        return Columns(self, tuple(values))


@dataclass(frozen=True)
class Columns:
    """A table whose cells are values.

    values   one array per column: float64, datetime64, or objects that are all text; an empty cell
             is NaN, NaT or ""
    """

    schema: Schema
    values: tuple[np.ndarray, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.values)

    def __len__(self) -> int:
        return len(self.values[0])

    def __getitem__(self, rows: Any) -> Any:
        """Some of the rows; for a name, the values of the column."""
        if isinstance(rows, str):
            return self.values[self.schema.names.index(rows)]
        return Columns(self.schema, tuple(column[rows] for column in self.values))

    def select(self, schema: Schema) -> Columns:
        """The columns of a schema, which must be of the types they have here."""
        types = {column.name: column.type for column in self.schema.columns}
        for column in schema.columns:
            if types[column.name] != column.type:
                raise ValueError(
                    f"column {column.name!r} holds {types[column.name]}s where {column.type}s are"
                    " expected"
                )
        return Columns(schema, tuple(self[name] for name in schema.names))

    def of_type(self, type: Type) -> dict[str, np.ndarray]:
        """The columns of one type, by name."""
        return {
            column.name: values
            for column, values in zip(self.schema.columns, self.values, strict=True)
            if column.type == type
        }

    @property
    def numbers(self) -> np.ndarray:
        """The columns of numbers, (n, d)."""
        return _side_by_side(self.of_type("number").values(), len(self), np.float64)

    @property
    def dates(self) -> np.ndarray:
        """Seven numbers for each date, (n, 7 d), NaN where a date is missing (`DATE_PARTS`)."""
        parts = [part for dates in self.of_type("date").values() for part in _date_parts(dates)]
        return _side_by_side(parts, len(self), np.float64)

    @property
    def categories(self) -> np.ndarray:
        """The columns of categories, (n, d), objects that are all text."""
        return _side_by_side(self.of_type("category").values(), len(self), object)

    @property
    def cells(self) -> np.ndarray:
        """All cells as objects, (n, columns)."""
        return _side_by_side(self.values, len(self), object)

    def name_features_of(self, estimator: Any) -> None:
        """Keep the names and the number of columns in an estimator, as scikit-learn does."""
        estimator.feature_names_in_ = np.array(self.schema.names, dtype=object)
        estimator.n_features_in_ = len(self.values)
        estimator._column_names = list(self.schema.names)


def _side_by_side(columns: Collection[np.ndarray], n_rows: int, type: Any) -> np.ndarray:
    table = np.empty((n_rows, len(columns)), dtype=type)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def _date_parts(dates: np.ndarray) -> list[np.ndarray]:
    """Days since 2000, then sine and cosine of the time of year, of the week and of the day."""
    passed = dates - FIRST_DAY
    parts = [passed / DAY]
    for days in (DAYS_PER_YEAR, 7.0, 1.0):
        turn = np.timedelta64(round(days * MICROSECONDS_PER_DAY), "us")
        # Whole microseconds: rounding would make a column that varies of times that do not.
        angle = 2 * np.pi * ((passed % turn) / turn)
        parts += [np.sin(angle), np.cos(angle)]
    return parts


@dataclass(frozen=True)
class TableReading:
    """A table that was decided on and read: the columns in use, those left out, and what a
    person should check about columns in use, by name.
    """

    columns: Columns
    left_out: tuple[Unused, ...]
    remarks: dict[str, str]


def read_table(
    frame: pandas.DataFrame, types: Mapping[str, Type] | None = None, decimal: str | None = None
) -> TableReading:
    """Decide what each column is, and turn its cells into values.

    types     what some columns are, by name
    decimal   the decimal mark of numbers such as "1.234,56"; None: plain numbers
    """
    decided: list[tuple[Column, np.ndarray]] = []
    left_out = []
    remarks = {}
    for name in frame.columns:
        cells = Cells(frame[name])
        column = decide(name, cells, (types or {}).get(name), decimal)
        if isinstance(column, Unused):
            left_out.append(column)
            continue
        decided.append((column, typed_column(column, cells)))
        if remark := remark_on(column, cells, decimal):
            remarks[name] = remark
    if not decided:
        raise nothing_left(left_out, len(frame))
    schema = Schema(tuple(column for column, _ in decided))
    return TableReading(
        Columns(schema, tuple(values for _, values in decided)), tuple(left_out), remarks
    )


def read_frame(frame: pandas.DataFrame, types: Mapping[str, Type] | None = None) -> TableReading:
    """The same for an estimator, which has no parameter for the mark of decimals."""
    try:
        return read_table(frame, types)
    except MarkedNumbersError as error:
        raise ValueError(
            f"{error.reason}: make it a column of numbers first (pandas.read_csv has `decimal` and"
            " `thousands`)"
        ) from None


def read_numbers(table: Columns) -> Columns:
    """Leave out columns of numbers that say nothing, as `read_table` does."""
    kept = []
    left_out = []
    for column, values in zip(table.schema.columns, table.values, strict=True):
        given = values[~np.isnan(values)]
        why = "holds no value" if not len(given) else ""
        if not why and (given == given[0]).all():
            why = f"holds {str(given[0])!r} in every row"
        why = why or no_measurement(column.name, given)
        if why:
            left_out.append(Unused(column.name, why))
        else:
            kept.append(column)
    if not kept:
        raise nothing_left(left_out, len(table))
    return with_finite_squares(table.select(Schema(tuple(kept))))


def with_finite_squares(table: Columns) -> Columns:
    """Return columns of numbers; CellError where one of them is too large."""
    for column, values in zip(table.schema.columns, table.values, strict=True):
        is_wrong = np.abs(values) > LARGEST_NUMBER
        if is_wrong.any():
            row = int(is_wrong.argmax())
            wanted = f"number up to {LARGEST_NUMBER:g}"
            raise CellError(column.name, row, f"{values[row]:g}", wanted)
    return table


class NothingLeftError(ValueError):
    """A table without a column that may be of use."""


def nothing_left(left_out: Sequence[Unused], n_rows: int) -> NothingLeftError:
    """The error about a table without a column that may be of use."""
    reasons = "; ".join(f"column {one.name!r} {one.why}" for one in left_out[:MOST_NAMED])
    message = f"no column is left to learn from in {counted(n_rows, 'sample')}"
    return NothingLeftError(f"{message}: {reasons}" if reasons else message)


# ---- what users give ----


def user_numbers(estimator: Any, X: Any, *, reset: bool) -> Columns | None:
    """An array of floats that an estimator is given, as columns of numbers: it needs no pandas.
    None for any other table.
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f":
        return None
    X, names = _checked_array(estimator, X, np.float64, reset)
    columns = tuple(Column(name, "number") for name in names)
    return Columns(Schema(columns), tuple(X.T.copy()))


def _checked_array(estimator: Any, X: Any, type: Any, reset: bool) -> tuple[np.ndarray, list[str]]:
    """An array that an estimator is given, and the names of its columns."""
    with np.errstate(over="ignore", invalid="ignore"):  # the check sums numbers of any size
        X = check_array(X, dtype=type, ensure_all_finite="allow-nan", estimator=estimator)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset:
        estimator._column_names = [f"x{j}" for j in range(X.shape[1])]
    return X, estimator._column_names


def user_frame(
    estimator: Any, X: Any, *, reset: bool, ignores_others: bool = False
) -> pandas.DataFrame:
    """A table that an estimator is given, as a frame of pandas, its columns checked against the
    fit.

    With `reset` the names and the number of columns are kept in the estimator, as scikit-learn
    does. Columns are identified by their names, in any order, and scikit-learn's error names those
    that are missing or new; with `ignores_others` further ones may be there. The columns of an
    array are those of the fit, or "x0", "x1" and so on. If the columns of the fit had no names,
    those of a frame with names are also identified by their position.
    """
    import pandas

    if is_frame(X):
        X = X if hasattr(X, "iloc") else X.to_pandas()
        known = None if reset else getattr(estimator, "feature_names_in_", None)
        if known is not None and set(X.columns) == set(known):
            X = X[list(known)]
        if reset or not ignores_others:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        frame = as_frame(X)
        if reset:
            estimator._column_names = list(frame.columns)
        elif known is None:
            frame = _with_names_of_fit(frame, estimator._column_names)
        return frame
    X, names = _checked_array(estimator, X, None, reset)
    return pandas.DataFrame(X, columns=names)


def _with_names_of_fit(frame: pandas.DataFrame, names: list[str]) -> pandas.DataFrame:
    """The frame itself, or with the names of the fit where it has as many columns, and none of
    these names.
    """
    is_other = set(names).isdisjoint(frame.columns) and len(names) == frame.shape[1]
    return frame.set_axis(names, axis=1) if is_other else frame


def as_frame(X: Any) -> pandas.DataFrame:
    """A frame of any library as one of pandas, with names that are text."""
    frame = X if hasattr(X, "iloc") else X.to_pandas()
    names = [str(name) for name in frame.columns]
    if list(frame.columns) != names:
        frame = frame.set_axis(names, axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"Two columns are called {twice!r}: rename one of them.")
    return frame


def listed(names: list[str]) -> str:
    """Return the names of some columns for a message, the first few."""
    rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + rest
