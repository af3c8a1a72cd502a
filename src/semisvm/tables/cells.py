"""Cells of tables as people write them: words, numbers and dates.

Words        the cells of a column as strings, each different one once
amount       "$1,234.50", "1.234,50 €", "(5.2)" or "12.5%" as a number
dates_of     strings in one of `DATE_FORMATS` as dates; `date_parts`: dates as numbers
numbers_of   what a frame of any library holds as numbers already
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

EMPTY_WORDS = (
    frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "unknown", "missing"])
    | frozenset("?-.")
    | {"--", "0000-00-00"}
)
FEW_CELLS = 0.05  # the share of a column's cells that may be typing errors
CODE = re.compile(r"0\d+")  # a postal code or a key: its zeros count
# Chinese and Japanese are written without spaces: two characters are about one word.
WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2}|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)

# ---- how people write numbers and dates ----

_SYMBOL = r"[^\W\d_]{0,3}[$€£¥₹%°][^\W\d_]?"
_LETTERS = r"[^\W\d_]{1,3}(?:/[^\W\d_]{1,3})?\.?"
AMOUNT = re.compile(
    rf"({_SYMBOL}\s*|[^\W\d_]{{2,3}}\s+)?([-+]?)\s*({_SYMBOL})?\s*"
    rf"(\d[\d.,'’\s]*|[.,]\d+)\s*({_SYMBOL}|{_LETTERS})?"
)
PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SCALES = frozenset(["k", "K", "m", "M", "b", "B", "bn", "mn"])  # no units beside plain numbers


def _body(decimal: str, thousands: str) -> re.Pattern[str]:
    """Digits with a decimal mark, their thousands (in India hundreds, too) separated by a mark, a
    space or an apostrophe.
    """
    grouped = rf"[1-9]\d{{0,2}}([{thousands}'’\s])\d{{3}}(?:\2\d{{3}})*|[1-9]\d?(?:,\d\d)+,\d{{3}}"
    return re.compile(rf"({grouped}|\d*)(?:[{decimal}](\d*))?")


BODY = {".": _body(".", ","), ",": _body(",", ".")}


def _proof(decimal: str, thousands: str) -> re.Pattern[str]:
    """What only numbers with this decimal mark hold: 1,234,567  1,234.5  .50  0.123  1234.567"""
    d, t = re.escape(decimal), re.escape(thousands)
    return re.compile(
        rf"{t}\d{{3}}[{d}{t}]|{t}\d\d{t}|{d}\d{{1,2}}$|{d}\d{{4,}}$|^0?{d}\d|[\s'’]\d{{3}}{d}\d"
        rf"|\d{{4}}{d}\d"
    )


PROOF = {".": _proof(".", ","), ",": _proof(",", ".")}

# Most of the world writes the day first; the month first is tried where that reads fewer cells.
_DAYS = (
    "%d/%m/%Y %m/%d/%Y %d.%m.%Y %d-%m-%Y %Y/%m/%d %d_%b_%Y %d_%B_%Y %b_%d,_%Y %B_%d,_%Y %d-%b-%Y"
    " %d-%b-%y %d.%m.%y %d/%m/%y %m/%d/%y"
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
DATE_FORMATS = (
    "ISO8601",
    *(day.replace("_", " ") + time for time in _TIMES for day in _DAYS.split()),
)
DATE = re.compile(r"\w{1,9}(?:[-/. ]|, )\w{1,9}[-/., ]|(?:19|20)\d\d-(?:0[1-9]|1[0-2])$")
TWO_DIGITS = re.compile(r"\d\d\.\d\d\.\d\d\b")  # 01.02.24 is a date, 1.2.24 may be a version

FIRST_DAY = np.datetime64("2000-01-01", "us")
PERIODS = (365.25, 7.0, 1.0)  # days


class ColumnError(ValueError):
    """A column that can't be read; `column` is its name."""

    def __init__(self, column: str, message: str):
        super().__init__(message)
        self.column = column


