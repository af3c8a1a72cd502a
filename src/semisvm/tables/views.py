"""Rows as the matrices that members of an average look at ("views").

    points      "rows": the array, as it is
    texts       "words", "characters": sublinear TF-IDF of words, and of 3 to 5 characters within
                words; with a text encoder "meaning": its vectors, scaled to length 1
    table       "standardized": numbers, dates and marks of empty cells scaled to variance 1, one
                column per category; "quantile": the same with numbers mapped to a normal
                distribution by their ranks; "words of c" and so on for each column of text

Everything is learned from all rows, never from labels. `read` takes the user's rows once; `views`
makes the matrices of any part of what was read.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn import config_context
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from semisvm.errors import DataError
from semisvm.tables.cells import cells_by_name, date_parts
from semisvm.tables.columns import Columns

MOST_CATEGORIES = 100  # values of a category with a column of their own; rarer ones share one
MOST_TERMS = 50_000  # words, or groups of characters
MOST_QUANTILES = 1_000
LARGEST_NUMBER = 1e150  # squares of numbers, and their sums, have to be finite
MOST_CODES = 4  # where no number of a table has more values, they may be codes without an order
WEIGHT_OF_DATE_PARTS = 5**-0.5  # about five of seven vary: together they count as one number
# A character of Chinese or Japanese is a term, and so is a run of punctuation: "!!!" is typical of
# spam.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
TERM = rf"(?u)[{_CJK}]|[^\W{_CJK}]+|[^\w\s]+"
plain_output = config_context(transform_output="default")  # arrays, whatever the user's settings


class Points:
    """An array as it is."""

    def read(self, X: Any) -> Any:
        return X

    def fit_views(self, X: Any) -> dict[str, Any]:
        return {"rows": X}

    views = fit_views


# ---- texts ----


class Texts:
    """Words and characters of texts, and their meaning if there is an encoder; `name` follows the
    names of the views.
    """

    def __init__(self, name: str = "", encoder: Any = None):
        self.name = name
        self.encoder = encoder

    def read(self, texts: np.ndarray) -> np.ndarray:
        return texts

    @plain_output
    def fit_views(self, texts: np.ndarray) -> dict[str, Any]:
        """Learn the terms, and return the views of these texts."""
        if self.encoder is not None:
            self.encoder.warn_of_cuts(texts)
        self.words, of_words = _fit_terms(texts)
        self.characters = Characters()
        return self._named(of_words, self.characters.fit_transform(texts), texts)

    @plain_output
    def views(self, texts: np.ndarray) -> dict[str, Any]:
        """The views of any texts."""
        return self._named(self.words.transform(texts), self.characters.transform(texts), texts)

    def _named(self, words: Any, characters: Any, texts: np.ndarray) -> dict[str, Any]:
        views = {"words": words, "characters": characters}
        if self.encoder is not None:
            views["meaning"] = self.encoder(texts)
        return {view + self.name: matrix for view, matrix in views.items()}


def _fit_terms(texts: np.ndarray) -> tuple[TfidfVectorizer, Any]:
    """TF-IDF of words of at least two texts and at most half of them; of all words where that
    leaves none.
    """
    how = {"sublinear_tf": True, "token_pattern": TERM, "max_features": MOST_TERMS}
    for limits in ({"min_df": 2, "max_df": 0.5}, {}):
        vectorizer = TfidfVectorizer(**how, **limits)
        try:
            return vectorizer, vectorizer.fit_transform(texts)
        except ValueError:
            continue
    raise ValueError("No text holds a word: every string is empty.")


class Characters:
    """TF-IDF of groups of 3 to 5 characters within words, as scikit-learn's "char_wb", but read all
    at once by NumPy (ten times as fast) and hashed to 2**22 places, of which the most frequent are
    kept.
    """

    N_PLACES, TEXTS_AT_ONCE = 2**22, 2_000

    def fit_transform(self, texts: np.ndarray) -> Any:
        """Choose the places: of at least two texts and at most half of them, or all."""
        counts = self.count(texts)
        held = np.bincount(counts.indices, minlength=self.N_PLACES)
        places = np.flatnonzero((held >= 2) & (held <= len(texts) / 2))
        places = places if len(places) else np.flatnonzero(held)
        if len(places) > MOST_TERMS:
            total = np.bincount(counts.indices, counts.data, minlength=self.N_PLACES)[places]
            places = np.sort(places[np.argsort(-total, kind="stable")[:MOST_TERMS]])
        self.places = places
        self.tfidf = TfidfTransformer(sublinear_tf=True)
        return self.tfidf.fit_transform(counts[:, places])

    def transform(self, texts: np.ndarray) -> Any:
        return self.tfidf.transform(self.count(texts)[:, self.places])

    def count(self, texts: np.ndarray) -> Any:
        """How often each text holds each group, (n, N_PLACES)."""
        starts = range(0, max(len(texts), 1), self.TEXTS_AT_ONCE)
        parts = [self._count(texts[start : start + self.TEXTS_AT_ONCE]) for start in starts]
        return sparse.vstack(parts, format="csr")

    def _count(self, texts: np.ndarray) -> Any:
        spaced = [f" {' '.join(text.lower().split())} " for text in texts]
        letters = "".join(spaced).encode("utf-32-le", "surrogatepass")
        code = np.frombuffer(letters, dtype=np.uint32).astype(np.uint64)
        row = np.repeat(np.arange(len(texts)), [len(text) for text in spaced])
        is_space = code == ord(" ")
        value = np.full(len(code), 0xCBF29CE484222325, dtype=np.uint64)  # FNV-1a, then a finalizer
        is_within = np.ones(len(code), dtype=bool)  # no space inside the group
        places, rows = [], []
        for size in range(1, 6):
            n = max(len(code) - size + 1, 0)
            value = (value[:n] ^ code[size - 1 :]) * np.uint64(0x100000001B3)
            is_within = is_within[:n]
            if size >= 3:
                h = value[is_within]
                h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
                h = (h ^ (h >> np.uint64(33))) % np.uint64(self.N_PLACES)
                places.append(h.astype(np.int32))
                rows.append(row[:n][is_within])
            if size > 1:
                is_within = is_within & ~is_space[size - 1 :]
        at = np.concatenate(rows), np.concatenate(places)
        shape = (len(texts), self.N_PLACES)
        return sparse.coo_matrix((np.ones(len(at[0])), at), shape=shape).tocsr()


# ---- tables ----


@dataclass(frozen=True)
class Cells:
    """The cells of a table as values: numbers and parts of dates (n, q), the place of each category
    among its columns (n, k), -1 for none, and texts by the name of the column.
    """

    measures: np.ndarray
    categories: np.ndarray
    texts: dict[str, np.ndarray]

    @property
    def shape(self) -> tuple[int, int]:
        return self.measures.shape

    def __getitem__(self, rows: Any) -> Cells:
        texts = {name: values[rows] for name, values in self.texts.items()}
        return Cells(self.measures[rows], self.categories[rows], texts)


class Table:
    """The columns of a table as numbers.

    kinds   what columns are, by name, as the user says, who then names all that are used; None: to
            be decided by their cells
    """

    def __init__(self, kinds: dict[str, str] | None = None, encoder: Any = None):
        self.kinds = kinds
        self.encoder = encoder

    def fit_views(self, rows: Any) -> dict[str, Any]:
        """Decide what the columns are, learn scales, categories and words, and return the views of
        these rows.
        """
        there = cells_by_name(rows)
        others = set(there) - set(self.kinds) if self.kinds is not None else ()
        self.columns = Columns.decide(rows, kinds=self.kinds, drop=others)
        values, _ = self.columns.read(rows)
        of_kind = self._names_of_kind()
        self.n_numbers = len(of_kind.get("number", ()))
        self.categories = [Categories(values[name]) for name in of_kind.get("category", ())]
        self.texts = {name: Texts(f" of {name}", self.encoder) for name in of_kind.get("text", ())}
        cells = self._cells(values, len(next(iter(values.values()))))
        measures = cells.measures
        self._refuse_too_large(measures, of_kind.get("number", []))
        is_empty = np.isnan(measures)
        self.medians = np.array([_median(column) for column in measures.T])
        self.marked = np.flatnonzero(is_empty.any(axis=0))
        filled = np.hstack([np.where(is_empty, self.medians, measures), is_empty[:, self.marked]])
        self.mean, scale = filled.mean(axis=0), filled.std(axis=0)
        place = np.append(np.arange(measures.shape[1]), self.marked)
        weight = np.where(place >= self.n_numbers, WEIGHT_OF_DATE_PARTS, 1.0)
        is_constant = scale <= 1e-12 * np.abs(self.mean)
        self.scale = np.where(is_constant, 1.0, scale) / weight
        self.ranks = _fit_ranks(filled[:, : self.n_numbers])
        of_texts = {name: self.texts[name].fit_views(values[name]) for name in self.texts}
        return self._views(cells, of_texts)

    def _refuse_too_large(self, measures: np.ndarray, names: list[str]) -> None:
        for name, column in zip(names, measures.T, strict=False):
            largest = np.fmax.reduce(np.abs(column), initial=0.0)  # leaves NaN out
            if largest > LARGEST_NUMBER:
                raise DataError(
                    f"column {name!r} holds a number of size {largest:.3g}, and {LARGEST_NUMBER:g}"
                    " is the most: divide the column by a constant, or correct it."
                )

    def read(self, rows: Any) -> Cells:
        """The cells of new rows; a warning where a few can't be read."""
        values, remarks = self.columns.read(rows)
        for remark in remarks:
            warnings.warn(remark, UserWarning, stacklevel=5)  # the line that predicts
        return self._cells(values, len(next(iter(values.values()))))

    def views(self, cells: Cells) -> dict[str, Any]:
        """The views of rows that were read."""
        return self._views(
            cells, {name: self.texts[name].views(texts) for name, texts in cells.texts.items()}
        )

    def _names_of_kind(self) -> dict[str, list[str]]:
        """The columns of each kind in an order that is not that of the frame: random trees, too,
        are then the same whatever the order.
        """
        return {kind: sorted(names) for kind, names in self.columns.by_kind().items()}

    def _cells(self, values: dict[str, np.ndarray], n: int) -> Cells:
        of_kind = self._names_of_kind()
        numbers = [values[name][:, None] for name in of_kind.get("number", ())]
        dates = [date_parts(values[name]) for name in of_kind.get("date", ())]
        names = of_kind.get("category", ())
        places = [
            one.places(values[name]) for one, name in zip(self.categories, names, strict=True)
        ]
        return Cells(
            np.hstack([np.empty((n, 0)), *numbers, *dates]),
            np.column_stack([np.empty((n, 0), dtype=np.intp), *places]),
            {name: values[name] for name in self.texts},
        )

    def _views(self, cells: Cells, of_texts: dict[str, dict[str, Any]]) -> dict[str, Any]:
        is_empty = np.isnan(cells.measures)
        filled = np.where(is_empty, self.medians, cells.measures)
        scaled = (np.hstack([filled, is_empty[:, self.marked]]) - self.mean) / self.scale
        hot = [one.one_hot(cells.categories[:, j]) for j, one in enumerate(self.categories)]
        ranks = self.ranks(filled[:, : self.n_numbers])
        views = {
            "standardized": np.hstack([scaled, *hot]),
            "quantile": np.hstack([ranks, scaled[:, self.n_numbers :], *hot]),
        }
        if not views["standardized"].shape[1]:
            views = {}
        return views | {view: rows for one in of_texts.values() for view, rows in one.items()}


