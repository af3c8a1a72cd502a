"""The encoder of a table that is not in memory, made from counts of its files.

    count    one pass, once the columns are known: means, variances, medians, categories, words (`TableCounts`)
    merge    in the order of the files; the order of merging, in pairs or in a tree, does not matter

A median is exact where all rows are in the sample, or where its value repeats; elsewhere it is placed within a
thousandth of a span around it that holds one row in sixteen, or more where few rows of the sample have a value. Where
next to none have one, all files are counted once more. Of categories and words the most frequent are kept.

The encoder is what `TableEncoder.fit` learns from all rows at once. scikit-learn's parts are fitted to a few rows
that have the same medians, categories in the same order of frequency and the same gaps; then means, variances, words
and their frequencies, which no few rows can have, are set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.errors import DataError, fault
from semisvm.tables.column_facts import LARGEST_NUMBER
from semisvm.tables.columns import CellError, Column
from semisvm.tables.encode import (
    DATE_PARTS,
    FEW_TEXTS,
    MOST_CATEGORIES,
    MOST_WORDS,
    SPARSE_BELOW,
    TableEncoder,
)
from semisvm.tables.folders import most_frequent, rows_kept
from semisvm.tables.read import open_rows

if TYPE_CHECKING:
    import pandas

BINS = 1_024
ALL_NUMBERS = (-LARGEST_NUMBER, LARGEST_NUMBER)
AROUND_MEDIAN = 0.03  # how far from the median values are counted in bins, as a share of all values
STANDARD_ERRORS = 4.0  # and at least as far as this, of the rank of a sample's median


@dataclass
class TableCounts:
    """What the encoder is made from.

    n, mean, spread      per column of numbers: values, their mean, the sum of squares around it
    below, counts        values below the span around the median, and in each of its bins; lows, highs: of each bin
    categories, terms, documents   per column: rows per value; occurrences of words, and cells that hold them
    """

    n_rows: int
    n: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    below: np.ndarray
    counts: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    categories: dict[str, Counter[str]]
    terms: dict[str, Counter[str]]
    documents: dict[str, Counter[str]]

    def merged(self, other: TableCounts) -> TableCounts:
        """Return the counts of both."""
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        apart = other.mean - self.mean
        counters = (
            {name: most_frequent(own + getattr(other, kind)[name]) for name, own in getattr(self, kind).items()}
            for kind in ("categories", "terms", "documents")
        )
        return TableCounts(
            self.n_rows + other.n_rows,
            n,
            self.mean + apart * share,
            self.spread + other.spread + apart**2 * self.n * share,
            self.below + other.below,
            self.counts + other.counts,
            np.minimum(self.lows, other.lows),
            np.maximum(self.highs, other.highs),
            *counters,
        )

    def medians(self, spans: np.ndarray) -> np.ndarray:
        """Return the median of each column of numbers; NaN where it has none. `spans` are those of the count."""
        found = np.full(len(self.n), np.nan)
        for k in range(len(found)):
            if self.n[k]:
                ranks = (self.n[k] - 1) // 2, self.n[k] // 2
                found[k] = np.mean([self._at_rank(k, int(rank), spans[k]) for rank in ranks])
        return found

    def narrowed(self, spans: np.ndarray) -> np.ndarray | None:
        """Return spans from the smallest to the largest value where they were those of all numbers; None: nowhere."""
        was_open = (spans == ALL_NUMBERS).all(axis=1) & (self.n > 0)
        ends = np.column_stack([self.lows.min(axis=1), self.highs.max(axis=1)])
        return np.where(was_open[:, None], ends, spans) if was_open.any() else None

    def _at_rank(self, k: int, rank: int, span: np.ndarray) -> float:
        rank -= int(self.below[k])
        if rank < 0:
            return float(span[0])
        ends = np.cumsum(self.counts[k])
        if rank >= ends[-1]:
            return float(span[1])
        bin = int(np.searchsorted(ends, rank, side="right"))
        size = int(self.counts[k, bin])
        inside = (rank - (int(ends[bin]) - size)) / max(size - 1, 1)
        return float(self.lows[k, bin] + inside * (self.highs[k, bin] - self.lows[k, bin]))


def count_frame(frame: pandas.DataFrame, groups: dict[str, list[str]], spans: np.ndarray) -> TableCounts:
    """Count typed columns (`TableEncoder.typed`); `spans` (k, 2) around the median of each column of numbers."""
    X = frame[groups.get("number", [])].to_numpy(dtype=np.float64)
    is_there = ~np.isnan(X)
    n = is_there.sum(axis=0)
    mean = np.divide(np.where(is_there, X, 0.0).sum(axis=0), n, out=np.zeros(X.shape[1]), where=n > 0)
    spread = np.where(is_there, (X - mean) ** 2, 0.0).sum(axis=0)
    shape = (X.shape[1], BINS)
    counts = np.zeros(shape, dtype=np.int64)
    lows, highs = np.full(shape, np.inf), np.full(shape, -np.inf)
    for k, (low, high) in enumerate(spans):
        values = X[:, k][(X[:, k] >= low) & (X[:, k] <= high)]
        bins = np.minimum(((values - low) * (BINS / max(high - low, 1e-300))).astype(np.int64), BINS - 1)
        counts[k] = np.bincount(bins, minlength=BINS)
        np.minimum.at(lows[k], bins, values)
        np.maximum.at(highs[k], bins, values)
    words = {name: _count_words(frame[name]) for name in groups.get("text", [])}
    return TableCounts(
        len(frame),
        n,
        mean,
        spread,
        (X < spans[:, 0]).sum(axis=0),
        counts,
        lows,
        highs,
        {name: Counter(frame[name].tolist()) for name in groups.get("category", [])},
        {name: terms for name, (terms, _) in words.items()},
        {name: documents for name, (_, documents) in words.items()},
    )


def _count_words(cells: pandas.Series) -> tuple[Counter[str], Counter[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    from semisvm.estimators.auto.preparation import TERM

    vectorizer = CountVectorizer(token_pattern=TERM)
    try:
        X = vectorizer.fit_transform(cells)
    except ValueError:  # no word at all
        return Counter(), Counter()
    names = vectorizer.get_feature_names_out().tolist()
    terms, documents = np.asarray(X.sum(axis=0)).ravel(), np.bincount(X.indices, minlength=X.shape[1])
    of_terms, of_documents = (Counter(dict(zip(names, found.tolist(), strict=True))) for found in (terms, documents))
    return of_terms, of_documents


def count_file(path: Path, columns: list[Column], spans: np.ndarray, blank: Mapping[str, np.ndarray]) -> TableCounts:
    """Count the rows of one file that are not `blank` (`Survey`)."""
    encoder = blank_encoder(columns)
    found: TableCounts | None = None
    for chunk in open_rows(path).chunks(encoder.plain_numbers, frozenset(encoder.names)):
        assert chunk.frame is not None
        try:
            frame, groups = encoder.typed(chunk.frame)
        except CellError as error:
            raise error.in_file(path, chunk.start + error.row) from None
        own = count_frame(frame[rows_kept(chunk, blank[path.name])], groups, spans)
        found = own if found is None else found.merged(own)
    if found is None:
        raise fault(path, "its rows are gone", "Leave the files as they are while they are read")
    return found


# ---- the encoder ----


def spans_around_medians(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return between which values (k, 2) the median of each column is, as a weighted sample tells.

    They are ALL_NUMBERS where the sample has too few values to tell.
    """
    spans = np.tile(ALL_NUMBERS, (values.shape[1], 1))
    for k, column in enumerate(values.T):
        there = ~np.isnan(column)
        own = weight[there]
        around = max(AROUND_MEDIAN, STANDARD_ERRORS * 0.5 * np.sqrt((own**2).sum()) / max(own.sum(), 1e-300))
        if there.any() and around < 0.5:
            order = np.argsort(column[there])
            ranks = np.cumsum(own[order])
            at = np.searchsorted(ranks, np.array([0.5 - around, 0.5 + around]) * ranks[-1])
            spans[k] = column[there][order][np.minimum(at, len(order) - 1)]
    return spans


