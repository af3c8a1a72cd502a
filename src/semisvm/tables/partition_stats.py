"""What is learned of a table file by file, on any machine, and merged: types of columns, classes, scales, words.

    survey   one pass: what the columns are, the labels, a random sample of labeled and of unlabeled rows
    count    another pass, once the columns are known: means, variances, medians, categories, words
    merge    both are merged in the order of the files; the order of merging, in pairs or in a tree, does not matter

Rows are drawn by a hash of the file's name and the row's number: the sample does not depend on who reads which file. A
median is exact where all rows are in the sample, or where its value repeats; elsewhere it is placed within a thousandth
of the span around it that holds one row in sixteen. Of categories and words the most frequent MOST_COUNTED are kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.errors import fault
from semisvm.tables.cells import CellError
from semisvm.tables.classes import label_texts, unmark
from semisvm.tables.column_facts import ColumnFacts, facts_of
from semisvm.tables.columns import Column, refuse_large
from semisvm.tables.encode import WORD, TableEncoder
from semisvm.tables.folders import kind_of, require_column, require_kind
from semisvm.tables.read import Chunk, RowReader, open_rows

if TYPE_CHECKING:
    import pandas

MOST_COUNTED = 500_000  # categories or words of a column: beyond, the rarest are forgotten
BINS = 1_024
AROUND_MEDIAN = (0.47, 0.53)  # ranks between which values are counted in bins, as shares of all


@dataclass(frozen=True)
class SurveyPlan:
    """What to look for: the target and the mark of unlabeled rows, the features, sizes of the samples."""

    target: str
    unlabeled: str | None
    names: tuple[str, ...]
    first: Path
    decimal: str | None
    most_labeled: int
    most_unlabeled: int


# ---- the survey ----


@dataclass
class Sample:
    """Rows drawn at random: the `most` with the smallest keys. `place` orders them: (file, row) as one number."""

    most: int
    n: int = 0
    frame: Any = None
    texts: list[str] = field(default_factory=list)
    key: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    place: list[tuple[str, int]] = field(default_factory=list)

    def merged(self, other: Sample) -> Sample:
        """Return a sample of the rows of both."""
        import pandas

        frames = [one.frame for one in (self, other) if one.frame is not None and len(one.frame)]
        key = np.concatenate([self.key, other.key])
        kept = np.arange(len(key)) if len(key) <= self.most else np.sort(np.argsort(key, kind="stable")[: self.most])
        frame = pandas.concat(frames, ignore_index=True) if frames else None
        texts, place = self.texts + other.texts, self.place + other.place
        return Sample(
            self.most,
            self.n + other.n,
            None if frame is None else frame.iloc[kept].reset_index(drop=True),
            [texts[at] for at in kept],
            key[kept],
            [place[at] for at in kept],
        )


@dataclass
class Survey:
    """What one pass finds of some files."""

    files: list[tuple[str, int]]
    labels: Counter[str]
    facts: dict[str, ColumnFacts]
    kinds: dict[str, tuple[str, Path]]
    labeled: Sample
    unlabeled: Sample
    n_without_target: int = 0

    @property
    def n_rows(self) -> int:
        return self.labeled.n + self.unlabeled.n

    def merged(self, other: Survey) -> Survey:
        """Return what was found of these files and of those that follow."""
        kinds = dict(self.kinds)
        for name, (kind, file) in other.kinds.items():
            require_kind(file, name, kind, kinds)
        return Survey(
            self.files + other.files,
            _most_frequent(self.labels + other.labels),
            {name: own.merged(other.facts[name]) for name, own in self.facts.items()},
            kinds,
            self.labeled.merged(other.labeled),
            self.unlabeled.merged(other.unlabeled),
            self.n_without_target + other.n_without_target,
        )


def survey_file(path: Path, plan: SurveyPlan) -> Survey:
    """Look through one file."""
    rows = open_rows(path)
    for name in plan.names:
        require_column(rows, name, plan.first)
    has_target = plan.target in (rows.names or ())
    nothing = Sample(plan.most_labeled), Sample(plan.most_unlabeled)
    found = Survey([(path.name, 0)], Counter(), {name: ColumnFacts() for name in plan.names}, {}, *nothing)
    found.n_without_target = int(not has_target)
    for chunk in rows.chunks(only=frozenset({*plan.names, plan.target})):
        assert chunk.frame is not None
        frame = chunk.frame
        texts = unmark(label_texts(frame[plan.target]), plan.unlabeled) if has_target else [""] * len(frame)
        found.labels = _most_frequent(found.labels + Counter(filter(None, texts)))
        for name in plan.names:
            cells = frame[name].set_axis(range(chunk.start, chunk.start + len(frame)))
            if (kind := kind_of(cells)) is None:
                continue
            require_kind(path, name, kind, found.kinds)
            own = facts_of(cells, plan.decimal)
            try:
                refuse_large(name, own)
            except ValueError as error:
                raise fault(path, str(error), "Correct the cell, or leave the column out (`drop`)") from None
            found.facts[name] = found.facts[name].merged(own)
        is_labeled = np.array([bool(text) for text in texts])
        key = _row_keys(path.name, chunk.start, len(frame))
        for sample, mask in (("labeled", is_labeled), ("unlabeled", ~is_labeled)):
            old = getattr(found, sample)
            setattr(found, sample, old.merged(_draw(old.most, path.name, chunk, plan, texts, key, mask)))
    found.files = [(path.name, found.n_rows)]
    return found


def _draw(
    most: int, name: str, chunk: Chunk, plan: SurveyPlan, texts: list[str], key: np.ndarray, mask: np.ndarray
) -> Sample:
    at = np.flatnonzero(mask)
    n = len(at)
    if n > most:
        at = np.sort(at[np.argpartition(key[at], most)[:most]])
    assert chunk.frame is not None
    frame = chunk.frame[list(plan.names)].iloc[at].reset_index(drop=True)
    places = [(name, chunk.start + int(row)) for row in at]
    return Sample(most, n, frame, [texts[row] for row in at], key[at], places)


def _row_keys(name: str, start: int, n: int) -> np.ndarray:
    """A random-looking number per row, the same wherever the file is read."""
    seed = int.from_bytes(hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest(), "big")
    with np.errstate(over="ignore"):
        x = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _most_frequent(counts: Counter[str]) -> Counter[str]:
    return counts if len(counts) <= MOST_COUNTED else Counter(dict(counts.most_common(MOST_COUNTED // 2)))


# ---- the count ----


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
        counters = [
            {name: _most_frequent(own + theirs[name]) for name, own in ours.items()}
            for ours, theirs in (
                (self.categories, other.categories),
                (self.terms, other.terms),
                (self.documents, other.documents),
            )
        ]
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

    vectorizer = CountVectorizer(token_pattern=WORD)
    try:
        X = vectorizer.fit_transform(cells)
    except ValueError:  # no word at all
        return Counter(), Counter()
    names = vectorizer.get_feature_names_out().tolist()
    terms, documents = np.asarray(X.sum(axis=0)).ravel(), np.bincount(X.indices, minlength=X.shape[1])
    return Counter(dict(zip(names, terms.tolist(), strict=True))), Counter(
        dict(zip(names, documents.tolist(), strict=True))
    )


def typed_chunks(
    path: Path, encoder: TableEncoder, also: tuple[str, ...] = ()
) -> Iterator[tuple[RowReader, Chunk, pandas.DataFrame, dict[str, list[str]]]]:
    """Yield the rows of a file with the columns of an encoder as numbers and text."""
    rows = open_rows(path)
    for chunk in rows.chunks(encoder.plain_numbers, frozenset(encoder.names + also)):
        assert chunk.frame is not None
        try:
            frame, groups = encoder.typed(chunk.frame)
        except CellError as error:
            reason = f"row {chunk.start + error.row + 1}: {error}"
            raise fault(path, reason, "Correct the cell, or leave it empty") from None
        yield rows, chunk, frame, groups


def count_file(path: Path, columns: list[Column], spans: np.ndarray) -> TableCounts:
    """Count the rows of one file."""
    encoder = TableEncoder(columns)
    encoder.columns_ = columns
    found: TableCounts | None = None
    for _, _, frame, groups in typed_chunks(path, encoder):
        own = count_frame(frame, groups, spans)
        found = own if found is None else found.merged(own)
    if found is None:
        raise fault(path, "its rows are gone", "Leave the files as they are while they are read")
    return found