def _median(column: np.ndarray) -> float:
    given = column[~np.isnan(column)]
    return float(np.median(given)) if len(given) else 0.0


class Categories:
    """The values of a category as columns: the most frequent have their own, the others share the
    last one. A value that was not there at the fit is among these, or has none.
    """

    def __init__(self, values: np.ndarray):
        distinct, count = np.unique(values.astype(str), return_counts=True)
        self.width = min(len(distinct), MOST_CATEGORIES)
        own = len(distinct) if self.width == len(distinct) else self.width - 1
        frequent = np.sort(np.argsort(-count, kind="stable")[:own])
        self.place = {str(distinct[k]): j for j, k in enumerate(frequent)}
        self.other = self.width - 1 if own < len(distinct) else -1

    def places(self, values: np.ndarray) -> np.ndarray:
        """The column of each value, -1 for none."""
        return np.array([self.place.get(value, self.other) for value in values], dtype=np.intp)

    def one_hot(self, places: np.ndarray) -> np.ndarray:
        return np.eye(self.width + 1)[places, :-1]


def _fit_ranks(numbers: np.ndarray) -> Ranks | Codes:
    """Ranks of numbers, or their values where all numbers of a table have so few that they may be
    codes without an order.
    """
    n_values = [len(np.unique(column)) for column in numbers.T]
    return Codes(numbers) if 2 < max(n_values, default=0) <= MOST_CODES else Ranks(numbers)