def blank_encoder(columns: list[Column]) -> TableEncoder:
    """Return an encoder that knows the columns, and nothing of their values: it gives cells as values (`typed`)."""
    encoder = TableEncoder(columns)
    encoder.columns_, encoder.left_out_, encoder.n_features_in_ = columns, {}, len(columns)
    return encoder


def make_encoder(columns: list[Column], counts: TableCounts, medians: np.ndarray) -> TableEncoder:
    """Return the encoder that `TableEncoder(columns).fit` gives on all rows."""
    encoder = blank_encoder(columns)
    # the columns of numbers that `TableEncoder.typed` gives, in its order: a date is several of them
    kinds = np.array([c.type for c in columns for _ in range({"number": 1, "date": len(DATE_PARTS)}.get(c.type, 0))])
    numbers = zip(medians[kinds == "number"], counts.n[kinds == "number"] < counts.n_rows, strict=True)
    made = encoder._transformer(counts.n_rows).fit(_few_rows(columns, numbers, counts.categories))
    widths: dict[str, int] = {}
    n_nonzero, has_sparse = 0, False
    for name, part, names in made.transformers_:
        if name in ("number", "date"):
            widths[name] = _set_scales(part, counts, medians, np.flatnonzero(kinds == name))
            n_nonzero += counts.n_rows * widths[name]
            continue
        has_sparse = True
        if name == "category":
            widths[name] = made.output_indices_[name].stop - made.output_indices_[name].start
            n_nonzero += counts.n_rows * len(names)
        else:
            n_nonzero += _set_words(part, counts.terms[names], counts.documents[names], counts.n_rows, names)
            widths[name] = len(part.vocabulary_)
    ends = np.cumsum([0, *widths.values()]).tolist()
    made.output_indices_ = {name: slice(*span) for name, span in zip(widths, pairwise(ends), strict=True)}
    made.output_indices_["remainder"] = slice(0, 0)
    made.sparse_output_ = has_sparse and n_nonzero / max(counts.n_rows * ends[-1], 1) < SPARSE_BELOW
    encoder.transformer_ = made
    return encoder


