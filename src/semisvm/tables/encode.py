"""From the columns of a table to a matrix of numbers, by scikit-learn's ColumnTransformer.

    number     centered and scaled to variance 1; an empty cell becomes the median, and an extra column marks it
    date       days, and the position in the year, the week and the day on circles; then scaled as numbers
    category   one column per value, at most 100; the rare values share one column
    text       TF-IDF of words

There are other preparations ("views") of the same columns, which are candidates of a fit:

    quantiles   numbers are replaced by normal scores of their ranks: outliers and long tails lose their weight
    letters     text as TF-IDF of words and of runs of 3 to 5 letters: endings, typing errors, languages without spaces
    latent      text as the first 100 singular vectors of TF-IDF, learned from all rows: words that occur together

The matrix is sparse where most of it is zero. Everything is learned from features only, never from labels, so labeled
and unlabeled rows count the same. `MatrixEncoder` is for files of bare numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from semisvm.errors import counted
from semisvm.matrices import as_dense, is_sparse_matrix
from semisvm.shared_docs import with_shared_docs
from semisvm.tables.column_facts import LARGEST_NUMBER, facts_of
from semisvm.tables.columns import TRUTH_WORDS, Column, as_read, settle_columns, typed_column

if TYPE_CHECKING:
    import pandas

STANDARD, QUANTILES, LETTERS, LATENT = "standard", "quantiles", "letters", "latent"
MOST_CATEGORIES = 100
SPARSE_BELOW = 0.3  # share of entries that are not zero, up to which encoded rows are sparse
MOST_WORDS = 20_000
MOST_LETTERS = 30_000
N_LATENT = 100
N_QUANTILES = 200
FEW_TEXTS = 200  # below this a word that occurs once is kept
DAYS_PER_YEAR = 365.25
DATE_PARTS = ("day", "year sin", "year cos", "week sin", "week cos", "time sin", "time cos")
# Five parts of a date vary (the time of day rarely does). Together they count as one number, as a category does.
WEIGHT_OF_DATE_PARTS = 5**-0.5


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encodes tables of mixed columns: numbers, categories, dates, free text, empty cells.

    Parameters
    ----------
    columns : list of Column, optional
        What the columns are; by default the types are found when the encoder is fitted. Other columns of a frame are
        ignored; a missing one is a ValueError.
    view : {"standard", "quantiles", "letters", "latent"}, default="standard"
        How numbers and text are prepared. "standard": numbers are centered and scaled, text is TF-IDF of words.
        "quantiles": numbers are replaced by normal scores of their ranks. "letters": words and runs of 3 to 5 letters.
        "latent": 100 singular vectors of TF-IDF, learned from all rows.

    Attributes
    ----------
    columns_ : list of Column
        The columns in use.
    left_out_ : dict of {str: str}
        Columns that were left out, and why.
    transformer_ : ColumnTransformer
        The fitted transformer.
    n_features_in_ : int
        The number of columns of the frame.

    See Also
    --------
    sklearn.compose.ColumnTransformer : Where the columns are known and each needs its own treatment.

    Examples
    --------
    >>> import pandas as pd
    >>> from semisvm import TableEncoder
    >>> cells = {"size": [1.5, 2.0, None, 7.5], "color": ["red", "blue", "red", "red"], "id": list("abcd")}
    >>> table = pd.DataFrame(cells)
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table).shape
    (4, 4)
    >>> encoder.left_out_
    {'id': 'is different in every row'}
    """

    def __init__(self, columns: list[Column] | None = None, *, view: str = STANDARD):
        self.columns = columns
        self.view = view

    def fit(self, frame: pandas.DataFrame, y: Any = None) -> TableEncoder:
        """Learn scales, categories and words.

        Parameters
        ----------
        frame : DataFrame
            The rows, labeled and unlabeled.
        y : object
            Ignored.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        from semisvm.estimators.auto.preparation import with_plain_vocabulary

        if self.view not in (STANDARD, QUANTILES, LETTERS, LATENT):
            raise ValueError(f"There is no view {self.view!r}: choose standard, quantiles, letters or latent.")
        self.left_out_: dict[str, str] = {}
        self.columns_: list[Column] = self.columns or []
        if self.columns is None:
            frame = frame.rename(columns=str)
            self.columns_, unused = settle_columns({name: facts_of(as_read(frame[name])) for name in frame.columns})
            self.left_out_ = {one.name: one.why for one in unused}
        self.n_features_in_ = frame.shape[1]
        self.transformer_ = self._transformer(len(frame)).fit(self._typed(frame))
        for vectorizer in _vectorizers(self.transformer_):
            with_plain_vocabulary(vectorizer)
        return self

    @with_shared_docs
    def transform(self, frame: pandas.DataFrame) -> Any:
        """Encode rows.

        Parameters
        ----------
        %(frame)s

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_encoded)
            The encoded rows.
        """
        X = self.transformer_.transform(self._spelled_as_known(self._typed(frame)))
        return X.tocsr() if is_sparse_matrix(X) else np.ascontiguousarray(X, dtype=np.float64)

    @with_shared_docs
    def typed(self, frame: pandas.DataFrame) -> tuple[pandas.DataFrame, dict[str, list[str]]]:
        """Return the columns as numbers and text, and which are numbers, categories and text.

        Parameters
        ----------
        %(frame)s

        Returns
        -------
        frame : DataFrame
            float64 columns (NaN where a cell is empty; a date is seven of them) and columns of text.
        groups : dict of {str: list of str}
            Names of the columns by "number", "category" and "text".
        """
        import pandas

        typed = self._spelled_as_known(self._typed(frame))
        found: dict[str, Any] = {}
        groups: dict[str, list[str]] = {"number": [], "category": [], "text": []}
        for column in self.columns_:
            if column.type == "date":
                parts = DateParts().transform(typed[[column.name]])
                names = [f"{column.name} ({part})" for part in DATE_PARTS]
                found |= dict(zip(names, parts.T, strict=True))
                groups["number"] += names
            else:
                found[column.name] = typed[column.name]
                groups[column.type].append(column.name)
        return pandas.DataFrame(found, copy=False), {kind: names for kind, names in groups.items() if names}

    @property
    def plain_numbers(self) -> frozenset[str]:
        """Columns that a reader may turn into numbers on its own."""
        numbers = (column for column in self.columns_ if column.type == "number")
        return frozenset(column.name for column in numbers if not column.strays and not column.format)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in use."""
        return tuple(column.name for column in self.columns_)

    def _transformer(self, n_rows: int) -> Any:
        """A ColumnTransformer for so many rows that is not fitted yet."""
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        names = {type: [c.name for c in self.columns_ if c.type == type] for type in ("number", "date", "category")}
        impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES)
        parts: list[tuple[str, Any, Any]] = [
            ("number", make_pipeline(impute, _scaler(self.view, n_rows)), names["number"]),
            ("date", make_pipeline(DateParts(), impute, _scaler(STANDARD, n_rows)), names["date"]),
            ("category", one_hot, names["category"]),
        ]
        for column in self.columns_:
            if column.type == "text":
                parts.append((f"text {column.name}", _text_part(self.view, n_rows), column.name))
        parts = [part for part in parts if part[2]]
        weights = {"date": WEIGHT_OF_DATE_PARTS}
        return ColumnTransformer(parts, sparse_threshold=SPARSE_BELOW, transformer_weights=weights)

    def _typed(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        import pandas

        for name in self.names:
            if name not in frame.columns:
                raise ValueError(f"there is no column {name!r}")
        return pandas.DataFrame({c.name: typed_column(c, frame[c.name]) for c in self.columns_}, copy=False)

    def _spelled_as_known(self, typed: pandas.DataFrame) -> pandas.DataFrame:
        """Spell truth values as the rows of the fit do: "True" in pandas and its CSV files, "true" in Parquet files."""
        parts = self.transformer_.named_transformers_ if hasattr(self, "transformer_") else {}
        names = [c.name for c in self.columns_ if c.type == "category"]
        for name, categories in zip(names, getattr(parts.get("category"), "categories_", ()), strict=False):
            there = [word for word in TRUTH_WORDS if word in categories]
            known = {word.lower(): word for word in there}
            other = {word: known[word.lower()] for word in TRUTH_WORDS if word not in there and word.lower() in known}
            typed[name] = typed[name].replace(other) if other else typed[name]
        return typed


def _scaler(view: str, n_rows: int) -> Any:
    from sklearn.preprocessing import QuantileTransformer, StandardScaler

    if view != QUANTILES:
        return StandardScaler()
    return QuantileTransformer(
        n_quantiles=min(N_QUANTILES, n_rows), output_distribution="normal", subsample=100_000, random_state=0
    )


def _text_part(view: str, n_rows: int) -> Any:
    """A column of text as numbers: rows of length about 1."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import Normalizer

    from semisvm.estimators.auto.preparation import TERM

    least = 1 if n_rows < FEW_TEXTS else 2
    words = TfidfVectorizer(sublinear_tf=True, min_df=least, max_features=MOST_WORDS, token_pattern=TERM)
    if view not in (LETTERS, LATENT):
        return words
    letters = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, min_df=least, max_features=MOST_LETTERS
    )
    both = FeatureUnion([("words", words), ("letters", letters)])
    if view == LETTERS:
        return make_pipeline(both, Normalizer())
    return make_pipeline(both, LatentText(random_state=0), Normalizer())


def _vectorizers(part: Any) -> Iterator[Any]:
    """Those that count words or letters, among the parts of a transformer."""
    if hasattr(part, "vocabulary_"):
        yield part
    for kind in ("transformers_", "steps", "transformer_list"):
        for _, inner, *_ in getattr(part, kind, ()):
            yield from _vectorizers(inner)


class LatentText(TransformerMixin, BaseEstimator):
    """The first singular vectors of a sparse matrix, at most 100 and fewer where it is small."""

    def __init__(self, random_state: Any = None):
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LatentText:
        """Learn the vectors."""
        from sklearn.decomposition import TruncatedSVD

        self.n_features_in_ = X.shape[1]
        most = min(N_LATENT, X.shape[0] - 1, X.shape[1] - 1)
        self.svd_ = None if most < 2 else TruncatedSVD(most, n_iter=3, random_state=self.random_state).fit(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of the rows."""
        return np.asarray(X.todense()) if self.svd_ is None else self.svd_.transform(X)


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
    """Encodes rows of bare numbers: dense columns are scaled or made normal, sparse ones are left as they are."""

    def __init__(self, *, view: str = STANDARD):
        self.view = view

    def fit(self, X: Any, y: Any = None) -> MatrixEncoder:
        """Learn the scales."""
        self.n_features_in_ = X.shape[1]
        if not is_sparse_matrix(X) and (large := np.argwhere(np.abs(X) > LARGEST_NUMBER)).size:
            row, column = large[0].tolist()
            raise ValueError(
                f"row {row + 1}: feature {column + 1} is {X[row, column]:g}, beyond {LARGEST_NUMBER:g}, the largest "
                "number that can be scaled. Correct it."
            )
        self.scaler_ = None if is_sparse_matrix(X) else _scaler(self.view, X.shape[0]).fit(X)
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows."""
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"rows have {counted(X.shape[1], 'feature')} where the model knows {self.n_features_in_}")
        if self.scaler_ is None:
            return sparse.csr_matrix(X)
        return self.scaler_.transform(as_dense(X))
