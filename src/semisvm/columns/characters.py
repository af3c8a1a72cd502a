"""TF-IDF of groups of 3 to 5 characters within words, without a vocabulary.

A text is read once, and all texts together: as one array of code points, in which every word is
between two spaces. A group is any 3, 4 or 5 code points in a row with spaces at its ends only, as
scikit-learn's analyzer "char_wb" has them. Groups are hashed to 2**22 places (FNV-1a, then a
finalizer: without it the low bits of the last character alone would decide), and counted there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

SIZES = (3, 4, 5)
N_PLACES = 2**22  # among which 50,000 groups rarely meet; a number of places takes 4 bytes
OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
MIX, SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(33)  # of the finalizer
SPACE = ord(" ")
TEXTS_AT_ONCE = 2_000  # groups take 50 bytes per character while they are counted


@dataclass(frozen=True)
class HashedCharacters:
    """The places that are kept, ascending, and how counts there become TF-IDF."""

    places: np.ndarray
    tfidf: TfidfTransformer

    def transform(self, texts: np.ndarray) -> sparse.csr_matrix:
        """TF-IDF of texts, one column per place."""
        return self.tfidf.transform(count_groups(texts, self.places))


def fit_characters(
    texts: np.ndarray, least: int, most: float, n_terms: int
) -> tuple[HashedCharacters, sparse.csr_matrix]:
    """Keep the groups that at least `least` texts hold and at most a share `most` of them, the
    `n_terms` most frequent. Returns what makes TF-IDF, and that of these texts.
    """
    counts = count_groups(texts)
    n_texts = np.bincount(counts.indices, minlength=N_PLACES)
    places = np.flatnonzero((n_texts >= least) & (n_texts <= most * len(texts)))
    if not len(places):
        raise ValueError("no group of characters is left")
    if len(places) > n_terms:
        total = np.bincount(counts.indices, counts.data, minlength=N_PLACES)[places]
        places = np.sort(places[np.argsort(-total, kind="stable")[:n_terms]])
    kept = counts[:, places]
    tfidf = TfidfTransformer(sublinear_tf=True).fit(kept)
    return HashedCharacters(places, tfidf), tfidf.transform(kept)


def count_groups(texts: np.ndarray, places: np.ndarray | None = None) -> sparse.csr_matrix:
    """How often each text holds a group, (n, N_PLACES), or (n, number of places) where only some
    places are wanted.
    """
    column_of = None
    n_columns = N_PLACES
    if places is not None:
        column_of = np.full(N_PLACES, -1, dtype=np.int32)
        column_of[places] = np.arange(len(places))
        n_columns = len(places)
    parts = [
        _count_part(texts[start : start + TEXTS_AT_ONCE], column_of, n_columns)
        for start in range(0, max(len(texts), 1), TEXTS_AT_ONCE)
    ]
    return sparse.vstack(parts, format="csr")


def _count_part(texts: np.ndarray, column_of: np.ndarray | None, n_columns: int) -> Any:
    spaced = [f" {' '.join(text.lower().split())} " for text in texts]
    code = np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    row = np.repeat(np.arange(len(texts)), [len(text) for text in spaced])
    # Groups with a space inside are none; two texts meet at two spaces.
    is_space = code == SPACE
    places = []
    rows = []
    value = np.full(len(code), OFFSET)
    inside = np.ones(len(code), dtype=bool)
    wide = code.astype(np.uint64)
    for size in range(1, max(SIZES) + 1):
        n_groups = max(len(code) - size + 1, 0)
        value = (value[:n_groups] ^ wide[size - 1 :]) * PRIME
        inside = inside[:n_groups]
        if size in SIZES:
            at = np.flatnonzero(inside)
            places.append(_finalized(value[at]))
            rows.append(row[at])
        if size > 1:  # the last character of this group is inside of the next one
            inside = inside & ~is_space[size - 1 :][:n_groups]
    column = np.concatenate(places)
    of_row = np.concatenate(rows)
    if column_of is not None:
        column = column_of[column]
        is_wanted = column >= 0
        column = column[is_wanted]
        of_row = of_row[is_wanted]
    counts = sparse.coo_matrix(
        (np.ones(len(column)), (of_row, column)), shape=(len(texts), n_columns)
    )
    return counts.tocsr()  # adds up what is at one place


def _finalized(value: np.ndarray) -> np.ndarray:
    value = value ^ (value >> SHIFT)
    value = value * MIX
    value = value ^ (value >> SHIFT)
    return (value % np.uint64(N_PLACES)).astype(np.int32)
