"""From typed columns to matrices ("views"), for `AutoSVC` and for `TableEncoder`.

    number      an empty cell becomes the median, and an extra column marks it; then scaled to
                variance 1 ("standardized"), or mapped by its ranks to a normal distribution
                ("quantile"); where no number of a table has more than four values they may be
                codes without an order: "quantile" then has one column per value
    date        days, and the position in the year, the week and the day on circles; then scaled
    category    one column per value, at most 100; the rare values share one; an empty cell is a
                value
    text        sublinear TF-IDF of words, and of 3 to 5 characters within words

`Views.of` gives each of these by itself, to members that learn from one of them. `Views.matrix`
gives all columns side by side. Everything is learned from all rows, never from labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler, normalize

from semisvm.columns.cells import TERM
from semisvm.columns.characters import HashedCharacters, fit_characters
from semisvm.columns.table import DATE_PARTS, Columns, Schema

STANDARD = "standard"
QUANTILES = "quantiles"
LETTERS = "letters"
LATENT = "latent"
MATRICES = (STANDARD, QUANTILES, LETTERS, LATENT)  # what `Views.matrix` can give
MOST_CATEGORIES = 100  # values of a category that have a column of their own
MOST_TERMS = 50_000  # words, or groups of characters, of a text column
MOST_QUANTILES = 1_000
# Values of each number of a table whose numbers may be codes. With 30 labels, mean accuracy went
# from .740 to .810 on seven tables of codes without an order (tic-tac-toe, binned columns with
# shuffled codes, groups of rows), and from .811 to .813 on six of ordered values. The rule was
# chosen among four on these tables; one for single columns of up to ten values cost a little on
# mixed tables. On the tables that studies/few_labels/discrete.py calls developed on (.832, five
# draws), forests on the codes and products of two codes as features change the mean by less than
# .001; without kernels of the numbers it is .836, but .795 in place of .799 on ordered values.
MOST_CODES = 4
N_LATENT = 100  # directions of latent semantics
# Five parts of a date vary (the time of day rarely does). Together they count as one number, as a
# category does.
WEIGHT_OF_DATE_PARTS = 5**-0.5

# The parts of a view are arrays, whatever the user's configuration says.
plain_output = config_context(transform_output="default")


class Words(TfidfVectorizer):
    """TF-IDF of words; its state, and so a model file, has the vocabulary as one string: an entry
    for each word takes many times as long to write and to read.
    """

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "vocabulary_" in state:
            state = state | {"vocabulary_": " ".join(self.get_feature_names_out())}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        terms = state.get("vocabulary_")
        if isinstance(terms, str):
            numbered = {term: number for number, term in enumerate(terms.split(" "))}
            state = state | {"vocabulary_": numbered}
        super().__setstate__(state)


@dataclass(frozen=True)
class TextViews:
    """How a text column becomes numbers; `characters` and `directions` (of words and characters
    together) are None where no view needs them.
    """

    words: Words
    characters: HashedCharacters | None
    directions: TruncatedSVD | None

    def of(self, texts: np.ndarray) -> dict[str, Any]:
        """TF-IDF of words and of characters."""
        views = {"words": self.words.transform(texts)}
        if self.characters is not None:
            views["characters"] = self.characters.transform(texts)
        return views

    def matrix(self, views: dict[str, Any], view: str) -> Any:
        """One matrix from the TF-IDF of words and of characters, with rows of length 1."""
        if view not in (LETTERS, LATENT):
            return views["words"]
        both = normalize(sparse.hstack([views["words"], views["characters"]], format="csr"))
        if view == LETTERS:
            return both
        if self.directions is None:  # too few texts or terms
            return both.toarray()
        return normalize(self.directions.transform(both))

    def names(self, view: str) -> list[str]:
        """The columns of that matrix."""
        terms = self.words.get_feature_names_out().tolist()
        if self.characters is not None and view in (LETTERS, LATENT):
            terms += [f"characters {place}" for place in self.characters.places.tolist()]
        if view == LATENT and self.directions is not None:
            return [f"direction {k}" for k in range(self.directions.components_.shape[0])]
        return terms


ReadTexts = dict[str, dict[str, Any]]  # by text column its words and characters as numbers


@dataclass(frozen=True)
class Views:
    """What makes the views of rows: all None for points.

    imputer, scaler   for numbers and dates, and the marks of empty cells
    ranks             for numbers, or for the values of codes; None where no view needs it
    encoder           for categories
    texts             by the name of the text column; "" where rows are texts
    """

    imputer: SimpleImputer | None
    scaler: StandardScaler | None
    ranks: QuantileTransformer | OneHotEncoder | None
    encoder: OneHotEncoder | None
    texts: dict[str, TextViews]

    @plain_output
    def of(self, rows: Any, texts: ReadTexts | None = None) -> dict[str, Any]:
        """The views of a table (`Columns`), of texts, or of points, by name; the texts may have
        been read already.
        """
        texts = self._read_texts(rows) if texts is None else texts
        if not isinstance(rows, Columns):
            return texts.get("", {"rows": rows})
        views: dict[str, Any] = {}
        if self.scaler is not None or self.encoder is not None:
            standardized, quantile = self._numbers(rows)
            categories = self._categories(rows).toarray()
            views["standardized"] = np.hstack([standardized, categories])
            views["quantile"] = np.hstack([quantile, categories])
        for name, of_text in texts.items():
            for view, matrix in of_text.items():
                views[f"{view} of {name}"] = matrix
        return views

    @plain_output
    def matrix(
        self, rows: Columns, view: str = STANDARD, texts: ReadTexts | None = None
    ) -> np.ndarray | sparse.csr_matrix:
        """All columns side by side; sparse where there are categories or text. The texts may have
        been read already.
        """
        texts = self._read_texts(rows) if texts is None else texts
        standardized, quantile = self._numbers(rows)
        numbers = quantile if view == QUANTILES else standardized
        if self.encoder is None and not self.texts:
            return numbers
        parts = [sparse.csr_matrix(numbers), self._categories(rows)]
        parts += [self.texts[name].matrix(of_text, view) for name, of_text in texts.items()]
        return sparse.hstack(parts, format="csr")

    def names(self, schema: Schema, view: str = STANDARD) -> list[str]:
        """The names of the columns of that matrix."""
        of_type = {
            type: [column.name for column in schema.columns if column.type == type]
            for type in ("number", "date", "category")
        }
        names = of_type["number"] + [
            f"{name} ({part})" for name in of_type["date"] for part in DATE_PARTS
        ]
        if self.imputer is not None:
            names += [f"{names[j]} is empty" for j in self._marks()]
        if self.encoder is not None:
            names += self.encoder.get_feature_names_out(of_type["category"]).tolist()
        for name, text in self.texts.items():
            names += [f"{name}: {term}" for term in text.names(view)]
        return names

    def _read_texts(self, rows: Any) -> ReadTexts:
        return {name: self.texts[name].of(texts) for name, texts in _text_columns(rows).items()}

    def _numbers(self, rows: Columns) -> tuple[np.ndarray, np.ndarray]:
        """Numbers, dates and marks of empty cells: standardized, and with ranks of numbers."""
        if self.imputer is None or self.scaler is None:
            return np.empty((len(rows), 0)), np.empty((len(rows), 0))
        numbers = rows.numbers
        d = numbers.shape[1]
        filled = self.imputer.transform(np.hstack([numbers, rows.dates]))
        standardized = self.scaler.transform(filled)
        n_columns = self.imputer.n_features_in_
        is_date = np.concatenate([np.arange(n_columns), self._marks()]) >= d
        standardized[:, is_date] *= WEIGHT_OF_DATE_PARTS
        if self.ranks is None:
            return standardized, standardized
        return standardized, np.hstack([self.ranks.transform(filled[:, :d]), standardized[:, d:]])

    def _marks(self) -> np.ndarray:
        """The columns of numbers and dates that had an empty cell at the fit."""
        assert self.imputer is not None
        return self.imputer.indicator_.features_

    def _categories(self, rows: Columns) -> sparse.csr_matrix:
        if self.encoder is None:
            return sparse.csr_matrix((len(rows), 0))
        return self.encoder.transform(rows.categories)


def make_matrix_of(rows: Columns, view: str) -> tuple[Views, np.ndarray | sparse.csr_matrix]:
    """Learn how a table becomes one matrix, and make it; each text is read once."""
    views, texts = _learn_views(rows, view)
    return views, views.matrix(rows, view, texts)


def make_views_of(rows: Any) -> tuple[Views, dict[str, Any]]:
    """Learn how rows become numbers, and make the views of these rows; each text is read once."""
    views, texts = _learn_views(rows, None)
    return views, views.of(rows, texts)


def _text_columns(rows: Any) -> dict[str, np.ndarray]:
    """The texts of rows by column, "" where rows are texts."""
    if isinstance(rows, Columns):
        return rows.of_type("text")
    return {"": rows} if isinstance(rows, np.ndarray) and rows.dtype == object else {}


@plain_output
def _learn_views(rows: Any, view: str | None) -> tuple[Views, ReadTexts]:
    """What makes one view of a table as a matrix, or with None each view by itself; and the texts
    of these rows.
    """
    learned = {name: _text_views(texts, view) for name, texts in _text_columns(rows).items()}
    of_texts = {name: views for name, (views, _) in learned.items()}
    texts = {name: read for name, (_, read) in learned.items()}
    if not isinstance(rows, Columns):
        return Views(None, None, None, None, of_texts), texts
    imputer = scaler = quantiles = encoder = None
    numbers = np.hstack([rows.numbers, rows.dates])
    if numbers.shape[1]:
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        filled = imputer.fit_transform(numbers)
        scaler = StandardScaler().fit(filled)
        d = rows.numbers.shape[1]
        if d and view in (QUANTILES, None):
            quantiles = learn_ranks(filled[:, :d], may_be_codes=view is None)
    categories = rows.categories
    if categories.shape[1]:
        encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES
        ).fit(categories)
    return Views(imputer, scaler, quantiles, encoder, of_texts), texts


def learn_ranks(
    numbers: np.ndarray, may_be_codes: bool = False
) -> QuantileTransformer | OneHotEncoder:
    """Learn the ranks of numbers or, if they may be codes and all have few values, their values."""
    if may_be_codes and 2 < max(len(np.unique(column)) for column in numbers.T) <= MOST_CODES:
        return OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(numbers)
    return QuantileTransformer(
        n_quantiles=min(MOST_QUANTILES, len(numbers)),
        output_distribution="normal",
        subsample=None,
    ).fit(numbers)


def _text_views(texts: np.ndarray, view: str | None) -> tuple[TextViews, dict[str, Any]]:
    """How a text column becomes numbers, and its words and characters as numbers."""
    words, of_words = _learn_terms(_learn_words, texts)
    if view not in (LETTERS, LATENT, None):
        return TextViews(words, None, None), {"words": of_words}
    groups, of_characters = _learn_terms(fit_characters, texts)
    views = TextViews(words, groups, None)
    read = {"words": of_words, "characters": of_characters}
    if view == LATENT:
        both = views.matrix(read, LETTERS)
        n_directions = min(N_LATENT, both.shape[0] - 1, both.shape[1] - 1)
        if n_directions >= 2:
            directions = TruncatedSVD(n_directions, n_iter=3, random_state=0).fit(both)
            views = TextViews(words, groups, directions)
    return views, read


def _learn_terms(learn: Callable[[np.ndarray, int, float, int], Any], texts: np.ndarray) -> Any:
    """Terms of at least two texts and at most half of them; all terms where that leaves none."""
    for least, most in ((2, 0.5), (1, 1.0)):
        try:
            return learn(texts, least, most, MOST_TERMS)
        except ValueError:
            continue
    raise ValueError("No text holds a word: every string is empty.")


def _learn_words(texts: np.ndarray, least: int, most: float, n_terms: int) -> tuple[Words, Any]:
    vectorizer = Words(
        sublinear_tf=True,
        min_df=least,
        max_df=most,
        max_features=n_terms,
        dtype=np.float64,
        analyzer="word",
        token_pattern=TERM,
    )
    return vectorizer, vectorizer.fit_transform(texts)
