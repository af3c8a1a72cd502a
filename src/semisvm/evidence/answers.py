"""What people answered: one code per row, and a log of everything that they said.

The log is the campaign: whoever begins the same campaign and replays the log has the same
campaign. A row is answered again to correct it, and taken back by `OPEN`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

# Codes of answers, by row.
OPEN = -1
NO = 0
YES = 1
UNKNOWN = 2  # "don't know"

TAKEN_BACK = "taken back"


class Entry(NamedTuple):
    """One line of the log: a row, what was said of it, and its code."""

    row: int
    label: Any
    code: int


class Answers:
    """The answers to a pool of `n_rows`; `code_of(row, label)` says what a label means."""

    def __init__(self, n_rows: int, code_of: Callable[[int, Any], int]):
        self.n_rows = n_rows
        self.log: list[Entry] = []
        self.labels: dict[int, Any] = {}  # the last answer of each row, in the order of answers
        self.n_corrections = 0
        self._code_of = code_of

    def read(self, rows: Any, labels: Any) -> list[Entry]:
        """Return checked answers, all of them or, if one is refused, none; nothing is kept yet."""
        pairs = [(self._number(row), plain_label(label)) for row, label in pairs_of(rows, labels)]
        return [Entry(row, label, self._code_of(row, label)) for row, label in pairs]

    def add(self, entry: Entry) -> None:
        """Keep one checked answer."""
        before = self.labels.pop(entry.row, TAKEN_BACK)
        if before != TAKEN_BACK and before != entry.label:
            self.n_corrections += 1
        if entry.code != OPEN:
            self.labels[entry.row] = entry.label
        self.log.append(entry)

    def taken_back(self, rows: Any) -> list[Entry]:
        """Return the entries that take answers back."""
        numbers = [self._number(row) for row in np.atleast_1d(np.asarray(rows)).tolist()]
        return [Entry(row, None, OPEN) for row in numbers if row in self.labels]

    def _number(self, row: Any) -> int:
        plain = (
            row.item() if isinstance(row, np.generic | np.ndarray) and np.ndim(row) == 0 else row
        )
        if not isinstance(plain, int) or isinstance(plain, bool) or not 0 <= plain < self.n_rows:
            raise ValueError(
                f"There is no row {plain!r}: rows are whole numbers from 0 to {self.n_rows - 1}."
            )
        return plain


def pairs_of(rows: Any, labels: Any) -> list[tuple[Any, Any]]:
    """Return rows with their labels; one row and its label may be given by themselves."""
    if np.ndim(rows) == 0:
        return [(rows, labels)]
    is_one = isinstance(labels, str | bytes) or not isinstance(labels, Iterable)
    if isinstance(labels, np.ndarray) and labels.ndim == 0:
        is_one = True
    given = list(rows), [labels] if is_one else list(labels)
    if len(given[0]) != len(given[1]):
        raise ValueError(
            f"{len(given[0])} rows and {len(given[1])} answers: give one answer for each row."
        )
    if not given[0]:
        raise ValueError(
            "There is nothing to tell: give at least one row and its answer. (`draw` returns no"
            " rows when more labels are not worth it: `verdict().stop` says why.)"
        )
    return list(zip(*given, strict=True))


def plain_label(label: Any) -> Any:
    """Return a label as text, a number or a truth value, so that a JSON file can hold it.

    Missing values (None, NaN, pandas.NA, NaT) are None: "don't know".
    """
    if isinstance(label, np.generic | np.ndarray) and np.ndim(label) == 0:
        label = label.item()
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(label, Decimal | Fraction):
        label = int(label) if label == int(label) else float(label)
    if isinstance(label, float) and math.isnan(label):
        return None
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if not isinstance(label, str | int | float):
        raise ValueError(
            f"An answer is text, a number or None, got {label!r} of type {type(label).__name__}."
        )
    return label


def plain_labels(labels: Any, name: str) -> list[Any]:
    """Return given labels as plain values; ValueError where one is missing."""
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    kind = labels.dtype.kind if isinstance(labels, np.ndarray) else ""
    if kind and kind in "biuU":  # nothing can be missing, and 10^6 labels take their time
        return listed
    plain = [plain_label(label) for label in listed]
    if None in plain:
        raise ValueError(
            f"{name}: row {plain.index(None)} has no label. Leave such rows out, or give them"
            " any label and the lowest confidence."
        )
    return plain
