"""The files that a person fills in: rows of a campaign to label, and their answers; as CSV, or for
Label Studio.

A file has the row's number in the data file (the first row below the header is 1), its cells, a
column that says how the row was drawn ("by campaign": such rows train a next model, and measure
nothing of it), and an empty label column. It has no score and no prediction, and its rows are
shuffled, so that the person is not led. In the label column

    a class name    the answer
    ?               "don't know"
    empty           no answer yet: the row is asked again

Label Studio: a list of tasks, as its import takes and its JSON export gives them
(labelstud.io/guide/task_format):

    {"data": {"row": 7, "drawn": "by campaign", "cells": {...}},
     "annotations": [{"result": [{"from_name": "label", "to_name": "cells", "type": "choices",
                                  "value": {"choices": ["spam"]}}], "was_cancelled": false}]}

A task that was skipped is a row without an answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from semisvm.campaign import Campaign
from semisvm.columns.cells import plain_cell
from semisvm.disk import check_can_write, read_bytes, whole_file
from semisvm.errors import counted, fault, shorten, suggest
from semisvm.tables.certify import file_rows, read_cells, require_data
from semisvm.tables.delimited import open_delimited
from semisvm.tables.files import load_table_model
from semisvm.tables.model import Model
from semisvm.tables.training import BY_CAMPAIGN, name_drawn_column

AnyPath = str | Path
BatchFormat = Literal["csv", "label-studio"]
DONT_KNOW = "?"
# The column that says why a row is in a certified set: the first that the data do not have.
WHY_COLUMNS = ("why", "why_accepted", "semisvm_why")
CONTROL, OBJECT = "label", "cells"  # names in the labeling configuration of Label Studio


def _task(number: int, cells: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return a row, with the answer that it has, as a task of Label Studio."""
    choice = {"choices": [label]}
    result = {"from_name": CONTROL, "to_name": OBJECT, "type": "choices", "value": choice}
    plain = {name: plain_cell(cell) for name, cell in cells.items()}
    return {
        "data": {"row": number, "drawn": BY_CAMPAIGN, "cells": plain},
        "annotations": [{"result": [result], "was_cancelled": False}] if label else [],
    }


def labeling_configuration(classes: Sequence[str]) -> str:
    """Return what a project of Label Studio must be set up with, to ask for these classes."""
    choices = "".join(f'<Choice value="{escape(name)}"/>' for name in [*classes, DONT_KNOW])
    question = f'<Choices name="{CONTROL}" toName="{OBJECT}" choice="single">{choices}</Choices>'
    return f'<View><Table name="{OBJECT}" value="${OBJECT}"/>{question}</View>'


def _json_answers(path: AnyPath) -> Iterator[tuple[None, str, str]]:
    """Yield (no line, row number, answer) of an export of Label Studio; the answer is "" where
    there is none. A row with several answers occurs several times.
    """
    try:
        entries = json.loads(read_bytes(path).decode("utf-8-sig"))
    except ValueError as error:
        reason = f"this is not JSON ({error})"
        raise fault(path, reason, "Export the project as JSON again") from None
    if not isinstance(entries, list):
        reason = "this is not a list of tasks"
        raise fault(path, reason, "Export the project as JSON, with all its tasks")
    for number, entry in enumerate(entries, 1):
        try:
            row = entry["data"]["row"]
            answers = _answers_of_task(entry)
        except (KeyError, TypeError, IndexError, AttributeError):
            reason = f"entry {number} is not a task of Label Studio with its row number"
            remedy = "Use the file that the campaign wrote, and export all of its data"
            raise fault(path, reason, remedy) from None
        for answer in answers or [""]:
            yield None, str(row), answer


def _answers_of_task(task: Mapping[str, Any]) -> list[str]:
    answers = []
    for annotation in task.get("annotations") or []:
        if not annotation.get("was_cancelled"):
            for result in annotation["result"]:
                if result["type"] == "choices" and result["value"]["choices"]:
                    answers.append(str(result["value"]["choices"][0]))
    return answers


