"""The answers of a campaign: what was said about which row, when, and what was changed afterwards."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np


class AnswerLog:
    """Answers by row: 1 positive, 0 negative, NaN "don't know"; each with its time, and a log of corrections.

    With `classes`, people answer with class labels, of which `pos_label` is the positive one; without, with 1 and 0.
    """

    def __init__(self, n_rows: int, classes: Sequence[Any] | None, pos_label: Any):
        self.n_rows = n_rows
        self.classes = None if classes is None else [plain_label(one) for one in classes]
        self.pos_label = plain_label(pos_label)
        self.codes: dict[int, float] = {}
        self.times: dict[int, str] = {}
        self.corrections: list[dict[str, Any]] = []

    def add(self, rows: Sequence[Any], answers: Sequence[Any]) -> None:
        """Take answers, all of them or, if one is refused, none."""
        if len(rows) != len(answers):
            raise ValueError(f"There are {len(rows)} rows and {len(answers)} answers: give one answer per row.")
        coded = [(self._number(row), self._code(row, answer)) for row, answer in zip(rows, answers, strict=True)]
        now = time_now()
        for row, code in coded:
            before = self.codes.get(row)
            if before is not None and _same(before, code):
                continue
            if before is not None:
                self.corrections.append({"row": row, "from": _to_json(before), "to": _to_json(code), "time": now})
            self.codes[row], self.times[row] = code, now

    def as_lists(self) -> list[list[Any]]:
        """Return [row, answer, time] per answer, as plain JSON values."""
        return [[row, _to_json(code), self.times[row]] for row, code in self.codes.items()]

    def read_lists(self, lists: list[list[Any]], corrections: list[dict[str, Any]]) -> None:
        """Take what `as_lists` wrote, and the log of corrections."""
        for row, code, time in lists:
            self.codes[self._number(row)] = math.nan if code is None else float(code)
            self.times[row] = time
        self.corrections = corrections

    def _number(self, row: Any) -> int:
        is_number = isinstance(row, int | np.integer) and not isinstance(row, bool)
        if not is_number or not 0 <= row < self.n_rows:
            raise ValueError(f"There is no row {row!r} in the pool: row numbers are from 0 to {self.n_rows - 1}.")
        return int(row)

    def _code(self, row: Any, answer: Any) -> float:
        plain = plain_label(answer)
        if plain is None or (isinstance(plain, float) and math.isnan(plain)):
            return math.nan
        if self.classes is not None:
            if plain not in self.classes:
                raise ValueError(f"Row {row}: {plain!r} is not a class; there are {self.classes}, and None if unknown.")
            return float(plain == self.pos_label)
        if plain not in (0, 1):
            raise ValueError(f"Row {row}: an answer is 1 (positive), 0 (negative) or None (don't know), got {plain!r}.")
        return float(plain)


def plain_label(label: Any) -> Any:
    """Return a label as a Python value."""
    return label.item() if isinstance(label, np.generic) else label


def time_now() -> str:
    """Return the time as text, with its zone."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _to_json(code: float) -> int | None:
    return None if math.isnan(code) else int(code)
