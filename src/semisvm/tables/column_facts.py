"""Facts about a column that decide what it is: made of parts of it, and merged in the order of the rows.

So a table that is larger than memory, or on several machines, gets the types that it gets in memory. The one
difference: a value that repeats is looked for among HASHES values once there are more, drawn by their hash.

Numbers may be written with thousands separators, a currency or a unit: `looks_like_numbers`, `plain_numbers_of`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.datasets.dataset import EXACT_IN_FLOAT

if TYPE_CHECKING:
    import pandas

LARGEST_NUMBER = 1e150  # the squares of larger ones overflow
# Most of the world writes the day before the month. Month first is tried if a column can't be read otherwise.
_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y")
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_MONTHS = ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%a, %d %b %Y %H:%M:%S %z")
_TIMED = tuple(f"{day} {time}" for time in _TIMES for day in _DAYS)
DATE_FORMATS = ("ISO8601", *_DAYS, "%Y/%m/%d", *_MONTHS, *_TIMED, "%d/%m/%y", "%m/%d/%y", "%d.%m.%y")
_TWO_DIGITS = re.compile(r"\d\d\.\d\d\.\d\d")  # 01.02.24 is a date, 1.2.24 may be a version
_NO_DATE = r"\D*$|0000-00-00"
_SHAPED_LIKE_A_DATE = re.compile(r"\w{1,9}(?:[-/. ]|, )\w{1,9}[-/., ]|(?:19|20)\d\d-(?:0[1-9]|1[0-2])$")
# How R, NumPy, pandas and databases write "nothing here"; an empty cell is the plainest.
MISSING_SPELLINGS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"})
_CODE = r"0\d+$"  # a postal code or a key: amounts are not written with a leading zero
DIGIT = re.compile(r"\d")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_BEFORE = r"(?:[^\W\d_]{0,3}[$€£¥₹]|[^\W\d_]{1,3}\s)"  # a currency; letters alone need a space, as codes have none
_AFTER = r"(?:[%°$€£¥₹]|[^\W\d_]{1,3})"  # a currency or a unit
# 1.234,5  1,234.5  1 234  1'234  12,34,567  0,5: not 10.0.0.1, and not 31.12.24
_DIGITS = r"(?:\d{1,3}(?:[.,'’\s]\d{3})+(?:[.,]\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d+(?:[.,]\d*)?)"
_LIKE_NUMBER = re.compile(rf"\s*{_BEFORE}?\s*[-+]?\s*{_BEFORE}?\s*{_DIGITS}\s*{_AFTER}?\s*")
MOST_AFFIXES = 3  # different currencies or units in a column of numbers
SHARE_LIKE_NUMBERS = 0.95
NUMBERS, DATES, TEXT = "numbers", "dates", "text"  # what readers give
KIND_OF_LETTER = {"f": NUMBERS, "M": DATES}  # by the letter of a column's type; others are text
MOST_STRAYS = 1_000
WORDS_LOOKED_AT = 1_000
HASHES = 1 << 16
FIRST_VALUES = 200  # where a repeat is looked for first


@dataclass(frozen=True)
class Repeats:
    """Whether any value of a column occurs twice (`found`): the hashes of its values, all of those up to `limit`."""

    hashes: Any = ()
    limit: int = (1 << 64) - 1
    found: bool = False

    @classmethod
    def among(cls, values: Any) -> Repeats:
        """Look among these values."""
        from pandas.util import hash_array

        if len(set(values[:FIRST_VALUES])) < len(values[:FIRST_VALUES]):
            return cls(found=True)
        return cls._of(np.sort(hash_array(np.asarray(values))), cls.limit)

    def merged(self, other: Repeats) -> Repeats:
        """Look among the values of both."""
        if self.found or other.found:
            return Repeats(found=True)
        both = np.concatenate([np.asarray(one.hashes, dtype=np.uint64) for one in (self, other)])
        return self._of(np.sort(both), min(self.limit, other.limit))

    @staticmethod
    def _of(hashes: np.ndarray, limit: int) -> Repeats:
        hashes = hashes[hashes <= np.uint64(limit)]
        if bool((hashes[1:] == hashes[:-1]).any()):
            return Repeats(found=True)
        return Repeats(hashes, limit) if len(hashes) <= HASHES else Repeats(hashes[:HASHES], int(hashes[HASHES - 1]))


@dataclass(frozen=True)
class ColumnFacts:
    """What is asked of a column, or of a part of it: about its `n` cells that are not empty.

    first, is_single   the first cell, and whether all others are equal to it
    too_large          row and cell of a number that can't be scaled
    sample             the first words
    strays             words that are no numbers, with what pandas makes of them: an infinity, or NaN
    odd                words that are no numbers even without separators, currency and unit
    ends               the first and the last number; by_one, ascending, are_whole: of all numbers, in their order
    largest            the largest magnitude of a number
    formats            the date formats in which all cells are dates, but for those without a digit
    undated, n_undated   words without a digit, and how many cells hold them
    """

    kind: str = TEXT
    n: int = 0
    first: Any = None
    is_single: bool = True
    too_large: tuple[int, str] | None = None
    sample: tuple[str, ...] = ()
    has_code: bool = False
    have_commas: bool = True
    n_numbers: int = 0
    strays: dict[str, float] = field(default_factory=dict)
    odd: dict[str, float] = field(default_factory=dict)
    ends: tuple[float, float] = (0.0, 0.0)
    by_one: bool = True
    ascending: bool = True
    are_whole: bool = True
    largest: float = 0.0
    formats: tuple[str, ...] = DATE_FORMATS
    undated: dict[str, float] = field(default_factory=dict)
    n_undated: int = 0
    n_words: int = 0
    repeats: Repeats = Repeats(found=True)

    @property
    def are_rounded(self) -> bool:
        """Whether the numbers are whole, and some too large for float64 to tell them from their neighbors."""
        return self.n_numbers > 0 and self.are_whole and self.largest >= EXACT_IN_FLOAT

    def merged(self, other: ColumnFacts) -> ColumnFacts:
        """Return the facts about these cells and those that follow them."""
        if not self.n or not other.n:
            return self if self.n else other
        step = other.ends[0] - self.ends[1]
        return ColumnFacts(
            kind=self.kind,
            n=self.n + other.n,
            first=self.first,
            is_single=self.is_single and other.is_single and bool(self.first == other.first),
            too_large=self.too_large or other.too_large,
            sample=(self.sample + other.sample)[:WORDS_LOOKED_AT],
            has_code=self.has_code or other.has_code,
            have_commas=self.have_commas and other.have_commas,
            n_numbers=self.n_numbers + other.n_numbers,
            strays=_some_of(self.strays | other.strays),
            odd=_some_of(self.odd | other.odd),
            ends=(self.ends[0], other.ends[1]),
            by_one=self.by_one and other.by_one and step == 1,
            ascending=self.ascending and other.ascending and step > 0,
            are_whole=self.are_whole and other.are_whole,
            largest=max(self.largest, other.largest),
            formats=tuple(one for one in self.formats if one in other.formats),
            undated=_some_of(self.undated | other.undated),
            n_undated=self.n_undated + other.n_undated,
            n_words=self.n_words + other.n_words,
            repeats=self.repeats.merged(other.repeats),
        )


def _some_of(words: dict[str, float]) -> dict[str, float]:
    return dict(list(words.items())[:MOST_STRAYS])


def facts_of(cells: pandas.Series, decimal: str | None = None) -> ColumnFacts:
    """Return the facts about a column, or about a part of it."""
    kind, given = KIND_OF_LETTER.get(cells.dtype.kind, TEXT), cells.dropna()
    if not len(given):
        return ColumnFacts(kind)
    known = ColumnFacts(kind, len(given), given.iloc[0], bool((given == given.iloc[0]).all()))
    if kind == DATES:
        return known
    return _with_numbers(known, given, given) if kind == NUMBERS else _with_words(known, given.str.strip(), decimal)


def _with_numbers(known: ColumnFacts, numbers: pandas.Series, cells: pandas.Series) -> ColumnFacts:
    values = numbers.to_numpy(dtype=np.float64)
    steps = np.diff(values)
    large = np.flatnonzero((magnitude := np.abs(values)) > LARGEST_NUMBER)
    worst = (int(numbers.index[large[0]]), str(cells.iloc[large[0]])) if len(large) else None
    return replace(
        known,
        n_numbers=len(values),
        ends=(float(values[0]), float(values[-1])),
        by_one=bool((steps == 1).all()),
        ascending=bool((steps > 0).all()),
        are_whole=(are_whole := bool((values == np.rint(values)).all())),
        largest=float(magnitude.max()),
        repeats=Repeats.among(values) if are_whole else Repeats(found=True),
        too_large=worst,
    )


def _with_words(known: ColumnFacts, words: pandas.Series, decimal: str | None) -> ColumnFacts:
    import pandas

    from semisvm.estimators.auto.preparation import WORD

    numbers = pandas.to_numeric(words, errors="coerce")
    is_number = np.isfinite(numbers.to_numpy(dtype=np.float64))
    if is_number.any():
        known = _with_numbers(known, numbers[is_number], words[is_number])
    odd: dict[str, float] = {}
    if decimal is not None:
        plain = pandas.to_numeric(plain_numbers_of(words, decimal), errors="coerce").to_numpy(dtype=np.float64)
        odd = dict.fromkeys(words[~np.isfinite(plain)].drop_duplicates()[:MOST_STRAYS].tolist(), np.nan)
    known = replace(
        known,
        sample=tuple(words[:WORDS_LOOKED_AT]),
        has_code=bool(words.str.match(_CODE).any()),
        odd=odd,
        repeats=Repeats.among(words),
        n_words=len(words),
        formats=(),
        have_commas=False,
    )
    if is_number.all():
        return known
    strays = words[~is_number].drop_duplicates()[:MOST_STRAYS]
    is_undated = words.str.match(_NO_DATE)
    undated = words[is_undated].drop_duplicates()[:MOST_STRAYS].tolist()
    return replace(
        known,
        undated=dict.fromkeys(undated, np.nan),
        n_undated=int(is_undated.sum()),
        strays=dict(zip(strays.tolist(), numbers[strays.index].tolist(), strict=True)),
        have_commas=bool(words.str.fullmatch(_DECIMAL_COMMA).all()),
        formats=tuple(_formats_of(words[~is_undated].drop_duplicates())),
        n_words=int(words.str.count(WORD).sum()),
    )


# ---- dates as people write them ----


def _formats_of(words: pandas.Series) -> list[str]:
    """The date formats in which all of these words are dates."""
    import pandas

    found: list[str] = []
    for format in DATE_FORMATS:
        try:
            pandas.to_datetime(words, format=format, utc=True)
        except (ValueError, OverflowError):
            continue
        if format != "%d.%m.%y" or words.str.fullmatch(_TWO_DIGITS).all():
            found.append(format)
    return found


def look_like_dates(words: Sequence[str]) -> bool:
    """Whether the first word with a digit has the parts of a date."""
    first = next((word for word in words if not re.match(_NO_DATE, word)), "")
    return _SHAPED_LIKE_A_DATE.match(first) is not None


def two_styles(words: Sequence[str]) -> tuple[str, str] | None:
    """Return two dates that are written in different ways, where nearly all words are dates; None elsewhere."""
    import pandas

    if not look_like_dates(words):
        return None
    sample = pandas.Series(words, dtype="str")
    sample = sample[~sample.str.match(_NO_DATE)]
    parsed = [pandas.to_datetime(sample, format=one, utc=True, errors="coerce").notna() for one in DATE_FORMATS]
    best = max(parsed, key=lambda own: int(own.sum()))
    are_dates = pandas.concat(parsed, axis=1).any(axis=1)
    if best.all() or not best.any() or are_dates.mean() < SHARE_LIKE_NUMBERS:
        return None
    return str(sample[best].iloc[0]), str(sample[~best].iloc[0])


# ---- cells as people write them ----


def is_missing(text: str) -> bool:
    """Whether a cell says that there is nothing in it."""
    return text.strip() in MISSING_SPELLINGS


def without_missing(column: Any) -> Any:
    """Return a column of text, an Arrow array, as pandas' text, with nothing in cells that say so."""
    import pyarrow
    from pyarrow import compute

    words = pyarrow.array(sorted(MISSING_SPELLINGS), column.type)
    says_nothing = compute.is_in(compute.utf8_trim_whitespace(column), value_set=words)
    kept = compute.if_else(says_nothing, pyarrow.scalar(None, column.type), column)
    return kept.to_pandas().astype("str")  # older versions of Arrow may give objects


