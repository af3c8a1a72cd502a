"""From the columns of a table to a matrix of numbers, by scikit-learn's ColumnTransformer.

    number     centered and scaled to variance 1; an empty cell becomes the median, and an extra column marks it
    date       days, and the position in the year, the week and the day on circles; then scaled as numbers
    category   one column per value, at most 100; the rare values share one column
    text       TF-IDF of words

The matrix is sparse where most of it is zero. Everything is learned from features only, never from labels, so labeled
and unlabeled rows count the same. `MatrixEncoder` is for files of bare numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from semisvm.tables.columns import LARGEST_NUMBER, Column

if TYPE_CHECKING:
    import pandas

MOST_CATEGORIES = 100
MOST_WORDS = 20_000
FEW_TEXTS = 200  # below this a word that occurs once is kept
DAYS_PER_YEAR = 365.25
# A date has five parts that vary (the time of day rarely does). Together they count as much as one number. So do a
# category and a text, which has length 1.
WEIGHT_OF_DATE_PARTS = 5**-0.5
WORD = r"(?u)\w+|[^\w\s]+"  # a run of punctuation is a word too: "!!!" tells spam from ham


class CellError(ValueError):
    """A cell that does not fit the type of its column; `row` is counted from 0 in the rows that were given."""

    def __init__(self, column: str, row: int, cell: str, wanted: str):
        super().__init__(f"column {column!r} holds {cell!r} where a {wanted} is expected")
        self.column, self.row = column, row


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encodes frames with these columns.

    Parameters
    ----------
    columns : list of Column
        The columns to encode. Other columns of a frame are ignored; a missing one is a ValueError.
    """

    def __init__(self, columns: list[Column]):
        self.columns = columns

    def fit(self, frame: pandas.DataFrame, y: Any = None) -> TableEncoder:
        """Learn scales, categories and words."""
        from sklearn.compose import ColumnTransformer

        self.transformer_ = ColumnTransformer(
            self._parts(len(frame)), sparse_threshold=0.3, transformer_weights={"date": WEIGHT_OF_DATE_PARTS}
        )
        self.transformer_.fit(self._typed(frame))
        return self

    def transform(self, frame: pandas.DataFrame) -> Any:
        """Encode rows: a dense array or a CSR matrix."""
        X = self.transformer_.transform(self._typed(frame))
        is_sparse = sparse.issparse(X)
        return X.tocsr() if is_sparse else np.ascontiguousarray(X, dtype=np.float64)

    @property
    def plain_numbers(self) -> frozenset[str]:
        """Columns that a reader may turn into numbers on its own."""
        return frozenset(column.name for column in self.columns if column.type == "number" and not column.strays)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def _parts(self, n_rows: int) -> list[tuple[str, Any, Any]]:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        names = {type: [c.name for c in self.columns if c.type == type] for type in ("number", "date", "category")}
        scaled = (SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler())
        parts: list[tuple[str, Any, Any]] = [
            ("number", make_pipeline(*scaled), names["number"]),
            ("date", make_pipeline(DateParts(), *scaled), names["date"]),
            (
                "category",
                OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES),
                names["category"],
            ),
        ]
        for column in self.columns:
            if column.type == "text":
                least = 1 if n_rows < FEW_TEXTS else 2
                words = TfidfVectorizer(sublinear_tf=True, min_df=least, max_features=MOST_WORDS, token_pattern=WORD)
                parts.append((f"text {column.name}", words, column.name))
        return [part for part in parts if part[2]]

    def _typed(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        import pandas

        for name in self.names:
            if name not in frame.columns:
                raise ValueError(f"there is no column {name!r}")
        return pandas.DataFrame({c.name: _typed_column(c, frame[c.name]) for c in self.columns}, copy=False)


class DateParts(TransformerMixin, BaseEstimator):
    """Dates as numbers: days since 2000, then sine and cosine of the time of year, of the week and of the day."""

    def fit(self, frame: pandas.DataFrame, y: Any = None) -> DateParts:
        """Learn nothing."""
        self.n_features_in_ = frame.shape[1]
        return self

    def transform(self, frame: pandas.DataFrame) -> np.ndarray:
        """Return seven numbers per date, NaN where it is missing."""
        columns = []
        for _, dates in frame.items():
            days = (dates.to_numpy(dtype="datetime64[us]") - np.datetime64("2000-01-01", "us")) / np.timedelta64(1, "D")
            columns.append(days)
            for turn in (DAYS_PER_YEAR, 7.0, 1.0):
                angle = 2 * np.pi * (days / turn)
                columns += [np.sin(angle), np.cos(angle)]
        return np.column_stack(columns)


class MatrixEncoder(TransformerMixin, BaseEstimator):
    """Encodes rows of bare numbers: dense columns are centered and scaled, sparse ones are left as they are."""

    def fit(self, X: Any, y: Any = None) -> MatrixEncoder:
        """Learn the scales."""
        from sklearn.preprocessing import StandardScaler

        self.n_features_in_ = X.shape[1]
        if not sparse.issparse(X) and (large := np.argwhere(np.abs(X) > LARGEST_NUMBER)).size:
            row, column = large[0].tolist()
            raise ValueError(
                f"row {row + 1}: feature {column + 1} is {X[row, column]:g}, beyond {LARGEST_NUMBER:g}, the largest "
                "number that can be scaled. Correct it."
            )
        self.scaler_ = None if sparse.issparse(X) else StandardScaler().fit(X)
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows."""
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"rows have {X.shape[1]} features where the model knows {self.n_features_in_}")
        if self.scaler_ is None:
            return sparse.csr_matrix(X)
        is_sparse = sparse.issparse(X)
        return self.scaler_.transform(X.toarray() if is_sparse else X)


def _typed_column(column: Column, cells: pandas.Series) -> Any:
    """Return a column as what it is: float64, datetime64, or objects that are all text."""
    cells = _as_read(cells)
    if column.type == "number":
        return _numbers(column, cells)
    if column.type == "date":
        return _dates(column, cells)
    if cells.dtype.kind == "f":  # numbers that are categories
        return np.array(["" if np.isnan(cell) else f"{cell:g}" for cell in cells.to_numpy()], dtype=object)
    return cells.astype(object).where(cells.notna(), "").astype(str).str.strip().to_numpy(dtype=object)


def _as_read(cells: pandas.Series) -> pandas.Series:
    """Return a column of any frame as a reader would have given it: float64, datetime64 or text."""
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if cells.dtype.kind == "f" or cells.dtype == "str":
        return cells
    if is_datetime64_any_dtype(cells.dtype):
        return cells.dt.tz_convert(None) if getattr(cells.dtype, "tz", None) is not None else cells
    if is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
        return cells.astype("Float64").astype("float64")
    return cells.astype("object").where(cells.notna(), None).map(str, na_action="ignore").astype("str")


def _numbers(column: Column, cells: pandas.Series) -> np.ndarray:
    import pandas

    if cells.dtype.kind == "f":
        values = cells.to_numpy()
        large = np.flatnonzero(np.abs(values) > LARGEST_NUMBER)
        if len(large):
            raise CellError(column.name, int(large[0]), f"{values[large[0]]:g}", f"number up to {LARGEST_NUMBER:g}")
        return values
    if cells.dtype.kind == "M":
        raise CellError(column.name, 0, str(cells.iloc[0]), "number")
    words = cells.str.strip()
    words = words.mask(words.isin(column.strays))
    numbers = pandas.to_numeric(words, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero((np.isnan(numbers) & words.notna().to_numpy()) | (np.abs(numbers) > LARGEST_NUMBER))
    if len(wrong):
        raise CellError(column.name, int(wrong[0]), str(words.iloc[wrong[0]]), "finite number")
    return numbers


def _dates(column: Column, cells: pandas.Series) -> np.ndarray:
    import pandas

    if cells.dtype.kind == "M":
        return cells.to_numpy(dtype="datetime64[us]")
    if cells.dtype.kind == "f" and not cells.isna().all():
        raise CellError(column.name, 0, str(cells.iloc[0]), "date")
    words = cells.astype(object).where(cells.notna(), None)
    dates = pandas.to_datetime(words, format=column.format or "ISO8601", utc=True, errors="coerce")
    wrong = np.flatnonzero((dates.isna() & cells.notna()).to_numpy())
    if len(wrong):
        raise CellError(column.name, int(wrong[0]), str(cells.iloc[wrong[0]]), "date")
    return dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
