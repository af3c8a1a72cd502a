"""The JSON files of Label Studio and of Argilla: rows to label, and answers.

Label Studio: a list of tasks, as its import takes and its JSON export gives them (labelstud.io/guide/task_format):

    {"data": {"row": 7, "drawn": "by campaign", "cells": {...}},
     "annotations": [{"result": [{"from_name": "label", "to_name": "cells", "type": "choices",
                                  "value": {"choices": ["spam"]}}], "was_cancelled": false}]}

Argilla 2: a list of records, as `dataset.records.from_json` takes and `to_json` gives them:

    {"id": "7", "fields": {...}, "metadata": {"row": 7, "drawn": "by campaign"}, "suggestions": {}, "vectors": {},
     "responses": {"label": [{"value": "spam", "user_id": "..."}]}}

There are no predictions and no suggestions in either, so that the person is not led. "?" is "don't know"; a task that
was skipped, and a response that was not submitted, is a row without an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from semisvm.errors import fault
from semisvm.tables.disk import read_bytes
from semisvm.tables.suggest import plain_cell

BatchFormat = Literal["csv", "label-studio", "argilla"]
BATCH_FORMATS = ("csv", "label-studio", "argilla")
DONT_KNOW = "?"
CONTROL, OBJECT = "label", "cells"  # names in the labeling configuration of Label Studio
NOBODY = "00000000-0000-0000-0000-000000000000"  # Argilla wants to know who answered; a campaign does not


@dataclass(frozen=True)
class BatchRow:
    """A row in a file for people: its number in the data file (from 1), its cells, how it was drawn, its answer."""

    number: int
    cells: dict[str, Any]
    drawn: str
    label: str = ""


def as_json_text(rows: Sequence[BatchRow], target: str, format: BatchFormat) -> str:
    """Return rows, with the answers that they have, as the JSON of a labeling tool.

    Parameters
    ----------
    rows : sequence of BatchRow
        The rows.
    target : str
        The name of the label column; the question of Argilla is called so.
    format : {"label-studio", "argilla"}
        The tool.

    Returns
    -------
    str
        JSON text.
    """
    made = [_task(row) if format == "label-studio" else _record(row, target) for row in rows]
    return json.dumps(made, ensure_ascii=False, indent=1, allow_nan=False)


def _task(row: BatchRow) -> dict[str, Any]:
    result = {"from_name": CONTROL, "to_name": OBJECT, "type": "choices", "value": {"choices": [row.label]}}
    cells = {name: plain_cell(cell) for name, cell in row.cells.items()}
    return {
        "data": {"row": row.number, "drawn": row.drawn, "cells": cells},
        "annotations": [{"result": [result], "was_cancelled": False}] if row.label else [],
    }


def _record(row: BatchRow, target: str) -> dict[str, Any]:
    fields = {argilla_name(name): str(_or_empty(plain_cell(cell))) for name, cell in row.cells.items()}
    return {
        "id": str(row.number),
        "fields": fields,
        "metadata": {"row": row.number, "drawn": row.drawn},
        "suggestions": {},
        "responses": {argilla_name(target): [{"value": row.label, "user_id": NOBODY}]} if row.label else {},
        "vectors": {},
    }


def argilla_name(name: str) -> str:
    """Return the name of a field or question as Argilla allows it: lower-case letters, digits, "_" and "-"."""
    return re.sub(r"[^a-z0-9_-]+", "_", name.lower()).strip("_") or "column"


def _or_empty(cell: Any) -> Any:
    return "" if cell is None else cell


def setup_for(format: BatchFormat, classes: Sequence[str], target: str, columns: Sequence[str]) -> str:
    """Return what a project of the tool must be set up with, to show these rows and ask for these classes.

    Parameters
    ----------
    format : {"label-studio", "argilla"}
        The tool.
    classes, target : sequence of str, str
        The class names, and the name of the label column.
    columns : sequence of str
        The columns that are shown.

    Returns
    -------
    str
        The labeling configuration of Label Studio, or Python for Argilla.
    """
    answers = [*classes, DONT_KNOW]
    if format == "label-studio":
        choices = "".join(f'<Choice value="{escape(name)}"/>' for name in answers)
        asked = f'<Choices name="{CONTROL}" toName="{OBJECT}" choice="single">{choices}</Choices>'
        return f'<View><Table name="{OBJECT}" value="${OBJECT}"/>{asked}</View>'
    fields = ", ".join(f"rg.TextField({argilla_name(name)!r}, required=False)" for name in columns)
    question = f"rg.LabelQuestion({argilla_name(target)!r}, labels={answers!r})"
    return f"rg.Settings(fields=[{fields}], questions=[{question}])"


def read_json_answers(path: str | Path, target: str) -> Iterator[tuple[str, str]]:
    """Yield (row number, answer) from a file of either tool; the answer is "" where there is none.

    Parameters
    ----------
    path : path
        A JSON export.
    target : str
        The name of the label column, and so of Argilla's question.

    Yields
    ------
    (str, str)
        As written; a row with several answers occurs several times.
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
            yield str(row), answer


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
