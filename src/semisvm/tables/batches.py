"""The files that a person fills in: rows of a campaign to label, and their answers; as CSV, or for labeling tools.

A file has the row's number in the data file (the first row below the header is 1), its cells, a column that says how
the row was drawn ("by campaign": such rows train a next model, and measure nothing of it), and an empty label column.
It has no score and no prediction, and its rows are shuffled, so that the person is not led. In the label column

    a class name    the answer
    ?               "don't know"
    empty           no answer yet: the row is asked again

Label Studio: a list of tasks, as its import takes and its JSON export gives them (labelstud.io/guide/task_format):

    {"data": {"row": 7, "drawn": "by campaign", "cells": {...}},
     "annotations": [{"result": [{"from_name": "label", "to_name": "cells", "type": "choices",
                                  "value": {"choices": ["spam"]}}], "was_cancelled": false}]}

Argilla 2: a list of records, as `dataset.records.from_json` takes and `to_json` gives them:

    {"id": "7", "fields": {...}, "metadata": {"row": 7, "drawn": "by campaign"}, "suggestions": {}, "vectors": {},
     "responses": {"label": [{"value": "spam", "user_id": "..."}]}}

A task that was skipped, and a response that was not submitted, is a row without an answer.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from semisvm.campaign import Campaign
from semisvm.disk import check_can_write, read_bytes, whole_file
from semisvm.errors import counted, fault, shorten, suggest
from semisvm.tables.certify import file_rows, read_cells, require_data
from semisvm.tables.columns import plain_cell
from semisvm.tables.delimited import open_delimited
from semisvm.tables.files import load_table_model
from semisvm.tables.training import BY_CAMPAIGN, name_drawn_column

AnyPath = str | Path
BatchFormat = Literal["csv", "label-studio", "argilla"]
DONT_KNOW = "?"
CONTROL, OBJECT = "label", "cells"  # names in the labeling configuration of Label Studio
NOBODY = "00000000-0000-0000-0000-000000000000"  # Argilla wants to know who answered; a campaign does not


@dataclass(frozen=True)
class BatchRow:
    """A row in a file for people: its number in the data file (from 1), its cells, its answer or ""."""

    number: int
    cells: dict[str, Any]
    label: str


def as_json_text(rows: Sequence[BatchRow], target: str, format: BatchFormat) -> str:
    """Return rows, with the answers that they have, as the JSON of a labeling tool; `target` names the question."""
    made = [_task(row) if format == "label-studio" else _record(row, target) for row in rows]
    return json.dumps(made, ensure_ascii=False, indent=1, allow_nan=False)


def _task(row: BatchRow) -> dict[str, Any]:
    result = {"from_name": CONTROL, "to_name": OBJECT, "type": "choices", "value": {"choices": [row.label]}}
    cells = {name: plain_cell(cell) for name, cell in row.cells.items()}
    return {
        "data": {"row": row.number, "drawn": BY_CAMPAIGN, "cells": cells},
        "annotations": [{"result": [result], "was_cancelled": False}] if row.label else [],
    }


def _record(row: BatchRow, target: str) -> dict[str, Any]:
    cells = {argilla_name(name): plain_cell(cell) for name, cell in row.cells.items()}
    return {
        "id": str(row.number),
        "fields": {name: "" if cell is None else str(cell) for name, cell in cells.items()},
        "metadata": {"row": row.number, "drawn": BY_CAMPAIGN},
        "suggestions": {},
        "responses": {argilla_name(target): [{"value": row.label, "user_id": NOBODY}]} if row.label else {},
        "vectors": {},
    }


def argilla_name(name: str) -> str:
    """Return the name of a field or question as Argilla allows it: lower-case letters, digits, "_" and "-"."""
    return re.sub(r"[^a-z0-9_-]+", "_", name.lower()).strip("_") or "column"


def setup_for(format: BatchFormat, classes: Sequence[str], target: str, columns: Sequence[str]) -> str:
    """Return what a project of the tool must be set up with, to show these columns and ask for these classes.

    That is the labeling configuration of Label Studio, or Python for Argilla.
    """
    answers = [*classes, DONT_KNOW]
    if format == "label-studio":
        choices = "".join(f'<Choice value="{escape(name)}"/>' for name in answers)
        asked = f'<Choices name="{CONTROL}" toName="{OBJECT}" choice="single">{choices}</Choices>'
        return f'<View><Table name="{OBJECT}" value="${OBJECT}"/>{asked}</View>'
    fields = ", ".join(f"rg.TextField({argilla_name(name)!r}, required=False)" for name in columns)
    question = f"rg.LabelQuestion({argilla_name(target)!r}, labels={answers!r})"
    return f"rg.Settings(fields=[{fields}], questions=[{question}])"


def _json_answers(path: AnyPath, target: str) -> Iterator[tuple[None, str, str]]:
    """Yield (no line, row number, answer) of an export of either tool; the answer is "" where there is none.

    A row with several answers occurs several times. `target` is the label column, and so Argilla's question.
    """
    try:
        entries = json.loads(read_bytes(path).decode("utf-8-sig"))
    except ValueError as error:
        raise fault(path, f"this is not JSON ({error})", "Export the project as JSON again") from None
    if not isinstance(entries, list):
        raise fault(path, "this is not a list of tasks or records", "Export the project as JSON, with all its tasks")
    for number, entry in enumerate(entries, 1):
        try:
            if "data" in entry:
                row, answers = entry["data"]["row"], _answers_of_task(entry)
            else:
                row, answers = entry["metadata"]["row"], _answers_of_record(entry, target)
        except (KeyError, TypeError, IndexError, AttributeError):
            reason = f"entry {number} is neither a task of Label Studio nor a record of Argilla with its row number"
            raise fault(path, reason, "Use the file that the campaign wrote, and export all of its data") from None
        for answer in answers or [""]:
            yield None, str(row), answer


def _answers_of_task(task: Mapping[str, Any]) -> list[str]:
    found = []
    for annotation in task.get("annotations") or []:
        if annotation.get("was_cancelled"):
            continue
        chosen = [one["value"]["choices"] for one in annotation["result"] if one["type"] == "choices"]
        found += [str(choices[0]) for choices in chosen if choices]
    return found


def _answers_of_record(record: Mapping[str, Any], target: str) -> list[str]:
    given = record["responses"].get(argilla_name(target), [])
    return [str(one["value"]) for one in given if one.get("status", "submitted") == "submitted"]


@dataclass(frozen=True)
class Told:
    """What was read from a file of answers: how many are new, how many changed, rows that were left empty."""

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
    force: bool,
) -> int:
    """Write the next `n` rows to label; return how many there are: 0, and no file, if there is nothing left to ask.

    data     where the data file is now; by default where it was when the campaign began
    format   a CSV file, or the JSON of a labeling tool
    """
    check_can_write(out, force=force)
    drawn = campaign.draw(n)
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
    """Write the rows that were answered, with their labels: to train a next model on, or for a labeling tool.

    Parameters are those of `write_batch`; "don't know" is written as "?" for labeling tools, and empty (unlabeled) in
    the CSV file, which `semisvm fit` reads. The rows are marked as drawn "by campaign". Returns how many there are.
    """
    check_can_write(out, force=force)
    unknown = "" if format == "csv" else DONT_KNOW
    labels = {place: unknown if label is None else str(label) for place, label in campaign.labels.items()}
    return _write_rows(campaign, labels, out, data, format, force)


def _write_rows(
    campaign: Campaign, labels: dict[int, str], out: AnyPath, data: AnyPath | None, format: BatchFormat, force: bool
) -> int:
    """Write rows of the pool with their cells and these labels; a data file that has changed is refused."""
    import pandas

    source = Path(campaign.about["data"] if data is None else data)
    require_data(campaign, source)
    if not labels:
        return 0
    model = load_table_model(campaign.about["model"])
    numbers = file_rows(campaign)[list(labels)]
    cells = read_cells(model, source, numbers)
    rows = list(map(BatchRow, (numbers + 1).tolist(), cells, labels.values()))
    target, name = campaign.about["target"], campaign.about["row_column"]
    with whole_file(out, force=force) as unfinished:
        if format == "csv":
            drawn = name_drawn_column(getattr(model.encoder, "names", ()))
            lines = [{name: row.number, **row.cells, drawn: BY_CAMPAIGN, target: row.label} for row in rows]
            pandas.DataFrame(lines).to_csv(unfinished, index=False)
        else:
            unfinished.write_text(as_json_text(rows, target, format), encoding="utf-8")
    return len(rows)


def read_answers(campaign: Campaign, path: AnyPath) -> Told:
    """Read a filled-in file and tell the campaign; a cell that can't be understood is an error with its line.

    `path` is a CSV file with the columns of a batch (others are ignored), or a .json export of Label Studio or Argilla.
    """
    is_json = Path(path).suffix.lower() == ".json"
    found = _json_answers(path, campaign.about["target"]) if is_json else _csv_answers(campaign, path)
    numbers = file_rows(campaign) + 1
    classes = campaign.classes or []
    answers: dict[int, str | None] = {}
    n_empty = 0
    for line, number, label in found:
        row = _row_number(path, number, numbers, line)
        if not label:
            n_empty += 1
            continue
        if label != DONT_KNOW and label not in classes:
            remedy = f'{suggest(label, classes)}; write "{DONT_KNOW}" if you don\'t know, or leave the cell empty'
            raise fault(path, f"row {number}: {shorten(label)} is not a class", remedy, line=line)
        answer = None if label == DONT_KNOW else label
        if answers.get(row, answer) != answer:
            remedy = "Keep one of them: the first, or that of the majority, by a rule fixed beforehand"
            raise fault(path, f"row {number} has two different answers in this file", remedy, line=line)
        answers[row] = answer
    n_before, n_corrected = campaign.n_labels, len(campaign.corrections)
    campaign.tell(list(answers), list(answers.values()))
    return Told(campaign.n_labels - n_before, len(campaign.corrections) - n_corrected, n_empty)


def _csv_answers(campaign: Campaign, path: AnyPath) -> Iterator[tuple[int, str, str]]:
    """Yield (line, row number, answer) of a CSV file; the answer is "" where there is none."""
    text = open_delimited(path)
    target, name = campaign.about["target"], campaign.about["row_column"]
    for column in (name, target):
        if column not in text.names:
            remedy = f"{suggest(column, text.names)}. Use the file that the campaign wrote"
            raise fault(path, f"there is no column {column!r}", remedy, line=1)
    at_row, at_label = text.names.index(name), text.names.index(target)
    for line, cells in text.rows():
        yield line, cells[at_row].strip(), cells[at_label].strip()


def _row_number(path: AnyPath, cell: str, numbers: np.ndarray, line: int | None) -> int:
    """Return the place in the pool of a row whose number in the file is given; `numbers` are those of the pool."""
    number = int(cell) if cell.strip().isdecimal() else -1
    place = int(np.searchsorted(numbers, number))
    if place < len(numbers) and numbers[place] == number:
        return place
    reason = f"row {number} is not one of the rows of the data file that had no label ({counted(len(numbers), 'row')})"
    if number < 0:
        reason = f"{shorten(cell)} is not a row number"
    raise fault(path, reason, "Leave the column of row numbers as the campaign wrote it", line=line)
