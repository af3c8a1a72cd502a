"""Answers about the rows of a pool: their labels, times and corrections."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from semisvm.errors import counted

NO_ANSWER = "no answer"

# Answers by row, as procedures read them.
UNLABELED = -1
NEGATIVE = 0
POSITIVE = 1
UNKNOWN = 2  # "don't know"


class Answer(NamedTuple):
    """The answer to a row: 1 positive, 0 negative, None "don't know"; the label that was given,
    when, and by whom where that is known.
    """

    code: int | None
    label: Any
    time: str
    annotator: str | None


class AnswerLog:
    """Answers by row, in the order in which they were given, and a log of corrections.

    With `classes`, people answer with class labels, of which `pos_label` is the positive one;
    without, with 1 and 0. With `proposed`, a label per row, a row is positive if the answer is its
    proposed label.

    An answer may have an `annotator`. What counts is the first answer to a row; those of others are
    kept in `second_answers`, by row and annotator, to measure how well people agree.
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
        self.classes = None if classes is None else [_check_class(label) for label in classes]
        self.pos_label = plain_label(pos_label)
        self.answers: dict[int, Answer] = {}
        self.second_answers: dict[tuple[int, str], dict[str, Any]] = {}
        self.corrections: list[dict[str, Any]] = []

    def add(self, rows: Any, answers: Any, annotator: str | None = None) -> None:
        """Take answers, all of them or, if one is refused, none."""
        coded = [
            (self._number(row), self.code(row, answer), plain_label(answer))
            for row, answer in answers_by_row(rows, answers)
        ]
        now = time_now()
        for row, code, label in coded:
            before = self.answers.get(row)
            if before is None:
                self.answers[row] = Answer(code, label, now, annotator)
            elif annotator not in (None, before.annotator):
                second = {"row": row, "answer": code, "annotator": str(annotator), "time": now}
                # The last answer of a person stands.
                self.second_answers.pop((row, str(annotator)), None)
                self.second_answers[row, str(annotator)] = second
            elif before.code == code:
                self.answers[row] = before._replace(label=label)
            else:
                self._log_correction(row, before.code, code, now)
                del self.answers[row]  # the last answer given is the last in order
                self.answers[row] = Answer(code, label, now, before.annotator)

    def _log_correction(self, row: int, before: Any, after: Any, now: str) -> None:
        self.corrections.append({"row": row, "from": before, "to": after, "time": now})

    def is_answered_by(self, row: int, annotator: str) -> bool:
        """Whether a person has answered a row, as the first or not."""
        is_first = self.answers[row].annotator == annotator
        return is_first or (row, annotator) in self.second_answers

    def remove(self, rows: Any) -> None:
        """Take answers back; each is a correction to "no answer"."""
        given = [rows] if isinstance(rows, int | np.integer) else list(rows)
        for row in [self._number(row) for row in given]:
            if row in self.answers:
                self._log_correction(row, self.answers.pop(row).code, NO_ANSWER, time_now())

    def by_row(self) -> np.ndarray:
        """Return the answer of each row, (n_rows,)."""
        by_row = np.full(self.n_rows, UNLABELED, dtype=np.int8)
        by_row[list(self.answers)] = [
            UNKNOWN if answer.code is None else answer.code for answer in self.answers.values()
        ]
        return by_row

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "classes": self.classes,
            "pos_label": self.pos_label,
            "proposed": self.proposed,
            "answers": [[row, *answer] for row, answer in self.answers.items()],
            "corrections": self.corrections,
            "second_answers": list(self.second_answers.values()),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any], n_rows: int) -> AnswerLog:
        """Return what `as_dict` wrote."""
        log = cls(n_rows, content["classes"], content["pos_label"], content["proposed"])
        log.answers = {log._number(row): Answer(*answer) for row, *answer in content["answers"]}
        log.corrections = content["corrections"]
        log.second_answers = {
            (second["row"], second["annotator"]): second for second in content["second_answers"]
        }
        return log

    def _number(self, row: Any) -> int:
        is_number = isinstance(row, int | np.integer) and not isinstance(row, bool)
        if not is_number or not 0 <= row < self.n_rows:
            shown = row.item() if isinstance(row, np.generic) else row
            raise ValueError(
                f"There is no row {shown!r} in the pool: row numbers are whole numbers from 0 to"
                f" {self.n_rows - 1}."
            )
        return int(row)

    def code(self, row: Any, answer: Any) -> int | None:
        """Return the code of an answer: 1 positive, 0 negative, None "don't know"."""
        plain = plain_label(answer)
        if plain is None:
            return None
        if self.classes is not None:
            if plain not in self.classes:
                raise ValueError(
                    f"Row {row}: {plain!r} is not a class; there are {self.classes}, and None if"
                    " unknown."
                )
            positive = self.pos_label if self.proposed is None else self.proposed[row]
            return int(plain == positive)
        if plain not in (0, 1):
            raise ValueError(
                f"Row {row}: an answer is 1 (positive), 0 (negative) or None (don't know), got"
                f" {plain!r}."
            )
        return int(plain)


def answers_by_row(rows: Any, answers: Any) -> list[tuple[Any, Any]]:
    """Return rows with their answers; one row and its answer may be given by themselves."""
    if isinstance(rows, int | np.integer):
        return [(rows, answers)]
    is_one = isinstance(answers, str) or not isinstance(answers, Iterable)
    given = (list(rows), [answers] if is_one else list(answers))
    if len(given[0]) != len(given[1]):
        raise ValueError(
            f"Got {counted(len(given[0]), 'row')} and {counted(len(given[1]), 'answer')}: give one"
            " answer per row."
        )
    return list(zip(*given, strict=True))


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


def as_number(code: int | None) -> float:
    """Return the code of an answer as a number: "don't know" is NaN."""
    return math.nan if code is None else float(code)