@dataclass(frozen=True)
class Told:
    """What a file of answers held: new answers, changed ones, rows left empty."""

    n_new: int
    n_corrected: int
    n_empty: int


def write_batch(
    campaign: Campaign,
    n: int,
    out: AnyPath,
    *,
    data: AnyPath | None = None,
    format: BatchFormat = "csv",
    annotator: str | None = None,
    force: bool,
) -> int:
    """Write the next `n` rows to label; return how many there are: 0, and no file, if there is
    nothing left to ask.

    data     where the data file is now; by default where it was when the campaign began
    format   a CSV file, or the JSON of Label Studio
    annotator   who is going to answer
    """
    check_can_write(out, force=force)
    drawn = campaign.draw(n, annotator)
    shuffled = random.SystemRandom().sample(drawn, len(drawn))
    return _write_rows(campaign, dict.fromkeys(shuffled, ""), out, data, format, force)


def write_answers(
    campaign: Campaign,
    out: AnyPath,
    *,
    data: AnyPath | None = None,
    format: BatchFormat = "csv",
    force: bool,
) -> int:
    """Write the rows that were answered, with their labels: to train a next model on, or for a
    labeling tool.

    Parameters are those of `write_batch`; "don't know" is written as "?" for labeling tools, and
    empty (unlabeled) in the CSV file, which `semisvm fit` reads. The rows are marked as drawn "by
    campaign". Returns how many there are.
    """
    check_can_write(out, force=force)
    unknown = "" if format == "csv" else DONT_KNOW
    labels = {
        place: unknown if label is None else str(label) for place, label in campaign.labels.items()
    }
    return _write_rows(campaign, labels, out, data, format, force)


def write_accepted(
    campaign: Campaign, out: AnyPath, *, data: AnyPath | None = None, force: bool
) -> int:
    """Write the rows of the certified set as a CSV file: the row's number in the data file, why it
    is in the set, and its cells. Return how many there are: 0, and no file, where nothing is
    certified.
    """
    import pandas

    check_can_write(out, force=force)
    source = Path(campaign.about["data"] if data is None else data)
    require_data(campaign, source)
    places, reasons = campaign.accepted()
    if not len(places) or not campaign.standing(with_forecasts=False).is_certified:
        return 0
    model = load_table_model(campaign.about["model"])
    numbers = file_rows(campaign)[places]
    cells = read_cells(model, source, numbers)
    number_column = campaign.about["row_column"]
    names = {*model.names, number_column}
    why_column = next(name for name in WHY_COLUMNS if name not in names)
    lines = [
        {number_column: number, why_column: str(reason), **row}
        for number, reason, row in zip((numbers + 1).tolist(), reasons, cells, strict=True)
    ]
    with whole_file(out, force=force) as unfinished:
        pandas.DataFrame(lines).to_csv(unfinished, index=False)
    return len(lines)


def _write_rows(
    campaign: Campaign,
    labels: dict[int, str],
    out: AnyPath,
    data: AnyPath | None,
    format: BatchFormat,
    force: bool,
) -> int:
    """Write rows of the pool with these labels; a data file that has changed is refused."""
    source = Path(campaign.about["data"] if data is None else data)
    require_data(campaign, source)
    if not labels:
        return 0
    model = load_table_model(campaign.about["model"])
    numbers = file_rows(campaign)[list(labels)]
    row_column = campaign.about["row_column"]
    write_label_file(
        model,
        source,
        dict(zip(numbers.tolist(), labels.values(), strict=True)),
        out,
        row_column,
        format=format,
        force=force,
    )
    return len(labels)