class Codes:
    """One column for each value of each number."""

    def __init__(self, numbers: np.ndarray):
        self.values = [np.unique(column) for column in numbers.T]

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        hot = [x[:, None] == own for x, own in zip(numbers.T, self.values, strict=True)]
        return np.hstack(hot).astype(np.float64)


class Ranks:
    """Numbers mapped to a normal distribution by their ranks, as scikit-learn's
    QuantileTransformer does, without its checks of each call: one row takes a tenth of the time.
    """

    ENDS = 1e-7  # probabilities nearer to 0 or 1 are these

    def __init__(self, numbers: np.ndarray):
        self.references = np.linspace(0, 1, min(MOST_QUANTILES, len(numbers)))
        are_few = (
            len(numbers) <= MOST_QUANTILES
        )  # then without interpolation equal values stay equal
        quantiles = (
            np.sort(numbers, axis=0) if are_few else np.quantile(numbers, self.references, axis=0)
        )
        self.quantiles = quantiles.T
        self.are_repeated = [bool((np.diff(q) <= 0).any()) for q in self.quantiles]

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        p = np.empty(numbers.shape)
        for j, (q, is_repeated) in enumerate(zip(self.quantiles, self.are_repeated, strict=True)):
            x = numbers[:, j]
            p[:, j] = np.interp(x, q, self.references)
            if is_repeated:  # the middle of the ranks of equal values
                p[:, j] = (p[:, j] + 1 - np.interp(-x, -q[::-1], self.references)) / 2
            p[x <= q[0], j] = 0
            p[x >= q[-1], j] = 1
        return ndtri(np.clip(p, self.ENDS, 1 - self.ENDS))