def parse_number(text: str) -> float | None:
    """Return the finite number that a text spells; Python's "1_000" is not accepted."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def looks_like_numbers(words: Sequence[str]) -> bool:
    """Whether nearly all words are digits with separators, a currency or a unit, and not codes."""
    import pandas

    sample = _with_minus_first(pandas.Series(words, dtype="str"))
    has_mark = sample.str.contains(r"[^\d\s+-]|\d\s\d", regex=True)
    return len(sample) > 0 and bool(
        sample.str.fullmatch(_LIKE_NUMBER).mean() >= SHARE_LIKE_NUMBERS
        and has_mark.mean() >= 0.5
        and sample.str.replace(r"[\d\s.,'’+-]", "", regex=True).nunique() <= MOST_AFFIXES
        and not sample.str.match(_CODE).any()
    )


def _with_minus_first(words: pandas.Series) -> pandas.Series:
    """Write numbers below zero with a minus before them: "(5)", "5-" and those with the sign of typesetters."""
    # as objects: Arrow's patterns, which some versions of pandas take for text, know no spaces beyond ASCII
    words = words.astype(object).str.replace("−", "-", regex=False)
    return words.str.replace(r"^\s*(?:\((.*\d.*)\)|(.*\d\s?)-)\s*$", r"-\1\2", regex=True)


def plain_numbers_of(words: pandas.Series, decimal: str) -> pandas.Series:
    """Return numbers without separators, currency and unit, with a decimal point: "NT$ 3,913" is "3913"."""
    plain = _with_minus_first(words).str.replace(
        rf"^\s*{_BEFORE}?\s*([-+]?)\s*{_BEFORE}?\s*|\s*{_AFTER}?\s*$", r"\1", regex=True
    )
    plain = plain.str.replace(rf"[{'.' if decimal == ',' else ','}'’\s]", "", regex=True)
    return plain.str.replace(",", ".", regex=False) if decimal == "," else plain
