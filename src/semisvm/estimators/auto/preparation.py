"""What `AutoSVC` is given: points, a table of columns, or texts; and the matrices ("views") that members learn from.

    points      a matrix of numbers: one view, "rows", the matrix itself
    table       a DataFrame: "standardized" and "quantile", two preparations of its columns; two views per text column
    texts       strings: the views "words" and "characters", TF-IDF

    number      an empty cell becomes the median, and an extra column marks it; then scaled to variance 1, or mapped by
                its ranks to a normal distribution
    category    one column per value, at most 100; a missing value is a value
    text        sublinear TF-IDF of words, and of 3 to 5 characters within words

Everything is learned from the rows that the kernels are made from, never from labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from semisvm.estimators.classifier import FLOATS, refuse_too_large, validated
from semisvm.matrices import as_dense, is_frame, is_sparse_matrix

GROUPS = ("number", "category", "text")
MOST_VALUES = 100  # of a category that have a column of their own
MOST_TERMS = 50_000  # words, or groups of characters, of a text column
LARGEST_CELL = 1e150  # the squares of larger numbers overflow
TEXT_WORDS = 3.0  # a column of strings with at least so many words per cell, on average, is text
_NO_SPACES = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Chinese and Japanese are written without spaces
WORD = rf"[{_NO_SPACES}]{{2}}|[^\s{_NO_SPACES}]+"  # for counting: two such characters are about one word
# Each such character is a term, and so is a run of punctuation: "!!!" tells spam from ham.
TERM = rf"(?u)[{_NO_SPACES}]|[^\W{_NO_SPACES}]+|[^\w\s]+"


@dataclass(frozen=True)
class TableRows:
    """Rows of a table by kind of column: numbers (n, d), categories (n, k) and texts (n, t), the last two of objects.

    names   the columns' names, by kind
    """

    numbers: np.ndarray
    categories: np.ndarray
    texts: np.ndarray
    names: dict[str, tuple[Any, ...]]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers), sum(map(len, self.names.values()))

    @property
    def cells(self) -> np.ndarray:
        """All cells as objects, (n, columns)."""
        return np.hstack([self.numbers.astype(object), self.categories, self.texts])

    def __getitem__(self, rows: Any) -> TableRows:
        return TableRows(self.numbers[rows], self.categories[rows], self.texts[rows], self.names)


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check what the user gives: a matrix, `TableRows`, or an array of strings.

    With `reset` the kind and the columns are settled and kept in ``estimator._groups``: None for points, an empty
    dictionary for texts, the names or positions of the columns by kind for a table. Without it they are looked for.
    """
    if is_texts(X):
        strings = as_strings(X)
        if reset:
            estimator._groups = {}
        elif estimator._groups != {}:
            raise ValueError(f"{type(estimator).__name__} was fitted on rows of columns, and is given strings.")
        return strings
    X = X.to_pandas() if is_frame(X) and hasattr(X, "to_pandas") else X
    if reset:
        estimator._groups = settle_groups(X, estimator.columns)
    groups = estimator._groups
    if groups == {}:
        raise ValueError(f"{type(estimator).__name__} was fitted on strings, and is given {type(X).__name__}.")
    if groups is None:
        X = validated(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=reset)
        if reset:
            refuse_too_large(X, getattr(estimator, "feature_names_in_", None))
        return X
    if is_frame(X):
        validated(estimator, X, skip_check_array=True, reset=reset)
    else:
        X = as_dense(X)
        X = validated(estimator, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=reset)
    return _read_table(X, groups, getattr(estimator, "feature_names_in_", None))


def is_texts(X: Any) -> bool:
    """Whether X is one string per row."""
    if is_sparse_matrix(X) or is_frame(X) or not hasattr(X, "__len__") or isinstance(X, str | dict) or len(X) == 0:
        return False
    if getattr(X, "ndim", 1) != 1:
        return False
    return any(isinstance(one, str) for one in X) and all(one is None or isinstance(one, str | float) for one in X)


def as_strings(X: Any) -> np.ndarray:
    """Texts or categories as an array of strings, which can be sorted; what is missing is an empty string."""
    return np.array(["" if _is_missing(one) else str(one) for one in X], dtype=object)


