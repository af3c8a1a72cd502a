"""Rows to label, written to a file and read back: the cells prove which row an answer is for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from semisvm.errors import DataError
from semisvm.label.pool import Pool
from semisvm.tables.frame import as_written, read, require_columns
from semisvm.tables.output import output_file

ROW, ANSWER, DONT_KNOW = "row_id", "your_label", "?"
MOST_REWRITTEN = 0.25  # of the columns may have been rewritten by a spreadsheet


class RowsFile:
    """Files of one session, which is known by its `tag`; rows are those of its pool."""

    def __init__(
        self,
        pool: Pool,
        tag: str,
        state: str,
        classes: list[str],
        *,
        hidden: str | None = None,
        may_be_new: bool = False,
    ):
        self.pool, self.tag, self.state, self.classes = pool, tag, state, classes
        self.hidden = hidden  # a column that would lead a person
        self.may_be_new = may_be_new  # whether people may answer a class that is none of these

    def write(
        self, out: str | Path, names: list[str], show: Sequence[str], *, force: bool = False
    ) -> int:
        """Write rows with an empty column to fill in; return how many."""
        require_columns(self.pool.cells, show, self.pool.path)
        rows = self.pool.cells.iloc[[self.pool.place[name] for name in names]]
        rows = rows[list(show)] if show else rows.drop(columns=self.hidden or [])
        for name in (ROW, ANSWER):
            if name in rows:
                raise DataError(f"{self.pool.path}: has a column {name!r}. Rename it.")
        rows.insert(0, ROW, [f"{self.tag}-{name}" for name in names])
        rows.insert(1, ANSWER, "")
        with output_file(out, force=force) as file:
            rows.to_csv(file, index=False, lineterminator="\n")
        return len(rows)

    def read(self, path: str | Path) -> tuple[dict[str, str | None], int, list[str]]:
        """Return the answers by row (None: "don't know"), the number of blanks, and remarks."""
        frame = read(path)
        for name in (ROW, ANSWER):
            if name not in frame:
                raise DataError(
                    f"{path}: there is no column {name!r}: is it a file that semisvm wrote with"
                    " --out?"
                )
        names = [self._name(str(text), f"{path}: row {k}") for k, text in enumerate(frame[ROW], 1)]
        remarks = self._compare(frame, names, path) if names else []
        answers: dict[str, str | None] = {}
        n_blank = 0
        for k, (name, word) in enumerate(zip(names, as_written(frame[ANSWER]), strict=True), 1):
            if not word.strip():
                n_blank += 1
                continue
            label = self._label(word.strip(), f"{path}: row {k}")
            if answers.setdefault(name, label) != label:
                raise DataError(
                    f"{path}: row {k}: has two answers, {answers[name]!r} and {label!r}."
                )
        new = sorted({str(label) for label in answers.values() if label} - set(self.classes))
        remarks += [f"{path}: {label!r} is a label that {self.hidden!r} never has" for label in new]
        return answers, n_blank, remarks

    def _name(self, text: str, at: str) -> str:
        tag, _, name = text.strip().partition("-")
        if tag != self.tag:
            raise DataError(f"{at}: is of another session than {self.state}.")
        if name not in self.pool.place:
            raise DataError(f"{at}: is no row of {self.pool.path}.")
        return name

    def _label(self, word: str, at: str) -> str | None:
        if word == DONT_KNOW:
            return None
        for label in self.classes:
            if word.casefold() in (label.casefold(), f"{label}.0"):  # spreadsheets write 1 as 1.0
                return label
        if self.may_be_new:
            return word
        raise DataError(
            f"{at}: {word!r} is none of the classes {', '.join(self.classes)} (or"
            f' {DONT_KNOW} for "don\'t know").'
        )

    def _compare(self, frame: pd.DataFrame, names: list[str], path: str | Path) -> list[str]:
        """Refuse a row whose cells are those of another.

        A column that a spreadsheet has written anew in most rows (dates, zeros) is not compared,
        which a remark says. One that was sorted by itself holds cells of other rows, and is.
        """
        shared = [name for name in frame if name in self.pool.cells]
        ours = self.pool.cells.iloc[[self.pool.place[name] for name in names]]
        agree, rewritten = {}, []
        for column in shared:
            theirs, known = as_written(frame[column]), as_written(ours[column])
            agree[column] = np.array([is_alike(a, b) for a, b in zip(theirs, known, strict=True)])
            if agree[column].mean() < 0.5 and np.isin(theirs, known).mean() < 0.5:
                rewritten.append(column)
        if len(rewritten) > MOST_REWRITTEN * len(shared):
            rewritten = []
        for column in shared:
            if column in rewritten or agree[column].all():
                continue
            row = int(agree[column].argmin())
            raise DataError(
                f"{path}: row {row + 1}: {column!r} is {frame[column].iloc[row]!r}, but"
                f" {ours[column].iloc[row]!r} in {self.pool.path.name}. The {ROW} and the cells"
                " were sorted apart, or cells were edited. Nothing was read."
            )
        return [
            f"{path}: column {column!r} was rewritten by another program: not compared"
            for column in rewritten
        ]


def is_alike(a: str, b: str) -> bool:
    """Whether two cells are the same to a person: outer spaces, 00501 and 501, 17/08/2021 and
    2021-08-17.
    """
    a, b = " ".join(a.split()), " ".join(b.split())
    if a == b:
        return True
    try:
        return abs(float(a) - float(b)) <= 1e-9 * abs(float(b))
    except ValueError:
        pass
    if not all(re.fullmatch(r"\d+[/.-]\d+[/.-]\d+[\d:. T]*", text) for text in (a, b)):
        return False
    days, times = [], []
    for text in (a, b):
        numbers = [int(digits) for digits in re.findall(r"\d+", text)]
        days.append(sorted(numbers[:3]))
        times.append([number for number in numbers[3:] if number])  # 10:00 and 10:00:00
    return days[0] == days[1] and times[0] == times[1]