def _few_rows(
    columns: list[Column], numbers: Iterator[tuple[float, bool]], categories: dict[str, Counter[str]]
) -> pandas.DataFrame:
    """A frame with the `numbers`, (median, whether some are missing), and with categories in their order of frequency.

    Of that order only what is above, at and below the rarest category that is kept counts.
    """
    import pandas

    found: dict[str, tuple[Any, Any]] = {}  # cells, and what fills them up to the length of the longest
    for column in columns:
        if column.type == "number":
            median, has_gaps = next(numbers)
            found[column.name] = [median, np.nan if has_gaps else median], median
        elif column.type == "category":
            own = categories[column.name]
            distinct = sorted(own)
            frequency = np.array([own[one] for one in distinct])
            order = np.argsort(frequency, kind="stable")
            edge = frequency[order[-min(MOST_CATEGORIES - 1, len(order))]]
            cells = np.repeat(np.array(distinct, dtype=object), 2 + np.sign(frequency - edge))
            found[column.name] = list(cells), distinct[order[-1]]
        else:
            found[column.name] = [], "word" if column.type == "text" else np.datetime64("2024-01-01", "us")
    most = max(2, *(len(cells) for cells, _ in found.values()))
    padded = {name: cells + [last] * (most - len(cells)) for name, (cells, last) in found.items()}
    words = {column.name: object for column in columns if column.type in ("category", "text")}  # as `typed` gives them
    return pandas.DataFrame(padded).astype(words)


def _set_scales(part: Any, counts: TableCounts, medians: np.ndarray, at: np.ndarray) -> int:
    """Give a pipeline of (dates to numbers,) imputer and scaler the values of all rows; return its width."""
    *first, imputer, scaler = [step for _, step in part.steps]
    n, median = counts.n[at], medians[at]
    missing = counts.n_rows - n
    if first:  # no few dates have these medians of their parts
        imputer.fit(np.vstack([median, np.where(missing > 0, np.nan, median)]))
    filled = np.where(n > 0, median, 0.0)
    mean = (counts.mean[at] * n + filled * missing) / counts.n_rows
    around = counts.spread[at] + n * (counts.mean[at] - mean) ** 2 + missing * (filled - mean) ** 2
    gaps = missing[imputer.indicator_.features_] / counts.n_rows
    mean, variance = np.concatenate([mean, gaps]), np.concatenate([around / counts.n_rows, gaps * (1 - gaps)])
    scaler.fit(np.zeros((2, len(mean))))
    scaler.mean_, scaler.var_, scaler.n_samples_seen_ = mean, variance, counts.n_rows
    eps = np.finfo(np.float64).eps
    is_constant = variance <= counts.n_rows * eps * variance + (counts.n_rows * mean * eps) ** 2
    scaler.scale_ = np.where(is_constant, 1.0, np.sqrt(variance))
    return len(mean)


def _set_words(part: Any, terms: Counter[str], documents: Counter[str], n_rows: int, column: str) -> int:
    """Give TF-IDF the words of all rows; return how many entries of its matrix are not zero."""
    names = sorted(documents)
    found, total = (np.array([counter[name] for name in names], dtype=np.int64) for counter in (documents, terms))
    kept = np.flatnonzero(found >= (1 if n_rows < FEW_TEXTS else 2))
    if not len(kept):
        raise DataError(f"Column {column!r} is text, and no word of it occurs twice. Leave it out (`drop`).")
    if len(kept) > MOST_WORDS:
        kept = np.sort(kept[np.argsort(-total[kept])[:MOST_WORDS]])
    words = [names[place] for place in kept]
    part.fit([" ".join(words)] * 2)
    part.vocabulary_ = {word: number for number, word in enumerate(words)}
    part.idf_ = np.log((n_rows + 1.0) / (found[kept] + 1.0)) + 1.0
    return int(found[kept].sum())