# Limits of `looks_like_a_table`, chosen on 36 tables and 17 sets of images, spectra and generated
# clouds.
LEAST_EVENNESS, MOST_OF_FEW_VALUES, LONGEST_TAIL, FEW_VALUES, FEWEST_ROWS = 0.25, 0.3, 15.0, 10, 50
VERY_DIFFERENT_RANGES = 1_000.0


def looks_like_a_table(X: np.ndarray) -> bool:
    """Whether the columns of an array need preparation: cells are missing, distances rest on few
    columns (`evenness`, the share of columns that they depend on; of few columns, very different
    ranges), many columns have few values, or the median kurtosis is large.
    """
    if np.isnan(X).any():
        return True
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    if len(X) < FEWEST_ROWS or not X.shape[1]:
        return False
    ranges = np.ptp(X, axis=0)
    X = X / np.abs(X).max()
    X = X - X.mean(axis=0)
    variance = (X**2).mean(axis=0)
    n_values = 1 + (np.diff(np.sort(X, axis=0), axis=0) > 0).sum(axis=0)
    is_uneven = variance.sum() ** 2 / (variance**2).sum() / len(variance) < LEAST_EVENNESS
    if len(variance) <= 1 / LEAST_EVENNESS:
        is_uneven = ranges.max() / ranges.min() >= VERY_DIFFERENT_RANGES
    tail = np.median((X**4).mean(axis=0) / variance**2)
    has_few_values = (n_values <= FEW_VALUES).mean() > MOST_OF_FEW_VALUES
    return bool(is_uneven or has_few_values or tail > LONGEST_TAIL)
