"""What each column of a table is, and its cells as values: one answer for Python and the command.

    number     numbers and truth values; strings that spell numbers, plain ("12.5", "1e-3") or as
               people write them ("$1,234.50", "1.234,50 €", "(5.2)", "12.5%")
    date       dates; strings that spell dates, all in one way
    text       strings of three or more words on average
    category   other strings, codes with leading zeros ("00501"), and what a frame calls a category

Cells that say nothing ("n/a", "?", "-") are empty. A column is left out where it says nothing about
new rows: without a value, with one value, with a different word in every row, a running number, or
a different whole number in every row under the name of a key.

`Columns.decide` looks at all cells once; its decision is frozen, and `Columns.read` gives the
values of any rows by it: float64, datetime64, or strings, "" where a cell is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from semisvm.tables.cells import (
    BODY,
    CODE,
    DATE,
    DATE_FORMATS,
    FEW_CELLS,
    PROOF,
    SCALES,
    WORD,
    ColumnError,
    Words,
    amount,
    cells_by_name,
    dates_of,
    is_dates,
    numbers_of,
    plain_numbers,
    shown,
)

KINDS = ("number", "category", "date", "text")
TEXT_WORDS = 3.0  # words per cell, on average, from which strings are texts
FEWEST_KEYS = 20  # rows, up to which different values are no sign of an identifier
DATES_TRIED = 1_000  # different cells from which the format of dates is chosen
FEW_SPELLINGS = 3  # of typing errors in a column of plain numbers or of dates
MOST_OF_ONE_WORD = 0.5  # "refused", in this share of the cells, counts as an empty cell
EXACT_IN_FLOAT = 2.0**53  # from here on a float does not hold every whole number
NAMED_AS_KEY = re.compile(
    r"(?i:(?:^|[\W_])(?:id|ids|uid|uuid|guid|key|nr|no|number|index)$)|[a-z](?:Id|ID|Key|Nr)$"
)
# ---- errors ----


class DecimalMarkError(ColumnError):
    """A column of numbers of which nobody can say whether the mark ends the whole part."""

    def __init__(self, column: str, example: str):
        mark = "," if "," in example else "."
        other = "." if mark == "," else ","
        super().__init__(
            column,
            f"{example!r} in column {column!r} may be a large number or a decimal one: set"
            f" `decimal` to {mark!r} if that mark ends the whole part, to {other!r} if it separates"
            f" thousands (pandas.read_csv: decimal={mark!r} or thousands={mark!r}).",
        )
        self.example = example


class CellError(ColumnError):
    """Cells that are not what they were at the fit; `row` is the first one, from 0."""

    def __init__(self, column: Column, cells: Any, is_bad: np.ndarray):
        self.row = int(is_bad.argmax())
        self.cell = str(np.asarray(cells, dtype=object)[self.row])
        n_bad, n = int(is_bad.sum()), len(is_bad)
        one = f"{n_bad:,} of {n:,} cells are" if n_bad > 1 else "that is"
        super().__init__(
            column.name,
            f"row {self.row}: column {column.name!r} holds {shown(self.cell)} where a"
            f" {column.kind} is expected ({one} none): write them as at the fit, or leave them"
            " empty.",
        )


# ---- what a column is ----


@dataclass(frozen=True)
class Column:
    """A column in use, and how its cells are read.

    format   how its dates are written; the decimal mark of numbers that are not plain
    strays   the words that count as empty cells
    width    the number of digits of codes with leading zeros, 0 for others
    remark   what a person should check, "" where there is nothing
    """

    name: str
    kind: str
    format: str = ""
    strays: tuple[str, ...] = ()
    width: int = 0
    remark: str = ""

    def read(self, cells: Any) -> tuple[np.ndarray, str]:
        """The values of cells, and a remark where a few can't be read; CellError for many."""
        if self.kind in ("category", "text"):
            return self._strings(cells)
        values, is_bad = self._numbers(cells) if self.kind == "number" else self._dates(cells)
        n_bad = int(np.count_nonzero(is_bad))
        if not n_bad:
            return values, ""
        if n_bad > FEW_CELLS * len(values):
            raise CellError(self, cells, is_bad)
        example = shown(str(np.asarray(cells, dtype=object)[int(is_bad.argmax())]))
        are = "cell of {} is no {}" if n_bad == 1 else "cells of {} are no {}s"
        told = are.format(repr(self.name), self.kind)
        return values, f"{n_bad:,} {told} ({example}): read as empty"

    def _numbers(self, cells: Any) -> tuple[np.ndarray, np.ndarray]:
        given = numbers_of(cells)
        if given is not None:
            return given, np.isinf(given)
        if is_dates(cells):
            return np.full(len(cells), np.nan), np.ones(len(cells), dtype=bool)
        if not self.format:
            values, is_read = plain_numbers(cells)
            is_bad = np.zeros(len(values), dtype=bool)
            if not is_read.all():  # empty cells, strays and truth values, one by one
                rest = Words(np.asarray(cells, dtype=object)[~is_read])
                values[~is_read], is_bad[~is_read] = self._placed(rest, rest.plain, np.nan)
            return values, is_bad
        words = Words(cells)
        distinct = np.array([amount(word, self.format) for word in words.distinct])
        distinct = np.where(np.isnan(distinct), words.plain, distinct)
        return self._placed(words, distinct, np.nan)

    def _dates(self, cells: Any) -> tuple[np.ndarray, np.ndarray]:
        import pandas

        if is_dates(cells):
            cells = pandas.Series(cells)
            zone = getattr(cells.dt, "tz", None)
            plain = cells.dt.tz_convert(None) if zone is not None else cells
            return plain.to_numpy("datetime64[us]"), np.zeros(len(cells), dtype=bool)
        words = Words(cells)
        return self._placed(words, dates_of(words.distinct, self.format or "ISO8601"), "NaT")

    def _placed(
        self, words: Words, distinct: np.ndarray, empty: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """The value of each cell, and which cells can't be read."""
        is_bad = np.isnan(distinct) & ~np.isin(words.distinct, self.strays)
        filled = np.append(distinct, np.array([empty], dtype=distinct.dtype))
        return filled[words.code], np.append(is_bad, False)[words.code]

    def _strings(self, cells: Any) -> tuple[np.ndarray, str]:
        words, remark = Words(cells), ""
        distinct = words.distinct
        if self.kind == "category":
            distinct = [re.sub(r"^([-+]?\d+)\.0+$", r"\1", word) for word in distinct]
        is_short = [len(word) < self.width and word.isdecimal() for word in distinct]
        if any(is_short):
            pairs = zip(distinct, is_short, strict=True)
            distinct = [word.zfill(self.width) if short else word for word, short in pairs]
            remark = (
                f"{words.count @ is_short:,} codes of {self.name!r} without their zeros: read with"
                f" {self.width} digits"
            )
        return np.array([*distinct, ""], dtype=object)[words.code], remark


def decide(
    name: str, cells: Any, wanted: str | None = None, decimal: str = "", words: Words | None = None
) -> Column | str:
    """What a column is, or why it is of no use; ColumnError if it can't be of the wanted kind."""
    given = numbers_of(cells)
    if given is not None and wanted != "category":
        why = "" if wanted else useless(name, given)
        return why or _of_kind(Column(name, "number", remark=_remark_on_numbers(given)), wanted)
    if is_dates(cells):
        dates = np.asarray(cells, dtype="datetime64[us]")
        if not wanted and len(np.unique(dates[~np.isnat(dates)])) < 2:
            return "holds one date in every row"
        return _of_kind(Column(name, "date"), wanted)
    words = words or Words(cells)
    if wanted in ("category", "text"):
        return Column(name, wanted, width=code_width(words))
    if not wanted and not words.distinct:
        return "holds no value"
    if not wanted and len(words.distinct) == 1:
        return f"holds {shown(words.distinct[0])} in every row"
    if not wanted and hasattr(cells.dtype, "categories"):
        return Column(name, "category", width=code_width(words))
    column: Column | None = None
    if wanted in (None, "number"):
        column = _as_numbers(name, words, decimal, wanted)
    if column is None and wanted in (None, "date"):
        column = _as_dates(name, words)
    if column is not None:
        why = "" if wanted or column.kind != "number" else useless(name, column.read(cells)[0])
        return why or column
    if wanted:
        example = shown(words.distinct[0]) if words.distinct else "nothing"
        raise ColumnError(
            name, f"column {name!r} can't be read as {wanted}s: it holds, for example, {example}."
        )
    n_words = [len(WORD.findall(word)) for word in words.distinct]
    if words.count @ n_words >= TEXT_WORDS * words.n_given:
        return Column(name, "text")
    hint = _hint(words)
    if words.n_given > FEWEST_KEYS and words.are_all_different:
        return "is different in every row" + (f", and {hint}" if hint else "")
    return Column(name, "category", width=code_width(words), remark=hint)


def _of_kind(column: Column, wanted: str | None) -> Column:
    if wanted not in (None, column.kind):
        raise ColumnError(
            column.name,
            f"column {column.name!r} holds {column.kind}s, which can't be read as {wanted}s.",
        )
    return column


def useless(name: str, numbers: np.ndarray) -> str:
    """Why numbers say nothing about new rows, "" where they may."""
    x = numbers[np.isfinite(numbers)]
    if not len(x):
        return "holds no value"
    if (x == x[0]).all():
        return f"holds {x[0]:g} in every row"
    if len(x) <= FEWEST_KEYS:
        return ""
    if x[0] in (0, 1) and (np.diff(x) == 1).all():
        return "numbers the rows"
    if NAMED_AS_KEY.search(name) and (x == np.rint(x)).all():
        if np.abs(x).max() >= EXACT_IN_FLOAT:
            return "is an identifier: whole numbers of more than 15 digits"
        if len(np.unique(x)) == len(x):
            return "is an identifier: a different whole number in every row"
    return ""


def _remark_on_numbers(x: np.ndarray) -> str:
    x = x[np.isfinite(x)]
    if len(x) <= FEWEST_KEYS or not (x == np.rint(x)).all():
        return ""
    if np.abs(x).max() >= EXACT_IN_FLOAT:
        return "holds whole numbers of more than 15 digits, which are rounded: is it an identifier?"
    if (np.diff(x) > 0).all():
        return "is a different whole number in every row: is it an identifier?"
    return ""


def _strays(words: Words, is_read: np.ndarray, are_marked: bool = False) -> tuple[str, ...] | None:
    """The words that count as empty cells where the others are numbers, or dates; None where they
    are too many for that: one word, such as "refused", or a few typing errors.
    """
    rest = [word for word, ok in zip(words.distinct, is_read, strict=True) if not ok]
    share = float(words.count[~is_read].sum() / max(words.n_given, 1))
    is_one_word = len(rest) == 1 and not re.search(r"\d", rest[0]) and share <= MOST_OF_ONE_WORD
    are_errors = share <= FEW_CELLS and (are_marked or len(rest) <= FEW_SPELLINGS)
    return tuple(rest) if is_one_word or are_errors else None


def _as_numbers(name: str, words: Words, decimal: str, wanted: str | None) -> Column | None:
    """A column of words that spell numbers; `decimal` is the mark that the user gives, or that the
    other columns prove.
    """
    if not wanted and any(map(CODE.fullmatch, words.distinct)):
        return None
    is_plain = np.isfinite(words.plain)
    strays = _strays(words, is_plain)
    is_grouped = decimal == "," and any("." in word for word in words.distinct)
    is_grouped &= all(
        BODY[","].fullmatch(word) and not PROOF["."].search(word) for word in words.distinct
    )
    if strays is not None and not is_grouped:
        return Column(name, "number", strays=strays, remark=_remark_on_strays(strays))
    units = words.units
    are_scaled = len(units) == 2 and "" in units and not SCALES.isdisjoint(units)
    if not words.amounts or len([unit for unit in units if unit]) > 1 or are_scaled:
        return None
    mark = words.mark
    if mark == "?":
        if not decimal:
            raise DecimalMarkError(name, _example(words))
        mark = decimal
    mark = mark or "."
    strays = _strays(words, np.isfinite([amount(word, mark) for word in words.distinct]), True)
    if strays is None:
        return None
    example = _example(words)
    told = f"{shown(example)} is read as {amount(example, mark):.15g}"
    remark = "; ".join(filter(None, [told, _remark_on_strays(strays)]))
    return Column(name, "number", mark, strays, remark=remark)


def _example(words: Words) -> str:
    """The word that shows best how numbers are written."""
    amounts = [word for word, match in zip(words.distinct, words.amounts, strict=True) if match]
    return max(amounts, key=lambda word: ("," in word or "." in word, len(word)))


def _remark_on_strays(strays: Iterable[str]) -> str:
    some = ", ".join(shown(word) for word in list(strays)[:FEW_SPELLINGS])
    return f"{some} counts as an empty cell" if some else ""


def _as_dates(name: str, words: Words) -> Column | None:
    if words.share(DATE.match) <= 1 - FEW_CELLS - MOST_OF_ONE_WORD:
        return None
    tried = words.distinct[:DATES_TRIED]
    dated = [word for word in tried if re.search(r"[1-9]", word)]
    best, most = "", 0
    for format in DATE_FORMATS:
        n_read = int(np.count_nonzero(~np.isnat(dates_of(dated, format))))
        if n_read > most:
            best, most = format, n_read
        if most == len(dated):
            break
    if most < (1 - FEW_CELLS) * len(dated):
        return None
    strays = _strays(words, ~np.isnat(dates_of(words.distinct, best)))
    if strays is None:
        return None
    remark = _remark_on_strays(strays)
    swapped = best.replace("%d/%m", "%m/%d")
    if swapped != best and most == len(dated) and not np.isnat(dates_of(dated, swapped)).any():
        remark = f"{dated[0]!r} is read with the day first: write the year first if it is the month"
    return Column(name, "date", best, strays, remark=remark)


def _hint(words: Words) -> str:
    """What keeps a column from being one of numbers or dates, "" where nothing does."""
    is_plain = np.isfinite(words.plain)
    odd = [word for word, ok in zip(words.distinct, is_plain, strict=True) if not ok]
    if 0 < words.count[~is_plain].sum() <= 0.1 * words.n_given:
        return f"holds numbers except for {', '.join(map(shown, odd[:3]))}: correct or empty these"
    units = [unit for unit in words.units if unit]
    if words.amounts and 1 < len(units) <= 3:
        return f"holds numbers in different units, {', '.join(map(repr, units))}: write all in one"
    if words.share(DATE.match) > 1 - FEW_CELLS:
        tried = words.distinct[:DATES_TRIED]
        read = [~np.isnat(dates_of(tried, format)) for format in DATE_FORMATS]
        if np.any(read, axis=0).mean() >= 1 - FEW_CELLS:
            best = max(read, key=lambda mask: int(mask.sum()))
            pair = tried[int(best.argmax())], tried[int(best.argmin())]
            return f"holds dates in different styles, {pair[0]!r} and {pair[1]!r}: write all in one"
    return ""


def code_width(words: Words) -> int:
    """The number of digits of codes with leading zeros, 0 for other words."""
    lengths = {len(word) for word in words.distinct}
    are_codes = len(lengths) == 1 and all(word.isdecimal() for word in words.distinct)
    return lengths.pop() if are_codes and any(map(CODE.fullmatch, words.distinct)) else 0


# ---- all columns of a table ----


@dataclass(frozen=True)
class Columns:
    """The columns in use, and those left out by name, with the reason."""

    used: tuple[Column, ...]
    left_out: dict[str, str]

    @classmethod
    def decide(
        cls,
        frame: Any,
        *,
        kinds: Mapping[str, str] | None = None,
        drop: Iterable[str] = (),
        decimal: str | None = None,
    ) -> Columns:
        """Decide what each column is.

        kinds     what some columns are, by name: "number", "category", "date" or "text"
        drop      columns that are not looked at
        decimal   the mark that ends the whole part of numbers, "." or ","; None: what the cells
                  prove, of this column or of the others
        """
        cells_of, kinds, drop = cells_by_name(frame), dict(kinds or {}), set(drop)
        for name in (*kinds, *drop):
            if name not in cells_of:
                raise ColumnError(name, f"there is no column {name!r}.{_close_to(name, cells_of)}")
        for name, kind in kinds.items():
            if kind not in KINDS:
                raise ColumnError(
                    name, f"column {name!r} can't be a {kind!r}: choose one of {', '.join(KINDS)}."
                )
        cells_of = {name: cells for name, cells in cells_of.items() if name not in drop}
        words = {
            name: Words(cells)
            for name, cells in cells_of.items()
            if numbers_of(cells) is None and not is_dates(cells)
        }
        proved = {word.mark for word in words.values()} | {
            "."
            for cells in cells_of.values()
            if getattr(cells.dtype, "kind", "O") == "f" and _has_fractions(cells)
        }
        proved &= {".", ","}
        mark = decimal or (proved.pop() if len(proved) == 1 else "")
        used, left_out = [], {}
        for name, cells in cells_of.items():
            column = decide(name, cells, kinds.get(name), mark, words.get(name))
            if isinstance(column, str):
                left_out[name] = column
            else:
                used.append(column)
        if not used:
            some = "; ".join(f"{name!r} {why}" for name, why in list(left_out.items())[:3])
            raise ValueError(f"no column is left to learn from: {some or 'there is none'}.")
        return cls(tuple(used), left_out)

    @property
    def names(self) -> list[str]:
        """The names of the columns in use."""
        return [column.name for column in self.used]

    @property
    def remarks(self) -> dict[str, str]:
        """What a person should check, by the name of the column."""
        return {column.name: column.remark for column in self.used if column.remark}

    def by_kind(self) -> dict[str, list[str]]:
        """The names of the columns in use by their kind, as `AutoSVC(columns=...)` takes them."""
        return {
            kind: names
            for kind in KINDS
            if (names := [column.name for column in self.used if column.kind == kind])
        }

    def read(self, frame: Any) -> tuple[dict[str, np.ndarray], list[str]]:
        """The values of rows by column, and remarks on cells that can't be read."""
        cells_of = cells_by_name(frame)
        missing = [name for name in self.names if name not in cells_of]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise ColumnError(
                missing[0],
                f"there is no column {missing[0]!r}{more}, which the model needs."
                f"{_close_to(missing[0], cells_of)}",
            )
        read = {column.name: column.read(cells_of[column.name]) for column in self.used}
        remarks = [remark for _, remark in read.values() if remark]
        return {name: values for name, (values, _) in read.items()}, remarks

    def as_dict(self) -> dict[str, Any]:
        """The decision as JSON can hold it."""
        return {"used": [asdict(column) for column in self.used], "left_out": self.left_out}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Columns:
        """The decision that `as_dict` gave."""
        used = (Column(**{**one, "strays": tuple(one["strays"])}) for one in content["used"])
        return cls(tuple(used), dict(content["left_out"]))


def _close_to(name: str, there: Iterable[str]) -> str:
    folded = {one.strip().casefold(): one for one in there}
    close = get_close_matches(name.strip().casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def _has_fractions(cells: Any) -> bool:
    x = numbers_of(cells)
    return x is not None and bool((x[np.isfinite(x)] % 1 != 0).any())