# ---- cells as words ----


class Words:
    """The cells of a column as strings without outer spaces.

    distinct   the different ones that are not empty
    count      how many cells hold each
    code       (n,) which of them each cell holds, -1 where it is empty
    """

    def __init__(self, cells: Any):
        import pandas

        cells = pandas.Series(cells)
        try:
            code, values = pandas.factorize(cells.astype(object))
        except TypeError:
            kind = next(type(cell).__name__ for cell in cells if not _is_hashable(cell))
            name = str(cells.name)
            raise ColumnError(
                name, f"column {name!r} holds cells of type {kind}: leave it out, or split it."
            ) from None
        number: dict[str, int] = {}
        words = map(as_word, values)
        place = [-1 if word is None else number.setdefault(word, len(number)) for word in words]
        self.distinct = list(number)
        self.code = np.array([*place, -1], dtype=np.intp)[code]
        self.count = np.bincount(self.code[self.code >= 0], minlength=len(number))

    @property
    def n_given(self) -> int:
        return int(self.count.sum())

    @property
    def are_all_different(self) -> bool:
        return self.n_given == len(self.distinct)

    def share(self, holds: Callable[[str], Any]) -> float:
        """The share of the cells that are not empty whose word has a property."""
        mask = np.array([bool(holds(word)) for word in self.distinct], dtype=bool)
        return float(self.count[mask].sum() / max(self.n_given, 1))

    @cached_property
    def plain(self) -> np.ndarray:
        """The plain numbers that distinct words spell, NaN for others; true is 1, false 0."""
        return np.array([_plain(word) for word in self.distinct], dtype=np.float64)

    @cached_property
    def amounts(self) -> list[re.Match[str] | None]:
        """Distinct words as numbers with marks, a currency or a unit; [] where few look like it."""
        first = [AMOUNT.fullmatch(_with_minus_first(word)) for word in self.distinct[:200]]
        if sum(match is not None for match in first) < 0.8 * len(first):
            return []
        return [AMOUNT.fullmatch(_with_minus_first(word)) for word in self.distinct]

    @cached_property
    def units(self) -> list[str]:
        """The currencies and units beside numbers, "" where a number stands alone."""
        found = [match.group(1, 3, 5) for match in self.amounts if match]
        units = [" ".join(part.strip() for part in parts if part) for parts in found]
        return list(dict.fromkeys(units))

    @cached_property
    def mark(self) -> str:
        """The decimal mark that cells prove; "?" where they need one and prove none, "" where they
        are no numbers with marks, or hold no mark.
        """
        bodies = [match[4].strip() if match else "" for match in self.amounts]
        if not bodies or (self.count @ [not body for body in bodies]) > FEW_CELLS * self.n_given:
            return ""
        proved = {
            mark: int(self.count @ [bool(proof.search(body)) for body in bodies])
            for mark, proof in PROOF.items()
        }
        mark = max(proved, key=lambda mark: proved[mark])
        if proved[mark]:
            return mark if sum(proved.values()) - proved[mark] <= FEW_CELLS * self.n_given else ""
        return "?" if any("," in body or "." in body for body in bodies) else ""


def _is_hashable(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def as_word(cell: Any) -> str | None:
    """A cell as text: 1 and 1.0 are the same, True and TRUE too; None where it says nothing."""
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)
    text = str(cell).strip()
    lower = text.lower()
    if lower in EMPTY_WORDS:
        return None
    return lower if lower in ("true", "false") else text


def _plain(word: str) -> float:
    if PLAIN.fullmatch(word):
        number = float(word)
        return number if np.isfinite(number) else np.nan
    return {"true": 1.0, "false": 0.0}.get(word, np.nan)