def settle_groups(X: Any, columns: Any) -> dict[str, tuple[Any, ...]] | None:
    """The columns of a table by kind, as the user names them or as they look; None for points."""
    if isinstance(columns, Mapping):
        return _named_groups(X, columns)
    if columns == "points" or (columns == "auto" and not is_frame(X)):
        return None
    if not is_frame(X):
        return {"number": tuple(range(np.shape(X)[1])) if np.ndim(X) == 2 else (), "category": (), "text": ()}
    found: dict[str, list[Any]] = {kind: [] for kind in GROUPS}
    for name in X.columns:
        found[_kind_of(X[name])].append(name)
    return {kind: tuple(names) for kind, names in found.items()}


def _named_groups(X: Any, columns: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    named = [name for names in columns.values() for name in names]
    there = set(X.columns) if is_frame(X) else set(range(np.shape(X)[1]))
    faults = [f"{kind!r} is no kind of column" for kind in columns if kind not in GROUPS]
    faults += [f"there is no column {name!r}" for name in named if name not in there]
    faults += [f"column {name!r} is named twice" for name in named if named.count(name) > 1]
    faults += [] if named else ["no column is named"]
    if faults:
        raise ValueError(
            f"columns must be 'auto', 'points', 'table', or a dictionary with the names of columns for some of "
            f"{', '.join(GROUPS)}; here {faults[0]}."
        )
    return {kind: tuple(columns.get(kind, ())) for kind in GROUPS}


def _kind_of(cells: Any) -> str:
    from pandas.api.types import is_numeric_dtype, is_string_dtype

    if is_numeric_dtype(cells.dtype):
        return "number"
    given = cells.dropna()
    if not is_string_dtype(given) or getattr(cells.dtype, "name", "") == "category" or len(given) == 0:
        return "category"
    return "text" if given.str.count(WORD).mean() >= TEXT_WORDS else "category"


def _read_table(X: Any, groups: dict[str, tuple[Any, ...]], known: Any) -> TableRows:
    """The columns of the groups; `known` are the names at the fit, for an array whose columns have none."""
    n_rows = len(X)
    place = {} if known is None or is_frame(X) else {name: j for j, name in enumerate(known)}

    def column(name: Any) -> Any:
        if not is_frame(X):
            return X[:, place.get(name, name)]
        return X[name] if name in X.columns else X.iloc[:, name]

    parts: dict[str, np.ndarray] = {}
    for kind, names in groups.items():
        parts[kind] = np.empty((n_rows, len(names)), dtype=np.float64 if kind == "number" else object)
        for j, name in enumerate(names):
            cells = column(name)
            parts[kind][:, j] = _numbers_of(name, cells) if kind == "number" else as_strings(cells)
    return TableRows(parts["number"], parts["category"], parts["text"], groups)


def _numbers_of(name: Any, cells: Any) -> np.ndarray:
    try:
        plain = cells if isinstance(cells, np.ndarray) else cells.astype("Float64").astype("float64")
        values = np.asarray(plain, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {name!r} is to hold numbers and does not: name it under 'category' or 'text' in columns."
        ) from None
    if (np.abs(values) > LARGEST_CELL).any():
        row = int(np.flatnonzero(np.abs(values) > LARGEST_CELL)[0])
        raise ValueError(f"Column {name!r} holds {values[row]:g} in row {row}: correct it, or leave the cell empty.")
    return values


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell)) or type(cell).__name__ in ("NAType", "NaTType")


# ---- views ----


@dataclass(frozen=True)
class TextViews:
    """How texts become numbers."""

    words: TfidfVectorizer
    characters: TfidfVectorizer

    def of(self, texts: np.ndarray) -> dict[str, Any]:
        """TF-IDF of words and of characters."""
        return {"words": self.words.transform(texts), "characters": self.characters.transform(texts)}