def write_label_file(
    model: Model,
    data: AnyPath,
    labels: Mapping[int, str],
    out: AnyPath,
    row_column: str,
    *,
    format: BatchFormat = "csv",
    force: bool,
) -> None:
    """Write rows of a data file, by their places in it (from 0), with these labels or ""."""
    import pandas

    cells = read_cells(model, data, np.array(list(labels)))
    numbers = [place + 1 for place in labels]
    rows = list(zip(numbers, cells, labels.values(), strict=True))
    with whole_file(out, force=force) as unfinished:
        if format == "csv":
            drawn = name_drawn_column(model.names)
            lines = [
                {row_column: number, **row, drawn: BY_CAMPAIGN, model.target: label}
                for number, row, label in rows
            ]
            pandas.DataFrame(lines).to_csv(unfinished, index=False)
        else:
            tasks = [_task(*row) for row in rows]
            text = json.dumps(tasks, ensure_ascii=False, indent=1, allow_nan=False)
            unfinished.write_text(text, encoding="utf-8")


def read_answers(campaign: Campaign, path: AnyPath, annotator: str | None = None) -> Told:
    """Read a filled-in file and tell the campaign; a cell that can't be understood is an error with
    its line.

    `path` is a CSV file with the columns of a batch (others are ignored), or a .json export of
    Label Studio; `annotator` is who answered.
    """
    about = campaign.about
    numbers = file_rows(campaign) + 1
    answers, n_empty = read_label_file(
        path, numbers, campaign.classes or [], about["row_column"], about["target"]
    )
    n_before = campaign.n_labels
    n_corrected = len(campaign.corrections)
    campaign.tell(list(answers), list(answers.values()), annotator)
    return Told(campaign.n_labels - n_before, len(campaign.corrections) - n_corrected, n_empty)


def read_label_file(
    path: AnyPath, numbers: np.ndarray, classes: Sequence[Any], row_column: str, target: str
) -> tuple[dict[int, str | None], int]:
    """Return the answers in a filled-in file, None for "don't know", by their place in `numbers`
    (the rows that may be answered, from 1, in ascending order), and how many rows are left empty.
    """
    is_json = Path(path).suffix.lower() == ".json"
    lines = _json_answers(path) if is_json else _csv_answers(path, row_column, target)
    answers: dict[int, str | None] = {}
    n_empty = 0
    for line, number, label in lines:
        row = _row_number(path, number, numbers, line)
        if not label:
            n_empty += 1
            continue
        if label != DONT_KNOW and label not in classes:
            remedy = (
                f'{suggest(label, classes)}; write "{DONT_KNOW}" if you don\'t know, or leave the'
                " cell empty"
            )
            raise fault(path, f"row {number}: {shorten(label)} is not a class", remedy, line=line)
        answer = None if label == DONT_KNOW else label
        if answers.get(row, answer) != answer:
            remedy = (
                "Keep one of them: the first, or that of the majority, by a rule fixed beforehand"
            )
            raise fault(
                path, f"row {number} has two different answers in this file", remedy, line=line
            )
        answers[row] = answer
    return answers, n_empty


def _csv_answers(path: AnyPath, row_column: str, target: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, row number, answer) of a CSV file; the answer is "" where there is none."""
    text = open_delimited(path)
    for column in (row_column, target):
        if column not in text.names:
            remedy = f"{suggest(column, text.names)}. Use the file that was written to be filled in"
            raise fault(path, f"there is no column {column!r}", remedy, line=1)
    at_row = text.names.index(row_column)
    at_label = text.names.index(target)
    for line, cells in text.rows():
        yield line, cells[at_row].strip(), cells[at_label].strip()


def _row_number(path: AnyPath, cell: str, numbers: np.ndarray, line: int | None) -> int:
    """Return the place in the pool of a row by its number in the file."""
    number = int(cell) if cell.strip().isdecimal() else -1
    place = int(np.searchsorted(numbers, number))
    if place < len(numbers) and numbers[place] == number:
        return place
    reason = (
        f"row {number} is not one of the rows of the data file that can be answered"
        f" ({counted(len(numbers), 'row')})"
    )
    if number < 0:
        reason = f"{shorten(cell)} is not a row number"
    raise fault(path, reason, "Leave the column of row numbers as it was written", line=line)
