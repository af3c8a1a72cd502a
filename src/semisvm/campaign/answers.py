"""What was said about which row of a pool: answers, their times, and what was changed afterward."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.errors import counted

NO_ANSWER = "no answer"


class AnswerLog:
    """Answers by row: 1 positive, 0 negative, NaN "don't know"; each with its time, and a log of
    corrections.

    With `classes`, people answer with class labels, of which `pos_label` is the positive one;
    without, with 1 and 0. With `proposed`, a label per row, a row is positive if the answer is its
    proposed label.

    An answer may have an `annotator`. What counts is the first answer to a row; those of others are
    kept in `second_answers` and tell how far people agree.
    """

    def __init__(
        self,
        n_rows: int,
        classes: Sequence[Any] | None,
        pos_label: Any,
        proposed: Sequence[Any] | None = None,
    ):
        self.n_rows = n_rows
        self.proposed = None if proposed is None else list(map(plain_label, proposed))
        self.annotators: dict[int, str] = {}
        self.second_answers: list[dict[str, Any]] = []
        self.classes = None if classes is None else [_check_class(label) for label in classes]
        self.pos_label = plain_label(pos_label)
        self.codes: dict[int, float] = {}
        self.labels: dict[int, Any] = {}  # as they were given: of several negative classes, which
        self.times: dict[int, str] = {}
        self.corrections: list[dict[str, Any]] = []

    def add(
        self, rows: Sequence[Any], answers: Sequence[Any], annotator: str | None = None
    ) -> None:
        """Take answers, all of them or, if one is refused, none."""
        if len(rows) != len(answers):
            raise ValueError(
                f"Got {counted(len(rows), 'row')} and {counted(len(answers), 'answer')}: give one"
                " answer per row."
            )
        coded = [
            (self._number(row), self.code(row, answer))
            for row, answer in zip(rows, answers, strict=True)
        ]
        now = time_now()
        for (row, code), answer in zip(coded, answers, strict=True):
            before = self.codes.get(row)
            if before is not None and annotator not in (None, self.annotators.get(row)):
                self._keep_second(row, code, str(annotator), now)
                continue
            if annotator is not None:
                self.annotators[row] = annotator
            self.labels[row] = None if math.isnan(code) else plain_label(answer)
            if before is not None and is_same_code(before, code):
                continue
            if before is not None:
                self.corrections.append(
                    {"row": row, "from": _to_json(before), "to": _to_json(code), "time": now}
                )
            self.codes.pop(row, None)  # the last answer given is the last in order
            self.codes[row] = code
            self.times[row] = now

    def _keep_second(self, row: int, code: float, annotator: str, now: str) -> None:
        """Keep the answer of another person; a person's last answer to a row stands."""
        self.second_answers = [
            second
            for second in self.second_answers
            if (second["row"], second["annotator"]) != (row, annotator)
        ]
        self.second_answers.append(
            {"row": row, "answer": _to_json(code), "annotator": annotator, "time": now}
        )

    def is_answered_by(self, row: int, annotator: str) -> bool:
        """Whether a person has answered a row, as the first or not."""
        return self.annotators.get(row) == annotator or any(
            (second["row"], second["annotator"]) == (row, annotator)
            for second in self.second_answers
        )

    def remove(self, rows: Sequence[Any]) -> None:
        """Take answers back; each is a correction to "no answer"."""
        numbers = [self._number(row) for row in rows]
        for row in (number for number in numbers if number in self.codes):
            before = _to_json(self.codes.pop(row))
            self.corrections.append(
                {"row": row, "from": before, "to": NO_ANSWER, "time": time_now()}
            )
            del self.times[row], self.labels[row]
            self.annotators.pop(row, None)

    def as_lists(self) -> list[list[Any]]:
        """Return [row, answer, time] per answer, also the label where the answer does not say it,
        as plain JSON values.
        """
        has_labels = len(self.classes or ()) > 2 or self.proposed is not None
        return [
            [row, _to_json(code), self.times[row], *([self.labels[row]] if has_labels else [])]
            for row, code in self.codes.items()
        ]

    def read_lists(self, lists: list[list[Any]], corrections: list[dict[str, Any]]) -> None:
        """Take what `as_lists` wrote, and the log of corrections."""
        for row, code, time, *label in lists:
            self.codes[self._number(row)] = math.nan if code is None else float(code)
            self.times[row] = time
            self.labels[row] = label[0] if label else self._label_of(code)
        self.corrections = corrections

    def _label_of(self, code: int | None) -> Any:
        """The label that stands for a code where there are at most two classes."""
        if code is None:
            return None
        if self.classes is None:
            return code
        others = [label for label in self.classes if label != self.pos_label]
        return self.pos_label if code == 1 else others[0]

    def _number(self, row: Any) -> int:
        is_number = isinstance(row, int | np.integer) and not isinstance(row, bool)
        if not is_number or not 0 <= row < self.n_rows:
            raise ValueError(
                f"There is no row {row!r} in the pool: row numbers are from 0 to {self.n_rows - 1}."
            )
        return int(row)

    def code(self, row: Any, answer: Any) -> float:
        """Return the code of an answer: 1 positive, 0 negative, NaN "don't know"."""
        plain = plain_label(answer)
        if plain is None:
            return math.nan
        if self.classes is not None:
            if plain not in self.classes:
                raise ValueError(
                    f"Row {row}: {plain!r} is not a class; there are {self.classes}, and None if"
                    " unknown."
                )
            positive = self.pos_label if self.proposed is None else self.proposed[row]
            return float(plain == positive)
        if plain not in (0, 1):
            raise ValueError(
                f"Row {row}: an answer is 1 (positive), 0 (negative) or None (don't know), got"
                f" {plain!r}."
            )
        return float(plain)


def plain_label(label: Any) -> Any:
    """Return a label as a Python value; missing values (None, NaN, pandas.NA, NaT) are None."""
    plain = label.item() if isinstance(label, np.generic) else label
    # NaN and NaT differ from themselves, and comparing pandas.NA gives pandas.NA, which has no
    # truth value: pandas itself need not be installed.
    if plain is None or type(plain).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def _check_class(label: Any) -> Any:
    """Return a class label as a Python value that a JSON file can hold."""
    plain = plain_label(label)
    if not isinstance(plain, str | int | float):
        raise ValueError(
            f"classes must be text or numbers, because a campaign is kept in a JSON file; got"
            f" {plain!r} of type {type(plain).__name__}. Give the classes as text, and answer with"
            " the same text."
        )
    return plain


def time_now() -> str:
    """Return the time as text, with its zone."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def is_same_code(code: float, other: float) -> bool:
    """Whether two answers are the same; "don't know" is NaN."""
    return code == other or (math.isnan(code) and math.isnan(other))


def _to_json(code: float) -> int | None:
    return None if math.isnan(code) else int(code)