@dataclass(frozen=True)
class Views:
    """What makes the views of rows: all None for points.

    imputer, scaler, ranks   for numbers; `ranks` maps the columns to a normal distribution, `scaler` the marks of empty
                             cells and the columns to variance 1
    encoder                  for categories
    texts                    by the name of the text column; "" where rows are texts
    """

    imputer: SimpleImputer | None
    scaler: StandardScaler | None
    ranks: QuantileTransformer | None
    encoder: OneHotEncoder | None
    texts: dict[str, TextViews]

    def of(self, rows: Any) -> dict[str, Any]:
        """The views of rows that `read_rows` has checked."""
        if isinstance(rows, TableRows):
            return self._of_columns(rows) | {
                f"{view} of {name}": matrix
                for (name, views), texts in zip(self.texts.items(), rows.texts.T, strict=True)
                for view, matrix in views.of(texts).items()
            }
        return self.texts[""].of(rows) if self.texts else {"rows": rows}

    def _of_columns(self, rows: TableRows) -> dict[str, np.ndarray]:
        standardized, quantiles = [], []
        if self.imputer is not None and self.scaler is not None and self.ranks is not None:
            filled = self.imputer.transform(rows.numbers)
            scaled = self.scaler.transform(filled)
            d = rows.numbers.shape[1]
            standardized.append(scaled)
            quantiles += [normal_scores(self.ranks, filled[:, :d]), scaled[:, d:]]
        if self.encoder is not None:
            encoded = self.encoder.transform(rows.categories)
            standardized.append(encoded)
            quantiles.append(encoded)
        if not standardized:
            return {}
        return {"standardized": np.hstack(standardized), "quantile": np.hstack(quantiles)}


def normal_scores(ranks: QuantileTransformer, rows: np.ndarray) -> np.ndarray:
    """What `ranks.transform` gives, to the last bit, without all of `scipy.stats` for the one function that it uses."""
    scores, places, near = np.array(rows, dtype=np.float64), ranks.references_, 1e-7
    for column, quantiles in zip(scores.T, ranks.quantiles_.T, strict=True):
        is_low, is_high = column - near < quantiles[0], column + near > quantiles[-1]
        from_above = np.interp(-column, -quantiles[::-1], -places[::-1])
        column[:] = 0.5 * (np.interp(column, quantiles, places) - from_above)
        column[is_high], column[is_low] = 1, 0
    end = near - np.spacing(1)
    return np.clip(ndtri(scores), ndtri(end), ndtri(1 - end))


def make_views(rows: Any) -> Views:
    """Learn how these rows become numbers."""
    if not isinstance(rows, TableRows):
        is_text = isinstance(rows, np.ndarray) and rows.dtype == object
        return Views(None, None, None, None, {"": _text_views(rows)} if is_text else {})
    imputer = scaler = ranks = encoder = None
    if rows.numbers.shape[1]:
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True).fit(rows.numbers)
        filled = imputer.transform(rows.numbers)
        scaler = StandardScaler().fit(filled)
        n, d = rows.numbers.shape
        ranks = QuantileTransformer(n_quantiles=min(1000, n), output_distribution="normal", subsample=None)
        ranks.fit(filled[:, :d])
    if rows.categories.shape[1]:
        encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MOST_VALUES, sparse_output=False
        ).fit(rows.categories)
    texts = {str(name): _text_views(cells) for name, cells in zip(rows.names["text"], rows.texts.T, strict=True)}
    return Views(imputer, scaler, ranks, encoder, texts)


def _text_views(texts: np.ndarray) -> TextViews:
    return TextViews(
        _vectorizer(texts, analyzer="word", token_pattern=TERM),
        _vectorizer(texts, analyzer="char_wb", ngram_range=(3, 5)),
    )


def _vectorizer(texts: np.ndarray, **how: Any) -> TfidfVectorizer:
    """Terms of at least two texts and at most half of them; all terms where that leaves none."""
    for least, most in ((2, 0.5), (1, 1.0)):
        found = TfidfVectorizer(
            sublinear_tf=True, min_df=least, max_df=most, max_features=MOST_TERMS, dtype=np.float64, **how
        )
        try:
            return with_plain_vocabulary(found.fit(texts))
        except ValueError:
            continue
    raise ValueError("No text holds a word: every string is empty.")


def with_plain_vocabulary(vectorizer: TfidfVectorizer) -> TfidfVectorizer:
    """The same, its terms numbered by Python's numbers: a model file has one entry for each of NumPy's."""
    vectorizer.vocabulary_ = {term: int(number) for term, number in vectorizer.vocabulary_.items()}
    return vectorizer