def _with_minus_first(word: str) -> str:
    """A number below zero with its minus before it: "(5)", "5-", and typeset ones."""
    word = word.replace("−", "-")
    if len(word) > 1 and (word[0] + word[-1] == "()" or word[-1] == "-"):
        return "-" + word.strip("()-").strip()
    return word


def amount(word: str, decimal: str) -> float:
    """A number as people write it: "EUR 1.234,50" is 1234.5 with the mark ","; NaN where a mark
    separates no thousands.
    """
    if decimal == "." and PLAIN.fullmatch(word):
        return _plain(word)
    match = AMOUNT.fullmatch(_with_minus_first(word))
    body = BODY[decimal].fullmatch(match[4].strip()) if match else None
    if match is None or body is None:
        return np.nan
    whole = re.sub(r"\D", "", body[1])
    return float(f"{match[2]}{whole}.{body[3] or 0}")


# ---- cells that a frame holds as values ----


def numbers_of(cells: Any) -> np.ndarray | None:
    """Cells that a frame or array holds as numbers, truth values or time spans (in seconds); None
    for others.
    """
    dtype = cells.dtype
    kind = getattr(dtype, "kind", "O") if not hasattr(dtype, "categories") else "O"
    if kind in "fiub":
        try:
            return np.array(cells, dtype=np.float64)
        except (TypeError, ValueError):  # pandas' numbers with gaps
            return cells.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "m":
        return cells.dt.total_seconds().to_numpy(dtype=np.float64)
    return None


def plain_numbers(cells: Any) -> tuple[np.ndarray, np.ndarray]:
    """The plain numbers that cells spell, all at once, and which cells spell one."""
    import pandas

    numbers = pandas.to_numeric(pandas.Series(cells), errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    return values, np.isfinite(values)


def is_dates(cells: Any) -> bool:
    """Whether a frame or array holds dates."""
    return getattr(cells.dtype, "kind", "O") == "M"


def dates_of(words: list[str], format: str) -> np.ndarray:
    """The dates that words spell in a format, NaT for others."""
    import pandas

    dates = pandas.to_datetime(
        pandas.Series(words, dtype=object), format=format, utc=True, errors="coerce"
    )
    values = dates.dt.tz_localize(None).to_numpy("datetime64[us]").copy()
    if ".%y" in format:
        values[[TWO_DIGITS.match(word) is None for word in words]] = np.datetime64("NaT")
    return values


def date_parts(dates: np.ndarray) -> np.ndarray:
    """Days since 2000, then sine and cosine of the time of year, of the week and of the day, (n,
    7); NaN where a date is missing.
    """
    day = np.timedelta64(1, "D")
    passed = dates.astype("datetime64[us]") - FIRST_DAY
    parts = [passed / day]
    for days in PERIODS:
        # Whole microseconds: rounding would make a column that varies of times that do not.
        turn = np.timedelta64(round(days * 86_400_000_000), "us")
        angle = 2 * np.pi * ((passed % turn) / turn)
        parts += [np.sin(angle), np.cos(angle)]
    return np.column_stack(parts)


# ---- frames ----


def cells_by_name(rows: Any) -> dict[str, Any]:
    """The columns of a frame of any library, or of an array: "0", "1" and so on."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub":
        return {str(j): rows[:, j] for j in range(rows.shape[1])}
    frame = as_frame(rows)
    return {name: frame[name] for name in frame.columns}


def as_frame(rows: Any) -> pandas.DataFrame:
    """Rows as a frame of pandas, with names that are text and differ."""
    import pandas

    if hasattr(rows, "iloc"):
        frame = rows
    elif hasattr(rows, "to_pandas"):
        frame = rows.to_pandas()
    else:
        frame = pandas.DataFrame(rows)
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ColumnError(twice, f"two columns are called {twice!r}: rename one.")
    return frame if list(frame.columns) == names else frame.set_axis(names, axis=1)


def shown(word: str) -> str:
    """A cell for a message; a long one is cut."""
    return repr(word if len(word) <= 40 else word[:37] + "...")
